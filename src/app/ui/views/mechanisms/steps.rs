//! The steps of the staircase: loss and recall with their spread, size, work, and the difference from the step before.

use crate::{
    experiments::seeds::SeedSummary,
    ui::views::{
        prelude::*,
        race::results::{Racer, loss_difference, results},
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

/// The scores of a variant's seeds at the step that is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct StepScores {
    pub seeds: Vec<f64>,
    pub mean: f64,
    /// `None` of one seed.
    pub sd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MechanismStep {
    pub racer: Racer,
    pub loss: Option<StepScores>,
    pub recall: Option<StepScores>,
    /// The change of the loss from the step before; for the control, from the first step.
    pub change: Option<SeedSummary>,
    /// True for the control: the first variant, made as large as the largest.
    pub is_control: bool,
}

impl MechanismStep {
    pub fn scores(&self, score: Score) -> Option<&StepScores> {
        match score {
            Score::Loss => self.loss.as_ref(),
            Score::Recall => self.recall.as_ref(),
        }
    }
}

/// The newest step up to `step` at which every variant that has a held-out loss by then was measured; `None` without one.
pub fn compared_step(mirror: &Mirror, step: u64) -> Option<u64> {
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
pub fn steps(mirror: &Mirror, step: u64) -> Vec<MechanismStep> {
    let step = compared_step(mirror, step).unwrap_or(step);
    let all = groups(mirror);
    let of = |racer: Racer| {
        let group = all.get(racer.group_index)?;
        let is_control = group.id == "as_large";
        let before = if is_control { Some(0) } else { racer.group_index.checked_sub(1) };
        let change = before.and_then(|before| loss_difference(mirror, all.get(before)?, group, step));
        Some(MechanismStep {
            racer,
            loss: score_at(mirror, group, Score::Loss, step),
            recall: score_at(mirror, group, Score::Recall, step),
            change: change.filter(|change| change.mean.is_finite()),
            is_control,
        })
    };
    results(mirror, step).into_iter().filter_map(of).collect()
}

/// The score of a group at this step; `None` if one of its seeds was not measured there.
fn score_at(mirror: &Mirror, group: &SeedGroup, score: Score, step: u64) -> Option<StepScores> {
    let of = |v: &usize| mirror.curve(*v, score.channel())?.point_at(step).filter(|p| p.0 == step).map(|p| p.1);
    let seeds: Vec<f64> = group.members.iter().map(of).collect::<Option<_>>()?;
    let SeedSummary { mean, sd, .. } = SeedSummary::new(&seeds)?;
    Some(StepScores { seeds, mean, sd })
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
        let means = |step| steps(&mirror, step).iter().map(|s| s.loss.as_ref().map(|r| r.mean)).collect::<Vec<_>>();
        assert_eq!(compared_step(&mirror, 61), Some(25), "the second was not measured at step 50");
        assert_eq!(means(61), [Some(2.0), Some(2.5), None]);
        assert_eq!(compared_step(&mirror, 24), Some(0));
        assert_eq!(means(24), [Some(3.0), Some(3.5), None]);
        assert_eq!(compared_step(&Mirror::default(), 61), None);
    }
}
