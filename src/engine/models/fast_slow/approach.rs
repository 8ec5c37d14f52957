//! The approach of a round's fast state to its equilibrium, with the slow state held.

use std::{cell::Cell, sync::atomic::Ordering};

use candle_core::Var;

use super::{Approach, FastSlow, net::FastSlowNet};
use crate::{
    models::prelude::*,
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
    unconverged_solves: Cell<usize>,
    backward: Arc<BackwardSolves>,
}

impl SolveStatistics {
    fn begin_step(&self) {
        self.unconverged_solves.set(0);
        self.backward.unconverged.store(0, Ordering::Relaxed);
    }

    pub(super) fn scalars(&self) -> [(&'static str, f64); 5] {
        let read = |number: &std::sync::atomic::AtomicUsize| number.load(Ordering::Relaxed) as f64;
        [
            (DEQ_ITERATIONS, self.iterations.get() as f64),
            (channels::DEQ_RESIDUAL, self.residual.get()),
            (DEQ_BACKWARD, read(&self.backward.iterations)),
            (channels::DEQ_MISSED, self.unconverged_solves.get() as f64),
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
    pub(super) fn approach(&self, net: &FastSlowNet, from: RoundState<'_>, tap: &mut Tap) -> Result<Tensor> {
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
        self.solves.unconverged_solves.set(self.solves.unconverged_solves.get() + usize::from(!solution.is_settled));
        let at = Var::from_tensor(&solution.x)?;
        let image = map(&at)?;
        fixed_point::attach(&value, Implicit { at, image, criterion: goal, backward: self.solves.backward.clone() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::models::fast_slow::FastSlowSpec;

    fn batch() -> Result<Batch> {
        let ids: Vec<u32> = (0..39).map(|i| (i * i + 3) % 11).collect();
        Batch::from_ids(&ids[..38], &ids[1..], 2, 19, &Device::Cpu)
    }

    #[test]
    fn solves_that_converge_miss_nothing() -> Result<()> {
        let spec = FastSlowSpec {
            d_model: 16,
            heads: 2,
            kv_heads: 1,
            n_rounds: 1,
            approach: Approach::BackwardEuler { tolerance: 1e-6, max_iters: 60 },
            ..FastSlowSpec::default()
        };
        let model = FastSlow::new(&spec, 11, 2, &Device::Cpu)?;
        // blocks tame enough that plain passes converge
        for (name, var) in model.params.iter() {
            if name.starts_with("post.") && (name.contains("wo") || name.contains("down")) {
                var.set(&(var.as_tensor() * 0.2)?.detach())?;
            }
        }
        model.params.load("gamma", &Tensor::new(0.4f32, &Device::Cpu)?)?;
        model.loss(&batch()?)?.total.backward()?;
        let scalars: HashMap<_, _> = model.scalars(None)?.into_iter().collect();
        assert_eq!([scalars[channels::DEQ_MISSED], scalars[channels::DEQ_BACKWARD_MISSED]], [0.0; 2]);
        assert!(scalars[channels::DEQ_RESIDUAL] <= 1e-6 && scalars[DEQ_BACKWARD] > 0.0, "{scalars:?}");
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
            let unconverged_solves = scalars.iter().find(|(n, _)| *n == channels::DEQ_MISSED).map(|(_, v)| *v);
            assert_eq!(unconverged_solves, Some(2.0), "one a round, of the last step alone");
            assert!(scalars.iter().any(|(n, v)| *n == channels::DEQ_BACKWARD_MISSED && *v == 2.0), "{scalars:?}");
        }
        Ok(())
    }
}
