//! What solvers make of a flow: evaluations against the control and the tolerance, with the ladder
//! that explains some of their jumps, and how far Euler's steps are from the flow itself.

use super::{super::along, Course, Drive, Lines, Sweep, column, columns, spread};
use crate::{
    analysis::ladder::{self, Climb},
    nn::{Result, Tensor, host},
    ode::{self, Method, Options, Policy},
};

/// Solvers of the sweeps, each with both policies.
const METHODS: [Method; 3] = [Method::Dopri5, Method::Tsit5, Method::AdaptiveHeun];
/// Points of u0 in [-2, 2].
const CONTROLS: usize = 41;
/// The finest tolerance is about what f32 can tell.
const TOLERANCES: [f64; 9] = [1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6];
const STEPS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// What invariance is measured against.
const REFERENCE: f64 = 1e-6;
/// Percent; the source's own flow and measure.
const SOURCE_DIVERGENCE: f64 = 0.068;

fn solvers() -> impl Iterator<Item = (Method, Policy)> {
    METHODS.into_iter().flat_map(|m| Policy::ALL.into_iter().map(move |p| (m, p)))
}

fn name(m: Method, p: Policy) -> String {
    format!("{} {}", m.id(), p.id())
}

fn at_control(drive: &Drive, u0: f64) -> [f64; 4] {
    [u0, drive.u[1], drive.u[2], drive.u[3]]
}

/// Columns of one solver at one point.
const FACTS: usize = 5;

/// NFE against u0. A solve that fails is a gap.
pub fn evaluations<'a>(course: &'a Course<'_>, drive: &Drive) -> Sweep<'a> {
    let x = spread(-2.0, 2.0, CONTROLS);
    let (drive, at) = (drive.clone(), x.clone());
    let about = format!("rtol {:e}, atol {:e}", drive.options.rtol, drive.options.atol);
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let law = course.law(at_control(&drive, at[i]), drive.alpha)?;
        let mut facts = vec![];
        for (method, policy) in solvers() {
            let options = Options { method, policy, ..drive.options.clone() };
            match ode::solve(&law, &course.start, 0.0, 1.0, &options) {
                Ok(s) => {
                    let capped = s.trace.attempts.iter().filter(|a| a.accepted && a.growth_capped).count();
                    let counts = [s.trace.nfe, capped, s.trace.accepted(), s.trace.rejected()].map(|n| n as f64);
                    facts.extend([counts[0], s.trace.h_init, counts[1], counts[2], counts[3]]);
                }
                Err(_) => facts.extend([f64::NAN; FACTS]),
            }
        }
        // A flow that runs away has no curvature to speak of, as it has no count.
        let fine = match course.playground() {
            Some(_) => Options { max_attempts: 2000, ..Options::adaptive(Method::Dopri5, Policy::Clip, REFERENCE) },
            None => Options::fixed(Method::Rk4, along::DEPTHS - 1),
        };
        let bend = match super::super::basis::states_at(course, &law, &along::depths(), &fine) {
            Ok((_, states, _)) => along::Motion::of(&law, &states)?.total_bend(),
            Err(_) => f64::NAN,
        };
        facts.push(if bend.is_finite() { bend } else { f64::NAN });
        Ok(facts)
    };
    Sweep {
        about,
        labels: ("control u₀", "evaluations (NFE)"),
        x,
        measure: Box::new(measure),
        lines: evaluation_lines(),
    }
}

fn evaluation_lines() -> Lines {
    Box::new(|pieces| {
        let mut lines = vec![];
        for (i, (method, policy)) in solvers().enumerate() {
            let [nfe, h_init, capped, accepted, rejected] =
                [0, 1, 2, 3, 4].map(|fact| column(pieces, FACTS * i + fact));
            let climb =
                |i: usize| Climb { h_init: h_init[i], accepted: accepted[i] as usize, rejected: rejected[i] as usize };
            let explained = (0..nfe.len())
                .map(|i| match i.checked_sub(1) {
                    _ if nfe[i].is_nan() => f64::NAN,
                    Some(before) if !nfe[before].is_nan() => {
                        f64::from(u8::from(ladder::explains(climb(before), climb(i), 1.0)))
                    }
                    _ => 0.0,
                })
                .collect();
            let name = name(method, policy);
            lines.push((name.clone(), nfe));
            lines.push((format!("h_init {name}"), h_init));
            let free = accepted.iter().zip(&capped).map(|(a, c)| a - c).collect();
            lines.push((format!("capped {name}"), capped));
            lines.push((format!("free {name}"), free));
            lines.push((format!("ladder {name}"), explained));
        }
        lines.push(("curvature".to_owned(), column(pieces, FACTS * solvers().count())));
        lines
    })
}

/// NFE against the tolerance (relative and absolute alike) at the asked control.
pub fn tolerance<'a>(course: &'a Course<'_>, drive: &Drive) -> Sweep<'a> {
    let drive = drive.clone();
    let about = format!("NFE at u0 = {}", drive.u[0]);
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let law = course.law(drive.u, drive.alpha)?;
        Ok(solvers()
            .map(|(method, policy)| {
                let options = Options { max_attempts: 2000, ..Options::adaptive(method, policy, TOLERANCES[i]) };
                let solved = ode::solve(&law, &course.start, 0.0, 1.0, &options);
                solved.map_or(f64::NAN, |s| s.trace.nfe as f64)
            })
            .collect())
    };
    Sweep {
        about,
        labels: ("tolerance", "evaluations (NFE)"),
        x: TOLERANCES.to_vec(),
        measure: Box::new(measure),
        lines: columns(solvers().map(|(m, p)| name(m, p)).collect()),
    }
}

/// How far the state after m Euler steps is from dopri5's, in percent of the latter's size.
pub fn invariance<'a>(course: &'a Course<'_>, drive: &Drive) -> Sweep<'a> {
    let drive = drive.clone();
    let measure = move |i: usize| -> Result<Vec<f64>> {
        let mut percent = vec![];
        for u0 in [-1.0, 0.0, 1.0] {
            let law = course.law(at_control(&drive, u0), drive.alpha)?;
            let end =
                |options: &Options| -> Result<Tensor> { Ok(ode::solve(&law, &course.start, 0.0, 1.0, options)?.end) };
            let fine = Options::adaptive(Method::Dopri5, Policy::Interpolate, REFERENCE);
            percent.push(match (end(&Options::fixed(Method::Euler, STEPS[i])), end(&fine)) {
                (Ok(euler), Ok(fine)) => 100.0 * divergence(&euler, &fine)?,
                _ => f64::NAN, // it ran away
            });
        }
        percent.push(SOURCE_DIVERGENCE);
        Ok(percent)
    };
    Sweep {
        about: format!("Euler in m steps against dopri5 at {REFERENCE:e}, whole state"),
        labels: ("Euler steps m", "divergence (%)"),
        x: STEPS.iter().map(|m| *m as f64).collect(),
        measure: Box::new(measure),
        lines: columns(["u = -1", "u = 0", "u = 1", "source"].map(str::to_owned).to_vec()),
    }
}

/// |a - b| / |b|
fn divergence(a: &Tensor, b: &Tensor) -> Result<f64> {
    let (a, b) = (host::to_f64(a)?, host::to_f64(b)?);
    let apart: f64 = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum();
    Ok((apart / b.iter().map(|v| v * v).sum::<f64>()).sqrt())
}
