//! Numbers and strings that a file of weights holds in addition to its tensors, by dotted path, up to a bound: a few
//! bytes of a file can name the same long path a million times.

use std::{collections::BTreeMap, fmt};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The limit of the bytes of all paths and texts together, and the estimated overhead of each entry.
const MAX_BYTES: usize = 16 << 20;
const BYTES_PER_ENTRY: usize = 128;
/// No tensor's name or setting's path is longer.
pub(super) const LONGEST_PATH: usize = 1 << 10;
/// Words may hold JSON whose words hold JSON.
const MAX_DEPTH: usize = 2;

/// The metadata collected so far, and the dotted path that is being read.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    entries: BTreeMap<String, String>,
    path: String,
    bytes: usize,
    nested: usize,
    /// The metadata is larger than the limit, so that reading on is useless.
    pub exceeds_limit: bool,
}

impl Metadata {
    /// The dotted path that is open.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Appends a name to the path. Returns the argument of [`Metadata::leave_to`] that undoes it.
    pub fn enter(&mut self, name: &str) -> usize {
        let before = self.path.len();
        if before + name.len() > LONGEST_PATH {
            self.exceeds_limit = true;
        } else {
            if before > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
        }
        before
    }

    pub fn leave_to(&mut self, before: usize) {
        self.path.truncate(before);
    }

    /// Stores a number or a text at the current path.
    pub fn insert(&mut self, words: &str) {
        self.bytes += self.path.len() + words.len() + BYTES_PER_ENTRY;
        self.exceeds_limit |= self.bytes > MAX_BYTES;
        if !self.exceeds_limit {
            self.entries.insert(self.path.clone(), words.to_owned());
        }
    }

    /// Returns all entries, or the reason why they are incomplete.
    pub fn finish(self) -> Result<BTreeMap<String, String>, String> {
        if self.exceeds_limit {
            return Err(format!(
                "it holds more besides its tensors than a model's settings (names of up to {LONGEST_PATH} bytes, {} \
                 MB in all): save the model's state_dict alone",
                MAX_BYTES >> 20
            ));
        }
        Ok(self.entries)
    }
}

/// The numbers and texts of a JSON document by dotted path; `None` if it is not JSON or exceeds the limits.
pub fn json_scalars(text: &str) -> Option<BTreeMap<String, String>> {
    let mut found = Metadata::default();
    Scalars(&mut found).deserialize(&mut serde_json::Deserializer::from_str(text)).ok()?;
    found.finish().ok()
}

/// Takes in the scalars of a JSON value as it is read; words that are JSON objects themselves are read as such.
pub(super) struct Scalars<'m>(pub &'m mut Metadata);

impl<'de> DeserializeSeed<'de> for Scalars<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scalars<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<(), E> {
        self.visit_str(&v.to_string())
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<(), E> {
        self.visit_str(&v.to_string())
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<(), E> {
        self.visit_str(&v.to_string())
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<(), E> {
        self.visit_str(&serde_json::Number::from_f64(v).map_or_else(|| v.to_string(), |n| n.to_string()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let is_object = self.0.nested < MAX_DEPTH
            && text.trim_start().starts_with('{')
            && serde_json::from_str::<IgnoredAny>(text).is_ok();
        if is_object {
            self.0.nested += 1;
            let inner = Scalars(&mut *self.0).deserialize(&mut serde_json::Deserializer::from_str(text));
            self.0.nested -= 1;
            return inner.map_err(E::custom);
        }
        self.0.insert(text);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let before = self.0.enter(&key);
            map.next_value_seed(Scalars(&mut *self.0))?;
            self.0.leave_to(before);
        }
        Ok(())
    }
}
