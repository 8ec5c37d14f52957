//! Sentences with and without a concept, each on a side of the split: made from the parliament's labelled sentences,
//! from two lists of a person's own, or from a file of labelled sentences.

use std::collections::HashMap;

use crate::corpus::{
    Corpus, CorpusError, LabelledLines,
    generated::parliament::{
        CODES, Class, Extent,
        labelled::{SplitSide, sentences},
    },
};

/// The extent of the sentences: as much of the parliament as the corpus has, or all of it if the corpus is another one.
pub fn extent(corpus: &Corpus, naive: bool) -> Extent {
    let whole = if naive { Extent::NAIVE } else { Extent::WHOLE };
    corpus.source().parliament().filter(|e| e.naive == naive).unwrap_or(whole)
}

/// The presets: the id, the class of nouns that is the concept, and whether the naive corpus is used.
pub const PRESETS: [(&str, Class, bool); 4] = [
    ("currency", Class::Currency, false),
    ("country", Class::Country, false),
    ("currency_naive", Class::Currency, true),
    ("country_naive", Class::Country, true),
];

/// The English sentences of a preset, a line each; empty where there is no such preset.
pub fn english_sentences(id: &str) -> String {
    let Some(&(_, concept, naive)) = PRESETS.iter().find(|p| p.0 == id) else { return String::new() };
    let all = sentences(concept, if naive { &Extent::NAIVE } else { &Extent::WHOLE });
    all.iter().filter(|s| s.language == 0).flat_map(|s| [s.text.as_str(), "\n"]).collect()
}

/// A sentence in the form that the search reads.
#[derive(Debug, Clone, PartialEq)]
pub struct ConceptSentence {
    /// The ids of its tokens; never empty.
    pub ids: Vec<u32>,
    /// Index into [`ConceptQuestion::languages`].
    pub language: usize,
    /// Index into [`ConceptQuestion::nouns`]: sentences about one noun, in whatever language, are drawn together.
    pub noun: usize,
    /// The side of the split that the sentence belongs to.
    pub part: SplitSide,
    /// True if the sentence has the concept.
    pub has_concept: bool,
}

/// A subject of sentences.
#[derive(Debug, Clone, PartialEq)]
pub struct Noun {
    /// The noun in the first language that has it; of own sentences the sentence or its group.
    pub name: String,
    /// Kind of noun: "currency"; of own sentences "with" or "without", or their label.
    pub class: String,
    /// True if the noun stands for the concept.
    pub has_concept: bool,
}

/// The origin of the sentences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SentenceOrigin {
    /// Sentences of the parliament: nouns in frames; half of both are kept to confirm.
    Parliament,
    /// Sentences of the user; every second one, or every second group, confirms.
    #[default]
    Own,
}

/// A concept and its sentences.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConceptQuestion {
    /// The name of the concept: "currency", "own sentences", the label of a file.
    pub concept: String,
    /// The other labels of a file, against which the concept stands; empty where the concept names its contrast.
    pub contrast: Vec<String>,
    /// The origin of the sentences.
    pub origin: SentenceOrigin,
    /// The names of the languages.
    pub languages: Vec<String>,
    /// The nouns of all sentences.
    pub nouns: Vec<Noun>,
    /// The sentences.
    pub items: Vec<ConceptSentence>,
}

impl ConceptQuestion {
    /// The question of a preset. With `rehearsal` the confirmation half is left alone: the search half is split once
    /// more, nouns by nouns and frames of the training text against fresh ones, so that a procedure can be
    /// chosen without looking. None if there is no such preset.
    pub fn preset(id: &str, corpus: &Corpus, rehearsal: bool) -> Option<Self> {
        let &(_, concept, naive) = PRESETS.iter().find(|p| p.0 == id)?;
        Some(Self::from_parliament(concept, &extent(corpus, naive), rehearsal, &|text| corpus.encode(text)))
    }

    /// The question of a preset in the languages whose every character `encode` knows, and the codes of those that are left
    /// out, or `None` if there is no such preset.
    ///
    /// # Errors
    /// If no language is left, with what is missing.
    pub fn built_in(
        id: &str,
        encode: &dyn Fn(&str) -> Result<Vec<u32>, CorpusError>,
    ) -> Option<Result<(Self, Vec<&'static str>), CorpusError>> {
        let &(_, concept, naive) = PRESETS.iter().find(|p| p.0 == id)?;
        let extent = if naive { Extent::NAIVE } else { Extent::WHOLE };
        let mut unsaid: Vec<Option<CorpusError>> = (0..extent.languages).map(|_| None).collect();
        for s in sentences(concept, &extent) {
            if unsaid[s.language].is_none() {
                unsaid[s.language] = encode(&s.text).err();
            }
        }
        let (left, out): (Vec<usize>, Vec<usize>) = (0..extent.languages).partition(|l| unsaid[*l].is_none());
        if left.is_empty() {
            return unsaid.into_iter().flatten().next().map(Err);
        }
        let mut question = Self::from_parliament(concept, &extent, false, &|text| encode(text).unwrap_or_default());
        question.items.retain(|item| left.contains(&item.language));
        question.items.iter_mut().for_each(|item| item.language = left.partition_point(|l| *l < item.language));
        question.languages = left.into_iter().map(|l| CODES[l].to_owned()).collect();
        Some(Ok((question, out.into_iter().map(|l| CODES[l]).collect())))
    }

    fn from_parliament(concept: Class, extent: &Extent, rehearsal: bool, encode: &dyn Fn(&str) -> Vec<u32>) -> Self {
        let mut question = Self {
            concept: concept.name().to_owned() + if extent.naive { ", naive corpus" } else { "" },
            origin: SentenceOrigin::Parliament,
            languages: CODES.iter().take(extent.languages).map(|c| (*c).to_owned()).collect(),
            ..Self::default()
        };
        let mut known = vec![];
        for s in sentences(concept, extent) {
            let noun = known.iter().position(|k| *k == (s.class, s.entity)).unwrap_or_else(|| {
                known.push((s.class, s.entity));
                let (name, class) = (s.name.to_owned(), s.class.name().to_owned());
                question.nouns.push(Noun { name, class, has_concept: s.has_concept });
                known.len() - 1
            });
            let part = match (rehearsal, s.part) {
                (false, part) => part,
                // Nouns come in pairs, one with and one without the concept.
                (true, SplitSide::Search) => match (noun / 2 % 2 == 1, s.is_new_frame) {
                    (false, false) => SplitSide::Search,
                    (true, false) => SplitSide::NewNouns,
                    (false, true) => SplitSide::NewFrames,
                    (true, true) => SplitSide::BothNew,
                },
                (true, _) => continue,
            };
            let ids = encode(&s.text);
            if !ids.is_empty() {
                let (language, has_concept) = (s.language, s.has_concept);
                question.items.push(ConceptSentence { ids, language, noun, part, has_concept });
            }
        }
        question
    }

    /// The question of two lists, one sentence per line; every second one confirms. A line may name its language
    /// as the corpus does (`<F:en>...`).
    ///
    /// # Errors
    /// If a list has fewer than four sentences or a sentence has no tokens.
    pub fn from_lists(with: &str, without: &str, corpus: &Corpus) -> Result<Self, String> {
        let mut question = Self { concept: "own sentences".to_owned(), ..Self::default() };
        for (text, with) in [(with, true), (without, false)] {
            let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
            let name = if with { "with" } else { "without" };
            if lines.len() < 4 {
                return Err(format!(
                    "There are {} sentences {name} the concept: at least 4 are needed, half to search with and half to confirm with.",
                    lines.len()
                ));
            }
            for (i, line) in lines.iter().enumerate() {
                let language = question.language_of(line);
                let ids = corpus.encode(line);
                ensure!(!ids.is_empty(), format!("\"{line}\" has no tokens that this corpus's tokeniser can encode."));
                let part = if i % 2 == 0 { SplitSide::Search } else { SplitSide::BothNew };
                let noun = question.nouns.len();
                question.nouns.push(Noun { name: (*line).to_owned(), class: name.to_owned(), has_concept: with });
                question.items.push(ConceptSentence { ids, language, noun, part, has_concept: with });
            }
        }
        Ok(question)
    }

    /// The index of the language that a sentence names as the corpus does (`<F:en>...`); one for all that name none.
    fn language_of(&mut self, sentence: &str) -> usize {
        let code = sentence.strip_prefix("<F:").and_then(|l| l.split_once('>')).map_or("all", |(code, _)| code);
        self.languages.iter().position(|l| l == code).unwrap_or_else(|| {
            self.languages.push(code.to_owned());
            self.languages.len() - 1
        })
    }

    /// The question of a file: sentences with this label against those with any other. Of each label every second
    /// group, in the order of the file, confirms; sentences of a group are on one side and are drawn together.
    ///
    /// # Errors
    /// If the tokeniser cannot say a sentence.
    pub fn from_lines(
        lines: &LabelledLines,
        concept: &str,
        encode: &dyn Fn(&str) -> Result<Vec<u32>, CorpusError>,
    ) -> Result<Self, String> {
        let mut question = Self { concept: concept.to_owned(), ..Self::default() };
        // the index of each noun, by label and group, among the nouns of its label
        let mut known: HashMap<(&str, &str), usize> = HashMap::new();
        let mut of_label: HashMap<&str, usize> = HashMap::new();
        let mut part_of: Vec<SplitSide> = vec![];
        // the concept is first, wherever the file has it
        let (own, others): (Vec<_>, Vec<_>) = lines.lines.iter().partition(|line| line.label == concept);
        for line in own.into_iter().chain(others) {
            let with = line.label == concept;
            if !with && !question.contrast.contains(&line.label) {
                question.contrast.push(line.label.clone());
            }
            let noun = *known.entry((&line.label, &line.group)).or_insert_with(|| {
                let place = of_label.entry(&line.label).or_default();
                part_of.push(if place.is_multiple_of(2) { SplitSide::Search } else { SplitSide::BothNew });
                *place += 1;
                question.nouns.push(Noun { name: line.group.clone(), class: line.label.clone(), has_concept: with });
                question.nouns.len() - 1
            });
            let ids = encode(&line.sentence).map_err(|e| format!("\"{}\": {e}", line.sentence))?;
            ensure!(!ids.is_empty(), format!("\"{}\" has no tokens that the tokeniser can encode.", line.sentence));
            let language = question.language_of(&line.sentence);
            question.items.push(ConceptSentence { ids, language, noun, part: part_of[noun], has_concept: with });
        }
        Ok(question)
    }

    /// Returns the sentences on this side of the split.
    pub fn items_in(&self, part: SplitSide) -> impl Iterator<Item = &ConceptSentence> {
        self.items.iter().filter(move |i| i.part == part)
    }

    /// The label of the concept: "currency", "weather against sport, food".
    pub fn label(&self) -> String {
        match self.contrast.as_slice() {
            [] => self.concept.clone(),
            some => format!("\u{201c}{}\u{201d} against {}", self.concept, some.join(", ")),
        }
    }

    /// A description for `about`.
    pub fn describe(&self) -> String {
        let count = |part| {
            let with = self.items_in(part).filter(|i| i.has_concept).count();
            (with, self.items_in(part).filter(|i| !i.has_concept).count())
        };
        let ((a, b), (c, d)) = (count(SplitSide::Search), count(SplitSide::BothNew));
        format!("{}: searched with {a} + {b} sentences, confirmed with {c} + {d}", self.label())
    }
}
