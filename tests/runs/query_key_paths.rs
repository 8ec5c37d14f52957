//! Tests the probe of evolving queries and keys: the model's evolution can be recomputed from its measurement, and
//! models without an evolution are reported.

use candle_core::Device;
use orrery::{
    analysis::query_key_flow::{Evolution, Force, Integrator, PhasePoint},
    config::Value,
    corpus::TokenizerSpec,
    models::{
        FamilySpec, ModelSpec,
        coupled_qk::{CoupledQkSpec, EvolvedLayers, QkVariant},
    },
    probe::{self, ProbeInputs},
    telemetry::{
        Args, Measurement,
        measurements::{IntegrationScheme, QueryKeyEvolution, QueryKeyPaths},
    },
};

use crate::corpus::open_generated;

/// The probe's measurement and the tokens of its sample.
fn ask_paths(spec: CoupledQkSpec, args: &[(&str, Value)]) -> (QueryKeyPaths, Vec<String>) {
    let corpus = open_generated("harbour", TokenizerSpec::Byte { vocab: 320 });
    let mut model =
        ModelSpec::CoupledQk(CoupledQkSpec { positions: 96, ..spec }).build(corpus.vocab(), 3, &Device::Cpu).unwrap();
    let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let probe = probe::find("query_key_paths").unwrap();
    let inputs = ProbeInputs::standalone(&corpus, &Device::Cpu);
    let finding = (probe.ask)(model.as_mut(), &args, &inputs).unwrap().remove(0);
    (QueryKeyPaths::from_payload(&finding.payload).unwrap().clone(), finding.tokens)
}

/// The largest difference, over all tokens, between the end points that f64 arithmetic and the model compute.
fn largest_difference(e: &QueryKeyEvolution) -> f64 {
    let force = Force::learned(e.first.data(), e.second.data(), e.first.cols()).unwrap();
    let integrator = match e.scheme {
        IntegrationScheme::Euler => Integrator::Euler,
        IntegrationScheme::Leapfrog => Integrator::Leapfrog,
    };
    let row =
        |a: &orrery::telemetry::Array, t: usize| a.row(t).unwrap().iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
    let of_token = |t: usize| {
        let start = PhasePoint::new(row(&e.start_q, t), row(&e.start_k, t));
        let end = Evolution { force: &force, integrator, dt: e.dt }.end(&start, e.steps).unwrap();
        let moved = end.distance(&start);
        assert!(moved > 1e-4, "token {t} moves");
        end.distance(&PhasePoint::new(row(&e.end_q, t), row(&e.end_k, t)))
    };
    (0..e.start_q.rows()).map(of_token).fold(0.0, f64::max)
}

#[test]
fn measured_paths_reproduce_the_evolution_of_the_model() {
    for (variant, scheme) in [
        (QkVariant::Euler, IntegrationScheme::Euler),
        (QkVariant::Hamiltonian, IntegrationScheme::Leapfrog),
        (QkVariant::DiffHamiltonian, IntegrationScheme::Leapfrog),
    ] {
        for rotary in [false, true] {
            let spec = CoupledQkSpec { variant, rotary, dt: 0.3, ..CoupledQkSpec::tiny() };
            let (paths, tokens) = ask_paths(spec, &[("layer", Value::Int(1)), ("head", Value::Int(2))]);
            assert_eq!((paths.layer, paths.head, paths.heads, paths.is_typed), (1, 2, 4, false));
            let e = paths.evolution.as_ref().unwrap();
            assert_eq!((e.scheme, e.steps, e.start_q.rows(), e.end_k.cols()), (scheme, 2, tokens.len(), 4));
            assert!((e.dt - 0.3).abs() < 1e-6);
            let off = largest_difference(e);
            assert!(off < 1e-5, "{variant:?}, rotary {rotary}: {off}");
        }
    }
}

#[test]
fn a_layer_that_does_not_evolve_says_so() {
    for variant in [QkVariant::Standard, QkVariant::Mlp, QkVariant::LinearMixing, QkVariant::Invertible] {
        let (paths, _) = ask_paths(CoupledQkSpec { variant, ..CoupledQkSpec::tiny() }, &[]);
        assert_eq!((paths.evolves, paths.evolution), (vec![false, false], None));
    }
    let half = CoupledQkSpec { evolved: EvolvedLayers::LastHalf, ..CoupledQkSpec::tiny() };
    let (paths, _) = ask_paths(half.clone(), &[("layer", Value::Int(0))]);
    assert_eq!((paths.evolves, paths.evolution), (vec![false, true], None));
    let (paths, _) = ask_paths(half, &[("layer", Value::Int(9)), ("head", Value::Int(99))]);
    assert_eq!((paths.layer, paths.head), (1, 3), "the last, where there are fewer");
    assert!(paths.evolution.is_some());
}

#[test]
fn a_typed_text_is_read() {
    let (paths, tokens) = ask_paths(CoupledQkSpec::tiny(), &[("text", Value::Text("The harbour was calm.".into()))]);
    assert!(paths.is_typed);
    assert_eq!((tokens.len(), paths.evolution.unwrap().start_q.rows()), (21, 21));
}
