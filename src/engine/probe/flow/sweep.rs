//! Sweeps: one thing turned through its range, measured point by point so that a run continues meanwhile. This file
//! asks for the points and puts them together; the measurements are in its submodules.

mod activation;
pub(super) mod classes;
mod difficulty;
mod gradients;
mod latency;
mod solvers;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Mutex, MutexGuard},
};

use super::{FlowInput, SolveParams, linspace};
use crate::{
    nn::kernels::threads::lock,
    probe::{IntoPayloads, prelude::*, subject::copy_of},
    random,
    telemetry::{Measurement, Payload},
};

/// The measurement of the kind that is asked for ([`FlowSweepNfe`] and its like), whose lists are as long as the range;
/// a point not wanted yet is NaN.
pub struct SweepMeasurement(Payload);

impl IntoPayloads for SweepMeasurement {
    type Args = FlowSweepArgs;

    fn into_payloads(self) -> Vec<Payload> {
        vec![self.0]
    }
}

type SweptModel<'m> = (&'m dyn Trainable, FlowModel<'m>);

/// A caller that shows progress asks for one more point at a time, and stops by not asking again. All points that are
/// asked for one by one are measured on the model as it was at the last `begin`. Points measured on the same weights
/// with the same arguments are remembered.
impl Probe for FlowSweepArgs {
    type Answer = SweepMeasurement;
    type Subject<'m> = SweptModel<'m>;
    const IS_SLOW: bool = true;

    fn ask(&self, swept: SweptModel<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>> {
        let Some(upto) = self.upto else { return Ok(measured(swept, self, usize::MAX, cx)?.0) };
        // models are distinguished by their addresses, since their weights change while a sweep goes on
        let question = question(self) ^ std::ptr::from_ref(swept.0.params()).addr() as u64;
        let begins = self.begin == Some(true);
        let (step, frozen) = match FROZEN_MODELS.take(question).filter(|_| !begins) {
            Some(model) => model,
            None => (cx.step, copy_of(swept.0, cx.seed, cx)?),
        };
        let Some(of_model) = SweptModel::from_shared(frozen.as_ref()) else { bail!("the copy has no flow") };
        let (mut found, is_all) = measured(of_model, self, upto, cx)?;
        found.step = Some(step);
        if !is_all {
            FROZEN_MODELS.keep(question, (step, frozen));
        }
        Ok(found)
    }
}

/// The first `upto` points of a sweep, and true if the sweep is complete.
fn measured(
    swept: SweptModel<'_>,
    args: &FlowSweepArgs,
    upto: usize,
    cx: &ProbeInputs<'_>,
) -> Result<(Answer<SweepMeasurement>, bool)> {
    let (model, flow) = swept;
    let (input, params) = FlowInput::from_args(flow, &args.flow, cx)?;
    let sweep = match args.kind {
        FlowSweepKind::Nfe => solvers::evaluations(&input, &params),
        FlowSweepKind::Tolerance => solvers::tolerance(&input, &params),
        FlowSweepKind::Invariance => solvers::invariance(&input, &params),
        FlowSweepKind::Class => classes::class(&input, &params, cx)?,
        FlowSweepKind::Activation => activation::activation(&input, &params, cx)?,
        FlowSweepKind::Difficulty => difficulty::difficulty(&input, &params, cx)?,
        FlowSweepKind::Layers => classes::layers(&input, &params, cx)?,
        FlowSweepKind::Latency => latency::latency(&input, model, cx)?,
        FlowSweepKind::GradientError => gradients::error(&input, &params)?,
        FlowSweepKind::GradientMemory => gradients::memory(&input, &params)?,
    };
    let total = sweep.total;
    let done = upto.min(total);
    let key = key(model, args)?;
    let found = RECENT_POINTS.all().iter().find(|(k, _)| *k == key).map(|(_, points)| points.clone());
    let mut known = found.unwrap_or_default();
    for i in 0..done {
        if let Entry::Vacant(entry) = known.entry(i) {
            entry.insert((sweep.measure)(i)?);
            cx.progress.at(i + 1, done)?;
        }
    }
    RECENT_POINTS.keep(key, known.clone());
    known.retain(|i, _| *i < done);
    let measured = (sweep.assemble)(&Columns { points: known, progress: SweepProgress { done, total } });
    let about = format!("{}, {done} of {total} points", sweep.about);
    Ok((Answer::new(measured, about, input.tokens.clone()), done == total))
}

/// The measurement at each point of a range, and the way from the measured columns to a measurement.
pub(super) struct Sweep<'a> {
    about: String,
    total: usize,
    /// The columns of point i.
    measure: Box<dyn Fn(usize) -> Result<Vec<f64>> + 'a>,
    assemble: Box<dyn Fn(&Columns) -> SweepMeasurement + 'a>,
}

impl<'a> Sweep<'a> {
    fn new<M: Measurement<Args = FlowSweepArgs>>(
        about: String,
        total: usize,
        measure: impl Fn(usize) -> Result<Vec<f64>> + 'a,
        assemble: impl Fn(&Columns) -> M + 'a,
    ) -> Self {
        Self {
            about,
            total,
            measure: Box::new(measure),
            assemble: Box::new(move |columns| SweepMeasurement(assemble(columns).into_payload())),
        }
    }
}

struct Columns {
    points: Points,
    progress: SweepProgress,
}

impl Columns {
    /// A column over the whole range, NaN where nothing was measured.
    fn column(&self, i: usize) -> Numbers {
        let value = |point: usize| self.points.get(&point).and_then(|p| p.get(i)).copied().unwrap_or(f64::NAN);
        (0..self.progress.total).map(value).collect()
    }
}

type Points = BTreeMap<usize, Vec<f64>>;

/// Recent values by their question, up to a maximum number; the oldest is dropped first.
struct RecentValues<T> {
    all: Mutex<Vec<(u64, T)>>,
    most: usize,
}

impl<T> RecentValues<T> {
    const fn new(most: usize) -> Self {
        Self { all: Mutex::new(vec![]), most }
    }

    fn all(&self) -> MutexGuard<'_, Vec<(u64, T)>> {
        lock(&self.all)
    }

    fn take(&self, question: u64) -> Option<T> {
        let mut all = self.all();
        let at = all.iter().position(|(q, _)| *q == question)?;
        Some(all.remove(at).1)
    }

    fn keep(&self, question: u64, value: T) {
        let mut all = self.all();
        all.retain(|(q, _)| *q != question);
        if all.len() == self.most {
            all.remove(0);
        }
        all.push((question, value));
    }
}

/// Copies of models with their steps, each as large as a trained one: one for each variant and kind of sweep in progress.
/// A sweep that is asked for point by point uses the weights with which it began, however far the run has got meanwhile;
/// one whose model was dropped begins again.
static FROZEN_MODELS: RecentValues<(u64, Box<dyn Trainable>)> = RecentValues::new(4);
/// The points of recent sweeps.
static RECENT_POINTS: RecentValues<Points> = RecentValues::new(12);

/// A hash of the arguments without the number of points that are asked for.
fn question(args: &FlowSweepArgs) -> u64 {
    random::hash(&format!("{:?}", FlowSweepArgs { upto: None, begin: None, ..args.clone() }))
}

/// A hash (FNV) of all bits of the weights, the runtime parameters and the arguments.
fn key(model: &dyn Trainable, args: &FlowSweepArgs) -> Result<u64> {
    let mut hash = question(args);
    let mut mix = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3);
    for (name, var) in model.params().iter() {
        mix(random::hash(name));
        host::to_f32(var.as_tensor())?.into_iter().for_each(|v| mix(u64::from(v.to_bits())));
    }
    model.runtime_params().into_iter().for_each(|param| mix(param.value.to_bits()));
    Ok(hash)
}
