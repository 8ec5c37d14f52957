//! Compares the fused CPU form of linear attention with its reference: values, gradients, finite differences, numbers
//! of threads, and strict causality.
//!
//! At the kink of ReLU, two roundings of the same number may have different gradients. Therefore the first layer's
//! inputs are odd multiples of a power of two: the sum of an odd number of them is exact and never zero. Results of the
//! second layer that are close to zero are excluded.

use candle_core::{DType, Device, Tensor, Var};
use orrery_lab::nn::{
    Result,
    fused::{
        linear,
        linear_attention::{LinearAttentionSpec, Recurrence, linear_attention, reference, rotate},
    },
    host,
};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks::{check_at, check_frozen, check_reference, check_threads, derive, distance, largest, random};

/// (batch, tokens, channels, heads, neurons per head)
type Sizes = (usize, usize, usize, usize, usize);

const SPECS: [LinearAttentionSpec; 4] = [
    LinearAttentionSpec { rotary: true, damped: false, through_past: true, frequencies: None },
    LinearAttentionSpec { rotary: false, damped: true, through_past: true, frequencies: None },
    LinearAttentionSpec { rotary: true, damped: true, through_past: true, frequencies: None },
    LinearAttentionSpec { rotary: true, damped: false, through_past: false, frequencies: None },
];

/// All of `SPECS`, and one with its own rotation frequencies.
fn specs(neurons: usize) -> Vec<LinearAttentionSpec> {
    let own = (0..neurons / 2).map(|i| 0.3 / (1.0 + i as f32)).collect();
    let own = LinearAttentionSpec { frequencies: Some(own), ..LinearAttentionSpec::default() };
    SPECS.into_iter().chain([own]).collect()
}

/// Random odd numbers from -3 to 3, scaled. Channel 0 is zero if `channels` is even, so that an odd number of terms
/// remains in each sum.
fn odd(seed: u64, shape: &[usize], channels: usize, scale: f32) -> Result<Tensor> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = shape.iter().product();
    let values = (0..n).map(|i: usize| {
        let value = scale * (2 * rng.random_range(-2i8..2) + 1) as f32;
        if channels.is_multiple_of(2) && i.is_multiple_of(channels) { 0.0 } else { value }
    });
    Tensor::from_iter(values.collect::<Vec<_>>(), &Device::Cpu)?.reshape(shape)
}

/// The neurons' outputs, `(B, T, H N)`, obtained with the identity as the decoder.
fn neurons(v: &Tensor, e: &Tensor, ev: &Tensor, spec: LinearAttentionSpec) -> Result<Tensor> {
    let (h, _, n) = e.dims3()?;
    linear_attention(v, &Tensor::cat(&[e, ev], 0)?, &Tensor::eye(h * n, DType::F32, &Device::Cpu)?, spec)
}

fn inputs((b, t, d, h, n): Sizes) -> Result<Vec<Var>> {
    let v = odd(1, &[b, t, d], d, 0.25)?;
    let encoder = odd(2, &[h, d, n], 1, 0.25)?;
    [v, encoder, (random(3, &[h, d, n])? * 0.5)?].iter().map(Var::from_tensor).collect()
}

fn check(sizes: Sizes) -> Result<()> {
    let (b, t, _, h, n) = sizes;
    for spec in specs(sizes.4) {
        let vars = inputs(sizes)?;
        let exact = vars.iter().map(|v| v.as_tensor().detach().to_dtype(DType::F64)).collect::<Result<Vec<_>>>()?;
        let second =
            reference(&exact[0], &exact[1], &exact[2], spec.clone())?.a.broadcast_matmul(&exact[2].unsqueeze(0)?)?;
        let clear = second.abs()?.ge(1e-4)?.transpose(1, 2)?.reshape((b, t, h * n))?; // (B,T,H N)
        let count = host::to_f64(&clear)?.iter().sum::<f64>() / (b * t * h * n) as f64;
        assert!(t == 1 || count > 0.9 * (t - 1) as f64 / t as f64, "{count} of the second layer is clear of zero");
        let cleared = |y: Tensor| -> Result<Tensor> { &y * clear.to_dtype(y.dtype())? };
        check_at(
            &|a| cleared(neurons(&a[0], &a[1], &a[2], spec.clone())?),
            &|a| cleared(reference(&a[0], &a[1], &a[2], spec.clone())?.packed()?),
            &vars,
        )?;
    }
    Ok(())
}

#[test]
fn sizes_at_the_edges() -> Result<()> {
    for sizes in [
        (1, 1, 2, 1, 2),
        (1, 2, 3, 1, 4),
        (2, 64, 8, 2, 32),
        (1, 65, 7, 3, 10),
        (5, 128, 16, 4, 64),
        // with more tokens than neurons, the scores are recomputed in the backward pass
        (2, 150, 5, 2, 6),
        (19, 20, 4, 1, 24),
    ] {
        check(sizes)?;
    }
    Ok(())
}

#[test]
fn the_reference_agrees_with_finite_differences() {
    for spec in specs(6).into_iter().filter(|s| s.through_past) {
        let op = |a: &[Tensor]| reference(&a[0], &a[1], &(&a[2] * 0.5)?, spec.clone())?.packed();
        check_reference(&op, &[vec![2, 4, 5], vec![2, 5, 6], vec![2, 5, 6]]).unwrap();
    }
}

#[test]
fn threads_change_no_bit() -> Result<()> {
    for spec in specs(20) {
        let op = |a: &[Tensor]| neurons(&a[0], &a[1], &a[2], spec.clone());
        check_threads(&op, &[vec![7, 70, 6], vec![3, 6, 20], vec![3, 6, 20]])?;
    }
    Ok(())
}

#[test]
fn frozen_arguments_get_no_gradient_and_change_none() -> Result<()> {
    // scores are recomputed for the fewer neurons and saved for the others
    for n in [20, 80] {
        for spec in specs(n) {
            let op = |a: &[Tensor]| linear_attention(&a[0], &a[1], &a[2], spec.clone());
            check_frozen(&op, &[vec![2, 70, 6], vec![4, 6, n], vec![2 * n, 9]])?;
        }
    }
    Ok(())
}

#[test]
fn linear_attention_is_strictly_causal() -> Result<()> {
    let (at, spec) = (70, LinearAttentionSpec::default());
    let (e, ev) = (random(2, &[2, 6, 16])?, random(3, &[2, 6, 16])?);
    let v = random(1, &[1, 100, 6])?;
    let other = Tensor::cat(&[v.narrow(1, 0, at)?, random(9, &[1, 100 - at, 6])?], 1)?;
    let (a, b) = (neurons(&v, &e, &ev, spec.clone())?, neurons(&other, &e, &ev, spec)?);
    assert_eq!(host::to_f32(&a.narrow(1, 0, at)?)?, host::to_f32(&b.narrow(1, 0, at)?)?);
    assert_ne!(host::to_f32(&a.narrow(1, at + 1, 1)?)?, host::to_f32(&b.narrow(1, at + 1, 1)?)?);
    // the first token has no past, so its output is zero
    assert!(host::to_f32(&a.narrow(1, 0, 1)?)?.iter().all(|y| *y == 0.0));
    Ok(())
}

/// The recurrence a_t = q_t^T S, followed by S += q_t v_t^T, gives the same attention.
#[test]
fn the_recurrence_gives_the_same() -> Result<()> {
    let (e, ev) = (random(2, &[1, 6, 16])?, random(3, &[1, 6, 16])?);
    let v = random(1, &[1, 80, 6])?;
    let parts = reference(&v, &e, &ev, LinearAttentionSpec::default())?;
    let q = rotate(&parts.x, 0, &LinearAttentionSpec::default())?.squeeze(0)?.squeeze(0)?; // (T,N)
    let tokens = v.squeeze(0)?; // (T,D)
    let mut state = Tensor::zeros((16, 6), DType::F32, &Device::Cpu)?;
    let mut rows = vec![];
    for t in 0..80 {
        let (q, v) = (q.narrow(0, t, 1)?, tokens.narrow(0, t, 1)?);
        rows.push(q.matmul(&state)?);
        state = (state + q.t()?.matmul(&v)?)?;
    }
    let a = orrery_lab::nn::fused::norm::layer_norm_reference(&Tensor::cat(&rows, 0)?, None, None, 1e-5)?;
    let y = (a.matmul(&ev.squeeze(0)?)?.relu()? * parts.x.squeeze(0)?.squeeze(0)?)?;
    let found = neurons(&v, &e, &ev, LinearAttentionSpec::default())?.squeeze(0)?;
    for (f, w) in host::to_f64(&found)?.iter().zip(host::to_f64(&y)?) {
        assert!((f - w).abs() < 1e-4, "{f} is not {w}");
    }
    Ok(())
}

/// The output is the product of the neurons with the decoder, without a nonlinearity between, so values and gradients
/// equal those of a separate linear map.
fn check_decoder((b, t, d, h, n): Sizes, o: usize) -> Result<()> {
    let shapes = [vec![b, t, d], vec![h, d, n], vec![h, d, n], vec![h * n, o]];
    let vars =
        shapes.iter().enumerate().map(|(i, s)| Var::from_tensor(&random(i as u64, s)?)).collect::<Result<Vec<_>>>()?;
    for spec in specs(n) {
        let whole = |a: &[Tensor]| linear_attention(&a[0], &Tensor::cat(&[&a[1], &a[2]], 0)?, &a[3], spec.clone());
        let parts = |a: &[Tensor]| linear::reference(&neurons(&a[0], &a[1], &a[2], spec.clone())?, &a[3].t()?);
        for (i, (f, w)) in derive(&whole, &vars)?.iter().zip(derive(&parts, &vars)?).enumerate() {
            let off = distance(f, &w)? / largest(host::to_f64(&w)?).max(1e-3);
            assert!(off < 1e-5, "number {i} (0 is the value) is {off:e} off");
        }
    }
    Ok(())
}

#[test]
fn without_gradients_the_values_are_the_same() -> Result<()> {
    let vars = inputs((2, 70, 6, 2, 80))?;
    let free: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().detach()).collect();
    let op = |a: &[Tensor]| neurons(&a[0], &a[1], &a[2], LinearAttentionSpec::default());
    assert_eq!(host::to_f32(&op(&free)?)?, host::to_f32(&derive(&op, &vars)?[0])?);
    let odd = random(1, &[2, 6, 7])?;
    let wrong = neurons(&free[0], &odd, &odd, LinearAttentionSpec::default()).unwrap_err().to_string();
    assert!(wrong.contains("even"), "{wrong}");
    let small = random(1, &[159, 6])?;
    let both = Tensor::cat(&[&free[1], &free[2]], 0)?;
    let wrong = linear_attention(&free[0], &both, &small, LinearAttentionSpec::default()).unwrap_err().to_string();
    assert!(wrong.contains("do not fit"), "{wrong}");
    Ok(())
}

/// The sizes need several blocks of neurons, the last one shorter, and several blocks of scores.
#[test]
fn reading_in_blocks_gives_the_bits_of_the_form_that_saves() -> Result<()> {
    let vars = inputs((1, 150, 6, 2, 300))?;
    let free: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().detach()).collect();
    for spec in specs(300) {
        let op = |a: &[Tensor]| neurons(&a[0], &a[1], &a[2], spec.clone());
        assert_eq!(host::to_f32(&op(&free)?)?, host::to_f32(&derive(&op, &vars)?[0])?, "{spec:?}");
    }
    Ok(())
}

/// A layer that reads token by token with a recurrent state has the same output as on the whole text.
#[test]
fn one_token_after_another_writes_what_the_text_does() -> Result<()> {
    for (t, d, h, n) in [(40, 6, 2, 20), (30, 17, 3, 128), (9, 32, 1, 2 * 67)] {
        let (e, ev) = (random(2, &[h, d, n])?, random(3, &[h, d, n])?);
        let (v, decoder) = (random(1, &[1, t, d])?, random(4, &[h * n, d + 3])?);
        for spec in specs(n) {
            let wanted = linear_attention(&v, &Tensor::cat(&[&e, &ev], 0)?, &decoder, spec.clone())?;
            let Some(recurrence) = Recurrence::new(&e, &ev, &decoder, spec.clone())? else { panic!("f32 on the CPU") };
            let mut state = vec![0.0; h * n * d];
            for (at, wanted) in host::to_f32(&wanted)?.chunks_exact(d + 3).enumerate() {
                let (cos, sin) = recurrence.rotation(at);
                let token = host::to_f32(&v.narrow(1, at, 1)?)?;
                let found = recurrence.step(&token, &mut state, (&cos, &sin))?;
                let size = wanted.iter().fold(1f32, |a, v| a.max(v.abs()));
                for (f, w) in found.iter().zip(wanted) {
                    assert!((f - w).abs() < 2e-4 * size, "token {at}: {f} is not {w} ({spec:?})");
                }
            }
            assert!(recurrence.step(&[0.0], &mut state, (&[], &[])).is_err());
        }
    }
    Ok(())
}

/// With these sizes, a norm has inputs near zero, where a rounding of the inputs changes the gradients noticeably.
#[test]
fn norms_of_near_zero_inputs_equal_the_reference() {
    for size in [(1, 12, 3, 3, 18), (2, 9, 19, 3, 20)] {
        check(size).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn the_operation_equals_its_reference_at_any_size(b in 1usize..4, t in 1usize..140, d in 3usize..20, h in 1usize..4, pairs in 4usize..20) {
        check((b, t, d, h, 2 * pairs)).unwrap();
        check_decoder((b, t, d, h, 2 * pairs), d + 2).unwrap();
    }
}
