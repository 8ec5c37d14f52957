//! A probe asks a model a question: it defines what to tap, what to compute and on which channel to answer. Each probe
//! has its own file; this file holds the list of all.

mod attention_chain;
mod attention_maps;
mod attention_statistics;
mod autocorrelation;
mod bdh_dynamics;
mod bdh_theory;
mod causality;
pub mod concepts;
pub mod contexts;
mod domain_coherence;
pub mod flow;
mod gate_entropy;
mod generator;
mod generator_distance;
mod layer_readout;
mod long_attention_maps;
pub mod neuron_graph;
mod next_tokens;
mod pair_attention;
mod position_losses;
mod prelude;
mod progress;
mod prompt;
mod query_key_paths;
mod recoverability;
mod residual;
mod role_accuracy;
mod settling;
mod staircase;
mod step_lengths;
mod streaming;
mod subject;
pub mod synapses;
mod tapped;
#[cfg(test)]
mod testing;
mod token_baselines;
mod token_residuals;
mod trace_reading;
mod unit_usage;

use std::sync::Arc;

use crate::{
    analysis::{generator::GeneratorError, graph::InvalidEdge},
    config::{Arguments, ConfigError, Knob, did_you_mean},
    corpus::{Corpus, CorpusError},
    models::Trainable,
    nn::{
        Device, Error, Result,
        memory::{self, available_memory},
    },
    telemetry::{Args, Measurement, Payload, Sample, ShapeError, measurements},
};

pub use progress::Progress;
pub use subject::{FromModel, FromShared};

/// Errors of what a probe uses are its own.
macro_rules! errors {
    ($($error:ty),+) => { $(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Error::wrap(error)
            }
        }
    )+ };
}
errors!(ConfigError, CorpusError, GeneratorError, InvalidEdge, ShapeError);

/// Refuses a question that would hold about this many bytes at once, if this machine has fewer left. `what`: "the
/// states take"; `remedy`: "ask for fewer windows".
pub(crate) fn refuse_beyond_memory(bytes: u64, what: &str, remedy: &str) -> Result<()> {
    match available_memory() {
        Some(free) if bytes > free => candle_core::bail!(
            "{what} about {} of memory, and {} are free: {remedy}",
            memory::size(bytes),
            memory::size(free)
        ),
        _ => Ok(()),
    }
}

/// A measurement with the data that it was measured on; any measurement where its type is not named.
#[derive(Default)]
pub struct Answer<M = Payload> {
    /// A description of the input that it was measured on.
    pub about: String,
    /// The texts of the tokens along its token axis; empty if it has none.
    pub tokens: Vec<String>,
    /// The measurement.
    pub payload: M,
    /// The step of the weights, if they are not those that were given to the probe.
    pub step: Option<u64>,
}

impl<M: IntoPayloads> Answer<M> {
    /// A measurement, a description of what it was measured on, and its token axis, if it has one.
    pub fn new(payload: M, about: String, tokens: Vec<String>) -> Self {
        Self { about, tokens, payload, step: None }
    }

    /// An answer for each measurement, whose type is no longer known.
    pub fn into_answers(self) -> Vec<Answer> {
        let Self { about, tokens, payload, step } = self;
        let answer = |payload| Answer { about: about.clone(), tokens: tokens.clone(), payload, step };
        payload.into_payloads().into_iter().map(answer).collect()
    }
}

impl Answer {
    /// The sample of a variant with weights of this step; `None` if it is not a measurement.
    pub fn into_sample(self, step: u64, variant: usize, request: Option<u64>) -> Option<Sample> {
        let channel = self.payload.channel()?.into();
        let (step, payload) = (self.step.unwrap_or(step), Arc::new(self.payload));
        Some(Sample { step, variant, channel, about: self.about, tokens: self.tokens, request, payload })
    }
}

/// The result of a probe: a [`Measurement`], an option where there may be none, or a pair.
pub trait IntoPayloads {
    /// The arguments of the probe that measures it.
    type Args: Arguments;

    /// The payloads of its samples, in this order.
    fn into_payloads(self) -> Vec<Payload>;
}

impl<M: Measurement> IntoPayloads for M {
    type Args = M::Args;

    fn into_payloads(self) -> Vec<Payload> {
        vec![self.into_payload()]
    }
}

impl<M: IntoPayloads> IntoPayloads for Option<M> {
    type Args = M::Args;

    fn into_payloads(self) -> Vec<Payload> {
        self.map_or(vec![], M::into_payloads)
    }
}

impl<A: IntoPayloads, B: IntoPayloads<Args = A::Args>> IntoPayloads for (A, B) {
    type Args = A::Args;

    fn into_payloads(self) -> Vec<Payload> {
        self.0.into_payloads().into_iter().chain(self.1.into_payloads()).collect()
    }
}

/// The inputs of a probe other than the model.
#[derive(Clone, Copy)]
pub struct ProbeInputs<'a> {
    /// The step of the run at which the model's weights were taken.
    pub step: u64,
    /// The corpus that the model reads.
    pub corpus: &'a Corpus,
    /// All texts of the run's models, the run's own corpus first.
    pub texts: &'a [Corpus],
    /// The device of the model's weights.
    pub device: &'a Device,
    /// Draws that a probe needs come from this seed.
    pub seed: u64,
    /// The receiver of progress, which also says if the answer was cancelled.
    pub progress: Progress<'a>,
}

impl<'a> ProbeInputs<'a> {
    /// Those of a model on its own, outside of any run: at step 0, with seed 0, without a receiver of progress.
    pub fn standalone(corpus: &'a Corpus, device: &'a Device) -> Self {
        Self { step: 0, corpus, texts: &[], device, seed: 0, progress: Progress::none() }
    }
}

/// The arguments of a question, which put it to a model. The answer is typed, and the model stays as it was found
/// (invariant 5).
pub trait Probe: Arguments {
    /// The result of the probe.
    type Answer: IntoPayloads<Args = Self>;
    /// The part of a model that answers: a capability, or the model itself.
    type Subject<'m>: FromModel<'m>;

    /// True if the answer may take seconds or minutes, so that no slider may have to wait for it.
    const IS_SLOW: bool = false;

    /// True if some models answer by their settings alone, so that a record without weights can be asked too.
    const MAY_NEED_NO_WEIGHTS: bool = false;

    /// The capability of this model that the probe uses; `None` if the model lacks it.
    fn subject(model: &mut dyn Trainable) -> Option<Self::Subject<'_>> {
        FromModel::from_model(model)
    }

    /// The part that answers where the model has its settings but not its trained weights; `None` where the answer depends
    /// on these.
    fn untrained_subject(_model: &dyn Trainable) -> Option<Self::Subject<'_>> {
        None
    }

    /// Names the missing arguments if these are too few for an answer.
    fn missing(&self) -> Option<&'static str> {
        None
    }

    /// # Errors
    /// Arguments that do not fit the model or the text, and failures of the model itself.
    fn ask(&self, subject: Self::Subject<'_>, cx: &ProbeInputs<'_>) -> Result<Answer<Self::Answer>>;
}

/// An entry of the one list of probes: a probe whose types are not known.
pub struct ProbeEntry {
    /// Stable id, used in plans, configs and `Command::Measure`.
    pub id: &'static str,
    /// A sentence that describes the probe's question.
    pub about: &'static str,
    /// See [`Probe::IS_SLOW`].
    pub is_slow: bool,
    /// See [`Probe::MAY_NEED_NO_WEIGHTS`].
    pub may_need_no_weights: bool,
    /// A knob for each argument.
    pub knobs: fn() -> Vec<Knob>,
    /// Asks a model. No answers where the probe does not apply to it; its arguments are then not read. Errors: arguments
    /// that do not exist or cannot be read, and those of [`Probe::ask`].
    pub ask: fn(&mut dyn Trainable, &Args, &ProbeInputs<'_>) -> Result<Vec<Answer>>,
    /// Asks a model that has its settings but not its trained weights; no answers where these decide.
    pub ask_untrained: fn(&dyn Trainable, &Args, &ProbeInputs<'_>) -> Result<Vec<Answer>>,
    /// See [`Probe::missing`]; `None` also for a model to which the question cannot be put.
    pub missing: fn(&mut dyn Trainable, &Args) -> Option<&'static str>,
}

/// The answers of a part of a model; none where there is no such part.
fn answers<P: Probe>(args: &Args, inputs: &ProbeInputs<'_>, subject: Option<P::Subject<'_>>) -> Result<Vec<Answer>> {
    let Some(subject) = subject else { return Ok(vec![]) };
    Ok(P::from_args(args)?.ask(subject, inputs)?.into_answers())
}

impl ProbeEntry {
    const fn new<P: Probe>() -> Self {
        Self {
            id: P::PROBE,
            about: P::DESCRIPTION,
            is_slow: P::IS_SLOW,
            may_need_no_weights: P::MAY_NEED_NO_WEIGHTS,
            knobs: P::knobs,
            ask: |model, args, inputs| answers::<P>(args, inputs, P::subject(model)),
            ask_untrained: |model, args, inputs| answers::<P>(args, inputs, P::untrained_subject(model)),
            missing: |model, args| P::from_args(args).ok()?.missing().filter(|_| P::subject(model).is_some()),
        }
    }
}

macro_rules! probes {
    ($($args:ident),* $(,)?) => {
        /// The list of all probes.
        pub static PROBES: &[ProbeEntry] = &[$(ProbeEntry::new::<measurements::$args>()),*];
    };
}

probes! {
    StaircaseArgs, CausalityArgs, AttentionMapsArgs, QueryKeyPathsArgs, LongAttentionMapsArgs, AttentionStatisticsArgs,
    AttentionChainArgs, ResidualArgs, GeneratorDistanceArgs, TokenResidualsArgs, GateEntropyArgs, LayerReadoutArgs,
    DomainCoherenceArgs, StepLengthsArgs, NextTokensArgs, PairAttentionArgs, RecoverabilityArgs, RoleAccuracyArgs,
    SettlingArgs, TokenBaselinesArgs, TraceReadingArgs, UnitUsageArgs, AutocorrelationArgs, PositionLossesArgs,
    WarmUpArgs, FastWeightsArgs, AdaptationArgs, UncertaintyArgs, BdhDynamicsArgs, BdhTheoryArgs, FlowArgs,
    FlowFieldArgs, FlowAlongArgs, FlowSweepArgs, FlowClaimsArgs, GeneratorArgs, GeneratorFlowArgs, StationaryMapArgs,
    GapBySizeArgs, ActivityArgs, ReadingArgs, SurpriseArgs, LogitLensArgs, QueryKeyMapsArgs, InterventionArgs,
    TrainedBdhArgs, ReadingCandidatesArgs, ConceptSearchArgs, TopContextsArgs, ConceptEffectArgs, MergingArgs,
    TextLossesArgs, NeuronGraphArgs, GraphModularityArgs, GraphCurveArgs, GraphNeuronArgs, HeadPairsArgs,
    CorePeripheryArgs, WriteIntervalsArgs,
}

/// The probe with this id.
pub fn find(id: &str) -> Option<&'static ProbeEntry> {
    PROBES.iter().find(|p| p.id == id)
}

/// The sentence for an id that no probe has, with the nearest one.
pub fn unknown(id: &str) -> String {
    format!(
        "there is no probe `{id}`{} (`orrery ask --list` names them)",
        did_you_mean(id, PROBES.iter().map(|p| p.id))
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{
        config::Value,
        models::{FamilySpec, ModelSpec, dense::DenseSpec},
    };

    #[test]
    fn every_probe_has_an_id_of_its_own_and_arguments_that_differ_in_name() {
        let ids: BTreeSet<&str> = PROBES.iter().map(|probe| probe.id).collect();
        assert_eq!(ids.len(), PROBES.len());
        for probe in PROBES {
            let knobs = (probe.knobs)();
            let names: BTreeSet<&str> = knobs.iter().map(|knob| knob.key).collect();
            assert_eq!(names.len(), knobs.len(), "{}", probe.id);
        }
    }

    #[test]
    fn a_misspelt_probe_is_named_with_its_neighbour() {
        assert_eq!(
            unknown("candidate"),
            "there is no probe `candidate`; did you mean `candidates`? (`orrery ask --list` names them)"
        );
        let far = "nothing like any of them";
        assert_eq!(unknown(far), format!("there is no probe `{far}` (`orrery ask --list` names them)"));
    }

    #[test]
    fn arguments_are_described_and_their_defaults_in_range() {
        for (probe, knob) in PROBES.iter().flat_map(|probe| (probe.knobs)().into_iter().map(|knob| (probe.id, knob))) {
            assert!(!knob.tip.is_empty(), "{probe}: {}", knob.key);
            let is_left_to_the_probe = knob.default == Value::Text(String::new());
            assert!(is_left_to_the_probe || knob.check(knob.default.clone()).is_ok(), "{probe}: {}", knob.key);
        }
    }

    #[test]
    fn only_a_probe_that_applies_reads_its_arguments() -> Result<()> {
        let (mut model, corpus) = testing::model(&ModelSpec::Dense(DenseSpec::tiny()))?;
        let mut answers = |id| testing::answers(id, model.as_mut(), &corpus, &[("typo", Value::Int(1))]);
        assert!(answers("bdh_dynamics")?.is_empty(), "a transformer is not a BDH");
        assert!(answers("next_tokens").is_err());
        Ok(())
    }
}
