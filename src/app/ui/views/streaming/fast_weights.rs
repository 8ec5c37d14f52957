//! The effect of fast weights on the perplexity of the run's own text and of a foreign one: a cell for each learning
//! rate and limit of precisions, with and without the trained weights, in which the change stands in words and colour.

use super::{
    CONTROLS_HEIGHT, STREAM_TOKENS_TIP, VARIANTS_TIP, empty_reason, measure_ui, shown_measurement, subtitle_of,
    tokens_ui,
};
use crate::ui::{theme::contrast, views::prelude::*, widgets::number::difference};

const CANVAS_ID: &str = "perplexity with fast weights";
const TOKEN_COUNTS: [usize; 4] = [500, 1000, 4000, 10_000];
/// Wider tiles have the texts side by side, points.
const WIDE_WIDTH: f32 = 560.0;
const GAP: f32 = 8.0;
/// Heights of a panel's head, of what the columns are, and of the space above what has no base.
const HEAD_HEIGHT: f32 = 17.0;
const COLUMN_HEAD_HEIGHT: f32 = 15.0;
const SPACE_ABOVE: f32 = 5.0;
/// Minimum and maximum height of a cell.
const ROW_HEIGHTS: [f32; 2] = [14.0, 48.0];
const NAMES_WIDTH: f32 = 104.0;

#[derive(Default)]
pub struct FastWeightsView {
    args: FastWeightsArgs,
}

/// A change of this size takes at least half of the colour range; one of 100% takes all of it.
const VISIBLE_CHANGE: f64 = 0.01;

/// 0.045 becomes "+4.5%", more than a tenfold change a factor, and a value that is not a number "diverged".
fn change_label(change: f64) -> String {
    match change {
        c if !c.is_finite() => "diverged".to_owned(),
        c if c.abs() < 9.995 => format!("{}%", difference(100.0 * c, 1)),
        c => format!("\u{d7}{}", short(1.0 + c)),
    }
}

/// The label of a change, marked where its interval includes 0.
fn cell_label(change: f64, [low, high]: [f64; 2]) -> String {
    let is_told = !(low <= 0.0 && high >= 0.0);
    let words = change_label(change);
    if is_told || !change.is_finite() { words } else { format!("\u{2248} {words}") }
}

/// Cool where perplexity falls, warm where it rises, in logarithmic steps.
fn change_colour(change: f64, theme: &Theme) -> Color32 {
    let change = if change.is_nan() { f64::INFINITY } else { change };
    let size = ((1.0 + change.abs() / VISIBLE_CHANGE).ln() / (1.0 + 1.0 / VISIBLE_CHANGE).ln()).min(1.0);
    let place = 0.5 + 0.5 * size * change.signum();
    ColourMap::Diverging { dark: theme.dark }.colour(place as f32)
}

/// One text's cells: a row for each rate with a cell for each limit, and below a row for each rate without the base.
struct TextPanel<'a> {
    found: &'a FastWeights,
    text: usize,
    rect: Rect,
    /// Height of a row.
    row: f32,
}

impl TextPanel<'_> {
    fn name(&self) -> &str {
        self.found.texts.get(self.text).map_or("", String::as_str)
    }

    fn value(&self, list: &[f64]) -> f64 {
        list.get(self.text).copied().unwrap_or(f64::NAN)
    }

    fn columns(&self) -> usize {
        self.found.limits.len().max(1)
    }

    /// The y coordinate of a row's top edge; rows without the base come below those of the rates.
    fn row_top(&self, row: usize) -> f32 {
        let space = if row < self.found.rates.len() { 0.0 } else { SPACE_ABOVE };
        self.rect.top() + HEAD_HEIGHT + COLUMN_HEAD_HEIGHT + self.row * row as f32 + space
    }

    /// Every setting with the place of its cell, and true for one with the base.
    fn cells(&self) -> impl Iterator<Item = (Rect, &FastWeightSetting, bool)> {
        let (columns, left) = (self.columns(), self.rect.left() + NAMES_WIDTH);
        let wide = (self.rect.right() - left) / columns as f32;
        let cell = move |row: usize, column: usize, width: f32| {
            Rect::from_min_size(pos2(left + column as f32 * wide, self.row_top(row)), vec2(width, self.row))
        };
        let sweep = self.found.sweep.iter().enumerate();
        let grid = sweep.map(move |(i, setting)| (cell(i / columns, i % columns, wide), setting, true));
        let without = self.found.without_base.iter().zip(self.found.rates.len()..);
        grid.chain(without.map(move |(setting, row)| (cell(row, 0, wide * columns as f32), setting, false)))
    }

    fn interval(&self, setting: &FastWeightSetting) -> [f64; 2] {
        [&setting.change_low, &setting.change_high].map(|list| self.value(list))
    }

    fn draw(&self, painter: &Painter, theme: &Theme) {
        let draw_text = |at: Pos2, align, words: String, colour| painter.text(at, align, words, theme::small(), colour);
        let title = format!("{}: perplexity {} without", self.name(), short(self.value(&self.found.baseline)));
        draw_text(self.rect.min + vec2(0.0, HEAD_HEIGHT / 2.0), Align2::LEFT_CENTER, title, theme.text);
        let wide = (self.rect.width() - NAMES_WIDTH) / self.columns() as f32;
        let y = self.rect.top() + HEAD_HEIGHT + COLUMN_HEAD_HEIGHT / 2.0;
        for (i, limit) in self.found.limits.iter().enumerate() {
            let at = pos2(self.rect.left() + NAMES_WIDTH + (i as f32 + 0.5) * wide, y);
            draw_text(at, Align2::CENTER_CENTER, format!("\u{3c0} \u{2264} {}", short(*limit)), theme.secondary);
        }
        let rates = self.found.rates.iter().map(|rate| format!("\u{3b7} {}", short(*rate)));
        let without = self.found.without_base.iter().map(|s| format!("no base, \u{3b7} {}", short(s.rate)));
        for (row, name) in rates.chain(without).enumerate() {
            let at = pos2(self.rect.left() + NAMES_WIDTH - 8.0, self.row_top(row) + 0.5 * self.row);
            draw_text(at, Align2::RIGHT_CENTER, name, theme.secondary);
        }
        for (rect, setting, _) in self.cells() {
            let change = self.value(&setting.change);
            let ground = change_colour(change, theme);
            painter.rect_filled(rect.shrink(1.0), 2.0, ground);
            let (light, dark) = (theme.text, theme.page);
            let ink = if contrast(light, ground) >= contrast(dark, ground) { light } else { dark };
            let words = cell_label(change, self.interval(setting));
            painter.text(rect.center(), Align2::CENTER_CENTER, words, theme::numbers(), ink);
        }
    }

    fn tooltip(&self, s: &FastWeightSetting, has_base: bool) -> String {
        let base = if has_base { "" } else { ", W_base = 0" };
        let [low, high] = self.interval(s);
        let interval = match low.is_finite() && high.is_finite() {
            true => format!(" ({} to {})", change_label(low), change_label(high)),
            false => String::new(),
        };
        let (perplexity, change) = (self.value(&s.perplexity), change_label(self.value(&s.change)));
        let setting = format!("\u{3b7} = {}, \u{3c0} at most {}", short(s.rate), short(s.max_precision));
        format!("{}\n{setting}{base}\nperplexity {}: {change}{interval}", self.name(), short(perplexity))
    }
}

fn texts_ui(ui: &mut Ui, theme: &Theme, found: &FastWeights, height: f32) -> Response {
    let (n, width) = (found.texts.len().max(1), ui.available_width());
    let across = if width > WIDE_WIDTH { n.min(2) } else { 1 };
    let down = n.div_ceil(across);
    let rows = found.rates.len() + found.without_base.len();
    let room = (height - GAP * (down as f32 - 1.0)) / down as f32;
    let head = HEAD_HEIGHT + COLUMN_HEAD_HEIGHT + SPACE_ABOVE;
    let row = ((room - head) / rows.max(1) as f32).clamp(ROW_HEIGHTS[0], ROW_HEIGHTS[1]);
    let high = head + row * rows as f32;
    let area = ScrollArea::vertical().max_height(height).auto_shrink([false, false]);
    let canvas = plot::rows_ui(ui, area, |ui| {
        let size = vec2(width, (high + GAP) * down as f32 - GAP);
        let (rect, response, painter) = canvas_ui(ui, size, Sense::hover(), CANVAS_ID);
        let one = (width - GAP * (across as f32 - 1.0)) / across as f32;
        let mut under = None;
        for text in 0..n {
            let at = vec2((text % across) as f32 * (one + GAP), (text / across) as f32 * (high + GAP));
            let panel = TextPanel { found, text, rect: Rect::from_min_size(rect.min + at, vec2(one, high)), row };
            panel.draw(&painter, theme);
            let is_under = |cell: &Rect| response.hover_pos().is_some_and(|p| cell.contains(p));
            let pointed = panel.cells().filter(|(cell, ..)| is_under(cell)).last();
            under = pointed.map(|(_, setting, has_base)| panel.tooltip(setting, has_base)).or(under);
        }
        let Some(words) = under else { return response };
        response.on_hover_text_at_pointer(words)
    });
    canvas.inner
}

impl PanelView for FastWeightsView {
    const FOOTER_HEIGHT: f32 = CONTROLS_HEIGHT + 6.0;

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(found) = shown_measurement::<FastWeights>(cx).map(|m| m.value) else { return vec![] };
        let theme = cx.theme;
        vec![Panel::canvas(CANVAS_ID, move |ui, size| texts_ui(ui, theme, found, size.y))]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        let otherwise = "Not measured yet. Press Space to train, and then Measure: the predictors go on learning \
                         while texts are read, at several rates, and perplexity is held against that of frozen \
                         weights.";
        let absent = "its predictor is an attention, and fast weights add to a static one. Choose another variant.";
        empty_reason::<FastWeights>(cx, otherwise, absent)
    }

    fn footer_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let tip = "Reads the texts once for every cell. It takes some seconds.";
        measure_ui::<FastWeights>(ui, cx, &self.args, tip);
        tokens_ui(ui, &mut self.args.tokens, &TOKEN_COUNTS, STREAM_TOKENS_TIP);
        cx.variants_ui(ui, VARIANTS_TIP);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle_of::<FastWeights>(cx, "perplexity with fast weights", |m| &m.notes)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let found = shown_measurement::<FastWeights>(cx)?.value;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_percent_factors_or_divergence() {
        for (change, words) in [
            (0.045, "+4.5%"),
            (-0.022, "\u{2212}2.2%"),
            (0.0, "0.0%"),
            (-0.0004, "0.0%"),
            (219.0, "\u{d7}220"),
            (f64::NAN, "diverged"),
            (f64::INFINITY, "diverged"),
        ] {
            assert_eq!(change_label(change), words);
        }
        assert_eq!(cell_label(0.01, [-0.01, 0.03]), "\u{2248} +1.0%");
        assert_eq!(cell_label(0.01, [0.005, 0.03]), "+1.0%");
        assert_eq!(cell_label(0.01, [f64::NAN; 2]), "+1.0%", "one stream has no interval");
    }

    #[test]
    fn better_and_worse_differ_in_colour() {
        let theme = Theme::dark();
        let middle = change_colour(0.0, &theme);
        assert!(change_colour(0.1, &theme) != middle && change_colour(-0.1, &theme) != middle);
        assert_ne!(change_colour(0.1, &theme), change_colour(-0.1, &theme));
        assert_eq!(change_colour(f64::NAN, &theme), change_colour(5.0, &theme));
    }
}
