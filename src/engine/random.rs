//! Numbers that look random and are the same on every platform and in every version.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// SplitMix64's output function (Steele, Lea, Flood 2014): neighbouring numbers become independent ones.
pub fn scramble(n: u64) -> u64 {
    let z = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a.
pub fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Standard normal numbers: Box-Muller pairs from uniform draws in (0, 1].
pub fn standard_normals(rng: &mut ChaCha8Rng, n: usize) -> impl Iterator<Item = f64> {
    let mut spare = None;
    (0..n).map(move |_| {
        spare.take().unwrap_or_else(|| {
            let r = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
            let a = std::f64::consts::TAU * rng.random::<f64>();
            spare = Some(r * a.sin());
            r * a.cos()
        })
    })
}
