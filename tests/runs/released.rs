//! Tests that every later version can open, export and resume the run folders of released versions, which are stored in
//! `tests/runs/released`. Each release adds a run of four steps of a tiny model.

use std::{
    fs,
    path::{Path, PathBuf},
};

use orrery::{
    nn::Device,
    store::{Reader, checkpoint},
    telemetry::Event,
};

use super::{command::done, folders::copy};

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runs/released");
    let mut folders: Vec<PathBuf> = fs::read_dir(all).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

#[test]
fn every_released_folder_is_read_whole() {
    for folder in folders() {
        let (mut steps, mut samples) = (0, 0);
        let reader = Reader::open(&folder).unwrap();
        let lost = reader
            .read_through(|event| match event {
                Event::Step(_) => steps += 1,
                Event::Sample(_) => samples += 1,
                Event::Notice { text, .. } => panic!("{}: {text}", folder.display()),
                _ => {}
            })
            .unwrap();
        assert!(lost.is_empty(), "{lost}");
        assert!(steps > 8 && samples > 4, "{}: {steps} steps, {samples} samples", folder.display());
        let loaded = checkpoint::load(&folder, &Device::Cpu).unwrap().expect("a checkpoint");
        assert_eq!((loaded.checkpoint.step, loaded.notices.len()), (4, 0), "{}", folder.display());
    }
}

#[test]
fn every_released_folder_is_exported_and_gone_on_with() {
    for folder in folders() {
        let here = tempfile::tempdir().unwrap();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let run = here.path().join(name);
        copy(&folder, &run);
        done(here.path(), &format!("export {name} --csv a.csv"));
        assert!(fs::read_to_string(here.path().join("a.csv")).unwrap().lines().count() > 8);
        done(here.path(), &format!("resume {name} --steps 6 --no-figures"));
        assert_eq!(checkpoint::load(&run, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint.step, 6);
    }
}
