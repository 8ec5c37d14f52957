//! One to eight domains that have nothing in common but letters, mixed document by document, so that the coherence of a
//! text is a number. The length of the text does not depend on the number of domains, so that only its coherence
//! changes.

mod structured;

use super::{Generated, Recipe, parliament, prose, theme::HARBOUR};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use crate::random::scramble;

pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "domains",
    title: "Domains",
    about: "One to eight domains with nothing in common, document by document: harbour stories, code, French debates, a log, tunes, sums, German debates, a catalogue.",
    recipe: Recipe::Domains,
};

/// Writes at least this many bytes.
type Write = fn(&mut ChaCha8Rng, usize) -> String;

/// The domains; a text of n has the first n.
const DOMAINS: [Write; 8] = [
    |rng, size| prose::text(rng, size, &[&HARBOUR]),
    structured::code,
    |rng, size| parliament::debate(rng, size, 1),
    structured::server_log,
    structured::abc_tunes,
    structured::sums,
    |rng, size| parliament::debate(rng, size, 3),
    structured::catalogue,
];

/// The largest number of domains that a text mixes.
pub const MAX_DOMAINS: usize = DOMAINS.len();

/// The indices of the stories and of the debates.
pub(super) const STORIES: usize = 0;
pub(super) const DEBATES: [usize; 2] = [2, 6];

/// The names of the domains, in their order.
pub const NAMES: [&str; MAX_DOMAINS] =
    ["harbour stories", "code", "French debates", "a log", "tunes", "sums", "German debates", "a catalogue"];

/// A document has at least this many bytes, and at most half as many again and a little.
const DOCUMENT: usize = 500;
const MAX_DOCUMENT: usize = 900;
const DOCUMENT_SEPARATOR: &str = "\n\n";

/// Exactly `size` bytes of the first `count` domains (1 to [`MAX_DOMAINS`]), each with as large a share. What a domain
/// says depends on the seed alone and not on which others there are.
pub fn text(seed: u64, size: usize, count: usize) -> String {
    let count = count.clamp(1, MAX_DOMAINS);
    let texts = (0..count).map(|domain| single_domain(seed, size / count + 2 * MAX_DOCUMENT, domain));
    mixed(seed, size, &texts.collect::<Vec<_>>())
}

/// At least `size` bytes of one domain, of 0 to [`MAX_DOMAINS`] - 1 (the last of them for more).
pub fn single_domain(seed: u64, size: usize, domain: usize) -> String {
    let domain = domain.min(MAX_DOMAINS - 1);
    let mut rng = ChaCha8Rng::seed_from_u64(scramble(seed ^ scramble(domain as u64 + 1)));
    DOMAINS[domain](&mut rng, size)
}

/// At most `size` bytes of these texts, cut into documents of some hundred letters and mixed in rounds: in each,
/// every text gives a document, in an order of the seed's. Shorter where a text ends.
pub(in crate::corpus) fn mixed(seed: u64, size: usize, texts: &[String]) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(scramble(seed));
    let mut rests: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut given = vec![0; texts.len()];
    let mut order: Vec<usize> = (0..texts.len()).collect();
    let mut out = String::with_capacity(size + MAX_DOCUMENT);
    for round in 1.. {
        order.shuffle(&mut rng);
        for &domain in &order {
            // a domain waits while it has contributed more bytes than the others
            while given[domain] < round * DOCUMENT && out.len() < size {
                let Some((document, rest)) = document(rests[domain]) else { return out };
                rests[domain] = rest;
                given[domain] += document.len() + DOCUMENT_SEPARATOR.len();
                out.push_str(document);
                out.push_str(DOCUMENT_SEPARATOR);
            }
        }
        if out.len() >= size {
            break;
        }
    }
    out.truncate(out.floor_char_boundary(size));
    out
}

/// The first document of a text, without line breaks around it, and the rest: it ends with a paragraph where one ends,
/// else with a line, else with a word. `None` where nothing is left.
fn document(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(['\n', '\r']);
    if text.trim().is_empty() {
        return None;
    }
    let from = text.floor_char_boundary(DOCUMENT);
    let to = text.floor_char_boundary(MAX_DOCUMENT);
    let ends = ["\n\n", "\n", " "].iter().find_map(|end| text[from..to].find(end));
    let end = match ends {
        Some(at) => from + at,
        None if text.len() <= MAX_DOCUMENT => text.len(),
        None => to,
    };
    let (document, rest) = text.split_at(end);
    Some((document.trim_end(), rest))
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    #[test]
    fn a_text_is_as_long_whatever_its_number_of_domains() {
        for count in 1..=MAX_DOMAINS {
            assert_eq!(text(3, 120_000, count).len(), 120_000, "{count} domains");
        }
    }

    /// Shares of the pairs of letters.
    fn pairs(text: &str) -> HashMap<[u8; 2], f64> {
        let mut counts = HashMap::new();
        text.as_bytes().windows(2).for_each(|w| *counts.entry([w[0], w[1]]).or_insert(0.0) += 1.0);
        let all = text.len().max(2) as f64 - 1.0;
        counts.into_iter().map(|(pair, n)| (pair, n / all)).collect()
    }

    /// The overlap of two distributions, 0 to 1.
    fn shared(a: &HashMap<[u8; 2], f64>, b: &HashMap<[u8; 2], f64>) -> f64 {
        a.iter().map(|(pair, p)| p.min(b.get(pair).copied().unwrap_or(0.0))).sum()
    }

    #[test]
    fn no_two_domains_are_alike_and_each_is_like_itself() {
        let texts = |seed| DOMAINS.map(|write| pairs(&write(&mut ChaCha8Rng::seed_from_u64(seed), 60_000)));
        let (one, other) = (texts(1), texts(2));
        for (i, a) in one.iter().enumerate() {
            for (j, b) in other.iter().enumerate() {
                let shared = shared(a, b);
                assert!(if i == j { shared > 0.85 } else { shared < 0.6 }, "domains {i} and {j} share {shared:.2}");
            }
        }
    }

    #[test]
    fn every_stretch_has_every_domain_and_each_has_its_share() {
        let texts: Vec<String> = ["a", "b", "c"].iter().map(|l| format!("{} \n", l.repeat(60)).repeat(2000)).collect();
        let mixed = mixed(1, 90_000, &texts);
        for stretch in mixed.as_bytes().chunks(9000) {
            for letter in *b"abc" {
                let share = stretch.iter().filter(|b| **b == letter).count() as f64 / stretch.len() as f64;
                assert!((0.2..0.45).contains(&share), "{}: {share}", char::from(letter));
            }
        }
        // Every document belongs to one domain.
        let documents: Vec<&str> = mixed.split(DOCUMENT_SEPARATOR).filter(|d| !d.trim().is_empty()).collect();
        for document in &documents[..documents.len() - 1] {
            let letters: HashSet<char> = document.chars().filter(|c| c.is_alphabetic()).collect();
            assert_eq!(letters.len(), 1, "{document}");
            assert!((450..=MAX_DOCUMENT).contains(&document.len()), "{}", document.len());
        }
    }

    #[test]
    fn documents_end_with_paragraphs_lines_or_words_and_lose_nothing() {
        for text in [format!("{}\n\nnext", "a ".repeat(300)), "b\n".repeat(900), "word ".repeat(500), "x".repeat(3000)]
        {
            let (mut rest, mut letters) = (text.as_str(), 0);
            while let Some((document, after)) = document(rest) {
                letters += document.chars().filter(|c| !c.is_whitespace()).count();
                rest = after;
            }
            assert_eq!(letters, text.chars().filter(|c| !c.is_whitespace()).count());
        }
        assert_eq!(document("\n \n"), None);
        assert_eq!(document("\u{e9}".repeat(700).as_str()).map(|(d, _)| d.len()), Some(MAX_DOCUMENT));
    }
}
