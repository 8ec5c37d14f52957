//! Lines of a server's log: the time advances, and a request that begins ends later under the same number.

use super::words::WORDS;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Status codes with their shares in ten.
const STATUS: [(u16, usize); 4] = [(200, 7), (304, 1), (404, 1), (500, 1)];
/// Most requests that wait for an end.
const OPEN: usize = 4;

/// Lines, without end.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let words = &WORDS.log;
    let mut out = String::with_capacity(size + 128);
    let (mut millis, mut next) = (rng.random_range(0..86_400_000u64), rng.random_range(1000..9000u32));
    let mut open: Vec<(u32, &str, &str)> = vec![];
    while out.len() < size {
        millis += rng.random_range(1..900);
        let seconds = millis / 1000;
        let time =
            format!("{:02}:{:02}:{:02}.{:03}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60, millis % 1000);
        let part = words.pick(rng, "parts");
        if open.len() < OPEN && (open.is_empty() || rng.random_bool(0.5)) {
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
    }
    out
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
