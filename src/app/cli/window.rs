//! `orrery` and `orrery replay`: the window, or, where none can open, the default lab without one.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    OpenArgs,
    checkpoint_names::is_checkpoint_folder,
    display,
    graph_events::{GraphReading, is_certainly_graph},
    headless,
    host::DesktopHost,
    interrupt, json_kind, other_logs,
    remote::FollowedRun,
    runs::Runs,
    settings::{self, ResolvedName, default_lab, with_text},
};
use crate::{
    cli::prelude::*,
    experiments::permalink::Permalink,
    ui::{
        app::{self, Opening, Start},
        close_request::CloseRequest,
        host::FileContent,
    },
};

/// Opens the window with what was named, or runs the lab without one and says why.
pub fn open(open: &OpenArgs, began: Instant) -> Result<(), Failure> {
    let is_graph = |path: &&Path| is_certainly_graph(path) || is_graph_json(path);
    if let Some(file) = open.what.as_deref().map(Path::new).filter(is_graph) {
        return open_graph(file.to_owned(), GraphReading::default(), open, began);
    }
    let mut named = open.what.as_deref().map(|what| resolve(what, &open.set.out)).transpose()?;
    // with settings, or without a display, the series is recorded first; else the window shows it while it is recorded
    if let Some(ResolvedName::Series(folder)) = &named
        && (display::check().is_err() || !open.set.is_empty())
    {
        named = Some(ResolvedName::Run(headless::record_series(folder, &open.set)?));
    }
    if let Err(why) = display::check() {
        return without_window(&why, open, named);
    }
    let opening = match named {
        Some(ResolvedName::Run(folder) | ResolvedName::Series(folder)) => Some(Opening::Run(folder)),
        Some(ResolvedName::Sweep(folder)) => Some(Opening::Sweep(folder)),
        Some(ResolvedName::Lesson(link)) => Some(Opening::Lesson(link)),
        Some(ResolvedName::Page(lab, link)) => Some(Opening::Page(Box::new(complete_link(open, lab, *link)?))),
        None if open.set.is_empty() => None,
        // a lab that is named without any setting opens on its recorded example, as from the gallery
        Some(ResolvedName::Config(lab, _)) if open.set.is_empty() && open.what.as_deref() == Some(lab.id) => {
            Some(Opening::Config(lab.opening_config()?))
        }
        named => Some(Opening::Config(lab_and_config(open, named)?.1)),
    };
    show(open, opening, |_| (), began).map_err(|failure| {
        let (is_lost, id) = (failure.code != interrupt::INTERRUPTED, labs::LABS.first().map_or("LAB", |l| l.id));
        failure.with(format!("\n`orrery run {id}` trains without a window"), is_lost)
    })
}

/// The meaning of a name; the log of another tool is the run into which it is read.
fn resolve(what: &str, runs: &Path) -> Result<ResolvedName, Failure> {
    let path = Path::new(what);
    if !labs::LABS.iter().any(|lab| lab.id == what || lab.presets.iter().any(|preset| preset.id == what))
        && !is_checkpoint_folder(path)
        && let Some(imported) = other_logs::import_log(path, runs)?
    {
        return Ok(ResolvedName::Run(imported.folder));
    }
    settings::resolve(what)
}

/// Whoever waits for the process learns that it was asked to end, by Ctrl-C or by the system, whatever was in view.
fn outcome(is_asked_to_end: bool) -> Result<(), Failure> {
    match is_asked_to_end {
        true => Err(Failure::interrupted("stopped; every run that had begun has a checkpoint")),
        false => Ok(()),
    }
}

/// True for JSON with nodes and links. What is too large to look at is for the reader of graphs to refuse.
fn is_graph_json(path: &Path) -> bool {
    path.is_file()
        && output::has_extension(path, "json")
        && (json_kind::is_too_large(path) || json_kind::kind_of(path) == Ok(FileContent::Graph))
}

/// Shows the window until it closes and every run in it has ended its record, also if the display disappears.
fn show(
    open: &OpenArgs,
    opening: Option<Opening>,
    prepare: impl FnOnce(&mut DesktopHost),
    began: Instant,
) -> Result<(), Failure> {
    let close_request = Arc::<CloseRequest>::default();
    let asked = Arc::clone(&close_request);
    interrupt::on_interrupt(move || asked.ask());
    let runs = Runs::new();
    runs.end_at_exit();
    let mut host = DesktopHost::new(open.set.out.clone(), Arc::clone(&runs)).with_examples();
    prepare(&mut host);
    let start = Start {
        opening,
        timings: open.timings,
        started: began,
        close_request: Arc::clone(&close_request),
        ..Start::default()
    };
    // Libraries of the window panic where they lose the display.
    let shown = catch_unwind(AssertUnwindSafe(|| app::run(Box::new(host), start)));
    runs.end();
    let lost = |_| Err("the window was lost; its runs were ended, each with a checkpoint".to_owned());
    shown.unwrap_or_else(lost).map_err(Failure::run)?;
    outcome(close_request.is_asked())
}

pub fn open_graph(file: PathBuf, reading: GraphReading, open: &OpenArgs, began: Instant) -> Result<(), Failure> {
    display::check().map_err(|why| {
        let word = quoted(&file);
        Failure::run(format!("{why}. `orrery graph {word} --out x.png` draws it without a window"))
    })?;
    let opening = Some(Opening::Run(file.clone()));
    show(open, opening, |host| host.graph = Some((file, reading)), began)
}

/// Opens a run folder that is written elsewhere in the window, and follows it until the run ends.
pub fn follow(followed: FollowedRun, open: &OpenArgs, began: Instant) -> Result<(), Failure> {
    let opening = Some(Opening::Run(followed.folder.clone()));
    show(open, opening, |host| host.followed = Some(followed), began)
}

fn lab_and_config(open: &OpenArgs, named: Option<ResolvedName>) -> Result<(&'static Lab, Config), Failure> {
    let (lab, mut config) = match named {
        Some(ResolvedName::Config(lab, config)) => (lab, config),
        Some(ResolvedName::Page(lab, link)) => (lab, link.config),
        Some(ResolvedName::Text(path)) => with_text(path)?,
        Some(ResolvedName::Run(_) | ResolvedName::Series(_) | ResolvedName::Sweep(_) | ResolvedName::Lesson(_))
        | None => {
            let lab = default_lab()?;
            (lab, lab.config(None)?)
        }
    };
    settings::apply(&open.set, lab, &mut config)?;
    Ok((lab, config))
}

/// The link with what the command line sets beside it.
fn complete_link(open: &OpenArgs, lab: &Lab, mut link: Permalink) -> Result<Permalink, Failure> {
    // the window asks before the files of a link are opened
    match link.files(lab).is_empty() {
        true => settings::apply(&open.set, lab, &mut link.config)?,
        false => settings::set(&open.set, lab, &mut link.config)?,
    }
    Ok(link)
}

/// Replaces the window on a machine without a display: explains why, and writes the result into a folder.
fn without_window(why: &str, open: &OpenArgs, named: Option<ResolvedName>) -> Result<(), Failure> {
    let refused = |instead: String| Err(Failure::run(format!("{why}. {instead}")));
    let until = match &named {
        Some(ResolvedName::Run(folder)) => {
            let render = format!("orrery render {} --view VIEW --out x.png", quoted(folder));
            return refused(format!("`{render}` draws a view of this run without a window"));
        }
        Some(ResolvedName::Sweep(folder)) => {
            return refused(format!("`orrery sweep {} --pictures DIR` draws it without a window", quoted(folder)));
        }
        Some(ResolvedName::Lesson(link)) => {
            return refused(format!("`{link}` is a step of a lesson, which is read in the window"));
        }
        Some(ResolvedName::Page(lab, link)) => {
            settings::check_linked_files(lab, link, open.set.allow_files)?;
            link.step
        }
        _ => None,
    };
    notice!("orrery: {why}.");
    notice!("The lab runs without a window instead; its numbers and figures go to a folder.");
    let (lab, config) = lab_and_config(open, named)?;
    let wanted = headless::RunOptions { until, ..headless::RunOptions::default() };
    let folder = headless::train(lab, &config, &open.set.out, wanted)?;
    let word = quoted(&folder);
    if let Some(view) = lab.front_view(&config.preset).or(lab.panes.first().map(|pane| pane.view)) {
        notice!("`orrery render {word} --view {view} --out {view}.png` draws one view of it.");
    }
    notice!("On a machine with a display `orrery replay {word}` opens it.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_that_was_interrupted_exits_with_130() {
        let request = CloseRequest::default();
        assert!(!request.is_asked());
        request.ask();
        assert!(request.is_asked());
        assert!(outcome(false).is_ok());
        assert_eq!(outcome(true).unwrap_err().code, interrupt::INTERRUPTED);
    }
}
