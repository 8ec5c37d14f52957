//! A number over steps: one line per point, seeds folded to mean and band.

use super::prelude::*;
use crate::ui::plot::{Axis, Chart, Curve, Line};

/// Fewer points than this are marked one by one.
const MARKED_BELOW: usize = 40;

#[derive(Debug, Clone, Default)]
pub struct CurveLine {
    mean: Curve,
    /// One standard deviation below and above, if there is a spread.
    band: Option<[Curve; 2]>,
}

pub fn curve_lines(results: &SweepResults, number: usize) -> Vec<CurveLine> {
    let line = |point: usize| {
        let (mean, band) = Curve::mean_and_band(&results.curve(number, point));
        CurveLine { mean, band }
    };
    (0..results.points.len()).map(line).collect()
}

/// The chart, and the index of the point to which each of its lines belongs.
pub fn chart<'a>(view: &SweepView<'a>, lines: &'a [CurveLine], step: Option<u64>) -> (Chart<'a>, Vec<usize>) {
    let is_few = view.results.points.len() <= OWN_COLOURS;
    let y = Axis::new(view.heading());
    let mut chart = Chart::new("curves of the sweep", Axis::new("step").integer_ticks(), y)
        .empty("No run has recorded this number yet.");
    chart.legend = is_few;
    chart.marker = step.map(|step| step as f64);
    let mut points = vec![];
    // the selected one last, over the others
    let order = (0..lines.len()).filter(|i| view.selected != Some(*i)).chain(view.selected);
    for point in order {
        let Some(line) = lines.get(point).filter(|line| !line.mean.is_empty()) else { continue };
        let (is_kept, is_selected) = (view.is_in_brush(point), view.selected == Some(point));
        let colour = if is_kept { view.colour(point) } else { view.theme.grey() };
        let name = view.results.point_name(point);
        let mut drawn = Line::new(name.clone(), colour, &line.mean);
        drawn.width = if is_selected { 3.0 } else { 1.5 };
        drawn.faint = !is_kept && !is_selected;
        drawn.dots = line.mean.len() < MARKED_BELOW && is_kept && (is_few || is_selected);
        chart.add(drawn);
        points.push(point);
        if let Some([low, high]) =
            line.band.as_ref().filter(|_| is_kept && (view.results.points.len() <= MAX_BANDS || is_selected))
        {
            chart.band(name, colour, low, high);
        }
    }
    (chart, points)
}

/// Draws the curves and marks the step; a click on a line takes its point.
pub fn curves_ui(
    ui: &mut Ui,
    size: Vec2,
    view: &SweepView<'_>,
    lines: &[CurveLine],
    step: Option<u64>,
    state: &mut ChartState,
) -> PointedAt {
    let (chart, points) = chart(view, lines, step);
    let shown = chart.show(ui, size, view.theme, state);
    let hovered = shown.hovered_line.and_then(|line| points.get(line).copied());
    PointedAt { hovered, clicked: hovered.filter(|_| shown.response.clicked()) }
}
