//! Runs of the table beside each other: one number in a chart, all in a table, two in a scatter, or one view of each.

mod curves;
mod numbers;
mod scatter;

use crate::{
    analysis::distinct::distinct,
    experiments::{run_terms::is_loss_key, short_number::with_spread},
    ui::{
        comparison::{ComparedLine, ComparedRuns, Comparison},
        multiples::{Multiples, ReplayedRuns},
        panels::prelude::*,
        sweep_pictures::number_label,
        views,
    },
};

/// Height of what is under the chart, points.
const TABLE_HEIGHT: f32 = 216.0;
/// Height of the scrubber with its gap, points.
const SCRUBBER_HEIGHT: f32 = 40.0;

#[derive(Default)]
pub struct ComparePage {
    runs: ComparedRuns,
    /// The indices of the runs; each run can be borrowed as a row.
    indices: Vec<usize>,
    /// The figure that is shown: number and variant.
    shown: Option<NumberId>,
    folded: bool,
    /// All runs as of this step; `None`: the last.
    step: Option<u64>,
    part: ComparePart,
    curves: curves::CurvesState,
    points: numbers::PointsState,
    scatter: scatter::ScatterState,
    /// The pictures of one view for every run, shown in place of curves.
    multiples: Multiples,
    /// All measurements of the runs, once a view was asked for.
    replayed: Option<Arc<ReplayedRuns>>,
    is_reading: bool,
}

/// The part of the comparison that is shown, where no view is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ComparePart {
    #[default]
    Curves,
    Numbers,
    Scatter,
}

impl ComparePart {
    const ALL: [Self; 3] = [Self::Curves, Self::Numbers, Self::Scatter];

    /// Its title, and what it shows.
    fn title_and_description(self) -> [&'static str; 2] {
        match self {
            Self::Curves => ["Curves", "One number over steps or over time, a curve a run."],
            Self::Numbers => {
                ["Numbers", "Every number of every run in a table, and one along each setting that differs."]
            }
            Self::Scatter => [
                "Scatter",
                "Any two numbers or settings against each other, a dot a run, or a dot for the mean of its seeds.",
            ],
        }
    }
}

impl ComparePage {
    pub fn new(runs: ComparedRuns) -> Self {
        // The first number is a lab's first: its loss, of the first variant.
        let first = runs.figures.iter().find(|f| f.key == "held_out_loss").or(runs.figures.first());
        let shown = first.map(Comparison::id);
        Self { indices: (0..runs.names.len()).collect(), runs, shown, ..Self::default() }
    }

    /// Shows runs that were read whole, unless others are compared by now.
    pub fn show_replayed(&mut self, runs: Arc<ReplayedRuns>) {
        if runs.folders == self.runs.folders {
            (self.replayed, self.is_reading) = (Some(runs), false);
        }
    }

    /// Returns to the curves, because the runs could not be read whole.
    pub fn return_to_curves(&mut self) {
        (self.multiples, self.is_reading) = (Multiples::default(), false);
    }

    /// The views that can be chosen: those of all pages, once read those with something to show.
    fn views(&self) -> &[&'static str] {
        self.replayed.as_ref().map_or(&self.runs.views, |runs| &runs.views)
    }

    fn figures(&self) -> &[Comparison] {
        if self.folded { &self.runs.folded } else { &self.runs.figures }
    }

    fn figure(&self) -> Option<&Comparison> {
        let shown = self.shown.as_ref()?;
        self.figures().iter().find(|f| f.key == shown.key && f.variant == shown.group)
    }

    /// The shown number as the runs' results have it, with its format.
    fn number(&self) -> Option<&Number> {
        let results = self.results();
        results.numbers.get(results.number(self.shown.as_ref()?)?)
    }

    /// True if losses of several runs are on one axis or in one table.
    fn shows_losses(&self) -> bool {
        match (self.multiples.view(), self.part) {
            (Some(_), _) => false,
            (None, ComparePart::Curves) => self.shown.as_ref().is_some_and(|id| is_loss_key(&id.key)),
            (None, ComparePart::Numbers) => true,
            (None, ComparePart::Scatter) => self.scatter.shows(is_loss_key),
        }
    }

    /// The runs as points of numbers.
    fn results(&self) -> &Arc<SweepResults> {
        if self.folded { &self.runs.folded_points } else { &self.runs.points }
    }

    /// Runs are folded, or no longer: points are others then.
    fn fold(&mut self, folded: bool) {
        self.folded = folded;
        self.points.selected = None;
        self.scatter = scatter::ScatterState::default();
    }

    fn last_step(&self) -> u64 {
        let of_curves = self.runs.figures.iter().flat_map(|f| &f.lines).filter_map(|l| l.mean.last_step()).max();
        let of_runs = self.replayed.iter().flat_map(|r| &r.runs).map(|run| run.mirror.step).max();
        of_curves.max(of_runs).unwrap_or(0)
    }
}

/// Returns true if the person left the page.
pub fn compare_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ComparePage) -> bool {
    let is_left = ui
        .horizontal(|ui| {
            let back = ui.button("‹ Table").on_hover_text("Back to the table of runs (Esc)").clicked();
            show_ui(ui, shell, page);
            match (page.multiples.view(), page.part) {
                (Some(_), _) => difference_ui(ui, shell, page),
                (None, ComparePart::Scatter) => fold_ui(ui, page),
                (None, _) => choice_ui(ui, shell, page),
            }
            back
        })
        .inner;
    ui.add_space(8.0);
    if let Some(note) = page.runs.loss_note.as_deref().filter(|_| page.shows_losses()) {
        wrapped_ui(ui, note, shell.theme.text);
        ui.add_space(4.0);
    }
    let last = page.last_step();
    let step = page.step.unwrap_or(last).min(last);
    match (page.multiples.view(), page.part) {
        (Some(_), _) => multiples_ui(ui, shell, page, step),
        (None, ComparePart::Curves) => curves::curves_ui(ui, shell, page, step),
        (None, ComparePart::Numbers) => numbers::numbers_ui(ui, shell, page, step),
        (None, ComparePart::Scatter) => scatter::scatter_ui(ui, shell, page, step),
    }
    is_left
}

fn multiples_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut ComparePage, step: u64) {
    let room = vec2(ui.available_width(), (ui.available_height() - SCRUBBER_HEIGHT).max(120.0));
    let about = page.multiples.view().map_or("", |v| v.about);
    ui.allocate_ui(room, |ui| match page.replayed.clone() {
        Some(runs) => page.multiples.show(ui, &runs.runs, step, shell.theme),
        None => {
            ui.set_min_size(room);
            quiet_ui(ui, shell.theme, "Reading the runs…").on_hover_text(about);
        }
    });
    ui.add_space(8.0);
    scrubber_ui(ui, shell, page);
}

fn show_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut ComparePage) {
    let label = note_ui(ui, shell.theme, "show");
    let selected = page.multiples.view().map_or(page.part.title_and_description()[0], |v| v.title);
    let mut chosen = None;
    let combo = ComboBox::from_id_salt("show").selected_text(selected).width(176.0).height(480.0).truncate();
    let combo = combo.show_ui(ui, |ui| {
        for part in ComparePart::ALL {
            let is_shown = page.multiples.view().is_none() && page.part == part;
            let [title, about] = part.title_and_description();
            if ui.selectable_label(is_shown, title).on_hover_text(about).clicked() {
                page.part = part;
                chosen = Some(None);
            }
        }
        for view in page.views().iter().filter_map(|id| views::find(id)) {
            let is_shown = page.multiples.view().is_some_and(|v| v.id == view.id);
            if ui.selectable_label(is_shown, view.title).on_hover_text(view.about).clicked() {
                chosen = Some(Some(view));
            }
        }
    });
    let about = "Curves, a table of numbers, a scatter, or a picture of each run.";
    combo.response.labelled_by(label.id).on_hover_text(about);
    match chosen {
        None => {}
        Some(None) => page.multiples = Multiples::default(),
        Some(Some(view)) => {
            page.multiples.take(view, page.runs.names.len());
            if page.replayed.is_none() && !page.is_reading {
                page.is_reading = true;
                shell.act(RunsAction::Replay(page.runs.folders.clone()));
            }
        }
    }
}

/// Switches between the pictures of the runs and the difference of two of them, where the view has one.
fn difference_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut ComparePage) {
    if page.multiples.kind().is_none() || page.runs.names.len() < 2 {
        return;
    }
    let names = &page.runs.names;
    let Multiples { pair: [first, second], is_difference_hidden, .. } = &mut page.multiples;
    let mut is_shown = !*is_difference_hidden;
    let about = "The second run minus the first. Both need the same text or the same nodes.";
    ui.checkbox(&mut is_shown, "difference").on_hover_text(about);
    *is_difference_hidden = !is_shown;
    if names.len() == 2 || !is_shown {
        return;
    }
    let choice = |ui: &mut Ui, what: &str, place: &mut usize| {
        let label = note_ui(ui, shell.theme, what);
        let selected = names.get(*place).map_or("", String::as_str);
        let choices = names.iter().enumerate().map(|(i, name)| (i, name.clone(), i == *place));
        if let (Some(i), _) = list_box(ui, (what, label.id), 150.0, selected, choices) {
            *place = i;
        }
    };
    choice(ui, "of", second);
    choice(ui, "minus", first);
}

fn choice_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut ComparePage) {
    let words = |f: &Comparison| format!("{} · {}", f.title, f.variant);
    let selected = page.figure().map_or_else(String::new, words);
    let label = note_ui(ui, shell.theme, "number");
    let choices = page.figures().iter().map(|figure| {
        let id = figure.id();
        let is_shown = page.shown.as_ref() == Some(&id);
        (id, words(figure), is_shown)
    });
    if let (Some(id), _) = list_box(ui, ("number", label.id), 280.0, &selected, choices) {
        page.shown = Some(id);
        page.curves = curves::CurvesState::default();
    }
    fold_ui(ui, page);
}

fn fold_ui(ui: &mut Ui, page: &mut ComparePage) {
    let about =
        "Runs that differ only in their seed become one line: their mean, with a band of one standard deviation.";
    let mut folded = page.folded;
    if ui.checkbox(&mut folded, "fold seeds").on_hover_text(about).changed() {
        page.fold(folded);
    }
}

/// Saves what is shown, in each of the formats that it has.
fn save_ui(ui: &mut Ui, actions: &mut Actions, name: &str, saved: &dyn Fn(ExportFormat) -> Option<String>) {
    let menu = ui.menu_button("Save", |ui| {
        for format in [ExportFormat::Csv, ExportFormat::Svg] {
            if ui.button(format.label()).clicked() {
                if let Some(text) = saved(format) {
                    actions.push(FileAction::Save(format!("{name}.{}", format.extension()), text.into_bytes()));
                }
                ui.close();
            }
        }
    });
    menu.response.on_hover_text("Saves what is shown: as numbers, or as a drawing.");
}

fn scrubber_ui(ui: &mut Ui, shell: &Shell<'_>, page: &mut ComparePage) {
    let last = page.last_step();
    ui.horizontal(|ui| {
        let about = "Everything is shown as of this step.";
        step_ui(ui, shell.theme, &mut page.step, last, |room| room - 160.0, about);
    });
}

/// A table with one row per line of the chart and per run without one: its value at the step, and what differs.
fn table_ui(ui: &mut Ui, shell: &Shell<'_>, page: &ComparePage, step: u64) {
    let theme = shell.theme;
    let title = page.figure().map_or_else(String::new, |f| f.title.clone());
    let is_folded = page.figure().is_some_and(|f| f.lines.iter().any(|line| line.runs.len() > 1));
    let spread = if is_folded { ", mean ± sd over seeds (the band)" } else { "" };
    section_ui(ui, theme, format!("{title} at step {}{spread}, and the settings that differ", number::grouped(step)));
    let differences = &page.runs.differences;
    ScrollArea::both().auto_shrink([false, false]).show(ui, |ui| {
        Grid::new("compared").num_columns(2 + differences.len()).spacing([24.0, 4.0]).show(ui, |ui| {
            for heading in ["run", "value"].into_iter().chain(differences.iter().map(|d| d.key.as_str())) {
                note_ui(ui, theme, heading);
            }
            ui.end_row();
            for row in rows(page) {
                ui.horizontal(|ui| {
                    let (rect, _) = ui.allocate_exact_size(vec2(12.0, 12.0), Sense::hover());
                    ui.painter().rect_filled(rect, 2.0, theme.series(row.line.map_or(row.runs[0], |l| l.index)));
                    ui.label(row.name);
                });
                let value = row.line.map_or_else(|| NO_VALUE.to_owned(), |line| value_label(line, page.number(), step));
                ui.label(RichText::new(value).font(theme::numbers()));
                for difference in differences {
                    ui.label(RichText::new(values_of(&difference.values, row.runs)).font(theme::numbers()));
                }
                ui.end_row();
            }
        });
    });
}

/// Shown where a run has no value at or before the step.
const NO_VALUE: &str = "–";

/// The newest value of a line at or before a step, with its standard deviation over seeds, and with its step if that is
/// an earlier one.
fn value_label(line: &ComparedLine, number: Option<&Number>, step: u64) -> String {
    let Some((at, mean)) = line.mean.point_at(step) else { return NO_VALUE.to_owned() };
    let here = line.points.iter().find(|point| point[0] as u64 == at).filter(|_| line.runs.len() > 1);
    let sd = here.map(|point| point[2]).filter(|sd| sd.is_finite());
    let words = match (sd, number) {
        (Some(sd), _) => with_spread(mean, sd, number.and_then(|number| number.digits)),
        (None, Some(number)) => number_label(number, mean),
        (None, None) => number::short(mean),
    };
    let other = if at == step { String::new() } else { format!(" ({})", steps_label([at; 2])) };
    format!("{words}{other}")
}

struct ComparedRow<'a> {
    name: &'a str,
    /// The runs that it shows, at least one.
    runs: &'a [usize],
    line: Option<&'a ComparedLine>,
}

/// The rows of the table; all seeds of a folded line share one, at the position of the first.
fn rows(page: &ComparePage) -> impl Iterator<Item = ComparedRow<'_>> {
    page.runs.names.iter().zip(page.indices.chunks(1)).filter_map(|(name, run)| {
        let line = page.figure().and_then(|f| f.lines.iter().find(|l| l.runs.contains(&run[0])));
        match line {
            Some(line) if line.runs.len() > 1 => {
                let is_first = line.runs.iter().min() == run.first();
                is_first.then_some(ComparedRow { name: &line.name, runs: &line.runs, line: Some(line) })
            }
            _ => Some(ComparedRow { name, runs: run, line }),
        }
    })
}

/// The values of one setting over these runs, each once.
fn values_of(values: &[String], runs: &[usize]) -> String {
    distinct(runs.iter().filter_map(|run| values.get(*run)).map(String::as_str)).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_seeds_are_one_row() {
        let line = |place: usize, like: usize, y: f64| {
            let name = format!("lr {like}, seed {place}");
            ComparedLine::new(name, place, like, vec![[1.0, y, 0.0], [2.0, y, 0.0]])
        };
        let figure = Comparison {
            key: "loss".into(),
            variant: "model".into(),
            title: "loss".into(),
            lines: vec![line(0, 0, 1.0), line(1, 1, 7.0), line(2, 0, 3.0)],
        };
        let mut folded = figure.clone();
        folded.fold();
        let names = figure.lines.iter().map(|l| l.name.clone()).collect();
        let runs = ComparedRuns { names, figures: vec![figure], folded: vec![folded], ..ComparedRuns::default() };
        let mut page = ComparePage::new(runs);
        let shown = |page: &ComparePage| -> Vec<(String, Option<f64>)> {
            rows(page).map(|row| (row.name.to_owned(), row.line.and_then(|l| l.mean.value_at(2)))).collect()
        };
        assert_eq!(shown(&page).len(), 3);
        page.folded = true;
        assert_eq!(shown(&page), [("lr 0, 2 seeds".to_owned(), Some(2.0)), ("lr 1, seed 1".to_owned(), Some(7.0))]);
        let line = &page.runs.figures[0].lines[0];
        let values = [2, 400].map(|step| value_label(line, None, step));
        assert_eq!(values, [number::short(1.0), format!("{} (step 2)", number::short(1.0))], "its own step is said");
        let folded = &page.runs.folded[0].lines[0];
        let spread = number::short(2f64.sqrt());
        assert_eq!(value_label(folded, None, 2), format!("{} ± {spread}", number::short(2.0)), "with its spread");
        assert_eq!(values_of(&["7".into(), "7".into(), "8".into()], &[0, 2]), "7, 8");
    }
}
