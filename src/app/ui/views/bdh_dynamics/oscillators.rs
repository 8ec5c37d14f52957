//! The oscillators of figure 2, to be poked: particles, connectors that relax or swing, and energy, without a run.

use std::collections::VecDeque;

use super::ring::{OscillatorRing, VisibleEdges};
use crate::{
    analysis::bdh_dynamics::oscillators::{Energy, Oscillators, OscillatorsSpec},
    labs::bdh_physics::ToySettings,
    ui::views::prelude::*,
};

/// The step size of the integrator, seconds.
const STEP_SECONDS: f64 = 1.0 / 240.0;
/// The maximum simulated time that one frame advances the oscillators by, seconds; after a late frame they fall behind.
const MAX_ELAPSED: f64 = 0.1;
/// Minimum height of the particles above the chart of their energy, points.
const MIN_RING_HEIGHT: f32 = 240.0;
/// Length of the energy's history, and the interval of its samples, seconds.
const HISTORY_SECONDS: f64 = 20.0;
const SAMPLE_INTERVAL: f64 = 0.05;
/// Energy below which the system counts as at rest.
const REST_ENERGY: f64 = 1e-5;
/// The view opens this long after a poke, in seconds, so that motion is visible at once.
const POKE_AGE: f64 = 0.6;

#[derive(Default)]
pub struct OscillatorsView {
    toy: Option<(OscillatorsSpec, Oscillators)>,
    playing: bool,
    /// Time of the last step, by egui's clock.
    last: Option<f64>,
    /// Time that has passed but was not simulated yet, seconds.
    pending_seconds: f64,
    past: VecDeque<(f64, Energy)>,
    shown: VisibleEdges,
}

impl OscillatorsView {
    /// The toy that the settings describe: another number of particles or seed begins again, the rest changes it.
    fn follow(&mut self, config: &Config) {
        let spec = toy_spec(config);
        match &mut self.toy {
            Some((old, _)) if *old == spec => {}
            Some((old, toy)) if (old.particles, old.seed) == (spec.particles, spec.seed) => {
                *old = spec;
                toy.spec = OscillatorsSpec { particles: toy.n(), ..spec };
            }
            _ => {
                let mut toy = Oscillators::new(spec);
                toy.displace(0);
                self.toy = Some((spec, toy));
                (self.past, self.pending_seconds, self.playing) = (VecDeque::new(), 0.0, false);
                self.advance(POKE_AGE);
            }
        }
    }

    /// Advances by a number of seconds, in whole steps.
    fn advance(&mut self, seconds: f64) {
        let Some((_, toy)) = &mut self.toy else { return };
        self.pending_seconds += seconds;
        while self.pending_seconds >= STEP_SECONDS {
            toy.step(STEP_SECONDS);
            self.pending_seconds -= STEP_SECONDS;
            if self.past.back().is_none_or(|(t, _)| toy.time - t >= SAMPLE_INTERVAL) {
                self.past.push_back((toy.time, toy.energy()));
            }
        }
        while self.past.front().is_some_and(|(t, _)| toy.time - t > HISTORY_SECONDS) {
            self.past.pop_front();
        }
    }

    fn play(&mut self, ui: &Ui) {
        if !self.playing {
            self.last = None;
            return;
        }
        let now = ui.input(|i| i.time);
        let since = self.last.map_or(0.0, |l| now - l);
        // A frame that is drawn twice at the same time advances once.
        self.advance(since.clamp(0.0, MAX_ELAPSED));
        self.last = Some(now);
        if self.toy.as_ref().is_some_and(|(_, t)| t.energy().total() < REST_ENERGY) {
            self.playing = false;
        }
        ui.ctx().request_repaint();
    }

    fn chart<'a>(&self, cx: &ViewCx<'_>) -> Chart<'a> {
        let (x, y) = (Axis::new("seconds"), Axis::new("energy").include(&[0.0]));
        let mut chart = Chart::new("energy", x, y).empty("Poke a particle.");
        let points =
            |f: &dyn Fn(&Energy) -> f64| -> Vec<[f64; 2]> { self.past.iter().map(|(t, e)| [*t, f(e)]).collect() };
        chart.add(Line::new("all", cx.theme.text, points(&|e| e.total())));
        chart.add(Line::new("connectors", cx.theme.slow, points(&|e| e.tension + e.motion)));
        chart.add(Line::new("pulses", cx.theme.fast, points(&|e| e.pulses)));
        chart
    }
}

/// The settings of the toy; what a config lacks is the default.
fn toy_spec(config: &Config) -> OscillatorsSpec {
    let ToySettings { particles, damping, swing, wires, prods, pulse } = config.group().unwrap_or_default();
    OscillatorsSpec { particles, damping, swing, wires, prods, pulse, seed: config.seed }
}

/// The particles, with the state of the one under the pointer.
fn ring_ui(ui: &mut Ui, theme: &Theme, size: Vec2, toy: &Oscillators, shown: VisibleEdges) -> Response {
    let (rect, response, painter) = canvas_ui(ui, size, Sense::click(), "particles on a circle");
    let ring = OscillatorRing::new(rect, toy);
    let under = response.hover_pos().and_then(|p| ring.particle_at(p));
    ring.paint(&painter, theme, under, shown);
    let Some(i) = under else { return response };
    let [x, y, pull] = [toy.x[i], toy.y[i], toy.connector_forces()[i]].map(|v| number::rounded(v, 3));
    let words = format!("particle {i}: x {x}, y {y}, its connectors pull with {pull}\nclick to poke it");
    response.on_hover_text_at_pointer(words)
}

impl PanelView for OscillatorsView {
    const SPACING: Vec2 = vec2(8.0, 4.0);

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some((_, toy)) = &self.toy else { return vec![] };
        let (theme, shown) = (cx.theme, self.shown);
        let ring = Panel::canvas("particles", move |ui, size| ring_ui(ui, theme, size, toy, shown));
        vec![ring, Panel::new(self.chart(cx), 1.0)]
    }

    /// The chart is beside the particles or below them; in a low tile they take all the room.
    fn arrange(&self, ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, _panels: &[Panel<'_>], _alone: usize) -> Placement {
        let side = room.y.min(0.58 * room.x);
        let is_beside = room.x > 1.45 * room.y && plot::fits(ui.ctx(), room.x - side - Self::SPACING.x);
        let (ring, chart) = if is_beside {
            (vec2(side, room.y), vec2(room.x - side - Self::SPACING.x, room.y))
        } else {
            let under = (0.26 * room.y).clamp(96.0, 140.0).max(plot::min_chart_height(ui.ctx()));
            let under = if room.y - under > MIN_RING_HEIGHT { under } else { 0.0 };
            (vec2(room.x, room.y - under - Self::SPACING.y), vec2(room.x, under))
        };
        let has_chart = chart.x >= 140.0 && chart.y >= 80.0;
        let sizes = [ring.max(Vec2::ZERO), chart].into_iter().take(1 + usize::from(has_chart)).collect();
        if is_beside { Placement::Row(sizes) } else { Placement::Column(sizes) }
    }

    fn controls_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = 6.0;
            let words = if self.playing { "pause" } else { "play" };
            if ui.button(words).on_hover_text("Starts or stops time.").clicked() {
                self.playing = !self.playing;
            }
            if ui.button("poke").on_hover_text("Pokes the next particle. Or click one.").clicked()
                && let Some((_, toy)) = &mut self.toy
            {
                let lowest = (0..toy.n()).min_by(|a, b| toy.x[*a].total_cmp(&toy.x[*b])).unwrap_or(0);
                toy.displace(lowest);
                self.playing = true;
            }
            if ui.button("rest").on_hover_text("Puts everything back to rest.").clicked()
                && let Some((spec, toy)) = &mut self.toy
            {
                *toy = Oscillators::new(*spec);
                self.past.clear();
                self.playing = false;
            }
            ui.toggle_value(&mut self.shown.wires, "wires").on_hover_text("Gx: where a pulse y pulls.");
            ui.toggle_value(&mut self.shown.prods, "prods")
                .on_hover_text("Gy: the particles that the tension at a particle prods.");
        });
    }

    fn above_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx.config);
        self.play(ui);
        if let Some((_, toy)) = &self.toy {
            let e = toy.energy();
            let parts = format!("pulses {:.3}, tension {:.3}, swing {:.3}", e.pulses, e.tension, e.motion);
            note_ui(ui, cx.theme, format!("energy {:.3}: {parts}", e.total()));
        }
    }

    fn canvas_pointed(&mut self, _cx: &mut ViewCx<'_>, on: &Response) {
        let clicked = on.interact_pointer_pos().filter(|_| on.clicked());
        if let (Some((_, toy)), Some(p)) = (&mut self.toy, clicked)
            && let Some(i) = OscillatorRing::new(on.rect, toy).particle_at(p)
        {
            toy.displace(i);
            self.playing = true;
            on.ctx.request_repaint();
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let spec = toy_spec(cx.config);
        let connectors = match (spec.damping > 0.0, spec.swing > 0.0) {
            (true, true) => "connectors relax and swing",
            (true, false) => "connectors relax (ALiBi)",
            (false, true) => "connectors swing (RoPE)",
            (false, false) => "connectors keep all",
        };
        format!("computed, no model: {connectors}; Strang splitting, {:.0} steps per second", 1.0 / STEP_SECONDS)
    }

    /// The energy over the time shown.
    fn table(&self, _cx: &ViewCx<'_>) -> Option<Table> {
        let mut table = Table::new(["seconds", "pulses", "tension", "swing", "all"]);
        self.past.iter().for_each(|(t, e)| table.cells(&[t, &e.pulses, &e.tension, &e.motion, &e.total()]));
        table.non_empty()
    }
}
