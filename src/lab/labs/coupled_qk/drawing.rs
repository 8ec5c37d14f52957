//! The gallery's drawing of the coupled attention lab: the pendulum q' = k, k' = -q from one start by Euler's method, which
//! spirals outwards, and by leapfrog, which stays on its circle.

use crate::labs::{drawing::Point, prelude::*};

const STEPS: usize = 26;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let ([width, height], [cx, cy]) = (canvas.size, canvas.centre());
    let dt = 0.08 + 0.42 * canvas.pointer_or(0.45);
    let unit = 0.2 * height.min(width);
    let at = |[q, k]: [f32; 2]| -> Point { [cx + unit * q, cy - unit * k] };
    let path = |step: fn([f32; 2], f32) -> [f32; 2]| -> Vec<Point> {
        let states = std::iter::successors(Some([1.0f32, 0.0]), |s| Some(step(*s, dt)));
        states.take(STEPS).map(at).take_while(|[x, y]| (0.0..width).contains(x) && (0.0..height).contains(y)).collect()
    };
    let circle = (0..=64).map(|i| (i as f32 / 64.0 * std::f32::consts::TAU).sin_cos());
    drawing.path(circle.map(|(s, c)| at([c, s])).collect(), Ink::Line, 1.0);
    let (spiral, closed) = (path(euler), path(leapfrog));
    for (points, ink) in [(spiral, Ink::Warm), (closed, Ink::Accent)] {
        points.iter().for_each(|point| drawing.disc(*point, 2.0, ink));
        drawing.path(points, ink.thinned(0.8), 1.5);
    }
    drawing.node(at([1.0, 0.0]), 3.5, Ink::Panel);
    drawing.caption = format!("q' = k, k' = \u{2212}q, \u{394}t = {dt:.2}: Euler leaves the circle, leapfrog stays");
}

fn euler([q, k]: [f32; 2], dt: f32) -> [f32; 2] {
    [q + dt * k, k - dt * q]
}

fn leapfrog([q, k]: [f32; 2], dt: f32) -> [f32; 2] {
    let k = k - 0.5 * dt * q;
    let q = q + dt * k;
    [q, k - 0.5 * dt * q]
}
