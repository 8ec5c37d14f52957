//! A vocabulary of single characters whose ids do not depend on how often they occur: the distinct characters of a text
//! in the order of their code points, as char-rnn and nanoGPT number them, or those that a file lists.

use std::collections::BTreeSet;

use super::{
    character_list,
    omission::OWN_TEXT_ADVICE,
    prelude::*,
    text_file::{CharCursor, CharPosition, TextFile},
};

/// Characters and their ids, and no id for any other.
#[derive(Debug)]
pub(super) struct Characters {
    /// The symbols by id. More than one character: a special token, which no text yields. Empty: an id that is not in
    /// use.
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

    /// Those of a file: a list of characters ([`character_list`]), or any other file as a text, whose distinct characters
    /// are taken in the order of their code points.
    ///
    /// # Errors
    /// If the file cannot be read, is no such list, or gives two characters one id.
    pub fn load(path: &Path) -> Result<Self, CorpusError> {
        if character_list::is_list(path) {
            return character_list::read(path, Self::listed);
        }
        let text = TextFile::open(path)?;
        let mut distinct = BTreeSet::new();
        text.full_text().find_char(&mut |c| {
            distinct.insert(c);
            false
        })?;
        Ok(Self::sorted(distinct.into_iter()))
    }

    /// Symbols and their ids, as a list has them. Errors: two symbols have one id, one symbol has two, or none is a
    /// character.
    fn listed(pairs: Vec<(String, u64)>) -> Result<Self, String> {
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
        if ids.is_empty() { Err("it lists no character".to_owned()) } else { Ok(Self { symbols, ids }) }
    }

    /// The number of ids: one more than the largest.
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

    /// The reason why a text with this character cannot be read.
    pub fn unknown(&self, place: CharPosition) -> CorpusError {
        CorpusError::new(format!(
            "{}: remove it from the text, or give the characters, or the text, that the model was trained on.",
            self.missing(place)
        ))
    }

    /// Same as [`Characters::unknown`], for a text that is generated, which the user cannot edit.
    pub fn unknown_in_generated(&self, place: CharPosition) -> CorpusError {
        CorpusError::new(format!(
            "{}: read {OWN_TEXT_ADVICE} instead, or give the characters that the model was trained on.",
            self.missing(place)
        ))
    }

    fn missing(&self, CharPosition { char, at, line }: CharPosition) -> String {
        format!(
            "{char:?} (U+{:04X}), character {} of the text (line {line}), is missing from the vocabulary of {} characters",
            u32::from(char),
            at + 1,
            self.ids.len()
        )
    }

    /// The character, or special token, of this id.
    pub fn symbol(&self, id: u32) -> Option<&str> {
        self.symbols.get(id as usize).map(String::as_str).filter(|s| !s.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: impl AsRef<[u8]>) -> Result<Characters, CorpusError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        Characters::load(&path)
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

    /// `pickle.dumps({'vocab_size': 4, 'itos': ..}, protocol=4)` of nanoGPT's `meta.pkl`, as Python 3.11 writes it.
    #[test]
    fn a_pickle_of_nanogpt_gives_the_same_ids() {
        let pickle = b"\x80\x04\x95<\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\nvocab_size\x94K\x04\x8c\x04stoi\x94}\x94(\x8c\x01\n\x94K\x00\x8c\x01a\x94K\x01\x8c\x01b\x94K\x02\x8c\x01c\x94K\x03uu.";
        let (text, listed) = (file("text.txt", "cab\nabc\n").unwrap(), file("meta.pkl", pickle).unwrap());
        assert_eq!((&listed.symbols, &listed.ids), (&text.symbols, &text.ids));
        for (bytes, words) in [
            (&b"\x80\x04\x95"[..], "damaged"),
            (&b"\x80\x04}."[..], "no character"),
            (&b"(dp0\nVa\np1\nI0\ns."[..], "protocol 0"),
            (&b"\x80\x04K\x03."[..], "neither"),
            (&b"\x80\x04}\x8c\x01aJ\xff\xff\xff\xffs."[..], "is -1"),
        ] {
            let said = file("a.pkl", bytes).err().unwrap().to_string();
            assert!(said.contains(words), "{words}: {said}");
        }
    }

    #[test]
    fn a_list_longer_than_unicode_is_refused_by_its_length() {
        let said = file("a.json", " ".repeat((16 << 20) + 1)).err().unwrap().to_string();
        assert!(said.contains("longer than"), "{said}");
    }

    #[test]
    fn special_tokens_keep_their_ids_and_no_text_yields_them() {
        let all = file("a.json", r#"{"<pad>": 0, "a": 2, "<": 3}"#).unwrap();
        assert_eq!((all.len(), all.symbol(0), all.symbol(1)), (4, Some("<pad>"), None));
        assert!(all.encode("<pad>").is_err());
        assert_eq!(all.encode("<a").unwrap(), [3, 2]);
    }

    #[test]
    fn invalid_character_lists_are_refused_with_a_reason() {
        for (json, words) in [
            ("{", "not JSON"),
            ("3", "expected a list or an object"),
            (r#"{"stoi": 3}"#, "expected a list or an object"),
            ("[]", "no character"),
            (r#"["a", "a"]"#, "twice"),
            (r#"["a", 1]"#, "entry 1 is 1"),
            (r#"{"a": [0]}"#, "is a list"),
            (r#"["a"] 3"#, "not JSON"),
            (r#"{"a": 0, "b": 0}"#, "same id 0"),
            (r#"{"a": -1}"#, "-1"),
            (r#"{"a": 99999999999}"#, "99999999999"),
        ] {
            let said = file("a.json", json).err().unwrap().to_string();
            assert!(said.contains(words) && said.contains("a.json") && said.contains("stoi"), "{json}: {said}");
        }
    }
}
