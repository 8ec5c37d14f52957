//! Tests the Traces lab: its plan, what its readers learn, and its views without a run.

use crossbeam::channel::bounded;
use orrery::{
    config::{Config, ConfigError},
    labs::{self, Lab},
    telemetry::{Event, RunState, Sink, measurements::Recoverability},
    trainer::{self, DriveOptions},
    ui::{figure::Figure, mirror::Mirror, theme::Theme},
};

use crate::{config_with::config_with, record::Record};

fn lab() -> &'static Lab {
    labs::find("traces").unwrap()
}

fn config(set: &[(&str, &str)]) -> Config {
    config_with("traces", None, set)
}

#[test]
fn a_plan_that_cannot_work_is_refused_in_words() {
    for (key, value, word) in [
        ("train.window", "64", "65"),
        ("recoverability.distances", "1, two", "two"),
        ("recoverability.distances", "", "empty"),
        ("traces.code_dim", "8", ""),
        ("traces.code_active", "64", ""),
    ] {
        let outcome = (lab().plan)(&config(&[(key, value)]));
        match outcome {
            Err(e @ (ConfigError::Inconsistent { .. } | ConfigError::WrongType { .. })) => {
                assert!(!word.is_empty() && e.to_string().contains(word), "{e}")
            }
            Err(e) => panic!("{e}"),
            Ok(_) => assert!(word.is_empty(), "{key} = {value} was accepted"),
        }
    }
    let both = (lab().plan)(&config(&[("traces.code_dim", "8"), ("traces.code_active", "9")]));
    assert!(both.unwrap_err().to_string().contains("traces.code_active"));
}

#[test]
fn distances_are_sorted_and_colours_keep_their_order() {
    let plan = (lab().plan)(&config(&[("recoverability.distances", "8 1,4,4")])).unwrap();
    let ids: Vec<&str> = plan.variants.iter().map(|v| v.id.as_str()).collect();
    assert_eq!(ids, ["fast", "medium", "slow", "three", "attention", "raw", "past"]);
    for v in &plan.variants {
        let orrery::models::ModelSpec::Recover(spec) = &v.model else { panic!("{v:?}") };
        assert_eq!(spec.distances, [1, 4, 8]);
    }
}

impl Record {
    fn last(&self, variant: usize) -> Recoverability {
        let of_variant =
            |e: Event| if let Event::Sample(s) = e { Some(s).filter(|s| s.variant == variant) } else { None };
        self.events().into_iter().rev().filter_map(of_variant).find_map(|s| s.measurement().cloned()).unwrap()
    }
}

/// Trains all readers in a small run.
fn trained() -> Record {
    let config = config(&[
        ("train.steps", "260"),
        ("train.window", "40"),
        ("train.batch", "8"),
        ("recoverability.distances", "1, 4, 16"),
        ("recoverability.hidden", "96"),
        ("recoverability.every", "130"),
        ("run.threads", "1"),
        ("run.device", "cpu"),
        ("run.eval_every", "0"),
    ]);
    let record = Record::default();
    let (_keep, commands) = bounded(1);
    let options = DriveOptions { start: true, ..DriveOptions::default() };
    let sinks: Vec<Box<dyn Sink>> = vec![Box::new(record.clone())];
    let outcome = trainer::drive((lab().plan)(&config).unwrap(), options, &commands, sinks);
    assert_eq!(outcome.state, RunState::Finished);
    record
}

/// The lab's main result, at small sizes: the accuracy of every trace falls with distance, three traces together are
/// about as good as the best single one, attention over the traces has the same limit, and raw tokens stay readable.
#[test]
fn accuracy_falls_with_distance_for_traces_and_not_for_raw_tokens() {
    let record = trained();
    let accuracy: Vec<Vec<f64>> = (0..7).map(|v| record.last(v).accuracy.0).collect();
    let chance = record.last(0).most_common;
    println!("{accuracy:.2?} chance {chance:.3}");
    assert!((chance - 1.0 / 16.0).abs() < 0.02, "sixteen equally likely symbols: {chance}");
    let [fast, medium, slow, three, attention, raw, past] = &accuracy[..] else { panic!() };
    for trace in [fast, medium, three, attention] {
        assert!(trace[0] > trace[1] + 0.05 && trace[1] > trace[2] - 0.02, "{trace:?}");
    }
    assert!(slow[0] > slow[2] + 0.02 && slow[0] < 0.35, "the slow trace is blurred: {slow:?}");
    assert!(fast[0] > 0.8 && fast[2] < chance + 0.05, "sharp and short: {fast:?}");
    assert!(medium[1] > fast[1] || medium[2] > fast[2], "longer than fast: {medium:?} {fast:?}");
    for at in 0..3 {
        let best = fast[at].max(medium[at]).max(slow[at]);
        assert!(three[at] > best - 0.12, "three traces hold what each holds: {three:?}, best {best} at {at}");
        assert!(raw[at] > 0.9 && past[at] > 0.8, "kept text is readable: {raw:?} {past:?}");
    }
    assert!(attention[2] < 0.4, "attention cannot bring back what three traces lost: {attention:?}");
}

/// These views are computed from the settings alone, so they must follow a moved slider in the same frame.
#[test]
fn a_moved_slider_moves_curves_strips_and_distances_without_a_run() {
    let mirror = Mirror::default();
    let csv = |view: &str, alpha: &str| {
        let (config, knobs, theme) = (config(&[("traces.alpha_slow", alpha)]), (lab().knobs)(), Theme::dark());
        Figure::new(view, &mirror, &config, &knobs, &theme).csv().unwrap().unwrap()
    };
    for view in ["trace_strips", "trace_decay", "word_swap"] {
        assert_eq!(csv(view, "0.02"), csv(view, "0.02"));
        assert_ne!(csv(view, "0.02"), csv(view, "0.03"), "{view}");
    }
    let strips = csv("trace_strips", "0.02");
    let first: Vec<&str> = strips.lines().nth(1).unwrap().split(',').collect();
    let (ago, left): (f64, f64) = (first[2].parse().unwrap(), first[5].parse().unwrap());
    assert!((left - 0.98f64.powf(ago)).abs() < 1e-9, "{first:?}");
}
