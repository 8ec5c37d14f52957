//! Distributions of degrees and of other counts: log-binned, with the likeliest power law and lognormal of the tail.

use crate::{
    analysis::graph::{degrees::log_bins, power_law},
    probe::prelude::*,
};

const RATIO: f64 = 1.3;
/// A tail of fewer neurons is too short to be fitted.
const MIN_TAIL: usize = 50;

/// Density over degree of the neurons that have such edges, or over other counts above zero, with what was fitted from
/// `k_min` on.
pub(super) fn distribution(degrees: &[u32]) -> DegreeDistribution {
    let (middles, densities): (Vec<f64>, Vec<f64>) = log_bins(degrees, RATIO).into_iter().unzip();
    let present: Vec<u32> = degrees.iter().copied().filter(|d| *d > 0).collect();
    let power_law = power_law::fit(&present, MIN_TAIL).map(|law| {
        let share = law.tail as f64 / present.len() as f64;
        let over = |p: &dyn Fn(f64) -> f64| -> Numbers {
            middles.iter().map(|k| if *k >= f64::from(law.k_min) { share * p(*k) } else { f64::NAN }).collect()
        };
        let lognormal = power_law::compare_with_lognormal(&present, &law).map(|against| LognormalFit {
            density: over(&|k| against.density(k, law.k_min)),
            log_ratio: against.log_ratio,
            p: against.p,
        });
        PowerLawFit {
            alpha: law.alpha,
            k_min: law.k_min,
            tail: law.tail,
            ks_distance: law.distance,
            density: over(&|k| law.density(k)),
            lognormal,
        }
    });
    DegreeDistribution {
        degree: middles.into(),
        density: densities.into(),
        largest: present.iter().copied().max().unwrap_or_default(),
        power_law,
    }
}
