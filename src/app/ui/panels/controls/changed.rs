//! The settings that differ from the preset, each with a way back. They are at the foot of the panel, where they move
//! no control, and the list changes only while no button of the pointer is down.

use crate::ui::{page::controls::changed_keys, panels::prelude::*};

/// Heights of a setting, of the heading above the first, and of the margins, points.
const ROW_HEIGHT: f32 = 22.0;
const HEAD_HEIGHT: f32 = 28.0;
const MARGIN: i8 = 8;
/// The maximum number of settings visible at once; a longer list scrolls.
const MAX_SHOWN: usize = 4;

pub fn changed_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    if !ui.input(|i| i.pointer.any_down()) {
        page.controls.changed = changed_keys(page);
    }
    let listed = page.controls.changed.len();
    if listed == 0 {
        return;
    }
    let height = HEAD_HEIGHT + ROW_HEIGHT * listed.min(MAX_SHOWN) as f32;
    let margin = Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: MARGIN });
    borderless(Panel::bottom("changed").exact_size(height + f32::from(MARGIN)), margin).show(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 0.0;
        hairline(ui, shell.theme);
        ui.allocate_ui(vec2(ui.available_width(), HEAD_HEIGHT - 2.0), |ui| head_ui(ui, shell, page));
        ScrollArea::vertical().max_height(ROW_HEIGHT * MAX_SHOWN as f32).auto_shrink([false, true]).show(ui, |ui| {
            for key in &page.controls.changed {
                if let Some(knob) = page.knobs.iter().find(|knob| knob.key == *key) {
                    row_ui(ui, shell, page, knob);
                }
            }
        });
    });
}

fn head_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
        let about = "Resets all of them to the preset's values. Ctrl Z undoes it.";
        let changed = &page.controls.changed;
        let can_move = changed.iter().any(|key| !page.restrictions.locks(key));
        let back = ui.add_enabled(can_move, Button::new(RichText::new("Back to preset").small()).small());
        if back.on_hover_text(about).on_disabled_hover_text(LOCKED).clicked() {
            let keys = changed.iter().map(|key| (*key).to_owned()).collect();
            shell.act(SettingAction::RestoreAll(keys));
        }
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            truncated_ui(ui, "Changed from preset", shell.theme.secondary);
        });
    });
}

/// A setting with its value, and a button that restores the preset's.
fn row_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, knob: &Knob) {
    let value = page.config.get(knob.key).map(value_text).unwrap_or_default();
    let preset = page.preset.get(knob.key).map(Value::to_string).unwrap_or_default();
    ui.push_id(knob.key, |ui| {
        ui.allocate_ui_with_layout(
            vec2(ui.available_width(), ROW_HEIGHT),
            Layout::right_to_left(Align::Center),
            |ui| {
                ui.set_min_height(ROW_HEIGHT);
                let is_locked = page.restrictions.locks(knob.key);
                let back = ui.add_enabled(!is_locked, Button::new(RichText::new("back").small()).small());
                let name = format!("{} back to the preset", knob.label);
                back.widget_info(|| WidgetInfo::labeled(Role::Button, !is_locked, &name));
                let back = back.on_hover_text(format!("The preset has {preset}.")).on_disabled_hover_text(LOCKED);
                shell.on_click(back, SettingAction::Restore(knob.key.to_owned()));
                truncated_ui(ui, &value, shell.theme.text).on_hover_text(format!("{} = {value}", knob.key));
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    let name = truncated_ui(ui, knob.label, shell.theme.secondary).on_hover_text(knob.label);
                    let words = format!("{} = {value}", knob.label);
                    name.widget_info(|| WidgetInfo::labeled(Role::Label, true, &words));
                });
            },
        );
    });
}

/// The maximum number of characters of a value.
const MAX_VALUE_CHARS: usize = 16;

fn value_text(value: &Value) -> String {
    match value {
        Value::Float(x) => number::short(*x),
        Value::Switch(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
        Value::Text(text) if text.trim().is_empty() => "nothing".to_owned(),
        Value::Text(text) => cut(text, MAX_VALUE_CHARS),
        Value::Int(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        let text = |text: &str| value_text(&Value::Text(text.into()));
        assert_eq!((text("").as_str(), text("mixture").as_str()), ("nothing", "mixture"));
        assert_eq!(text("/a/long/path/to/a/file.txt"), "/a/long/path/to…");
        assert_eq!(value_text(&Value::Switch(true)), "on");
        assert_eq!(value_text(&Value::Float(0.1 + 0.2)), "0.3");
    }
}
