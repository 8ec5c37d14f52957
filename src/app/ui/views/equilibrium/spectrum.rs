//! Eigenvalues of a generator in the complex plane, the Gershgorin discs around them, and the gap by number of states.

use super::{
    ARRANGEMENT, GAP,
    canvas::{inner_rect, paint_frame},
    empty_reason, keep_fresh, settings, subtitle,
};
use crate::{
    analysis::fast_slow_plane::Bounds,
    labs::equilibrium::settings::EquilibriumSettings,
    ui::views::{flow::sheet::Sheet, prelude::*},
};

/// Circles with a larger radius are left out, points.
const MAX_RADIUS: f32 = 1e5;

#[derive(Default)]
pub struct SpectrumView;

impl SpectrumView {
    fn gap_chart(cx: &ViewCx<'_>, gap: f64) -> Chart<'static> {
        let x = Axis::new("states n").log();
        let mut chart = Chart::new("spectral gap by size", x, Axis::new("gap, y = 0").log());
        let Some(measured) = cx.answered::<GapBySize>() else {
            return chart.empty(cx.empty_reason::<GapBySize>("Not measured yet."));
        };
        for (i, of) in measured.topologies.iter().enumerate() {
            let points: Vec<[f64; 2]> = measured.sizes.iter().zip(&of.gaps).map(|(n, gap)| [*n as f64, *gap]).collect();
            chart.add(Line::new(&of.name, cx.theme.series(i), points).dots());
        }
        if gap > 0.0 && gap.is_finite() {
            chart.horizontal_line(format!("this one: {}", number::short(gap)), gap);
        }
        chart
    }
}

/// The plane of the eigenvalues, the discs of the columns, and the circle inside which forward Euler converges.
fn plane_ui(ui: &mut Ui, theme: &Theme, size: Vec2, state: &GeneratorState, dt: f64) -> Response {
    let n = state.states();
    let (sheet, response, painter) =
        canvas_ui(ui, size, Sense::hover(), format!("{n} eigenvalues and the discs that hold them"));
    let discs: Vec<f64> = (0..n).map(|j| f64::from(state.matrix.data()[j * n + j])).filter(|d| d.is_finite()).collect();
    let deepest = discs.iter().fold(0.0f64, |a, d| a.min(*d));
    if deepest >= 0.0 {
        painter.text(sheet.center(), Align2::CENTER_CENTER, "no rates", theme::small(), theme.secondary);
        return response;
    }
    let rect = inner_rect(sheet, None);
    // The largest disc fills the height; the axis of imaginary numbers keeps some room on its right.
    let scale = (1.1 * 2.0 * -deepest / f64::from(rect.height())).max(1.25 * 2.0 * -deepest / f64::from(rect.width()));
    let (width, height) = (scale * f64::from(rect.width()), scale * f64::from(rect.height()));
    let right = 0.12 * 2.0 * -deepest;
    let (x, y) = ([right - width, right], [-0.5 * height, 0.5 * height]);
    let plane = Sheet { rect, bounds: Bounds { x, y } };
    let inside = painter.with_clip_rect(rect);
    inside.line_segment([plane.at([x[0], 0.0]), plane.at([x[1], 0.0])], Pen::new(1.0, theme.line));
    inside.line_segment([plane.at([0.0, y[0]]), plane.at([0.0, y[1]])], Pen::new(1.0, theme.line));
    let points = |length: f64| (length / scale) as f32;
    let (fill, edge) = (theme.fast.gamma_multiply(0.05), Pen::new(1.0, theme.fast.gamma_multiply(0.5)));
    for d in &discs {
        inside.circle(plane.at([*d, 0.0]), points(-d), fill, edge);
    }
    if dt > 0.0 && points(1.0 / dt) < MAX_RADIUS {
        inside.circle_stroke(plane.at([-1.0 / dt, 0.0]), points(1.0 / dt), Pen::new(1.5, theme.warm));
    }
    let kernel = state.kernel();
    for (k, &[re, im]) in state.eigenvalues.as_chunks().0.iter().enumerate() {
        let at = plane.at([re, im]);
        if !rect.expand(20.0).contains(at) {
            continue;
        }
        if k < kernel {
            inside.circle_stroke(at, 5.0 + 2.5 * k as f32, Pen::new(2.0, theme.accent));
        } else {
            let is_held = dt.is_nan() || (1.0 + dt * re).hypot(dt * im) < 1.0;
            inside.circle_filled(at, 3.5, if is_held { theme.text } else { theme.error });
        }
    }
    let along = format!("Re from \u{2212}{} to {}", number::short(-x[0]), number::short(right));
    paint_frame(&painter, rect, theme, "eigenvalues, Gershgorin's discs", &along);
    response
}

fn euler_step(cx: &ViewCx<'_>, state: &GeneratorState) -> f64 {
    settings(cx).flow.dt * state.step_bound
}

fn verdict(state: &GeneratorState, dt: f64) -> String {
    let (kernel, gap) = (state.kernel(), number::short(state.gap));
    let all = state.eigenvalues.as_chunks().0.iter().skip(kernel);
    let outside = all.filter(|[re, im]| (1.0 + dt * re).hypot(dt * im) >= 1.0).count();
    let zero = match kernel {
        1 => "one eigenvalue is 0".to_owned(),
        k => format!("{k} eigenvalues are 0: as many as closed classes"),
    };
    let euler = match outside {
        0 => "all others lie in Euler's circle".to_owned(),
        1 => "one lies outside of Euler's circle".to_owned(),
        k => format!("{k} lie outside of Euler's circle"),
    };
    format!("Gap {gap}; {zero}; {euler}.")
}

impl PanelView for SpectrumView {
    const ARRANGEMENT: Arrangement = ARRANGEMENT;
    const SPACING: Vec2 = vec2(GAP, GAP);
    const CHOICE: &'static [&'static str] = &["eigenvalues", "gap by size"];

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        keep_fresh::<GeneratorState>(cx, EquilibriumSettings::args);
        cx.ask::<GapBySize>(None, &GapBySizeArgs::default(), Freshness::IfMissing);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let Some(state) = cx.answered::<GeneratorState>().map(|m| m.value) else { return vec![] };
        let (dt, theme) = (euler_step(cx, state), cx.theme);
        let plane = Panel::canvas("eigenvalues", move |ui, size| plane_ui(ui, theme, size, state, dt));
        vec![plane, Panel::new(Self::gap_chart(cx, state.gap), 0.5)]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        empty_reason::<GeneratorState>(cx)
    }

    fn explanation_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if let Some(m) = cx.answered::<GeneratorState>() {
            note_ui(ui, cx.theme, verdict(m.value, euler_step(cx, m.value)));
        }
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        subtitle::<GeneratorState>(cx, "eigenvalues; small rings: kernel, large circle: Euler's bound")
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let state = cx.answered::<GeneratorState>()?.value;
        let mut table = Table::new(["eigenvalue", "real", "imaginary", "is_kernel"]);
        for (k, [re, im]) in state.eigenvalues.as_chunks().0.iter().enumerate() {
            table.cells(&[&(k + 1), re, im, &(k < state.kernel())]);
        }
        Some(table)
    }
}
