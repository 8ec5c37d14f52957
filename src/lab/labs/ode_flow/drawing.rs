//! The gallery's drawing of the ODE flow: paths through a spiral field on which a control u leans like a
//! wind, from a ring of starts.

use crate::labs::{headline::rounded, prelude::*};

const STARTS: usize = 16;
const STEPS: usize = 60;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let u = 4.0 * canvas.pointer_or(0.72) - 2.0;
    let scale = canvas.size[1] * 0.4;
    let [cx, cy] = canvas.centre();
    let place = |[x, y]: [f32; 2]| [cx + scale * x, cy - scale * y];
    for i in 0..STARTS {
        let angle = std::f32::consts::TAU * i as f32 / STARTS as f32;
        let mut at = [1.6 * angle.cos(), angle.sin()];
        let mut path = vec![place(at)];
        for _ in 0..STEPS {
            let [x, y] = at;
            let slope = [-0.9 * x - 2.2 * y + 1.5 * u, 2.2 * x - 0.9 * y];
            at = [x + slope[0] / STEPS as f32, y + slope[1] / STEPS as f32];
            path.push(place(at));
        }
        drawing.ring(path[0], 2.0, Ink::Secondary, 1.0);
        drawing.disc(place(at), 2.5, Ink::Accent);
        drawing.path(path, Ink::Fast, 1.0);
    }
    drawing.caption = format!("a spiral with a wind u = {}, in {STEPS} Euler steps", rounded(u, 1));
}
