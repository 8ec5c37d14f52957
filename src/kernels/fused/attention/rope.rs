//! Tables of rotary embedding, cached by size.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use super::angles;
use crate::threads::lock;

/// Cosines and sines by position and pair of channels, each `(T, d / 2)`.
pub type RopeTable = Arc<(Vec<f32>, Vec<f32>)>;
/// Tables by length, head width and the bits of the base.
type TableCache = HashMap<(usize, usize, Option<u64>), RopeTable>;

/// The table of texts of `t` tokens and heads of `d` channels; without a base, of rotations by zero.
pub fn rope_table(t: usize, d: usize, theta: Option<f64>) -> RopeTable {
    static CACHE: LazyLock<Mutex<TableCache>> = LazyLock::new(Mutex::default);
    let mut cache = lock(&CACHE);
    // while text is generated every length of prompt would be added
    if cache.len() > 64 {
        cache.clear();
    }
    let make = || match theta {
        Some(theta) => angles(t, d, theta),
        None => (vec![1.0; t * d / 2], vec![0.0; t * d / 2]),
    };
    cache.entry((t, d, theta.map(f64::to_bits))).or_insert_with(|| Arc::new(make())).clone()
}
