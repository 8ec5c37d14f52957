//! Sweeps: one thing turned through its range, measured point by point so that a run goes on meanwhile.
//! This file asks for the points and puts them together; what is measured stands in the files beside.

pub(super) mod classes;
mod frozen_model;
mod gradients;
mod latency;
mod solvers;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Mutex,
};

use super::{FlowInput, SolveParams};
use crate::{
    config::Value,
    models::Model,
    nn::{Result, host, params},
    probe::{Finding, ProbeContext, UntypedProbe},
    telemetry::{Args, Measurement, Payload, measurements::SweepProgress, number::Numbers},
};

/// Kinds in the order of the interface; each has a measurement of its own.
const KINDS: [&str; 8] =
    ["nfe", "tolerance", "invariance", "class", "layers", "latency", "gradient_error", "gradient_memory"];

/// Arguments that say how much of a sweep is wanted, and not of what.
const HOW_FAR: [&str; 2] = ["upto", "begin"];

/// Arguments: `kind` of [`KINDS`], `upto` (points wanted; all if there is none), `begin`, and `flow`'s. Makes
/// the sweep's measurement ([`FlowSweepNfe`](crate::telemetry::measurements::FlowSweepNfe) and its like),
/// whose lists are as long as the range; a point not wanted yet is NaN. Who wants to watch asks for one
/// point more at a time; who wants to stop does not ask again. What is asked for point by point is of one
/// model throughout, as it was at the last `begin`. Points measured on the same weights with the same
/// arguments are remembered.
pub struct FlowSweep;

impl UntypedProbe for FlowSweep {
    fn id(&self) -> &'static str {
        "flow_sweep"
    }

    fn applies(&self, model: &dyn Model) -> bool {
        super::applies(model)
    }

    fn takes_long(&self) -> bool {
        true
    }

    fn ask(&self, cx: &mut ProbeContext<'_>) -> Result<Vec<Finding>> {
        let wanted = cx.args.get("kind").map_or("nfe".to_owned(), ToString::to_string);
        let Some(kind) = KINDS.into_iter().find(|k| *k == wanted) else {
            candle_core::bail!("there is no sweep `{wanted}`; there are {}", KINDS.join(", "))
        };
        let Some(upto) = cx.args.get("upto").and_then(Value::as_f64).filter(|n| *n >= 0.0) else {
            return Ok(vec![measured(cx, kind, usize::MAX)?.0]);
        };
        let question = frozen_model::question(cx, kind);
        let begins = cx.args.get("begin") == Some(&Value::Switch(true));
        let mut model = match frozen_model::take(question).filter(|_| !begins) {
            Some(model) => model,
            None => frozen_model::copy(cx)?,
        };
        let of_model = ProbeContext { model: model.weights.as_mut(), ..*cx };
        let (mut found, is_all) = measured(&of_model, kind, upto as usize)?;
        found.step = Some(model.step);
        if !is_all {
            frozen_model::keep(question, model);
        }
        Ok(vec![found])
    }
}

/// So many points of a sweep, and whether that is all of it.
fn measured(cx: &ProbeContext<'_>, kind: &str, upto: usize) -> Result<(Finding, bool)> {
    let (input, params) = FlowInput::of(cx)?;
    let sweep = of_kind(kind, &input, &params, cx)?;
    let total = sweep.total;
    let done = upto.min(total);
    let key = key(cx.model, cx.args, kind)?;
    let mut known = remembered(key);
    for i in 0..done {
        if let Entry::Vacant(entry) = known.entry(i) {
            entry.insert((sweep.measure)(i)?);
            cx.progress.at(i + 1, done)?;
        }
    }
    remember(key, &known);
    known.retain(|i, _| *i < done);
    let found = Finding {
        about: format!("{}, {done} of {total} points", sweep.about),
        tokens: input.tokens.clone(),
        payload: (sweep.assemble)(&Columns { points: known, progress: SweepProgress { done, total } }),
        step: None,
    };
    Ok((found, done == total))
}

/// What to measure at each point of a range, and how the measured columns become a measurement.
pub(super) struct Sweep<'a> {
    about: String,
    /// Points of the range.
    total: usize,
    /// The columns of point i.
    measure: Box<dyn Fn(usize) -> Result<Vec<f64>> + 'a>,
    assemble: Box<dyn Fn(&Columns) -> Payload + 'a>,
}

impl<'a> Sweep<'a> {
    fn new<M: Measurement>(
        about: String,
        total: usize,
        measure: impl Fn(usize) -> Result<Vec<f64>> + 'a,
        assemble: impl Fn(&Columns) -> M + 'a,
    ) -> Self {
        Self {
            about,
            total,
            measure: Box::new(measure),
            assemble: Box::new(move |columns| assemble(columns).into_payload()),
        }
    }
}

/// The columns of every point that was measured.
struct Columns {
    points: Points,
    progress: SweepProgress,
}

impl Columns {
    /// One column over the whole range, NaN where nothing was measured.
    fn column(&self, i: usize) -> Numbers {
        let value = |point: usize| self.points.get(&point).and_then(|p| p.get(i)).copied().unwrap_or(f64::NAN);
        (0..self.progress.total).map(value).collect()
    }
}

fn of_kind<'a>(
    kind: &str,
    input: &'a FlowInput<'_>,
    params: &SolveParams,
    cx: &'a ProbeContext<'_>,
) -> Result<Sweep<'a>> {
    Ok(match kind {
        "nfe" => solvers::evaluations(input, params),
        "tolerance" => solvers::tolerance(input, params),
        "invariance" => solvers::invariance(input, params),
        "class" => classes::class(input, params, cx)?,
        "layers" => classes::layers(input, params, cx)?,
        "gradient_error" => gradients::error(input, params)?,
        "gradient_memory" => gradients::memory(input, params)?,
        _ => latency::latency(input, cx)?,
    })
}

/// `n` values from low to high.
fn spread(low: f64, high: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| low + (high - low) * i as f64 / (n - 1).max(1) as f64).collect()
}

/// The columns of each point that was measured.
type Points = BTreeMap<usize, Vec<f64>>;

/// Points by what they were measured on. A few sweeps are remembered; the oldest is forgotten first.
static REMEMBERED: Mutex<Vec<(u64, Points)>> = Mutex::new(vec![]);
const MOST_REMEMBERED: usize = 12;

fn remembered(key: u64) -> Points {
    let all = REMEMBERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.iter().find(|(k, _)| *k == key).map(|(_, points)| points.clone()).unwrap_or_default()
}

fn remember(key: u64, points: &Points) {
    let mut all = REMEMBERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    all.retain(|(k, _)| *k != key);
    all.push((key, points.clone()));
    if all.len() > MOST_REMEMBERED {
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
