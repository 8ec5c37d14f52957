//! Tests the probe of BDH dynamics: its weights are the model's, and the equivalences of the paper hold for them.

use candle_core::{Device, Tensor};
use orrery::{
    analysis::bdh_dynamics::{Dense, Drift, Normfree, Weights},
    config::Value,
    corpus::{Corpus, TokenizerSpec},
    models::{
        ModelSpec, Trainable,
        bdh::{BdhSpec, Form, Position},
        gpt::PlainGptSpec,
        graph_bdh::GraphBdhSpec,
    },
    nn::{Tap, host},
    probe::{self, Answer, ProbeInputs},
    telemetry::{
        Args, Array, Measurement,
        measurements::{BdhDynamicsChecks, BdhDynamicsWeights},
    },
};

use crate::corpus::open_generated;

fn text() -> Corpus {
    open_generated("harbour", TokenizerSpec::Char { max_vocab: 64 })
}

fn small(position: Position) -> BdhSpec {
    BdhSpec { d_model: 12, heads: 1, neurons: 64, layers: 2, position, form: Form::Paper, ..BdhSpec::default() }
}

fn ask(model: &mut dyn Trainable, corpus: &Corpus, args: &[(&str, Value)]) -> Vec<Answer> {
    let args: Args = args.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let probe = probe::find("bdh_dynamics").unwrap();
    (probe.ask)(model, &args, &ProbeInputs::standalone(corpus, &Device::Cpu)).unwrap()
}

fn typed(words: &str) -> (&'static str, Value) {
    ("text", Value::Text(words.into()))
}

fn dense(array: &Array) -> Dense<f64> {
    let m = array.matrix(0).unwrap();
    Dense::from_rows(m.rows, m.cols, &m.data.iter().map(|v| f64::from(*v)).collect::<Vec<_>>()).unwrap()
}

fn norm(v: &[f64]) -> Vec<f64> {
    let n = v.len() as f64;
    let mean = v.iter().sum::<f64>() / n;
    let variance = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    v.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt()).collect()
}

/// The dynamics with the measured weights reproduce x of the model's first layer, and y if the layer norm, which the
/// rules lack, is added. A transposed matrix, wrong pulses or a rotation in the wrong direction would fail here.
#[test]
fn measured_weights_reproduce_the_first_layer_of_the_model() {
    let corpus = text();
    for position in [Position::Alibi, Position::Rope, Position::Both, Position::Nothing] {
        let mut model = ModelSpec::Bdh(small(position)).build(corpus.vocab(), 5, &Device::Cpu).unwrap();
        let words = "the ferry left";
        let found = ask(model.as_mut(), &corpus, &[typed(words)]);
        let told: &BdhDynamicsWeights = Measurement::from_payload(&found[0].payload).unwrap();
        let weights = Weights::new(dense(&told.e), dense(&told.d_x), dense(&told.d_y)).unwrap();
        assert!(told.unreached < 1e-6, "64 neurons say 12 channels");
        let drift = if told.rotates { Drift::rope(64) } else { Drift::identity(64) }.with_damping(told.keep);
        let mut normfree = Normfree::new(weights.clone(), drift, 1);
        let ids = corpus.encode(words);
        let tokens = Tensor::from_slice(&ids, (1, ids.len()), &Device::Cpu).unwrap();
        let mut tap = Tap::on(&["layers.0."]);
        model.token_model().unwrap().logits(&tokens, &mut tap).unwrap();
        let tapped = |part: &str| -> Vec<f64> {
            let (_, t) = tap.recorded().iter().find(|(name, _)| name.ends_with(part)).unwrap();
            host::to_f64(t).unwrap()
        };
        let (x, y) = (tapped(".x"), tapped(".y"));
        let pulses = dense(&told.pulses);
        for t in 0..ids.len() {
            assert!(pulses.row(t).iter().all(|p| *p >= 0.0));
            let layer = normfree.token(pulses.row(t)).remove(0);
            let of_model = |all: &[f64]| all[t * 64..(t + 1) * 64].to_vec();
            let largest = of_model(&x).iter().copied().fold(0.0, f64::max);
            for (ours, theirs) in layer.x.iter().zip(of_model(&x)) {
                assert!((ours - theirs).abs() < 1e-4 * largest, "{position:?}: x at token {t}");
            }
            let prods = weights.dy.times(&norm(&layer.a));
            let scale = of_model(&y).iter().copied().fold(1e-9, f64::max);
            for ((prods, x), theirs) in prods.iter().zip(&layer.x).zip(of_model(&y)) {
                let ours = prods.max(0.0) * x;
                assert!((ours - theirs).abs() < 2e-3 * scale, "{position:?}: y at token {t}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn every_equivalence_holds_on_a_models_weights_under_every_u() {
    let corpus = text();
    let mut model = ModelSpec::Bdh(small(Position::Alibi)).build(corpus.vocab(), 5, &Device::Cpu).unwrap();
    for drift in ["trained", "nothing", "damping", "rotation", "both"] {
        let args =
            [typed("the keeper of the light"), ("drift", Value::Text(drift.into())), ("keep", Value::Float(0.8))];
        let found = ask(model.as_mut(), &corpus, &args);
        let checks: &BdhDynamicsChecks = Measurement::from_payload(&found[1].payload).unwrap();
        for (k, check) in [&checks.rules, &checks.normfree, &checks.attention, &checks.two_steps].iter().enumerate() {
            assert!(check.share.iter().all(|s| *s <= 1.0), "{drift}, {k}: {:?}", check.share);
            assert!(check.error.iter().all(|e| *e < 1e-11), "{drift}, {k}: {:?}", check.error);
            assert!(check.bound.iter().all(|b| *b < 1e-6), "{drift}, {k}: it says little: {:?}", check.bound);
            assert_eq!((check.error.len(), check.bound.len(), check.share.len()), (23, 23, 23));
        }
        for square in [&checks.wires, &checks.prods] {
            assert!(square.share <= 1.0 && square.error < 1e-11 && square.bound < 1e-6, "{drift}: {square:?}");
        }
        let keep = BdhDynamicsWeights::from_payload(&found[0].payload).unwrap().keep;
        assert!(match drift {
            "trained" => (keep - (-(2f64.powi(-8))).exp()).abs() < 1e-6,
            "damping" | "both" => keep == 0.8,
            _ => keep == 1.0,
        });
        assert_eq!(checks.wires.excitatory_edges, 2 * 64 * 12, "no weight is exactly zero: 2 n d edges");
        assert_eq!(checks.wires.allowed_edges, 2 * 64 * 12);
    }
}

#[test]
fn only_a_small_model_of_one_head_is_asked() {
    let corpus = text();
    let answers = |spec: ModelSpec| {
        let mut model = spec.build(corpus.vocab(), 1, &Device::Cpu).unwrap();
        ask(model.as_mut(), &corpus, &[typed("the ferry")]).len()
    };
    let spec = small(Position::Rope);
    assert_eq!(answers(ModelSpec::Bdh(spec.clone())), 2);
    assert_eq!(answers(ModelSpec::Bdh(BdhSpec { form: Form::Code, ..spec.clone() })), 2);
    assert_eq!(answers(ModelSpec::Bdh(BdhSpec { heads: 2, ..spec.clone() })), 0);
    assert_eq!(answers(ModelSpec::Bdh(BdhSpec { neurons: 1024, ..spec.clone() })), 0);
    assert_eq!(answers(ModelSpec::Bdh(BdhSpec { gated: true, ..spec })), 0);
    assert_eq!(answers(ModelSpec::PlainGpt(PlainGptSpec::default())), 0);
    assert_eq!(answers(ModelSpec::GraphBdh(GraphBdhSpec { neurons: 300, ..GraphBdhSpec::default() })), 0);
}

/// The measurement of a trained graph model includes its norms and the decay of its synapses, so the rules must compute
/// the same predictions as the model.
#[test]
fn the_rules_of_a_trained_graph_expect_what_the_model_expects() {
    [false, true].into_iter().for_each(rules_expect_what_the_graph_expects);
}

fn rules_expect_what_the_graph_expects(single_state: bool) {
    let corpus = text();
    let spec = GraphBdhSpec { neurons: 32, single_state, ..GraphBdhSpec::default() };
    let mut model = ModelSpec::GraphBdh(spec).build(corpus.vocab(), 5, &Device::Cpu).unwrap();
    let found = ask(model.as_mut(), &corpus, &[typed("the ferry left at dawn")]);
    assert_eq!(found.len(), 1, "the equivalences are of products");
    let told = BdhDynamicsWeights::from_payload(&found[0].payload).unwrap();
    let graph = told.graph.as_ref().unwrap();
    assert!(graph.norms && graph.keep.len() == 32 && graph.weights.shape() == [32, 32]);
    assert_eq!(graph.single_state, single_state);
    assert_eq!(told.rule_predictions.len(), 22);
    for (t, (model, rules)) in told.model_predictions.iter().zip(&told.rule_predictions).enumerate() {
        for (a, b) in model.iter().zip(rules) {
            assert!((a.probability - b.probability).abs() < 1e-6, "{t}: {} {}", a.probability, b.probability);
        }
    }
    let first = told.model_predictions[21][0].probability;
    assert!(first > 1.02 / corpus.vocab() as f64, "{first} is a guess");
}
