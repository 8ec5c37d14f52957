//! Tests that the reader of run folders returns all events in order, whatever happened to the folder.

use std::fs;

use orrery::{
    config::Value,
    store::interruption,
    telemetry::{
        Channel, Level, Measurement, RunState,
        measurements::{
            Causality, GraphEdges, LeakyUpsample, LikelyToken, NeuronGraph, NeuronGroups, Predictions, Residual,
            ResidualCurve, ResidualMethod,
        },
    },
};
use proptest::prelude::*;

use super::*;

fn floats() -> impl Strategy<Value = f64> {
    let odd =
        prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 3.0, f64::MIN_POSITIVE / 8.0]);
    prop_oneof![odd, any::<u64>().prop_map(f64::from_bits)]
}

fn floats32() -> impl Strategy<Value = f32> {
    let odd =
        prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 3.0, f32::MIN_POSITIVE / 8.0]);
    prop_oneof![odd, any::<u32>().prop_map(f32::from_bits)]
}

/// Random payloads with their channels: floats of both sizes, arrays in both encodings, texts, absent values, and an
/// unknown channel.
fn payloads() -> impl Strategy<Value = (&'static str, Payload)> {
    let list = || prop::collection::vec(floats(), 0..6);
    let residual = list().prop_map(|residual| {
        let curve = ResidualCurve { method: ResidualMethod::Anderson, round: 1, residual: residual.into() };
        (Residual::CHANNEL, Residual { curves: vec![curve] }.into_payload())
    });
    let edges = prop::collection::vec((any::<u32>(), any::<u32>(), floats32()), 0..80);
    let graph = (edges, prop::collection::vec(".*", 0..3)).prop_map(|(edges, labels)| {
        let groups = NeuronGroups { head: Some(vec![Some(3), None]), ..NeuronGroups::default() };
        let graph = NeuronGraph { labels, edges: GraphEdges::new(edges), groups, ..NeuronGraph::default() };
        (NeuronGraph::CHANNEL, graph.into_payload())
    });
    let causality = (".*", list(), floats()).prop_map(|(edited, delta, before_max)| {
        let likely = LikelyToken { token: edited.clone(), probability: before_max };
        let causality = Causality {
            original: String::new(),
            edited: edited.clone(),
            position: 2,
            replacement: edited,
            delta: delta.clone().into(),
            before_max,
            effective_gate: 0.5,
            leaky_upsample: Some(LeakyUpsample { delta: delta.into(), before_max, gate: 0.5, pool: 4 }),
            predictions: Predictions { original: vec![], edited: vec![likely] },
        };
        (Causality::CHANNEL, causality.into_payload())
    });
    let unknown = (".*", any::<i64>()).prop_map(|(text, number)| {
        ("theirs.loudness", Payload::Unknown(serde_json::json!({ "text": text, "list": [number, null, 0.5] })))
    });
    prop_oneof![residual, graph, causality, unknown]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::Switch),
        any::<i64>().prop_map(Value::Int),
        floats().prop_filter("a setting is finite", |f| f.is_finite()).prop_map(Value::Float),
        ".*".prop_map(Value::Text),
    ]
}

/// Random events of one step, in the order in which the reader returns them.
fn events_of_step(at: u64) -> impl Strategy<Value = Vec<Event>> {
    let scalars = prop::collection::vec(("[a-z]{1,3}/.{0,6}", floats()), 0..4);
    let steps = prop::collection::vec((0..2_usize, scalars, floats()), 1..3).prop_map(move |all| {
        all.into_iter()
            .map(|(variant, scalars, wall_secs)| {
                let scalars = scalars.into_iter().map(|(c, v)| (Channel::new(c), v)).collect();
                Event::Step(StepStats { step: at, variant, scalars, wall_secs })
            })
            .collect::<Vec<_>>()
    });
    let samples = prop::collection::vec((0..2_usize, ".*", prop::collection::vec(".*", 0..3), payloads()), 0..2)
        .prop_map(move |all| {
            all.into_iter()
                .map(|(variant, about, tokens, (channel, payload))| {
                    let (channel, payload) = (channel.into(), Arc::new(payload));
                    Event::Sample(Sample { step: at, variant, channel, about, tokens, request: None, payload })
                })
                .collect::<Vec<_>>()
        });
    let happened = prop_oneof![
        Just(Event::State(RunState::Running)),
        ".*".prop_map(|message| Event::State(RunState::Failed { message })),
        Just(Event::Checkpoint { step: at }),
        (".*", values()).prop_map(move |(key, value)| Event::Changed { step: at, key, value }),
    ];
    (steps, samples, prop::collection::vec(happened, 0..2)).prop_map(|(a, b, c)| [a, b, c].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_replay_returns_every_recorded_event_bit_for_bit(
        all in (events_of_step(1), events_of_step(2), events_of_step(7)).prop_map(|(a, b, c)| [a, b, c].concat()),
    ) {
        let out = tempfile::tempdir().unwrap();
        let start = [started(&["one", "two \u{1f9e0}/.."])];
        let folder = write(out.path(), &[&start[..], &all[..]].concat());
        // compared as text: `Debug` prints floats exactly, and NaN equals NaN
        let told = without_notices(read(&folder));
        prop_assert_eq!(format!("{:?}", &told[1..]), format!("{all:?}"));
    }
}

fn short_run() -> Vec<Event> {
    let mut events = vec![started(&["one", "two"])];
    for at in 1..=4 {
        events.push(step(at, 0, &[("loss/train", 1.0 / at as f64)]));
        events.push(step(at, 1, &[("loss/train", 2.0 / at as f64)]));
        events.push(sample(at, "gate/b", None, Payload::Unknown(serde_json::json!(["h\u{e9} \"q\" }{"]))));
        events.push(Event::Changed { step: at, key: "train.lr".to_owned(), value: Value::Float(0.5) });
    }
    events.push(Event::State(RunState::Finished));
    events
}

#[test]
fn a_cut_log_keeps_whole_lines_and_reports_the_cut() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    let whole = without_notices(read(&folder));
    for name in ["metrics.jsonl", "samples.jsonl", "events.jsonl"] {
        let path = folder.join(name);
        let bytes = fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            fs::write(&path, &bytes[..cut]).unwrap();
            let all = read(&folder);
            let said = notices(&all);
            let told = without_notices(all);
            // the number of lines whose JSON object is complete, with or without the line break
            let lines = bytes.iter().enumerate().filter(|(i, b)| **b == b'\n' && *i <= cut).count();
            let of = |events: &[Event]| -> Vec<Event> { events.iter().filter(|e| kind(e) == name).cloned().collect() };
            assert_eq!(of(&told), of(&whole)[..lines], "{name} cut at {cut}");
            let others =
                |events: &[Event]| -> Vec<Event> { events.iter().filter(|e| kind(e) != name).cloned().collect() };
            assert_eq!(others(&told), others(&whole), "{name} cut at {cut}");
            let clean = cut == 0 || bytes[cut - 1] == b'\n' || bytes[cut] == b'\n';
            let words = format!("{name} line {} is passed over: the last line is cut short", lines + 1);
            assert_eq!(said.contains(&words), !clean, "{name} cut at {cut}: {said}");
        }
        fs::write(&path, &bytes).unwrap();
    }
}

#[test]
fn a_torn_last_line_is_damage_only_where_the_run_recorded_its_end() {
    for is_finished in [false, true] {
        let out = tempfile::tempdir().unwrap();
        let mut events = short_run();
        events.truncate(events.len() - usize::from(!is_finished));
        let folder = write(out.path(), &events);
        for name in ["metrics.jsonl", "samples.jsonl"] {
            let path = folder.join(name);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
            let damage = Reader::open(&folder).unwrap().read_through(drop).unwrap();
            assert_eq!(damage.0.iter().any(|words| words.contains("cut short")), is_finished, "{name}: {damage}");
            assert_eq!(damage.is_empty(), !is_finished, "{name}: {damage}");
            fs::write(&path, &bytes).unwrap();
        }
    }
}

fn kind(e: &Event) -> &'static str {
    match e {
        Event::Step(_) => "metrics.jsonl",
        Event::Sample(_) => "samples.jsonl",
        Event::Started(_) => "run.json",
        _ => "events.jsonl",
    }
}

#[test]
fn damaged_lines_are_named_and_passed_over() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    let path = folder.join("metrics.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
    lines[1] = b"\xff\xfe not text";
    lines[2] = br#"{"step":2,"variant":"nobody","wall_secs":1.0}"#;
    lines.insert(4, br#"{"step":3,"variant":"one","wall_secs":1.0,"later/addition":{"x":[1]},"loss/train":7}"#);
    lines.push(b"");
    fs::write(&path, lines.join(&b'\n')).unwrap();
    let events = read(&folder);
    let said = notices(&events);
    assert!(said.contains("metrics.jsonl line 2 is passed over") && !said.contains("at line 1"), "{said}");
    assert!(said.contains("metrics.jsonl line 3 is passed over: its variant `nobody`"), "{said}");
    assert_eq!(events.iter().filter(|e| matches!(e, Event::Step(_))).count(), 7);
    assert!(
        events.iter().any(|e| matches!(e, Event::Step(s) if s.step == 3 && s.scalars == [("loss/train".into(), 7.0)]))
    );
}

#[test]
fn a_file_of_rubbish_is_reported_briefly() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    fs::write(folder.join("events.jsonl"), "{\"step\":1,\"unheard_of\":{}}\nrubbish\n".repeat(1000)).unwrap();
    let said = notices(&read(&folder));
    assert_eq!(said.lines().filter(|l| l.contains("is passed over")).count(), 5, "{said}");
    assert!(said.contains("events.jsonl: 1000 lines could not be read"), "{said}");
}

#[test]
fn a_lost_file_is_reported_and_the_rest_is_shown() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    let whole = without_notices(read(&folder));
    for (name, words) in [
        ("samples.jsonl", "without everything but the curves"),
        ("metrics.jsonl", "without the curves"),
        ("events.jsonl", "without what happened"),
    ] {
        let copy = out.path().join(format!("without-{name}"));
        folders::copy(&folder, &copy);
        fs::remove_file(copy.join(name)).unwrap();
        let all = read(&copy);
        assert!(notices(&all).contains(words), "{}", notices(&all));
        let rest = whole.iter().filter(|e| kind(e) != name).count();
        assert_eq!(without_notices(all).len(), rest, "{name}");
    }
}

#[test]
fn a_lost_description_is_rebuilt_from_the_settings() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    let whole = without_notices(read(&folder));
    for damage in [None, Some("{\"format\":1,")] {
        fs::remove_file(folder.join("run.json")).unwrap();
        if let Some(text) = damage {
            fs::write(folder.join("run.json"), text).unwrap();
        }
        let all = read(&folder);
        let said = notices(&all);
        assert!(said.contains("run.json is") && said.contains("rebuilt from config.toml"), "{said}");
        let lost = Reader::open(&folder).unwrap().read_through(drop).unwrap();
        assert!(matches!(&lost.0[..], [one] if said.contains(one.as_str())), "{lost}");
        let Event::Started(found) = &all[0] else { panic!("{:?}", all[0]) };
        assert_eq!(found.variants.iter().map(|v| v.id.as_str()).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!((found.lab.as_str(), found.total_steps, found.config.seed), ("fast_slow", 20, 7));
        assert_eq!(found.config, info(&[]).config);
        assert_eq!(without_notices(all)[1..], whole[1..]);
        fs::write(folder.join("run.json"), "").unwrap();
    }
}

#[test]
fn folders_that_are_not_runs_are_refused_with_a_reason() {
    let out = tempfile::tempdir().unwrap();
    let said = |path: &Path| Reader::open(path).err().expect("not a run").to_string();
    assert!(said(out.path()).contains("is not a run folder"), "{}", said(out.path()));
    assert!(said(&out.path().join("nowhere")).contains("does not exist"));
    fs::write(out.path().join("config.toml"), "lab = ").unwrap();
    assert!(said(out.path()).contains("config.toml` cannot be read either"), "{}", said(out.path()));
}

#[test]
fn an_interrupted_run_says_so_and_a_finished_one_does_not() {
    let out = tempfile::tempdir().unwrap();
    let mut events = short_run();
    let folder = write(out.path(), &events);
    assert_eq!(notices(&read(&folder)), "");
    events.pop();
    events.push(Event::Checkpoint { step: 4 });
    let folder = write(out.path(), &events);
    let said = notices(&read(&folder));
    assert!(said.contains("no end is recorded after step 4"), "{said}");
    assert!(said.contains("the checkpoint of step 4 is no longer in"), "{said}");
    events.push(Event::Notice { level: Level::Info, text: "hello".to_owned() });
    assert!(notices(&read(&write(out.path(), &events))).contains("hello"));
}

#[test]
fn an_interruption_is_an_end_that_nothing_recorded() {
    let out = tempfile::tempdir().unwrap();
    let mut events = short_run();
    let folder = write(out.path(), &events);
    assert_eq!(interruption(&folder), None, "its end is recorded");
    let log = folder.join("events.jsonl");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..whole.len() - 5]).unwrap();
    assert_eq!(interruption(&folder).map(|i| i.checkpoint), Some(None), "its last line was cut off");

    events.pop();
    let folder = write(out.path(), &events);
    let found = interruption(&folder).expect("no end is recorded");
    assert!(found.checkpoint.is_none() && found.when.contains(':'), "{found:?}");
    fs::create_dir_all(folder.join("checkpoints/step-4")).unwrap();
    assert_eq!(interruption(&folder).and_then(|i| i.checkpoint), Some(4));

    let mut writer = Writer::new(out.path());
    events.iter().for_each(|e| writer.event(e).unwrap());
    assert_eq!(interruption(&writer.folder().unwrap()), None, "it is being written");
}

/// Sets `format` in a run's description.
fn set_format(folder: &Path, format: u32) {
    let file = folder.join("run.json");
    let mut run: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    run["format"] = format.into();
    fs::write(file, serde_json::to_vec(&run).unwrap()).unwrap();
}

#[test]
fn an_earlier_format_shows_its_curves_and_names_its_version() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    let whole = without_notices(read(&folder));
    set_format(&folder, 1);
    let all = read(&folder);
    let said = notices(&all);
    assert!(said.contains(&format!("written by Orrery {} in format 1", env!("CARGO_PKG_VERSION"))), "{said}");
    let curves: Vec<Event> = whole.into_iter().filter(|e| kind(e) != "samples.jsonl").collect();
    assert_eq!(without_notices(all), curves);
    let refused = Writer::resume(&folder, None).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("is of format 1"), "{refused}");
}

#[test]
fn a_later_format_is_refused_and_says_what_to_do() {
    let out = tempfile::tempdir().unwrap();
    let folder = write(out.path(), &short_run());
    set_format(&folder, orrery::store::FORMAT + 1);
    let refused = Reader::open(&folder).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(refused.contains("update Orrery"), "{refused}");
}
