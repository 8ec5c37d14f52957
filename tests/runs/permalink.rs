//! Tests links that are opened without a display: they repeat the run that they were copied from exactly, up to its
//! step.

use std::{
    path::{Path, PathBuf},
    process::Output,
};

use orrery::{
    experiments::permalink::{LinkSelection, Permalink},
    labs::restrictions::Restrictions,
    store::Writer,
    trainer::DriveOptions,
};

use crate::{
    command::{command, output_of, unpainted},
    trainer::{fast_slow, recorded_numbers, started, train},
};

fn orrery(args: &[&str]) -> Output {
    unpainted(&mut command(Path::new("."), args)).output().unwrap()
}

fn only_run(runs: &Path) -> PathBuf {
    let folders: Vec<PathBuf> =
        std::fs::read_dir(runs).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    let [folder] = folders.as_slice() else { panic!("{folders:?}") };
    folder.clone()
}

#[test]
fn a_run_under_a_link_equals_the_run_that_it_was_copied_from() {
    let dir = tempfile::tempdir().unwrap();
    let (_, config) = fast_slow(9, &[("train.lr", "0.0123"), ("seed", "41"), ("corpus.seed", "3")]);
    let writer = Writer::at_once(dir.path());
    train(&config, DriveOptions { writer: Some(writer.clone()), ..started() });
    let original = writer.folder().unwrap();

    let link = Permalink {
        config,
        restrictions: Restrictions::default(),
        step: Some(6),
        views: vec!["gate".into()],
        selection: LinkSelection::default(),
    };
    let out_folder = dir.path().join("linked");
    let out_words = out_folder.to_str().unwrap();
    let out = orrery(&["open", &link.to_string(), "--out", out_words]);
    assert!(
        out.status.success() && output_of(&out).contains("stopped at step 6, the step of the link"),
        "{}",
        output_of(&out)
    );
    let run = only_run(&out_folder);
    let (first, again) = (recorded_numbers(&original, 6), recorded_numbers(&run, u64::MAX));
    assert_eq!(again, first, "the same losses, bit for bit, and no step more");
    assert!(first.iter().any(|(step, ..)| *step == 6));

    let out = orrery(&["resume", run.to_str().unwrap(), "--no-figures"]);
    assert!(out.status.success(), "{}", output_of(&out));
    assert_eq!(recorded_numbers(&run, u64::MAX), recorded_numbers(&original, u64::MAX), "and so on to the end");
}

#[test]
fn a_run_in_place_of_the_window_names_a_view_that_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let (out_folder, picture) = (dir.path().join("runs"), dir.path().join("x.svg"));
    let out = orrery(&["open", "orrery:equilibrium?lock=seed", "--steps", "1", "--out", out_folder.to_str().unwrap()]);
    let said = output_of(&out);
    let view = said.split_once(" --view ").and_then(|(_, rest)| rest.split(' ').next()).expect("a command");
    let run = only_run(&out_folder);
    let render = orrery(&["render", run.to_str().unwrap(), "--view", view, "--out", picture.to_str().unwrap()]);
    assert!(render.status.success() && picture.exists(), "{view}: {}", output_of(&render));
}

#[test]
fn a_link_reads_no_file_unless_it_is_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let (text, out_folder) = (dir.path().join("secret.txt"), dir.path().join("runs"));
    std::fs::write(&text, "the ferry left at dawn and came back at night. ".repeat(2000)).unwrap();
    let (_, mut config) = fast_slow(3, &[]);
    let lab = orrery::labs::find(&config.lab).unwrap();
    let path = text.to_str().unwrap();
    config.set_text(&(lab.knobs)(), "corpus.file", path).unwrap();
    let link = Permalink {
        config,
        restrictions: Restrictions::default(),
        step: None,
        views: vec![],
        selection: LinkSelection::default(),
    };
    let (link, out_words) = (link.to_string(), out_folder.to_str().unwrap());
    let of_run = |command: &[&str]| orrery(&[command, &[link.as_str(), "--out", out_words]].concat());
    for out in [of_run(&["open"]), of_run(&[]), of_run(&["run"]), orrery(&["ask", &link, "attention_maps"])] {
        let said = output_of(&out);
        assert!(out.status.code() == Some(2) && said.contains(path) && said.contains("--allow-files"), "{said}");
    }
    let forged = output_of(&orrery(&["open", "orrery:fast_slow?corpus.file=a%0Aorrery:%20forged"]));
    assert!(forged.contains(r"`a\norrery: forged`, and whoever"), "{forged}");
    assert!(!out_folder.exists(), "nothing was begun");
    let out = orrery(&["run", &link, "--out", out_words, "--allow-files", "--no-figures"]);
    assert!(!output_of(&out).contains("names files of this machine"), "{}", output_of(&out));
    assert!(out_folder.exists(), "it is begun: {}", output_of(&out));
}

#[test]
fn a_link_that_leads_nowhere_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let out_folder = dir.path().join("none");
    let out_words = out_folder.to_str().unwrap();
    for (link, words) in [
        ("orrery:fast_slow?train.lrr=1", "did you mean `train.lr`"),
        ("orrery:nowhere", "there is no lab `nowhere`"),
        ("orrery:fast_slow#view=nothing", "the link names the view `nothing`, which does not exist"),
        ("orrery:fast_slow?train.steps=5#step=6", "the link is to step 6, and its settings have 5 steps"),
    ] {
        for command in [vec!["open", link], vec![link], vec!["run", link]] {
            let out = orrery(&[&command[..], &["--out", out_words]].concat());
            let said = output_of(&out);
            assert!(out.status.code() == Some(2) && said.contains(words), "{command:?}: {said}");
        }
    }
    assert!(!out_folder.exists(), "nothing was begun");
}
