//! The numbers that are large above the tiles: the lab's headline numbers as they were known at the shown step, read
//! from the mirror once for each of its revisions and each step.

use std::collections::BTreeSet;

use super::{
    identity::{KeyedCache, RunNumber},
    mirror::Mirror,
    seed_series::{SeedGroup, groups},
    widgets::number::grouped,
};
use crate::{
    experiments::{
        headline_values::{HeadlineReader, HeadlineValues},
        run_terms::RunTerms,
        seeds::SeedSummary,
    },
    labs::{
        Lab,
        headline::{
            Headline,
            large::{LargeNumber, Reference, ValueInContext},
        },
    },
    telemetry::{RunInfo, Sample},
};

/// The maximum number of points in a trend.
const MAX_TREND_POINTS: usize = 16;

#[derive(Debug)]
pub struct ReadNumber {
    pub number: &'static LargeNumber,
    pub headline: &'static Headline,
    /// Its name, which has that of the first variant where the number is a difference from it.
    pub label: String,
    pub unit: &'static str,
    /// Its definition in one sentence.
    pub about: String,
    /// One for each group of variants that has a value; there is at least one.
    pub groups: Vec<GroupNumber>,
}

/// The value of a group: variants that differ only by seed.
#[derive(Debug)]
pub struct GroupNumber {
    pub group: SeedGroup,
    pub summary: SeedSummary,
    /// The first and the last step at which its seeds were measured, which mostly are the same.
    pub measured: [u64; 2],
    /// The amount of data it is measured on, if that is known: "16 000 edges".
    pub measured_on: Option<String>,
    /// The number of answers that an accuracy is measured on, with its interval: "of 50 answers, 95%: 0.8654 to 0.9890".
    pub answers: Option<String>,
    /// The meaning of the value as a sentence; empty where it has none.
    pub meaning: String,
    /// Measured steps and values up to the shown step, oldest first; of a long history evenly spaced ones.
    pub trend: Vec<(u64, f64)>,
}

impl ReadNumber {
    /// The value of the variant's group; without one, of one that the lab is about, or of the first that has one.
    pub fn in_focus(&self, variant: usize) -> Option<&GroupNumber> {
        let own = self.groups.iter().find(|g| g.group.members.contains(&variant));
        let subject = || self.groups.iter().find(|g| self.number.is_about(&g.group.id));
        own.or_else(subject).or(self.groups.first())
    }
}

#[derive(Debug, Default)]
pub struct LargeNumbers {
    /// The key is the run, its revision and the step.
    read: KeyedCache<(RunNumber, u64, u64), Option<Vec<ReadNumber>>>,
}

impl LargeNumbers {
    /// The lab's large numbers as of the step; those that were not measured by then are left out.
    pub fn at(&mut self, lab: &Lab, mirror: &Mirror, step: u64) -> &[ReadNumber] {
        self.read.at((mirror.run, mirror.revision, step)).get_or_insert_with(|| read(lab, mirror, step))
    }
}

fn read(lab: &Lab, mirror: &Mirror, step: u64) -> Vec<ReadNumber> {
    let Some(info) = &mirror.info else { return vec![] };
    let mut steps: BTreeSet<u64> =
        lab.large_numbers().flat_map(|(_, headline)| trend_steps(mirror, headline, step)).collect();
    steps.insert(step);
    let history = values_at(lab, mirror, info, &steps);
    let groups = groups(mirror);
    let first_variant = groups.first().map_or(String::new(), |first| first.label.clone());
    let terms = RunTerms { first_variant, ..RunTerms::from(info.as_ref()) };
    let numbers = lab.large_numbers().map(|(number, headline)| {
        let value = |group: &SeedGroup| group_number(mirror, number, headline, group, &history, &terms);
        ReadNumber {
            number,
            headline,
            label: terms.with_first_variant(number.label),
            unit: terms.unit(headline),
            about: terms.about(headline),
            groups: groups.iter().filter_map(value).collect(),
        }
    });
    numbers.filter(|n| !n.groups.is_empty()).collect()
}

/// The headline numbers as they were known at each of these steps.
fn values_at(lab: &Lab, mirror: &Mirror, info: &RunInfo, steps: &BTreeSet<u64>) -> Vec<HeadlineValues> {
    let measured: BTreeSet<&str> = HeadlineReader::measurements(lab).into_iter().collect();
    let scalars: BTreeSet<&str> = lab.headlines.iter().flat_map(|h| h.source.scalars()).collect();
    let mut reader = HeadlineReader::new(lab, info);
    let mut taken = None;
    let mut history = vec![];
    for step in steps {
        let is_new = |of: u64| taken.is_none_or(|taken| of > taken) && of <= *step;
        for variant in 0..mirror.variants().len() {
            for channel in &scalars {
                if let Some((at, value)) = mirror.curve(variant, channel).and_then(|curve| curve.point_at(*step)) {
                    reader.scalar(variant, channel, at, value);
                }
            }
            for channel in &measured {
                let scheduled = mirror.samples(variant, channel);
                let first = scheduled.partition_point(|s| taken.is_some_and(|taken| s.step <= taken));
                let due = scheduled[first..].iter().take_while(|s| s.step <= *step);
                due.chain(mirror.answer(variant, channel).filter(|s| is_new(s.step))).for_each(|s| reader.sample(s));
            }
        }
        taken = Some(*step);
        history.push(reader.newest_values());
    }
    history
}

/// The steps at which a trend is sampled: those of the variant with the most of them.
fn trend_steps(mirror: &Mirror, headline: &Headline, step: u64) -> Vec<u64> {
    let channel = headline.source.channel();
    let steps_of = |variant: usize| -> Vec<u64> {
        if headline.source.is_measured() {
            let samples = mirror.samples(variant, channel);
            let count = samples.partition_point(|s| s.step <= step);
            return trend_indices(count).map(|i| samples[i].step).collect();
        }
        let Some(curve) = mirror.curve(variant, channel) else { return vec![] };
        trend_indices(curve.count_to(step)).filter_map(|i| curve.point(i)).map(|(step, _)| step).collect()
    };
    (0..mirror.variants().len()).map(steps_of).max_by_key(Vec::len).unwrap_or_default()
}

/// The indices of at most about [`MAX_TREND_POINTS`] of `count` points: all, every second, every fourth and so on, and
/// always the last. The chosen points stay when others are added, until there are twice as many.
fn trend_indices(count: usize) -> impl Iterator<Item = usize> {
    let stride = count.div_ceil(MAX_TREND_POINTS).next_power_of_two();
    let last = count.checked_sub(1).filter(|last| !last.is_multiple_of(stride));
    (0..count).step_by(stride).chain(last)
}

fn group_number(
    mirror: &Mirror,
    number: &LargeNumber,
    headline: &Headline,
    group: &SeedGroup,
    history: &[HeadlineValues],
    terms: &RunTerms,
) -> Option<GroupNumber> {
    let found = history.last()?;
    let summary = found.group(number.key, &group.id)?;
    let measured = measured_steps(found, number.key, &group.id)?;
    let (reference_name, reference) = reference(mirror, found, number, headline, group).unzip();
    let context = ValueInContext {
        value: summary.mean,
        interval: summary.interval,
        reference,
        reference_name: reference_name.unwrap_or_default(),
    };
    // seeds are measured one after another: a mean belongs to a step only once all of them have reached it
    let point = |values: &HeadlineValues| {
        let [first, last] = measured_steps(values, number.key, &group.id)?;
        (first == last).then_some((last, values.group(number.key, &group.id)?.mean))
    };
    let mut trend: Vec<(u64, f64)> = history.iter().filter_map(point).collect();
    trend.dedup_by_key(|(step, _)| *step);
    let meaning = terms.with_first_variant(&number.meaning(headline, context));
    let verdict =
        number.verdict.and_then(|verdict| verdict(&deciding_sample(mirror, headline, group, measured)?.payload));
    let parts = verdict.into_iter().map(str::to_owned).chain((!meaning.is_empty()).then_some(meaning));
    let meaning = parts.collect::<Vec<_>>().join("; ");
    let measured_on = number.measured_on.and_then(|(what, count)| {
        let sample = mirror.sample_at(*group.members.first()?, headline.source.channel(), measured[1])?;
        Some(format!("{} {what}", grouped(count(&sample.payload)? as u64)))
    });
    let answers = found.answer_count(number.key, &group.id).map(|count| count.label(headline.digits));
    Some(GroupNumber { group: group.clone(), summary, measured, measured_on, answers, meaning, trend })
}

/// The measurement that a value is read from; `None` of several seeds, which may not agree.
fn deciding_sample<'a>(
    mirror: &'a Mirror,
    headline: &Headline,
    group: &SeedGroup,
    [_, step]: [u64; 2],
) -> Option<&'a Sample> {
    let [variant] = group.members[..] else { return None };
    let channel = headline.source.channel();
    let scheduled = mirror.sample_at(variant, channel, step);
    scheduled.into_iter().chain(mirror.answer(variant, channel)).rfind(|sample| sample.step == step)
}

/// The first and the last step at which the seeds of a group were measured.
fn measured_steps(found: &HeadlineValues, key: &str, group: &str) -> Option<[u64; 2]> {
    let steps = || found.values.iter().filter(|v| v.key == key && v.group == group).map(|v| v.step);
    Some([steps().min()?, steps().max()?])
}

/// The number that a value is held against, the mean over the seeds of the group, with its name where it is one of several.
fn reference(
    mirror: &Mirror,
    found: &HeadlineValues,
    number: &LargeNumber,
    headline: &Headline,
    group: &SeedGroup,
) -> Option<(&'static str, f64)> {
    match number.reference()? {
        Reference::Headline(key) => found.group(key, &group.id).map(|summary| ("", summary.mean)),
        // that variant itself has nothing to be read by
        Reference::Variant { group: other, .. } if other == group.id => None,
        Reference::Variant { group: other, key } => found.group(key, other).map(|summary| ("", summary.mean)),
        Reference::Scalar(channel) => {
            let step = found.values.iter().map(|v| v.step).max().unwrap_or(0);
            let values = group.members.iter().filter_map(|v| mirror.curve(*v, channel)?.value_at(step));
            SeedSummary::new(&values.collect::<Vec<_>>()).map(|summary| ("", summary.mean))
        }
        Reference::Measured { channel, read } => {
            let [variant] = group.members[..] else { return None };
            let step = found.step(number.key, &group.id)?;
            let sample = |channel| mirror.sample_at(variant, channel, step);
            read(&sample(headline.source.channel())?.payload, sample(channel).map(|sample| &*sample.payload))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        labs::find,
        telemetry::{VariantInfo, channels},
    };

    fn variant(group: &str, seed: u64) -> VariantInfo {
        let id = format!("{group}-s{seed}");
        VariantInfo { label: format!("{group}, seed {seed}"), id, group: group.into(), seed, params: 1 }
    }

    fn mirror(variants: Vec<VariantInfo>) -> Mirror {
        Mirror::begun(RunInfo { lab: "fast_slow".into(), variants, ..RunInfo::default() })
    }

    #[test]
    fn seeds_are_one_value_with_an_interval_and_a_variant_without_one_shows_the_first_that_has() {
        let lab = find("fast_slow").unwrap();
        let mut run = mirror(vec![variant("dense", 1), variant("coupled", 1), variant("coupled", 2)]);
        run.report(1, 10, &[(channels::GATE, 0.1)]);
        run.report(2, 10, &[(channels::GATE, 0.3)]);
        let numbers = read(lab, &run, 10);
        let number = numbers[0].in_focus(0).unwrap();
        assert_eq!((number.group.label.as_str(), number.summary.seeds), ("coupled", 2));
        assert!((number.summary.mean - 0.2).abs() < 1e-12 && number.summary.interval.is_some());
        run.report(1, 20, &[(channels::GATE, 0.5)]);
        let numbers = read(lab, &run, 20);
        assert_eq!(numbers[0].groups[0].measured, [10, 20], "the second seed has not come yet");
        assert_eq!(numbers[0].groups[0].trend.len(), 1, "so that there is no mean of step 20");
    }

    #[test]
    fn a_number_that_the_focus_lacks_is_of_a_coupled_variant() {
        let lab = find("coupled_qk").unwrap();
        let mut run = mirror(["standard", "mlp", "euler"].map(|group| variant(group, 1)).to_vec());
        for (variant, loss) in [(0, 3.0), (1, 2.5), (2, 3.5)] {
            run.report(variant, 10, &[(channels::LOSS_HELD_OUT, loss)]);
        }
        let numbers = read(lab, &run, 10);
        let difference = |focus| numbers[0].in_focus(focus).unwrap().summary.mean;
        assert_eq!([difference(0), difference(1)], [0.5, -0.5], "an MLP on queries is a control");
        let meaning = &numbers[0].in_focus(1).unwrap().meaning;
        assert!(meaning.starts_with("below standard"), "{meaning}");
        assert_eq!(numbers[0].label, "loss minus that of standard, seed 1", "it names the first variant");
    }

    #[test]
    fn accuracy_says_how_many_answers_it_is_of() {
        let lab = find("fast_slow").unwrap();
        let mut run = mirror(vec![variant("coupled", 1), variant("frozen", 1), variant("frozen", 2)]);
        for v in 0..3 {
            run.report(v, 0, &[(channels::ANSWERS, 100.0)]);
            run.report(v, 25, &[(channels::ACCURACY, 0.5)]);
        }
        let numbers = read(lab, &run, 30);
        let answers = |group: usize| numbers[0].groups[group].answers.clone().unwrap();
        assert_eq!(answers(0), "of 100 answers, 95%: 0.4038 to 0.5962");
        assert_eq!(answers(1), "of 100 answers each");
        let mut uncounted = mirror(vec![variant("coupled", 1)]);
        uncounted.report(0, 25, &[(channels::ACCURACY, 0.75)]);
        assert_eq!(read(lab, &uncounted, 30)[0].groups[0].answers, None, "a run of an earlier version counted none");
    }

    #[test]
    fn a_loss_that_counts_answers_has_that_unit() {
        let lab = find("fast_slow").unwrap();
        let config = lab.config(Some("fast_slow_needed")).unwrap();
        let variants = vec![variant("coupled", 1)];
        let info = RunInfo { lab: lab.id.into(), config, variants, tokens_per_step: 64, ..RunInfo::default() };
        let mut run = Mirror::begun(info);
        run.report(0, 10, &[(channels::LOSS_HELD_OUT, 1.4)]);
        let numbers = read(lab, &run, 10);
        let loss = numbers.iter().find(|number| number.number.key == "held_out_loss").unwrap();
        assert!(loss.unit == "nats per answer" && loss.about.contains("nats per answer"), "{loss:?}");
    }

    #[test]
    fn a_trend_is_what_was_measured_up_to_the_shown_step() {
        let mut run = mirror(vec![variant("coupled", 1)]);
        for (step, gate) in [(10, -0.005), (50, 0.05), (100, -0.25)] {
            run.report(0, step, &[(channels::GATE, gate)]);
        }
        let trend = |shown| read(find("fast_slow").unwrap(), &run, shown)[0].groups[0].trend.clone();
        assert_eq!(trend(60), [(10, 0.005), (50, 0.05)]);
        assert_eq!(trend(100), [(10, 0.005), (50, 0.05), (100, 0.25)]);
    }

    #[test]
    fn a_trend_has_few_points_that_stay_as_it_grows() {
        let chosen = |count| trend_indices(count).collect::<Vec<_>>();
        assert!(chosen(0).is_empty());
        assert_eq!(chosen(3), [0, 1, 2]);
        for count in [1, 16, 17, 33, 1000, 123_456] {
            let few = chosen(count);
            assert!(few.len() <= MAX_TREND_POINTS + 1 && few.last() == Some(&(count - 1)), "{count}: {few:?}");
        }
        let (before, after) = (chosen(1001), chosen(1003));
        assert_eq!(before[..before.len() - 1], after[..before.len() - 1]);
    }
}
