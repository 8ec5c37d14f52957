//! The data that outlives the window: the persisted session, and the one string that reproduces a page.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize};

use super::tiling::Layout;
use crate::{
    config::{Config, Knob},
    labs::{Lab, restrictions::Restrictions},
};

const STORAGE_KEY: &str = "orrery-session";
/// The prefix of a copied session.
pub const PREFIX: &str = "orrery1:";

/// The open page of the right panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Tab {
    #[default]
    Lesson,
    Inspector,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LabSession {
    pub config: Option<Config>,
    pub layout: Option<Layout>,
    /// The restrictions of the link that the page was opened with.
    pub restrictions: Restrictions,
    pub lesson: LessonProgress,
}

/// The reader's progress through the lesson of a lab. Steps are counted from 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LessonProgress {
    pub step: Option<usize>,
    /// Only the controls that the step needs are shown.
    pub is_focused: bool,
    /// The guesses that were drawn, by step.
    #[serde(deserialize_with = "read_guesses")]
    pub guesses: BTreeMap<usize, Vec<[f64; 2]>>,
    /// The guesses that were typed, by step.
    pub written: BTreeMap<usize, String>,
    /// Steps whose answer was asked for without a guess.
    pub asked: BTreeSet<usize>,
}

/// Leaves out a guess with a point that is not a number, which JSON has as `null`: the rest of the session is read.
fn read_guesses<'de, D: Deserializer<'de>>(stored: D) -> Result<BTreeMap<usize, Vec<[f64; 2]>>, D::Error> {
    let all = BTreeMap::<usize, Vec<[Option<f64>; 2]>>::deserialize(stored)?;
    let numbers = |points: Vec<[Option<f64>; 2]>| -> Option<Vec<[f64; 2]>> {
        points.into_iter().map(|[x, y]| Some([x?, y?])).collect()
    };
    Ok(all.into_iter().filter_map(|(step, points)| Some((step, numbers(points)?))).collect())
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    pub dark: bool,
    /// Scale of everything outside presenter mode.
    pub zoom: f32,
    pub is_presenting: bool,
    /// Reduced motion.
    pub still: bool,
    pub controls_open: bool,
    /// Every setting of a lab has its control in the panel, and not the essential ones alone.
    pub all_settings: bool,
    pub inspector_open: bool,
    /// The right panel takes the place of the controls where a window has no room for both.
    pub inspector_first: bool,
    pub tab: Tab,
    /// The lab that was open; none: home.
    pub lab: Option<String>,
    pub labs: BTreeMap<String, LabSession>,
    /// The folders of interrupted runs that pages no longer mention, because the user dismissed them.
    pub dismissed_runs: Vec<String>,
}

/// The maximum number of dismissed runs that are remembered.
const MAX_DISMISSED: usize = 100;

impl Default for Session {
    fn default() -> Self {
        Self {
            dark: true,
            zoom: 1.0,
            is_presenting: false,
            still: false,
            controls_open: true,
            all_settings: false,
            inspector_open: true,
            inspector_first: false,
            tab: Tab::default(),
            lab: None,
            labs: BTreeMap::new(),
            dismissed_runs: vec![],
        }
    }
}

pub const MIN_ZOOM: f32 = 0.5;
pub const MAX_ZOOM: f32 = 3.0;
/// The factor by which presenter mode enlarges everything.
const PRESENTER_FACTOR: f32 = 1.5;

/// Width from which a window has room for both side panels beside the tiles, points.
const BOTH_PANELS: f32 = 1140.0;

impl Session {
    pub fn scale(&self) -> f32 {
        self.zoom.clamp(MIN_ZOOM, MAX_ZOOM) * self.presenter_factor()
    }

    fn presenter_factor(&self) -> f32 {
        if self.is_presenting { PRESENTER_FACTOR } else { 1.0 }
    }

    /// Takes over the scale that a frame was drawn at: the keys of egui change it without an action.
    pub fn record_scale(&mut self, scale: f32) {
        if (scale - self.scale()).abs() > 1e-4 {
            self.zoom = (scale / self.presenter_factor()).clamp(MIN_ZOOM, MAX_ZOOM);
        }
    }

    /// The visibility of the controls and the right panel: one gives way to the other in a window that is too
    /// narrow.
    pub fn side_panels(&self, width: f32) -> (bool, bool) {
        let has_room = width >= BOTH_PANELS || !(self.controls_open && self.inspector_open);
        let [controls, inspector] = [!self.inspector_first, self.inspector_first].map(|is_first| is_first || has_room);
        (self.controls_open && controls, self.inspector_open && inspector)
    }

    /// Folds the controls, or opens them, in a narrow window in place of the right panel.
    pub fn fold_controls(&mut self, width: f32) {
        self.controls_open = !self.side_panels(width).0;
        self.inspector_first &= !self.controls_open;
    }

    /// Folds the right panel, or opens it, in a narrow window in place of the controls.
    pub fn fold_inspector(&mut self, width: f32) {
        self.inspector_open = !self.side_panels(width).1;
        self.inspector_first = self.inspector_open;
    }

    /// Opens the controls, in a narrow window in place of the right panel.
    pub fn show_controls(&mut self) {
        (self.controls_open, self.inspector_first) = (true, false);
    }

    /// Opens the lesson, in a narrow window in place of the controls, which open beside it in a wide one.
    pub fn show_lesson(&mut self) {
        (self.controls_open, self.inspector_open, self.inspector_first) = (true, true, true);
        self.tab = Tab::Lesson;
    }

    /// True if the right panel is open at the lesson.
    pub fn is_lesson_open(&self) -> bool {
        self.inspector_open && self.tab == Tab::Lesson
    }

    /// No page speaks of this interrupted run again.
    pub fn dismiss_run(&mut self, folder: &Path) {
        self.dismissed_runs.push(folder.display().to_string());
        let old = self.dismissed_runs.len().saturating_sub(MAX_DISMISSED);
        self.dismissed_runs.drain(..old);
    }

    pub fn is_dismissed(&self, folder: &Path) -> bool {
        self.dismissed_runs.contains(&folder.display().to_string())
    }

    /// The last session, or the default when there is none or it cannot be read.
    pub fn load(storage: &dyn eframe::Storage) -> Self {
        storage.get_string(STORAGE_KEY).and_then(|s| serde_json::from_str(&s).ok()).unwrap_or_default()
    }

    pub fn save(&self, storage: &mut dyn eframe::Storage) {
        if let Ok(text) = serde_json::to_string(self) {
            storage.set_string(STORAGE_KEY, text);
        }
    }
}

/// Settings, seed and layout of a page with its restrictions, to be copied as one string.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SharedSession {
    pub config: Config,
    #[serde(default)]
    pub layout: Option<Layout>,
    /// The restrictions of the page that it was copied from: pasted, it is as restricted.
    #[serde(default)]
    pub restrictions: Restrictions,
}

impl From<Config> for SharedSession {
    /// These settings in the layout of the page that takes them, unrestricted.
    fn from(config: Config) -> Self {
        Self { config, layout: None, restrictions: Restrictions::default() }
    }
}

impl SharedSession {
    pub fn to_text(&self) -> Result<String, String> {
        let json = serde_json::to_vec(self).map_err(|e| format!("the session could not be written: {e}"))?;
        Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(json)))
    }

    /// Reads a copied session. The error says what is wrong and what to do.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let broken =
            "the pasted session is damaged; copy the whole string, from `orrery1:` to its end, and paste again";
        let body = text.trim().strip_prefix(PREFIX).ok_or("a copied session begins with `orrery1:`; this does not")?;
        let body: String = body.chars().filter(|c| !c.is_whitespace()).collect();
        let json = URL_SAFE_NO_PAD.decode(body).map_err(|_| broken.to_owned())?;
        serde_json::from_slice(&json).map_err(|_| broken.to_owned())
    }
}

/// The settings of the preset that a config began with.
pub fn preset_of(lab: &Lab, knobs: &[Knob], config: &Config) -> Config {
    let id = (!config.preset.is_empty()).then_some(config.preset.as_str());
    lab.config(id).or_else(|_| lab.config(None)).unwrap_or_else(|_| Config::defaults(lab.id, knobs))
}

/// A saved config read with today's knobs: what no longer fits keeps the preset's value and is named.
pub fn adopt(lab: &Lab, knobs: &[Knob], saved: &Config) -> (Config, Vec<String>) {
    fit_config(preset_of(lab, knobs, saved), knobs, saved)
}

/// The config of a recorded run read with today's knobs, so that it can be run again: a setting that it lacks has
/// its default, as when it was recorded; one that no longer fits has its default too, and is named.
pub fn adopt_recorded(lab: &Lab, knobs: &[Knob], recorded: &Config) -> (Config, Vec<String>) {
    let mut base = Config::defaults(lab.id, knobs);
    base.preset.clone_from(&recorded.preset);
    let (config, complaints) = fit_config(base, knobs, recorded);
    let words = |e: String| format!("This run was recorded with a setting that a new run (R) cannot take: {e}");
    (config, complaints.into_iter().map(words).collect())
}

/// Applies `saved` to `base`; also returns a complaint for each setting that does not fit.
fn fit_config(mut base: Config, knobs: &[Knob], saved: &Config) -> (Config, Vec<String>) {
    base.seed = saved.seed;
    let mut complaints = vec![];
    for (key, value) in saved.iter() {
        if let Err(e) = base.set(knobs, key, value.clone()) {
            complaints.push(e.to_string());
        }
    }
    (base, complaints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Range, Value};

    /// A setting that no lab has, of a number between 0 and 1.
    fn number_knob(key: &'static str) -> Knob {
        Knob::new(key, "Gone", Range::Float { min: 0.0, max: 1.0, log: false }, Value::Float(0.25))
    }

    #[test]
    fn a_recorded_setting_that_is_gone_is_named() {
        let lab = &crate::labs::LABS[0];
        let known = (lab.knobs)();
        let mut knobs = known.clone();
        knobs.push(number_knob("model.gone"));
        let mut recorded = Config::defaults(lab.id, &knobs);
        recorded.preset = "of then".into();
        recorded.set_text(&knobs, "train.steps", "17").unwrap();
        recorded.seed = 3;
        assert!((lab.plan)(&recorded).is_err());
        let (config, complaints) = adopt_recorded(lab, &known, &recorded);
        assert!(matches!(&complaints[..], [words] if words.contains("model.gone")), "{complaints:?}");
        assert!((lab.plan)(&config).is_ok());
        assert_eq!((config.seed, config.preset.as_str()), (3, "of then"));
        assert_eq!(config.get("train.steps").map(ToString::to_string), Some("17".into()));
    }

    #[test]
    fn a_narrow_window_has_the_panel_that_was_opened_last() {
        let [wide, narrow] = [BOTH_PANELS, BOTH_PANELS - 1.0];
        let mut session = Session::default();
        assert_eq!(session.side_panels(narrow), (true, false));
        session.fold_inspector(narrow);
        assert_eq!((session.side_panels(narrow), session.side_panels(wide)), ((false, true), (true, true)));
        session.fold_inspector(narrow);
        assert_eq!(session.side_panels(narrow), (true, false), "the controls are there again");
        session.show_lesson();
        assert_eq!((session.side_panels(narrow), session.side_panels(wide)), ((false, true), (true, true)));
        session.fold_controls(narrow);
        assert_eq!(session.side_panels(narrow), (true, false));
        session.fold_controls(narrow);
        assert_eq!(session.side_panels(narrow), (false, true));
        session.show_controls();
        assert_eq!((session.side_panels(narrow), session.side_panels(wide)), ((true, false), (true, true)));
    }

    #[derive(Default)]
    struct Memory(BTreeMap<String, String>);

    impl eframe::Storage for Memory {
        fn get_string(&self, key: &str) -> Option<String> {
            self.0.get(key).cloned()
        }

        fn set_string(&mut self, key: &str, value: String) {
            self.0.insert(key.to_owned(), value);
        }

        fn remove_string(&mut self, key: &str) {
            self.0.remove(key);
        }

        fn flush(&mut self) {}
    }

    #[test]
    fn a_session_comes_back_and_a_damaged_one_is_forgotten() {
        let mut storage = Memory::default();
        let knobs = [number_knob("a.b")];
        let mut session =
            Session { dark: false, zoom: 1.3, all_settings: true, lab: Some("x".into()), ..Session::default() };
        let config = Some(Config::defaults("x", &knobs));
        let lesson = LessonProgress {
            step: Some(1),
            guesses: BTreeMap::from([(1, vec![[0.0, 0.25], [100.0, 0.5]])]),
            written: BTreeMap::from([(2, "it opens".to_owned())]),
            asked: BTreeSet::from([0]),
            ..LessonProgress::default()
        };
        let page = LabSession { config: config.clone(), lesson: lesson.clone(), ..LabSession::default() };
        session.labs.insert("x".into(), page);
        session.save(&mut storage);
        let back = Session::load(&storage);
        assert!(!back.dark && back.all_settings && back.zoom == 1.3 && back.lab.as_deref() == Some("x"));
        assert_eq!((&back.labs["x"].config, &back.labs["x"].lesson), (&config, &lesson));
        eframe::Storage::set_string(&mut storage, STORAGE_KEY, "{ half".into());
        assert!(Session::load(&storage).lab.is_none());
    }

    #[test]
    fn a_guess_that_is_not_a_number_is_left_out_alone() {
        let guesses = BTreeMap::from([(0, vec![[0.0, 0.5], [1.0, f64::NAN]]), (1, vec![[0.0, 0.25]])]);
        let lesson = LessonProgress { step: Some(1), guesses, ..LessonProgress::default() };
        let mut session = Session { lab: Some("x".into()), ..Session::default() };
        session.labs.insert("x".into(), LabSession { lesson, ..LabSession::default() });
        let mut storage = Memory::default();
        session.save(&mut storage);
        let back = Session::load(&storage);
        assert_eq!(back.lab.as_deref(), Some("x"), "the session is read");
        let lesson = &back.labs["x"].lesson;
        assert_eq!((lesson.step, &lesson.guesses), (Some(1), &BTreeMap::from([(1, vec![[0.0, 0.25]])])));
    }

    #[test]
    fn a_session_saved_in_presenter_mode_keeps_its_scale() {
        for presenting in [[true, true], [false, true], [true, false]] {
            let mut session = Session { zoom: 1.2, ..Session::default() };
            for is_presenting in presenting {
                session.is_presenting = is_presenting;
                session.record_scale(session.scale());
            }
            let mut storage = Memory::default();
            session.save(&mut storage);
            let saved = Session::load(&storage);
            assert_eq!((saved.zoom, saved.is_presenting), (1.2, presenting[1]));
        }
        let mut session = Session { is_presenting: true, ..Session::default() };
        session.record_scale(1.8);
        assert!((session.zoom - 1.2).abs() < 1e-6, "a key that enlarges in presenter mode is kept without its factor");
    }

    #[test]
    fn a_string_copied_from_an_older_window_is_read() {
        // a mail may have broken it into lines
        let copied = " orrery1:eyJjb25maWciOnsibGFiIjoieCIsInByZXNldCI6IndpZGUiLCJzZWVkIjozLCJ2
                      YWx1ZXMiOnsiYS5iIjowLjUsImEub24iOnRydWV9fSwibGF5b3V0IjpudWxsfQ";
        let SharedSession { config, layout, restrictions } = SharedSession::from_text(copied).unwrap();
        assert_eq!((config.lab.as_str(), config.preset.as_str(), config.seed), ("x", "wide", 3));
        let values: Vec<_> = config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        assert!(values == ["a.b = 0.5", "a.on = true"] && layout.is_none(), "{values:?}");
        assert_eq!(restrictions, Restrictions::default());
    }

    #[test]
    fn damage_is_described_in_words() {
        assert!(SharedSession::from_text("hello").unwrap_err().contains("orrery1:"));
        assert!(SharedSession::from_text("orrery1:abc!").unwrap_err().contains("damaged"));
        assert!(SharedSession::from_text("orrery1:YWJj").unwrap_err().contains("damaged"));
    }
}
