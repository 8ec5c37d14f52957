//! Tables of rotary angles, made once for each size.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use super::angles;

pub type Turns = Arc<(Vec<f32>, Vec<f32>)>;
/// By length, width of a head, and the base's bits.
type Made = HashMap<(usize, usize, Option<u64>), Turns>;

/// Cosines and sines, each `(T, d / 2)`, made once for each size; without a base nothing turns.
pub fn turns(t: usize, d: usize, theta: Option<f64>) -> Turns {
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    // lengths of prompts while text is being written would pile up
    if made.len() > 64 {
        made.clear();
    }
    let make = || match theta {
        Some(theta) => angles(t, d, theta),
        None => (vec![1.0; t * d / 2], vec![0.0; t * d / 2]),
    };
    made.entry((t, d, theta.map(f64::to_bits))).or_insert_with(|| Arc::new(make())).clone()
}
