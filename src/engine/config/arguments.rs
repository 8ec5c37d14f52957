//! The arguments of a question as a struct: `arguments!` derives from it the knobs that the command line lists and the
//! plain values by name in which a question travels.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{ConfigError, Knob, Number, Range, Setting, Value, nearest};

/// Arguments of one probe. Where a name is absent its default holds; an `Option` that is `None` leaves the choice to the
/// probe and is not sent.
pub trait Arguments: Default + Clone + PartialEq {
    /// The id of the probe that takes these arguments.
    const PROBE: &'static str;
    /// A sentence that describes the question.
    const DESCRIPTION: &'static str;

    /// A knob for each argument; its key is the argument's name.
    fn knobs() -> Vec<Knob>;

    /// The arguments as plain values by name.
    fn to_args(&self) -> BTreeMap<String, Value>;

    /// Reads the arguments from plain values by name. A number outside of its range is clamped to it.
    ///
    /// # Errors
    /// If a name is not an argument of the probe, or a value has another type.
    fn from_args(args: &BTreeMap<String, Value>) -> Result<Self, ConfigError>;
}

/// The type of one argument: a setting, or an optional one.
pub trait Argument: Clone {
    /// The type of the argument's value.
    type Value: Setting;

    /// The given value, if any.
    fn given(&self) -> Option<&Self::Value>;
    /// The argument that has this value.
    fn from_setting(value: Self::Value) -> Self;
}

impl<T: Setting + Clone> Argument for T {
    type Value = T;

    fn given(&self) -> Option<&T> {
        Some(self)
    }

    fn from_setting(value: T) -> Self {
        value
    }
}

impl<T: Setting + Clone> Argument for Option<T> {
    type Value = T;

    fn given(&self) -> Option<&T> {
        self.as_ref()
    }

    fn from_setting(value: T) -> Self {
        Some(value)
    }
}

/// The knob of an argument.
pub fn argument_knob<A: Argument>(name: &'static str, tip: &'static str, default: &A) -> Knob {
    let default = default.given().map_or(Value::Text(String::new()), Setting::to_value);
    Knob { tip, ..Knob::new(name, name, A::Value::range(), default) }
}

/// Limits the values of an argument.
pub fn limit_argument<A: Argument<Value: Number>>(knob: &mut Knob, _: &A, range: RangeInclusive<A::Value>) {
    let (min, max) = range.into_inner();
    knob.range = A::Value::between(min, max);
}

/// Refuses a name that is not an argument of the probe.
pub fn check_names(probe: &str, knobs: &[Knob], args: &BTreeMap<String, Value>) -> Result<(), ConfigError> {
    let Some(name) = args.keys().find(|name| !knobs.iter().any(|k| k.key == name.as_str())) else { return Ok(()) };
    Err(ConfigError::UnknownArgument {
        probe: probe.to_owned(),
        key: name.clone(),
        nearest: nearest(name, knobs.iter().map(|k| k.key)),
    })
}

/// Reads the argument of this knob; `None` if it is not given.
pub fn read_argument<A: Argument>(
    knobs: &[Knob],
    name: &str,
    args: &BTreeMap<String, Value>,
) -> Result<Option<A>, ConfigError> {
    let (Some(value), Some(knob)) = (args.get(name), knobs.iter().find(|k| k.key == name)) else { return Ok(None) };
    let value = knob.check(clamped(&knob.range, value.clone()))?;
    super::settings::typed(name, &value).map(|value| Some(A::from_setting(value)))
}

/// Clamps a finite number to the range; any other value is returned unchanged.
fn clamped(range: &Range, value: Value) -> Value {
    let Some(number) = value.as_f64().filter(|n| n.is_finite()) else { return value };
    match (range, value) {
        (Range::Int { min, max }, Value::Int(i)) => Value::Int(i.clamp(*min, *max)),
        (Range::Int { min, max }, _) => Value::Int((number as i64).clamp(*min, *max)),
        (Range::Float { min, max, .. }, _) => Value::Float(number.clamp(*min, *max)),
        (_, value) => value,
    }
}

/// Selects the arguments that have one of these knobs.
pub fn select_arguments(knobs: &[Knob], args: &BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    knobs.iter().filter_map(|k| args.get_key_value(k.key)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Declares the arguments of a probe: `arguments! { pub struct CausalityArgs asks "causality" { /// A sentence.
/// text: String = String::new(); /// Which token. position: Option<usize> = None => range(0..=95); } }`.
/// Each comment is what `orrery ask --list` prints. `asks "flow_field" with flow: FlowArgs { .. }` takes all of `flow`'s
/// arguments, too.
#[macro_export]
macro_rules! arguments {
    ($($(#[doc = $about:literal])+
    $vis:vis struct $name:ident asks $probe:literal $(with $base:ident: $base_args:ty)? { $(
        $(#[doc = $tip:literal])+
        $field:ident: $ty:ty = $default:expr $(=> range($range:expr))?;
    )* })+) => { $(
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $(
                /// The arguments of the question that this one extends.
                pub $base: $base_args,
            )?
            $($(#[doc = $tip])+ pub $field: $ty),*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($base: <$base_args>::default(),)? $($field: $default),* }
            }
        }

        impl $crate::config::Arguments for $name {
            const PROBE: &'static str = $probe;
            const DESCRIPTION: &'static str = concat!($($about),+).trim_ascii();

            fn knobs() -> Vec<$crate::config::Knob> {
                #[allow(unused_variables, reason = "a probe may take no arguments")]
                let defaults = Self::default();
                #[allow(unused_mut, reason = "most probes take no other probe's arguments")]
                let mut knobs = vec![$({
                    #[allow(unused_mut, reason = "most arguments are not limited")]
                    let mut knob = $crate::config::argument_knob(
                        stringify!($field), concat!($($tip),+).trim_ascii(), &defaults.$field,
                    );
                    $($crate::config::limit_argument(&mut knob, &defaults.$field, $range);)?
                    knob
                }),*];
                $(knobs.extend(<$base_args as $crate::config::Arguments>::knobs());)?
                knobs
            }

            fn to_args(&self) -> std::collections::BTreeMap<String, $crate::config::Value> {
                #[allow(unused_mut, reason = "a probe may take no arguments")]
                let mut args = std::collections::BTreeMap::new();
                $(args.extend($crate::config::Arguments::to_args(&self.$base));)?
                $(if let Some(value) = $crate::config::Argument::given(&self.$field) {
                    args.insert(stringify!($field).to_owned(), $crate::config::Setting::to_value(value));
                })*
                args
            }

            fn from_args(
                args: &std::collections::BTreeMap<String, $crate::config::Value>,
            ) -> Result<Self, $crate::config::ConfigError> {
                let knobs = <Self as $crate::config::Arguments>::knobs();
                $crate::config::check_names($probe, &knobs, args)?;
                #[allow(unused_mut, reason = "a probe may take no arguments")]
                let mut read = Self::default();
                $({
                    type Base = $base_args;
                    let given = $crate::config::select_arguments(&<Base as $crate::config::Arguments>::knobs(), args);
                    read.$base = <Base as $crate::config::Arguments>::from_args(&given)?;
                })?
                $(if let Some(value) = $crate::config::read_argument(&knobs, stringify!($field), args)? {
                    read.$field = value;
                })*
                Ok(read)
            }
        }
    )+ };
}
pub use arguments;

#[cfg(test)]
mod tests {
    use super::*;

    arguments! {
        /// A question about one token.
        struct TokenArgs asks "token" {
            /// The sentence that is read.
            text: String = String::new();
            /// The token.
            position: Option<usize> = None => range(0..=95);
            /// By how much the gate is scaled.
            scale: f64 = 1.0 => range(0.0..=10.0);
        }

        /// A question about one token and what follows it.
        struct SpanArgs asks "span" with token: TokenArgs {
            /// Tokens that follow.
            length: usize = 1;
        }
    }

    fn args(pairs: &[(&str, Value)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn arguments_survive_the_way_as_plain_values() {
        let asked = TokenArgs { text: "a".into(), position: Some(3), scale: 2.0 };
        assert_eq!(TokenArgs::from_args(&asked.to_args()).unwrap(), asked);
        assert_eq!(TokenArgs::from_args(&BTreeMap::new()).unwrap(), TokenArgs::default());
        assert!(!TokenArgs::default().to_args().contains_key("position"), "left to the probe");
        assert_eq!(TokenArgs::DESCRIPTION, "A question about one token.");
    }

    #[test]
    fn numbers_are_moved_into_their_range() {
        let read = TokenArgs::from_args(&args(&[("position", Value::Int(1000)), ("scale", Value::Int(-1))])).unwrap();
        assert_eq!((read.position, read.scale), (Some(95), 0.0));
    }

    #[test]
    fn unknown_names_and_wrong_types_are_refused() {
        let refused = |name, value| TokenArgs::from_args(&args(&[(name, value)])).unwrap_err().to_string();
        let unknown = refused("positon", Value::Int(1));
        assert!(unknown.contains("`token`") && unknown.contains("did you mean `position`?"), "{unknown}");
        assert!(refused("scale", Value::Text("much".into())).contains("a number from 0 to 10"));
        assert!(refused("scale", Value::Float(f64::NAN)).contains("out of range"));
    }

    #[test]
    fn a_probe_takes_the_arguments_of_another_beside_its_own() {
        let asked = SpanArgs { token: TokenArgs { position: Some(3), ..TokenArgs::default() }, length: 2 };
        let sent = asked.to_args();
        assert_eq!((sent.get("position"), sent.get("length")), (Some(&Value::Int(3)), Some(&Value::Int(2))));
        assert_eq!(SpanArgs::from_args(&sent).unwrap(), asked);
        let unknown = SpanArgs::from_args(&args(&[("lenght", Value::Int(1))])).unwrap_err().to_string();
        assert!(unknown.contains("`span`") && unknown.contains("did you mean `length`?"), "{unknown}");
    }

    #[test]
    fn knobs_describe_the_arguments() {
        let knobs = TokenArgs::knobs();
        assert_eq!(knobs[1].range, Range::Int { min: 0, max: 95 });
        assert_eq!((knobs[2].key, knobs[2].tip), ("scale", "By how much the gate is scaled."));
        assert_eq!(knobs[2].default, Value::Float(1.0));
    }
}
