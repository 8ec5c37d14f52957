//! Hebbian rules for the feedforward weights, which the paper (arXiv 2604.08556, section 3) names, tried and gave up: all four
//! "collapsed to rank 1 or failed to outperform random projections". It prints none of them, so that their form here is a
//! reading of their sources. Plain slices: W `(inputs, units)`, columns one after another, z the level's input, y its state.

use crate::{models::prelude::*, nn::kernels::sparse::Sparse};

choices! {
    /// The rule by which feedforward weights learn.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FeedforwardRule {
        /// They stay as they were drawn, as in the paper's results.
        #[default]
        Frozen = "frozen",
        /// Sanger's generalised Hebbian algorithm (1989).
        Sanger = "sanger",
        /// Foldiak's (1990): Hebbian weights, and inhibition between units that learns to undo their correlation.
        Foldiak = "foldiak",
        /// The precision-gated Hebbian update (PGHU) of the feedback weights, at surprising words alone.
        Surprise = "surprise",
        /// The forward-forward algorithm (Hinton 2022); negative sentences are read from the wrong side.
        ForwardForward = "forward_forward",
    }
}

/// The weight of a word's surprise in the running mean that it is compared with.
const EMA_RATE: f32 = 0.01;
/// The goodness between positive words and negative ones. Drives of a random network begin near it.
const THRESHOLD: f32 = 1.0;

/// W_i += eta y_i (z - sum over k <= i of y_k W_k): row i learns what the rows before it leave of the input.
pub fn sanger(weights: &mut [f32], units: usize, [input, state]: [&Sparse; 2], rate: f32) {
    let inputs = weights.len() / units.max(1);
    let mut left = vec![0.0; inputs]; // z - sum
    input.iter().for_each(|(j, z)| left[j] = z);
    for (i, y) in state.iter() {
        for (j, left) in left.iter_mut().enumerate() {
            let w = &mut weights[j * units + i];
            *left -= y * *w;
            *w += rate * y * *left;
        }
    }
}

/// W_i += eta (z - W_i) of every unit that is on; and between units, with p the share of units that are on,
/// A_ij <- min(0, A_ij - eta (o_i o_j - p^2)), o 1 where a unit is on and 0 where it is not, A_ii = 0.
/// `active` of the level's `units` are kept.
pub fn foldiak(
    weights: &mut [f32],
    inhibition: &mut [f32],
    [units, active]: [usize; 2],
    [input, state]: [&Sparse; 2],
    rate: f32,
) {
    let inputs = weights.len() / units.max(1);
    let mut z = vec![0.0; inputs];
    input.iter().for_each(|(j, value)| z[j] = value);
    for (i, _) in state.iter() {
        for (j, z) in z.iter().enumerate() {
            let w = &mut weights[j * units + i];
            *w += rate * (z - *w);
        }
    }
    let p = active as f32 / units as f32;
    let mut is_on = vec![0.0; units];
    state.iter().for_each(|(i, _)| is_on[i] = 1.0);
    for (j, column) in inhibition.chunks_exact_mut(units).enumerate() {
        let on = is_on[j];
        column.iter_mut().zip(&is_on).for_each(|(a, o)| *a = (*a - rate * (o * on - p * p)).min(0.0));
        column[j] = 0.0;
    }
}

/// The prediction errors of a level and how much they count.
#[derive(Debug, Clone, Copy)]
pub struct Surprise<'a> {
    /// The prediction errors r = x - xhat, `(units)`.
    pub errors: &'a [f32],
    /// The precisions pi, `(units)`.
    pub precision: &'a [f32],
    /// The learning rate eta.
    pub rate: f32,
    /// The weight decay lambda_d.
    pub decay: f32,
}

/// W <- (1 - lambda_d) W + eta pi (pi r) z^T where the word's surprise, the sum of pi r^2, is above its running mean; then
/// the mean follows.
pub fn surprise_gated(weights: &mut [f32], mean: &mut f32, input: &Sparse, level: &Surprise<'_>) {
    let weighted = || level.errors.iter().zip(level.precision);
    let surprise: f32 = weighted().map(|(r, pi)| pi * r * r).sum();
    if surprise > *mean {
        weights.iter_mut().for_each(|w| *w *= 1.0 - level.decay);
        let units = level.errors.len();
        for (j, z) in input.iter() {
            let column = &mut weights[j * units..][..units];
            column.iter_mut().zip(weighted()).for_each(|(w, (r, pi))| *w += level.rate * pi * (pi * r) * z);
        }
    }
    *mean += EMA_RATE * (surprise - *mean);
}

/// The goodness G, the sum of u^2, rises for positive words and falls for negative ones: the gradient of
/// log sigmoid(+-(G - theta)), W += +-eta sigmoid(-+(G - theta)) u z^T. `length` is the factor from the state y to the
/// drives u of the units that are kept, before they are scaled.
pub fn forward_forward(weights: &mut [f32], units: usize, [input, state]: [&Sparse; 2], length: f32, signed_rate: f32) {
    let goodness: f32 = state.iter().map(|(_, y)| (length * y) * (length * y)).sum();
    let sign = signed_rate.signum();
    let factor = signed_rate / (1.0 + (sign * (goodness - THRESHOLD)).exp());
    for (j, z) in input.iter() {
        let column = &mut weights[j * units..][..units];
        state.iter().for_each(|(i, y)| column[i] += factor * length * y * z);
    }
}
