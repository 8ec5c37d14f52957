//! Short opinions with the labels `good` and `bad`. One clause in four has a *not*, which inverts the word after it, so
//! that words alone determine three labels of four; of two clauses the one after *but* counts.

use rand::seq::IndexedRandom;

use crate::corpus::{LabelledLine, LabelledLines, prelude::*};

/// The labels in the order of their numbers.
pub const LABELS: [&str; 2] = ["good", "bad"];
/// The number of sentences, which are all distinct.
pub const SENTENCES: usize = 4000;

const REVIEWED_THINGS: [&str; 16] = [
    "soup", "boat", "harbour", "garden", "letter", "lamp", "bread", "song", "story", "roof", "engine", "map", "winter",
    "answer", "road", "clock",
];
const WORDS: [[&str; 8]; 2] = [
    ["fine", "warm", "clear", "bright", "sound", "sweet", "kind", "clean"],
    ["poor", "dull", "bitter", "broken", "rotten", "cold", "grim", "dirty"],
];

/// Draws the sentences of a seed.
pub fn lines(rng: &mut ChaCha8Rng) -> LabelledLines {
    let mut seen = HashSet::new();
    let mut lines = Vec::with_capacity(SENTENCES);
    while lines.len() < SENTENCES {
        let label = rng.random_range(0..LABELS.len());
        let last = clause(rng, label);
        let sentence = match rng.random_bool(0.5) {
            true => {
                let first = rng.random_range(0..LABELS.len());
                format!("The {}, but the {last}.", clause(rng, first))
            }
            false => format!("The {last}."),
        };
        if seen.insert(sentence.clone()) {
            lines.push(LabelledLine { label: LABELS[label].to_owned(), group: sentence.clone(), sentence });
        }
    }
    LabelledLines { lines, name: "opinions (generated)".to_owned() }
}

/// "soup was not dull": good, like its label.
fn clause(rng: &mut ChaCha8Rng, label: usize) -> String {
    let thing = REVIEWED_THINGS.choose(rng).copied().unwrap_or_default();
    let turned = rng.random_bool(0.25);
    let words = &WORDS[if turned { 1 - label } else { label }];
    let word = words.choose(rng).copied().unwrap_or_default();
    format!("{thing} was {}{word}", if turned { "not " } else { "" })
}

#[cfg(test)]
mod tests {

    use super::*;

    /// Returns the label by the rule: that of the last word, inverted if a `not` precedes it.
    fn by_rule(sentence: &str) -> usize {
        let words: Vec<&str> = sentence.trim_end_matches('.').split(' ').collect();
        let [.., before, last] = words[..] else { panic!("{sentence}") };
        let of_word = WORDS.iter().position(|words| words.contains(&last)).unwrap();
        if before == "not" { 1 - of_word } else { of_word }
    }

    #[test]
    fn words_alone_tell_three_labels_of_four() {
        let all = lines(&mut ChaCha8Rng::seed_from_u64(3)).lines;
        assert_eq!(all.len(), SENTENCES);
        assert_eq!(all.iter().map(|l| &l.sentence).collect::<HashSet<_>>().len(), SENTENCES);
        let (mut good, mut plain) = (0, 0);
        for line in &all {
            let label = by_rule(&line.sentence);
            assert_eq!(LABELS[label], line.label, "{}", line.sentence);
            good += usize::from(label == 0);
            let last = line.sentence.trim_end_matches('.').rsplit(' ').next().unwrap();
            plain += usize::from(WORDS[label].contains(&last));
        }
        // all different short sentences are drawn, so that the shares of labels stay near those of the draw
        assert!((1800..2200).contains(&good), "{good}");
        assert!((2750..3150).contains(&plain), "{plain}");
    }
}
