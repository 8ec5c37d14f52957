//! Tests runs of networks with local learning rules: the results do not depend, to the bit, on the number of threads or
//! on interruptions, a network's stage ends after one pass over the sentences, and a divergence is reported without
//! ending the run. A treebank can replace the grammar.

use std::{collections::BTreeSet, path::Path};

use crossbeam::channel::bounded;
use orrery::{
    config::{Arguments, Settings},
    corpus::SentenceSet,
    labs::grammar_roles::{self, settings::GrammarRolesSettings},
    nn,
    telemetry::{
        Event, RunState, Sample, channels,
        measurements::{RoleAccuracy, RoleCounts, RoleFeatures, Settling, SettlingArgs, SettlingSet},
    },
    trainer::{self, DriveOptions, Plan, Run},
};

use crate::record::Record;

const SMALL: &[(&str, &str)] = &[
    ("network.units", "32"),
    ("network.levels", "3"),
    ("network.kept", "0.15"),
    ("grammar.train", "40"),
    ("grammar.test", "20"),
    ("train.batch", "8"),
    ("compare.bigru", "true"),
    ("compare.bigru_hidden", "8"),
    ("compare.bigru_embedding", "6"),
    ("run.eval_every", "2"),
    ("run.eval_windows", "4"),
    ("run.threads", "1"),
];

fn plan(more: &[(&str, &str)]) -> Plan {
    let config = grammar_roles::config(&[SMALL, more].concat(), 3).unwrap();
    grammar_roles::plan(&config, &GrammarRolesSettings::read(&config).unwrap()).unwrap()
}

/// Trains until this step; at each step, the variants whose stage it is are updated.
fn go_on(run: &mut Run, until: u64) {
    while run.step < until {
        for i in 0..run.variants.len() {
            if run.plan.stage(i).trains_at(run.step + 1) {
                run.update(i).unwrap();
            }
        }
        run.finish_step().unwrap();
    }
}

fn weights(run: &Run) -> Vec<(String, Vec<u32>)> {
    let mut all = vec![];
    for v in &run.variants {
        for (name, p) in v.model.params().iter() {
            let bits = nn::host::to_f32(p.as_tensor()).unwrap().into_iter().map(f32::to_bits);
            all.push((format!("{} {name}", v.spec.id), bits.collect()));
        }
    }
    all
}

#[test]
fn a_resumed_run_has_the_bits_of_a_whole_one() {
    let steps = [("train.steps", "8")];
    let mut whole = Run::open(plan(&steps)).unwrap();
    go_on(&mut whole, 8);
    let mut first = Run::open(plan(&steps)).unwrap();
    go_on(&mut first, 3);
    let saved = first.checkpoint();
    let mut second = Run::open(plan(&steps)).unwrap();
    second.restore(&saved).unwrap();
    go_on(&mut second, 8);
    assert_eq!(weights(&whole), weights(&second));
    assert_ne!(weights(&whole), weights(&first), "it goes on learning");
}

#[test]
fn rules_of_feedforward_weights_are_resumed_and_have_a_rank() {
    let beside = [
        ("train.steps", "5"),
        ("compare.bigru", "false"),
        ("compare.sanger", "true"),
        ("compare.foldiak", "true"),
        ("compare.surprise", "true"),
        ("compare.forward_forward", "true"),
    ];
    let mut whole = Run::open(plan(&beside)).unwrap();
    go_on(&mut whole, 5);
    let mut first = Run::open(plan(&beside)).unwrap();
    go_on(&mut first, 2);
    let mut second = Run::open(plan(&beside)).unwrap();
    second.restore(&first.checkpoint()).unwrap();
    go_on(&mut second, 5);
    assert_eq!(weights(&whole), weights(&second));
    let ids: Vec<String> = whole.variants.iter().map(|v| v.spec.id.clone()).collect();
    assert_eq!(ids, ["network", "sanger", "foldiak", "surprise", "forward_forward", "words"]);
    let args = whole.plan.probes[0].args.clone();
    let mut ranks = vec![];
    for variant in 0..6 {
        let samples = whole.ask(variant, "role_accuracy", &args).unwrap();
        ranks.push(samples[0].measurement::<RoleAccuracy>().unwrap().ranks.clone());
    }
    assert!(ranks[5].is_empty(), "traces of bare words read through no weights");
    for (id, ranks) in ids.iter().zip(&ranks).take(5) {
        // the rank of a level is at most its number of units: 32, 16 and 8
        let within = ranks.iter().zip([32.0, 16.0, 8.0]).all(|(rank, most)| (1.0..=most).contains(rank));
        assert!(ranks.len() == 3 && within, "{id}: {ranks:?}");
    }
    assert!((1..5).all(|i| ranks[i] != ranks[0]), "every rule changes the weights: {ranks:?}");
}

#[test]
fn a_network_makes_one_pass_and_a_tagger_goes_on() {
    let plan = plan(&[("train.steps", "12"), ("compare.no_spa", "true")]);
    let ends: Vec<(&str, u64)> =
        plan.variants.iter().zip(&plan.stages).map(|(v, s)| (v.id.as_str(), s.until)).collect();
    assert_eq!(ends, [("network", 5), ("no_spa", 5), ("words", 5), ("bigru", 12)]);
    let mut run = Run::open(plan).unwrap();
    go_on(&mut run, 5);
    let after_pass = weights(&run);
    go_on(&mut run, 12);
    let changed: Vec<bool> = after_pass.iter().zip(weights(&run)).map(|(a, b)| *a != b).collect();
    for ((name, _), changed) in after_pass.iter().zip(changed) {
        assert_eq!(changed, name.starts_with("bigru"), "{name}");
    }
    // without a tagger, the run ends after the networks' pass
    let alone = self::plan(&[("train.steps", "12"), ("compare.bigru", "false")]);
    assert_eq!(alone.steps, 5);
}

fn drive(plan: Plan) -> (RunState, Vec<Event>) {
    let record = Record::default();
    let (_keep, commands) = bounded(1);
    let options = DriveOptions { start: true, ..DriveOptions::default() };
    let outcome = trainer::drive(plan, options, &commands, vec![Box::new(record.clone())]);
    (outcome.state, record.events())
}

#[test]
fn every_model_is_asked_at_the_end_of_its_stage() {
    let (state, events) = drive(plan(&[("train.steps", "7")]));
    assert_eq!(state, RunState::Finished);
    let samples: Vec<&Sample> =
        events.iter().filter_map(|e| if let Event::Sample(s) = e { Some(s) } else { None }).collect();
    for (variant, end, representations) in [(0, 5, 9), (1, 5, 3), (2, 7, 1)] {
        let last = samples.iter().rev().find(|s| s.variant == variant && s.measurement::<RoleAccuracy>().is_some());
        let last = last.unwrap_or_else(|| panic!("variant {variant} was never asked"));
        let accuracy = last.measurement::<RoleAccuracy>().unwrap();
        assert_eq!((last.step, accuracy.representations.len()), (end, representations), "variant {variant}");
        let words = accuracy.representations[0].within.sum(|_| true).1;
        assert!(words > 60.0 && accuracy.representations.iter().all(|r| r.within.sum(|_| true).1 == words));
        let new = accuracy.representations[0].within_new.sum(|_| true).1;
        assert!(new > 0.0 && new <= words);
    }
}

/// A probe that reads features through a random projection uses five independent projections.
#[test]
fn projections_are_drawn_five_times() {
    let changes =
        [("train.steps", "1"), ("compare.bigru", "false"), ("compare.words", "false"), ("roles.project", "true")];
    let mut run = Run::open(plan(&changes)).unwrap();
    let probe = run.plan.probes[0].clone();
    let samples = run.ask(0, &probe.probe, &probe.args).unwrap();
    let accuracy = samples.iter().find_map(|s| s.measurement::<RoleAccuracy>()).unwrap();
    let projected: Vec<_> = accuracy.representations.iter().filter(|r| r.projected).collect();
    let dims: BTreeSet<usize> = projected.iter().map(|r| r.dims).collect();
    assert_eq!((projected.len(), dims.len()), (15, 2), "activation and traces to its size, traces to half of it");
    let half: Vec<&RoleCounts> =
        projected.iter().filter(|r| Some(&r.dims) == dims.first()).map(|r| &r.within).collect();
    assert_eq!(half.len(), 5);
    assert!(half.iter().any(|counts| *counts != half[0]), "every draw reads the same: {half:?}");
}

#[test]
fn a_divergence_is_reported_and_the_others_continue() {
    let without_norm = [("compare.no_unit_norm", "true"), ("network.rate", "1"), ("network.precision_max", "1000")];
    let (state, events) =
        drive(plan(&[&[("train.steps", "5"), ("compare.bigru", "false")], &without_norm[..]].concat()));
    assert_eq!(state, RunState::Finished);
    let told =
        |words: &str| events.iter().filter(|e| matches!(e, Event::Notice { text, .. } if text.contains(words))).count();
    assert_eq!([told("no unit norm, step"), told("and is switched off")], [1; 2], "{events:?}");
    let last = |variant: usize| {
        let of = events.iter().rev().find_map(|e| match e {
            Event::Step(s) if s.variant == variant && s.step == 5 => {
                s.scalars.iter().find(|(c, _)| c.as_str() == channels::LOSS_TRAIN).map(|(_, v)| *v)
            }
            _ => None,
        });
        of.unwrap()
    };
    assert!(last(1).is_nan(), "the diverged one's loss is not a number");
    let accuracy = events.iter().rev().find_map(|e| match e {
        Event::Sample(s) if s.variant == 1 => s.measurement::<RoleAccuracy>().cloned(),
        _ => None,
    });
    assert!(accuracy.unwrap().representations.iter().all(|r| !r.finite && r.within.share(|_| true).is_nan()));
}

/// A treebank of 42 sentences; 40 have at most eleven words.
fn treebank() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/shared/treebank.conllu");
    path.to_string_lossy().into_owned()
}

#[test]
fn tags_of_a_treebank_are_read_off() {
    let path = treebank();
    for (tags, roles) in [("upos", 17), ("deprel", 37)] {
        let own = [("grammar.treebank", path.as_str()), ("grammar.tags", tags), ("grammar.train", "28")];
        let sizes = [("grammar.test", "12"), ("train.steps", "6")];
        let mut run = Run::open(plan(&[&own[..], &sizes].concat())).unwrap();
        let (text, about) =
            (run.corpus().describe(), "28 sentences, 12 to test, of 42 in the file; left out: 2 longer than 11 words");
        assert!(text.contains("treebank.conllu") && text.contains(about), "{text}");
        go_on(&mut run, 6);
        let held_out = run.corpus().sentences(SentenceSet::TestWithin);
        let words: Vec<u32> = held_out.into_iter().flat_map(|sentence| sentence.words).collect();
        let unknown = words.iter().filter(|word| **word == 0).count();
        assert!(unknown > 0, "words of the test alone are outside of the vocabulary");
        let args = run.plan.probes[0].args.clone();
        for variant in 0..3 {
            let samples = run.ask(variant, "role_accuracy", &args).unwrap();
            let accuracy = samples[0].measurement::<RoleAccuracy>().unwrap();
            assert_eq!((accuracy.roles.len(), accuracy.tests()), (roles, ["within", "unknown words"]));
            for of in &accuracy.representations {
                let counts = [&of.within, &of.transfer].map(|counts| counts.sum(|_| true).1 as usize);
                assert_eq!(counts, [words.len(), unknown], "variant {variant}");
            }
            if let Some(both) = accuracy.by_features(RoleFeatures::Both).filter(|_| variant == 1) {
                // many held-out words occur in training, and most of them have only one tag
                let ([within, _, deep], majority) = (accuracy.accuracies(both), both.within.majority());
                assert!(
                    within > majority + 0.2 && deep.is_nan(),
                    "{tags}: {within}, and everywhere the same {majority}"
                );
            }
        }
        let mut settle = |set| {
            let args = SettlingArgs { set, ..SettlingArgs::default() }.to_args();
            run.ask(0, "settling", &args).map_err(|e| e.to_string())
        };
        let samples = settle(SettlingSet::Train).unwrap();
        let settling = samples[0].measurement::<Settling>().unwrap();
        assert!(!settling.roles.is_empty() && settling.roles.len() == samples[0].tokens.len());
        let why = settle(SettlingSet::Transfer).unwrap_err();
        assert!(why.contains("no sentences of another vocabulary"), "{why}");
    }
}

#[test]
fn an_answer_names_the_sentence_that_was_typed() {
    let mut run = Run::open(plan(&[("train.steps", "8")])).unwrap();
    let args = SettlingArgs { text: "the".into(), ..SettlingArgs::default() }.to_args();
    let samples = run.ask(0, "settling", &args).unwrap();
    assert_eq!(samples[0].about, "typed sentence \u{201c}the\u{201d}");
}

/// Only 27 of the 60 requested sentences exist. The networks read these once, and a tagger continues with further
/// passes.
#[test]
fn a_small_treebank_is_read_once_too() {
    let path = treebank();
    let of = |more: &[(&str, &str)]| {
        let own = [("grammar.treebank", path.as_str()), ("grammar.train", "60"), ("grammar.test", "30")];
        Run::open(plan(&[&own[..], &[("train.steps", "6")], more].concat()))
    };
    let run = of(&[]).unwrap();
    let until: Vec<u64> = (0..3).map(|i| run.plan.stage(i).until).collect();
    assert_eq!((until, run.plan.steps), (vec![3, 3, 6], 6));
    assert_eq!(of(&[("compare.bigru", "false")]).unwrap().plan.steps, 3);
    let why = of(&[("train.batch", "28")]).err().unwrap().to_string();
    assert!(why.contains("the treebank has 27 to learn from"), "{why}");
}

#[test]
fn settings_that_a_treebank_replaces_have_no_control() {
    let own = grammar_roles::config(&[("grammar.treebank", "own.conllu")], 1).unwrap();
    let knobs = (grammar_roles::LAB.knobs)();
    let idle: Vec<&str> = knobs.iter().filter(|knob| !knob.has_effect(&own)).map(|knob| knob.key).collect();
    assert_eq!(idle, ["grammar.passive", "grammar.transitive", "grammar.adjective"]);
    let of_grammar = grammar_roles::config(&[], 1).unwrap();
    assert!(knobs.iter().all(|knob| knob.has_effect(&of_grammar)));
}

#[test]
fn settings_that_do_not_fit_a_treebank_are_named() {
    let path = treebank();
    let plan = |setting: (&str, &str)| {
        let config =
            grammar_roles::config(&[SMALL, &[("grammar.treebank", path.as_str()), setting]].concat(), 3).unwrap();
        grammar_roles::plan(&config, &GrammarRolesSettings::read(&config).unwrap()).map_err(|e| e.to_string())
    };
    for (setting, word) in
        [(("grammar.words", "2001"), "compare.bigru_one_hot"), (("train.window", "65"), "at most 64")]
    {
        let error = plan(setting).err().unwrap();
        assert!(error.contains(word), "{error}");
    }
    assert!(plan(("train.window", "5")).is_ok(), "longer sentences are left out");
}

#[test]
fn settings_that_do_not_fit_are_named() {
    for (setting, word) in [
        (("grammar.passive", "0.95"), "grammar.transitive"),
        (("train.batch", "41"), "grammar.train"),
        (("train.window", "10"), "at least 11"),
        (("train.window", "65"), "mostly empty"),
        (("network.precision_max", "0.01"), "network.precision_min"),
    ] {
        let config = grammar_roles::config(&[SMALL, &[setting]].concat(), 3).unwrap();
        let settings = GrammarRolesSettings::read(&config).unwrap();
        let error = grammar_roles::plan(&config, &settings).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
