//! The staircase of mechanisms: the score that each variant reaches, as a tread above or below the one before, with the
//! spread of its seeds, its size and its cost, and the scores of predictors without a memory.

mod drawing;

use crate::{
    experiments::seeds::SeedSummary,
    ui::views::{
        accuracy::chance,
        prelude::*,
        race::results::{Racer, loss_difference, results},
    },
};
use drawing::{ScorePanel, staircase_ui};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Score {
    /// Held-out loss; less is better.
    Loss,
    /// Share of the asked positions that are right; more is better.
    Recall,
}

impl Score {
    const ALL: [Self; 2] = [Self::Loss, Self::Recall];

    fn channel(self) -> &'static str {
        match self {
            Score::Loss => channels::LOSS_HELD_OUT,
            Score::Recall => channels::ACCURACY,
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Score::Loss => "held-out loss (nats), better is higher up",
            Score::Recall => "recall (share right)",
        }
    }
}

/// The scores of a variant's seeds at the step that is compared.
#[derive(Debug, Clone, PartialEq)]
struct StepScores {
    seeds: Vec<f64>,
    mean: f64,
    /// Standard deviation over seeds; `None` for one seed.
    sd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
struct MechanismStep {
    racer: Racer,
    /// By the order of [`Score::ALL`].
    scores: [Option<StepScores>; 2],
    /// The change of the loss from the step before; for the control, from the first step.
    change: Option<SeedSummary>,
    /// True for the control: the first variant, made as large as the largest.
    is_control: bool,
}

impl MechanismStep {
    fn scores(&self, score: Score) -> Option<&StepScores> {
        self.scores[score as usize].as_ref()
    }
}

/// The newest step up to `step` at which every variant that has a held-out loss by then was measured; `None` without one.
fn compared_step(mirror: &Mirror, step: u64) -> Option<u64> {
    let curves = (0..mirror.variants().len()).filter_map(|v| mirror.curve(v, Score::Loss.channel()));
    let measured: Vec<&Curve> = curves.filter(|curve| curve.point_at(step).is_some()).collect();
    let mut at = step;
    // each turn goes back to the newest measurement of the variant that is furthest behind
    loop {
        let before = measured.iter().map(|curve| curve.point_at(at).map(|point| point.0)).min()??;
        if before == at {
            return Some(at);
        }
        at = before;
    }
}

/// Every group of seeds at the last step, up to `step`, at which all groups were measured.
fn steps(mirror: &Mirror, step: u64) -> Vec<MechanismStep> {
    let step = compared_step(mirror, step).unwrap_or(step);
    let all = groups(mirror);
    let of = |racer: Racer| {
        let is_control = racer.group.id == "as_large";
        let before = if is_control { Some(0) } else { racer.group_index.checked_sub(1) };
        let change = before.and_then(|before| loss_difference(mirror, all.get(before)?, &racer.group, step));
        MechanismStep {
            scores: Score::ALL.map(|score| score_at(mirror, &racer.group, score, step)),
            racer,
            change: change.filter(|change| change.mean.is_finite()),
            is_control,
        }
    };
    results(mirror, step).into_iter().map(of).collect()
}

/// The score of a group at this step; `None` if one of its seeds was not measured there.
fn score_at(mirror: &Mirror, group: &SeedGroup, score: Score, step: u64) -> Option<StepScores> {
    let of = |v: &usize| mirror.curve(*v, score.channel())?.point_at(step).filter(|p| p.0 == step).map(|p| p.1);
    let seeds: Vec<f64> = group.members.iter().map(of).collect::<Option<_>>()?;
    let SeedSummary { mean, sd, .. } = SeedSummary::new(&seeds)?;
    Some(StepScores { seeds, mean, sd })
}

/// The run, the step shown, and the number of measurements up to it.
type Key = (RunNumber, u64, u64);

#[derive(Default)]
pub struct Mechanisms {
    steps: KeyedCache<Key, Arc<Vec<MechanismStep>>>,
    shows_baselines: bool,
}

impl Mechanisms {
    fn cache_key(cx: &ViewCx<'_>) -> Key {
        let of = |v: usize| Score::ALL.into_iter().filter_map(move |score| cx.mirror.curve(v, score.channel()));
        let newest = |v: usize| of(v).filter_map(|curve| curve.point_at(cx.step)).map(|(at, _)| at + 1).sum::<u64>();
        (cx.mirror.run, cx.step, (0..cx.mirror.variants().len()).map(newest).sum())
    }

    fn steps(&self, cx: &ViewCx<'_>) -> Arc<Vec<MechanismStep>> {
        let kept = self.steps.get(&Self::cache_key(cx)).cloned();
        kept.unwrap_or_else(|| Arc::new(steps(cx.mirror, cx.step)))
    }

    /// One panel a score that was measured.
    fn score_panels(&self, cx: &ViewCx<'_>, steps: &[MechanismStep]) -> Vec<ScorePanel> {
        let is_measured = |score: &Score| steps.iter().any(|step| step.scores(*score).is_some());
        let panel = |score| ScorePanel { score, levels: levels(cx, score), shows_levels: self.shows_baselines };
        Score::ALL.into_iter().filter(is_measured).map(panel).collect()
    }
}

/// The scores of predictors without a memory, or of guessing.
fn levels(cx: &ViewCx<'_>, score: Score) -> Vec<(&'static str, f64)> {
    match score {
        Score::Loss => {
            let Some(m) = cx.latest::<TokenBaselines>() else { return vec![] };
            let all = [("uniform", m.value.uniform), ("unigram", m.value.unigram), ("bigram", m.value.bigram)];
            all.into_iter().filter(|(_, at)| at.is_finite()).collect()
        }
        Score::Recall => chance(cx).map(|at| ("guessing", at)).into_iter().collect(),
    }
}

impl PanelView for Mechanisms {
    fn needs(&mut self, cx: &mut ViewCx<'_>) {
        let key = Self::cache_key(cx);
        if self.steps.get(&key).is_none_or(|steps| steps.is_empty()) {
            *self.steps.at(key) = Arc::new(steps(cx.mirror, cx.step));
        }
    }

    fn panels<'a>(&'a self, cx: &ViewCx<'a>) -> Vec<Panel<'a>> {
        let (steps, theme, mirror) = (self.steps(cx), cx.theme, cx.mirror);
        let scores = self.score_panels(cx, &steps);
        if scores.is_empty() {
            return vec![];
        }
        let paint = move |ui: &mut Ui, size: Vec2| staircase_ui(ui, size, theme, mirror, &steps, &scores);
        vec![Panel::canvas("mechanisms", paint)]
    }

    fn empty_reason(&self, cx: &ViewCx<'_>) -> String {
        cx.no_curve_reason(
            "No steps yet. Press Space: all variants train on the same batches and are measured on the same text.",
            "This run has measured no held-out loss of its variants.",
        )
    }

    fn controls_ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        if self.score_panels(cx, &self.steps(cx)).is_empty() {
            return;
        }
        let words =
            "Draws the axis as far as what is reached without a memory. Otherwise those levels are named at the edge.";
        ui.toggle_value(&mut self.shows_baselines, "whole axis").on_hover_text(words);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let seeds = self.steps(cx).iter().filter_map(|s| Some(s.scores(Score::Loss)?.seeds.len())).max().unwrap_or(1);
        let words = if seeds > 1 { format!("mean \u{b1} sd over {seeds} seeds") } else { "one seed".to_owned() };
        cx.subtitle_at(compared_step(cx.mirror, cx.step).unwrap_or(cx.step), &words)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let steps = self.steps(cx);
        let columns = "variant,parameters,flop_per_token,loss,loss_sd,recall,recall_sd,loss_change,low,high";
        let mut table = Table::new(columns.split(','));
        for s in steps.iter() {
            let scores = Score::ALL.map(|score| s.scores(score)).map(|r| [r.map(|r| r.mean), r.and_then(|r| r.sd)]);
            let interval = s.change.as_ref().and_then(|c| c.interval);
            let change = [s.change.as_ref().map(|c| c.mean), interval.map(|i| i.0), interval.map(|i| i.1)];
            let numbers = std::iter::once(s.racer.flops).chain(scores.into_iter().flatten()).chain(change);
            let words = [s.racer.group.label.clone(), s.racer.params.to_string()];
            table.row(words.into_iter().chain(numbers.map(optional_field)));
        }
        steps.iter().any(|s| s.scores(Score::Loss).is_some()).then_some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::{Event, StepStats, VariantInfo};

    #[test]
    fn all_variants_are_compared_at_one_step() {
        let variant = |id: &str| VariantInfo { id: id.into(), label: id.into(), group: id.into(), seed: 1, params: 1 };
        let variants = ["a", "b", "c"].map(variant).to_vec();
        let mut mirror = Mirror::default();
        mirror.apply(Event::Started(Arc::new(RunInfo { variants, ..RunInfo::default() })));
        let mut measure = |variant: usize, step: u64, loss: f64| {
            let scalars = vec![(channels::LOSS_HELD_OUT.into(), loss)];
            mirror.apply(Event::Step(StepStats { step, variant, scalars, wall_secs: 0.0 }));
        };
        for (variant, step, loss) in [(0, 0, 3.0), (1, 0, 3.5), (0, 25, 2.0), (1, 25, 2.5), (0, 50, 1.0)] {
            measure(variant, step, loss);
        }
        let means =
            |step| steps(&mirror, step).iter().map(|s| s.scores(Score::Loss).map(|r| r.mean)).collect::<Vec<_>>();
        assert_eq!(compared_step(&mirror, 61), Some(25), "the second was not measured at step 50");
        assert_eq!(means(61), [Some(2.0), Some(2.5), None]);
        assert_eq!(compared_step(&mirror, 24), Some(0));
        assert_eq!(means(24), [Some(3.0), Some(3.5), None]);
        assert_eq!(compared_step(&Mirror::default(), 61), None);
    }
}
