//! The page of the ledger of claims: a card a paper, a row a claim that unfolds into all that is known of it. Rows come from the
//! host, with every verdict made; nothing here reads a file or judges.

pub mod curve;
mod details;
pub mod picture;
mod row;

use super::top_bar::top_bar_ui;
use crate::{
    experiments::claims::{entry::PaperEntry, filter::ClaimFilter},
    ui::panels::prelude::*,
};

/// Widest a card gets, points: longer lines cannot be read.
const MAX_CARD_WIDTH: f32 = 1280.0;

/// The page: the ledger as the host read it, and the requests of its controls.
#[derive(Debug, Default)]
pub struct ClaimsPage {
    /// The page is shown, in place of a lab.
    pub is_open: bool,
    /// The lab that it was opened from, to which Escape leads back.
    pub opened_from: Option<&'static str>,
    papers: Vec<PaperEntry>,
    is_reading: bool,
    has_arrived: bool,
    /// The reason why the ledger cannot be read.
    failure: Option<String>,
    filter: String,
    /// The error message of a filter that cannot be applied.
    error_message: Option<String>,
    /// Only claims in these states; in any where it is empty.
    states: BTreeSet<ClaimState>,
    /// True if only starred claims are listed.
    is_starred: bool,
    /// For each paper the indices of the claims that are shown.
    shown: Vec<Vec<usize>>,
    /// How many claims of each state the filter and the star leave; a chip that is on does not empty those beside it.
    counts: BTreeMap<ClaimState, usize>,
    /// How many of the most interest the filter and the states leave.
    starred: usize,
    /// True if `shown` is out of date.
    is_stale: bool,
    /// Ids of the claims that are unfolded.
    unfolded: BTreeSet<String>,
    /// The runs of the claims whose rows were unfolded, by the claim's id.
    runs: BTreeMap<String, RunsHere>,
}

/// The runs of one claim in this folder, as last read.
#[derive(Debug, Default)]
struct RunsHere {
    /// The runs; `None` where there are none.
    read: Option<ClaimRuns>,
    /// The reason why the runs cannot be made or read.
    error_message: Option<String>,
    is_reading: bool,
    /// The time of the last request, on egui's clock.
    requested_at: f64,
}

impl ClaimsPage {
    /// Shows the claims that this filter selects; chips that were chosen for another filter are cleared.
    pub fn set_filter(&mut self, filter: String) {
        if self.filter != filter {
            self.states.clear();
            self.is_starred = false;
            self.filter = filter;
        }
        (self.is_reading, self.is_stale) = (true, true);
    }

    pub fn unfold(&mut self, id: String) {
        self.unfolded.insert(id);
    }

    /// True if the ledger has been neither read nor requested; the caller must then request it.
    pub fn begin_reading(&mut self) -> bool {
        !self.has_arrived && !std::mem::replace(&mut self.is_reading, true)
    }

    /// Stores the ledger that the host read; on an error the previous one stays.
    pub fn set(&mut self, read: Result<Vec<PaperEntry>, String>) {
        (self.is_reading, self.is_stale) = (false, true);
        match read {
            Ok(papers) => {
                (self.papers, self.has_arrived, self.failure) = (papers, true, None);
                // runs that have ended are looked for again
                self.runs.retain(|_, runs| runs.is_reading || runs.are_going());
            }
            Err(words) => self.failure = Some(words),
        }
    }

    pub fn set_runs(&mut self, claim: String, read: Result<Option<Box<ClaimRuns>>, String>) {
        let runs = self.runs.entry(claim).or_default();
        runs.is_reading = false;
        match read {
            Ok(read) => (runs.read, runs.error_message) = (read.map(|read| *read), None),
            Err(words) => runs.error_message = Some(words),
        }
    }

    /// Shows from the click on that the runs of this sweep stop; that they have stopped is read later.
    pub fn show_stopping(&mut self, folder: &Path) {
        for read in self.runs.values_mut().filter_map(|runs| runs.read.as_mut()).filter(|read| read.folder == folder) {
            read.process = SweepProcess::Stopping;
        }
    }

    /// How many claims a lab can decide; `None` while the ledger is not known.
    pub fn count_for_lab(&self, lab: &str) -> Option<usize> {
        self.has_arrived.then(|| self.claims().filter(|entry| entry.lab == lab).count())
    }

    fn claims(&self) -> impl Iterator<Item = &ClaimEntry> {
        self.papers.iter().flat_map(|paper| &paper.claims)
    }

    /// Finds the shown claims again, if anything changed.
    fn refresh(&mut self) {
        if !std::mem::take(&mut self.is_stale) {
            return;
        }
        let filter = match ClaimFilter::parse(&self.filter) {
            Ok(filter) => filter,
            Err(words) => {
                // the earlier matches stay while the term is being typed
                self.error_message = Some(words);
                self.shown.resize(self.papers.len(), vec![]);
                return;
            }
        };
        self.error_message = None;
        let has_state = |entry: &ClaimEntry| self.states.is_empty() || self.states.contains(&entry.state());
        let has_star = |entry: &ClaimEntry| entry.claim.starred || !self.is_starred;
        let is_shown = |entry: &ClaimEntry| has_state(entry) && has_star(entry) && filter.selects(entry);
        let mut counts: BTreeMap<ClaimState, usize> = BTreeMap::new();
        for entry in self.claims().filter(|entry| has_star(entry) && filter.selects(entry)) {
            *counts.entry(entry.state()).or_default() += 1;
        }
        let is_starred = |entry: &&ClaimEntry| entry.claim.starred && has_state(entry) && filter.selects(entry);
        let starred = self.claims().filter(is_starred).count();
        let places = |paper: &PaperEntry| {
            let places = paper.claims.iter().enumerate().filter(|(_, entry)| is_shown(entry));
            places.map(|(place, _)| place).collect()
        };
        self.shown = self.papers.iter().map(places).collect();
        (self.counts, self.starred) = (counts, starred);
    }

    /// Requests a claim's runs, or an update of them.
    fn ask(&mut self, shell: &mut Shell<'_>, id: &str, action: RunsAction) {
        let runs = self.runs.entry(id.to_owned()).or_default();
        (runs.is_reading, runs.requested_at) = (true, shell.now);
        shell.act(action);
    }

    /// Asks for the runs of claims that were unfolded, and repeats that while runs are being made.
    fn read_again(&mut self, ui: &Ui, shell: &mut Shell<'_>) {
        let is_new = |entry: &&ClaimEntry| {
            let id = &entry.claim.id;
            entry.claim.rule.is_some() && self.unfolded.contains(id) && !self.runs.contains_key(id)
        };
        let new: Vec<String> = self.claims().filter(is_new).map(|entry| entry.claim.id.clone()).collect();
        for id in new {
            self.ask(shell, &id, RunsAction::ReadClaim(id.clone()));
        }
        let going = self.runs.iter().filter(|(_, runs)| runs.are_going()).map(|(id, _)| id.clone());
        for id in going.collect::<Vec<String>>() {
            let Some(runs) = self.runs.get(&id) else { continue };
            if is_read_again(ui, shell.now, runs.requested_at, REREAD_SECONDS, runs.is_reading) {
                self.ask(shell, &id, RunsAction::ReadClaim(id.clone()));
            }
        }
    }
}

impl RunsHere {
    /// True while runs are being made.
    fn are_going(&self) -> bool {
        self.read.as_ref().is_some_and(|read| read.process.is_alive() || read.running > 0)
    }
}

pub fn claims_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ClaimsPage) {
    page.refresh();
    page.read_again(ui, shell);
    top_bar_ui(ui, shell, None, Some("Claims"));
    let margin = Margin { left: 16, right: 4, top: 16, bottom: 0 };
    CentralPanel::default().frame(Frame::NONE.fill(shell.theme.page).inner_margin(margin)).show(ui, |ui| {
        head_ui(ui, shell, page);
        ui.add_space(8.0);
        if let Some(words) = empty_message(page) {
            ui.add(Label::new(RichText::new(words).color(shell.theme.secondary)).wrap());
            return;
        }
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            ui.set_width((ui.available_width() - 12.0).min(MAX_CARD_WIDTH));
            papers_ui(ui, shell, page);
            ui.add_space(16.0);
        });
    });
}

fn head_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ClaimsPage) {
    ui.horizontal(|ui| {
        let tip = "Words of a claim; id:, title:, place:, paper:, lab:, preset:, tier:, verdict:, is:starred; seeds, effect, p \
                   or minutes compared, such as p<.05; ! before a term excludes its matches. All terms must match.";
        page.is_stale |= filter_ui(ui, shell.theme, &mut page.filter, "lab:fast_slow seeds>=8 !tier:proxy", tip);
        let words = if page.is_reading { "Reading…" } else { "Refresh" };
        let refresh = ui.button(words).on_hover_text("Reads the claims and their results again.");
        shell.on_click(refresh, OpenAction::Claims(page.filter.clone()));
    });
    ui.add_space(4.0);
    chips_ui(ui, page);
    let (words, colour) = match (&page.failure, &page.error_message) {
        (Some(words), _) | (None, Some(words)) => (words.clone(), shell.theme.error),
        (None, None) => (count_message(page), shell.theme.secondary),
    };
    wrapped_ui(ui, words, colour);
}

/// Chips that choose by state and by star, each with its count among the claims that the rest of the filter leaves. Those of all
/// claims stay, so that none moves while one types.
fn chips_ui(ui: &mut Ui, page: &mut ClaimsPage) {
    let mut states = ClaimState::ALL.to_vec();
    states.retain(|state| page.states.contains(state) || page.claims().any(|entry| entry.state() == *state));
    let has_starred = page.claims().any(|entry| entry.claim.starred);
    ui.horizontal_wrapped(|ui| {
        for state in states {
            let count = page.counts.get(&state).copied().unwrap_or_default();
            let mut is_on = page.states.contains(&state);
            let about = format!("Show only claims in this state: {}. Several states add up.", state.label());
            if ui.toggle_value(&mut is_on, format!("{} {count}", state.label())).on_hover_text(about).changed() {
                page.is_stale = true;
                toggle(&mut page.states, state);
            }
        }
        if has_starred {
            let words = format!("★ starred {}", page.starred);
            let chip = ui.toggle_value(&mut page.is_starred, words);
            page.is_stale |= chip.on_hover_text("Only the claims of most interest.").changed();
        }
    });
}

fn papers_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ClaimsPage) {
    let (mut toggled, mut asked): (Option<String>, Option<(String, RunsAction)>) = (None, None);
    for (paper, places) in page.papers.iter().zip(&page.shown) {
        let claims: Vec<&ClaimEntry> = places.iter().filter_map(|place| paper.claims.get(*place)).collect();
        if claims.is_empty() {
            continue;
        }
        bordered(shell.theme.panel, shell.theme.line, Margin::same(12)).show(ui, |ui| {
            ui.set_width(ui.available_width());
            paper_ui(ui, shell.theme, paper, &claims);
            row::heading_ui(ui, shell.theme);
            for entry in claims {
                let id = &entry.claim.id;
                let (is_unfolded, runs) = (page.unfolded.contains(id), page.runs.get(id));
                // the claim's id keeps the focus in place when another row unfolds
                ui.push_id(id, |ui| {
                    if row::row_ui(ui, shell.theme, entry, runs, is_unfolded) {
                        toggled = Some(id.clone());
                    }
                    if is_unfolded && let Some(action) = details::details_ui(ui, shell, entry, runs) {
                        asked = Some((id.clone(), action));
                    }
                });
            }
        });
        ui.add_space(theme::GRID * 2.0);
    }
    if let Some(id) = toggled {
        toggle(&mut page.unfolded, id);
    }
    if let Some((id, action)) = asked {
        page.ask(shell, &id, action);
    }
}

/// The head of a card: the paper, and how many of its shown claims are in each state.
fn paper_ui(ui: &mut Ui, theme: &Theme, paper: &PaperEntry, shown: &[&ClaimEntry]) {
    let title = RichText::new(&paper.title).text_style(theme::title_style()).color(theme.text);
    ui.add(Label::new(title).wrap());
    let count = |state: ClaimState| shown.iter().filter(|entry| entry.state() == state).count();
    let counts = ClaimState::ALL.into_iter().map(|state| (count(state), state)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, state)| format!("{} {count}", state.label())).collect();
    let all = counted(paper.claims.len(), "claim");
    let all = if shown.len() < paper.claims.len() { format!("{} of {all}", shown.len()) } else { all };
    let words = format!("{} · {all}: {}", paper.source, counts.join(", "));
    wrapped_ui(ui, words, theme.secondary);
    ui.add_space(4.0);
}

fn count_message(page: &ClaimsPage) -> String {
    let (shown, all) = (page.shown.iter().map(Vec::len).sum::<usize>(), page.claims().count());
    format!(
        "{shown} of {all} claims. A verdict says its scale, the paper's or ours. Its rule was fixed before its \
         runs, or its other reading says what had been seen."
    )
}

fn empty_message(page: &ClaimsPage) -> Option<&'static str> {
    if page.shown.iter().any(|places| !places.is_empty()) {
        return None;
    }
    Some(match (page.has_arrived, page.claims().next()) {
        (false, _) if page.failure.is_some() => "Nothing can be shown. `orrery claims check` gives details.",
        (false, _) => "Reading the claims…",
        (true, None) => "There are no claims. A file claims/PAPER.toml holds those of a paper.",
        (true, Some(_)) => "No claim matches: change the filter or the chips above, or clear them.",
    })
}
