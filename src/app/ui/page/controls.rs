//! The controls of a page: which settings differ from the preset, and which the page's link keeps from being changed.

use std::collections::HashMap;

use super::{Page, undo::note_config};
use crate::{
    config::{Knob, counted},
    labs::{
        RunSettings,
        restrictions::{SEED, VIEW_CONTROLS},
    },
    ui::view::LOCKED,
};

#[derive(Debug, Default)]
pub struct ControlsState {
    /// The settings that differ from the preset, as of the last frame without a pressed button: a drag moves nothing.
    pub changed: Vec<&'static str>,
    /// The settings whose controls are in visible tiles, each with the id of its view.
    pub in_tiles: HashMap<&'static str, String>,
    /// Every setting is shown because the user searched for one of them.
    pub is_unfolded: bool,
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
    use super::*;
    use crate::{
        config::Value,
        labs::find,
        ui::page::{UndoKind, undo},
    };

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
