//! Recognises the kind of a JSON file by its outermost keys, in one pass that stores nothing.

use std::{
    collections::HashSet,
    fmt,
    io::{BufReader, Read},
};

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::graph_events::{MAX_BYTES, check_length, open_checked};
use crate::{cli::prelude::*, ui::host::FileContent};

/// Keys that tell one kind from another.
const DISTINCTIVE_KEYS: [&str; 7] = ["nodes", "links", "edges", "adjacency", "model", "added_tokens", "pre_tokenizer"];

/// A key may be as long as the file.
const MAX_GROWTH: u64 = 1;

/// No file of settings is longer, bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// True if a file is longer than a graph may be, or than there is memory for one of its keys.
pub fn is_too_large(path: &Path) -> bool {
    path.metadata().is_ok_and(|of| check_length(of.len(), MAX_GROWTH).is_err())
}

pub fn kind_of(path: &Path) -> Result<FileContent, String> {
    let shown = path.display();
    let file = open_checked(path, MAX_GROWTH)?;
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(file.take(MAX_BYTES)));
    let found = reader.deserialize_any(Outermost);
    let found =
        found.map_err(|e| format!("{shown} is not JSON of a graph, a tokenizer or a list of characters: {e}"))?;
    let has = |key: &str| found.contains(key);
    Ok(if has("nodes") && (has("links") || has("edges") || has("adjacency")) {
        FileContent::Graph
    } else if has("model") && (has("added_tokens") || has("pre_tokenizer")) {
        FileContent::Tokenizer
    } else if let Some(lab) = named_lab(path) {
        return Err(match labs::find_in(labs::LABS, &lab) {
            Ok(lab) => format!(
                "{shown} holds settings of the lab `{}`, which are opened from a run folder or a .toml file",
                lab.id
            ),
            Err(e) => format!("{shown} was not opened: {e}"),
        });
    } else {
        FileContent::Characters
    })
}

/// The lab that a file of settings names, by itself or in its `config`.
fn named_lab(path: &Path) -> Option<String> {
    let mut text = String::new();
    files::open(path).ok()?.take(MAX_SETTINGS).read_to_string(&mut text).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    [json.get("lab"), json.get("config").and_then(|config| config.get("lab"))]
        .into_iter()
        .flatten()
        .find_map(|lab| lab.as_str().map(str::to_owned))
}

/// Collects the keys of an object by which its kind is recognised; a list has none.
struct Outermost;

impl<'de> Visitor<'de> for Outermost {
    type Value = HashSet<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut keys = HashSet::new();
        while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
            if DISTINCTIVE_KEYS.contains(&key.as_str()) {
                keys.insert(key);
            }
        }
        Ok(keys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(HashSet::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::graph_events;

    #[test]
    fn a_file_that_is_longer_than_any_graph_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        // where files may have holes it is longer than there is memory for too
        let length = if cfg!(unix) { MAX_BYTES << 8 } else { MAX_BYTES + 1 };
        std::fs::File::create(&path).unwrap().set_len(length).unwrap();
        for said in [kind_of(&path).unwrap_err(), graph_events::read(&path).map(|_| ()).unwrap_err()] {
            assert!(said.contains("a.json cannot be read: it is longer than 1.1 GB"), "{said}");
        }
    }

    #[test]
    fn a_file_is_known_by_its_outermost_keys() {
        let folder = tempfile::tempdir().unwrap();
        let kind = |text: &str| {
            let path = folder.path().join("a.json");
            std::fs::write(&path, text).unwrap();
            kind_of(&path)
        };
        assert_eq!(kind(r#"{"directed": true, "nodes": [{"id": 0}], "edges": []}"#), Ok(FileContent::Graph));
        assert_eq!(kind(r#"{"nodes": [], "links": []}"#), Ok(FileContent::Graph));
        assert_eq!(kind(r#"{"version": "1", "added_tokens": [], "model": {"nodes": 1}}"#), Ok(FileContent::Tokenizer));
        assert_eq!(kind(r#"{"stoi": {"a": 0}}"#), Ok(FileContent::Characters));
        assert_eq!(kind(r#"["a", "b"]"#), Ok(FileContent::Characters));
        for text in [r#"{"lab": "fast_slower", "seed": 3}"#, r#"{"config": {"lab": "fast_slower"}, "layout": null}"#] {
            let said = kind(text).unwrap_err();
            assert!(said.contains("there is no lab `fast_slower`; the labs are fast_slow"), "{said}");
        }
        assert!(kind(r#"{"lab": "fast_slow"}"#).unwrap_err().contains("settings of the lab `fast_slow`"));
        for (text, words) in [("{", "not JSON"), ("3", "an object or a list"), ("", "not JSON")] {
            let said = kind(text).unwrap_err();
            assert!(said.contains(words) && said.contains("a.json"), "{text}: {said}");
        }
    }
}
