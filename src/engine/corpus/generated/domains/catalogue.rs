//! Cards of a library's catalogue: the same fields in the same order. It knows no book.

use super::super::writer::pick;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const NAMES: [&str; 12] = [
    "VANCE, E.",
    "OKAFOR, T.",
    "QUIST, M.",
    "MARSH, A.",
    "THORNE, J.",
    "HARROW, S.",
    "BELLAMY, R.",
    "ASHBY, C.",
    "LINDT, O.",
    "MORROW, H.",
    "PEREZ, I.",
    "NOVAK, P.",
];
const HEADS: [&str; 8] = ["ATLAS", "HISTORY", "GRAMMAR", "HANDBOOK", "LETTERS", "FLORA", "CHRONICLE", "SURVEY"];
const OF: [&str; 10] =
    ["RIVERS", "COMETS", "BRIDGES", "MOSSES", "COINS", "TIDES", "ISLANDS", "ORCHARDS", "CLOCKS", "GLACIERS"];
const CITIES: [&str; 8] = ["LEIPZIG", "BERGEN", "UTRECHT", "TURIN", "CORK", "LYON", "BASEL", "RIGA"];
const STATES: [&str; 4] = ["ON SHELF", "ON LOAN", "IN REPAIR", "MISSING"];

/// Cards, a blank line between two; a shelf has the first letter of its author.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let mut out = String::with_capacity(size + 256);
    while out.len() < size {
        let author = pick(rng, &NAMES);
        let (head, of, city) = (pick(rng, &HEADS), pick(rng, &OF), pick(rng, &CITIES));
        let (year, pages) = (rng.random_range(1790..1930), rng.random_range(48..900));
        let shelf = &author[..1];
        out.push_str(&format!("AUTHOR  {author}\nTITLE   {head} OF {of}\nPRINTED {city}, {year}\n"));
        out.push_str(&format!("PAGES   {pages}\nSHELF   {shelf}/{year}/{}\n", rng.random_range(10..100)));
        out.push_str(&format!("STATE   {}\n\n", pick(rng, &STATES)));
    }
    out
}
