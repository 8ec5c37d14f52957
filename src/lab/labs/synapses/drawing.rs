//! The gallery's drawing of synapses: what they hold after some words. Each word lights some neurons on
//! both sides, and what fires together adds to what is between them while all of it fades. A ring is
//! around the strongest.

use crate::{config::counted, labs::prelude::*};

const ROWS: usize = 7;
const COLS: usize = 24;
/// Share of a synapse that is left after a word.
const RETENTION: f32 = 0.85;
/// Neurons that a word lights, at the side and on top; the first comes back again and again.
const LIT_NEURONS: [([usize; 2], [usize; 5]); 5] = [
    ([1, 4], [2, 7, 11, 18, 21]),
    ([0, 5], [0, 5, 9, 13, 20]),
    ([2, 6], [3, 7, 14, 16, 22]),
    ([3, 4], [1, 6, 11, 15, 23]),
    ([0, 2], [4, 8, 12, 17, 19]),
];
const TEXT: [usize; 16] = [0, 1, 2, 0, 3, 4, 0, 1, 0, 2, 3, 0, 4, 1, 0, 2];

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let read = 1 + (canvas.pointer_or(0.7) * (TEXT.len() - 1) as f32).round() as usize;
    let (y, x) = LIT_NEURONS[TEXT[read - 1]];
    let [width, height] = canvas.size;
    let step = (width / (COLS + 1) as f32).min(height / (ROWS + 1) as f32);
    let [cx, cy] = canvas.centre();
    let place = |row: usize, col: usize| {
        [cx + step * (col as f32 - 0.5 * COLS as f32), cy + step * (row as f32 - 0.5 * ROWS as f32)]
    };
    let fill = |fires: bool| if fires { Ink::Fast } else { Ink::Panel };
    (0..ROWS).for_each(|r| drawing.node(place(r + 1, 0), 0.22 * step, fill(y.contains(&r))));
    (0..COLS).for_each(|c| drawing.node(place(0, c + 1), 0.22 * step, fill(x.contains(&c))));
    let sigma = synapses(&TEXT[..read]);
    let most = sigma.iter().flatten().fold(0f32, |most, s| most.max(*s));
    let mut ringed = false;
    for (r, row) in sigma.iter().enumerate() {
        for (c, s) in row.iter().enumerate() {
            let at = place(r + 1, c + 1);
            drawing.disc(at, 1.0, Ink::Line);
            drawing.disc(at, 0.4 * step * (s / most).sqrt(), Ink::Warm.thinned(s / most));
            if *s == most && !ringed {
                drawing.ring(at, 0.5 * step, Ink::Accent, 1.5);
                ringed = true;
            }
        }
    }
    drawing.caption = format!("\u{3c3} \u{2190} {RETENTION} \u{3c3} + y x\u{1d40}, after {}", counted(read, "word"));
}

fn synapses(text: &[usize]) -> [[f32; COLS]; ROWS] {
    let mut sigma = [[0f32; COLS]; ROWS];
    for word in text {
        let (y, x) = LIT_NEURONS[*word];
        sigma.iter_mut().flatten().for_each(|s| *s *= RETENTION);
        y.iter().for_each(|y| x.iter().for_each(|x| sigma[*y][*x] += 1.0));
    }
    sigma
}
