//! The oscillators of figure 2, to be poked: particles, connectors that relax or swing, and energy, without a run.

use std::collections::VecDeque;

use super::oscillator_ring::{OscillatorRing, VisibleEdges};
use crate::{
    analysis::bdh_dynamics::oscillators::{Energy, Oscillators, OscillatorsSpec},
    labs::bdh_physics::ToySettings,
    ui::views::prelude::*,
};

/// The step size of the integrator, seconds.
const STEP: f64 = 1.0 / 240.0;
/// The maximum simulated time that one frame advances the oscillators by, seconds; after a late frame they fall behind.
const MAX_ELAPSED: f64 = 0.1;
/// Minimum height of the particles above the chart of their energy, points.
const MIN_RING_HEIGHT: f32 = 240.0;
/// Length of the energy's history, and the interval of its samples, seconds.
const PAST: f64 = 20.0;
const NOTED: f64 = 0.05;
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
    /// Seconds not yet gone.
    pending_seconds: f64,
    past: VecDeque<(f64, Energy)>,
    shown: VisibleEdges,
    chart: ChartState,
}

impl OscillatorsView {
    /// The toy that the settings describe: another number of particles or seed begins again, the rest changes it.
    fn follow(&mut self, config: &Config) {
        let spec = spec_of(config);
        match &mut self.toy {
            Some((old, _)) if *old == spec => {}
            Some((old, toy)) if (old.particles, old.seed) == (spec.particles, spec.seed) => {
                *old = spec;
                toy.spec = OscillatorsSpec { particles: toy.n(), ..spec };
            }
            _ => {
                let mut toy = Oscillators::new(spec);
                toy.poke(0);
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
        while self.pending_seconds >= STEP {
            toy.step(STEP);
            self.pending_seconds -= STEP;
            if self.past.back().is_none_or(|(t, _)| toy.time - t >= NOTED) {
                self.past.push_back((toy.time, toy.energy()));
            }
        }
        while self.past.front().is_some_and(|(t, _)| toy.time - t > PAST) {
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

    fn controls_ui(&mut self, ui: &mut Ui) {
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
                toy.poke(lowest);
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

    fn ring_ui(&mut self, ui: &mut Ui, cx: &ViewCx<'_>, rect: Rect) {
        let Some((_, toy)) = &mut self.toy else { return };
        let response = ui.allocate_rect(rect, Sense::click());
        response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "particles on a circle"));
        plot::note_canvas(ui, "particles on a circle", rect);
        let ring = OscillatorRing::new(rect, toy);
        let under = response.hover_pos().and_then(|p| ring.particle_at(p));
        let clicked = response.interact_pointer_pos().filter(|_| response.clicked());
        if let Some(i) = clicked.and_then(|p| ring.particle_at(p)) {
            toy.poke(i);
            self.playing = true;
            ui.ctx().request_repaint();
        }
        OscillatorRing::new(rect, toy).paint(&ui.painter_at(rect), cx.theme, under, self.shown);
        if let Some(i) = under {
            let [x, y, pull] = [toy.x[i], toy.y[i], toy.connector_forces()[i]].map(|v| number::rounded(v, 3));
            let words = format!("particle {i}: x {x}, y {y}, its connectors pull with {pull}\nclick to poke it");
            response.on_hover_text_at_pointer(words);
        }
    }

    fn chart<'a>(&self, cx: &ViewCx<'_>) -> Chart<'a> {
        let x = Axis::new("seconds");
        let mut chart = Chart::new("energy", x, Axis::new("energy").include(&[0.0])).empty("Poke a particle.");
        let points =
            |f: &dyn Fn(&Energy) -> f64| -> Vec<[f64; 2]> { self.past.iter().map(|(t, e)| [*t, f(e)]).collect() };
        chart.add(Line::new("all", cx.theme.text, points(&|e| e.total())));
        chart.add(Line::new("connectors", cx.theme.slow, points(&|e| e.tension + e.motion)));
        chart.add(Line::new("pulses", cx.theme.fast, points(&|e| e.pulses)));
        chart
    }
}

/// The settings of the toy; what a config lacks is the default.
fn spec_of(config: &Config) -> OscillatorsSpec {
    let ToySettings { particles, damping, swing, wires, prods, pulse } = config.group().unwrap_or_default();
    OscillatorsSpec { particles, damping, swing, wires, prods, pulse, seed: config.seed }
}

impl View for OscillatorsView {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx.config);
        self.play(ui);
        ui.spacing_mut().item_spacing.y = 4.0;
        cx.controls_ui(ui, |ui, _| self.controls_ui(ui));
        if let Some((_, toy)) = &self.toy {
            let e = toy.energy();
            let parts = format!("pulses {:.3}, tension {:.3}, swing {:.3}", e.pulses, e.tension, e.motion);
            note_ui(ui, cx.theme, format!("energy {:.3}: {parts}", e.total()));
        }
        let room = ui.available_rect_before_wrap();
        let side = room.height().min(0.58 * room.width());
        let is_beside = room.width() > 1.45 * room.height() && plot::fits(ui.ctx(), room.width() - side - 8.0);
        let (ring, chart) = if is_beside {
            let right = Rect::from_min_max(room.min + vec2(side + 8.0, 0.0), room.max);
            (Rect::from_min_size(room.min, vec2(side, room.height())), right)
        } else {
            // In a low tile the particles take all the room.
            let under = (0.26 * room.height()).clamp(96.0, 140.0).max(plot::min_chart_height(ui.ctx()));
            let under = if room.height() - under > MIN_RING_HEIGHT { under } else { 0.0 };
            let below = Rect::from_min_max(room.left_bottom() - vec2(0.0, under), room.max);
            (Rect::from_min_size(room.min, vec2(room.width(), room.height() - under - 4.0)), below)
        };
        self.ring_ui(ui, cx, ring);
        if chart.width() >= 140.0 && chart.height() >= 80.0 {
            let drawn = self.chart(cx);
            // the chart may take more room than it is given, and the tile then scrolls
            let place = UiBuilder::new().max_rect(chart);
            ui.scope_builder(place, |ui| drawn.show(ui, chart.size(), cx.theme, &mut self.chart));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let spec = spec_of(cx.config);
        let connectors = match (spec.damping > 0.0, spec.swing > 0.0) {
            (true, true) => "connectors relax and swing",
            (true, false) => "connectors relax (ALiBi)",
            (false, true) => "connectors swing (RoPE)",
            (false, false) => "connectors keep all",
        };
        format!("computed, no model: {connectors}; Strang splitting, {:.0} steps per second", 1.0 / STEP)
    }

    /// The energy over the time shown.
    fn csv(&self, _: &ViewCx<'_>) -> Option<String> {
        let mut table = Table::new(["seconds", "pulses", "tension", "swing", "all"]);
        self.past.iter().for_each(|(t, e)| table.cells(&[t, &e.pulses, &e.tension, &e.motion, &e.total()]));
        table.finish_if_any()
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        self.chart(cx).svg(&self.chart, cx.theme)
    }
}
