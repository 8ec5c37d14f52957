//! One setting's value.

use serde::{Deserialize, Serialize};

/// A switch, whole number, float or text, as it is in a config file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a value is a number, a text in quotes, true or false")]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
}

impl Value {
    /// Parses text that the user typed as a switch or number if possible; with `as_text` it stays text.
    pub fn parse(text: &str, as_text: bool) -> Self {
        let t = text.trim();
        if as_text {
            return Value::Text(t.to_owned());
        }
        match t {
            "true" | "on" | "yes" => Value::Switch(true),
            "false" | "off" | "no" => Value::Switch(false),
            _ => t
                .parse::<i64>()
                .map(Value::Int)
                .or_else(|_| t.parse::<f64>().map(Value::Float))
                .unwrap_or_else(|_| Value::Text(t.to_owned())),
        }
    }

    /// The value as a number; `None` for a text or a switch.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int(i) => Some(*i as f64),
            Value::Float(f) => Some(*f),
            _ => None,
        }
    }

    pub(super) fn to_toml(&self) -> toml::Value {
        match self {
            Value::Switch(b) => (*b).into(),
            Value::Int(i) => (*i).into(),
            Value::Float(f) => (*f).into(),
            Value::Text(s) => s.clone().into(),
        }
    }

    /// A value of a TOML file; one of another kind as its text.
    pub fn from_toml(value: toml::Value) -> Self {
        match value {
            toml::Value::Boolean(b) => Value::Switch(b),
            toml::Value::Integer(i) => Value::Int(i),
            toml::Value::Float(f) => Value::Float(f),
            toml::Value::String(s) => Value::Text(s),
            other => Value::Text(other.to_string()),
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Switch(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Text(s) => write!(f, "{s}"),
        }
    }
}
