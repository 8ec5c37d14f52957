//! The lab's result: how far the two sides of each of the paper's equivalences are apart.

use crate::labs::{headline::Digits, prelude::*};

const EQUIVALENCE_ERROR: Headline = Headline {
    digits: Digits::Scientific,
    ..Headline::new("error", "error", measured!(BdhDynamicsChecks, errors))
        .unit("of the largest value")
        .better(Better::Lower)
        .about("The largest difference between the two sides of an equivalence, as a share of the largest value compared.")
        .absent("the equivalences have not been measured yet (`probe.bdh_dynamics_every`), or the model is a trained graph and no product")
};

pub static ALL: &[Headline] = &[
    common::LOSS,
    common::DIFFERENCE_FROM_FIRST,
    EQUIVALENCE_ERROR,
    EQUIVALENCE_ERROR
        .like(
            "largest_share",
            "largest error",
            measured!(BdhDynamicsChecks, |m| largest(checks(m).map(|(.., share)| share))),
        )
        .unit("of its rounding bound")
        .decimals(3)
        .about("The largest share that an error has of what rounding alone could explain of that entry: at most 1 if all equivalences hold."),
    EQUIVALENCE_ERROR
        .like("agreement", "letters agreed on", measured!(BdhDynamicsWeights, agreement))
        .unit("")
        .better(Better::Higher)
        .decimals(3)
        .about("Share of the text's letters after which the rules without LayerNorms name the model's likeliest next one."),
];

/// The bound is that of rounding: an error is at most 1 of it where the two sides are equal in exact numbers.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("largest_share", "largest error", "bdh_checks").in_words(Meaning::Limits {
        below: &[(1.0 + f64::EPSILON, "equal up to rounding")],
        otherwise: "differ by more than rounding",
    }),
    LargeNumber::new("agreement", "letters agreed on, no norms", "bdh_rules"),
    large::common::LOSS,
];

fn errors(m: &BdhDynamicsChecks) -> Vec<(String, f64)> {
    checks(m).map(|(name, error, _)| (name.to_owned(), error)).collect()
}

fn agreement(m: &BdhDynamicsWeights) -> Option<f64> {
    let letters = m.model_predictions.len();
    // the rules of a trained graph are its model, norms included
    (letters > 0 && m.graph.is_none()).then(|| m.agreements as f64 / letters as f64)
}

/// The largest error of each equivalence, and its largest share of the rounding bound, by name.
fn checks(m: &BdhDynamicsChecks) -> impl Iterator<Item = (&'static str, f64, f64)> {
    let by_token =
        [("rules", &m.rules), ("normfree", &m.normfree), ("attention", &m.attention), ("two_steps", &m.two_steps)];
    let by_token = by_token
        .map(|(name, check)| (name, largest(check.error.iter().copied()), largest(check.share.iter().copied())));
    let of_circuits = [("wires", &m.wires), ("prods", &m.prods)].map(|(name, check)| (name, check.error, check.share));
    by_token.into_iter().chain(of_circuits)
}

/// The largest value; NaN if any is NaN, since a check without a number does not pass.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |a: f64, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_of_values_with_nan_is_nan() {
        assert_eq!(largest([0.5, 2.0, 1.0].into_iter()), 2.0);
        assert!(largest([0.5, f64::NAN, 1.0].into_iter()).is_nan());
    }
}
