//! The gallery's drawing of a trained BDH: a text read through layers, each of which is surer of what comes next, up to
//! the pointer's place.

use crate::labs::prelude::*;

/// Tokens and layers of the drawing.
const TOKENS: usize = 11;
const LAYERS: usize = 6;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let read = ((canvas.pointer_or(0.72) * TOKENS as f32) as usize).min(TOKENS - 1);
    let (column, row) = (width / TOKENS as f32, (height - 6.0) / (LAYERS + 1) as f32);
    let centre =
        |token: usize, layer: usize| [column * (token as f32 + 0.5), height - 3.0 - row * (layer as f32 + 0.5)];
    for token in 0..TOKENS {
        for layer in 0..=LAYERS {
            // surer with every layer, and the sooner the more has been read
            let sure = (layer as f32 / LAYERS as f32).powf(0.6 + 2.4 / (token as f32 + 1.0));
            let ink = Ink::Raised.mixed(Ink::Accent, sure);
            let ink = if token > read { Ink::Line.thinned(0.5) } else { ink };
            let [x, y] = centre(token, layer);
            drawing.path(vec![[x - column * 0.36, y], [x + column * 0.36, y]], ink, row * 0.62);
        }
    }
    drawing.caption = format!("after {} tokens: surer with every layer", read + 1);
}
