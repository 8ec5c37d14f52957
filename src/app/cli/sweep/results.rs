//! A sweep's folder for its pictures: runs with state and numbers over steps; and the sweeps beside a folder of runs.

use super::{
    super::{shell::quoted, sweep_names::is_sweep},
    SWEEPS,
    folder::{RUNS, SweepFolder, SweepRuns},
};
use crate::{
    analysis::distinct::distinct,
    cli::prelude::*,
    experiments::sweep::{
        results::{MadeRun, Number, NumberId, ResultAxis, Series, SweepResults, SweepRun},
        series::{RunSeries, SeriesCache},
    },
    labs::headline::{Better, Headline, large::FIRST_VARIANT, split},
    ui::host::FoundSweep,
};

/// Everything that the runs of a sweep have recorded so far.
///
/// # Errors
/// If the folder is not a sweep's, or its runs cannot be listed.
pub fn read(path: &Path, cache: &SeriesCache) -> Result<SweepResults, Failure> {
    let folder = SweepFolder::open(path)?;
    let sweep = &folder.sweep;
    let states = folder.states()?;
    let (axes, points) = ResultAxis::from_sweep(sweep);
    let series: Vec<Option<Arc<RunSeries>>> =
        states.iter().map(|s| s.row.as_ref().map(|row| cache.read(&row.path, states.len()))).collect();
    let made = |row: RunRow| MadeRun { words: row.state_label(), path: row.path, state: row.state };
    let runs: Vec<SweepRun> = states
        .into_iter()
        .map(|s| SweepRun {
            point: s.task.point,
            seed: s.task.seed,
            refusal: if s.row.is_none() { folder.refusal(s.task) } else { None },
            made: s.row.map(made),
        })
        .collect();
    let numbers = numbers(sweep.lab.headlines, &series);
    let objective = sweep
        .objective
        .as_ref()
        .and_then(|objective| numbers.iter().position(|n| objective.means(&n.id.key, &n.id.group)));
    Ok(SweepResults {
        name: folder.name(),
        command: format!("orrery sweep {} --missing", quoted(shown(&folder.path))),
        lab: sweep.lab.id.to_owned(),
        seeds: sweep.seeds.clone(),
        every: series.iter().flatten().map(|s| s.every).max().unwrap_or(1),
        folder: folder.path,
        axes,
        points,
        runs,
        numbers,
        objective,
        ..SweepResults::default()
    })
}

/// The path relative to the current directory, if it lies inside.
pub fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned)).unwrap_or_else(|| path.to_owned())
}

/// Every group of the runs with its label, in the order of their variants. A label that differs between runs, as one that
/// names a swept setting does, gives way to the group's id.
fn group_labels(series: &[Option<Arc<RunSeries>>]) -> Vec<(String, String)> {
    let mut groups: Vec<(String, String)> = vec![];
    for (group, label) in series.iter().flatten().flat_map(|s| &s.groups) {
        match groups.iter_mut().find(|(known, _)| known == group) {
            None => groups.push((group.clone(), label.clone())),
            Some((_, known)) if known != label => known.clone_from(group),
            Some(_) => {}
        }
    }
    groups
}

/// Headline numbers in the lab's order, then the training loss, then scalars by name.
pub fn numbers(headlines: &'static [Headline], series: &[Option<Arc<RunSeries>>]) -> Vec<Number> {
    let groups = group_labels(series);
    let ids: BTreeSet<&NumberId> = series.iter().flatten().flat_map(|s| s.numbers.iter().map(|(id, _)| id)).collect();
    let rank = |id: &NumberId| {
        let headline = headlines.iter().position(|h| h.id == split(&id.key).0);
        let scalar = if id.key == channels::LOSS_TRAIN { 0 } else { 1 };
        let group = groups.iter().position(|(known, _)| *known == id.group);
        (headline.map_or((1, scalar), |h| (0, h)), place_order(&id.key), id.key.clone(), group)
    };
    let mut ids: Vec<&NumberId> = ids.into_iter().collect();
    ids.sort_by_cached_key(|id| rank(id));
    let firsts = distinct(series.iter().flatten().filter_map(|s| s.groups.first()).map(|(group, _)| group));
    let first = groups.first().filter(|_| firsts.len() == 1).map_or(FIRST_VARIANT, |(_, label)| label);
    let number = |id: &NumberId| {
        let headline = headlines.iter().find(|h| h.id == split(&id.key).0);
        let label = groups.iter().find(|(group, _)| *group == id.group).map_or("", |(_, label)| label);
        let of = if groups.len() > 1 { format!(", {label}") } else { String::new() };
        let (heading, better) = match (headline, id.key.as_str()) {
            (Some(h), key) => (h.heading(key).replace(FIRST_VARIANT, first), h.better),
            (None, channels::LOSS_TRAIN) => ("training loss (nats)".to_owned(), Better::Lower),
            (None, channels::STEP_MS) => ("time of a step (ms)".to_owned(), Better::Neither),
            (None, channel) => (channel.to_owned(), Better::Neither),
        };
        let of_run = |run: &Option<Arc<RunSeries>>| {
            let found = run.as_ref().and_then(|run| run.numbers.iter().find(|(known, _)| known == id));
            found.map_or_else(Series::default, |(_, series)| Arc::clone(series))
        };
        Number {
            id: id.clone(),
            heading: format!("{heading}{of}"),
            better,
            digits: headline.map(|h| h.digits),
            series: series.iter().map(of_run).collect(),
        }
    };
    ids.into_iter().map(number).collect()
}

/// `accuracy@8` is before `accuracy@16`.
fn place_order(key: &str) -> u64 {
    split(key).1.parse().unwrap_or(0)
}

/// The rows of a folder of runs and those of the sweeps beside it. A sweep that cannot be listed is left out, with a notice.
pub fn rows_with_sweeps(runs: &Path, mut rows: Vec<RunRow>) -> Vec<RunRow> {
    let own = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
    for sweep in beside(runs) {
        if sweep.folder.join(RUNS) == own {
            continue;
        }
        match SweepRuns::find(&sweep.folder) {
            Ok(found) => {
                found.report_linked();
                run_rows::add_sweep(&mut rows, &sweep.name, found.rows());
            }
            Err(e) => notice!("the runs of the sweep {} cannot be listed: {e}", sweep.name),
        }
    }
    rows
}

/// The sweeps in `sweeps` beside a folder of runs, and the one whose runs these are, by name. One to which a link leads is
/// left out, with a notice: an index of its runs would be written elsewhere.
pub fn beside(runs: &Path) -> Vec<FoundSweep> {
    let runs = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
    let Some(parent) = runs.parent() else { return vec![] };
    let place = parent.join(SWEEPS);
    let entries = files::entries(&place).inspect_err(|e| {
        if e.kind() != std::io::ErrorKind::NotFound {
            notice!("{} cannot be listed: {e}", place.display());
        }
    });
    let mut folders: Vec<PathBuf> = entries.into_iter().flatten().map(|e| e.path()).filter(|p| is_sweep(p)).collect();
    folders.retain(|folder| {
        let is_link = folder.is_symlink();
        if is_link {
            notice!("{} is a link to a sweep elsewhere: it is left out", folder.display());
        }
        !is_link
    });
    folders.sort();
    if is_sweep(parent) {
        folders.insert(0, parent.to_owned());
    }
    let found = |folder: PathBuf| FoundSweep {
        name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        runs: SweepRuns::find(&folder).map_or(0, |runs| runs.count()),
        folder,
    };
    folders.into_iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::headline::common;

    #[test]
    fn a_label_that_differs_between_runs_gives_way_to_its_group() {
        let run = |alpha: &str| {
            let group = |id: &str, label: &str| (id.to_owned(), label.to_owned());
            let groups = vec![group("fast", &format!("fast, α {alpha}")), group("raw", "attention, raw tokens")];
            let of =
                |group: &str| (NumberId { key: channels::LOSS_TRAIN.into(), group: group.into() }, Series::default());
            Some(Arc::new(RunSeries { numbers: vec![of("fast"), of("raw")], groups, every: 1 }))
        };
        let headings = |series: &[Option<Arc<RunSeries>>]| -> Vec<String> {
            numbers(&[], series).into_iter().map(|number| number.heading).collect()
        };
        let raw = "training loss (nats), attention, raw tokens";
        assert_eq!(headings(&[run("0.17"), run("0.9")]), ["training loss (nats), fast", raw]);
        assert_eq!(headings(&[run("0.17"), None, run("0.17")]), ["training loss (nats), fast, α 0.17", raw]);
    }

    #[test]
    fn a_difference_names_the_variant_that_is_first_in_every_run() {
        static HEADLINES: [Headline; 1] = [common::DIFFERENCE_FROM_FIRST];
        let run = |first: &str| {
            let groups = [first, "euler"].map(|group| (group.to_owned(), group.to_owned())).to_vec();
            let id = NumberId { key: common::DIFFERENCE_FROM_FIRST.id.into(), group: "euler".into() };
            Some(Arc::new(RunSeries { numbers: vec![(id, Series::default())], groups, every: 1 }))
        };
        let heading = |series: &[Option<Arc<RunSeries>>]| numbers(&HEADLINES, series)[0].heading.clone();
        assert_eq!(heading(&[run("standard"), run("standard")]), "loss minus standard's (nats), euler");
        assert_eq!(heading(&[run("standard"), run("mlp")]), "loss minus the first variant's (nats), euler");
    }
}
