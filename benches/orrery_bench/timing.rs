//! Timing of one operation: tensors of fixed values and the median time of a closure. It does not depend on any
//! operation.

use std::time::Instant;

use candle_core::{Device, Result, Var};

use super::case::median;

/// A variable of this shape whose values are the same in every run, within 0.1 of zero.
pub fn values(shape: &[usize]) -> Result<Var> {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919) % 1009) as f32 / 5000.0 - 0.1).collect();
    Var::from_vec(values, shape, &Device::Cpu)
}

/// Median time of a call over 50 calls, milliseconds, after five that are not counted.
pub fn milliseconds(f: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    for _ in 0..5 {
        f()?;
    }
    let mut times = vec![];
    for _ in 0..50 {
        let began = Instant::now();
        f()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(&times))
}
