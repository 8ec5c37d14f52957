//! A person's notes on a run: a name, a text, tags, and whether it is pinned or archived.

use serde::{Deserialize, Deserializer, Serialize};

use crate::analysis::distinct::distinct;

/// A user's note on a run, which is stored apart from the run's record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunNote {
    /// The name of the run; empty if the folder's name serves.
    pub name: String,
    /// The text of the note.
    pub note: String,
    /// Tags that group runs; no two of a run are equal.
    #[serde(deserialize_with = "read_tags")]
    pub tags: Vec<String>,
    /// The run is listed above all others.
    pub pinned: bool,
    /// The run is listed only on request.
    pub archived: bool,
}

impl RunNote {
    /// True if nothing was set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Tags from a text in which commas part them, each once. Control characters and `"` are left out: the first cannot be drawn,
/// and a filter could not name a tag with the second.
pub fn parse_tags(text: &str) -> Vec<String> {
    let is_of_tag = |c: &char| c.is_whitespace() || !c.is_control() && *c != '"';
    let text: String = text.chars().filter(is_of_tag).collect();
    let tags = text.split([',', '\n']).map(|tag| tag.split_whitespace().collect::<Vec<_>>().join(" "));
    distinct(tags.filter(|tag| !tag.is_empty()))
}

/// Reads the texts of a list, or a text with commas. A value of another kind is not a tag, and does not make the rest
/// of the note unreadable.
fn read_tags<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => vec![text],
        toml::Value::Array(all) => all.iter().filter_map(|tag| tag.as_str().map(str::to_owned)).collect(),
        _ => vec![],
    };
    Ok(parse_tags(&texts.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_from_whatever_was_written() {
        let tags = |text: &str| toml::from_str::<RunNote>(text).unwrap().tags;
        assert_eq!(tags("tags = [\"talk\", \" wide  gate\", \"talk\", 3, \"\"]"), ["talk", "wide gate"]);
        assert_eq!(tags("tags = \"talk, wide\""), ["talk", "wide"]);
        assert_eq!(tags("tags = [\"6\\\" gate\", \"\\u001b[2J\", \"\\u0007\", \"a\\tb\"]"), ["6 gate", "[2J", "a b"]);
        assert!(tags("name = \"a\"").is_empty() && tags("tags = 3").is_empty());
        assert_eq!(toml::from_str::<RunNote>("name = \"a\"\ntags = 3").unwrap().name, "a");
    }
}
