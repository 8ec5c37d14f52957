//! The views of BDH as a physical system, and what they share: the weights of the running model, asked for
//! again when the settings of the rules differ from the run's.

mod checks;
mod machine;
mod oscillators;
mod ring;
mod rounds;
mod rules;
mod theory;

pub use checks::BdhChecksView;
pub use oscillators::OscillatorsView;
pub use rules::Rules;
pub use theory::Theory;

use crate::{
    labs::bdh_physics::{PhysicsLabSettings, RuleSettings},
    ui::views::prelude::*,
};

const EMPTY: &str = "No model has handed over its weights. A small BDH does so before its first step, and again while it trains: press Space.";

/// The settings that the probe is asked with.
const SETTINGS: [&str; 3] = [RuleSettings::text.name, RuleSettings::drift.name, RuleSettings::keep.name];

/// Asks for the measurement with the current settings, unless it was asked for.
fn keep_fresh<M: Measurement<Args = BdhDynamicsArgs>>(cx: &mut ViewCx<'_>) {
    let freshness = if cx.differs_from_run(&SETTINGS) { Freshness::WithSchedule } else { Freshness::IfMissing };
    let args = PhysicsLabSettings::read(cx.config).map(|settings| settings.physics.args()).unwrap_or_default();
    cx.ask::<M>(None, &args, freshness);
}

/// The measurement for the current settings: that of the variant in focus, or of the first variant that has one.
fn shown_measurement<'a, M: Measurement>(cx: &ViewCx<'a>) -> Option<Measured<'a, M>> {
    let differs_from_run = cx.differs_from_run(&SETTINGS);
    let of_variant = |v| {
        let (scheduled, answered) = (|| cx.scheduled(v), || cx.answer_of(v));
        if differs_from_run { answered().or_else(scheduled) } else { scheduled().or_else(answered) }
    };
    cx.in_focus(of_variant).map(|(_, measured)| measured)
}

/// Names what a view shows and the weights behind it, "step 300, 24 tokens .." or that they are the initial ones; with
/// several variants the name of the variant comes first.
fn origin(cx: &ViewCx<'_>, sample: &Sample, what: &str) -> String {
    let variant = cx.variant_prefix(sample.variant);
    let model =
        if sample.step == 0 { "initial weights, nothing learned".to_owned() } else { format!("step {}", sample.step) };
    format!("{variant}{what} \u{b7} {model} \u{b7} {}", sample.about)
}
