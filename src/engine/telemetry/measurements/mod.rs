//! Every measurement, one type a channel, and the one list of them.
//!
//! A probe returns such a struct, a view asks for it by its type ([`Measurement::from_payload`]), and a run
//! folder holds its JSON. No part of it is named by a string on any side.
//!
//! A field's documentation gives its unit, its shape and the symbol of the source; `orrery schema`
//! prints it as a JSON schema for programs in other languages.

use std::fmt::Debug;

use crate::config::{Arguments, json_error_message};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{
    Deserialize, Serialize,
    de::{self, DeserializeOwned},
};

mod attention;
mod bdh;
mod concepts;
mod fast_slow;
mod flow;
mod generator;
mod grammar_roles;
mod graph;
mod neuron_graph;
mod prelude;
mod spen;
mod synapses;
mod text;
mod token_baselines;
mod traces;
mod trained_bdh;

pub use attention::*;
pub use bdh::*;
pub use concepts::*;
pub use fast_slow::*;
pub use flow::*;
pub use generator::*;
pub use grammar_roles::*;
pub use graph::*;
pub use neuron_graph::*;
pub use spen::*;
pub use synapses::*;
pub use text::*;
pub use token_baselines::*;
pub use traces::*;
pub use trained_bdh::*;

/// A typed measurement. One struct a channel; the list is [`MEASUREMENTS`].
pub trait Measurement:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// The arguments of the probe that makes it.
    type Args: Arguments;

    /// The channel's name, `group.quantity`: what `channel` says on a line of `samples.jsonl`.
    const CHANNEL: &'static str;
    /// Id of the probe that makes it.
    const PROBE: &'static str = <Self::Args as Arguments>::PROBE;

    /// The measurement in a payload, if it is this one.
    fn from_payload(payload: &Payload) -> Option<&Self>;

    /// Wraps the measurement as the payload of a sample.
    fn into_payload(self) -> Payload;
}

/// An entry of the one list of measurements, by which a channel's name leads to its type.
pub struct MeasurementEntry {
    /// The channel's name, `group.quantity`.
    pub channel: &'static str,
    /// The id of the probe that makes the measurement.
    pub probe: &'static str,
    schema: fn() -> Schema,
    decode_line: fn(&[u8]) -> serde_json::Result<Payload>,
}

/// A line of `samples.jsonl`; only its payload is parsed.
#[derive(Serialize, Deserialize)]
struct PayloadLine<P> {
    payload: P,
}

impl MeasurementEntry {
    const fn new<M: Measurement>() -> Self {
        Self {
            channel: M::CHANNEL,
            probe: M::PROBE,
            schema: || schema_for!(M),
            decode_line: |line| Ok(serde_json::from_slice::<PayloadLine<M>>(line)?.payload.into_payload()),
        }
    }

    /// The JSON schema of its payload (draft 2020-12).
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// A payload of this channel from JSON. The JSON is written and read as a line, so that each measurement is
    /// compiled for one reader only.
    ///
    /// # Errors
    /// If the JSON does not have the measurement's fields; the message names the field.
    pub fn decode(&self, json: serde_json::Value) -> serde_json::Result<Payload> {
        (self.decode_line)(&serde_json::to_vec(&PayloadLine { payload: json })?)
            .map_err(|e| de::Error::custom(json_error_message(&e)))
    }
}

macro_rules! measurements {
    ($($name:ident),* $(,)?) => {
        /// The payload of a sample: one of the measurements, or raw JSON where this version has no type for it.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum Payload {
            $(#[doc = concat!("The measurement [`", stringify!($name), "`].")] $name($name),)*
            /// A channel that this version has no type for: kept as it was read.
            Unknown(serde_json::Value),
        }

        impl Payload {
            /// [`Measurement::CHANNEL`] of what it holds; `None` where this version has no type for it.
            pub fn channel(&self) -> Option<&'static str> {
                match self {
                    $(Payload::$name(_) => Some($name::CHANNEL),)*
                    Payload::Unknown(_) => None,
                }
            }
        }

        /// Every measurement, by channel.
        pub static MEASUREMENTS: &[MeasurementEntry] = &[$(MeasurementEntry::new::<$name>()),*];
    };
}

measurements! {
    Staircase, Causality, AttentionMaps, QueryKeyPaths, LongAttentionMaps, AttentionStatistics, AttentionChain,
    Residual, GeneratorDistance, TokenResiduals, GateEntropy, LayerReadout, DomainCoherence, PairAttention, StepLengths,
    NextTokens, Recoverability, RoleAccuracy, Settling, WarmUp, FastWeights, Adaptation, Uncertainty, NeuronGraph,
    EntryHistogram, GraphDegrees, GraphModularity, ModularityAtStep, GraphNeuron, HeadPairs, CorePeriphery,
    BdhDynamicsWeights, BdhDynamicsChecks, BdhTheory, GeneratorState, GeneratorFlow, StationaryMapError, GapBySize,
    Activity, SynapseReading, Surprise, InterventionEffect, LogitLens, QueryKeyMaps, TrainedBdh, Merging, TextLosses,
    WriteIntervals, ConceptEffect, ReadingCandidates, ConceptSearch, TopContexts, TokenBaselines, TraceReading,
    UnitUsage, Autocorrelation, PositionLosses, FlowAnswer, FlowField, FlowAlong, FlowSweepNfe, FlowSweepTolerance,
    FlowSweepInvariance, FlowSweepClass, FlowSweepActivation, FlowSweepDifficulty, FlowSweepLayers, FlowSweepLatency,
    FlowSweepGradientError, FlowSweepGradientMemory, FlowClaims,
}

impl Payload {
    /// The payload of a channel from its JSON: typed where the channel is known, kept as it is elsewhere.
    ///
    /// # Errors
    /// If the channel is known and the JSON is not of its shape; the message names the field.
    pub fn decode(channel: &str, json: serde_json::Value) -> serde_json::Result<Self> {
        match MEASUREMENTS.iter().find(|m| m.channel == channel) {
            Some(entry) => entry.decode(json),
            None => Ok(Payload::Unknown(json)),
        }
    }

    /// Like [`Payload::decode`], from the field `payload` of a line of JSON. Only the measurement itself is built,
    /// which for a known channel takes a few times the line's bytes whatever the line holds.
    ///
    /// # Errors
    /// Those of [`Payload::decode`], and if the line is not a JSON object with a payload.
    pub fn decode_line(channel: &str, line: &[u8]) -> serde_json::Result<Self> {
        match MEASUREMENTS.iter().find(|m| m.channel == channel) {
            Some(entry) => (entry.decode_line)(line),
            None => Ok(Payload::Unknown(serde_json::from_slice::<PayloadLine<_>>(line)?.payload)),
        }
    }

    /// True if this version has a type for the channel.
    pub fn is_known(channel: &str) -> bool {
        MEASUREMENTS.iter().any(|m| m.channel == channel)
    }
}

/// Declares a measurement and the structs that it is made of: each can be copied, compared, written as JSON and read back, and
/// has a schema; an `f64` keeps NaN and the infinities ([`super::number::Float`]).
/// `pub struct A in "group.quantity" answers AArgs { .. }` is a [`Measurement`], a struct without a channel is a part of one.
macro_rules! measurement {
    ($($(#[$meta:meta])* pub struct $name:ident $(in $channel:literal answers $args:ty)? { $($fields:tt)* })+) => { $(
        measurement! { @struct [$(#[$meta])* pub struct $name] [] $($fields)* }

        $(impl $crate::telemetry::Measurement for $name {
            type Args = $args;

            const CHANNEL: &'static str = $channel;

            fn from_payload(payload: &$crate::telemetry::Payload) -> Option<&Self> {
                if let $crate::telemetry::Payload::$name(m) = payload { Some(m) } else { None }
            }

            fn into_payload(self) -> $crate::telemetry::Payload {
                $crate::telemetry::Payload::$name(self)
            }
        })?
    )+ };
    (@struct [$($head:tt)*] [$($fields:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $($head)* { $($fields)* }
    };
    (@struct $head:tt [$($fields:tt)*] $(#[$meta:meta])* pub $field:ident: f64, $($rest:tt)*) => {
        measurement! { @struct $head [
            $($fields)* $(#[$meta])* #[serde(with = "crate::telemetry::number::Float")]
            #[schemars(with = "crate::telemetry::number::Number<f64>")] pub $field: f64,
        ] $($rest)* }
    };
    (@struct $head:tt [$($fields:tt)*] $(#[$meta:meta])* pub $field:ident: $ty:ty, $($rest:tt)*) => {
        measurement! { @struct $head [$($fields)* $(#[$meta])* pub $field: $ty,] $($rest)* }
    };
}
use measurement;
