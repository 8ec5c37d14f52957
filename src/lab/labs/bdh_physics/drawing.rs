//! The gallery's drawing of BDH as a physical system: the toy of figure 2, poked twice, with connectors
//! that swing, each a band that bulges.

use crate::{
    analysis::bdh_dynamics::oscillators::{Oscillators, OscillatorsSpec},
    labs::prelude::*,
};

const N: usize = 12;

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let seconds = 0.2 + 3.8 * canvas.pointer_or(0.5);
    let toy = poked(seconds);
    let radius = canvas.size[1] * 0.46;
    let [cx, cy] = canvas.centre();
    let place = |i: usize| {
        let angle = std::f32::consts::TAU * i as f32 / N as f32;
        let r = radius * (0.78 + 0.2 * toy.x[i] as f32);
        [cx + r * angle.sin(), cy - r * angle.cos()]
    };
    for (k, sigma) in toy.sigma.iter().enumerate().filter(|(_, s)| s.abs() > 0.01) {
        let band = bulging(place(k / N), place(k % N), 0.5 * radius * *sigma as f32);
        let strength = (sigma.abs() as f32).sqrt().clamp(0.2, 1.0);
        drawing.path(band, Ink::Slow.thinned(strength), 1.5);
    }
    (0..N).for_each(|i| drawing.node(place(i), 4.0, Ink::Raised.mixed(Ink::Fast, (toy.x[i] as f32).clamp(0.0, 1.0))));
    drawing.caption = format!("figure 2\u{2019}s connectors, {seconds:.1} s after a poke");
}

/// The toy, this long after a first poke.
fn poked(seconds: f32) -> Oscillators {
    let spec = OscillatorsSpec { particles: N, swing: 2.5, damping: 0.1, ..OscillatorsSpec::default() };
    let mut toy = Oscillators::new(spec);
    toy.poke(0);
    for k in 0..(seconds * 60.0) as usize {
        if k == 40 {
            toy.poke(5);
        }
        toy.step(1.0 / 60.0);
    }
    toy
}

/// A parabola from `a` to `b` that stands off the straight line by `height` in its middle.
fn bulging(a: [f32; 2], b: [f32; 2], height: f32) -> Vec<[f32; 2]> {
    let [dx, dy] = [b[0] - a[0], b[1] - a[1]];
    let length = dx.hypot(dy);
    let side = if length > 0.0 { [dy / length * height, -dx / length * height] } else { [0.0; 2] };
    (0..=12)
        .map(|i| {
            let t = i as f32 / 12.0;
            let off = 4.0 * t * (1.0 - t);
            [a[0] + dx * t + side[0] * off, a[1] + dy * t + side[1] * off]
        })
        .collect()
}
