//! The lab and settings of a command: the default lab, also on a text file, or those that a run folder records.

use super::settings;
use crate::{cli::prelude::*, labs::foreign};

/// The lab that opens when none is named.
pub fn default_lab() -> Result<&'static Lab, Failure> {
    labs::LABS.first().copied().ok_or_else(|| Failure::run("this build has no lab"))
}

/// The default lab, trained on the text file at `path`.
pub fn with_text(path: PathBuf) -> Result<(&'static Lab, Config), Failure> {
    let lab = default_lab()?;
    let mut config = lab.config(None)?;
    settings::set_text_file(lab, &mut config, &path)?;
    Ok((lab, config))
}

/// The lab and settings that a run folder records, read with today's knobs; `config.toml`, which may have been edited since,
/// counts only where `run.json` is lost. Those of another program's run are as it wrote them.
pub fn recorded(folder: &Path) -> Result<(&'static Lab, Config), Failure> {
    recorded_in(&store::run_info(folder).map_err(Failure::wrong)?, folder)
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
