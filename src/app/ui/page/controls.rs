//! The controls of a page: which settings differ from the preset, and which the page's link keeps from being changed.

use super::{prelude::*, undo::note_config};
use crate::{
    config::counted,
    labs::{RunSettings, restrictions::VIEW_CONTROLS},
    ui::legal::CheckpointLayer,
};

#[derive(Debug, Default)]
pub struct ControlsState {
    /// The settings that differ from the preset, as of the last frame without a pressed button: a drag moves nothing.
    pub changed: Vec<&'static str>,
    /// Changes wait for a reset, as of the same frame.
    pub has_pending: bool,
    /// The settings whose controls are in visible tiles, each with the id of its view.
    pub in_tiles: HashMap<&'static str, String>,
    /// What the checkpoint that was opened says about its layers.
    pub checkpoint_layer: CheckpointLayer,
    /// Every setting is shown because the user searched for one of them.
    pub is_unfolded: bool,
    /// The group of settings that are arguments of questions; empty if the lab has none.
    question_group: String,
}

impl ControlsState {
    pub(super) fn new(lab: &Lab) -> Self {
        let plan = lab.config(None).and_then(|config| (lab.plan)(&config));
        let question_group = plan.map(|plan| plan.probe_args_group).unwrap_or_default();
        Self { question_group, ..Self::default() }
    }
}

/// Replaces the keys of settings in a text by the labels of their controls: `model.width` becomes “Width”.
pub(super) fn by_label(page: &Page, words: &str) -> String {
    let named = |words: String, knob: &Knob| {
        words.replace(&format!("`{}`", knob.key), &format!("\u{201c}{}\u{201d}", knob.label))
    };
    page.knobs.iter().fold(words.to_owned(), named)
}

/// True for a setting that the views read, so that a change of it neither waits for a reset nor reaches the run. Of a run
/// that has finished these are the arguments of its questions too: only views ask it.
pub fn acts_in_views(page: &Page, knob: &Knob) -> bool {
    match knob.applies {
        Applies::InViews => true,
        Applies::Live => {
            let has_finished = page.mirror().is_some_and(|mirror| mirror.state == Some(RunState::Finished));
            let group = &page.controls.question_group;
            has_finished && !group.is_empty() && knob.group() == group
        }
        Applies::AtReset => false,
    }
}

/// True if a change of this setting acts at once, in the run or in the views. Before a run has begun every live setting does.
pub fn acts_now(page: &Page, knob: &Knob) -> bool {
    let has_begun = || page.run.as_ref().is_some_and(|run| !run.is_untouched());
    knob.applies != Applies::AtReset && (acts_in_views(page, knob) || page.reaches_run() || !has_begun())
}

/// True for a setting with a control in the panel: not in the top bar, of some effect, and not hidden by the link.
pub fn is_in_panel(page: &Page, knob: &Knob) -> bool {
    let is_in_top_bar = [RunSettings::device.name, RunSettings::threads.name].contains(&knob.key);
    !is_in_top_bar && knob.has_effect(&page.config) && !page.restrictions.hides(knob.key)
}

/// The settings in the panel that differ from the preset.
pub fn changed_keys(page: &Page) -> Vec<&'static str> {
    page.knobs.iter().filter(|knob| is_in_panel(page, knob) && page.differs(knob.key)).map(|knob| knob.key).collect()
}

/// Gives these settings the preset's values, as one undo step; a live one reaches the run. Locked ones stay.
pub fn restore(page: &mut Page, keys: &[String], now: f64) {
    let before = page.config.clone();
    for key in keys.iter().filter(|key| !page.restrictions.locks(key)) {
        if let Some(value) = page.preset.get(key) {
            page.config.replace(key, value.clone());
            page.drafts.remove(key);
            page.refused.remove(key);
        }
    }
    if page.config.changed_keys(&before).is_empty() {
        return;
    }
    page.after_change(&before, now);
    note_config(page, before, "back to the preset", "back to the preset".into(), now);
}

/// Lets every control be moved and shown. The answers of the lesson stay hidden.
pub fn unlock(page: &mut Page) {
    let locked = std::mem::take(&mut page.restrictions.locked);
    page.restrictions.hidden.clear();
    if !locked.is_empty() {
        page.refused.retain(|_, words| words != LOCKED);
    }
}

/// How many controls the page's link locks and hides: "The link locks 3 controls and hides 2."; `None` without any.
pub fn restrictions_sentence(page: &Page) -> Option<String> {
    let restrictions = &page.restrictions;
    let keys = page.knobs.iter().map(|knob| knob.key).chain([SEED]);
    let (hidden, shown): (Vec<&str>, Vec<&str>) = keys.partition(|key| restrictions.hides(key));
    let locked = shown.into_iter().filter(|key| restrictions.locks(key)).count();
    let controls = |n: usize| counted(n, "control");
    let counted = match (locked, hidden.len()) {
        (0, 0) => None,
        (locked, 0) => Some(format!("The link locks {}.", controls(locked))),
        (0, hidden) => Some(format!("The link hides {}.", controls(hidden))),
        (locked, hidden) => Some(format!("The link locks {} and hides {hidden}.", controls(locked))),
    };
    // the controls that views have of their own
    let verb = match (restrictions.hides(VIEW_CONTROLS), restrictions.locks(VIEW_CONTROLS)) {
        (true, _) => Some("hides"),
        (false, true) => Some("locks"),
        (false, false) => None,
    };
    let views = verb.map(|verb| format!("The link {verb} the controls in the views."));
    let all: Vec<String> = counted.into_iter().chain(views).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::bounded;

    use super::*;
    use crate::{
        labs::find,
        telemetry::{Event, RunHandle, RunInfo},
        ui::page::{UndoKind, undo},
    };

    /// Its views ask with these settings, and the schedule of a run that trains does too.
    #[test]
    fn arguments_of_questions_act_in_the_views_of_a_finished_run() {
        let lab = find("neuron_graph").unwrap();
        let config = lab.config(None).unwrap();
        let mut page = Page::new(lab, config.clone());
        let (commands, sent) = bounded(8);
        let handle = RunHandle { commands, inbox: Default::default() };
        let mut run = Run::new(handle, Mirror::default(), RunOrigin::Own, &Context::default());
        let info = RunInfo { lab: lab.id.into(), config: config.clone(), total_steps: 9, ..RunInfo::default() };
        run.mirror.apply(Event::Started(info.into()));
        run.mirror.report(0, 9, &[]);
        (page.run, page.launched) = (Some(run), Some(config));
        let acts_now = |page: &Page, key: &str| acts_now(page, page.knobs.iter().find(|knob| knob.key == key).unwrap());
        let state = |page: &mut Page, state| page.run.as_mut().unwrap().mirror.apply(Event::State(state));

        state(&mut page, RunState::Paused);
        assert!(acts_now(&page, "graph.edges") && acts_now(&page, "train.lr") && !acts_now(&page, "model.neurons"));
        page.change("graph.edges", Value::Int(9000), 1.0);
        let is_sent =
            sent.try_iter().any(|command| matches!(command, Command::Set { key, .. } if key == "graph.edges"));
        assert!(is_sent && page.pending().is_empty(), "what is measured from then on has it too");

        state(&mut page, RunState::Finished);
        assert!(acts_now(&page, "graph.edges") && !acts_now(&page, "train.lr"));
        page.change("graph.edges", Value::Int(8000), 3.0);
        assert!(page.pending().is_empty(), "the views follow");
        page.change("train.lr", Value::Float(5e-3), 5.0);
        assert_eq!(page.pending(), ["train.lr"]);
        assert_eq!(sent.try_iter().count(), 0);

        state(&mut page, RunState::Stopped);
        assert!(!acts_now(&page, "graph.edges"), "nobody answers");
    }

    fn page() -> Page {
        let lab = find("fast_slow").unwrap();
        Page::new(lab, lab.config(None).unwrap())
    }

    #[test]
    fn a_setting_returned_to_its_value_adds_no_undo_step() {
        let mut page = page();
        let lr = page.config.get("train.lr").cloned().unwrap();
        page.change("model.pool", Value::Int(2), 0.0);
        // this holds the step open, as a focused text field or a held slider does
        page.history.hold(Some(1.0));
        page.change("train.lr", Value::Float(0.5), 2.0);
        page.change("train.lr", Value::Float(0.25), 5.0);
        let before = page.history.next_undo().map(str::to_owned);
        page.change("train.lr", lr.clone(), 9.0);
        assert_ne!(page.history.next_undo().map(str::to_owned), before, "it was put back");
        page.change("train.lr", Value::Float(0.5), 9.1);
        assert_eq!(page.history.next_undo().map(str::to_owned), before);
        undo::step_back(&mut page, UndoKind::Undo, 15.0);
        assert_eq!((page.config.get("train.lr"), page.config.get("model.pool")), (Some(&lr), Some(&Value::Int(2))));
    }

    #[test]
    fn a_locked_setting_is_changed_by_nothing() {
        let mut page = page();
        page.change("train.lr", Value::Float(0.5), 0.0);
        page.restrictions.locked = vec!["train".into()];
        let lr = |page: &Page| page.config.get("train.lr").and_then(Value::as_f64);
        page.change("train.lr", Value::Float(0.25), 5.0);
        assert_eq!((lr(&page), page.refused["train.lr"].as_str()), (Some(0.5), LOCKED));
        restore(&mut page, &["train.lr".into()], 10.0);
        undo::step_back(&mut page, UndoKind::Undo, 15.0);
        assert_eq!(lr(&page), Some(0.5), "neither by undo");
        let mut preset = page.lab.config(Some("fast_slow_needed")).unwrap();
        page.restrictions.locked.push(SEED.into());
        let seed = page.config.seed;
        preset.seed = seed + 1;
        page.take_config(preset, 20.0);
        page.set_seed(seed + 2, 22.0);
        assert_eq!(page.config.seed, seed);
        assert_eq!((lr(&page), page.config.preset.as_str()), (Some(0.5), "fast_slow_needed"), "nor by a preset");
        unlock(&mut page);
        assert!(page.refused.is_empty());
        page.change("train.lr", Value::Float(0.25), 25.0);
        assert_eq!(lr(&page), Some(0.25));
    }

    #[test]
    fn restricted_controls_are_counted_in_words() {
        let mut page = page();
        assert_eq!(restrictions_sentence(&page), None);
        page.restrictions.locked = vec!["train.lr".into(), "model.pool".into()];
        assert_eq!(restrictions_sentence(&page).as_deref(), Some("The link locks 2 controls."));
        page.restrictions.hidden = vec!["train.lr".into()];
        page.restrictions.locked.push(SEED.into());
        assert_eq!(restrictions_sentence(&page).as_deref(), Some("The link locks 2 controls and hides 1."));
        page.restrictions.locked.pop();
        assert_eq!(restrictions_sentence(&page).as_deref(), Some("The link locks 1 control and hides 1."));
        let mut views_alone = |locked: &[&str], hidden: &[&str]| {
            let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
            (page.restrictions.locked, page.restrictions.hidden) = (owned(locked), owned(hidden));
            restrictions_sentence(&page)
        };
        let words = views_alone(&[VIEW_CONTROLS], &[]);
        assert_eq!(words.as_deref(), Some("The link locks the controls in the views."));
        let words = views_alone(&[VIEW_CONTROLS, SEED], &[VIEW_CONTROLS]);
        assert_eq!(words.as_deref(), Some("The link locks 1 control. The link hides the controls in the views."));
    }
}
