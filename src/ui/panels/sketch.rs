//! The small drawings on the gallery's cards: each a real, cheap computation with one parameter
//! that the pointer moves. Nothing here is measured; every drawing says what formula it is.

use eframe::egui::{Align2, Color32, FontId, Pos2, Rect, Shape, Stroke, Ui, pos2};

use crate::{
    analysis::dragon::toy::{Toy, ToySpec},
    ui::theme::{self, Theme},
};

/// Draws the sketch of a lab into `rect`. `pointer`: where the pointer is across it (0 to 1).
pub fn sketch_ui(ui: &Ui, theme: &Theme, lab: &str, rect: Rect, pointer: Option<f32>) {
    let plot = Rect::from_min_max(rect.min, pos2(rect.right(), rect.bottom() - 18.0));
    let words = match lab {
        "fast_slow" => fast_slow(ui, theme, plot, pointer),
        "traces" => traces(ui, theme, plot, pointer),
        "ode_flow" => flow(ui, theme, plot, pointer),
        "bdh_physics" => oscillators(ui, theme, plot, pointer),
        _ => orbits(ui, theme, plot, pointer),
    };
    ui.painter().text(
        rect.left_bottom(),
        Align2::LEFT_BOTTOM,
        words,
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
    let spec = ToySpec { particles: N, swing: 2.5, damping: 0.1, ..ToySpec::default() };
    let mut toy = Toy::new(spec);
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

/// Three bodies on circles at Kepler's rates (period² ~ radius³), for a lab without a drawing.
fn orbits(ui: &Ui, theme: &Theme, rect: Rect, pointer: Option<f32>) -> String {
    let t = 40.0 * pointer.unwrap_or(0.4);
    let c = rect.center();
    for (i, share) in [0.3f32, 0.6, 0.95].into_iter().enumerate() {
        let r = share * rect.height() / 2.0;
        ui.painter().circle_stroke(c, r, Stroke::new(1.0, theme.line));
        let a = t * (0.3f32 / share).powf(1.5);
        ui.painter().circle_filled(c + r * eframe::egui::vec2(a.cos(), a.sin()), 4.0, theme.trace(i));
    }
    ui.painter().circle_filled(c, 5.0, theme.accent);
    "circles at Kepler's rates".to_owned()
}
