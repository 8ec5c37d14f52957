//! The gallery's drawing of the traces: what is left of a token after k more, (1 - alpha)^k, at three
//! rates.

use crate::labs::prelude::*;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let middle = 10f32.powf(-1.7 + 1.1 * canvas.pointer_or(0.5));
    let x = |k: f32| width * k / 64.0;
    let y = |v: f32| height - 2.0 - v * (height - 6.0);
    for (trace, factor) in [(0, 4.0), (1, 1.0), (2, 0.25)] {
        let alpha = (middle * factor).clamp(0.001, 0.95);
        let points = (0..=64).map(|k| [x(k as f32), y((1.0 - alpha).powi(k))]).collect();
        drawing.path(points, Ink::Trace(trace), 1.5);
    }
    drawing.caption = format!("what is left of a token k later: (1 − α)ᵏ, α = {middle:.2}");
}
