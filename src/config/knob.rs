//! One knob of a lab's schema: key, label, range, unit, words. It does not draw itself.

use super::{ConfigError, Value};

/// What a knob accepts.
#[derive(Debug, Clone, PartialEq)]
pub enum Range {
    Int {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
        log: bool,
    },
    Choice(&'static [&'static str]),
    Switch,
    /// Free text: a sentence, or a path (empty for none).
    Text,
}

/// A setting's description: what a control panel, a config file and a command line need.
#[derive(Debug, Clone)]
pub struct Knob {
    /// `group.name`; the group is the control panel's section.
    pub key: &'static str,
    pub label: &'static str,
    /// The symbol used in the paper, if any.
    pub symbol: &'static str,
    pub unit: &'static str,
    /// Two sentences for the tooltip.
    pub tip: &'static str,
    pub range: Range,
    pub default: Value,
    /// Acts on the running model ([`crate::telemetry::Command::Set`]); others apply at the next reset.
    pub live: bool,
}

impl Knob {
    fn new(key: &'static str, label: &'static str, range: Range, default: Value) -> Self {
        Self { key, label, symbol: "", unit: "", tip: "", range, default, live: false }
    }

    pub fn int(key: &'static str, label: &'static str, default: i64, min: i64, max: i64) -> Self {
        Self::new(key, label, Range::Int { min, max }, Value::Int(default))
    }

    pub fn float(key: &'static str, label: &'static str, default: f64, min: f64, max: f64) -> Self {
        Self::new(key, label, Range::Float { min, max, log: false }, Value::Float(default))
    }

    pub fn switch(key: &'static str, label: &'static str, default: bool) -> Self {
        Self::new(key, label, Range::Switch, Value::Switch(default))
    }

    pub fn choice(key: &'static str, label: &'static str, default: &str, of: &'static [&'static str]) -> Self {
        Self::new(key, label, Range::Choice(of), Value::Text(default.to_owned()))
    }

    pub fn text(key: &'static str, label: &'static str, default: &str) -> Self {
        Self::new(key, label, Range::Text, Value::Text(default.to_owned()))
    }

    /// A logarithmic slider (positive floats).
    pub fn log(mut self) -> Self {
        if let Range::Float { log, .. } = &mut self.range {
            *log = true;
        }
        self
    }

    pub fn live(mut self) -> Self {
        self.live = true;
        self
    }

    /// Begins at another value.
    pub fn default_to(mut self, value: Value) -> Self {
        self.default = value;
        self
    }

    pub fn symbol(mut self, symbol: &'static str) -> Self {
        self.symbol = symbol;
        self
    }

    pub fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    pub fn tip(mut self, tip: &'static str) -> Self {
        self.tip = tip;
        self
    }

    /// The section it stands in: the key up to the first dot.
    pub fn group(&self) -> &'static str {
        self.key.split_once('.').map_or("", |(g, _)| g)
    }

    /// What it accepts, in words.
    pub fn accepts(&self) -> String {
        match &self.range {
            Range::Int { min, max } => format!("a whole number from {min} to {max}"),
            Range::Float { min, max, .. } => format!("a number from {min} to {max}"),
            Range::Choice(of) => format!("one of {}", of.join(", ")),
            Range::Switch => "true or false".to_owned(),
            Range::Text => "text".to_owned(),
        }
    }

    pub(super) fn check(&self, value: Value) -> Result<Value, ConfigError> {
        let wrong = |got: &Value| ConfigError::WrongType {
            key: self.key.to_owned(),
            got: format!("`{got}`"),
            want: self.accepts(),
        };
        let outside = |got: &Value| ConfigError::OutOfRange {
            key: self.key.to_owned(),
            got: format!("`{got}`"),
            want: self.accepts(),
        };
        match (&self.range, &value) {
            (Range::Int { min, max }, Value::Int(i)) if (min..=max).contains(&i) => Ok(value),
            (Range::Int { min, max }, Value::Float(f))
                if f.fract() == 0.0 && (*min as f64..=*max as f64).contains(f) =>
            {
                Ok(Value::Int(*f as i64))
            }
            (Range::Int { .. }, Value::Int(_) | Value::Float(_)) => Err(outside(&value)),
            (Range::Float { min, max, .. }, Value::Int(_) | Value::Float(_)) => match value.as_f64() {
                Some(f) if (*min..=*max).contains(&f) => Ok(Value::Float(f)),
                _ => Err(outside(&value)),
            },
            (Range::Choice(of), Value::Text(s)) if of.contains(&s.as_str()) => Ok(value),
            (Range::Choice(_), Value::Text(_)) => Err(outside(&value)),
            (Range::Switch, Value::Switch(_)) => Ok(value),
            (Range::Text, Value::Text(_)) => Ok(value),
            (Range::Text, other) => Ok(Value::Text(other.to_string())),
            (_, other) => Err(wrong(other)),
        }
    }
}

/// The known key closest to `key` by edit distance, if close enough to be a slip of the hand.
pub(super) fn nearest<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let tail = |k: &str| k.rsplit('.').next().unwrap_or(k).to_owned();
    known
        .map(|k| {
            let d =
                edit_distance(key, k).min(if key.contains('.') { usize::MAX } else { edit_distance(key, &tail(k)) });
            (d, k)
        })
        .min()
        .filter(|(d, _)| *d <= 3)
        .map(|(_, k)| k.to_owned())
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
