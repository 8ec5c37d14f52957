//! Claims 7 and 8: the number of facts that linear attention holds in n dimensions, of independent keys about n, of
//! keys that an adversary repeats about the root of n.

use super::{Curves, directions, dot, norm};

/// Width of the values.
const WIDTH: usize = 16;
/// The length of the error, where a value has length 1, up to which a fact is held.
const LIMIT: f64 = 0.5;
const DRAWS: usize = 16;

/// The length of sum over s < t of v_s (x_s . q) for t = 1, 2, ...: what the facts so far add to an answer that they
/// have nothing to do with. Keys x `(t, n)`, values v `(t, d)`.
pub fn retrieval_errors(keys: &[f64], values: &[f64], query: &[f64]) -> Vec<f64> {
    let facts = keys.len() / query.len().max(1);
    let width = values.len() / facts.max(1);
    let mut error = vec![0.0; width];
    let rows = keys.chunks_exact(query.len()).zip(values.chunks_exact(width.max(1)));
    let after = |(key, value): (&[f64], &[f64])| {
        let weight = dot(key, query);
        error.iter_mut().zip(value).for_each(|(e, v)| *e += weight * v);
        norm(&error)
    };
    rows.map(after).collect()
}

/// Facts held over the dimension, up to four times `n`: with independent keys, and with one key and value again and
/// again.
pub fn capacity(n: usize, seed: u64) -> Curves {
    let sizes: Vec<usize> = [n / 4, n / 2, n, 2 * n, 4 * n].into_iter().filter(|n| *n > 0).collect();
    let held = |repeated: bool| -> Vec<f64> { sizes.iter().map(|n| facts_held(*n, repeated, seed)).collect() };
    let curves = [("independent keys", held(false)), ("one key repeated", held(true))];
    let roots = sizes.iter().map(|n| (*n as f64).sqrt()).collect();
    Curves::new(sizes.iter().map(|n| *n as f64).collect(), curves.into_iter().chain([("root of n", roots)]))
}

/// Facts after which the mean error over draws is still within the limit; n at most.
fn facts_held(n: usize, repeated: bool, seed: u64) -> f64 {
    let mut means = vec![0.0; n];
    for draw in 0..DRAWS as u64 {
        let seed = seed.wrapping_add(draw << 8);
        let query = directions(1, n, seed ^ 1);
        let rows = if repeated { 1 } else { n };
        let (mut keys, mut values) = (directions(rows, n, seed ^ 2), directions(rows, WIDTH, seed ^ 3));
        if repeated {
            (keys, values) = (keys.repeat(n), values.repeat(n));
        }
        let errors = retrieval_errors(&keys, &values, &query);
        means.iter_mut().zip(errors).for_each(|(mean, error)| *mean += error / DRAWS as f64);
    }
    means.iter().take_while(|error| **error <= LIMIT).count() as f64
}
