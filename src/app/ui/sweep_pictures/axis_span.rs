//! The range of an axis, the positions of its values on the screen, and its ticks.

use std::path::Path;

use super::prelude::*;
use crate::ui::{plot::limits_around, widgets::truncated::shared_beginnings};

#[derive(Debug, Clone, PartialEq)]
pub struct AxisSpan {
    pub scale: Scale,
    /// Both ends, on the axis's scale.
    pub from: f64,
    pub to: f64,
    /// Ticks at the few values of an axis, with their labels, in place of round numbers.
    marks: Vec<(f64, String)>,
    /// The marks are those of words.
    has_words: bool,
}

/// An axis with at most this many values has a tick at each of them instead of at round numbers.
const MAX_VALUE_TICKS: usize = 8;

/// The margin beyond the outermost values, as a share of the range.
const MARGIN: f64 = 0.06;

impl AxisSpan {
    /// The range around values; `None` if the scale shows none of them.
    pub fn around(values: impl Iterator<Item = f64>, scale: Scale) -> Option<Self> {
        let ends = number::finite_range(values.map(|v| scale.position(v)))?;
        let [from, to] = limits_around(ends, MARGIN, scale);
        Some(Self { scale, from, to, marks: vec![], has_words: false })
    }

    /// The ends of the axis of a setting that varies.
    pub fn from_axis(results: &SweepResults, axis: usize) -> Option<Self> {
        let ResultAxis { kind, .. } = results.axes.get(axis)?;
        match kind {
            AxisKind::Words(words) => {
                let to = words.len() as f64 - 0.5;
                let marks = word_labels(words).into_iter().enumerate().map(|(i, word)| (i as f64, word)).collect();
                Some(Self { scale: Scale::Linear, from: -0.5, to, marks, has_words: true })
            }
            AxisKind::Numbers { is_log } => {
                let places = results.places(axis);
                let scale = if *is_log { Scale::Log } else { Scale::Linear };
                let mut ends = Self::around(places.iter().copied(), scale)?;
                if places.len() <= MAX_VALUE_TICKS {
                    let words = |place: f64| {
                        let point = results.points.iter().position(|p| p.places.get(axis) == Some(&place))?;
                        Some((place, results.value_label(point, axis)))
                    };
                    ends.marks = places.into_iter().filter_map(words).collect();
                }
                Some(ends)
            }
        }
    }

    /// The share of the way that the label of each word has; `None` on an axis of numbers.
    pub fn word_share(&self) -> Option<f32> {
        self.has_words.then(|| 1.0 / self.marks.len().max(1) as f32)
    }

    /// The position of a value as a fraction of the axis; NaN if the scale cannot show it.
    pub fn share(&self, value: f64) -> f32 {
        ((self.scale.position(value) - self.from) / (self.to - self.from)) as f32
    }

    pub fn value(&self, share: f32) -> f64 {
        self.scale.value(self.from + f64::from(share) * (self.to - self.from))
    }

    /// About this many ticks: share of the way and words.
    pub fn ticks(&self, wanted: usize) -> Vec<(f32, String)> {
        if !self.marks.is_empty() {
            return self.marks.iter().map(|(value, words)| (self.share(*value), words.clone())).collect();
        }
        let share = |place: f64| ((place - self.from) / (self.to - self.from)) as f32;
        self.scale.ticks(self.from, self.to, wanted).into_iter().map(|(place, words)| (share(place), words)).collect()
    }
}

/// Shortens words to tick labels. A path becomes its file name or, if files in several folders share that name, the
/// part of the path in which they differ; a missing setting becomes a dash.
fn word_labels(words: &[String]) -> Vec<String> {
    const SEPARATORS: &[u8] = if cfg!(windows) { b"/\\" } else { b"/" };
    let names: Vec<Option<&str>> = words.iter().map(|word| file_name(word)).collect();
    let label = |(word, name): (&String, &Option<&str>)| {
        let alike = || words.iter().zip(&names).filter(|(_, other)| *other == name).map(|(word, _)| word.as_str());
        match (name, alike().min(), alike().max()) {
            (Some(_), Some(first), Some(last)) if first != last => {
                word[shared_beginnings(&[first, last], SEPARATORS)[0]..].to_owned()
            }
            (Some(name), ..) => (*name).to_owned(),
            (None, ..) if word.is_empty() => "–".to_owned(),
            (None, ..) => word.clone(),
        }
    };
    words.iter().zip(&names).map(label).collect()
}

/// The name of the file that an absolute path leads to.
fn file_name(word: &str) -> Option<&str> {
    let path = Path::new(word);
    path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn files_of_one_name_are_labelled_by_their_folders() {
        let labels = |words: &[&str]| word_labels(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(labels(&["/d/x/own.txt", "/d/y/own.txt", "/d/x/a.txt"]), ["x/own.txt", "y/own.txt", "a.txt"]);
        let far = ["/a/x/own.txt", "/a/y/own.txt", "/b/x/own.txt"];
        assert_eq!(labels(&far), ["a/x/own.txt", "a/y/own.txt", "b/x/own.txt"]);
        assert_eq!(labels(&["", "recall", "/d/texts"]), ["–", "recall", "texts"]);
    }

    #[test]
    fn values_lie_between_the_ends_and_back() {
        let ends = AxisSpan::around([0.001, 0.1, f64::NAN, -1.0].into_iter(), Scale::Log).unwrap();
        let middle = ends.share(0.01);
        assert!((middle - 0.5).abs() < 1e-6 && (ends.value(middle) - 0.01).abs() < 1e-8);
        assert!(ends.share(0.001) > 0.0 && ends.share(0.1) < 1.0 && ends.share(-1.0).is_nan());
        let one = AxisSpan::around([3.0].into_iter(), Scale::Linear).unwrap();
        assert!((one.share(3.0) - 0.5).abs() < 1e-6, "a single value stands in the middle");
        let zeros = AxisSpan::around([0.0, 0.0].into_iter(), Scale::Linear).unwrap();
        assert_eq!([zeros.value(0.0), zeros.value(0.5), zeros.value(1.0)], [-1.0, 0.0, 1.0]);
        assert!(zeros.ticks(4).iter().any(|(share, words)| *share == 0.5 && words == "0"), "{:?}", zeros.ticks(4));
        assert!(AxisSpan::around([f64::NAN].into_iter(), Scale::Linear).is_none());
    }
}
