//! Tests runs that another program has written: the commands read them like Orrery's own, whatever channels they
//! contain, and follow those that grow. The binary is real; the tests write the folders.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use orrery::{
    store::{FolderStatus, Reader},
    telemetry::{Event, Payload},
};
use serde_json::{Value, json};

use crate::{
    command::{can_paint, command, done, expect_exit, orrery, output_in, stderr_of},
    foreign_run::ForeignRun,
};
#[cfg(target_os = "linux")]
use crate::{stand_in_ssh::stand_in_ssh, wait_for::wait_until};

#[test]
fn every_command_takes_a_run_of_another_program() {
    let here = tempfile::tempdir().unwrap();
    let runs = here.path().join("runs");
    for (name, lr) in [("wide", 1e-4), ("narrow", 0.01)] {
        ForeignRun::finished(&runs, name, lr);
    }
    let done = |words: &str| done(here.path(), words);
    let listed = output_in(here.path(), "runs lab:foreign lr<1e-3 --json");
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let folders: Vec<&str> =
        listed.as_array().unwrap().iter().filter_map(|row| row["run"]["folder"].as_str()).collect();
    assert_eq!(folders, ["wide"], "{listed}");
    assert!(listed[0]["run"]["problems"].as_array().is_none_or(Vec::is_empty), "{listed}");

    // the table of runs has the losses and the settings in which the runs differ
    let table = done("runs --csv");
    assert!(table.lines().next().unwrap().ends_with(",problems,tags,loss/train:model,setting:lr"), "{table}");
    for (name, lr) in [("wide", "0.0001"), ("narrow", "0.01")] {
        let row = table.lines().find(|row| row.starts_with(&format!("{name},"))).unwrap();
        assert!(row.ends_with(&format!(",{},{lr}", 3.0 / 21.0)), "{table}");
    }

    done("export runs/wide --csv run.csv --samples samples");
    let csv = fs::read_to_string(here.path().join("run.csv")).unwrap();
    assert!(csv.lines().next().unwrap().contains("my/ratio") && csv.lines().count() == 21, "{csv}");
    let written: Vec<String> = fs::read_dir(here.path().join("samples"))
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert_eq!(written.len(), 5, "a file a channel");
    assert!(written.iter().any(|file| file.contains("the ferry left at dawn")));
    assert!(written.iter().any(|file| file.contains("-2")), "the matrix has its values");

    done("report runs/wide -o run.html");
    let page = fs::read_to_string(here.path().join("run.html")).unwrap();
    for part in ["id=\"view-gate\"", "id=\"view-losses\"", "model.layers", "betas"] {
        assert!(page.contains(part), "the report lacks {part}");
    }

    for name in ["wide", "narrow"] {
        let run = ForeignRun { folder: runs.join(name) };
        run.line("metrics.jsonl", &json!({"step": 20, "variant": "model", "loss/held_out": 0.5}));
    }
    done("compare runs/wide runs/narrow --out compared");
    let settings = fs::read_to_string(here.path().join("compared/settings.csv")).unwrap();
    assert_eq!(settings.lines().next().unwrap(), "run,preset,lr", "{settings}");
    let numbers = fs::read_to_string(here.path().join("compared/numbers.csv")).unwrap();
    let head = "run,variant,step,gate/tanh,held-out loss (nats),my/ratio,training loss (nats)";
    assert_eq!(numbers.lines().next().unwrap(), head, "every channel: {numbers}");
    let row = format!(",20,{},0.5,{},{}", 0.001 * 20.0, 1.5 / 21.0, 3.0 / 21.0);
    assert!(
        numbers.lines().skip(1).count() == 2 && numbers.lines().skip(1).all(|line| line.ends_with(&row)),
        "{numbers}"
    );
    for stem in ["gate_tanh", "my_ratio", "train_loss"] {
        assert!(here.path().join(format!("compared/{stem}-model.svg")).is_file(), "{stem}");
    }
    for (words, part) in [("run foreign", "foreign"), ("resume runs/wide", "another program")] {
        expect_exit(here.path(), words, 2, &[part]);
    }
}

#[test]
fn the_table_has_settings_that_a_program_changed() {
    let here = tempfile::tempdir().unwrap();
    for name in ["plain", "halved"] {
        ForeignRun::finished(&here.path().join("runs"), name, 0.001);
    }
    let log = here.path().join("runs/halved/events.jsonl");
    let events = fs::read_to_string(&log).unwrap();
    let (first, rest) = events.split_once('\n').unwrap();
    let changed = json!({"step": 10, "key": "lr", "value": 0.0005});
    let change = json!({"step": 10, "at": "2026-01-31T14:25:05+01:00", "changed": changed});
    fs::write(&log, format!("{first}\n{change}\n{rest}")).unwrap();
    let (code, table) = orrery(here.path(), "runs --csv");
    assert!(code == Some(0) && table.lines().next().unwrap().ends_with(",setting:lr"), "{table}");
    for (name, lr) in [("plain", "0.001"), ("halved", "0.001 \u{2192} 0.0005")] {
        let row = table.lines().find(|row| row.starts_with(&format!("{name},"))).unwrap();
        assert!(row.ends_with(&format!(",{lr}")), "{table}");
    }
}

#[test]
fn only_the_real_losses_are_headed_in_nats() {
    let here = tempfile::tempdir().unwrap();
    for name in ["first", "second"] {
        let run = ForeignRun::begin(here.path(), name, &json!({}));
        for step in 1..=2 {
            let line = json!({"step": step, "variant": "model", "loss/train": 0.5, "loss/held_out": 0.25,
                              "train_loss": 100, "held_out_loss": 500, "gate": 7});
            run.line("metrics.jsonl", &line);
        }
    }
    done(here.path(), "compare first second --out compared");
    let numbers = fs::read_to_string(here.path().join("compared/numbers.csv")).unwrap();
    let expected = [
        "run,variant,step,gate,held-out loss (nats),logged held_out_loss,logged train_loss,training loss (nats)",
        "first,model,2,7,0.25,500,100,0.5",
        "second,model,2,7,0.25,500,100,0.5",
    ];
    assert_eq!(numbers.lines().collect::<Vec<_>>(), expected);
    for (stem, heading) in [
        ("held_out_loss", "held-out loss (nats)"),
        ("train_loss", "training loss (nats)"),
        ("logged_held_out_loss", "logged held_out_loss"),
        ("logged_train_loss", "logged train_loss"),
    ] {
        let figure = fs::read_to_string(here.path().join(format!("compared/{stem}-model.svg"))).unwrap();
        assert!(figure.contains(heading), "{stem}: {figure}");
    }
}

#[test]
fn each_compared_channel_has_a_figure_of_its_own() {
    let here = tempfile::tempdir().unwrap();
    for name in ["first", "second"] {
        let run = ForeignRun::begin(here.path(), name, &json!({}));
        for step in 1..=2 {
            let mut line = json!({"step": step, "variant": "model"});
            ["\u{65e5}", "\u{672c}", "a b", "a_b", "A_b"].iter().for_each(|channel| line[*channel] = json!(step));
            run.line("metrics.jsonl", &line);
        }
    }
    expect_exit(here.path(), "compare first second --out compared", 0, &["5 figures"]);
    let files = fs::read_dir(here.path().join("compared")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.map(|name| name.to_string_lossy().to_lowercase()).filter(|name| name.ends_with(".svg"));
    let names: std::collections::BTreeSet<String> = names.collect();
    let expected = ["_-model.svg", "_-model-2.svg", "a_b-model.svg", "a_b-model-2.svg", "a_b-model-3.svg"];
    assert_eq!(names, std::collections::BTreeSet::from(expected.map(String::from)));
}

#[test]
fn a_message_names_where_another_program_keeps_its_weights() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "run", 1e-3);
    expect_exit(here.path(), "export run --safetensors out.safetensors", 2, &["keeps no weights in it"]);
    [10, 20].iter().for_each(|step| run.weights(*step, &[("w", 2, 3)]));
    expect_exit(here.path(), "export run --safetensors out.safetensors", 2, &["snapshots/step-00000020.safetensors"]);
    assert!(!here.path().join("out.safetensors").exists());
}

/// Skipped if there is no graphics adapter.
#[test]
fn views_are_drawn() {
    let here = tempfile::tempdir().unwrap();
    ForeignRun::finished(here.path(), "run", 1e-3);
    for view in ["losses", "gate", "attention", "logged"] {
        let (code, said) = orrery(here.path(), &format!("render run --view {view} --out {view}.png --step 10"));
        if !can_paint(&said) {
            return;
        }
        assert_eq!(code, Some(0), "{view}: {said}");
        assert!(fs::read(here.path().join(format!("{view}.png"))).unwrap().starts_with(b"\x89PNG"), "{view}");
    }
    for view in ["neuron_graph", "next_tokens"] {
        let said =
            expect_exit(here.path(), &format!("render run --view {view} --out none.png"), 2, &["has nothing to show"]);
        assert!(!said.contains("Asking"), "nobody is asked: {said}");
    }
    let other = ForeignRun::begin(here.path(), "other", &json!({}));
    (1..=2).for_each(|step| other.line("metrics.jsonl", &json!({"step": step, "variant": "model", "gate/value": 0.1})));
    let logged = "It logged gate/value: see the view Logged (logged).";
    expect_exit(here.path(), "render other --view gate --out none.png", 2, &[logged]);
    assert!(!here.path().join("none.png").exists());
}

#[test]
fn a_folder_needs_little_to_be_a_run() {
    let here = tempfile::tempdir().unwrap();
    let started = |folder: &Path| {
        let reader = Reader::open(folder).unwrap();
        let info = reader.info().unwrap();
        let mut notices = vec![];
        let mut steps = 0;
        let damage = reader.read_through(|event| match event {
            Event::Step(_) => steps += 1,
            Event::Notice { text, .. } => notices.push(text),
            _ => {}
        });
        (info, steps, damage.unwrap(), notices)
    };
    let bare = here.path().join("bare");
    fs::create_dir(&bare).unwrap();
    fs::write(bare.join("metrics.jsonl"), "{\"step\":1,\"loss/train\":2}\n{\"step\":2,\"loss/train\":1}\n").unwrap();
    let (info, steps, damage, _) = started(&bare);
    assert_eq!((info.lab.as_str(), steps), ("foreign", 2));
    assert!(damage.is_empty(), "nothing was lost: {damage}");

    fs::write(bare.join("config.toml"), "lr = 0.1\n[optimiser.adam]\nbetas = [0.9, 0.99]\n").unwrap();
    fs::write(bare.join("run.json"), r#"{"format":2,"run":{"variants":[{"id":"a"}]}}"#).unwrap();
    let (info, steps, damage, notices) = started(&bare);
    assert_eq!((info.variants[0].label.as_str(), info.variants[0].group.as_str(), steps), ("a", "a", 2));
    assert!(damage.is_empty() && notices.iter().all(|words| words.contains("no end is recorded")), "{notices:?}");
    let settings: Vec<String> = info.config.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(settings, ["lr=0.1", "optimiser.adam.betas=[0.9, 0.99]"]);
}

#[test]
fn a_later_protocol_is_refused_with_both_numbers() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "later", &json!({}));
    run.describe(&json!({"format": 2, "protocol": 7, "run": {"lab": "foreign"}}));
    expect_exit(here.path(), "export later --csv run.csv", 2, &["version 7", "up to version 1"]);
}

/// The steps and the channels of the samples that the reader returns now.
fn read_new(reader: &mut Reader) -> (Vec<u64>, Vec<String>) {
    let (mut steps, mut channels) = (vec![], vec![]);
    for event in reader {
        match event {
            Event::Step(stats) => steps.push(stats.step),
            Event::Sample(sample) => channels.push(sample.channel.as_str().to_owned()),
            _ => {}
        }
    }
    (steps, channels)
}

#[test]
fn a_run_that_grows_is_followed() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({"lr": 0.1}));
    run.step(1);
    let mut reader = Reader::follow(&run.folder).unwrap();
    assert_eq!(read_new(&mut reader).0, [1]);
    let look = |reader: &mut Reader| {
        let found = reader.poll().unwrap();
        assert_eq!(found, FolderStatus::Same);
        read_new(reader)
    };
    assert_eq!(look(&mut reader), (vec![], vec![]));
    run.step(2);
    run.append("metrics.jsonl", "{\"step\":3,\"variant\":\"mod");
    assert_eq!(look(&mut reader).0, [2], "a torn line waits");
    run.append("metrics.jsonl", "el\",\"loss/train\":1}\n");
    run.samples(3);
    let (steps, channels) = look(&mut reader);
    assert_eq!((steps, channels.len()), (vec![3], 5));
    assert!(!reader.has_ended());
    run.state(3, &json!("finished"));
    look(&mut reader);
    assert!(reader.has_ended());
}

/// Without run.json, the variants are those that occur in the lines. If a new variant occurs later, the folder must be
/// read again from the beginning.
#[test]
fn a_variant_that_comes_later_is_noticed() {
    let here = tempfile::tempdir().unwrap();
    let folder = here.path().join("bare");
    fs::create_dir(&folder).unwrap();
    let log = folder.join("metrics.jsonl");
    let line = |variant: &str, step: u64| format!("{{\"step\":{step},\"variant\":\"{variant}\",\"loss/train\":1}}\n");
    fs::write(&log, line("a", 1)).unwrap();
    let mut reader = Reader::follow(&folder).unwrap();
    assert_eq!(read_new(&mut reader).0, [1]);
    fs::write(&log, line("a", 1) + &line("b", 1)).unwrap();
    assert_eq!(reader.poll().unwrap(), FolderStatus::Same, "the line is not read yet");
    read_new(&mut reader);
    assert_eq!(reader.poll().unwrap(), FolderStatus::Replaced);
    let mut anew = Reader::follow(&folder).unwrap();
    assert_eq!(anew.info().unwrap().variants.len(), 2);
    assert_eq!(read_new(&mut anew).0, [1, 1]);
    assert_eq!(anew.poll().unwrap(), FolderStatus::Same);
}

#[test]
fn a_folder_that_is_replaced_is_noticed_and_a_copy_that_has_grown_goes_on() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({"lr": 0.1}));
    (1..=5).for_each(|step| run.step(step));
    let mut reader = Reader::follow(&run.folder).unwrap();
    assert_eq!(read_new(&mut reader).0.len(), 5);
    // rsync replaces a file by renaming a newer copy, which must not count as another run
    let log = run.folder.join("metrics.jsonl");
    let copy = run.folder.join(".metrics.jsonl.Xy12");
    fs::copy(&log, &copy).unwrap();
    fs::rename(&copy, &log).unwrap();
    run.step(6);
    assert_eq!(reader.poll().unwrap(), FolderStatus::Same);
    assert_eq!(read_new(&mut reader).0, [6]);
    // another run with the same variants
    ForeignRun::begin(here.path(), "run", &json!({"lr": 0.2}));
    fs::write(&log, fs::read_to_string(&log).unwrap().replace("wall_secs\":", "wall_secs\":1")).unwrap();
    assert_eq!(reader.poll().unwrap(), FolderStatus::Replaced);
    // a changed variant makes it another run
    let mut reader = Reader::follow(&run.folder).unwrap();
    assert_eq!(read_new(&mut reader).0.len(), 6);
    run.redescribe(|described| described["run"]["variants"] = json!([{"id": "model"}, {"id": "twin"}]));
    assert_eq!(reader.poll().unwrap(), FolderStatus::Replaced);
    // the program starts its logs from the beginning again
    let mut reader = Reader::follow(&run.folder).unwrap();
    assert_eq!(read_new(&mut reader).0.len(), 6);
    fs::write(&log, "").unwrap();
    assert_eq!(reader.poll().unwrap(), FolderStatus::Replaced);
    let mut reader = Reader::follow(&run.folder).unwrap();
    fs::rename(&run.folder, here.path().join("elsewhere")).unwrap();
    let why = "it has neither run.json nor config.toml".to_owned();
    assert_eq!(reader.poll().unwrap(), FolderStatus::Missing { why });
}

/// The protocol (docs/protocol.md) allows a program to replace `run.json` when it knows more about the run.
#[test]
fn a_run_of_which_more_is_known_goes_on() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    let mut reader = Reader::follow(&run.folder).unwrap();
    assert_eq!(read_new(&mut reader).0.len(), 3);
    run.redescribe(|described| {
        described["run"]["variants"][0]["params"] = 12.into();
        described["run"]["config"]["values"]["optimizer"] = "adam".into();
    });
    run.step(4);
    assert_eq!(reader.poll().unwrap(), FolderStatus::Same);
    let events: Vec<Event> = reader.by_ref().collect();
    let [Event::Described(info), Event::Step(stats)] = &events[..] else { panic!("{events:?}") };
    assert_eq!((info.variants[0].params, stats.step), (12, 4));
    assert_eq!(info.config.get("optimizer").map(ToString::to_string).as_deref(), Some("adam"));
    assert!(info.folder.is_some(), "the folder is not written down");
    // a rewritten file with the same content is not a change
    run.redescribe(|_| {});
    assert_eq!(reader.poll().unwrap(), FolderStatus::Same);
    assert_eq!(reader.by_ref().count(), 0);
}

#[cfg(unix)]
#[test]
fn following_a_run_follows_no_link_out_of_its_folder() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    let secret = here.path().join("secret.jsonl");
    fs::write(&secret, "{\"step\":1,\"variant\":\"model\",\"secret\":1}\n").unwrap();
    std::os::unix::fs::symlink(&secret, run.folder.join("metrics.jsonl")).unwrap();
    let refused = Reader::follow(&run.folder).err().expect("a link is refused").to_string();
    assert!(refused.contains("it is a link"), "{refused}");
    fs::remove_file(run.folder.join("metrics.jsonl")).unwrap();
    run.step(1);
    let mut reader = Reader::follow(&run.folder).unwrap();
    assert_eq!(read_new(&mut reader).0, [1]);
    fs::remove_file(run.folder.join("metrics.jsonl")).unwrap();
    std::os::unix::fs::symlink(&secret, run.folder.join("metrics.jsonl")).unwrap();
    assert!(reader.poll().unwrap_err().to_string().contains("it is a link"));
}

#[test]
fn unknown_channels_are_kept_unchanged() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({}));
    run.samples(1);
    run.sample(2, "attention.maps", &json!({"layers": "none"}));
    let mut unknown = vec![];
    let damage = Reader::open(&run.folder).unwrap().read_through(|event| {
        if let Event::Sample(sample) = event
            && let Payload::Unknown(json) = &*sample.payload
        {
            unknown.push((sample.channel.as_str().to_owned(), json.clone()));
        }
    });
    assert_eq!(unknown.len(), 4);
    assert!(unknown.contains(&("text/story".to_owned(), json!({"kind": "text", "text": "the ferry left at dawn"}))));
    let damage = damage.unwrap().to_string();
    assert!(damage.contains("samples.jsonl line 6") && damage.contains("attention.maps"), "{damage}");
}

#[test]
fn new_numbers_are_printed_where_there_is_no_display() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::begin(here.path(), "run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    let mut command = command(here.path(), ["follow", "run"]);
    command.env_remove("WAYLAND_SOCKET").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(Result::unwrap).unwrap_or_default();
    let newest = next();
    assert!(newest.starts_with("step 3  model") && newest.contains("loss/train 0.75"), "the newest step: {newest}");
    let begun = Instant::now();
    run.step(4);
    assert!(next().starts_with("step 4  model"));
    assert!(begun.elapsed() < Duration::from_secs(10), "it takes a quarter of a second on an idle machine");
    run.state(4, &json!({"failed": {"message": "RuntimeError: out of memory"}}));
    let end = process.wait_with_output().unwrap();
    let said = stderr_of(&end);
    assert_eq!(end.status.code(), Some(1), "{said}");
    assert!(said.contains("there is no display here") && said.contains("RuntimeError: out of memory"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn following_a_remote_run_survives_a_lost_connection() {
    follow_over_a_cut(true);
}

/// Without Orrery on the other machine, its `sh` and `tail` read the run.
#[cfg(target_os = "linux")]
#[test]
fn a_machine_without_orrery_is_followed_and_goes_on_after_a_cut() {
    let said = follow_over_a_cut(false);
    assert!(said.contains("there is no `orrery` on the path of that machine"), "{said}");
}

/// Checks that `process` copies a remote run of three steps over a connection that `cut` ends, goes on by a second one of the
/// `commands` that ssh was given, and ends with the run. Returns the text on standard error.
#[cfg(target_os = "linux")]
pub fn check_follower(
    mut process: std::process::Child,
    run: &ForeignRun,
    copy: &Path,
    cut: impl FnOnce(),
    commands: impl Fn() -> Vec<String>,
) -> String {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(Result::unwrap).unwrap_or_default();
    let mut newest = next();
    while !newest.starts_with("step 3 ") {
        assert!(newest.starts_with("step "), "{newest:?}");
        newest = next();
    }
    cut();
    wait_until("the cut is not noticed", || commands().len() >= 2);
    let length = fs::metadata(run.folder.join("metrics.jsonl")).unwrap().len();
    let again = commands().remove(1);
    assert!(again.contains(&format!(" {length}:")), "it goes on by bytes: {again}");
    run.step(4);
    assert!(next().starts_with("step 4 "));
    run.samples(4);
    run.state(4, &json!("finished"));
    let end = process.wait_with_output().unwrap();
    let said = stderr_of(&end);
    assert_eq!(end.status.code(), Some(0), "{said}");
    assert!(said.contains("it is tried again"), "{said}");
    for log in ["metrics.jsonl", "samples.jsonl"] {
        assert_eq!(fs::read(copy.join(log)).unwrap(), fs::read(run.folder.join(log)).unwrap(), "{log}");
    }
    said
}

/// Follows a run whose connection is cut once, and returns the text on standard error.
#[cfg(target_os = "linux")]
fn follow_over_a_cut(has_orrery: bool) -> String {
    let here = tempfile::tempdir().unwrap();
    let bin = stand_in_ssh(here.path(), has_orrery);
    fs::write(here.path().join("cut"), "").unwrap();
    let run = ForeignRun::begin(&here.path().join("there"), "it's a run", &json!({"lr": 0.1}));
    (1..=3).for_each(|step| run.step(step));
    let address = format!("ssh://me@somewhere{}", run.folder.display());
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let follow = || {
        let mut command = command(here.path(), ["follow", &address, "--headless"]);
        command.env("PATH", &path).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let copy = here.path().join("runs/it_s_a_run-at-me_somewhere");
    let commands = || -> Vec<String> {
        let commands = fs::read_to_string(here.path().join("commands")).unwrap();
        commands.lines().map(str::to_owned).collect()
    };
    let said = check_follower(follow().spawn().unwrap(), &run, &copy, || (), commands);

    fs::write(copy.join(".source"), "ssh://elsewhere/a\n").unwrap();
    let refused = follow().output().unwrap();
    let refusal = stderr_of(&refused);
    assert_eq!(refused.status.code(), Some(2), "{refusal}");
    assert!(refusal.contains("is not a copy of") && refusal.contains("give another folder with --out"), "{refusal}");
    let refused = command(here.path(), ["ask", &address, "save"]).env("PATH", &path).output().unwrap();
    let refusal = stderr_of(&refused);
    assert_eq!(refused.status.code(), Some(2), "{refusal}");
    assert!(refusal.contains("is not a copy of") && !refusal.contains("--out"), "of `ask` it is a picture: {refusal}");
    said
}

#[cfg(unix)]
#[test]
fn a_missing_host_is_reported_once() {
    use std::os::unix::fs::PermissionsExt;
    let here = tempfile::tempdir().unwrap();
    let ssh = here.path().join("ssh");
    fs::write(&ssh, "#!/bin/sh\necho 'ssh: connect to host nowhere: No route to host' >&2\nexit 255\n").unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", here.path().display(), std::env::var("PATH").unwrap());
    let mut command = command(here.path(), ["follow", "ssh://nowhere/runs/a", "--headless"]);
    let output = command.env("PATH", &path).output().unwrap();
    let said = stderr_of(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No route to host") && said.contains("`ssh` ended with code 255"), "{said}");
    expect_exit(here.path(), "follow ssh://-oProxyCommand=x/a", 2, &["no host that ssh accepts"]);
}
