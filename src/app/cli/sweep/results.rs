//! A sweep's folder for its pictures: runs with state and numbers over steps; and the sweeps beside a folder of runs.

use super::{
    SWEEPS_FOLDER,
    folder::{RUNS, SweepFolder, SweepRuns},
};
use crate::{
    cli::prelude::*,
    experiments::{
        run_terms::RunTerms,
        sweep::{
            results::{MadeRun, Number, NumberId, ResultAxis, Series, SweepResults, SweepRun},
            series::{RunSeries, SeriesCache},
        },
    },
    labs::headline::{Better, Headline, split_key},
    ui::host::FoundSweep,
};

/// Everything that the runs of a sweep have recorded so far.
pub fn read(path: &Path, cache: &SeriesCache) -> Result<SweepResults, Failure> {
    let folder = SweepFolder::open(path)?;
    let sweep = &folder.sweep;
    let states = folder.states()?;
    let (axes, points) = ResultAxis::from_sweep(sweep);
    let series: Vec<Option<Arc<RunSeries>>> =
        states.iter().map(|s| s.row.as_ref().map(|row| cache.read(&row.path, states.len()))).collect();
    let made = |row: RunRow| MadeRun { state_label: row.state_label(), path: row.path, state: row.state };
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
        .and_then(|objective| numbers.iter().position(|n| objective.is_number(&n.id.key, &n.id.group)));
    Ok(SweepResults {
        name: folder.name(),
        command: format!("orrery sweep {} --missing", quoted(relative_path(&folder.path))),
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
pub fn relative_path(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned)).unwrap_or_else(|| path.to_owned())
}

/// Headline numbers in the lab's order, then the training loss, then scalars by name.
pub fn numbers(headlines: &'static [Headline], series: &[Option<Arc<RunSeries>>]) -> Vec<Number> {
    let terms = RunTerms::shared(series.iter().flatten().filter_map(|s| s.terms.clone()));
    let ids: BTreeSet<&NumberId> = series.iter().flatten().flat_map(|s| s.numbers.iter().map(|(id, _)| id)).collect();
    let rank = |id: &NumberId| {
        let headline = headlines.iter().position(|h| h.id == split_key(&id.key).0);
        let scalar = if id.key == channels::LOSS_TRAIN { 0 } else { 1 };
        let group = terms.groups.iter().position(|(known, _)| *known == id.group);
        (headline.map_or((1, scalar), |h| (0, h)), place_order(&id.key), id.key.clone(), group)
    };
    let mut ids: Vec<&NumberId> = ids.into_iter().collect();
    ids.sort_by_cached_key(|id| rank(id));
    let number = |id: &NumberId| {
        let headline = headlines.iter().find(|h| h.id == split_key(&id.key).0);
        let (heading, better) = match (headline, id.key.as_str()) {
            (Some(h), key) => (terms.heading(h, key), h.better),
            (None, channels::LOSS_TRAIN) => (terms.training_loss(), Better::Lower),
            (None, channels::STEP_MS) => ("time of a step (ms)".to_owned(), Better::Neither),
            (None, channel) => (channel.to_owned(), Better::Neither),
        };
        let of_run = |run: &Option<Arc<RunSeries>>| {
            let found = run.as_ref().and_then(|run| run.numbers.iter().find(|(known, _)| known == id));
            found.map_or_else(Series::default, |(_, series)| Arc::clone(series))
        };
        Number {
            id: id.clone(),
            heading: format!("{heading}{}", terms.group_suffix(&id.group)),
            better,
            digits: headline.map(|h| h.digits),
            is_paired: headline.is_some_and(Headline::is_paired),
            series: series.iter().map(of_run).collect(),
        }
    };
    ids.into_iter().map(number).collect()
}

/// A sort key by the number in a place, so that `accuracy@8` comes before `accuracy@16`.
fn place_order(key: &str) -> u64 {
    split_key(key).1.parse().unwrap_or(0)
}

/// The rows of a folder of runs and those of the sweeps beside it. A sweep that cannot be listed is left out, with a notice.
pub fn rows_with_sweeps(runs: &Path, mut rows: Vec<RunRow>) -> Vec<RunRow> {
    let own = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
    for sweep in sweeps_beside(runs) {
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
pub fn sweeps_beside(runs: &Path) -> Vec<FoundSweep> {
    let runs = std::path::absolute(runs).unwrap_or_else(|_| runs.to_owned());
    let Some(parent) = runs.parent() else { return vec![] };
    let place = parent.join(SWEEPS_FOLDER);
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

    /// A run with these numbers of these groups, whose losses are per answer.
    fn series(numbers: &[(&str, &str)], groups: Vec<(String, String)>) -> Option<Arc<RunSeries>> {
        let number = |(key, group): &(&str, &str)| {
            (NumberId { key: (*key).to_owned(), group: (*group).to_owned() }, Series::default())
        };
        let terms = Some(RunTerms::new("nats per answer", groups));
        Some(Arc::new(RunSeries { numbers: numbers.iter().map(number).collect(), terms, every: 1 }))
    }

    #[test]
    fn a_label_that_differs_between_runs_gives_way_to_its_group() {
        let run = |alpha: &str| {
            let group = |id: &str, label: &str| (id.to_owned(), label.to_owned());
            let groups = vec![group("fast", &format!("fast, α {alpha}")), group("raw", "attention, raw tokens")];
            series(&[(channels::LOSS_TRAIN, "fast"), (channels::LOSS_TRAIN, "raw")], groups)
        };
        let headings = |series: &[Option<Arc<RunSeries>>]| -> Vec<String> {
            numbers(&[], series).into_iter().map(|number| number.heading).collect()
        };
        let raw = "training loss (nats per answer), attention, raw tokens";
        assert_eq!(headings(&[run("0.17"), run("0.9")]), ["training loss (nats per answer), fast", raw]);
        let same = headings(&[run("0.17"), None, run("0.17")]);
        assert_eq!(same, ["training loss (nats per answer), fast, α 0.17", raw]);
    }

    #[test]
    fn a_difference_names_the_variant_that_is_first_in_every_run() {
        static HEADLINES: [Headline; 1] = [common::DIFFERENCE_FROM_FIRST];
        let run = |first: &str| {
            let groups = [first, "euler"].map(|group| (group.to_owned(), group.to_owned())).to_vec();
            series(&[(common::DIFFERENCE_FROM_FIRST.id, "euler")], groups)
        };
        let heading = |series: &[Option<Arc<RunSeries>>]| numbers(&HEADLINES, series)[0].heading.clone();
        let same = heading(&[run("standard"), run("standard")]);
        assert_eq!(same, "loss minus that of standard (nats per answer), euler");
        let different = heading(&[run("standard"), run("mlp")]);
        assert_eq!(different, "loss minus that of the first variant (nats per answer), euler");
    }
}
