//! Files that a run reads, no longer where it recorded them: looked for beside the run, by their content.

use crate::{cli::prelude::*, files::fingerprint, telemetry::InputFile};

/// Folders around the run that are looked in, the run's own among them.
const SEARCHED_FOLDERS: usize = 4;
/// The most names at the end of a path that a moved run and its file may still share.
const MAX_SHARED_NAMES: usize = 4;

/// Leads the settings and the recorded inputs to files that were moved together with the run in `folder`; says which.
pub fn find(folder: &Path, lab: &Lab, config: &mut Config, inputs: &mut [InputFile]) -> Result<Vec<String>, Failure> {
    let knobs = (lab.knobs)();
    let mut notices = vec![];
    for knob in knobs.iter().filter(|k| k.file_kind().is_some_and(|kind| kind != FileKind::TextFolder)) {
        let path = config.get(knob.key).map(ToString::to_string).unwrap_or_default();
        let Some(recorded) = inputs.iter_mut().find(|r| !path.is_empty() && r.path == path) else { continue };
        if Path::new(&path).exists() {
            continue;
        }
        let found = moved_file(folder, recorded)?;
        let shown = found.display().to_string();
        notices.push(format!("{path} is missing; {shown}, which has the same SHA-256, is read in its place"));
        config.set_text(&knobs, knob.key, &shown)?;
        recorded.path = shown;
    }
    Ok(notices)
}

fn moved_file(folder: &Path, recorded: &InputFile) -> Result<PathBuf, Failure> {
    let run = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let names: Vec<_> = Path::new(&recorded.path).iter().collect();
    let mut other = None::<PathBuf>;
    for around in run.ancestors().take(SEARCHED_FOLDERS) {
        for together in (1..=MAX_SHARED_NAMES.min(names.len().saturating_sub(1))).rev() {
            let candidate = around.join(names[names.len() - together..].iter().collect::<PathBuf>());
            if !candidate.is_file() {
                continue;
            }
            match fingerprint(&candidate) {
                Ok(found) if found.bytes == recorded.bytes && found.sha256 == recorded.sha256 => return Ok(candidate),
                _ => other = Some(candidate),
            }
        }
    }
    let other = other.map_or(String::new(), |p| format!(" ({} has that name but other content)", p.display()));
    Err(usage!(
        "{} is missing{other}: put it back, or put it under that name into {} or a folder above it, where it is found by its SHA-256",
        recorded.path,
        run.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::labs::trained_bdh::LAB;

    /// Settings and the recorded file of a run of the lab of trained models.
    fn recorded(path: &Path) -> (Config, Vec<InputFile>) {
        let mut config = LAB.config(None).unwrap();
        let key = LAB.file_key(FileKind::Checkpoint).unwrap();
        config.set_text(&(LAB.knobs)(), key, path.to_str().unwrap()).unwrap();
        let found = fingerprint(path).unwrap();
        let path = path.to_str().unwrap().to_owned();
        (config, vec![InputFile { path, bytes: found.bytes, sha256: found.sha256 }])
    }

    fn checkpoint_of(config: &Config) -> String {
        config.get(LAB.file_key(FileKind::Checkpoint).unwrap()).map(ToString::to_string).unwrap()
    }

    #[test]
    fn a_file_that_moved_with_the_run_is_found_by_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("a/models")).unwrap();
        fs::create_dir_all(at("a/runs/one")).unwrap();
        fs::write(at("a/models/m.pt"), "weights").unwrap();
        let (config, inputs) = recorded(&at("a/models/m.pt"));
        let mut here = (config.clone(), inputs.clone());
        assert!(find(&at("a/runs/one"), &LAB, &mut here.0, &mut here.1).unwrap().is_empty(), "it is where it was");
        assert_eq!(here, (config.clone(), inputs.clone()));

        fs::rename(at("a"), at("b")).unwrap();
        let mut moved = (config.clone(), inputs.clone());
        let notices = find(&at("b/runs/one"), &LAB, &mut moved.0, &mut moved.1).unwrap();
        let wanted = at("b/models/m.pt").display().to_string();
        assert!(notices.len() == 1 && notices[0].contains(&wanted), "{notices:?}");
        assert_eq!((checkpoint_of(&moved.0), moved.1[0].path.clone()), (wanted.clone(), wanted));

        // another content under that name is not taken, and the right one beside the run is
        fs::write(at("b/models/m.pt"), "other weights").unwrap();
        let words = find(&at("b/runs/one"), &LAB, &mut config.clone(), &mut inputs.clone()).unwrap_err().to_string();
        assert!(["other content", "SHA-256", "a/models/m.pt"].iter().all(|part| words.contains(part)), "{words}");
        fs::write(at("b/runs/one/m.pt"), "weights").unwrap();
        let mut moved = (config, inputs);
        find(&at("b/runs/one"), &LAB, &mut moved.0, &mut moved.1).unwrap();
        assert_eq!(checkpoint_of(&moved.0), at("b/runs/one/m.pt").display().to_string());
    }
}
