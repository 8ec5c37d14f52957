//! Small maps of every layer and head of one variant; a click chooses.

use super::{SideBySide, maps::Maps, source::Column};
use crate::ui::views::{
    attention::{entropy_label, head_maps::head_button_ui, label},
    painting::*,
};

/// Height of the name of the variant, and of the numbers of the heads under it.
const NAME_HEIGHT: f32 = 17.0;
const NUMBERS_HEIGHT: f32 = 16.0;

/// "2" for a path that holds no more than the layer's number.
fn short_path(path: &str) -> &str {
    path.strip_prefix("layers.").unwrap_or(path)
}

/// The width in points that the layers' names need beside the small maps.
pub fn names_width(ui: &Ui, layers: &[AttentionLayer]) -> f32 {
    let galley = |l: &AttentionLayer| {
        ui.painter().layout_no_wrap(short_path(&l.path).to_owned(), theme::numbers(), Color32::WHITE)
    };
    layers.iter().map(|l| galley(l).size().x).fold(0.0, f32::max) + 6.0
}

/// The layout of the small maps: one row per layer, one column per head.
struct Grid {
    corner: Pos2,
    side: f32,
    gap: f32,
}

impl Grid {
    fn new(rect: Rect, names: f32, layers: usize, heads: usize) -> Self {
        let corner = rect.min + vec2(names, NAME_HEIGHT + NUMBERS_HEIGHT);
        let room = rect.max - corner;
        let pitch = (room.x / heads.max(1) as f32).min(room.y / layers.max(1) as f32);
        let gap = if pitch < 28.0 { 2.0 } else { 5.0 };
        Self { corner, side: (pitch - gap).clamp(4.0, 160.0).floor(), gap }
    }

    fn cell(&self, layer: usize, head: usize) -> Rect {
        let at = vec2(head as f32, layer as f32) * (self.side + self.gap);
        Rect::from_min_size(self.corner + at, Vec2::splat(self.side))
    }

    /// The interval at which rows or columns are numbered, so that labels of this size do not touch.
    fn label_stride(&self, size: f32) -> usize {
        (size / (self.side + self.gap)).ceil().max(1.0) as usize
    }
}

impl SideBySide {
    pub(super) fn overview_ui(&self, ui: &mut Ui, cx: &mut ViewCx<'_>, column: &Column<'_>, sheet: &Maps<'_, '_>) {
        let (layers, rect, theme) = (column.thumbnails, ui.max_rect(), cx.theme);
        let grid = Grid::new(rect, names_width(ui, layers), layers.len(), column.heads());
        self.names_ui(ui, cx, column, &grid);
        for (i, layer) in layers.iter().enumerate() {
            for head in 0..layer.heads() {
                let cell = grid.cell(i, head);
                if let Some(held) = self.cache.get(column, layer, head).filter(|_| ui.is_rect_visible(cell)) {
                    paint_map(ui, cell, held, sheet.colours, theme, None);
                }
                let response = head_button_ui(ui, cx, (layer.path.as_str(), head), &label(layer, head), cell);
                let is_chosen = sheet.chosen.layer == layer.path && sheet.chosen.head == head;
                let stroke = match is_chosen {
                    true => Stroke::new(2.0, theme.accent),
                    false if response.hovered() || response.has_focus() => Stroke::new(1.0, theme.text),
                    false => Stroke::new(1.0, theme.line),
                };
                ui.painter().rect_stroke(cell, 1.0, stroke, StrokeKind::Outside);
                response.on_hover_text(entropy_label(layer, head));
            }
        }
    }

    fn names_ui(&self, ui: &Ui, cx: &ViewCx<'_>, column: &Column<'_>, grid: &Grid) {
        let (rect, theme, painter) = (ui.max_rect(), cx.theme, ui.painter());
        let group = groups(cx.mirror).into_iter().find(|g| g.members.contains(&column.variant));
        let words = group.map_or(String::new(), |g| g.label);
        let colour = variant_colour(cx.mirror, column.variant, theme);
        paint_truncated(painter, rect.min, &words, theme::small(), colour, rect.width());
        let mono = theme::numbers();
        for head in (0..column.heads()).step_by(grid.label_stride(18.0)) {
            let at = pos2(grid.cell(0, head).center().x, grid.corner.y - 3.0);
            painter.text(at, Align2::CENTER_BOTTOM, head.to_string(), mono.clone(), theme.secondary);
        }
        for (i, layer) in column.thumbnails.iter().enumerate().step_by(grid.label_stride(14.0)) {
            let at = pos2(grid.corner.x - 6.0, grid.cell(i, 0).center().y);
            painter.text(at, Align2::RIGHT_CENTER, short_path(&layer.path), mono.clone(), theme.secondary);
        }
    }
}
