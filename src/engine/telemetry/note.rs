//! A person's notes on a run: a name, a text, and if it is pinned or archived.

use serde::{Deserialize, Serialize};

/// A note beside the run's record, which it does not change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunNote {
    /// The name of the run; empty where it goes by its folder.
    pub name: String,
    /// The text of the note.
    pub note: String,
    /// The run is listed above all others.
    pub pinned: bool,
    /// The run is listed only on request.
    pub archived: bool,
}

impl RunNote {
    /// True if nothing was set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
