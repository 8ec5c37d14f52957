//! The one loop: fixed and adaptive methods, both policies.
//!
//! Step control after Hairer, Norsett & Wanner, Solving Ordinary Differential Equations I, II.4; [`Policy`] states the
//! origin of each detail.

use std::{ops::Range, result};

use candle_core::{DType, Tensor};

use super::{
    Attempt, Field, Method, Policy, Solution, SolveError, SolveFailure, SolverOptions, Span, Tableau, Trace,
    state::{self, ErrorNorm, ErrorScope},
    step::{Step, StepTimes, step},
};

const SAFETY: f64 = 0.9;
const GROWTH: f64 = 10.0;
const SHRINKAGE: f64 = 0.2;

/// Solves dy/dt = field over a span, from y0 at its start.
///
/// # Errors
/// A [`SolveError`] names the reason and the time, and has the trace until then.
pub fn solve(
    field: &dyn Field,
    y0: &Tensor,
    span: Span,
    options: &SolverOptions,
) -> result::Result<Solution, SolveError> {
    Solver::new(field, options).run_span(y0, span, options.keep_states)
}

/// Same as [`solve`], with steps of an adaptive method that answer to the error of some values alone, by their places in the
/// state's row-major order; the others are carried along.
pub fn solve_for(
    field: &dyn Field,
    y0: &Tensor,
    span: Span,
    options: &SolverOptions,
    only: Range<usize>,
) -> result::Result<Solution, SolveError> {
    Solver::scoped(field, options, ErrorScope::Only(only)).run_span(y0, span, options.keep_states)
}

/// Same as [`solve`] from time 0 to the last of `times`, which rise; `states` has the state at each of them, read off
/// the steps' quartic (fixed steps: off the line between their ends). It costs no evaluation more.
pub fn solve_at(
    field: &dyn Field,
    y0: &Tensor,
    times: &[f64],
    options: &SolverOptions,
) -> result::Result<Solution, SolveError> {
    let mut solver = Solver::new(field, options);
    let mut kept = Vec::with_capacity(times.len());
    let mut waiting = times.iter().copied().peekable();
    let tableau = solver.tableau;
    let solution = solver.run(y0, 0.0, times, false, &mut |taken| {
        while let Some(t) = waiting.next_if(|t| *t <= taken.end) {
            kept.push((t, taken.state_at(t, tableau)?.detach()));
        }
        Ok(())
    })?;
    Ok(Solution { states: kept, ..solution })
}

/// A step that was accepted, over [t, end].
#[derive(Clone, Copy)]
pub(super) struct AcceptedStep<'a> {
    pub t: f64,
    pub end: f64,
    /// The time at which a stage at node 1 was evaluated.
    pub last: f64,
    /// True if an earlier step, or the choice of the first step's length, has evaluated the first slope already.
    pub reuses_first_slope: bool,
    pub step: &'a Step,
}

impl AcceptedStep<'_> {
    pub fn state_at(&self, t: f64, tableau: &Tableau) -> candle_core::Result<Tensor> {
        if t == self.end { Ok(self.step.y1.clone()) } else { self.step.at((t - self.t) / self.step.h, tableau) }
    }
}

/// The reason, the time, and no trace yet.
struct Stop(SolveFailure, f64);

type Outcome<T> = result::Result<T, Stop>;

/// Every error of candle inside a step comes from the field.
impl From<candle_core::Error> for Stop {
    fn from(error: candle_core::Error) -> Self {
        Stop(error.into(), f64::NAN)
    }
}

pub(super) struct Solver<'a> {
    field: &'a dyn Field,
    options: &'a SolverOptions,
    tableau: &'static Tableau,
    measure: ErrorNorm,
    trace: Trace,
}

impl<'a> Solver<'a> {
    pub(super) fn new(field: &'a dyn Field, options: &'a SolverOptions) -> Self {
        Self::scoped(field, options, ErrorScope::Whole)
    }

    /// A solver whose steps answer to the error of a part of the state.
    pub(super) fn scoped(field: &'a dyn Field, options: &'a SolverOptions, scope: ErrorScope) -> Self {
        let measure = ErrorNorm { rtol: options.rtol, atol: options.atol, scope };
        Self { field, options, tableau: options.method.tableau(), measure, trace: Trace::default() }
    }

    /// Goes from the start of a span to its end.
    pub(super) fn run_span(&mut self, y0: &Tensor, span: Span, keep: bool) -> result::Result<Solution, SolveError> {
        self.run(y0, span.start, &[span.end], keep, &mut |_| Ok(()))
    }

    /// Turns an error of candle's after the solve into a solve's error.
    pub(super) fn failed(&self, error: candle_core::Error, t: f64) -> SolveError {
        SolveError { reason: error.into(), t, trace: self.trace.clone() }
    }

    /// Solves to the last of `times`, and calls `watch` for each step taken.
    pub(super) fn run(
        &mut self,
        y0: &Tensor,
        t0: f64,
        times: &[f64],
        keep: bool,
        watch: &mut dyn FnMut(AcceptedStep) -> candle_core::Result<()>,
    ) -> result::Result<Solution, SolveError> {
        match self.steps(y0, t0, times, keep, watch) {
            Ok((end, states)) => Ok(Solution { end, states, trace: std::mem::take(&mut self.trace) }),
            Err(Stop(reason, t)) => {
                let t = if t.is_nan() { self.trace.attempts.last().map_or(t0, |a| a.t) } else { t };
                Err(SolveError { reason, t, trace: std::mem::take(&mut self.trace) })
            }
        }
    }

    fn steps(
        &mut self,
        y0: &Tensor,
        t0: f64,
        times: &[f64],
        keep: bool,
        watch: &mut dyn FnMut(AcceptedStep) -> candle_core::Result<()>,
    ) -> Outcome<(Tensor, Vec<(f64, Tensor)>)> {
        let t1 = self.check(y0, t0, times)?;
        let fixed = !self.options.method.is_adaptive();
        let (mut h, mut k0) = if fixed {
            ((t1 - t0) / self.options.steps as f64, None)
        } else {
            let (h, k0) = self.start(y0, t0, t1)?;
            (h, Some(k0))
        };
        self.trace.h_init = h;
        let (mut t, mut y) = (t0, y0.clone());
        let mut states = if keep { vec![(t0, y0.detach())] } else { vec![] };
        // true of a first slope that an earlier step left, rejected attempts between or not
        let mut carried = !fixed;
        let mut number = 0;
        loop {
            number += 1;
            let (h_now, end) = if fixed {
                let end = if number == self.options.steps { t1 } else { t0 + number as f64 * h };
                (end - t, end)
            } else {
                self.bounds(t, h, t1, number)?
            };
            // torchdiffeq asks for a step's end one float early, so that a jump at it is not crossed
            let last = if fixed || self.clipped() { end } else { end.next_down() };
            let made = match self.euler_step(t, &y, h_now)? {
                Some(y1) => Step { y0: y.clone(), y1, h: h_now, ks: vec![] },
                None => {
                    let first = match k0.take() {
                        Some(k) => k,
                        None => self.evaluate(t, &y)?,
                    };
                    let times = StepTimes { t, h: h_now, last };
                    step(self.tableau, times, &y, first, |at, y| self.evaluate(at, y))?
                }
            };
            let error = self.error(&made, t, fixed)?;
            let accepted = if self.clipped() { error < 1.0 } else { error <= 1.0 };
            let factor = if fixed { 1.0 } else { self.factor(error) };
            let growth_capped = factor >= GROWTH;
            self.trace.attempts.push(Attempt { t, h: h_now, error, accepted, growth_capped });
            if !fixed {
                h = h_now * factor;
            }
            if !accepted {
                k0 = made.ks.into_iter().next();
                continue;
            }
            let taken = AcceptedStep { t, end, last, reuses_first_slope: carried, step: &made };
            watch(taken)?;
            if end >= t1 {
                let y1 = taken.state_at(t1, self.tableau)?;
                if keep {
                    states.push((t1, y1.detach()));
                }
                return Ok((y1, states));
            }
            if keep {
                states.push((end, made.y1.detach()));
            }
            // interpolate carries the last stage whatever it is; elsewhere only a slope at y1 will do
            carried = !fixed && (self.tableau.ends_at_result() || !self.clipped());
            (t, y) = (end, made.y1);
            k0 = if carried { made.ks.into_iter().last() } else { None };
        }
    }

    fn clipped(&self) -> bool {
        self.options.policy == Policy::Clip
    }

    fn check(&self, y0: &Tensor, t0: f64, times: &[f64]) -> Outcome<f64> {
        let stop = |reason| Err(Stop(reason, t0));
        let mut before = t0;
        for &t in times {
            // the negated form also refuses NaN
            if !(t > before && t.is_finite() && t0.is_finite()) {
                return stop(if times.len() == 1 {
                    SolveFailure::Span { t1: t }
                } else {
                    SolveFailure::Times { value: t }
                });
            }
            before = t;
        }
        if times.is_empty() {
            return stop(SolveFailure::Span { t1: t0 });
        }
        if self.options.method.is_adaptive() {
            for (name, value) in [("rtol", self.options.rtol), ("atol", self.options.atol)] {
                if !(value > 0.0 && value.is_finite()) {
                    return stop(SolveFailure::Tolerance { name, value });
                }
            }
            if let Some(value) = self.options.first_step.filter(|h| !(*h > 0.0 && h.is_finite())) {
                return stop(SolveFailure::FirstStep { value });
            }
        } else if self.options.steps == 0 {
            return stop(SolveFailure::NoSteps);
        }
        if y0.elem_count() == 0 {
            return stop(SolveFailure::State("is empty".into()));
        }
        if !matches!(y0.dtype(), DType::F64 | DType::F32 | DType::F16 | DType::BF16) {
            return stop(SolveFailure::State(format!("is of {:?}, not of floating-point numbers", y0.dtype())));
        }
        if state::is_finite(y0)? { Ok(before) } else { stop(SolveFailure::NonFiniteStart) }
    }

    /// A step of Euler's method by a field that computes it itself; its slope counts as an evaluation.
    fn euler_step(&mut self, t: f64, y: &Tensor, h: f64) -> Outcome<Option<Tensor>> {
        if self.options.method != Method::EULER {
            return Ok(None);
        }
        let Some(y1) = self.field.euler_step(t, y, h).map_err(|e| Stop(e.into(), t))? else {
            return Ok(None);
        };
        self.trace.nfe += 1;
        Self::check_like(y, y1, t).map(Some)
    }

    /// Evaluates the field once and counts the evaluation.
    fn evaluate(&mut self, t: f64, y: &Tensor) -> Outcome<Tensor> {
        self.trace.nfe += 1;
        let k = self.field.at(t, y).map_err(|e| Stop(e.into(), t))?;
        Self::check_like(y, k, t)
    }

    /// Evaluates the field at y and checks shape and type.
    fn check_like(y: &Tensor, k: Tensor, t: f64) -> Outcome<Tensor> {
        if k.shape() != y.shape() || k.dtype() != y.dtype() {
            let (a, b, c, d) = (k.shape(), k.dtype(), y.shape(), y.dtype());
            return Err(Stop(SolveFailure::Field(format!("it gave {a:?} {b:?} for a state {c:?} {d:?}")), t));
        }
        // sums over slices need contiguous values, and a field may end in a transpose
        Ok(k.contiguous()?)
    }

    /// The first step and the first slope.
    fn start(&mut self, y0: &Tensor, t0: f64, t1: f64) -> Outcome<(f64, Tensor)> {
        let f0 = self.evaluate(t0, y0)?;
        ensure!(state::is_finite(&f0)?, Stop(SolveFailure::NonFiniteField, t0));
        if let Some(h) = self.options.first_step {
            return Ok((h, f0));
        }
        let d0 = self.measure.size(1.0, &[1.0], std::slice::from_ref(y0), y0, y0)?;
        let d1 = self.measure.size(1.0, &[1.0], std::slice::from_ref(&f0), y0, y0)?;
        let mut h0 = if d0 < 1e-5 || d1 < 1e-5 { 1e-6 } else { 0.01 * d0 / d1 };
        if self.clipped() {
            h0 = h0.min(t1 - t0);
        }
        let ahead = state::advance(y0, h0, &[1.0], std::slice::from_ref(&f0))?;
        let at = if self.clipped() { (t0 + h0).min(t1) } else { t0 + h0 };
        let f1 = self.evaluate(at, &ahead)?;
        ensure!(state::is_finite(&f1)?, Stop(SolveFailure::NonFiniteField, at));
        let ks = [f0, f1];
        let d2 = self.measure.size(1.0, &[-1.0, 1.0], &ks, y0, y0)? / h0;
        let h1 = if d1 <= 1e-15 && d2 <= 1e-15 {
            (h0 * 1e-3).max(1e-6)
        } else {
            (0.01 / d1.max(d2)).powf(1.0 / f64::from(self.tableau.order))
        };
        (self.trace.d0, self.trace.d1, self.trace.d2) = (d0, d1, d2);
        let [f0, _] = ks;
        Ok(((100.0 * h0).min(h1), f0))
    }

    /// Length and end of the next attempt of an adaptive method.
    fn bounds(&self, t: f64, h: f64, t1: f64, number: usize) -> Outcome<(f64, f64)> {
        if number > self.options.max_attempts {
            return Err(Stop(SolveFailure::TooManyAttempts { max: self.options.max_attempts }, t));
        }
        let end = t + h;
        // the negated form also refuses NaN
        ensure!(end > t && end.is_finite(), Stop(SolveFailure::Underflow { h }, t));
        // a remainder of a few floats' length is added to this step
        let is_last = end >= t1 - 8.0 * f64::EPSILON * t1.abs().max(t.abs());
        Ok(if self.clipped() && is_last { (t1 - t, t1) } else { (h, end) })
    }

    /// The error E of a step; 0 if the step size is not controlled. Fails where values are not finite.
    fn error(&self, made: &Step, t: f64, fixed: bool) -> Outcome<f64> {
        let error = if fixed {
            if state::is_finite(&made.y1)? { 0.0 } else { f64::NAN }
        } else {
            self.measure.size(made.h, self.tableau.error, &made.ks, &made.y0, &made.y1)?
        };
        if error.is_finite() {
            return Ok(error);
        }
        let slope = if made.ks.is_empty() { Some(self.field.at(t, &made.y0)?) } else { None };
        for (i, k) in made.ks.iter().chain(&slope).enumerate() {
            if !state::is_finite(k)? {
                let node = if i == 0 { 0.0 } else { self.tableau.nodes[i - 1] };
                return Err(Stop(SolveFailure::NonFiniteField, t + node * made.h));
            }
        }
        ensure!(!fixed, Stop(SolveFailure::Overflow, t));
        // the field is finite all along: a shorter step may do
        Ok(f64::MAX)
    }

    /// The factor of the next step after a step of error E.
    fn factor(&self, error: f64) -> f64 {
        if error == 0.0 {
            return GROWTH;
        }
        let p = f64::from(self.tableau.order);
        let least = if error < 1.0 { 1.0 } else { SHRINKAGE };
        GROWTH.min((SAFETY / error.powf(1.0 / p)).max(least))
    }
}
