//! The backward passes of solves that keep little of the way: by the adjoint equation, and by steps computed again.

use std::{result, sync::Arc};

use candle_core::{Result, Tensor, Var, bail};

use super::{
    Field, SharedField, Solution, SolveError, SolveFailure, SolverOptions, Span, Tableau, Trace,
    solve::{AcceptedStep, Solver},
    state::ErrorScope,
    step::{StepTimes, step},
};
use crate::nn::vjp::{Vjp, attach};

/// Returns an error, which names the cause, for a solve that has no backward pass.
fn check(weights: &[Tensor], y0: &Tensor, t0: f64) -> result::Result<(), SolveError> {
    let fail = |what: String| Err(SolveError { reason: SolveFailure::Field(what), t: t0, trace: Trace::default() });
    for (i, w) in weights.iter().enumerate() {
        if !w.is_variable() {
            return fail(format!("weight {i} {:?} is not a variable, so no gradient can be given to it", w.shape()));
        }
        if w.dtype() != y0.dtype() {
            return fail(format!("weight {i} is of {:?}, the state of {:?}", w.dtype(), y0.dtype()));
        }
    }
    Ok(())
}

/// Wraps a field so that only its values remain; the graph that computed them is dropped at once.
fn detached(field: &SharedField) -> impl Field + use<> {
    let field = Arc::clone(field);
    move |t: f64, y: &Tensor| -> Result<Tensor> { Ok(field.at(t, y)?.detach()) }
}

/// Returns the gradients of sum(outputs_i * along_i) with respect to leaves and weights, zero where there are none.
fn gradients(outputs: &[(&Tensor, &Tensor)], leaves: &[&Var], weights: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut parts = outputs.iter().map(|(value, along)| (*value * along.detach())?.sum_all());
    let Some(first) = parts.next() else { bail!("a backward pass from no gradient") };
    let grads = parts.try_fold(first?, |sum, part| sum + part?)?.backward()?;
    let of = |t: &Tensor| grads.get(t).map_or_else(|| t.zeros_like(), |g| Ok(g.detach()));
    leaves.iter().map(|v| of(v.as_tensor())).chain(weights.iter().map(of)).collect()
}

/// Same as [`solve`](fn@super::solve), with gradients by the adjoint equation (Chen et al. 2018, Neural Ordinary
/// Differential Equations, algorithm 1): a = dL/dy obeys da/dt = -a^T df/dy, weights get -int a^T df/dw dt from the end
/// to the start, and y is computed again on the way. Both ways use `options`; of an adaptive method's step in the
/// backward solve, y, a and every weight's gradient meet the tolerance each on its own.
pub fn adjoint(
    field: &SharedField,
    weights: &[Tensor],
    y0: &Tensor,
    span: Span,
    options: &SolverOptions,
) -> result::Result<Solution, SolveError> {
    check(weights, y0, span.start)?;
    let still = detached(field);
    let mut solver = Solver::new(&still, options);
    let solution = solver.run_span(&y0.detach(), span, options.keep_states)?;
    let back = AdjointVjp {
        field: field.clone(),
        weights: weights.to_vec(),
        end: solution.end.clone(),
        span,
        options: SolverOptions { keep_states: false, ..options.clone() },
    };
    let end = attach(&solution.end, y0, weights, back).map_err(|e| solver.failed(e, span.start))?;
    Ok(Solution { end, ..solution })
}

struct AdjointVjp {
    field: SharedField,
    weights: Vec<Tensor>,
    end: Tensor,
    span: Span,
    options: SolverOptions,
}

impl AdjointVjp {
    /// The lengths of the parts of the flat state: y, a, and each weight's gradient.
    fn parts(&self) -> Vec<usize> {
        let n = self.end.elem_count();
        [n, n].into_iter().chain(self.weights.iter().map(Tensor::elem_count)).collect()
    }

    /// d(y, a, g)/ds at t = end - s: (-f, a^T df/dy, a^T df/dw).
    fn at(&self, s: f64, flat: &Tensor) -> Result<Tensor> {
        let n = self.end.elem_count();
        let part = |i: usize| flat.narrow(0, i * n, n)?.contiguous()?.reshape(self.end.shape());
        let y = Var::from_tensor(&part(0)?)?;
        let f = self.field.at(self.span.end - s, &y)?;
        ensure!(f.shape() == self.end.shape(), "the field gave {:?} for a state {:?}", f.shape(), self.end.shape());
        let found = gradients(&[(&f, &part(1)?)], &[&y], &self.weights)?;
        let mut pieces = vec![f.detach().neg()?.flatten_all()?];
        for g in found {
            pieces.push(g.flatten_all()?);
        }
        Tensor::cat(&pieces, 0)
    }
}

impl Vjp for AdjointVjp {
    fn vjp(&self, end: &Tensor) -> Result<(Tensor, Vec<Tensor>)> {
        let parts = self.parts();
        let rest = parts[2..].iter().sum::<usize>();
        let mut flat = vec![self.end.flatten_all()?, end.flatten_all()?];
        if rest > 0 {
            flat.push(Tensor::zeros(rest, end.dtype(), end.device())?);
        }
        let start = Tensor::cat(&flat, 0)?;
        let law = |s: f64, flat: &Tensor| self.at(s, flat);
        let mut solver = Solver::scoped(&law, &self.options, ErrorScope::Parts(parts.clone()));
        let length = self.span.end - self.span.start;
        let found = solver.run_span(&start, Span { start: 0.0, end: length }, false)?.end;
        let mut at = parts[0];
        let mut take = |like: &Tensor| -> Result<Tensor> {
            let piece = found.narrow(0, at, like.elem_count())?.contiguous()?.reshape(like.shape())?;
            at += like.elem_count();
            Ok(piece)
        };
        let dy = take(&self.end)?;
        Ok((dy, self.weights.iter().map(take).collect::<Result<_>>()?))
    }
}

/// Same as [`solve`](fn@super::solve), with the gradients of [`Gradient::Backprop`](super::Gradient::Backprop): keeps the
/// state at the start of each step, and computes the step again on the backward pass.
pub fn checkpointed(
    field: &SharedField,
    weights: &[Tensor],
    y0: &Tensor,
    Span { start: t0, end: t1 }: Span,
    options: &SolverOptions,
) -> result::Result<Solution, SolveError> {
    check(weights, y0, t0)?;
    let mut steps = vec![];
    let still = detached(field);
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
