//! A vocabulary of single characters whose ids do not depend on how often they occur: the distinct characters of a
//! text in the order of their code points, as char-rnn and nanoGPT number them, or those that a file lists. It knows
//! no windows.

use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

use serde_json::Value;

use super::{
    CorpusError,
    text_file::{CharCursor, CharPlace, TextFile, refused},
};
use crate::files::{self, FileError};

/// A list of characters is no longer than this; Unicode has some 300,000.
const LARGEST_JSON: u64 = 32 << 20;
/// No vocabulary of characters has a larger id.
const MOST_IDS: u64 = 1 << 21;

/// Characters and their ids, and no id for any other.
#[derive(Debug)]
pub(super) struct Characters {
    /// By id. More than one character: a special token, which no text yields. Empty: an id that is not in use.
    symbols: Vec<String>,
    ids: HashMap<char, u32>,
}

impl Characters {
    /// The distinct characters by code point, ids from 0.
    pub fn sorted(text: impl Iterator<Item = char>) -> Self {
        let distinct: BTreeSet<char> = text.collect();
        let ids = distinct.iter().copied().zip(0..).collect();
        Self { symbols: distinct.into_iter().map(String::from).collect(), ids }
    }

    /// Those of a file: `.json` holds a list of characters (a character's place is its id), an object from character
    /// to id, or an object with such an object as `stoi`; any other file is a text, whose distinct characters are
    /// taken in the order of their code points.
    ///
    /// # Errors
    /// If the file cannot be read, is no such JSON, or gives two characters one id.
    pub fn load(path: &Path) -> Result<Self, CorpusError> {
        if !path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            let text = TextFile::open(path)?;
            let mut distinct = BTreeSet::new();
            text.whole().find_char(text.encoding, &mut |c| {
                distinct.insert(c);
                false
            })?;
            return Ok(Self::sorted(distinct.into_iter()));
        }
        let here = path.display();
        let wrong = |why: &str| {
            CorpusError::new(format!(
                "{here} is no list of characters: {why}. It should hold [\"a\", \"b\", ..] or {{\"a\": 0, \"b\": 1, ..}}, \
                 alone or as `stoi`; or give the text that the model was trained on."
            ))
        };
        let bytes = files::read(path, LARGEST_JSON).map_err(|e| match e {
            e @ (FileError::Io(_) | FileError::Memory(_)) => refused(path, e),
            e => CorpusError::because(format!("{here} cannot be read as a list of characters: {e}."), e),
        })?;
        let json: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(&format!("it is no JSON ({e})")))?;
        Self::of_json(json.get("stoi").unwrap_or(&json)).map_err(|why| wrong(&why))
    }

    fn of_json(json: &Value) -> Result<Self, String> {
        let pairs: Vec<(String, u64)> = match json {
            Value::Array(all) => {
                let symbols = all.iter().zip(0..).map(|(symbol, id)| match symbol {
                    Value::String(s) => Ok((s.clone(), id)),
                    other => Err(format!("entry {id} is {other}, not a character")),
                });
                symbols.collect::<Result<_, _>>()?
            }
            Value::Object(all) => {
                let pairs = all.iter().map(|(symbol, id)| match id.as_u64() {
                    Some(id) if id < MOST_IDS => Ok((symbol.clone(), id)),
                    _ => Err(format!("the id of `{symbol}` is {id}, not a whole number from 0")),
                });
                pairs.collect::<Result<_, _>>()?
            }
            _ => return Err("it is neither a list nor an object".to_owned()),
        };
        let mut symbols: Vec<String> = vec![];
        let mut ids = HashMap::new();
        for (symbol, id) in pairs {
            let place = id as usize;
            if symbols.len() <= place {
                symbols.resize(place + 1, String::new());
            }
            if symbol.is_empty() || !symbols[place].is_empty() {
                return Err(match symbol.is_empty() {
                    true => format!("id {id} is that of an empty string"),
                    false => format!("`{}` and `{symbol}` have the same id {id}", symbols[place]),
                });
            }
            if let (Some(c), None) = (symbol.chars().next(), symbol.chars().nth(1))
                && ids.insert(c, id as u32).is_some()
            {
                return Err(format!("`{symbol}` is listed twice"));
            }
            symbols[place] = symbol;
        }
        match ids.is_empty() {
            true => Err("it lists no character".to_owned()),
            false => Ok(Self { symbols, ids }),
        }
    }

    /// One more than the largest id.
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    pub fn knows(&self, c: char) -> bool {
        self.ids.contains_key(&c)
    }

    /// # Errors
    /// Names the first character that has no id.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, CorpusError> {
        let ids: Option<Vec<u32>> = text.chars().map(|c| self.ids.get(&c).copied()).collect();
        ids.ok_or_else(|| match CharCursor::default().find(text, &mut |c| !self.knows(c)) {
            Some(place) => self.unknown(place),
            None => CorpusError::new("The text has a character without an id."),
        })
    }

    /// Why a text with this character cannot be read.
    pub fn unknown(&self, CharPlace { char, at, line }: CharPlace) -> CorpusError {
        CorpusError::new(format!(
            "{char:?} (U+{:04X}), character {} of the text (line {line}), is none of the {} that this vocabulary has: \
             take it out of the text, or give the characters, or the text, that the model was trained on.",
            u32::from(char),
            at + 1,
            self.ids.len()
        ))
    }

    /// The character, or special token, of this id.
    pub fn symbol(&self, id: u32) -> Option<&str> {
        self.symbols.get(id as usize).map(String::as_str).filter(|s| !s.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> Result<Characters, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        Characters::load(&path)
    }

    #[test]
    fn ids_follow_code_points_and_not_frequency() {
        let all = Characters::sorted("zzzza\n \u{e9}b".chars());
        assert_eq!(all.encode("\n abz\u{e9}").unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!((all.len(), all.symbol(4), all.symbol(6)), (6, Some("z"), None));
    }

    #[test]
    fn every_form_of_file_gives_the_same_ids() {
        let text = file("text.txt", "cab\nabc\n").unwrap();
        for json in [
            r#"["\n", "a", "b", "c"]"#,
            r#"{"c": 3, "a": 1, "b": 2, "\n": 0}"#,
            r#"{"stoi": {"c": 3, "a": 1, "b": 2, "\n": 0}, "itos": {"0": "\n"}}"#,
        ] {
            let listed = file("list.JSON", json).unwrap();
            assert_eq!((listed.symbols.as_slice(), &listed.ids), (text.symbols.as_slice(), &text.ids), "{json}");
        }
    }

    #[test]
    fn special_tokens_keep_their_ids_and_no_text_yields_them() {
        let all = file("a.json", r#"{"<pad>": 0, "a": 2, "<": 3}"#).unwrap();
        assert_eq!((all.len(), all.symbol(0), all.symbol(1)), (4, Some("<pad>"), None));
        assert!(all.encode("<pad>").is_err());
        assert_eq!(all.encode("<a").unwrap(), [3, 2]);
    }

    #[test]
    fn what_is_no_list_of_characters_says_why() {
        for (json, words) in [
            ("{", "no JSON"),
            ("3", "neither"),
            ("[]", "no character"),
            (r#"["a", "a"]"#, "twice"),
            (r#"["a", 1]"#, "entry 1"),
            (r#"{"a": 0, "b": 0}"#, "same id 0"),
            (r#"{"a": -1}"#, "-1"),
            (r#"{"a": 99999999999}"#, "99999999999"),
        ] {
            let said = file("a.json", json).err().unwrap().to_string();
            assert!(said.contains(words) && said.contains("a.json") && said.contains("stoi"), "{json}: {said}");
        }
    }

    #[test]
    fn an_unknown_character_is_named_with_its_place() {
        let said = Characters::sorted("ab\n".chars()).encode("ab\nb\u{e9}").unwrap_err().to_string();
        for part in ["'\u{e9}' (U+00E9)", "character 5", "line 2", "none of the 3"] {
            assert!(said.contains(part), "`{part}`: {said}");
        }
    }
}
