//! The distribution of the entries of G.

use crate::{
    analysis::graph::product::{Sign, Spread},
    probe::prelude::*,
};

const BINS: usize = 161;
const THRESHOLDS: usize = 241;

/// Density with its symmetric part min(f(x), f(-x)) and the rest (figure 9a of the paper), and how many
/// entries are larger than each of some thresholds.
pub(super) fn histogram(entries: &Spread, beta: f32, edges: usize) -> EntryHistogram {
    // all but the outermost millionth, or the threshold, whichever is further out
    let reach = entries.reach(1e-6).max(1.15 * beta) * 1.05;
    let step = 2.0 * f64::from(reach) / BINS as f64;
    let counts = entries.histogram(reach, BINS);
    let density: Vec<f64> = counts.iter().map(|c| c / (entries.n as f64 * step).max(f64::MIN_POSITIVE)).collect();
    let symmetric: Vec<f64> = (0..BINS).map(|i| density[i].min(density[BINS - 1 - i])).collect();
    let skew = density.iter().zip(&symmetric).map(|(f, s)| f - s).collect();
    let entry = (0..BINS).map(|i| -f64::from(reach) + (i as f64 + 0.5) * step).collect();

    let thresholds: Vec<f32> = (0..THRESHOLDS).map(|i| reach * i as f32 / (THRESHOLDS - 1) as f32).collect();
    let above = |sign: Sign| -> Numbers {
        let count = |beta: &f32| {
            // between the two bounds as if the bin were level
            let (least, most) = entries.above(*beta, sign);
            0.5 * (least as f64 + most as f64)
        };
        thresholds.iter().map(count).collect()
    };
    let m = entries.moments();
    EntryHistogram {
        entry,
        density: density.into(),
        symmetric: symmetric.into(),
        skew,
        threshold: thresholds.iter().map(|b| f64::from(*b)).collect(),
        above: EntriesAbove {
            excitatory: above(Sign::Excitatory),
            inhibitory: above(Sign::Inhibitory),
            both: above(Sign::Both),
        },
        beta: f64::from(beta),
        edges,
        entries: entries.n,
        mean: m.mean,
        standard_deviation: m.sd,
        skewness: m.skew,
        kurtosis: m.kurtosis,
    }
}
