//! The parts of a laid out chart as plain positions, and the mapping from values to them.

use eframe::egui::{Color32, Pos2, Rect, pos2};

use super::{Mark, Scale, Stroke};

/// Font size of all text on a chart, points.
pub const TEXT_SIZE: f32 = 12.0;
/// Height of a row of text.
pub const ROW_HEIGHT: f32 = 16.0;
/// Length of the stroke before a name.
pub const SWATCH_WIDTH: f32 = 14.0;

/// Width of a text in points; true for the monospace face.
pub type MeasureText<'m> = &'m dyn Fn(&str, bool) -> f32;

/// The note beside the label of a y axis that is held.
pub const FIXED: &str = "y fixed";
/// The gap between texts in a row.
pub(super) const GAP: f32 = 12.0;

/// A label in rows of [`ROW_HEIGHT`] points' height.
#[derive(Debug, Clone, PartialEq)]
pub struct Label {
    pub rect: Rect,
    pub rows: Vec<String>,
    /// The claim of the ledger that it opens.
    pub claim: Option<&'static str>,
    /// A line from it to the level that it names, where it does not stand beside that.
    pub leader: Option<[Pos2; 2]>,
}

/// A thinned line, cut to the visible range.
#[derive(Debug, Clone, Default)]
pub struct PlottedLine {
    /// The line that it belongs to; `None` for what is drawn behind one, and for signs and stems.
    pub line: Option<usize>,
    /// Fractions of the plot's width and height, measured from its lower left corner.
    pub points: Vec<[f64; 2]>,
    pub colour: Color32,
    /// 0 to 1.
    pub strength: f32,
    pub width: f32,
    pub stroke: Stroke,
    pub dots: bool,
    pub stems: bool,
    /// Signs that are drawn in place of a line.
    pub mark: Option<Mark>,
}

/// A line longer than this many sides of the plot is not dashed: it would have a hundred thousand unseen dashes.
const MAX_DASHED: f64 = 8.0;

impl PlottedLine {
    /// True if it is drawn in dashes or dots.
    pub fn is_dashed(&self) -> bool {
        let length = |ends: &[[f64; 2]]| (ends[1][0] - ends[0][0]).hypot(ends[1][1] - ends[0][1]);
        self.stroke.dashes().is_some() && self.points.windows(2).map(length).sum::<f64>() <= MAX_DASHED
    }
}

/// An area between two thinned lines, clipped to the visible part: (x, low, high) as shares of the plot.
#[derive(Debug, Clone)]
pub struct Area {
    pub columns: Vec<[f64; 3]>,
    pub colour: Color32,
}

/// A line's name and its position (left middle).
#[derive(Debug, Clone)]
pub struct LineName {
    pub line: usize,
    pub at: Pos2,
}

/// A chart with the positions of all its parts, relative to its top left corner.
#[derive(Debug, Clone)]
pub struct Layout {
    /// The size of the chart, points.
    pub size: [f32; 2],
    pub plot: Rect,
    pub x_scale: Scale,
    pub y_scale: Scale,
    /// Ends of the axes, in the coordinates of their scales.
    pub x: [f64; 2],
    pub y: [f64; 2],
    pub x_ticks: Vec<(f64, String)>,
    pub y_ticks: Vec<(f64, String)>,
    pub traces: Vec<PlottedLine>,
    pub areas: Vec<Area>,
    pub names: Vec<LineName>,
    /// Labels of zones, spans and reference lines.
    pub labels: Vec<Label>,
    /// The labels of the axes, shortened to the space there is.
    pub x_label: String,
    pub y_label: String,
    /// The distance of the x axis' label below its numbers, points; 0 if the label is at their right end.
    pub x_label_drop: f32,
    /// The lower limit of the rows of line names above the plot, points.
    pub names_bottom: f32,
    /// The number of lines that could not be named for lack of space, and the position of the note that says so.
    pub unnamed: Option<(usize, Pos2)>,
    pub margins: [f32; 2],
}

impl Layout {
    /// The left middle of the control that holds the y axis, after the axis label.
    pub fn fix_at(&self, measure: MeasureText<'_>) -> Pos2 {
        pos2(2.0 + measure(&self.y_label, false) + GAP, ROW_HEIGHT / 2.0)
    }

    /// Position in points of a point; NaN where a value has no place on its axis.
    pub fn at(&self, [x, y]: [f64; 2]) -> Pos2 {
        pos2(self.x_of(x), self.y_of(y))
    }

    /// Position in points of a value of x.
    pub fn x_of(&self, value: f64) -> f32 {
        self.x_at(self.x_scale.position(value))
    }

    /// Position in points of a value of y.
    pub fn y_of(&self, value: f64) -> f32 {
        self.y_at(self.y_scale.position(value))
    }

    /// Position in points of shares of the plot.
    pub fn screen_point(&self, [x, y]: [f64; 2]) -> Pos2 {
        pos2(self.plot.left() + x as f32 * self.plot.width(), self.plot.bottom() - y as f32 * self.plot.height())
    }

    /// The points of a line in the plot, as shares: those in its margins, where lines are cut, have no mark.
    pub fn marked_points(&self, line: &PlottedLine) -> impl Iterator<Item = [f64; 2]> {
        let area = self.plot.expand(0.5);
        line.points.iter().copied().filter(move |p| area.contains(self.screen_point(*p)))
    }

    pub fn x_at(&self, x: f64) -> f32 {
        let share = share_of(x, self.x).clamp(-MAX_DISTANCE, MAX_DISTANCE);
        self.plot.left() + share as f32 * self.plot.width()
    }

    pub fn y_at(&self, y: f64) -> f32 {
        let share = share_of(y, self.y).clamp(-MAX_DISTANCE, MAX_DISTANCE);
        self.plot.bottom() - share as f32 * self.plot.height()
    }

    /// The line that passes nearest to a position, if one is under it.
    pub fn line_at(&self, at: Pos2) -> Option<usize> {
        let distance = |trace: &PlottedLine| {
            let points: Vec<Pos2> = trace.points.iter().map(|p| self.screen_point(*p)).collect();
            distance_to(&points, at)
        };
        let lines = self.traces.iter().filter_map(|t| Some((t.line?, distance(t))));
        lines.filter(|(_, far)| *far <= HOVER_DISTANCE).min_by(|a, b| a.1.total_cmp(&b.1)).map(|(line, _)| line)
    }

    /// The value under a position in points.
    pub fn x_value(&self, x: f32) -> f64 {
        self.x_scale.value(place_of(((x - self.plot.left()) / self.plot.width()) as f64, self.x))
    }

    pub fn y_value(&self, y: f32) -> f64 {
        self.y_scale.value(place_of(((self.plot.bottom() - y) / self.plot.height()) as f64, self.y))
    }

    /// Shown x range in values.
    pub fn x_values(&self) -> [f64; 2] {
        self.x.map(|p| self.x_scale.value(p))
    }
}

/// A mark this near to the pointer is hovered, points.
pub const HOVER_DISTANCE: f32 = 8.0;

/// The distance of a position from a path, points; infinite for an empty one.
pub fn distance_to(path: &[Pos2], at: Pos2) -> f32 {
    let alone = path.first().filter(|_| path.len() == 1).map(|p| p.distance(at));
    let to_segment = |pair: &[Pos2]| {
        let along = pair[1] - pair[0];
        let share = ((at - pair[0]).dot(along) / along.length_sq().max(f32::MIN_POSITIVE)).clamp(0.0, 1.0);
        (pair[0] + along * share).distance(at)
    };
    path.windows(2).map(to_segment).chain(alone).filter(|far| far.is_finite()).fold(f32::INFINITY, f32::min)
}

/// Positions lie at most this many times the plot's size away from it.
const MAX_DISTANCE: f64 = 1e4;

/// The position between two ends as a share of their distance, which may overflow unless values are halved first.
pub(super) fn share_of(place: f64, [a, b]: [f64; 2]) -> f64 {
    (place * 0.5 - a * 0.5) / (b * 0.5 - a * 0.5)
}

pub(super) fn place_of(share: f64, [a, b]: [f64; 2]) -> f64 {
    (a * 0.5 + share * (b * 0.5 - a * 0.5)) * 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_rest_is_drawn_without_dashes() {
        let trace = |points: Vec<[f64; 2]>| PlottedLine { points, stroke: Stroke::Dashed, ..PlottedLine::default() };
        assert!(trace(vec![[0.0, 1.0], [0.5, 0.2], [1.0, 0.1]]).is_dashed());
        let noise = (0..1000).map(|i| [f64::from(i) / 1000.0, f64::from(i % 2) * 0.2]).collect();
        assert!(!trace(noise).is_dashed());
    }

    #[test]
    fn a_path_is_as_far_as_its_nearest_part() {
        let path = [pos2(0.0, 0.0), pos2(10.0, 0.0), pos2(10.0, 10.0)];
        assert_eq!(distance_to(&path, pos2(5.0, 3.0)), 3.0);
        assert_eq!(distance_to(&path, pos2(14.0, 20.0)), (16.0f32 + 100.0).sqrt());
        assert_eq!(distance_to(&path[..1], pos2(3.0, 4.0)), 5.0);
        assert_eq!(distance_to(&[], pos2(0.0, 0.0)), f32::INFINITY);
    }
}
