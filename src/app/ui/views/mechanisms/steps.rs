//! The steps of the staircase: loss and recall with their spread, size, work, and the difference from the step before.

use crate::{
    experiments::seeds::SeedSummary,
    ui::views::{
        prelude::*,
        race::results::{LossDifference, Racer, results},
    },
};

/// The score that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Score {
    /// Held-out loss; less is better.
    Loss,
    /// Share of the asked positions that are right; more is better.
    Recall,
}

impl Score {
    pub fn channel(self) -> &'static str {
        match self {
            Score::Loss => channels::LOSS_HELD_OUT,
            Score::Recall => channels::ACCURACY,
        }
    }

    pub fn axis(self) -> &'static str {
        match self {
            Score::Loss => "held-out loss (nats), better is higher up",
            Score::Recall => "recall (share right)",
        }
    }
}

/// The scores of a variant's seeds at the newest step that all of them have.
#[derive(Debug, Clone, PartialEq)]
pub struct Reached {
    pub seeds: Vec<f64>,
    pub mean: f64,
    pub sd: f64,
}

/// A variant of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub label: String,
    /// Place of its group in the run, for its colour.
    pub place: usize,
    pub params: usize,
    /// Floating-point operations of a training step for each token.
    pub flops: Option<f64>,
    pub loss: Option<Reached>,
    pub recall: Option<Reached>,
    /// The change of the loss from the step before; for the control, from the first step.
    pub change: Option<LossDifference>,
    /// True for the control: the first variant, made as large as the largest.
    pub is_control: bool,
}

impl Step {
    pub fn reached(&self, score: Score) -> Option<&Reached> {
        match score {
            Score::Loss => self.loss.as_ref(),
            Score::Recall => self.recall.as_ref(),
        }
    }
}

/// Every group of seeds, as of `step`.
pub fn steps(mirror: &Mirror, step: u64) -> Vec<Step> {
    let all = groups(mirror);
    let mut steps: Vec<Step> = vec![];
    for Racer { label, place, params, flops, .. } in results(mirror, step) {
        let Some(group) = all.get(place) else { continue };
        let is_control = group.id == "as_large";
        let before = if is_control { all.first() } else { place.checked_sub(1).and_then(|before| all.get(before)) };
        let change = before.and_then(|before| LossDifference::new(mirror, before, group, step));
        steps.push(Step {
            label,
            place,
            params,
            flops,
            loss: reached(mirror, group, Score::Loss, step),
            recall: reached(mirror, group, Score::Recall, step),
            change: change.filter(|change| change.mean.is_finite()),
            is_control,
        });
    }
    steps
}

/// The score at the newest step up to `step` of the first seed; `None` where another seed has not come as far.
fn reached(mirror: &Mirror, group: &SeedGroup, score: Score, step: u64) -> Option<Reached> {
    let (at, _) = mirror.curve(*group.members.first()?, score.channel())?.point_at(step)?;
    let of = |v: &usize| mirror.curve(*v, score.channel())?.point_at(at).filter(|p| p.0 == at).map(|p| p.1);
    let seeds: Vec<f64> = group.members.iter().map(of).collect::<Option<_>>()?;
    let SeedSummary { mean, sd, .. } = SeedSummary::new(&seeds)?;
    Some(Reached { seeds, mean, sd })
}
