//! What makes a struct a measurement: its channel, the probe that makes it, and its JSON.
//!
//! A probe returns such a struct, a view asks for it by its type ([`Measurement::of`]), and a run
//! folder holds its JSON. No part of it is named by a string on any side. The structs themselves are in
//! [`super::measurements`].

use std::fmt::Debug;

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Serialize, de::DeserializeOwned};

use super::Payload;

/// A typed measurement. One struct a channel; the list is [`super::measurements::MEASUREMENTS`].
pub trait Measurement:
    Clone + Debug + PartialEq + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static
{
    /// The channel's name, `group.quantity`: what `channel` says on a line of `samples.jsonl`.
    const CHANNEL: &'static str;
    /// Id of the probe that makes it.
    const PROBE: &'static str;

    /// The measurement in a payload, if it is this one.
    fn of(payload: &Payload) -> Option<&Self>;

    fn into_payload(self) -> Payload;
}

/// An entry of the one list of measurements, for whoever has a channel's name and not its type.
pub struct MeasurementEntry {
    pub channel: &'static str,
    pub probe: &'static str,
    schema: fn() -> Schema,
    decode: fn(serde_json::Value) -> serde_json::Result<Payload>,
}

impl MeasurementEntry {
    pub(super) const fn of<M: Measurement>() -> Self {
        Self {
            channel: M::CHANNEL,
            probe: M::PROBE,
            schema: || schema_for!(M),
            decode: |json| serde_json::from_value::<M>(json).map(M::into_payload),
        }
    }

    /// The JSON schema of its payload (draft 2020-12).
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// A payload of this channel from JSON.
    ///
    /// # Errors
    /// If the JSON does not have the measurement's fields; the message names the field.
    pub fn decode(&self, json: serde_json::Value) -> serde_json::Result<Payload> {
        (self.decode)(json)
    }
}
