//! A folder of checkpoints as a time axis: which of its files are checkpoints, from which step, and the run that is
//! recorded from them. The lab makes a plan for each; the trainer records them.

use super::{
    checkpoint_names::{checkpoints, files_with_checkpoint_extension},
    progress::notice_line,
    settings,
};
use crate::{
    cli::prelude::*,
    labs::trained_bdh::settings::FileSettings,
    nn::weights::Weights,
    trainer::{RunError, SeriesStep, record_series},
};

/// A checkpoint and how many updates it had behind it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepFile {
    pub step: u64,
    pub path: PathBuf,
    /// The key in the file that says the step; `None` where its name does.
    pub key: Option<&'static str>,
}

/// The top-level keys under which checkpoints record their number of updates. The first key that every file of a folder
/// has, with a different value in each, is used. The epoch serves as the step if nothing finer is recorded.
const STEP_KEYS: [&str; 9] =
    ["step", "global_step", "iter", "iteration", "iter_num", "num_updates", "steps", "train_step", "epoch"];

/// The maximum number of checkpoints in a series, because each is copied into the run.
const MAX_CHECKPOINTS: usize = 500;

/// Paths named as checkpoints that are not files: pipes, devices, sockets, folders and broken links.
fn non_files(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = files_with_checkpoint_extension(folder).filter(|path| !path.is_file()).collect();
    paths.sort();
    paths
}

/// The step in a file's name: its last number, as in `ckpt_0500.pt`, `step-500-epoch.pt` and `model500.safetensors`.
fn step_of(path: &Path) -> Option<u64> {
    let stem = path.file_stem()?.to_str()?;
    stem.split(|c: char| !c.is_ascii_digit()).rfind(|digits| !digits.is_empty())?.parse().ok()
}

/// The value of each of [`STEP_KEYS`] in a file; none for an unreadable file, which is reported when opened.
fn recorded_steps(path: &Path) -> [Option<u64>; STEP_KEYS.len()] {
    let Ok(file) = Weights::open(path) else { return Default::default() };
    let metadata: Vec<(&str, &str)> = file.metadata().collect();
    STEP_KEYS.map(|key| {
        let (_, text) = metadata.iter().find(|(path, _)| *path == key)?;
        // some write it as a float
        text.parse()
            .ok()
            .or_else(|| text.parse::<f64>().ok().filter(|v| v.fract() == 0.0 && *v >= 0.0).map(|v| v as u64))
    })
}

/// The first key whose values differ between the files, with the step of each file.
fn steps_inside(paths: &[PathBuf]) -> Option<(&'static str, Vec<u64>)> {
    let recorded: Vec<_> = paths.iter().map(|path| recorded_steps(path)).collect();
    STEP_KEYS.iter().enumerate().find_map(|(place, key)| {
        let steps = recorded.iter().map(|steps| steps[place]).collect::<Option<Vec<u64>>>()?;
        let distinct: BTreeSet<u64> = steps.iter().copied().collect();
        (distinct.len() == steps.len()).then_some((*key, steps))
    })
}

/// The checkpoints of a folder by step, which is read inside the files if all of them hold it, else from names.
fn step_files(folder: &Path) -> Result<Vec<StepFile>, Failure> {
    let paths: Vec<PathBuf> = checkpoints(folder).take(MAX_CHECKPOINTS + 1).collect();
    let named_step = |path: &PathBuf| {
        step_of(path).ok_or_else(|| {
            usage!(
                "the name of {} has no step, and not every file of the folder says one inside (as {}): name the checkpoints of a \
                 folder by their steps, such as step-500.pt, or open it alone",
                path.display(),
                STEP_KEYS.join(", ")
            )
        })
    };
    let (key, steps) = match steps_inside(&paths).filter(|_| paths.len() <= MAX_CHECKPOINTS) {
        Some((key, steps)) => (Some(key), steps),
        None => (None, paths.iter().map(named_step).collect::<Result<_, _>>()?),
    };
    let step_file = |(path, step)| StepFile { step, path, key };
    let mut files: Vec<StepFile> = paths.into_iter().zip(steps).map(step_file).collect();
    files.sort();
    if let Some(w) = files.windows(2).find(|w| w[0].step == w[1].step) {
        return Err(usage!(
            "{} and {} both have step {}: where the files do not hold it, the last number in a name is its step",
            w[0].path.display(),
            w[1].path.display(),
            w[0].step
        ));
    }
    let shown = folder.display();
    ensure!(!files.is_empty(), "{shown} has no checkpoint (.safetensors, .pt, .pth)");
    ensure!(
        files.len() <= MAX_CHECKPOINTS,
        "{shown} has more than {MAX_CHECKPOINTS} checkpoints, and each is copied into the run: give a folder with fewer"
    );
    Ok(files)
}

/// The lab of trained models with the newest checkpoint of the folder.
pub fn lab_and_config(folder: &Path) -> Result<(&'static Lab, Config), Failure> {
    let files = step_files(folder)?;
    let newest = files.last().map_or(folder, |file| file.path.as_path());
    settings::with_file(FileKind::Checkpoint, &std::path::absolute(newest).map_err(Failure::wrong)?)
}

fn with_file(lab: &Lab, config: &Config, path: &Path) -> Result<Config, Failure> {
    let mut config = config.clone();
    let absolute = std::path::absolute(path).map_err(Failure::wrong)?;
    if let Some(key) = lab.file_key(FileKind::Checkpoint) {
        config.set_text(&(lab.knobs)(), key, settings::utf8(&absolute)?)?;
    }
    Ok(config)
}

/// Writes the number of layers that the newest checkpoint has, or is taken to have, into settings that leave it open, so that
/// the record of the run states it.
fn set_layers(lab: &Lab, config: &mut Config, newest: &Path) -> Result<(), Failure> {
    if !config.value(FileSettings::layers).is_ok_and(|layers| layers == 0) {
        return Ok(());
    }
    let plan = (lab.plan)(&with_file(lab, config, newest)?)?;
    for variant in &plan.variants {
        let ModelSpec::Bdh(spec) = &variant.model else { continue };
        let layers = spec.resolved().map_err(Failure::wrong)?.layers;
        // more layers than the setting takes are stated by the file, which counts in any case
        let _ = config.set_text(&(lab.knobs)(), FileSettings::layers.name, &layers.to_string());
    }
    Ok(())
}

/// Records the checkpoints of `folder` as a run in `out` by `config`, whose paths are absolute; returns its folder.
pub fn record(
    folder: &Path,
    lab: &Lab,
    config: &Config,
    out: &Path,
    mut sinks: Vec<Box<dyn Sink>>,
    is_wanted: &dyn Fn() -> bool,
) -> Result<PathBuf, Failure> {
    let mut steps = vec![];
    for path in non_files(folder) {
        notice!("warning: {} is not an ordinary file and is left out", path.display());
    }
    let (files, mut config) = (step_files(folder)?, config.clone());
    if let Some(newest) = files.last() {
        set_layers(lab, &mut config, &newest.path)?;
    }
    for file in files {
        let config = with_file(lab, &config, &file.path)?;
        let plan = (lab.plan)(&config)?;
        ensure!(plan.steps == 0, "a folder of checkpoints is viewed, not trained: leave out the steps");
        plan.variants.iter().try_for_each(|v| v.model.check_files()).map_err(Failure::wrong)?;
        let source = file.key.map_or_else(|| "its name".to_owned(), |key| format!("its `{key}`"));
        steps.push(SeriesStep { step: file.step, plan, name: file.path.display().to_string(), source });
    }
    crate::store::check_writable(out).map_err(Failure::failed)?;
    let writer = Writer::at_once(out);
    record_series(steps, &writer, &mut sinks, is_wanted).map_err(|e| match e {
        RunError::Store(e) => Failure::from(e),
        other => Failure::wrong(other),
    })?;
    writer.folder().ok_or_else(|| Failure::run("the run's folder was not made"))
}

pub struct StepReport;

impl Sink for StepReport {
    fn event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Notice { level, text } => notice!("{}", notice_line(*level, text)),
            Event::Step(stats) => {
                let loss = stats.scalars.iter().find(|(c, _)| c.as_str() == channels::LOSS_HELD_OUT);
                if let Some((_, loss)) = loss {
                    notice!("step {}: held-out loss {loss:.4} nats per token", stats.step);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn folders_links_and_sockets_are_listed_as_non_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("step-1.pt"), "").unwrap();
        std::fs::write(path("notes.txt"), "").unwrap();
        std::fs::create_dir(path("step-2.pt")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("step-3.pt")).unwrap();
        std::os::unix::fs::symlink("nowhere", path("step-4.safetensors")).unwrap();
        assert_eq!(checkpoints(dir.path()).collect::<Vec<_>>(), [path("step-1.pt")]);
        assert_eq!(non_files(dir.path()), ["step-2.pt", "step-3.pt", "step-4.safetensors"].map(path));
    }

    #[test]
    fn the_last_number_of_a_name_is_its_step() {
        for (name, step) in [
            ("ckpt_0500.pt", Some(500)),
            ("run2-step-1500.safetensors", Some(1500)),
            ("model7.pth", Some(7)),
            ("model.pt", None),
            ("99999999999999999999.pt", None),
        ] {
            assert_eq!(step_of(Path::new(name)), step, "{name}");
        }
    }
}
