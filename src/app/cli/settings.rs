//! From a name on the command line and `--set`, or from a run folder, to a lab and its config.

use super::{Settings, checkpoint_names};
use crate::{
    cli::prelude::*,
    experiments::permalink::{Link, Permalink},
    labs::{LABS, RunSettings, TrainSettings, foreign, lesson::LessonLink},
    ui::views,
};

/// The meaning of a name on the command line.
pub enum ResolvedName {
    Config(&'static Lab, Config),
    Lesson(LessonLink),
    /// A lab's settings, with the step and views that a link shows.
    Page(&'static Lab, Box<Permalink>),
    Run(PathBuf),
    /// A folder of checkpoints, each of a step.
    Series(PathBuf),
    Sweep(PathBuf),
    Text(PathBuf),
}

/// Resolves a lab id, a preset id, a config file, a run folder, trained weights, a treebank or a text file, in this order.
pub fn resolve(name: &str) -> Result<ResolvedName, Failure> {
    if let Some(link) = Link::parse(name, LABS) {
        return resolve_link(link.map_err(Failure::usage)?);
    }
    if let Some(lab) = LABS.iter().find(|lab| lab.id == name) {
        return Ok(ResolvedName::Config(lab, lab.config(None)?));
    }
    if let Some(lab) = LABS.iter().find(|l| l.presets.iter().any(|p| p.id == name)) {
        return Ok(ResolvedName::Config(lab, lab.config(Some(name))?));
    }
    let path = Path::new(name);
    if path.is_dir() {
        return if store::is_run(path) {
            Ok(ResolvedName::Run(path.to_owned()))
        } else if is_sweep(path) {
            Ok(ResolvedName::Sweep(path.to_owned()))
        } else if let Some(run) = run_of_checkpoints(path) {
            Ok(ResolvedName::Run(run))
        } else if checkpoint_names::is_checkpoint_folder(path) {
            Ok(ResolvedName::Series(path.to_owned()))
        } else {
            Err(usage!(
                "`{}` is a folder, but neither of a run (it has no config.toml), of a sweep (sweep.toml) nor of checkpoints (.safetensors, .pt, .pth)",
                path.display()
            ))
        };
    }
    if !path.exists() {
        let labs: Vec<&str> = LABS.iter().map(|l| l.id).collect();
        let presets = LABS.iter().flat_map(|l| l.presets.iter().map(|p| p.id));
        let meant = did_you_mean(name, labs.iter().copied().chain(presets));
        return Err(usage!(
            "`{name}` is not a lab, preset, file or run folder. Labs: {}. `orrery list` shows the presets{meant}",
            labs.join(", ")
        ));
    }
    if path.extension().is_some_and(|e| e == "toml") {
        let (lab, config) = config_of(path, files::read_text(path, store::MAX_CONFIG))?;
        return Ok(ResolvedName::Config(lab, with_absolute_paths(lab, &config, path.parent())?));
    }
    if checkpoint_names::has_checkpoint_extension(path) {
        let (lab, config) = with_file(FileKind::Checkpoint, path)?;
        return Ok(ResolvedName::Config(lab, config));
    }
    if FileKind::is_treebank(path) {
        let (lab, config) = with_file(FileKind::Treebank, path)?;
        return Ok(ResolvedName::Config(lab, config));
    }
    Ok(ResolvedName::Text(path.to_owned()))
}

fn resolve_link(link: Link) -> Result<ResolvedName, Failure> {
    let link = match link {
        Link::Lesson(link) => return Ok(ResolvedName::Lesson(link)),
        Link::Page(link) => link,
    };
    if let Some(view) = link.views.iter().find(|id| views::find(id).is_none()) {
        return Err(usage!("the link names the view `{view}`, which does not exist; `orrery list --views` names them"));
    }
    Ok(ResolvedName::Page(labs::find_in(LABS, &link.config.lab)?, link))
}

/// Checks that a link that is opened without a window names no files of this machine, unless that is allowed.
pub fn check_linked_files(lab: &Lab, link: &Permalink, is_allowed: bool) -> Result<(), Failure> {
    let files = link.files(lab);
    if is_allowed || files.is_empty() {
        return Ok(());
    }
    // on one line, so that no path can end the sentence and begin another
    let files = files.iter().map(|file| format!("{} = `{}`", file.key, one_line(&file.path)));
    let files = files.collect::<Vec<_>>().join(", ");
    Err(usage!(
        "the link names files of this machine, {files}, and whoever wrote it chose them: if you trust it, --allow-files lets it \
         read them"
    ))
}

/// The run whose `checkpoints` or `snapshots` this folder is: its weights are asked through the run.
fn run_of_checkpoints(folder: &Path) -> Option<PathBuf> {
    let is_part = folder.file_name().is_some_and(|n| n == "checkpoints" || n == "snapshots");
    let run = folder.parent().filter(|run| is_part && run.join("run.json").is_file())?;
    Some(run.to_owned())
}

/// Finds the first lab that takes files of this kind, such as trained weights or a treebank, and sets it to this file.
pub fn with_file(kind: FileKind, path: &Path) -> Result<(&'static Lab, Config), Failure> {
    let taking = LABS.iter().find_map(|l| Some((l, l.file_key(kind)?)));
    let (lab, key) = taking.ok_or_else(|| usage!("no lab of this build takes {}", path.display()))?;
    let mut config = lab.config(None)?;
    config.set_text(&(lab.knobs)(), key, utf8(path)?)?;
    Ok((lab, config))
}

/// The lab and settings that the text of the file at `path` holds.
pub fn config_of(path: &Path, text: Result<String, FileError>) -> Result<(&'static Lab, Config), Failure> {
    let text = text.map_err(|e| unread_config(path, &e))?;
    let lab = Config::lab_id(&text).and_then(|id| labs::find_in(LABS, &id));
    let read = lab.and_then(|lab| Ok((lab, Config::from_toml(&text, lab.id, &(lab.knobs)())?)));
    read.map_err(|e| usage!("{}: {e}", path.display()))
}

fn unread_config(path: &Path, e: &dyn std::fmt::Display) -> Failure {
    usage!("the config file {} cannot be read: {e}", path.display())
}

/// The settings with every path of a file made absolute, so that the record leads to the file from anywhere. A relative
/// one leads from `beside`, the folder of the file that has the settings, if something is there. That it leads nowhere is
/// only noted, because another value may replace it.
pub fn with_absolute_paths(lab: &Lab, config: &Config, beside: Option<&Path>) -> Result<Config, Failure> {
    let (knobs, mut config) = ((lab.knobs)(), config.clone());
    for knob in knobs.iter().filter(|k| k.file_kind().is_some()) {
        let path = config.get(knob.key).map(ToString::to_string).unwrap_or_default();
        if !path.is_empty() {
            let absolute = match beside.map(|folder| existing_path(&path, folder)) {
                Some(Ok(found)) => found,
                not_found => {
                    not_found.into_iter().filter_map(Result::err).for_each(|e| notice!("warning: {}: {e}", knob.key));
                    let absolute = std::path::absolute(&path).map_err(|e| unread_config(Path::new(&path), &e))?;
                    utf8(&absolute)?.to_owned()
                }
            };
            config.set_text(&knobs, knob.key, &absolute)?;
        }
    }
    Ok(config)
}

/// Resolves a relative path against this folder, or else against the current one. An absolute path is returned
/// unchanged.
pub fn existing_path(path: &str, beside: &Path) -> Result<String, Failure> {
    if Path::new(path).is_absolute() {
        return Ok(path.to_owned());
    }
    let absolute = |path: PathBuf| std::path::absolute(&path).map_err(|e| unread_config(&path, &e));
    let mut tried = vec![absolute(beside.join(path))?, absolute(path.into())?];
    tried.dedup();
    if let Some(found) = tried.iter().find(|path| path.exists()) {
        return Ok(utf8(found)?.to_owned());
    }
    let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
    Err(usage!("`{path}` leads to no file: there is no {}", tried.join(", nor ")))
}

/// Settings are text, so that a path must be text too.
pub fn utf8(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        let shown = path.display();
        usage!("the path {shown} is not UTF-8, and settings are: rename the file or folder")
    })
}

/// Gives a text file to the lab's setting that takes one.
pub fn set_text_file(lab: &Lab, config: &mut Config, path: &Path) -> Result<(), Failure> {
    if let Some(key) = lab.file_key(FileKind::Treebank).filter(|_| FileKind::is_treebank(path)) {
        let shown = path.display();
        return Err(usage!(
            "{shown} is a treebank, and `{key}` takes it: write --set {key}={shown} in place of --text"
        ));
    }
    let none = || usage!("the lab `{}` reads no text file", lab.id);
    let key = lab.file_key(FileKind::Text).ok_or_else(none)?;
    Ok(config.set_text(&(lab.knobs)(), key, utf8(path)?)?)
}

/// Checks that no seed is named twice.
pub fn check_seeds(seeds: &[u64]) -> Result<(), Failure> {
    let different = distinct(seeds.iter().copied());
    let words = || different.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    ensure!(different.len() == seeds.len(), "a seed is named twice and would count as two: write --seeds {}", words());
    Ok(())
}

/// The key and the value of a `--set`.
pub fn pair_of(text: &str) -> Result<(&str, &str), Failure> {
    text.split_once('=').ok_or_else(|| usage!("`--set {text}` has no `=`; write --set key=value"))
}

/// The lab that opens when none is named.
pub fn default_lab() -> Result<&'static Lab, Failure> {
    labs::LABS.first().copied().ok_or_else(|| Failure::run("this build has no lab"))
}

/// The default lab, trained on the text file at `path`.
pub fn with_text(path: PathBuf) -> Result<(&'static Lab, Config), Failure> {
    let lab = default_lab()?;
    let mut config = lab.config(None)?;
    set_text_file(lab, &mut config, &path)?;
    Ok((lab, config))
}

/// The lab and settings that a run folder records, read with today's knobs; `config.toml`, which may have been edited since,
/// counts only where `run.json` is lost, which readers of the logs report. Those of another program's run are as it
/// wrote them.
pub fn recorded(folder: &Path) -> Result<(&'static Lab, Config), Failure> {
    recorded_in(&store::run_info(folder).map_err(Failure::wrong)?.0, folder)
}

/// [`recorded`] of a description that has been read.
pub fn recorded_in(info: &RunInfo, folder: &Path) -> Result<(&'static Lab, Config), Failure> {
    let record = &info.config;
    if info.lab == FOREIGN {
        return Ok((&foreign::LAB, record.clone()));
    }
    let misfit = |e: ConfigError| usage!("{}: {e}", folder.display());
    let lab = labs::find_in(labs::LABS, &info.lab).map_err(misfit)?;
    let knobs = (lab.knobs)();
    let mut config = Config::defaults(lab.id, &knobs);
    config.preset.clone_from(&record.preset);
    config.seed = record.seed;
    record.iter().try_for_each(|(key, value)| config.set(&knobs, key, value.clone())).map_err(misfit)?;
    Ok((lab, config))
}

/// Applies `--set`, `--seed`, `--steps`, `--device` and `--text`, and checks that the lab can be planned so.
pub fn apply(settings: &Settings, lab: &Lab, config: &mut Config) -> Result<(), Failure> {
    set(settings, lab, config)?;
    // A lab that cannot plan a run with these settings refuses before anything is made.
    (lab.plan)(config)?;
    Ok(())
}

/// Applies them, and opens no file.
pub fn set(settings: &Settings, lab: &Lab, config: &mut Config) -> Result<(), Failure> {
    let knobs = (lab.knobs)();
    for pair in &settings.set {
        let (key, value) = pair_of(pair)?;
        config.set_text(&knobs, key.trim(), value)?;
    }
    if let Some(seed) = settings.seed {
        config.seed = seed;
    }
    if let Some(steps) = settings.steps {
        config.set_text(&knobs, TrainSettings::steps.name, &steps.to_string())?;
    }
    if let Some(device) = &settings.device {
        config.set_text(&knobs, RunSettings::device.name, device)?;
    }
    if let Some(text) = &settings.text {
        set_text_file(lab, config, text)?;
    }
    *config = with_absolute_paths(lab, config, None)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_treebank_goes_to_the_lab_and_the_setting_that_take_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.CoNLLU");
        std::fs::write(&path, "# nothing\n").unwrap();
        let Ok(ResolvedName::Config(lab, mut config)) = resolve(path.to_str().unwrap()) else {
            panic!("it is not a lab's settings");
        };
        assert_eq!(lab.id, "grammar_roles");
        assert_eq!(config.get("grammar.treebank"), Some(&Value::Text(path.display().to_string())));
        let why = set_text_file(lab, &mut config, &path).unwrap_err().message;
        assert!(why.contains("--set grammar.treebank="), "{why}");
        assert!(set_text_file(lab, &mut config, Path::new("own.txt")).is_ok());
    }

    #[test]
    fn a_file_is_found_beside_the_settings_that_name_it() {
        let folder = tempfile::tempdir().unwrap();
        let lab = LABS.iter().find(|lab| lab.file_key(FileKind::Text).is_some()).unwrap();
        let (key, mut config) = (lab.file_key(FileKind::Text).unwrap(), lab.config(None).unwrap());
        config.set_text(&(lab.knobs)(), key, "beside_settings.txt").unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, config.to_toml()).unwrap();
        let file = || match resolve(path.to_str().unwrap()) {
            Ok(ResolvedName::Config(_, config)) => config.get(key).unwrap().to_string(),
            _ => panic!("it is not a lab's settings"),
        };
        let here = std::path::absolute("beside_settings.txt").unwrap();
        assert_eq!(file(), here.display().to_string(), "nothing is beside the settings");
        std::fs::write(folder.path().join("beside_settings.txt"), "a text").unwrap();
        assert_eq!(file(), folder.path().join("beside_settings.txt").display().to_string());
    }
}
