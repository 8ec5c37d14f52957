//! The lab's result: what a steered flow says at each end of the slider, and what a solve of it costs.

use crate::{labs::prelude::*, models::ode_flow::ALPHA};

const NOT_STEERED: &str =
    "the flow is not steered, or its classes have not been measured yet (`probe.flow_sweep_every`)";

/// A class's share of the next word on nouns that no steering prompt had.
const STEERED_SHARE: Headline = Headline::new(
    "steered_plus",
    "class + at u₀ = +1",
    measured!(FlowSweepClass, |m| value_at(m, &m.held_out.plus, 1.0)),
)
.better(Better::Higher)
.decimals(3)
.about("Share of the next word's probability on the class that u₀ = +1 was trained to lead to, on held-out nouns.")
.absent(NOT_STEERED);

pub static ALL: &[Headline] = &[
    common::LOSS
        .about("Cross-entropy of the next token on text that no update saw, nats per token; in the playground the squared error over \
                the field's mean square."),
    Headline::new("alpha", "scale \u{3b1}", Source::scalar(ALPHA))
        .about("The learned scale of the field, 0.1 before the first step: what the flow adds is multiplied by it.")
        .absent("no variant has a flow"),
    STEERED_SHARE,
    STEERED_SHARE
        .like(
            "steered_minus",
            "class − at u₀ = −1",
            measured!(FlowSweepClass, |m| value_at(m, &m.held_out.minus, -1.0)),
        )
        .about("Share of the next word's probability on the class that u₀ = −1 was trained to lead to, on held-out nouns."),
    STEERED_SHARE
        .like("opposed_plus", "class + at u₀ = −1", measured!(FlowSweepClass, |m| value_at(m, &m.held_out.plus, -1.0)))
        .better(Better::Lower)
        .about("The share of class + at the control that was trained to lead to the other class, on the same nouns."),
    STEERED_SHARE
        .like("opposed_minus", "class − at u₀ = +1", measured!(FlowSweepClass, |m| value_at(m, &m.held_out.minus, 1.0)))
        .better(Better::Lower)
        .about("The share of class − at the control that was trained to lead to the other class, on the same nouns."),
    STEERED_SHARE
        .like("unsteered_plus", "class + at u₀ = 0", measured!(FlowSweepClass, |m| value_at(m, &m.held_out.plus, 0.0)))
        .better(Better::Neither)
        .about("The share of class + without steering, on the same nouns: what steering is compared with."),
    STEERED_SHARE
        .like(
            "unsteered_minus",
            "class − at u₀ = 0",
            measured!(FlowSweepClass, |m| value_at(m, &m.held_out.minus, 0.0)),
        )
        .better(Better::Neither)
        .about("The share of class − without steering, on the same nouns: what steering is compared with."),
    Headline::new("nfe", "NFE", measured!(FlowAnswer, |m| m.trace.nfe as f64))
        .unit("evaluations")
        .better(Better::Lower)
        .decimals(0)
        .about("Evaluations of the field that one solve takes, by the method, the tolerances and the control that the run was begun \
                with; the view Solver asks by those that are set now.")
        .absent("the flow has not been measured yet (`probe.flow_every`)"),
];

/// A class's share at the control that leads to it is shown beside that at the control that leads away.
pub static LARGE_NUMBERS: &[LargeNumber] = &[
    LargeNumber::new("steered_plus", "class + at u\u{2080} = +1", "flow_sweep")
        .given("opposed_plus", "at u\u{2080} = \u{2212}1"),
    LargeNumber::new("steered_minus", "class \u{2212} at u\u{2080} = \u{2212}1", "flow_sweep")
        .given("opposed_minus", "at u\u{2080} = +1"),
    // it is measured by the settings of the run, while the controls of the solver act in views
    LargeNumber::new("nfe", "NFE", "flow_solver")
        .in_words(Meaning::Limits { below: &[], otherwise: "by the run's settings" }),
    large::common::LOSS,
];

/// A curve's value at a control, once it is measured.
fn value_at(sweep: &FlowSweepClass, curve: &[f64], u0: f64) -> Option<f64> {
    let i = sweep.u0.iter().position(|u| (u - u0).abs() < 1e-9)?;
    curve.get(i).copied().and_then(finite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        labs::headline::large::ValueInContext,
        telemetry::measurements::{ClassCurves, SweepProgress},
    };

    /// The controls of the solver act in views: its large number must not seem to follow them.
    #[test]
    fn evaluations_are_labelled_with_the_runs_settings() {
        let number = LARGE_NUMBERS.iter().find(|number| number.key == "nfe").unwrap();
        let headline = ALL.iter().find(|headline| headline.id == "nfe").unwrap();
        let found = ValueInContext { value: 14.0, ..ValueInContext::default() };
        assert_eq!(number.meaning(headline, found), "by the run's settings");
        assert!(headline.about.contains("tolerances"), "{}", headline.about);
    }

    #[test]
    fn shares_are_those_at_the_ends_and_the_middle_of_the_slider() {
        let curves =
            |plus: [f64; 3], minus: [f64; 3]| ClassCurves { plus: plus.to_vec().into(), minus: minus.to_vec().into() };
        let sweep = FlowSweepClass {
            progress: SweepProgress { done: 2, total: 3 },
            u0: vec![-1.0, 0.0, 1.0].into(),
            held_out: curves([0.1, 0.2, f64::NAN], [0.9, 0.3, f64::NAN]),
            trained: curves([0.0; 3], [0.0; 3]),
            neutral: vec![0.0; 3].into(),
        };
        assert_eq!(value_at(&sweep, &sweep.held_out.minus, -1.0), Some(0.9));
        assert_eq!(value_at(&sweep, &sweep.held_out.plus, 0.0), Some(0.2));
        assert_eq!(value_at(&sweep, &sweep.held_out.plus, -1.0), Some(0.1));
        assert_eq!(value_at(&sweep, &sweep.held_out.plus, 1.0), None, "it is not measured yet");
    }
}
