//! JSON written by other tools: numbers are read one after another without storing the values around them, settings
//! within a bound, since a parsed value takes up to 80 times the memory of its text.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value as Json;

use crate::config::Value;

/// Bytes of the JSON of settings that are parsed at once: an object of one field takes 80 times its text.
pub(super) const MAX_SETTINGS_JSON: usize = 256 << 10;
/// Longer texts of settings are cut.
const MAX_SETTING: usize = 1000;

/// A number as JSON or one of the words for those that are not finite, as Python writes them; `None` for anything else.
pub(super) fn number(json: &str) -> Option<f64> {
    match json.trim() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        text => serde_json::from_str(text).ok(),
    }
}

/// The text with U+FFFD in the place of each escape of half a surrogate pair. Python writes such escapes of texts that are not
/// UTF-8, and serde refuses all that follows one.
pub(super) fn without_lone_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let unit = |at: usize| match bytes.get(at..at + 6)? {
        [b'\\', b'u', digits @ ..] => u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok(),
        _ => None,
    };
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while let Some(next) = bytes.get(at..).and_then(|rest| rest.iter().position(|b| *b == b'\\')) {
        at += next;
        match (unit(at), unit(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&json[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // an escaped backslash does not begin another escape
            _ => at += 2,
        }
    }
    match copied {
        0 => Cow::Borrowed(json),
        _ => Cow::Owned(out + &json[copied..]),
    }
}

/// Hands over every field of a JSON object: its name and its number, `None` for other values. False if the text is
/// not a JSON object, where nothing is handed over, or at a number beyond 64 bits.
pub(super) fn numbers<E>(json: &str, each: impl FnMut(&str, Option<f64>) -> Result<(), E>) -> Result<bool, E> {
    let json = &*without_lone_surrogates(json);
    // a text cut inside a number would end with another number, so invalid JSON is refused
    if !json.trim_start().starts_with('{') || serde_json::from_str::<IgnoredAny>(json).is_err() {
        return Ok(false);
    }
    let mut refused = None;
    let fields = Fields { each, refused: &mut refused };
    let read = serde_json::Deserializer::from_str(json).deserialize_map(fields);
    refused.map_or(Ok(read.is_ok()), Err)
}

/// The fields of an object, read one after another.
struct Fields<'a, F, E> {
    each: F,
    /// The error of `each`, which an error of JSON cannot hold.
    refused: &'a mut Option<E>,
}

impl<'de, F: FnMut(&str, Option<f64>) -> Result<(), E>, E> Visitor<'de> for Fields<'_, F, E> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let Number(value) = map.next_value()?;
            if let Err(e) = (self.each)(&name, value) {
                *self.refused = Some(e);
                return Err(A::Error::custom("no more numbers are read"));
            }
        }
        Ok(())
    }
}

/// A number, or `None` for any other value, which is skipped.
struct Number(Option<f64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumberVisitor).map(Self)
    }
}

struct NumberVisitor;

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Option<f64>, E> {
        Ok(Some(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Option<f64>, E> {
        Ok(Some(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<f64>, E> {
        Ok(Some(value as f64))
    }

    /// Numbers that are not finite are strings, as Trackio writes them.
    fn visit_str<E>(self, word: &str) -> Result<Option<f64>, E> {
        Ok(["NaN", "Infinity", "-Infinity"].contains(&word).then(|| number(word)).flatten())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Option<f64>, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Option<f64>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<f64>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A setting as a run folder holds it: anything but a switch, a whole number of 64 bits, a finite number or a text is its
/// JSON as text.
pub(super) fn setting(value: &Json) -> Value {
    let text = match value {
        Json::Bool(on) => return Value::Switch(*on),
        Json::Number(n) => match (n.as_i64(), n.as_f64()) {
            (Some(whole), _) => return Value::Int(whole),
            (None, Some(number)) if number.is_finite() => return Value::Float(number),
            _ => n.to_string(),
        },
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    Value::Text(text.chars().take(MAX_SETTING).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Vec<(String, Option<f64>)>> {
        let mut all = vec![];
        let read = numbers::<()>(json, |name, value| {
            all.push((name.to_owned(), value));
            Ok(())
        });
        read.unwrap().then_some(all)
    }

    #[test]
    fn numbers_that_are_not_finite_are_words() {
        assert!(number("NaN").is_some_and(f64::is_nan));
        assert_eq!(number("-Infinity"), Some(f64::NEG_INFINITY));
        assert_eq!(
            (number(" 1.5e3 "), number("\"hi\""), number("{}"), number("true")),
            (Some(1500.0), None, None, None)
        );
    }

    #[test]
    fn an_object_hands_over_its_numbers_and_reads_over_the_rest() {
        let json = r#" {"a": 1, "b": -2.5, "c": "Infinity", "d": "hi", "e": [1, {"a": 2}], "f": {"g": 3}, "h": null, "a\u0041": true}"#;
        let expected = [
            ("a", Some(1.0)),
            ("b", Some(-2.5)),
            ("c", Some(f64::INFINITY)),
            ("d", None),
            ("e", None),
            ("f", None),
            ("h", None),
            ("aA", None),
        ];
        assert_eq!(read(json).unwrap(), expected.map(|(name, value)| (name.to_owned(), value)));
        assert_eq!(read("{}"), Some(vec![]));
        // cut within a number, which would be another one
        for wrong in [r#"{"a": 1"#, r#"{"a": 1, "b""#, "[1]", "1", "", "{} {}", r#"{"a": 1e999}"#] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn half_a_surrogate_pair_is_a_replacement_character() {
        let json =
            r#"{"a": "\ud800", "b\udc00": 1, "c": "\ud83d\ude00", "d": "\\ud800", "e": "\ud800\ud83d\ude00", "f": 2}"#;
        let whole =
            r#"{"a": "\ufffd", "b\ufffd": 1, "c": "\ud83d\ude00", "d": "\\ud800", "e": "\ufffd\ud83d\ude00", "f": 2}"#;
        assert_eq!(without_lone_surrogates(json), whole);
        assert!(matches!(without_lone_surrogates(whole), Cow::Borrowed(same) if same == whole));
        let numbers: Vec<(String, f64)> =
            read(json).unwrap().into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        assert_eq!(numbers, [("b\u{fffd}".to_owned(), 1.0), ("f".to_owned(), 2.0)]);
        // cut within an escape
        for cut in [r#"{"a": "\"#, r#"{"a": "\u"#, r#"{"a": "\ud8"#, "\\ud800", "\\ud83d\\u"] {
            assert_eq!(read(cut), None, "{cut}");
        }
    }

    #[test]
    fn a_refusal_ends_the_reading() {
        let mut seen = 0;
        let read = numbers(r#"{"a": 1, "b": 2}"#, |_, _| {
            seen += 1;
            Err("enough")
        });
        assert_eq!((read, seen), (Err("enough"), 1));
    }
}
