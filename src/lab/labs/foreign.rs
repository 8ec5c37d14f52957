//! Runs that another program has written into a folder: they are viewed, followed and compared, but not trained here. This
//! is not among the fixed labs, because a folder brings its own settings and measurements.

pub mod asks;

use crate::{
    labs::prelude::*,
    telemetry::{FOREIGN, MEASUREMENTS},
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
    panes: &PANES,
    headlines: &[],
    large_numbers: &[],
    opens_with_run: false,
};

/// The view of everything that no other view shows.
pub const LOGGED: &str = "logged";

/// The view of questions to the program that trains the run.
pub const QUESTIONS: &str = "questions";

/// A view that its page may have, and the channels that it shows first.
type ShownView = (Pane, &'static [&'static str]);

/// The views in the order in which they are opened as soon as a run has something for them.
const SHOWN_VIEWS: &[ShownView] = &[
    (Pane::tile("losses", 0), &[channels::LOSS_TRAIN, channels::LOSS_HELD_OUT]),
    (Pane::tile("attention", 0), &[AttentionMaps::CHANNEL]),
    (Pane::tile(LOGGED, 1), &[]),
    (Pane::more(QUESTIONS), &[]),
    (Pane::more("gate"), &[channels::GATE]),
    (Pane::more("accuracy"), &[channels::ACCURACY]),
    (Pane::more("neuron_graph"), &[NeuronGraph::CHANNEL]),
    (Pane::more("graph_table"), &[]),
    (Pane::more("graph_threshold"), &[EntryHistogram::CHANNEL]),
    (Pane::more("graph_modularity"), &[GraphModularity::CHANNEL]),
    (Pane::more("graph_degrees"), &[GraphDegrees::CHANNEL]),
    (Pane::more("flow_solver"), &[FlowAnswer::CHANNEL]),
    (Pane::more("flow_along"), &[FlowAlong::CHANNEL]),
    (Pane::more("flow_paths"), &[]),
    (Pane::more("next_tokens"), &[NextTokens::CHANNEL]),
    (Pane::more("trace_reading"), &[TraceReading::CHANNEL]),
    (Pane::more("reading"), &[SynapseReading::CHANNEL]),
    (Pane::more("logit_lens"), &[LogitLens::CHANNEL]),
    (Pane::more("query_key_maps"), &[QueryKeyMaps::CHANNEL]),
    (Pane::more("attention_by_layer"), &[AttentionStatistics::CHANNEL]),
    (Pane::more("pair_attention"), &[PairAttention::CHANNEL]),
    (Pane::more("position_losses"), &[PositionLosses::CHANNEL]),
    (Pane::more("staircase"), &[Staircase::CHANNEL]),
    (Pane::more("causality"), &[Causality::CHANNEL]),
    (Pane::more("residual"), &[Residual::CHANNEL]),
    (Pane::more("step_lengths"), &[StepLengths::CHANNEL]),
    (Pane::more("activity"), &[Activity::CHANNEL]),
    (Pane::more("unit_usage"), &[UnitUsage::CHANNEL]),
    (Pane::more("autocorrelation"), &[Autocorrelation::CHANNEL]),
    (Pane::more("recoverability"), &[Recoverability::CHANNEL]),
    (Pane::more("slow_memory"), &[channels::MEMORY_MEDIAN]),
    (Pane::more("equilibrium_solves"), &[channels::DEQ_RESIDUAL]),
];

const PANES: [Pane; SHOWN_VIEWS.len()] = {
    let mut panes = [SHOWN_VIEWS[0].0; SHOWN_VIEWS.len()];
    let mut at = 1;
    while at < panes.len() {
        panes[at] = SHOWN_VIEWS[at].0;
        at += 1;
    }
    panes
};

/// The view that shows a channel: one that was made for it, or the one of everything else.
pub fn view_of(channel: &str) -> &'static str {
    SHOWN_VIEWS.iter().find(|(_, channels)| channels.contains(&channel)).map_or(LOGGED, |(pane, _)| pane.view)
}

/// Tiles that are beside one another; further views are tabs of the last.
const N_TILES: usize = 6;

/// The page of a run that has these channels and can be asked these questions (`None`: nothing can be asked of it): the views
/// of both in the order of the lab, two or three in a row.
pub fn panes<'a>(channels: impl IntoIterator<Item = &'a str>, asked: Option<&[String]>) -> Vec<Pane> {
    let mut views: Vec<&'static str> = channels.into_iter().map(view_of).collect();
    views.extend(asked.map(|_| QUESTIONS));
    let probes = asked.unwrap_or_default().iter().filter_map(|ask| asks::find_probe(ask));
    let answers = probes.flat_map(|probe| MEASUREMENTS.iter().filter(move |entry| entry.probe == probe.id));
    views.extend(answers.map(|entry| view_of(entry.channel)).filter(|view| *view != LOGGED));
    let place = |view: &&str| PANES.iter().position(|pane| pane.view == *view);
    views.sort_by_key(place);
    views.dedup();
    let in_a_row = if views.len() > 4 { 3 } else { 2 };
    let pane = |(i, view): (usize, &&'static str)| match i < N_TILES {
        true => Pane::tile(view, i / in_a_row),
        false => Pane::tab(view),
    };
    views.iter().enumerate().map(pane).collect()
}

/// A curve that another hand has drawn so far.
fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let end = 0.2 + 0.8 * canvas.pointer_or(0.6);
    let value = |x: f32| height * (0.15 + 0.7 * (1.0 - (-3.0 * x).exp()) + 0.03 * (40.0 * x).sin());
    let points = (0..=64).map(|i| end * i as f32 / 64.0).map(|x| [width * x, value(x)]).collect();
    drawing.path(points, Ink::Accent, 1.5);
    drawing.caption = "a run that is read as it is written".to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::{LABS, Place, find};

    #[test]
    fn it_opens_recorded_runs_and_is_not_among_the_labs_that_train() {
        assert!(LABS.iter().all(|lab| lab.makes_runs() && lab.id != FOREIGN));
        let lab = find(FOREIGN).unwrap();
        assert!(!lab.makes_runs());
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
        let all = panes(SHOWN_VIEWS.iter().flat_map(|(_, channels)| *channels).copied(), None);
        assert!(all[..N_TILES].iter().all(|pane| pane.place.is_front()));
        assert!(all[N_TILES..].iter().all(|pane| pane.place == Place::Tab));
    }
}
