//! `orrery compare`: runs beside each other, as figures of curves overlaid, views as small multiples, a table of the
//! settings that differ, and one of their headline numbers.

mod multiples;
mod points;
mod tables;

use super::{damage, figures, summary::fit_columns};
use crate::{
    cli::prelude::*,
    experiments::{
        run_table::{Difference, differences},
        run_terms::{LossTokens, RunTerms, TRAIN_LOSS, incomparable_losses, is_loss_key},
        series::{self, NumberSeries, RunNumbers},
    },
    labs::headline::{Headline, common, split_key},
    ui::{
        comparison::{ComparedLine, ComparedRuns, Comparison},
        multiples::{ReplayedRuns, shared_views},
        widgets::truncated::without_middle,
    },
};
use tables::{Numbers, TextTable};

/// The maximum number of lines in one figure; more cannot be told apart.
const MAX_RUNS: usize = 30;
/// The maximum number of figures that are written; another program may log thousands of channels.
const MAX_FIGURES: usize = 200;
/// The longest name of a run that is made of its settings, and the widest text on the terminal, in characters.
const MAX_LABEL_CHARS: usize = 48;

#[derive(Args)]
pub struct CompareArgs {
    /// Two to thirty run folders, or logs of other tools (docs/runs.md)
    #[arg(required = true, value_name = "RUN")]
    pub(super) runs: Vec<PathBuf>,
    /// The folder to write figures (SVG, and PNG where there is a graphics adapter) and tables (CSV) into
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Draw runs that differ only in their seed as one line, their mean with a band of one standard deviation, and give them
    /// one row in the tables
    #[arg(long)]
    fold: bool,
    /// Also draws this view of every run into one picture, and of two runs the difference where the view has one; may be
    /// given more than once (`orrery list --views`)
    #[arg(long = "view", value_name = "VIEW", requires = "out")]
    views: Vec<String>,
    /// Draw views as of this step; without it, as of the last
    #[arg(long, requires = "views")]
    step: Option<u64>,
    /// Draw on a light background instead of the dark one
    #[arg(long)]
    light: bool,
}

struct ComparedRun {
    row: RunRow,
    /// The headline numbers and the training loss; for another program's run, every number that it logged.
    series: Vec<NumberSeries>,
    /// Seconds of training by rising step.
    times: Vec<(u64, f64)>,
}

pub fn run(args: &CompareArgs) -> Result<(), Failure> {
    let given = args.runs.len();
    ensure!((2..=MAX_RUNS).contains(&given), "{} given: two to {MAX_RUNS} can be compared", counted(given, "run"));
    let views = args.views.iter().map(|id| figures::view(id)).collect::<Result<Vec<_>, _>>()?;
    if let Some(out) = &args.out {
        let inputs: Vec<&Path> = args.runs.iter().map(PathBuf::as_path).collect();
        output::check_folder(out, &inputs)?;
    }
    let places: Vec<Option<PathBuf>> = args.runs.iter().map(|run| run.canonicalize().ok()).collect();
    for (i, run) in args.runs.iter().enumerate() {
        if places[i].is_some() && places[..i].contains(&places[i]) {
            notice!("warning: {} is given more than once, and counts each time", run.display());
        }
    }
    let runs = read_all(&args.runs)?;
    runs.iter().for_each(|run| damage::report_problems(&run.row));
    let rows: Vec<&RunRow> = runs.iter().map(|r| &r.row).collect();
    let differing = differences(&rows);
    let names = names(&rows, &differing);
    let of_table = tables::rows(&runs, &names, args.fold);
    let (settings, numbers) = (tables::settings(&of_table, &differing), Numbers::new(&of_table, &runs));
    for (title, table, legend) in
        [("settings that differ", &settings, None), ("headline numbers", &numbers.text(), numbers.legend())]
    {
        let shown = if output::is_terminal() { without_long_texts(table) } else { table.clone() };
        let lines: Vec<String> = fit_columns(&shown).into_iter().chain(legend).collect();
        print_line!("{title}\n{}\n", lines.join("\n"))?;
    }
    if let Some(note) = loss_note(&rows, &names) {
        print_line!("{}\n", one_line(&note))?;
    }
    let Some(out) = &args.out else { return Ok(()) };
    output::make_folder(out)?;
    for (name, csv) in [("settings.csv", tables::as_csv(&settings)), ("numbers.csv", numbers.csv())] {
        output::write(&out.join(name), csv.as_bytes(), &[])?;
    }
    let drawn = comparisons(&runs, &names);
    let mut drawn = if args.fold { folded(drawn) } else { drawn };
    if drawn.len() > MAX_FIGURES {
        notice!("of {} figures {MAX_FIGURES} are drawn, losses first; numbers.csv has all numbers", drawn.len());
        drawn.sort_by_key(|figure| ![TRAIN_LOSS, common::LOSS.id].contains(&figure.key.as_str()));
        drawn.truncate(MAX_FIGURES);
    }
    let theme = if args.light { Theme::light() } else { Theme::dark() };
    let (mut offscreen, words) = figures::painter();
    let mut taken = store::TakenNames::new();
    for figure in &drawn {
        let png = offscreen.as_mut().map(|offscreen| figure.png(offscreen, &theme));
        // the names of other programs may differ in more than a file's name can
        let stem = store::unique_name(&figure.file_stem(), &mut taken);
        figures::write_picture(out, &stem, figure.svg(&theme), png)?;
    }
    notice!("{} and 2 tables in {}{words}", counted(drawn.len(), "figure"), out.display());
    if !views.is_empty() {
        let replayed = multiples::replayed_runs(&args.runs, &names)?;
        multiples::write(&views, args.step, &theme, &replayed, offscreen.as_mut(), out)?;
    }
    print_line!("{}", path_label(out))
}

/// A table for a terminal: a long text, counted on one line as it is printed, lacks its middle, because runs may differ at its
/// end.
fn without_long_texts(table: &TextTable) -> TextTable {
    table.iter().map(|row| row.iter().map(|cell| without_middle(&one_line(cell), MAX_LABEL_CHARS)).collect()).collect()
}

/// Reads runs so that a key names the same number in all of them.
fn read_all<P: AsRef<Path>>(folders: &[P]) -> Result<Vec<ComparedRun>, Failure> {
    let mut runs: Vec<ComparedRun> = folders.iter().map(|f| read(f.as_ref())).collect::<Result<_, _>>()?;
    let known: Vec<&Lab> = runs.iter().filter_map(|run| labs::find(&run.row.lab)).collect();
    let is_declared = |key: &str| {
        [TRAIN_LOSS, common::LOSS.id].contains(&split_key(key).0) || known.iter().any(|lab| lab.headline(key).is_some())
    };
    for run in &mut runs {
        let is_foreign = run.row.lab == FOREIGN;
        for number in &mut run.series {
            number.key = match number.key.as_str() {
                channels::LOSS_TRAIN => TRAIN_LOSS.to_owned(),
                channels::LOSS_HELD_OUT => common::LOSS.id.to_owned(),
                // another program may log a number under this name, which is then another number
                key if is_foreign && is_declared(key) => format!("logged {key}"),
                _ => continue,
            };
        }
        run.series.sort_by(|a, b| a.key.cmp(&b.key));
    }
    Ok(runs)
}

fn read(folder: &Path) -> Result<ComparedRun, Failure> {
    let row = run_rows::row_of(folder).map_err(Failure::wrong)?;
    let read = match row.lab.as_str() {
        FOREIGN => series::read(folder, |_| true),
        _ => series::read(folder, |channel| channel == channels::LOSS_TRAIN),
    };
    let RunNumbers { numbers, times, .. } = read.map_err(Failure::wrong)?;
    Ok(ComparedRun { row, series: numbers, times })
}

/// The declaration of a number by the run's lab. The held-out loss of another program's run is read as that of an own one.
fn headline_of(row: &RunRow, key: &str) -> Option<&'static Headline> {
    row.headline_of(key).or_else(|| (key == common::LOSS.id).then_some(&common::LOSS))
}

/// A number in the terms that the runs share, or the channel that another program logged.
fn heading(runs: &[ComparedRun], key: &str) -> String {
    let is_train_loss = key == TRAIN_LOSS;
    let rows = || runs.iter().map(|run| &run.row).filter(|row| is_train_loss || headline_of(row, key).is_some());
    let terms = RunTerms::shared(rows().map(RunRow::terms));
    match rows().find_map(|row| headline_of(row, key)) {
        Some(headline) => terms.heading(headline, key),
        None if is_train_loss => terms.training_loss(),
        None => key.to_owned(),
    }
}

/// Says where the losses of the runs cannot be compared.
fn loss_note(rows: &[&RunRow], names: &[String]) -> Option<String> {
    let tokens = rows.iter().map(|row| LossTokens::new(&row.lab, |key| row.settings.get(key)));
    incomparable_losses(names, &tokens.collect::<Vec<_>>())
}

/// The names of the runs in legends: the user's own, or short settings in which they differ, or their folders.
fn names(rows: &[&RunRow], differing: &[Difference]) -> Vec<String> {
    let by_settings = |i: usize| {
        let mut parts: Vec<String> = vec![];
        for d in differing.iter().filter(|d| d.key != "preset") {
            let words = format!("{} {}", d.key.rsplit('.').next().unwrap_or(&d.key), d.values[i]);
            // a training script often has its seed among its settings too
            if !parts.contains(&words) {
                parts.push(words);
            }
        }
        parts.join(", ")
    };
    let all: Vec<String> = (0..rows.len()).map(by_settings).collect();
    let is_plain = all.iter().all(|name| !name.is_empty() && name.chars().count() <= MAX_LABEL_CHARS);
    let is_unique = |name: &String| all.iter().filter(|n| *n == name).count() == 1;
    let of = |(row, settings): (&&RunRow, &String)| match () {
        () if !row.note.name.is_empty() => row.note.name.clone(),
        () if is_plain && is_unique(settings) => settings.clone(),
        () => row.folder.clone(),
    };
    rows.iter().zip(&all).map(of).collect()
}

/// A figure for each number and variant that at least one run measured more than once.
fn comparisons(runs: &[ComparedRun], names: &[String]) -> Vec<Comparison> {
    let mut figures: Vec<Comparison> = vec![];
    let mut places: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let rows: Vec<&RunRow> = runs.iter().map(|run| &run.row).collect();
    let has_note = loss_note(&rows, names).is_some();
    for (i, (run, name)) in runs.iter().zip(names).enumerate() {
        let like = first_but_for_seed(runs, i);
        // a difference between variants is not a curve of one of them
        let of_one = |number: &&NumberSeries| !run.row.headline_of(&number.key).is_some_and(Headline::is_paired);
        for NumberSeries { key, group, points } in run.series.iter().filter(of_one) {
            let at = *places.entry((key.as_str(), group.as_str())).or_insert_with(|| {
                let other = if has_note && is_loss_key(key) { ", not of the same tokens" } else { "" };
                let title = format!("{}{other}", heading(runs, key));
                figures.push(Comparison { key: key.clone(), variant: group.clone(), title, lines: vec![] });
                figures.len() - 1
            });
            figures[at].lines.push(ComparedLine::new(name.clone(), i, like, points.clone()));
        }
    }
    figures.retain(|f| f.lines.iter().any(|l| l.points.len() > 1));
    figures
}

/// Runs that differ in nothing but the seed become one line in each.
fn folded(mut figures: Vec<Comparison>) -> Vec<Comparison> {
    figures.iter_mut().for_each(Comparison::fold);
    figures
}

/// Every number over the steps of runs that belong to the named points: one line per point, over its seeds.
pub fn over_seeds<'a>(runs: impl Iterator<Item = (&'a Path, usize, String)>) -> Result<Vec<Comparison>, Failure> {
    let (mut folders, mut points, mut names) = (vec![], vec![], vec![]);
    for (folder, point, name) in runs {
        folders.push(folder);
        points.push(point);
        names.push(name);
    }
    let mut figures = comparisons(&read_all(&folders)?, &names);
    for line in figures.iter_mut().flat_map(|f| &mut f.lines) {
        // its place is still that of its run
        line.seed_group = points[line.index];
    }
    figures.iter_mut().for_each(Comparison::fold);
    for line in figures.iter_mut().flat_map(|f| &mut f.lines) {
        // all lines of a point have one colour, whichever numbers were measured
        line.index = line.seed_group;
        if let Some(i) = line.runs.first() {
            line.name.clone_from(&names[*i]);
        }
    }
    Ok(figures)
}

/// Reads runs and lines up their numbers for the window's page of comparisons. The error is a message.
pub fn compare_runs(folders: &[PathBuf]) -> Result<ComparedRuns, String> {
    let runs = read_all(folders).map_err(|e| e.message)?;
    let rows: Vec<&RunRow> = runs.iter().map(|r| &r.row).collect();
    let differences = differences(&rows);
    let names = names(&rows, &differences);
    let figures = comparisons(&runs, &names);
    let labs: Vec<&Lab> = rows.iter().filter_map(|row| labs::find(&row.lab)).collect();
    let views = if labs.len() == rows.len() { shared_views(&labs) } else { vec![] };
    let views = views.into_iter().map(|view| view.id).collect();
    let folders = folders.to_vec();
    let points = |is_folded| Arc::new(points::from_runs(&runs, &names, &differences, is_folded));
    Ok(ComparedRuns {
        points: points(false),
        folded_points: points(true),
        times: runs.iter().map(|r| r.times.clone()).collect(),
        loss_note: loss_note(&rows, &names),
        names,
        folders,
        views,
        differences,
        folded: folded(figures.clone()),
        figures,
    })
}

/// Reads the whole runs in `folders`, with the views that have data to show.
pub fn replayed(folders: &[PathBuf]) -> Result<ReplayedRuns, Failure> {
    let rows: Vec<RunRow> =
        folders.iter().map(|f| run_rows::row_of(f)).collect::<Result<_, _>>().map_err(Failure::wrong)?;
    let rows: Vec<&RunRow> = rows.iter().collect();
    let labs: Vec<&Lab> = rows.iter().filter_map(|row| labs::find(&row.lab)).collect();
    let runs = multiples::replayed_runs(folders, &names(&rows, &differences(&rows)))?;
    let views = shared_views(&labs).into_iter().map(|view| view.id);
    let views = views.filter(|id| runs.iter().any(|run| multiples::shows(run, id))).collect();
    Ok(ReplayedRuns { folders: folders.to_vec(), runs, views })
}

/// The first run that differs from this one in nothing but the seed.
fn first_but_for_seed(runs: &[ComparedRun], i: usize) -> usize {
    runs.iter().position(|run| run.row.has_settings_of(&runs[i].row)).unwrap_or(i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_loses_its_middle_on_a_terminal() {
        let shown = without_long_texts(&vec![vec!["run".to_owned(), format!("a{}z", "x".repeat(300))]]);
        assert_eq!((shown[0][0].as_str(), shown[0][1].chars().count()), ("run", MAX_LABEL_CHARS));
        assert!(shown[0][1].starts_with('a') && shown[0][1].ends_with('z'), "{shown:?}");
    }
}
