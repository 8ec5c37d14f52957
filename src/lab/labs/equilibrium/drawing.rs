//! The gallery's drawing of the lab Equilibrium: mass that starts in one state of a ring and relaxes to a stationary
//! distribution that a slow control tilts.

use crate::labs::{headline::rounded, prelude::*};

const STATES: usize = 14;
const TIMES: [f32; 5] = [0.0, 0.6, 1.8, 5.0, 40.0];
const STEP: f32 = 0.05;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let y = 3.0 * canvas.pointer_or(0.66) - 1.5;
    // A drift along the line of states that reverses in its middle, stronger or weaker with y.
    let up = |k: usize| (y * (k as f32 / (STATES - 1) as f32 - 0.3)).exp();
    let mut p = [0.0; STATES];
    p[2] = 1.0;
    let (mut done, mut lines) = (0.0, vec![]);
    for until in TIMES {
        while done < until {
            let mut next = p;
            for k in 0..STATES - 1 {
                let flow = STEP * (up(k) * p[k] - 1.0 / up(k + 1) * p[k + 1]);
                next[k] -= flow;
                next[k + 1] += flow;
            }
            p = next;
            done += STEP;
        }
        lines.push(p);
    }
    let [width, height] = canvas.size;
    let (left, base) = (0.12 * width, 0.82 * height);
    let highest = lines.iter().skip(1).flatten().fold(0.05f32, |a, b| a.max(*b));
    let place = |k: usize, p: f32| {
        [left + 0.76 * width * k as f32 / (STATES - 1) as f32, base - 0.62 * height * (p / highest).min(1.15)]
    };
    drawing.path(vec![[left, base], [0.88 * width, base]], Ink::Line, 1.0);
    let last = lines.len() - 1;
    for (i, line) in lines.iter().enumerate().skip(1) {
        let points = line.iter().enumerate().map(|(k, p)| place(k, *p)).collect();
        let share = i as f32 / last as f32;
        drawing.path(points, Ink::Fast.mixed(Ink::Slow, share), if i == last { 2.0 } else { 1.0 });
    }
    lines[last].iter().enumerate().for_each(|(k, p)| drawing.disc(place(k, *p), 2.5, Ink::Slow));
    drawing.caption = format!("dp/dt = A(y) p relaxes to its stationary distribution, y = {}", rounded(y, 1));
}
