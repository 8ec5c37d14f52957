//! The actions on the settings of the page in front.

use crate::config::Value;

/// Changes settings.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingAction {
    /// Gives the setting with this key a value.
    Change(String, Value),
    Seed(u64),
    /// Takes every setting of a preset, by its id.
    Preset(String),
    /// Gives the setting with this key the preset's value.
    Restore(String),
    /// Shows the control of the setting with this key.
    Find(&'static str),
}
