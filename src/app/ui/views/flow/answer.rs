//! An answer of the flow as its views use it: its variant, its readable text, and its paths in space.

use crate::ui::views::prelude::*;

pub type Answer<'a> = Measured<'a, FlowAnswer>;

/// The sign for a token that is a bare space.
pub const SPACE: &str = "\u{b7}";

/// The path of one token's state.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub token: usize,
    /// A point for each saved state; the third coordinate is 0 in a plane.
    pub places: Vec<[f32; 3]>,
    /// The depth of each, 0 to 1.
    pub taus: Vec<f64>,
}

impl<'a> Answer<'a> {
    /// The answer of the variant in focus, else of the first that has answered.
    pub fn in_focus(cx: &ViewCx<'a>) -> Option<Self> {
        cx.answered::<FlowAnswer>()
    }

    /// The answers of all variants that have a flow, with the variants' labels.
    pub fn by_variant(cx: &ViewCx<'a>) -> Vec<(&'a str, Self)> {
        let of_variant = |v| cx.answer_of::<FlowAnswer>(v).or_else(|| cx.scheduled::<FlowAnswer>(v));
        cx.each_variant(of_variant).map(|(info, _, answer)| (info.label.as_str(), answer)).collect()
    }

    /// The variant's label and a dot, where there are several variants.
    pub fn variant_prefix(&self, cx: &ViewCx<'a>) -> String {
        match (Self::by_variant(cx).len(), cx.mirror.variants().get(self.variant)) {
            (2.., Some(info)) => format!("{} \u{b7} ", info.label),
            _ => String::new(),
        }
    }

    /// The controls that training gave a meaning: one in a steered flow, two in the playground (a wind), else none.
    pub fn trained_controls(&self) -> usize {
        match (self.planar_field().is_some(), self.classes()) {
            (true, _) => 2,
            (_, Some(_)) => 1,
            _ => 0,
        }
    }

    /// Tokens as running text: where spaces are tokens, as they come.
    pub fn running_text(&self, tokens: &[String]) -> String {
        let spaced = |tokens: &[String]| tokens.iter().any(|t| t == SPACE);
        match spaced(tokens) || spaced(&self.sample.tokens) {
            true => tokens.concat().replace(SPACE, " "),
            false => tokens.iter().map(|t| t.trim()).collect::<Vec<_>>().join(" "),
        }
    }
}

pub fn paths(recorded: &FlowPaths) -> Vec<Path> {
    let [_, states, dims] = *recorded.places.shape() else { return vec![] };
    if states != recorded.taus.len() || dims == 0 {
        return vec![];
    }
    let place = |row: &[f32]| std::array::from_fn(|k| row.get(k).copied().unwrap_or(0.0));
    (0..recorded.places.rows())
        .filter_map(|token| {
            let places = recorded.places.row(token)?.chunks(dims).map(place).collect();
            Some(Path { token, places, taus: recorded.taus.to_vec() })
        })
        .collect()
}

impl Path {
    /// The position at a depth, interpolated linearly between two saved states.
    pub fn at(&self, tau: f64) -> [f32; 3] {
        let after = self.taus.partition_point(|t| *t <= tau).clamp(1, self.taus.len().max(2) - 1);
        let (Some(a), Some(b)) = (self.places.get(after - 1), self.places.get(after)) else {
            return self.places.first().copied().unwrap_or_default();
        };
        let (from, to) = (self.taus[after - 1], self.taus[after]);
        let share = if to > from { ((tau - from) / (to - from)).clamp(0.0, 1.0) } else { 0.0 };
        // f64, because the difference of two f32 values may overflow.
        std::array::from_fn(|k| {
            let (a, b) = (f64::from(a[k]), f64::from(b[k]));
            (a + (b - a) * share) as f32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow_paths(taus: &[f64], shape: [usize; 3], places: &[f32]) -> FlowPaths {
        let places = Array::new(shape, places.to_vec()).unwrap();
        FlowPaths { taus: taus.to_vec().into(), places, explained: vec![].into() }
    }

    #[test]
    fn a_path_is_followed_between_its_states() {
        let first = [0.0, 0.0, 0.0, 1.0, 2.0, 4.0, 3.0, 2.0, 4.0];
        let found = paths(&flow_paths(&[0.0, 0.25, 1.0], [2, 3, 3], &[first, [7.0; 9]].concat()));
        assert_eq!((found[0].token, found[1].token), (0, 1));
        assert_eq!(found[0].at(0.125), [0.5, 1.0, 2.0]);
        assert_eq!(found[0].at(1.0), [3.0, 2.0, 4.0]);
        assert_eq!(found[0].at(2.0), [3.0, 2.0, 4.0]);
        let plane = paths(&flow_paths(&[0.0], [1, 1, 2], &[5.0, 6.0]));
        assert_eq!(plane[0].at(0.5), [5.0, 6.0, 0.0]);
        assert!(paths(&flow_paths(&[0.0], [1, 2, 2], &[1.0; 4])).is_empty(), "a state without a depth");
    }
}
