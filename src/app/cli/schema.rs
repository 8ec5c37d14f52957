//! `orrery schema`: the JSON schemas of what a run folder holds, for programs in other languages.

use serde_json::Value;

use crate::{
    cli::prelude::*,
    store::FORMAT,
    telemetry::{MEASUREMENTS, MeasurementEntry},
};

#[derive(Args)]
pub struct SchemaArgs {
    /// A channel, e.g. `attention.maps`; without it, the schema of a line of samples.jsonl with every channel
    channel: Option<String>,
    /// Only the names of the channels, one a line
    #[arg(long, conflicts_with = "channel")]
    channels: bool,
}

pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    if args.channels {
        return MEASUREMENTS.iter().try_for_each(|m| print_line!("{}", m.channel));
    }
    let schema = match &args.channel {
        Some(channel) => find(channel)?.schema().to_value(),
        None => line_schema(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)?;
    print_line!("{text}")
}

fn find(channel: &str) -> Result<&'static MeasurementEntry, Failure> {
    MEASUREMENTS.iter().find(|m| m.channel == channel).ok_or_else(|| {
        let near = nearest(channel, MEASUREMENTS.iter().map(|m| m.channel));
        let hint =
            near.map_or("`orrery schema --channels` lists them".into(), |near| format!("did you mean `{near}`?"));
        usage!("there is no channel `{channel}`; {hint}")
    })
}

/// The schema of a line of `samples.jsonl`: the common fields, and for each channel the schema of its payload.
fn line_schema() -> Value {
    let payload = |m: &MeasurementEntry| {
        json!({
            "if": { "properties": { "channel": { "const": m.channel } } },
            "then": { "properties": { "payload": m.schema().to_value() } },
        })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of samples.jsonl",
        "description": format!("Run folder format {FORMAT} (`format` in run.json). A channel that is not listed may hold any payload."),
        "type": "object",
        "properties": {
            "step": { "type": "integer", "minimum": 0, "description": "Finished updates of the model that was measured." },
            "variant": { "type": ["string", "integer"], "description": "Id of the variant in run.json, or its place there, from 0." },
            "channel": { "type": "string" },
            "about": { "type": "string", "description": "What it was measured on, in words." },
            "tokens": { "type": "array", "items": { "type": "string" }, "description": "The token axis, if it has one." },
            "request": { "type": ["integer", "null"], "description": "The question's number if it was asked for; absent for scheduled measurements." },
            "payload": true,
        },
        "required": ["step", "variant", "channel", "payload"],
        "allOf": MEASUREMENTS.iter().map(payload).collect::<Vec<_>>(),
    })
}
