//! Tests the ledger of claims at the command line: the built-in claims, and a user's folder with a small claim that is
//! run, checked and edited.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use orrery::experiments::claims::result::ClaimResult;
use serde_json::Value;

use super::{
    command::{done, expect_exit},
    folders::scratch_folder,
};

/// A claim whose rule needs only four training steps of a small model.
fn claim(id: &str, title: &str, rule: &str) -> String {
    format!(
        r#"
[[claim]]
id = "{id}"
title = "{title}"
quote = "It is said that {title}."
place = "section 1"
number = ""
tier = "exact"
counter = "another reading"
turns = "another number"

[claim.rule]
base = "fast_slow"
steps = 4
seeds = 2
{rule}

[claim.rule.set]
"model.d_model" = 16
"train.window" = 32
"train.batch" = 2
"run.eval_every" = 2
"probe.residual_every" = 0
"#
    )
}

fn paper() -> String {
    let twins = r#"read = "held_out_loss of coupled"
beside = "held_out_loss of frozen"
at = 0
statistic = "paired_difference"
published = 0.0
stands = { above = -1e-6, below = 1e-6 }"#;
    let explained = r#"ask = "staircase"
read = "explained of coupled"
statistic = "mean"
stands = { above = 0.0 }"#;
    let timed = r#"read = "time/step_ms of coupled"
beside = "time/step_ms of coupled or frozen"
over_steps = "median"
statistic = "ratio"
stands = { below = 1.1 }"#;
    let every = r#"read = "held_out_loss of coupled"
over_steps = "every"
statistic = "count"
counted = { above = 0.0 }
stands = { above = 0.1 }"#;
    let rise = r#"read = "held_out_loss of coupled"
over_steps = "rise"
statistic = "mean"
stands = { below = 10.0 }"#;
    let area = r#"read = "held_out_loss of coupled"
beside = "held_out_loss of frozen"
statistic = "area"
stands = { above = -1.0, below = 1.0 }"#;
    let along = r#"ask = "attention_statistics"
read = "layers.effective_rank of coupled"
along = "layers.top_share"
statistic = "rank_correlation"
stands = { above = -0.9, below = 0.9 }"#;
    let scaled = r#"
[[claim]]
id = "X2"
title = "it scales"
quote = "It scales."
place = "section 2"
number = "1B"
tier = "scaled"
needs = "a GPU"
"#;
    [
        "title = \"A paper\"\nsource = \"arXiv 0\"\n",
        &claim("X1", "twins begin alike", twins),
        &claim("X3", "one direction explains something", explained),
        scaled,
        &claim("X4", "a step takes time", timed),
        &claim("X5", "no loss is below zero", every),
        &claim("X6", "rank does not know the top share", along),
        &claim("X7", "little is lost after the best step", rise),
        &claim("X8", "both courses lie together", area),
    ]
    .concat()
}

fn with_claims() -> tempfile::TempDir {
    let here = scratch_folder();
    fs::create_dir(here.path().join("ledger")).unwrap();
    fs::write(here.path().join("ledger/paper.toml"), paper()).unwrap();
    here
}

#[test]
fn the_claims_that_are_built_in_are_listed_and_shown() {
    let here = tempfile::tempdir().unwrap();
    let all = done(here.path(), "claims");
    assert!(all.contains("A12 *") && all.contains("125 claims"), "{all}");
    let of = |id: &str| all.lines().find(|line| line.starts_with(id)).unwrap_or_default().to_owned();
    assert!(of("A2 ").contains("between -0.01 and 0.01"), "where it stands, beside its effect: {}", of("A2 "));
    let paper = done(here.path(), "claims list --paper fast_slow --verdict needs");
    assert!(paper.contains("A21") && !paper.contains("C13"), "{paper}");
    assert!(!paper.contains("125 claims") && paper.contains(": 0 stand,"), "the counts are those of the rows: {paper}");
    let one = done(here.path(), "claims show a2");
    assert!(one.contains("within noise") && one.contains("lies between -0.01 and 0.01"), "{one}");
    assert!(one.contains('\u{201c}') && one.contains("orrery claims run A2"), "{one}");
    let widths = all.lines().filter(|line| line.contains("needs a GPU and")).map(|line| line.chars().count());
    assert!(widths.max().is_some_and(|width| width < 250), "a need is a phrase: {all}");
    assert!(all.contains("\nContinuous Depth: A Guide (ode_flow)\nD1 "), "each paper has a heading: {all}");
    let ours = done(here.path(), "claims show f1");
    assert!(!ours.contains('\u{201c}'), "a sentence of ours is not a quotation: {ours}");
    done(here.path(), "claims check");
    expect_exit(here.path(), "claims show Z99", 2, &[]);
    expect_exit(here.path(), "claims --paper emma", 2, &["the papers are"]);
}

/// The number of each point of the first seed, and the number that it is compared with.
fn points(here: &Path, claim: &str) -> Vec<(f64, Option<f64>)> {
    let text = fs::read_to_string(here.join(format!("ledger/results/{claim}.json"))).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let points = result["seeds"][0]["points"].as_array().unwrap().iter();
    points.map(|point| (point["number"].as_f64().unwrap(), point["beside"].as_f64())).collect()
}

#[test]
fn numbers_are_read_over_steps_of_several_variants_and_along_a_field() {
    let here = with_claims();
    let printed = done(here.path(), "claims run X4 --from ledger --on print");
    assert!(printed.lines().filter(|line| line.contains("--task")).count() == 2, "{printed}");
    assert!(!here.path().join("ledger/results/X4.json").exists(), "nothing was made here");
    let said = done(here.path(), "claims run X4 X5 X6 x4 X7 X8 --from ledger --jobs 2");
    let results = |claim: &str| said.lines().filter(|line| line.starts_with(&format!("{claim}: "))).count();
    assert_eq!(["X4", "X5", "X6", "X7", "X8"].map(results), [1; 5], "one after the other, each once: {said}");
    let &[(own, Some(largest))] = points(here.path(), "X4").as_slice() else { panic!("one point of two numbers") };
    assert!(own > 0.0 && largest >= own, "{own} of {largest}");
    assert!(matches!(points(here.path(), "X5").as_slice(), [(loss, None)] if *loss > 0.0));
    assert!(points(here.path(), "X6").len() > 1, "a point a layer");
    let &[(last, None)] = points(here.path(), "X5").as_slice() else { panic!("one point of one number") };
    let &[(rise, None)] = points(here.path(), "X7").as_slice() else { panic!("one point of one number") };
    assert!((0.0..last).contains(&rise), "{rise}");
    let &[(mean, Some(_))] = points(here.path(), "X8").as_slice() else { panic!("one point of two numbers") };
    assert!(mean >= last - rise && mean != last, "{mean} is not a mean over steps: the last has {last}");
    done(here.path(), "claims check --from ledger");
}

#[test]
fn a_claim_is_run_judged_and_checked() {
    let here = with_claims();
    let said = done(here.path(), "claims run X1 --from ledger --jobs 2");
    assert!(said.contains("X1: stands, at the paper's scale"), "{said}");
    let path = here.path().join("ledger/results/X1.json");
    let text = fs::read_to_string(&path).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["seeds"].as_array().unwrap().len(), 2);
    assert_eq!((&result["verdict"], result["effect"].as_f64()), (&Value::from("stands"), Some(0.0)));
    let curve = result["curve"].as_array().unwrap();
    let steps: Vec<u64> = curve.iter().filter_map(|point| point["step"].as_u64()).collect();
    assert_eq!((steps, &curve[0]["values"]), (vec![0, 2, 4], &serde_json::json!([0.0, 0.0])));
    done(here.path(), "claims check --from ledger");

    // finished runs are found in their folders and are not repeated
    let again = done(here.path(), "claims run X1 --from ledger --missing");
    assert!(again.contains("2 runs, 0 to make"), "{again}");
    // a run with other seeds than the rule's must not replace the stored result without an explicit option
    let stored = fs::read_to_string(&path).unwrap();
    for other in ["--seeds 3", "--first-seed 20"] {
        expect_exit(here.path(), &format!("claims run X1 --from ledger {other}"), 2, &["--results"]);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), stored);
    let shown = done(here.path(), "claims show X1 --from ledger");
    assert!(shown.contains("seed 7: 0") && shown.contains("verdict: stands, at the paper's scale"), "{shown}");
    assert!(shown.contains("over steps: from step 0 within the bound"), "{shown}");
    let rows: Value =
        serde_json::from_str(done(here.path(), "claims list --from ledger --json").lines().next().unwrap()).unwrap();
    assert_eq!((rows[0]["verdict"].as_str(), rows[2]["standing"].as_str()), (Some("stands"), Some("needs a GPU")));
    assert_eq!(rows[0]["standing"].as_str(), Some("stands, at the paper's scale"));
    assert!(done(here.path(), "claims --from ledger").contains("  stands, at the paper's scale"), "with its scale");
    done(here.path(), "claims --from ledger --html claims.html");
    let page = fs::read_to_string(here.path().join("claims.html")).unwrap();
    assert!(page.contains("twins begin alike") && page.contains("<circle"), "{page}");
    assert!(page.contains("over steps: from step 0 within the bound"), "{page}");
    for words in [
        "rule: the paired difference of held_out_loss of coupled beside held_out_loss of frozen at step 0 lies between",
        "; 2 seeds of fast_slow",
        "verdict: stands, at the paper's scale",
        " cores of ",
        "<code>orrery claims run X1</code>",
        "values: seed 7: 0, seed 8: 0",
        "<title>2 seeds, effect 0 [0, 0] nats, stands between",
        "<title>effect over steps: from step 0 within the bound",
        ">the paper: 0</text>",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }

    // an edited verdict is detected, and `--write` recomputes it from the stored numbers
    fs::write(&path, text.replace("\"stands\"", "\"does_not_stand\"")).unwrap();
    expect_exit(here.path(), "claims check --from ledger", 1, &["X1: the result says"]);
    done(here.path(), "claims check --from ledger --write");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    // a curve over steps that contradicts the numbers is detected too
    let mut edited: Value = serde_json::from_str(&text).unwrap();
    edited["curve"][0]["values"][0] = 0.5.into();
    fs::write(&path, edited.to_string()).unwrap();
    let curve = "X1: the curve over steps does not lead to its numbers";
    expect_exit(here.path(), "claims check --from ledger", 1, &[curve]);

    // an edit that is consistent with every number is detected by the digest, and `--write` must not accept it
    let digest = result["digest"].as_str().unwrap();
    for (words, edit) in [
        ("were edited after the run", text.replace("\"seed\": 8", "\"seed\": 9")),
        ("has no digest", text.replace(&format!("  \"digest\": \"{digest}\",\n"), "")),
    ] {
        assert_ne!(edit, text);
        fs::write(&path, &edit).unwrap();
        for check in ["claims check --from ledger", "claims check --from ledger --write"] {
            expect_exit(here.path(), check, 1, &["X1: the ", words]);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), edit, "nothing is written");
    }
    fs::write(&path, &text).unwrap();

    // what the rule's hash leaves out is compared too, without pages beside the ledger, and `--write` alone does not renew it
    let terms: Vec<&String> = result["terms"].as_object().unwrap().keys().collect();
    assert_eq!(terms, ["quote", "settings", "tier", "turns", "untested"]);
    for (good, edit, name) in [
        ("tier = \"exact\"", "tier = \"proxy\"", "tier"),
        ("quote = \"It is said", "quote = \"It is not said", "quote"),
        ("turns =", "untested = \"twins begin alike by construction\"\nturns =", "untested"),
    ] {
        fs::write(here.path().join("ledger/paper.toml"), paper().replacen(good, edit, 1)).unwrap();
        let words = format!("its terms were edited since they were recorded: {name}");
        for check in ["claims check --from ledger", "claims check --from ledger --write"] {
            expect_exit(here.path(), check, 1, &[&format!("X1: {words}")]);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "nothing is written");
        let shown = done(here.path(), "claims show X1 --from ledger");
        assert!(shown.contains(&format!("edited since: {words}")), "{shown}");
        let said = done(here.path(), "claims check --from ledger --write --terms");
        assert!(said.contains("; the terms of 1 were not recorded with their runs"), "{said}");
        let shown = done(here.path(), "claims show X1 --from ledger");
        assert!(shown.contains(&format!("; recorded after the runs: {name}\n")), "{shown}");
        fs::write(&path, &text).unwrap();
    }

    // an edited rule makes the result outdated; only another run can renew it
    fs::write(here.path().join("ledger/paper.toml"), paper().replace("below = 1e-6", "below = 1e-3")).unwrap();
    expect_exit(here.path(), "claims check --from ledger --write", 1, &["X1: rule changed after the run"]);
    let listed = done(here.path(), "claims --from ledger");
    assert!(listed.contains("outdated: rule changed after the run"), "{listed}");
    let outdated = done(here.path(), "claims --from ledger --verdict outdated");
    assert!(outdated.contains("twins begin alike") && !outdated.contains("it scales"), "{outdated}");
}

/// Whatever the numbers of a claim give that its runs do not test, every command says that it cannot be told.
#[test]
fn a_claim_that_its_runs_do_not_test_is_no_verdict() {
    let here = with_claims();
    let text = paper().replacen("turns =", "untested = \"twins begin alike by construction\"\nturns =", 1);
    fs::write(here.path().join("ledger/paper.toml"), text).unwrap();
    let said = done(here.path(), "claims run X1 --from ledger --jobs 2");
    assert!(said.contains("X1: cannot be told, at the paper's scale"), "{said}");
    let stored = fs::read_to_string(here.path().join("ledger/results/X1.json")).unwrap();
    assert!(stored.contains("\"verdict\": \"stands\""), "the numbers keep their own: {stored}");
    done(here.path(), "claims check --from ledger");
    let shown = done(here.path(), "claims show X1 --from ledger");
    let words = "not tested: twins begin alike by construction\nverdict: cannot be told, at the paper's scale\n\
                 by its numbers alone: stands; the reason was recorded with the runs\n";
    assert!(shown.contains(words), "{shown}");
    let listed = done(here.path(), "claims list --from ledger --json");
    let rows: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    let text = |key: &str| rows[0][key].as_str().map(str::to_owned);
    assert_eq!((text("verdict"), text("numbers_verdict")), (Some("cannot_be_told".into()), Some("stands".into())));
    assert_eq!(text("by_its_numbers_alone").as_deref(), Some("stands; the reason was recorded with the runs"));

    // a version that recorded no terms: they can be recorded afterwards, and are then known to be late
    let mut bare: Value = serde_json::from_str(&stored).unwrap();
    let kept = bare.as_object_mut().unwrap();
    assert!(kept.remove("terms").is_some() && kept.remove("digest").is_some());
    let bare = ClaimResult::parse("X1", &bare.to_string()).unwrap().with_digest().to_json().unwrap();
    fs::write(here.path().join("ledger/results/X1.json"), bare).unwrap();
    for check in ["claims check --from ledger", "claims check --from ledger --write"] {
        assert!(done(here.path(), check).contains("; the terms of 1 were not recorded with their runs"));
    }
    let shown = done(here.path(), "claims show X1 --from ledger");
    assert!(shown.contains("by its numbers alone: stands; the reason was recorded after the runs\n"), "{shown}");
    assert!(shown.contains("; recorded after the runs: quote, settings, tier, turns, untested\n"), "{shown}");
}

/// The folder of the only sweep that the claims have started.
fn only_sweep(here: &Path) -> PathBuf {
    let mut sweeps = fs::read_dir(here.join("sweeps")).unwrap();
    sweeps.next().unwrap().unwrap().path()
}

/// Results can be read from the folder into which a run wrote them, also if it holds no claims.
#[test]
fn results_are_read_where_they_were_written() {
    let here = tempfile::tempdir().unwrap();
    let shown = |words: &str| -> Value {
        serde_json::from_str(done(here.path(), words).lines().next().unwrap_or_default()).unwrap()
    };
    let stored = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../claims/results/A2.json")).unwrap();
    let other = stored.replacen("\"seed\": 8", "\"seed\": 800", 1);
    assert_ne!(stored, other);
    for folder in ["claims/results", "again"] {
        fs::create_dir_all(here.path().join(folder)).unwrap();
        fs::write(here.path().join(folder).join("A2.json"), &other).unwrap();
        let words = if folder == "again" { "claims show A2 --json --results again" } else { "claims show A2 --json" };
        let is_read = shown(words)["values"].as_array().unwrap().iter().any(|value| value[0] == 800);
        assert!(is_read, "{words}");
        fs::remove_file(here.path().join(folder).join("A2.json")).unwrap();
    }
    assert!(!shown("claims show A2 --json")["values"].to_string().contains("800"));
    fs::write(here.path().join("claims/results/A2.json"), &other).unwrap();
    assert!(shown("claims show A2 --json --from claims")["values"].to_string().contains("800"));
    let said = expect_exit(here.path(), "claims check", 1, &["A2: the numbers, or what made them, were edited"]);
    assert_eq!(said.lines().filter(|line| line.contains("Holm")).count(), 0, "no other is accused: {said}");
    expect_exit(here.path(), "claims show A2 --results nowhere", 2, &["is not a folder of results"]);
}

/// A later request for more seeds adds runs to the existing ones, and the result contains exactly the requested seeds.
#[test]
fn more_seeds_are_added_to_the_runs_that_are_there() {
    let here = with_claims();
    let seeds = |folder: &str| -> Vec<u64> {
        let text = fs::read_to_string(here.path().join(folder).join("X1.json")).unwrap();
        let result: Value = serde_json::from_str(&text).unwrap();
        result["seeds"].as_array().unwrap().iter().filter_map(|seed| seed["seed"].as_u64()).collect()
    };
    let first = done(here.path(), "claims run X1 --from ledger --jobs 2");
    assert!(first.contains("2 runs, 2 to make"), "{first}");
    let more = done(here.path(), "claims run X1 --from ledger --jobs 2 --seeds 3 --results more");
    assert!(more.contains("3 runs, 1 to make"), "{more}");
    let others = done(here.path(), "claims run X1 --from ledger --jobs 2 --first-seed 9 --results others");
    assert!(others.contains("2 runs, 1 to make"), "the first of both was made: {others}");
    let again = done(here.path(), "claims run X1 --from ledger");
    assert!(again.contains("2 runs, 0 to make"), "{again}");
    assert_eq!((seeds("ledger/results"), seeds("more"), seeds("others")), (vec![7, 8], vec![7, 8, 9], vec![9, 10]));
    assert_eq!(fs::read_dir(here.path().join("sweeps")).unwrap().count(), 1, "all in one folder");
    let runs = fs::read_dir(only_sweep(here.path()).join("runs")).unwrap();
    assert_eq!(runs.filter(|run| run.as_ref().unwrap().path().is_dir()).count(), 4);
    // a folder of an older version, in whose name the seeds were included, is still found
    let (sweep, former) = (only_sweep(here.path()), here.path().join("sweeps/fast_slow-00000000"));
    let spec = fs::read_to_string(sweep.join("sweep.toml")).unwrap();
    fs::rename(&sweep, &former).unwrap();
    let name = sweep.file_name().unwrap().to_str().unwrap();
    fs::write(former.join("sweep.toml"), spec.replace(name, "fast_slow-00000000")).unwrap();
    let found = done(here.path(), "claims run X1 --from ledger --jobs 2");
    assert!(found.contains("2 runs, 0 to make"), "{found}");
    assert_eq!(only_sweep(here.path()), former);
}

/// A damaged record may have lost steps, so that its last value may belong to another step. Its seed counts as missing.
#[test]
fn a_damaged_record_is_a_missing_seed() {
    let here = with_claims();
    done(here.path(), "claims run X1 --from ledger --jobs 2");
    let mut runs = fs::read_dir(only_sweep(here.path()).join("runs")).unwrap().map(|run| run.unwrap().path());
    let log = runs.find(|run| run.is_dir()).unwrap().join("metrics.jsonl");
    let lines = fs::read_to_string(&log).unwrap();
    fs::write(&log, lines + "{\"step\":\n").unwrap();
    let said = done(here.path(), "claims run X1 --from ledger");
    assert!(said.contains("is passed over") && said.contains("its seed counts as missing"), "{said}");
    assert!(said.contains("X1: cannot be told, at the paper's scale, as 1 of 2 seeds have a number ("), "{said}");
    let result = fs::read_to_string(here.path().join("ledger/results/X1.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    let count = |key: &str| result[key].as_array().map(Vec::len);
    assert_eq!((count("seeds"), count("missing")), (Some(1), Some(1)), "{result}");
}

/// While another process trains the runs of a claim, the runs that have already ended must not yield a result.
#[test]
fn a_claim_whose_runs_are_being_made_has_no_result_yet() {
    let here = with_claims();
    done(here.path(), "claims run X1 --from ledger --on print");
    let lock = only_sweep(here.path()).join(".lock");
    let held = fs::File::options().create(true).truncate(true).write(true).open(lock).unwrap();
    held.try_lock().unwrap();
    expect_exit(here.path(), "claims run X1 --from ledger", 2, &["are being made by another process"]);
    assert!(!here.path().join("ledger/results/X1.json").exists());
    done(here.path(), "claims run X1 --from ledger --on print");
}

/// Rules that need the same runs share them, and a rule with a probe asks it of the existing runs.
#[test]
fn a_rule_may_ask_a_probe_of_the_same_runs() {
    let here = with_claims();
    let git = |words: &str| Command::new("git").args(words.split(' ')).current_dir(here.path().join("ledger")).output();
    let is_repository = git("init -q").is_ok()
        && git("-c user.name=a -c user.email=a@a commit -q --allow-empty -m a")
            .is_ok_and(|output| output.status.success());
    let first = done(here.path(), "claims run paper --from ledger");
    assert!(first.contains("X1 (") && first.contains("2 runs, 2 to make"), "{first}");
    assert!(first.contains("X3 (") && first.contains("2 runs, 0 to make"), "{first}");
    assert_eq!(fs::read_dir(here.path().join("sweeps")).unwrap().count(), 1);
    let result: Value = serde_json::from_slice(&fs::read(here.path().join("ledger/results/X3.json")).unwrap()).unwrap();
    for seed in result["seeds"].as_array().unwrap() {
        let explained = seed["points"][0]["number"].as_f64().unwrap();
        assert!(explained > 0.0 && explained <= 1.0, "{result}");
    }
    let commit = result["made"]["commit"].as_str().map(str::len);
    assert_eq!(commit, is_repository.then_some(40), "that of the ledger, which was named from outside");
    done(here.path(), "claims check --from ledger");
    fs::write(here.path().join("ledger/paper.toml"), paper().replace("explained of", "explaned of")).unwrap();
    expect_exit(here.path(), "claims run X3 --from ledger", 1, &["did you mean `explained`?"]);
}

#[test]
fn a_rule_that_no_lab_can_follow_is_refused() {
    let here = with_claims();
    let file = here.path().join("ledger/paper.toml");
    for (good, bad, meant) in [
        ("base = \"fast_slow\"", "base = \"fast_slwo\"", "did you mean `fast_slow`?"),
        ("of frozen", "of frozn", "did you mean `frozen`?"),
        ("held_out_loss of coupled", "held_out_los of coupled", "did you mean `held_out_loss`?"),
        ("\"train.batch\"", "\"train.bacth\"", "did you mean `train.batch`?"),
        ("ask = \"staircase\"", "ask = \"staircas\"", "staircase"),
        ("ask = \"staircase\"", "ask = \"staircase\"\nsteeps = 3", "steeps"),
    ] {
        fs::write(&file, paper().replace(good, bad)).unwrap();
        expect_exit(here.path(), "claims --from ledger", 2, &[meant]);
    }
    let here = with_claims();
    expect_exit(here.path(), "claims run X1 X2 --from ledger", 2, &["no rule to run: needs a GPU"]);
    assert!(!here.path().join("sweeps").exists(), "nothing is run before all are known");
}
