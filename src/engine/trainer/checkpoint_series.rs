//! Checkpoints of one training, made elsewhere, recorded as a run whose steps are theirs. At each of them the run's
//! held-out loss is taken and its scheduled probes are asked, and the weights become the run's snapshot of that step;
//! the last one is its checkpoint. So whatever can be asked of a run at a step can be asked of them, by the same code:
//! a series is not a special case of anything that comes after. Nothing is trained; a plan stands
//! for each checkpoint.
//!
//! The record holds what was found out as the checkpoints were opened: the tokens of the newest among its settings, and what
//! was inferred of all of them among its events, each once.

use std::{collections::BTreeSet, sync::Arc};

use super::{Plan, Run, RunError, thread::guard, threads_of, tokens};
use crate::{
    models::ModelSpec,
    store::{Writer, snapshots},
    telemetry::{Event, Level, RunState, Sink, StepStats},
};

/// The models of one checkpoint.
pub struct SeriesStep {
    /// The number of updates that were made before the checkpoint.
    pub step: u64,
    /// The plan of the texts and questions; its models are those of the checkpoint.
    pub plan: Plan,
    /// The label of the checkpoint: its path.
    pub name: String,
    /// The source of the step: a key in the file, or its name.
    pub source: String,
}

/// Records the steps, which are in rising order, with `writer`, and sends the same events to `sinks`.
///
/// # Errors
/// If a checkpoint cannot be opened or its sizes differ from those of the first; the message names it. What was
/// recorded before stays.
pub fn record_series(
    mut steps: Vec<SeriesStep>,
    writer: &Writer,
    sinks: &mut [Box<dyn Sink>],
    is_wanted: &dyn Fn() -> bool,
) -> Result<(), RunError> {
    let count = steps.len();
    let Some(newest) = steps.last_mut() else { return Err(RunError::Plan("a series needs a checkpoint".to_owned())) };
    // the run is that of its newest weights, whose tokens its settings must name before they are recorded
    let mut chosen_tokens = guard(|| tokens::fit(&mut newest.plan))?;
    let (config, inputs) = (newest.plan.config.clone(), super::inputs::identify(&newest.plan)?);
    let threads = threads_of(&newest.plan);
    crate::nn::set_threads(threads);
    let mut emit = |event: Event| -> Result<(), RunError> {
        writer.record(&event)?;
        sinks.iter_mut().try_for_each(|sink| sink.event(&event)).map_err(RunError::Refused)
    };
    let mut first: Option<ModelSizes> = None;
    let mut kept = vec![];
    let mut noted = BTreeSet::new();
    for (k, SeriesStep { step, plan, name, source }) in steps.into_iter().enumerate() {
        ensure!(is_wanted(), RunError::Refused(format!("stopped before `{name}`")));
        let mut run = guard(|| Run::open(plan))?;
        run.step = step;
        run.variants.iter_mut().for_each(|v| v.optimiser.step = step);
        let sizes = ModelSizes::new(&run, &name);
        match &first {
            None => {
                let mut info = run.info(threads, None);
                (info.config, info.inputs) = (config.clone(), inputs.clone());
                emit(Event::Started(Arc::new(info)))?;
                writer.begin()?;
                first = Some(sizes);
            }
            Some(first) => first.check(&sizes)?,
        }
        for text in chosen_tokens.take().into_iter().chain(run.opening_notes()) {
            if noted.insert(without_files(&text, &run)) {
                emit(Event::Notice { level: Level::Info, text })?;
            }
        }
        emit(Event::Notice { level: Level::Info, text: format!("step {step} is `{name}`, as {source} says") })?;
        for event in measured(&mut run)? {
            emit(event)?;
        }
        let weights = run.all_weights()?;
        if let Some(folder) = writer.folder() {
            let of_step: Vec<_> = weights.iter().flatten().map(Arc::as_ref).collect();
            snapshots::write(&folder, step, &of_step)?;
            kept.push(step);
            emit(Event::Snapshots(Arc::new(kept.clone())))?;
        }
        if k + 1 == count {
            writer.checkpoint(run.checkpoint())?;
            emit(Event::Checkpoint { step })?;
        }
    }
    emit(Event::State(RunState::Finished))?;
    Ok(writer.sync()?)
}

/// A note without the path of the checkpoint, which is all that differs between the notes of a series.
fn without_files(note: &str, run: &Run) -> String {
    let paths = run.plan.variants.iter().flat_map(|variant| variant.model.files());
    paths.fold(note.to_owned(), |note, path| note.replace(&path.display().to_string(), ""))
}

/// The held-out loss and what the schedule asks, at the run's step.
fn measured(run: &mut Run) -> Result<Vec<Event>, RunError> {
    let mut events = vec![];
    for i in 0..run.variants.len() {
        let stats: StepStats = guard(|| run.evaluate(i))?;
        events.push(Event::Step(stats));
        for schedule in run.plan.probes.clone().iter().filter(|s| s.every > 0) {
            events.extend(run.ask_events(i, &schedule.probe, &schedule.args));
        }
    }
    Ok(events)
}

/// The sizes that must be the same in every checkpoint.
struct ModelSizes {
    name: String,
    specs: Vec<ModelSpec>,
    vocab: usize,
    /// Name and shape of every weight.
    shapes: Vec<(String, Vec<usize>)>,
}

impl ModelSizes {
    fn new(run: &Run, name: &str) -> Self {
        let shapes = run.variants.iter().flat_map(|v| v.model.params().iter());
        Self {
            name: name.to_owned(),
            specs: run.variants.iter().map(|v| v.model.spec()).collect(),
            vocab: run.corpus().vocab(),
            shapes: shapes.map(|(n, p)| (n.to_owned(), p.dims().to_vec())).collect(),
        }
    }

    /// # Errors
    /// If another has other sizes.
    fn check(&self, other: &Self) -> Result<(), RunError> {
        let refused = |what: String| {
            let (a, b) = (&other.name, &self.name);
            Err(RunError::Refused(format!(
                "`{a}` is not a later state of the model in `{b}`: {what}. Leave it out of the folder, or open it alone"
            )))
        };
        let differs = other.shapes.iter().zip(&self.shapes).find(|(a, b)| a != b);
        if let Some(((name, here), (_, there))) = differs {
            return refused(format!("`{name}` is {here:?} in it and {there:?} in the other"));
        }
        if other.shapes.len() != self.shapes.len() || other.vocab != self.vocab {
            return refused("it has other weights".to_owned());
        }
        if other.specs != self.specs {
            return refused("it has another number of layers, form, position or rotary frequencies".to_owned());
        }
        Ok(())
    }
}
