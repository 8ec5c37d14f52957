//! The command palette: everything that can be done here, found by typing a few letters of it.

use eframe::egui::{Event, Modifiers, style::ScrollAnimation};

use crate::{
    labs::lesson::{Lesson, LessonLink, LessonStep},
    ui::{action::key_groups, panels::prelude::*},
};

const ROW_HEIGHT: f32 = 28.0;
/// Separates a name from its lab.
const BEFORE_LAB: &str = "  \u{b7}  ";

#[derive(Debug, Default)]
pub struct Palette {
    typed: String,
    chosen: usize,
    is_drawn: bool,
    /// The user has scrolled the list since the choice last changed. Until then the chosen line, which Enter runs, is
    /// kept visible.
    is_scrolled: bool,
    /// The steps of all lessons, read when the palette is first shown.
    lessons: Option<Vec<(LessonLink, String)>>,
}

struct PaletteEntry {
    kind: &'static str,
    words: String,
    key: &'static str,
    action: Action,
    /// It opens a lab other than the one in front.
    leads_away: bool,
}

impl PaletteEntry {
    /// An entry without a key.
    fn new(kind: &'static str, words: impl Into<String>, action: impl Into<Action>) -> Self {
        Self { kind, words: words.into(), key: "", action: action.into(), leads_away: false }
    }

    /// The label without the lab's name at its end, or without the text after a page's name.
    fn name(&self) -> &str {
        let end = if self.kind == "do" { ": " } else { BEFORE_LAB };
        self.words.split(end).next().unwrap_or(&self.words)
    }
}

impl Palette {
    pub fn ui(&mut self, ui: &mut Ui, shell: &mut Shell<'_>, page: Option<&Page>) {
        let hint = RichText::new("Type a command, lab, preset, view or control").color(shell.theme.secondary);
        // the arrows choose a line; in the text field they would move the cursor
        let [up, down] =
            [Key::ArrowUp, Key::ArrowDown].map(|key| ui.input_mut(|i| i.count_and_consume_key(Modifiers::NONE, key)));
        let field = text_field_ui(ui, &mut self.typed, "Command", Some(hint), f32::INFINITY);
        let is_new = field.changed() || !self.is_drawn;
        if is_new {
            (self.chosen, self.is_drawn) = (0, true);
        }
        let lessons = self.lessons.get_or_insert_with(|| lessons(shell.lists.labs));
        let found = matching_entries(entries(shell, page, lessons), &self.typed);
        let enter = ui.input(|i| i.key_pressed(Key::Enter));
        self.chosen = (self.chosen + down).min(found.len().saturating_sub(1)).saturating_sub(up);
        let scrolls = |e: &Event| matches!(e, Event::MouseWheel { .. });
        self.is_scrolled |= ui.input(|i| i.pointer.any_pressed() || i.events.iter().any(scrolls));
        self.is_scrolled &= !is_new && up + down == 0;
        field.request_focus();
        let mut done = enter.then_some(self.chosen);
        ui.add_space(8.0);
        // The height does not depend on the matches, so that the selected line stays in place while the user types.
        let height = (ROW_HEIGHT * 12.0).min(ui.ctx().content_rect().height() - 160.0).max(ROW_HEIGHT * 3.0);
        let mut list =
            ScrollArea::vertical().max_height(height).min_scrolled_height(height).auto_shrink([false, false]);
        if is_new {
            list = list.vertical_scroll_offset(0.0);
        }
        list.show(ui, |ui| {
            ui.spacing_mut().item_spacing.y = 0.0;
            for (i, entry) in found.iter().enumerate() {
                if entry_ui(ui, shell, entry, i == self.chosen, !self.is_scrolled) {
                    done = Some(i);
                }
            }
            if found.is_empty() {
                quiet_ui(ui, shell.theme, "Nothing matches.");
            }
        });
        if let Some(entry) = done.and_then(|i| found.into_iter().nth(i)) {
            shell.act(OpenAction::Back);
            shell.act(entry.action);
        }
    }
}

/// `is_kept`: the list is scrolled so that the chosen line is visible.
fn entry_ui(ui: &mut Ui, shell: &Shell<'_>, entry: &PaletteEntry, chosen: bool, is_kept: bool) -> bool {
    let theme = shell.theme;
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), ROW_HEIGHT), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::MenuItem, true, chosen, &entry.words));
    if chosen || response.hovered() {
        ui.painter().rect_filled(rect, theme::CORNER, if chosen { theme.line } else { theme.raised });
    }
    if chosen && is_kept {
        response.scroll_to_me_animation(None, ScrollAnimation::none());
    }
    let place = UiBuilder::new().max_rect(rect.shrink2(vec2(8.0, 0.0)));
    let mut row = ui.new_child(place.layout(Layout::left_to_right(Align::Center)));
    row.allocate_ui_with_layout(vec2(56.0, ROW_HEIGHT), Layout::left_to_right(Align::Center), |ui| {
        ui.set_min_width(56.0);
        note_ui(ui, theme, entry.kind);
    });
    // the key first: long words are cut before it
    row.with_layout(Layout::right_to_left(Align::Center), |ui| {
        ui.label(RichText::new(entry.key).font(theme::numbers()).color(theme.secondary));
        let words = Label::new(RichText::new(&entry.words).color(theme.text)).truncate();
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| ui.add(words));
    });
    response.clicked()
}

/// Every step of every lesson, with its title and its lab's.
fn lessons(labs: &[&Lab]) -> Vec<(LessonLink, String)> {
    let steps_of = |lab: &&Lab| {
        let steps = Lesson::parse(lab.id, lab.lesson).map(|lesson| lesson.steps).unwrap_or_default();
        let (id, title) = (lab.id, lab.title);
        let named = move |(i, step): (usize, LessonStep)| {
            let link = LessonLink::new(id, i + 1);
            (link, format!("{}{BEFORE_LAB}{title}, step {}", step.title, i + 1))
        };
        steps.into_iter().enumerate().map(named).collect::<Vec<_>>()
    };
    labs.iter().flat_map(steps_of).collect()
}

fn entries(shell: &Shell<'_>, page: Option<&Page>, lessons: &[(LessonLink, String)]) -> Vec<PaletteEntry> {
    let mut all = vec![];
    let [undo, redo] = page.map(|page| page.history.labels(shell.trash)).unwrap_or_default();
    for k in key_groups()
        .map(|group| &group[0])
        .filter(|k| !matches!(k.action, Action::Open(OpenAction::Palette | OpenAction::Back)))
        .filter(|k| !(shell.session.is_presenting && folds_panel(&k.action)))
    {
        let step = match k.action {
            Action::Page(PageAction::Undo) => undo.as_deref(),
            Action::Page(PageAction::Redo) => redo.as_deref(),
            _ => None,
        };
        let words = step.unwrap_or(k.description);
        all.push(PaletteEntry { key: k.label, ..PaletteEntry::new("do", words, k.action.clone()) });
    }
    let more: [(&str, &'static str, Action); 14] = [
        ("Copy session: settings, seed and layout", "Ctrl C", MessageAction::CopySession.into()),
        ("Copy link: settings, seed, step, selection and views", "", MessageAction::CopyLink.into()),
        ("Copy a link for a class: answers hidden, controls as you choose", "", OpenAction::ClassLink.into()),
        ("Paste session or link", "Ctrl V", MessageAction::PasteSession.into()),
        ("Write a checkpoint now", "", RunAction::Checkpoint.into()),
        ("Reset the layout", "", PageAction::ResetLayout.into()),
        ("Pin this run: its curves stay behind those of later runs", "", PageAction::PinRun.into()),
        ("Unpin the pinned run", "", PageAction::UnpinRun.into()),
        ("Reduced motion on or off", "", LookAction::ToggleStill.into()),
        ("Make a sweep: runs over values of settings and seeds", "", PageAction::DraftSweep.into()),
        ("Home: every lab", "", OpenAction::Home.into()),
        ("Runs: every run with its result", "", OpenAction::Runs.into()),
        ("Claims: what the papers claim, and what runs have found", "", OpenAction::Claims(String::new()).into()),
        ("Normal size", "Ctrl 0", LookAction::Zoom(1.0).into()),
    ];
    all.extend(more.map(|(words, key, action)| PaletteEntry { key, ..PaletteEntry::new("do", words, action) }));
    let here = page.map(|page| page.lab.id);
    all.retain(|entry| match page {
        None => !needs_page(&entry.action),
        Some(page) => page.lab.has_runs() || !needs_run(&entry.action),
    });
    let of_lab = |lab: &str, entry: PaletteEntry| PaletteEntry { leads_away: here != Some(lab), ..entry };
    for lab in shell.lists.labs {
        all.push(of_lab(lab.id, PaletteEntry::new("lab", lab.title, OpenAction::Lab(lab.id))));
    }
    for lab in shell.lists.labs.iter().filter(|lab| Some(lab.id) != here) {
        for p in lab.presets {
            let words = format!("{}{BEFORE_LAB}{}", p.title, lab.title);
            all.push(of_lab(lab.id, PaletteEntry::new("preset", words, OpenAction::Preset(lab.id, p.id))));
        }
    }
    let views_here = here.map_or(vec![], |lab| crate::ui::views_of(shell.lists, lab));
    for lab in shell.lists.labs.iter().filter(|lab| Some(lab.id) != here) {
        for id in crate::ui::views_of(shell.lists, lab.id).into_iter().filter(|id| !views_here.contains(id)) {
            let title = shell.lists.view(id).map_or(id, |v| v.title);
            let words = format!("{title}{BEFORE_LAB}{}", lab.title);
            all.push(of_lab(lab.id, PaletteEntry::new("view", words, OpenAction::View(lab.id, id))));
        }
    }
    for (link, words) in lessons {
        all.push(of_lab(&link.lab, PaletteEntry::new("lesson", words, LessonAction::Open(link.clone()))));
    }
    if let Some(page) = page {
        let claims = OpenAction::Claims(format!("lab:{}", page.lab.id));
        all.push(PaletteEntry::new("do", "Claims that this lab can decide", claims));
        for p in page.lab.presets {
            all.push(PaletteEntry::new("preset", p.title, SettingAction::Preset(p.id.to_owned())));
        }
        for id in views_here {
            let title = shell.lists.view(id).map_or(id, |v| v.title);
            all.push(PaletteEntry::new("view", title, PageAction::ShowView(id)));
        }
        for (number, tile, view) in page.tiling.by_number() {
            let title = shell.lists.view(&view).map_or(view.as_str(), |v| v.title);
            for format in ExportFormat::ALL {
                let words = format!("Save tile {number}, {title}: {}", format.label());
                all.push(PaletteEntry::new("export", words, PageAction::Export(tile, format)));
            }
        }
        for k in page.knobs.iter().filter(|k| !page.restrictions.hides(k.key)) {
            all.push(PaletteEntry::new("control", k.label, SettingAction::Find(k.key)));
        }
    }
    all
}

fn folds_panel(action: &Action) -> bool {
    matches!(action, Action::Look(LookAction::FoldControls | LookAction::FoldInspector))
}

/// True for what does nothing on the page of a graph file, which has no run.
fn needs_run(action: &Action) -> bool {
    matches!(action, Action::Run(_) | Action::Page(PageAction::PinRun | PageAction::UnpinRun | PageAction::DraftSweep))
}

/// True for what does nothing without a lab in front.
fn needs_page(action: &Action) -> bool {
    match action {
        Action::Run(_) | Action::Time(_) => true,
        // an undo brings a deleted run back
        Action::Page(action) => *action != PageAction::Undo,
        Action::Message(action) => matches!(action, MessageAction::CopySession | MessageAction::CopyLink),
        Action::Open(action) => *action == OpenAction::ClassLink,
        Action::Lesson(action) => matches!(action, LessonAction::Next | LessonAction::Previous),
        action => folds_panel(action),
    }
}

/// The entries that contain the typed letters in order. Labs, pages and entries of the open lab whose name is exactly
/// the typed text come first, another lab before all; then the best match, ties in favour of the open lab.
fn matching_entries(all: Vec<PaletteEntry>, typed: &str) -> Vec<PaletteEntry> {
    let whole = typed.trim().to_lowercase();
    let rank = |e: &PaletteEntry| {
        let is_other_lab = e.kind == "lab" && e.leads_away;
        let is_exact = (is_other_lab || !e.leads_away) && e.name().to_lowercase() == whole;
        let score = score(&format!("{} {}", e.words, e.kind), typed)?;
        Some((is_exact, is_exact && is_other_lab, score, !e.leads_away))
    };
    let mut ranked: Vec<_> = all.into_iter().filter_map(|e| Some((rank(&e)?, e))).collect();
    ranked.sort_by_key(|(rank, _)| std::cmp::Reverse(*rank));
    ranked.into_iter().map(|(_, e)| e).collect()
}

/// The score of a letter that directly follows the previous match.
const CONSECUTIVE_SCORE: i32 = 6;

/// How well `text` matches the typed letters (all must come, in order); `None` if it does not.
/// Letters at the beginnings of words and letters in a row count most.
fn score(text: &str, typed: &str) -> Option<i32> {
    let [text, typed] = [text, typed].map(|t| t.to_lowercase().chars().collect::<Vec<char>>());
    let words = typed.split(|c| c.is_whitespace()).filter(|word| !word.is_empty());
    let letters = words.clone().flatten().map(std::slice::from_ref);
    // the search for letters may leave a word for a later beginning of another, and then miss the rest
    score_of_parts(&text, words).max(score_of_parts(&text, letters))
}

/// The score of these parts, each found whole and after the one before it.
fn score_of_parts<'a>(text: &[char], parts: impl Iterator<Item = &'a [char]>) -> Option<i32> {
    let mut at: usize = 0;
    let mut total = 0;
    for part in parts {
        let last = at.checked_sub(1);
        let found = (at..text.len())
            .filter(|i| text[*i..].starts_with(part))
            .max_by_key(|i| (letter_score(text, *i, last), std::cmp::Reverse(*i)))?;
        total +=
            letter_score(text, found, last) + CONSECUTIVE_SCORE * (part.len() as i32 - 1) - (found - at) as i32 / 8;
        at = found + part.len();
    }
    Some(total)
}

fn letter_score(text: &[char], i: usize, last: Option<usize>) -> i32 {
    if last.is_some_and(|l| l + 1 == i) {
        CONSECUTIVE_SCORE
    } else if i == 0 || text.get(i - 1).is_some_and(|c| !c.is_alphanumeric()) {
        4
    } else {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_match_and_words_beat_scraps() {
        assert!(score("Learning rate", "lr").is_some());
        assert!(score("Learning rate", "rl").is_none());
        assert!(score("Presenter mode", "pres") > score("Copy session: settings, seed and layout", "pres"));
        assert_eq!(score("anything", ""), Some(0));
        for typed in ["Spectrum", "spectrum pic", "tile 5 spectrum"] {
            assert!(score("Save tile 5, Spectrum: picture (PNG)", typed).is_some(), "{typed}");
        }
    }

    #[test]
    fn a_whole_name_and_this_lab_come_first() {
        let entry = |kind, words: &str, leads_away| PaletteEntry {
            leads_away,
            ..PaletteEntry::new(kind, words, OpenAction::Home)
        };
        let first = |typed: &str| {
            let all = vec![
                entry("lesson", "Race of four  \u{b7}  Traces, step 1", true),
                entry("lesson", "Raceway  \u{b7}  Traces, step 2", true),
                entry("view", "Raceway", false),
                entry("view", "Race", false),
                entry("control", "Synapses", false),
                entry("lab", "Synapses", true),
            ];
            matching_entries(all, typed).first().map(|e| (e.kind, e.words.clone()))
        };
        assert_eq!(first("race"), Some(("view", "Race".to_owned())));
        assert_eq!(first("synapses").map(|(kind, _)| kind), Some("lab"));
        assert_eq!(first("racew"), Some(("view", "Raceway".to_owned())));
        assert_eq!(first("race traces").map(|(kind, _)| kind), Some("lesson"));
    }
}
