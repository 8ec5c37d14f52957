//! The gallery's drawing of the neuron graph: a graph with three planted groups on its way from a cloud
//! to rest, by the forces of the view.

use crate::{
    analysis::layout::{self, ForceParams, STEPS, Springs},
    labs::prelude::*,
};

const NODES: u32 = 36;
const GROUPS: u32 = 3;

fn group(i: u32) -> u32 {
    i % GROUPS
}

/// One pair in three within a group, one in forty between groups.
fn joined(a: u32, b: u32) -> bool {
    (a * 6007 + b * 31_013) % 120 < if group(a) == group(b) { 40 } else { 3 }
}

pub fn draw(canvas: &Canvas, drawing: &mut Drawing) {
    let pairs = (0..NODES).flat_map(|a| (a + 1..NODES).map(move |b| (a, b)));
    let edges: Vec<_> = pairs.filter(|(a, b)| joined(*a, *b)).map(|(a, b)| (a, b, 1.0)).collect();
    let springs = Springs::new(NODES as usize, &edges);
    let steps = (canvas.pointer_or(1.0) * STEPS as f32) as u64;
    let places = layout::after(steps, &springs, &ForceParams::default(), layout::start(0..NODES, 5), |_| ());
    let [left, top, right, bottom] = layout::bounds(&places);
    let [width, height] = canvas.size;
    let scale = (width / (right - left)).min((height - 12.0) / (bottom - top));
    let (middle, [cx, cy]) = ([0.5 * (left + right), 0.5 * (top + bottom)], canvas.centre());
    let place = |i: u32| {
        let [x, y] = places[i as usize];
        [cx + scale * (x - middle[0]), cy + scale * (y - middle[1])]
    };
    for (a, b, _) in &edges {
        let ink = if group(*a) == group(*b) { Ink::Group(group(*a) as usize) } else { Ink::Secondary };
        drawing.path(vec![place(*a), place(*b)], ink.thinned(0.35), 1.0);
    }
    (0..NODES).for_each(|i| drawing.disc(place(i), 3.5, Ink::Group(group(i) as usize)));
    drawing.caption = format!("{NODES} nodes in {GROUPS} planted groups, step {steps} of the layout");
}
