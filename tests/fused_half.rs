//! Half a layer in one operation against the operations that it is made of: values, all gradients, frozen
//! weights, threads, and sizes that do not fit.

use candle_core::{Tensor, Var};
use orrery::nn::{
    Result,
    fused::{
        attention::{self, AttentionSpec},
        half::{Body, Half, Style, gather, half},
        linear,
        mlp::{self, Act, Biased},
        norm,
    },
    host,
};
use proptest::prelude::*;

mod forms;

use forms::{Check, check, check_threads, random};

const EPS: f64 = 1e-3;

fn mapped(x: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    match bias {
        Some(bias) => linear::biased_reference(x, w, bias),
        None => linear::reference(x, w),
    }
}

/// The same in single operations; arguments: x, then the weights.
fn reference(a: &[Tensor], h: Half) -> Result<Tensor> {
    let biased = h.style == Style::Biased;
    let mut rest = a[1..].iter();
    let mut next = || rest.next().expect("a weight");
    let x = &a[0];
    let normed = match h.style {
        Style::Bare => norm::rms_norm_reference(x, next(), h.eps)?,
        Style::Biased => norm::layer_norm_reference(x, Some(next()), Some(next()), h.eps)?,
    };
    let w_in = next();
    let b_in = biased.then(&mut next);
    let y = match h.body {
        Body::Attention { spec, normed: qk } => {
            let qkv = mapped(&normed, w_in, b_in)?;
            let y = if qk {
                let (q, k) = (next(), next());
                attention::reference(&qkv, q, k, spec)?.0
            } else {
                attention::reference_without_norms(&qkv, spec)?.0
            };
            let w_out = next();
            mapped(&y, w_out, biased.then(&mut next))?
        }
        Body::Mlp { act, gated, .. } => {
            let w_out = next();
            match (b_in, biased.then(&mut next)) {
                (Some(up_bias), Some(down_bias)) => {
                    let w = Biased {
                        up: w_in.clone(),
                        up_bias: up_bias.clone(),
                        down: w_out.clone(),
                        down_bias: down_bias.clone(),
                    };
                    mlp::biased_reference(&normed, &w, act)?
                }
                _ if gated => mlp::gated_reference(&normed, w_in, w_out, act)?,
                _ => mlp::mlp_reference(&normed, w_in, w_out, act)?,
            }
        }
    };
    if h.residual { x + y } else { Ok(y) }
}

fn fused(a: &[Tensor], h: Half) -> Result<Tensor> {
    half(&a[0], &gather(&a[1..].iter().collect::<Vec<_>>())?, h)
}

/// Both bodies in the dress that layers give them, with shapes of x and the weights.
fn all([b, t]: [usize; 2], [heads, group, head]: [usize; 3], f: usize) -> Vec<(Half, Vec<Vec<usize>>)> {
    let (d, kv) = (heads * head, heads / group);
    let x = vec![b, t, d];
    let spec = AttentionSpec {
        kv_heads: kv,
        theta: Some(100.0),
        window: Some(t / 2 + 1),
        eps: EPS,
        ..AttentionSpec::plain(d, heads)
    };
    let plain = AttentionSpec { alibi: true, ..AttentionSpec::plain(d, heads) };
    let whole = |style, residual, body| Half { style, eps: EPS, residual, body };
    let mlp = |act, gated| Body::Mlp { act, gated, hidden: f };
    let wide = (heads + 2 * kv) * head;
    vec![
        (
            whole(Style::Bare, true, Body::Attention { spec, normed: true }),
            vec![x.clone(), vec![d], vec![wide, d], vec![head], vec![head], vec![d, d]],
        ),
        (
            whole(Style::Biased, true, Body::Attention { spec: plain, normed: false }),
            vec![x.clone(), vec![d], vec![d], vec![3 * d, d], vec![3 * d], vec![d, d], vec![d]],
        ),
        (
            whole(Style::Biased, false, Body::Attention { spec: plain, normed: false }),
            vec![x.clone(), vec![d], vec![d], vec![3 * d, d], vec![3 * d], vec![d, d], vec![d]],
        ),
        (whole(Style::Bare, true, mlp(Act::Gelu, false)), vec![x.clone(), vec![d], vec![f, d], vec![d, f]]),
        (whole(Style::Bare, false, mlp(Act::Silu, true)), vec![x.clone(), vec![d], vec![2 * f, d], vec![d, f]]),
        (
            whole(Style::Biased, true, mlp(Act::Gelu, false)),
            vec![x, vec![d], vec![d], vec![f, d], vec![f], vec![d, f], vec![d]],
        ),
    ]
}

fn every(rows: [usize; 2], heads: [usize; 3], f: usize, run: Check) {
    for (h, shapes) in all(rows, heads, f) {
        run(&|a| fused(a, h), &|a| reference(a, h), &shapes);
    }
}

#[test]
fn threads_change_no_bit() {
    every([2, 150], [4, 2, 8], 70, &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
}

#[test]
fn frozen_weights_get_no_gradient_and_change_none() -> Result<()> {
    for (h, shapes) in all([2, 9], [2, 1, 6], 20) {
        let given = shapes.iter().enumerate().map(|(i, s)| random(i as u64, s)).collect::<Result<Vec<_>>>()?;
        let x = Var::from_tensor(&given[0])?;
        let dx = |weights: &[Tensor]| -> Result<Vec<f32>> {
            let args: Vec<Tensor> = [x.as_tensor().clone()].into_iter().chain(weights.iter().cloned()).collect();
            let grads = fused(&args, h)?.sqr()?.sum_all()?.backward()?;
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
fn sizes_that_do_not_fit_are_named() -> Result<()> {
    let (h, _) = all([1, 4], [2, 1, 4], 10)[3];
    let said = half(&random(1, &[1, 4, 8])?, &random(2, &[100])?, h).unwrap_err().to_string();
    assert!(said.contains("width 8 has 168 weights, not 100"), "{said}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn halves_of_any_size(
        b in 1usize..3, t in 1usize..140, kv in 1usize..3, group in 1usize..3, head in 1usize..5, f in 1usize..50,
    ) {
        every([b, t], [kv * group, group, 2 * head], f, &mut |fused, reference, shapes| {
            check(fused, reference, shapes).unwrap();
        });
    }
}
