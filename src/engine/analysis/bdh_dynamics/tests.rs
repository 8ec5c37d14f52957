//! Tests the equivalences on random graphs and weights, and that the checks can fail.

use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{checks::*, *};

struct Draw(ChaCha8Rng);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    fn dense<N: Number>(&mut self, rows: usize, cols: usize, density: f64) -> Dense<N> {
        let mut entry = || if self.0.random_bool(density) { self.0.random_range(-1.0..1.0) } else { 0.0 };
        let values: Vec<f64> = (0..rows * cols).map(|_| entry()).collect();
        Dense::from_rows(rows, cols, &values).unwrap()
    }

    fn pulses(&mut self, tokens: usize, n: usize) -> Vec<Vec<f64>> {
        let mut fire = || if self.0.random_bool(0.4) { self.0.random_range(0.0..1.0) } else { 0.0 };
        (0..tokens).map(|_| (0..n).map(|_| fire()).collect()).collect()
    }

    fn model(&mut self, n: usize, d: usize, layers: usize, drift: Drift) -> Model {
        let weights = Weights::new(self.dense(d, n, 1.0), self.dense(n, d, 1.0), self.dense(n, d, 1.0)).unwrap();
        Model { weights, drift, layers }
    }
}

/// The drifts of every position: nothing, damping, rotation, and both.
fn drifts(n: usize) -> [Drift; 4] {
    [Drift::identity(n), Drift::damping(n, 0.8), Drift::rope(n), Drift::rope(n).with_damping(0.9)]
}

fn all_rounding(gaps: &[Discrepancy]) -> bool {
    gaps.iter().all(|g| g.is_within_rounding())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Sparse graphs, with inhibition and a sparse G_s.
    #[test]
    fn the_rules_are_equation_6(seed in any::<u64>(), n in 1usize..14, layers in 1usize..4, u in 0usize..4) {
        let mut draw = Draw::new(seed);
        let drift = drifts(n)[u].clone();
        let (gx, gy) = (draw.dense::<Bounded>(n, n, 0.3), draw.dense::<Bounded>(n, n, 0.3));
        let mut gs = draw.dense::<Bounded>(n, n, 0.5);
        gs.data.iter_mut().for_each(|g| *g = g.positive());
        let entry = |k: usize| Synapse { y: k / n, x: k % n, weight: gs.data[k] };
        let synapses = (0..n * n).filter(|k| gs.data[*k].value() > 0.0).map(entry).collect();
        let system = System::new(n, layers, parts(&gx), parts(&gy), synapses, drift.clone());
        let mut equations = Equations::new(gx, gy, gs, drift, layers);
        let gaps = compare_rules(&system, &mut equations, &draw.pulses(5, n));
        prop_assert!(all_rounding(&gaps), "{:?}", gaps);
    }

    #[test]
    fn the_low_rank_model_is_its_graphs(seed in any::<u64>(), n in 1usize..16, d in 1usize..5, u in 0usize..4) {
        let mut draw = Draw::new(seed);
        let model = draw.model(n, d, 3, drifts(n)[u].clone());
        let pulses = draw.pulses(5, n);
        for gaps in [
            rule_discrepancies(&model, &pulses),
            normfree_discrepancies(&model, &pulses),
            state_is_attention(&model, &pulses),
            two_step_discrepancies(&model, &pulses),
        ] {
            prop_assert_eq!(gaps.len(), 5);
            prop_assert!(all_rounding(&gaps), "{:?}", gaps);
        }
        for s in squares(&model) {
            prop_assert!(s.construction.is_within_rounding(), "{:?}", s);
            prop_assert!(s.edges.iter().all(|m| *m <= s.allowed), "{:?}", s);
        }
    }

    /// With whole numbers nothing is rounded, so Claim 3 must hold without any error at all.
    #[test]
    fn the_square_is_exact_on_whole_numbers(seed in any::<u64>(), n in 1usize..12, d in 1usize..5) {
        let mut draw = Draw::new(seed);
        let mut whole = |rows, cols| {
            let mut m = draw.dense::<f64>(rows, cols, 0.8);
            m.data.iter_mut().for_each(|v| *v = (*v * 9.0).round());
            m
        };
        let (dx, e) = (whole(n, d), whole(d, n));
        let [excite, inhibit] = circuits(&dx, &e);
        prop_assert!(excite.edges.iter().chain(&inhibit.edges).all(|e| e.weight > 0.0));
        let non_zero = |m: &Dense<f64>| m.data.iter().filter(|v| **v != 0.0).count();
        prop_assert_eq!(excite.edges.len(), non_zero(&dx) + non_zero(&e));
        let (plus, minus) = (excite.square(), inhibit.square());
        let difference: Vec<f64> = plus.data.iter().zip(&minus.data).map(|(p, m)| p - m).collect();
        prop_assert_eq!(difference, dx.product(&e).data);
        prop_assert!(plus.data.iter().chain(&minus.data).all(|v| *v >= 0.0));
    }
}

/// The state is linear in the inputs read, and the drift matrix U damps or rotates it.
#[test]
fn damping_fades_a_memory_and_rotation_turns_it() {
    let n = 2;
    let sigma_after = |drift: Drift, idle: usize| {
        let none = || Dense::<f64>::zeros(n, n);
        let wires = Dense::from_rows(n, n, &[1.0, 0.0, 0.0, 1.0]).unwrap();
        let ones = Dense::from_rows(n, n, &[1.0; 4]).unwrap();
        let mut equations = Equations::new(wires, none(), ones, drift, 1);
        equations.token(&[1.0, 0.0]);
        (0..idle).for_each(|_| drop(equations.token(&[0.0, 0.0])));
        equations.sigma[0].data.clone()
    };
    // y x^T has one entry, 1; U has acted once more than there were idle tokens.
    assert_eq!(sigma_after(Drift::identity(n), 5), [1.0, 0.0, 0.0, 0.0]);
    assert!((sigma_after(Drift::damping(n, 0.5), 3)[0] - 0.0625).abs() < 1e-15);
    let quarter = Drift::rotation(n, &[std::f64::consts::FRAC_PI_2]);
    let turned = sigma_after(quarter, 1);
    assert!((turned[0] + 1.0).abs() < 1e-15 && turned[1].abs() < 1e-15, "half a turn: {turned:?}");
}

/// All layers read and write one matrix, which fades once per token: compared with loops without rounds.
#[test]
fn a_single_state_serves_all_layers() {
    let (n, layers, keep) = (12, 2, 0.8);
    let mut draw = Draw::new(11);
    let (gx, gy) = (draw.dense::<f64>(n, n, 0.8), draw.dense::<f64>(n, n, 0.8));
    let own = System::new(n, layers, parts(&gx), parts(&gy), System::complete(n), Drift::damping(n, keep));
    let mut system = own.clone();
    system.single_state = true;
    let (mut state, mut of_own) = (system.initial_state(), own.initial_state());
    assert_eq!((state.sigma.len(), of_own.sigma.len()), (1, 2));
    let times = |m: &dyn Fn(usize, usize) -> f64, v: &[f64]| -> Vec<f64> {
        (0..n).map(|i| (0..n).map(|j| m(i, j) * v[j]).sum::<f64>()).collect()
    };
    let near = |found: &[f64], wanted: &[f64]| {
        let largest = wanted.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= 1e-9 * largest)
    };
    let mut sigma = vec![0.0; n * n];
    for pulse in draw.pulses(3, n) {
        sigma.iter_mut().for_each(|s| *s *= keep);
        let (mut x, mut y) = (vec![0.0; n], pulse.clone());
        for _ in 0..layers {
            x.iter_mut().zip(times(&|i, j| gx.at(i, j), &y)).for_each(|(x, wires)| *x += wires.max(0.0));
            let a = times(&|i, j| sigma[i * n + j], &x);
            sigma.iter_mut().enumerate().for_each(|(k, s)| *s += y[k / n] * x[k % n]);
            y = times(&|i, j| gy.at(i, j), &a).iter().zip(&x).map(|(prods, x)| prods.max(0.0) * x).collect();
        }
        for (system, state) in [(&system, &mut state), (&own, &mut of_own)] {
            system.receive_token(state, &pulse);
            while system.round(state).is_some() {}
        }
        assert!(near(&state.y, &y) && near(&state.sigma[0], &sigma), "{:?} {y:?}", state.y);
    }
    assert!(state.y.iter().any(|y| *y > 0.0) && !near(&of_own.y, &state.y), "it is told from two states");
}

#[test]
fn each_round_reports_its_layer_and_changed_nodes() {
    // 0 -wires-> 1; 1 prods 0 and 1; synapses everywhere.
    let edge = |from, to, weight| Edge { from, to, weight };
    let (wires, prods) = ([vec![edge(0, 1, 2.0)], vec![]], [vec![edge(0, 1, 1.0), edge(1, 1, 1.0)], vec![]]);
    let system = System::new(2, 1, wires, prods, System::complete(2), Drift::identity(2));
    let mut state = system.initial_state();
    assert!(system.is_done(&state) && system.round(&mut state.clone()).is_none());
    let arrived = system.receive_token(&mut state, &[1.0, 0.0]);
    assert_eq!((arrived.layer, arrived.nodes.as_slice()), (None, &[1][..]), "X(1) is brought by the wire from 0");
    assert_eq!((&state.x[..], &state.y[..]), (&[0.0, 2.0][..], &[1.0, 0.0][..]));
    let first = system.round(&mut state).unwrap();
    assert_eq!((first.layer, first.kernel, first.nodes.len()), (Some(0), 0, 0), "no state, no answer");
    let grown = system.flows(&state, None);
    assert_eq!(grown, [Flow { from: 0, to: 1, amount: 2.0 }], "Y(0) then X(1)");
    let second = system.round(&mut state).unwrap();
    let place = second.synapses[0];
    assert_eq!((system.synapses()[place].y, system.synapses()[place].x, state.sigma[0][place]), (0, 1, 2.0));
    assert_eq!((second.nodes.as_slice(), state.y.as_slice()), (&[0][..], &[0.0, 0.0][..]), "Y is used up");
    system.round(&mut state).unwrap();
    system.round(&mut state).unwrap();
    assert!(system.round(&mut state).is_none(), "four rounds and one layer");
    // The same token again finds the synapse: A(0) = sigma X(1) = 4, prods excite 1, which has X = 2.
    system.receive_token(&mut state, &[1.0, 0.0]);
    let third = system.round(&mut state).unwrap();
    assert_eq!((third.nodes.as_slice(), state.a.as_slice()), (&[0][..], &[4.0, 0.0][..]));
    system.round(&mut state).unwrap();
    assert_eq!(system.round(&mut state).unwrap().nodes, [1]);
    assert_eq!(state.y, [0.0, 8.0]);
}

/// A check that cannot fail checks nothing: without the drift, with one weight changed, with U twice.
#[test]
fn a_different_system_is_told_from_rounding() {
    let mut draw = Draw::new(5);
    let model = draw.model(8, 3, 2, Drift::damping(8, 0.9));
    let pulses = draw.pulses(6, 8);
    let weights = Weights::<Bounded>::new(draw.dense(3, 8, 1.0), draw.dense(8, 3, 1.0), draw.dense(8, 3, 1.0)).unwrap();
    let ones = Dense::from_rows(8, 8, &[1.0; 64]).unwrap();
    let equations = |keep: f64| {
        let drift = Drift::damping(8, keep);
        Equations::new(weights.gx(), weights.gy(), ones.clone(), drift, 2)
    };
    let system = Model::system(&weights, &model.drift, 2);
    assert!(all_rounding(&compare_rules(&system, &mut equations(0.9), &pulses)));
    assert!(!all_rounding(&compare_rules(&system, &mut equations(0.9 + 1e-9), &pulses)));
    assert!(!all_rounding(&compare_rules(&system, &mut equations(0.81), &pulses)));
    let mut other = weights.clone();
    other.e.data[0] += Bounded::exact(1e-9);
    let system = Model::system(&other, &model.drift, 2);
    assert!(!all_rounding(&compare_rules(&system, &mut equations(0.9), &pulses)));
}

#[test]
fn the_gain_scales_outputs_to_the_norm_of_the_inputs() {
    let mut draw = Draw::new(3);
    let mut model = draw.model(24, 6, 3, Drift::damping(24, 0.9));
    // As small as a model's first weights.
    for m in [&mut model.weights.e, &mut model.weights.dx, &mut model.weights.dy] {
        m.data.iter_mut().for_each(|v| *v *= 0.05);
    }
    let pulses = draw.pulses(10, 24);
    let kappa = gain(&model, &pulses).unwrap();
    model.weights.dy.data.iter_mut().for_each(|v| *v *= kappa);
    let mut normfree = Normfree::new(model.weights.clone(), model.drift.clone(), 3);
    let length = |v: Vec<f64>| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (mut came, mut answered) = (0.0, 0.0);
    for p in &pulses {
        came += length(model.weights.e.times(p));
        answered += length(model.weights.e.times(&normfree.token(p).pop().unwrap().y));
    }
    assert!((answered / came - 1.0).abs() < 1e-6, "{answered} of {came}");
    model.weights.dy.data.fill(0.0);
    assert_eq!(gain(&model, &pulses), None, "what never answers is not helped");
}
