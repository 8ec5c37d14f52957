//! The headline numbers of a run, read from its events, live or recorded.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::seeds::SeedSummary;
use crate::{
    analysis::{distinct::distinct, statistics::wilson},
    labs::{
        Lab,
        headline::{Digits, Headline, MeasuredNumber, Source},
    },
    telemetry::{Event, RunInfo, Sample, StepStats, VariantInfo, number},
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeadlineValue {
    /// The headline's id, with its place if there are several: `accuracy@16`.
    pub key: String,
    pub variant: String,
    /// Variants that differ only by seed share a group.
    pub group: String,
    /// Updates of the model that it was measured of.
    pub step: u64,
    #[serde(with = "number::Float")]
    pub value: f64,
    /// The number of answers behind a share of correct ones; `None` for other numbers, and where it was not
    /// recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<u64>,
}

/// The number of answers behind a share of correct ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerCount {
    pub answers: u64,
    /// The share's 95% interval by Wilson, which takes answers for independent: those of one window are less so, and the
    /// interval is then too narrow. `None` of several seeds, which have a spread of their own.
    pub interval: Option<(f64, f64)>,
}

impl AnswerCount {
    /// "of 50 answers, 95%: 0.8654 to 0.9890"; of several seeds "of 50 answers each".
    pub fn label(&self, digits: Digits) -> String {
        let answers = self.answers;
        match self.interval {
            Some((low, high)) => {
                format!("of {answers} answers, 95%: {} to {}", digits.format(low), digits.format(high))
            }
            None => format!("of {answers} answers each"),
        }
    }
}

/// A headline number that no variant of a run has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingHeadline {
    pub id: String,
    /// The reason: "the text asks no question".
    pub why: String,
}

/// The headline numbers that a run holds, and those that it lacks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct HeadlineValues {
    /// The values in the lab's order, then by place, then by variant.
    pub values: Vec<HeadlineValue>,
    pub missing: Vec<MissingHeadline>,
}

impl HeadlineValues {
    /// The keys in order, each once.
    pub fn keys(&self) -> Vec<&str> {
        distinct(self.values.iter().map(|value| value.key.as_str()))
    }

    pub fn value(&self, key: &str, variant: &str) -> Option<f64> {
        self.values.iter().find(|v| v.key == key && v.variant == variant).map(|v| v.value)
    }

    /// The number of all seeds of a group.
    pub fn group(&self, key: &str, group: &str) -> Option<SeedSummary> {
        let of_group = self.values.iter().filter(|v| v.key == key && v.group == group);
        SeedSummary::new(&of_group.map(|v| v.value).collect::<Vec<_>>())
    }

    /// The number of answers that the share of a group is computed from. `None` if the number is not a share, if the
    /// count was not recorded, or if it differs between seeds.
    pub fn answer_count(&self, key: &str, group: &str) -> Option<AnswerCount> {
        let of_group: Vec<&HeadlineValue> = self.values.iter().filter(|v| v.key == key && v.group == group).collect();
        let counts = distinct(of_group.iter().map(|v| v.answers));
        let [Some(answers)] = counts[..] else { return None };
        let is_share = |v: &&HeadlineValue| (0.0..=1.0).contains(&v.value);
        let interval = |v: &HeadlineValue| wilson(v.value * answers as f64, answers as f64);
        match of_group.as_slice() {
            all if !all.iter().all(is_share) => None,
            [one] => Some(AnswerCount { answers, interval: Some(interval(one)) }),
            _ => Some(AnswerCount { answers, interval: None }),
        }
    }

    /// The step at which the number of a group was measured; of seeds at different steps the newest.
    pub fn step(&self, key: &str, group: &str) -> Option<u64> {
        self.values.iter().filter(|v| v.key == key && v.group == group).map(|v| v.step).max()
    }
}

/// The variant of the first one's group that has the same seed as this one; `None` for those of that group.
pub(super) fn partner(variants: &[VariantInfo], variant: usize) -> Option<usize> {
    let (this, first) = (variants.get(variant)?, variants.first()?);
    let is_partner = |other: &VariantInfo| other.group == first.group && other.seed == this.seed;
    variants.iter().position(is_partner).filter(|_| this.group != first.group)
}

/// A headline number that is read from one event.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadlinePoint {
    pub key: String,
    /// The index of the variant in the run.
    pub variant: usize,
    pub step: u64,
    pub value: f64,
}

/// The headline numbers that one event gives, each of one variant; no single event gives those that compare variants.
pub fn headline_points(lab: &Lab, event: &Event) -> Vec<HeadlinePoint> {
    let point = |headline: &Headline, place: &str, variant, step, value| HeadlinePoint {
        key: headline.key(place),
        variant,
        step,
        value,
    };
    let of_headline = |headline: &'static Headline| -> Vec<HeadlinePoint> {
        match (headline.source, event) {
            (Source::Scalar { channel, value }, Event::Step(s)) => {
                let of_channel = s.scalars.iter().filter(|(name, _)| name.as_str() == channel);
                of_channel.map(|(_, v)| point(headline, "", s.variant, s.step, value(*v))).collect()
            }
            (Source::Measured { channel, read, any_origin: false }, Event::Sample(s))
                if s.request.is_none() && s.channel.as_str() == channel =>
            {
                let numbers = read(&s.payload).into_iter();
                numbers.map(|(place, number)| point(headline, &place, s.variant, s.step, number.value)).collect()
            }
            _ => vec![],
        }
    };
    lab.headlines.iter().flat_map(of_headline).collect()
}

/// Numbers with their labels.
type Numbers = Vec<(String, MeasuredNumber)>;

/// Takes a run's events and keeps what headline numbers are read from.
pub struct HeadlineReader {
    headlines: &'static [Headline],
    variants: Vec<VariantInfo>,
    /// The last step and value of a channel, keyed by variant and channel.
    scalars: HashMap<(usize, &'static str), (u64, f64)>,
    /// The last step and numbers of every measured headline, keyed by its index in the list and by variant.
    measured: HashMap<(usize, usize), (u64, Numbers)>,
}

impl HeadlineReader {
    pub fn new(lab: &Lab, info: &RunInfo) -> Self {
        Self {
            headlines: lab.headlines,
            variants: info.variants.clone(),
            scalars: HashMap::new(),
            measured: HashMap::new(),
        }
    }

    /// Channels of the measurements that it reads; others need not be passed on.
    pub fn measurements(lab: &Lab) -> Vec<&'static str> {
        lab.headlines.iter().filter(|h| h.source.is_measured()).map(|h| h.source.channel()).collect()
    }

    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Step(StepStats { variant, step, scalars, .. }) => {
                scalars.iter().for_each(|(channel, value)| self.scalar(*variant, channel.as_str(), *step, *value));
            }
            Event::Sample(sample) => self.sample(sample),
            _ => {}
        }
    }

    /// Takes the value of a scalar channel of one variant at a step; it replaces the one before.
    pub fn scalar(&mut self, variant: usize, channel: &str, step: u64, value: f64) {
        let mut wanted = self.headlines.iter().flat_map(|headline| headline.source.scalars());
        if let Some(channel) = wanted.find(|name| *name == channel) {
            self.scalars.insert((variant, channel), (step, value));
        }
    }

    /// Takes a measurement; its numbers replace those of the one before.
    pub fn sample(&mut self, sample: &Sample) {
        for (i, headline) in self.headlines.iter().enumerate() {
            let Source::Measured { channel, read, any_origin } = headline.source else { continue };
            if channel != sample.channel.as_str() || sample.request.is_some() && !any_origin {
                continue;
            }
            let numbers = read(&sample.payload);
            if !numbers.is_empty() {
                self.measured.insert((i, sample.variant), (sample.step, numbers));
            }
        }
    }

    /// The numbers, of the newest step so far that has each.
    pub fn newest_values(&self) -> HeadlineValues {
        let mut found = HeadlineValues::default();
        for (i, headline) in self.headlines.iter().enumerate() {
            let before = found.values.len();
            self.values(i, headline, &mut found.values);
            if found.values.len() == before {
                found.missing.push(MissingHeadline { id: headline.id.to_owned(), why: headline.absent.to_owned() });
            }
        }
        found
    }

    fn values(&self, i: usize, headline: &Headline, values: &mut Vec<HeadlineValue>) {
        let before = values.len();
        for (v, variant) in self.variants.iter().enumerate() {
            let answers = || {
                let (_, answers) = self.scalars.get(&(v, headline.source.answers_channel()?))?;
                Some(*answers as u64).filter(|answers| *answers > 0)
            };
            let alone = |value: f64| vec![(String::new(), MeasuredNumber { value, answers: answers() })];
            let found = match headline.source {
                Source::Scalar { channel, value } => {
                    self.scalars.get(&(v, channel)).map(|(step, x)| (*step, alone(value(*x))))
                }
                Source::DifferenceFromFirst { channel } => {
                    self.difference_from_first(v, channel).map(|(step, x)| (step, alone(x)))
                }
                Source::Measured { .. } => self.measured.get(&(i, v)).cloned(),
            };
            let Some((step, numbers)) = found else { continue };
            values.extend(numbers.into_iter().map(|(place, MeasuredNumber { value, answers })| HeadlineValue {
                key: headline.key(&place),
                variant: variant.id.clone(),
                group: variant.group.clone(),
                step,
                value,
                answers,
            }));
        }
        // Places of several variants are together.
        let order = distinct(values[before..].iter().map(|value| value.key.clone()));
        values[before..].sort_by_key(|value| order.iter().position(|key| *key == value.key));
    }

    /// Less the value of the first variant's group with the same seed, at the same step.
    fn difference_from_first(&self, variant: usize, channel: &'static str) -> Option<(u64, f64)> {
        let partner = partner(&self.variants, variant)?;
        let (step, value) = self.scalars.get(&(variant, channel))?;
        let (at, reference) = self.scalars.get(&(partner, channel))?;
        (at == step).then_some((*step, value - reference))
    }
}
