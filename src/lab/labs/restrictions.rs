//! The restrictions that a link puts on the page that it opens, for teaching: controls that are shown but cannot be moved,
//! controls that are not shown, and answers of the lesson that are hidden. In a link they are `lock=KEY,KEY`,
//! `hide=KEY,KEY` and `answers=hidden`; in place of a setting's key a group of settings may be given, such as `train`,
//! or `seed`, or `view_controls` for the controls that views have of their own.

use serde::{Deserialize, Serialize};

use super::Lab;
use crate::config::{Config, Knob, did_you_mean};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Restrictions {
    /// Keys and groups of the settings whose controls cannot be moved.
    pub locked: Vec<String>,
    /// Keys and groups of the settings whose controls are not shown.
    pub hidden: Vec<String>,
    /// The answers of the lesson are hidden, whatever the reader guesses.
    pub hides_answers: bool,
    /// The step of the lesson, from 0, that the link opens: its own settings pass the locks.
    pub opened_step: Option<usize>,
}

/// The restrictions of a page that no link restricts.
pub static UNRESTRICTED: Restrictions =
    Restrictions { locked: vec![], hidden: vec![], hides_answers: false, opened_step: None };

/// The name of the run's seed, which is not a setting of a lab, in a link.
pub const SEED: &str = "seed";

/// The name of the controls that views have of their own, in a link.
pub const VIEW_CONTROLS: &str = "view_controls";

const LOCK_KEY: &str = "lock";
const HIDE_KEY: &str = "hide";
const ANSWERS_KEY: &str = "answers";
/// The only value that [`ANSWERS_KEY`] may have.
const HIDDEN_VALUE: &str = "hidden";

impl Restrictions {
    /// Takes one `name=value` of a link. False: it is not a restriction. Errors: the name does not take this value.
    pub fn set_pair(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let keys = || value.split(',').map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned).collect();
        match name {
            LOCK_KEY => self.locked = keys(),
            HIDE_KEY => self.hidden = keys(),
            ANSWERS_KEY if value == HIDDEN_VALUE => self.hides_answers = true,
            ANSWERS_KEY => return Err(format!("`{ANSWERS_KEY}` = `{value}`: it takes `{HIDDEN_VALUE}` alone")),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `name=value` of each restriction, in the order of a link.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let keys = [(LOCK_KEY, &self.locked), (HIDE_KEY, &self.hidden)];
        let mut pairs: Vec<_> =
            keys.into_iter().filter(|(_, keys)| !keys.is_empty()).map(|(name, keys)| (name, keys.join(","))).collect();
        pairs.extend(self.hides_answers.then(|| (ANSWERS_KEY, HIDDEN_VALUE.to_owned())));
        pairs
    }

    /// Looks the names of settings and groups up in the lab that the link opens. Errors: the lab has neither a setting
    /// nor a group of one of the names; the words say which one is near.
    pub fn check(&self, lab: &Lab) -> Result<(), String> {
        let knobs = (lab.knobs)();
        let groups = || lab.groups.iter().map(|(group, _)| *group);
        let names = || knobs.iter().map(|k| k.key).chain(groups()).chain([SEED, VIEW_CONTROLS]);
        let unknown = self.locked.iter().chain(&self.hidden).find(|given| !names().any(|name| name == given.as_str()));
        let Some(unknown) = unknown else { return Ok(()) };
        let near = did_you_mean(unknown, names());
        Err(format!("the lab `{}` has no setting and no group of settings `{unknown}`{near}", lab.id))
    }

    /// True if the control of the setting with this key cannot be moved.
    pub fn locks(&self, key: &str) -> bool {
        covers(&self.locked, key)
    }

    /// True if the control of the setting with this key is not shown.
    pub fn hides(&self, key: &str) -> bool {
        covers(&self.hidden, key)
    }

    /// Gives the locked settings, and a locked seed, the values that they have in another config.
    pub fn keep_locked(&self, knobs: &[Knob], config: &mut Config, values: &Config) {
        if self.locks(SEED) {
            config.seed = values.seed;
        }
        for knob in knobs.iter().filter(|k| self.locks(k.key)) {
            if let Some(value) = values.get(knob.key) {
                config.replace(knob.key, value.clone());
            }
        }
    }
}

/// True if one of the given names is the key or its group.
fn covers(given: &[String], key: &str) -> bool {
    let group = key.split_once('.').map(|(group, _)| group);
    given.iter().any(|name| name == key || Some(name.as_str()) == group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labs::find;

    fn parse_pairs(pairs: &[(&str, &str)]) -> Result<Restrictions, String> {
        let mut all = Restrictions::default();
        for (name, value) in pairs {
            all.set_pair(name, value)?;
        }
        Ok(all)
    }

    #[test]
    fn a_group_stands_for_its_settings() {
        let all = parse_pairs(&[("lock", "train,model.pool"), ("hide", "run")]).unwrap();
        assert!(all.locks("train.lr") && all.locks("model.pool") && all.hides("run.eval_every"));
        assert!(!all.locks("model.d_model") && !all.locks("training.x") && !all.hides("train.lr"));
        assert_eq!(all.check(find("fast_slow").unwrap()), Ok(()));
    }

    #[test]
    fn pairs_are_taken_and_given_back() {
        let pairs = [("lock", "train"), ("hide", "run,probe"), ("answers", "hidden")];
        let given = parse_pairs(&pairs).unwrap().pairs();
        assert_eq!(given.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>(), pairs);
        assert_eq!(Restrictions::default().set_pair("train.lr", "1"), Ok(false));
        assert!(parse_pairs(&[("answers", "shown")]).unwrap_err().contains("takes `hidden` alone"));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        let words = parse_pairs(&[("hide", "train.lrr")]).unwrap().check(find("fast_slow").unwrap()).unwrap_err();
        assert!(words.contains("`train.lrr`") && words.contains("did you mean `train.lr`"), "{words}");
    }

    #[test]
    fn locked_settings_keep_their_values() {
        let lab = find("fast_slow").unwrap();
        let knobs = (lab.knobs)();
        let before = lab.config(Some("fast_slow")).unwrap();
        let mut config = lab.config(Some("fast_slow_needed")).unwrap();
        config.seed = before.seed + 1;
        let seeded = parse_pairs(&[("lock", "seed")]).unwrap();
        assert_eq!(seeded.check(lab), Ok(()));
        parse_pairs(&[("lock", "train.lr,model")]).unwrap().keep_locked(&knobs, &mut config, &before);
        assert_ne!(config.seed, before.seed);
        seeded.keep_locked(&knobs, &mut config, &before);
        assert_eq!(config.seed, before.seed);
        assert_eq!(config.get("train.lr"), before.get("train.lr"));
        assert_eq!(config.get("model.fast_window"), before.get("model.fast_window"));
        assert_ne!(config.get("train.batch"), before.get("train.batch"));
    }
}
