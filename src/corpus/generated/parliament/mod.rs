//! The multilingual parliament: a sentence about a currency, a country, goods, a city or an institution,
//! what follows from it, and both again in another language: `<F:en>...<T:es>...`, a pair a line.
//!
//! Frames take any noun ("The question of the euro is open."), and what follows depends on the noun's
//! class (rates and coins; borders and laws; stores and quotas), so a model gains by knowing the class,
//! and the frame does not give it away. Half of the pairs list several nouns of one class ("The list names
//! the euro, the yen and the peso."): after one, the class says what may come next. In the naive corpus, made to show the trap, each class has
//! frames of its own and nothing follows. [`labelled`] has the sentences that a finder of concepts asks.

mod english;
mod french;
mod german;
mod grammar;
pub mod labelled;
mod spanish;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

pub use grammar::Class;
use grammar::{FRAMES, Language, NAIVE_FRAMES, NAIVE_TRAINED, SEARCH_FRAMES, TRAINED_FRAMES};

const LANGUAGES: [&Language; 4] = [&english::ENGLISH, &french::FRENCH, &spanish::SPANISH, &german::GERMAN];

/// Their codes, in order.
pub const CODES: [&str; 4] = ["en", "fr", "es", "de"];

/// How often a passage is about a noun of each class.
const SHARE: [(Class, f64); 5] = [
    (Class::Currency, 0.28),
    (Class::Country, 0.28),
    (Class::Goods, 0.20),
    (Class::City, 0.14),
    (Class::Institution, 0.10),
];
/// How often a pair lists nouns, and how many.
const LISTING: f64 = 0.5;
const LISTED: usize = 3;

/// How many nouns a class has.
pub fn entities(class: Class) -> usize {
    english::ENGLISH.nouns[class as usize].len()
}

/// At least `size` bytes of aligned pairs, one a line.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize, naive: bool) -> String {
    let mut text = String::with_capacity(size + 512);
    while text.len() < size {
        let class = if naive { Class::ALL[rng.random_range(0..3)] } else { class(rng) };
        let entity = rng.random_range(0..entities(class));
        // Others of the class, all different.
        let listed = if !naive && rng.random_bool(LISTING) {
            let step = rng.random_range(1..entities(class) / LISTED);
            (0..LISTED).map(|k| (entity + k * step) % entities(class)).collect()
        } else {
            vec![]
        };
        let frame = rng.random_range(0..if naive { NAIVE_TRAINED } else { TRAINED_FRAMES });
        let follow_up = rng.random_range(0..6);
        let from = rng.random_range(0..LANGUAGES.len());
        let to = (from + rng.random_range(1..LANGUAGES.len())) % LANGUAGES.len();
        for (mark, language) in [('F', LANGUAGES[from]), ('T', LANGUAGES[to])] {
            text.push_str(&format!("<{mark}:{}>", language.code));
            if !listed.is_empty() {
                text.push_str(&language.list(class, &listed, frame));
            } else if naive {
                text.push_str(&language.naive(class, entity, frame));
            } else {
                text.push_str(&language.sentence(class, entity, frame));
                text.push(' ');
                text.push_str(&language.follow_up(class, entity, follow_up));
            }
        }
        text.push('\n');
    }
    text
}

fn class(rng: &mut ChaCha8Rng) -> Class {
    let mut left = rng.random::<f64>();
    for (class, share) in SHARE {
        left -= share;
        if left < 0.0 {
            return class;
        }
    }
    Class::Institution
}

/// A noun's bare name in the language of this number (see [`CODES`]).
pub fn name(language: usize, class: Class, entity: usize) -> &'static str {
    LANGUAGES[language % LANGUAGES.len()].name(class, entity)
}
