//! Views of the graph between a BDH model's neurons: the threshold that makes it, its modularity, its
//! degrees, one neuron. This file holds what they ask with, and which answer they show.

mod degrees;
mod modularity;
mod neuron;
mod threshold;

pub use degrees::Degrees;
pub use modularity::Modularity;
pub use neuron::Neuron;
pub use threshold::Threshold;

use crate::{
    labs::neuron_graph::GraphSettings,
    ui::{plot::Data, views::prelude::*},
};

const EMPTY: &str = "No graph has been measured yet. That of a BDH\u{2019}s weights is measured before the first step, and as \
                     it trains: press Space.";

/// The probe's arguments according to the settings; those that a lab has no setting for have their defaults.
fn args(config: &Config) -> NeuronGraphArgs {
    config.group::<GraphSettings>().unwrap_or_default().args()
}

/// True if the newest scheduled graph was measured with the current settings; a live change only affects later graphs.
fn matches_current_settings(cx: &ViewCx<'_>) -> bool {
    let Some(info) = &cx.mirror.info else { return true };
    let mut planned = args(&info.config).to_args();
    let measured_at = cx.mirror.samples(cx.selection.variant, EntryHistogram::CHANNEL).last().map(|s| s.step);
    for (step, key, value) in &cx.mirror.changes {
        let name = key.strip_prefix("graph.").filter(|name| planned.contains_key(*name));
        if let Some(name) = name.filter(|_| measured_at.is_some_and(|at| at > *step)) {
            planned.insert(name.to_owned(), value.clone());
        }
    }
    planned == args(cx.config).to_args()
}

/// Asks when nothing is known, again when the settings differ from the run's own, and when the run has continued since.
pub(super) fn keep_fresh(cx: &mut ViewCx<'_>) {
    // a model that does not train has no scheduled measurements
    if cx.latest::<EntryHistogram>().is_none() || !matches_current_settings(cx) {
        let (variant, args) = (Some(cx.selection.variant), args(cx.config));
        cx.ask::<EntryHistogram>(variant, &args, Freshness::WithSchedule);
    }
}

/// The measurement shown: the scheduled one, or the answer where the settings were changed since.
pub(super) fn shown<'a, M: Measurement>(cx: &ViewCx<'a>) -> Option<Measured<'a, M>> {
    let answered = (!matches_current_settings(cx)).then(|| cx.answered::<M>()).flatten();
    answered.or_else(|| cx.latest::<M>())
}

/// y over x as points; what is not finite is left out.
pub(super) fn points(x: &[f64], y: &[f64]) -> Vec<[f64; 2]> {
    x.iter().zip(y).map(|(x, y)| [*x, *y]).filter(|p| p[1].is_finite()).collect()
}

fn subtitle<M: Measurement>(cx: &ViewCx<'_>, what: &str) -> String {
    sample_subtitle(shown::<M>(cx).map(|m| m.sample), "", what)
}

/// Every point of several charts in one table: chart, line, x, y.
fn table(charts: &[Chart<'_>]) -> Option<Table> {
    let mut table = Table::new(["chart", "line", "x", "y"]);
    for (chart, line) in charts.iter().flat_map(|chart| chart.lines.iter().map(move |line| (chart, line))) {
        let Data::Points(points) = &line.data else { continue };
        points.iter().for_each(|[x, y]| table.cells(&[&chart.name, &line.label, x, y]));
    }
    table.non_empty()
}

/// A count with its thousands apart.
fn grouped_count(n: f64) -> String {
    if n.is_finite() { number::grouped(n.max(0.0).round() as u64) } else { "\u{2013}".to_owned() }
}
