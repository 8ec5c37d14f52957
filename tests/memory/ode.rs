//! Tests the memory of each method for gradients of an ODE solve: the peak of allocated bytes between the start of the
//! solve and the end of its backward pass.

use std::sync::Arc;

use crate::{alone, peak_of};
use candle_core::{Device, Result, Tensor, Var};
use orrery::ode::{Gradient, Method, SharedField, SolverOptions, Span, solve_with};

const ROWS: usize = 256;
const WIDTH: usize = 64;

fn filled(rows: usize, columns: usize, size: f32) -> Result<Var> {
    let values: Vec<f32> = (0..rows * columns).map(|i| ((i * 37 % 101) as f32 / 50.0 - 1.0) * size).collect();
    Var::from_tensor(&Tensor::from_vec(values, (rows, columns), &Device::Cpu)?)
}

/// The peak memory of a solve and its backward pass, in units of a state's size.
fn states(way: Gradient, steps: usize) -> Result<f64> {
    let (w1, w2, y0) = (filled(WIDTH, WIDTH, 0.2)?, filled(WIDTH, WIDTH, 0.2)?, filled(ROWS, WIDTH, 1.0)?);
    let weights = vec![w1.as_tensor().clone(), w2.as_tensor().clone()];
    let field: SharedField = {
        let w = weights.clone();
        Arc::new(move |_: f64, y: &Tensor| y.matmul(&w[0])?.tanh()?.matmul(&w[1]))
    };
    let (done, peak) = peak_of(|| -> Result<()> {
        let end = solve_with(way, &field, &weights, &y0, Span::UNIT, &SolverOptions::fixed(Method::RK4, steps))?.end;
        drop(end.sqr()?.sum_all()?.backward()?);
        Ok(())
    });
    done?;
    Ok(peak as f64 / (ROWS * WIDTH * size_of::<f32>()) as f64)
}

#[test]
fn the_adjoint_needs_the_same_memory_whatever_the_steps() -> Result<()> {
    alone(|| {
        states(Gradient::Adjoint, 4)?; // allocates what is created once and kept
        let of = |way| -> Result<[f64; 2]> { Ok([states(way, 8)?, states(way, 128)?]) };
        let (all, kept, flat) = (of(Gradient::Backprop)?, of(Gradient::Checkpointed)?, of(Gradient::Adjoint)?);
        println!("states alive at 8 and 128 steps: backprop {all:?}, checkpointed {kept:?}, adjoint {flat:?}");
        assert!(flat[1] < 1.02 * flat[0], "the adjoint grows with the steps: {flat:?}");
        assert!(flat[1] < kept[1] && kept[1] < 0.2 * all[1], "{all:?} {kept:?} {flat:?}");
        // one checkpoint per step, and little more
        let a_step = (kept[1] - kept[0]) / 120.0;
        assert!((0.9..1.5).contains(&a_step), "{a_step} states a step");
        assert!((all[1] - all[0]) / 120.0 > 10.0, "{all:?}");
        Ok(())
    })
}
