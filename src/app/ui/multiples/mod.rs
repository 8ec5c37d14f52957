//! One view of several runs as small multiples at one step, and the difference of two of them, if the view has one: in
//! the window, and as pictures in files.

pub mod difference;
mod grid;

use std::path::PathBuf;

use eframe::egui::{Align2, FontId, Rect, ScrollArea, Sense, Ui, UiBuilder, Vec2, pos2, vec2};

use self::{
    difference::{Difference, DifferenceKind, DifferenceSides},
    grid::Grid,
};
use super::{
    figure::{self, Figure},
    mirror::Mirror,
    plot::map::MapState,
    theme::{self, Theme},
    view::scrolled_ui,
    views::{self, Selection, View, ViewEntry},
};
use crate::{
    analysis::distinct::distinct,
    config::{Config, Knob},
    gpu::offscreen::Offscreen,
    labs::Lab,
};

/// Width and height of one run's picture, points.
const CELL_SIZE: [f32; 2] = [640.0, 440.0];
/// Height of the line over all pictures, points.
const HEAD_HEIGHT: f32 = 44.0;
const MARGIN: f32 = 16.0;

/// A run that was read completely from its folder.
#[derive(Debug)]
pub struct ReplayedRun {
    /// The label beside the others.
    pub name: String,
    pub config: Config,
    pub knobs: Vec<Knob>,
    pub mirror: Mirror,
}

#[derive(Debug, Default)]
pub struct ReplayedRuns {
    pub folders: Vec<PathBuf>,
    pub runs: Vec<ReplayedRun>,
    /// The views that have something to show of at least one of them.
    pub views: Vec<&'static str>,
}

/// The views that are on the pages of all these labs, in the first one's order.
pub fn shared_views(labs: &[&Lab]) -> Vec<&'static ViewEntry> {
    let Some((first, others)) = labs.split_first() else { return vec![] };
    let have = |view: &&str| others.iter().all(|lab| lab.panes.iter().any(|p| p.view == *view));
    let shared = distinct(first.panes.iter().map(|p| p.view).filter(have));
    shared.into_iter().filter_map(views::find).collect()
}

impl ReplayedRun {
    /// The run as a view shows it at a step, or at its last one if that came before.
    pub fn figure<'a>(&'a self, view: &'a str, step: u64, theme: &'a Theme) -> Figure<'a> {
        let figure = Figure::new(view, &self.mirror, &self.config, &self.knobs, theme);
        Figure { step: step.min(self.mirror.step), size: CELL_SIZE, ..figure }
    }

    fn title(&self, step: u64) -> String {
        match self.mirror.step < step {
            true => format!("{} (its last step is {})", self.name, self.mirror.step),
            false => self.name.clone(),
        }
    }
}

/// Several runs in one view: the view, the selection in all of its pictures, and the runs to subtract.
#[derive(Default)]
pub struct Multiples {
    view: Option<&'static ViewEntry>,
    cells: Vec<Box<dyn View>>,
    selection: Selection,
    /// The indices of the two runs of the difference: the second minus the first.
    pub pair: [usize; 2],
    pub is_difference_hidden: bool,
    /// The computed difference, with the key that it was computed for.
    difference: Option<(DifferenceKey, Result<Difference, String>)>,
    /// The zoom and the selected cell of the difference map.
    state: MapState,
}

#[derive(Debug, Clone, PartialEq)]
struct DifferenceKey {
    kind: DifferenceKind,
    pair: [usize; 2],
    step: u64,
    selection: Selection,
}

impl Multiples {
    /// Switches to another view, of this many runs.
    pub fn take(&mut self, view: &'static ViewEntry, runs: usize) {
        *self = Self {
            view: Some(view),
            cells: (0..runs).map(|_| (view.make)()).collect(),
            pair: [0, runs.saturating_sub(1)],
            ..Self::default()
        };
    }

    pub fn view(&self) -> Option<&'static ViewEntry> {
        self.view
    }

    pub fn kind(&self) -> Option<DifferenceKind> {
        self.view.and_then(|v| DifferenceKind::for_view(v.id))
    }

    /// All pictures in the room there is, which scroll where there are too many.
    pub fn show(&mut self, ui: &mut Ui, runs: &[ReplayedRun], step: u64, theme: &Theme) {
        let Some(view) = self.view else { return };
        self.keep_difference(runs, step);
        let count = self.cells.len().min(runs.len()) + usize::from(self.difference.is_some());
        ScrollArea::vertical().id_salt("multiples").auto_shrink([false, false]).show(ui, |ui| {
            let room = vec2(ui.available_width(), ui.clip_rect().height().min(ui.available_height()));
            let grid = Grid::in_room(room, count);
            let (rect, _) = ui.allocate_exact_size(grid.size(), Sense::hover());
            for ((i, run), cell) in runs.iter().enumerate().zip(&mut self.cells) {
                let place = grid.cell(rect.min, i);
                if ui.is_rect_visible(place) {
                    let mut ui = cell_ui(ui, place, i);
                    let (figure, title) = (run.figure(view.id, step, theme), run.title(step));
                    figure.show_by(&mut ui, &title, cell.as_mut(), &mut self.selection, |ui, view, cx| {
                        // a view larger than its cell can be scrolled, as in a tile
                        scrolled_ui(ui, view, cx, Vec2::ZERO, 0.0);
                    });
                    swatch(&ui, place, theme, i);
                }
            }
            if let Some((key, made)) = &self.difference {
                let mut ui = cell_ui(ui, grid.cell(rect.min, count - 1), count);
                let names = key.pair.map(|i| runs.get(i).map_or("", |r| r.name.as_str()));
                let sides = DifferenceSides { names, colours: key.pair.map(|i| theme.series(i)) };
                difference::cell_ui(&mut ui, made.as_ref(), sides, theme, &mut self.state);
            }
        });
    }

    /// Makes the difference of what is shown, unless it is there.
    fn keep_difference(&mut self, runs: &[ReplayedRun], step: u64) {
        let [a, b] = self.pair;
        let kind = self.kind().filter(|_| !self.is_difference_hidden && a != b);
        let Some(((kind, a), b)) = kind.zip(runs.get(a)).zip(runs.get(b)) else {
            self.difference = None;
            return;
        };
        let key = DifferenceKey { kind, pair: self.pair, step, selection: self.selection.clone() };
        if self.difference.as_ref().is_none_or(|(of, _)| *of != key) {
            let made = Difference::new(kind, [a, b], step, &self.selection);
            self.difference = Some((key, made));
        }
    }
}

fn cell_ui(ui: &mut Ui, place: Rect, i: usize) -> Ui {
    let mut inner = ui.new_child(UiBuilder::new().id_salt(("run", i)).max_rect(place));
    inner.set_clip_rect(place.intersect(ui.clip_rect()));
    inner
}

/// The colour that the run has among curves.
fn swatch(ui: &Ui, place: Rect, theme: &Theme, i: usize) {
    let at = Rect::from_min_size(pos2(place.right() - 24.0, place.top() + 16.0), vec2(10.0, 10.0));
    ui.painter().rect_filled(at, 2.0, theme.series(i));
}

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
    let grid = Grid::with_cell_size(CELL_SIZE.into(), runs.len());
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
