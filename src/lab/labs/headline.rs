//! Headline numbers: the few numbers that are a lab's result. A lab declares them as data ([`Headline`]);
//! `experiments::headline_values` reads them from a run's events.

pub mod common;
pub mod large;

use crate::{
    labs::Lab,
    telemetry::{Payload, channels},
};

/// A number that is a lab's result, one for every variant of a run.
#[derive(Debug)]
pub struct Headline {
    /// The name in a filter, a sweep's axis or its objective: `held_out_loss`. One of several has its place behind an `@`:
    /// `accuracy@16`.
    pub id: &'static str,
    /// The heading: "held-out loss".
    pub name: &'static str,
    /// "nats"; empty without one.
    pub unit: &'static str,
    /// Its definition in one sentence.
    pub about: &'static str,
    pub better: Better,
    pub digits: Digits,
    /// The reason why a run may have none: "its text asks no question".
    pub absent: &'static str,
    pub source: Source,
}

/// A headline number is declared by what differs from a fact without a unit that is written with four decimals.
impl Headline {
    pub const fn new(id: &'static str, name: &'static str, source: Source) -> Self {
        let (better, digits) = (Better::Neither, Digits::Decimals(4));
        Self { id, name, unit: "", about: "", better, digits, absent: "", source }
    }

    /// Another number of the same kind.
    pub const fn like(self, id: &'static str, name: &'static str, source: Source) -> Self {
        Self { id, name, source, ..self }
    }

    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub const fn absent(self, absent: &'static str) -> Self {
        Self { absent, ..self }
    }

    pub const fn better(self, better: Better) -> Self {
        Self { better, ..self }
    }

    pub const fn decimals(self, decimals: usize) -> Self {
        Self { digits: Digits::Decimals(decimals), ..self }
    }
}

/// The direction in which a number is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Lower,
    Higher,
    /// A fact, neither good nor bad.
    Neither,
}

impl Better {
    pub fn label(self) -> &'static str {
        match self {
            Self::Lower => "lower is better",
            Self::Higher => "higher is better",
            Self::Neither => "neither way is better",
        }
    }

    /// The factor by which the best value becomes the least.
    pub fn sign(self) -> Option<f64> {
        match self {
            Self::Lower => Some(1.0),
            Self::Higher => Some(-1.0),
            Self::Neither => None,
        }
    }
}

/// The digits with which a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digits {
    /// This many decimals. Numbers from 1e9 on, and decimals that would all be zero, are written as [`Digits::Scientific`].
    Decimals(usize),
    /// One decimal and an exponent: 3.2e-9.
    Scientific,
}

impl Digits {
    pub fn format(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => format!("{value}"),
            Self::Decimals(0) if value.abs() < 1e9 => rounded(value, 0),
            Self::Decimals(n) if value == 0.0 || (0.5 * 10_f64.powi(-(n as i32))..1e9).contains(&value.abs()) => {
                rounded(value, n)
            }
            Self::Decimals(_) | Self::Scientific => format!("{value:.1e}"),
        }
    }
}

/// Rounds to `decimals` digits after the point; a result of zero has no sign.
pub fn rounded(v: impl Into<f64>, decimals: usize) -> String {
    without_sign_of_zero(format!("{:.decimals$}", v.into()))
}

/// Like [`rounded`], with a plus where it is positive: for differences and correlations.
pub fn signed(v: impl Into<f64>, decimals: usize) -> String {
    without_sign_of_zero(format!("{:+.decimals$}", v.into()))
}

fn without_sign_of_zero(text: String) -> String {
    match text.strip_prefix(['-', '+']) {
        Some(digits) if digits.chars().all(|c| matches!(c, '0' | '.')) => digits.to_owned(),
        _ => text,
    }
}

/// A number of a measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredNumber {
    pub value: f64,
    /// The number of answers behind a share of correct ones, where the measurement counts them.
    pub answers: Option<u64>,
}

impl MeasuredNumber {
    /// The share of right answers; `None` of no answers.
    pub fn share(right: f64, answers: f64) -> Option<Self> {
        (answers > 0.0).then(|| Self { value: right / answers, answers: Some(answers as u64) })
    }
}

impl From<f64> for MeasuredNumber {
    fn from(value: f64) -> Self {
        Self { value, answers: None }
    }
}

/// Reads the numbers of one measurement, each with the place that distinguishes it (empty if there is only one).
pub type ReadNumbers = fn(&Payload) -> Vec<(String, MeasuredNumber)>;

/// The place in a run's record from which a headline number is read.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// The newest value of a scalar channel, changed by a function.
    Scalar { channel: &'static str, value: fn(f64) -> f64 },
    /// The newest value of a scalar channel, less that of the run's first variant with the same seed.
    DifferenceFromFirst { channel: &'static str },
    /// The newest measurement of this type that was made by schedule, or of `any_origin`: whoever asked for it.
    Measured { channel: &'static str, read: ReadNumbers, any_origin: bool },
}

impl Source {
    /// The newest value of a scalar channel as it is.
    pub const fn scalar(channel: &'static str) -> Self {
        Self::Scalar { channel, value: |v| v }
    }

    /// The channel of scalars or of measurements that it is read from.
    pub fn channel(&self) -> &'static str {
        match self {
            Self::Scalar { channel, .. } | Self::DifferenceFromFirst { channel } | Self::Measured { channel, .. } => {
                channel
            }
        }
    }

    /// The channels of the scalars that it is read from, those that [`Source::answers_channel`] names included.
    pub fn scalars(&self) -> Vec<&'static str> {
        let own = (!self.is_measured()).then(|| self.channel());
        own.into_iter().chain(self.answers_channel()).collect()
    }

    /// The channel that records of how many answers this is the share of right ones.
    pub fn answers_channel(&self) -> Option<&'static str> {
        (self.channel() == channels::ACCURACY && !self.is_measured()).then_some(channels::ANSWERS)
    }

    /// True if a run may have it only after it was asked for.
    pub fn is_asked_for(&self) -> bool {
        matches!(self, Self::Measured { any_origin: true, .. })
    }

    /// True if it is read from a measurement rather than from a step's scalars.
    pub fn is_measured(&self) -> bool {
        matches!(self, Self::Measured { .. })
    }
}

/// Source of numbers of a scheduled measurement: `measured!(Type, |m| number)`, `Some(number)` or numbers by place. With a last
/// `any_origin`, also of measurements that a person asked for.
macro_rules! measured {
    (@ $measurement:ty, $read:expr, $any_origin:literal) => {
        $crate::labs::headline::Source::Measured {
            channel: <$measurement as $crate::telemetry::Measurement>::CHANNEL,
            read: |payload| match <$measurement as $crate::telemetry::Measurement>::from_payload(payload) {
                Some(measured) => {
                    let read: fn(&$measurement) -> _ = $read;
                    $crate::labs::headline::IntoNumbers::into_numbers(read(measured))
                }
                None => vec![],
            },
            any_origin: $any_origin,
        }
    };
    ($measurement:ty, $read:expr) => {
        $crate::labs::headline::measured!(@ $measurement, $read, false)
    };
    ($measurement:ty, $read:expr, any_origin) => {
        $crate::labs::headline::measured!(@ $measurement, $read, true)
    };
}
pub(crate) use measured;

/// The number itself; `None` for NaN and the infinities.
pub fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}

/// A value that gives one number, none, or several by place.
pub trait IntoNumbers {
    fn into_numbers(self) -> Vec<(String, MeasuredNumber)>;
}

impl IntoNumbers for f64 {
    fn into_numbers(self) -> Vec<(String, MeasuredNumber)> {
        vec![(String::new(), self.into())]
    }
}

impl<T: Into<MeasuredNumber>> IntoNumbers for Option<T> {
    fn into_numbers(self) -> Vec<(String, MeasuredNumber)> {
        self.into_iter().map(|number| (String::new(), number.into())).collect()
    }
}

impl<T: Into<MeasuredNumber>> IntoNumbers for Vec<(String, T)> {
    fn into_numbers(self) -> Vec<(String, MeasuredNumber)> {
        self.into_iter().map(|(place, number)| (place, number.into())).collect()
    }
}

/// The id and the place of a key: `accuracy@16` is `accuracy` at `16`.
pub fn split_key(key: &str) -> (&str, &str) {
    key.split_once('@').unwrap_or((key, ""))
}

impl Headline {
    /// The key of its number at a place.
    pub fn key(&self, place: &str) -> String {
        if place.is_empty() { self.id.to_owned() } else { format!("{}@{place}", self.id) }
    }

    /// The heading of a key: "accuracy at 16 (share)".
    pub fn heading(&self, key: &str) -> String {
        let place = match split_key(key).1 {
            "" => String::new(),
            place => format!(" at {place}"),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" ({})", self.unit) };
        format!("{}{place}{unit}", self.name)
    }

    /// True if it compares variants of one seed, so that its spread over seeds is that of a paired difference.
    pub fn is_paired(&self) -> bool {
        matches!(self.source, Source::DifferenceFromFirst { .. })
    }
}

impl Lab {
    /// The headline number that a key names, with or without a place.
    pub fn headline(&self, key: &str) -> Option<&'static Headline> {
        let id = split_key(key).0;
        self.headlines.iter().find(|h| h.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_rounds_to_zero_has_no_sign() {
        assert_eq!([rounded(-0.0004, 3), rounded(-0.0, 1), rounded(-0.4_f32, 0)], ["0.000", "0.0", "0"]);
        assert_eq!([rounded(-0.0006, 3), rounded(2.0, 1), rounded(f64::NAN, 1)], ["-0.001", "2.0", "NaN"]);
        assert_eq!([signed(-0.0004, 3), signed(0.0, 1), signed(0.0004, 3)], ["0.000", "0.0", "0.000"]);
        assert_eq!([signed(-0.0006, 3), signed(0.25, 2)], ["-0.001", "+0.25"]);
    }

    #[test]
    fn a_small_number_is_not_shown_as_zero() {
        let shown = [0.0, -0.0, 2.384e-7, -0.000_03, 0.000_06, -0.25].map(|value| Digits::Decimals(4).format(value));
        assert_eq!(shown, ["0.0000", "0.0000", "2.4e-7", "-3.0e-5", "0.0001", "-0.2500"]);
        assert_eq!([Digits::Decimals(0).format(0.3), Digits::Decimals(2).format(2e9)], ["0", "2.0e9"]);
    }
}
