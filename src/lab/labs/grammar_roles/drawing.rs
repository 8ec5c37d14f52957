//! The gallery's drawing of grammar roles: a sentence read to the pointer's place, a sparse code for every word, and what
//! is left of each in a fast trace.

use crate::{analysis::ema, labs::prelude::*};

/// "the cat that sees a dog hides", and which phrase each word belongs to.
const WORDS: [(&str, usize); 7] =
    [("the", 0), ("cat", 0), ("that", 1), ("sees", 1), ("a", 2), ("dog", 2), ("hides", 3)];
const UNITS: usize = 24;
const ACTIVE: usize = 6;
/// The paper's coefficient of level 0.
const FAST: f64 = 0.5;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let read = ((canvas.pointer_or(0.8) * WORDS.len() as f32) as usize).min(WORDS.len() - 1);
    let (column, row) = (width / WORDS.len() as f32, (height - 4.0) / UNITS as f32);
    for (i, (word, group)) in WORDS.iter().enumerate() {
        let left = ema::retention(FAST, read.saturating_sub(i) as f64) as f32;
        let opacity = if i > read { 0.08 } else { 0.2 + 0.8 * left };
        for unit in ema::sparse_code(7, ema::word_id(word), UNITS, ACTIVE) {
            let y = 2.0 + row * (unit as f32 + 0.5);
            let x = column * i as f32 + 4.0;
            drawing.path(vec![[x, y], [x + column - 8.0, y]], Ink::Group(*group).thinned(opacity), 0.7 * row);
        }
    }
    drawing.caption = format!("a trace after “{}”: who did it?", WORDS[read].0);
}
