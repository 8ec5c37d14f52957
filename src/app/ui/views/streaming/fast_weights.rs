//! The effect of fast weights on the perplexity of the run's own text and of a foreign one: a cell for each learning
//! rate and limit of precisions, with and without the trained weights.

use super::{
    CONTROLS, STREAM_TOKENS_TIP, VARIANTS_TIP,
    change::{cell_label, change_colour, change_label},
    measure_ui, shown, subtitle_of, tokens_ui, why_nothing,
};
use crate::ui::{theme::contrast, views::prelude::*};

const CANVAS: &str = "perplexity with fast weights";
const CHOICES: [usize; 4] = [500, 1000, 4000, 10_000];
/// Wider tiles have the texts side by side, points.
const WIDE_WIDTH: f32 = 560.0;
const GAP: f32 = 8.0;
/// Heights of a panel's head, of what the columns are, and of the space above what has no base.
const HEAD_HEIGHT: f32 = 17.0;
const COLUMNS: f32 = 15.0;
const SPACE_ABOVE: f32 = 5.0;
/// Minimum and maximum height of a cell.
const ROW: [f32; 2] = [14.0, 48.0];
const NAMES: f32 = 104.0;

#[derive(Default)]
pub struct FastWeightsView {
    asked: FastWeightsArgs,
}

struct Cell<'a> {
    rect: Rect,
    setting: &'a FastWeightSetting,
    has_base: bool,
    text: usize,
}

impl Cell<'_> {
    fn value(&self, list: &[f64]) -> f64 {
        list.get(self.text).copied().unwrap_or(f64::NAN)
    }

    fn interval(&self) -> (f64, f64) {
        (self.value(&self.setting.change_low), self.value(&self.setting.change_high))
    }

    fn draw(&self, painter: &Painter, theme: &Theme) {
        let change = self.value(&self.setting.change);
        let ground = change_colour(change, theme);
        painter.rect_filled(self.rect.shrink(1.0), 2.0, ground);
        let (light, dark) = (theme.text, theme.page);
        let ink = if contrast(light, ground) >= contrast(dark, ground) { light } else { dark };
        let (low, high) = self.interval();
        let words = cell_label(change, low, high);
        painter.text(self.rect.center(), Align2::CENTER_CENTER, words, theme::numbers(), ink);
    }

    fn tooltip(&self, name: &str) -> String {
        let s = self.setting;
        let base = if self.has_base { "" } else { ", W_base = 0" };
        let (low, high) = self.interval();
        let interval = match low.is_finite() && high.is_finite() {
            true => format!(" ({} to {})", change_label(low), change_label(high)),
            false => String::new(),
        };
        let (perplexity, change) = (self.value(&s.perplexity), change_label(self.value(&s.change)));
        let setting = format!("\u{3b7} = {}, \u{3c0} at most {}", short(s.rate), short(s.max_precision));
        format!("{name}\n{setting}{base}\nperplexity {}: {change}{interval}", short(perplexity))
    }
}

fn cells<'a>(found: &'a FastWeights, text: usize, panel: Rect, row: f32) -> Vec<Cell<'a>> {
    let columns = found.limits.len().max(1);
    let left = panel.left() + NAMES;
    let wide = (panel.right() - left) / columns as f32;
    let top = panel.top() + HEAD_HEIGHT + COLUMNS;
    let at = |i: usize, y: f32, width: f32| Rect::from_min_size(pos2(left + i as f32 * wide, y), vec2(width, row));
    let grid = found.sweep.iter().enumerate().map(|(i, setting)| {
        let rect = at(i % columns, top + row * (i / columns) as f32, wide);
        Cell { rect, setting, has_base: true, text }
    });
    let below = top + row * found.rates.len() as f32 + SPACE_ABOVE;
    let without = found.without_base.iter().enumerate().map(|(i, setting)| {
        let rect = at(0, below + row * i as f32, wide * columns as f32);
        Cell { rect, setting, has_base: false, text }
    });
    grid.chain(without).collect()
}

fn draw_names(painter: &Painter, theme: &Theme, found: &FastWeights, text: usize, panel: Rect, row: f32) {
    let draw_text = |at: Pos2, align, words: String, colour| painter.text(at, align, words, theme::small(), colour);
    let name = found.texts.get(text).map_or("", String::as_str);
    let baseline = found.baseline.get(text).copied().unwrap_or(f64::NAN);
    let title = format!("{name}: perplexity {} without", short(baseline));
    draw_text(panel.min + vec2(0.0, HEAD_HEIGHT / 2.0), Align2::LEFT_CENTER, title, theme.text);
    let columns = found.limits.len().max(1);
    let wide = (panel.width() - NAMES) / columns as f32;
    let y = panel.top() + HEAD_HEIGHT + COLUMNS / 2.0;
    for (i, limit) in found.limits.iter().enumerate() {
        let at = pos2(panel.left() + NAMES + (i as f32 + 0.5) * wide, y);
        draw_text(at, Align2::CENTER_CENTER, format!("\u{3c0} \u{2264} {}", short(*limit)), theme.secondary);
    }
    let right = panel.left() + NAMES - 8.0;
    let top = panel.top() + HEAD_HEIGHT + COLUMNS;
    for (i, rate) in found.rates.iter().enumerate() {
        let at = pos2(right, top + row * (i as f32 + 0.5));
        draw_text(at, Align2::RIGHT_CENTER, format!("\u{3b7} {}", short(*rate)), theme.secondary);
    }
    let below = top + row * found.rates.len() as f32 + SPACE_ABOVE;
    for (i, setting) in found.without_base.iter().enumerate() {
        let at = pos2(right, below + row * (i as f32 + 0.5));
        let name = format!("no base, \u{3b7} {}", short(setting.rate));
        draw_text(at, Align2::RIGHT_CENTER, name, theme.secondary);
    }
}

fn texts_ui(ui: &mut Ui, theme: &Theme, found: &FastWeights, height: f32) -> Response {
    let (n, width) = (found.texts.len().max(1), ui.available_width());
    let across = if width > WIDE_WIDTH { n.min(2) } else { 1 };
    let down = n.div_ceil(across);
    let rows = found.rates.len() + found.without_base.len();
    let room = (height - GAP * (down as f32 - 1.0)) / down as f32;
    let row = ((room - HEAD_HEIGHT - COLUMNS - SPACE_ABOVE) / rows.max(1) as f32).clamp(ROW[0], ROW[1]);
    let high = HEAD_HEIGHT + COLUMNS + SPACE_ABOVE + row * rows as f32;
    let area = ScrollArea::vertical().max_height(height).auto_shrink([false, false]);
    let canvas = plot::rows_ui(ui, area, |ui| {
        let size = vec2(width, (high + GAP) * down as f32 - GAP);
        let (rect, response, painter) = canvas_ui(ui, size, Sense::hover(), CANVAS);
        let one = (width - GAP * (across as f32 - 1.0)) / across as f32;
        let mut under = None;
        for text in 0..n {
            let at = vec2((text % across) as f32 * (one + GAP), (text / across) as f32 * (high + GAP));
            let panel = Rect::from_min_size(rect.min + at, vec2(one, high));
            draw_names(&painter, theme, found, text, panel, row);
            for cell in cells(found, text, panel, row) {
                cell.draw(&painter, theme);
                if response.hover_pos().is_some_and(|p| cell.rect.contains(p)) {
                    under = Some(cell.tooltip(found.texts.get(text).map_or("", String::as_str)));
                }
            }
        }
        let Some(words) = under else { return response };
        response.on_hover_text_at_pointer(words)
    });
    canvas.inner
}

impl PanelView for FastWeightsView {
    const FOOTER_HEIGHT: f32 = CONTROLS + 6.0;

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(found) = shown::<FastWeights>(cx).map(|m| m.value) else { return vec![] };
        let theme = cx.theme;
        vec![Panel::canvas(CANVAS, move |ui, size| texts_ui(ui, theme, found, size.y))]
    }

    fn why_nothing(&self, cx: &ViewCx<'_>) -> String {
        let otherwise = "Not measured yet. Press Space to train, and then Measure: the predictors go on learning \
                         while texts are read, at several rates, and perplexity is held against that of frozen \
                         weights.";
        let absent = "its predictor is an attention, and fast weights add to a static one. Choose another variant.";
        why_nothing::<FastWeights>(cx, otherwise, absent)
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let tip = "Reads the texts once for every cell. It takes some seconds.";
        measure_ui::<FastWeights>(ui, cx, &self.asked, tip);
        tokens_ui(ui, &mut self.asked.tokens, &CHOICES, STREAM_TOKENS_TIP);
        cx.variants_ui(ui, VARIANTS_TIP);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle_of::<FastWeights>(cx, "perplexity with fast weights", |m| &m.notes)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let found = shown::<FastWeights>(cx)?.value;
        let columns = ["text", "base", "rate", "max_precision", "perplexity", "change", "low", "high"];
        let mut table = Table::new(columns);
        for (text, name) in found.texts.iter().enumerate() {
            let cell = |list: &[f64]| optional_field(list.get(text));
            table.cells(&[name, &"no fast weights", &"", &"", &cell(&found.baseline), &0, &"", &""]);
            let all = found.sweep.iter().map(|s| ("W_pred", s)).chain(found.without_base.iter().map(|s| ("0", s)));
            for (base, s) in all {
                let setting = [name.clone(), base.to_owned(), s.rate.to_string(), s.max_precision.to_string()];
                let numbers = [&s.perplexity, &s.change, &s.change_low, &s.change_high].map(|list| cell(list));
                table.row(setting.into_iter().chain(numbers));
            }
        }
        Some(table)
    }
}
