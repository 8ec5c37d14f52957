//! A reader's guess: a curve drawn by hand on a chart, chosen by the page, before the run is shown over it.

use eframe::egui::{Context, Id, Ui};

use super::Chart;

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

fn id() -> Id {
    Id::unique("orrery guess")
}

/// Sets the chart on which there is a guess from now on.
pub fn set_guess(ctx: &Context, guess: Option<Guess>) {
    ctx.data_mut(|d| d.insert_temp(id(), guess));
}

/// The guess, with what was drawn since it was set.
pub fn guess(ctx: &Context) -> Option<Guess> {
    ctx.data(|d| d.get_temp::<Option<Guess>>(id())).flatten()
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

#[cfg(test)]
mod tests {
    use super::*;

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
