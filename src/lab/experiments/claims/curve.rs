//! The effect of a rule over the steps of its runs, over its sizes, and over the values of a setting: does it turn? The values of
//! all seeds at some recorded steps are kept with the result, and effect and interval are made of them whenever they are shown. Rules
//! that ask a probe have none: it is asked at the end of a run.

use std::collections::BTreeMap;

use super::{
    criterion::{Region, Statistic},
    result::{ClaimResult, PointNumbers, SeedNumbers, StepValues},
    rule::Rule,
    statistics,
};
use crate::{
    analysis::{statistics::mean_sd, student::mean_interval},
    config::counted,
    experiments::short_number::short,
    labs::TrainSettings,
};

/// Most steps that a result keeps.
pub const MAX_STEPS: usize = 24;

/// Relative difference by which two machines may part in the last digits.
pub(super) const ROUNDING: f64 = 1e-9;

/// The numbers of one seed at every recorded step of its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedSteps {
    pub seed: u64,
    /// A single run, or a run at each value of the setting that varies.
    pub runs: Vec<RunSteps>,
}

/// The numbers of one run at its recorded steps.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunSteps {
    /// The value of the setting that varies; `None` where none does.
    pub at: Option<f64>,
    pub numbers: BTreeMap<u64, PointNumbers>,
}

/// The effect at one step, or at one value of a setting, with the interval of that effect alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectPoint {
    pub at: f64,
    pub effect: f64,
    pub interval: (f64, f64),
}

/// The place of an interval beside the region in which a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IntervalPlace {
    Inside,
    Outside,
    Across,
}

impl IntervalPlace {
    fn new(region: &Region, (low, high): (f64, f64)) -> Self {
        let is_outside = region.above.is_some_and(|end| high <= end) || region.below.is_some_and(|end| low >= end);
        match region.contains(low) && region.contains(high) {
            true => Self::Inside,
            false if is_outside => Self::Outside,
            false => Self::Across,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Inside => "within the bound",
            Self::Outside => "beyond the bound",
            Self::Across => "across the bound",
        }
    }
}

impl Rule {
    /// True if its effect can be followed over steps: its numbers are recorded along runs of equal length, and each is that of
    /// one step.
    pub fn has_curve(&self) -> bool {
        let varies_steps = self.varied().is_some_and(|over| over.key == TrainSettings::steps.name);
        self.ask.is_none() && self.over_steps.is_none() && self.statistic != Statistic::Area && !varies_steps
    }

    /// The values of these seeds at the steps that all of their runs have recorded, at most [`MAX_STEPS`] of them, the first, the
    /// last and that of the rule among them. Empty unless they lead to the numbers by which the seeds are judged.
    pub fn curve(&self, series: &[SeedSteps], judged: &[SeedNumbers]) -> Vec<StepValues> {
        let mut runs = series.iter().flat_map(|seed| &seed.runs);
        let Some(first) = runs.next().filter(|_| self.has_curve()) else { return vec![] };
        let others: Vec<&RunSteps> = runs.collect();
        let is_common = |step: &u64| others.iter().all(|run| run.numbers.contains_key(step));
        let steps = first.numbers.keys().copied().filter(is_common);
        let whole: Vec<StepValues> = steps.filter_map(|step| self.values_at(series, step)).collect();
        let curve = downsampled(whole, self.at);
        if self.curve_problem(&curve, judged).is_some() { vec![] } else { curve }
    }

    /// The values of all seeds at a step; `None` where one has none.
    fn values_at(&self, series: &[SeedSteps], step: u64) -> Option<StepValues> {
        let numbers = |seed: &SeedSteps| {
            let point = |run: &RunSteps| Some(PointNumbers { at: run.at, ..*run.numbers.get(&step)? });
            let points = seed.runs.iter().map(point).collect::<Option<Vec<PointNumbers>>>()?;
            Some(SeedNumbers { seed: seed.seed, points })
        };
        let seeds = series.iter().map(numbers).collect::<Option<Vec<SeedNumbers>>>()?;
        let (values, beside) = (statistics::values(self, &seeds), statistics::beside_values(self, &seeds));
        (values.len() == seeds.len()).then_some(StepValues { step, values, beside })
    }

    /// The reason why a stored curve does not belong to these seeds; `None` if it does, or there is none.
    pub fn curve_problem(&self, curve: &[StepValues], seeds: &[SeedNumbers]) -> Option<String> {
        let last = curve.last()?;
        let is_rising = curve.windows(2).all(|pair| pair[0].step < pair[1].step);
        let (values, beside) = (statistics::values(self, seeds), statistics::beside_values(self, seeds));
        let is_of_seeds = |point: &StepValues| (point.values.len(), point.beside.len()) == (seeds.len(), beside.len());
        let is_of_seeds = curve.iter().all(is_of_seeds);
        if curve.len() > MAX_STEPS || !is_rising || !is_of_seeds || !self.has_curve() {
            return Some("the curve over steps is not that of its rule and its seeds".to_owned());
        }
        let judged = self.at.map_or(Some(last), |at| curve.iter().find(|point| point.step == at));
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
        let leads = |point: &StepValues| {
            let mut pairs = point.values.iter().zip(&values).chain(point.beside.iter().zip(&beside));
            pairs.all(is_close)
        };
        let is_same = judged.is_some_and(leads) && values.len() == seeds.len();
        (!is_same).then(|| "the curve over steps does not lead to its numbers".to_owned())
    }

    /// The effect at each kept step.
    pub fn effects(&self, result: &ClaimResult) -> Vec<EffectPoint> {
        let effect = |point: &StepValues| {
            let outcome = statistics::outcome_of_values(self, &point.values, &point.beside)?;
            Some(EffectPoint { at: point.step as f64, effect: outcome.effect, interval: outcome.interval })
        };
        result.curve.iter().filter_map(effect).collect()
    }

    /// The setting of its sizes; or the setting, or the field of an answer, along which a slope or a rank correlation runs:
    /// "model.d_model".
    pub fn axis(&self) -> Option<&str> {
        if let Some(sizes) = &self.sizes {
            return Some(&sizes.key);
        }
        let over = self.over.as_ref().map(|over| over.key.as_str());
        over.or(self.along.as_deref()).filter(|_| self.statistic.is_along_axis())
    }

    /// The effect at each size, by the numbers of all seeds at this size alone.
    fn effects_at_sizes(&self, seeds: &[SeedNumbers]) -> Vec<EffectPoint> {
        let mut sizes: Vec<f64> = seeds.iter().flat_map(|seed| &seed.points).filter_map(|point| point.at).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let effect = |at: f64| {
            let is_of_size = |point: &&PointNumbers| point.at == Some(at);
            let of_size = |seed: &SeedNumbers| SeedNumbers {
                seed: seed.seed,
                points: seed.points.iter().filter(is_of_size).copied().collect(),
            };
            let outcome = statistics::outcome(self, &seeds.iter().map(of_size).collect::<Vec<_>>())?;
            Some(EffectPoint { at, effect: outcome.effect, interval: outcome.interval })
        };
        sizes.into_iter().filter_map(effect).collect()
    }

    /// The effect at each size; or the mean over seeds of the number, less the other where there is one, at each value of
    /// [`Rule::axis`]. In rising order; empty unless all seeds have the same values.
    pub fn effects_along_axis(&self, seeds: &[SeedNumbers]) -> Vec<EffectPoint> {
        let (Some(first), Some(_)) = (seeds.first(), self.axis()) else { return vec![] };
        let is_same = |seed: &SeedNumbers| {
            let mut pairs = seed.points.iter().zip(&first.points);
            seed.points.len() == first.points.len() && pairs.all(|(a, b)| a.at.is_some() && a.at == b.at)
        };
        if !seeds.iter().all(is_same) {
            return vec![];
        }
        if self.sizes.is_some() {
            return self.effects_at_sizes(seeds);
        }
        let point = |(place, point): (usize, &PointNumbers)| {
            let values: Vec<f64> = seeds.iter().map(|seed| statistics::difference(&seed.points[place])).collect();
            let interval = mean_interval(&values, self.confidence)?;
            Some(EffectPoint { at: point.at?, effect: mean_sd(&values).0, interval })
        };
        let mut points: Vec<EffectPoint> = first.points.iter().enumerate().filter_map(point).collect();
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        let varies = points.first().zip(points.last()).is_some_and(|(first, last)| first.at < last.at);
        if varies { points } else { vec![] }
    }

    /// The side of 0 on which a difference lies along [`Rule::axis`]: "below 0 at 64, 128; across 0 at 256"; `None` for a rule of one
    /// number, whose distance from 0 says nothing. Of sizes, where the effect lies: "within the bound at 64, 128".
    pub fn sides_label(&self, points: &[EffectPoint]) -> Option<String> {
        let has_sides = self.sizes.is_some() || self.beside.is_some() && self.axis().is_some();
        let side = |point: &EffectPoint| match point.interval {
            interval if self.sizes.is_some() => IntervalPlace::new(&self.stands, interval).label(),
            (_, high) if high < 0.0 => "below 0",
            (low, _) if low > 0.0 => "above 0",
            _ => "across 0",
        };
        let runs = points.chunk_by(|a, b| side(a) == side(b)).filter_map(|run| Some((side(run.first()?), run)));
        let words = runs.map(|(side, run)| {
            let at: Vec<String> = run.iter().map(|point| short(point.at)).collect();
            format!("{side} at {}", at.join(", "))
        });
        Some(words.collect::<Vec<_>>().join("; ")).filter(|words| has_sides && !words.is_empty())
    }

    /// The effects along [`Rule::axis`], and their sides: "64: -0.0004 [-0.002, 0.001]; 128: ..; below 0 at 64, 128".
    pub fn points_label(&self, points: &[EffectPoint]) -> String {
        let words = points.iter().map(EffectPoint::label).chain(self.sides_label(points));
        words.collect::<Vec<_>>().join("; ")
    }

    /// The sides on which the intervals lie over steps: "from step 0 beyond the bound; from step 40 within the bound".
    /// Long ones end with the number of further changes of side.
    pub fn side_changes_label(&self, effects: &[EffectPoint]) -> String {
        const MAX_SHOWN: usize = 4;
        let place = |point: &EffectPoint| IntervalPlace::new(&self.stands, point.interval);
        let turns: Vec<&EffectPoint> =
            effects.chunk_by(|a, b| place(a) == place(b)).filter_map(<[EffectPoint]>::first).collect();
        let words = |point: &&EffectPoint| format!("from step {} {}", point.at, place(point).label());
        let mut all: Vec<String> = turns.iter().take(MAX_SHOWN).map(words).collect();
        if turns.len() > MAX_SHOWN {
            all.push(format!("and {}", counted(turns.len() - MAX_SHOWN, "more turn")));
        }
        all.join("; ")
    }
}

/// Keeps at most [`MAX_STEPS`] evenly spaced steps, with the first, the last and that of a rule.
fn downsampled(whole: Vec<StepValues>, at: Option<u64>) -> Vec<StepValues> {
    let Some(last) = whole.len().checked_sub(1).filter(|_| whole.len() > MAX_STEPS) else { return whole };
    let asked = at.and_then(|at| whole.iter().position(|point| point.step == at));
    let spaces = MAX_STEPS - 1 - usize::from(asked.is_some());
    let kept: Vec<usize> = (0..=spaces).map(|i| i * last / spaces).chain(asked).collect();
    whole.into_iter().enumerate().filter(|(i, _)| kept.contains(i)).map(|(_, point)| point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::claims::{
        criterion::Verdict,
        ledger::Judgement,
        small_ledger::{ledger_with, result as small_result, rule, varied},
    };

    /// Gates that open: at step s each is s / 1000 and a little more by seed.
    fn series(steps: u64) -> Vec<SeedSteps> {
        let number = |seed: u64, step: u64| 1e-3 * step as f64 + 1e-3 * seed as f64;
        let numbers = |seed: u64| {
            let point = |step| (step, PointNumbers { at: None, number: number(seed, step), beside: None });
            (0..=steps).map(|i| point(4 * i)).collect()
        };
        let run = |seed| RunSteps { at: None, numbers: numbers(seed) };
        (0..3).map(|seed| SeedSteps { seed, runs: vec![run(seed)] }).collect()
    }

    fn judged(series: &[SeedSteps], step: u64) -> Vec<SeedNumbers> {
        let numbers = |seed: &SeedSteps| SeedNumbers { seed: seed.seed, points: vec![seed.runs[0].numbers[&step]] };
        series.iter().map(numbers).collect()
    }

    fn result(seeds: Vec<SeedNumbers>, curve: Vec<StepValues>) -> ClaimResult {
        let text = r#"{"claim": "X1", "rule": "", "verdict": "stands", "seeds": [],
            "made": {"version": "0", "cpu": "", "cores": 1, "minutes": 0}}"#;
        let known = ClaimResult::parse("X1", text).unwrap();
        assert_eq!((known.verdict, known.curve.len()), (Verdict::Stands, 0), "a result without a curve is read");
        ClaimResult { seeds, curve, ..known }
    }

    #[test]
    fn a_curve_is_thinned_and_ends_at_the_numbers() {
        let (rule, series) = (rule("statistic = \"mean\""), series(100));
        let curve = rule.curve(&series, &judged(&series, 400));
        assert!((MAX_STEPS - 2..=MAX_STEPS).contains(&curve.len()), "{}", curve.len());
        assert_eq!((curve[0].step, curve.last().unwrap().step), (0, 400));
        assert_eq!(curve.last().unwrap().values, [0.4, 0.401, 0.402]);
        assert_eq!(rule.curve(&series, &judged(&series, 396)), [], "numbers of another step");
    }

    #[test]
    fn the_step_of_a_rule_is_kept() {
        let (rule, series) = (rule("statistic = \"mean\"\nat = 204"), series(100));
        let curve = rule.curve(&series, &judged(&series, 204));
        assert!(curve.len() <= MAX_STEPS && curve.iter().any(|point| point.step == 204));
    }

    #[test]
    fn only_common_steps_have_values() {
        let rule = rule("statistic = \"mean\"");
        let mut series = series(5);
        series[1].runs[0].numbers.remove(&8);
        let steps: Vec<u64> = rule.curve(&series, &judged(&series, 20)).iter().map(|point| point.step).collect();
        assert_eq!(steps, [0, 4, 12, 16, 20]);
    }

    /// One seed has no spread, so that both numbers of each seed are kept at every step.
    #[test]
    fn a_ratio_of_spreads_has_a_curve() {
        let rule = rule("statistic = \"spread_ratio\"\nbeside = \"gate of frozen\"");
        let mut series = series(5);
        for (seed, beside) in series.iter_mut().zip([0.0, 0.002, -0.002]) {
            let numbers = seed.runs[0].numbers.iter_mut();
            numbers.for_each(|(step, point)| point.beside = Some(beside * (1.0 + *step as f64)));
        }
        let seeds = judged(&series, 20);
        let curve = rule.curve(&series, &seeds);
        assert_eq!((curve.len(), curve[0].values.len(), curve[0].beside.len()), (6, 3, 3));
        let effects = rule.effects(&result(seeds.clone(), curve.clone()));
        let is_near = |place: usize, effect: f64| (effects[place].effect - effect).abs() < 1e-9;
        assert!(is_near(0, 0.5) && is_near(5, 0.5 / 21.0), "{effects:?}");
        let mut edited = curve;
        edited[5].beside[0] += 0.1;
        assert!(rule.curve_problem(&edited, &seeds).unwrap().contains("does not lead"));
        edited[5].beside.pop();
        assert!(rule.curve_problem(&edited, &seeds).unwrap().contains("is not that of"));
    }

    #[test]
    fn probes_and_means_over_steps_have_no_curve() {
        assert!(!rule("statistic = \"mean\"\nask = \"staircase\"").has_curve());
        assert!(!rule("statistic = \"area\"").has_curve());
        let over = "statistic = \"slope\"\nover = { key = \"train.steps\", values = [10, 20] }";
        assert!(!rule(over).has_curve());
        assert!(rule("statistic = \"mean\"").has_curve());
    }

    #[test]
    fn side_changes_of_a_curve_are_described() {
        let (rule, series) = (rule("statistic = \"mean\""), series(50));
        let seeds = judged(&series, 200);
        let curve = rule.curve(&series, &seeds);
        let effects = rule.effects(&result(seeds, curve));
        assert!(effects.windows(2).all(|pair| pair[0].effect < pair[1].effect));
        let words = rule.side_changes_label(&effects);
        assert!(words.starts_with("from step 0 beyond the bound; from step "), "{words}");
        assert!(words.ends_with(" within the bound"), "{words}");
        let point = |at: u8| EffectPoint { at: f64::from(at), interval: (f64::from(at % 2), 2.0), ..effects[0] };
        let words = rule.side_changes_label(&[0, 1, 2, 3, 4].map(point));
        assert!(words.ends_with("; from step 3 within the bound; and 1 more turn"), "{words}");
    }

    #[test]
    fn effects_along_a_setting_are_means_over_seeds() {
        let rule = rule("statistic = \"slope\"\nover = { key = \"model.d_model\", values = [64, 32] }");
        let point = |at: f64, number: f64| PointNumbers { at: Some(at), number, beside: Some(1.0) };
        let seed = |seed: u64, number: f64| SeedNumbers { seed, points: vec![point(64.0, number), point(32.0, 2.0)] };
        let seeds = [seed(0, 2.5), seed(1, 3.5)];
        let points = rule.effects_along_axis(&seeds);
        assert_eq!(rule.axis(), Some("model.d_model"));
        assert_eq!(points.iter().map(|p| (p.at, p.effect)).collect::<Vec<_>>(), [(32.0, 1.0), (64.0, 2.0)]);
        assert_eq!(points[0].interval, (1.0, 1.0));
        assert!(points[1].interval.0 < 1.5 && points[1].interval.1 > 2.5, "{points:?}");
        let other = SeedNumbers { seed: 2, points: vec![point(64.0, 1.0), point(16.0, 2.0)] };
        assert!(rule.effects_along_axis(&[seeds[0].clone(), other]).is_empty(), "seeds at other values");
        assert_eq!(rule.sides_label(&points), None, "one number");
        let beside = Rule { beside: Some("gate of frozen".to_owned()), ..rule.clone() };
        assert_eq!(beside.sides_label(&points).as_deref(), Some("above 0 at 32; across 0 at 64"));
        assert_eq!(beside.sides_label(&[points[0], points[0]]).as_deref(), Some("above 0 at 32, 32"));
        assert_eq!(beside.sides_label(&[]), None);
        assert!(Rule { statistic: Statistic::Mean, ..rule }.effects_along_axis(&seeds).is_empty());
    }

    /// Coupling leads at 64 and 128 channels and is behind at 256: the largest size decides, and each is shown.
    #[test]
    fn a_claim_is_judged_at_the_largest_size() {
        let rule = rule(
            "statistic = \"paired_difference\"\nbeside = \"gate of frozen\"\n\
             sizes = { key = \"model.d_model\", values = [128, 256, 64] }",
        );
        let rule = Rule { stands: Region { above: Some(0.0), below: None }, ..rule };
        let point =
            |(at, difference): (f64, f64)| PointNumbers { at: Some(at), number: 1.0 + difference, beside: Some(1.0) };
        let seed = |seed: u64| {
            let noise = 0.01 * seed as f64;
            let points = [(128.0, -0.2 + noise), (256.0, 0.3 + noise), (64.0, -0.5 + noise)].map(point).to_vec();
            SeedNumbers { seed, points }
        };
        let seeds: Vec<SeedNumbers> = (0..3).map(seed).collect();
        let outcome = statistics::outcome(&rule, &seeds).unwrap();
        assert!((outcome.effect - 0.31).abs() < 1e-12, "{outcome:?}");
        assert_eq!(outcome.verdict(outcome.p(), 0.95), Verdict::Stands);
        let points = rule.effects_along_axis(&seeds);
        assert_eq!(rule.axis(), Some("model.d_model"));
        assert_eq!(points.iter().map(|point| point.at).collect::<Vec<_>>(), [64.0, 128.0, 256.0]);
        let effects: Vec<f64> = points.iter().map(|point| (100.0 * point.effect).round()).collect();
        assert_eq!(effects, [-49.0, -19.0, 31.0]);
        assert_eq!(rule.sides_label(&points).as_deref(), Some("beyond the bound at 64, 128; within the bound at 256"));
        let lacking = SeedNumbers { points: seeds[0].points[..2].to_vec(), ..seeds[0].clone() };
        assert!(rule.effects_along_axis(&[lacking, seeds[1].clone()]).is_empty(), "a size is missing");
        // the values of a curve over steps are those of the largest size too
        let run = |(at, number): (f64, f64)| {
            let numbers = [0u64, 4]
                .map(|step| (step, PointNumbers { at: None, number: number + step as f64, beside: Some(0.0) }));
            RunSteps { at: Some(at), numbers: numbers.into() }
        };
        let series = SeedSteps { seed: 0, runs: vec![run((64.0, 1.0)), run((256.0, 2.0)), run((128.0, 3.0))] };
        assert_eq!(rule.values_at(&[series], 4).unwrap().values, [6.0]);
    }

    /// Effects at sizes are drawn with the region in which the claim stands.
    #[test]
    fn sizes_are_drawn_with_their_region() {
        let ledger = ledger_with(&small_result(&[0.001, 0.002, 0.003]));
        let row = ledger.rows().remove(0);
        let point = |at: f64, effect: f64| EffectPoint { at, effect, interval: (effect - 0.001, effect + 0.001) };
        let along_axis = vec![point(32.0, 0.005), point(64.0, 0.02)];
        let judged = Judgement { along_axis, curve: vec![], ..row.standing.judgement().unwrap().clone() };
        let mut rule = row.claim.rule.clone().unwrap();
        assert!(judged.curves(&rule).is_empty(), "a mean over seeds runs along nothing");
        rule.sizes = Some(varied("model.d_model", &[32, 64]));
        let curves = judged.curves(&rule);
        assert_eq!((curves.len(), curves[0].setting, curves[0].region), (1, Some("model.d_model"), Some(&rule.stands)));
        let words = "the largest is judged: within the bound at 32; beyond the bound at 64.";
        assert!(curves[0].caption.ends_with(words), "{}", curves[0].caption);
    }

    #[test]
    fn an_edited_curve_is_found() {
        let (rule, series) = (rule("statistic = \"mean\""), series(5));
        let seeds = judged(&series, 20);
        let curve = rule.curve(&series, &seeds);
        assert_eq!(rule.curve_problem(&curve, &seeds), None);
        let mut edited = curve.clone();
        edited[5].values[0] += 0.1;
        assert!(rule.curve_problem(&edited, &seeds).unwrap().contains("does not lead"));
        let mut shuffled = curve.clone();
        shuffled.swap(0, 1);
        assert!(rule.curve_problem(&shuffled, &seeds).unwrap().contains("is not that of"));
        let mut short = curve;
        short[0].values.pop();
        assert!(rule.curve_problem(&short, &seeds).is_some());
    }
}
