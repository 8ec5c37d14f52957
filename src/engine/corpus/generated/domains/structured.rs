//! The domains that are not prose: each of these functions writes at least `size` bytes of one of them.

use crate::corpus::{
    generated::{
        data::data,
        template::{Lexicon, fill_to_size},
    },
    prelude::*,
};

static WORDS: LazyLock<DomainWords> = data!("domains.toml");

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainWords {
    catalogue: Lexicon,
    code: Lexicon,
    log: Lexicon,
    tunes: Lexicon,
}

/// Cards of a library's catalogue, a blank line between two: the same fields in the same order. A shelf has the first
/// letter of its author.
pub(super) fn catalogue(rng: &mut ChaCha8Rng, size: usize) -> String {
    let words = &WORDS.catalogue;
    fill_to_size(size, |out| {
        let [author, head, of, city] = ["authors", "heads", "subjects", "cities"].map(|list| words.pick(rng, list));
        let (year, pages) = (rng.random_range(1790..1930), rng.random_range(48..900));
        let shelf = &author[..1];
        out.push_str(&format!("AUTHOR  {author}\nTITLE   {head} OF {of}\nPRINTED {city}, {year}\n"));
        out.push_str(&format!("PAGES   {pages}\nSHELF   {shelf}/{year}/{}\n", rng.random_range(10..100)));
        out.push_str(&format!("STATE   {}\n\n", words.pick(rng, "states")));
    })
}

/// Short functions of a small language, a blank line between two: what is bound above is used below.
pub(super) fn code(rng: &mut ChaCha8Rng, size: usize) -> String {
    let lists = ["verbs", "nouns", "limits", "results", "fields", "compares", "operators"];
    fill_to_size(size, |out| {
        let [verb, noun, limit, result, field, compare, operator] = lists.map(|list| WORDS.code.pick(rng, list));
        let number = rng.random_range(0..10);
        out.push_str(&format!("def {verb}_{noun}s({noun}s, {limit}={number}):\n"));
        out.push_str(&format!("    {result} = {}\n", if rng.random_bool(0.5) { "0" } else { "[]" }));
        out.push_str(&format!("    for {noun} in {noun}s:\n"));
        out.push_str(&format!("        if {noun}.{field} {compare} {limit}:\n"));
        match rng.random_range(0..3) {
            0 => out.push_str(&format!("            {result} = {result} {operator} {noun}.{field}\n")),
            1 => out.push_str(&format!("            {result}.append({noun})\n")),
            _ => {
                out.push_str(&format!("            {limit} = {noun}.{field} {operator} {}\n", rng.random_range(1..10)))
            }
        }
        if rng.random_bool(0.4) {
            out.push_str("        else:\n            continue\n");
        }
        out.push_str(&format!("    return {result}\n\n"));
    })
}

/// Status codes of requests with their shares in ten.
const STATUS: [(u16, usize); 4] = [(200, 7), (304, 1), (404, 1), (500, 1)];
/// The largest number of requests that are open at a time.
const MAX_OPEN_REQUESTS: usize = 4;

/// Lines of a server's log: the time advances, and a request that begins ends later under the same number.
pub(super) fn server_log(rng: &mut ChaCha8Rng, size: usize) -> String {
    let words = &WORDS.log;
    let (mut millis, mut next) = (rng.random_range(0..86_400_000u64), rng.random_range(1000..9000u32));
    let mut open: Vec<(u32, &str, &str)> = vec![];
    fill_to_size(size, |out| {
        millis += rng.random_range(1..900);
        let seconds = millis / 1000;
        let time =
            format!("{:02}:{:02}:{:02}.{:03}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, millis % 1000);
        let part = words.pick(rng, "parts");
        if open.len() < MAX_OPEN_REQUESTS && (open.is_empty() || rng.random_bool(0.5)) {
            let path = words.pick(rng, "paths");
            out.push_str(&format!("{time} INFO  {part} req={next:04x} begin {} {path}\n", words.pick(rng, "methods")));
            open.push((next, part, path));
            next += 1;
        } else {
            let (id, part, path) = open.remove(rng.random_range(0..open.len()));
            let status = status(rng);
            let level = if status >= 500 { "ERROR" } else { "INFO " };
            let took = rng.random_range(1..400);
            out.push_str(&format!("{time} {level} {part} req={id:04x} end {path} status={status} ms={took}\n"));
        }
    })
}

fn status(rng: &mut ChaCha8Rng) -> u16 {
    let mut left = rng.random_range(0..STATUS.iter().map(|s| s.1).sum::<usize>());
    for (status, share) in STATUS {
        match left.checked_sub(share) {
            Some(rest) => left = rest,
            None => return status,
        }
    }
    STATUS[0].0
}

/// Sums on a line.
const LINE: usize = 6;

/// Lines of correct sums, which a model predicts better if it can add.
pub(super) fn sums(rng: &mut ChaCha8Rng, size: usize) -> String {
    fill_to_size(size, |out| {
        let line: Vec<String> = (0..LINE).map(|_| sum(rng)).collect();
        out.push_str(&line.join("; "));
        out.push('\n');
    })
}

fn sum(rng: &mut ChaCha8Rng) -> String {
    let (a, b) = (rng.random_range(2..100u32), rng.random_range(2..100u32));
    match rng.random_range(0..3) {
        0 => format!("{a}+{b}={}", a + b),
        1 => format!("{}-{a}={b}", a + b),
        _ => format!("{}*{}={}", a % 10, b % 10, (a % 10) * (b % 10)),
    }
}

/// Eighths of a bar.
const EIGHTHS_PER_BAR: usize = 8;

/// Tunes in letters (ABC notation), a blank line between two: a bar has eight eighths, and the last four bars are the first
/// four again.
pub(super) fn abc_tunes(rng: &mut ChaCha8Rng, size: usize) -> String {
    let mut number = 1;
    fill_to_size(size, |out| {
        let [kind, key] = ["kinds", "keys"].map(|list| WORDS.tunes.pick(rng, list));
        out.push_str(&format!("X:{number}\nR:{kind}\nM:4/4\nL:1/8\nK:{key}\n"));
        let mut pitch = rng.random_range(2..9);
        let bars: Vec<String> = (0..8).map(|_| bar(rng, &mut pitch)).collect();
        let (first, middle) = bars.split_at(4);
        for line in [first, middle, first] {
            out.push_str(&format!("|: {} :|\n", line.join(" | ")));
        }
        out.push('\n');
        number += 1;
    })
}

/// A bar whose notes go up and down by small steps.
fn bar(rng: &mut ChaCha8Rng, pitch: &mut usize) -> String {
    let scale = WORDS.tunes.list("scale");
    let (mut out, mut left) = (String::new(), EIGHTHS_PER_BAR);
    while left > 0 {
        let length = if left >= 2 && rng.random_bool(0.3) { 2 } else { 1 };
        *pitch = (*pitch + rng.random_range(0..=4)).saturating_sub(2).min(scale.len() - 1);
        out.push_str(&scale[*pitch]);
        if length == 2 {
            out.push('2');
        }
        left -= length;
        if left == EIGHTHS_PER_BAR / 2 {
            out.push(' ');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sum_is_right() {
        let text = sums(&mut ChaCha8Rng::seed_from_u64(1), 20_000);
        for sum in text.lines().flat_map(|line| line.split("; ")) {
            let (asked, answer) = sum.split_once('=').unwrap();
            let operator = asked.find(['+', '-', '*']).unwrap();
            let number = |digits: &str| digits.parse::<i64>().unwrap();
            let (a, b) = (number(&asked[..operator]), number(&asked[operator + 1..]));
            let right = match &asked[operator..=operator] {
                "+" => a + b,
                "-" => a - b,
                _ => a * b,
            };
            assert_eq!(number(answer), right, "{sum}");
        }
    }
}
