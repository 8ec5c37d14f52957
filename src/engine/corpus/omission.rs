//! The characters of a generated text that a given vocabulary lacks. The user cannot edit such a text, so that it is
//! read without them, and the corpus says so; a text of the user's own is never changed.

use std::{collections::BTreeSet, fmt};

/// The advice where a generated text does not serve: the object of a sentence.
pub(super) const OWN_TEXT_ADVICE: &str = "a text of your own (`corpus.file`, `--text FILE`, or drop it on the window)";

/// The largest number of characters that a message names individually.
const MAX_NAMED: usize = 12;

/// The characters that are left out of a text because its vocabulary lacks them.
#[derive(Debug, Default)]
pub(super) struct Omission {
    chars: BTreeSet<char>,
    /// The number of their occurrences.
    omitted: usize,
    /// The number of characters of the whole text.
    total: usize,
}

impl Omission {
    /// The next part of the text, without the characters that are not known.
    pub(super) fn strip(&mut self, text: &str, is_known: &dyn Fn(char) -> bool) -> String {
        let mut kept = String::with_capacity(text.len());
        for char in text.chars() {
            self.total += 1;
            if is_known(char) {
                kept.push(char);
            } else {
                self.omitted += 1;
                self.chars.insert(char);
            }
        }
        kept
    }

    /// The number of different characters.
    pub(super) fn len(&self) -> usize {
        self.chars.len()
    }

    /// True if less than half of the text is left.
    pub(super) fn exceeds_half(&self) -> bool {
        2 * self.omitted > self.total
    }
}

impl fmt::Display for Omission {
    /// "2 of its characters ('&' '3'; 0.4% of it)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.chars.iter().take(MAX_NAMED).map(|char| format!("{char:?}")).collect();
        let more = match self.len() - named.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let percent = 100.0 * self.omitted as f64 / self.total.max(1) as f64;
        write!(f, "{} of its characters ({}{more}; {percent:.1}% of it)", self.len(), named.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_characters_are_left_out_and_counted_over_all_parts() {
        let mut omission = Omission::default();
        let is_known = |c: char| c.is_ascii_lowercase();
        assert_eq!((omission.strip("abc", &is_known), omission.len()), ("abc".to_owned(), 0));
        assert_eq!(omission.strip("a&b&c3", &is_known), "abc");
        assert_eq!(omission.to_string(), "2 of its characters ('&' '3'; 33.3% of it)");
        assert!(!omission.exceeds_half());
        assert_eq!(omission.strip("0123456789", &is_known), "");
        assert!(omission.exceeds_half() && omission.len() == 11);
        omission.strip("ABC", &is_known);
        assert!(omission.to_string().contains("'A' and 2 more;"), "{omission}");
    }
}
