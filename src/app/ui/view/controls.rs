//! Controls in a view, shown and enabled as the page's link allows.

use std::f32::consts::PI;

use eframe::egui::{InnerResponse, Rect, Response, Role, Sense, Shape, Stroke, Ui, UiBuilder, Vec2, WidgetInfo, vec2};

use super::ViewCx;
use crate::{
    config::Setting,
    labs::restrictions::VIEW_CONTROLS,
    telemetry::{RunInfo, RunState},
    ui::{mirror::Mirror, theme::LOCKED_OPACITY},
};

pub const LOCKED: &str = "Locked by the link that this page was opened with.";

/// Width of the padlock, points, and of the left margin of a column that contains it.
const PADLOCK_WIDTH: f32 = 9.0;
const PADLOCK_MARGIN: f32 = 13.0;

/// Draws controls. `lock`: their name, if they are locked. Locked controls are disabled, have a padlock at their left,
/// and fade less than other disabled ones so that their values stay legible.
pub fn lockable_ui<R>(ui: &mut Ui, lock: Option<&str>, add: impl FnOnce(&mut Ui) -> R) -> InnerResponse<R> {
    let padlock = lock.map(|name| (name, padlock_place(ui)));
    let added = ui.scope(|ui| {
        if lock.is_some() {
            ui.visuals_mut().disabled_alpha = LOCKED_OPACITY;
            ui.disable();
        }
        add(ui)
    });
    // a view may have no controls at present
    if let Some((name, place)) = padlock.filter(|_| added.response.rect.is_positive()) {
        padlock_ui(ui, place, name);
    }
    added
}

/// The place of a padlock beside what is drawn next: a place of its own in a row, the margin of a column.
fn padlock_place(ui: &mut Ui) -> Rect {
    let size = vec2(PADLOCK_WIDTH, ui.spacing().interact_size.y);
    match ui.layout().is_horizontal() {
        true => ui.allocate_space(size).1,
        false => Rect::from_min_size(ui.cursor().min - vec2(PADLOCK_MARGIN, 0.0), size),
    }
}

fn padlock_ui(ui: &Ui, place: Rect, name: &str) {
    let (centre, colour) = (place.center(), ui.visuals().weak_text_color());
    let body = Rect::from_center_size(centre + vec2(0.0, 1.5), vec2(8.0, 6.0));
    ui.painter().rect_filled(body, 1.0, colour);
    let arch = (0..=8).map(|i| centre - vec2(0.0, 1.5) + 2.5 * Vec2::angled(-PI * i as f32 / 8.0));
    ui.painter().add(Shape::line(arch.collect(), Stroke::new(1.2, colour)));
    let sign = ui.interact(place, ui.next_auto_id().with("padlock"), Sense::hover());
    sign.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("{name}: locked")));
    sign.on_hover_text(LOCKED);
}

/// True if what is shown was recorded without a model, as a graph from a file: no setting acts on it.
pub fn is_without_model(mirror: &Mirror) -> bool {
    let has_none = |info: &RunInfo| info.total_steps == 0 && info.variants.iter().all(|variant| variant.params == 0);
    mirror.state == Some(RunState::Stopped) && mirror.info.as_deref().is_some_and(has_none)
}

impl ViewCx<'_> {
    /// True where a view shows controls of its own: not in a picture, and not where the page's link hides them.
    pub fn shows_controls(&self) -> bool {
        self.has_controls && !self.restrictions.hides(VIEW_CONTROLS)
    }

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

    /// Draws the control of these settings in a view. It is omitted if the page's link hides one of them or there is no model
    /// on which they act, and disabled if the link locks one. It keeps its full opacity when the view fades because its
    /// answer is outdated.
    pub fn setting_ui<R>(
        &mut self,
        ui: &mut Ui,
        keys: &[&str],
        add: impl FnOnce(&mut Ui, &mut Self) -> R,
    ) -> Option<R> {
        let is_of_view = keys == [VIEW_CONTROLS];
        if keys.iter().any(|key| self.restrictions.hides(key)) || !is_of_view && is_without_model(self.mirror) {
            return None;
        }
        let opacity = ui.opacity();
        if ui.is_enabled() {
            ui.set_opacity(1.0);
        }
        // within locked controls one padlock stands for all
        let added = match self.is_restricted(keys) && ui.is_enabled() {
            true => {
                let mut place = ui.available_rect_before_wrap();
                if ui.layout().is_vertical() {
                    // a tile has no margin of its own for the padlock
                    place.min.x += PADLOCK_MARGIN;
                }
                let (place, name) = (UiBuilder::new().max_rect(place), self.locked_names(keys));
                let locked = ui.scope_builder(place, |ui| lockable_ui(ui, Some(&name), |ui| add(ui, self))).inner;
                locked.response.on_disabled_hover_text(LOCKED);
                locked.inner
            }
            false => add(ui, self),
        };
        ui.set_opacity(opacity);
        Some(added)
    }

    /// Draws the control of one setting, as [`ViewCx::setting_ui`] does; a value that it has changed is set.
    pub fn edit_setting_ui<T: Setting>(
        &mut self,
        ui: &mut Ui,
        key: &str,
        mut value: T,
        add: impl FnOnce(&mut Ui, &mut T) -> Response,
    ) {
        self.setting_ui(ui, &[key], |ui, cx| {
            if add(ui, &mut value).changed() {
                cx.set(key, value.to_value());
            }
        });
    }

    /// The names of those of these settings that are locked, as the control panel has them.
    fn locked_names(&self, keys: &[&str]) -> String {
        let name = |key: &&str| {
            let knob = self.knobs.iter().find(|knob| knob.key == *key);
            knob.map_or("Controls of the view", |knob| knob.label)
        };
        keys.iter().filter(|key| self.restrictions.locks(key)).map(name).collect::<Vec<_>>().join(", ")
    }

    /// The height in points that a row of controls takes from a tile; 0 where there are none.
    pub fn height_of_controls(&self, height: f32) -> f32 {
        if self.shows_controls() { height } else { 0.0 }
    }
}
