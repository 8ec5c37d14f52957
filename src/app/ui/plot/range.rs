//! The ranges of a chart's axes, computed before anything is laid out.

use super::{Chart, ChartState, Data, Scale};

/// The limits that were chosen for an axis, as positions on its scale; `None` if the range is empty.
fn chosen_limits(wanted: Option<[f64; 2]>, scale: Scale) -> Option<[f64; 2]> {
    let [a, b] = wanted?.map(|v| scale.position(v));
    (a.is_finite() && b > a).then(|| resolvable([a, b], scale))
}

/// Ends of the x axis in the scale's coordinates: the zoom, the fixed range, or the range of the data.
pub(super) fn x_limits(chart: &Chart<'_>, state: &ChartState, scale: Scale) -> [f64; 2] {
    if let Some(ends) = chosen_limits(state.zoom_x.or(chart.x.fixed), scale) {
        return ends;
    }
    let mut ends = Extremes::default();
    chart.x.include.iter().for_each(|v| ends.take(scale.position(*v)));
    let mut each = |data: &Data<'_>| match data {
        Data::Curve(c) => {
            // a log axis cannot show step 0, so that it begins at the first later step
            let first = c.points(u64::from(scale == Scale::Log), u64::MAX).next().map(|p| p.0);
            [first, c.last_step()].into_iter().flatten().for_each(|s| ends.take(scale.position(s as f64)));
        }
        Data::Points(p) => p.iter().for_each(|p| ends.take(scale.position(p[0]))),
    };
    chart.lines.iter().for_each(|line| line.for_each_data(&mut each));
    let is_drawn = chart.lines.iter().any(|line| !line.data.is_empty());
    if chart.x.counts_steps && is_drawn && ends.0 == ends.1 && scale == Scale::Linear {
        return [ends.0 - 0.5, ends.0 + 0.5]; // a single step is in the middle
    }
    if (ends.0, ends.1) == (0.0, 0.0) && scale == Scale::Linear {
        return [0.0, 1.0]; // before a first step there is none
    }
    ends.limits(chart.x.margin, scale)
}

/// Ends of the y axis in places, over what is drawn between the x values `x`.
pub(super) fn y_limits(chart: &Chart<'_>, state: &ChartState, scale: Scale, x: [f64; 2]) -> [f64; 2] {
    if let Some(ends) = chosen_limits(state.zoom_y.or(state.fixed_y).or(chart.y.fixed), scale) {
        return ends;
    }
    // a coordinate on a log axis, turned into a value again, may fall just below the original value
    let slack = 1e-9 * x[0].abs().max(x[1].abs());
    let x = [x[0] - slack, x[1] + slack];
    let mut ends = Extremes::default();
    chart.y.include.iter().for_each(|v| ends.take(scale.position(*v)));
    let mut each = |data: &Data<'_>| match data {
        Data::Curve(c) => {
            let extent = c.extent(x[0].max(0.0).ceil() as u64, x[1].max(0.0).floor() as u64);
            if scale == Scale::Log && extent.min <= 0.0 {
                // The extent holds no smallest positive value, which alone has a position on a logarithmic axis.
                c.points(x[0].max(0.0) as u64, x[1].max(0.0) as u64).for_each(|p| ends.take(scale.position(p.1)));
            } else {
                ends.take(scale.position(extent.min));
                ends.take(scale.position(extent.max));
            }
        }
        Data::Points(p) => {
            p.iter().filter(|p| (x[0]..=x[1]).contains(&p[0])).for_each(|p| ends.take(scale.position(p[1])));
        }
    };
    chart.lines.iter().filter(|line| !state.hides(line)).for_each(|line| line.for_each_data(&mut each));
    for band in chart.bands.iter().filter(|band| !state.hides_band(chart, band)) {
        each(&band.low);
        each(&band.high);
    }
    if ends.is_empty() {
        // Between two points: the line that joins them is visible.
        for line in &chart.lines {
            around(&line.data, x).for_each(|v| ends.take(scale.position(v)));
        }
    }
    ends.limits(0.06, scale)
}

/// The values last before and first after a range of x.
fn around(data: &Data<'_>, x: [f64; 2]) -> impl Iterator<Item = f64> {
    let neighbours = match data {
        Data::Curve(c) => {
            let (from, to) = (x[0].max(0.0).floor() as u64, x[1].max(0.0).floor() as u64);
            [c.value_at(from), c.points(to.saturating_add(1), u64::MAX).next().map(|p| p.1)]
        }
        Data::Points(p) => {
            let (from, to) = (p.partition_point(|p| p[0] < x[0]), p.partition_point(|p| p[0] <= x[1]));
            [from.checked_sub(1), Some(to)].map(|i| i.and_then(|i| p.get(i)).map(|p| p[1]))
        }
    };
    neighbours.into_iter().flatten()
}

/// Widens a range about its middle if it is so narrow that positions within it coincide.
fn resolvable([a, b]: [f64; 2], scale: Scale) -> [f64; 2] {
    let min = (a.abs().max(b.abs()) * 1e-11).max(MIN_SPAN);
    if b * 0.5 - a * 0.5 >= min * 0.5 {
        return [a, b];
    }
    let middle = a * 0.5 + b * 0.5;
    [middle - min * 0.5, middle + min * 0.5].map(|p| bounded(p, scale))
}

/// A place at which a number is finite, and on a logarithmic axis not zero.
fn bounded(place: f64, scale: Scale) -> f64 {
    match scale {
        Scale::Linear => place.clamp(-f64::MAX, f64::MAX),
        Scale::Log => place.clamp(f64::MIN_POSITIVE.log10() - 16.0, f64::MAX.log10()),
    }
}

const MIN_SPAN: f64 = 1e-42;

/// The smallest and the largest position so far.
struct Extremes(f64, f64);

impl Default for Extremes {
    fn default() -> Self {
        Self(f64::INFINITY, f64::NEG_INFINITY)
    }
}

impl Extremes {
    fn take(&mut self, place: f64) {
        if place.is_finite() {
            self.0 = self.0.min(place);
            self.1 = self.1.max(place);
        }
    }

    fn is_empty(&self) -> bool {
        self.0 > self.1
    }

    fn limits(self, margin: f64, scale: Scale) -> [f64; 2] {
        let ends = if self.is_empty() { [0.0, 1.0] } else { [self.0, self.1] };
        limits_around(ends, margin, scale)
    }
}

/// The ends of an axis around data from `a` to `b`, which are positions on its scale, with a margin that is a share of their
/// distance. They are finite and never meet: data without an extent are in the middle, 0 of -1 to 1, another value of a half to
/// one and a half of it, and on a logarithmic axis of a decade.
pub fn limits_around([a, b]: [f64; 2], margin: f64, scale: Scale) -> [f64; 2] {
    // Values are halved first: the distance of two finite numbers may overflow.
    let half = b * 0.5 - a * 0.5;
    if half <= (1e-12 * a.abs()).max(MIN_SPAN) * 0.5 {
        let half = match scale {
            Scale::Log => 0.5,
            Scale::Linear if a.abs() <= MIN_SPAN => 1.0,
            Scale::Linear => a.abs() * 0.5,
        };
        return [a - half, a + half].map(|p| bounded(p, scale));
    }
    let pad = half * margin * 2.0;
    [a - pad, b + pad].map(|p| bounded(p, scale))
}

#[cfg(test)]
mod tests {
    use eframe::egui::Color32;
    use proptest::prelude::*;

    use super::{
        super::{Axis, Line},
        *,
    };

    fn value() -> impl Strategy<Value = f64> {
        let extreme =
            vec![0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX, 5e-324, -1e-308, 1e308];
        prop_oneof![3 => -10.0..10.0f64, 1 => -1e308..1e308f64, 2 => prop::sample::select(extreme)]
    }

    fn scale() -> impl Strategy<Value = Scale> {
        prop_oneof![Just(Scale::Linear), Just(Scale::Log)]
    }

    #[test]
    fn a_margin_is_a_share_of_the_shown_division() {
        let cases = [
            (0.1, [1.0, 100.0], Scale::Linear, [-8.9, 109.9]),
            (0.1, [1.0, 100.0], Scale::Log, [-0.2, 2.2]),
            (0.04, [0.1, 0.2], Scale::Linear, [0.096, 0.204]),
        ];
        for (margin, x, scale, expected) in cases {
            let axis = Axis::new("x").margin(margin);
            let points = x.map(|x| [x, 7.0]).to_vec();
            let chart = Chart::new("", axis, Axis::new("y")).line(Line::new("a", Color32::RED, points));
            let ends = x_limits(&chart, &ChartState::default(), scale);
            assert!(ends.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{scale:?}: {ends:?}");
        }
    }

    /// A range as narrow as rounding has labels that differ in no digit that is shown.
    #[test]
    fn data_without_extent_have_a_range_that_can_be_read() {
        for (value, scale, ends) in [
            (0.0, Scale::Linear, [-1.0, 1.0]),
            (-4.0, Scale::Linear, [-6.0, -2.0]),
            (1e-9, Scale::Linear, [0.5e-9, 1.5e-9]),
            (2.0, Scale::Log, [1.5, 2.5]),
        ] {
            let found = limits_around([value; 2], 0.06, scale);
            assert!(found.iter().zip(ends).all(|(a, b)| (a - b).abs() <= 1e-12 * b.abs()), "{value}: {found:?}");
            let ticks = scale.ticks(found[0], found[1], 4);
            assert!(ticks.len() > 1 && ticks.iter().all(|t| t.1.chars().count() <= 7), "{value}: {ticks:?}");
        }
    }

    #[test]
    fn the_last_point_of_a_log_axis_is_in_sight() {
        for last in 2..5000_u32 {
            let points = vec![[1.0, 1.0], [f64::from(last), 7.0]];
            let chart = Chart::new("", Axis::new("x").log(), Axis::new("y")).line(Line::new("a", Color32::RED, points));
            let x = x_limits(&chart, &ChartState::default(), Scale::Log);
            let [_, high] = y_limits(&chart, &ChartState::default(), Scale::Linear, x.map(|p| Scale::Log.value(p)));
            assert!(high >= 7.0, "{last}: {high}");
        }
    }

    proptest! {
        #[test]
        fn axes_are_finite_and_have_ticks_whatever_is_drawn(
            ys in prop::collection::vec(value(), 1..12), zoom in prop::option::of([value(), value()]),
            scales in [scale(), scale()], wanted in 2..8usize,
        ) {
            let points: Vec<[f64; 2]> = ys.iter().enumerate().map(|(i, y)| [i as f64, *y]).collect();
            let chart = Chart::new("", Axis::new("x"), Axis::new("y")).line(Line::new("a", Color32::RED, points));
            let state = ChartState { zoom_x: zoom, zoom_y: zoom, ..Default::default() };
            let x = x_limits(&chart, &state, scales[0]);
            let y = y_limits(&chart, &state, scales[1], x.map(|p| scales[0].value(p)));
            for (scale, [a, b]) in scales.into_iter().zip([x, y]) {
                prop_assert!(a.is_finite() && b.is_finite() && b > a, "{scale:?} {a:e} {b:e}");
                let ticks = scale.ticks(a, b, wanted);
                prop_assert!((1..=24).contains(&ticks.len()), "{scale:?} {a:e} {b:e}: {ticks:?}");
                prop_assert!(ticks.iter().all(|t| t.0.is_finite() && t.1.chars().count() <= 24), "{ticks:?}");
            }
        }
    }

    #[test]
    fn between_two_steps_the_line_that_joins_them_is_in_sight() {
        let points = vec![[0.0, 5.0], [10.0, 7.0]];
        let chart = Chart::new("", Axis::new("x"), Axis::new("y")).line(Line::new("a", Color32::RED, points));
        let [low, high] = y_limits(&chart, &ChartState::default(), Scale::Linear, [4.0, 6.0]);
        assert!(low < 5.0 && high > 7.0, "{low} {high}");
    }
}
