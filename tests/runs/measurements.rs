//! Tests the list of measurements: names are unique, probes exist, and the JSON schemas are complete enough for
//! programs in other languages.

use std::collections::HashSet;

use orrery::{
    probe,
    telemetry::{MEASUREMENTS, Payload},
};
use serde_json::Value;

#[test]
fn every_channel_is_named_once_and_has_a_probe() {
    let mut seen = HashSet::new();
    for m in MEASUREMENTS {
        assert!(seen.insert(m.channel), "{} stands twice in the list", m.channel);
        assert!(m.channel.contains('.') && m.channel.is_ascii(), "{} is not a `group.quantity`", m.channel);
        assert!(probe::find(m.probe).is_some(), "{}: there is no probe `{}`", m.channel, m.probe);
    }
}

/// Collects every node of a JSON schema with its path.
fn nodes<'a>(at: &str, value: &'a Value, into: &mut Vec<(String, &'a Value)>) {
    into.push((at.to_owned(), value));
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, v)| nodes(&format!("{at}/{name}"), v, into)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| nodes(&format!("{at}/{i}"), v, into)),
        _ => {}
    }
}

#[test]
fn every_field_is_documented() {
    let mut undocumented = vec![];
    for m in MEASUREMENTS {
        let schema = m.schema().to_value();
        let mut all = vec![];
        nodes(m.channel, &schema, &mut all);
        for (path, node) in all {
            let Some(fields) = node.get("properties").and_then(Value::as_object) else { continue };
            for (name, field) in fields {
                let is_ours = !path.contains("/$defs/Array") && !path.contains("/$defs/Number");
                // a field that refers to a documented type needs no second description
                if is_ours && field.get("description").is_none() && field.get("$ref").is_none() {
                    undocumented.push(format!("{path}/{name}"));
                }
            }
        }
    }
    assert!(undocumented.is_empty(), "fields without a description: {undocumented:#?}");
}

#[test]
fn floats_may_be_nan_in_every_measurement() {
    let mut plain = vec![];
    for m in MEASUREMENTS {
        let schema = m.schema().to_value();
        let mut all = vec![];
        nodes(m.channel, &schema, &mut all);
        for (path, node) in all {
            // a plain `f64` is written as null for NaN and then cannot be read; `Float` and `Numbers` avoid this
            if !path.contains("/$defs/Number") && node.get("type").is_some_and(|t| t == "number") {
                plain.push(path);
            }
        }
    }
    assert!(plain.is_empty(), "fields that lose NaN: {plain:#?}");
}

#[test]
fn faulty_json_is_refused_and_the_field_named() {
    for m in MEASUREMENTS {
        let error = m.decode(serde_json::json!({ "nonsense": 1 })).unwrap_err().to_string();
        assert!(error.contains("missing field"), "{}: {error}", m.channel);
    }
}

#[test]
fn a_channel_of_somebody_else_is_carried_as_it_is() {
    let json = serde_json::json!({ "loudness": [1, 2.5, "NaN"] });
    let payload = Payload::decode("their.loudness", json.clone()).unwrap();
    assert_eq!(payload, Payload::Unknown(json.clone()));
    assert_eq!(serde_json::to_value(&payload).unwrap(), json);
}
