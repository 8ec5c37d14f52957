//! The small drawings on the gallery's cards: each a real, cheap computation with one parameter
//! that the pointer moves. Nothing here is measured; every drawing says what formula it is.

use eframe::egui::{Align2, Color32, FontId, Pos2, Rect, Shape, Stroke, Ui, pos2};

use crate::{
    analysis::{
        bdh_dynamics::oscillators::{Oscillators, OscillatorsSpec},
        layout::{self, Laws, STEPS, Springs},
    },
    ui::theme::{self, Theme},
};

/// Draws itself into a rectangle, as the pointer (0 to 1 across it) says, and says what it is.
type Draw = fn(&Ui, &Theme, Rect, Option<f32>) -> String;

/// By lab.
const SKETCHES: [(&str, Draw); 6] = [
    ("fast_slow", fast_slow),
    ("traces", traces),
    ("ode_flow", flow),
    ("synapses", synapses),
    ("neuron_graph", graph),
    ("bdh_physics", oscillators),
];

/// Draws the sketch of a lab into `rect`. `pointer`: where the pointer is across it (0 to 1).
pub fn sketch_ui(ui: &Ui, theme: &Theme, lab: &str, rect: Rect, pointer: Option<f32>) {
    let plot = Rect::from_min_max(rect.min, pos2(rect.right(), rect.bottom() - 18.0));
    let Some((_, draw)) = SKETCHES.iter().find(|(of, _)| *of == lab) else { return };
    ui.painter().text(
        rect.left_bottom(),
        Align2::LEFT_BOTTOM,
        draw(ui, theme, plot, pointer),
        FontId::proportional(theme::SMALL),
        theme.secondary,
    );
}

fn line(ui: &Ui, points: Vec<Pos2>, colour: Color32, width: f32) {
    ui.painter().add(Shape::line(points, Stroke::new(width, colour)));
}

/// A fast signal and the staircase its average over windows of P makes one window later.
fn fast_slow(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    const N: usize = 96;
    let p = 2usize.pow((pointer.unwrap_or(0.55) * 5.0).round() as u32).clamp(2, 32);
    let fast: Vec<f32> = walk(N);
    let y = |v: f32| rect.center().y - v * rect.height() * 0.42;
    let x = |i: f32| rect.left() + rect.width() * i / N as f32;
    line(ui, fast.iter().enumerate().map(|(i, v)| pos2(x(i as f32), y(*v))).collect(), theme.fast, 1.0);
    let mut stairs = vec![];
    for w in 0..N / p {
        let mean = fast.iter().skip(w * p).take(p).sum::<f32>() / p as f32;
        // Known once its window is over: it is added to the next one.
        let (from, to) = ((w + 1) * p, ((w + 2) * p).min(N));
        if from < N {
            stairs.push(pos2(x(from as f32), y(mean)));
            stairs.push(pos2(x(to as f32), y(mean)));
        }
    }
    line(ui, stairs, theme.slow, 2.0);
    format!("a walk, and its mean over windows of P = {p}, one window late")
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

/// What is left of a token after k more: (1 - alpha)^k at three rates.
fn traces(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    let middle = 10f32.powf(-1.7 + 1.1 * pointer.unwrap_or(0.5));
    let x = |k: f32| rect.left() + rect.width() * k / 64.0;
    let y = |v: f32| rect.bottom() - 2.0 - v * (rect.height() - 6.0);
    for (strength, factor) in [(0, 4.0), (1, 1.0), (2, 0.25)] {
        let alpha = (middle * factor).clamp(0.001, 0.95);
        let points = (0..=64).map(|k| pos2(x(k as f32), y((1.0 - alpha).powi(k)))).collect();
        line(ui, points, theme.trace(strength), 1.5);
    }
    format!("what is left of a token k later: (1 − α)ᵏ, α = {middle:.2}")
}

/// Paths through a spiral field on which a control u leans like a wind, from a ring of starts.
fn flow(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    const STARTS: usize = 16;
    const STEPS: usize = 60;
    let u = 4.0 * pointer.unwrap_or(0.72) - 2.0;
    let scale = rect.height() * 0.4;
    let place = |[x, y]: [f32; 2]| rect.center() + scale * eframe::egui::vec2(x, -y);
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
        ui.painter().circle_stroke(path[0], 2.0, Stroke::new(1.0, theme.secondary));
        ui.painter().circle_filled(place(at), 2.5, theme.accent);
        line(ui, path, theme.fast, 1.0);
    }
    format!("a spiral with a wind u = {u:.1}, in {STEPS} Euler steps")
}

/// The toy of figure 2, poked twice, with connectors that swing: each a band that bulges.
fn oscillators(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    const N: usize = 12;
    let seconds = 0.2 + 3.8 * pointer.unwrap_or(0.5);
    let spec = OscillatorsSpec { particles: N, swing: 2.5, damping: 0.1, ..OscillatorsSpec::default() };
    let mut toy = Oscillators::new(spec);
    toy.poke(0);
    (0..(seconds * 60.0) as usize).for_each(|k| {
        if k == 40 {
            toy.poke(5);
        }
        toy.step(1.0 / 60.0);
    });
    let radius = rect.height() * 0.46;
    let place = |i: usize| {
        let angle = std::f32::consts::TAU * i as f32 / N as f32;
        rect.center() + radius * (0.78 + 0.2 * toy.x[i] as f32) * eframe::egui::vec2(angle.sin(), -angle.cos())
    };
    for (k, sigma) in toy.sigma.iter().enumerate().filter(|(_, s)| s.abs() > 0.01) {
        let (a, b) = (place(k / N), place(k % N));
        let side = (b - a).normalized().rot90() * (0.5 * radius * *sigma as f32);
        let at = |t: f32| a + (b - a) * t + side * (4.0 * t * (1.0 - t));
        let strength = (sigma.abs() as f32).sqrt().clamp(0.2, 1.0);
        line(ui, (0..=12).map(|i| at(i as f32 / 12.0)).collect(), theme.slow.gamma_multiply(strength), 1.5);
    }
    for i in 0..N {
        let fill = theme.raised.lerp_to_gamma(theme.fast, (toy.x[i] as f32).clamp(0.0, 1.0));
        ui.painter().circle(place(i), 4.0, fill, Stroke::new(1.0, theme.secondary));
    }
    format!("figure 2\u{2019}s connectors, {seconds:.1} s after a poke")
}

/// What synapses hold after some words: each word lights some neurons on both sides, and what fires together adds to
/// what is between them while all of it fades. A ring is around the strongest.
fn synapses(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    const ROWS: usize = 7;
    const COLS: usize = 24;
    const KEPT: f32 = 0.85;
    // neurons that a word lights, below and beside; the first comes back again and again
    const WORDS: [([usize; 2], [usize; 5]); 5] = [
        ([1, 4], [2, 7, 11, 18, 21]),
        ([0, 5], [0, 5, 9, 13, 20]),
        ([2, 6], [3, 7, 14, 16, 22]),
        ([3, 4], [1, 6, 11, 15, 23]),
        ([0, 2], [4, 8, 12, 17, 19]),
    ];
    const TEXT: [usize; 16] = [0, 1, 2, 0, 3, 4, 0, 1, 0, 2, 3, 0, 4, 1, 0, 2];
    let read = 1 + (pointer.unwrap_or(0.7) * (TEXT.len() - 1) as f32).round() as usize;
    let mut sigma = [[0f32; COLS]; ROWS];
    for word in &TEXT[..read] {
        let (y, x) = WORDS[*word];
        sigma.iter_mut().flatten().for_each(|s| *s *= KEPT);
        y.iter().for_each(|y| x.iter().for_each(|x| sigma[*y][*x] += 1.0));
    }
    let (y, x) = WORDS[TEXT[read - 1]];
    let step = (rect.width() / (COLS + 1) as f32).min(rect.height() / (ROWS + 1) as f32);
    let start = rect.center() - 0.5 * step * eframe::egui::vec2(COLS as f32, ROWS as f32);
    let place = |row: usize, col: usize| start + step * eframe::egui::vec2(col as f32, row as f32);
    let neuron = |at: Pos2, fires: bool| {
        let fill = if fires { theme.fast } else { theme.panel };
        ui.painter().circle(at, 0.22 * step, fill, Stroke::new(1.0, theme.secondary));
    };
    (0..ROWS).for_each(|r| neuron(place(r + 1, 0), y.contains(&r)));
    (0..COLS).for_each(|c| neuron(place(0, c + 1), x.contains(&c)));
    let most = sigma.iter().flatten().fold(0f32, |most, s| most.max(*s));
    let mut ringed = false;
    for (r, row) in sigma.iter().enumerate() {
        for (c, s) in row.iter().enumerate() {
            let at = place(r + 1, c + 1);
            ui.painter().circle_filled(at, 1.0, theme.line);
            ui.painter().circle_filled(at, 0.4 * step * (s / most).sqrt(), theme.warm.gamma_multiply(s / most));
            if *s == most && !ringed {
                ui.painter().circle_stroke(at, 0.5 * step, Stroke::new(1.5, theme.accent));
                ringed = true;
            }
        }
    }
    format!("\u{3c3} \u{2190} {KEPT} \u{3c3} + y x\u{1d40}, after {read} {}", if read == 1 { "word" } else { "words" })
}

/// A graph with three planted groups on its way from a cloud to rest, by the forces of the neuron graph.
fn graph(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    const NODES: u32 = 36;
    const GROUPS: u32 = 3;
    let group = |i: u32| i % GROUPS;
    // one pair in three within a group, one in forty between groups
    let joined = |a: u32, b: u32| (a * 6007 + b * 31_013) % 120 < if group(a) == group(b) { 40 } else { 3 };
    let pairs = (0..NODES).flat_map(|a| (a + 1..NODES).map(move |b| (a, b)));
    let edges: Vec<_> = pairs.filter(|(a, b)| joined(*a, *b)).map(|(a, b)| (a, b, 1.0)).collect();
    let springs = Springs::new(NODES as usize, &edges);
    let steps = (pointer.unwrap_or(1.0) * STEPS as f32) as u64;
    let places = layout::after(steps, &springs, &Laws::default(), layout::start(0..NODES, 5));
    let [left, top, right, bottom] = layout::bounds(&places);
    let scale = (rect.width() / (right - left)).min((rect.height() - 12.0) / (bottom - top));
    let middle = [0.5 * (left + right), 0.5 * (top + bottom)];
    let place = |i: u32| rect.center() + scale * (Pos2::from(places[i as usize]) - Pos2::from(middle));
    for (a, b, _) in &edges {
        let colour = if group(*a) == group(*b) { theme.group(group(*a) as usize) } else { theme.secondary };
        line(ui, vec![place(*a), place(*b)], colour.gamma_multiply(0.35), 1.0);
    }
    for i in 0..NODES {
        ui.painter().circle_filled(place(i), 3.5, theme.group(group(i) as usize));
    }
    format!("{NODES} nodes in {GROUPS} planted groups, step {steps} of the layout")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lab_has_a_sketch() {
        for lab in crate::labs::LABS {
            assert!(SKETCHES.iter().any(|(of, _)| *of == lab.id), "{}", lab.id);
        }
    }
}
