//! Attributes of nodes and edges in graph files: named values of four types, which come back in the type that they were
//! written in.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
};

use super::{GraphFileError, MAX_NAME, MAX_VALUES, short};

/// A value that a file gives a node, an edge or the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// A whole number.
    Integer(i64),
    /// Finite.
    Float(f64),
    /// A truth value.
    Boolean(bool),
    /// A text.
    Text(String),
    /// A list or an object of a JSON file, as compact JSON.
    Json(String),
}

/// The type of a value, as XML formats name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AttributeType {
    /// Whole numbers.
    Integer,
    /// Floating-point numbers.
    Float,
    /// Truth values.
    Boolean,
    /// Texts.
    Text,
}

/// A value and its name.
pub type NamedValue = (String, AttributeValue);

impl AttributeValue {
    /// The value as a number; true is 1.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            Self::Boolean(v) => Some(f64::from(u8::from(*v))),
            Self::Text(_) | Self::Json(_) => None,
        }
    }

    /// Returns true for a whole or a floating-point number.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Float(_))
    }

    /// Returns the type of the value.
    fn attribute_type(&self) -> AttributeType {
        match self {
            Self::Integer(_) => AttributeType::Integer,
            Self::Float(_) => AttributeType::Float,
            Self::Boolean(_) => AttributeType::Boolean,
            Self::Text(_) | Self::Json(_) => AttributeType::Text,
        }
    }

    /// The most likely value of a text without a type: an integer, a finite number, else the text.
    pub fn infer(text: &str) -> Self {
        let trimmed = text.trim();
        if let Ok(v) = trimmed.parse::<i64>() {
            return Self::Integer(v);
        }
        let is_numeric = trimmed.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
        match trimmed.parse::<f64>() {
            Ok(v) if is_numeric && v.is_finite() => Self::Float(v),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v}"),
            Self::Boolean(v) => write!(f, "{v}"),
            Self::Text(v) | Self::Json(v) => f.write_str(v),
        }
    }
}

impl AttributeType {
    /// The type that a name in GEXF, GraphML or XML Schema stands for; `None` for a name that is none of the four.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "integer" | "int" | "long" | "short" | "byte" | "biginteger" => Self::Integer,
            "double" | "float" | "real" | "bigdecimal" => Self::Float,
            "boolean" | "bool" => Self::Boolean,
            "string" | "anyuri" | "char" | "character" => Self::Text,
            _ => return None,
        })
    }

    /// The name that both GEXF and GraphML use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "long",
            Self::Float => "double",
            Self::Boolean => "boolean",
            Self::Text => "string",
        }
    }

    /// A text as a value of this type; `Ok(None)` for a number that is not finite, which nothing here can show.
    ///
    /// # Errors
    /// The expected form of the text.
    pub fn read(self, text: &str) -> Result<Option<AttributeValue>, &'static str> {
        let trimmed = text.trim();
        match self {
            Self::Text => Ok(Some(AttributeValue::Text(text.to_owned()))),
            Self::Boolean => match trimmed.to_lowercase().as_str() {
                "true" | "1" => Ok(Some(AttributeValue::Boolean(true))),
                "false" | "0" => Ok(Some(AttributeValue::Boolean(false))),
                _ => Err("true or false"),
            },
            Self::Integer | Self::Float => match (self, trimmed.parse::<i64>(), trimmed.parse::<f64>()) {
                (Self::Integer, Ok(v), _) => Ok(Some(AttributeValue::Integer(v))),
                // an integer may have more digits than there is room for
                (_, _, Ok(v)) => Ok(v.is_finite().then_some(AttributeValue::Float(v))),
                _ => Err("a number"),
            },
        }
    }
}

/// The value under a name.
pub fn value<'a>(values: &'a [NamedValue], name: &str) -> Option<&'a AttributeValue> {
    values.iter().find(|(n, _)| n == name).map(|(_, v)| v)
}

/// Removes the value under a name.
pub fn take(values: &mut Vec<NamedValue>, name: &str) -> Option<AttributeValue> {
    let at = values.iter().position(|(n, _)| n == name)?;
    Some(values.remove(at).1)
}

/// Adds a named value to those of one item.
pub fn add_value(
    values: &mut Vec<NamedValue>,
    name: &str,
    value: AttributeValue,
    line: usize,
) -> Result<(), GraphFileError> {
    let message = || format!("one item has more than {MAX_VALUES} values; leave some out");
    ensure!(values.len() < MAX_VALUES, GraphFileError::new(line, message()));
    values.push((name.to_owned(), value));
    Ok(())
}

/// Names of values with their types, in the order of their first appearance. A name whose values have two types occurs
/// twice, so that each value is written with its own type.
pub struct ValueColumns<'a> {
    pub all: Vec<(&'a str, AttributeType)>,
    column_indices: HashMap<(&'a str, AttributeType), usize>,
}

impl<'a> ValueColumns<'a> {
    pub fn new(values: impl Iterator<Item = &'a NamedValue>) -> Self {
        let mut columns = Self { all: vec![], column_indices: HashMap::new() };
        for (name, value) in values {
            let column = (name.as_str(), value.attribute_type());
            if let Entry::Vacant(place) = columns.column_indices.entry(column) {
                place.insert(columns.all.len());
                columns.all.push(column);
            }
        }
        columns
    }

    /// The index of a value's column.
    pub fn index(&self, (name, value): &NamedValue) -> usize {
        self.column_indices.get(&(name.as_str(), value.attribute_type())).copied().unwrap_or_default()
    }
}

/// The names that a file gives its values, with their types.
#[derive(Default)]
pub struct ValueNames(HashMap<String, (String, Option<AttributeType>)>);

impl ValueNames {
    /// `of_type`: as [`AttributeType::named`] has it; values of other types are kept as they are written.
    pub fn add(&mut self, id: &str, name: &str, of_type: Option<&str>, line: usize) -> Result<(), GraphFileError> {
        let (wrong, length) = (|message| GraphFileError::new(line, message), name.len().max(id.len()));
        let long = || format!("`{}` is too long a name ({length} bytes); shorten it", short(name));
        ensure!(length <= MAX_NAME, wrong(long()));
        let fits = self.0.len() < MAX_VALUES || self.0.contains_key(id);
        ensure!(fits, wrong(format!("more than {MAX_VALUES} kinds of values; leave some out")));
        let of_type = of_type.map(|t| AttributeType::named(t).unwrap_or(AttributeType::Text));
        self.0.insert(id.to_owned(), (name.to_owned(), of_type));
        Ok(())
    }

    pub fn get(&self, id: &str) -> Option<(&str, Option<AttributeType>)> {
        self.0.get(id).map(|(name, of_type)| (name.as_str(), *of_type))
    }

    /// Parses a text as the value that `id` refers to; a value whose name the file does not declare is named by its id.
    pub fn read(&self, id: &str, text: &str, line: usize) -> Result<Option<NamedValue>, GraphFileError> {
        let (name, of_type) = self.get(id).unwrap_or((id, None));
        let read = match of_type {
            Some(of_type) => of_type.read(text).map_err(|wanted| {
                GraphFileError::new(line, format!("the value `{}` of `{name}` should be {wanted}", short(text)))
            })?,
            None => Some(AttributeValue::infer(text)),
        };
        Ok(read.map(|value| (name.to_owned(), value)))
    }
}
