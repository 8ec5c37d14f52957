//! Compares solvers on a flow: evaluations against the control and the tolerance, with the bound on step growth that
//! explains some of their jumps, and the distance of Euler's steps from the flow itself.

use super::{super::along, Columns, FlowInput, SolveParams, Sweep, linspace};
use crate::{
    analysis::step_growth_bound::{self, StepCount},
    ode::{self, Method, Policy, SolverOptions},
    probe::prelude::*,
};

/// Solvers of the sweeps, each with both policies.
const METHODS: [Method; 3] = [Method::DOPRI5, Method::TSIT5, Method::ADAPTIVE_HEUN];
/// Points of u0 in [-2, 2].
const CONTROLS: usize = 41;
/// The finest tolerance is about the precision of f32.
const TOLERANCES: [f64; 9] = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6];
const STEPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Controls at which invariance is measured.
const COMPARED_CONTROLS: [f64; 3] = [-1.0, 0.0, 1.0];
/// The tolerance of the reference solution.
const REFERENCE_TOL: f64 = 1e-6;
/// The divergence in percent that the source reports of its own flow.
const SOURCE_DIVERGENCE: f64 = 0.068;

fn solvers() -> impl Iterator<Item = (Method, Policy)> {
    METHODS.into_iter().flat_map(|m| Policy::ALL.into_iter().map(move |p| (m, p)))
}

/// Columns of one solver at one point.
const FACTS: usize = 5;

/// NFE against u0. A solve that fails is a gap.
pub fn evaluations<'a>(input: &'a FlowInput<'_>, params: &SolveParams) -> Sweep<'a> {
    let x = linspace(-2.0, 2.0, CONTROLS);
    let (params, at) = (params.clone(), x.clone());
    let about = format!("rtol {:e}, atol {:e}", params.options.rtol, params.options.atol);
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let rhs = input.rhs(params.control_at_u0(at[i]))?;
        let mut facts = vec![];
        for (method, policy) in solvers() {
            let options = SolverOptions { method, policy, ..params.options.clone() };
            match ode::solve(&rhs, &input.start, ode::Span::UNIT, &options) {
                Ok(s) => {
                    let capped = s.trace.attempts.iter().filter(|a| a.accepted && a.growth_capped).count();
                    let counts = [s.trace.nfe, capped, s.trace.accepted(), s.trace.rejected()].map(|n| n as f64);
                    facts.extend([counts[0], s.trace.h_init, counts[1], counts[2], counts[3]]);
                }
                Err(_) => facts.extend([f64::NAN; FACTS]),
            }
        }
        // if the flow diverges, its curvature and the number of its steps are undefined
        let fine = match input.planar_field() {
            Some(_) => {
                let reference = SolverOptions::adaptive(Method::DOPRI5, Policy::Clip, REFERENCE_TOL);
                SolverOptions { max_attempts: 2000, ..reference }
            }
            None => SolverOptions::fixed(Method::RK4, along::DEPTHS - 1),
        };
        let bend = match super::super::basis::states_at(input, &rhs, &along::depths(), &fine) {
            Ok((_, states, _)) => along::Motion::new(&rhs, &states)?.total_acceleration(),
            Err(_) => f64::NAN,
        };
        facts.push(if bend.is_finite() { bend } else { f64::NAN });
        Ok(facts)
    };
    Sweep::new(about, CONTROLS, measure, move |columns: &Columns| FlowSweepNfe {
        progress: columns.progress,
        u0: x.clone().into(),
        solvers: solvers().enumerate().map(|(i, solver)| nfe_curve(columns, solver, i)).collect(),
        curvature: columns.column(FACTS * solvers().count()),
    })
}

/// Returns the curve of solver `i` from the measured columns.
fn nfe_curve(columns: &Columns, (method, policy): (Method, Policy), i: usize) -> NfeCurve {
    let [nfe, h_init, capped, accepted, rejected] = [0, 1, 2, 3, 4].map(|fact| columns.column(FACTS * i + fact));
    let steps =
        |i: usize| StepCount { h_init: h_init[i], accepted: accepted[i] as usize, rejected: rejected[i] as usize };
    let is_explained = |i: usize| match i.checked_sub(1) {
        Some(before) if !nfe[i].is_nan() && !nfe[before].is_nan() => {
            step_growth_bound::explains(steps(before), steps(i))
        }
        _ => false,
    };
    let explained_by_growth_bound = (0..nfe.len()).map(is_explained).collect();
    let free = accepted.iter().zip(&capped).map(|(a, c)| a - c).collect();
    let method = method.id().to_owned();
    NfeCurve { method, policy, nfe, h_init, capped, free, explained_by_growth_bound }
}

/// NFE against the tolerance (relative and absolute are equal) at the asked control.
pub fn tolerance<'a>(input: &'a FlowInput<'_>, params: &SolveParams) -> Sweep<'a> {
    let params = params.clone();
    let about = format!("NFE at u0 = {}", params.control.u[0]);
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let rhs = input.rhs(params.control)?;
        Ok(solvers()
            .map(|(method, policy)| {
                let options =
                    SolverOptions { max_attempts: 2000, ..SolverOptions::adaptive(method, policy, TOLERANCES[i]) };
                let solved = ode::solve(&rhs, &input.start, ode::Span::UNIT, &options);
                solved.map_or(f64::NAN, |s| s.trace.nfe as f64)
            })
            .collect())
    };
    let curve = |columns: &Columns, i: usize, (method, policy): (Method, Policy)| ToleranceCurve {
        method: method.id().to_owned(),
        policy,
        nfe: columns.column(i),
    };
    Sweep::new(about, TOLERANCES.len(), measure, move |columns: &Columns| FlowSweepTolerance {
        progress: columns.progress,
        tolerance: TOLERANCES.to_vec().into(),
        solvers: solvers().enumerate().map(|(i, solver)| curve(columns, i, solver)).collect(),
    })
}

/// The distance of the state after m Euler steps from dopri5's, in percent of the latter's size.
pub fn invariance<'a>(input: &'a FlowInput<'_>, params: &SolveParams) -> Sweep<'a> {
    let params = params.clone();
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let mut percent = vec![];
        for u0 in COMPARED_CONTROLS {
            let rhs = input.rhs(params.control_at_u0(u0))?;
            let end = |options: &SolverOptions| -> Result<Tensor> {
                Ok(ode::solve(&rhs, &input.start, ode::Span::UNIT, options)?.end)
            };
            let fine = SolverOptions::adaptive(Method::DOPRI5, Policy::Interpolate, REFERENCE_TOL);
            percent.push(match (end(&SolverOptions::fixed(Method::EULER, STEPS[i])), end(&fine)) {
                (Ok(euler), Ok(fine)) => 100.0 * divergence(&euler, &fine)?,
                _ => f64::NAN, // it ran away
            });
        }
        Ok(percent)
    };
    let about = format!("Euler in m steps against dopri5 at {REFERENCE_TOL:e}, whole state");
    Sweep::new(about, STEPS.len(), measure, |columns: &Columns| FlowSweepInvariance {
        progress: columns.progress,
        steps: STEPS.to_vec(),
        controls: COMPARED_CONTROLS
            .iter()
            .enumerate()
            .map(|(i, u0)| ControlCurve { u0: *u0, percent: columns.column(i) })
            .collect(),
        source_percent: SOURCE_DIVERGENCE,
    })
}

/// Returns the relative distance |a - b| / |b|.
fn divergence(a: &Tensor, b: &Tensor) -> Result<f64> {
    let (a, b) = (host::to_f64(a)?, host::to_f64(b)?);
    let apart: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
    Ok((apart / b.iter().map(|v| v * v).sum::<f64>()).sqrt())
}
