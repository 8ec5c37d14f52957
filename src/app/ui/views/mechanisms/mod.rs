//! The staircase of mechanisms: the score that each variant reaches, as a tread above or below the one before, with the
//! spread of its seeds, its size and its cost, and the scores of predictors without a memory.

mod drawing;
mod steps;

use crate::ui::views::{accuracy::chance, prelude::*};
use drawing::{ScorePanel, staircase_ui};
use steps::{MechanismStep, Score, compared_step, steps};

/// The run, the step shown, and the number of measurements up to it.
type Key = (RunNumber, u64, u64);

#[derive(Default)]
pub struct Mechanisms {
    steps: KeyedCache<Key, Arc<Vec<MechanismStep>>>,
    shows_baselines: bool,
}

impl Mechanisms {
    fn key(cx: &ViewCx<'_>) -> Key {
        let scores = [Score::Loss, Score::Recall];
        let of = |v: usize| scores.into_iter().filter_map(move |score| cx.mirror.curve(v, score.channel()));
        let newest = |v: usize| of(v).filter_map(|curve| curve.point_at(cx.step)).map(|(at, _)| at + 1).sum::<u64>();
        let sum = (0..cx.mirror.variants().len()).map(newest).sum();
        (cx.mirror.run, cx.step, sum)
    }

    fn steps(&self, cx: &ViewCx<'_>) -> Arc<Vec<MechanismStep>> {
        let kept = self.steps.get(&Self::key(cx)).cloned();
        kept.unwrap_or_else(|| Arc::new(steps(cx.mirror, cx.step)))
    }

    /// One panel a score that was measured.
    fn score_panels(&self, cx: &ViewCx<'_>, steps: &[MechanismStep]) -> Vec<ScorePanel> {
        let is_measured = |score: &Score| steps.iter().any(|step| step.scores(*score).is_some());
        let panel = |score| ScorePanel { score, levels: levels(cx, score), shows_levels: self.shows_baselines };
        [Score::Loss, Score::Recall].into_iter().filter(is_measured).map(panel).collect()
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
        let key = Self::key(cx);
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

    fn why_nothing(&self, cx: &ViewCx<'_>) -> String {
        cx.why_no_curve(
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
        let seeds = self.steps(cx).iter().filter_map(|s| Some(s.loss.as_ref()?.seeds.len())).max().unwrap_or(1);
        let words = if seeds > 1 { format!("mean \u{b1} sd over {seeds} seeds") } else { "one seed".to_owned() };
        cx.subtitle_at(compared_step(cx.mirror, cx.step).unwrap_or(cx.step), &words)
    }

    fn table(&self, cx: &ViewCx<'_>) -> Option<Table> {
        let steps = self.steps(cx);
        let columns = "variant,parameters,flop_per_token,loss,loss_sd,recall,recall_sd,loss_change,low,high";
        let mut table = Table::new(columns.split(','));
        for s in steps.iter() {
            let scores = [&s.loss, &s.recall].map(Option::as_ref).map(|r| [r.map(|r| r.mean), r.and_then(|r| r.sd)]);
            let interval = s.change.as_ref().and_then(|c| c.interval);
            let change = [s.change.as_ref().map(|c| c.mean), interval.map(|i| i.0), interval.map(|i| i.1)];
            let numbers = std::iter::once(s.racer.flops).chain(scores.into_iter().flatten()).chain(change);
            let words = [s.racer.label.clone(), s.racer.params.to_string()];
            table.row(words.into_iter().chain(numbers.map(optional_field)));
        }
        steps.iter().any(|s| s.loss.is_some()).then_some(table)
    }
}
