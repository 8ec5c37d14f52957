//! Tests that every later version can open, export and resume the run folders of released versions, which are stored in
//! `tests/runs/released`. Each release adds a run of four steps of a tiny model.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use orrery::{
    nn::Device,
    store::{Reader, checkpoint},
    telemetry::Event,
};

use super::folders::copy;

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runs/released");
    let mut folders: Vec<PathBuf> = fs::read_dir(all).unwrap().map(|e| e.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    folders
}

fn orrery(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_orrery")).args(args).output().unwrap()
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
        let run = here.path().join("run");
        copy(&folder, &run);
        let csv = here.path().join("a.csv");
        let done = orrery(&["export", run.to_str().unwrap(), "--csv", csv.to_str().unwrap()]);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(fs::read_to_string(&csv).unwrap().lines().count() > 8);
        let done = orrery(&["resume", run.to_str().unwrap(), "--steps", "6", "--no-figures"]);
        assert!(done.status.success(), "{}: {}", folder.display(), String::from_utf8_lossy(&done.stderr));
        assert_eq!(checkpoint::load(&run, &Device::Cpu).unwrap().expect("a checkpoint").checkpoint.step, 6);
    }
}
