//! Each other variant's loss minus the first one's, with a noise band: is there a difference?

use super::losses::with_loss_unit;
use crate::ui::{plot::Smoothed, seed_series::Spread, views::prelude::*};

/// The decay of the exponential mean per point; its variance equals that of a plain mean of 48 points.
const SMOOTHING_WEIGHT: f64 = 0.92;
/// The deviation at a point is that of its value and of up to this many before it, so that a new point changes none.
const SPREAD_POINTS: usize = 49;

/// One curve minus another at the steps they share, as both grow.
#[derive(Debug, Clone, Default)]
struct Difference {
    curve: Curve,
    taken: usize,
    data_ids: (u64, u64),
}

impl Difference {
    fn follow(&mut self, a: &Curve, b: &Curve) {
        let data_ids = (a.data_id(), b.data_id());
        if data_ids != self.data_ids {
            *self = Self { data_ids, ..Self::default() };
        }
        while let Some((step, value)) = a.point(self.taken) {
            if b.last_step().is_none_or(|last| last < step) {
                break;
            }
            self.taken += 1;
            if let Some((_, other)) = b.point_at(step).filter(|(at, _)| *at == step) {
                self.curve.push(step, value - other);
            }
        }
    }
}

/// The mean of a difference over the steps on both sides of each point, in a band of one standard deviation.
#[derive(Debug, Clone, Default)]
struct MeanBand {
    mean: Smoothed,
    low: Smoothed,
    high: Smoothed,
    /// Each value minus and plus the standard deviation of the values up to it.
    edges: [Curve; 2],
    data_id: u64,
}

impl MeanBand {
    fn follow(&mut self, source: &Curve) {
        if self.data_id != source.data_id() {
            *self = Self { data_id: source.data_id(), ..Self::default() };
        }
        self.mean.follow(source, SMOOTHING_WEIGHT);
        let [below, above] = &mut self.edges;
        for place in below.len()..source.len() {
            let Some((step, value)) = source.point(place) else { break };
            let up_to = (place.saturating_sub(SPREAD_POINTS)..=place).filter_map(|i| source.point(i));
            let finite: Vec<f64> = up_to.map(|(_, value)| value).filter(|value| value.is_finite()).collect();
            let (_, sd) = mean_sd(&finite);
            below.push(step, value - sd);
            above.push(step, value + sd);
        }
        self.low.follow(below, SMOOTHING_WEIGHT);
        self.high.follow(above, SMOOTHING_WEIGHT);
    }
}

/// One other group minus the first.
#[derive(Debug, Clone, Default)]
struct Contrast {
    label: String,
    /// The difference for each seed that both groups have, and its mean.
    pairs: Vec<(Difference, MeanBand)>,
    /// The spread over the means of the pairs.
    spread: Spread,
}

#[derive(Default)]
pub struct LossDifference {
    held_out: bool,
    /// The contrasts by run and by split: training or held out.
    contrasts: KeyedCache<(RunNumber, bool), Vec<Contrast>>,
}

impl LossDifference {
    fn contrasts(&self, mirror: &Mirror) -> &[Contrast] {
        self.contrasts.get(&(mirror.run, self.held_out)).map_or(&[], Vec::as_slice)
    }
}

impl Contrast {
    fn follow(&mut self, mirror: &Mirror, channel: &str, first: &SeedGroup, other: &SeedGroup) {
        let curve = |v: usize| mirror.curve(v, channel);
        let pairs: Vec<(&Curve, &Curve)> =
            first.pairs_by_seed(other, mirror).into_iter().filter_map(|(a, b)| Some((curve(a)?, curve(b)?))).collect();
        self.label = format!("{} \u{2212} {}", other.label, first.label);
        self.pairs.resize_with(pairs.len(), Default::default);
        for ((difference, band), (of_first, of_other)) in self.pairs.iter_mut().zip(pairs) {
            difference.follow(of_other, of_first);
            band.follow(&difference.curve);
        }
        let means: Vec<&Curve> = self.pairs.iter().map(|(_, band)| band.mean.curve()).collect();
        if means.len() > 1 {
            self.spread.follow(&means);
        }
    }
}

impl PanelView for LossDifference {
    const FOOTER_HEIGHT: f32 = 32.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let channel = if self.held_out { channels::LOSS_HELD_OUT } else { channels::LOSS_TRAIN };
        let all = groups(cx.mirror);
        let Some((first, others)) = all.split_first() else { return };
        let contrasts = self.contrasts.at((cx.mirror.run, self.held_out));
        contrasts.resize_with(others.len(), Contrast::default);
        for (contrast, other) in contrasts.iter_mut().zip(others) {
            contrast.follow(cx.mirror, channel, first, other);
        }
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new(with_loss_unit("loss difference", cx)).include(&[0.0]);
        let mut chart = Chart::new("loss difference", Axis::steps(), y).empty(cx.no_curve_reason(
            "No difference to show. It needs two variants trained on the same batches: turn on coupled and frozen, \
             and press Space.",
            "No difference to show: it needs two variants that are trained on the same batches.",
        ));
        let all = groups(cx.mirror);
        for (c, (place, other)) in self.contrasts(cx.mirror).iter().zip(all.iter().enumerate().skip(1)) {
            let colour = other.colour(place, cx.theme);
            let (of, mean, [low, high], raw) = match &c.pairs[..] {
                [] => continue,
                [(only, band)] => {
                    ("of 50 points", band.mean.curve(), [&band.low, &band.high].map(Smoothed::curve), Some(&only.curve))
                }
                _ => ("over seeds", &c.spread.mean, [&c.spread.low, &c.spread.high], None),
            };
            chart.band(format!("{}, \u{b1}1 sd {of}", c.label), colour, low, high);
            chart.add(Line { is_smoothed: true, raw, ..Line::new(c.label.clone(), colour, mean) });
        }
        if let Some(first) = all.first().filter(|_| !chart.is_empty()) {
            chart.horizontal_line(format!("equal; below, better than {}", first.label), 0.0);
        }
        chart.marker = cx.marker();
        Panel::single(chart)
    }

    fn has_footer(&self, is_empty: bool) -> bool {
        self.held_out || !is_empty
    }

    fn footer_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.selectable_value(&mut self.held_out, false, "train");
        ui.selectable_value(&mut self.held_out, true, "held out");
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let what = if self.held_out { "held-out windows" } else { "the same training batches" };
        let seeds = self.contrasts(cx.mirror).iter().map(|c| c.pairs.len()).max().unwrap_or(0);
        let band = match seeds {
            0 => String::new(),
            1 => {
                let points = SPREAD_POINTS + 1;
                format!(", one seed: averaged over neighbouring steps, band \u{b1}1 sd of {points} points")
            }
            n => format!(", averaged over neighbouring steps, band \u{b1}1 sd over {n} seeds"),
        };
        cx.subtitle(&format!("{what}{band}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_follow_as_curves_grow() {
        let (mut a, mut b) = (Curve::default(), Curve::default());
        let mut d = Difference::default();
        for s in 1..=4u64 {
            a.push(s, s as f64);
            if s != 3 {
                b.push(s, 1.0);
            }
            d.follow(&a, &b);
        }
        assert_eq!(d.curve.points(0, 9).collect::<Vec<_>>(), [(1, 0.0), (2, 1.0), (4, 3.0)]);
    }

    #[test]
    fn the_mean_crosses_the_middle_at_a_jump() {
        let mut jump = Curve::default();
        (1..=200).for_each(|step| jump.push(step, if step > 100 { 1.0 } else { 0.0 }));
        let mut band = MeanBand::default();
        band.follow(&jump);
        let at = |step: u64| band.mean.curve().value_at(step).unwrap();
        let (before, after) = (at(100), at(101));
        assert!(before < 0.5 && after > 0.5 && (before + after - 1.0).abs() < 1e-9, "{before} {after}");
        assert!(at(50) < 0.01 && at(150) > 0.99, "{} {}", at(50), at(150));
    }

    #[test]
    fn a_band_grows_as_if_made_at_once() {
        let (mut source, mut grown, mut whole) = (Curve::default(), MeanBand::default(), MeanBand::default());
        for step in 1..=120u64 {
            source.push(step, (step as f64 * 0.7).sin());
            grown.follow(&source);
        }
        whole.follow(&source);
        for step in 1..=120 {
            let lines = |b: &MeanBand| [&b.low, &b.mean, &b.high].map(|line| line.curve().value_at(step).unwrap());
            let ([low, mean, high], at_once) = (lines(&grown), lines(&whole));
            assert!(step == 1 || low < mean && mean < high, "{step}: {low} {mean} {high}");
            let apart = [low, mean, high].iter().zip(at_once).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-12, "{step}: {apart}");
        }
    }
}
