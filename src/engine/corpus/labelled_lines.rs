//! Sentences from a user's file, each under a label: `label<TAB>sentence`, or `label<TAB>group<TAB>sentence` where
//! several sentences are about the same thing. A first line that names columns, as in the files of GLUE, may order them
//! otherwise and have two sentences on a line: `sentence1<TAB>sentence2<TAB>label`.

use std::{collections::HashMap, fmt::Display, path::Path};

use super::{
    CorpusError,
    text_file::{refused, utf8},
};
use crate::files;

/// A sentence with its label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledLine {
    /// The label of the sentence.
    pub label: String,
    /// The topic, which other sentences of its label may share; if the line has none, the sentence itself, or the first
    /// of a pair.
    pub group: String,
    /// The text of the sentence; of a pair that of both, with a line break between them and nowhere else.
    pub sentence: String,
}

/// The sentences of a file in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledLines {
    /// The sentences with their labels.
    pub lines: Vec<LabelledLine>,
    /// The name of the file.
    pub name: String,
}

/// The limits of a file: its bytes, its lines, and the bytes of one line.
const MAX_BYTES: u64 = 4 << 20;
const MAX_LINES: usize = 4000;
const MAX_LINE: usize = 2000;
/// The limits of distinct labels in a file, and of the characters of one label.
const MAX_LABELS: usize = 64;
const LONGEST_LABEL: usize = 60;
/// The minimum number of groups with a label, and of those without it. Half of them are kept for the confirming test, and
/// five on either side can be drawn in 252 ways: with fewer, no p could be small enough once ten synapses are tried.
pub const MIN_GROUPS: usize = 10;

impl LabelledLines {
    /// Empty lines and those that begin with `#` are left out.
    ///
    /// # Errors
    /// If the file cannot be read or is too large; if a line is not UTF-8, has no tab or too many, other columns than
    /// the first line names, an empty field or too many bytes; if there are fewer than two labels or more than 64. The
    /// message says which line and what to do.
    pub fn read(path: &Path) -> Result<Self, CorpusError> {
        let name = path.display().to_string();
        let bytes = files::read(path, MAX_BYTES).map_err(|e| refused(path, e))?;
        let (mut lines, mut columns) = (vec![], None);
        for (i, line) in utf8(&name, &bytes)?.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if lines.is_empty() && columns.is_none() {
                columns = Columns::named(line);
                if columns.is_some() {
                    continue;
                }
            }
            let read = labelled_line(line, columns.as_ref());
            lines.push(read.map_err(|why| CorpusError::new(format!("Line {} of {name} {why}", i + 1)))?);
            if lines.len() > MAX_LINES {
                return Err(CorpusError::new(format!("{name} has more than {MAX_LINES} sentences: take fewer.")));
            }
        }
        let all = Self { lines, name };
        match all.labels().len() {
            0 => Err(all.line_error(format!("has no sentence: {LINE_FORMAT}"))),
            1 => Err(all.line_error(format!(
                "has one label, `{}`: a concept is told from something else, so add sentences of at least one other label.",
                all.lines[0].label
            ))),
            n if n > MAX_LABELS => {
                Err(all.line_error(format!("has {n} labels, and at most {MAX_LABELS} are told apart: {LINE_FORMAT}")))
            }
            _ => Ok(all),
        }
    }

    fn line_error(&self, why: impl Display) -> CorpusError {
        CorpusError::new(format!("{} {why}", self.name))
    }

    /// Every label in the order of the file, with how many groups of sentences it has.
    pub fn labels(&self) -> Vec<(&str, usize)> {
        let mut all: Vec<(&str, usize)> = vec![];
        let mut place: HashMap<&str, usize> = HashMap::new();
        let mut known = std::collections::HashSet::new();
        for line in &self.lines {
            let at = *place.entry(&line.label).or_insert_with(|| {
                all.push((&line.label, 0));
                all.len() - 1
            });
            if known.insert((at, line.group.as_str())) {
                all[at].1 += 1;
            }
        }
        all
    }

    /// The label that is the concept: the one that is asked for, or the first.
    ///
    /// # Errors
    /// If the file has no such label, or too few groups of sentences with it or without it.
    pub fn concept(&self, asked: Option<&str>) -> Result<&str, CorpusError> {
        let labels = self.labels();
        let Some(&(concept, with)) = labels.iter().find(|(label, _)| asked.is_none_or(|asked| asked == *label)) else {
            let known: Vec<&str> = labels.iter().map(|l| l.0).collect();
            let words = format!("has no label `{}`: choose one of {}.", asked.unwrap_or_default(), known.join(", "));
            return Err(self.line_error(words));
        };
        let without: usize = labels.iter().filter(|l| l.0 != concept).map(|l| l.1).sum();
        for (groups, which) in
            [(with, format!("with the label `{concept}`")), (without, "with other labels".to_owned())]
        {
            if groups < MIN_GROUPS {
                let words = format!(
                    "has {groups} different sentences (or groups) {which}: at least {MIN_GROUPS} are needed, half to search with and \
                     half to confirm with."
                );
                return Err(self.line_error(words));
            }
        }
        Ok(concept)
    }
}

/// The form of a line, for error messages.
const LINE_FORMAT: &str = "write a label, a tab and a sentence on each line, or name the columns in the first line \
    (sentence1, a tab, sentence2, a tab, label).";
/// The names of columns as GLUE's files have them; the column of groups is Orrery's own.
const LABEL: [&str; 3] = ["label", "gold_label", "is_duplicate"];
const SENTENCE: [&str; 6] = ["sentence", "sentence1", "sentence2", "question", "question1", "question2"];
const GROUP: [&str; 1] = ["group"];

/// The columns that a first line names.
struct Columns {
    count: usize,
    label: usize,
    group: Option<usize>,
    sentence: usize,
    second: Option<usize>,
}

impl Columns {
    /// Reads the first line as names of columns; `None` unless it names a label and a sentence. Other columns are ignored.
    fn named(line: &str) -> Option<Self> {
        let names: Vec<&str> = line.split('\t').map(str::trim).collect();
        let place = |known: &[&str]| names.iter().position(|name| known.contains(name));
        let mut sentences = (0..names.len()).filter(|i| SENTENCE.contains(&names[*i]));
        Some(Self {
            count: names.len(),
            label: place(&LABEL)?,
            group: place(&GROUP),
            sentence: sentences.next()?,
            second: sentences.next(),
        })
    }
}

fn labelled_line(line: &str, columns: Option<&Columns>) -> Result<LabelledLine, String> {
    if line.len() > MAX_LINE {
        let bytes = line.len();
        return Err(format!("has {bytes} bytes, and at most {MAX_LINE} are read: cut it, or make sentences of it."));
    }
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let (label, group, sentence, second) = match (columns, &fields[..]) {
        (Some(named), fields) if fields.len() == named.count => {
            let sentence = fields[named.sentence];
            let group = named.group.map_or(sentence, |group| fields[group]);
            (fields[named.label], group, sentence, named.second.map(|second| fields[second]))
        }
        (Some(named), fields) => {
            let (has, named) = (fields.len(), named.count);
            return Err(format!(
                "has {has} columns where the first line names {named}: write as many in each line, with a tab between them."
            ));
        }
        (None, [label, sentence]) => (*label, *sentence, *sentence, None),
        (None, [label, group, sentence]) => (*label, *group, *sentence, None),
        (None, [_]) => return Err(format!("has no tab: {LINE_FORMAT}")),
        (None, fields) => {
            let tabs = fields.len() - 1;
            return Err(format!(
                "has {tabs} tabs: write a label, a tab, if need be a group and a tab, and a sentence, or name the columns in the \
                 first line."
            ));
        }
    };
    let has_empty = [label, group, sentence, second.unwrap_or(sentence)].contains(&"");
    ensure!(!has_empty, format!("has an empty field: {LINE_FORMAT}"));
    let is_long = label.chars().count() > LONGEST_LABEL;
    ensure!(!is_long, format!("has a label of more than {LONGEST_LABEL} characters: {LINE_FORMAT}"));
    let text = second.map_or_else(|| sentence.to_owned(), |second| format!("{sentence}\n{second}"));
    Ok(LabelledLine { label: label.to_owned(), group: group.to_owned(), sentence: text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: impl AsRef<[u8]>) -> Result<LabelledLines, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sets.tsv");
        std::fs::write(&path, content).unwrap();
        LabelledLines::read(&path).map_err(|e| e.to_string())
    }

    #[test]
    fn labels_groups_and_sentences_are_read() {
        let all = read("\u{feff}# weather\n\nrain\tIt pours.\nsport\tmatch\tThey won.\r\nsport\tmatch\tThey lost.\nrain\tIt pours.\n").unwrap();
        let fields: Vec<_> =
            all.lines.iter().map(|l| (l.label.as_str(), l.group.as_str(), l.sentence.as_str())).collect();
        assert_eq!(fields[0], ("rain", "It pours.", "It pours."));
        assert_eq!(fields[1], ("sport", "match", "They won."));
        assert_eq!(all.labels(), [("rain", 1), ("sport", 1)]);
    }

    #[test]
    fn pairs_are_read_by_the_names_of_columns() {
        let fields = |all: &LabelledLines| -> Vec<[String; 3]> {
            all.lines.iter().map(|l| [&l.label, &l.group, &l.sentence].map(String::clone)).collect()
        };
        // as GLUE's QNLI has it
        let all =
            read("index\tquestion\tsentence\tlabel\n0\tWho rowed?\tMara did.\tyes\n1\tWho sang?\tIt rained.\tno\n");
        let want = [["yes", "Who rowed?", "Who rowed?\nMara did."], ["no", "Who sang?", "Who sang?\nIt rained."]];
        assert_eq!(fields(&all.unwrap()), want);
        let all = read("# pairs\nsentence1\tsentence2\tlabel\tgroup\nA.\tB.\t0\tx\nC.\tD.\t1\ty\n").unwrap();
        assert_eq!(fields(&all), [["0", "x", "A.\nB."], ["1", "y", "C.\nD."]]);
        // one file has a single sentence column, and one a first line that names no label
        assert_eq!(fields(&read("sentence\tlabel\nA.\t0\nB.\t1\n").unwrap())[1], ["1", "B.", "B."]);
        assert_eq!(fields(&read("good\tsentence\nbad\tA.\n").unwrap())[0], ["good", "sentence", "sentence"]);
    }

    #[test]
    fn errors_in_labelled_lines_name_their_line() {
        let long = format!("a\tb\na\t{}\n", "x".repeat(2001));
        for (content, words) in [
            (&b"a\tb\nno tab here\n"[..], "Line 2 of"),
            (b"a\tb\nno tab here\n", "has no tab: write a label, a tab and a sentence"),
            (b"a\tb\n\n\tc\n", "Line 3 of"),
            (b"a\tb\n\n\tc\n", "has an empty field"),
            (b"a\tb\tc\td\n", "has 3 tabs"),
            (b"sentence1\tsentence2\tlabel\na\tb\t0\nc\t1\n", "Line 3 of"),
            (b"sentence1\tsentence2\tlabel\na\tb\t0\nc\t1\n", "has 2 columns where the first line names 3"),
            (b"sentence1\tsentence2\tlabel\na\t\t0\n", "has an empty field"),
            (b"a\tb\na\tc\n", "has one label, `a`"),
            (b"# nothing\n", "has no sentence"),
            (b"a\tb\nb\t\xff\n", "Line 2 of"),
            (b"a\tb\nb\t\xff\n", "is not UTF-8: save the file as UTF-8"),
            (long.as_bytes(), "Line 2 of"),
            (long.as_bytes(), "has 2003 bytes, and at most 2000 are read"),
        ] {
            let said = read(content).unwrap_err();
            assert!(said.contains(words) && said.contains("sets.tsv"), "{words}: {said}");
        }
        let many: String = (0..65).map(|i| format!("{i}\tx\n")).collect();
        assert!(read(many).unwrap_err().contains("has 65 labels"));
        assert!(read("x".repeat(5 << 20)).unwrap_err().contains("cannot be read"));
        let missing = LabelledLines::read(Path::new("none.tsv")).unwrap_err().to_string();
        assert!(missing.contains("does not exist"), "{missing}");
    }

    #[test]
    fn a_concept_needs_enough_on_both_sides() {
        let lines = |a: usize, b: usize| -> String {
            let side = |label: &'static str, n: usize| (0..n).map(move |i| format!("{label}\tsentence {i}\n"));
            side("rain", a).chain(side("sport", b)).collect()
        };
        let all = read(lines(10, 12)).unwrap();
        assert_eq!((all.concept(None).unwrap(), all.concept(Some("sport")).unwrap()), ("rain", "sport"));
        let none = all.concept(Some("snow")).unwrap_err().to_string();
        assert!(none.contains("no label `snow`: choose one of rain, sport"), "{none}");
        for (a, b, words) in [(9, 30, "has 9 different sentences"), (30, 9, "with other labels")] {
            let said = read(lines(a, b)).unwrap().concept(None).unwrap_err().to_string();
            assert!(said.contains(words) && said.contains("at least 10 are needed"), "{said}");
        }
        // the same sentence again is no other one
        let again = format!("{}{}", "rain\tIt rains.\n".repeat(20), lines(0, 20));
        assert!(read(again).unwrap().concept(None).unwrap_err().to_string().contains("has 1 different"));
    }
}
