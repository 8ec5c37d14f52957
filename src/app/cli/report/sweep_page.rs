//! The report of a sweep: its axes, the table of its points, curves with bands over seeds, and the effect of each axis.
//! It shows the numbers of the sweep's table and starts no run.

use serde_json::Value;

use super::{
    super::{
        compare,
        damage::PartialArgs,
        summary,
        sweep::{
            folder::{SweepFolder, SweepRuns, TaskState, task_name},
            table::SweepTable,
        },
    },
    curves::{CurveData, SeriesData},
    page::{self, escaped},
    sweep_figures,
};
use crate::{
    cli::prelude::*,
    experiments::{run_table::changed_settings, series::every_nth},
    ui::{
        comparison::{ComparedLine, Comparison},
        plot::svg::hex,
    },
};

/// The maximum number of points whose curves are drawn; more cannot be told apart.
const MAX_CURVES: usize = 30;
/// Points of all curves together; fewer where the file would become too large.
const MAX_POINTS: [usize; 3] = [100_000, 30_000, 5_000];

/// The report on a sweep, with what its folder held when it was read.
pub struct SweepReport {
    folder: SweepFolder,
    states: Vec<TaskState>,
    table: SweepTable,
}

pub fn write(folder: &Path, out: &Path, partial: PartialArgs) -> Result<(), Failure> {
    let folder = SweepFolder::open(folder)?;
    SweepRuns::find(&folder.path)?.report_left_out();
    let states = folder.states()?;
    partial.check_rows(states.iter().filter_map(TaskState::finished))?;
    let table = SweepTable::new(&folder, &states);
    let report = SweepReport { folder, states, table };
    let theme = Theme::light();
    let figures = report.figures()?;
    let pages = MAX_POINTS.into_iter().map(|points| Ok(report.html(&figures, points, &theme)));
    super::write(pages, out, &report.folder.path)
}

impl SweepReport {
    fn finished(&self) -> impl Iterator<Item = (&TaskState, &RunRow)> {
        self.states.iter().filter_map(|state| Some((state, state.finished()?)))
    }

    /// Every number over the steps, one line per point: the mean over its seeds.
    fn figures(&self) -> Result<Vec<Comparison>, Failure> {
        let sweep = &self.folder.sweep;
        let shown: Vec<_> = self.finished().filter(|(state, _)| state.task.point < MAX_CURVES).collect();
        let named = shown.iter().map(|(state, row)| {
            let values = sweep.values_label(&sweep.points[state.task.point]);
            (row.path.as_path(), state.task.point, values)
        });
        compare::over_seeds(named)
    }

    fn html(&self, figures: &[Comparison], points: usize, theme: &Theme) -> String {
        let sweep = &self.folder.sweep;
        let charts = charts(figures, points, theme);
        let title = format!("Sweep {}: {}", self.folder.name(), sweep.lab.title);
        let mut out = page::head(&title, sweep.lab.question, &self.facts());
        page::lost_parts(&mut out, &self.lost_parts());
        self.unfinished_runs(&mut out);
        self.points(&mut out);
        sweep_figures::write_axis_figures(&mut out, &self.folder, &self.states, &self.table, theme);
        curves(&mut out, &charts, sweep.points.len());
        self.settings(&mut out);
        page::finish(&mut out, &json!(charts.0), &Value::Null);
        out
    }

    /// One line with the numbers of points, of runs, and of runs that have ended.
    fn facts(&self) -> String {
        let sweep = &self.folder.sweep;
        let (points, seeds, finished) = (sweep.points.len(), sweep.seeds.len(), self.finished().count());
        let all = self.states.len();
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{points} points \u{d7} {seeds} seeds \u{b7} {finished} of {all} runs finished \u{b7} {} \u{b7} report by Orrery {version}",
            sweep.lab.source
        )
    }

    /// Every run that has no end, and why, as far as it is known.
    fn unfinished_runs(&self, out: &mut String) {
        let open: Vec<String> = self.states.iter().filter_map(missing_reason).collect();
        if open.is_empty() {
            return;
        }
        let sweep = escaped(&quoted(self.folder.name()));
        let _ = writeln!(
            out,
            "<h2>Unfinished runs</h2>\n<p>{} of {} runs are not in the numbers below. <code>orrery sweep {sweep} \
             --missing</code> makes them.</p>",
            open.len(),
            self.states.len()
        );
        page::list(out, &open);
    }

    /// The parts that the records of finished runs have lost.
    fn lost_parts(&self) -> Vec<String> {
        let lost = |(state, row): (&TaskState, &RunRow)| {
            let name = task_name(state.task);
            row.damage.iter().map(|sentence| format!("{name}: {sentence}")).collect::<Vec<_>>()
        };
        self.finished().flat_map(lost).collect()
    }

    /// The table of points; a cell's exact numbers are its title, and its data for programs.
    fn points(&self, out: &mut String) {
        let table = &self.table;
        let code = |text: &String| format!("<code>{}</code>", escaped(text));
        let cells = |tag: &str, cells: Vec<String>| -> String {
            cells.iter().map(|cell| format!("<{tag} class=\"number\">{cell}</{tag}>")).collect()
        };
        let headings = table.columns.iter().map(|column| escaped(&column.heading));
        let head = std::iter::once("point".to_owned()).chain(table.axes.iter().map(code));
        let head = cells("th", head.chain(["runs".to_owned()]).chain(headings).collect());
        let _ = writeln!(out, "<h2>Points</h2>\n<table id=\"points\">\n<tr>{head}</tr>");
        for (i, row) in table.rows.iter().enumerate() {
            let mark = if table.is_best(i) { " \u{2605}" } else { "" };
            let own = std::iter::once(format!("{}{mark}", i + 1)).chain(row.values.iter().map(code));
            let own = own.chain([format!("{}/{}", row.finished, table.seeds)]);
            let _ = write!(out, "<tr>{}", cells("td", own.collect()));
            for (number, column) in row.numbers.iter().zip(&table.columns) {
                let exact = number.as_ref().map_or(String::new(), |n| {
                    let mean = n.mean;
                    match n.sd {
                        Some(sd) => format!(" data-mean=\"{mean}\" data-sd=\"{sd}\" title=\"mean {mean}, sd {sd}\""),
                        None => format!(" data-mean=\"{mean}\" title=\"{mean}, one seed\""),
                    }
                });
                let cell = escaped(&summary::cell(column.headline, number.as_ref()));
                let _ = write!(out, "<td class=\"number\"{exact}>{cell}</td>");
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</table>\n<p class=\"note\">Of the runs that have finished");
        if let Some(legend) = table.spread_legend() {
            let _ = write!(out, ": {legend}");
        }
        if let Some(legend) = table.best_legend('\u{2605}') {
            let _ = write!(out, "; {}", escaped(legend.trim_end_matches('.')));
        }
        out.push_str(". The numbers are those of <code>table.csv</code>; point at one to read it in full.</p>\n");
    }

    /// Writes the settings that all points share, and those that vary.
    fn settings(&self, out: &mut String) {
        let sweep = &self.folder.sweep;
        let Some(first) = sweep.points.first() else { return };
        let seeds: Vec<String> = sweep.seeds.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            out,
            "<h2>Settings</h2>\n<p>Preset <code>{}</code>, seeds {}.</p>\n<table>\n<tr><th>axis</th><th>values</th></tr>",
            escaped(&first.preset),
            seeds.join(", ")
        );
        let knobs = (sweep.lab.knobs)();
        for (i, axis) in sweep.axes.iter().enumerate() {
            let values = distinct(self.table.rows.iter().map(|row| row.values[i].as_str()));
            let label = knobs.iter().find(|k| k.key == axis.key).map_or("", |k| k.label);
            let (key, values) = (escaped(&axis.key), escaped(&values.join(", ")));
            let _ = writeln!(
                out,
                "<tr><td><code>{key}</code> <span class=\"note\">{label}</span></td><td>{values}</td></tr>"
            );
        }
        out.push_str("</table>\n");
        let shared = changed_settings(sweep.lab, first);
        let shared: Vec<_> = shared.iter().filter(|(key, _)| !sweep.axes.iter().any(|a| a.key == **key)).collect();
        if !shared.is_empty() {
            out.push_str("<p>Every point differs from the preset in:</p>\n<table>\n");
            for (key, value) in shared {
                let shown = knobs.iter().find(|k| k.key == key.as_str()).map_or_else(
                    || value.to_string(),
                    // a file is named without the folders that lead to it
                    |knob| page::shared_label(knob, &value.to_string()),
                );
                page::setting_row(out, key, &shown, "");
            }
            out.push_str("</table>\n");
        }
    }
}

/// The reason why a run is not among the numbers; nothing if it has finished.
fn missing_reason(state: &TaskState) -> Option<String> {
    let name = task_name(state.task);
    Some(match &state.row {
        None => format!("{name}: not begun"),
        Some(RunRow { state: RowState::Finished, .. }) => return None,
        Some(RunRow { state: RowState::Failed(why), steps, .. }) => format!("{name}: failed at step {steps}: {why}"),
        Some(row) if row.problems.is_empty() => format!("{name}: {}", row.state_label()),
        Some(row) => format!("{name}: {}: {}", row.state_label(), row.problems.join("; ")),
    })
}

/// The curves as the page draws them, and every so-manieth point that they have.
fn charts(figures: &[Comparison], max: usize, theme: &Theme) -> (Vec<CurveData>, usize) {
    let all: usize = figures.iter().flat_map(|f| &f.lines).map(|l| l.points.len()).sum();
    let every = all.div_ceil(max).max(1);
    let chart = |figure: &Comparison| CurveData {
        name: format!("{}, {}", figure.title, figure.variant),
        series: figure.lines.iter().map(|line| series(line, every, theme)).collect(),
    };
    (figures.iter().map(chart).collect(), every)
}

fn series(line: &ComparedLine, every: usize, theme: &Theme) -> SeriesData {
    let (mut steps, mut values, mut sd) = (vec![], vec![], vec![]);
    for [step, mean, spread] in every_nth(&line.points, every) {
        steps.push(step as u64);
        values.push(mean.is_finite().then_some(mean));
        sd.push(spread.is_finite().then_some(spread));
    }
    let sd = sd.iter().flatten().any(|sd| *sd > 0.0).then_some(sd);
    SeriesData { label: line.name.clone(), colour: hex(theme.series(line.index)), steps, values, sd }
}

fn curves(out: &mut String, (charts, every): &(Vec<CurveData>, usize), points: usize) {
    if charts.is_empty() {
        return;
    }
    let every = if *every > 1 { format!(" Every {every}th recorded step is here.") } else { String::new() };
    let more =
        if points > MAX_CURVES { format!(" Of the first {MAX_CURVES} points of {points}.") } else { String::new() };
    let about = "One line per point: the mean over its finished seeds, with a band of one standard deviation.";
    page::write_curves_placeholder(out, &format!("{about}{more}{every}"));
}
