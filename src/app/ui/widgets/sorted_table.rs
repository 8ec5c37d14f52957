//! A table with clickable rows and sortable columns. Only visible rows are drawn; columns without room scroll.

use eframe::egui::{
    Align, Color32, CursorIcon, FontId, Rect, Response, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, pos2,
    text::LayoutJob, vec2,
};

use super::truncated::truncated;
use crate::ui::{
    plot::note_table,
    theme::{self, Theme},
};

/// Room beside the text of a cell, points.
pub const PAD: f32 = 8.0;
/// Height of a line of a heading, points. A head that has room for several wraps its headings.
pub const HEAD_LINE: f32 = 17.0;

pub struct TableColumn {
    pub heading: String,
    pub width: f32,
    /// True for a column of numbers, which are aligned right.
    pub align_right: bool,
    /// The direction of the order, if rows are sorted by it: true if they fall.
    pub descending: Option<bool>,
}

/// The frame of a table: the view or panel draws the cells.
pub struct SortedTable<'a> {
    pub id: &'static str,
    pub theme: &'a Theme,
    pub columns: Vec<TableColumn>,
    /// The space before the first column, points.
    pub left: f32,
    /// Heights of the header and of a row, points.
    pub head: f32,
    pub row: f32,
    /// The row to scroll to.
    pub wanted: Option<usize>,
}

pub struct CellText {
    pub text: String,
    pub font: FontId,
    pub colour: Color32,
    pub align_right: bool,
}

impl SortedTable<'_> {
    /// Draws the table of this many rows, each by `row_ui`; returns the column whose heading was clicked.
    pub fn show(&self, ui: &mut Ui, rows: usize, mut row_ui: impl FnMut(&mut Ui, usize)) -> Option<usize> {
        let needed = self.left + self.columns.iter().map(|column| column.width).sum::<f32>();
        note_table(ui.ctx(), self.id, ui.available_width(), needed);
        let mut all_ui = |ui: &mut Ui| {
            let clicked = self.head_ui(ui);
            ui.spacing_mut().item_spacing.y = 0.0;
            let mut area = ScrollArea::vertical().id_salt(self.id).auto_shrink([false, false]);
            if let Some(row) = self.wanted {
                area = area.vertical_scroll_offset((row as f32 - 3.0).max(0.0) * self.row);
            }
            area.show_rows(ui, self.row, rows, |ui, range| range.for_each(|row| row_ui(ui, row)));
            clicked
        };
        if needed <= ui.available_width() + 0.5 {
            return all_ui(ui);
        }
        let area = ScrollArea::horizontal().id_salt((self.id, "columns")).auto_shrink([false, false]);
        let shown = area.show(ui, |ui| {
            ui.set_width(needed);
            all_ui(ui)
        });
        shown.inner
    }

    pub fn places(&self, row: Rect) -> impl Iterator<Item = Rect> {
        let mut x = row.left() + self.left;
        self.columns.iter().map(move |column| {
            x += column.width;
            Rect::from_min_size(pos2(x - column.width, row.top()), vec2(column.width, row.height()))
        })
    }

    fn head_ui(&self, ui: &mut Ui) -> Option<usize> {
        let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), self.head), Sense::hover());
        let mut clicked = None;
        for (i, (column, place)) in self.columns.iter().zip(self.places(rect)).enumerate() {
            let response = ui.interact(place, ui.scope_id().with(("sort", i)), Sense::click());
            let name = format!("Sort by {}", column.heading);
            response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
            let sign = match column.descending {
                Some(true) => " ▾",
                Some(false) => " ▴",
                None => "",
            };
            let is_bright = column.descending.is_some() || response.hovered();
            let words = CellText {
                text: format!("{}{sign}", column.heading),
                font: theme::small(),
                colour: if is_bright { self.theme.text } else { self.theme.secondary },
                align_right: column.align_right,
            };
            heading_ui(ui, place, words);
            if response.on_hover_cursor(CursorIcon::PointingHand).clicked() {
                clicked = Some(i);
            }
        }
        ui.painter().hline(rect.x_range(), rect.bottom(), Stroke::new(1.0, self.theme.line));
        clicked
    }

    /// Draws the background of a row and sets its accessible name; the cells are drawn on top.
    pub fn row_ui(&self, ui: &mut Ui, name: &str, is_selected: bool) -> Response {
        let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), self.row), Sense::click());
        response.widget_info(|| WidgetInfo::selected(Role::ListItem, true, is_selected, name));
        if is_selected {
            ui.painter().rect_filled(rect, theme::CORNER, self.theme.raised);
            let edge = Rect::from_min_size(rect.min, vec2(2.0, self.row));
            ui.painter().rect_filled(edge, 0.0, self.theme.accent);
        } else if response.hovered() {
            ui.painter().rect_filled(rect, theme::CORNER, self.theme.panel);
        }
        ui.painter().hline(rect.x_range(), rect.bottom(), Stroke::new(1.0, self.theme.line));
        response.on_hover_cursor(CursorIcon::PointingHand)
    }
}

/// Draws a heading on as many lines as its place has room for.
fn heading_ui(ui: &Ui, place: Rect, cell: CellText) {
    let max_rows = (place.height() / HEAD_LINE) as usize;
    if max_rows <= 1 {
        cell_ui(ui, place, cell);
        return;
    }
    let mut job = LayoutJob::simple(cell.text, cell.font, cell.colour, place.width() - PAD);
    job.wrap.max_rows = max_rows;
    job.halign = if cell.align_right { Align::RIGHT } else { Align::LEFT };
    let galley = ui.painter().layout_job(job);
    let anchor = if cell.align_right { place.right() - PAD } else { place.left() + PAD };
    ui.painter().galley(pos2(anchor, place.center().y - galley.size().y / 2.0), galley, cell.colour);
}

/// Draws a text in the middle of a cell's height, cut off where it is too long; returns true if it was cut off.
pub fn cell_ui(ui: &Ui, place: Rect, cell: CellText) -> bool {
    let galley = truncated(ui.painter(), &cell.text, cell.font, cell.colour, place.width() - PAD);
    let left = if cell.align_right { place.right() - galley.size().x - PAD } else { place.left() + PAD };
    let is_cut = galley.elided;
    ui.painter().galley(pos2(left, place.center().y - galley.size().y / 2.0), galley, cell.colour);
    is_cut
}
