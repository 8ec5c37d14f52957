//! Settings as Rust structs: one declaration gives the typed fields, the knobs of the control panel, ranges, units,
//! tooltips and the way from and to a [`Config`].
//!
//! A group is a struct of settings that share the part of the key before the dot; a lab's settings are
//! a struct of groups:
//!
//! ```ignore
//! settings! {
//!     /// The data and the speed of learning.
//!     pub struct TrainSettings in "train" {
//!         /// Peak step size of AdamW. Acts on the running model at the next update.
//!         lr: f64 = 1e-3 => "Learning rate", range(1e-6..=1.0), log, live, symbol("η");
//!     }
//! }
//! settings! {
//!     pub struct MyLabSettings {
//!         corpus: CorpusSettings,
//!         train: TrainSettings { lr: 3e-3 },
//!     }
//! }
//! ```
//!
//! The doc comment of a field is its tooltip; behind its default come its label and methods of [`Field`]. In a lab's struct
//! the values in braces replace a group's own defaults, `#[fixed(a, b)]` before a group holds fields at the lab's value and
//! offers no knob for them, and `#[only(field: A, B)]` offers fewer choices.

use std::{collections::BTreeMap, marker::PhantomData, ops::RangeInclusive};

use super::{Applies, Choice, Config, ConfigError, Knob, Number, Range, Setting, Value, nearest};

/// A setting's key with the type of its value. `settings!` gives a struct one for each field, under the
/// field's name: `TrainSettings::lr` is the key `train.lr` of an `f64`.
pub struct SettingKey<T> {
    /// The key, `group.name`.
    pub name: &'static str,
    kind: PhantomData<fn() -> T>,
}

impl<T> SettingKey<T> {
    /// A key of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name, kind: PhantomData }
    }
}

/// A knob that is being described; the methods are the words that follow a setting's label.
pub struct Field<T> {
    knob: Knob,
    kind: PhantomData<fn() -> T>,
}

impl<T: Setting> Field<T> {
    /// The setting of a key with its label, tooltip and default.
    pub fn new(key: &SettingKey<T>, label: &'static str, tip: &'static str, default: &T) -> Self {
        let knob = Knob::new(key.name, label, T::range(), default.to_value());
        Self { knob: Knob { tip: tip.trim(), ..knob }, kind: PhantomData }
    }

    /// The symbol used in the paper.
    pub fn symbol(mut self, symbol: &'static str) -> Self {
        self.knob.symbol = symbol;
        self
    }

    /// Sets the unit.
    pub fn unit(mut self, unit: &'static str) -> Self {
        self.knob.unit = unit;
        self
    }

    /// See [`Applies::Live`].
    pub fn live(mut self) -> Self {
        self.knob.applies = Applies::Live;
        self
    }

    /// See [`Applies::InViews`].
    pub fn in_views(mut self) -> Self {
        self.knob.applies = Applies::InViews;
        self
    }

    /// The setting has no effect if the number under this key is less; then no control is shown for it.
    pub fn needs(mut self, key: &SettingKey<usize>, min: i64) -> Self {
        self.knob.needs = Some((key.name, min));
        self
    }

    /// The setting has no effect if a file is named under this key; then no control is shown for it. There may be several.
    pub fn without<F>(mut self, key: &SettingKey<F>) -> Self {
        self.knob.without.push(key.name);
        self
    }

    /// Returns the finished knob.
    pub fn knob(self) -> Knob {
        self.knob
    }
}

impl<T: Number> Field<T> {
    /// Sets the range of accepted values.
    pub fn range(mut self, range: RangeInclusive<T>) -> Self {
        let (min, max) = range.into_inner();
        self.knob.range = T::between(min, max);
        self
    }
}

impl Field<f64> {
    /// A logarithmic slider.
    pub fn log(mut self) -> Self {
        if let Range::Float { log, .. } = &mut self.knob.range {
            *log = true;
        }
        self
    }
}

impl<T: Choice> Field<T> {
    /// Restricts the choices to these.
    pub fn only<const N: usize>(mut self, choices: [T; N]) -> Self {
        self.knob.range = Range::Choice(choices.map(T::id).to_vec());
        self
    }
}

/// Values by key that were checked against their knobs.
pub struct CheckedValues(BTreeMap<String, Value>);

impl CheckedValues {
    /// Every value of `config` in its knob's type. Errors: a key without a knob, a value of another type,
    /// a value out of range.
    fn new(config: &Config, knobs: &[Knob]) -> Result<Self, ConfigError> {
        let checked =
            |(key, value): (&str, &Value)| Ok((key.to_owned(), config.knob(knobs, key)?.check(value.clone())?));
        config.iter().map(checked).collect::<Result<_, _>>().map(Self)
    }

    /// Writes the value at `key` to `field`; a key that is absent leaves it.
    pub fn write<T: Setting>(&self, key: &SettingKey<T>, field: &mut T) -> Result<(), ConfigError> {
        if let Some(value) = self.0.get(key.name) {
            *field = typed(key.name, value)?;
        }
        Ok(())
    }
}

/// Converts `value` to the type of its key.
pub(super) fn typed<T: Setting>(key: &str, value: &Value) -> Result<T, ConfigError> {
    T::from_value(value).ok_or_else(|| ConfigError::WrongType {
        key: key.to_owned(),
        got: format!("`{value}`"),
        want: Knob::new("", "", T::range(), value.clone()).accepts(),
    })
}

/// A group of settings: those of one section, or all of a lab.
pub trait Group {
    /// The knobs in order; their defaults are the current values.
    fn knobs(&self) -> Vec<Knob>;
    /// Sets the fields from the values of a config.
    fn assign(&mut self, values: &CheckedValues) -> Result<(), ConfigError>;
}

/// All settings of a lab.
pub trait Settings: Group + Default {
    /// The schema: a knob for each setting.
    fn schema() -> Vec<Knob> {
        Self::default().knobs()
    }

    /// The settings of a config. Keys that it lacks (a folder of an earlier version) have their defaults.
    /// Errors: a key that is not a setting, a value of another type or out of range; each names the key,
    /// what was got and what is wanted.
    fn read(config: &Config) -> Result<Self, ConfigError> {
        let mut settings = Self::default();
        let values = CheckedValues::new(config, &settings.knobs())?;
        settings.assign(&values)?;
        Ok(settings)
    }
}

impl<T: Group + Default> Settings for T {}

/// Removes the knob with this key.
pub fn remove_knob<T>(knobs: &mut Vec<Knob>, key: &SettingKey<T>) {
    knobs.retain(|k| k.key != key.name);
}

/// Restricts the knob with this key to these choices.
pub fn restrict_choices<T: Choice>(knobs: &mut [Knob], key: &SettingKey<T>, choices: &[T]) {
    for knob in knobs.iter_mut().filter(|k| k.key == key.name) {
        knob.range = Range::Choice(choices.iter().map(|c| c.id()).collect());
    }
}

impl Config {
    /// Some of the settings, where the rest does not matter: those of one group. Keys that the config lacks
    /// have the group's defaults. Errors: a value of another type or out of range.
    pub fn group<G: Group + Default>(&self) -> Result<G, ConfigError> {
        let mut group = G::default();
        let knobs = group.knobs();
        let known = self.iter().filter_map(|(key, value)| Some((knobs.iter().find(|k| k.key == key)?, value)));
        let values = known.map(|(knob, value)| Ok((knob.key.to_owned(), knob.check(value.clone())?)));
        group.assign(&CheckedValues(values.collect::<Result<_, ConfigError>>()?))?;
        Ok(group)
    }

    /// Returns one setting by its typed key. Errors: the lab has no such setting, or it has another type.
    pub fn value<T: Setting>(&self, key: &SettingKey<T>) -> Result<T, ConfigError> {
        let value = self.get(key.name).ok_or_else(|| ConfigError::UnknownKey {
            lab: self.lab.clone(),
            key: key.name.to_owned(),
            nearest: nearest(key.name, self.iter().map(|(k, _)| k)),
        })?;
        typed(key.name, value)
    }
}

/// See the top of `config/settings.rs`.
#[macro_export]
macro_rules! settings {
    (@default $ty:ident) => { <$ty as Default>::default() };
    (@default $ty:ident = $default:expr) => { $default };
    (@default $ty:ident { $($own:ident: $value:expr),+ }) => { $ty { $($own: $value,)+ ..<$ty as Default>::default() } };

    (@one $(#[$meta:meta])* $vis:vis struct $name:ident in $group:literal { $(
        $(#[doc = $tip:literal])+
        $field:ident: $ty:ty = $default:expr => $label:literal $(, $attribute:ident $(($($argument:expr),+))?)*;
    )+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name { $($(#[doc = $tip])+ pub $field: $ty),+ }

        #[allow(non_upper_case_globals, reason = "a key goes by the name of its field")]
        impl $name { $(
            #[doc = concat!("The key `", $group, ".", stringify!($field), "`.")]
            pub const $field: &'static $crate::config::SettingKey<$ty> =
                &$crate::config::SettingKey::new(concat!($group, ".", stringify!($field)));
        )+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),+ }
            }
        }

        impl $crate::config::Group for $name {
            fn knobs(&self) -> Vec<$crate::config::Knob> {
                vec![$(
                    $crate::config::Field::new(Self::$field, $label, concat!($($tip),+), &self.$field)
                        $(.$attribute($($($argument),+)?))*
                        .knob()
                ),+]
            }

            fn assign(&mut self, values: &$crate::config::CheckedValues) -> Result<(), $crate::config::ConfigError> {
                $(values.write(Self::$field, &mut self.$field)?;)+
                Ok(())
            }
        }
    };

    (@one $(#[$meta:meta])* $vis:vis struct $name:ident { $(
        $(#[fixed($($fixed:ident),+)])?
        $(#[only($narrowed:ident: $($choice:expr),+)])?
        $field:ident: $ty:ident $({ $($own:ident: $value:expr),+ $(,)? })? $(= $default:expr)?
    ),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name { $(pub $field: $ty),+ }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $crate::settings!(@default $ty $({ $($own: $value),+ })? $(= $default)?)),+ }
            }
        }

        impl $crate::config::Group for $name {
            fn knobs(&self) -> Vec<$crate::config::Knob> {
                let mut all = vec![];
                $({
                    #[allow(unused_mut, reason = "most groups are taken as they are")]
                    let mut group = $crate::config::Group::knobs(&self.$field);
                    $($($crate::config::remove_knob(&mut group, <$ty>::$fixed);)+)?
                    $($crate::config::restrict_choices(&mut group, <$ty>::$narrowed, &[$($choice),+]);)?
                    all.extend(group);
                })+
                all
            }

            fn assign(&mut self, values: &$crate::config::CheckedValues) -> Result<(), $crate::config::ConfigError> {
                $($crate::config::Group::assign(&mut self.$field, values)?;)+
                Ok(())
            }
        }
    };

    ($($(#[$meta:meta])* $vis:vis struct $name:ident $(in $group:literal)? { $($fields:tt)+ })+) => {
        $($crate::settings! { @one $(#[$meta])* $vis struct $name $(in $group)? { $($fields)+ } })+
    };
}
pub use settings;
