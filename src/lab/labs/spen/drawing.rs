//! The gallery's drawing of the EMA language model: how much of each past token three traces hold, and how much softmax
//! attention would give it, as discs. The scores of the attention are those of a pointer that looks for one place.

use crate::labs::prelude::*;

const TOKENS: usize = 26;
const COEFFICIENTS: [f32; 3] = [0.5, 0.1, 0.02];

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let sought = (canvas.pointer_or(0.3) * (TOKENS - 1) as f32).round();
    let x = |token: usize| width * (token as f32 + 0.5) / TOKENS as f32;
    let y = |row: usize| height * (row as f32 + 0.7) / 4.4;
    let largest = (0.46 * width / TOKENS as f32).min(0.1 * height);
    let radius = |share: f32| largest * share.sqrt();
    for (row, a) in COEFFICIENTS.into_iter().enumerate() {
        for token in 0..TOKENS {
            let back = (TOKENS - 1 - token) as i32;
            drawing.disc([x(token), y(row)], radius((1.0 - a).powi(back)), Ink::Trace(row));
        }
    }
    let weights: Vec<f32> = (0..TOKENS).map(|token| (-0.9 * (token as f32 - sought).powi(2)).exp()).collect();
    for (token, weight) in weights.into_iter().enumerate() {
        drawing.disc([x(token), y(3)], radius(weight).max(1.0), Ink::Warm.thinned(0.25 + 0.75 * weight));
    }
    drawing.caption = "what is left of each token: traces fade alike, attention chooses".to_owned();
}
