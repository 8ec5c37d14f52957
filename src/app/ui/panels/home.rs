//! Home: a gallery of the labs, and the runs of the past.

use super::{sketch, top_bar::top_bar_ui};
use crate::{labs::LABS_WITHOUT_OWN_RUNS, ui::panels::prelude::*};

const CARD_WIDTH: f32 = 376.0;
const CARD_HEIGHT: f32 = 304.0;
/// The maximum width of the page, points.
const MAX_PAGE_WIDTH: f32 = 1552.0;
const SKETCH_HEIGHT: f32 = 144.0;
const GAP: f32 = 16.0;
/// Past runs shown before "show all".
const MAX_RECENT_RUNS: usize = 8;

#[derive(Debug, Default)]
pub struct PastRuns {
    pub runs: Vec<PastRun>,
    all: bool,
}

impl PastRuns {
    /// The newest run of the lab that was interrupted, unless the user has dismissed it.
    pub fn interrupted(&self, lab: &str, session: &Session) -> Option<&PastRun> {
        let is_interrupted = |r: &&PastRun| r.lab == lab && r.interruption.is_some();
        self.runs.iter().find(is_interrupted).filter(|r| !session.is_dismissed(&r.folder))
    }

    pub fn mark_resumed(&mut self, folder: &Path) {
        self.runs.iter_mut().filter(|r| r.folder == folder).for_each(|r| r.interruption = None);
    }
}

pub fn home_ui(ui: &mut Ui, shell: &mut Shell<'_>, pages: &BTreeMap<&'static str, Page>, past: &mut PastRuns) {
    top_bar_ui(ui, shell, None, None);
    let page = Frame::NONE.fill(shell.theme.page);
    CentralPanel::default().frame(page).show(ui, |ui| {
        let height = ui.available_height();
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            let width = (ui.available_width() - 64.0).min(MAX_PAGE_WIDTH);
            // The grid has as many columns as fit, but no empty ones, so that few labs get wide cards.
            let fit = ((width + GAP) / (CARD_WIDTH + GAP)) as usize;
            let columns = fit.clamp(1, 4).min(shell.lists.labs.len().max(2));
            let card = vec2((width + GAP) / columns as f32 - GAP, CARD_HEIGHT);
            let side = ((ui.available_width() - width) / 2.0).max(16.0);
            Frame::NONE.inner_margin(Margin { left: side as i8, right: 0, top: 32, bottom: 32 }).show(ui, |ui| {
                ui.set_width(width);
                intro_ui(ui, shell);
                let card_of = |lab: &&'static Lab| LabCard {
                    lab,
                    page: pages.get(lab.id),
                    last: past.runs.iter().find(|r| r.lab == lab.id),
                    interrupted: past.interrupted(lab.id, shell.session),
                };
                // nothing else leads back to the page of a graph file
                let opened = LABS_WITHOUT_OWN_RUNS.iter().filter(|lab| pages.contains_key(lab.id));
                let labs: Vec<LabCard<'_>> = opened.chain(shell.lists.labs).map(card_of).collect();
                gallery_ui(ui, shell, &labs, columns, card);
                past_ui(ui, shell, past);
            });
            scroll_by_keys(ui, height);
        });
    });
}

/// Shows the program's purpose, and the buttons that lead to its other pages: beside it, or below where the page is narrow.
fn intro_ui(ui: &mut Ui, shell: &mut Shell<'_>) {
    let title = RichText::new("What moves inside a small model while it learns?").heading();
    let words = RichText::new("Open a lab, press Space, and watch. Many controls act on the running model at once.");
    let buttons = [
        ("Runs", "Every run with its result: find, sort, name, pin, archive, delete.", OpenAction::Runs),
        (
            "Claims",
            "Every claim of the papers, the rule that decides it, and what runs have found.",
            OpenAction::Claims(String::new()),
        ),
        ("Open…", "A text of your own, a config, a run folder (Ctrl O)", OpenAction::Sheet),
    ];
    let padding = 2.0 * ui.spacing().button_padding.x + ui.spacing().item_spacing.x;
    let of_buttons: f32 = buttons.iter().map(|(name, ..)| width_of(ui, *name) + padding).sum();
    let of_words = width_of(ui, title.clone()).max(width_of(ui, words.clone()));
    let is_narrow = of_words + GAP + of_buttons > ui.available_width();
    let purpose_ui = |ui: &mut Ui, theme: &Theme| {
        ui.spacing_mut().item_spacing.y = 4.0;
        ui.label(title);
        ui.label(words.color(theme.secondary));
    };
    let button_ui = |ui: &mut Ui, shell: &mut Shell<'_>, (name, about, action): (&str, &str, OpenAction)| {
        shell.on_click(ui.button(name).on_hover_text(about), action);
    };
    if is_narrow {
        ui.vertical(|ui| purpose_ui(ui, shell.theme));
        ui.horizontal(|ui| buttons.into_iter().for_each(|button| button_ui(ui, shell, button)));
    } else {
        ui.horizontal(|ui| {
            ui.vertical(|ui| purpose_ui(ui, shell.theme));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                buttons.into_iter().rev().for_each(|button| button_ui(ui, shell, button));
            });
        });
    }
    ui.add_space(24.0);
}

/// The width of a text in one line, points.
fn width_of(ui: &Ui, text: impl Into<egui::WidgetText>) -> f32 {
    let wrap = Some(egui::TextWrapMode::Extend);
    text.into().into_galley(ui, wrap, f32::INFINITY, egui::FontSelection::Default).size().x
}

fn gallery_ui(ui: &mut Ui, shell: &mut Shell<'_>, labs: &[LabCard<'_>], columns: usize, size: Vec2) {
    if labs.is_empty() {
        quiet_ui(ui, shell.theme, "This build has no labs.");
    }
    ui.spacing_mut().item_spacing = vec2(GAP, GAP);
    for row in labs.chunks(columns) {
        ui.horizontal(|ui| row.iter().for_each(|lab| card_ui(ui, shell, size, lab)));
    }
}

/// A lab in the gallery, with its open page and its last run.
struct LabCard<'a> {
    lab: &'static Lab,
    page: Option<&'a Page>,
    last: Option<&'a PastRun>,
    interrupted: Option<&'a PastRun>,
}

fn card_ui(ui: &mut Ui, shell: &mut Shell<'_>, size: Vec2, card: &LabCard<'_>) {
    let lab = card.lab;
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Open {}", lab.title)));
    let theme = shell.theme;
    let hot = response.hovered() || response.has_focus();
    ui.painter().rect_filled(rect, theme::CORNER, theme.panel);
    let edge = if hot { theme.accent } else { theme.line };
    ui.painter().rect_stroke(rect, theme::CORNER, Stroke::new(1.0, edge), StrokeKind::Inside);
    let picture = Rect::from_min_size(rect.min + vec2(16.0, 12.0), vec2(size.x - 32.0, SKETCH_HEIGHT));
    let pointer = response.hover_pos().map(|p| ((p.x - picture.left()) / picture.width()).clamp(0.0, 1.0));
    sketch::sketch_ui(ui, theme, lab, picture, pointer);
    let text = Rect::from_min_max(rect.min + vec2(16.0, SKETCH_HEIGHT + 20.0), rect.max - vec2(16.0, 12.0));
    let mut inner = ui.new_child(UiBuilder::new().max_rect(text).layout(Layout::top_down(Align::Min)));
    inner.spacing_mut().item_spacing = vec2(8.0, 4.0);
    inner.label(RichText::new(lab.title).text_style(theme::title_style()).color(theme.text));
    inner.add(Label::new(RichText::new(lab.question).color(theme.text)).wrap());
    truncated_ui(&mut inner, lab.source, theme.secondary);
    inner.with_layout(Layout::bottom_up(Align::Min), |ui| {
        let (words, colour) = status(shell, card);
        truncated_ui(ui, words, colour);
    });
    shell.on_click(response.on_hover_cursor(CursorIcon::PointingHand), OpenAction::Lab(lab.id));
}

fn status(shell: &Shell<'_>, card: &LabCard<'_>) -> (String, Color32) {
    if let Some(page) = card.page.filter(|page| !page.lab.makes_runs() && !page.config.preset.is_empty()) {
        return (page.config.preset.clone(), shell.theme.secondary);
    }
    if let Some(run) = card.page.and_then(|p| p.run.as_ref()).filter(|run| run.mirror.step > 0 && !run.is_example()) {
        let colour = if Run::is_running(run) { shell.theme.accent } else { shell.theme.secondary };
        return (format!("{} · step {}", run.state_label(), number::grouped(run.mirror.step)), colour);
    }
    if let Some((run, end)) = card.interrupted.and_then(|run| Some((run, run.interruption.as_ref()?))) {
        let step = number::grouped(run.steps);
        return (format!("a run was interrupted at step {step} ({})", end.when), shell.theme.accent);
    }
    let words = match card.last {
        Some(last) => {
            let preset = shell.lists.preset_title(&last.lab, &last.preset);
            format!("last run {} · {} steps · {preset}", last.when, number::grouped(last.steps))
        }
        None => "not run yet".to_owned(),
    };
    (words, shell.theme.secondary)
}

fn past_ui(ui: &mut Ui, shell: &mut Shell<'_>, past: &mut PastRuns) {
    ui.add_space(16.0);
    note_ui(ui, shell.theme, "Past runs");
    if past.runs.is_empty() {
        let words = "None yet. Every run that trains is kept in a folder of its own and is listed here to be replayed.";
        quiet_ui(ui, shell.theme, words);
        return;
    }
    let shown = if past.all { past.runs.len() } else { MAX_RECENT_RUNS };
    Grid::new("past runs").num_columns(5).spacing([24.0, 4.0]).show(ui, |ui| {
        for (i, run) in past.runs.iter().take(shown).enumerate() {
            let title = shell.lists.lab(&run.lab).map_or(run.lab.as_str(), |l| l.title);
            let steps = RichText::new(format!("{} steps", number::grouped(run.steps))).font(theme::numbers());
            ui.label(RichText::new(&run.when).font(theme::numbers()).color(shell.theme.secondary));
            ui.label(title);
            let preset = shell.lists.preset_title(&run.lab, &run.preset);
            quiet_ui(ui, shell.theme, preset);
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(steps));
            let replay = ui.button(RichText::new("Replay").small());
            replay.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Replay run {}", i + 1)));
            shell.on_click(replay.on_hover_text(run.folder.display().to_string()), OpenAction::Run(run.folder.clone()));
            ui.end_row();
        }
    });
    if past.runs.len() > MAX_RECENT_RUNS && !past.all && ui.button(format!("Show all {}", past.runs.len())).clicked() {
        past.all = true;
    }
}
