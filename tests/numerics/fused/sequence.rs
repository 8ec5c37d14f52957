//! Compares the fused CPU forms of moving averages, top-k and the coupled evolution with their reference forms: values,
//! gradients, finite differences, numbers of threads, and further properties of each.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor, Var};
use orrery_lab::nn::{
    Result,
    fused::{
        activation::activation,
        balance::{self, balance},
        differential::{self, halve_queries, normalised_difference},
        ema::{self, ema},
        evolution::{self, EvolutionSizes, Scheme, evolve},
        linear::linear,
        mlp::Act,
        sparse_mlp::{self, sparse_mlp},
        synapses::{self, Synapses, synaptic_attention},
        top_k::{self, top_k},
        trace_context::{self, trace_context},
        unit_rows::{self, unit_rows},
    },
    host,
};
use proptest::prelude::*;

use crate::op_checks::{Check, check, check_frozen, check_reference, check_threads, derive, inputs, random};

/// Maps the inputs into [0.05, 0.95], as coefficients of a moving average.
fn share(x: &Tensor) -> Result<Tensor> {
    x.affine(0.3, 0.5)
}

/// Moving averages with coefficients per channel and per token, starting from zero and from a state.
fn averages(b: usize, t: usize, d: usize, run: Check) {
    let x = vec![b, t, d];
    for a in [vec![d], x.clone()] {
        run(
            &|v| ema(&v[0], &share(&v[1])?, None),
            &|v| ema::reference(&v[0], &share(&v[1])?, None),
            &[x.clone(), a.clone()],
        );
        run(
            &|v| ema(&v[0], &share(&v[1])?, Some(&v[2])),
            &|v| ema::reference(&v[0], &share(&v[1])?, Some(&v[2])),
            &[x.clone(), a, vec![b, d]],
        );
    }
}

#[test]
fn averages_at_the_edges() {
    for (b, t, d) in [(1, 1, 1), (2, 2, 3), (3, 65, 17), (1, 128, 64), (2, 300, 5)] {
        averages(b, t, d, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}

/// Synapses of n neurons with k each. The decay is exp(-1) for the first neuron and about exp(-1/10) for the last.
fn synapses(n: usize, k: usize) -> Arc<Synapses> {
    let sources = (0..n * k).map(|e| (e * e * 5 + e * 3 + 1) as u32 % n as u32).collect();
    let log_decay = (0..n).map(|i| -1.0 / (1.0 + 9.0 * i as f32 / n as f32)).collect();
    Arc::new(Synapses::new(sources, log_decay).unwrap())
}

#[test]
fn synapses_are_their_reference_form() {
    for (b, t, n, k) in [(1, 1, 1, 1), (2, 2, 3, 2), (1, 9, 5, 5), (3, 33, 40, 8), (2, 65, 140, 3)] {
        let (synapses, shapes) = (synapses(n, k), [vec![b, t, n], vec![b, t, n], vec![n, k]]);
        let fused: &dyn Fn(&[Tensor]) -> Result<Tensor> = &|v| synaptic_attention(&v[0], &v[1], &v[2], &synapses);
        check(fused, &|v| synapses::reference(&v[0], &v[1], &v[2], &synapses), &shapes).unwrap();
        check_threads(fused, &shapes).unwrap();
    }
    let small = synapses(4, 3);
    let shapes = [vec![2, 5, 4], vec![2, 5, 4], vec![4, 3]];
    check_reference(&|v| synapses::reference(&v[0], &v[1], &v[2], &small), &shapes).unwrap();
}

#[test]
fn synapses_that_do_not_fit_are_refused() {
    for (sources, neurons, message) in
        [(vec![0, 2], 2, "neuron 2"), (vec![0, 1, 0], 2, "shared among 2"), (vec![], 0, "0")]
    {
        let refused = Synapses::new(sources, vec![-1.0; neurons]).unwrap_err().to_string();
        assert!(refused.contains(message), "{refused}");
    }
}

#[test]
fn average_references_agree_with_finite_differences() {
    averages(2, 5, 3, &mut |_, reference, shapes| check_reference(reference, shapes).unwrap());
}

#[test]
fn averages_are_equal_on_any_number_of_threads() {
    averages(3, 100, 33, &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
}

/// Checks that a sequence that is computed in chunks, each starting from the last row of the one before, has the same
/// bits and the same gradients.
fn check_cut(t: usize, chunk: usize) -> Result<()> {
    let shapes = [vec![2, t, 4], vec![4]];
    let cut = |v: &[Tensor]| -> Result<Tensor> {
        let a = share(&v[1])?;
        let (mut parts, mut state) = (vec![], None);
        for from in (0..t).step_by(chunk) {
            let n = chunk.min(t - from);
            let h = ema(&v[0].narrow(1, from, n)?, &a, state.as_ref())?;
            state = Some(h.narrow(1, n - 1, 1)?.squeeze(1)?);
            parts.push(h);
        }
        Tensor::cat(&parts, 1)
    };
    let vars = inputs(&shapes, DType::F32)?;
    let plain: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
    assert_eq!(host::to_f32(&cut(&plain)?)?, host::to_f32(&ema(&plain[0], &share(&plain[1])?, None)?)?);
    check(&cut, &|v| ema::reference(&v[0], &share(&v[1])?, None), &shapes)
}

#[test]
fn top_k_keeps_exactly_k_values_even_with_ties() -> Result<()> {
    let rows: [&[f32]; 5] = [
        &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        &[0.0, -0.0, 0.0, -0.0, 1.0, -1.0],
        &[3.0, 2.0, 2.0, 2.0, 1.0, 2.0],
        &[f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY, 1e-45, -1e-45],
        &[-5.0, -4.0, -4.0, -3.0, -4.0, -6.0],
    ];
    for row in rows {
        for k in 0..=7 {
            let z = Tensor::from_slice(row, (1, 6), &Device::Cpu)?;
            let found = top_k(&z, k)?;
            let (kept, counts) = (host::to_f32(&found.selected)?, host::to_f32(&found.counts)?);
            let n = counts.iter().sum::<f32>();
            assert_eq!(n as usize, k.min(6), "{row:?}, {k}: {counts:?}");
            let least = row.iter().zip(&counts).filter(|(_, c)| **c > 0.0).fold(f32::INFINITY, |m, (v, _)| m.min(*v));
            for ((&z, &y), &c) in row.iter().zip(&kept).zip(&counts) {
                assert_eq!(y.to_bits(), if c > 0.0 { z.to_bits() } else { 0 });
                assert!(c > 0.0 || z <= least, "{row:?}, {k}: {z} is left out, {least} is kept");
            }
        }
    }
    // among equal values, the first ones are selected
    let z = Tensor::from_slice(rows[2], (1, 6), &Device::Cpu)?;
    assert_eq!(host::to_f32(&top_k(&z, 3)?.counts)?, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    // NaN is above infinity, or below all if its sign bit is set
    let [positive, negative] = [0x7fc0_0000, 0xffc0_0000].map(f32::from_bits);
    let z = Tensor::new(&[[negative, 1.0, positive, f32::INFINITY, positive, 2.0]], &Device::Cpu)?;
    for (k, wanted) in [(2, [0.0, 0.0, 1.0, 0.0, 1.0, 0.0]), (5, [0.0, 1.0, 1.0, 1.0, 1.0, 1.0])] {
        assert_eq!(host::to_f32(&top_k(&z, k)?.counts)?, wanted);
    }
    Ok(())
}

/// Checks the values, the counts, and that the gradient passes unchanged to every unit.
fn check_top_k(rows: usize, f: usize, k: usize) -> Result<()> {
    let z = Var::from_tensor(&random(7, &[1, rows, f])?)?;
    let (found, wanted) = (top_k(&z, k)?, top_k::reference(&z, k)?);
    assert_eq!(host::to_f32(&found.selected)?, host::to_f32(&wanted.selected)?);
    assert_eq!(host::to_f32(&found.counts)?, host::to_f32(&wanted.counts)?);
    let weights = random(8, &[1, rows, f])?;
    for kept in [found.selected, wanted.selected] {
        let grads = (kept * &weights)?.sum_all()?.backward()?;
        assert_eq!(grads.get(&z).map(host::to_f32).transpose()?, Some(host::to_f32(&weights)?));
    }
    Ok(())
}

#[test]
fn top_k_at_the_edges() -> Result<()> {
    for (rows, f, k) in [(1, 1, 1), (1, 1, 0), (3, 7, 7), (129, 33, 4), (300, 512, 31), (2, 1000, 999)] {
        check_top_k(rows, f, k)?;
    }
    check_threads(&|v| top_k(&v[0], 9).map(|found| found.selected), &[vec![2, 200, 65]])
}

/// The balance loss of the selected units, scaled so that its gradients are above the tolerance of the check.
fn balances(rows: usize, f: usize, k: usize, run: Check) {
    let counts = |z: &Tensor| top_k(&z.detach(), k).map(|found| found.counts);
    run(
        &|v| balance(&v[0], &counts(&v[0])?, k)? * 1e3,
        &|v| balance::reference(&v[0], &counts(&v[0])?, k)? * 1e3,
        &[vec![1, rows, f]],
    );
}

#[test]
fn balance_at_the_edges() -> Result<()> {
    for (rows, f, k) in [(1, 1, 1), (3, 7, 2), (129, 33, 4), (300, 512, 31)] {
        balances(rows, f, k, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
    balances(300, 70, 5, &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
    let z = Tensor::ones((4, 6), DType::F32, &Device::Cpu)?;
    let even = Tensor::full(2f32, 6, &Device::Cpu)?;
    assert!((host::scalar(&balance(&z, &even, 3)?)? - 1.0).abs() < 1e-6);
    Ok(())
}

#[test]
fn the_balances_reference_agrees_with_finite_differences() {
    let counts = Tensor::new(&[3f64, 0.0, 1.0, 2.0], &Device::Cpu).unwrap();
    check_reference(&|v| balance::reference(&v[0], &counts, 2), &[vec![3, 4]]).unwrap();
}

/// What the sparse MLP gives: its values, and behind them the balance.
fn joined((y, balance): (Tensor, Tensor)) -> Result<Tensor> {
    Tensor::cat(&[y.flatten_all()?, balance.unsqueeze(0)?], 0)
}

#[test]
fn a_sparse_mlp_is_its_separate_operations() -> Result<()> {
    for (rows, d, f, k) in [(1, 3, 4, 2), (5, 7, 6, 9), (40, 16, 64, 5), (300, 24, 130, 11), (257, 130, 300, 60)] {
        let shapes = [vec![1, rows, d], vec![f, d], vec![d, f], vec![1, rows, d]];
        let fused = |v: &[Tensor]| joined(sparse_mlp(&v[0], &v[1], &v[2], &v[3], k)?);
        let separate = |v: &[Tensor]| {
            let z = activation(&linear(&v[0], &v[1])?, Act::Gelu)?;
            let units = top_k(&z, k)?;
            joined(((&v[3] + linear(&units.selected, &v[2])?)?, balance(&z, &units.counts, k)?))
        };
        let vars = inputs(&shapes, DType::F32)?;
        for (i, (found, wanted)) in derive(&fused, &vars)?.iter().zip(&derive(&separate, &vars)?).enumerate() {
            assert!(host::to_f32(found)? == host::to_f32(wanted)?, "{shapes:?}, {k} kept: number {i} (0 is the value)");
        }
        check_threads(&fused, &shapes)?;
        check_frozen(&fused, &shapes)?;
    }
    let small = |v: &[Tensor]| joined(sparse_mlp(&v[0], &v[1], &v[2], &v[3], 2)?);
    let shapes = [vec![1, 9, 5], vec![8, 5], vec![3, 8], vec![1, 9, 3]];
    check(&small, &|v| joined(sparse_mlp::reference(&v[0], &v[1], &v[2], &v[3], 2)?), &shapes)
}

#[test]
fn unit_rows_are_their_reference_form() -> Result<()> {
    for (rows, d) in [(1, 2), (3, 7), (129, 33), (200, 130)] {
        let shapes = [vec![1, rows, d]];
        check(&|v| unit_rows(&v[0]), &|v| unit_rows::reference(&v[0]), &shapes)?;
        check_threads(&|v| unit_rows(&v[0]), &shapes)?;
        // rows shorter than the least length
        check(&|v| unit_rows(&(&v[0] * 1e-9)?), &|v| unit_rows::reference(&(&v[0] * 1e-9)?), &shapes)?;
    }
    check_reference(&|v| unit_rows::reference(&v[0]), &[vec![2, 3, 4]])?;
    let found = host::to_f32(&unit_rows(&Tensor::new(&[[0f32, 0.0], [f32::NAN, 3.0]], &Device::Cpu)?)?)?;
    assert!(found[..2] == [0.0, 0.0] && found[2].is_nan() && found[3].is_nan(), "{found:?}");
    Ok(())
}

const RATES: [f64; 3] = [0.5, 0.1, 0.02];

/// The operations that a trace context replaces.
fn separate_context(v: &[Tensor]) -> Result<Tensor> {
    let (x, d) = (&v[0], v[0].dim(2)?);
    let trace = |a: f64| ema(x, &Tensor::full(a as f32, d, x.device())?, None);
    let (fast, medium, slow) = (trace(RATES[0])?, trace(RATES[1])?, trace(RATES[2])?);
    let error = (x - linear(&unit_rows(&slow)?, &v[1])?)?;
    x + linear(&Tensor::cat(&[&fast, &medium, &slow, &error], 2)?, &v[2])?
}

#[test]
fn a_trace_context_is_its_separate_operations() -> Result<()> {
    let fused: &dyn Fn(&[Tensor]) -> Result<Tensor> = &|v| trace_context(&v[0], &v[1], &v[2], RATES);
    let reference: &dyn Fn(&[Tensor]) -> Result<Tensor> = &|v| trace_context::reference(&v[0], &v[1], &v[2], RATES);
    let shapes = |b: usize, t: usize, d: usize| [vec![b, t, d], vec![d, d], vec![d, 4 * d]];
    for (b, t, d) in [(1, 1, 1), (1, 1, 5), (2, 3, 4), (9, 7, 3), (3, 70, 17), (1, 300, 33), (2, 65, 130)] {
        let shapes = shapes(b, t, d);
        let given = inputs(&shapes, DType::F32)?;
        let given: Vec<Tensor> = given.iter().map(|v| v.as_tensor().clone()).collect();
        let (found, wanted) = (host::to_f32(&fused(&given)?)?, host::to_f32(&separate_context(&given)?)?);
        assert!(found.iter().zip(&wanted).all(|(f, w)| f.to_bits() == w.to_bits()), "{shapes:?}");
        check(fused, reference, &shapes)?;
        check_threads(fused, &shapes)?;
    }
    check_frozen(fused, &shapes(2, 65, 18))?;
    check_reference(reference, &shapes(2, 5, 3))?;
    let refused = trace_context(&random(1, &[1, 2, 3])?, &random(2, &[3, 3])?, &random(3, &[3, 9])?, RATES);
    assert!(refused.unwrap_err().to_string().contains("do not fit"));
    Ok(())
}

const SCHEMES: [Scheme; 2] = [Scheme::Euler, Scheme::Leapfrog];

/// Evolutions with small weights and dt of about 0.1, so that they do not diverge.
fn evolutions(b: usize, t: usize, (heads, head_dim): (usize, usize), steps: usize, run: Check) {
    for scheme in SCHEMES {
        let spec = EvolutionSizes { heads, head_dim, scheme, steps };
        run(
            &|v| evolve(&v[0], &(&v[1] * 0.4)?, &v[2].affine(0.3, -2.0)?, spec),
            &|v| evolution::reference(&v[0], &(&v[1] * 0.4)?, &v[2].affine(0.3, -2.0)?, spec),
            &[vec![b, t, 3 * heads * head_dim], vec![2 * head_dim, head_dim], vec![heads]],
        );
    }
}

#[test]
fn evolutions_at_the_edges() {
    for (b, t, sizes, steps) in [(1, 1, (1, 1), 1), (2, 33, (3, 7), 2), (1, 64, (4, 32), 3), (2, 50, (2, 16), 7)] {
        evolutions(b, t, sizes, steps, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}

#[test]
fn evolution_references_agree_with_finite_differences() {
    evolutions(1, 3, (2, 4), 2, &mut |_, reference, shapes| check_reference(reference, shapes).unwrap());
}

#[test]
fn threads_change_no_evolution() {
    evolutions(2, 70, (2, 8), 3, &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
}

/// The operations before and after the attention in differential attention.
fn differences(b: usize, t: usize, (heads, head_dim): (usize, usize), run: Check) {
    let wide = heads * head_dim;
    run(
        &|v| halve_queries(&v[0], heads),
        &|v| differential::halve_queries_reference(&v[0], heads),
        &[vec![b, t, 3 * wide]],
    );
    run(
        &|v| normalised_difference(&v[0], &v[1], 1e-6),
        &|v| differential::normalised_difference_reference(&v[0], &v[1], 1e-6),
        &[vec![b, t, 2 * wide], vec![heads]],
    );
}

#[test]
fn head_differences_equal_the_reference_at_edge_sizes() {
    for (b, t, sizes) in [(1, 1, (1, 2)), (2, 33, (3, 6)), (1, 64, (4, 32)), (2, 50, (2, 16))] {
        differences(b, t, sizes, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
    differences(2, 70, (2, 8), &mut |fused, _, shapes| check_threads(fused, shapes).unwrap());
    differences(1, 3, (2, 4), &mut |_, reference, shapes| check_reference(reference, shapes).unwrap());
}

#[test]
fn odd_heads_cannot_be_halved() -> Result<()> {
    let qkv = random(1, &[1, 2, 9])?;
    assert!(halve_queries(&qkv, 3).unwrap_err().to_string().contains("even width a head"));
    assert!(normalised_difference(&qkv, &random(2, &[2])?, 1e-6).unwrap_err().to_string().contains("2 heads"));
    Ok(())
}

#[test]
fn no_step_is_the_identity_and_values_never_move() -> Result<()> {
    let (qkv, f, tau) = (random(1, &[2, 5, 24])?, random(2, &[8, 4])?, random(3, &[2])?);
    for scheme in SCHEMES {
        let spec = |steps| EvolutionSizes { heads: 2, head_dim: 4, scheme, steps };
        assert_eq!(host::to_f32(&evolve(&qkv, &f, &tau, spec(0))?)?, host::to_f32(&qkv)?);
        let moved = evolve(&qkv, &f, &tau, spec(2))?;
        assert_eq!(host::to_f32(&moved.narrow(2, 16, 8)?)?, host::to_f32(&qkv.narrow(2, 16, 8)?)?);
        assert!(evolve(&qkv, &f, &random(3, &[3])?, spec(1)).unwrap_err().to_string().contains("cannot evolve"));
    }
    Ok(())
}

#[test]
fn the_tau_gradient_is_the_same_when_only_tau_is_tracked() -> Result<()> {
    let spec = EvolutionSizes { heads: 1, head_dim: 4, scheme: Scheme::Leapfrog, steps: 2 };
    let tau = Var::from_tensor(&random(3, &[1])?)?;
    let (qkv, f) = (random(1, &[1, 9, 12])?, random(2, &[8, 4])?);
    let whole =
        derive(&|v| evolve(&v[0], &v[1], &v[2], spec), &[Var::from_tensor(&qkv)?, Var::from_tensor(&f)?, tau.clone()])?;
    let alone = derive(&|v| evolve(&qkv, &f, &v[0], spec), &[tau])?;
    assert_eq!(host::to_f32(&whole[3])?, host::to_f32(&alone[1])?);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn averages_equal_the_reference_at_any_size(b in 1usize..3, t in 1usize..200, d in 1usize..40) {
        averages(b, t, d, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }

    #[test]
    fn averages_cut_anywhere(t in 1usize..80, chunk in 1usize..90) {
        check_cut(t, chunk).unwrap();
    }

    #[test]
    fn top_k_equals_the_reference_at_any_size(rows in 1usize..150, f in 1usize..200, share in 0.0f64..1.0) {
        check_top_k(rows, f, (share * f as f64).round() as usize).unwrap();
    }

    #[test]
    fn balances_of_any_size(rows in 1usize..150, f in 1usize..200, k in 1usize..20) {
        // made-up counts: if a selection used all units equally, the gradient would be rounding noise only
        let uneven: Vec<f32> = (0..f).map(|i| (1 + 7 * i % 5) as f32).collect();
        let counts = Tensor::new(uneven, &Device::Cpu).unwrap();
        check(
            &|v| balance(&v[0], &counts, k)? * 1e3,
            &|v| balance::reference(&v[0], &counts, k)? * 1e3,
            &[vec![1, rows, f]],
        )
        .unwrap();
    }

    #[test]
    fn evolutions_of_any_size(b in 1usize..3, t in 1usize..70, heads in 1usize..4, head_dim in 1usize..20, steps in 1usize..4) {
        evolutions(b, t, (heads, head_dim), steps, &mut |fused, reference, shapes| check(fused, reference, shapes).unwrap());
    }
}
