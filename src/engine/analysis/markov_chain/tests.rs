//! Chains whose answers are known on paper, and properties of a thousand random ones.

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{
    MIXED, MarkovChain,
    lumping::{Partition, with_shuffled_rows},
    min_mixing_time, stochasticity, total_variation,
};
use crate::analysis::{dense::product, statistics::normalise};

const EXACT: f64 = 1e-12;

fn chain(n: usize, p: &[f64]) -> MarkovChain {
    MarkovChain::new(n, p, EXACT).unwrap()
}

/// Rows of positive numbers, each divided by its sum, with this many of them 0.
fn random(n: usize, sparsity: f64, is_causal: bool, seed: u64) -> MarkovChain {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut p = vec![0.0; n * n];
    for (i, row) in p.chunks_mut(n).enumerate() {
        let most = if is_causal { i + 1 } else { n };
        for v in &mut row[..most] {
            *v = if rng.random::<f64>() < sparsity { 0.0 } else { rng.random::<f64>().powi(3) };
        }
        // Every state can at least stay, or, the first alone, step on: no row is empty.
        row[i] += 0.05;
        normalise(row);
    }
    MarkovChain::new(n, &p, 1e-9).unwrap()
}

fn step(v: &[f64], chain: &MarkovChain) -> Vec<f64> {
    product(v, &chain.p, [1, chain.n, chain.n])
}

#[test]
fn two_states_are_as_on_paper() {
    let (a, b) = (0.1, 0.3);
    let c = chain(2, &[1.0 - a, a, b, 1.0 - b]);
    let pi = &c.stationary()[0];
    assert!((pi[0] - b / (a + b)).abs() < EXACT && (pi[1] - a / (a + b)).abs() < EXACT);
    assert!((c.moduli().unwrap()[1] - (1.0 - a - b)).abs() < EXACT);
    // d(k) = max(pi) |1 - a - b|^k = 0.75 * 0.6^k: 0.27 after 2 steps, 0.162 after 3
    assert_eq!(c.mixing_time(), Some(3));
    assert!(min_mixing_time(0.6) > 1.35 && min_mixing_time(0.6) < 1.36);
}

#[test]
fn a_lazy_ring_is_uniform_and_has_its_cosines() {
    let n = 12;
    let mut p = vec![0.0; n * n];
    for i in 0..n {
        p[i * n + i] = 0.5;
        p[i * n + (i + 1) % n] = 0.25;
        p[i * n + (i + n - 1) % n] = 0.25;
    }
    let ring = chain(n, &p);
    assert!(ring.stationary()[0].iter().all(|m| (m - 1.0 / n as f64).abs() < EXACT));
    let known = 0.5 + 0.5 * (std::f64::consts::TAU / n as f64).cos();
    let moduli = ring.moduli().unwrap();
    assert!((moduli[1] - known).abs() < EXACT && (moduli[2] - known).abs() < EXACT, "{moduli:?}");
    assert!(ring.quasi_stationary().is_none() && ring.steps_to_absorption() == vec![0.0; n]);
}

#[test]
fn a_periodic_chain_has_no_mixing_time() {
    let c = chain(3, &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(c.mixing_time(), None);
    assert!((c.moduli().unwrap()[1] - 1.0).abs() < EXACT);
    assert_eq!(min_mixing_time(1.0), f64::INFINITY);
}

#[test]
fn two_closed_classes_have_no_single_stationary_distribution() {
    let n = 7;
    let mut p = vec![0.0; n * n];
    (p[0], p[n * n - 1]) = (1.0, 1.0);
    (1..n - 1).for_each(|i| (p[i * n + i - 1], p[i * n + i + 1]) = (0.5, 0.5));
    let ruin = chain(n, &p);
    let classes = ruin.classes();
    assert_eq!(classes.iter().filter(|c| c.is_closed()).count(), 2);
    assert_eq!(classes.len(), 3);
    assert_eq!((ruin.stationary().len(), ruin.mixing_time()), (2, None));
    // The gambler's ruin: i (N - i) games.
    for (i, steps) in ruin.steps_to_absorption().iter().enumerate() {
        assert!((steps - (i * (n - 1 - i)) as f64).abs() < 1e-10, "{i}: {steps}");
    }
    let quasi = ruin.quasi_stationary().unwrap();
    let sines: Vec<f64> = (0..n).map(|i| (std::f64::consts::PI * i as f64 / (n - 1) as f64).sin()).collect();
    assert!((quasi.survival - (std::f64::consts::PI / (n - 1) as f64).cos()).abs() < 1e-10, "{}", quasi.survival);
    let total: f64 = sines.iter().sum();
    let known: Vec<f64> = sines.iter().map(|s| s / total).collect();
    assert!(total_variation(&quasi.distribution, &known) < 1e-10, "{quasi:?}");
}

#[test]
fn causal_attention_ends_on_its_first_token() {
    let c = chain(3, &[1.0, 0.0, 0.0, 0.75, 0.25, 0.0, 0.25, 0.25, 0.5]);
    assert!(c.is_triangular());
    assert_eq!(c.stationary(), [[1.0, 0.0, 0.0]]);
    assert_eq!(c.moduli().unwrap(), [1.0, 0.5, 0.25]);
    let steps = c.steps_to_absorption();
    assert!((steps[1] - 4.0 / 3.0).abs() < EXACT && (steps[2] - 8.0 / 3.0).abs() < EXACT, "{steps:?}");
    let quasi = c.quasi_stationary().unwrap();
    assert_eq!(quasi.survival, 0.5);
    assert!((quasi.distribution[1] - 0.5).abs() < EXACT && (quasi.distribution[2] - 0.5).abs() < EXACT);
}

#[test]
fn one_state_is_mixed_and_invalid_chains_are_refused() {
    let c = chain(1, &[1.0]);
    assert_eq!((c.mixing_time(), c.stationary()), (Some(0), vec![vec![1.0]]));
    let refused = |n, p: &[f64]| MarkovChain::new(n, p, 1e-6).unwrap_err().to_string();
    assert!(refused(2, &[1.0, 0.0, 0.5, 0.4]).starts_with("row 1 sums to 0.9"));
    assert!(refused(2, &[1.5, -0.5, 0.5, 0.5]).starts_with("row 0, column 1 holds -0.5"));
    assert!(refused(2, &[1.0]).contains("2 rows of 2 numbers"));
    assert!(refused(1, &[f64::NAN]).contains("NaN"));
    let found = stochasticity(2, &[0.5, 0.4, -0.25, 1.25]);
    assert!((found.row_sum_error - 0.1).abs() < EXACT && found.smallest == -0.25);
}

/// Steps between blocks as `coarse` says, and within a block to states with weights that differ from row to row.
fn lumpable(width: usize, blocks: usize, seed: u64) -> MarkovChain {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let coarse = random(blocks, 0.2, false, seed);
    let n = width * blocks;
    let mut p = vec![0.0; n * n];
    for (i, row) in p.chunks_mut(n).enumerate() {
        for (block, part) in row.chunks_mut(width).enumerate() {
            let weights: Vec<f64> = part.iter().map(|_| 0.1 + rng.random::<f64>()).collect();
            let total: f64 = weights.iter().sum();
            part.iter_mut().zip(weights).for_each(|(p, w)| *p = coarse.at(i / width, block) * w / total);
        }
    }
    MarkovChain::new(n, &p, 1e-9).unwrap()
}

#[test]
fn blocks_that_lump_by_construction_are_found_again() {
    let c = lumpable(3, 4, 5);
    let blocks = Partition::consecutive(12, 3);
    assert!(blocks.error(&c).largest < EXACT);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let shuffled = blocks.shuffled(&mut rng);
    assert!(shuffled.error(&c).mean > 0.05);
    assert!(shuffled.improved(&c, 20).error(&c).mean <= shuffled.error(&c).mean);
    // Two states that are in one another's blocks are put back.
    assert!(blocks.swapped(1, 7).improved(&c, 20).error(&c).largest < EXACT);
}

/// Chains on which the QR iteration stands still in the basis of their states.
#[test]
fn sparse_chains_have_eigenvalues_too() {
    for (n, sparsity, seed) in [
        (11, 0.920_969_141_828_255_6, 13_739_611_482_506_331_916),
        (13, 0.889_160_012_615_604_3, 15_774_909_190_546_075_712),
    ] {
        let moduli = random(n, sparsity, false, seed).moduli().unwrap();
        assert!((moduli[0] - 1.0).abs() < 1e-10, "{moduli:?}");
    }
    (0..3000).for_each(|seed| assert!(random(11, 0.92, false, seed).moduli().is_some(), "{seed}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_stationary_distribution_stays_and_every_class_is_found(
        n in 1usize..14, sparsity in 0.0f64..0.95, is_causal in any::<bool>(), seed in any::<u64>(),
    ) {
        let c = random(n, sparsity, is_causal, seed);
        let classes = c.classes();
        let mut states: Vec<usize> = classes.iter().flat_map(|class| class.states.clone()).collect();
        states.sort_unstable();
        prop_assert_eq!(states, (0..n).collect::<Vec<_>>());
        let all = c.stationary();
        prop_assert_eq!(all.len(), classes.iter().filter(|class| class.is_closed()).count());
        prop_assert!(!all.is_empty());
        for pi in &all {
            prop_assert!(pi.iter().all(|m| *m >= 0.0));
            prop_assert!(total_variation(&step(pi, &c), pi) < EXACT);
        }
        // As many eigenvalues 1 as closed classes: no state here has a period.
        let moduli = c.moduli().unwrap();
        let ones = moduli.iter().filter(|m| (**m - 1.0).abs() < 1e-6).count();
        prop_assert!(ones >= all.len(), "{} of {}", ones, all.len());
        // A single closed class mixes, except where mixing takes more steps than are counted.
        let is_too_slow = moduli.get(1).is_some_and(|m| *m > 1.0 - 1e-11);
        let has_one = all.len() == 1;
        prop_assert!(c.mixing_time().is_some() == has_one || has_one && is_too_slow, "{:?}", moduli);
    }

    #[test]
    fn the_mixing_time_is_the_first_mixed_step_and_not_below_its_bound(
        n in 2usize..9, sparsity in 0.0f64..0.6, is_causal in any::<bool>(), seed in any::<u64>(),
    ) {
        let c = random(n, sparsity, is_causal, seed);
        let all = c.stationary();
        prop_assume!(all.len() == 1);
        // the mixing time may be too long to be counted; shorter ones are counted step by step below
        let mixing = c.mixing_time().unwrap_or(u64::MAX);
        prop_assume!(mixing < 3000);
        prop_assert!(mixing as f64 >= min_mixing_time(c.moduli().unwrap()[1]) - 1e-6);
        let mut rows: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        let mut first = 0u64;
        while rows.iter().map(|row| total_variation(row, &all[0])).fold(0.0, f64::max) > MIXED {
            rows = rows.iter().map(|row| step(row, &c)).collect();
            first += 1;
        }
        prop_assert_eq!(mixing, first);
    }

    #[test]
    fn the_quasi_stationary_distribution_keeps_its_shape(
        n in 2usize..14, sparsity in 0.0f64..0.5, seed in any::<u64>(),
    ) {
        let c = random(n, sparsity, true, seed);
        let quasi = c.quasi_stationary();
        prop_assert_eq!(quasi.is_none(), c.transient().is_empty());
        if let Some(quasi) = quasi {
            let mut next = step(&quasi.distribution, &c);
            for class in c.classes().iter().filter(|class| class.is_closed()) {
                class.states.iter().for_each(|state| next[*state] = 0.0);
            }
            let expected: Vec<f64> = quasi.distribution.iter().map(|m| m * quasi.survival).collect();
            prop_assert!(total_variation(&next, &expected) < EXACT);
            prop_assert!(c.steps_to_absorption().iter().all(|steps| steps.is_finite() && *steps >= 0.0));
        }
    }

    #[test]
    fn no_lumping_error_leaves_the_unit_interval_and_rows_keep_their_entropy(
        n in 1usize..20, width in 1usize..7, seed in any::<u64>(), is_causal in any::<bool>(),
    ) {
        let c = random(n, 0.2, is_causal, seed);
        let blocks = Partition::consecutive(n, width);
        let error = blocks.error(&c);
        prop_assert!(error.mean <= error.largest && error.largest <= 1.0 + EXACT && error.mean >= 0.0);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let null = with_shuffled_rows(&c, &mut rng);
        prop_assert_eq!(null.is_triangular(), c.is_triangular());
        for (a, b) in null.row_entropies().iter().zip(c.row_entropies()) {
            prop_assert!((a - b).abs() < 1e-9);
        }
        prop_assert!(blocks.improved(&c, 2).error(&c).mean <= error.mean);
        prop_assert_eq!(Partition::consecutive(n, n).error(&c).largest < 1e-9, true);
    }
}
