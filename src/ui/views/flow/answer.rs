//! The answer of the probe `flow`, read by name. Parts that are not there are empty: a playground
//! has no words, a solver of fixed steps has no error.

use std::sync::Arc;

use super::ANSWER;
use crate::{
    telemetry::{Payload, Points, Sample},
    ui::views::ViewCx,
};

/// An answer and whose it is.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    pub variant: usize,
    pub sample: &'a Sample,
}

/// How a token that is a bare space is written.
pub const SPACE: &str = "\u{b7}";

/// One attempt of the solver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Attempt {
    pub t: f64,
    pub h: f64,
    /// Error over tolerance: at most 1 is accepted. NaN where none is estimated.
    pub error: f64,
    pub accepted: bool,
    /// The next step may be ten times as long, and would have liked to be longer.
    pub capped: bool,
}

/// The way of one token's state.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub token: usize,
    /// One a saved state; the third is 0 in a plane.
    pub places: Vec<[f32; 3]>,
    /// The depth of each, 0 to 1.
    pub taus: Vec<f64>,
}

impl<'a> Answer<'a> {
    pub fn of(cx: &ViewCx<'a>) -> Option<Self> {
        cx.answer(ANSWER).map(|(variant, sample)| Self { variant, sample })
    }

    /// Of every variant that has a flow, with its label.
    pub fn all(cx: &ViewCx<'a>) -> Vec<(&'a str, Self)> {
        let mirror: &'a crate::ui::mirror::Mirror = cx.mirror;
        let each = mirror.variants().iter().enumerate();
        let found = each.filter_map(|(variant, info)| {
            let sample = mirror.answer(variant, ANSWER).or_else(|| mirror.sample_at(variant, ANSWER, cx.step))?;
            Some((info.label.as_str(), Self { variant, sample }))
        });
        found.collect()
    }

    /// Whose answer it is, where there are several, and a dot.
    pub fn whose(&self, cx: &ViewCx<'a>) -> String {
        match (Self::all(cx).len(), cx.mirror.variants().get(self.variant)) {
            (2.., Some(info)) => format!("{} \u{b7} ", info.label),
            _ => String::new(),
        }
    }

    /// How many of the controls training gave a meaning: of a steered flow the first, in the playground
    /// the two that are a wind, of others none.
    pub fn taught(&self) -> usize {
        match (self.playground().is_some(), self.classes().0.is_empty()) {
            (true, _) => 2,
            (_, false) => 1,
            _ => 0,
        }
    }

    /// Tokens as running text: where spaces are tokens, as they come.
    pub fn running(&self, words: &[String]) -> String {
        let spaced = |words: &[String]| words.iter().any(|w| w == SPACE);
        match spaced(words) || spaced(&self.sample.tokens) {
            true => words.concat().replace(SPACE, " "),
            false => words.iter().map(|w| w.trim()).collect::<Vec<_>>().join(" "),
        }
    }

    pub fn payload(&self) -> &'a Arc<Payload> {
        &self.sample.payload
    }

    /// x and y of a line of a part.
    pub fn line(&self, part: &str, name: &str) -> Option<(&'a [f64], &'a [f64])> {
        let series = self.sample.payload.part(part)?.as_series()?;
        let line = series.lines.iter().find(|l| l.name == name)?;
        (line.y.len() == series.x.len()).then_some((series.x.as_slice(), line.y.as_slice()))
    }

    pub fn points(&self, part: &str, name: &str) -> Vec<[f64; 2]> {
        self.line(part, name).map_or(vec![], |(x, y)| x.iter().zip(y).map(|(x, y)| [*x, *y]).collect())
    }

    /// The one number of a line.
    pub fn number(&self, part: &str, name: &str) -> Option<f64> {
        self.line(part, name).and_then(|(_, y)| y.first().copied())
    }

    pub fn words(&self, part: &str) -> &'a [String] {
        match self.sample.payload.part(part) {
            Some(Payload::Text(words)) => words,
            _ => &[],
        }
    }

    /// The words of class plus and of class minus.
    pub fn classes(&self) -> (&'a [String], &'a [String]) {
        let words = self.words("classes");
        match words.iter().position(|w| w == "|") {
            Some(at) => (&words[..at], &words[at + 1..]),
            None => (words, &[]),
        }
    }

    /// The field's name where it is of the playground: its starts are no words.
    pub fn playground(&self) -> Option<&'a str> {
        self.words("playground").first().map(String::as_str)
    }

    pub fn attempts(&self) -> Vec<Attempt> {
        let column = |name: &str| self.line("trace", name).map(|l| l.1);
        let (Some((t, h)), errors) = (self.line("trace", "h"), column("error")) else { return vec![] };
        let flag = |name: &str, i: usize, usual: f64| column(name).map_or(usual, |c| c[i]) > 0.5;
        (0..t.len())
            .map(|i| Attempt {
                t: t[i],
                h: h[i],
                error: errors.map_or(f64::NAN, |e| e[i]),
                accepted: flag("accepted", i, 1.0),
                capped: flag("capped", i, 0.0),
            })
            .collect()
    }

    /// The method and policy that were used.
    pub fn method(&self) -> Option<(&'a str, &'a str)> {
        let words = self.words("used_words");
        Some((words.first()?.as_str(), words.get(1).map_or("", String::as_str)))
    }
}

/// The paths of a payload, by token.
pub fn paths(payload: &Payload) -> Vec<Path> {
    let Some(Payload::Bundle(parts)) = payload.part("paths") else { return vec![] };
    parts
        .iter()
        .enumerate()
        .filter_map(|(i, (name, part))| {
            let Payload::Points(Points { dims, xyz, labels }) = part else { return None };
            if !(2..=3).contains(dims) {
                return None;
            }
            let places: Vec<[f32; 3]> =
                xyz.chunks_exact(*dims).map(|p| [p[0], p[1], p.get(2).copied().unwrap_or(0.0)]).collect();
            let even = |k: usize| k as f64 / (places.len().max(2) - 1) as f64;
            let tau = |k: usize| labels.get(k).and_then(|l| l.trim().parse().ok()).unwrap_or(even(k));
            let taus = (0..places.len()).map(tau).collect();
            let token = name.trim_matches(['<', '>']).parse().unwrap_or(i);
            (!places.is_empty()).then_some(Path { token, places, taus })
        })
        .collect()
}

impl Path {
    /// Where it is at a depth: on the straight line between its saved states.
    pub fn at(&self, tau: f64) -> [f32; 3] {
        let after = self.taus.partition_point(|t| *t <= tau).clamp(1, self.taus.len().max(2) - 1);
        let (Some(a), Some(b)) = (self.places.get(after - 1), self.places.get(after)) else {
            return self.places.first().copied().unwrap_or_default();
        };
        let (from, to) = (self.taus[after - 1], self.taus[after]);
        let share = if to > from { ((tau - from) / (to - from)).clamp(0.0, 1.0) as f32 } else { 0.0 };
        std::array::from_fn(|k| a[k] + (b[k] - a[k]) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_followed_between_its_states() {
        let points = |dims, xyz: Vec<f32>, labels: &[&str]| {
            Payload::Points(Points { dims, xyz, labels: labels.iter().map(|l| (*l).to_owned()).collect() })
        };
        let all = Payload::Bundle(vec![(
            "paths".into(),
            Payload::Bundle(vec![
                ("2".into(), points(3, vec![0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 3.0, 2.0, 4.0], &["0", "0.25", "1"])),
                ("1".into(), points(2, vec![5.0, 6.0], &[])),
            ]),
        )]);
        let found = paths(&all);
        assert_eq!((found[0].token, found[1].token), (2, 1));
        assert_eq!(found[0].at(0.125), [0.5, 1.0, 2.0]);
        assert_eq!(found[0].at(1.0), [3.0, 2.0, 4.0]);
        assert_eq!(found[0].at(2.0), [3.0, 2.0, 4.0]);
        assert_eq!(found[1].at(0.5), [5.0, 6.0, 0.0]);
        assert!(paths(&Payload::Scalar(1.0)).is_empty());
    }
}
