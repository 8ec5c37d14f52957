//! The gallery's drawing of the fast-slow gate: a fast signal and the staircase that its average over
//! windows of P makes one window later.

use crate::labs::prelude::*;

const N: usize = 96;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let [width, height] = canvas.size;
    let p = 2usize.pow((canvas.pointer_or(0.55) * 5.0).round() as u32).clamp(2, 32);
    let fast = walk(N);
    let y = |v: f32| 0.5 * height - v * height * 0.42;
    let x = |i: f32| width * i / N as f32;
    drawing.path(fast.iter().enumerate().map(|(i, v)| [x(i as f32), y(*v)]).collect(), Ink::Fast, 1.0);
    let mut stairs = vec![];
    for w in 0..N / p {
        let mean = fast.iter().skip(w * p).take(p).sum::<f32>() / p as f32;
        // Known once its window is over: it is added to the next one.
        let (from, to) = ((w + 1) * p, ((w + 2) * p).min(N));
        if from < N {
            stairs.push([x(from as f32), y(mean)]);
            stairs.push([x(to as f32), y(mean)]);
        }
    }
    drawing.path(stairs, Ink::Slow, 2.0);
    drawing.caption = format!("a walk, and its mean over windows of P = {p}, one window late");
}

/// A smooth, fixed, irregular signal in -1..1.
fn walk(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| {
            let t = i as f32;
            0.42 * (0.071 * t + 0.4).sin()
                + 0.25 * (0.193 * t).sin()
                + 0.18 * (0.61 * t + 1.0).sin()
                + 0.13 * (1.37 * t).sin()
        })
        .collect()
}
