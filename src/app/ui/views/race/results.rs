//! The results of a race: held-out loss by cost, the cost of reaching a loss, and whether seeds tell variants apart.

use crate::{experiments::seeds::SeedSummary, labs, ui::views::prelude::*};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RaceAxis {
    #[default]
    Tokens,
    Seconds,
    Operations,
}

impl RaceAxis {
    /// Every axis with its label.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Tokens, "tokens"), (Self::Seconds, "seconds"), (Self::Operations, "operations")];

    pub fn axis(self) -> Axis {
        match self {
            RaceAxis::Tokens => Axis::new("tokens read").integer_ticks(),
            RaceAxis::Seconds => Axis::new("seconds of its own steps"),
            RaceAxis::Operations => Axis::new("floating-point operations (GFLOP)"),
        }
    }
}

/// One held-out measurement of a variant, over all its seeds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Mark {
    pub step: u64,
    pub tokens: f64,
    /// The training time up to this step, as the mean over seeds.
    pub seconds: f64,
    /// Billions of floating-point operations so far; NaN if they are not counted.
    pub gflop: f64,
    /// The mean loss over seeds, nats per token.
    pub loss: f64,
    pub sd: f64,
}

impl Mark {
    pub fn position(&self, over: RaceAxis) -> f64 {
        match over {
            RaceAxis::Tokens => self.tokens,
            RaceAxis::Seconds => self.seconds,
            RaceAxis::Operations => self.gflop,
        }
    }
}

/// The difference of a variant's held-out loss from another's over pairs of equal seeds, of the newest losses up to `step`
/// that both have; `None` while there is no pair.
pub fn loss_difference(mirror: &Mirror, from: &SeedGroup, of: &SeedGroup, step: u64) -> Option<SeedSummary> {
    let newest = |v: usize| mirror.curve(v, channels::LOSS_HELD_OUT)?.point_at(step);
    let pairs = from.pairs_by_seed(of, mirror).into_iter().filter_map(|(a, b)| newest(a).zip(newest(b)));
    let differences: Vec<f64> = pairs.filter(|(a, b)| a.0 == b.0).map(|(a, b)| b.1 - a.1).collect();
    SeedSummary::new(&differences)
}

/// What the seeds say about two variants whose losses differ by this.
pub fn verdict(difference: &SeedSummary) -> &'static str {
    match difference.interval {
        None => "one seed",
        Some((_, high)) if high < 0.0 => "better",
        Some((low, _)) if low > 0.0 => "worse",
        Some(_) => "cannot be told apart",
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Racer {
    pub group: SeedGroup,
    pub group_index: usize,
    pub params: usize,
    /// Floating-point operations of a training step for each token.
    pub flops: Option<f64>,
    pub marks: Vec<Mark>,
    /// The difference from the first variant; `None` for the first itself, and while no seed has run for both.
    pub difference: Option<SeedSummary>,
}

impl Racer {
    pub fn colour(&self, theme: &Theme) -> Color32 {
        self.group.colour(self.group_index, theme)
    }

    /// The position at which the mean loss first reaches `loss`, interpolated linearly between two measurements.
    pub fn first_reaching(&self, loss: f64, over: RaceAxis) -> Option<f64> {
        let reached = self.marks.iter().position(|mark| mark.loss <= loss)?;
        let (before, mark) = (self.marks[..reached].last(), self.marks[reached]);
        let Some(before) = before else { return Some(mark.position(over)) };
        let share = (before.loss - loss) / (before.loss - mark.loss);
        Some(before.position(over) + share * (mark.position(over) - before.position(over)))
    }
}

/// Every group of seeds, up to `step`.
pub fn results(mirror: &Mirror, step: u64) -> Vec<Racer> {
    let Some(info) = &mirror.info else { return vec![] };
    let plan = labs::find(&info.lab).and_then(|lab| (lab.plan)(&info.config).ok());
    // from the sizes of its model, where the plan of the run can still be made
    let operations = |id: &str| {
        let plan = plan.as_ref()?;
        let variant = plan.variants.iter().find(|variant| variant.id == id)?;
        variant.model.flops_per_token(info.vocab, plan.window)
    };
    let all = groups(mirror);
    let racers = all.iter().enumerate().map(|(group_index, group)| {
        let variant = group.members.first().and_then(|v| info.variants.get(*v));
        let flops = variant.and_then(|variant| operations(&variant.id));
        let first = all.first().filter(|_| group_index > 0);
        Racer {
            group: group.clone(),
            group_index,
            params: variant.map_or(0, |variant| variant.params),
            flops,
            marks: marks(mirror, group, step, info.tokens_per_step, flops),
            difference: first.and_then(|first| loss_difference(mirror, first, group, step)),
        }
    });
    racers.collect()
}

/// The steps up to `step` at which all seeds were measured.
fn marks(mirror: &Mirror, group: &SeedGroup, step: u64, tokens: usize, flops: Option<f64>) -> Vec<Mark> {
    let curves = group.members.iter().map(|v| mirror.curve(*v, channels::LOSS_HELD_OUT));
    let curves: Option<Vec<&Curve>> = curves.collect();
    let Some((curves, first)) = curves.and_then(|c| Some((c.clone(), *c.first()?))) else { return vec![] };
    // the time that the own steps of each seed took before step `next`
    let (mut seconds, mut next) = (vec![0.0; curves.len()], 0);
    let mut marks = vec![];
    for (at, _) in first.points(0, step) {
        let exact = |c: &&Curve| c.point_at(at).filter(|p| p.0 == at).map(|p| p.1);
        let losses: Option<Vec<f64>> = curves.iter().map(exact).collect();
        let Some((loss, sd)) = losses.map(|losses| mean_sd(&losses)) else { continue };
        for (seconds, variant) in seconds.iter_mut().zip(&group.members) {
            let steps = mirror.curve(*variant, channels::STEP_MS).into_iter().flat_map(|c| c.points(next, at));
            steps.for_each(|(_, ms)| *seconds += 1e-3 * ms);
        }
        next = at + 1;
        let seconds = seconds.iter().sum::<f64>() / seconds.len().max(1) as f64;
        let tokens = at as f64 * tokens as f64;
        marks.push(Mark { step: at, tokens, seconds, gflop: 1e-9 * tokens * flops.unwrap_or(f64::NAN), loss, sd });
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_are_whole() {
        assert_eq!(RaceAxis::ALL.map(|(over, _)| over.axis().integer_ticks), [true, false, false]);
    }

    #[test]
    fn a_loss_is_reached_between_two_measurements() {
        let mark = |seconds: f64, loss| Mark { tokens: 100.0 * seconds, seconds, loss, ..Mark::default() };
        let racer = Racer { marks: vec![mark(0.0, 3.0), mark(10.0, 2.0), mark(20.0, 1.5)], ..Racer::default() };
        assert_eq!(racer.first_reaching(2.5, RaceAxis::Seconds), Some(5.0));
        assert_eq!(racer.first_reaching(1.75, RaceAxis::Tokens), Some(1500.0));
        assert_eq!(racer.first_reaching(3.5, RaceAxis::Tokens), Some(0.0));
        assert_eq!(racer.first_reaching(1.0, RaceAxis::Tokens), None);
    }
}
