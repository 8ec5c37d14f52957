//! Draws small multiples for files: one picture of all runs, and one of the difference between two.

use eframe::egui::{Align2, FontId, pos2, vec2};

use super::{
    ReplayedRun, cell_ui,
    difference::{self, Difference, DifferenceSides},
    grid::Grid,
    swatch,
};
use crate::{
    gpu::offscreen::Offscreen,
    ui::{
        figure,
        plot::map::MapState,
        theme::{self, Theme},
        views::{Selection, View, ViewEntry},
    },
};

/// Width and height of one run's picture, points.
pub const CELL: [f32; 2] = [640.0, 440.0];
/// Height of the line over all pictures, points.
const HEAD_HEIGHT: f32 = 44.0;
const MARGIN: f32 = 16.0;

/// A view of runs at a step.
#[derive(Clone, Copy)]
pub struct Multiple<'a> {
    pub view: &'static ViewEntry,
    pub step: u64,
    pub theme: &'a Theme,
}

/// The bytes of a PNG file with the view of every run. The error is a message.
pub fn png(offscreen: &mut Offscreen, of: Multiple<'_>, runs: &[ReplayedRun]) -> Result<Vec<u8>, String> {
    let mut cells: Vec<Box<dyn View>> = runs.iter().map(|_| (of.view.make)()).collect();
    let mut selection = Selection::default();
    let grid = Grid::with_cell_size(CELL.into(), runs.len());
    let size = grid.size() + vec2(2.0 * MARGIN, HEAD_HEIGHT + MARGIN);
    let title = format!("{} of {} runs at step {}", of.view.title, runs.len(), of.step);
    figure::png(offscreen, of.theme, size, |ui| {
        let sheet = ui.max_rect();
        ui.painter().rect_filled(sheet, 0.0, of.theme.page);
        let at = sheet.min + vec2(MARGIN, 12.0);
        ui.painter().text(at, Align2::LEFT_TOP, &title, FontId::proportional(theme::TITLE), of.theme.text);
        let from = pos2(sheet.left() + MARGIN, sheet.top() + HEAD_HEIGHT);
        for ((i, run), cell) in runs.iter().enumerate().zip(&mut cells) {
            let place = grid.cell(from, i);
            let mut ui = cell_ui(ui, place, i);
            let figure = run.figure(of.view.id, of.step, of.theme);
            figure.show(&mut ui, &run.title(of.step), cell.as_mut(), &mut selection);
            swatch(&ui, place, of.theme, i);
        }
    })
}

/// The bytes of a PNG file of a difference; `names`: minuend and subtrahend. An error is a message for the user.
pub fn difference_png(
    offscreen: &mut Offscreen,
    difference: &Difference,
    names: [&str; 2],
    theme: &Theme,
) -> Result<Vec<u8>, String> {
    let mut state = MapState::default();
    let sides = DifferenceSides { names, colours: [0, 1].map(|i| theme.series(i)) };
    figure::png(offscreen, theme, difference.size(), |ui| {
        difference::cell_ui(ui, Ok(difference), sides, theme, &mut state)
    })
}
