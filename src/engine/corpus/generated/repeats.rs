//! Unknown words, repeated until they are known: a fixed warm-up of 13 letters, then a random word of 8 letters eight
//! times, again and again (arXiv 2509.26507, section 6.4).

use super::{Generated, Recipe};
use crate::corpus::prelude::*;

pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "repeats",
    title: "Repeated words",
    about: "Thirteen fixed letters, then a random word of eight letters eight times: new once, known seven times.",
    recipe: Recipe::Text(text),
};

/// Letters of the warm-up, which is always the same.
pub const WARM_UP_LETTERS: usize = 13;
/// Letters of a word.
pub const WORD: usize = 8;
/// The number of repetitions of a word in a row.
pub const TIMES: usize = 8;
/// The number of letters from one warm-up to the next.
pub const PERIOD: usize = WARM_UP_LETTERS + TIMES * WORD;

const WARM_UP: &[u8; WARM_UP_LETTERS] = b"orrerybeginsx";

/// About `size` letters, in complete periods.
fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    periods(rng, (size / PERIOD).max(1))
}

/// Periods of words drawn apart from those of every training text.
pub fn unseen_periods(seed: u64, count: usize) -> String {
    periods(&mut ChaCha8Rng::seed_from_u64(seed ^ 0x6672_6573_6877_6f72), count)
}

fn periods(rng: &mut ChaCha8Rng, count: usize) -> String {
    let mut out = String::with_capacity(count * PERIOD);
    for _ in 0..count {
        out.extend(WARM_UP.iter().map(|b| char::from(*b)));
        let word: String = (0..WORD).map(|_| char::from(rng.random_range(b'a'..=b'z'))).collect();
        (0..TIMES).for_each(|_| out.push_str(&word));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_a_warm_up_and_one_word_eight_times() {
        let text = unseen_periods(1, 3);
        assert_eq!(text.len(), 3 * PERIOD);
        let period = &text[PERIOD..2 * PERIOD];
        let (warm, words) = period.split_at(WARM_UP_LETTERS);
        assert_eq!(warm, &text[..WARM_UP_LETTERS]);
        assert!((1..TIMES).all(|k| words[k * WORD..][..WORD] == words[..WORD]));
        assert_ne!(words[..WORD], text[WARM_UP_LETTERS..][..WORD]);
    }
}
