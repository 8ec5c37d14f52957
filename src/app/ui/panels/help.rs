//! The help sheet: every key and gesture, printed from the lists that work them.

use crate::ui::{
    action::{GESTURES, OTHER_KEYS, key_groups},
    panels::prelude::*,
};

pub fn help_ui(ui: &mut Ui, shell: &mut Shell<'_>) {
    ui.horizontal(|ui| {
        ui.label(RichText::new("Keys and gestures").text_style(theme::title_style()));
        let right = Layout::right_to_left(Align::Center);
        ui.with_layout(right, |ui| shell.on_click(ui.button("Close"), OpenAction::Back));
    });
    let room = room_in_sheet(ui);
    area_from_top(ui, "keys and gestures", room).show(ui, |ui| {
        ui.columns(2, |columns| {
            let [left, right] = columns else { return };
            note_ui(left, shell.theme, "Keys (plain keys do nothing while a text field has the focus)");
            let keys = key_groups().map(|group| {
                let shown: Vec<&str> = group.iter().map(|key| key.label).collect();
                (shown.join("\n"), group[0].description)
            });
            table_ui(left, shell, "keys", keys);
            note_ui(right, shell.theme, "More keys");
            table_ui(right, shell, "more keys", OTHER_KEYS.iter().map(|(keys, words)| ((*keys).to_owned(), *words)));
            section_ui(right, shell.theme, "Mouse");
            // columns would stretch the words of a wrapped line
            right.with_layout(Layout::top_down(Align::Min), |ui| {
                for (gesture, words) in GESTURES {
                    ui.label(RichText::new(*gesture).color(shell.theme.text));
                    note_ui(ui, shell.theme, *words);
                }
            });
        });
        scroll_by_keys(ui, room);
    });
}

fn table_ui<'a>(ui: &mut Ui, shell: &Shell<'_>, id: &str, rows: impl Iterator<Item = (String, &'a str)>) {
    Grid::new(id).num_columns(2).spacing([16.0, 6.0]).min_col_width(88.0).show(ui, |ui| {
        for (key, words) in rows {
            ui.label(RichText::new(key).font(theme::numbers()).color(shell.theme.accent));
            ui.add(Label::new(RichText::new(words).color(shell.theme.text)).wrap());
            ui.end_row();
        }
    });
}
