//! What outlives the window: the persisted session, and the one string that reproduces a page.
//! Plain data; it does not draw.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::tiling::Layout;
use crate::{
    config::{Config, Knob},
    labs::Lab,
};

/// Where eframe's storage keeps it.
const KEY: &str = "orrery-session";
/// What a copied session begins with.
pub const PREFIX: &str = "orrery1:";

/// Which page of the right panel is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Tab {
    #[default]
    Lesson,
    Inspector,
}

/// What one lab's page looked like.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LabSession {
    pub config: Option<Config>,
    pub layout: Option<Layout>,
}

/// The persisted session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    pub dark: bool,
    /// Scale of everything, for projectors.
    pub zoom: f32,
    /// Reduced motion.
    pub still: bool,
    pub controls_open: bool,
    pub inspector_open: bool,
    pub tab: Tab,
    /// The lab that was open; none: home.
    pub lab: Option<String>,
    pub labs: BTreeMap<String, LabSession>,
}

impl Default for Session {
    fn default() -> Self {
        Self {
            dark: true,
            zoom: 1.0,
            still: false,
            controls_open: true,
            inspector_open: true,
            tab: Tab::default(),
            lab: None,
            labs: BTreeMap::new(),
        }
    }
}

impl Session {
    /// The last session, or the default when there is none or it cannot be read.
    pub fn load(storage: &dyn eframe::Storage) -> Self {
        storage.get_string(KEY).and_then(|s| serde_json::from_str(&s).ok()).unwrap_or_default()
    }

    pub fn save(&self, storage: &mut dyn eframe::Storage) {
        if let Ok(text) = serde_json::to_string(self) {
            storage.set_string(KEY, text);
        }
    }
}

/// Settings, seed and layout of a page, to be copied as one string.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shared {
    pub config: Config,
    #[serde(default)]
    pub layout: Option<Layout>,
}

impl Shared {
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

/// A saved config read with today's knobs: what no longer fits is left at the preset's value and
/// named.
pub fn adopt(lab: &Lab, knobs: &[Knob], saved: &Config) -> (Config, Vec<String>) {
    let preset = (!saved.preset.is_empty()).then_some(saved.preset.as_str());
    let mut config =
        lab.config(preset).or_else(|_| lab.config(None)).unwrap_or_else(|_| Config::defaults(lab.id, knobs));
    config.seed = saved.seed;
    let mut complaints = vec![];
    for (key, value) in saved.iter() {
        if let Err(e) = config.set(knobs, key, value.clone()) {
            complaints.push(e.to_string());
        }
    }
    (config, complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_page_survives_the_string() {
        let knobs = [Knob::float("a.b", "B", 0.25, 0.0, 1.0)];
        let mut config = Config::defaults("x", &knobs);
        config.seed = 11;
        config.set_text(&knobs, "a.b", "0.1").unwrap();
        let text = Shared { config: config.clone(), layout: None }.to_text().unwrap();
        assert!(text.starts_with(PREFIX));
        let wrapped = format!("  {}\n{}\n", &text[..20], &text[20..]);
        assert_eq!(Shared::from_text(&wrapped).unwrap().config, config);
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
        let knobs = [Knob::float("a.b", "B", 0.25, 0.0, 1.0)];
        let mut session = Session { dark: false, zoom: 1.3, lab: Some("x".into()), ..Session::default() };
        let config = Some(Config::defaults("x", &knobs));
        session.labs.insert("x".into(), LabSession { config: config.clone(), layout: None });
        session.save(&mut storage);
        let back = Session::load(&storage);
        assert!(!back.dark && back.zoom == 1.3 && back.lab.as_deref() == Some("x"));
        assert_eq!(back.labs["x"].config, config);
        eframe::Storage::set_string(&mut storage, KEY, "{ half".into());
        assert!(Session::load(&storage).lab.is_none());
    }

    #[test]
    fn damage_is_told_in_words() {
        assert!(Shared::from_text("hello").unwrap_err().contains("orrery1:"));
        assert!(Shared::from_text("orrery1:abc!").unwrap_err().contains("damaged"));
        assert!(Shared::from_text("orrery1:YWJj").unwrap_err().contains("damaged"));
    }
}
