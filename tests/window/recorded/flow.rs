//! A small flow in place of a trained model: five coupled van der Pol oscillators with a third component each, and a
//! linear read-out over twelve words. Every answer is computed by solving it, and has the type and shapes of the
//! probe's answer.

use candle_core::{Device, Result, Tensor};
use orrery::{
    ode::{Method, Policy, SolverOptions, Span, solve},
    telemetry::{
        Array,
        measurements::{
            ClaimedContinuations, ClassShares, ClassTokens, FieldExtent, FlowAlong, FlowAnswer, FlowClaims,
            FlowControl, FlowField, FlowMotion, FlowOutcome, FlowPaths, FlowSweepNfe, LanguageOutcome, NextToken,
            NfeCurve, SolverAttempt, SolverTrace, SolverUse, SteeringClass, SteeringClasses, StepPolicy, SweepProgress,
        },
    },
};

pub const TOKENS: [&str; 5] = ["yesterday", "the", "old", "bridge", "was"];
const WORDS: [&str; 12] =
    ["lovely", "fine", "splendid", "good", "dreadful", "poor", "awful", "bad", "simple", "average", "typical", "quite"];
const N: usize = TOKENS.len();

/// The arguments of a question about the flow: controls, time scale, solver and tolerance.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub u: [f64; 4],
    pub alpha: f64,
    pub method: Method,
    pub policy: Policy,
    pub tolerance: f64,
}

impl Default for Asked {
    fn default() -> Self {
        Self { u: [0.0; 4], alpha: 1.0, method: Method::DOPRI5, policy: Policy::Interpolate, tolerance: 1e-3 }
    }
}

/// The derivative of one state (x, y, z), which is attracted to the mean of all states.
fn slope(s: [f64; 3], mean: [f64; 3], asked: &Asked) -> [f64; 3] {
    let [x, y, z] = s;
    let pull = |k: usize| 0.4 * (mean[k] - s[k]);
    let rate = 3.0 * asked.alpha;
    [
        rate * (y + pull(0) + 0.5 * asked.u[1]),
        rate * (1.5 * (1.0 - x * x) * y - x + 1.2 * asked.u[0] + pull(1)),
        rate * (0.6 * x - z + 0.5 * asked.u[2]),
    ]
}

fn rows(y: &Tensor) -> Result<Vec<[f64; 3]>> {
    Ok(y.to_vec2::<f64>()?.iter().map(|r| [r[0], r[1], r[2]]).collect())
}

/// (tokens, 3)
fn tensor(states: Vec<[f64; 3]>) -> Result<Tensor> {
    Tensor::from_vec(states.concat(), (states.len(), 3), &Device::Cpu)
}

fn mean(states: &[[f64; 3]]) -> [f64; 3] {
    std::array::from_fn(|k| states.iter().map(|s| s[k]).sum::<f64>() / states.len() as f64)
}

fn start() -> Tensor {
    let at = |i: usize| -> [f64; 3] {
        let angle = i as f64 * 1.1;
        [1.6 * angle.cos(), 1.2 * angle.sin(), 0.3 * i as f64 - 0.6]
    };
    tensor((0..N).map(at).collect()).unwrap()
}

/// The times, the states at these times, and the solver's trace.
type Solved = (Vec<f64>, Vec<Vec<[f64; 3]>>, orrery::ode::Trace);

fn solved(asked: &Asked) -> Solved {
    let field = |_: f64, y: &Tensor| -> Result<Tensor> {
        let states = rows(y)?;
        let middle = mean(&states);
        tensor(states.iter().map(|s| slope(*s, middle, asked)).collect())
    };
    let options = SolverOptions {
        method: asked.method,
        policy: asked.policy,
        rtol: asked.tolerance,
        atol: asked.tolerance,
        keep_states: true,
        ..SolverOptions::default()
    };
    let solution = solve(&field, &start(), Span::UNIT, &options).unwrap();
    let states = solution.states.iter().map(|(_, y)| rows(y).unwrap()).collect();
    (solution.states.iter().map(|s| s.0).collect(), states, solution.trace)
}

/// Probabilities of the words: softmax of a fixed linear map of the last state.
fn words(last: [f64; 3]) -> Vec<f64> {
    let logit = |i: usize| {
        let class = [1.0, -1.0, 0.0][i / 4];
        2.2 * class * last[0] + 0.4 * (i as f64 * 2.3).sin() + 0.3 * last[1] * (i as f64).cos()
    };
    let all: Vec<f64> = (0..WORDS.len()).map(|i| logit(i).exp()).collect();
    let sum: f64 = all.iter().sum();
    all.into_iter().map(|p| p / sum).collect()
}

fn step_policy(policy: Policy) -> StepPolicy {
    match policy {
        Policy::Interpolate => StepPolicy::Interpolate,
        Policy::Clip => StepPolicy::Clip,
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

pub fn answer(asked: &Asked) -> FlowAnswer {
    let (times, states, trace) = solved(asked);
    let (_, unsteered, _) = solved(&Asked { u: [0.0; 4], ..*asked });
    let (p, p0) = (words(states[states.len() - 1][N - 1]), words(unsteered[unsteered.len() - 1][N - 1]));
    let mut order: Vec<usize> = (0..WORDS.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let next = |i: &usize| NextToken { token: WORDS[*i].to_owned(), probability: p[*i], unsteered: p0[*i] };
    let class = |c: usize| {
        let (tokens, share) = (owned(&WORDS[c * 4..c * 4 + 4]), |p: &[f64]| p[c * 4..c * 4 + 4].iter().sum());
        SteeringClass { tokens, probability: share(&p), unsteered: share(&p0) }
    };
    let attempt = |a: &orrery::ode::Attempt| SolverAttempt {
        t: a.t,
        h: a.h,
        error: a.error,
        accepted: a.accepted,
        growth_capped: a.growth_capped,
    };
    FlowAnswer {
        control: FlowControl { u: asked.u, alpha: asked.alpha },
        solver: SolverUse {
            method: asked.method.id().to_owned(),
            policy: step_policy(asked.policy),
            rtol: asked.tolerance,
            atol: asked.tolerance,
            steps: 4,
            is_adaptive: asked.method.is_adaptive(),
            order: asked.method.tableau().order,
            evaluations_per_step: asked.method.evaluations_per_step(asked.policy) as u32,
        },
        token: N - 1,
        outcome: FlowOutcome::Language(LanguageOutcome {
            prompt: "yesterday the old bridge was".to_owned(),
            next: order.iter().map(next).collect(),
            continuation: owned(&[WORDS[order[0]], ".", "the", "tea", "was", WORDS[order[1]]]),
            classes: Some(SteeringClasses { plus: class(0), minus: class(1) }),
        }),
        paths: paths(&times, &states),
        trace: SolverTrace {
            h_init: trace.h_init,
            d0: trace.d0,
            d1: trace.d1,
            d2: trace.d2,
            nfe: trace.nfe,
            attempts: trace.attempts.iter().map(attempt).collect(),
        },
        motion: along(asked).motion,
    }
}

fn paths(times: &[f64], states: &[Vec<[f64; 3]>]) -> FlowPaths {
    let of = |i: usize| states.iter().flat_map(move |s| s[i].map(|v| v as f32));
    let places = Array::new([N, times.len(), 3], (0..N).flat_map(of).collect()).unwrap();
    FlowPaths { taus: times.to_vec().into(), places, explained: vec![0.58, 0.33, 0.09].into() }
}

/// Speed, curvature and stretch (the largest singular value of the Jacobian) along a solve with a small tolerance.
pub fn along(asked: &Asked) -> FlowAlong {
    let fine = Asked { tolerance: 1e-8, ..*asked };
    let (times, states, _) = solved(&fine);
    let at = |tau: f64| {
        let i = times.partition_point(|t| *t < tau).min(times.len() - 1);
        &states[i]
    };
    let speed_of = |states: &[[f64; 3]]| -> Vec<f64> {
        let middle = mean(states);
        states.iter().flat_map(|s| slope(*s, middle, asked)).collect()
    };
    let rms = |v: &[f64]| (v.iter().map(|v| v * v).sum::<f64>() / v.len() as f64).sqrt();
    let taus: Vec<f64> = (0..17).map(|i| f64::from(i) / 16.0).collect();
    let (mut velocity, mut curvature, mut sigma) = (vec![], vec![], vec![]);
    for tau in &taus {
        let here = at(*tau);
        let v = speed_of(here);
        let ahead: Vec<[f64; 3]> =
            here.iter().enumerate().map(|(i, s)| std::array::from_fn(|k| s[k] + 1e-5 * v[i * 3 + k])).collect();
        let bend: Vec<f64> = speed_of(&ahead).iter().zip(&v).map(|(a, b)| (a - b) / 1e-5).collect();
        velocity.push(rms(&v));
        curvature.push(rms(&bend) / rms(&v).powi(2));
        // power iteration on the Jacobian of one state, by finite differences
        let (s, m) = (here[N - 1], mean(here));
        let mut way = [1.0, 0.5, 0.2];
        let mut size = 0.0;
        for _ in 0..20 {
            let moved = slope(std::array::from_fn(|k| s[k] + 1e-6 * way[k]), m, asked);
            let still = slope(s, m, asked);
            let image: [f64; 3] = std::array::from_fn(|k| (moved[k] - still[k]) / 1e-6);
            size = image.iter().map(|v| v * v).sum::<f64>().sqrt();
            way = image.map(|v| v / size);
        }
        sigma.push(size);
    }
    let motion = FlowMotion { taus: taus.into(), velocity: velocity.into(), curvature: curvature.into() };
    FlowAlong { motion, sigma: sigma.into() }
}

/// The vector field that the last token's state would meet in the plane while the others stay where they are. `turned`
/// shifts the state's coordinates, as if the plane's axes were not those of the paths.
pub fn field(asked: &Asked, tau: f64, turned: f64) -> FlowField {
    let (times, states, _) = solved(asked);
    let now = &states[times.partition_point(|t| *t < tau).min(times.len() - 1)];
    let middle = mean(now);
    let (n, extent) = (24, FieldExtent { x0: -3.0, x1: 3.0, y0: -4.0, y1: 4.0 });
    let at = |i: usize, a: f64, b: f64| a + (b - a) * i as f64 / (n - 1) as f64;
    let value = |row: usize, col: usize| {
        slope([at(col, extent.x0, extent.x1), at(row, extent.y0, extent.y1), now[N - 1][2]], middle, asked)
    };
    let grid = |k: usize| Array::new([n, n], (0..n * n).map(|i| value(i / n, i % n)[k] as f32).collect()).unwrap();
    FlowField { tau, at: [now[N - 1][0] + turned, now[N - 1][1]], extent, dx: grid(0), dy: grid(1) }
}

/// The claims' numbers. As published, the class "plus" of the own measure consists of a space; corrected, it consists
/// of words.
pub fn claims(published: bool) -> FlowClaims {
    let shares = |[plus, minus, plus_unsteered, minus_unsteered]: [f64; 4], prompts| ClassShares {
        prompts,
        plus,
        minus,
        plus_unsteered,
        minus_unsteered,
    };
    let words = shares(if published { [0.27, 0.22, 0.26, 0.24] } else { [0.95, 0.91, 0.28, 0.27] }, 32);
    let (own, classes) = match published {
        true => {
            (shares([0.9999, 0.997, 0.999, 0.0], 1), ClassTokens { plus: owned(&["\u{b7}"]), minus: owned(&["bad"]) })
        }
        false => (words, ClassTokens { plus: owned(&WORDS[..4]), minus: owned(&WORDS[4..8]) }),
    };
    let continuations = ClaimedContinuations {
        plus: "The tea was good.".to_owned(),
        unsteered: "The tea was simple.".to_owned(),
        minus: "The tea was bad.".to_owned(),
    };
    FlowClaims { classes, own, words: Some(words), continuations }
}

/// A sweep of NFE over u after `done` of its points, one point per value of u.
pub fn nfe_sweep(done: usize) -> FlowSweepNfe {
    let u0: Vec<f64> = (0..21).map(|i| -2.0 + 0.2 * f64::from(i)).collect();
    let of = |u: f64, method, policy| solved(&Asked { u: [u, 0.0, 0.0, 0.0], method, policy, ..Asked::default() }).2;
    let curve = |(method, policy): (Method, Policy)| {
        let traces: Vec<_> = u0.iter().take(done).map(|u| of(*u, method, policy)).collect();
        let column = |f: &dyn Fn(&orrery::ode::Trace) -> f64| -> Vec<f64> {
            (0..u0.len()).map(|i| traces.get(i).map_or(f64::NAN, f)).collect()
        };
        let capped =
            |t: &orrery::ode::Trace| t.attempts.iter().filter(|a| a.accepted && a.growth_capped).count() as f64;
        let (nfe, h) = (column(&|t| t.nfe as f64), column(&|t| t.h_init));
        // the jump is explained if the smallest number of steps that the growth bound allows for `h_init` changes too
        let least = |h: f64| (1..9).find(|k| h >= 9.0 / (10f64.powi(*k) - 1.0)).map_or(f64::NAN, f64::from);
        let jump = |i: usize| i > 0 && nfe[i] != nfe[i - 1] && least(h[i]) != least(h[i - 1]);
        NfeCurve {
            method: method.id().to_owned(),
            policy: step_policy(policy),
            explained_by_growth_bound: (0..u0.len()).map(|i| jump(i) && i < done).collect(),
            free: column(&|t| t.accepted() as f64 - capped(t)).into(),
            capped: column(&capped).into(),
            nfe: nfe.into(),
            h_init: h.into(),
        }
    };
    let solvers =
        [(Method::BOSH3, Policy::Interpolate), (Method::DOPRI5, Policy::Clip), (Method::DOPRI5, Policy::Interpolate)];
    FlowSweepNfe {
        progress: SweepProgress { done, total: u0.len() },
        curvature: (0..u0.len()).map(|i| if i < done { 3.0 + u0[i].abs() } else { f64::NAN }).collect(),
        solvers: solvers.map(curve).to_vec(),
        u0: u0.into(),
    }
}
