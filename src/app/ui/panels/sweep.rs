//! The page of a sweep: its pictures under one slider of steps, its table, and the runs that remain. A worker reads the
//! files, because the interface thread must not block.

mod head;
pub(super) mod pictures;
pub(super) mod table;

use super::top_bar::top_bar_ui;
use crate::ui::panels::prelude::*;

/// A point that was clicked, and where its seeds are offered.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SeedMenu {
    point: usize,
    at: Pos2,
    /// True in the frame in which it opens, whose click must not close it.
    is_new: bool,
}

/// The page: a sweep as the host read it, and the requests of its controls.
#[derive(Debug, Default)]
pub struct SweepPage {
    /// The page is shown, in place of a lab.
    pub is_open: bool,
    pub folder: PathBuf,
    results: Option<Arc<SweepResults>>,
    /// The reason why it could not be read.
    error_message: Option<String>,
    is_reading: bool,
    /// It is being read again in the background, which the page does not show.
    is_rereading: bool,
    /// The time of the last request, on egui's clock.
    requested_at: f64,
    number: Option<NumberId>,
    /// Numbers beside it, in parallel coordinates and the table.
    others: Vec<NumberId>,
    /// All pictures as of this step; `None`: the newest.
    step: Option<u64>,
    selected: Option<usize>,
    brush: Brush,
    order: PointOrder,
    chart: ChartState,
    prepared: Option<Prepared>,
    menu: Option<SeedMenu>,
}

impl SweepPage {
    /// Brings the page of a sweep to the front, while what its runs recorded is being read.
    pub fn open(&mut self, folder: PathBuf) {
        if self.folder != folder {
            *self = Self { folder, ..Self::default() };
        }
        (self.is_open, self.is_reading, self.error_message) = (true, true, None);
    }

    pub fn set(&mut self, folder: &PathBuf, read: Result<Arc<SweepResults>, String>) {
        if *folder != self.folder {
            return;
        }
        (self.is_reading, self.is_rereading) = (false, false);
        match read {
            Ok(results) => {
                self.error_message = None;
                self.set_results(results);
            }
            // the results read before stay
            Err(words) => self.error_message = Some(words),
        }
    }

    /// Shows from the click on that the runs of this sweep stop; that they have stopped is read later.
    pub fn show_stopping(&mut self, folder: &Path) {
        if let Some(results) = self.results.as_mut().filter(|_| self.folder == folder) {
            Arc::make_mut(results).process = SweepProcess::Stopping;
        }
    }

    fn set_results(&mut self, results: Arc<SweepResults>) {
        let is_first = self.results.is_none();
        if self.number.as_ref().is_none_or(|id| results.number(id).is_none()) {
            self.number = results.first_number().map(|i| results.numbers[i].id.clone());
        }
        if is_first {
            self.others = default_others(&results, self.number.as_ref());
        }
        self.others.retain(|id| results.number(id).is_some() && self.number.as_ref() != Some(id));
        let axes = results.axes.len();
        self.brush.ranges.retain(|dimension, _| match dimension {
            Dimension::Axis(axis) => *axis < axes,
            Dimension::Number(id) => results.number(id).is_some(),
        });
        self.selected = self.selected.filter(|point| *point < results.points.len());
        self.menu = self.menu.filter(|menu| menu.point < results.points.len());
        self.results = Some(results);
    }

    /// Closes the innermost open thing; false if nothing is open.
    pub fn back(&mut self) -> bool {
        self.menu.take().is_some() || self.selected.take().is_some()
    }

    fn choose(&mut self, id: NumberId) {
        self.others.retain(|other| *other != id);
        self.number = Some(id);
        self.chart = ChartState::default();
        self.brush.ranges.retain(|dimension, _| matches!(dimension, Dimension::Axis(_)));
    }

    /// The pictures' data, computed again if something has changed; `None` while no number is recorded.
    fn prepare(&mut self, is_dark: bool) -> Option<Prepared> {
        let results = Arc::clone(self.results.as_ref()?);
        let number = results.number(self.number.as_ref()?)?;
        let others = self.others.iter().filter_map(|id| results.number(id)).collect();
        let step = self.step.unwrap_or_else(|| results.last_step());
        let choices = PictureChoices { number, others, step, brush: self.brush.clone(), is_dark };
        Some(Prepared::renewed(self.prepared.take(), &results, choices))
    }

    /// A click takes a point: the run of one seed opens, of several a menu.
    fn take_clicked(&mut self, ui: &Ui, shell: &mut Shell<'_>, clicked: Option<usize>) {
        let (Some(point), Some(results)) = (clicked, &self.results) else { return };
        self.selected = Some(point);
        let made = results.runs_of(point).next().and_then(|(_, run)| run.made.as_ref());
        match (results.seeds.len(), made) {
            (1, Some(made)) => shell.act(OpenAction::Run(made.path.clone())),
            _ => {
                let at = ui.input(|i| i.pointer.interact_pos()).unwrap_or(Pos2::new(400.0, 300.0));
                self.menu = Some(SeedMenu { point, at, is_new: true });
            }
        }
    }
}

/// The numbers shown beside the first: the next few headline numbers of the same variants.
fn default_others(results: &SweepResults, first: Option<&NumberId>) -> Vec<NumberId> {
    const MAX_SHOWN: usize = 2;
    let group = first.map_or("", |id| id.group.as_str());
    let headlines =
        results.numbers.iter().filter(|n| n.digits.is_some() && n.id.group == group && Some(&n.id) != first);
    headlines.take(MAX_SHOWN).map(|n| n.id.clone()).collect()
}

pub fn sweep_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut SweepPage) {
    top_bar_ui(ui, shell, None, Some("Sweep"));
    read_again(ui, shell, page);
    let margin = Margin { left: 16, right: 16, top: 12, bottom: 12 };
    CentralPanel::default().frame(Frame::NONE.fill(shell.theme.page).inner_margin(margin)).show(ui, |ui| {
        // the head explains what the table shows
        page.prepared = page.prepare(shell.theme.dark);
        head::head_ui(ui, shell, page);
        ui.add_space(6.0);
        match page.prepare(shell.theme.dark) {
            Some(prepared) => {
                pictures::pictures_ui(ui, shell, page, &prepared);
                page.prepared = Some(prepared);
            }
            None => _ = quiet_ui(ui, shell.theme, empty_message(page)),
        }
    });
    menu_ui(ui, shell, page);
}

/// Seconds between two readings of a sweep whose runs no known process makes.
const UNMADE_REREAD_SECONDS: f64 = 10.0;

/// Until every run has finished, their records are read repeatedly, more rarely while nobody is known to make them.
fn read_again(ui: &Ui, shell: &mut Shell<'_>, page: &mut SweepPage) {
    let Some(results) = &page.results else { return };
    let progress = results.progress();
    if !results.process.is_alive() && progress.finished == results.runs.len() {
        return;
    }
    let is_made = results.process.is_alive() || progress.running > 0;
    let seconds = if is_made { REREAD_SECONDS } else { UNMADE_REREAD_SECONDS };
    if is_read_again(ui, shell.now, page.requested_at, seconds, page.is_reading || page.is_rereading) {
        (page.is_rereading, page.requested_at) = (true, shell.now);
        shell.act(RunsAction::ReadSweep(page.folder.clone()));
    }
}

fn empty_message(page: &SweepPage) -> &'static str {
    match (&page.results, &page.error_message) {
        (None, Some(_)) => "Nothing can be shown of it.",
        (None, None) => "Reading the runs of the sweep…",
        (Some(results), _) if results.progress().running > 0 => "The first numbers are on their way.",
        (Some(_), _) => "No run has recorded a number yet. The command above makes the runs.",
    }
}

fn menu_ui(ui: &Ui, shell: &mut Shell<'_>, page: &mut SweepPage) {
    let (Some(menu), Some(results)) = (page.menu, page.results.clone()) else { return };
    let screen = ui.ctx().content_rect();
    let lowest = screen.bottom() - 40.0 - 32.0 * results.seeds.len().min(8) as f32;
    let at = menu.at.min(pos2(screen.right() - 260.0, lowest));
    let area = Area::new(Id::unique("seeds of a point")).order(Order::Foreground).fixed_pos(at);
    let mut is_done = false;
    let shown = area.show(ui.ctx(), |ui| {
        Frame::popup(ui.style()).show(ui, |ui| {
            ui.set_max_width(340.0);
            note_ui(ui, shell.theme, results.point_name(menu.point));
            ScrollArea::vertical().max_height(240.0).show(ui, |ui| {
                for (_, run) in results.runs_of(menu.point) {
                    let words = run.made.as_ref().map_or("not begun", |made| made.state_label.as_str());
                    let button = Button::new(format!("Open seed {}: {words}", run.seed)).frame(false);
                    let can = run.made.is_some();
                    if ui.add_enabled(can, button).clicked()
                        && let Some(made) = &run.made
                    {
                        shell.act(OpenAction::Run(made.path.clone()));
                        is_done = true;
                    }
                }
            });
        });
    });
    let is_elsewhere = !menu.is_new && ui.input(|i| i.pointer.any_click()) && !shown.response.contains_pointer();
    if let Some(menu) = &mut page.menu {
        menu.is_new = false;
    }
    if is_done || is_elsewhere {
        page.menu = None;
    }
}
