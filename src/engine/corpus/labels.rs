//! Sentences under labels as a stream for classification: a row of a batch is one sentence, and its only target is the
//! number of its label, at the sentence's last token. Sentences of one group lie in one part, to learn from or held
//! out. Two sentences under one label are in one row with a separator between them.

use std::ops::Range;

use super::{
    LabelledLines,
    generated::opinions,
    permutation::permute,
    prelude::*,
    stream::{IGNORE, Stream},
    tokenizer::Tokenizer,
};

/// Labelled sentences to classify.
#[derive(Debug, Clone, PartialEq)]
pub struct Labels {
    /// A file of labelled lines ([`LabelledLines`]); `None` for the generated opinions.
    pub own: Option<PathBuf>,
    /// The number of different labels; a classification head has a row for each.
    pub classes: usize,
}

/// A sentence, or a pair of them, with the number of its label.
struct Line {
    text: String,
    label: u32,
    /// Empty until the tokeniser is known.
    ids: Vec<u32>,
    /// The ids of a pair that lie between its two sentences; at the end, and none, where there is one sentence.
    between: Range<usize>,
}

impl Line {
    fn new(text: String, label: u32) -> Self {
        Self { text, label, ids: vec![], between: 0..0 }
    }

    /// Finds the ids. Between the sentences of a pair stands a separator, as BERT's inputs have it.
    fn encode(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        let part = |text: &str| match tokenizer.encode(text)? {
            ids if ids.is_empty() => Err(CorpusError::new(format!(
                "the sentence \u{201c}{text}\u{201d} has no token: take it out or choose other tokens."
            ))),
            ids => Ok(ids),
        };
        let (first, second) = self.text.split_once('\n').unwrap_or((self.text.as_str(), ""));
        let mut ids = part(first)?;
        self.between = ids.len()..ids.len();
        if !second.is_empty() {
            ids.extend(tokenizer.separator()?);
            self.between.end = ids.len();
            ids.extend(part(second)?);
        }
        self.ids = ids;
        Ok(())
    }

    /// The ids that a window has room for: the beginning of a sentence, or of both sentences of a pair, where the
    /// longer one is cut first.
    fn fit_to_window(&self, len: usize) -> Vec<u32> {
        let (first, rest) = self.ids.split_at(self.between.start);
        let (separator, second) = rest.split_at(self.between.len());
        let room = len.saturating_sub(separator.len());
        let of_second = second.len().min((room / 2).max(room.saturating_sub(first.len())));
        let of_first = first.len().min(room - of_second);
        let parts = [&first[..of_first], separator, &second[..of_second]];
        parts.concat().into_iter().take(len).collect()
    }
}

pub(super) struct LabelStream {
    name: String,
    classes: usize,
    train: Vec<Line>,
    held_out: Vec<Line>,
    seed: u64,
}

impl LabelStream {
    /// Reads or draws the sentences and holds out this share of the groups of each label, at least one. Errors: the
    /// file cannot be read, has one label alone or another number of them, or has a label with too few different
    /// sentences.
    pub(super) fn open(labels: &Labels, held_out: f64, seed: u64) -> Result<Self, CorpusError> {
        let all = match &labels.own {
            Some(path) => LabelledLines::read(path)?,
            None => opinions::lines(&mut ChaCha8Rng::seed_from_u64(scramble(seed))),
        };
        let name = &all.name;
        let names: Vec<&str> = all.labels().into_iter().map(|(label, _)| label).collect();
        if names.len() != labels.classes {
            let (found, asked) = (names.len(), labels.classes);
            return Err(CorpusError::new(format!(
                "{name} has {found} labels ({}), and the classification head is to have {asked}: set the number of labels to {found}.",
                names.join(", ")
            )));
        }
        let apart = held_out_groups(&all, &names, held_out, seed);
        let number: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let (mut train, mut tested) = (vec![], vec![]);
        for line in &all.lines {
            let part = if apart.contains(line.group.as_str()) { &mut tested } else { &mut train };
            let label = number.get(line.label.as_str()).copied().unwrap_or_default();
            part.push(Line::new(line.sentence.clone(), label));
        }
        for (part, which) in [(&train, "to learn from"), (&tested, "to hold out")] {
            if let Some(label) = (0..).zip(&names).find(|(n, _)| part.iter().all(|line| line.label != *n)) {
                return Err(CorpusError::new(format!(
                    "{name} has no sentence with the label `{}` {which}: each label needs at least two different sentences (or groups), which no other label has.",
                    label.1
                )));
            }
        }
        // the first windows of the held-out part mix the labels, whatever the order of the file
        let count = tested.len() as u64;
        let mut order: Vec<(u64, Line)> =
            (0..count).zip(tested).map(|(i, line)| (permute(i, count, scramble(seed)), line)).collect();
        order.sort_by_key(|(place, _)| *place);
        let held_out = order.into_iter().map(|(_, line)| line).collect();
        Ok(Self { name: name.clone(), classes: labels.classes, train, held_out, seed })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Builds rows of one sentence or pair each. A longer one is truncated to the window; a shorter one is padded with
    /// id 0, which a causal model reads only after it has answered.
    fn windows<'a>(lines: impl Iterator<Item = &'a Line>, len: usize) -> Windows {
        let mut made = Windows { rows: 0, len, inputs: vec![], targets: vec![], answers: None };
        let mut answers = vec![];
        for line in lines {
            let (first, ids) = (made.inputs.len(), line.fit_to_window(len));
            made.inputs.extend(&ids);
            made.inputs.resize(first + len, 0);
            made.targets.resize(first + len, IGNORE);
            answers.resize(first + len, false);
            if let Some(last) = ids.len().checked_sub(1) {
                made.targets[first + last] = line.label;
                answers[first + last] = true;
            }
            made.rows += 1;
        }
        Windows { answers: Some(answers), ..made }
    }
}

/// The groups that are held out. A group of several labels goes with the first of them.
fn held_out_groups<'a>(all: &'a LabelledLines, names: &[&str], share: f64, seed: u64) -> HashSet<&'a str> {
    let (mut known, mut apart) = (HashSet::new(), HashSet::new());
    for (label, name) in (0..).zip(names) {
        let of_label = all.lines.iter().filter(|line| line.label == *name).map(|line| line.group.as_str());
        let groups: Vec<&str> = of_label.filter(|group| known.insert(*group)).collect();
        let count = groups.len() as u64;
        let held = ((count as f64 * share).round() as u64).clamp(1, count.saturating_sub(1).max(1));
        let key = scramble(seed ^ scramble(label));
        let places = (0..count).map(|i| permute(i, count, key));
        apart.extend(groups.iter().zip(places).filter(|(_, place)| *place < held).map(|(group, _)| *group));
    }
    apart
}

impl Stream for LabelStream {
    fn describe(&self) -> String {
        let (all, held) = (self.train.len() + self.held_out.len(), self.held_out.len());
        format!("{all} sentences with {} labels, {held} of them held out", self.classes)
    }

    fn sample(&self) -> Result<String, CorpusError> {
        Ok(self.train.iter().chain(&self.held_out).map(|line| format!("{}\n", line.text)).collect())
    }

    /// Encodes every sentence once.
    fn measure(&mut self, tokenizer: &Tokenizer) -> Result<(), CorpusError> {
        for line in self.train.iter_mut().chain(&mut self.held_out) {
            line.encode(tokenizer).map_err(|e| e.with_subject(&self.name))?;
        }
        Ok(())
    }

    /// The share of the most frequent label among the held-out sentences.
    fn chance_accuracy(&self) -> Option<f64> {
        let counts = (0..self.classes).map(|c| self.held_out.iter().filter(|line| line.label as usize == c).count());
        Some(counts.max()? as f64 / self.held_out.len().max(1) as f64)
    }

    /// Draws without replacement: every sentence is used once before any is used again.
    fn batch(&self, _: &Tokenizer, at: &Position, rows: usize, len: usize) -> Result<Windows, CorpusError> {
        let (first, count) = (at.drawn.wrapping_mul(rows as u64), self.train.len() as u64);
        let key = scramble(self.seed ^ scramble(at.seed));
        let drawn = (0..rows as u64).map(|row| {
            let draw = first.wrapping_add(row);
            &self.train[permute(draw % count, count, scramble(key ^ (draw / count))) as usize]
        });
        Ok(Self::windows(drawn, len))
    }

    fn held_out(&self, _: &Tokenizer, count: usize, len: usize) -> Result<Windows, CorpusError> {
        Ok(Self::windows(self.held_out.iter().take(count), len))
    }

    fn passage(&self, _: &Tokenizer, index: u64, len: usize) -> Vec<u32> {
        let line = self.held_out.get((index % self.held_out.len().max(1) as u64) as usize);
        line.map_or_else(Vec::new, |line| line.fit_to_window(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::{Corpus, CorpusSpec, Source};

    fn open(own: Option<PathBuf>, classes: usize) -> Result<Corpus, CorpusError> {
        Corpus::open(&CorpusSpec {
            held_out: 0.25,
            seed: 5,
            ..CorpusSpec::new(Source::Labels(Labels { own, classes }), TokenizerSpec::Byte { vocab: 256 })
        })
    }

    fn file(lines: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sets.tsv");
        std::fs::write(&path, lines).unwrap();
        (folder, path)
    }

    /// The text, the label and its place of each row.
    fn rows(corpus: &Corpus, windows: &Windows) -> Vec<(String, u32, usize)> {
        let answers = windows.answers.as_ref().unwrap();
        (0..windows.rows)
            .map(|row| {
                let span = row * windows.len..(row + 1) * windows.len;
                let targets = &windows.targets[span.clone()];
                let asked: Vec<usize> = (0..windows.len).filter(|i| targets[*i] != IGNORE).collect();
                let [place] = asked[..] else { panic!("one target a row: {targets:?}") };
                assert!((0..windows.len).all(|i| answers[span.start + i] == (i == place)));
                let ids = &windows.inputs[span];
                assert!(ids[place + 1..].iter().all(|id| *id == 0));
                (corpus.decode(&ids[..=place]), targets[place], place)
            })
            .collect()
    }

    #[test]
    fn a_sentence_lies_in_one_part_and_its_label_at_its_end() {
        let corpus = open(None, 2).unwrap();
        let held = rows(&corpus, &corpus.held_out(5000, 80).unwrap());
        assert!(held.len().abs_diff(opinions::SENTENCES / 4) <= 1, "{}", held.len());
        let pass = (opinions::SENTENCES - held.len()) as u64 / 50;
        let at = |drawn| Position { seed: 1, drawn };
        let drawn: Vec<_> =
            (0..pass).flat_map(|i| rows(&corpus, &corpus.batch(&at(i), 50, 80).unwrap())).map(|r| r.0).collect();
        let distinct: HashSet<&String> = drawn.iter().collect();
        assert_eq!(distinct.len(), drawn.len(), "a pass has each sentence once");
        assert!(held.iter().all(|(text, _, place)| !distinct.contains(text) && *place + 1 == text.len()));
        assert_ne!(corpus.batch(&at(0), 50, 80).unwrap(), corpus.batch(&at(pass), 50, 80).unwrap(), "passes differ");
        let bad = held.iter().filter(|row| row.1 == 1).count() as f64 / held.len() as f64;
        assert!((corpus.chance_accuracy().unwrap() - bad.max(1.0 - bad)).abs() < 1e-12);
        let cut = rows(&corpus, &corpus.held_out(9, 6).unwrap());
        assert!(cut.iter().all(|(text, _, place)| *place == 5 && text.len() == 6), "a long sentence is cut at its end");
    }

    #[test]
    fn a_pair_stands_in_one_row_and_its_longer_sentence_is_cut() {
        let line = |i: usize| format!("{i}\tIs it {i}?\tIt is {}, as was said before.\t{}\n", i + i % 2, i % 2);
        let lines: String = (0..16).map(line).collect();
        let (_folder, path) = file(&format!("index\tsentence1\tsentence2\tlabel\n{lines}"));
        let corpus = open(Some(path), 2).unwrap();
        for (len, second) in [(60, "as was said before."), (24, ",")] {
            let held = rows(&corpus, &corpus.held_out(16, len).unwrap());
            assert_eq!(held.len(), 4);
            for (text, label, place) in held {
                let (first, rest) = text.split_once('\n').unwrap();
                let number: u32 = first.trim_start_matches("Is it ").trim_end_matches('?').parse().unwrap();
                let answer = format!("It is {}", number + number % 2);
                assert!(label == number % 2 && rest.starts_with(&answer) && rest.contains(second), "{text}");
                assert_eq!((place + 1, text.len()), (text.len(), text.len().min(len)));
            }
        }
        // with room for little both are cut, and a window of one token holds one
        let both = |len| rows(&corpus, &corpus.held_out(1, len).unwrap()).remove(0).0;
        assert_eq!((both(9).as_str(), both(1).as_str()), ("Is i\nIt i", "\n"));
    }

    #[test]
    fn a_premise_lies_in_one_part() {
        let line = |i: usize| format!("premise {}\thypothesis {i}\t{}\n", i / 2, ["yes", "no"][i % 2]);
        let lines: String = (0..40).map(line).collect();
        let (_folder, path) = file(&format!("sentence1\tsentence2\tgold_label\n{lines}"));
        let corpus = open(Some(path), 2).unwrap();
        let premises = |windows: &Windows| -> HashSet<String> {
            let texts = rows(&corpus, windows).into_iter().map(|row| row.0);
            texts.filter_map(|text| Some(text.split_once('\n')?.0.to_owned())).collect()
        };
        let held = premises(&corpus.held_out(40, 40).unwrap());
        assert_eq!(held.len(), 5);
        let train = premises(&corpus.batch(&Position { seed: 2, drawn: 0 }, 30, 40).unwrap());
        assert!(train.len() == 15 && train.is_disjoint(&held));
    }

    #[test]
    fn groups_are_not_torn_apart() {
        let line = |label: &str, i: usize| format!("{label}\tgroup {label} {}\tsentence {i}\n", i / 3);
        let (_folder, path) = file(&(0..60).map(|i| line(["a", "b"][i % 2], i)).collect::<String>());
        let corpus = open(Some(path), 2).unwrap();
        let group = |text: &str| text.trim_start_matches("sentence ").parse::<usize>().unwrap() / 3;
        let groups = |windows: &Windows| -> HashSet<(usize, u32)> {
            rows(&corpus, windows).iter().map(|(text, label, _)| (group(text), *label)).collect()
        };
        let held = groups(&corpus.held_out(60, 20).unwrap());
        // 20 groups of each label, a quarter of which is held out
        assert_eq!(held.len(), 10);
        let train = groups(&corpus.batch(&Position { seed: 2, drawn: 0 }, 40, 20).unwrap());
        assert!(train.is_disjoint(&held), "a group is learned from and asked");
    }

    #[test]
    fn labels_that_do_not_fit_the_settings_are_refused_with_a_reason() {
        let (_folder, three) = file("a\tx\nb\ty\nc\tz\na\tu\nb\tv\nc\tw\n");
        let said = open(Some(three), 2).err().unwrap().to_string();
        assert!(said.contains("has 3 labels (a, b, c)") && said.contains("set the number of labels to 3"), "{said}");
        let (_folder, single) = file("a\tx\nb\ty\na\tz\n");
        let said = open(Some(single), 2).err().unwrap().to_string();
        assert!(said.contains("the label `b`") && said.contains("at least two different sentences"), "{said}");
        let (_folder, one) = file("a\tx\na\ty\n");
        let said = open(Some(one), 2).err().unwrap().to_string();
        assert!(said.contains("has one label, `a`") && said.contains("at least one other label"), "{said}");
        assert!(!said.contains("set the number of labels"), "no setting mends it: {said}");
        let said = open(Some("none.tsv".into()), 2).err().unwrap().to_string();
        assert!(said.contains("does not exist"), "{said}");
    }
}
