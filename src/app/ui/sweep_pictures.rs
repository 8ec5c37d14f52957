//! The pictures of a sweep, for the window and for files: curves over steps, a slice for each axis, parallel
//! coordinates, a heat map. Each reports the point under the pointer.

mod axis_span;
mod curves;
mod figures;
mod heat;
mod parallel;
mod prelude;
mod prepared;
mod slice;

use self::prelude::*;
use super::{
    plot::{HOVER_DISTANCE, value_label},
    widgets::{notes::canvas_ui, truncated::paint_truncated},
};

pub use curves::{CurveLine, curve_lines, curves_ui};
pub use figures::{SweepFigure, axis_figures, figures, mean_line_label, step_label, steps_label};
pub use heat::heat_ui;
pub use parallel::parallel_ui;
pub use prepared::{BestPoints, PictureChoices, Prepared};
pub use slice::slice_ui;

/// Points that have a colour of their own; more share a colour map, along the first axis.
pub const OWN_COLOURS: usize = 7;
/// The maximum number of points whose bands are all drawn; with more points, only the selected one has its band.
const MAX_BANDS: usize = 16;

/// The data and the choices that all pictures of a sweep are drawn from.
#[derive(Clone, Copy)]
pub struct SweepView<'a> {
    pub results: &'a SweepResults,
    /// The index of the number that is shown.
    pub number: usize,
    /// Numbers beside it, in parallel coordinates and the table.
    pub others: &'a [usize],
    /// Every number that is shown, as of the step.
    pub values_at_step: &'a BTreeMap<NumberId, ValuesAtStep>,
    pub best: &'a BestPoints,
    /// For each point, true if it is inside the brush.
    pub in_brush: &'a [bool],
    pub colours: &'a [Color32],
    pub selected: Option<usize>,
    /// The scale of the number's axis.
    pub scale: Scale,
    /// True if each picture has its own title; in a file the title is in the header instead.
    pub has_titles: bool,
    pub theme: &'a Theme,
}

/// The points that the pointer hovers over and clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PointedAt {
    pub hovered: Option<usize>,
    pub clicked: Option<usize>,
}

impl PointedAt {
    /// The first picture that has something under the pointer.
    pub fn or(self, other: Self) -> Self {
        Self { hovered: self.hovered.or(other.hovered), clicked: self.clicked.or(other.clicked) }
    }
}

impl<'a> SweepView<'a> {
    pub fn shown_number(&self) -> Option<&'a Number> {
        self.results.numbers.get(self.number)
    }

    pub fn heading(&self) -> &'a str {
        self.shown_number().map_or("", |n| n.heading.as_str())
    }

    /// The shown number as of the step.
    pub fn values(&self) -> Option<&'a ValuesAtStep> {
        self.values_at_step.get(&self.shown_number()?.id)
    }

    pub fn is_in_brush(&self, point: usize) -> bool {
        self.in_brush.get(point).copied().unwrap_or(true)
    }

    pub fn colour(&self, point: usize) -> Color32 {
        self.colours.get(point).copied().unwrap_or(self.theme.text)
    }

    /// Describes the point under the pointer by its settings and its number.
    fn point_label(&self, point: usize) -> String {
        let name = self.results.point_name(point);
        let value = self.values().and_then(|values_at_step| values_at_step.values.get(point)?.as_ref());
        let other = self.values().and_then(|values_at_step| values_at_step.other_steps(point));
        let other = other.map_or(String::new(), |steps| format!(", of {}", steps_label(steps)));
        let seeds = self.results.run_count(point);
        let words = match (value, self.shown_number()) {
            (None, _) | (_, None) => "no value so far".to_owned(),
            (Some(v), _) if seeds <= 1 => value_label(v.mean),
            (Some(v), Some(_)) if v.sd.is_none() => format!("{}, one of {seeds} seeds", value_label(v.mean)),
            (Some(v), Some(number)) => format!("{}, {} of {seeds} seeds", v.label(number), v.each.len()),
        };
        format!("point {}: {name}\n{}: {words}{other}", point + 1, self.heading())
    }
}

/// A number as its lab writes it.
pub fn number_label(of: &Number, value: f64) -> String {
    of.digits.map_or_else(|| number::short(value), |digits| digits.format(value))
}

/// One colour per point: distinct colours if the points are few, otherwise a colour map in the order of the first axis
/// and then the second. Compared runs have the colours of their curves, however many they are.
pub fn point_colours(results: &SweepResults, theme: &Theme) -> Vec<Color32> {
    let count = results.points.len();
    if count <= OWN_COLOURS || !results.names.is_empty() {
        return (0..count).map(|i| theme.series(i)).collect();
    }
    let mut order: Vec<usize> = (0..count).collect();
    let places = |i: &usize| results.points[*i].places.clone();
    order.sort_by(|a, b| {
        places(a).iter().zip(places(b)).map(|(x, y)| x.total_cmp(&y)).find(|o| o.is_ne()).unwrap_or(a.cmp(b))
    });
    // the end of the map that is like the ground is left out
    let (from, to) = if theme.dark { (0.28, 1.0) } else { (0.0, 0.72) };
    let mut colours = vec![theme.text; count];
    for (rank, point) in order.into_iter().enumerate() {
        let share = rank as f32 / (count - 1) as f32;
        colours[point] = ColourMap::Viridis.colour(from + share * (to - from));
    }
    colours
}

/// The meaning of the colours of many points; empty where each has its own.
pub fn colour_legend(results: &SweepResults) -> String {
    match results.axes.first() {
        Some(axis) if results.points.len() > OWN_COLOURS => format!("; colour along {}", axis.key),
        _ => String::new(),
    }
}

/// The words of a legend about the seeds over which a picture takes means.
pub fn seeds_legend(results: &SweepResults) -> &'static str {
    if results.seeds.len() == 1 { "one seed" } else { "mean over seeds" }
}

/// The meaning of the bands of the curves, after a comma; empty where there are none.
pub fn band_legend(results: &SweepResults) -> &'static str {
    match (results.seeds.len(), results.points.len() <= MAX_BANDS) {
        (0 | 1, _) => "",
        (_, true) => ", band of one standard deviation",
        (_, false) => ", band of one standard deviation of the selected point",
    }
}

/// A place for a picture, with a small title over it; what is left for the picture, and how it is handled.
fn sheet_ui(ui: &mut Ui, size: Vec2, view: &SweepView<'_>, title: &str) -> (Rect, Response) {
    let (rect, response, _) = canvas_ui(ui, size, Sense::click(), title);
    if !view.has_titles {
        return (rect, response);
    }
    let theme = view.theme;
    paint_truncated(ui.painter(), rect.min, title, theme::small(), theme.secondary, rect.width());
    (Rect::from_min_max(rect.min + vec2(0.0, TITLE_HEIGHT), rect.max), response)
}

/// Height of a picture's title.
const TITLE_HEIGHT: f32 = 20.0;

/// Writes the reason for an empty picture in its middle; nothing in it can be hovered over or clicked.
fn empty_picture(ui: &Ui, rect: Rect, theme: &Theme) -> PointedAt {
    let words = "No run has recorded this number at this step.".to_owned();
    let font = theme::small();
    let galley = ui.painter().layout(words, font, theme.secondary, (rect.width() - 16.0).max(60.0));
    let at = pos2(rect.center().x - galley.size().x / 2.0, rect.center().y - galley.size().y / 2.0);
    ui.painter().galley(at, galley, theme.secondary);
    PointedAt::default()
}

fn selected_dot(ui: &Ui, at: Pos2, view: &SweepView<'_>, point: usize) {
    let theme = view.theme;
    let colour = if view.is_in_brush(point) { view.colour(point) } else { theme.line };
    let is_selected = view.selected == Some(point);
    let radius = if is_selected { 4.5 } else { 3.0 };
    ui.painter().circle_filled(at, radius, colour);
    if is_selected {
        ui.painter().circle_stroke(at, radius + 1.5, Stroke::new(1.5, theme.text));
    }
}

fn figure_text(ui: &Ui, at: Pos2, align: Align2, words: &str, colour: Color32) -> Rect {
    ui.painter().text(at, align, words, theme::numbers(), colour)
}

/// The nearest point within reach of the pointer; each place is a point with its distance from the pointer.
fn nearest_point(at: Option<Pos2>, places: impl Iterator<Item = (usize, f32)>) -> Option<usize> {
    at?;
    let near = places.filter(|(_, far)| *far <= HOVER_DISTANCE);
    near.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(point, _)| point)
}

/// Handles the pointer and shows the hovered point in a tooltip.
fn handle_pointer(response: &Response, view: &SweepView<'_>, hovered: Option<usize>) -> PointedAt {
    if let Some(point) = hovered {
        response.ctx.set_cursor_icon(egui::CursorIcon::PointingHand);
        let words = view.point_label(point);
        response.clone().on_hover_ui_at_pointer(|ui| _ = ui.label(egui::RichText::new(words).small()));
    }
    PointedAt { hovered, clicked: hovered.filter(|_| response.clicked()) }
}

/// Parts of the results of a sweep for tests.
#[cfg(test)]
pub(super) mod fixtures {
    use super::prelude::*;
    use crate::{experiments::sweep::results::SweepRun, labs::headline::Better};

    /// A number that each run has recorded at step 10, where it has a value.
    pub fn recorded_number(heading: &str, values: impl IntoIterator<Item = Option<f64>>) -> Number {
        let id = NumberId { key: heading.into(), group: "a".into() };
        let series = values.into_iter().map(|value| Arc::new(value.map(|value| (10, value)).into_iter().collect()));
        let (heading, series) = (heading.into(), series.collect());
        Number { id, heading, better: Better::Lower, digits: None, is_paired: false, series }
    }

    pub fn unmade_run(point: usize, seed: u64) -> SweepRun {
        SweepRun { point, seed, made: None, refusal: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::sweep::results::ResultPoint;

    #[test]
    fn compared_runs_have_the_colours_of_their_curves() {
        let (theme, points) = (Theme::dark(), vec![ResultPoint { values: vec![], places: vec![] }; 9]);
        let of_sweep = SweepResults { points, ..SweepResults::default() };
        let compared = SweepResults { names: (0..9).map(|i| i.to_string()).collect(), ..of_sweep.clone() };
        let of_curves: Vec<Color32> = (0..9).map(|i| theme.series(i)).collect();
        assert_eq!(point_colours(&compared, &theme), of_curves);
        assert_ne!(point_colours(&of_sweep, &theme), of_curves);
    }
}
