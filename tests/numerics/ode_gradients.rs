//! Tests the three methods for gradients of a solve: comparison with finite differences and with each other, and use
//! within a larger graph.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor, Var};
use orrery_lab::{
    nn::host,
    ode::{Gradient, Method, Policy, SharedField, SolverOptions, Span, solve, solve_with},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::op_checks;

fn random(seed: u64, shape: &[usize], size: f64) -> Tensor {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f64> = (0..shape.iter().product()).map(|_| rng.random_range(-size..size)).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// The field dy = tanh(y W1 + b + sin 3t) W2 on states (3, 4), with its weights and a start.
struct Example {
    weights: Vec<Tensor>,
    y0: Var,
}

impl Example {
    fn new() -> Result<Self> {
        let shapes: [&[usize]; 3] = [&[4, 6], &[6], &[6, 4]];
        let weights = shapes
            .iter()
            .enumerate()
            .map(|(i, s)| Ok(Var::from_tensor(&random(i as u64, s, 0.9))?.as_tensor().clone()));
        Ok(Self { weights: weights.collect::<Result<_>>()?, y0: Var::from_tensor(&random(9, &[3, 4], 1.0))? })
    }

    fn field(&self) -> SharedField {
        let w = self.weights.clone();
        Arc::new(move |t: f64, y: &Tensor| {
            let hidden = (y.matmul(&w[0])?.broadcast_add(&w[1])? + (3.0 * t).sin())?.tanh()?;
            hidden.matmul(&w[2])
        })
    }

    /// A nonlinear loss of the end state.
    fn loss(end: &Tensor) -> Result<Tensor> {
        (end.sqr()? * random(5, &[3, 4], 1.0))?.sum_all()
    }

    /// The gradients of the start and of every weight, concatenated.
    fn gradients(&self, way: Gradient, options: &SolverOptions) -> Result<Vec<f64>> {
        let solved = solve_with(way, &self.field(), &self.weights, &self.y0, Span { start: 0.25, end: 1.75 }, options)?;
        let still = Self { weights: self.weights.iter().map(Tensor::detach).collect(), y0: self.y0.clone() };
        let plain = solve(still.field().as_ref(), &self.y0.detach(), Span { start: 0.25, end: 1.75 }, options)?;
        assert_eq!(host::to_f64(&solved.end)?, host::to_f64(&plain.end)?, "{way:?} changes the result");
        assert_eq!(solved.trace, plain.trace);
        let grads = Self::loss(&solved.end)?.backward()?;
        let mut all = vec![];
        for v in [self.y0.as_tensor()].into_iter().chain(&self.weights) {
            let grad = grads.get(v).ok_or(candle_core::Error::Msg("a gradient is missing".into()))?;
            assert_eq!(grad.dims(), v.dims());
            all.extend(host::to_f64(grad)?);
        }
        Ok(all)
    }

    /// The loss after moving the start and all weights by h in the direction `way`, which has the order of `gradients`.
    fn moved(&self, way: &[f64], h: f64, options: &SolverOptions) -> Result<f64> {
        let mut from = 0;
        let mut moved = |t: &Tensor| -> Result<Tensor> {
            let n = t.elem_count();
            let along = Tensor::from_slice(&way[from..from + n], t.shape(), &Device::Cpu)?;
            from += n;
            t.detach() + (along * h)?
        };
        let y0 = moved(&self.y0)?;
        let weights = self.weights.iter().map(&mut moved).collect::<Result<Vec<_>>>()?;
        let there = Self { weights, y0: Var::from_tensor(&y0)? };
        let end = solve(there.field().as_ref(), &y0, Span { start: 0.25, end: 1.75 }, options)?.end;
        host::scalar(&Self::loss(&end)?)
    }
}

/// The largest difference relative to the largest value of `b`.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    op_checks::apart(a, b) / op_checks::largest(b.iter().copied())
}

fn all_options() -> impl Iterator<Item = SolverOptions> {
    Method::ALL.iter().copied().flat_map(|method| {
        Policy::ALL.map(|policy| SolverOptions {
            steps: 12,
            rtol: 1e-4,
            atol: 1e-5,
            method,
            policy,
            ..SolverOptions::default()
        })
    })
}

#[test]
fn backprop_agrees_with_finite_differences() -> Result<()> {
    let example = Example::new()?;
    for options in all_options() {
        // backpropagation ignores that step lengths depend on the state; with tighter tolerances this error is smaller
        let adaptive = options.method.is_adaptive();
        let tolerance = if options.method.tableau().order < 3 { 1e-5 } else { 1e-8 };
        let options = SolverOptions { rtol: tolerance, atol: tolerance, ..options };
        let found = example.gradients(Gradient::Backprop, &options)?;
        for seed in 20..23 {
            let way = host::to_f64(&random(seed, &[found.len()], 1.0))?;
            let h = 1e-5;
            let slope = (example.moved(&way, h, &options)? - example.moved(&way, -h, &options)?) / (2.0 * h);
            let told: f64 = found.iter().zip(&way).map(|(g, w)| g * w).sum();
            let off = (slope - told).abs() / (1.0 + slope.abs());
            let most = if adaptive { 1e-3 } else { 1e-8 };
            assert!(off < most, "{} {:?}: {slope} and {told}, {off:e} apart", options.method, options.policy);
        }
    }
    Ok(())
}

#[test]
fn checkpoints_give_the_gradients_of_backprop() -> Result<()> {
    let example = Example::new()?;
    for options in all_options() {
        let exact = example.gradients(Gradient::Backprop, &options)?;
        let off = apart(&example.gradients(Gradient::Checkpointed, &options)?, &exact);
        assert!(off < 1e-12, "{} {:?}: {off:e}", options.method, options.policy);
    }
    // with a first step of 1.4, the first attempt is so long that it is rejected
    for first_step in [Some(0.05), Some(1.4)] {
        let options = SolverOptions { first_step, rtol: 1e-7, atol: 1e-7, ..SolverOptions::default() };
        let exact = example.gradients(Gradient::Backprop, &options)?;
        assert!(apart(&example.gradients(Gradient::Checkpointed, &options)?, &exact) < 1e-12);
    }
    Ok(())
}

#[test]
fn the_adjoint_agrees_as_the_solves_get_better() -> Result<()> {
    let example = Example::new()?;
    let truth = example.gradients(
        Gradient::Checkpointed,
        &SolverOptions { max_attempts: 100_000, ..SolverOptions::adaptive(Method::DOPRI5, Policy::Clip, 1e-11) },
    )?;
    for &method in Method::ALL {
        for policy in Policy::ALL {
            let at = |fine: bool| {
                let best = if method.tableau().order < 3 { 1e-5 } else { 1e-7 };
                let tolerance = if fine { best } else { 1e-3 };
                let steps = if fine { 256 } else { 8 };
                let options = SolverOptions {
                    steps,
                    max_attempts: 100_000,
                    ..SolverOptions::adaptive(method, policy, tolerance)
                };
                Ok::<_, candle_core::Error>(apart(&example.gradients(Gradient::Adjoint, &options)?, &truth))
            };
            let (coarse, fine) = (at(false)?, at(true)?);
            // Euler's method is of first order; for the inaccurate interpolants see `ode.rs`
            let rough = policy == Policy::Interpolate && method.is_adaptive() && method.tableau().order < 5;
            let most = if method == Method::EULER || rough { 2e-2 } else { 1e-4 };
            assert!(fine < most && fine < coarse, "{method} {policy:?}: {coarse:e}, then {fine:e}");
        }
    }
    Ok(())
}

/// If the start, the field and the loss all depend on the same weight, its gradient is the sum of the three parts.
#[test]
fn a_weight_may_be_used_on_both_sides() -> Result<()> {
    let w = Var::from_tensor(&random(1, &[4, 4], 0.7))?;
    let gradient = |way: Gradient| -> Result<Vec<f64>> {
        let inside = w.as_tensor().clone();
        let field: SharedField = Arc::new(move |_: f64, y: &Tensor| y.matmul(&inside)?.tanh());
        let y0 = random(2, &[3, 4], 1.0).matmul(&w)?;
        let end =
            solve_with(way, &field, &[w.as_tensor().clone()], &y0, Span::UNIT, &SolverOptions::fixed(Method::RK4, 20));
        let grads = (end?.end.matmul(&w)?.sqr()?.sum_all()?).backward()?;
        host::to_f64(grads.get(&w).ok_or(candle_core::Error::Msg("no gradient".into()))?)
    };
    let exact = gradient(Gradient::Backprop)?;
    assert!(apart(&gradient(Gradient::Checkpointed)?, &exact) < 1e-12);
    assert!(apart(&gradient(Gradient::Adjoint)?, &exact) < 1e-4);
    Ok(())
}

#[test]
fn independent_inputs_get_zero_gradients_and_unsupported_modes_an_error() -> Result<()> {
    let example = Example::new()?;
    let options = SolverOptions::default();
    for way in [Gradient::Checkpointed, Gradient::Adjoint] {
        // a field that depends neither on the state nor on the weights
        let still: SharedField = Arc::new(|t: f64, y: &Tensor| y.ones_like()?.detach() * t);
        let end = solve_with(way, &still, &example.weights, &example.y0, Span::UNIT, &options)?.end;
        let grads = end.sum_all()?.backward()?;
        let (w, y) = (grads.get(&example.weights[0]), grads.get(&example.y0));
        let (Some(w), Some(y)) = (w, y) else { panic!("a gradient is missing") };
        assert!(host::to_f64(w)?.iter().all(|v| *v == 0.0));
        assert!(host::to_f64(y)?.iter().all(|v| (v - 1.0).abs() < 1e-9));

        let derived = [(&example.weights[0] * 2.0)?];
        let failure = solve_with(way, &example.field(), &derived, &example.y0, Span::UNIT, &options).unwrap_err();
        assert!(failure.to_string().contains("not a variable"), "{failure}");
        let other = [Var::zeros(3, DType::F32, &Device::Cpu)?.as_tensor().clone()];
        let failure = solve_with(way, &example.field(), &other, &example.y0, Span::UNIT, &options).unwrap_err();
        assert!(failure.to_string().contains("F32"), "{failure}");
    }
    for way in Gradient::ALL {
        assert_eq!(Gradient::from_id(way.id()), Some(way));
        let failure =
            solve_with(way, &example.field(), &[], &example.y0, Span { start: 1.0, end: 1.0 }, &options).unwrap_err();
        assert_eq!(failure.t, 1.0);
    }
    Ok(())
}
