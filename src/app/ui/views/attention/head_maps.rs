//! Small maps of every layer and head in a grid; a click chooses the one that is shown large.

use crate::{
    analysis::distinct::distinct,
    ui::{
        views::prelude::*,
        widgets::truncated::{shared_beginnings, without_shared},
    },
};

pub struct HeadMap<'a> {
    /// Path of its layer among the model's parameters, and the name that is drawn.
    pub path: String,
    pub layer: String,
    pub head: usize,
    /// Its accessible name, which no other map has.
    pub label: String,
    pub tip: String,
    pub matrix: MatrixView<'a>,
    pub colours: Colours,
    /// What share of the width the bar under it fills, and in which colour.
    pub bar: Option<(f32, Color32)>,
}

impl HeadMap<'_> {
    pub fn is_selected(&self, selection: &Selection) -> bool {
        selection.layer.as_ref() == Some(&self.path) && selection.head == Some(self.head)
    }
}

/// The cells of all maps, by their labels, and the state of the large one.
#[derive(Default)]
pub struct HeadMaps {
    pub held: HashMap<String, MapCells>,
    pub window: MapState,
}

impl HeadMaps {
    pub fn cache(&mut self, payload: &Arc<Payload>, heads: &[HeadMap<'_>]) {
        self.held.retain(|label, _| heads.iter().any(|h| h.label == *label));
        for h in heads {
            self.held.entry(h.label.clone()).or_default().cache_attention(payload, &h.label, h.matrix);
        }
    }

    /// Small maps, one column per layer and one row per head (or turned, if they are larger so). The
    /// `large` one has a frame.
    pub fn grid_ui(
        &self,
        ui: &Ui,
        heads: &[HeadMap<'_>],
        large: Option<&HeadMap<'_>>,
        rect: Rect,
        cx: &mut ViewCx<'_>,
    ) {
        let layers = distinct(heads.iter().map(|h| h.layer.as_str()));
        let grid = Grid::new(rect, layers.len(), heads.iter().map(|h| h.head + 1).max().unwrap_or(1));
        let painter = ui.painter_at(rect);
        for (i, shared) in shared_beginnings(&layers, b".").into_iter().enumerate() {
            let (at, align) = grid.layer_name(i);
            let name = without_shared(&painter, layers[i], shared, &theme::small(), grid.name_width());
            painter.text(at, align, name, theme::small(), cx.theme.secondary);
        }
        for h in heads {
            let Some(layer) = layers.iter().position(|l| *l == h.layer) else { continue };
            let cell = grid.cell(layer, h.head);
            let map = Rect::from_min_size(cell.min, Vec2::splat(grid.side));
            if let Some(held) = self.held.get(&h.label) {
                paint_map(ui, map, held, h.colours, cx.theme, None);
            }
            if let Some((share, colour)) = h.bar {
                let track = Rect::from_min_size(pos2(map.left(), map.bottom() + 3.0), vec2(map.width(), 3.0));
                painter.rect_filled(track, 1.0, cx.theme.line);
                painter.rect_filled(Rect::from_min_size(track.min, vec2(track.width() * share, 3.0)), 1.0, colour);
            }
            let place = if h.bar.is_some() { cell } else { map };
            let response = head_button_ui(ui, cx, (h.path.as_str(), h.head), &h.label, place);
            if large.is_some_and(|large| large.label == h.label) {
                painter.rect_stroke(map, 2.0, Pen::new(FRAME_WIDTH, cx.theme.accent), StrokeKind::Outside);
            } else if response.hovered() {
                painter.rect_stroke(map, 2.0, Pen::new(1.0, cx.theme.text), StrokeKind::Outside);
            }
            response.on_hover_text(&h.tip);
        }
    }
}

/// A small map as a button that selects its layer's path and head.
pub fn head_button_ui(ui: &Ui, cx: &mut ViewCx<'_>, of: (&str, usize), label: &str, place: Rect) -> Response {
    let response = ui.interact(place, ui.scope_id().with(of), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, label));
    if response.clicked() {
        (cx.selection.layer, cx.selection.head) = (Some(of.0.to_owned()), Some(of.1));
    }
    response
}

struct Grid {
    corner: Pos2,
    /// The side of a map, points.
    side: f32,
    /// Layers run to the right (with their names above) or down (names to the left).
    is_horizontal: bool,
}

const GAP: f32 = 12.0;
const NAME_WIDTH: f32 = 58.0;
/// Between a name to the left of its maps and the first of them.
const NAME_GAP: f32 = 6.0;
const NAME_HEIGHT: f32 = 18.0;
/// Width of the frame around the selected map, points: there is room for it above and beside the first maps.
const FRAME_WIDTH: f32 = 2.0;

impl Grid {
    fn new(rect: Rect, layers: usize, heads: usize) -> Self {
        let (l, h) = (layers.max(1) as f32, heads.max(1) as f32);
        let across = (rect.width() / l - GAP).min((rect.height() - NAME_HEIGHT) / h - GAP);
        let down = ((rect.width() - NAME_WIDTH) / h - GAP).min(rect.height() / l - GAP);
        let (side, is_across) =
            if across >= down && across + GAP > NAME_WIDTH { (across, true) } else { (down, false) };
        let names = if is_across { vec2(0.0, NAME_HEIGHT) } else { vec2(NAME_WIDTH, 0.0) };
        let corner = rect.min + Vec2::splat(FRAME_WIDTH) + names;
        Self { corner, side: side.clamp(8.0, 220.0).floor(), is_horizontal: is_across }
    }

    fn cell(&self, layer: usize, head: usize) -> Rect {
        let (l, h) = (layer as f32 * (self.side + GAP), head as f32 * (self.side + GAP));
        let at = self.corner + if self.is_horizontal { vec2(l, h) } else { vec2(h, l) };
        Rect::from_min_size(at, vec2(self.side, self.side + 6.0))
    }

    fn layer_name(&self, layer: usize) -> (Pos2, Align2) {
        let cell = self.cell(layer, 0);
        match self.is_horizontal {
            true => (pos2(cell.left(), self.corner.y - 3.0), Align2::LEFT_BOTTOM),
            false => (pos2(self.corner.x - NAME_GAP, cell.top() + self.side / 2.0), Align2::RIGHT_CENTER),
        }
    }

    /// The room for the name of a layer, points.
    fn name_width(&self) -> f32 {
        if self.is_horizontal { self.side } else { NAME_WIDTH - NAME_GAP }
    }
}
