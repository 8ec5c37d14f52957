//! Tests the report of a run as one HTML page: its content, the equality of its numbers with the exported ones, and
//! that it makes no network request.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};

use crate::{
    command::{done, expect_exit},
    foreign_run::ForeignRun,
};

/// Trains a short run; it is `run` in the returned folder.
fn with_run() -> tempfile::TempDir {
    let here = tempfile::tempdir().unwrap();
    let text = here.path().join("secret-place");
    fs::create_dir(&text).unwrap();
    fs::write(text.join("tale.txt"), "once upon a time there was a <b>tale</b> & no end. ".repeat(400)).unwrap();
    let words = "run fast_slow --steps 6 --out out --no-figures --text secret-place/tale.txt --set model.d_model=16 \
                 --set train.window=32 --set run.eval_every=3 --set probe.attention_maps_every=2 --set probe.residual_every=0";
    done(here.path(), words);
    let run = fs::read_dir(here.path().join("out")).unwrap().next().unwrap().unwrap().path();
    fs::rename(run, here.path().join("run")).unwrap();
    here
}

/// The JSON in the page's script element with this id.
fn data(page: &str, id: &str) -> Value {
    let begin = format!("id=\"{id}\">");
    let rest = page.split_once(&begin).unwrap().1;
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_has_the_exported_numbers_and_needs_no_network() {
    let here = with_run();
    done(here.path(), "report run -o run.html");
    let page = fs::read_to_string(here.path().join("run.html")).unwrap();
    assert!(page.len() < 10 << 20);
    for outside in ["src=\"http", "href=\"http://", "<link", "@import", "url(", "fetch(", "secret-place"] {
        assert!(!page.contains(outside), "the page holds {outside}");
    }
    for part in ["Fast-slow gate", "held-out loss", "tale.txt", "id=\"view-gate\"", "data:image/svg+xml;base64,"] {
        assert!(page.contains(part), "the page lacks {part}");
    }

    done(here.path(), "export run --csv run.csv");
    let mut exported: BTreeMap<(String, String, String), String> = BTreeMap::new();
    let mut table = csv::Reader::from_path(here.path().join("run.csv")).unwrap();
    let head = table.headers().unwrap().clone();
    for row in table.records().map(Result::unwrap) {
        for (channel, value) in head.iter().zip(&row).skip(3).filter(|(_, value)| !value.is_empty()) {
            exported.insert((channel.into(), row[1].into(), row[0].into()), value.into());
        }
    }
    let mut found = 0;
    for chart in data(&page, "curve-data").as_array().unwrap() {
        for series in chart["series"].as_array().unwrap() {
            for (step, value) in series["steps"].as_array().unwrap().iter().zip(series["values"].as_array().unwrap()) {
                let of = |key: &Value| key.as_str().unwrap().to_owned();
                let place = (of(&chart["name"]), of(&series["label"]), step.to_string());
                let expected: f64 = exported[&place].parse().unwrap();
                assert_eq!(value.as_f64(), expected.is_finite().then_some(expected), "{place:?}");
                found += 1;
            }
        }
    }
    assert_eq!(found, exported.len(), "nothing is left out");

    let views = data(&page, "view-data");
    let steps = views["steps"].as_array().unwrap();
    assert!(steps.len() > 2 && steps.last().unwrap() == 6, "{steps:?}");
    for (view, pictures) in views["views"].as_object().unwrap() {
        let count = pictures["pictures"].as_array().unwrap().len() as u64;
        let at = pictures["at"].as_array().unwrap();
        assert!(at.len() == steps.len() && at.iter().all(|place| place.as_u64().is_none_or(|p| p < count)), "{view}");
        assert!(at.last().unwrap().is_u64(), "{view}");
    }
}

#[test]
fn report_numbers_name_their_units() {
    let here = tempfile::tempdir().unwrap();
    let words = "run fast_slow_needed --steps 2 --out out --no-figures --set model.d_model=16 --set train.batch=2 \
                 --set run.eval_every=1 --set run.eval_windows=4 --set probe.residual_every=0 --set probe.gate_entropy_every=0";
    let said = done(here.path(), words);
    assert!(said.contains("held-out loss (nats per answer)"), "the table at the end: {said}");
    assert!(said.contains("accuracy of ") && said.contains(" answers; [low, high]: 95% interval"), "{said}");
    let run = fs::read_dir(here.path().join("out")).unwrap().next().unwrap().unwrap().path();
    done(here.path(), &format!("report {} -o run.html", run.display()));
    let page = fs::read_to_string(here.path().join("run.html")).unwrap();
    let parts = ["held-out loss (nats per answer)", "saw, nats per answer.", "minus that of coupled"];
    for part in parts.into_iter().chain([" answers, 95%: ", "guessing: "]) {
        assert!(page.contains(part), "the page lacks {part}");
    }
    assert!(page.contains("A gate that starts shut"), "the beginning of the lesson");
    for wrong in ["nats per token", "Click a step", "Type a text", "Change one token", "Five minutes"] {
        assert!(!page.contains(wrong), "the page has {wrong}");
    }
}

#[test]
fn a_persons_name_and_note_are_in_the_report_and_its_pictures() {
    let here = with_run();
    fs::write(here.path().join("run/note.toml"), "name = \"Leaf's <gate>\"\nnote = \"opens early\\nsee seed 8\"\n")
        .unwrap();
    done(here.path(), "report run -o run.html");
    let page = fs::read_to_string(here.path().join("run.html")).unwrap();
    assert!(page.contains("<h1>Leaf's &lt;gate&gt; \u{b7} Fast-slow gate: "), "{}", &page[..4000.min(page.len())]);
    assert!(page.contains("opens early<br>\nsee seed 8"), "the note, line by line");
    done(here.path(), "render run --view losses --out losses.svg");
    let svg = fs::read_to_string(here.path().join("losses.svg")).unwrap();
    assert!(svg.contains(">Leaf's &lt;gate&gt; \u{b7} step 6 \u{b7} "), "{}", &svg[..600]);
}

#[test]
fn several_runs_are_refused_with_the_command_that_compares_them() {
    let here = tempfile::tempdir().unwrap();
    let parts = ["of one run", "orrery compare runs/a runs/b --out DIR"];
    expect_exit(here.path(), "report runs/a runs/b -o both.html", 2, &parts);
    assert!(!here.path().join("both.html").exists());
}

#[test]
fn a_view_stands_at_the_steps_that_have_it() {
    let here = with_run();
    let log = here.path().join("run/samples.jsonl");
    let samples = fs::read_to_string(&log).unwrap();
    let is_kept = |line: &&str| !line.contains("\"fast_slow.staircase\"") || line.starts_with("{\"step\":6,");
    let kept: Vec<&str> = samples.lines().filter(is_kept).collect();
    assert!(kept.len() < samples.lines().count() && kept.iter().any(|line| line.contains("fast_slow.staircase")));
    fs::write(&log, kept.join("\n") + "\n").unwrap();
    expect_exit(here.path(), "report run -o run.html --partial", 0, &["samples.jsonl has lost lines"]);
    let views = data(&fs::read_to_string(here.path().join("run.html")).unwrap(), "view-data");
    let at = views["views"]["view-staircase"]["at"].as_array().unwrap();
    assert!(at[0].is_null() && at.last().unwrap().is_u64(), "{at:?}");
}

#[test]
fn a_setting_changed_in_training_is_reported() {
    let here = with_run();
    let log = here.path().join("run/events.jsonl");
    let events = fs::read_to_string(&log).unwrap();
    let change = |step: u64, value: f64| {
        let changed = json!({"step": step, "key": "train.lr", "value": value});
        json!({"step": step, "at": "2026-01-31T12:00:00+00:00", "changed": changed}).to_string()
    };
    let (first, rest) = events.split_once('\n').unwrap();
    let changes = [change(3, 0.02), change(3, 0.01), change(5, 0.0625)].join("\n");
    fs::write(&log, format!("{first}\n{changes}\n{rest}")).unwrap();
    done(here.path(), "report run -o run.html");
    let page = fs::read_to_string(here.path().join("run.html")).unwrap();
    let told = page.split_once("Changed while training").unwrap().1.split_once("</ul>").unwrap().0;
    assert!(told.contains("0.01 at step 3") && told.contains("0.01 \u{2192} 0.0625 at step 5"), "{told}");
    assert!(!told.contains("0.02"), "only the last change of a step counts: {told}");
    let settings = page.split_once("with these changes").unwrap().1.split_once("</table>").unwrap().0;
    assert!(settings.contains(" \u{2192} 0.0625</code>"), "{settings}");
}

#[test]
fn a_report_omits_facts_that_another_program_did_not_record() {
    let here = tempfile::tempdir().unwrap();
    let run = ForeignRun::finished(here.path(), "wide", 1e-3);
    run.redescribe(|described| {
        described["environment"] = json!({"orrery": "orrery-log 0.1.0", "os": "Linux 6.18, x86_64", "cpu": ""});
    });
    done(here.path(), "report wide -o wide.html");
    let page = fs::read_to_string(here.path().join("wide.html")).unwrap();
    let facts = page.split_once("<p class=\"note\">").unwrap().1.split_once("</p>").unwrap().0;
    assert!(facts.contains("step 20") && facts.contains(", finished"), "{facts}");
    assert!(facts.contains("recorded by orrery-log 0.1.0, Linux 6.18, x86_64 \u{b7}"), "{facts}");
    assert!(facts.contains("report by Orrery ") && !facts.contains("written by Orrery"), "{facts}");
    for invented in ["of 0", "seed 0", "0 threads", "1 threads", "\u{b7}  \u{b7}"] {
        assert!(!facts.contains(invented), "{facts}");
    }
    assert!(page.contains("id=\"view-losses\"") && !page.contains("id=\"view-questions\""), "only results are drawn");
}

#[test]
fn reports_of_invalid_folders_and_names_are_refused_with_a_reason() {
    let here = tempfile::tempdir().unwrap();
    fs::create_dir(here.path().join("folder")).unwrap();
    for (words, part) in [
        ("report folder -o x.html", "is not a run folder"),
        ("report missing -o x.html", "does not exist"),
        ("report folder -o x.pdf", "should end in .html"),
        ("report folder -o folder", "should end in .html"),
    ] {
        expect_exit(here.path(), words, 2, &[part]);
    }
}
