//! A reader's guess: a curve drawn by hand on a chart, chosen by the page, before the run is shown over it.

use eframe::egui::{Context, Id, Ui};

use super::{Chart, Line};

/// A guess on the chart of this name.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    pub chart: String,
    /// The ranges that the axes include at least.
    pub x: Option<[f64; 2]>,
    pub y: Option<[f64; 2]>,
    /// True if a drag draws; otherwise it zooms.
    pub is_drawing: bool,
    /// The points that were drawn, in ascending order of x.
    pub points: Vec<[f64; 2]>,
}

const GUESS_KEY: &str = "orrery guess";
const HIDDEN_CLAIMS_KEY: &str = "orrery hidden claims";

/// Sets the chart on which there is a guess from now on.
pub fn set_guess(ctx: &Context, guess: Option<Guess>) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(GUESS_KEY), guess));
}

/// The guess, with what was drawn since it was set.
pub fn guess(ctx: &Context) -> Option<Guess> {
    ctx.data(|d| d.get_temp::<Option<Guess>>(Id::unique(GUESS_KEY))).flatten()
}

/// Hides the marks of claims on every chart from now on, or shows them again.
pub fn hide_claims(ctx: &Context, are_hidden: bool) {
    ctx.data_mut(|d| d.insert_temp(Id::unique(HIDDEN_CLAIMS_KEY), are_hidden));
}

pub(super) fn are_claims_hidden(ui: &Ui) -> bool {
    ui.ctx().data(|d| d.get_temp(Id::unique(HIDDEN_CLAIMS_KEY))).unwrap_or(false)
}

pub(super) fn guess_on(ui: &Ui, chart: &Chart<'_>) -> Option<Guess> {
    guess(ui.ctx()).filter(|g| g.chart == chart.name)
}

impl Guess {
    /// The chart, widened so that it has space for the guess.
    pub(super) fn widen<'a>(&self, chart: &Chart<'a>) -> Chart<'a> {
        let mut chart = chart.clone();
        let (xs, ys) = (self.points.iter().map(|p| p[0]), self.points.iter().map(|p| p[1]));
        chart.x.include.extend(self.x.into_iter().flatten().chain(xs));
        chart.y.include.extend(self.y.into_iter().flatten().chain(ys));
        chart
    }

    /// Adds a point of the pointer; the curve between the last point and this one is replaced.
    pub(super) fn draw(&mut self, from: Option<f64>, to: [f64; 2]) {
        let [low, high] = from.map_or([to[0]; 2], |from| [from.min(to[0]), from.max(to[0])]);
        let is_left = |p: &[f64; 2]| p[0] < low || from.is_some_and(|from| p[0] == from);
        self.points.retain(|p| is_left(p) || p[0] > high);
        let at = self.points.partition_point(|p| p[0] < to[0]);
        self.points.insert(at, to);
    }
}

impl<'a> Chart<'a> {
    pub(super) fn has_claims(&self) -> bool {
        self.zones.iter().any(|zone| zone.claim.is_some())
            || self.references.iter().any(|reference| reference.claim.is_some())
            || self.lines.iter().any(|line| line.claim.is_some())
    }

    /// The chart without the numbers of claims: ranges, values, and the points of lines.
    pub(super) fn without_claims(&self) -> Chart<'a> {
        let mut chart = self.clone();
        chart.zones.retain(|zone| zone.claim.is_none());
        chart.references.retain(|reference| reference.claim.is_none());
        // views know a line by its index, so that one without points keeps the place
        for line in chart.lines.iter_mut().filter(|line| line.claim.is_some()) {
            *line = Line::new("", line.colour, Vec::<[f64; 2]>::new()).unnamed();
        }
        chart
    }
}

#[cfg(test)]
mod tests {
    use eframe::egui::Color32;

    use super::*;
    use crate::ui::plot::Axis;

    #[test]
    fn a_chart_without_claims_keeps_its_other_marks_and_the_places_of_its_lines() {
        let mut chart = Chart::new("gate", Axis::new("step"), Axis::new("tanh"));
        let line = |name: &str| Line::new(name, Color32::RED, vec![[0.0, 0.1]]);
        chart.add(line("paper").claim("A2"));
        chart.add(line("run"));
        chart.horizontal_span("paper: stays closed", Color32::RED, [-0.01, 0.01]).claim = Some("A1");
        chart.horizontal_span("closed", Color32::RED, [-0.01, 0.01]);
        chart.horizontal_line("paper: .031", 0.031).claim = Some("A15");
        chart.horizontal_line("shut", 0.0);
        let open = chart.without_claims();
        assert_eq!(open.zones.iter().map(|zone| zone.label.as_str()).collect::<Vec<_>>(), ["closed"]);
        assert_eq!(open.references.iter().map(|r| r.label.as_str()).collect::<Vec<_>>(), ["shut"]);
        assert_eq!(open.lines.iter().map(|line| line.data.is_empty()).collect::<Vec<_>>(), [true, false]);
        assert!(open.lines[0].claim.is_none() && open.lines[1].label == "run");
    }

    #[test]
    fn redrawing_part_of_a_guess_replaces_its_points() {
        let mut g = Guess { chart: "x".into(), x: None, y: None, is_drawing: true, points: vec![] };
        g.draw(None, [0.0, 1.0]);
        for x in [1.0, 2.0, 3.0, 4.0] {
            g.draw(Some(x - 1.0), [x, 1.0]);
        }
        assert_eq!(g.points.len(), 5);
        g.draw(None, [4.0, 0.0]);
        g.draw(Some(4.0), [1.5, 0.5]);
        assert_eq!(g.points, [[0.0, 1.0], [1.0, 1.0], [1.5, 0.5], [4.0, 0.0]]);
    }
}
