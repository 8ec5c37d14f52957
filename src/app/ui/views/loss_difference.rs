//! Each other variant's loss minus the first one's, with a noise band: is there a difference?

use std::collections::VecDeque;

use super::losses::with_loss_unit;
use crate::{
    analysis::statistics::mean_sd,
    ui::{seed_series::Spread, views::prelude::*},
};

/// Points of the running mean and deviation when there is one seed.
const RUNNING: usize = 50;

/// One curve minus another at the steps they share, as both grow.
#[derive(Debug, Clone, Default)]
struct Difference {
    curve: Curve,
    taken: usize,
    seen: (u64, u64),
}

impl Difference {
    fn follow(&mut self, a: &Curve, b: &Curve) {
        let seen = (a.lineage(), b.lineage());
        if seen != self.seen {
            *self = Self { seen, ..Self::default() };
        }
        while let Some((step, value)) = a.point(self.taken) {
            if b.last_step().is_none_or(|last| last < step) {
                break;
            }
            self.taken += 1;
            if let Some((s, other)) = b.point_at(step)
                && s == step
            {
                self.curve.push(step, value - other);
            }
        }
    }
}

/// The mean of a difference over the steps on both sides of each point, in a band of one standard deviation.
#[derive(Debug, Clone, Default)]
struct Running {
    mean: Curve,
    low: Curve,
    high: Curve,
    window: VecDeque<f64>,
    taken: usize,
    seen: u64,
}

impl Running {
    fn follow(&mut self, source: &Curve) {
        if self.seen != source.lineage() {
            *self = Self { seen: source.lineage(), ..Self::default() };
        }
        while let Some((step, value)) = source.point(self.taken) {
            self.taken += 1;
            if value.is_finite() {
                self.window.push_back(value);
            }
            if self.window.len() > RUNNING {
                self.window.pop_front();
            }
            let (mean, sd) = mean_sd(self.window.make_contiguous());
            self.mean.push(step, mean);
            self.low.push(step, mean - sd);
            self.high.push(step, mean + sd);
        }
    }
}

/// One other group minus the first.
#[derive(Debug, Clone, Default)]
struct Contrast {
    label: String,
    /// The index of the other group, for its colour.
    place: usize,
    /// The difference for each seed that both groups have.
    pairs: Vec<Difference>,
    /// Running mean and deviation of each pair.
    running: Vec<Running>,
    /// The spread over the running means of the pairs.
    spread: Spread,
}

/// View `loss_difference`.
#[derive(Default)]
pub struct LossDifference {
    held_out: bool,
    /// The contrasts by run and by split: training or held out.
    contrasts: KeyedCache<(RunNumber, bool), Vec<Contrast>>,
}

impl LossDifference {
    fn channel(&self) -> &'static str {
        if self.held_out { channels::LOSS_HELD_OUT } else { channels::LOSS_TRAIN }
    }

    /// The contrasts of the run, as far as they were followed.
    fn contrasts(&self, mirror: &Mirror) -> &[Contrast] {
        self.contrasts.get(&(mirror.run, self.held_out)).map_or(&[], Vec::as_slice)
    }

    fn follow(&mut self, mirror: &Mirror) {
        let channel = self.channel();
        let all = groups(mirror);
        let Some((first, others)) = all.split_first() else { return };
        let contrasts = self.contrasts.at((mirror.run, self.held_out));
        contrasts.resize_with(others.len(), Contrast::default);
        for (i, (contrast, other)) in contrasts.iter_mut().zip(others).enumerate() {
            contrast.follow(mirror, channel, first, (other, i + 1));
        }
    }
}

impl Contrast {
    /// The colour of the other group.
    fn colour(&self, cx: &ViewCx<'_>) -> Color32 {
        groups(cx.mirror).get(self.place).map_or(cx.theme.text, |g| g.colour(self.place, cx.theme))
    }

    fn follow(&mut self, mirror: &Mirror, channel: &str, first: &SeedGroup, (other, place): (&SeedGroup, usize)) {
        let curve = |v: usize| mirror.curve(v, channel);
        let pairs: Vec<(&Curve, &Curve)> =
            first.pairs_by_seed(other, mirror).into_iter().filter_map(|(a, b)| Some((curve(a)?, curve(b)?))).collect();
        self.label = format!("{} \u{2212} {}", other.label, first.label);
        self.place = place;
        self.pairs.resize_with(pairs.len(), Difference::default);
        for (kept, (of_first, of_other)) in self.pairs.iter_mut().zip(pairs) {
            kept.follow(of_other, of_first);
        }
        self.running.resize_with(self.pairs.len(), Running::default);
        for (running, pair) in self.running.iter_mut().zip(&self.pairs) {
            running.follow(&pair.curve);
        }
        let means: Vec<&Curve> = self.running.iter().map(|r| &r.mean).collect();
        if means.len() > 1 {
            self.spread.follow(&means);
        }
    }
}

impl PanelView for LossDifference {
    const FOOTER_HEIGHT: f32 = 32.0;

    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        self.follow(cx.mirror);
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let y = Axis::new(with_loss_unit("loss difference", cx)).include(&[0.0]);
        let mut chart = Chart::new("loss difference", Axis::steps(), y).empty(cx.why_no_curve(
            "No difference to show. It needs two variants trained on the same batches: turn on coupled and frozen, \
             and press Space.",
            "No difference to show: it needs two variants that are trained on the same batches.",
        ));
        for c in self.contrasts(cx.mirror) {
            let colour = c.colour(cx);
            let (mean, low, high) = match &c.running[..] {
                [] => continue,
                [only] => (&only.mean, &only.low, &only.high),
                _ => (&c.spread.mean, &c.spread.low, &c.spread.high),
            };
            let band_words = if c.pairs.len() > 1 { "\u{b1}1 sd over seeds" } else { "\u{b1}1 running sd" };
            let label = format!("{}, {band_words}", c.label);
            chart.band(label, colour, low, high);
            let mut line = Line { is_smoothed: true, ..Line::new(c.label.clone(), colour, mean) };
            if let [only] = &c.pairs[..] {
                line = line.raw(&only.curve);
            }
            chart.add(line);
        }
        if !chart.is_empty() {
            let first = groups(cx.mirror).first().map_or(String::new(), |g| g.label.clone());
            chart.level(format!("equal; below, better than {first}"), 0.0);
        }
        chart.marker = cx.marker();
        Panel::single(chart)
    }

    fn has_footer(&self, is_empty: bool) -> bool {
        self.held_out || !is_empty
    }

    fn footer_ui(&mut self, ui: &mut Ui, _cx: &mut ViewCx<'_>) {
        ui.horizontal(|ui| {
            ui.selectable_value(&mut self.held_out, false, "train");
            ui.selectable_value(&mut self.held_out, true, "held out");
        });
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let what = if self.held_out { "held-out windows" } else { "the same training batches" };
        let seeds = self.contrasts(cx.mirror).iter().map(|c| c.pairs.len()).max().unwrap_or(0);
        let band = match seeds {
            0 => String::new(),
            1 => format!(", one seed: running mean and \u{b1}1 running sd of {RUNNING} points"),
            n => format!(", running mean of {RUNNING}, band \u{b1}1 sd over {n} seeds"),
        };
        cx.subtitle(&format!("{what}{band}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_and_their_running_spread_follow_as_curves_grow() {
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
        let mut r = Running::default();
        r.follow(&d.curve);
        assert!((r.mean.value_at(4).unwrap() - 4.0 / 3.0).abs() < 1e-12);
        assert!(r.low.value_at(4).unwrap() < r.mean.value_at(4).unwrap());
    }
}
