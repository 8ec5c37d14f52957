//! How the entries of G are spread, as lines to draw.

use super::{facts, line};
use crate::{
    analysis::graph::product::{Sign, Spread},
    telemetry::{Payload, Series},
};

const BINS: usize = 161;
const THRESHOLDS: usize = 241;

/// Density with its symmetric part min(f(x), f(-x)) and the rest (figure 9a of the paper), and how many
/// entries are larger than each of some thresholds.
pub(super) fn payload(entries: &Spread, beta: f32, edges: usize) -> Payload {
    // all but the outermost millionth, or the threshold, whichever is further out
    let reach = entries.reach(1e-6).max(1.15 * beta) * 1.05;
    let step = 2.0 * f64::from(reach) / BINS as f64;
    let counts = entries.histogram(reach, BINS);
    let density: Vec<f64> = counts.iter().map(|c| c / (entries.n as f64 * step).max(f64::MIN_POSITIVE)).collect();
    let symmetric: Vec<f64> = (0..BINS).map(|i| density[i].min(density[BINS - 1 - i])).collect();
    let skew = density.iter().zip(&symmetric).map(|(f, s)| f - s).collect();
    let x = (0..BINS).map(|i| -f64::from(reach) + (i as f64 + 0.5) * step).collect();
    let lines = vec![line("frequency", density), line("symmetric", symmetric), line("skew", skew)];
    let histogram = Series { x_label: "entry of G".into(), y_label: "density".into(), x, lines };

    let thresholds: Vec<f32> = (0..THRESHOLDS).map(|i| reach * i as f32 / (THRESHOLDS - 1) as f32).collect();
    let above = |sign: Sign| {
        let count = |beta: &f32| {
            // between the two bounds as if the bin were level
            let (least, most) = entries.above(*beta, sign);
            0.5 * (least as f64 + most as f64)
        };
        thresholds.iter().map(count).collect()
    };
    let survival = Series {
        x_label: "threshold".into(),
        y_label: "entries above".into(),
        x: thresholds.iter().map(|b| f64::from(*b)).collect(),
        lines: vec![
            line("excitatory", above(Sign::Excitatory)),
            line("inhibitory", above(Sign::Inhibitory)),
            line("both", above(Sign::Both)),
        ],
    };
    let m = entries.moments();
    let told = facts(vec![
        ("beta", f64::from(beta)),
        ("edges", edges as f64),
        ("entries", entries.n as f64),
        ("mean", m.mean),
        ("sd", m.sd),
        ("skew", m.skew),
        ("kurtosis", m.kurtosis),
    ]);
    Payload::Bundle(vec![
        ("entries".to_owned(), Payload::Series(histogram)),
        ("survival".to_owned(), Payload::Series(survival)),
        ("facts".to_owned(), Payload::Series(told)),
    ])
}
