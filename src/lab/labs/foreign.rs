//! Runs that another program has written into a folder: they are looked at, followed and compared, and nothing of them is
//! trained here. It is not among the labs to begin with, because a folder brings its settings and what it has measured.

pub mod asks;

use super::{
    Lab, Pane,
    drawing::{Canvas, Drawing, Ink},
};
use crate::{
    config::ConfigError,
    telemetry::{
        FOREIGN, MEASUREMENTS, Measurement, channels,
        measurements::{
            Activity, AttentionMaps, AttentionStatistics, Autocorrelation, Causality, EntryHistogram, FlowAlong,
            FlowAnswer, GraphDegrees, GraphModularity, LogitLens, NeuronGraph, NextTokens, PairAttention,
            PositionLosses, QueryKeyMaps, Recoverability, Residual, Staircase, StepLengths, SynapseReading,
            TraceReading, UnitUsage,
        },
    },
};

pub static LAB: Lab = Lab {
    id: FOREIGN,
    title: "Recorded elsewhere",
    question: "What happens inside a model that another program trains?",
    source: "a run folder that another program has written",
    lesson: include_str!("../../../assets/lessons/foreign.md"),
    groups: &[],
    essentials: &[],
    knobs: Vec::new,
    presets: &[],
    plan: |_| {
        let why =
            "this run was written by another program, which alone can train it; here it is followed and looked at";
        Err(ConfigError::inconsistent("lab", why))
    },
    drawing: draw,
    panes: PANES,
    headlines: &[],
    large_numbers: &[],
    opens_with_run: false,
};

/// The view of everything that no other view shows.
pub const LOGGED: &str = "logged";

/// The view of questions to the program that trains the run.
pub const QUESTIONS: &str = "questions";

/// The views that its page may have, in the order in which they are opened as soon as a run has something for them.
const PANES: &[Pane] = &[
    Pane::tile("losses", 0),
    Pane::tile("attention", 0),
    Pane::tile(LOGGED, 1),
    Pane::more(QUESTIONS),
    Pane::more("gate"),
    Pane::more("accuracy"),
    Pane::more("neuron_graph"),
    Pane::more("graph_table"),
    Pane::more("graph_threshold"),
    Pane::more("graph_modularity"),
    Pane::more("graph_degrees"),
    Pane::more("flow_solver"),
    Pane::more("flow_along"),
    Pane::more("flow_paths"),
    Pane::more("next_tokens"),
    Pane::more("trace_reading"),
    Pane::more("reading"),
    Pane::more("logit_lens"),
    Pane::more("query_key_maps"),
    Pane::more("attention_by_layer"),
    Pane::more("pair_attention"),
    Pane::more("position_losses"),
    Pane::more("staircase"),
    Pane::more("causality"),
    Pane::more("residual"),
    Pane::more("step_lengths"),
    Pane::more("activity"),
    Pane::more("unit_usage"),
    Pane::more("autocorrelation"),
    Pane::more("recoverability"),
    Pane::more("slow_memory"),
    Pane::more("equilibrium_solves"),
];

/// The view that shows a channel first.
const SHOWN_BY: &[(&str, &str)] = &[
    (channels::LOSS_TRAIN, "losses"),
    (channels::LOSS_HELD_OUT, "losses"),
    (AttentionMaps::CHANNEL, "attention"),
    (channels::GATE, "gate"),
    (channels::ACCURACY, "accuracy"),
    (NeuronGraph::CHANNEL, "neuron_graph"),
    (EntryHistogram::CHANNEL, "graph_threshold"),
    (GraphModularity::CHANNEL, "graph_modularity"),
    (GraphDegrees::CHANNEL, "graph_degrees"),
    (FlowAnswer::CHANNEL, "flow_solver"),
    (FlowAlong::CHANNEL, "flow_along"),
    (NextTokens::CHANNEL, "next_tokens"),
    (TraceReading::CHANNEL, "trace_reading"),
    (SynapseReading::CHANNEL, "reading"),
    (LogitLens::CHANNEL, "logit_lens"),
    (QueryKeyMaps::CHANNEL, "query_key_maps"),
    (AttentionStatistics::CHANNEL, "attention_by_layer"),
    (PairAttention::CHANNEL, "pair_attention"),
    (PositionLosses::CHANNEL, "position_losses"),
    (Staircase::CHANNEL, "staircase"),
    (Causality::CHANNEL, "causality"),
    (Residual::CHANNEL, "residual"),
    (StepLengths::CHANNEL, "step_lengths"),
    (Activity::CHANNEL, "activity"),
    (UnitUsage::CHANNEL, "unit_usage"),
    (Autocorrelation::CHANNEL, "autocorrelation"),
    (Recoverability::CHANNEL, "recoverability"),
    (channels::MEMORY_MEDIAN, "slow_memory"),
    (channels::DEQ_RESIDUAL, "equilibrium_solves"),
];

/// The view that shows a channel: one that was made for it, or the one of everything else.
pub fn view_of(channel: &str) -> &'static str {
    SHOWN_BY.iter().find(|(shown, _)| *shown == channel).map_or(LOGGED, |(_, view)| view)
}

/// Tiles that stand beside one another; further views are tabs of the last.
const TILES: usize = 6;

/// The page of a run that has these channels and can be asked these questions (`None`: nothing can be asked of it): the views
/// of both in the order of the lab, two or three in a row.
pub fn panes<'a>(channels: impl IntoIterator<Item = &'a str>, asked: Option<&[String]>) -> Vec<Pane> {
    let mut views: Vec<&'static str> = channels.into_iter().map(view_of).collect();
    views.extend(asked.map(|_| QUESTIONS));
    let probes = asked.unwrap_or_default().iter().filter_map(|ask| asks::probe_of(ask));
    let answers = probes.flat_map(|probe| MEASUREMENTS.iter().filter(move |entry| entry.probe == probe.id()));
    views.extend(answers.map(|entry| view_of(entry.channel)).filter(|view| *view != LOGGED));
    let place = |view: &&str| PANES.iter().position(|pane| pane.view == *view);
    views.sort_by_key(place);
    views.dedup();
    let in_a_row = if views.len() > 4 { 3 } else { 2 };
    let pane = |(i, view): (usize, &&'static str)| match i < TILES {
        true => Pane::tile(view, i / in_a_row),
        false => Pane::tab(view),
    };
    views.iter().enumerate().map(pane).collect()
}

/// A curve that another hand has drawn so far.
fn draw(canvas: &Canvas) -> Drawing {
    let mut drawing = Drawing::default();
    let [width, height] = canvas.size;
    let end = 0.2 + 0.8 * canvas.pointer_or(0.6);
    let value = |x: f32| height * (0.15 + 0.7 * (1.0 - (-3.0 * x).exp()) + 0.03 * (40.0 * x).sin());
    let points = (0..=64).map(|i| end * i as f32 / 64.0).map(|x| [width * x, value(x)]).collect();
    drawing.path(points, Ink::Accent, 1.5);
    drawing.caption = "a run that is read as it is written".to_owned();
    drawing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::{LABS, Place, find};

    #[test]
    fn it_opens_recorded_runs_and_is_not_among_the_labs_that_train() {
        assert!(LABS.iter().all(|lab| lab.trains() && lab.id != FOREIGN));
        let lab = find(FOREIGN).unwrap();
        assert!(!lab.trains());
        assert!((lab.plan)(&lab.config(None).unwrap()).is_err());
    }

    #[test]
    fn a_page_has_the_views_of_what_was_measured() {
        let views =
            |channels: &[&str]| -> Vec<&str> { panes(channels.iter().copied(), None).iter().map(|p| p.view).collect() };
        assert_eq!(views(&[]), [""; 0]);
        assert_eq!(views(&["my/matrix", "gate/tanh", "loss/train", "my/text"]), ["losses", LOGGED, "gate"]);
        let asks = ["attention", "save", "lesson"].map(String::from);
        let asked = panes(["loss/train", "gate/tanh"], Some(&asks));
        let asked: Vec<&str> = asked.iter().map(|pane| pane.view).collect();
        assert_eq!(asked, ["losses", "attention", QUESTIONS, "gate"]);
        for (channel, view) in SHOWN_BY {
            assert!(PANES.iter().any(|pane| pane.view == *view), "{channel}: {view} is not on the page");
        }
        let all = panes(SHOWN_BY.iter().map(|(channel, _)| *channel), None);
        assert!(all[..TILES].iter().all(|pane| pane.place.is_front()));
        assert!(all[TILES..].iter().all(|pane| pane.place == Place::Tab));
    }
}
