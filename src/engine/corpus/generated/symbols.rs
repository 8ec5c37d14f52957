//! Symbols without any rule: they are drawn independently and uniformly, so that the context of a symbol predicts
//! nothing about it. A reader can name only those that it has kept.

use super::{Generated, Recipe};
use crate::corpus::prelude::*;

pub(in crate::corpus) const CORPUS: Generated = Generated {
    id: "symbols",
    title: "Random symbols",
    about: "Sixteen letters in no order at all: nothing can be guessed from context, only remembered.",
    recipe: Recipe::Text(text),
};

/// The symbols, one character each.
pub(super) const ALPHABET: &[u8; 16] = b"abcdefghijklmnop";

/// `size` symbols, uniform and independent, without spaces or lines.
fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    (0..size).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn every_symbol_is_as_likely_and_knows_nothing_of_its_neighbour() {
        let text = text(&mut ChaCha8Rng::seed_from_u64(1), 64_000);
        let ids: Vec<usize> = text.bytes().map(|b| usize::from(b - b'a')).collect();
        let mut pairs = [[0usize; 16]; 16];
        ids.windows(2).for_each(|w| pairs[w[0]][w[1]] += 1);
        // 250 expected of each of the 256 pairs; six standard deviations are 95.
        assert!(pairs.iter().flatten().all(|n| (155..345).contains(n)), "{pairs:?}");
    }
}
