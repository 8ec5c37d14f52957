//! Tunes in letters (ABC notation): a bar has eight eighths, and the last four bars are the first four again.

use super::words::WORDS;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Eighths of a bar.
const BAR: usize = 8;

/// Tunes, a blank line between two.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let mut out = String::with_capacity(size + 512);
    let mut number = 1;
    while out.len() < size {
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
    }
    out
}

/// A bar whose notes go up and down by small steps.
fn bar(rng: &mut ChaCha8Rng, pitch: &mut usize) -> String {
    let scale = WORDS.tunes.list("scale");
    let (mut out, mut left) = (String::new(), BAR);
    while left > 0 {
        let length = if left >= 2 && rng.random_bool(0.3) { 2 } else { 1 };
        *pitch = (*pitch + rng.random_range(0..=4)).saturating_sub(2).min(scale.len() - 1);
        out.push_str(&scale[*pitch]);
        if length == 2 {
            out.push('2');
        }
        left -= length;
        if left == BAR / 2 {
            out.push(' ');
        }
    }
    out
}
