//! Variants that differ only by seed, drawn in charts over steps as one line with a band of one standard deviation.

use std::collections::HashMap;

use eframe::egui::Color32;

use crate::{
    experiments::seeds::{mean_spread, over_seeds},
    telemetry::VariantInfo,
    ui::{
        identity::{KeyedCache, RunNumber},
        mirror::Mirror,
        plot::{Chart, Curve, Line, Smoothed, Stroke},
        theme::Theme,
    },
};

/// Variants that differ only by seed. Its index among the groups determines its colour.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SeedGroup {
    /// Legend text: "frozen".
    pub label: String,
    /// The plan's name: `frozen`.
    pub id: String,
    /// Indices of its variants.
    pub members: Vec<usize>,
}

impl SeedGroup {
    /// Its colour; `place` is its index among the groups of the run.
    pub fn colour(&self, place: usize, theme: &Theme) -> Color32 {
        theme.variant(&self.id, place)
    }

    fn curves<'c>(&self, curve: impl Fn(usize) -> Option<&'c Curve>) -> Vec<(usize, &'c Curve)> {
        self.members.iter().filter_map(|v| Some((*v, curve(*v)?))).collect()
    }

    /// Members of this group and of another that have the same seed, as pairs of variants.
    pub fn pairs_by_seed(&self, other: &Self, mirror: &Mirror) -> Vec<(usize, usize)> {
        let seed = |v: usize| mirror.variants().get(v).map(|i| i.seed);
        let with = |a: usize| other.members.iter().filter(move |b| seed(**b) == seed(a)).map(move |b| (a, *b));
        self.members.iter().flat_map(|a| with(*a)).collect()
    }
}

pub fn groups(mirror: &Mirror) -> Vec<SeedGroup> {
    groups_of(mirror.variants())
}

fn groups_of(variants: &[VariantInfo]) -> Vec<SeedGroup> {
    let mut all: Vec<SeedGroup> = vec![];
    for (i, v) in variants.iter().enumerate() {
        match all.iter_mut().find(|g| g.id == v.group) {
            Some(g) => g.members.push(i),
            None => all.push(SeedGroup { label: v.label.clone(), id: v.group.clone(), members: vec![i] }),
        }
    }
    for g in &mut all {
        if g.members.len() > 1
            && let Some(at) = g.label.rfind(", seed")
        {
            g.label.truncate(at);
        }
    }
    all
}

/// The colour of a variant: every view takes it from here.
pub fn variant_colour(mirror: &Mirror, variant: usize, theme: &Theme) -> Color32 {
    let group = groups(mirror).into_iter().enumerate().find(|(_, group)| group.members.contains(&variant));
    group.map_or_else(|| theme.series(variant), |(place, group)| group.colour(place, theme))
}

/// One scalar channel of every variant and of the pinned run, smoothed, summarized by group of seeds, and updated as it
/// grows.
#[derive(Debug, Clone, Default)]
pub struct SeedSeries {
    weight: f64,
    followed: KeyedCache<RunNumber, DerivedSeries>,
    pinned: KeyedCache<RunNumber, DerivedSeries>,
}

#[derive(Debug, Clone, Default)]
struct DerivedSeries {
    /// The series of each variant.
    members: HashMap<usize, Smoothed>,
    /// The spread of each group, by its index.
    spreads: HashMap<usize, Spread>,
}

impl DerivedSeries {
    /// Processes the new points of the variants' curves; `weight` is the smoothing factor, 0 for none.
    fn follow<'c>(&mut self, groups: &[SeedGroup], weight: f64, curve: impl Fn(usize) -> Option<&'c Curve>) {
        let Self { members, spreads } = self;
        for (place, group) in groups.iter().enumerate() {
            let curves = group.curves(&curve);
            if weight > 0.0 {
                for (v, raw) in &curves {
                    members.entry(*v).or_default().follow(raw, weight);
                }
            }
            if curves.len() > 1 {
                let shown: Vec<&Curve> =
                    curves.iter().map(|(v, raw)| smoothed_or_raw(members, *v, raw, weight)).collect();
                spreads.entry(place).or_default().follow(&shown);
            }
        }
    }
}

/// The curve of a variant that is shown: the smoothed one where there is smoothing.
fn smoothed_or_raw<'c>(
    members: &'c HashMap<usize, Smoothed>,
    variant: usize,
    raw: &'c Curve,
    weight: f64,
) -> &'c Curve {
    members.get(&variant).filter(|_| weight > 0.0).map_or(raw, Smoothed::curve)
}

#[derive(Debug, Clone, Copy, Default)]
pub struct SeriesStyle {
    pub stroke: Stroke,
    /// Text after the group's label in the readout: ", held out".
    pub suffix: &'static str,
    /// True if the line is left out of the legend.
    pub unnamed: bool,
    pub seeds: Seeds,
}

/// The way in which a group with several seeds is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Seeds {
    /// Draws the mean, and a band of one standard deviation.
    #[default]
    Spread,
    /// The mean and the band, with each seed drawn faintly.
    SpreadAndEach,
    /// A line for each seed: for what may go either way, where a mean would be near nothing.
    Each,
}

impl SeedSeries {
    /// Catches up with the run; `weight` smooths (0: not at all).
    pub fn follow(&mut self, mirror: &Mirror, channel: &str, weight: f64) {
        self.weight = weight;
        self.followed.at(mirror.run).follow(&groups(mirror), weight, |v| mirror.curve(v, channel));
        if let Some(pinned) = mirror.pinned() {
            let groups = groups_of(&pinned.info.variants);
            self.pinned.at(pinned.run).follow(&groups, weight, |v| pinned.curve(v, channel));
        }
    }

    /// Adds a faint line for each group of the pinned run, in the colour that the group has in the run that is shown.
    fn draw_pinned<'a>(
        &'a self,
        chart: &mut Chart<'a>,
        mirror: &'a Mirror,
        channel: &str,
        theme: &Theme,
        stroke: Stroke,
    ) {
        let Some(pinned) = mirror.pinned() else { return };
        let Some(DerivedSeries { members, spreads }) = self.pinned.get(&pinned.run) else { return };
        let shown = groups(mirror);
        for (place, group) in groups_of(&pinned.info.variants).iter().enumerate() {
            let curve = match group.curves(|v| pinned.curve(v, channel))[..] {
                [] => continue,
                [(v, raw)] => smoothed_or_raw(members, v, raw, self.weight),
                _ => match spreads.get(&place) {
                    Some(spread) => &spread.mean,
                    None => continue,
                },
            };
            let colour = group.colour(shown.iter().position(|g| g.id == group.id).unwrap_or(place), theme);
            let is_named = chart.lines.iter().any(|l| l.is_pinned && l.named);
            let label = format!("{}, {}", pinned.name(), group.label);
            let line = Line::new(label, colour, curve).pinned().short(pinned.name()).stroke(stroke);
            // a single value has no line
            let line = if curve.len() == 1 { line.dots() } else { line };
            chart.add(if is_named { line.unnamed() } else { line });
        }
    }

    /// Adds a line for each group: the one variant, or mean and band over its seeds.
    pub fn draw<'a>(
        &'a self,
        chart: &mut Chart<'a>,
        mirror: &'a Mirror,
        channel: &str,
        theme: &Theme,
        look: SeriesStyle,
    ) {
        self.draw_pinned(chart, mirror, channel, theme, look.stroke);
        let Some(DerivedSeries { members, spreads }) = self.followed.get(&mirror.run) else { return };
        for (place, group) in groups(mirror).iter().enumerate() {
            let colour = group.colour(place, theme);
            let label = format!("{}{}", group.label, look.suffix);
            let curves = group.curves(|v| mirror.curve(v, channel));
            let line = match curves[..] {
                [] => continue,
                [(v, raw)] => match members.get(&v) {
                    Some(s) if self.weight > 0.0 && !s.curve().is_empty() => {
                        Line::new(label, colour, s.curve()).raw(raw)
                    }
                    _ => Line::new(label, colour, raw),
                },
                _ => {
                    let Some(spread) = spreads.get(&place) else { continue };
                    let each = curves.iter().map(|(v, raw)| {
                        let shown = smoothed_or_raw(members, *v, raw, self.weight);
                        let line = Line::new(mirror.variant_label(*v), colour, shown).short(group.label.clone());
                        Line { is_smoothed: self.weight > 0.0, ..line }
                    });
                    match look.seeds {
                        Seeds::Spread => {}
                        Seeds::SpreadAndEach => chart.lines.extend(each.map(Line::faint)),
                        Seeds::Each => {
                            let named = each.enumerate().map(|(i, line)| if i > 0 { line.unnamed() } else { line });
                            chart.lines.extend(named);
                            continue;
                        }
                    }
                    chart.band(format!("{label}, \u{b1}1 sd"), colour, &spread.low, &spread.high);
                    Line { is_smoothed: self.weight > 0.0, ..Line::new(label, colour, &spread.mean) }
                }
            };
            let line = line.stroke(look.stroke).dots().short(group.label.clone());
            chart.add(if look.unnamed { line.unnamed() } else { line });
        }
    }
}

/// Mean and standard deviation over the seeds of a group ([`over_seeds`]), up to the step that all have reached.
pub fn spread_of(seeds: &[Vec<(u64, f64)>]) -> Vec<[f64; 3]> {
    let end = seeds.iter().map(|s| s.last().map_or(0, |p| p.0)).min().unwrap_or(0);
    let reached = |s: &Vec<(u64, f64)>| s.partition_point(|p| p.0 <= end);
    over_seeds(&seeds.iter().map(|s| &s[..reached(s)]).collect::<Vec<_>>())
}

/// Caches the mean of several growing curves, and the mean plus and minus one standard deviation, as [`spread_of`]
/// defines them.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    pub mean: Curve,
    pub low: Curve,
    pub high: Curve,
    /// The data id of each source, by which a new start is noticed.
    seen: Vec<u64>,
    /// Points of each source taken so far.
    taken: Vec<usize>,
}

impl Spread {
    pub fn follow(&mut self, sources: &[&Curve]) -> &Self {
        let seen: Vec<u64> = sources.iter().map(|c| c.data_id()).collect();
        if seen != self.seen {
            *self = Self { seen, taken: vec![0; sources.len()], ..Self::default() };
        }
        let Some(end) = sources.iter().map(|c| c.last_step()).min().flatten() else { return self };
        let next = |taken: &[usize]| sources.iter().zip(taken).filter_map(|(c, i)| Some(c.point(*i)?.0)).min();
        while let Some(step) = next(&self.taken).filter(|step| *step <= end) {
            let mut here = vec![];
            for (source, i) in sources.iter().zip(&mut self.taken) {
                if let Some((_, value)) = source.point(*i).filter(|p| p.0 == step) {
                    here.push(value);
                    *i += 1;
                }
            }
            let (mean, sd) = mean_spread(&here);
            // a step that only one seed has leaves a gap in the band
            let sd = sd.unwrap_or(f64::NAN);
            self.mean.push(step, mean);
            self.low.push(step, mean - sd);
            self.high.push(step, mean + sd);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_seeds_end_where_one_has_not_come_yet() {
        let seeds = [vec![(0, 1.0), (5, 2.0), (9, 3.0)], vec![(0, 3.0), (7, 3.0)]];
        let points = spread_of(&seeds);
        assert_eq!(points.iter().map(|p| [p[0], p[1]]).collect::<Vec<_>>(), [[0.0, 2.0], [5.0, 2.0], [7.0, 3.0]]);
        assert!(spread_of(&[]).is_empty());
    }

    #[test]
    fn mean_and_spread_are_over_the_seeds_that_have_a_step() {
        let (mut a, mut b) = (Curve::default(), Curve::default());
        [1u64, 2, 3, 5].into_iter().for_each(|s| a.push(s, s as f64));
        [1u64, 3, 4, 5].into_iter().for_each(|s| b.push(s, s as f64 + 2.0));
        let mut spread = Spread::default();
        spread.follow(&[&a, &b]);
        assert_eq!(spread.mean.points(0, 9).collect::<Vec<_>>(), [(1, 2.0), (2, 2.0), (3, 4.0), (4, 6.0), (5, 6.0)]);
        let sd = 2f64.sqrt();
        assert!((spread.high.value_at(1).unwrap() - 2.0 - sd).abs() < 1e-12);
        assert!(spread.high.value_at(2).unwrap().is_nan(), "one seed has no band");
        a.push(4, 10.0);
        b.push(6, 1.0);
        spread.follow(&[&a, &b]);
        assert_eq!(spread.mean.points(0, 9).collect::<Vec<_>>(), [(1, 2.0), (2, 2.0), (3, 4.0), (4, 8.0)]);
    }
}
