//! Cards of a library's catalogue: the same fields in the same order.

use super::words::WORDS;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Cards, a blank line between two; a shelf has the first letter of its author.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let words = &WORDS.catalogue;
    let mut out = String::with_capacity(size + 256);
    while out.len() < size {
        let [author, head, of, city] = ["authors", "heads", "subjects", "cities"].map(|list| words.pick(rng, list));
        let (year, pages) = (rng.random_range(1790..1930), rng.random_range(48..900));
        let shelf = &author[..1];
        out.push_str(&format!("AUTHOR  {author}\nTITLE   {head} OF {of}\nPRINTED {city}, {year}\n"));
        out.push_str(&format!("PAGES   {pages}\nSHELF   {shelf}/{year}/{}\n", rng.random_range(10..100)));
        out.push_str(&format!("STATE   {}\n\n", words.pick(rng, "states")));
    }
    out
}
