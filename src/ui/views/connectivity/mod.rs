//! Views of the graph between a BDH model's neurons: the threshold that makes it, its modularity, its
//! degrees, one neuron. This file holds what they ask with, and which answer they show.

mod degrees;
mod modularity;
mod neuron;
mod threshold;

use serde::{Deserialize, Serialize};

pub use degrees::Degrees;
pub use modularity::Modularity;
pub use neuron::Neuron;
pub use threshold::Threshold;

use super::ViewCx;
use crate::{
    config::Config,
    telemetry::{Args, Payload, Sample, Series, channels},
    ui::{
        plot::{Chart, Data, quote},
        widgets::number,
    },
};

/// What was asked last, so that the views of one page ask once together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Asked {
    args: Args,
    /// The newest step that had come by schedule then.
    step: Option<u64>,
    /// The neuron asked about, by its number in the model, with the model's step.
    neuron: Option<(u32, u64)>,
}

/// Said while there is nothing.
const EMPTY: &str = "No graph has been drawn yet. Open a run of the neuron graph lab: the graph of its weights is \
                     measured before the first step.";

/// The settings that a question takes along: `graph.edges` as `edges` and so on.
fn args(config: &Config) -> Args {
    const NAMES: [&str; 7] = ["edges", "matrix", "sign", "from_head", "to_head", "weighted", "restarts"];
    let setting = |name: &&str| Some(((*name).to_owned(), config.get(&format!("graph.{name}"))?.clone()));
    NAMES.iter().filter_map(setting).collect()
}

/// Whether the settings are those that the newest graph was measured with by the run itself. A setting
/// changed live acts from the next one on.
fn as_planned(cx: &ViewCx<'_>) -> bool {
    let Some(info) = &cx.mirror.info else { return true };
    let mut planned = args(&info.config);
    let told = newest(cx);
    for (step, key, value) in &cx.mirror.changes {
        let name = key.strip_prefix("graph.").filter(|name| planned.contains_key(*name));
        if let Some(name) = name.filter(|_| told.is_some_and(|told| told > *step)) {
            planned.insert(name.to_owned(), value.clone());
        }
    }
    planned == args(cx.config)
}

fn newest(cx: &ViewCx<'_>) -> Option<u64> {
    cx.mirror.samples(cx.selection.variant, channels::GRAPH_HISTOGRAM).last().map(|s| s.step)
}

/// Asks again when the settings differ from the run's own, and when the run has gone on since.
pub(super) fn keep_fresh(cx: &mut ViewCx<'_>) {
    if as_planned(cx) || !cx.can_ask() {
        return;
    }
    let (args, step) = (args(cx.config), newest(cx));
    if cx.selection.connectivity.args != args || cx.selection.connectivity.step != step {
        cx.selection.connectivity.args = args.clone();
        cx.selection.connectivity.step = step;
        cx.ask("neuron_graph", Some(cx.selection.variant), args);
    }
}

/// What is shown of a channel: the schedule's, or the answer where the settings were changed since.
pub(super) fn sample<'a>(cx: &ViewCx<'a>, channel: &str) -> Option<&'a Sample> {
    let answered = (cx.follow && !as_planned(cx)).then(|| cx.answer(channel)).flatten();
    answered.or_else(|| cx.sample(channel)).map(|(_, s)| s)
}

fn part<'a>(sample: Option<&'a Sample>, name: &str) -> Option<&'a Series> {
    sample?.payload.part(name).and_then(Payload::as_series)
}

/// A line of a series as points; what is not finite is left out.
fn points(series: &Series, name: &str) -> Vec<[f64; 2]> {
    let Some(line) = series.lines.iter().find(|l| l.name == name) else { return vec![] };
    series.x.iter().zip(&line.y).map(|(x, y)| [*x, *y]).filter(|p| p[1].is_finite()).collect()
}

/// A number of a `facts` part.
fn fact(sample: Option<&Sample>, name: &str) -> Option<f64> {
    let facts = part(sample, "facts")?;
    facts.lines.iter().find(|l| l.name == name)?.y.first().copied().filter(|v| v.is_finite())
}

fn subtitle(cx: &ViewCx<'_>, channel: &str, what: &str) -> String {
    match sample(cx, channel) {
        Some(s) => format!("step {} \u{b7} {}", s.step, s.about),
        None => what.to_owned(),
    }
}

/// Every point of several charts in one table: chart, line, x, y.
fn table(charts: &[Chart<'_>]) -> Option<String> {
    let mut out = "chart,line,x,y\n".to_owned();
    for chart in charts {
        for line in &chart.lines {
            let Data::Points(points) = &line.data else { continue };
            for [x, y] in points.iter() {
                out.push_str(&format!("{},{},{x},{y}\n", quote(&chart.name), quote(&line.label)));
            }
        }
    }
    charts.iter().any(|c| !c.is_empty()).then_some(out)
}

/// A count as it comes in a series: whole, not negative.
fn grouped(n: f64) -> String {
    if n.is_finite() { number::grouped(n.max(0.0).round() as u64) } else { "\u{2013}".to_owned() }
}
