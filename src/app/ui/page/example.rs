//! The recorded example of a lab, which its page shows until a run of the user's own begins.

use super::{play::follow, prelude::*};
use crate::config::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleLabel {
    /// For example "example, seed 7, recorded".
    pub text: String,
    /// Says how to start a run, which answers questions, as a recorded one does not.
    pub hint: &'static str,
}

/// Shows the example of the lab on a page without a run, if the host has one. A page that is set to another preset than
/// the example's, or to the user's files, shows none. The settings of the page stay as they are.
pub fn show(page: &mut Page, host: &mut dyn Host, ctx: &Context) -> bool {
    let is_of_preset = page.lab.opening_config().is_ok_and(|opening| opening.preset == page.config.preset);
    if page.run.is_some() || !is_of_preset || names_file(page) {
        return false;
    }
    let Some(handle) = host.example(page.lab.id) else { return false };
    page.run = Some(Run::new(handle, Mirror::default(), RunOrigin::Example, ctx));
    follow(page);
    true
}

/// Shows the example of the lab in place of the current run, as a step back does. Settings and what is pinned stay.
pub fn show_again(page: &mut Page, host: &mut dyn Host, ctx: &Context) {
    let Some(handle) = host.example(page.lab.id) else { return };
    let mut mirror = Mirror::default();
    if let Some(earlier) = &mut page.run {
        mirror.follow_pinned(&mut earlier.mirror);
    }
    page.run = Some(Run::new(handle, mirror, RunOrigin::Example, ctx));
    (page.launched, page.is_detached, page.problem) = (None, false, None);
}

/// True if a control names a file other than the preset's.
fn names_file(page: &Page) -> bool {
    let files = page.knobs.iter().filter(|knob| matches!(knob.range, Range::File(_)));
    files.map(|knob| knob.key).any(|key| page.config.get(key) != page.preset.get(key))
}

/// The label of the example that the page shows; `None` if it shows none or the example has not been read yet.
pub fn label(page: &Page) -> Option<ExampleLabel> {
    let run = page.run.as_ref().filter(|run| run.is_example())?;
    let recorded = &run.mirror.info.as_ref()?.config;
    let seed = recorded.seed;
    if is_of_settings_shown(page, &recorded.preset, seed) {
        let words = format!("example, seed {seed}, recorded");
        return Some(ExampleLabel { text: words, hint: "Space starts your own run." });
    }
    let preset = page.lab.preset(&recorded.preset).map_or(page.lab.title, |p| p.title);
    let words = format!("example of the preset \u{201c}{preset}\u{201d}, seed {seed}, recorded");
    Some(ExampleLabel { text: words, hint: "You changed settings: Space starts a run with them." })
}

/// True if the page is set to the preset and the seed of the example, apart from what the views alone read. The preset is
/// compared, and not the recorded settings, since a recording may have made fewer steps.
fn is_of_settings_shown(page: &Page, preset: &str, seed: u64) -> bool {
    let acts_in_views = |key: &String| page.knobs.iter().any(|k| k.key == key && k.applies == Applies::InViews);
    page.config.preset == preset
        && page.config.seed == seed
        && page.config.changed_keys(&page.preset).iter().all(acts_in_views)
}
