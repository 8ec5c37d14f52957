//! A treebank: a file of sentences in the form CoNLL-U of Universal Dependencies, with ten tab-separated columns per
//! word, and an empty line behind each sentence. Two of the columns are read: the word, and its tag.

use super::{
    prelude::*,
    text_file::{read_whole, utf8},
};

/// Bytes of a file, and how many times as many its sentences take in memory at most: where each has one word of one letter.
const MAX_BYTES: u64 = 256 << 20;
const GROWTH: u64 = 12;
/// Columns of a word.
const COLUMNS: usize = 10;
/// The largest number of bytes of a field that an error quotes.
const LONGEST_QUOTE: usize = 40;

/// The column of a treebank with the tag of each word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TagColumn {
    /// Universal parts of speech (UPOS).
    Upos,
    /// Relations to the head (DEPREL), without what a language adds behind a colon.
    Deprel,
}

const UPOS: &[&str] = &[
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
];
#[rustfmt::skip]
const DEPREL: &[&str] = &[
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj", "cop", "csubj",
    "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj", "list", "mark", "nmod", "nsubj",
    "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum", "root", "vocative", "xcomp",
];

impl TagColumn {
    /// All tags that the column may have, as Universal Dependencies 2 lists them.
    pub fn tags(self) -> &'static [&'static str] {
        match self {
            Self::Upos => UPOS,
            Self::Deprel => DEPREL,
        }
    }
}

/// A treebank to read, as plain data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Treebank {
    /// The file.
    pub path: PathBuf,
    /// The column with the tag of each word.
    pub tags: TagColumn,
    /// True if words are read in lower case.
    pub lowercase: bool,
    /// The largest number of words of a sentence; longer sentences are left out.
    pub longest: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TreebankSentence {
    /// The words, separated by spaces; no word contains white space.
    pub words: String,
    /// The place of each word's tag in [`TagColumn::tags`].
    pub tags: Vec<u8>,
}

/// The sentences read from a treebank, in the order of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TreebankSentences {
    pub sentences: Vec<TreebankSentence>,
    /// The number of sentences that were left out because they are too long.
    pub too_long: usize,
}

impl Treebank {
    /// Reads the file. Comments, the lines of words that are written together (`3-4`) and empty nodes (`5.1`) are
    /// skipped. Errors: the file cannot be read, is too large or not UTF-8; if a line has other than ten columns, a
    /// number out of turn, no word, or a tag that Universal Dependencies lacks; if no sentence is short enough. The
    /// message says which line and what to do.
    pub(super) fn read(&self) -> Result<TreebankSentences, CorpusError> {
        let name = self.path.display().to_string();
        let misfit = |e: &FileError| format!("{name} cannot be read as a treebank: {e}.");
        let bytes = read_whole(&self.path, MAX_BYTES, GROWTH, misfit)?;
        if bytes.is_empty() {
            return Err(CorpusError::new(format!("{name} is empty: choose a treebank in the form CoNLL-U.")));
        }
        let (mut found, mut sentence) = (TreebankSentences::default(), TreebankSentence::default());
        // the last sentence may lack the empty line after it
        for (i, line) in utf8(&name, &bytes)?.lines().chain([""]).enumerate() {
            if line.trim().is_empty() {
                match std::mem::take(&mut sentence) {
                    none if none.tags.is_empty() => {}
                    long if long.tags.len() > self.longest => found.too_long += 1,
                    taken => found.sentences.push(taken),
                }
            } else if !line.starts_with('#') {
                let read = self.read_line(line, &mut sentence);
                read.map_err(|why| CorpusError::new(format!("Line {} of {name} {why}", i + 1)))?;
            }
        }
        if found.sentences.is_empty() {
            let (longest, too_long) = (self.longest, found.too_long);
            return Err(CorpusError::new(format!(
                "{name} has no sentence of at most {longest} words ({too_long} are longer): choose a treebank in the form CoNLL-U."
            )));
        }
        Ok(found)
    }

    /// Adds the word of a line to its sentence, if the line has one of its own.
    fn read_line(&self, line: &str, sentence: &mut TreebankSentence) -> Result<(), String> {
        // one column too many is enough to show that a line is invalid, and further columns would only take memory
        let columns: Vec<&str> = line.splitn(COLUMNS + 1, '\t').collect();
        let [id, word, _, upos, _, _, _, deprel, _, _] = columns[..] else {
            let has = line.split('\t').count();
            return Err(format!("has {has} columns: a word of CoNLL-U has {COLUMNS}, with a tab between them."));
        };
        let quoted = |field: &str| field[..field.floor_char_boundary(LONGEST_QUOTE)].to_owned();
        let is_number = |text: &str| text.parse::<usize>().is_ok();
        if id.split_once(['-', '.']).is_some_and(|(from, to)| is_number(from) && is_number(to)) {
            return Ok(());
        }
        let due = sentence.tags.len() + 1;
        if id.parse::<usize>() != Ok(due) {
            let id = quoted(id);
            return Err(format!(
                "begins with `{id}` where word {due} is due: number the words of each sentence from 1, and leave an empty line \
                 behind it."
            ));
        }
        ensure!(!word.trim().is_empty(), "has no word in column 2.".into());
        let (tag, column) = match self.tags {
            TagColumn::Upos => (upos, 4),
            TagColumn::Deprel => (deprel.split(':').next().unwrap_or_default(), 8),
        };
        let tags = self.tags.tags();
        let Some(place) = tags.iter().position(|known| *known == tag) else {
            let (tag, known) = (quoted(tag), tags.join(", "));
            return Err(format!("has `{tag}` in column {column}, which should be one of {known}."));
        };
        let word = if self.lowercase { word.to_lowercase() } else { word.to_owned() };
        for (i, part) in word.split_whitespace().enumerate() {
            match i {
                0 if sentence.tags.is_empty() => {}
                0 => sentence.words.push(' '),
                // some languages write numbers with spaces
                _ => sentence.words.push('_'),
            }
            sentence.words.push_str(part);
        }
        sentence.tags.push(place as u8);
        Ok(())
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn read(content: impl AsRef<[u8]>, change: impl FnOnce(&mut Treebank)) -> Result<TreebankSentences, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.conllu");
        std::fs::write(&path, content).unwrap();
        let mut treebank = Treebank { path, tags: TagColumn::Upos, lowercase: true, longest: 4 };
        change(&mut treebank);
        treebank.read().map_err(|e| e.to_string())
    }

    fn line(id: &str, word: &str, upos: &str, deprel: &str) -> String {
        format!("{id}\t{word}\t_\t{upos}\t_\t_\t0\t{deprel}\t_\t_\n")
    }

    /// "Don't swim." with an empty node, then a sentence of five words, then one without an empty line behind it.
    fn small() -> String {
        let lines = [
            "\u{feff}# text = Don't swim.\n".to_owned(),
            line("1-2", "Don't", "_", "_"),
            line("1", "Do", "AUX", "aux:pass"),
            line("2", "n't", "PART", "advmod"),
            line("2.1", "you", "PRON", "_"),
            line("3", "swim", "VERB", "root").replace('\n', "\r\n"),
            line("4", ".", "PUNCT", "punct"),
            " \n# another\n\n".to_owned(),
            (1..6).map(|i| line(&i.to_string(), "Oh", "INTJ", "discourse")).collect(),
            "\n".to_owned(),
            line("1", "3 000", "NUM", "root"),
        ];
        lines.concat()
    }

    #[test]
    fn words_and_one_column_are_read() {
        let tags = |names: &[&str], all: TagColumn| -> Vec<u8> {
            names.iter().map(|name| all.tags().iter().position(|tag| tag == name).unwrap() as u8).collect()
        };
        let found = read(small(), |_| ()).unwrap();
        assert_eq!((found.sentences.len(), found.too_long), (2, 1));
        assert_eq!(found.sentences[0].words, "do n't swim .");
        assert_eq!(found.sentences[0].tags, tags(&["AUX", "PART", "VERB", "PUNCT"], TagColumn::Upos));
        assert_eq!(found.sentences[1].words, "3_000");
        let found = read(small(), |t| (t.tags, t.lowercase, t.longest) = (TagColumn::Deprel, false, 5)).unwrap();
        assert_eq!((found.sentences.len(), found.too_long), (3, 0));
        assert_eq!(found.sentences[0].words, "Do n't swim .");
        let relations = ["aux", "advmod", "root", "punct"];
        assert_eq!(found.sentences[0].tags, tags(&relations, TagColumn::Deprel), "without the subtype");
    }

    #[test]
    fn errors_in_a_treebank_name_their_line() {
        let [good, second] = ["1", "2"].map(|id| line(id, "tide", "NOUN", "root"));
        for (bad, words) in [
            ("the tide turned\n".to_owned(), "has 1 columns: a word of CoNLL-U has 10"),
            (second.replace("\t_\t_\n", "\t_\n"), "has 9 columns"),
            (second.replace("\t_\t_\n", "\t_\t_\t_\t\n"), "has 12 columns"),
            (good.clone(), "begins with `1` where word 2 is due"),
            (line("b", "tide", "NOUN", "root"), "begins with `b` where word 2 is due"),
            (line("3-x", "tide", "NOUN", "root"), "begins with `3-x`"),
            (line("2", " ", "NOUN", "root"), "has no word in column 2"),
            (line("2", "tide", "noun", "root"), "has `noun` in column 4, which should be one of ADJ, ADP"),
        ] {
            let said = read(format!("# text\n{good}{bad}"), |_| ()).unwrap_err();
            assert!(
                said.contains("Line 3 of") && said.contains("own.conllu") && said.contains(words),
                "{words}: {said}"
            );
        }
        let said = read(line("1", "tide", "NOUN", "_"), |t| t.tags = TagColumn::Deprel).unwrap_err();
        assert!(
            said.contains("Line 1 of") && said.contains("has `_` in column 8, which should be one of acl"),
            "{said}"
        );
        let said = read([good.as_bytes(), b"2\t\xff\n"].concat(), |_| ()).unwrap_err();
        assert!(said.contains("Line 2 of") && said.contains("is not UTF-8"), "{said}");
        let said = read(format!("{good}{second}"), |t| t.longest = 1).unwrap_err();
        assert!(said.contains("no sentence of at most 1 words (1 are longer)"), "{said}");
        assert!(read("", |_| ()).unwrap_err().contains("own.conllu is empty"));
        assert!(read("# nothing\n\n", |_| ()).unwrap_err().contains("(0 are longer)"));
        let said = read("", |t| t.path = Path::new("none.conllu").to_owned()).unwrap_err();
        assert!(said.contains("does not exist"), "{said}");
    }

    #[test]
    fn tags_stand_in_order_and_once() {
        for (column, count) in [(TagColumn::Upos, 17), (TagColumn::Deprel, 37)] {
            let tags = column.tags();
            assert!(tags.len() == count && tags.is_sorted_by(|a, b| a < b), "{column:?}");
        }
    }
}
