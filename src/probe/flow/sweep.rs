//! Sweeps: one thing turned through its range, measured in pieces so that a run goes on meanwhile.
//! This file asks for the pieces and puts them together; what is measured stands in the files beside.

pub(super) mod classes;
mod frozen_model;
mod gradients;
mod latency;
mod solvers;

use std::{collections::BTreeMap, sync::Mutex};

use super::{Course, Drive, numbers, series};
use crate::{
    config::Value,
    models::Model,
    nn::{Result, host, params},
    probe::{Finding, Probe, ProbeContext},
    telemetry::{Args, Payload, channels},
};

/// Kinds in the order of the interface, with their channels.
pub const KINDS: [(&str, &str); 8] = [
    ("nfe", channels::FLOW_SWEEP_NFE),
    ("tolerance", channels::FLOW_SWEEP_TOLERANCE),
    ("invariance", channels::FLOW_SWEEP_INVARIANCE),
    ("class", channels::FLOW_SWEEP_CLASS),
    ("layers", channels::FLOW_SWEEP_LAYERS),
    ("latency", channels::FLOW_SWEEP_LATENCY),
    ("gradient_error", channels::FLOW_SWEEP_GRADIENT_ERROR),
    ("gradient_memory", channels::FLOW_SWEEP_GRADIENT_MEMORY),
];

/// Arguments that say how much of a sweep is wanted, and not of what.
const HOW_FAR: [&str; 2] = ["upto", "begin"];

/// Arguments: `kind` of [`KINDS`], `upto` (pieces wanted; all if there is none), `begin`, and `flow`'s.
/// Answers a bundle: `kind`, `sweep` (a series over all of x; a piece not wanted yet is a gap) and
/// `progress`. Who wants to watch asks for one piece more at a time; who wants to stop does not ask
/// again. What is asked for by pieces is of one model throughout, as it was at the last `begin`. Pieces
/// measured on the same weights with the same arguments are remembered.
pub struct FlowSweep;

impl Probe for FlowSweep {
    fn id(&self) -> &'static str {
        "flow_sweep"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        super::applies(model)
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let wanted = cx.args.get("kind").map_or("nfe".to_owned(), ToString::to_string);
        let Some((kind, channel)) = KINDS.into_iter().find(|(k, _)| *k == wanted) else {
            candle_core::bail!("there is no sweep `{wanted}`; there are {}", KINDS.map(|(k, _)| k).join(", "))
        };
        let Some(upto) = cx.args.get("upto").and_then(Value::as_f64).filter(|n| *n >= 0.0) else {
            return Ok(vec![measured(cx, (kind, channel), usize::MAX)?.0]);
        };
        let question = frozen_model::question(cx, kind);
        let begins = cx.args.get("begin") == Some(&Value::Switch(true));
        let mut model = match frozen_model::take(question).filter(|_| !begins) {
            Some(model) => model,
            None => frozen_model::copy(cx)?,
        };
        let (found, is_all) = measured(&ProbeContext { model: model.as_mut(), ..*cx }, (kind, channel), upto as usize)?;
        if !is_all {
            frozen_model::keep(question, model);
        }
        Ok(vec![found])
    }
}

/// So many pieces of a sweep, and whether that is all of it.
fn measured(cx: &ProbeContext<'_>, (kind, channel): (&str, &'static str), upto: usize) -> Result<(Finding, bool)> {
    let (course, drive) = Course::of(cx)?;
    let sweep = of_kind(kind, &course, &drive, cx)?;
    let total = sweep.x.len();
    let upto = upto.min(total);
    let key = key(cx.model, cx.args, kind)?;
    let mut known = remembered(key);
    for i in 0..upto {
        if let std::collections::btree_map::Entry::Vacant(place) = known.entry(i) {
            place.insert((sweep.measure)(i)?);
        }
    }
    remember(key, &known);
    let pieces: Vec<Option<&Vec<f64>>> = (0..total).map(|i| known.get(&i).filter(|_| i < upto)).collect();
    let lines = (sweep.lines)(&pieces);
    let lines = lines.iter().map(|(name, y)| (name.as_str(), y.clone())).collect();
    let found = Finding {
        channel,
        about: format!("{}, {upto} of {total} points", sweep.about),
        tokens: course.tokens.clone(),
        payload: Payload::Bundle(vec![
            ("kind".into(), Payload::Text(vec![kind.to_owned()])),
            ("sweep".into(), series(sweep.labels, sweep.x, lines)),
            ("progress".into(), numbers(vec![("done", upto as f64), ("total", total as f64)])),
        ]),
    };
    Ok((found, upto == total))
}

/// What to measure at each x, and how the measured columns become lines.
pub(super) struct Sweep<'a> {
    about: String,
    labels: (&'static str, &'static str),
    x: Vec<f64>,
    /// The columns of piece i.
    measure: Box<dyn Fn(usize) -> Result<Vec<f64>> + 'a>,
    lines: Lines,
}

/// From the columns of each piece (none where it was not measured) to named lines over x.
type Lines = Box<dyn Fn(&[Option<&Vec<f64>>]) -> Vec<(String, Vec<f64>)>>;

/// One line a column, in order.
fn columns(names: Vec<String>) -> Lines {
    Box::new(move |pieces| names.iter().enumerate().map(|(i, name)| (name.clone(), column(pieces, i))).collect())
}

fn column(pieces: &[Option<&Vec<f64>>], i: usize) -> Vec<f64> {
    pieces.iter().map(|p| p.and_then(|p| p.get(i)).copied().unwrap_or(f64::NAN)).collect()
}

fn of_kind<'a>(kind: &str, course: &'a Course<'_>, drive: &Drive, cx: &'a ProbeContext<'_>) -> Result<Sweep<'a>> {
    Ok(match kind {
        "nfe" => solvers::evaluations(course, drive),
        "tolerance" => solvers::tolerance(course, drive),
        "invariance" => solvers::invariance(course, drive),
        "class" => classes::class(course, drive, cx)?,
        "layers" => classes::layers(course, drive, cx)?,
        "gradient_error" => gradients::gradients(course, drive, gradients::What::Error)?,
        "gradient_memory" => gradients::gradients(course, drive, gradients::What::Memory)?,
        _ => latency::latency(course, cx)?,
    })
}

/// `n` values from low to high.
fn spread(low: f64, high: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1).max(1) as f64).collect()
}

/// The columns of each piece that was measured.
type Pieces = BTreeMap<usize, Vec<f64>>;

/// Pieces by what they were measured on. A few sweeps are kept; the oldest goes first.
static REMEMBERED: Mutex<Vec<(u64, Pieces)>> = Mutex::new(vec![]);
const KEPT: usize = 12;

fn remembered(key: u64) -> Pieces {
    let all = REMEMBERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.iter().find(|(k, _)| *k == key).map(|(_, pieces)| pieces.clone()).unwrap_or_default()
}

fn remember(key: u64, pieces: &Pieces) {
    let mut all = REMEMBERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.retain(|(k, _)| *k != key);
    all.push((key, pieces.clone()));
    if all.len() > KEPT {
        all.remove(0);
    }
}

/// Tells weights, runtime parameters, kind and arguments apart: FNV over all their bits.
fn key(model: &dyn Model, args: &Args, kind: &str) -> Result<u64> {
    let mut hash = params::hash(kind);
    let mut mix = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3);
    for (name, var) in model.params().iter() {
        mix(params::hash(name));
        for v in host::to_f32(var.as_tensor())? {
            mix(u64::from(v.to_bits()));
        }
    }
    for (name, value) in args.iter().filter(|(name, _)| !HOW_FAR.contains(&name.as_str())) {
        mix(params::hash(name));
        mix(params::hash(&value.to_string()));
    }
    for param in model.runtime_params() {
        mix(param.value.to_bits());
    }
    Ok(hash)
}
