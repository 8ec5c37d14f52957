//! The actions on the settings of the page in front.

use crate::config::Value;

#[derive(Debug, Clone, PartialEq)]
pub enum SettingAction {
    Change(String, Value),
    Seed(u64),
    /// Takes every setting of a preset, by its id.
    Preset(String),
    /// Gives the setting with this key the preset's value.
    Restore(String),
    /// Gives the settings with these keys the preset's values, as one step.
    RestoreAll(Vec<String>),
    /// Lets the controls be moved and shown that the link that opened the page locks or hides.
    Unlock,
    /// Shows the control of the setting with this key.
    Find(&'static str),
}
