//! The page with the table of runs: the requests of its controls, and its parts in order. The host reads its rows.

mod chips;
mod compare;
mod details;
mod settings;
mod table;

use self::{chips::Chips, settings::TableSettings};
use super::top_bar::top_bar_ui;
use crate::{
    analysis::distinct::distinct,
    experiments::run_table::{filter::Filter, order::Order},
    labs::{LABS, headline::split_key},
    ui::{
        comparison::ComparedRuns, host::FoundSweep, multiples::ReplayedRuns, panels::prelude::*,
        widgets::truncated::shared_beginnings,
    },
};

/// Width of the panel about one run, points.
const DETAILS_WIDTH: f32 = 312.0;
/// The maximum number of runs in one chart; more lines cannot be told apart.
const MAX_COMPARED: usize = 30;

/// The note that the user is writing about a run, until it is saved.
#[derive(Debug, Clone, Default, PartialEq)]
struct Draft {
    folder: String,
    /// The note on the disk from which the draft began, or which it became.
    saved: RunNote,
    /// The text of the tags that is being typed, separated by commas.
    tags: String,
    note: RunNote,
}

impl Draft {
    fn new(row: &RunRow) -> Self {
        let (saved, note) = (row.note.clone(), row.note.clone());
        Self { folder: row.folder.clone(), saved, tags: note.tags.join(", "), note }
    }

    /// Follows the note on the disk. A note that another program wrote replaces a draft that was not edited.
    fn follow(&mut self, row: &RunRow) {
        let is_edited = || self.note != self.saved || parse_tags(&self.tags) != self.saved.tags;
        if self.folder != row.folder || self.saved != row.note && !is_edited() {
            *self = Self::new(row);
        } else if self.note == row.note {
            self.saved.clone_from(&row.note);
        }
    }
}

/// The page: rows as the host found them, and the requests of its controls.
#[derive(Default)]
pub struct RunsPage {
    /// The page is shown, in place of a lab.
    pub is_open: bool,
    rows: Vec<RunRow>,
    settings: TableSettings,
    /// Some rows are still being read.
    is_reading: bool,
    /// The list of runs has arrived at least once.
    has_arrived: bool,
    filter: String,
    chips: Chips,
    /// The message that explains why the filter finds nothing.
    error_message: Option<String>,
    order: Order,
    /// The indices of the rows that are shown, in their order.
    shown: Vec<usize>,
    /// How many bytes of each shown name are the beginning of another shown name too.
    shared: Vec<usize>,
    /// The shown rows must be found again.
    is_stale: bool,
    /// Folder of the selected run.
    selected: Option<String>,
    /// Folders of the runs that are ticked.
    ticked: BTreeSet<String>,
    pub sweeps: Vec<FoundSweep>,
    /// True while the ticked runs are being read.
    is_comparing: bool,
    comparison: Option<compare::ComparePage>,
    draft: Draft,
}

impl RunsPage {
    /// The page comes to the front; its rows are on the way.
    pub fn open(&mut self) {
        (self.is_open, self.is_reading) = (true, true);
    }

    /// How far it has opened: it is shown, its table has arrived, and a comparison is open in it.
    pub fn stages(&self) -> [bool; 3] {
        [self.is_open, self.has_arrived, self.comparison.is_some()]
    }

    /// Takes the rows that the host found; more may follow.
    pub fn set(&mut self, rows: Vec<RunRow>, is_complete: bool) {
        self.settings = TableSettings::new(&rows);
        (self.rows, self.is_reading, self.has_arrived, self.is_stale) = (rows, !is_complete, true, true);
    }

    /// Shows a note that was written for a run.
    pub fn apply_note(&mut self, path: &Path, note: &RunNote) {
        if let Some(row) = self.rows.iter_mut().find(|r| r.path == path) {
            row.note.clone_from(note);
            self.is_stale = true;
        }
    }

    /// Takes a run that was moved to the trash out of the table; returns its title.
    pub fn remove_discarded(&mut self, path: &Path) -> String {
        let title = self.rows.iter().find(|r| r.path == path).map(|r| r.title().to_owned());
        let title = title.unwrap_or_else(|| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        self.rows.retain(|r| r.path != path);
        (self.selected, self.is_stale) = (None, true);
        title
    }

    /// Opens the comparison of the ticked runs once they are read; `None` if they could not be.
    pub fn show_comparison(&mut self, runs: Option<ComparedRuns>) {
        self.is_comparing = false;
        self.comparison = runs.map(compare::ComparePage::new);
    }

    /// Shows the views of compared runs once they are read whole; returns the reason if they could not be.
    pub fn show_replayed(&mut self, runs: Result<Arc<ReplayedRuns>, String>) -> Option<String> {
        let comparison = self.comparison.as_mut()?;
        match runs {
            Ok(runs) => comparison.show_replayed(runs),
            Err(words) => {
                comparison.return_to_curves();
                return Some(words);
            }
        }
        None
    }

    /// Returns from a comparison to the table; false if no comparison is open.
    pub fn back(&mut self) -> bool {
        self.comparison.take().is_some()
    }

    fn ticked_folders(&self) -> Vec<PathBuf> {
        self.rows.iter().filter(|r| self.ticked.contains(&r.folder)).map(|r| r.path.clone()).collect()
    }

    fn selected(&self) -> Option<&RunRow> {
        let folder = self.selected.as_ref()?;
        self.rows.iter().find(|r| r.folder == *folder)
    }

    /// Finds the shown rows again, if anything changed.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let filter = match Filter::parse(&self.filter) {
            Ok(filter) => filter,
            Err(words) => {
                // The earlier matches stay while the term is being typed.
                self.error_message = Some(words);
                return;
            }
        };
        self.error_message = filter.unknown_key(self.rows.iter()).filter(|_| !self.rows.is_empty());
        let places: HashMap<&str, usize> = self.rows.iter().enumerate().map(|(i, r)| (r.folder.as_str(), i)).collect();
        let mut wanted: Vec<&RunRow> =
            self.rows.iter().filter(|row| filter.matches(row) && self.chips.matches(row)).collect();
        self.order.sort(&mut wanted);
        self.shared = shared_beginnings(&wanted.iter().map(|row| row.title()).collect::<Vec<_>>(), b" /-");
        self.shown = wanted.iter().filter_map(|row| places.get(row.folder.as_str()).copied()).collect();
        self.chips.count(self.rows.iter().filter(|row| filter.archived || !row.note.archived));
    }

    /// Columns, settings and headline numbers that rows can be sorted by: those that some shown run has.
    fn keys(&self) -> Vec<String> {
        let columns = ["began", "name", "lab", "state", "steps", "seed", "loss", "size"];
        let shown = self.shown.iter().filter_map(|i| self.rows.get(*i));
        let of_runs = shown.flat_map(|r| r.headlines.keys().into_iter().chain(r.changed.keys().map(String::as_str)));
        distinct(columns.into_iter().chain(of_runs)).into_iter().map(str::to_owned).collect()
    }
}

fn key_label(key: &str) -> String {
    match key {
        "began" => "when it began".to_owned(),
        "loss" => "last loss".to_owned(),
        "size" => "size on disk".to_owned(),
        key => {
            let headline = LABS.iter().find_map(|lab| lab.headline(split_key(key).0).map(|h| h.heading(key)));
            headline.unwrap_or_else(|| key.to_owned())
        }
    }
}

pub fn runs_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage) {
    page.refresh();
    top_bar_ui(ui, shell, None, Some("Runs"));
    let rest = CentralPanel::default().frame(Frame::NONE.fill(shell.theme.page).inner_margin(Margin::same(16)));
    if let Some(comparison) = &mut page.comparison {
        if rest.show(ui, |ui| compare::compare_ui(ui, shell, comparison)).inner {
            page.comparison = None;
        }
        return;
    }
    if page.selected().is_some() {
        borderless(Panel::right("about a run").exact_size(DETAILS_WIDTH), ground(shell.theme, Margin::same(16)))
            .show(ui, |ui| details::details_ui(ui, shell, page));
    }
    rest.show(ui, |ui| {
        head_ui(ui, shell, page);
        ui.add_space(8.0);
        match empty_message(page) {
            Some(words) => _ = quiet_ui(ui, shell.theme, words),
            None => table::table_ui(ui, shell, page),
        }
    });
}

/// Width from which the filter and what is beside it share a line, points.
const ONE_LINE: f32 = 920.0;

fn head_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage) {
    if ui.available_width() < ONE_LINE {
        ui.horizontal(|ui| find_ui(ui, shell.theme, page));
        ui.horizontal(|ui| order_ui(ui, shell, page));
    } else {
        ui.horizontal(|ui| {
            find_ui(ui, shell.theme, page);
            order_ui(ui, shell, page);
        });
    }
    let (words, colour) = match &page.error_message {
        Some(words) => (words.clone(), shell.theme.error),
        None => (count_message(page), shell.theme.secondary),
    };
    ui.label(small_text(words, colour));
    page.is_stale |= page.chips.ui(ui, shell.theme);
    sweeps_ui(ui, shell, page);
}

fn find_ui(ui: &mut Ui, theme: &Theme, page: &mut RunsPage) {
    let tip = "Words in a name, a note, a tag or a folder; lab:, preset:, state:, sweep:, tag:, is:pinned, is:archived; a setting or a \
               headline number compared, such as lr<1e-3 or gate>0.1, of one variant gate:coupled>0.1; size>30MB, \
               began>2026-01-31; ! before a term excludes its matches. All terms must match.";
    page.is_stale |= filter_ui(ui, theme, &mut page.filter, "lab:fast_slow lr<1e-3 state:killed !wide", tip);
}

/// The order of the rows, and the buttons that act on all of them.
fn order_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage) {
    let label = note_ui(ui, shell.theme, "sort by");
    let shown = key_label(&page.order.key);
    let choices = page.keys().into_iter().map(|key| (key.clone(), key_label(&key), key == page.order.key));
    let (chosen, _) = list_box(ui, ("sort", label.id), 176.0, &shown, choices);
    let words = if page.order.descending { "descending" } else { "ascending" };
    if ui.add(Button::new(words)).on_hover_text("Reverses the order.").clicked() {
        (page.order.descending, page.is_stale) = (!page.order.descending, true);
    }
    if let Some(key) = chosen {
        page.order = Order { descending: key == "began", key };
        page.is_stale = true;
    }
    compare_button_ui(ui, shell, page);
    shell.on_click(ui.button("Refresh").on_hover_text("Reads what has changed on the disk."), OpenAction::Runs);
}

/// The sweeps beside the runs; a click opens one's page.
fn sweeps_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &RunsPage) {
    const MAX_SHOWN: usize = 6;
    if page.sweeps.is_empty() {
        return;
    }
    let words = |sweep: &FoundSweep| format!("{} · {} runs", sweep.name, number::grouped(sweep.runs as u64));
    ui.horizontal_wrapped(|ui| {
        note_ui(ui, shell.theme, "sweeps");
        for sweep in page.sweeps.iter().take(MAX_SHOWN) {
            let about = format!("Opens the page of {}.", sweep.folder.display());
            let button = ui.button(words(sweep)).on_hover_text(about);
            shell.on_click(button, OpenAction::Sweep(sweep.folder.clone()));
        }
        if page.sweeps.len() > MAX_SHOWN {
            ui.menu_button(format!("{} more", page.sweeps.len() - MAX_SHOWN), |ui| {
                ScrollArea::vertical().max_height(360.0).show(ui, |ui| {
                    for sweep in page.sweeps.iter().skip(MAX_SHOWN) {
                        shell.on_click(ui.button(words(sweep)), OpenAction::Sweep(sweep.folder.clone()));
                    }
                });
            });
        }
    });
}

fn compare_button_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut RunsPage) {
    let ticked = page.ticked_folders();
    let shown = page.shown.iter().filter_map(|i| page.rows.get(*i)).filter(|row| page.ticked.contains(&row.folder));
    let words = match (page.is_comparing, ticked.len(), ticked.len().saturating_sub(shown.count())) {
        (true, ..) => "Reading…".to_owned(),
        (false, 0, _) => "Compare".to_owned(),
        (false, n, 0) => format!("Compare {n}"),
        (false, n, hidden) => format!("Compare {n} ({hidden} not shown)"),
    };
    let can = !page.is_comparing && (2..=MAX_COMPARED).contains(&ticked.len());
    let about = format!("Compares the ticked runs: two to {MAX_COMPARED}, curves in one chart.");
    let button = ui.add_enabled(can, Button::new(words));
    if button.on_hover_text(&about).on_disabled_hover_text(&about).clicked() {
        page.is_comparing = true;
        shell.act(RunsAction::Compare(ticked));
    }
}

fn count_message(page: &RunsPage) -> String {
    let archived = page.rows.iter().filter(|r| r.note.archived).count();
    let archived = if archived > 0 { format!(" · {archived} archived (is:archived)") } else { String::new() };
    let reading = if page.is_reading { " · reading…" } else { "" };
    let [shown, all] = [page.shown.len(), page.rows.len()].map(|n| number::grouped(n as u64));
    format!("{shown} of {all} runs{archived}{reading}")
}

fn empty_message(page: &RunsPage) -> Option<&'static str> {
    if !page.shown.is_empty() {
        return None;
    }
    Some(match (page.has_arrived, page.rows.is_empty()) {
        (false, _) => "Looking for runs…",
        (true, true) if page.is_reading => "Reading runs…",
        (true, true) => "None yet. Every run that trains is kept in a folder of its own and is listed here.",
        (true, false) if page.chips.has_choice() => "No run matches: change the filter above, or switch a chip off.",
        (true, false) => "No run matches: change the filter above, or clear it.",
    })
}
