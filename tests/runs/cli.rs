//! Tests the command line with the real binary and real files: an error message names the fault, its place and a
//! remedy, and the exit code tells scripts what happened.

use std::fs;

use super::command::{command, done, expect_exit, output_in, stderr_of};

#[test]
fn invalid_commands_are_refused_with_a_reason_and_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let write = |name: &str, content: &[u8]| fs::write(here.join(name), content).unwrap();
    write("empty.txt", b"");
    write("binary.txt", &[0, 159, 146, 150].repeat(5000));
    write("short.txt", b"too few words");
    write("key.toml", b"lab = \"fast_slow\"\n[model]\nwidht = 3\n");
    write("range.toml", b"lab = \"fast_slow\"\n[model]\nheads = 99\n");
    write("syntax.toml", b"lab = \"fast_slow\"\n[model\n");
    write("lab.toml", b"lab = \"nothing\"\n");
    write("long.toml", format!("lab = \"fast_slow\"\nx = {}\n", "[".repeat(100_000)).as_bytes());
    write("name.toml", format!("lab = \"fast_slow\"\n{} = 1\n", "x".repeat(100_000)).as_bytes());
    fs::create_dir(here.join("folder")).unwrap();
    for (words, code, part) in [
        ("run missing.txt", 2, "`missing.txt` is not a lab, preset, file or run folder"),
        ("run fastslow", 2, "did you mean `fast_slow`?"),
        ("run fast_slow_neded", 2, "did you mean `fast_slow_needed`?"),
        ("run neuron_grph", 2, "did you mean `neuron_graph`?"),
        ("list --knobs fastslow", 2, "did you mean `fast_slow`?"),
        ("run fast_slow --set corpus.source=mixtur", 2, "did you mean `mixture`?"),
        ("run empty.txt", 2, "empty.txt is empty"),
        ("run binary.txt", 2, "binary.txt is binary, not text"),
        ("run short.txt", 2, "too short"),
        ("run key.toml", 2, "unknown key `model.widht`"),
        ("run range.toml", 2, "`model.heads` = `99` is out of range: a whole number from 1 to 32"),
        ("run syntax.toml", 2, "line 2"),
        ("run lab.toml", 2, "nothing"),
        ("run long.toml", 2, "line 2"),
        ("run name.toml", 2, "unknown key `xxx"),
        ("run fast_slow --set model.d_model=abc", 2, "wrong type"),
        ("run fast_slow --set model.heads=3", 2, "must be an even multiple"),
        ("run fast_slow --set nothing", 2, "KEY=VALUE"),
        ("run fast_slow --steps abc", 2, "for '--steps <STEPS>': a whole number is expected"),
        ("run fast_slow --steps -3", 2, "for '--steps <STEPS>': a whole number from 0 is expected"),
        ("run fast_slow --seed -1", 2, "a whole number from 0 is expected"),
        ("ask fast_slow next_tokens --step -1", 2, "a whole number from 0 is expected"),
        ("ask fast_slow next_tokens --wait -1", 2, "-1 is not in 0.."),
        ("render folder --view gate --out x.svg --scale -1", 2, "--scale goes from 0.25 to 8"),
        ("open fast_slow --no-figures", 2, "unexpected argument '--no-figures'"),
        ("model generate a b --temperature x", 2, "<TEMPERATURE>': a number is expected"),
        ("run fast_slow --device cuda:0 --steps 1", 2, "cuda"),
        ("run fast_slow --set train.window=8 --set model.pool=8", 2, "finishes no block"),
        ("run coupled_qk --set model.layers=1 --set model.evolved=first_half", 2, "no first half"),
        ("run equilibrium --set train.accumulate=2", 2, "draws its own points"),
        ("run ode_flow --set train.batch=2", 2, "in turn"),
        ("run ode_flow --text short.txt", 2, "its own language"),
        ("run ode_flow --set task.kind=field --text short.txt", 2, "read no text"),
        ("run equilibrium --text nowhere.txt", 2, "the network reads no text"),
        ("ask ode_flow steer", 2, "its lab ode_flow asks flow"),
        ("runs --out nowhere", 2, "there is no folder `nowhere`"),
        ("list --runs nowhere", 2, "there is no folder `nowhere`"),
        ("runs --json --name mine", 2, "cannot be used with"),
        ("sweep folder --table --step 20", 2, "cannot be used with"),
        ("sweep folder --missing --light", 2, "cannot be used with"),
        ("ask fast_slow gate_entropi", 2, "did you mean `gate_entropy`? (`orrery ask --list`"),
        ("run folder", 2, "folder"),
        ("resume folder", 2, "`folder` is not a run folder"),
        ("replay folder", 2, "folder"),
        ("replay key.toml", 2, "`key.toml` is not a folder: give the folder of a run"),
        ("replay nowhere", 2, "`nowhere` does not exist: give the folder of a run"),
        ("report short.txt -o x.html", 2, "`short.txt` is not a folder"),
        ("resume nowhere", 2, "`nowhere` does not exist"),
        ("render folder --view gate --out x.png", 2, "`folder` is not a run folder"),
        ("export folder", 2, "--csv"),
        ("render folder --view gate --out x.jpg", 2, "x.jpg should end in .png"),
        ("list --knobs nothing", 2, "nothing"),
        ("frob", 2, "frob"),
    ] {
        let output = output_in(here, words);
        let said = stderr_of(&output);
        assert_eq!(output.status.code(), Some(code), "{words}: {said}");
        assert!(said.to_lowercase().contains(&part.to_lowercase()), "{words}: {said}");
        assert!(!said.contains("panicked"), "{words}: {said}");
        assert!(said.len() < 5000, "{words}: {} bytes", said.len());
        assert!(!said.contains("--allow-files"), "no advice to switch a guard off: {words}: {said}");
        if code == 2 {
            let made = fs::read_dir(here.join("runs")).is_ok_and(|mut runs| runs.next().is_some());
            assert!(!made, "{words} made a run folder");
        }
        fs::remove_dir_all(here.join("runs")).ok();
    }
}

#[test]
fn a_refused_file_prints_no_backtrace() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bad.pt"), "none").unwrap();
    let mut p = command(folder.path(), ["model", "info", "bad.pt"]);
    let output = p.env("RUST_BACKTRACE", "1").env_remove("RUST_LIB_BACKTRACE").output().unwrap();
    assert_eq!((output.status.code(), stderr_of(&output).lines().count()), (Some(2), 1), "{}", stderr_of(&output));
}

#[test]
fn an_answer_names_the_step_of_its_weights() {
    let folder = tempfile::tempdir().unwrap();
    let small = "--set train.window=16 --set train.batch=1 --set run.eval_windows=1 --set run.threads=1 \
                 --set model.d_model=16 --set probe.residual_every=0";
    let run = output_in(folder.path(), &format!("run fast_slow --steps 6 --no-figures {small}"));
    assert!(run.status.success(), "{}", stderr_of(&run));
    let printed = String::from_utf8(run.stdout).unwrap();
    let run = printed.lines().last().expect("its folder");
    for step in [0, 3, 5] {
        let asked = output_in(folder.path(), &format!("ask {run} next_tokens --step {step} --variant coupled"));
        let answer: serde_json::Value =
            serde_json::from_slice(&asked.stdout).unwrap_or_else(|_| panic!("{}", stderr_of(&asked)));
        assert_eq!(answer["step"], step, "{answer}");
    }
    // a probe has its own name and the one that the protocol uses for other programs
    for name in ["attention_maps", "attention"] {
        let asked = output_in(folder.path(), &format!("ask {run} {name} --variant coupled"));
        assert!(asked.status.success(), "{name}: {}", stderr_of(&asked));
        let answer: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
        assert_eq!(answer["channel"], "attention.maps", "{name}");
    }
    let picture = folder.path().join("answer.svg");
    for (words, part) in [
        ("--view attention", "`attention` does not show what `next_tokens` answers; `next_tokens` does"),
        ("--view losses", "`losses` does not show what `next_tokens` answers"),
        ("--view next_tokens --csv", "cannot be used with"),
    ] {
        let asked = output_in(folder.path(), &format!("ask {run} next_tokens {words} --out answer.svg"));
        let said = stderr_of(&asked);
        assert!(asked.status.code() == Some(2) && said.contains(part) && !picture.exists(), "{words}: {said}");
    }
    // the run has recorded the attention of the other variant too
    done(folder.path(), &format!("ask {run} attention --variant frozen --view attention --out answer.svg"));
    assert!(fs::read_to_string(&picture).unwrap().contains(" \u{b7} frozen \u{b7} "), "the picture is of the answer");
    fs::remove_dir_all(folder.path().join(run).join("checkpoints")).unwrap();
    let parts = ["has no checkpoint yet", "asks the weights that it kept"];
    expect_exit(folder.path(), &format!("ask {run} next_tokens --variant coupled"), 2, &parts);
}

#[test]
fn probes_are_listed_whatever_is_to_be_asked() {
    let folder = tempfile::tempdir().unwrap();
    for (words, part) in [
        ("ask --list", "gate_entropy"),
        ("ask --list", "  Change one token of a text.\n"),
        ("ask fast_slow --list", "gate_entropy"),
        ("ask --list next_tokens", "Tokens of the continuation"),
        ("ask fast_slow next_tokens --list", "Tokens of the continuation"),
    ] {
        expect_exit(folder.path(), words, 0, &[part]);
    }
}

#[test]
fn every_preset_is_listed_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let listed = String::from_utf8(output_in(folder.path(), "list").stdout).unwrap();
    for lab in orrery::labs::LABS {
        assert!(listed.contains(lab.title));
        lab.presets.iter().for_each(|p| assert!(listed.contains(p.id), "{}", p.id));
    }
}

/// A reader may close the pipe early, as in `orrery list ... | head -1`. This must end the command without a panic.
#[cfg(unix)]
#[test]
fn a_reader_that_leaves_early_is_no_crash() {
    use std::{
        io::{BufRead, BufReader, Read},
        process::Stdio,
    };

    let mut p = command(".".as_ref(), ["list", "--knobs", "synapses"]);
    let mut p = p.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // the reader has a small buffer and stops after a line, while the lab's description exceeds the buffer of the pipe
    let mut line = String::new();
    BufReader::with_capacity(16, p.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let mut said = String::new();
    p.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    p.wait().unwrap();
    assert_eq!(said, "");
}

#[test]
fn schema_prints_json_and_suggests_a_channel() {
    let folder = tempfile::tempdir().unwrap();
    let json = |words: &str| -> serde_json::Value {
        let done = output_in(folder.path(), words);
        assert!(done.status.success(), "{}", stderr_of(&done));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let maps = json("schema attention.maps");
    assert!(maps["properties"]["layers"]["description"].is_string(), "{maps}");
    let line = json("schema");
    assert_eq!(line["allOf"].as_array().map(Vec::len), Some(orrery::telemetry::MEASUREMENTS.len()));
    expect_exit(folder.path(), "schema attention.map", 2, &["did you mean `attention.maps`?"]);
}

#[test]
fn an_old_spelling_says_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    for (old, new) in [
        ("eval x.pt text.txt", "`orrery eval` is now `orrery model eval`: orrery model eval x.pt text.txt"),
        ("find-concept --help", "orrery model find-concept --help"),
        ("roles --seeds 1,2", "orrery study roles --seeds 1,2"),
        ("view-graph g.gexf", "orrery graph g.gexf"),
        ("bench --json", "cargo run --release -p orrery-bench -- --json"),
    ] {
        expect_exit(folder.path(), old, 2, &[new]);
    }
}
