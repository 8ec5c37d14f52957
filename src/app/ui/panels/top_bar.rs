//! The bar at the top: the open lab, preset, seed, device, and buttons that concern the whole window.

use super::{
    TOP_BAR_HEIGHT,
    icon::{Icon, icon_button},
};
use crate::{
    labs::restrictions::SEED,
    ui::{NAME, panels::prelude::*},
};

/// The bar in a panel of its own. `title`: where one is; `None`: home.
pub fn top_bar_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&mut Page>, title: Option<&'static str>) {
    borderless(Panel::top("top bar").exact_size(TOP_BAR_HEIGHT), ground(shell.theme, Margin::symmetric(12, 0)))
        .show(ui, |ui| bar_ui(ui, shell, page, title));
}

/// The right side is laid out first; the rest shares the remaining room, and controls that do not fit are in the menu.
fn bar_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&mut Page>, title: Option<&'static str>) {
    ui.horizontal_centered(|ui| {
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let width = ui.available_width();
            right_ui(ui, shell, page.as_deref(), width);
            ui.add_space(8.0);
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| left_ui(ui, shell, page, title, width));
        });
    });
}

/// Widths from which a bar has room for the device, the seed and the preset, points. Otherwise device and seed are in the
/// menu; the palette has every preset.
const WITH_DEVICE: f32 = 1080.0;
const WITH_SEED: f32 = 720.0;
const WITH_PRESET: f32 = 440.0;
/// Widths in points of the preset's box, of that box with its name in front and its margins, and of the seed.
const BOX_WIDTH: f32 = 168.0;
const PRESET_WIDTH: f32 = BOX_WIDTH + 64.0;
const SEED_WIDTH: f32 = 112.0;
/// The width that the preset's box gives up in a bar without room for the seed, points.
const NARROWER: f32 = 64.0;

fn left_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&mut Page>, title: Option<&'static str>, width: f32) {
    if page.as_ref().is_some_and(|page| page.lab.has_runs()) && !shell.session.is_presenting {
        let (is_open, _) = shell.session.side_panels(ui.ctx().content_rect().width());
        let fold = icon_button(ui, shell.theme, Icon::LeftPanel { is_open }, "Fold or open the controls");
        shell.on_click(fold.on_hover_text("Fold or open the controls ([)"), LookAction::FoldControls);
    }
    let has_settings = page.as_ref().is_some_and(|page| page.lab.makes_runs());
    let settings_width = match width {
        _ if !has_settings || width <= WITH_PRESET => 0.0,
        _ if width <= WITH_SEED => PRESET_WIDTH - NARROWER,
        _ => PRESET_WIDTH + SEED_WIDTH,
    };
    crumbs_ui(ui, shell, title, settings_width);
    if let Some(page) = page {
        ui.add_space(8.0);
        if has_settings { settings_ui(ui, shell, page, width) } else { run_name_ui(ui, shell, page) }
    }
}

/// The name of a run that another program has written, or that of its folder; or the name of a graph file.
fn run_name_ui(ui: &mut Ui, shell: &Shell<'_>, page: &Page) {
    let Some(folder) = page.folder().or_else(|| page.recorded_folder()) else { return };
    let of_folder = || folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = if page.config.preset.is_empty() { of_folder() } else { page.config.preset.clone() };
    let name = Label::new(RichText::new(name).color(shell.theme.secondary)).truncate();
    ui.add(name).on_hover_text(folder.display().to_string());
}

/// The link to the home page, and the title in the width that `settings_width` leaves.
fn crumbs_ui(ui: &mut Ui, shell: &mut Shell<'_>, title: Option<&'static str>, settings_width: f32) {
    let name = RichText::new(NAME).text_style(theme::title_style()).color(shell.theme.text);
    match title {
        None => _ = ui.label(name),
        Some(title) => {
            let home = ui.add(Button::new(name).frame(false)).on_hover_text("Home: every lab (Esc)");
            home.widget_info(|| WidgetInfo::labeled(Role::Link, true, "Home"));
            shell.on_click(home, OpenAction::Home);
            quiet_ui(ui, shell.theme, "›");
            let (room, font) = (ui.available_width() - settings_width, theme::title_style().resolve(ui.style()));
            ui.label(truncated(ui.painter(), title, font, shell.theme.text, room.max(0.0)));
        }
    }
}

fn settings_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page, width: f32) {
    if width > WITH_PRESET {
        preset_ui(ui, shell, page, if width > WITH_SEED { BOX_WIDTH } else { BOX_WIDTH - NARROWER });
    }
    if width > WITH_SEED {
        seed_ui(ui, shell, page);
    }
    if width > WITH_DEVICE {
        hardware_ui(ui, shell, page);
    }
}

/// Draws the menus of device and threads, unless the page's link hides them.
fn hardware_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    if !page.restrictions.hides(DEVICE) {
        lockable_ui(ui, page.restrictions.locks(DEVICE).then_some("Device"), |ui| device_ui(ui, shell, page));
    }
    if !page.restrictions.hides(THREADS) {
        lockable_ui(ui, page.restrictions.locks(THREADS).then_some("Threads"), |ui| threads_ui(ui, shell, page));
    }
}

/// Draws the seed, unless the page's link hides it.
fn seed_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    if page.restrictions.hides(SEED) {
        return;
    }
    let mut seed = page.config.seed;
    let label = note_ui(ui, shell.theme, "seed");
    let field = DragValue::new(&mut seed).speed(0.1);
    let field = lockable_ui(ui, page.restrictions.locks(SEED).then_some("Seed"), |ui| ui.add(field))
        .inner
        .labelled_by(label.id)
        .on_hover_text("Draws weights and batches: the same seed gives the same run. Applies at a reset.")
        .on_disabled_hover_text(LOCKED);
    if field.changed() {
        shell.act(SettingAction::Seed(seed));
    }
}

fn preset_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page, width: f32) {
    let changed = !page.config.changed_keys(&page.preset).is_empty();
    let shown = page.lab.preset(&page.config.preset).or(page.lab.presets.first());
    let title = shown.map_or("defaults", |p| p.title);
    let text = match running(page) {
        Some(run) => format!("{run} \u{2192} {title}"),
        None if changed => format!("{title} · changed"),
        None => title.to_owned(),
    };
    let label = note_ui(ui, shell.theme, "preset");
    let combo = ComboBox::from_id_salt("preset").selected_text(text).width(width).truncate();
    let response = combo.show_ui(ui, |ui| {
        ui.set_min_width(240.0);
        for preset in page.lab.presets {
            let on = preset.id == page.config.preset;
            let choice = ui.selectable_label(on, preset.title).on_hover_text(preset.about);
            shell.on_click(choice, SettingAction::Preset(preset.id.to_owned()));
        }
    });
    let about = match running(page) {
        Some(run) => format!("The run shown is of the preset {run}; {title} applies at a reset (R)."),
        None => shown.map_or("", |p| p.about).to_owned(),
    };
    response.response.labelled_by(label.id).on_hover_text(format!("{about} Choosing a preset begins a new run."));
}

/// The preset of the run that is shown, where it differs from the one that is set.
fn running(page: &Page) -> Option<&'static str> {
    let run = &page.mirror()?.info.as_ref()?.config;
    let of = |id: &str| page.lab.preset(id).or(page.lab.presets.first());
    let (run, set) = (of(&run.preset)?, of(&page.config.preset)?);
    (run.id != set.id).then_some(run.title)
}

fn device_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    let Some(Value::Text(chosen)) = page.config.get(DEVICE).cloned() else { return };
    let devices = shell.devices;
    let words = devices.iter().find(|(name, ..)| *name == chosen).map_or(chosen.as_str(), |(_, words, _)| words);
    let label = note_ui(ui, shell.theme, "on");
    let combo = ComboBox::from_id_salt("device").selected_text(words).width(112.0).truncate();
    let response = combo.show_ui(ui, |ui| {
        ui.set_min_width(280.0);
        for (name, words, available) in devices {
            ui.add_enabled_ui(*available, |ui| {
                let choice = ui.selectable_label(*name == chosen, words.as_str());
                shell.on_click(choice, SettingAction::Change(DEVICE.to_owned(), Value::Text(name.clone())));
            });
        }
    });
    let about = "Where the model computes. Applies at a reset.";
    response.response.labelled_by(label.id).on_hover_text(about).on_disabled_hover_text(LOCKED);
}

fn threads_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &Page) {
    if let Some(Value::Int(threads)) = page.config.get(THREADS) {
        let mut n = *threads;
        let field = DragValue::new(&mut n)
            .range(0..=256)
            .speed(0.05)
            .custom_formatter(|n, _| if n == 0.0 { "threads: auto".to_owned() } else { format!("threads: {n}") });
        let field = ui
            .add(field)
            .on_hover_text("Worker threads. 0 leaves one core to the window and takes the rest. Applies at a reset.")
            .on_disabled_hover_text(LOCKED);
        field.widget_info(|| WidgetInfo {
            label: Some("Threads".into()),
            ..WidgetInfo::drag_value(!page.restrictions.locks(THREADS), n as f64)
        });
        if field.changed() {
            shell.act(SettingAction::Change(THREADS.to_owned(), Value::Int(n)));
        }
    }
}

/// Settings that are in this bar instead of the control panel.
pub const DEVICE: &str = RunSettings::device.name;
pub const THREADS: &str = RunSettings::threads.name;

fn right_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&Page>, width: f32) {
    if page.is_some() && !shell.session.is_presenting {
        let (_, is_open) = shell.session.side_panels(ui.ctx().content_rect().width());
        let fold = icon_button(ui, shell.theme, Icon::RightPanel { is_open }, "Fold or open the right panel");
        shell.on_click(fold.on_hover_text("Fold or open the right panel (])"), LookAction::FoldInspector);
    }
    let help = ui.add(Button::new(RichText::new("?").color(shell.theme.secondary)).frame(false));
    help.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Help"));
    shell.on_click(help.on_hover_text("Every key and gesture (?)"), OpenAction::Help);
    menu_ui(ui, shell, page, width);
    let find = icon_button(ui, shell.theme, Icon::Search, "Find a command");
    let find = find.on_hover_text("Find a command, lab, preset, view or control (Ctrl P)");
    shell.on_click(find, OpenAction::Palette);
}

/// The maximum number of characters of an entry of the menu: undo and redo name runs, whose names are long.
const MAX_ENTRY_CHARS: usize = 44;
/// The height of a menu's frame and of the gap below the bar, points.
const MENU_FRAME: f32 = 24.0;

fn menu_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&Page>, width: f32) {
    let button = icon_button(ui, shell.theme, Icon::More, "Menu");
    if button.clicked() && page.is_some() {
        shell.act(RunsAction::ListClaims);
    }
    // a click on a field in it closes nothing
    let menu = Popup::menu(&button).close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside);
    menu.style(theme::popup_style).show(|ui| {
        // no entry is wrapped for the width that a scroll bar takes
        ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
        let height = ui.ctx().content_rect().height() - TOP_BAR_HEIGHT - MENU_FRAME;
        area_from_top(ui, "menu", height).show(ui, |ui| entries_ui(ui, shell, page, width));
    });
}

fn entries_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&Page>, width: f32) {
    ui.set_min_width(240.0);
    // first, because a change of them adds an entry to undo it, and a field that moves loses what is typed
    if let Some(page) = page.filter(|page| width <= WITH_DEVICE && page.lab.makes_runs()) {
        if width <= WITH_SEED {
            ui.horizontal(|ui| seed_ui(ui, shell, page));
        }
        ui.horizontal(|ui| hardware_ui(ui, shell, page));
        ui.separator();
    }
    let [undo, redo] = page.map(|page| page.history.labels(shell.trash)).unwrap_or_default();
    let mut entry = |ui: &mut Ui, text: &str, key: &str, action: Action| {
        let shown = without_middle(text, MAX_ENTRY_CHARS);
        let mut button = ui.add(Button::new(shown.as_str()).shortcut_text(key).frame(false));
        if shown != text {
            button.widget_info(|| WidgetInfo::labeled(Role::Button, true, text));
            button = button.on_hover_text(text);
        }
        if button.clicked() {
            shell.actions.push(action);
            ui.close();
        }
    };
    for (step, key, action) in [(undo, "Ctrl Z", PageAction::Undo), (redo, "Ctrl Shift Z", PageAction::Redo)] {
        if let Some(step) = step {
            entry(ui, &step, key, action.into());
        }
    }
    entry(ui, "Open…", "Ctrl O", OpenAction::Sheet.into());
    if let Some(page) = page {
        if page.mirror().is_some_and(|mirror| mirror.is_pinned || mirror.pinned().is_some()) {
            entry(ui, "Unpin the pinned run", "", PageAction::UnpinRun.into());
        } else if page.lab.has_runs() {
            entry(ui, "Pin this run", "", PageAction::PinRun.into());
        }
        if page.lab.makes_runs() {
            entry(ui, "Make a sweep…", "", PageAction::DraftSweep.into());
            let count = page.claims.map_or(String::new(), |count| format!(" ({count})"));
            let claims = OpenAction::Claims(format!("lab:{}", page.lab.id));
            entry(ui, &format!("Claims that it can decide{count}"), "", claims.into());
            entry(ui, "Copy session", "Ctrl C", MessageAction::CopySession.into());
            entry(ui, "Copy link to this page", "", MessageAction::CopyLink.into());
            entry(ui, "Link for a class\u{2026}", "", OpenAction::ClassLink.into());
            entry(ui, "Write a checkpoint now", "", RunAction::Checkpoint.into());
        }
        entry(ui, "Reset the layout", "", PageAction::ResetLayout.into());
    }
    entry(ui, "Paste session or link", "Ctrl V", MessageAction::PasteSession.into());
    ui.separator();
    entry(ui, if shell.session.dark { "Light" } else { "Dark" }, "D", LookAction::ToggleTheme.into());
    entry(ui, "Presenter mode", "P", LookAction::Presenter.into());
    let motion = if shell.session.still { "Animations on" } else { "Reduced motion" };
    entry(ui, motion, "", LookAction::ToggleStill.into());
    entry(ui, "Larger", "Ctrl +", LookAction::Zoom(shell.session.zoom + 0.1).into());
    entry(ui, "Smaller", "Ctrl -", LookAction::Zoom(shell.session.zoom - 0.1).into());
    entry(ui, "Frame times (draws without pause)", "T", LookAction::FrameTimes.into());
}
