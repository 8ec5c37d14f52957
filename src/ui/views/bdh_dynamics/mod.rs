//! The views of BDH as a physical system, and what they share: the weights of the running model, asked for
//! again when the settings of the rules differ from the run's.

mod checks;
mod machine;
mod oscillator_ring;
mod oscillators;
mod ring;
mod rounds;
mod rules;

use std::sync::Arc;

use eframe::egui::{Id, Ui};

pub use checks::Checks;
pub use oscillators::OscillatorsView;
pub use rules::Rules;

use super::ViewCx;
use crate::telemetry::{Args, RunInfo, RunState, Sample};

/// Answers to the probe `bdh_dynamics`: Bundle of the weights and a text's pulses.
pub const WEIGHTS: &str = "bdh_dynamics.weights";
/// The same probe: Bundle of the checks.
pub const CHECKS: &str = "bdh_dynamics.checks";

const EMPTY: &str = "No model has handed over its weights. Open the lab \u{201c}BDH as a physical system\u{201d}: it does so at once, and again while it trains.";

/// The settings that the probe is asked with.
const SETTINGS: [(&str, &str); 3] = [("text", "physics.text"), ("drift", "physics.drift"), ("keep", "physics.keep")];

/// What was asked last, of which run, after which step: for all these views together.
type Asked = Option<(usize, Args, u64)>;

/// What was told on `channel` for the settings as they stand, and asks for it if nobody did.
fn told<'a>(ui: &Ui, cx: &mut ViewCx<'a>, channel: &str) -> Option<&'a Sample> {
    let mirror: &'a super::Mirror = cx.mirror;
    let (scheduled, answered) = (of(cx, channel, false), of(cx, channel, true));
    let Some(info) = &mirror.info else { return scheduled.or(answered) };
    let changed = is_changed(cx, info);
    let known = scheduled.map_or(0, |s| s.step);
    let still = matches!(mirror.state, Some(RunState::Paused | RunState::Finished));
    let missing = scheduled.is_none() && answered.is_none() && still;
    if cx.can_ask() && (changed || missing) {
        let settings = SETTINGS.iter().filter_map(|(arg, key)| Some(((*arg).to_owned(), cx.config.get(key)?.clone())));
        let wanted = (Arc::as_ptr(info) as usize, settings.collect::<Args>(), known);
        let id = Id::unique("bdh_dynamics asked");
        if ui.ctx().data(|d| d.get_temp::<Asked>(id)).flatten().as_ref() != Some(&wanted) {
            let args = wanted.1.clone();
            ui.ctx().data_mut(|d| d.insert_temp(id, Asked::Some(wanted)));
            cx.ask("bdh_dynamics", None, args);
        }
    }
    if changed { answered.or(scheduled) } else { scheduled.or(answered) }
}

fn of<'a>(cx: &ViewCx<'a>, channel: &str, answer: bool) -> Option<&'a Sample> {
    let mirror: &'a super::Mirror = cx.mirror;
    let variants = 0..mirror.variants().len();
    variants.into_iter().find_map(|v| match answer {
        true => mirror.answer(v, channel),
        false => mirror.sample_at(v, channel, cx.step),
    })
}

/// Whether the rules are set otherwise than when the run began.
fn is_changed(cx: &ViewCx<'_>, info: &RunInfo) -> bool {
    SETTINGS.iter().any(|(_, key)| {
        let (now, then) = (cx.config.get(key), info.config.get(key));
        now.is_some() && then.is_some() && now != then
    })
}

/// As [`told`], without asking: for subtitles and tables.
fn shown<'a>(cx: &ViewCx<'a>, channel: &str) -> Option<&'a Sample> {
    let changed = cx.mirror.info.as_ref().is_some_and(|info| is_changed(cx, info));
    let (scheduled, answered) = (of(cx, channel, false), of(cx, channel, true));
    if changed { answered.or(scheduled) } else { scheduled.or(answered) }
}

/// "step 300, 24 tokens ..." or that the weights are the first ones.
fn words_of(sample: &Sample) -> String {
    let whose =
        if sample.step == 0 { "initial weights, nothing learned".to_owned() } else { format!("step {}", sample.step) };
    format!("{whose} \u{b7} {}", sample.about)
}
