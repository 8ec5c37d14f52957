//! The logit lens: the prediction of the model if it ended after fewer layers, at every token of a text.

use super::{TEXT_CONTROL, reading_settings, text_ui};
use crate::ui::views::painting::*;

#[derive(Default)]
pub struct LogitLensView {
    /// The chosen row, by the number of layers before it; the last where none was chosen.
    layers: Option<usize>,
}

/// Minimum width and maximum height of a cell, points.
const CELL_SIZE: [f32; 2] = [30.0, 30.0];
/// Width of the rows' names with their losses at the left, points.
const NAMES_WIDTH: f32 = 104.0;
/// Width of the rows' numbers with their losses, which replace the names if these leave the grid too little space,
/// points.
const NUMBERS_WIDTH: f32 = 68.0;
/// Width of a scroll bar.
const SCROLL_BAR_WIDTH: f32 = 10.0;
/// Height of a cell's bars at the bottom, points, and the minimum height of the grid.
const BARS_HEIGHT: f32 = 150.0;
const MIN_GRID: f32 = 180.0;
const BARS_PER_CELL: usize = 6;

/// A cell of the grid, whose rows fall from the last layer to the first.
#[derive(Clone, Copy, PartialEq)]
struct Cell {
    layers: usize,
    token: usize,
}

impl LogitLensView {
    fn cell(&self, cx: &ViewCx<'_>, m: &Measured<'_, LogitLens>) -> Cell {
        let last = m.sample.tokens.len().saturating_sub(1);
        Cell {
            layers: self.layers.unwrap_or(m.layers).min(m.layers),
            token: cx.selection.token.unwrap_or(last).min(last),
        }
    }

    /// The grid; returns the cell that was clicked.
    fn grid_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &Measured<'_, LogitLens>, chosen: Cell, height: f32) -> Option<Cell> {
        let rows = (m.layers + 2) as f32; // the text itself under the layers
        // in a tile a few rows fill the height of a legible picture
        let most = CELL_SIZE[1].max(plot::min_chart_height(ui.ctx()) / rows);
        let high = ((height - SCROLL_BAR_WIDTH) / rows).clamp(15.0, most);
        let mut clicked = None;
        ScrollArea::vertical().auto_shrink([false, false]).max_height(height).id_salt("logit lens").show(ui, |ui| {
            ui.horizontal_top(|ui| {
                ui.spacing_mut().item_spacing.x = 0.0;
                Self::names_ui(ui, cx, m, high);
                ScrollArea::horizontal().auto_shrink([false, true]).id_salt("tokens").show(ui, |ui| {
                    clicked = Self::cells_ui(ui, cx, m, chosen, high);
                });
            });
        });
        clicked
    }

    /// The rows' names and losses, which stand still while the text moves.
    fn names_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &LogitLens, high: f32) {
        let is_narrow = ui.available_width() < NAMES_WIDTH + plot::MIN_PLOT_SIZE.x;
        let size = vec2(if is_narrow { NUMBERS_WIDTH } else { NAMES_WIDTH }, high * (m.layers + 2) as f32);
        let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
        let (painter, tone) = (ui.painter_at(rect), cx.theme.secondary);
        let row = |row: usize, name: &str, loss: &str| {
            let y = rect.top() + high * (row as f32 + 0.5);
            painter.text(pos2(rect.left(), y), Align2::LEFT_CENTER, name, FontId::proportional(11.0), tone);
            let at = pos2(rect.right() - 8.0, y);
            painter.text(at, Align2::RIGHT_CENTER, loss, FontId::monospace(11.0), tone);
        };
        for layers in 0..=m.layers {
            let loss = m.loss.get(layers).map_or(String::new(), |l| format!("{l:.3}"));
            let name = if is_narrow { layers.to_string() } else { counted(layers, "layer") };
            row(m.layers - layers, &name, &loss);
        }
        row(m.layers + 1, if is_narrow { "text" } else { "the text" }, "nats");
        response.on_hover_text("Loss of the text if the model ended after this many layers, nats per token.");
    }

    fn cells_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &Measured<'_, LogitLens>, chosen: Cell, high: f32) -> Option<Cell> {
        let (theme, tokens) = (cx.theme, &m.sample.tokens);
        let wide = (ui.available_width() / tokens.len().max(1) as f32).max(CELL_SIZE[0]).floor();
        let size = vec2(wide * tokens.len() as f32, high * (m.layers + 2) as f32);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        plot::note_canvas(ui, "likeliest tokens", rect);
        let painter = ui.painter_at(rect);
        let place = |row: usize, token: usize| {
            let corner = rect.min + vec2(wide * token as f32, high * row as f32);
            Rect::from_min_size(corner, vec2(wide, high)).shrink(1.0)
        };
        let seen = painter.clip_rect();
        // a cell at the edge of the visible area has no text rather than half a word
        let draw_text = |cell: Rect, text: &str, font: FontId, colour| {
            if !seen.contains_rect(cell) {
                return;
            }
            painter.with_clip_rect(cell).text(cell.center(), Align2::CENTER_CENTER, visible_text(text), font, colour);
        };
        let is_seen = |token: &(usize, &String)| place(0, token.0).x_range().intersection(seen.x_range()).span() > 0.0;
        for (token, text) in tokens.iter().enumerate().filter(is_seen) {
            for layers in 0..=m.layers {
                let Some(first) = m.likely_at(layers, token).first() else { continue };
                let cell = place(m.layers - layers, token);
                let p = share(first.probability as f32);
                painter.rect_filled(cell, 1.0, theme.accent.gamma_multiply(0.06 + 0.62 * p));
                draw_text(cell, &first.token, FontId::proportional(11.0), theme.text);
                if tokens.get(token + 1) == Some(&first.token) {
                    painter.rect_stroke(cell, 1.0, Stroke::new(1.5, theme.warm), StrokeKind::Inside);
                }
                if (Cell { layers, token }) == chosen {
                    painter.rect_stroke(cell, 1.0, Stroke::new(2.0, theme.text), StrokeKind::Inside);
                }
            }
            draw_text(place(m.layers + 1, token), text, theme::numbers(), theme.secondary);
        }
        response.widget_info(|| {
            let line = |layers: usize| m.loss.get(layers).map_or(String::new(), |l| format!("{layers}: {l:.3}"));
            let all: Vec<String> = (0..=m.layers).map(line).collect();
            WidgetInfo::labeled(Role::Canvas, true, format!("likeliest tokens; loss by layers {}", all.join(", ")))
        });
        let at = response.interact_pointer_pos().filter(|_| response.clicked())?;
        let (token, row) = (((at.x - rect.left()) / wide) as usize, ((at.y - rect.top()) / high) as usize);
        (token < tokens.len() && row <= m.layers).then(|| Cell { layers: m.layers - row, token })
    }

    fn cell_ui(ui: &mut Ui, cx: &ViewCx<'_>, m: &Measured<'_, LogitLens>, cell: Cell) {
        let theme = cx.theme;
        let read = m.sample.tokens.get(cell.token).map_or(String::new(), |t| visible_text(t));
        let words = format!(
            "after {}, at token {} \u{201c}{read}\u{201d}; a line across marks the whole model\u{2019}s",
            counted(cell.layers, "layer"),
            cell.token
        );
        note_ui(ui, theme, words);
        let (whole, next) = (m.likely_at(m.layers, cell.token), m.sample.tokens.get(cell.token + 1));
        let sign = |likely: &LikelyToken| if next == Some(&likely.token) { "\u{2713}" } else { "" };
        let likely = m.likely_at(cell.layers, cell.token).iter().take(BARS_PER_CELL);
        let bars = likely.map(|likely| likely_bar(likely, theme.accent, whole).sign(sign(likely)));
        bars_ui(ui, theme, "likely tokens of the cell", bars, 1.0);
    }

    fn legend_ui(ui: &mut Ui, cx: &ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            let patch = |ui: &mut Ui, fill: Color32, line: Option<Color32>, words: &str| {
                let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
                ui.painter().rect_filled(rect, 1.0, fill);
                if let Some(line) = line {
                    ui.painter().rect_stroke(rect, 1.0, Stroke::new(1.5, line), StrokeKind::Inside);
                }
                note_ui(ui, cx.theme, words);
            };
            patch(ui, cx.theme.accent.gamma_multiply(0.06), None, "unsure");
            patch(ui, cx.theme.accent.gamma_multiply(0.68), None, "sure");
            patch(ui, Color32::TRANSPARENT, Some(cx.theme.warm), "what the text has next");
        });
    }
}

impl View for LogitLensView {
    fn controls(&self) -> &'static [&'static str] {
        TEXT_CONTROL
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let args = reading_settings(cx).map(|s| s.logit_lens_args()).unwrap_or_default();
        cx.ask::<LogitLens>(Some(cx.selection.variant), &args, Freshness::OFTEN);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        ui.spacing_mut().item_spacing.y = 4.0;
        cx.controls_ui(ui, text_ui);
        let Some(m) = cx.answered::<LogitLens>() else {
            return cx.unmeasured_ui::<LogitLens>(ui, "Nothing has been read yet: open a model, and type a text.");
        };
        Self::legend_ui(ui, cx);
        let cell = self.cell(cx, &m);
        let room = ui.available_height();
        let with_bars = room > BARS_HEIGHT + MIN_GRID;
        let height = if with_bars { room - BARS_HEIGHT } else { room };
        if let Some(clicked) = Self::grid_ui(ui, cx, &m, cell, height) {
            self.layers = Some(clicked.layers);
            cx.selection.token = Some(clicked.token);
        }
        if with_bars {
            Self::cell_ui(ui, cx, &m, self.cell(cx, &m));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        cx.answered_subtitle::<LogitLens>("the head after every layer", "what the model would say if it ended earlier")
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let m = cx.answered::<LogitLens>()?;
        let mut table = Table::new(["layers", "position", "token", "likely", "probability"]);
        for layers in 0..=m.layers {
            for (position, token) in m.sample.tokens.iter().enumerate() {
                for likely in m.likely_at(layers, position) {
                    table.cells(&[&layers, &position, token, &likely.token, &likely.probability]);
                }
            }
        }
        Some(table.finish())
    }
}
