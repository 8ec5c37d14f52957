//! Tests headline numbers: those of every lab are found in its runs' records, or the reason for their absence is given.
//! The events of a run and its folder yield the same numbers.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use orrery::{
    experiments::{
        headline_values::{HeadlineReader, HeadlineValues},
        headlines,
    },
    labs::{self, Lab, headline::split_key},
    store::Writer,
    telemetry::{Channel, Event, RunInfo, StepStats, VariantInfo, channels},
    trainer::DriveOptions,
};

use crate::{
    command::expect_exit,
    trainer::{fast_slow, started, train},
};

/// The headline numbers computed from events.
pub fn of_events(lab: &Lab, events: &[Event]) -> HeadlineValues {
    let info = events.iter().find_map(|e| if let Event::Started(info) = e { Some(info.clone()) } else { None });
    let mut reading = HeadlineReader::new(lab, &info.expect("a run begins with what it is"));
    events.iter().for_each(|e| reading.event(e));
    reading.newest_values()
}

/// The ids of the headline numbers that a run has. Every other one must be listed as missing, with a reason.
pub fn check(lab: &Lab, preset: &str, events: &[Event]) -> BTreeSet<&'static str> {
    let found = of_events(lab, events);
    let ids: BTreeSet<&str> = found.values.iter().map(|v| split_key(&v.key).0).collect();
    for headline in lab.headlines {
        let missing = found.missing.iter().find(|m| m.id == headline.id);
        let told = ids.contains(headline.id);
        assert_eq!(told, missing.is_none(), "{preset}: `{}` is found and missing, or neither", headline.id);
        assert!(missing.is_none_or(|m| m.why.len() > 10), "{preset}: `{}` is missing without a reason", headline.id);
    }
    lab.headlines.iter().map(|h| h.id).filter(|id| ids.contains(id)).collect()
}

/// Headline numbers that no preset yields by itself, because a user must ask for the measurement or change a setting.
pub const ASKED_FOR: [&str; 3] = ["concept_effect", "concept_effect_random", "within_projected"];

#[test]
fn every_lab_declares_a_few_with_words() {
    for lab in labs::LABS {
        let ids: BTreeSet<&str> = lab.headlines.iter().map(|h| h.id).collect();
        assert!(!ids.is_empty() && ids.len() <= 10, "{} has {} headline numbers", lab.id, ids.len());
        assert_eq!(ids.len(), lab.headlines.len(), "{}: an id stands twice", lab.id);
        for h in lab.headlines {
            assert!(h.id.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}: `{}`", lab.id, h.id);
            assert!(h.about.ends_with('.') && !h.name.is_empty(), "{}: `{}` has no sentence", lab.id, h.id);
        }
    }
}

fn variant(group: &str, seed: u64) -> VariantInfo {
    VariantInfo { id: format!("{group}-s{seed}"), label: group.into(), group: group.into(), seed, params: 1 }
}

fn loss(step: u64, variant: usize, value: f64) -> Event {
    let scalars = vec![(Channel::new(channels::LOSS_HELD_OUT), value)];
    Event::Step(StepStats { step, variant, scalars, wall_secs: 0.0 })
}

#[test]
fn a_race_is_decided_by_pairs_of_one_seed() {
    let lab = labs::find("coupled_qk").unwrap();
    let (_, config) = fast_slow(1, &[]);
    let variants = vec![variant("standard", 1), variant("standard", 2), variant("euler", 2), variant("euler", 1)];
    let info = RunInfo { lab: lab.id.into(), variants, ..headline_info(config) };
    let mut events = vec![Event::Started(Arc::new(info))];
    for (variant, value) in [2.0, 3.0, 2.5, 1.75].into_iter().enumerate() {
        events.extend([loss(5, variant, 9.0), loss(10, variant, value)]);
    }
    let found = of_events(lab, &events);
    assert_eq!(found.value("held_out_loss", "euler-s2"), Some(2.5), "the newest counts");
    assert_eq!(found.value("loss_beside_first", "euler-s2"), Some(-0.5), "seed 2 beside seed 2");
    assert_eq!(found.value("loss_beside_first", "euler-s1"), Some(-0.25));
    assert_eq!(found.value("loss_beside_first", "standard-s1"), None, "the first has nothing to be beside");
    let group = found.group("loss_beside_first", "euler").unwrap();
    assert_eq!((group.mean, group.seeds), (-0.375, 2));
    assert!(group.interval.unwrap().1 > 0.0, "two seeds do not tell them apart: {group:?}");
    assert_eq!(
        found.missing.iter().map(|m| m.id.as_str()).collect::<Vec<_>>(),
        ["accuracy", "label_loss", "domain_gain"]
    );
}

/// The description of a run with these settings and without variants.
fn headline_info(config: orrery::config::Config) -> RunInfo {
    RunInfo {
        lab: config.lab.clone(),
        config,
        variants: vec![],
        total_steps: 10,
        device: "cpu".into(),
        threads: 1,
        corpus: "none".into(),
        vocab: 2,
        tokens_per_step: 1,
        ..RunInfo::default()
    }
}

fn recorded(folder: &Path) -> (std::path::PathBuf, HeadlineValues) {
    let (lab, config) = fast_slow(5, &[("probe.staircase_every", "2"), ("probe.residual_every", "5")]);
    let writer = Writer::at_once(folder);
    let (_, record) = train(&config, DriveOptions { writer: Some(writer.clone()), ..started() });
    (writer.folder().unwrap(), of_events(lab, &record.events()))
}

#[test]
fn headline_numbers_of_a_folder_are_those_of_its_run() {
    let dir = tempfile::tempdir().unwrap();
    let (folder, told) = recorded(dir.path());
    let read = headlines::read(&folder, |_| ()).unwrap();
    assert_eq!(read.found, told);
    assert!(read.found.value("gate", "coupled").unwrap() > 0.0, "{:?}", read.found);
    assert_eq!(read.found.value("gate", "frozen"), Some(0.0));
    // a truncated last line is skipped; a lab that this version does not know has no headline numbers
    let metrics = folder.join("metrics.jsonl");
    let text = std::fs::read_to_string(&metrics).unwrap();
    std::fs::write(&metrics, &text[..text.len() - 20]).unwrap();
    assert!(headlines::read(&folder, |_| ()).unwrap().found.value("gate", "coupled").is_some());
    let run = std::fs::read_to_string(folder.join("run.json")).unwrap();
    std::fs::write(folder.join("run.json"), run.replace("\"fast_slow\"", "\"of_later\"")).unwrap();
    let other = headlines::read(&folder, |_| ()).unwrap();
    assert!(other.lab.is_none() && other.found.values.is_empty());
}

#[test]
fn the_table_at_the_end_of_a_run_is_its_labs() {
    let dir = tempfile::tempdir().unwrap();
    let parts = ["NFE (evaluations)", "no class + at u₀ = +1: the flow is not steered"];
    expect_exit(dir.path(), "run ode_flow_field --steps 2 --no-figures", 0, &parts);
}
