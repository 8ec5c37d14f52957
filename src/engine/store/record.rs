//! The lines of the logs and `run.json`: how each is written and read. Nothing here opens a file.

use std::borrow::{Borrow, Cow};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap,
};

use super::Environment;
use crate::telemetry::{Channel, Event, Payload, RunInfo, Sample, StepStats, number::Number};

/// The highest valid step or question number, so that the next number can be represented too.
pub(super) const MAX_STEP: u64 = i64::MAX as u64;

/// The content of `run.json`, which describes a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of the format of the folder.
    pub format: u32,
    /// Version of the protocol by which another program has written it, [`PROTOCOL`] at most; 0 in runs of Orrery's own.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub protocol: u32,
    /// The questions that the program which writes the folder answers while it trains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// Local time with its offset: `2026-01-31T14:25:01+01:00`.
    #[serde(default)]
    pub started_at: String,
    /// The seed of the run.
    #[serde(default)]
    pub seed: u64,
    /// The machine and the program.
    #[serde(default)]
    pub environment: Environment,
    /// The description of the run.
    pub run: RunInfo,
    /// The starts of the parts with which it was resumed.
    #[serde(default)]
    pub resumed: Vec<Resumed>,
}

impl RunRecord {
    /// The record of a run that starts now, here.
    pub(super) fn new(info: &RunInfo) -> Self {
        Self {
            format: FORMAT,
            protocol: 0,
            asks: info.asks.clone(),
            started_at: local_timestamp(),
            seed: info.config.seed,
            environment: Environment::current(),
            run: stored(info),
            resumed: vec![],
        }
    }
}

/// The description of a run as `run.json` has it: without its folder, which can be moved, and the questions, which are
/// beside it.
pub(super) fn stored(info: &RunInfo) -> RunInfo {
    RunInfo { folder: None, asks: vec![], ..info.clone() }
}

/// The start of a resumed part of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// Local time with its offset.
    pub at: String,
    /// The step of the checkpoint.
    pub from_step: u64,
    #[serde(default)]
    pub environment: Environment,
}

/// Version of the folder's format. 2: every sample's payload is a typed measurement
/// ([`crate::telemetry::MEASUREMENTS`]); in 1 it was a bundle of named parts.
pub const FORMAT: u32 = 2;

/// The newest version of the protocol of other programs' run folders that is read.
pub const PROTOCOL: u32 = 1;

fn is_zero(protocol: &u32) -> bool {
    *protocol == 0
}

pub(super) fn local_timestamp() -> String {
    time_text(&jiff::Zoned::now())
}

/// A local time with its offset.
pub(super) fn time_text(time: &jiff::Zoned) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A line of metrics.jsonl on its way out: step, variant, wall_secs, then scalars by channel.
pub(super) struct MetricsRecordRef<'a, T> {
    pub variant: &'a str,
    pub stats: T,
}

/// The id of a variant; its number where it has none.
pub(super) fn id_of(ids: &[String], variant: usize) -> Cow<'_, str> {
    ids.get(variant).map_or_else(|| variant.to_string().into(), |id| id.as_str().into())
}

/// The column of a channel in metrics.jsonl. A channel with the name of one of Orrery's own columns gets the group `scalar`.
fn column(channel: &str) -> Cow<'_, str> {
    match channel {
        "step" | "variant" | "wall_secs" => format!("scalar/{channel}").into(),
        other => other.into(),
    }
}

impl<T: Borrow<StepStats>> Serialize for MetricsRecordRef<'_, T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let stats: &StepStats = self.stats.borrow();
        let mut map = s.serialize_map(None)?;
        map.serialize_entry("step", &stats.step)?;
        map.serialize_entry("variant", self.variant)?;
        map.serialize_entry("wall_secs", &Number(stats.wall_secs))?;
        for (channel, value) in &stats.scalars {
            map.serialize_entry(&column(channel.as_str()), &Number(*value))?;
        }
        map.end()
    }
}

/// A line of metrics.jsonl on its way in. Fields that are not numbers are skipped.
#[derive(Debug, PartialEq)]
pub(super) struct MetricsRecord {
    pub step: u64,
    pub variant: VariantRef,
    pub wall_secs: f64,
    pub scalars: Vec<(String, f64)>,
}

impl<'de> Deserialize<'de> for MetricsRecord {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(MetricsVisitor)
    }
}

struct MetricsVisitor;

impl<'de> Visitor<'de> for MetricsVisitor {
    type Value = MetricsRecord;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with step, variant and scalars")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MetricsRecord, A::Error> {
        let (mut step, mut variant, mut wall_secs, mut scalars) = (None, None, f64::NAN, Vec::with_capacity(12));
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "step" => step = Some(map.next_value()?),
                "variant" => variant = Some(map.next_value()?),
                "wall_secs" => wall_secs = map.next_value::<Number<f64>>()?.0,
                _ => {
                    if let NumberOrOther::Number(v) = map.next_value()? {
                        scalars.push((key, v));
                    }
                }
            }
        }
        Ok(MetricsRecord {
            step: step.ok_or_else(|| de::Error::missing_field("step"))?,
            variant: variant.unwrap_or_default(),
            wall_secs,
            scalars,
        })
    }
}

/// A number, or something that a later version may have added.
#[derive(Deserialize)]
#[serde(untagged)]
enum NumberOrOther {
    Number(#[serde(with = "crate::telemetry::number::Float")] f64),
    Other(de::IgnoredAny),
}

/// The variant of a line: an id in new files; an index is understood too. A line that names none belongs to the first.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum VariantRef {
    Index(usize),
    Id(String),
}

impl Default for VariantRef {
    fn default() -> Self {
        Self::Index(0)
    }
}

/// A line of samples.jsonl.
#[derive(Serialize)]
pub(super) struct SampleRecordRef<'a> {
    pub step: u64,
    pub variant: &'a str,
    pub channel: &'a Channel,
    pub about: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub tokens: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    pub payload: &'a Payload,
}

impl<'a> SampleRecordRef<'a> {
    pub fn new(sample: &'a Sample, variant: &'a str) -> Self {
        let Sample { step, channel, about, tokens, request, payload, .. } = sample;
        Self { step: *step, variant, channel, about, tokens, request: *request, seed: None, payload }
    }
}

/// A measurement of the variant with this id as a line of samples.jsonl, with the seed of its random draws: away from its
/// folder the line has no run.json that names it.
///
/// # Errors
/// If the measurement cannot be written as JSON.
pub fn sample_line(sample: &Sample, variant: &str, seed: Option<u64>) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(&SampleRecordRef { seed, ..SampleRecordRef::new(sample, variant) })?;
    line.push(b'\n');
    Ok(line)
}

/// Same as [`SampleRecordRef`] without the payload, which is read once the channel is known.
#[derive(Deserialize)]
pub(super) struct SampleRecord {
    pub step: u64,
    #[serde(default)]
    pub variant: VariantRef,
    pub channel: String,
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub tokens: Vec<String>,
    pub request: Option<u64>,
}

/// The step of a line of samples.jsonl that answers a question; `None` for any other line.
pub(super) fn answered_step(line: &[u8]) -> Option<u64> {
    let sample: SampleRecord = serde_json::from_slice(line).ok()?;
    sample.request.map(|_| sample.step)
}

/// A line of events.jsonl: the newest step and the time of the event, then the event.
#[derive(Serialize)]
pub(super) struct EventRecordRef<'a> {
    pub step: u64,
    pub at: &'a str,
    #[serde(flatten)]
    pub event: &'a Event,
}

/// Reads a line of events.jsonl; `None` for a kind of event from a later version.
pub(super) fn event_from_line(line: &[u8]) -> Result<Option<(u64, Event)>, serde_json::Error> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(line)?;
    let step = fields.remove("step").and_then(|s| s.as_u64()).unwrap_or(0);
    fields.remove("at");
    const KNOWN_EVENTS: [&str; 4] = ["state", "checkpoint", "changed", "notice"];
    fields.retain(|kind, _| KNOWN_EVENTS.contains(&kind.as_str()));
    if fields.is_empty() {
        return Ok(None);
    }
    let event = serde_json::from_value(serde_json::Value::Object(fields))?;
    let step = match &event {
        Event::Changed { step, .. } | Event::Checkpoint { step } => *step,
        _ => step,
    };
    Ok(Some((step, event)))
}
