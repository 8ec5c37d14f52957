//! The relaxation of distributions under a generator: distances on a logarithmic axis beside the theorem's slopes,
//! relative entropy, mass, and single particles over the distribution that they are drawn from.

use super::{
    ARRANGEMENT, GAP,
    canvas::{inner_rect, largest, paint_cells, paint_frame},
    empty_reason, keep_fresh, settings, subtitle,
};
use crate::{
    analysis::fast_slow_plane::Bounds,
    labs::equilibrium::settings::{EquilibriumSettings, RelaxationSettings},
    ui::views::{flow::sheet::Sheet, prelude::*},
};

/// Columns of the picture of particles: more steps are thinned.
const COLUMNS: usize = 240;
/// Start of a line of the theorem's slope, as a share of the steps before the error is lost in rounding.
const ANCHOR_SHARE: f64 = 0.3;
/// Errors below this are rounding errors.
const ROUNDING: f64 = 1e-13;
const AT_REST: &str = "The start is already the stationary distribution, so nothing relaxes. Choose another start.";

/// The picture shown; a wide tile shows the distances as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RelaxationPicture {
    #[default]
    Distances,
    Particles,
    Entropy,
    Mass,
}

const PICTURES: [(RelaxationPicture, &str); 4] = [
    (RelaxationPicture::Distances, "distances"),
    (RelaxationPicture::Particles, "particles"),
    (RelaxationPicture::Entropy, "entropy"),
    (RelaxationPicture::Mass, "mass"),
];

#[derive(Default)]
pub struct RelaxationView {
    shown: RelaxationPicture,
}

/// A line of this slope through an error before it is lost in rounding.
fn slope_line(errors: &[f64], slope: f64) -> Vec<[f64; 2]> {
    let lasts = errors.iter().take_while(|e| **e > ROUNDING && e.is_finite()).count();
    let anchor = (ANCHOR_SHARE * lasts as f64) as usize;
    let Some(at) = errors.get(anchor).filter(|e| slope.is_finite() && **e > ROUNDING) else { return vec![] };
    let value = |k: usize| at * (slope * (k as f64 - anchor as f64)).exp();
    let line = (0..errors.len()).map(|k| [k as f64, value(k)]);
    line.filter(|[_, v]| *v > 1e-17 && *v < 1e12).collect()
}

/// The values above a limit by their steps: a logarithmic axis has no zero.
fn values_above(values: &[f64], limit: f64) -> Vec<[f64; 2]> {
    by_place(values).into_iter().filter(|p| p[1] > limit).collect()
}

/// A chart by step on a logarithmic axis, where a start that is the limit leaves nothing to draw.
fn chart_by_step(flow: &GeneratorFlow, name: &str, y: Axis) -> Chart<'static> {
    let chart = Chart::new(name, Axis::new("step k").integer_ticks(), y);
    match flow.exact.error.first() {
        Some(error) if *error == 0.0 => chart.empty(AT_REST),
        _ => chart,
    }
}

impl RelaxationView {
    fn distances(cx: &ViewCx<'_>, flow: &GeneratorFlow) -> Chart<'static> {
        let mut chart = chart_by_step(flow, "distance to the limit", Axis::new("max |\u{b7}|").log());
        let (euler, exact) = (cx.theme.fast, cx.theme.slow);
        chart.add(Line::new("Euler |x \u{2212} p|", euler, values_above(&flow.euler.error, 0.0)));
        chart.add(Line::new("Euler |Ax|", euler, values_above(&flow.euler.residual, 0.0)).dashed());
        chart.add(Line::new("exact |x \u{2212} p|", exact, values_above(&flow.exact.error, 0.0)));
        let slopes = [
            ("slope log|\u{3bb}\u{2082}|", cx.theme.text, slope_line(&flow.euler.error, flow.euler_slope)),
            ("slope \u{2212}gap \u{394}t", cx.theme.secondary, slope_line(&flow.exact.error, flow.exact_slope)),
        ];
        for (name, colour, points) in slopes.into_iter().filter(|(.., points)| !points.is_empty()) {
            chart.add(Line::new(name, colour, points).dashed());
        }
        chart
    }

    fn entropy_or_mass(&self, cx: &ViewCx<'_>, flow: &GeneratorFlow) -> Chart<'static> {
        let is_mass = self.shown == RelaxationPicture::Mass;
        let (name, y) = match is_mass {
            true => ("mass", Axis::new("sum of x less 1").include(&[-1e-14, 1e-14])),
            false => ("relative entropy to the limit", Axis::new("nats").log()),
        };
        let mut chart = chart_by_step(flow, name, y);
        for (name, colour, of) in [("Euler", cx.theme.fast, &flow.euler), ("exact", cx.theme.slow, &flow.exact)] {
            let points = if is_mass { by_place(&of.excess_mass) } else { values_above(&of.entropy, 1e-16) };
            chart.add(Line::new(name, colour, points));
        }
        if is_mass {
            chart.horizontal_line("", 0.0);
        }
        chart
    }
}

/// Probability by state and step, and the paths of single particles.
fn particles_ui(ui: &mut Ui, theme: &Theme, size: Vec2, flow: &GeneratorFlow) -> Response {
    let words = format!("probability of each state by step, and {} particles", flow.paths.len());
    let (sheet, response, painter) = canvas_ui(ui, size, Sense::hover(), words);
    let rect = inner_rect(sheet, None);
    let [steps, n] = match flow.distributions.shape() {
        [steps, n] if *steps > 1 && *n > 0 => [*steps, *n],
        _ => return response,
    };
    let values = flow.distributions.data();
    // Most of the mass is where it starts; the colours are for what it spreads to.
    let strongest = largest(values, 1e-9).min(4.0 / n as f32);
    let columns = steps.min(COLUMNS);
    let probability = |state: usize, column: usize| Some(f64::from(values[column * steps / columns * n + state]));
    paint_cells(&painter, rect, (n, columns), strongest, probability);
    let plane = Sheet { rect, bounds: Bounds { x: [0.0, steps as f64], y: [n as f64, 0.0] } };
    let middle = |k: usize, state: usize| plane.at([k as f64 + 0.5, state as f64 + 0.5]);
    for path in &flow.paths {
        let mut points = vec![];
        for (k, state) in path.iter().enumerate().filter(|(k, state)| *k < steps && **state < n) {
            if let Some(before) = k.checked_sub(1).map(|k| path[k]).filter(|before| before != state && *before < n) {
                points.push(middle(k, before));
            }
            points.push(middle(k, *state));
        }
        painter.add(Shape::line(points, Pen::new(1.5, theme.page)));
    }
    let along = format!("full colour at {}; step {}", value_label(f64::from(strongest)), steps - 1);
    paint_frame(&painter, rect, theme, "probability and particles", &along);
    for (state, align) in [(0, Align2::RIGHT_TOP), (n - 1, Align2::RIGHT_BOTTOM)] {
        let y = if state == 0 { rect.top() } else { rect.bottom() };
        painter.text(pos2(rect.left() - 4.0, y), align, (state + 1).to_string(), theme::small(), theme.secondary);
    }
    response
}

fn verdict(flow: &GeneratorFlow) -> String {
    let share = flow.dt / flow.step_bound;
    let factor = flow.euler_slope.exp();
    let pace = match factor {
        f if !f.is_finite() => "nothing outside of the kernel moves".to_owned(),
        f if f < 1.0 => format!("each step leaves {f:.3} of the error"),
        f => format!("each step makes the error {f:.3} times as large"),
    };
    let bound = match share {
        s if s <= 1.0 => "inside the bound",
        _ => "over the bound: the theorem promises nothing here",
    };
    let limit = if flow.kernel == 1 { "" } else { ". The limit is that of this start" };
    let noise = flow.sampling_error.last().map_or(String::new(), |e| {
        format!(" \u{b7} {} particles: within {} at the end", flow.particles, number::short(*e))
    });
    format!("{share:.2} of the bound, {bound}; {pace}{limit}{noise}.")
}

impl PanelView for RelaxationView {
    const ARRANGEMENT: Arrangement = ARRANGEMENT;
    const SPACING: Vec2 = vec2(GAP, GAP);

    fn controls(&self) -> &'static [&'static str] {
        const { &[RelaxationSettings::dt.name] }
    }

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<GeneratorFlow>(cx, EquilibriumSettings::flow_args);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(flow) = cx.answered::<GeneratorFlow>().map(|m| m.value) else { return vec![] };
        let theme = cx.theme;
        let other = match self.shown {
            RelaxationPicture::Distances | RelaxationPicture::Particles => {
                Panel::canvas("particles", move |ui, size| particles_ui(ui, theme, size, flow))
            }
            RelaxationPicture::Entropy | RelaxationPicture::Mass => Panel::new(self.entropy_or_mass(cx, flow), 0.5),
        };
        vec![Panel::new(Self::distances(cx, flow), 0.5), other]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        empty_reason::<GeneratorFlow>(cx)
    }

    fn single_panel(&self, _chosen: usize) -> usize {
        usize::from(self.shown != RelaxationPicture::Distances)
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        let s = settings(cx);
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().slider_width = 70.0;
            cx.edit_setting_ui(ui, RelaxationSettings::dt.name, s.flow.dt, |ui, dt| {
                let slider = Slider::new(dt, 0.02..=4.0).fixed_decimals(2).text("\u{394}t, of bound");
                let tip = "Step of forward Euler as a share of 1 / max |A\u{2c7c}\u{2c7c}|. Up to 1 the theorem holds.";
                ui.add(slider).on_hover_text(tip)
            });
            let name = PICTURES.iter().find(|(one, _)| *one == self.shown).map_or("", |(_, name)| name);
            choice_box(ui, "picture", 100.0, name, &mut self.shown, PICTURES);
        });
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.answered::<GeneratorFlow>() {
            note_ui(ui, cx.theme, verdict(m.value));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle::<GeneratorFlow>(cx, "forward Euler and e^(At), from one start")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let flow = cx.answered::<GeneratorFlow>()?.value;
        let mut table = Table::new(["flow", "step", "error", "residual", "relative_entropy", "excess_mass"]);
        for (name, of) in [("euler", &flow.euler), ("exact", &flow.exact)] {
            let RelaxationCurves { error, residual, entropy, excess_mass } = of;
            let rows = error.iter().zip(residual).zip(entropy).zip(excess_mass).enumerate();
            for (k, (((error, residual), entropy), mass)) in rows {
                table.cells(&[&name, &k, error, residual, entropy, mass]);
            }
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_line_follows_a_geometric_error_and_none_is_drawn_through_rounding() {
        let errors: Vec<f64> = (0..50).map(|k| 0.5 * 0.8f64.powi(k)).collect();
        let line = slope_line(&errors, 0.8f64.ln());
        assert!(line.iter().zip(&errors).all(|(p, e)| (p[1] / e - 1.0).abs() < 1e-9));
        assert!(slope_line(&[1e-16; 10], -0.1).is_empty() && slope_line(&errors, f64::NAN).is_empty());
        assert!(slope_line(&[], -0.1).is_empty());
    }
}
