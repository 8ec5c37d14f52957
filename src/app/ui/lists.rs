//! The labs and views that a window offers. Tests pass their own.

use super::{view::ViewEntry, views::VIEWS};
use crate::labs::{LABS, LABS_WITHOUT_OWN_RUNS, Lab};

#[derive(Clone, Copy)]
pub struct Lists {
    pub labs: &'static [&'static Lab],
    pub views: &'static [ViewEntry],
}

impl Default for Lists {
    fn default() -> Self {
        Self { labs: LABS, views: VIEWS }
    }
}

impl Lists {
    /// The lab with this id: one that a run can be begun in, or one that makes none of its own.
    pub fn lab(&self, id: &str) -> Option<&'static Lab> {
        self.labs.iter().copied().chain(LABS_WITHOUT_OWN_RUNS).find(|l| l.id == id)
    }

    /// The title of a lab's preset, or its id where the lab has no such preset.
    pub fn preset_title<'a>(&self, lab: &str, preset: &'a str) -> &'a str {
        self.lab(lab).and_then(|lab| lab.preset(preset)).map_or(preset, |p| p.title)
    }

    pub fn view(&self, id: &str) -> Option<&'static ViewEntry> {
        self.views.iter().find(|v| v.id == id)
    }
}
