//! The steering panel's question: one solve at a control, and everything that is to be seen of it.

use super::{
    Course, Drive,
    along::{DEPTHS, Motion},
    basis::{Basis, states_at},
    numbers, series, words,
};
use crate::{
    models::capabilities::LanguageFlow,
    nn::{Result, Tensor},
    ode::Trace,
    probe::{Finding, Probe, ProbeContext},
    telemetry::{Payload, Points, channels},
};

/// Places on a path in the plane for each depth otherwise looked at.
const FINER: usize = 8;
/// Words whose probability is shown.
const RANKS: usize = 12;

/// Arguments: `u0`..`u3`, `alpha`, `method`, `policy`, `rtol`, `atol`, `steps`, `prompt`, `token`; in the
/// playground `field`. Answers a bundle: `next`, `next_words`, `mass`, `classes`, `continuation` (of a
/// model with words), `paths`, `basis`, `trace`, `solver`, `along`, `used`, `used_words`.
pub struct FlowAnswer;

impl Probe for FlowAnswer {
    fn id(&self) -> &'static str {
        "flow"
    }

    fn applies(&self, model: &dyn crate::models::Model) -> bool {
        super::applies(model)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let (course, drive) = Course::of(cx)?;
        let law = course.law(drive.u, drive.alpha)?;
        // In the plane nothing else costs anything, and paths bend more.
        let every = if course.playground().is_some() { FINER } else { 1 };
        let last = (DEPTHS - 1) * every;
        let times: Vec<f64> = (0..=last).map(|i| i as f64 / last as f64).collect();
        let (trace, states, end) = states_at(&course, &law, &times, &drive.options)?;
        let basis = Basis::of(&course, &drive)?;
        let mut parts: Vec<(String, Payload)> = vec![];
        if let Some(model) = course.model() {
            parts.extend(said(&course, model, &drive, cx, &end)?);
        }
        if let Some(kind) = course.playground() {
            parts.push(("playground".into(), Payload::Text(vec![kind.id().to_owned()])));
        }
        parts.push(("paths".into(), paths(&course, &basis, &times, &states)?));
        let explained = basis.components.iter().map(|c| c.explained).collect::<Vec<_>>();
        let ranks = (1..=explained.len()).map(|i| i as f64).collect();
        parts.push(("basis".into(), series(("component", "share"), ranks, vec![("explained", explained)])));
        parts.extend(solver(&trace));
        let coarse: Vec<Tensor> = states.into_iter().step_by(every).collect();
        parts.push(("along".into(), Motion::of(&law, &coarse)?.payload()));
        parts.extend(used(&course, &drive));
        Ok(vec![Finding {
            channel: channels::FLOW_ANSWER,
            about: format!("{}, {}", course.describe(), drive.describe()),
            tokens: course.tokens.clone(),
            payload: Payload::Bundle(parts),
        }])
    }
}

/// Words: the next one's distribution steered and not, the classes' shares, the continuation.
fn said(
    course: &Course<'_>,
    model: &dyn LanguageFlow,
    drive: &Drive,
    cx: &ProbeContext<'_>,
    end: &Tensor,
) -> Result<Vec<(String, Payload)>> {
    let p = words::next(model, end)?;
    let p0 = if drive.u == [0.0; 4] {
        p.clone()
    } else {
        let law = course.law([0.0; 4], drive.alpha)?;
        words::next(model, &crate::ode::solve(&law, &course.start, 0.0, 1.0, &drive.options)?.end)?
    };
    let ranked = words::top(&p, RANKS);
    let of = |p: &[f64]| ranked.iter().map(|&id| p[id as usize]).collect::<Vec<_>>();
    let ranks = (1..=ranked.len()).map(|i| i as f64).collect();
    let text = |ids: &[u32]| ids.iter().map(|&id| cx.corpus.token_text(id)).collect::<Vec<_>>();
    let first = ranked.first().copied().unwrap_or_default();
    let continued = words::continuation(course, model, drive, cx, first)?;
    let mut parts = vec![
        ("next".to_owned(), series(("rank", "probability"), ranks, vec![("p", of(&p)), ("p0", of(&p0))])),
        ("next_words".to_owned(), Payload::Text(text(&ranked))),
        ("continuation".to_owned(), Payload::Text(text(&continued))),
    ];
    if let Some(steering) = model.steering() {
        let (plus, minus) = (&steering.plus, &steering.minus);
        parts.push((
            "mass".to_owned(),
            numbers(vec![
                ("plus", words::mass(&p, plus)),
                ("minus", words::mass(&p, minus)),
                ("plus0", words::mass(&p0, plus)),
                ("minus0", words::mass(&p0, minus)),
            ]),
        ));
        let mut classes = text(plus);
        classes.push("|".to_owned());
        classes.extend(text(minus));
        parts.push(("classes".to_owned(), Payload::Text(classes)));
    }
    Ok(parts)
}

/// Where each token (or start) is carried, in the basis, at every depth looked at.
fn paths(course: &Course<'_>, basis: &Basis, times: &[f64], states: &[Tensor]) -> Result<Payload> {
    let labels: Vec<String> = times.iter().map(ToString::to_string).collect();
    let mut places: Vec<Vec<f32>> = vec![vec![]; course.tokens.len()];
    for state in states {
        for (path, row) in places.iter_mut().zip(course.rows(state)?) {
            path.extend(basis.place(&row).iter().map(|v| *v as f32));
        }
    }
    let dims = basis.components.len();
    Ok(Payload::Bundle(
        places
            .into_iter()
            .enumerate()
            .map(|(i, xyz)| (i.to_string(), Payload::Points(Points { dims, xyz, labels: labels.clone() })))
            .collect(),
    ))
}

fn solver(trace: &Trace) -> Vec<(String, Payload)> {
    let flag = |f: fn(&crate::ode::Attempt) -> bool| {
        trace.attempts.iter().map(|a| f64::from(u8::from(f(a)))).collect::<Vec<_>>()
    };
    let lines = vec![
        ("h", trace.attempts.iter().map(|a| a.h).collect()),
        ("error", trace.attempts.iter().map(|a| a.error).collect()),
        ("accepted", flag(|a| a.accepted)),
        ("capped", flag(|a| a.growth_capped)),
    ];
    let at = trace.attempts.iter().map(|a| a.t).collect();
    vec![
        ("trace".to_owned(), series(("depth τ", ""), at, lines)),
        (
            "solver".to_owned(),
            numbers(vec![
                ("h_init", trace.h_init),
                ("d0", trace.d0),
                ("d1", trace.d1),
                ("d2", trace.d2),
                ("nfe", trace.nfe as f64),
                ("accepted", trace.accepted() as f64),
                ("rejected", trace.rejected() as f64),
            ]),
        ),
    ]
}

fn used(course: &Course<'_>, drive: &Drive) -> Vec<(String, Payload)> {
    let (u, o) = (drive.u, &drive.options);
    let numbers = numbers(vec![
        ("u0", u[0]),
        ("u1", u[1]),
        ("u2", u[2]),
        ("u3", u[3]),
        ("alpha", drive.alpha),
        ("rtol", o.rtol),
        ("atol", o.atol),
        ("steps", o.steps as f64),
        ("token", course.token as f64),
    ]);
    let words = vec![o.method.id().to_owned(), o.policy.id().to_owned(), course.prompt.clone()];
    vec![("used".to_owned(), numbers), ("used_words".to_owned(), Payload::Text(words))]
}
