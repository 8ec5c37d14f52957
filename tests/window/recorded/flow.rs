//! A small flow that is solved anew for every answer: van der Pol's oscillator with a third
//! component, five of them pulling at one another, and a linear read-out over twelve words. What the
//! views are shown in tests is computed from it, in the shapes that the probes answer in.

use candle_core::{Device, Result, Tensor};
use orrery::{
    ode::{Method, Options, Policy, solve},
    telemetry::{Line, Matrix, Payload, Points, Series},
};

pub const TOKENS: [&str; 5] = ["yesterday", "the", "old", "bridge", "was"];
const WORDS: [&str; 12] =
    ["lovely", "fine", "splendid", "good", "dreadful", "poor", "awful", "bad", "simple", "average", "typical", "quite"];
const N: usize = TOKENS.len();

/// What a solve is asked with.
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
        Self { u: [0.0; 4], alpha: 1.0, method: Method::Dopri5, policy: Policy::Interpolate, tolerance: 1e-3 }
    }
}

/// dH/dtau of one state (x, y, z) pulled towards the mean of all.
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

/// (times, states at them, trace)
type Solved = (Vec<f64>, Vec<Vec<[f64; 3]>>, orrery::ode::Trace);

fn solved(asked: &Asked) -> Solved {
    let field = |_: f64, y: &Tensor| -> Result<Tensor> {
        let states = rows(y)?;
        let middle = mean(&states);
        tensor(states.iter().map(|s| slope(*s, middle, asked)).collect())
    };
    let options = Options {
        method: asked.method,
        policy: asked.policy,
        rtol: asked.tolerance,
        atol: asked.tolerance,
        keep_states: true,
        ..Options::default()
    };
    let solution = solve(&field, &start(), 0.0, 1.0, &options).unwrap();
    let states = solution.states.iter().map(|(_, y)| rows(y).unwrap()).collect();
    (solution.states.iter().map(|s| s.0).collect(), states, solution.trace)
}

/// Probabilities of the words from the last state: a fixed linear map.
fn words(last: [f64; 3]) -> Vec<f64> {
    let logit = |i: usize| {
        let class = [1.0, -1.0, 0.0][i / 4];
        2.2 * class * last[0] + 0.4 * (i as f64 * 2.3).sin() + 0.3 * last[1] * (i as f64).cos()
    };
    let all: Vec<f64> = (0..WORDS.len()).map(|i| logit(i).exp()).collect();
    let sum: f64 = all.iter().sum();
    all.into_iter().map(|p| p / sum).collect()
}

fn series(x_label: &str, y_label: &str, x: Vec<f64>, lines: Vec<(&str, Vec<f64>)>) -> Payload {
    let lines = lines.into_iter().map(|(name, y)| Line { name: name.into(), y }).collect();
    Payload::Series(Series { x_label: x_label.into(), y_label: y_label.into(), x, lines })
}

fn numbers(of: &[(&str, f64)]) -> Payload {
    series("", "", vec![0.0], of.iter().map(|(n, v)| (*n, vec![*v])).collect())
}

fn text<'t>(words: impl IntoIterator<Item = &'t str>) -> Payload {
    Payload::Text(words.into_iter().map(str::to_owned).collect())
}

/// The payload of `flow.answer`.
pub fn answer(asked: &Asked) -> Payload {
    let (times, states, trace) = solved(asked);
    let (_, unsteered, _) = solved(&Asked { u: [0.0; 4], ..*asked });
    let (p, p0) = (words(states[states.len() - 1][N - 1]), words(unsteered[unsteered.len() - 1][N - 1]));
    let mut order: Vec<usize> = (0..WORDS.len()).collect();
    order.sort_by(|a, b| p[*b].total_cmp(&p[*a]));
    let ranks: Vec<f64> = (0..WORDS.len()).map(|i| i as f64).collect();
    let class = |p: &[f64], c: usize| p[c * 4..c * 4 + 4].iter().sum::<f64>();
    let column = |f: &dyn Fn(&orrery::ode::Attempt) -> f64| trace.attempts.iter().map(f).collect::<Vec<f64>>();
    let flag = f64::from;
    let u = asked.u;
    Payload::Bundle(vec![
        (
            "next".into(),
            series(
                "rank",
                "p",
                ranks,
                vec![("p", order.iter().map(|i| p[*i]).collect()), ("p0", order.iter().map(|i| p0[*i]).collect())],
            ),
        ),
        ("next_words".into(), text(order.iter().map(|i| WORDS[*i]))),
        (
            "mass".into(),
            numbers(&[
                ("plus", class(&p, 0)),
                ("minus", class(&p, 1)),
                ("plus0", class(&p0, 0)),
                ("minus0", class(&p0, 1)),
            ]),
        ),
        ("continuation".into(), text([WORDS[order[0]], ".", "the", "tea", "was", WORDS[order[1]]])),
        ("classes".into(), text(WORDS[..4].iter().copied().chain(["|"]).chain(WORDS[4..8].iter().copied()))),
        ("paths".into(), paths(&times, &states)),
        (
            "basis".into(),
            series("component", "share", vec![1.0, 2.0, 3.0], vec![("explained", vec![0.58, 0.33, 0.09])]),
        ),
        (
            "trace".into(),
            series(
                "tau",
                "",
                column(&|a| a.t),
                vec![
                    ("h", column(&|a| a.h)),
                    ("error", column(&|a| a.error)),
                    ("accepted", column(&|a| flag(a.accepted))),
                    ("capped", column(&|a| flag(a.growth_capped))),
                ],
            ),
        ),
        (
            "solver".into(),
            numbers(&[
                ("h_init", trace.h_init),
                ("d0", trace.d0),
                ("d1", trace.d1),
                ("d2", trace.d2),
                ("nfe", trace.nfe as f64),
                ("accepted", trace.accepted() as f64),
                ("rejected", trace.rejected() as f64),
            ]),
        ),
        ("along".into(), along(asked, false)),
        (
            "used".into(),
            numbers(&[
                ("u0", u[0]),
                ("u1", u[1]),
                ("u2", u[2]),
                ("u3", u[3]),
                ("alpha", asked.alpha),
                ("rtol", asked.tolerance),
                ("atol", asked.tolerance),
                ("steps", 4.0),
                ("token", (N - 1) as f64),
            ]),
        ),
        ("used_words".into(), text([asked.method.id(), asked.policy.id(), "yesterday the old bridge was"])),
    ])
}

fn paths(times: &[f64], states: &[Vec<[f64; 3]>]) -> Payload {
    let path = |i: usize| {
        let xyz = states.iter().flat_map(|s| s[i].map(|v| v as f32)).collect();
        Payload::Points(Points { dims: 3, xyz, labels: times.iter().map(f64::to_string).collect() })
    };
    Payload::Bundle((0..N).map(|i| (i.to_string(), path(i))).collect())
}

/// Speed, curvature and stretch on 17 places of a fine solve.
/// The stretch among them where it was asked for: it takes longer.
pub fn along(asked: &Asked, stretch: bool) -> Payload {
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
        // Power iteration on one state's own Jacobian by differences.
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
    let mut lines = vec![("velocity", velocity), ("curvature", curvature)];
    if stretch {
        lines.push(("sigma", sigma));
    }
    series("tau", "", taus, lines)
}

/// The payload of `flow.field`: the last token's state moved in the plane, the others where they are; `turned` by so
/// much, its axes are not those of the paths.
pub fn field(asked: &Asked, tau: f64, turned: f64) -> Payload {
    let (times, states, _) = solved(asked);
    let now = &states[times.partition_point(|t| *t < tau).min(times.len() - 1)];
    let middle = mean(now);
    let (n, extent) = (24, [-3.0, 3.0, -4.0, 4.0]);
    let at = |i: usize, a: f64, b: f64| a + (b - a) * i as f64 / (n - 1) as f64;
    let value = |row: usize, col: usize| {
        slope([at(col, extent[0], extent[1]), at(row, extent[2], extent[3]), now[N - 1][2]], middle, asked)
    };
    let matrix = |k: usize| {
        let data = (0..n * n).map(|i| value(i / n, i % n)[k] as f32).collect();
        Payload::Matrix(Matrix { rows: n, cols: n, data, row_label: "2".into(), col_label: "1".into() })
    };
    Payload::Bundle(vec![
        ("dx".into(), matrix(0)),
        ("dy".into(), matrix(1)),
        ("extent".into(), numbers(&[("x0", extent[0]), ("x1", extent[1]), ("y0", extent[2]), ("y1", extent[3])])),
        ("at".into(), numbers(&[("x", now[N - 1][0] + turned), ("y", now[N - 1][1]), ("tau", tau)])),
    ])
}

/// The payload of `flow.claims`: as published the own measure is of a space, corrected it is of words.
pub fn claims(published: bool) -> Payload {
    let reached = |all: [f64; 5]| {
        let names = ["plus", "minus", "plus0", "minus0", "prompts"];
        numbers(&std::array::from_fn::<_, 5, _>(|i| (names[i], all[i])))
    };
    let of_words = if published { [0.27, 0.22, 0.26, 0.24, 32.0] } else { [0.95, 0.91, 0.28, 0.27, 32.0] };
    let (own, classes) = match published {
        true => ([0.9999, 0.997, 0.999, 0.0, 1.0], text(["\u{b7}", "|", "bad"])),
        false => (of_words, text(WORDS[..4].iter().copied().chain(["|"]).chain(WORDS[4..8].iter().copied()))),
    };
    Payload::Bundle(vec![
        ("own".into(), reached(own)),
        ("words".into(), reached(of_words)),
        ("classes".into(), classes),
        ("says".into(), text(["The tea was good.", "The tea was simple.", "The tea was bad."])),
    ])
}

/// The payload of `flow.sweep.nfe` after so many of its pieces, a piece a value of u.
pub fn nfe_sweep(done: usize) -> Payload {
    let x: Vec<f64> = (0..21).map(|i| -2.0 + 0.2 * f64::from(i)).collect();
    let mut lines: Vec<Line> = vec![];
    for (method, policy) in
        [(Method::Dopri5, Policy::Interpolate), (Method::Dopri5, Policy::Clip), (Method::Bosh3, Policy::Interpolate)]
    {
        let of = |u: f64| solved(&Asked { u: [u, 0.0, 0.0, 0.0], method, policy, ..Asked::default() }).2;
        let traces: Vec<_> = x.iter().take(done).map(|u| of(*u)).collect();
        let column = |f: &dyn Fn(&orrery::ode::Trace) -> f64| -> Vec<f64> {
            (0..x.len()).map(|i| traces.get(i).map_or(f64::NAN, f)).collect()
        };
        let (nfe, h) = (column(&|t| t.nfe as f64), column(&|t| t.h_init));
        // Explained: as many steps more as the first step asks for.
        let least = |h: f64| (1..9).find(|k| h >= 9.0 / (10f64.powi(*k) - 1.0)).map_or(f64::NAN, f64::from);
        let jump = |i: usize| i > 0 && nfe[i] != nfe[i - 1] && least(h[i]) != least(h[i - 1]);
        let name = format!("{} {}", method.id(), policy.id());
        let ladder = (0..x.len()).map(|i| f64::from(jump(i) && i < done)).collect();
        lines.push(Line { name: format!("h_init {name}"), y: h });
        lines.push(Line { name: format!("ladder {name}"), y: ladder });
        lines.insert(0, Line { name, y: nfe });
    }
    let total = x.len() as f64;
    Payload::Bundle(vec![
        ("kind".into(), text(["nfe"])),
        ("sweep".into(), Payload::Series(Series { x_label: "u\u{2080}".into(), y_label: "NFE".into(), x, lines })),
        ("progress".into(), numbers(&[("done", done as f64), ("total", total)])),
    ])
}
