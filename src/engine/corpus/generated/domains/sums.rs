//! Sums that are right: a model gains by adding up.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Sums on a line.
const LINE: usize = 6;

/// Lines of sums.
pub(super) fn text(rng: &mut ChaCha8Rng, size: usize) -> String {
    let mut out = String::with_capacity(size + 128);
    while out.len() < size {
        let line: Vec<String> = (0..LINE).map(|_| sum(rng)).collect();
        out.push_str(&line.join("; "));
        out.push('\n');
    }
    out
}

fn sum(rng: &mut ChaCha8Rng) -> String {
    let (a, b) = (rng.random_range(2..100u32), rng.random_range(2..100u32));
    match rng.random_range(0..3) {
        0 => format!("{a}+{b}={}", a + b),
        1 => format!("{}-{a}={b}", a + b),
        _ => format!("{}*{}={}", a % 10, b % 10, (a % 10) * (b % 10)),
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn every_sum_is_right() {
        let text = text(&mut ChaCha8Rng::seed_from_u64(1), 20_000);
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
