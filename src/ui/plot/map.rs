//! A matrix on the screen: the GPU heatmap with axes, pan and zoom, the exact value under the
//! pointer, and a colour bar with ticks. It does not know what the matrix means.

use std::sync::Arc;

use eframe::egui::{
    self, Align2, Color32, CornerRadius, FontId, Mesh, Painter, Pos2, Rect, Sense, StrokeKind, Ui, Vec2, WidgetInfo,
    accesskit::Role, pos2, vec2,
};

use super::scale::{Scale, value_words};
use crate::{
    gpu::{
        self,
        colour::ColourMap,
        heatmap::{Cells, Heatmap},
    },
    telemetry::{MatrixView, Payload},
    ui::{kept::unique, theme::Theme},
};

/// How values become colours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Colours {
    pub map: ColourMap,
    /// Values of the first and the last colour.
    pub range: [f32; 2],
    pub log: bool,
}

/// The cells of one matrix, copied once for the GPU and held until another payload comes.
#[derive(Debug, Clone, Default)]
pub struct Held {
    payload: Option<Arc<Payload>>,
    part: String,
    cells: Arc<Cells>,
    /// No other cells have it: what the card holds outlives the view.
    revision: u64,
}

impl Held {
    /// Copies a matrix of `source`, which `part` names among its matrices, unless it is held already.
    /// `has_value` says which cells have one; the others are drawn as missing.
    pub fn hold(&mut self, source: &Arc<Payload>, part: &str, matrix: MatrixView<'_>, has_value: impl Fn(f32) -> bool) {
        if self.part == part && self.payload.as_ref().is_some_and(|p| Arc::ptr_eq(p, source)) {
            return;
        }
        let data = matrix.data.iter().map(|v| if has_value(*v) { *v } else { f32::NAN }).collect();
        self.cells = Arc::new(Cells { rows: matrix.rows, cols: matrix.cols, data });
        self.payload = Some(source.clone());
        self.part = part.to_owned();
        self.revision = unique();
    }

    pub fn cells(&self) -> &Cells {
        &self.cells
    }
}

/// What a person did to a map: the window they look at, in cells (left, top, right, bottom).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MapState {
    window: Option<[f32; 4]>,
}

/// What the pointer does on a map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapPointed {
    /// Row and column.
    pub hovered: Option<(usize, usize)>,
    pub clicked: Option<(usize, usize)>,
}

/// A map as large as it fits into `rect`, without axes.
pub fn paint_map(ui: &Ui, rect: Rect, held: &Held, colours: Colours, theme: &Theme, window: Option<[f32; 4]>) {
    let painter = ui.painter_at(rect);
    let words = |text: &str| {
        let font = FontId::proportional(12.0);
        painter.text(rect.center(), Align2::CENTER_CENTER, text, font, theme.secondary);
    };
    let Some(target) = gpu::target(ui.ctx()) else {
        if rect.width() > 140.0 {
            words("no graphics adapter");
        }
        return;
    };
    let cells = &held.cells;
    // The same cells may stand in several places at once.
    let key = ui.scope_id().with((&held.part, rect.min.x as i32, rect.min.y as i32)).value();
    let heatmap = Heatmap {
        key,
        revision: held.revision,
        cells: cells.clone(),
        map: colours.map,
        range: colours.range,
        log: colours.log,
        window: window.unwrap_or([0.0, 0.0, cells.cols as f32, cells.rows as f32]),
        missing: [theme.raised.r(), theme.raised.g(), theme.raised.b()],
    };
    match heatmap.shape(rect, target) {
        Ok(shape) => {
            painter.add(shape);
        }
        Err(e) => words(&e.to_string()),
    }
}

/// A map with axes and names, handled: scroll zooms, drag pans, double-click shows all.
pub struct MapUi<'a> {
    pub name: &'a str,
    pub held: &'a Held,
    pub colours: Colours,
    pub row_label: &'a str,
    pub col_label: &'a str,
    /// Words for a cell's row and column, for the readout.
    pub describe: &'a dyn Fn(usize, usize) -> String,
    /// A row and column to outline.
    pub marked: Option<usize>,
}

/// Width of the colour bar with its words.
const BAR: f32 = 64.0;
const LEFT: f32 = 34.0;
const FOOT: f32 = 20.0;
const HEAD: f32 = 18.0;
/// Height of the colour bar with its words where it lies under the map.
const BAR_BELOW: f32 = 36.0;

impl MapUi<'_> {
    pub fn show(&self, ui: &mut Ui, size: Vec2, theme: &Theme, state: &mut MapState) -> MapPointed {
        let (sheet, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, self.name));
        let cells = self.held.cells();
        let (cols, rows) = (cells.cols.max(1) as f32, cells.rows.max(1) as f32);
        let room = |bar: Vec2| (size.x - LEFT - bar.x).min((size.y - HEAD - FOOT - bar.y) * cols / rows).max(16.0);
        // The bar stands where it leaves the map larger: beside it, or under it in a high and narrow place.
        let (beside, under) = (room(vec2(BAR, 0.0)), room(vec2(4.0, BAR_BELOW)));
        let side = beside.max(under);
        let rect = Rect::from_min_size(sheet.min + vec2(LEFT, HEAD), vec2(side, (side * rows / cols).max(8.0)));
        self.handle(ui, rect, &response, state);
        let window = state.window.unwrap_or([0.0, 0.0, cols, rows]);
        paint_map(ui, rect, self.held, self.colours, theme, Some(window));
        let painter = ui.painter_at(sheet);
        painter.rect_stroke(rect, CornerRadius::ZERO, egui::Stroke::new(1.0, theme.line), StrokeKind::Outside);
        self.axes(&painter, rect, window, theme);
        let bar = if beside >= under {
            Rect::from_min_size(pos2(rect.right() + 12.0, rect.top()), vec2(10.0, rect.height()))
        } else {
            Rect::from_min_size(pos2(rect.left(), rect.bottom() + FOOT + 4.0), vec2(rect.width(), 10.0))
        };
        colour_bar(&painter, bar, self.colours, theme);
        let at = |p: Pos2| {
            let x = window[0] + (p.x - rect.left()) / rect.width() * (window[2] - window[0]);
            let y = window[1] + (p.y - rect.top()) / rect.height() * (window[3] - window[1]);
            (x >= 0.0 && y >= 0.0 && x < cols && y < rows).then_some((y as usize, x as usize))
        };
        let hovered = response.hover_pos().filter(|p| rect.contains(*p)).and_then(at);
        let cell_rect = |row: usize, col: usize| {
            let place = |c: f32, r: f32| {
                pos2(
                    rect.left() + (c - window[0]) / (window[2] - window[0]) * rect.width(),
                    rect.top() + (r - window[1]) / (window[3] - window[1]) * rect.height(),
                )
            };
            Rect::from_two_pos(place(col as f32, row as f32), place(col as f32 + 1.0, row as f32 + 1.0))
        };
        let inside = painter.with_clip_rect(rect);
        if let Some(marked) = self.marked.filter(|m| *m < cells.rows) {
            let row = Rect::from_x_y_ranges(rect.x_range(), cell_rect(marked, 0).y_range());
            inside.rect_stroke(row, 0.0, egui::Stroke::new(1.0, theme.accent), StrokeKind::Outside);
        }
        if let Some((row, col)) = hovered {
            inside.rect_stroke(cell_rect(row, col), 0.0, egui::Stroke::new(1.5, theme.text), StrokeKind::Outside);
            let value = cells.data.get(row * cells.cols + col).copied().unwrap_or(f32::NAN);
            let words = format!("{}\n{}", (self.describe)(row, col), value_words(f64::from(value)));
            response.clone().on_hover_ui_at_pointer(|ui| {
                ui.label(egui::RichText::new(words).font(FontId::monospace(12.0)));
            });
        }
        MapPointed { hovered, clicked: if response.clicked() { hovered } else { None } }
    }

    fn handle(&self, ui: &Ui, rect: Rect, response: &egui::Response, state: &mut MapState) {
        let cells = self.held.cells();
        let all = [0.0, 0.0, cells.cols as f32, cells.rows as f32];
        if response.double_clicked() {
            state.window = None;
            return;
        }
        let mut window = state.window.unwrap_or(all);
        let scale = vec2((window[2] - window[0]) / rect.width(), (window[3] - window[1]) / rect.height());
        if response.dragged() && state.window.is_some() {
            let by = response.drag_delta() * scale;
            window = [window[0] - by.x, window[1] - by.y, window[2] - by.x, window[3] - by.y];
        }
        if let Some(pointer) = response.hover_pos().filter(|p| rect.contains(*p)) {
            let (scroll, pinch) = ui.input(|i| (i.smooth_scroll_delta().y, i.zoom_delta()));
            let factor = pinch * (scroll / 300.0).exp();
            if factor != 1.0 {
                let at = (pointer - rect.min) * scale + vec2(window[0], window[1]);
                let least = 2.0 / (window[2] - window[0]).max(2.0);
                let shrink = (1.0 / factor).max(least);
                let around = |edge: f32, at: f32| at + (edge - at) * shrink;
                window = [
                    around(window[0], at.x),
                    around(window[1], at.y),
                    around(window[2], at.x),
                    around(window[3], at.y),
                ];
            }
        }
        state.window = kept_inside(window, all);
    }

    fn axes(&self, painter: &Painter, rect: Rect, window: [f32; 4], theme: &Theme) {
        let small = FontId::proportional(12.0);
        let mono = FontId::monospace(12.0);
        let ticks = |from: f32, to: f32, room: f32| {
            let wanted = (room / 48.0).floor().clamp(1.0, 8.0) as usize;
            let mut t = Scale::Linear.ticks(from as f64, to as f64 - 0.5, wanted);
            t.retain(|t| t.0.fract() == 0.0);
            t
        };
        for (value, words) in ticks(window[0], window[2], rect.width()) {
            let x = rect.left() + (value as f32 + 0.5 - window[0]) / (window[2] - window[0]) * rect.width();
            painter.text(pos2(x, rect.bottom() + 3.0), Align2::CENTER_TOP, words, mono.clone(), theme.secondary);
        }
        for (value, words) in ticks(window[1], window[3], rect.height()) {
            let y = rect.top() + (value as f32 + 0.5 - window[1]) / (window[3] - window[1]) * rect.height();
            painter.text(pos2(rect.left() - 5.0, y), Align2::RIGHT_CENTER, words, mono.clone(), theme.secondary);
        }
        let head = format!("rows: {}, columns: {}", self.row_label, self.col_label);
        let galley = painter.layout_no_wrap(head, small, theme.secondary);
        painter.galley(pos2(rect.left() - LEFT + 2.0, rect.top() - HEAD), galley, theme.secondary);
    }
}

/// At most everything, and never beside it; everything is `None`, as is a window with an edge that is no number.
fn kept_inside(window: [f32; 4], all: [f32; 4]) -> Option<[f32; 4]> {
    if window.iter().any(|edge| edge.is_nan()) {
        return None;
    }
    let span = |a: f32, b: f32, most: f32| {
        let width = (b - a).min(most);
        let from = a.clamp(0.0, most - width);
        (from, from + width)
    };
    let (left, right) = span(window[0], window[2], all[2]);
    let (top, bottom) = span(window[1], window[3], all[3]);
    let kept = [left, top, right, bottom];
    (kept != all).then_some(kept)
}

/// The bar that says which colour is which value; it runs up, or to the right where it is wide.
pub fn colour_bar(painter: &Painter, rect: Rect, colours: Colours, theme: &Theme) {
    let lying = rect.width() > rect.height();
    // Both edges of the bar at a share of its length.
    let edges = |t: f32| match lying {
        true => (pos2(rect.left() + t * rect.width(), rect.top()), pos2(rect.left() + t * rect.width(), rect.bottom())),
        false => {
            let y = rect.bottom() - t * rect.height();
            (pos2(rect.left(), y), pos2(rect.right(), y))
        }
    };
    let mut mesh = Mesh::default();
    let n = 64;
    for i in 0..=n {
        let t = i as f32 / n as f32;
        let [r, g, b] = colours.map.at(t);
        let colour = Color32::from_rgb(r, g, b);
        let (near, far) = edges(t);
        mesh.colored_vertex(near, colour);
        mesh.colored_vertex(far, colour);
        if i > 0 {
            let k = 2 * i as u32;
            mesh.add_triangle(k - 2, k - 1, k);
            mesh.add_triangle(k - 1, k, k + 1);
        }
    }
    painter.add(mesh);
    let scale = if colours.log { Scale::Log } else { Scale::Linear };
    let [from, to] = colours.range.map(|v| scale.place(f64::from(v)));
    let most = if colours.log { 4.0 } else { 6.0 };
    let wanted = (rect.height().max(rect.width()) / 44.0).floor().clamp(2.0, most) as usize;
    let mut free_from = f32::NEG_INFINITY;
    for (place, words) in scale.ticks(from, to, wanted) {
        let (_, far) = edges(((place - from) / (to - from)) as f32);
        if lying {
            // Words that would touch those before them are left out.
            let wide = painter.layout_no_wrap(words.clone(), FontId::monospace(12.0), theme.secondary).size().x;
            if far.x - wide / 2.0 < free_from {
                continue;
            }
            free_from = far.x + wide / 2.0 + 6.0;
        }
        let (at, align) = match lying {
            true => (pos2(far.x, far.y + 3.0), Align2::CENTER_TOP),
            false => (pos2(far.x + 4.0, far.y.clamp(rect.top() + 5.0, rect.bottom() - 5.0)), Align2::LEFT_CENTER),
        };
        painter.text(at, align, words, FontId::monospace(12.0), theme.secondary);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_stays_over_the_cells() {
        let all = [0.0, 0.0, 10.0, 20.0];
        assert_eq!(kept_inside([-3.0, 2.0, 2.0, 12.0], all), Some([0.0, 2.0, 5.0, 12.0]));
        assert_eq!(kept_inside([-5.0, -5.0, 40.0, 40.0], all), None);
        assert_eq!(kept_inside([f32::NEG_INFINITY, f32::NAN, f32::INFINITY, 3.0], all), None, "scrolled out at once");
    }

    #[test]
    fn cells_are_copied_once_for_a_payload() {
        let matrix = MatrixView { rows: 1, cols: 2, data: &[1.0, 2.0] };
        let payload = Arc::new(Payload::Unknown(0.into()));
        let mut held = Held::default();
        held.hold(&payload, "", matrix, |v| v < 2.0);
        let first = held.revision;
        held.hold(&payload, "", matrix, |_| true);
        assert_eq!(held.revision, first);
        assert!(held.cells().data[1].is_nan());
        held.hold(&Arc::new((*payload).clone()), "", matrix, |_| true);
        assert!(held.revision > first);
    }
}
