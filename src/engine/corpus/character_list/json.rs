//! A list of characters in JSON, parsed as a stream: other fields are skipped, and a list that is too long is refused
//! before it is held in memory.

use std::{collections::BTreeMap, fmt};

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{MAX_IDS, not_a_character, pair};

/// The symbols and ids of a list. Errors: it is no such list.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<(String, u64)>, String> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let list = List { is_top_level: true }.deserialize(&mut json).and_then(|list| json.end().map(|()| list));
    let list = list.map_err(|e| if e.is_data() { e.to_string() } else { format!("it is not JSON ({e})") })?;
    match list {
        ParsedList::Array(pairs) => Ok(pairs),
        ParsedList::Object(ids) => ids.iter().map(|(symbol, id)| pair(symbol, id.as_id(), id)).collect(),
    }
}

enum ParsedList {
    Array(Vec<(String, u64)>),
    Object(BTreeMap<String, Item>),
}

/// Reads a list, which at the top of the file may also be what an object has as `stoi`.
#[derive(Clone, Copy)]
struct List {
    is_top_level: bool,
}

impl<'de> DeserializeSeed<'de> for List {
    type Value = ParsedList;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<ParsedList, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List {
    type Value = ParsedList;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ParsedList, A::Error> {
        let mut pairs = vec![];
        while let Some(item) = list.next_element::<Item>()? {
            check_entry_count::<A::Error>(pairs.len())?;
            let id = pairs.len() as u64;
            match item {
                Item::Text(symbol) => pairs.push((symbol, id)),
                other => return Err(A::Error::custom(not_a_character(id, other))),
            }
        }
        Ok(ParsedList::Array(pairs))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<ParsedList, A::Error> {
        let (mut ids, mut stoi) = (BTreeMap::new(), None);
        while let Some(symbol) = object.next_key::<String>()? {
            if self.is_top_level && symbol == "stoi" {
                stoi = Some(object.next_value_seed(List { is_top_level: false })?);
            } else {
                check_entry_count::<A::Error>(ids.len())?;
                ids.insert(symbol, object.next_value()?);
            }
        }
        Ok(stoi.unwrap_or(ParsedList::Object(ids)))
    }
}

fn check_entry_count<E: Error>(count: usize) -> Result<(), E> {
    if (count as u64) < MAX_IDS { Ok(()) } else { Err(E::custom(format!("it has more than {MAX_IDS} entries"))) }
}

/// A value that a list may hold; others are skipped.
enum Item {
    Text(String),
    Whole(u64),
    /// Any other value, in the form that an error message shows.
    Other(String),
}

impl Item {
    fn as_id(&self) -> Option<u64> {
        match self {
            Self::Whole(id) => Some(*id),
            Self::Text(_) | Self::Other(_) => None,
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("a text"),
            Self::Whole(value) => write!(f, "{value}"),
            Self::Other(shown) => f.write_str(shown),
        }
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Item, E> {
        Ok(Item::Whole(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Item, E> {
        Ok(Item::Other(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Item, E> {
        Ok(Item::Other(value.to_string()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Item, E> {
        Ok(Item::Other(value.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Item, E> {
        Ok(Item::Other("null".to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Item, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item::Other("a list".to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Item, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Item::Other("an object".to_owned()))
    }
}
