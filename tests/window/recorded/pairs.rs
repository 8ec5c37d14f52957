//! Made-up attention to pairs of an associative recall task: it is uniform at first, and later the second layer attends
//! to the value.

use orrery::telemetry::measurements::{LayerPairAttention, PairAttention};

use super::Noise;

/// The measurement at this step; `half` is the step at which the attention to pairs has risen half-way.
pub fn at(step: u64, half: f64) -> PairAttention {
    let mut noise = Noise::new(step + half as u64);
    let rise = 1.0 / (1.0 + ((half - step as f64) / 45.0).exp());
    let uniform = 0.043;
    let mut heads = |share: [f64; 4]| -> Vec<f64> {
        share.iter().map(|s| (uniform + s * rise + 0.004 * noise.next()).clamp(0.0, 1.0)).collect()
    };
    let layers = [([0.01, 0.06, 0.0, 0.02], [0.3, 0.05, 0.0, 0.0]), ([0.78, 0.11, 0.02, 0.3], [0.02, 0.0, 0.05, 0.0])];
    let layer = |(place, (value, key)): (usize, ([f64; 4], [f64; 4]))| LayerPairAttention {
        path: format!("layers.{place}"),
        to_value: heads(value).into(),
        to_key: heads(key).into(),
        uniform,
    };
    PairAttention { questions: 64, layers: layers.into_iter().enumerate().map(layer).collect() }
}
