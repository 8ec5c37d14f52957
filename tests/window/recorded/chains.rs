//! Attention as a Markov chain, computed from the recorded maps, and made-up distances of a post block from a
//! generator.

use orrery::{
    analysis::markov_chain::{MarkovChain, lumping::Partition, min_mixing_time, stochasticity},
    telemetry::{
        Array,
        measurements::{
            AttentionChain, AttentionMaps, ChainLumping, ChainProperties, ColumnSums, GateBenefit, GeneratorDistance,
            NullDistance, NullError, TokenResiduals,
        },
    },
};

use super::Noise;

/// The chain whose transition matrix is the attention of one head in the last layer.
pub fn chain(maps: &AttentionMaps, head: usize) -> AttentionChain {
    let layer = maps.layers.last().unwrap();
    let matrix = layer.weights.matrix(head).unwrap();
    let layers = maps.layers.iter().map(|l| l.path.clone()).collect();
    AttentionChain { path: layer.path.clone(), head, heads: 4, layers, ..of_weights(matrix.rows, matrix.data) }
}

/// The chain with the transition matrix `weights`, (n, n).
pub fn of_weights(n: usize, weights: &[f32]) -> AttentionChain {
    let p: Vec<f64> = weights.iter().map(|w| f64::from(*w)).collect();
    let (check, chain) = (stochasticity(n, &p), MarkovChain::new(n, &p, 0.02));
    AttentionChain {
        path: "layers.0".into(),
        head: 0,
        heads: 1,
        layers: vec!["layers.0".into()],
        tokens_per_position: 1,
        is_typed: false,
        first_sees_nothing: false,
        weights: Array::new([n, n], weights.to_vec()).unwrap(),
        row_sum_error: check.row_sum_error,
        smallest: check.smallest,
        problem: chain.as_ref().err().map(ToString::to_string),
        chain: chain.ok().map(|chain| properties(&chain)),
    }
}

fn properties(chain: &MarkovChain) -> ChainProperties {
    let (stationary, moduli, quasi) = (chain.stationary(), chain.moduli().unwrap(), chain.quasi_stationary());
    let blocks = Partition::consecutive(chain.states(), 4);
    let error = blocks.error(chain);
    ChainProperties {
        is_causal: chain.is_triangular(),
        closed_classes: stationary.len(),
        stationary: (stationary.len() == 1).then(|| stationary[0].clone().into()),
        mixing_time: chain.mixing_time(),
        min_mixing_time: moduli.get(1).map_or(0.0, |m| min_mixing_time(*m)),
        moduli: moduli.into(),
        row_entropy: chain.row_entropies().into(),
        uniform_entropy: (1..=chain.states()).map(|t| (t as f64).ln()).collect(),
        steps_to_absorption: chain.steps_to_absorption().into(),
        survival: quasi.as_ref().map_or(f64::NAN, |q| q.survival),
        quasi_stationary: quasi.map(|q| q.distribution.into()),
        lumping: ChainLumping {
            width: 4,
            mean: error.mean,
            largest: error.largest,
            error: error.of_block.into(),
            shuffled_rows: NullError { mean: 1.2 * error.mean, sd: 0.01, draws: 40 },
            random_blocks: NullError { mean: 1.5 * error.mean, sd: 0.02, draws: 40 },
            best: blocks.labels().to_vec(),
            best_mean: 0.9 * error.mean,
        },
    }
}

/// Residuals of 48 tokens. They shrink with each pass, more slowly at later training steps, and the first token's is
/// the largest.
pub fn token_residuals(step: u64) -> TokenResiduals {
    let mut noise = Noise::new(5);
    let size: Vec<f64> = (0..48).map(|t| (if t == 0 { 1.4 } else { 0.0 } + 0.25 * noise.next()).exp()).collect();
    let rate = 0.6 + step as f64 / 3000.0;
    let after = |passes: usize| size.iter().map(|s| 0.3 * s * rate.powi(passes as i32)).collect();
    let passes = vec![0, 1, 2, 4, 8];
    let gate = GateBenefit {
        gate: 0.0004 * step as f64,
        windows: 4,
        residual: (0..240).map(|_| 0.2 * (0.3 * noise.next()).exp()).collect(),
        benefit: (0..240).map(|_| 0.05 + 0.1 * noise.next()).collect(),
        correlation: -0.11,
        null_mean: 0.01,
        null_sd: 0.06,
        p: 0.048,
    };
    let gate = (step > 0).then_some(gate);
    TokenResiduals { round: 1, residual: passes.iter().map(|p| after(*p)).collect(), passes, gate }
}

/// Measurements of a block that moves away from the identity during training.
pub fn generator_distance(step: u64) -> GeneratorDistance {
    let mut noise = Noise::new(77);
    let size = 0.02 + step as f64 / 2000.0;
    GeneratorDistance {
        position: 31,
        round: 0,
        column_sums: (0..128).map(|_| 1.0 + size * noise.next()).collect(),
        negative_share: 0.5 - step as f64 / 20_000.0,
        distance: 0.71 + step as f64 / 10_000.0,
        norm: 0.4 + step as f64 / 100.0,
        permuted: NullDistance {
            draws: 20,
            distance: 0.73 + step as f64 / 10_000.0,
            distance_sd: 0.004,
            smallest: 1.0 - 2.4 * size,
            largest: 1.0 + 2.4 * size,
        },
        random_map: ColumnSums { states: 12, dt: 0.018, draws: 1000, smallest: 0.898, largest: 1.102 },
    }
}
