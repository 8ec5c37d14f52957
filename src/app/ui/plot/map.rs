//! A matrix on the screen: the GPU heatmap with axes, pan and zoom, the pointed value, and a colour bar with ticks.

use std::sync::Arc;

use eframe::egui::{
    self, Align2, Color32, CornerRadius, FontId, Painter, Pos2, Rect, Response, Sense, StrokeKind, Ui, Vec2,
    WidgetInfo, accesskit::Role, pos2, text::LayoutJob, vec2,
};

use super::{
    colour_bar::{Colours, colour_bar},
    drawing,
    gestures::{arrow_steps, zoom_factor},
    map_cells::{MapCells, NOT_FINITE_LABEL},
    scale::{Scale, thin_tick_labels},
    tile::note_canvas,
};
use crate::{
    gpu::{self, heatmap::Heatmap},
    ui::theme::Theme,
};

/// The zoom of a map: the visible window, in cells (left, top, right, bottom).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MapState {
    window: Option<[f32; 4]>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MapPointed {
    /// Row and column.
    pub hovered: Option<(usize, usize)>,
    pub clicked: Option<(usize, usize)>,
}

/// A map as large as it fits into `rect`, without axes.
pub fn paint_map(ui: &Ui, rect: Rect, held: &MapCells, colours: Colours, theme: &Theme, window: Option<[f32; 4]>) {
    let painter = ui.painter_at(rect);
    let words = |text: &str| {
        let font = FontId::proportional(12.0);
        painter.text(rect.center(), Align2::CENTER_CENTER, text, font, theme.secondary);
    };
    let (cells, rgb) = (held.cells(), |colour: Color32| [colour.r(), colour.g(), colour.b()]);
    // The same cells may be drawn in several places at once.
    let key = ui.scope_id().with((&held.part, rect.min.x as i32, rect.min.y as i32)).value();
    let heatmap = Heatmap {
        key,
        revision: held.revision(),
        cells: held.cells.clone(),
        map: colours.map,
        range: colours.range,
        log: colours.log,
        window: window.unwrap_or([0.0, 0.0, cells.cols as f32, cells.rows as f32]),
        missing: rgb(theme.raised),
        not_finite: rgb(theme.text),
    };
    if drawing::is_drawing(ui.ctx()) {
        return draw_map(&painter, rect, &heatmap, theme);
    }
    let Some(target) = gpu::target(ui.ctx()) else {
        if rect.width() > 140.0 {
            words("no graphics adapter");
        }
        return;
    };
    match heatmap.shape(rect, target) {
        Ok(shape) => {
            painter.add(shape);
        }
        Err(e) => words(&e.to_string()),
    }
}

/// A map in a drawing: an image of its cells. Where cells that are not finite are large enough, they are hatched.
fn draw_map(painter: &Painter, rect: Rect, heatmap: &Heatmap, theme: &Theme) {
    let Some(image) = heatmap.image(rect.size().into()) else { return };
    let frame = MapWindow { rect, window: heatmap.window };
    let [left, top, right, bottom] = image.window;
    let all = Rect::from_min_max(frame.cell_corner(left, top), frame.cell_corner(right, bottom));
    if let Some(shape) = drawing::image(painter.ctx(), all, &image.rgba, image.size) {
        painter.add(shape);
    }
    let pixel = all.size() / Vec2::from(image.size.map(|side| side as f32));
    if pixel.min_elem() >= HATCH_DISTANCE {
        for [x, y] in image.not_finite {
            let cell = Rect::from_min_size(all.min + pixel * vec2(x as f32, y as f32), pixel);
            paint_not_finite(painter, cell, HATCH_DISTANCE, theme);
        }
    }
}

/// A map with axes and names, handled: scroll zooms, drag pans, double-click shows all; arrow keys choose the next cell.
pub struct MapUi<'a> {
    pub name: &'a str,
    pub held: &'a MapCells,
    pub colours: Colours,
    pub row_label: &'a str,
    pub col_label: &'a str,
    /// Describes the cell at a row and column under the pointer.
    pub describe: &'a dyn Fn(usize, usize) -> String,
    /// A row and column to outline.
    pub marked: Option<usize>,
    /// A cell to outline: row and column. Arrow keys start from it, or from the row that is marked.
    pub cell: Option<(usize, usize)>,
    pub frame: MapFrame,
}

/// The frame of a map: its colour bar, ticks and labels.
#[derive(Debug, Clone, PartialEq)]
pub struct MapFrame {
    /// The map has a colour bar of its own, or shares one.
    pub has_bar: bool,
    /// Rows and columns are numbered.
    pub has_ticks: bool,
    /// A title above the map, in place of the labels of rows and columns.
    pub title: Option<Title>,
}

impl Default for MapFrame {
    fn default() -> Self {
        Self { has_bar: true, has_ticks: true, title: None }
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Title {
    pub text: String,
    /// Shown where the lines above the map have no room for all of the text; if it is empty, the text is cut.
    pub short: String,
    pub colour: Color32,
    /// May be empty; its place is kept.
    pub value: String,
}

/// Width of the colour bar with its labels.
const COLOUR_BAR_WIDTH: f32 = 64.0;
const LEFT_MARGIN: f32 = 34.0;
const BOTTOM_MARGIN: f32 = 20.0;
const TOP_MARGIN: f32 = 18.0;
/// Height of a title of two lines.
const HIGH_HEAD: f32 = 34.0;
/// The width in points below which a title may take two lines.
pub const NARROW: f32 = 120.0;
/// The side of the sign in the legend, points.
const SIGN_SIZE: f32 = 10.0;
/// The distance of the stripes of the hatching, points; smaller cells are filled.
const HATCH_DISTANCE: f32 = 8.0;
/// Height of the colour bar with its labels where it lies under the map.
const BAR_BELOW: f32 = 36.0;

impl MapFrame {
    /// Room on the left, above and below that is not a map; `width`: of all.
    pub fn margins(&self, width: f32) -> (f32, f32, f32) {
        let (left, foot) = if self.has_ticks { (LEFT_MARGIN, BOTTOM_MARGIN) } else { (1.0, 1.0) };
        let head = if self.title.is_some() && width < NARROW { HIGH_HEAD } else { TOP_MARGIN };
        (left, head, foot)
    }
}

/// The mapping from the cells of a window to the screen.
#[derive(Clone, Copy)]
struct MapWindow {
    rect: Rect,
    window: [f32; 4],
}

impl MapWindow {
    fn cell_at(&self, p: Pos2, rows: f32, cols: f32) -> Option<(usize, usize)> {
        let Self { rect, window } = *self;
        let x = window[0] + (p.x - rect.left()) / rect.width() * (window[2] - window[0]);
        let y = window[1] + (p.y - rect.top()) / rect.height() * (window[3] - window[1]);
        (x >= 0.0 && y >= 0.0 && x < cols && y < rows).then_some((y as usize, x as usize))
    }

    /// The place of a column's left edge and a row's upper one.
    fn cell_corner(&self, col: f32, row: f32) -> Pos2 {
        let Self { rect, window } = *self;
        pos2(
            rect.left() + (col - window[0]) / (window[2] - window[0]) * rect.width(),
            rect.top() + (row - window[1]) / (window[3] - window[1]) * rect.height(),
        )
    }

    fn cell(&self, (row, col): (usize, usize)) -> Rect {
        let (row, col) = (row as f32, col as f32);
        Rect::from_two_pos(self.cell_corner(col, row), self.cell_corner(col + 1.0, row + 1.0))
    }
}

impl<'a> MapUi<'a> {
    /// A map of the weights of queries (rows) on keys (columns), with no cell outlined.
    pub fn attention(
        name: &'a str,
        held: &'a MapCells,
        colours: Colours,
        describe: &'a dyn Fn(usize, usize) -> String,
    ) -> Self {
        let (row_label, col_label, frame) = ("query", "key", MapFrame::default());
        Self { name, held, colours, row_label, col_label, describe, marked: None, cell: None, frame }
    }

    pub fn show(&self, ui: &mut Ui, size: Vec2, theme: &Theme, state: &mut MapState) -> MapPointed {
        let (sheet, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, self.name));
        let cells = self.held.cells();
        let (cols, rows) = (cells.cols.max(1) as f32, cells.rows.max(1) as f32);
        let (rect, bar) = self.map_and_bar_rects(sheet, cols / rows);
        note_canvas(ui, self.name, rect);
        self.handle_pointer(ui, rect, &response, state);
        let window = state.window.unwrap_or([0.0, 0.0, cols, rows]);
        paint_map(ui, rect, self.held, self.colours, theme, Some(window));
        let painter = ui.painter_at(sheet);
        let edge = if response.has_focus() { theme.accent } else { theme.line };
        painter.rect_stroke(rect, CornerRadius::ZERO, egui::Stroke::new(1.0, edge), StrokeKind::Outside);
        self.head(&painter, sheet, rect, theme);
        if self.frame.has_ticks {
            self.axes(&painter, rect, window, theme);
        }
        if self.frame.has_bar {
            colour_bar(&painter, bar, self.colours, theme);
        }
        let placed = MapWindow { rect, window };
        let hovered = response.hover_pos().filter(|p| rect.contains(*p)).and_then(|p| placed.cell_at(p, rows, cols));
        self.outlines(&painter.with_clip_rect(rect), placed, hovered, theme);
        if let Some((row, col)) = hovered {
            let words = (self.describe)(row, col);
            response.clone().on_hover_ui_at_pointer(|ui| {
                ui.label(egui::RichText::new(words).font(FontId::monospace(12.0)));
            });
        }
        let clicked = if response.clicked() { hovered } else { self.cell_by_key(ui, &response) };
        MapPointed { hovered, clicked }
    }

    /// Lays out the map and its colour bar, which is beside the map, or below it if the map is larger then.
    fn map_and_bar_rects(&self, sheet: Rect, shape: f32) -> (Rect, Rect) {
        let size = sheet.size();
        let (left, head, foot) = self.frame.margins(size.x);
        let room = |bar: Vec2| (size.x - left - bar.x).min((size.y - head - foot - bar.y) * shape).max(16.0);
        let (beside, under) = match self.frame.has_bar {
            true => (room(vec2(COLOUR_BAR_WIDTH, 0.0)), room(vec2(4.0, BAR_BELOW))),
            false => (room(vec2(2.0, 0.0)), 0.0),
        };
        let side = beside.max(under);
        let rect = Rect::from_min_size(sheet.min + vec2(left, head), vec2(side, (side / shape).max(8.0)));
        let bar = if beside >= under {
            Rect::from_min_size(pos2(rect.right() + 12.0, rect.top()), vec2(10.0, rect.height()))
        } else {
            Rect::from_min_size(pos2(rect.left(), rect.bottom() + foot + 4.0), vec2(rect.width(), 10.0))
        };
        (rect, bar)
    }

    /// The chosen row and cell, and the cell under the pointer.
    fn outlines(&self, inside: &Painter, placed: MapWindow, hovered: Option<(usize, usize)>, theme: &Theme) {
        let (rows, cols) = (self.held.cells().rows, self.held.cells().cols);
        if let Some(marked) = self.marked.filter(|m| *m < rows) {
            let row = Rect::from_x_y_ranges(placed.rect.x_range(), placed.cell((marked, 0)).y_range());
            inside.rect_stroke(row, 0.0, egui::Stroke::new(1.0, theme.accent), StrokeKind::Outside);
        }
        if let Some(cell) = self.cell.filter(|(row, col)| *row < rows && *col < cols) {
            // A cell of less than a few pixels is ringed with some room.
            let at = placed.cell(cell);
            let at = at.expand(((5.0 - at.width()) / 2.0).max(0.0));
            inside.rect_stroke(at, 0.0, egui::Stroke::new(1.5, theme.accent), StrokeKind::Outside);
        }
        if let Some(cell) = hovered {
            inside.rect_stroke(placed.cell(cell), 0.0, egui::Stroke::new(1.5, theme.text), StrokeKind::Outside);
        }
    }

    /// The cell that arrow keys lead to from the chosen one while the map has the focus.
    fn cell_by_key(&self, ui: &Ui, response: &Response) -> Option<(usize, usize)> {
        if !response.has_focus() {
            return None;
        }
        let [right, up] = arrow_steps(ui, response);
        let from = self.cell.or(self.marked.map(|row| (row, 0)));
        let Some((row, col)) = from else { return (up != 0 || right != 0).then_some((0, 0)) };
        let (rows, cols) = (self.held.cells().rows, self.held.cells().cols);
        let moved = |at: usize, by: i32, of: usize| at.saturating_add_signed(by as isize).min(of.saturating_sub(1));
        (up != 0 || right != 0).then(|| (moved(row, -up, rows), moved(col, right, cols)))
    }

    /// Above the map: its title with a value, or what rows and columns are.
    fn head(&self, painter: &Painter, sheet: Rect, rect: Rect, theme: &Theme) {
        let (left, head, _) = self.frame.margins(sheet.width());
        let at = pos2(rect.left() - left + 2.0, rect.top() - head);
        let Some(title) = &self.frame.title else {
            let axes = format!("rows: {}, columns: {}", self.row_label, self.col_label);
            let axes = painter.layout_no_wrap(axes, FontId::proportional(12.0), theme.secondary);
            let legend = self.held.has_not_finite.then(|| NotFiniteLegend::new(painter, theme));
            let beside = at + vec2(axes.size().x + 12.0, 0.0);
            let fits = |legend: &NotFiniteLegend| beside.x + legend.width() <= sheet.right();
            // The tooltip of a cell has the axes too, so that they give way.
            let has_axes = legend.as_ref().is_none_or(fits);
            if has_axes {
                painter.galley(at, axes, theme.secondary);
            }
            if let Some(legend) = legend {
                legend.paint(painter, if has_axes { beside } else { at }, theme);
            }
            return;
        };
        let wide = sheet.right() - rect.left();
        let value = painter.layout_no_wrap(title.value.clone(), FontId::monospace(12.0), theme.text);
        let laid_out = |text: &str| {
            let mut job = LayoutJob::simple(text.to_owned(), FontId::proportional(12.0), title.colour, wide);
            job.wrap.max_rows = if head < HIGH_HEAD { 1 } else { 2 };
            painter.layout_job(job)
        };
        let words = laid_out(&title.text);
        let words = if words.elided && !title.short.is_empty() { laid_out(&title.short) } else { words };
        let (size, said) = (value.size(), words.size());
        painter.galley(pos2(rect.left(), rect.top() - 3.0 - said.y), words, title.colour);
        // The value goes beside the title where there is room, else into the corner of the masked part.
        let is_beside = said.x + 8.0 + size.x <= rect.width();
        let low = if is_beside { rect.top() - 3.0 - size.y } else { rect.top() + 2.0 };
        let place = Rect::from_min_size(pos2(rect.right() - size.x - 2.0, low), size);
        if !is_beside && !title.value.is_empty() {
            painter.rect_filled(place.expand2(vec2(3.0, 1.0)), 2.0, theme.panel.gamma_multiply(0.85));
        }
        painter.galley(place.min, value, theme.text);
    }

    fn handle_pointer(&self, ui: &Ui, rect: Rect, response: &egui::Response, state: &mut MapState) {
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
            let factor = zoom_factor(ui, 300.0);
            if factor != 1.0 {
                let at = (pointer - rect.min) * scale + vec2(window[0], window[1]);
                let min = 2.0 / (window[2] - window[0]).max(2.0);
                let shrink = (1.0 / factor).max(min);
                window = std::array::from_fn(|edge| at[edge % 2] + (window[edge] - at[edge % 2]) * shrink);
            }
        }
        state.window = kept_inside(window, all);
    }

    fn axes(&self, painter: &Painter, rect: Rect, window: [f32; 4], theme: &Theme) {
        let mono = FontId::monospace(12.0);
        let ticks = |from: f32, to: f32, room: f32| {
            let wanted = (room / 48.0).floor().clamp(1.0, 8.0) as usize;
            Scale::Linear.integer_ticks(from as f64, to as f64 - 0.5, wanted)
        };
        let x = |value: f64| rect.left() + (value as f32 + 0.5 - window[0]) / (window[2] - window[0]) * rect.width();
        let y = |value: f64| rect.top() + (value as f32 + 0.5 - window[1]) / (window[3] - window[1]) * rect.height();
        let mut columns = ticks(window[0], window[2], rect.width());
        thin_tick_labels(&mut columns, |(value, words)| {
            let galley = painter.layout_no_wrap(words.clone(), mono.clone(), theme.secondary);
            let (at, half) = (x(*value), galley.size().x / 2.0);
            [at - half, at + half + 4.0]
        });
        for (value, words) in columns {
            let at = pos2(x(value), rect.bottom() + 3.0);
            painter.text(at, Align2::CENTER_TOP, words, mono.clone(), theme.secondary);
        }
        let mut rows = ticks(window[1], window[3], rect.height());
        thin_tick_labels(&mut rows, |(value, _)| [0.0, 12.0].map(|below| y(*value) + below));
        for (value, words) in rows {
            let at = pos2(rect.left() - 5.0, y(value));
            painter.text(at, Align2::RIGHT_CENTER, words, mono.clone(), theme.secondary);
        }
    }
}

/// The legend of cells whose values are not finite: their sign and its name. Maps with a title leave it to the view that draws
/// their scale.
pub struct NotFiniteLegend(Arc<egui::Galley>);

impl NotFiniteLegend {
    pub fn new(painter: &Painter, theme: &Theme) -> Self {
        Self(painter.layout_no_wrap(NOT_FINITE_LABEL.to_owned(), FontId::proportional(12.0), theme.secondary))
    }

    pub fn width(&self) -> f32 {
        SIGN_SIZE + 4.0 + self.0.size().x
    }

    /// Paints it with its left upper corner at this place.
    pub fn paint(self, painter: &Painter, at: Pos2, theme: &Theme) {
        let sign = Rect::from_min_size(at + vec2(0.0, 2.0), Vec2::splat(SIGN_SIZE));
        paint_not_finite(painter, sign, SIGN_SIZE / 2.0, theme);
        painter.galley(at + vec2(SIGN_SIZE + 4.0, 0.0), self.0, theme.secondary);
    }
}

/// The look of a cell whose value is not finite, as the shader draws it: stripes `apart` from one another, points.
fn paint_not_finite(painter: &Painter, rect: Rect, apart: f32, theme: &Theme) {
    painter.rect_filled(rect, 0.0, theme.raised);
    let Vec2 { x: width, y: height } = rect.size();
    let sums = (1..).map(|stripe| stripe as f32 * apart).take_while(|sum| *sum < width + height);
    for sum in sums {
        let upper = vec2(sum.min(width), (sum - width).max(0.0));
        let lower = vec2((sum - height).max(0.0), sum.min(height));
        painter.line_segment([rect.min + upper, rect.min + lower], egui::Stroke::new(2.0, theme.text));
    }
}

/// The window moved and cut to lie within `all`; `None` if that is all of it, or if an edge is NaN.
fn kept_inside(window: [f32; 4], all: [f32; 4]) -> Option<[f32; 4]> {
    if window.iter().any(|edge| edge.is_nan()) {
        return None;
    }
    let span = |a: f32, b: f32, max: f32| {
        let width = (b - a).min(max);
        let from = a.clamp(0.0, max - width);
        (from, from + width)
    };
    let (left, right) = span(window[0], window[2], all[2]);
    let (top, bottom) = span(window[1], window[3], all[3]);
    let kept = [left, top, right, bottom];
    (kept != all).then_some(kept)
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
}
