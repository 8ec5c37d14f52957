//! Compares a layer as one fused operation with the single operations: values, all gradients, frozen weights, numbers
//! of threads, weights with several uses, and sizes that do not fit.

use candle_core::{DType, Tensor, Var};
use orrery_lab::nn::{
    Result,
    fused::{
        attention::{self, AttentionSpec},
        evolution::{self, EvolutionSizes, Scheme},
        layer::{LayerSpec, LayerStyle, flatten, layer, slope, step},
        linear,
        mlp::{self, Act, BiasedWeights},
        norm,
    },
    host,
};
use proptest::prelude::*;

use crate::op_checks::{self, Check, check_at, check_threads, random};

const EPS: f64 = 1e-3;

/// How the two sublayers are combined.
#[derive(Clone, Copy, PartialEq)]
enum Join {
    Residual,
    /// The layer is the slope of an ODE; true if all texts share the row that is added to x, false if each has its own.
    Slope(bool),
    /// Takes an Euler step along that slope.
    Step(bool),
}

/// The length of the Euler step.
const LENGTH: f64 = 0.3;

fn linear_map(x: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    match bias {
        Some(bias) => linear::linear_biased_reference(x, w, bias),
        None => linear::reference(x, w),
    }
}

/// The layer in single operations. The arguments are x, the row (only of a slope or step), the weights, and the scale
/// (only of a slope or step).
fn reference(a: &[Tensor], s: LayerSpec, join: Join) -> Result<Tensor> {
    let x = &a[0];
    if join == Join::Residual {
        let (y, rest) = attended(x, &a[1..], s)?;
        let x = (x + y)?;
        return &x + transformed(&x, rest, s)?;
    }
    let moved = x.broadcast_add(&a[1])?;
    let (y, rest) = attended(&moved, &a[2..], s)?;
    let slope = (y + transformed(&moved, rest, s)?)?.broadcast_mul(&a[a.len() - 1].squeeze(0)?)?;
    if let Join::Slope(_) = join { Ok(slope) } else { x + (slope * LENGTH)? }
}

/// Takes the first of the remaining weights.
fn next<'a>(rest: &mut &'a [Tensor]) -> &'a Tensor {
    let (first, others) = rest.split_first().expect("a weight");
    *rest = others;
    first
}

fn normed(x: &Tensor, rest: &mut &[Tensor], s: LayerSpec) -> Result<Tensor> {
    match s.style {
        LayerStyle::RmsNoBias => norm::rms_norm_reference(x, next(rest), s.eps),
        LayerStyle::LayerNormBias => norm::layer_norm_reference(x, Some(next(rest)), Some(next(rest)), s.eps),
    }
}

fn attended<'a>(x: &Tensor, mut rest: &'a [Tensor], s: LayerSpec) -> Result<(Tensor, &'a [Tensor])> {
    let biased = s.style == LayerStyle::LayerNormBias;
    let h = normed(x, &mut rest, s)?;
    let w_in = next(&mut rest);
    let mut qkv = linear_map(&h, w_in, biased.then(|| next(&mut rest)))?;
    let norms = s.qk_norms.then(|| [next(&mut rest), next(&mut rest)]);
    if let Some(evolution) = s.evolution {
        qkv = evolution::reference(&qkv, next(&mut rest), next(&mut rest), evolution)?;
    }
    let y = attention::reference(&qkv, norms, s.attention)?.0;
    let w_out = next(&mut rest);
    Ok((linear_map(&y, w_out, biased.then(|| next(&mut rest)))?, rest))
}

fn transformed(x: &Tensor, mut rest: &[Tensor], s: LayerSpec) -> Result<Tensor> {
    let h = normed(x, &mut rest, s)?;
    if s.style == LayerStyle::LayerNormBias {
        let [up, up_bias, down, down_bias] = [0, 1, 2, 3].map(|i| rest[i].clone());
        return mlp::biased_mlp_reference(&h, &BiasedWeights { up, up_bias, down, down_bias }, s.act);
    }
    let reference = if s.gated { mlp::gated_mlp_reference } else { mlp::mlp_reference };
    reference(&h, &rest[0], &rest[1], s.act)
}

/// Scales the arguments so that evolving queries and keys have steps of about 0.1 and small forces, and do not diverge.
fn tamed(a: &[Tensor], s: LayerSpec) -> Result<Vec<Tensor>> {
    let mut a = a.to_vec();
    if s.evolution.is_some() {
        // the arguments are x, the norm, the projections, then f and tau
        a[3] = (&a[3] * 0.4)?;
        a[4] = a[4].affine(0.3, -2.0)?;
    }
    Ok(a)
}

fn fused(a: &[Tensor], s: LayerSpec, join: Join) -> Result<Tensor> {
    let flat = |weights: &[Tensor]| flatten(&weights.iter().collect::<Vec<_>>());
    match join {
        Join::Residual => layer(&a[0], &flat(&a[1..])?, s),
        Join::Slope(_) => slope(&a[0], &a[1], &flat(&a[2..])?, s),
        Join::Step(_) => step(&a[0], &a[1], &flat(&a[2..])?, s, LENGTH),
    }
}

/// A layer with the shapes of x, the row, the weights and the scale.
type LayerCase = ((LayerSpec, Join), Vec<Vec<usize>>);

/// All layers with the norms, gates and biases that models use.
fn layer_cases([b, t]: [usize; 2], [heads, group, head]: [usize; 3], f: usize) -> Vec<LayerCase> {
    let (d, kv) = (heads * head, heads / group);
    let windowed = AttentionSpec {
        kv_heads: kv,
        theta: Some(100.0),
        window: Some(t / 2 + 1),
        eps: EPS,
        ..AttentionSpec::plain(d, heads)
    };
    let alibi = AttentionSpec { alibi: true, ..AttentionSpec::plain(d, heads) };
    let bare = |act, gated| {
        let spec = LayerSpec {
            style: LayerStyle::RmsNoBias,
            eps: EPS,
            attention: windowed,
            qk_norms: true,
            evolution: None,
            act,
            gated,
            hidden: f,
        };
        let wide = (heads + 2 * kv) * head;
        let hidden = if gated { 2 * f } else { f };
        let mut shapes = vec![vec![b, t, d], vec![d], vec![wide, d], vec![head], vec![head], vec![d, d]];
        shapes.extend([vec![d], vec![hidden, d], vec![d, f]]);
        ((spec, Join::Residual), shapes)
    };
    let biased = |join: Join| {
        let spec = LayerSpec {
            style: LayerStyle::LayerNormBias,
            eps: EPS,
            attention: alibi,
            qk_norms: false,
            evolution: None,
            act: Act::Gelu,
            gated: false,
            hidden: f,
        };
        let weights = [vec![d], vec![d], vec![3 * d, d], vec![3 * d], vec![d, d], vec![d]];
        let more = [vec![d], vec![d], vec![f, d], vec![f], vec![d, f], vec![d]];
        let (row, scale) = match join {
            Join::Residual => (None, None),
            Join::Slope(one) | Join::Step(one) => (Some(vec![if one { 1 } else { b }, 1, d]), Some(vec![1])),
        };
        let x = vec![b, t, d];
        ((spec, join), [x].into_iter().chain(row).chain(weights).chain(more).chain(scale).collect())
    };
    // evolution followed by rotary embedding, as in the coupled query-key models
    let evolving = |scheme, steps| {
        let evolution = Some(EvolutionSizes { heads, head_dim: head, scheme, steps });
        let rotary = AttentionSpec { theta: (head % 2 == 0).then_some(100.0), ..AttentionSpec::plain(d, heads) };
        let spec = LayerSpec {
            style: LayerStyle::RmsNoBias,
            eps: EPS,
            attention: rotary,
            qk_norms: false,
            evolution,
            act: Act::Silu,
            gated: true,
            hidden: f,
        };
        let weights = [vec![d], vec![3 * d, d], vec![2 * head, head], vec![heads], vec![d, d]];
        let mlp = [vec![d], vec![2 * f, d], vec![d, f]];
        ((spec, Join::Residual), [vec![b, t, d]].into_iter().chain(weights).chain(mlp).collect())
    };
    vec![
        bare(Act::Gelu, false),
        bare(Act::Silu, true),
        biased(Join::Residual),
        biased(Join::Slope(true)),
        biased(Join::Slope(false)),
        biased(Join::Step(true)),
        biased(Join::Step(false)),
        evolving(Scheme::Euler, 2),
        evolving(Scheme::Leapfrog, 3),
    ]
}

/// Compares with the reference, with weights of the size of a layer's initial ones.
fn check_layer(fused: op_checks::Op, reference: op_checks::Op, shapes: &[Vec<usize>]) {
    let vars = op_checks::inputs(shapes, DType::F32).unwrap();
    for (i, v) in vars.iter().enumerate() {
        if let (1.., &[_, inputs]) = (i, v.dims()) {
            v.set(&(v.as_tensor() * (inputs as f64).powf(-0.5)).unwrap()).unwrap();
        }
    }
    check_at(fused, reference, &vars).unwrap();
}

fn for_each_case(rows: [usize; 2], heads: [usize; 3], f: usize, run: Check) {
    for ((s, join), shapes) in layer_cases(rows, heads, f) {
        run(&|a| fused(&tamed(a, s)?, s, join), &|a| reference(&tamed(a, s)?, s, join), &shapes);
    }
}

/// The sizes give one group of two tiles, two groups of tiles whose texts have an odd length, and tiles of long texts.
#[test]
fn threads_change_no_bit() {
    for rows in [[2, 150], [25, 43], [3, 530]] {
        for_each_case(rows, [2, 2, 4], 12, &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
    }
}

#[test]
fn pieces_and_groups_add_up() {
    for_each_case([25, 43], [2, 1, 4], 12, &mut |fused, reference, shapes| check_layer(fused, reference, shapes));
}

/// The gradient of the step length is a sum of 6,272 terms that nearly cancel, so that rounding the inputs moves it far.
#[test]
fn a_sum_that_cancels_is_as_exact_as_its_inputs() {
    for_each_case([2, 98], [4, 2, 8], 59, &mut |fused, reference, shapes| check_layer(fused, reference, shapes));
}

#[test]
fn frozen_weights_get_no_gradient_and_change_none() -> Result<()> {
    for ((s, join), shapes) in layer_cases([2, 9], [2, 1, 6], 20) {
        let given = shapes.iter().enumerate().map(|(i, s)| random(i as u64, s)).collect::<Result<Vec<_>>>()?;
        let x = Var::from_tensor(&given[0])?;
        let dx = |weights: &[Tensor]| -> Result<Vec<f32>> {
            let args: Vec<Tensor> = [x.as_tensor().clone()].into_iter().chain(weights.iter().cloned()).collect();
            let grads = fused(&args, s, join)?.sqr()?.sum_all()?.backward()?;
            assert!(weights.iter().all(|w| grads.get(w).is_some() == w.is_variable()));
            host::to_f32(grads.get(&x).expect("the state's gradient"))
        };
        let trained =
            given[1..].iter().map(|w| Ok(Var::from_tensor(w)?.into_inner())).collect::<Result<Vec<Tensor>>>()?;
        assert_eq!(dx(&given[1..])?, dx(&trained)?);
    }
    Ok(())
}

#[test]
fn weights_packed_once_serve_all_uses() -> Result<()> {
    for ((s, join), shapes) in layer_cases([2, 9], [2, 1, 6], 20) {
        let vars = op_checks::inputs(&shapes, DType::F32)?;
        let args: Vec<&Tensor> = vars.iter().map(|v| v.as_tensor()).collect();
        let twice = |shared: bool| -> Result<Vec<Vec<f32>>> {
            let weights = flatten(&args[if join == Join::Residual { 1 } else { 2 }..])?;
            let weights = if shared { weights.with_shared_packing() } else { weights };
            let once = |x: &Tensor| match join {
                Join::Residual => layer(x, &weights, s),
                Join::Slope(_) => slope(x, args[1], &weights, s),
                Join::Step(_) => step(x, args[1], &weights, s, LENGTH),
            };
            let grads = once(&once(args[0])?)?.sqr()?.sum_all()?.backward()?;
            vars.iter().map(|v| host::to_f32(grads.get(v).expect("a gradient"))).collect()
        };
        assert_eq!(twice(true)?, twice(false)?);
    }
    Ok(())
}

#[test]
fn sizes_that_do_not_fit_are_named() -> Result<()> {
    let said = |x: &[usize], row: &[usize], weights: usize, at: usize| -> Result<String> {
        let ((s, join), _) = layer_cases([1, 4], [2, 1, 4], 10)[at];
        let (x, row, weights) = (random(1, x)?, random(2, row)?, flatten(&[&random(3, &[weights])?])?);
        Ok(match join {
            Join::Residual => layer(&x, &weights, s),
            Join::Slope(_) => slope(&x, &row, &weights, s),
            Join::Step(_) => step(&x, &row, &weights, s, LENGTH),
        }
        .unwrap_err()
        .to_string())
    };
    let layer = said(&[1, 4, 8], &[1, 1, 8], 100, 0)?;
    assert!(layer.contains("a layer of width 8 has 440 weights, not 100"), "{layer}");
    let slope = said(&[1, 4, 8], &[1, 1, 8], 100, 3)?;
    assert!(slope.contains("a slope of width 8 has 499 weights, not 100"), "{slope}");
    let row = said(&[1, 4, 8], &[3, 1, 8], 499, 3)?;
    assert!(row.contains("a row [3, 1, 8] for states [1, 4, 8]"), "{row}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn the_fused_layer_equals_its_reference(
        rows in (1usize..3, 1usize..140),
        (heads, group) in prop_oneof![Just((1, 1)), Just((2, 1)), Just((4, 2))],
        half in 1usize..6,
        f in 1usize..60,
    ) {
        for_each_case([rows.0, rows.1], [heads, group, 2 * half], f, &mut |fused, reference, shapes| {
            check_layer(fused, reference, shapes);
        });
    }
}
