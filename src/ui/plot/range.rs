//! From where to where the axes of a chart go. It places nothing.

use super::{Chart, ChartState, Data, Scale};

/// Ends of the x axis in places: the zoom, what was fixed, or all that is drawn.
pub(super) fn x_ends(chart: &Chart<'_>, state: &ChartState, scale: Scale) -> [f64; 2] {
    let wanted = state.zoom_x.or(chart.x.fixed);
    if let Some([a, b]) = wanted.map(|r| r.map(|v| scale.place(v)))
        && a.is_finite()
        && b > a
    {
        return [a, b];
    }
    let mut ends = Ends::default();
    chart.x.include.iter().for_each(|v| ends.take(scale.place(*v)));
    let mut each = |data: &Data<'_>| match data {
        Data::Curve(c) => {
            // On a log axis step 0 has no place; the first that has one counts.
            let first = c.points(u64::from(scale == Scale::Log), u64::MAX).next().map(|p| p.0);
            for s in [first, c.last_step()].into_iter().flatten() {
                ends.take(scale.place(s as f64));
            }
        }
        Data::Points(p) => p.iter().for_each(|p| ends.take(scale.place(p[0]))),
    };
    for line in &chart.lines {
        each(&line.data);
        if let Some(raw) = line.raw {
            each(&Data::Curve(raw));
        }
    }
    if (ends.0, ends.1) == (0.0, 0.0) && scale == Scale::Linear {
        return [0.0, 1.0]; // before a first step there is none
    }
    ends.ends(0.0, scale)
}

/// Ends of the y axis in places, over what is drawn between the x values `x`.
pub(super) fn y_ends(chart: &Chart<'_>, state: &ChartState, scale: Scale, x: [f64; 2]) -> [f64; 2] {
    let wanted = state.zoom_y.or(chart.y.fixed);
    if let Some([a, b]) = wanted.map(|r| r.map(|v| scale.place(v)))
        && a.is_finite()
        && b > a
    {
        return [a, b];
    }
    let mut ends = Ends::default();
    chart.y.include.iter().for_each(|v| ends.take(scale.place(*v)));
    let mut each = |data: &Data<'_>| match data {
        Data::Curve(c) => {
            let extent = c.extent(x[0].max(0.0).ceil() as u64, x[1].max(0.0).floor() as u64);
            if scale == Scale::Log && extent.min <= 0.0 {
                // The smallest value that has a place needs the points themselves.
                c.points(x[0].max(0.0) as u64, x[1].max(0.0) as u64).for_each(|p| ends.take(scale.place(p.1)));
            } else {
                ends.take(scale.place(extent.min));
                ends.take(scale.place(extent.max));
            }
        }
        Data::Points(p) => {
            p.iter().filter(|p| (x[0]..=x[1]).contains(&p[0])).for_each(|p| ends.take(scale.place(p[1])));
        }
    };
    for line in &chart.lines {
        each(&line.data);
        if let Some(raw) = line.raw {
            each(&Data::Curve(raw));
        }
    }
    for band in &chart.bands {
        each(&band.low);
        each(&band.high);
    }
    ends.ends(0.06, scale)
}

/// Smallest and largest place so far.
struct Ends(f64, f64);

impl Default for Ends {
    fn default() -> Self {
        Self(f64::INFINITY, f64::NEG_INFINITY)
    }
}

impl Ends {
    fn take(&mut self, place: f64) {
        if place.is_finite() {
            self.0 = self.0.min(place);
            self.1 = self.1.max(place);
        }
    }

    /// With a margin (a share of the span), and never without width.
    fn ends(self, margin: f64, scale: Scale) -> [f64; 2] {
        let Self(mut a, mut b) = self;
        if a > b {
            (a, b) = (0.0, 1.0);
        }
        if b - a <= 1e-12 * a.abs().max(1e-30) {
            let half = match scale {
                Scale::Log => 0.5,
                Scale::Linear if a == 0.0 => 1.0,
                Scale::Linear => a.abs() * 0.5,
            };
            return [a - half, b + half];
        }
        let pad = (b - a) * margin;
        [a - pad, b + pad]
    }
}
