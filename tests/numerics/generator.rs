//! Tests generators of Markov chains: comparison with the oracle, and the theorem's statements for a thousand random
//! generators.

use candle_core::Device;
use orrery_lab::{
    analysis::generator::{
        Control, ControlledGenerator, Generator, MatrixKind, Topology, TopologySettings, classes, euler, exact, limit,
        spectrum,
    },
    models::{
        ModelSpec, Trainable,
        stationary::{RateSource, StationarySpec},
    },
};
use proptest::{prelude::*, test_runner::TestCaseError};

use crate::op_checks::apart;

#[derive(serde::Deserialize)]
struct Oracle {
    matrix: Vec<Vec<f64>>,
    stationary: Vec<f64>,
    eigenvalues_real: Vec<f64>,
    eigenvalues_imag: Vec<f64>,
}

fn oracle() -> Oracle {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/oracles/statistics.json");
    let all: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    serde_json::from_value(all["generator"].clone()).unwrap()
}

#[test]
fn the_stationary_distribution_and_the_eigenvalues_are_the_oracles() {
    let oracle = oracle();
    let n = oracle.matrix.len();
    let a = Generator::from_rates(n, oracle.matrix.concat()).unwrap();
    for (row, known) in a.matrix().chunks(n).zip(&oracle.matrix) {
        assert!(row.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-12), "the diagonal is what the columns leave");
    }
    let classes = classes(&a);
    assert_eq!(classes.len(), 1);
    let p = classes[0].stationary.as_ref().unwrap();
    for (p, known) in p.iter().zip(&oracle.stationary) {
        assert!((p - known).abs() < 1e-10, "{p} and {known}");
    }
    let found = spectrum(&a, 1).unwrap().eigenvalues;
    for (re, im) in oracle.eigenvalues_real.iter().zip(&oracle.eigenvalues_imag) {
        let nearest = found.iter().map(|l| (l[0] - re).hypot(l[1] - im)).fold(f64::INFINITY, f64::min);
        assert!(nearest < 1e-10, "{re} + {im} i: {nearest}");
    }
    // the paper's check (Remark 31): forward Euler from one state ends within 1e-7 of the null vector
    let mut start = vec![0.0; n];
    start[0] = 1.0;
    let steps = euler(&a, &start, 0.5 * a.step_bound(), 400, &oracle.stationary);
    assert!(steps.error[400] < 9.7e-8 && steps.residual[400] < 1.2e-7, "{} {}", steps.error[400], steps.residual[400]);
}

/// A random generator with some rates equal to zero, so that many are reducible, and a random distribution.
fn generators() -> impl Strategy<Value = (Generator, Vec<f64>)> {
    (2usize..12, 0.0..1.0f64).prop_flat_map(|(n, kept)| {
        let rate = (0.0..1.0f64, 0.01..5.0f64).prop_map(move |(chance, rate)| if chance < kept { rate } else { 0.0 });
        let start = prop::collection::vec(0.01..1.0f64, n);
        (prop::collection::vec(rate, n * n), start).prop_map(move |(rates, start)| {
            let total: f64 = start.iter().sum();
            let start = start.into_iter().map(|x| x / total).collect();
            (Generator::from_rates(n, rates).unwrap(), start)
        })
    })
}

fn near(a: &[f64], b: &[f64], tolerance: f64) -> Result<(), TestCaseError> {
    let apart = apart(a, b);
    prop_assert!(apart < tolerance, "{a:?} and {b:?}: {apart}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn mass_is_kept_and_relative_entropy_falls((a, start) in generators(), share in 0.05..1.0f64) {
        let closed = classes(&a);
        let end = limit(&a, &closed, &start);
        let dt = share * if a.step_bound().is_finite() { a.step_bound() } else { 1.0 };
        for flow in [euler(&a, &start, dt, 60, &end), exact(&a, &start, dt, 60, &end)] {
            prop_assert!(flow.mass.iter().all(|m| (m - 1.0).abs() < 1e-11));
            prop_assert!(flow.states.iter().flatten().all(|p| *p >= -1e-15));
            // the relative entropy is infinite as long as there is mass in states in which the limit has none
            prop_assert!(flow.entropy.windows(2).all(|w| w[1] <= w[0] + 1e-11 || w[0].is_infinite()), "{:?}", flow.entropy);
        }
    }

    #[test]
    fn every_stationary_distribution_is_one_and_there_are_as_many_as_the_kernel_has_dimensions((a, start) in generators()) {
        let n = a.len();
        let all = classes(&a);
        let closed: Vec<&Vec<f64>> = all.iter().filter_map(|c| c.stationary.as_ref()).collect();
        prop_assert!(!closed.is_empty());
        let scale = if a.step_bound().is_finite() { 1.0 / a.step_bound() } else { 1.0 };
        for p in &closed {
            near(&a.apply(p), &vec![0.0; n], 1e-13 * scale)?;
            prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-13 && p.iter().all(|x| *x >= 0.0));
        }
        let values = orrery_lab::analysis::singular_values::singular_values(n, n, a.matrix()).unwrap();
        let kernel = values.iter().filter(|s| **s <= 1e-11 * scale).count();
        prop_assert_eq!(kernel, closed.len());
        // every state belongs to exactly one class
        let mut states: Vec<usize> = all.iter().flat_map(|c| c.states.clone()).collect();
        states.sort_unstable();
        prop_assert_eq!(states, (0..n).collect::<Vec<_>>());
        // the limit is stationary and the flow converges to it, in a time that the spectral gap determines
        let end = limit(&a, &all, &start);
        near(&a.apply(&end), &vec![0.0; n], 1e-12 * scale)?;
        let gap = spectrum(&a, closed.len()).unwrap().gap;
        if gap > 1e-3 {
            let flow = exact(&a, &start, 60.0 / gap, 1, &end);
            near(&flow.states[1], &end, 1e-9)?;
        }
    }

    #[test]
    fn a_control_keeps_what_is_reachable(seed in 0u64..1000, y0 in -2.0..2.0f64, y1 in -2.0..2.0f64, sparsity in 0.0..0.95f64) {
        let settings = TopologySettings { topology: Topology::Random, states: 9, sparsity };
        let a = ControlledGenerator::new(settings.draw(seed).unwrap(), Control { dims: 2, strength: 1.0 }, seed);
        let states = |a: &Generator| classes(a).into_iter().map(|c| c.states).collect::<Vec<_>>();
        prop_assert_eq!(states(&a.at(&[y0, y1]).unwrap()), states(a.base()));
    }
}

#[test]
fn a_matrix_in_a_file_is_the_generator_and_stays_it_when_the_file_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("attention.csv");
    std::fs::write(&path, "0.5,0.5,0\n0.25,0.5,0.25\n0,1,0\n").unwrap();
    let file =
        |holds| StationarySpec { rates: RateSource::File { path: path.clone(), holds }, ..StationarySpec::default() };
    let built = |spec: &StationarySpec| ModelSpec::Stationary(spec.clone()).build(256, 3, &Device::Cpu);
    let model = built(&file(MatrixKind::Transitions)).unwrap();
    let matrix =
        |model: &dyn Trainable| model.capabilities().stationary_map.unwrap().generator().base().matrix().to_vec();
    // from state 1 (row 0) to state 2 with probability 1/2: column 0, row 1
    assert_eq!(matrix(model.as_ref()), [-0.5, 0.25, 0.0, 0.5, -0.5, 1.0, 0.0, 0.25, -1.0]);
    std::fs::remove_file(&path).unwrap();
    let ModelSpec::Stationary(kept) = model.spec() else { panic!("another family") };
    assert_eq!(matrix(built(&kept).unwrap().as_ref()), matrix(model.as_ref()));
    let said = built(&file(MatrixKind::Rates)).err().unwrap().to_string();
    assert!(said.contains("attention.csv"), "{said}");
    std::fs::write(&path, "0,1\n-2,0\n").unwrap();
    let said = built(&file(MatrixKind::Rates)).err().unwrap().to_string();
    assert!(said.contains("attention.csv") && said.contains("from state 1 to state 2 is -2"), "{said}");
}
