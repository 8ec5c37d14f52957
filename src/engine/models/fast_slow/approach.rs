//! The approach of a round's fast state to its equilibrium, with the slow state held.

use std::{cell::Cell, sync::atomic::Ordering};

use candle_core::Var;

use super::{Approach, FastSlow, net::Net};
use crate::{
    models::{capabilities::FixedPointModel, prelude::*},
    nn::{
        fixed_point::{self, Anderson, BackwardSolves, Implicit, StopCriterion},
        pooling::upsample,
    },
};

/// Evaluations of Post in the last equilibrium solve.
pub const DEQ_ITERATIONS: &str = "deq/iterations";
/// Products with the transposed Jacobian in the last solve of a backward pass.
pub const DEQ_BACKWARD: &str = "deq/backward_iterations";

/// The cost of the last equilibrium solve, and the solves of the last training step that stopped short of the tolerance.
#[derive(Default)]
pub(super) struct SolveStatistics {
    iterations: Cell<usize>,
    residual: Cell<f64>,
    missed: Cell<usize>,
    backward: Arc<BackwardSolves>,
}

impl SolveStatistics {
    fn begin_step(&self) {
        self.missed.set(0);
        self.backward.unconverged.store(0, Ordering::Relaxed);
    }

    pub(super) fn scalars(&self) -> [(&'static str, f64); 5] {
        let read = |number: &std::sync::atomic::AtomicUsize| number.load(Ordering::Relaxed) as f64;
        [
            (DEQ_ITERATIONS, self.iterations.get() as f64),
            (channels::DEQ_RESIDUAL, self.residual.get()),
            (DEQ_BACKWARD, read(&self.backward.iterations)),
            (channels::DEQ_MISSED, self.missed.get() as f64),
            (channels::DEQ_BACKWARD_MISSED, read(&self.backward.unconverged)),
        ]
    }
}

/// The state that a round refines.
#[derive(Clone, Copy)]
pub(super) struct RoundState<'a> {
    /// The state after the injection `(B, T, D)`.
    pub(super) x: &'a Tensor,
    /// The injected state `(B, K, D)`.
    pub(super) push: &'a Tensor,
    pub(super) round: usize,
    /// True to keep the graph for gradients.
    pub(super) learn: bool,
}

impl FastSlow {
    /// Maps the injected state to the one that leaves the round.
    pub(super) fn approach(&self, net: &Net, from: RoundState<'_>, tap: &mut Tap) -> Result<Tensor> {
        let x = from.x;
        let mut first = Some(tap);
        let mut pass = |x: &Tensor| match first.take() {
            Some(tap) => net.post(x, tap, from.round),
            None => net.post(x, &mut Tap::off(), from.round),
        };
        match self.spec.approach {
            Approach::OnePass => pass(x),
            Approach::Passes { passes } => (0..passes).try_fold(x.clone(), |x, _| pass(&x)),
            Approach::Anderson { passes } => {
                let mut anderson = Anderson::default();
                (0..passes).try_fold(x.clone(), |x, _| anderson.next(&x, &pass(&x)?))
            }
            Approach::BackwardEuler { tolerance, max_iters } => {
                let anchor = x.detach();
                let map = |x: &Tensor| (&anchor + self.refine(x)?)? - x;
                let value = |solution: &Tensor| (x + pass(solution)?)? - solution;
                self.solve(from, map, value, StopCriterion { tolerance, max_iters })
            }
            Approach::Deq { tolerance, max_iters } => {
                let forcing = upsample(from.push, self.spec.pool, x.dim(1)?, self.spec.upsample)?; // (B,T,D)
                let held = forcing.detach();
                let map = |x: &Tensor| self.refine(x)? + &held;
                let value = |solution: &Tensor| pass(solution)? + &forcing;
                self.solve(from, map, value, StopCriterion { tolerance, max_iters })
            }
        }
    }

    /// The solution of x = G(x) from the injected state on, with gradients by the implicit function theorem. `map` is G
    /// without gradients of anything but its argument, `value` G at a solution with those of all that it depends on
    /// besides.
    fn solve(
        &self,
        from: RoundState<'_>,
        map: impl Fn(&Tensor) -> Result<Tensor>,
        value: impl FnOnce(&Tensor) -> Result<Tensor>,
        goal: StopCriterion,
    ) -> Result<Tensor> {
        if from.learn && from.round == 0 {
            self.solves.begin_step();
        }
        let solution = fixed_point::solve(&map, from.x, goal)?;
        self.solves.iterations.set(solution.iterations);
        self.solves.residual.set(solution.residual);
        let value = value(&solution.x)?;
        if !from.learn {
            return Ok(value);
        }
        self.solves.missed.set(self.solves.missed.get() + usize::from(!solution.is_settled));
        let at = Var::from_tensor(&solution.x)?;
        let image = map(&at)?;
        fixed_point::attach(&value, Implicit { at, image, criterion: goal, backward: self.solves.backward.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::{
        models::fast_slow::{FastSlowSpec, update_count::tests::batch},
        nn::pooling::Upsample,
    };

    const GOAL: StopCriterion = StopCriterion { tolerance: 1e-6, max_iters: 60 };

    /// A small model whose blocks are tame enough that plain passes of the anchored map converge.
    fn contractive_model() -> Result<(FastSlow, Batch)> {
        let spec = FastSlowSpec {
            d_model: 16,
            heads: 2,
            kv_heads: 1,
            n_rounds: 1,
            approach: Approach::BackwardEuler { tolerance: GOAL.tolerance, max_iters: GOAL.max_iters },
            ..FastSlowSpec::default()
        };
        let model = FastSlow::new(&spec, 11, 2, &Device::Cpu)?;
        for (name, var) in model.params.iter() {
            if name.starts_with("post.") && (name.contains("wo") || name.contains("down")) {
                var.set(&(var.as_tensor() * 0.2)?.detach())?;
            }
        }
        model.params.load("gamma", &Tensor::new(0.4f32, &Device::Cpu)?)?;
        Ok((model, batch()?))
    }

    #[test]
    fn equilibrium_gradients_agree_with_unrolled_ones() -> Result<()> {
        let (model, batch) = contractive_model()?;
        let net = &model.net;
        // The state before Post, tracked: one round of the model up to there, then 60 plain passes.
        let x = block::run(&net.pre, &embedding(&net.embed, &batch.tokens)?, &mut Tap::off(), None)?;
        let y = model.slow_state(net, &x, &mut Tap::off(), 0)?;
        let push = net.injection(&y)?.broadcast_mul(&model.gate_tensor(net)?)?;
        let anchor = (x + upsample(&push, model.spec.pool, 19, Upsample::Causal)?)?;
        let mut x = anchor.clone();
        for _ in 0..60 {
            x = ((&anchor + net.post(&x, &mut Tap::off(), 0)?)? - &x)?;
        }
        let scalars = compare(&model, &batch, &x, 1e-5)?;
        assert!(scalars[channels::DEQ_RESIDUAL] <= GOAL.tolerance && scalars[DEQ_BACKWARD] > 0.0);
        assert!(scalars[channels::GATE_GRAD].abs() > 0.0);
        Ok(())
    }

    /// Compares the loss, and the gradients of every weight that the unrolled one depends on; returns the step's scalars.
    fn compare(model: &FastSlow, batch: &Batch, x: &Tensor, within: f64) -> Result<HashMap<&'static str, f64>> {
        let unrolled = model.cross_entropy(&model.net, x, &batch.targets)?;
        let implicit = model.loss(batch)?.total;
        assert!((host::scalar(&unrolled)? - host::scalar(&implicit)?).abs() < within);
        let (implicit, unrolled) = (implicit.backward()?, unrolled.backward()?);
        let mut compared = 0;
        for (name, var) in model.params.iter() {
            let (Some(a), Some(e)) = (implicit.get(var), unrolled.get(var)) else { panic!("no gradient of {name}") };
            if host::scalar(&e.sqr()?.sum_all()?)? < 1e-16 {
                continue;
            }
            let off = fixed_point::relative_distance(e, a)?;
            assert!(off < 1e-3, "gradient of {name} is {off:e} off");
            compared += 1;
        }
        assert!(compared > 10, "{compared} gradients");
        let scalars: HashMap<_, _> = model.scalars(Some(&implicit))?.into_iter().collect();
        assert_eq!([scalars[channels::DEQ_MISSED], scalars[channels::DEQ_BACKWARD_MISSED]], [0.0; 2]);
        Ok(scalars)
    }

    /// A model of one round for which R(x) + u = 0 has a solution that plain passes of x + R(x) + u find. With x' = x / rms(x),
    /// Post adds 0.9 Q x', Q a quarter turn of pairs of channels, and takes away the direction of what it then has. Every
    /// block is heard of by its own tokens, since where nothing is injected R has no zero.
    fn solvable_model() -> Result<(FastSlow, Batch)> {
        const D: usize = 16;
        let spec = FastSlowSpec {
            d_model: D,
            heads: 2,
            kv_heads: 2,
            n_rounds: 1,
            fast_window: Some(1),
            upsample: Upsample::Leaky,
            approach: Approach::Deq { tolerance: GOAL.tolerance, max_iters: GOAL.max_iters },
            ..FastSlowSpec::default()
        };
        let model = FastSlow::new(&spec, 11, 2, &Device::Cpu)?;
        let set = |name: &str, rows: usize, columns: usize, at: &dyn Fn(usize, usize) -> f32| {
            let values: Vec<f32> = (0..rows * columns).map(|i| at(i / columns, i % columns)).collect();
            model.params.load(name, &Tensor::from_vec(values, (rows, columns), &Device::Cpu)?)
        };
        let eye = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        let turn = |i: usize, j: usize| match (i % 2, j) {
            (0, j) if j == i + 1 => -0.9,
            (1, j) if j + 1 == i => 0.9,
            _ => 0.0,
        };
        set("post.0.attn.wv.weight", D, D, &eye)?;
        set("post.0.attn.wo.weight", D, D, &turn)?;
        // gelu(z) - gelu(-z) = z
        set("post.0.mlp.up.weight", 4 * D, D, &|i, j| eye(i, j) - eye(i, j + D))?;
        set("post.0.mlp.down.weight", D, 4 * D, &|i, j| eye(i + D, j) - eye(i, j))?;
        model.params.load("gamma", &Tensor::new(0.8f32.atanh(), &Device::Cpu)?)?;
        Ok((model, batch()?))
    }

    #[test]
    fn the_forced_equation_is_solved_with_its_gradients() -> Result<()> {
        let (model, batch) = solvable_model()?;
        let net = &model.net;
        let x = block::run(&net.pre, &embedding(&net.embed, &batch.tokens)?, &mut Tap::off(), None)?;
        let y = model.slow_state(net, &x, &mut Tap::off(), 0)?;
        let push = net.injection(&y)?.broadcast_mul(&model.gate_tensor(net)?)?;
        let forcing = upsample(&push, model.spec.pool, 19, Upsample::Leaky)?;
        let mut x = (x + &forcing)?.detach();
        for _ in 0..60 {
            x = (net.post(&x, &mut Tap::off(), 0)? + &forcing)?;
        }
        let update = (net.post(&x, &mut Tap::off(), 0)? - &x)?;
        let left = fixed_point::relative_distance(&forcing, &update.neg()?)?;
        assert!(left < 1e-4, "R(x) + u is {left:e} of u");
        compare(&model, &batch, &x, 1e-4)?;
        Ok(())
    }

    #[test]
    fn solves_that_stop_short_are_counted_by_step() -> Result<()> {
        let spec = FastSlowSpec {
            d_model: 16,
            approach: Approach::Deq { tolerance: 1e-6, max_iters: 2 },
            ..FastSlowSpec::default()
        };
        let model = FastSlow::new(&spec, 11, 2, &Device::Cpu)?;
        // with its gate shut the second round does not depend on the first, which then has no gradient to solve for
        model.params.load("gamma", &Tensor::new(0.4f32, &Device::Cpu)?)?;
        let batch = batch()?;
        for _ in 0..2 {
            model.loss(&batch)?.total.backward()?;
            let scalars = model.scalars(None)?;
            let missed = scalars.iter().find(|(n, _)| *n == channels::DEQ_MISSED).map(|(_, v)| *v);
            assert_eq!(missed, Some(2.0), "one a round, of the last step alone");
            assert!(scalars.iter().any(|(n, v)| *n == channels::DEQ_BACKWARD_MISSED && *v == 2.0), "{scalars:?}");
        }
        Ok(())
    }
}
