//! The staircase of mechanisms: what each variant reaches, as a tread above or below the one before, with the spread of
//! its seeds, its size and its work, and what predictors without a memory reach.

mod drawing;
mod steps;

use crate::{
    telemetry::measurements::TokenBaselines,
    ui::{plot::drawing as svg_drawing, views::prelude::*},
};
use drawing::{Level, Panel};
use steps::{Score, Step, steps};

/// The run, the step shown, and how much was measured until then.
type Key = (RunNumber, u64, u64);

/// View `mechanisms`.
#[derive(Default)]
pub struct Mechanisms {
    steps: KeyedCache<Key, Arc<Vec<Step>>>,
    shows_baselines: bool,
}

/// Size of its SVG, points.
const PICTURE: [f32; 2] = [720.0, 420.0];

impl Mechanisms {
    fn key(cx: &ViewCx<'_>) -> Key {
        let scores = [Score::Loss, Score::Recall];
        let of = |v: usize| scores.into_iter().filter_map(move |score| cx.mirror.curve(v, score.channel()));
        let newest = |v: usize| of(v).filter_map(|curve| curve.point_at(cx.step)).map(|(at, _)| at + 1).sum::<u64>();
        let sum = (0..cx.mirror.variants().len()).map(newest).sum();
        (cx.mirror.run, cx.step, sum)
    }

    fn follow(&mut self, cx: &ViewCx<'_>) {
        let key = Self::key(cx);
        if self.steps.get(&key).is_none_or(|steps| steps.is_empty()) {
            *self.steps.at(key) = Arc::new(steps(cx.mirror, cx.step));
        }
    }

    fn steps(&self, cx: &ViewCx<'_>) -> Arc<Vec<Step>> {
        let kept = self.steps.get(&Self::key(cx)).cloned();
        kept.unwrap_or_else(|| Arc::new(steps(cx.mirror, cx.step)))
    }

    /// One panel a score that was measured.
    fn panels(&self, cx: &ViewCx<'_>, steps: &[Step]) -> Vec<Panel> {
        let panel = |score: Score| {
            steps.iter().any(|step| step.reached(score).is_some()).then(|| Panel {
                score,
                levels: levels(cx, score),
                shows_levels: self.shows_baselines,
            })
        };
        [Score::Loss, Score::Recall].into_iter().filter_map(panel).collect()
    }
}

/// The scores of predictors without a memory, or of guessing.
fn levels(cx: &ViewCx<'_>, score: Score) -> Vec<Level> {
    match score {
        Score::Loss => {
            let Some(m) = cx.latest::<TokenBaselines>() else { return vec![] };
            let all = [("uniform", m.value.uniform), ("unigram", m.value.unigram), ("bigram", m.value.bigram)];
            all.into_iter().filter(|(_, at)| at.is_finite()).map(|(words, at)| Level { words, at }).collect()
        }
        Score::Recall => {
            let guess = |v: usize| cx.mirror.curve(v, crate::telemetry::channels::GUESS)?.last();
            let found = (0..cx.mirror.variants().len()).find_map(guess);
            found.map(|at| Level { words: "guessing", at }).into_iter().collect()
        }
    }
}

impl View for Mechanisms {
    fn ui(&mut self, ui: &mut Ui, cx: &mut ViewCx<'_>) {
        self.follow(cx);
        let steps = self.steps(cx);
        let panels = self.panels(cx, &steps);
        if panels.is_empty() {
            let words = cx.why_no_curve(
                "No steps yet. Press Space: all variants train on the same batches and are measured on the same text.",
                "This run has measured no held-out loss of its variants.",
            );
            return cx.nothing_ui(ui, &words);
        }
        cx.controls_ui(ui, |ui, _| {
            let words = "Draws the axis as far as what is reached without a memory. Otherwise those levels are named at the \
                         edge.";
            ui.toggle_value(&mut self.shows_baselines, "whole axis").on_hover_text(words);
        });
        drawing::staircase_ui(ui, ui.available_size(), cx.theme, cx.mirror, &steps, &panels);
    }

    fn subtitle(&self, cx: &ViewCx<'_>) -> String {
        let seeds = self.steps(cx).iter().filter_map(|s| Some(s.loss.as_ref()?.seeds.len())).max().unwrap_or(1);
        let words = if seeds > 1 { format!("mean \u{b1} sd over {seeds} seeds") } else { "one seed".to_owned() };
        cx.subtitle(&words)
    }

    fn csv(&self, cx: &ViewCx<'_>) -> Option<String> {
        let steps = self.steps(cx);
        let columns = "variant,parameters,flop_per_token,loss,loss_sd,recall,recall_sd,loss_change,low,high";
        let mut table = Table::new(columns.split(','));
        for s in steps.iter() {
            let scores = [&s.loss, &s.recall].map(Option::as_ref).map(|r| [r.map(|r| r.mean), r.map(|r| r.sd)]);
            let interval = s.change.and_then(|c| c.interval);
            let change = [s.change.map(|c| c.mean), interval.map(|i| i.0), interval.map(|i| i.1)];
            let numbers = std::iter::once(s.flops).chain(scores.into_iter().flatten()).chain(change);
            let words = [s.label.clone(), s.params.to_string()];
            table.row(words.into_iter().chain(numbers.map(optional_field)));
        }
        steps.iter().any(|s| s.loss.is_some()).then(|| table.finish())
    }

    fn svg(&self, cx: &ViewCx<'_>) -> Option<String> {
        let steps = self.steps(cx);
        let panels = self.panels(cx, &steps);
        (!panels.is_empty()).then(|| {
            svg_drawing("mechanisms", PICTURE.into(), cx.theme, |ui| {
                drawing::staircase_ui(ui, vec2(PICTURE[0], PICTURE[1]), cx.theme, cx.mirror, &steps, &panels);
            })
        })
    }
}
