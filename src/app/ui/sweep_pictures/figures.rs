//! The pictures of a sweep as files, PNG and SVG, without a window.

use super::{curves, curves_ui, heat_ui, parallel_ui, prelude::*, prepared::Prepared, slice_ui};
use crate::{
    gpu::offscreen::Offscreen,
    ui::{figure, picture_order::file_stem},
};

const FIGURE_SIZE: Vec2 = Vec2::new(960.0, 600.0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FigureKind {
    Curves,
    /// Along the axis of this place.
    Slice(usize),
    Parallel,
    Heat,
}

#[derive(Debug, Clone)]
pub struct SweepFigure {
    pub stem: String,
    kind: FigureKind,
}

pub fn figures(prepared: &Prepared) -> Vec<SweepFigure> {
    let figure = |stem: &str, kind| SweepFigure { stem: file_stem(stem), kind };
    let mut all = vec![figure("curves", FigureKind::Curves)];
    let axes = prepared.results.axes.iter().enumerate();
    all.extend(axes.map(|(i, axis)| figure(&format!("slice-{}", axis.key), FigureKind::Slice(i))));
    all.push(figure("parallel", FigureKind::Parallel));
    if prepared.cells.is_some() {
        all.push(figure("heat-map", FigureKind::Heat));
    }
    all
}

/// The figures that show the effect of each setting: the heat map, if there is one, and a slice for each axis.
pub fn axis_figures(prepared: &Prepared) -> Vec<SweepFigure> {
    let mut found = figures(prepared);
    found.retain(|figure| matches!(figure.kind, FigureKind::Slice(_) | FigureKind::Heat));
    found.sort_by_key(|figure| figure.kind != FigureKind::Heat);
    found
}

impl SweepFigure {
    /// The axis that it is drawn over: "along train.lr".
    pub fn about(&self, results: &SweepResults) -> String {
        match self.kind {
            FigureKind::Curves => "over steps".to_owned(),
            FigureKind::Slice(axis) => format!("along {}", results.axes.get(axis).map_or("", |axis| axis.key.as_str())),
            FigureKind::Parallel => "in parallel coordinates".to_owned(),
            FigureKind::Heat => "over both axes".to_owned(),
        }
    }

    pub fn png(&self, offscreen: &mut Offscreen, prepared: &Prepared, theme: &Theme) -> Result<Vec<u8>, String> {
        let mut state = ChartState::default();
        figure::png(offscreen, theme, FIGURE_SIZE, |ui| self.draw(ui, prepared, theme, &mut state))
    }

    /// Needs no adapter. `None` where there is nothing to draw.
    pub fn svg(&self, prepared: &Prepared, theme: &Theme) -> Option<String> {
        let view = prepared.view(None, Scale::Linear, theme);
        let mut state = ChartState::default();
        match self.kind {
            FigureKind::Curves => curves::chart(&view, &prepared.lines, None).0.svg(&state, theme),
            _ => Some(drawing(&self.stem, FIGURE_SIZE, theme, |ui| self.draw(ui, prepared, theme, &mut state))),
        }
    }

    fn draw(&self, ui: &mut Ui, prepared: &Prepared, theme: &Theme, state: &mut ChartState) {
        let view = SweepView { has_titles: false, ..prepared.view(None, Scale::Linear, theme) };
        let mut inner = figure::sheet_ui(ui, theme, view.heading(), &self.subtitle(&view));
        let size = inner.max_rect().size();
        let _: PointedAt = match (self.kind, &prepared.cells) {
            (FigureKind::Curves, _) => curves_ui(&mut inner, size, &view, &prepared.lines, None, state),
            (FigureKind::Slice(axis), _) => slice_ui(&mut inner, size, &view, axis),
            (FigureKind::Parallel, _) => parallel_ui(&mut inner, size, &view, &mut Brush::default()),
            (FigureKind::Heat, Some(cells)) => heat_ui(&mut inner, size, &view, cells),
            (FigureKind::Heat, None) => PointedAt::default(),
        };
    }

    fn subtitle(&self, view: &SweepView<'_>) -> String {
        let (results, name) = (view.results, &view.results.name);
        let seeds = match results.seeds.len() {
            1 => "one seed".to_owned(),
            seeds => format!("mean over {seeds} seeds"),
        };
        let at = step_label(view);
        match self.kind {
            FigureKind::Curves => format!(
                "sweep {name}: {} points, {seeds}{}{}",
                results.points.len(),
                band_legend(results),
                colour_legend(results)
            ),
            FigureKind::Slice(axis) => format!("sweep {name} {at}: a dot a seed; {}", mean_line_label(view, axis)),
            FigureKind::Parallel | FigureKind::Heat => format!("sweep {name} {at}: {seeds}"),
        }
    }
}

/// The meaning of the line of a slice.
pub fn mean_line_label(view: &SweepView<'_>, axis: usize) -> &'static str {
    let is_binned = view.values().is_some_and(|values_at_step| view.results.mean_line(values_at_step, axis).is_binned);
    if is_binned { "line: mean over all runs in eighths of the axis" } else { "line: mean over all runs at each value" }
}

/// The recorded steps of the shown number: "at step 400", "at steps 350 to 400".
pub fn step_label(view: &SweepView<'_>) -> String {
    let steps = view.values().and_then(|values_at_step| values_at_step.steps);
    steps.map_or_else(|| "before the first value".to_owned(), |steps| format!("at {}", steps_label(steps)))
}

/// For example "step 400", "steps 350 to 400".
pub fn steps_label([first, last]: [u64; 2]) -> String {
    let [a, b] = [first, last].map(number::grouped);
    if first == last { format!("step {a}") } else { format!("steps {a} to {b}") }
}
