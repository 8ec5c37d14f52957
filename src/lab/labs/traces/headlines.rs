//! The lab's result: how far back trained readers still name a word.

use crate::labs::{headline::large::Reference, prelude::*};

/// Distances whose accuracy is a headline number, if it was measured.
const HEADLINE_DISTANCES: [usize; 4] = [1, 4, 16, 64];

const REACH: Headline = Headline::new("reach", "reach", measured!(Recoverability, |m| reach(m)))
    .unit("tokens")
    .better(Better::Higher)
    .decimals(0)
    .about("The farthest k up to which a reader names the token k back better than the most common token would (95%).")
    .absent("the readers have not been measured yet (`recoverability.every`)");

pub static ALL: &[Headline] = &[
    REACH,
    REACH
        .like("farthest", "farthest asked", measured!(Recoverability, |m| farthest(m)))
        .better(Better::Neither)
        .about("The largest k that the readers were asked for: no reach is found beyond it."),
    REACH
        .like("accuracy", "accuracy", measured!(Recoverability, accuracies))
        .unit("")
        .decimals(3)
        .about("Share of correct answers of a reader that names the token that many steps back, 0 to 1."),
    REACH
        .like("most_common", "most common token", measured!(Recoverability, |m| m.most_common))
        .unit("")
        .better(Better::Neither)
        .decimals(3)
        .about("What naming the most common token reaches without reading, 0 to 1."),
    common::LOSS.about("Cross-entropy of the readers on text that no update saw, nats per question."),
];

/// The reach counts only distances at which a reader beats the most common token with 95% confidence. An accuracy has no
/// such comparison in it and is therefore shown beside that token's share.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("reach", "reach", "recoverability").in_words(Meaning::Capped {
        reference: Reference::Headline("farthest"),
        at_most: "or more: the farthest asked",
        below: &[(1.0, "not even the nearest")],
        otherwise: "better than guessing",
    }),
    LargeNumber::new("accuracy@k=16", "accuracy 16 back", "recoverability").given("most_common", "most common"),
    large::common::LOSS,
];

/// The largest distance recovered; 0 if not even the nearest is.
fn reach(m: &Recoverability) -> f64 {
    let mut near: Vec<(usize, f64)> = m.distances.iter().copied().zip(m.low.iter().copied()).collect();
    near.sort_by_key(|(k, _)| *k);
    near.into_iter().take_while(|(_, low)| *low > m.most_common).last().map_or(0.0, |(k, _)| k as f64)
}

fn farthest(m: &Recoverability) -> Option<f64> {
    m.distances.iter().max().map(|k| *k as f64)
}

fn accuracies(m: &Recoverability) -> Vec<(String, f64)> {
    let told = m.distances.iter().zip(m.accuracy.iter()).filter(|(k, _)| HEADLINE_DISTANCES.contains(k));
    told.map(|(k, share)| (format!("k={k}"), *share)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reach_ends_at_the_first_distance_that_is_not_told() {
        let m = Recoverability {
            distances: vec![1, 2, 4, 8],
            accuracy: vec![0.9, 0.5, 0.2, 0.4].into(),
            low: vec![0.8, 0.4, 0.1, 0.3].into(),
            high: vec![1.0, 0.6, 0.3, 0.5].into(),
            information: vec![2.0, 1.0, 0.2, 0.6].into(),
            most_common: 0.125,
            uniform: 0.1,
        };
        assert_eq!((reach(&m), farthest(&m)), (2.0, Some(8.0)));
        assert_eq!(accuracies(&m), [("k=1".to_owned(), 0.9), ("k=4".to_owned(), 0.2)]);
        assert_eq!(reach(&Recoverability { most_common: 0.95, ..m }), 0.0);
    }
}
