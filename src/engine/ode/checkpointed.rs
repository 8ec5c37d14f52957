//! Backpropagation that keeps the state at the start of each step and computes the step again on the
//! backward pass.

use std::result;

use candle_core::{Result, Tensor, Var};

use super::{
    SharedField, Solution, SolveError, SolverOptions, Span, Tableau,
    solve::{AcceptedStep, Solver},
    step::{StepTimes, step},
    vjp::{self, check, gradients},
};
use crate::nn::vjp::{Vjp, attach};

/// Same as [`solve`](fn@super::solve), with the gradients of [`Gradient::Backprop`](super::Gradient::Backprop) for the start
/// and `weights`, the variables that the field reads.
///
/// # Errors
/// Those of [`solve`](fn@super::solve); a weight that is not a variable is an error of the field.
pub fn checkpointed(
    field: &SharedField,
    weights: &[Tensor],
    y0: &Tensor,
    Span { start: t0, end: t1 }: Span,
    options: &SolverOptions,
) -> result::Result<Solution, SolveError> {
    check(weights, y0, t0)?;
    let mut steps = vec![];
    let still = vjp::detached(field);
    let mut solver = Solver::new(&still, options);
    let solution = solver.run(&y0.detach(), t0, &[t1], options.keep_states, &mut |taken| {
        steps.push(SavedStep::new(taken));
        Ok(())
    })?;
    let (tableau, (field, weights)) = (options.method.tableau(), (field.clone(), weights.to_vec()));
    let end = attach(&solution.end, y0, &weights.clone(), Checkpoints { field, weights, tableau, t1, steps });
    let end = end.map_err(|e| solver.failed(e, t0))?;
    Ok(Solution { end, ..solution })
}

/// The start of a step.
struct SavedStep {
    t: f64,
    h: f64,
    end: f64,
    last: f64,
    y: Tensor,
    /// The slope that was there before the step, if any.
    slope: Option<Tensor>,
}

impl SavedStep {
    fn new(taken: AcceptedStep) -> Self {
        let slope = if taken.reuses_first_slope { taken.step.ks.first().cloned() } else { None };
        Self { t: taken.t, h: taken.step.h, end: taken.end, last: taken.last, y: taken.step.y0.clone(), slope }
    }
}

struct Checkpoints {
    field: SharedField,
    weights: Vec<Tensor>,
    tableau: &'static Tableau,
    t1: f64,
    steps: Vec<SavedStep>,
}

impl Vjp for Checkpoints {
    fn vjp(&self, end: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        // gradients of the state after the current step, and of the slope that the step passes on
        let (mut dy, mut dk) = (end.clone(), None::<Tensor>);
        let mut totals: Option<Vec<Tensor>> = None;
        let mut add = |more: Vec<Tensor>| -> Result<()> {
            totals = Some(match totals.take() {
                None => more,
                Some(sum) => sum.iter().zip(&more).map(|(a, b)| a + b).collect::<Result<_>>()?,
            });
            Ok(())
        };
        for kept in self.steps.iter().rev() {
            let y = Var::from_tensor(&kept.y)?;
            let slope = kept.slope.as_ref().map(Var::from_tensor).transpose()?;
            let first = match &slope {
                Some(k) => k.as_tensor().clone(),
                None => self.field.at(kept.t, &y)?,
            };
            let times = StepTimes { t: kept.t, h: kept.h, last: kept.last };
            let made = step(self.tableau, times, &y, first, |t, y| self.field.at(t, y))?;
            let after = if kept.end >= self.t1 {
                AcceptedStep { t: kept.t, end: kept.end, last: kept.last, reuses_first_slope: false, step: &made }
                    .state_at(self.t1, self.tableau)?
            } else {
                made.y1.clone()
            };
            let mut outputs = vec![(&after, &dy)];
            if let (Some(k), Some(dk)) = (made.ks.last(), &dk) {
                outputs.push((k, dk));
            }
            let leaves: Vec<&Var> = [Some(&y), slope.as_ref()].into_iter().flatten().collect();
            let mut found = gradients(&outputs, &leaves, &self.weights)?;
            add(found.split_off(leaves.len()))?;
            dk = if slope.is_some() { found.pop() } else { None };
            dy = found.swap_remove(0);
        }
        // the very first slope, if the method received one, is the field's value at the start
        if let (Some(dk), Some(first)) = (dk, self.steps.first()) {
            let y = Var::from_tensor(&first.y)?;
            let mut found = gradients(&[(&self.field.at(first.t, &y)?, &dk)], &[&y], &self.weights)?;
            add(found.split_off(1))?;
            dy = (dy + &found[0])?;
        }
        Ok((dy, totals.unwrap_or_default()))
    }
}
