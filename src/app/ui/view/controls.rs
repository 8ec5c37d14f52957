//! Controls in a view, shown and enabled as the page's link allows.

use eframe::egui::{InnerResponse, Ui};

use super::ViewCx;
use crate::{labs::restrictions::VIEW_CONTROLS, ui::theme::LOCKED_OPACITY};

/// The reason why a locked control does not move.
pub const LOCKED: &str = "Locked by the link that this page was opened with.";

/// Draws controls. Locked ones cannot be moved, and fade less than other disabled ones, because their values are to be read.
pub fn lockable_ui<R>(ui: &mut Ui, is_locked: bool, add: impl FnOnce(&mut Ui) -> R) -> InnerResponse<R> {
    ui.scope(|ui| {
        if is_locked {
            ui.visuals_mut().disabled_alpha = LOCKED_OPACITY;
            ui.disable();
        }
        add(ui)
    })
}

impl ViewCx<'_> {
    /// True where a view shows controls of its own: not in a picture, and not where the page's link hides them.
    pub fn shows_controls(&self) -> bool {
        self.has_controls && !self.restrictions.hides(VIEW_CONTROLS)
    }

    /// True where a view's own controls can be moved.
    pub fn can_move_controls(&self) -> bool {
        self.shows_controls() && !self.restrictions.locks(VIEW_CONTROLS)
    }

    /// True where the page's link hides or locks one of these settings, so that nothing in a view moves it.
    pub fn is_restricted(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.restrictions.hides(key) || self.restrictions.locks(key))
    }

    /// Draws the controls of a view where it shows them ([`ViewCx::shows_controls`]).
    pub fn controls_ui<R>(&mut self, ui: &mut Ui, add: impl FnOnce(&mut Ui, &mut Self) -> R) -> Option<R> {
        if self.has_controls { self.dials_ui(ui, add) } else { None }
    }

    /// Draws controls that are part of what a view shows, so that a picture has them too: none where the page's link hides
    /// them, and such as cannot be moved where it locks them.
    pub fn dials_ui<R>(&mut self, ui: &mut Ui, add: impl FnOnce(&mut Ui, &mut Self) -> R) -> Option<R> {
        self.setting_ui(ui, &[VIEW_CONTROLS], add)
    }

    /// Draws the control of these settings in a view: none where the page's link hides one of them, and one that cannot be
    /// moved where it locks one. It is not faint where the rest of the view is, which shows an answer to another question.
    pub fn setting_ui<R>(
        &mut self,
        ui: &mut Ui,
        keys: &[&str],
        add: impl FnOnce(&mut Ui, &mut Self) -> R,
    ) -> Option<R> {
        if keys.iter().any(|key| self.restrictions.hides(key)) {
            return None;
        }
        let opacity = ui.opacity();
        if ui.is_enabled() {
            ui.set_opacity(1.0);
        }
        let added = match self.is_restricted(keys) {
            true => {
                let locked = lockable_ui(ui, true, |ui| add(ui, self));
                locked.response.on_disabled_hover_text(LOCKED);
                locked.inner
            }
            false => add(ui, self),
        };
        ui.set_opacity(opacity);
        Some(added)
    }

    /// The height in points that a row of controls takes from a tile; 0 where there are none.
    pub fn height_of_controls(&self, height: f32) -> f32 {
        if self.shows_controls() { height } else { 0.0 }
    }
}
