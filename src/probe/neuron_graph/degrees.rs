//! Degrees as lines to draw: log-binned, with the likeliest power law and lognormal of the tail.

use super::{facts, line};
use crate::{
    analysis::graph::{degrees::log_bins, power_law},
    telemetry::{Line, Payload, Series},
};

const RATIO: f64 = 1.3;
/// A tail of fewer neurons says nothing.
const LEAST_TAIL: usize = 50;

pub(super) fn payload(out: &[u32], into: &[u32]) -> Payload {
    let (out, out_facts) = one(out, "out");
    let (into, in_facts) = one(into, "in");
    let mut told = facts(vec![]);
    told.lines = out_facts.into_iter().chain(in_facts).collect();
    Payload::Bundle(vec![
        ("out".to_owned(), Payload::Series(out)),
        ("in".to_owned(), Payload::Series(into)),
        ("facts".to_owned(), Payload::Series(told)),
    ])
}

/// Density over degree of the neurons that have such edges, with what was fitted from `k_min` on.
fn one(degrees: &[u32], side: &str) -> (Series, Vec<Line>) {
    let bins = log_bins(degrees, RATIO);
    let x: Vec<f64> = bins.iter().map(|b| b.middle).collect();
    let mut lines = vec![line("density", bins.iter().map(|b| b.density).collect())];
    let mut told = vec![];
    let mut tell = |name: &str, v: f64| told.push(line(&format!("{side}_{name}"), vec![v]));
    let present: Vec<u32> = degrees.iter().copied().filter(|d| *d > 0).collect();
    tell("most", f64::from(present.iter().copied().max().unwrap_or_default()));
    if let Some(law) = power_law::fit(&present, LEAST_TAIL) {
        let share = law.tail as f64 / present.len() as f64;
        let from = |b: &crate::analysis::graph::degrees::Bin| b.middle >= f64::from(law.k_min);
        let over = |p: &dyn Fn(f64) -> f64| -> Vec<f64> {
            bins.iter().map(|b| if from(b) { share * p(b.middle) } else { f64::NAN }).collect()
        };
        lines.push(line("power law", over(&|k| law.density(k))));
        tell("alpha", law.alpha);
        tell("k_min", f64::from(law.k_min));
        tell("tail", law.tail as f64);
        tell("distance", law.distance);
        if let Some(against) = power_law::against_lognormal(&present, &law) {
            lines.push(line("lognormal", over(&|k| against.density(k, law.k_min))));
            tell("log_ratio", against.log_ratio);
            tell("p", against.p);
        }
    }
    let series = Series { x_label: format!("{side}-degree"), y_label: "share of neurons a unit".into(), x, lines };
    (series, told)
}
