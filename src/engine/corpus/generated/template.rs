//! Templates: the one notation in which all data of the generated corpora is written. `{slot}` is a gap that a writer
//! fills, and `[x|y]` are alternatives, nested at will; it chooses one. The README of `assets/corpora` lists the
//! slots of each writer.

use crate::corpus::prelude::*;

/// A writer, which fills the gaps of a template.
pub(super) trait Expand {
    /// Appends the text that replaces `{slot}`.
    fn slot(&mut self, slot: &str, out: &mut String);

    /// Chooses one of `count` alternatives.
    fn choose(&mut self, count: usize) -> usize;

    fn expand(&mut self, template: &str, out: &mut String) {
        let mut rest = template;
        while let Some(at) = rest.find(['[', '{']) {
            out.push_str(&rest[..at]);
            let inside = &rest[at + 1..];
            if rest.as_bytes()[at] == b'{' {
                let (slot, after) = inside.split_once('}').unwrap_or((inside, ""));
                self.slot(slot, out);
                rest = after;
            } else {
                let (alternatives, after) = alternatives(inside);
                let chosen = self.choose(alternatives.len());
                self.expand(alternatives.get(chosen).copied().unwrap_or_default(), out);
                rest = after;
            }
        }
        out.push_str(rest);
    }
}

/// The alternatives of a `[..|..]` whose opening bracket has been read, and what comes after it.
fn alternatives(inside: &str) -> (Vec<&str>, &str) {
    let (mut depth, mut from, mut found) = (0usize, 0usize, vec![]);
    for (at, c) in inside.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 0 => {
                found.push(&inside[from..at]);
                return (found, &inside[at + 1..]);
            }
            ']' => depth -= 1,
            '|' if depth == 0 => {
                found.push(&inside[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&inside[from..]);
    (found, "")
}

/// Lists of words, or of templates, by name.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Lexicon(HashMap<String, Vec<String>>);

impl Lexicon {
    /// Returns the list of this name.
    ///
    /// # Panics
    /// If there is none: an error of the data, which the tests of [`super::data`] look for.
    pub fn list(&self, name: &str) -> &[String] {
        self.0.get(name).unwrap_or_else(|| panic!("the lexicon has no list `{name}`"))
    }

    /// A word of the list of this name.
    pub fn pick(&self, rng: &mut ChaCha8Rng, name: &str) -> &str {
        pick_str(rng, self.list(name))
    }
}

/// At least `size` bytes of text, to which `add` appends piece after piece.
pub(super) fn fill_to_size(size: usize, mut add: impl FnMut(&mut String)) -> String {
    let mut text = String::with_capacity(size + 1024);
    while text.len() < size {
        add(&mut text);
    }
    text
}

/// Draws one of several values with equal probability.
pub(super) fn pick<T: Copy>(rng: &mut ChaCha8Rng, from: &[T]) -> T {
    from[rng.random_range(0..from.len())]
}

pub(super) fn pick_str<'a>(rng: &mut ChaCha8Rng, from: &'a [String]) -> &'a str {
    &from[rng.random_range(0..from.len())]
}
