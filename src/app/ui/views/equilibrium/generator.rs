//! A generator: its rates as an editable matrix and graph, and its stationary distributions beside the network's.

use super::{
    GAP, control_ui, empty_reason, keep_fresh,
    rates::{CANVAS, Rate, RateGesture, edited_rate, rates_ui},
    settings, subtitle,
};
use crate::{
    analysis::generator::{RateEdit, read_edits, write_edits},
    labs::equilibrium::settings::{ControlSettings, EquilibriumSettings, GeneratorSettings},
    ui::views::prelude::*,
};

/// Narrower tiles have a slider for the first number of the control alone, points.
const NARROW_WIDTH: f32 = 460.0;
/// In a tile at least this wide (points) and `FLAT_RATIO` times as wide as high, the chart is beside the pictures.
const SIDE_BY_SIDE_WIDTH: f32 = 640.0;
const FLAT_RATIO: f32 = 2.2;
/// Height of the labels above and below a picture, points.
const LABELS_HEIGHT: f32 = 44.0;
/// A lower tile, points, that is not flat has room for only the matrix with the graph or the chart.
const STACKED_HEIGHT: f32 = 420.0;
/// Height of a row of controls, points.
const CONTROLS_HEIGHT: f32 = 30.0;
/// Height of the sentence below the matrix and the graph where they have the tile, points.
const SENTENCE_HEIGHT: f32 = 40.0;
/// The minimum height of the matrix and the graph where they have the tile, points.
const MIN_RATES_HEIGHT: f32 = 150.0;
/// Points of a drag that multiply a rate by e.
const POINTS_PER_E: f64 = 50.0;
const RATE_RANGE: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// The pictures to choose from in a tile with room for one.
const PICTURES: [&str; 2] = ["rates", "distributions"];

#[derive(Default)]
pub struct GeneratorView {
    /// Index of one of [`PICTURES`].
    shown: usize,
    /// The rate that is being dragged, with its value when the drag began.
    dragged: Option<(Rate, f64)>,
    /// True if the last frame had space for only one number in the control.
    is_narrow: bool,
}

impl GeneratorView {
    /// The stationary distributions, a line for each closed class, and the network's answer.
    fn chart(cx: &ViewCx<'_>, state: &GeneratorState) -> Chart<'static> {
        let x = Axis::new("state").integer_ticks().include(&[1.0, state.states() as f64]);
        let mut chart = Chart::new("stationary distribution", x, Axis::new("probability").include(&[0.0]));
        let points = |values: &[f64]| values.iter().zip(1u32..).map(|(p, s)| [f64::from(s), *p]).collect::<Vec<_>>();
        let closed: Vec<_> = state.classes.iter().enumerate().filter(|(_, c)| c.is_closed()).collect();
        for (rank, class) in &closed {
            let name = match closed.len() {
                1 => "stationary".to_owned(),
                _ => format!("of class {}", rank + 1),
            };
            chart.add(Line::new(name, cx.theme.group(*rank), points(&class.stationary)).dots());
        }
        if !state.predicted.is_empty() {
            chart.add(Line::new("network", cx.theme.text, points(&state.predicted)).dashed().dots());
        }
        chart
    }

    fn drag_rate(&mut self, cx: &mut ViewCx<'_>, state: &GeneratorState, touched: Option<(Rate, RateGesture)>) {
        let Some(((from, to), touch)) = touched else { return self.dragged = None };
        let n = state.states();
        if from.max(to) >= n {
            return;
        }
        let now = f64::from(state.matrix.data()[to * n + from]);
        let rate = match touch {
            RateGesture::Removed => 0.0,
            RateGesture::Dragged(up) => {
                let held = self.dragged.filter(|(rate, _)| *rate == (from, to));
                let (_, start) = *self.dragged.insert(held.unwrap_or(((from, to), now)));
                let moved = (start.max(*RATE_RANGE.start()) * (f64::from(up) / POINTS_PER_E).exp())
                    .clamp(*RATE_RANGE.start(), *RATE_RANGE.end());
                // The pointer is not more precise than three digits.
                format!("{moved:.2e}").parse().unwrap_or(moved)
            }
        };
        let mut edits = read_edits(&settings(cx).generator.edits).unwrap_or_default();
        edits.push(RateEdit { from, to, rate });
        cx.set(GeneratorSettings::edits.name, Value::Text(write_edits(&edits)));
    }
}

/// True in a tile that has room for only the matrix with the graph or the chart. A picture has both.
fn shows_one(ui: &Ui) -> bool {
    let tile = ui.max_rect().size();
    let is_flat = tile.x >= SIDE_BY_SIDE_WIDTH && tile.x > FLAT_RATIO * (tile.y - CONTROLS_HEIGHT);
    plot::min_chart_height(ui.ctx()) > 0.0 && tile.y < STACKED_HEIGHT && !is_flat
}

/// Describes the communicating classes and the kernel of the generator.
fn verdict(state: &GeneratorState) -> String {
    let transient: usize = state.classes.iter().filter(|c| !c.is_closed()).map(|c| c.states.len()).sum();
    let left = match transient {
        0 => String::new(),
        1 => ", and 1 state that is left for good".to_owned(),
        n => format!(", and {n} states that are left for good"),
    };
    match (state.kernel(), state.classes.len()) {
        (1, 1) => format!("Irreducible: one stationary distribution. Spectral gap {}.", number::short(state.gap)),
        (1, _) => format!("Reducible, with one closed class{left}: still one stationary distribution, zero there."),
        (k, _) => format!(
            "Reducible: {k} closed classes{left}. The kernel has {k} dimensions; there is no one stationary distribution."
        ),
    }
}

static CONTROLS: [&str; 3] = [GeneratorSettings::cut.name, ControlSettings::y0.name, ControlSettings::y1.name];

impl PanelView for GeneratorView {
    const SPACING: Vec2 = vec2(GAP, GAP);

    fn controls(&self) -> &'static [&'static str] {
        // in a narrow tile there is room for one number of the control
        if self.is_narrow { &CONTROLS[..2] } else { &CONTROLS }
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<GeneratorState>(cx, EquilibriumSettings::args);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(state) = cx.answered::<GeneratorState>().map(|m| m.value) else { return vec![] };
        let theme = cx.theme;
        let rates = Panel::canvas(CANVAS, move |ui, size| rates_ui(ui, theme, size, state));
        vec![rates, Panel::new(Self::chart(cx, state), 0.5)]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        empty_reason::<GeneratorState>(cx)
    }

    /// The matrix and the graph beside the chart in a flat tile, else above it; in a low tile that is not flat, the one that
    /// was chosen.
    fn arrange(&self, ui: &Ui, _cx: &ViewCx<'_>, room: Vec2, _panels: &[Panel<'_>], _alone: usize) -> Placement {
        if shows_one(ui) {
            // the sentence on the classes is visible below the matrix, and the chart needs all of the height
            let rates = vec2(room.x, (room.y - SENTENCE_HEIGHT).max(MIN_RATES_HEIGHT));
            return if self.shown == 0 { Placement::Column(vec![rates]) } else { Placement::Alone(1) };
        }
        if room.x >= SIDE_BY_SIDE_WIDTH && room.x > FLAT_RATIO * room.y {
            let pictures = 2.0 * ((room.x - 2.0 * GAP) * 0.27).floor() + GAP;
            return Placement::Row(vec![vec2(pictures, room.y), vec2(room.x - pictures - GAP, room.y)]);
        }
        let wide = ((room.x - GAP) / 2.0).floor();
        // they are square, with their labels, and leave its minimum height to the chart
        let chart = GAP + plot::min_chart_height(ui.ctx());
        let high = (0.62 * room.y).min(wide + LABELS_HEIGHT).min(room.y - chart).max(0.4 * room.y).floor().max(60.0);
        Placement::Column(vec![vec2(room.x, high), vec2(room.x, (room.y - high - GAP).max(40.0))])
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let (s, shows_one) = (settings(cx), shows_one(ui));
        ui.horizontal_wrapped(|ui| {
            self.is_narrow = ui.available_width() < NARROW_WIDTH;
            control_ui(ui, cx, if self.is_narrow { 1 } else { 2 });
            cx.edit_setting_ui(ui, GeneratorSettings::cut.name, s.generator.cut, |ui, cut| {
                let tip = "Removes every rate between the first half of the states and the second.";
                ui.toggle_value(cut, "Cut").on_hover_text(tip)
            });
            cx.setting_ui(ui, &[GeneratorSettings::edits.name], |ui, cx| {
                let is_changed = !s.generator.edits.trim().is_empty();
                let undo = ui.add_enabled(is_changed, Button::new("Undo changes"));
                if undo.on_hover_text("Restores every rate that you changed.").clicked() {
                    cx.set(GeneratorSettings::edits.name, Value::Text(String::new()));
                }
            });
            if shows_one {
                let pictures = PICTURES.into_iter().enumerate();
                choice_box(ui, "picture", 100.0, PICTURES[self.shown], &mut self.shown, pictures);
            }
        });
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.answered::<GeneratorState>() {
            note_ui(ui, cx.theme, verdict(m.value));
        }
    }

    fn canvas_pointed(&mut self, cx: &mut ViewCx<'_>, on: &Response) {
        if let Some(state) = cx.answered::<GeneratorState>().map(|m| m.value) {
            self.drag_rate(cx, state, edited_rate(on, state));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let what = "discs: stationary, rings: network";
        // the sentence that says so may be out of sight in a low tile
        match cx.answered::<GeneratorState>().map_or(1, |m| m.value.kernel()) {
            0 | 1 => subtitle::<GeneratorState>(cx, what),
            closed => subtitle::<GeneratorState>(cx, &format!("{closed} closed classes \u{b7} {what}")),
        }
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let state = cx.answered::<GeneratorState>()?.value;
        let n = state.states();
        let columns = (1..=n).map(|s| format!("from_{s}"));
        let mut table = Table::new(["state", "stationary", "network"].map(String::from).into_iter().chain(columns));
        for (s, rates) in state.matrix.data().chunks(n.max(1)).enumerate() {
            let class = state.classes.iter().find(|c| c.states.contains(&s));
            let p = optional_field(class.and_then(|c| c.stationary.get(s)));
            let phi = optional_field(state.predicted.get(s));
            table.row([(s + 1).to_string(), p, phi].into_iter().chain(rates.iter().map(f32::to_string)));
        }
        Some(table)
    }
}
