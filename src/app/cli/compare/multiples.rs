//! Runs read whole, their views as small multiples, and the difference of two, as files.

use super::super::{figures::replay, settings::recorded};
use crate::{
    cli::prelude::*,
    ui::{
        multiples::{
            Multiple, ReplayedRun,
            difference::{Difference, DifferenceKind},
            difference_png, png,
        },
        views::{Selection, ViewEntry},
    },
};

/// Replays the runs of these folders from their first event to their last, to be compared under these names.
pub fn replayed_runs(folders: &[PathBuf], names: &[String]) -> Result<Vec<ReplayedRun>, Failure> {
    let read = |(folder, name): (&PathBuf, &String)| {
        let (lab, config) = recorded(folder)?;
        // the row of the run mentions the damage of its record
        let (mirror, _) = replay(folder)?;
        Ok(ReplayedRun { name: name.clone(), config, knobs: (lab.knobs)(), mirror })
    };
    folders.iter().zip(names).map(read).collect()
}

/// True if a view has something to show of a run.
pub fn shows(run: &ReplayedRun, view: &str) -> bool {
    run.figure(view, u64::MAX, &Theme::dark()).empty_message().is_ok_and(|words| words.is_none())
}

/// Writes a picture of each view, and of two runs their difference with its CSV, into `out`; `None`: the last step.
pub fn write(
    views: &[&'static ViewEntry],
    step: Option<u64>,
    theme: &Theme,
    runs: &[ReplayedRun],
    mut offscreen: Option<&mut Offscreen>,
    out: &Path,
) -> Result<(), Failure> {
    let last = runs.iter().map(|r| r.mirror.step).max().unwrap_or(0);
    let step = step.unwrap_or(last);
    ensure!(step <= last, "no run has a step {step}: the last one of any is {last}");
    for view in views {
        check_shown(view, step, runs, theme)?;
        let multiple = Multiple { view, step, theme };
        if let Some(offscreen) = &mut offscreen {
            let picture = png(offscreen, multiple, runs).map_err(Failure::run)?;
            output::write(&out.join(format!("{}-step-{step}.png", view.id)), &picture, &[])?;
        }
        if let ([a, b], Some(kind)) = (runs, DifferenceKind::for_view(view.id)) {
            write_difference(multiple, kind, [a, b], offscreen.as_deref_mut(), out)?;
        }
    }
    Ok(())
}

fn check_shown(view: &ViewEntry, step: u64, runs: &[ReplayedRun], theme: &Theme) -> Result<(), Failure> {
    let mut whys = vec![];
    for run in runs {
        match run.figure(view.id, step, theme).empty_message().map_err(Failure::run)? {
            None => return Ok(()),
            Some(why) => whys.push(format!("{}: {why}", run.name)),
        }
    }
    let whys = whys.join("; ");
    Err(usage!("the view `{}` has nothing to show of these runs at step {step}: {whys}", view.id))
}

fn write_difference(
    of: Multiple<'_>,
    kind: DifferenceKind,
    [a, b]: [&ReplayedRun; 2],
    offscreen: Option<&mut Offscreen>,
    out: &Path,
) -> Result<(), Failure> {
    let names = [a.name.as_str(), b.name.as_str()];
    let made = match Difference::new(kind, [a, b], of.step, &Selection::default()) {
        Ok(made) => made,
        Err(words) => {
            notice!("{}: {words}", of.view.id);
            return Ok(());
        }
    };
    notice!("({}) less ({}): {}", names[1], names[0], made.subtitle());
    let file = |extension: &str| out.join(format!("{}-step-{}-difference.{extension}", of.view.id, of.step));
    output::write(&file("csv"), made.csv(names).as_bytes(), &[])?;
    if let Some(offscreen) = offscreen {
        let picture = difference_png(offscreen, &made, names, of.theme).map_err(Failure::run)?;
        output::write(&file("png"), &picture, &[])?;
    }
    Ok(())
}
