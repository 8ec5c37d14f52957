//! The control panel: every setting of the lab, grouped, generated from its knobs.

use eframe::egui::{self, CollapsingHeader, Frame, Margin, Panel, RichText, ScrollArea, TextEdit, Ui, UiBuilder};

use super::{
    Shell, hairline, knob_row, sweep_draft,
    top_bar::{DEVICE, THREADS},
};
use crate::{
    config::{Config, Knob},
    ui::{
        action::{PageAction, RunAction},
        page::{Page, undo},
        run::Run,
        theme::Theme,
    },
};

pub fn controls_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    search_ui(ui, shell.theme, page);
    match page.sweep.is_some() {
        true => sweep_draft::foot_ui(ui, shell, page),
        false => footer_ui(ui, shell, page),
    }
    focus_ui(ui, shell.theme, page);
    // Named outright: what appears beside the controls must not make others of them while one is held.
    let place = UiBuilder::new().scope_id(egui::Id::unique(("controls", page.lab.id)));
    ui.scope_builder(place, |ui| groups_ui(ui, shell, page));
}

fn groups_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let filter = page.filter.trim().to_lowercase();
    let knobs = page.knobs.clone();
    ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
        Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: 16 }).show(ui, |ui| {
            let mut shown = 0;
            for (prefix, heading) in page.lab.groups {
                let here: Vec<&Knob> = knobs
                    .iter()
                    .filter(|k| k.group() == *prefix && in_panel(k, &page.config) && matches(k, heading, &filter))
                    .filter(|k| page.lesson.shows(k.key))
                    .collect();
                if !here.is_empty() {
                    shown += here.len();
                    group_ui(ui, shell, page, heading, &here, !filter.is_empty());
                }
            }
            if shown == 0 {
                ui.add_space(8.0);
                ui.label(RichText::new("No control matches.").color(shell.theme.secondary));
                if ui.button("Show all").clicked() {
                    page.filter.clear();
                }
            }
        });
    });
}

/// False for what the top bar has, and for what does nothing beside the other settings.
fn in_panel(knob: &Knob, config: &Config) -> bool {
    knob.acts(config) && knob.key != DEVICE && knob.key != THREADS
}

fn matches(knob: &Knob, heading: &str, filter: &str) -> bool {
    filter.is_empty()
        || [knob.key, knob.label, knob.symbol, heading].iter().any(|text| text.to_lowercase().contains(filter))
}

fn search_ui(ui: &mut Ui, theme: &Theme, page: &mut Page) {
    Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 8, bottom: 8 }).show(ui, |ui| {
        let hint = RichText::new("Find a control").color(theme.secondary);
        let field = TextEdit::singleline(&mut page.filter).hint_text(hint).desired_width(f32::INFINITY);
        let field = ui.add(field);
        field.widget_info(|| egui::WidgetInfo {
            label: Some("Find a control".into()),
            ..egui::WidgetInfo::text_edit(true, "", page.filter.clone(), "")
        });
    });
}

/// Says that a lesson hides controls, and shows all.
fn focus_ui(ui: &mut Ui, theme: &Theme, page: &mut Page) {
    let Some(i) = page.lesson.current.filter(|_| page.lesson.is_focused) else { return };
    let all = page.knobs.iter().filter(|k| in_panel(k, &page.config)).count();
    let shown = page.knobs.iter().filter(|k| in_panel(k, &page.config) && page.lesson.shows(k.key)).count();
    Frame::NONE.inner_margin(Margin { left: 16, right: 16, top: 0, bottom: 8 }).show(ui, |ui| {
        let words = format!("Step {} of the lesson shows {shown} of {all} controls.", i + 1);
        ui.add(egui::Label::new(RichText::new(words).small().color(theme.secondary)).wrap());
        if ui.button("Show all controls").clicked() {
            page.lesson.is_focused = false;
        }
    });
}

fn group_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, heading: &str, knobs: &[&Knob], searching: bool) {
    let changed = knobs.iter().filter(|k| page.config.get(k.key) != page.preset_value(k.key)).count();
    let sought = knobs.iter().any(|k| page.sought == Some(k.key));
    let text = if changed > 0 { format!("{heading}  ·  {changed} changed") } else { heading.to_owned() };
    let header = CollapsingHeader::new(RichText::new(text).strong().color(shell.theme.text))
        .id_salt(("group", page.lab.id, heading))
        .default_open(true)
        .open((searching || sought).then_some(true));
    let header = header.show_unindented(ui, |ui| {
        ui.spacing_mut().item_spacing.y = 4.0;
        for knob in knobs {
            match &mut page.sweep {
                Some(draft) => sweep_draft::knob_ui(ui, shell.theme, (draft, &page.config), knob),
                None => knob_row::knob_ui(ui, shell, page, knob),
            }
        }
        ui.add_space(8.0);
    });
    header.header_response.on_hover_cursor(egui::CursorIcon::PointingHand);
}

/// Height of what waits for a reset.
const APPLY: f32 = 80.0;

/// The changes that wait for a reset, always in sight. Once a run has begun their place is reserved, so that nothing
/// moves while the user changes a setting.
fn footer_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    if page.run.as_ref().is_none_or(Run::is_untouched) {
        return;
    }
    let margin = Frame::NONE.inner_margin(Margin::symmetric(16, 8));
    let footer = Panel::bottom("apply").exact_size(APPLY).show_separator_line(false).frame(margin);
    footer.show(ui, |ui| {
        let pending = page.pending();
        if !pending.is_empty() {
            pending_ui(ui, shell, page, &pending);
        }
    });
}

fn pending_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, pending: &[String]) {
    hairline(ui, shell.theme);
    let n = pending.len();
    let words = if n == 1 { "1 change applies at reset".to_owned() } else { format!("{n} changes apply at reset") };
    ui.label(RichText::new(words).small().color(shell.theme.secondary)).on_hover_text(pending.join("\n"));
    ui.horizontal(|ui| {
        let apply = egui::Button::new(RichText::new("Apply & reset").color(shell.theme.page)).fill(shell.theme.accent);
        let tip = "Begin a new run with these settings. The present one stays in its folder.";
        if ui.add(apply).on_hover_text(tip).clicked() {
            shell.act(RunAction::Reset);
        }
        if let Some(step) = undo::last_settings_step(page)
            && ui.button("Undo").on_hover_text(format!("Undo: {step}")).clicked()
        {
            shell.act(PageAction::UndoSettings);
        }
    });
}
