//! Tests that the gradients of an accumulator equal those of candle's graph, for every family and every kind of loss.

use candle_core::{Device, Tensor, Var};
use orrery_lab::{
    models::{
        ModelSpec,
        bdh::BdhSpec,
        dense::DenseSpec,
        fast_slow::{Approach, FastSlowSpec, Hierarchy, SlowMixer},
        gpt::{AlibiGptSpec, PlainGptSpec},
        ode_flow::{OdeFlowSpec, Steering},
    },
    nn::{
        Batch, Result,
        fused::{
            GradAccumulator, PartialGraph,
            attention::AttentionSpec,
            layer::{LayerSpec, LayerStyle, flatten_into, layer},
            mlp::Act,
        },
        host,
        residual_mixing::ResidualMixing,
    },
};

use crate::op_checks::{distance, largest};

const VOCAB: usize = 20;

fn batch() -> Result<Batch> {
    let ids = |by: u32| (0..2 * 12u32).map(|i| (i * by + 3) % VOCAB as u32).collect::<Vec<_>>();
    Batch::from_ids(&ids(7), &ids(11), 2, 12, &Device::Cpu)
}

fn families() -> Vec<(&'static str, ModelSpec)> {
    let small = FastSlowSpec { d_model: 16, heads: 4, kv_heads: 2, ..FastSlowSpec::default() };
    let approaching = |approach| ModelSpec::FastSlow(FastSlowSpec { approach, ..small.clone() });
    let by_counts = |last_cycle_only| {
        let hierarchy = Hierarchy::UpdateCount { passes: 2, last_cycle_only };
        ModelSpec::FastSlow(FastSlowSpec { hierarchy, ..small.clone() })
    };
    let flow = OdeFlowSpec { d_model: 16, heads: 2, positions: 12, ..OdeFlowSpec::default() };
    let steering =
        Steering { language_steps: 0, plus: vec![1, 2], minus: vec![3], prompt: None, vary: false, kl: true };
    vec![
        ("fast-slow", approaching(Approach::OnePass)),
        ("fast-slow, passes", approaching(Approach::Passes { passes: 3 })),
        ("fast-slow, Anderson", approaching(Approach::Anderson { passes: 3 })),
        ("fast-slow, solved", approaching(Approach::BackwardEuler { tolerance: 1e-6, max_iters: 40 })),
        ("fast-slow, frozen", ModelSpec::FastSlow(FastSlowSpec { freeze_coupling: true, ..small.clone() })),
        ("fast-slow, weighed", ModelSpec::FastSlow(FastSlowSpec { aux_lambda: 0.1, ..small.clone() })),
        (
            "fast-slow, gated linear",
            ModelSpec::FastSlow(FastSlowSpec { slow_mixer: SlowMixer::GatedLinear, ..small.clone() }),
        ),
        ("fast-slow, update counts", by_counts(false)),
        ("fast-slow, last cycle", by_counts(true)),
        (
            "dense",
            ModelSpec::Dense(DenseSpec {
                d_model: 16,
                heads: 4,
                kv_heads: 2,
                hidden: 24,
                layers: 2,
                ..DenseSpec::default()
            }),
        ),
        ("flow", ModelSpec::OdeFlow(flow.clone())),
        ("flow, steered", ModelSpec::OdeFlow(OdeFlowSpec { steering: Some(steering), ..flow })),
        ("plain", ModelSpec::PlainGpt(PlainGptSpec { d_model: 16, heads: 2, layers: 2, positions: 12 })),
        ("alibi", ModelSpec::AlibiGpt(AlibiGptSpec { d_model: 16, heads: 2, layers: 2, ..AlibiGptSpec::default() })),
        (
            "alibi, attention over layers",
            ModelSpec::AlibiGpt(AlibiGptSpec {
                d_model: 16,
                heads: 2,
                layers: 3,
                residual: ResidualMixing::Attention,
                ..AlibiGptSpec::default()
            }),
        ),
        ("bdh", ModelSpec::Bdh(BdhSpec { d_model: 8, heads: 2, neurons: 32, layers: 2, ..BdhSpec::default() })),
    ]
}

#[test]
fn every_family_has_the_gradients_of_its_graph() -> Result<()> {
    let batch = batch()?;
    for (name, spec) in families() {
        let mut model = spec.build(VOCAB, 3, &Device::Cpu)?;
        model.begin_step(1)?;
        let wanted = model.loss(&batch)?.total.backward()?;
        let accumulator = GradAccumulator::default();
        let loss = model.accumulated_loss(&batch, &accumulator)?;
        let found = accumulator.backward(&loss.total)?;
        let mut some = 0;
        for (weight, var) in model.params().iter() {
            let (Some(f), Some(w)) = (found.get(var), wanted.get(var)) else {
                assert!(found.get(var).is_none() && wanted.get(var).is_none(), "{name}: only one has {weight}");
                continue;
            };
            let (size, off) = (largest(host::to_f32(w)?), distance(f, w)?);
            assert!(off <= 2e-6 * size.max(1e-6), "{name}: {weight} is {off} off {size}");
            some += usize::from(size > 0.0);
        }
        assert!(some > 3, "{name}: {some} gradients");
    }
    Ok(())
}

#[test]
fn a_layer_that_the_graph_does_not_lead_to_gives_its_weights_to_the_graph() -> Result<()> {
    let d = 8;
    let spec = LayerSpec {
        style: LayerStyle::RmsNoBias,
        eps: 1e-6,
        attention: AttentionSpec::plain(d, 2),
        qk_norms: false,
        evolution: None,
        act: Act::Gelu,
        gated: false,
        hidden: 12,
    };
    let some = |by: f32, shape: &[usize]| {
        let values = (0..shape.iter().product::<usize>()).map(|i| (i as f32 * by).sin()).collect::<Vec<_>>();
        Tensor::from_vec(values, shape, &Device::Cpu)
    };
    let weights = Var::from_tensor(&some(0.7, &[2 * d + 4 * d * d + 2 * d * 12])?)?;
    let x = some(0.3, &[1, 5, d])?;
    let loss = |accumulator: Option<&GradAccumulator>| {
        layer(&x, &flatten_into(&[&weights], accumulator)?, spec)?.sqr()?.sum_all()
    };
    let accumulator = GradAccumulator::default();
    let partial = PartialGraph::new(loss(Some(&accumulator))?);
    let (beside, alone) = (accumulator.backward(&partial)?, loss(None)?.backward()?);
    let gradient = |grads: &candle_core::backprop::GradStore| host::to_f32(grads.get(&weights).expect("a gradient"));
    assert_eq!(gradient(&beside)?, gradient(&alone)?);
    Ok(())
}

/// If a weight is used twice, or also outside the layer, the gradients of the graph and of the accumulator must be
/// added.
#[test]
fn gradients_of_the_graph_are_added_to_the_accumulated_ones() -> Result<()> {
    let batch = batch()?;
    let model = ModelSpec::PlainGpt(PlainGptSpec { d_model: 16, heads: 2, layers: 1, positions: 12 }).build(
        VOCAB,
        3,
        &Device::Cpu,
    )?;
    let (_, norm) = model.params().iter().find(|(name, _)| name.ends_with("ln1.weight")).expect("a norm");
    let square = || norm.as_tensor().sqr()?.sum_all();
    let accumulator = GradAccumulator::default();
    let partial = PartialGraph::new((model.loss_into(&batch, Some(&accumulator))?.total + square()?)?);
    let found = accumulator.backward(&partial)?;
    let wanted = (model.loss(&batch)?.total + square()?)?.backward()?;
    let [found, wanted] = [&found, &wanted].map(|g| host::to_f32(g.get(norm).expect("a gradient")));
    let (found, wanted) = (found?, wanted?);
    assert!(found.iter().zip(&wanted).all(|(f, w)| (f - w).abs() < 1e-6), "{found:?}, not {wanted:?}");
    assert!(wanted.iter().any(|w| (w - 2.0).abs() > 1e-4) && wanted.iter().all(|w| *w > 1.0));
    Ok(())
}

/// With an accumulator, the weights of blocks are in no autograd graph; without one, all weights are.
#[test]
fn an_accumulator_takes_weights_out_of_the_graph_of_its_loss_alone() -> Result<()> {
    let batch = batch()?;
    for (name, spec) in families().into_iter().filter(|(name, _)| *name != "bdh") {
        let mut model = spec.build(VOCAB, 3, &Device::Cpu)?;
        model.begin_step(1)?;
        let reached = |total: &Tensor| -> Result<usize> {
            let grads = total.backward()?;
            Ok(model.params().iter().filter(|(_, var)| grads.get(var).is_some()).count())
        };
        let all = reached(&model.loss(&batch)?.total)?;
        let accumulator = GradAccumulator::default();
        let rest = reached(&model.loss_into(&batch, Some(&accumulator))?.total)?;
        assert!(rest < all, "{name}: {rest} of {all} in the graph");
        assert_eq!(reached(&model.loss(&batch)?.total)?, all, "{name}: an accumulator changed a later loss");
    }
    Ok(())
}
