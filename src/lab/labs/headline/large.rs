//! The headline numbers that a lab's page shows large, each with the meaning of its value in words.

use super::{Digits, Headline};
use crate::{labs::Lab, telemetry::Payload};

/// A headline number that a page shows large.
#[derive(Debug)]
pub struct LargeNumber {
    /// Key of the headline number, with its place if there are several: `accuracy@k=16`.
    pub key: &'static str,
    /// Its name above the value: "gate".
    pub label: &'static str,
    /// The view that shows it over training; empty where none does.
    pub view: &'static str,
    pub meaning: Meaning,
    /// The beginnings of the ids of the variants that the lab is about: one of them is shown where the variant in focus has no
    /// such number. Without any it is the first that has one.
    pub subjects: &'static [&'static str],
    /// The unit that it is counted over and its count, where the count varies: "edges".
    pub measured_on: Option<(&'static str, Count)>,
    /// Stands before its meaning, where the number alone would be read as an answer that the measurement does not give.
    pub verdict: Option<Verdict>,
}

/// A number of things in a measurement.
pub type Count = fn(&Payload) -> Option<usize>;

/// The word or two in which a measurement answers the question of its number.
pub type Verdict = fn(&Payload) -> Option<&'static str>;

/// The rule by which a value is put into words. Words say only what the numbers themselves hold.
#[derive(Debug)]
pub enum Meaning {
    /// A value alone allows no judgement, so it gets no words.
    None,
    /// The word of the first limit that the value is below, or the last word.
    Limits { below: &'static [(f64, &'static str)], otherwise: &'static str },
    /// Like [`Meaning::Limits`]; a value as large as the largest that could be found has a word of its own.
    Capped {
        reference: Reference,
        at_most: &'static str,
        below: &'static [(f64, &'static str)],
        otherwise: &'static str,
    },
    /// Above, below or the same as a number that was measured on the same data: "below ignoring y, 0.8123".
    ComparedTo { reference: Reference, name: &'static str },
    /// Names a number to read the value by, without a judgement, since chance alone may tell the two apart:
    /// "guessing: 0.1000".
    Given { reference: Reference, name: &'static str },
    /// Words for a difference below and above zero. Over seeds it has a sign only if its 95% interval leaves zero out; of one seed
    /// the words say that.
    Sign { negative: &'static str, positive: &'static str },
}

/// The source of the number with which a value is compared.
#[derive(Debug, Clone, Copy)]
pub enum Reference {
    /// Another headline number of the same variant, by its key.
    Headline(&'static str),
    /// The newest value of a scalar channel of the same variant.
    Scalar(&'static str),
    /// A headline number of another variant, by the id of its group.
    Variant { group: &'static str, key: &'static str },
    /// One of several numbers, with its name, which is read from the value's measurement and the newest one of this channel. For
    /// several seeds there is none, since it may be another number in each.
    Measured { channel: &'static str, read: NamedNumber },
}

/// Reads a number and its name from a measurement and another one beside it.
pub type NamedNumber = fn(&Payload, Option<&Payload>) -> Option<(&'static str, f64)>;

/// The placeholder for a run's first variant in a meaning, which a page replaces by that variant's name.
pub const FIRST_VARIANT: &str = "the first variant";

/// A value, and the numbers that decide its meaning.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ValueInContext {
    pub value: f64,
    /// The 95% interval of the mean, over several seeds.
    pub interval: Option<(f64, f64)>,
    /// The number with which it is compared, where it is known.
    pub reference: Option<f64>,
    /// The name of that number where it is [one of several](Reference::Measured), else empty.
    pub reference_name: &'static str,
}

impl LargeNumber {
    /// The headline number of a key, its name, and the view that shows it. Its value is not explained in words.
    pub const fn new(key: &'static str, label: &'static str, view: &'static str) -> Self {
        Self { key, label, view, meaning: Meaning::None, subjects: &[], measured_on: None, verdict: None }
    }

    /// Puts its value into words by this rule.
    pub const fn in_words(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    /// [`Meaning::ComparedTo`] another headline number.
    pub const fn compared_to(self, key: &'static str, name: &'static str) -> Self {
        self.in_words(Meaning::ComparedTo { reference: Reference::Headline(key), name })
    }

    /// [`Meaning::Given`] another headline number.
    pub const fn given(self, key: &'static str, name: &'static str) -> Self {
        self.in_words(Meaning::Given { reference: Reference::Headline(key), name })
    }

    /// Names beside the label how many of these it is measured on: "16 000 edges".
    pub const fn measured_on(self, what: &'static str, count: Count) -> Self {
        Self { measured_on: Some((what, count)), ..self }
    }

    /// Puts the answer of the measurement before the meaning of the number.
    pub const fn decided_by(self, verdict: Verdict) -> Self {
        Self { verdict: Some(verdict), ..self }
    }

    /// True if a variant of this id is one that the lab is about.
    pub fn is_about(&self, id: &str) -> bool {
        self.subjects.iter().any(|start| id.starts_with(start))
    }

    /// The meaning of a value as a sentence; empty where it has none.
    pub fn meaning(&self, headline: &Headline, found: ValueInContext) -> String {
        let ValueInContext { value, interval, reference, reference_name } = found;
        if !value.is_finite() {
            return String::new();
        }
        let shown = |value| headline.digits.format(value);
        let reference = reference.filter(|r| r.is_finite());
        match (&self.meaning, reference) {
            (Meaning::Capped { at_most, .. }, Some(r)) if value >= r => (*at_most).to_owned(),
            (Meaning::Limits { below, otherwise } | Meaning::Capped { below, otherwise, .. }, _) => {
                below.iter().find(|(limit, _)| value < *limit).map_or(*otherwise, |(_, word)| word).to_owned()
            }
            (Meaning::ComparedTo { name, .. }, Some(r)) => comparison(headline.digits, value, r, name),
            (Meaning::Given { name, .. }, Some(r)) if reference_name.is_empty() => format!("{name}: {}", shown(r)),
            (Meaning::Given { name, .. }, Some(r)) => format!("{name}: {}, {reference_name}", shown(r)),
            (Meaning::Sign { negative, positive }, _) => match interval {
                Some((low, high)) if low <= 0.0 && high >= 0.0 => "zero is within its 95% interval".to_owned(),
                _ if value == 0.0 => String::new(),
                _ => {
                    let words = if value < 0.0 { negative } else { positive };
                    format!("{words}{}", if interval.is_none() { ", in one seed" } else { "" })
                }
            },
            (Meaning::None | Meaning::ComparedTo { .. } | Meaning::Given { .. }, _) => String::new(),
        }
    }

    /// The source of the number with which its value is compared.
    pub fn reference(&self) -> Option<Reference> {
        match self.meaning {
            Meaning::ComparedTo { reference, .. }
            | Meaning::Given { reference, .. }
            | Meaning::Capped { reference, .. } => Some(reference),
            Meaning::None | Meaning::Limits { .. } | Meaning::Sign { .. } => None,
        }
    }
}

/// Compares two numbers as they are shown: "below ignoring y, 0.8123".
pub fn comparison(digits: Digits, value: f64, reference: f64, name: &str) -> String {
    let shown = digits.format(reference);
    let side = match () {
        () if digits.format(value) == shown => "same as",
        () if value < reference => "below",
        () => "above",
    };
    format!("{side} {name}, {shown}")
}

impl Lab {
    /// The numbers that its page shows large, each with its declaration.
    pub fn large_numbers(&self) -> impl Iterator<Item = (&'static LargeNumber, &'static Headline)> + '_ {
        self.large_numbers.iter().filter_map(|number| Some((number, self.headline(number.key)?)))
    }
}

/// Large numbers of every lab whose models learn a text.
pub mod common {
    use super::{LargeNumber, Meaning, Reference};
    use crate::telemetry::channels;

    /// No word fits a loss, since its size depends on the text.
    pub const LOSS: LargeNumber = LargeNumber::new("held_out_loss", "held-out loss", "losses");

    /// Held-out questions are few: a guesser may be a little above or below its expected share.
    pub const ACCURACY: LargeNumber = LargeNumber::new("accuracy", "accuracy", "accuracy")
        .in_words(Meaning::Given { reference: Reference::Scalar(channels::GUESS), name: "guessing" });

    pub const DIFFERENCE_FROM_FIRST: LargeNumber =
        LargeNumber::new("loss_beside_first", "loss minus that of the first variant", "race")
            .in_words(Meaning::Sign { negative: "below the first variant", positive: "above the first variant" });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::{LABS, find};

    fn number(lab: &str, key: &str) -> (&'static LargeNumber, &'static Headline) {
        find(lab).unwrap().large_numbers().find(|(number, _)| number.key == key).unwrap()
    }

    fn meaning_of(lab: &str, key: &str, found: ValueInContext) -> String {
        let (number, headline) = number(lab, key);
        number.meaning(headline, found)
    }

    #[test]
    fn every_lab_shows_one_to_four_that_it_declares() {
        for lab in LABS {
            assert!((1..=4).contains(&lab.large_numbers.len()), "{}", lab.id);
            assert_eq!(lab.large_numbers().count(), lab.large_numbers.len(), "{}: a key is not a headline's", lab.id);
            for number in lab.large_numbers {
                assert!(!number.label.is_empty(), "{}: {}", lab.id, number.key);
                if let Some(Reference::Headline(key) | Reference::Variant { key, .. }) = number.reference() {
                    assert!(lab.headline(key).is_some(), "{}: there is no {key}", lab.id);
                }
            }
        }
    }

    #[test]
    fn a_gate_is_closed_within_the_papers_band() {
        let gate = |value| meaning_of("fast_slow", "gate", ValueInContext { value, ..ValueInContext::default() });
        assert_eq!([0.0, 0.0099, 0.05, 0.2].map(gate), ["closed", "closed", "slightly open", "open"]);
        assert_eq!(gate(f64::NAN), "");
    }

    #[test]
    fn a_value_is_compared_with_what_was_measured_beside_it() {
        let error = |value, reference| {
            meaning_of("equilibrium", "map_error", ValueInContext { value, reference, ..ValueInContext::default() })
        };
        assert_eq!(error(0.25, Some(0.5)), "below ignoring y, 0.5000");
        assert_eq!(error(0.75, Some(0.5)), "above ignoring y, 0.5000");
        assert_eq!(error(0.500_01, Some(0.5)), "same as ignoring y, 0.5000");
        assert_eq!(error(0.25, None), "", "nothing is known to compare it with");
    }

    #[test]
    fn a_reach_as_far_as_was_asked_may_be_more() {
        let found = ValueInContext { reference: Some(64.0), ..ValueInContext::default() };
        let reach = |value| meaning_of("traces", "reach", ValueInContext { value, ..found });
        assert_eq!([0.0, 48.0].map(reach), ["not even the nearest", "better than guessing"]);
        assert_eq!(reach(64.0), "or more: the farthest asked");
    }

    #[test]
    fn guessing_is_named_without_a_judgement() {
        let found = ValueInContext { value: 0.13, reference: Some(0.1), ..ValueInContext::default() };
        assert_eq!(meaning_of("fast_slow", "accuracy", found), "guessing: 0.1000");
    }

    #[test]
    fn a_share_stands_beside_that_at_the_other_end() {
        let found = ValueInContext { value: 0.957, reference: Some(0.0113), ..ValueInContext::default() };
        let [plus, minus] = ["steered_plus", "steered_minus"].map(|key| meaning_of("ode_flow", key, found));
        assert_eq!((plus.as_str(), minus.as_str()), ("at u\u{2080} = \u{2212}1: 0.011", "at u\u{2080} = +1: 0.011"));
    }

    /// The value is a share of the bound: it is not 1 where both sides are equal.
    #[test]
    fn an_error_within_its_bound_is_rounding() {
        let error =
            |value| meaning_of("bdh_physics", "largest_share", ValueInContext { value, ..ValueInContext::default() });
        assert_eq!([0.455, 1.0].map(error), ["equal up to rounding"; 2]);
        assert_eq!(error(1.01), "differ by more than rounding");
    }

    #[test]
    fn one_of_several_references_says_its_name() {
        let found = ValueInContext {
            value: 0.284,
            reference: Some(0.24),
            reference_name: "random product",
            ..ValueInContext::default()
        };
        assert_eq!(meaning_of("neuron_graph", "modularity", found), "highest null: 0.240, random product");
    }

    #[test]
    fn seeds_decide_whether_a_difference_has_a_sign() {
        let difference = |interval| {
            let found = ValueInContext { value: -0.2, interval, ..ValueInContext::default() };
            meaning_of("coupled_qk", "loss_beside_first", found)
        };
        assert_eq!(difference(None), "below the first variant, in one seed");
        assert_eq!(difference(Some((-0.3, -0.1))), "below the first variant");
        assert_eq!(difference(Some((-0.5, 0.1))), "zero is within its 95% interval");
    }
}
