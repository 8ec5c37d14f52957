//! The Rust types that a setting can have: numbers, switches, text, enums, paths. Each knows its [`Range`] and how a
//! [`Value`] holds it.

use std::path::PathBuf;

use super::{FileKind, Range, Value};

/// A type that a setting can have.
pub trait Setting: Sized {
    /// The range of a field whose declaration gives none.
    fn range() -> Range;
    /// Converts to the value that a config stores.
    fn to_value(&self) -> Value;
    /// Converts from a plain value; `None` if it has another type or is outside of the range of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

/// An enum whose variants are the choices of a setting.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every choice, in the order in which they are offered.
    fn all() -> Vec<Self>;
    /// The value as a file holds it.
    fn id(self) -> &'static str;
}

impl<T: Choice> Setting for T {
    fn range() -> Range {
        Range::Choice(T::all().into_iter().map(T::id).collect())
    }

    fn to_value(&self) -> Value {
        Value::Text(self.id().to_owned())
    }

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Text(id) = value else { return None };
        T::all().into_iter().find(|c| c.id() == id)
    }
}

/// A type with a least and a greatest value.
pub trait Number: Setting {
    /// The range from `min` to `max`.
    fn between(min: Self, max: Self) -> Range;
}

macro_rules! whole_numbers {
    ($($ty:ty),+) => { $(
        impl Setting for $ty {
            fn range() -> Range {
                Self::between(<$ty>::MIN, <$ty>::MAX)
            }

            fn to_value(&self) -> Value {
                Value::Int(i64::try_from(*self).unwrap_or(i64::MAX))
            }

            fn from_value(value: &Value) -> Option<Self> {
                let Value::Int(i) = value else { return None };
                Self::try_from(*i).ok()
            }
        }

        impl Number for $ty {
            fn between(min: Self, max: Self) -> Range {
                let bound = |n: Self| i64::try_from(n).unwrap_or(i64::MAX);
                Range::Int { min: bound(min), max: bound(max) }
            }
        }
    )+ };
}
whole_numbers!(u32, u64, usize, i64);

impl Setting for f64 {
    fn range() -> Range {
        Self::between(f64::MIN, f64::MAX)
    }

    fn to_value(&self) -> Value {
        Value::Float(*self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        value.as_f64()
    }
}

impl Number for f64 {
    fn between(min: Self, max: Self) -> Range {
        Range::Float { min, max, log: false }
    }
}

impl Setting for bool {
    fn range() -> Range {
        Range::Switch
    }

    fn to_value(&self) -> Value {
        Value::Switch(*self)
    }

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Switch(on) = value else { return None };
        Some(*on)
    }
}

impl Setting for String {
    fn range() -> Range {
        Range::Text
    }

    fn to_value(&self) -> Value {
        Value::Text(self.clone())
    }

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Text(text) = value else { return None };
        Some(text.clone())
    }
}

macro_rules! files {
    ($($(#[$meta:meta])* $name:ident: $kind:ident),+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name(String);

        impl $name {
            /// The path without white space around it; `None` if the setting is empty.
            pub fn path(&self) -> Option<PathBuf> {
                Some(self.0.trim()).filter(|p| !p.is_empty()).map(PathBuf::from)
            }
        }

        impl Setting for $name {
            fn range() -> Range {
                Range::File(FileKind::$kind)
            }

            fn to_value(&self) -> Value {
                Value::Text(self.0.clone())
            }

            fn from_value(value: &Value) -> Option<Self> {
                String::from_value(value).map(Self)
            }
        }
    )+ };
}
files!(
    /// The path of a text to learn from, or none.
    TextFile: Text,
    /// The path of a `tokenizer.json`, or none.
    TokenizerFile: Tokenizer,
    /// The path of trained weights, or none.
    CheckpointFile: Checkpoint,
    /// The path of a folder of texts to learn from, or none.
    TextFolder: TextFolder,
    /// The path of a matrix of numbers, or none.
    MatrixFile: Matrix,
    /// The path of a list of characters or of a text to take them from, or none.
    VocabularyFile: Vocabulary,
    /// The path of labelled sentences, or none.
    SentenceFile: Sentences,
    /// The path of a treebank, or none.
    TreebankFile: Treebank
);

/// Makes enums, or one that exists, the choices of a setting, each with its id in files:
/// `choices! { pub enum Sign { Plus = "plus", .. } }`, `choices! { for Upsample { Causal = "causal", .. } }`.
/// A variant that is left out does not compile.
#[macro_export]
macro_rules! choices {
    (for $name:ident { $($variant:ident = $id:literal),+ $(,)? }) => {
        impl $name {
            /// Every choice, in the order in which they are offered.
            pub const ALL: [Self; [$($id),+].len()] = [$(Self::$variant),+];

            /// The name in settings and files.
            pub fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id),+
                }
            }

            /// The choice of this name, if there is one.
            pub fn from_id(id: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|choice| choice.id() == id)
            }
        }

        impl $crate::config::Choice for $name {
            fn all() -> Vec<Self> {
                Self::ALL.to_vec()
            }

            fn id(self) -> &'static str {
                self.id()
            }
        }
    };
    ($($(#[$meta:meta])* $vis:vis enum $name:ident { $(
        $(#[$about:meta])* $variant:ident = $id:literal
    ),+ $(,)? })+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $name { $($(#[$about])* $variant),+ }

        $crate::choices! { for $name { $($variant = $id),+ } }
    )+ };
}
pub use choices;

/// Declares a struct of plain data, each field with its default: `defaults! { pub struct Sizes { /// Channels.
/// pub d_model: usize = 64 } }`. A field that is absent in a file has its default.
#[macro_export]
macro_rules! defaults {
    ($(#[$meta:meta])* pub struct $name:ident { $(
        $(#[$field_meta:meta])* pub $field:ident: $ty:ty = $default:expr
    ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name { $($(#[$field_meta])* pub $field: $ty),+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }
    };
}
pub use defaults;
