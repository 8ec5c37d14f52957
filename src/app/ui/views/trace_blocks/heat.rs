//! Three traces of a block as maps over the same tokens: one row per channel, one column per token.

use super::TRACES;
use crate::ui::views::painting::*;

/// Room for the names on the left, and for the colour bars on the right.
pub const LEFT_MARGIN: f32 = 60.0;
pub const BAR_WIDTH: f32 = 58.0;
const GAP: f32 = 8.0;
/// The minimum height of a map at which the labels of its colour bar do not overlap.
const MIN_BAR: f32 = 48.0;

/// The maps, copied for the graphics card once.
#[derive(Default)]
pub struct Heat {
    held: [MapCells; 3],
}

/// The traces that the maps show, and where they come from.
pub struct HeatSource<'a> {
    /// `(tokens, channels)` each, fast to slow.
    pub traces: &'a [Array; 3],
    pub payload: &'a Arc<Payload>,
    /// Identifies these maps among those of the payload.
    pub part: String,
    pub tokens: &'a [String],
    /// The token that is outlined.
    pub cursor: usize,
}

impl Heat {
    fn cache_maps(&mut self, of: &HeatSource<'_>) {
        for ((held, array), name) in self.held.iter_mut().zip(of.traces).zip(TRACES) {
            let (part, &[tokens, channels]) = (format!("{}.{name}", of.part), array.shape()) else { continue };
            let turned: Vec<f32> = (0..channels)
                .flat_map(|channel| (0..tokens).map(move |token| token * channels + channel))
                .map(|at| array.data().get(at).copied().unwrap_or(f32::NAN))
                .collect();
            held.cache_matrix(of.payload, &part, MatrixView { rows: channels, cols: tokens, data: &turned }, |_| true);
        }
    }

    /// Fills `height`; returns the token that was clicked.
    pub fn ui(&mut self, ui: &mut Ui, theme: &Theme, height: f32, of: &HeatSource<'_>) -> Option<usize> {
        self.cache_maps(of);
        let size = vec2(ui.available_width(), height);
        let (sheet, response, _) = canvas_ui(ui, size, Sense::click_and_drag(), "traces by token and channel");
        let each = (sheet.height() - 2.0 * GAP) / 3.0;
        let columns = of.tokens.len().max(1);
        let map = |trace: usize| {
            let top = sheet.top() + trace as f32 * (each + GAP);
            Rect::from_min_max(pos2(sheet.left() + LEFT_MARGIN, top), pos2(sheet.right() - BAR_WIDTH, top + each))
        };
        let column = (map(0).width() / columns as f32).max(0.1);
        for (trace, held) in self.held.iter().enumerate() {
            let rect = map(trace);
            let max = held.largest().max(f32::MIN_POSITIVE);
            let colours = Colours { map: ColourMap::Diverging { dark: theme.dark }, range: [-max, max], log: false };
            paint_map(ui, rect, held, colours, theme, None);
            let painter = ui.painter_at(sheet);
            painter.rect_stroke(rect, 0.0, Stroke::new(1.0, theme.line), StrokeKind::Outside);
            let name = TRACES[trace];
            painter.text(pos2(sheet.left(), rect.top()), Align2::LEFT_TOP, name, theme::small(), theme.trace(trace));
            if each >= MIN_BAR {
                let bar = Rect::from_min_size(pos2(rect.right() + 10.0, rect.top() + 4.0), vec2(8.0, each - 8.0));
                colour_bar(&painter, bar, colours, theme);
            }
            let left = rect.left() + of.cursor as f32 * column;
            let at = Rect::from_min_max(pos2(left, rect.top()), pos2(left + column, rect.bottom()));
            painter.with_clip_rect(rect).rect_stroke(at, 0.0, Stroke::new(1.0, theme.accent), StrokeKind::Outside);
        }
        let under = |p: Pos2| {
            let trace = (0..3).find(|trace| map(*trace).contains(p))?;
            let rect = map(trace);
            let rows = self.held[trace].cells().rows;
            let token = (((p.x - rect.left()) / column) as usize).min(columns - 1);
            let channel = (((p.y - rect.top()) / rect.height() * rows as f32) as usize).min(rows.saturating_sub(1));
            Some((trace, channel, token))
        };
        let clicked = (response.clicked() || response.dragged()).then(|| response.interact_pointer_pos()).flatten();
        let clicked = clicked.and_then(under).map(|(_, _, token)| token);
        if let Some((trace, channel, token)) = response.hover_pos().and_then(under) {
            let words = format!(
                "{} trace, channel {channel}, after \u{201c}{}\u{201d} ({token}): {}",
                TRACES[trace],
                of.tokens.get(token).map_or("", String::as_str),
                self.held[trace].label(channel, token)
            );
            response.on_hover_ui_at_pointer(|ui| _ = ui.label(RichText::new(words).font(theme::numbers())));
        }
        clicked
    }
}
