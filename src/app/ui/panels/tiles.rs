//! The tiles: each view with its title, its subtitle and its menu; drag, split, tabs, maximise.

use std::collections::HashSet;

use egui_tiles::TileId;

use super::{
    icon::{Icon, IconStyle, icon_button_in},
    open_question::{open_question_ui, overdue_question, width},
};
use crate::ui::{
    page::lesson,
    panels::prelude::*,
    picture_order::MIN_PICTURE_SIZE,
    plot,
    questions::Key,
    step_events,
    view::{View, ViewCx, scrolled_ui},
};
use more_views::MoreViews;

mod behavior;
mod more_views;

const HEADER_HEIGHT: f32 = 32.0;
/// The margin around a view, points.
const VIEW_MARGIN: f32 = 8.0;

pub fn tiles_ui(ui: &mut Ui, shell: &mut Shell<'_>, page: &mut Page) {
    let order: HashMap<TileId, usize> = page.tiling.by_number().into_iter().map(|(n, id, _)| (id, n)).collect();
    if page.tiling.in_order().is_empty() {
        empty_ui(ui, shell);
        return;
    }
    let tabbed = page.tiling.tabbed();
    let in_front = page.tiling.tree.active_tiles().into_iter().collect();
    // a run that could not be made has failed
    let state = page.problem.clone().map(|message| RunState::Failed { message });
    let mut nothing = Mirror::default();
    nothing.state = state;
    let (step, follow) = (page.shown_step(), page.scrub.is_none());
    if let Some(mirror) = page.mirror() {
        plot::set_step_events(ui.ctx(), step_events::from_mirror(mirror, &page.knobs).into());
    }
    lesson::share_guess(page, ui.ctx());
    if let Some(run) = &page.run {
        page.questions.follow_run(&run.mirror);
    }
    page.questions.now = ui.input(|i| i.time);
    let more_views = MoreViews::new(shell.lists, page.lab.id, &page.tiling);
    let to_export = std::mem::take(&mut page.exports);
    let Tiling { tree, views, selected, maximised, .. } = &mut page.tiling;
    let mut stage = TilesBehavior {
        cx: ViewCx {
            mirror: page.run.as_ref().map_or(&nothing, |r| &r.mirror),
            step,
            follow,
            config: &page.config,
            knobs: &page.knobs,
            preset: &page.preset,
            restrictions: &page.restrictions,
            theme: shell.theme,
            selection: &mut page.selection,
            actions: shell.actions,
            questions: &mut page.questions,
            all_views: shell.lists.views,
            still: shell.session.still,
            has_controls: true,
        },
        lab: page.lab.id,
        lists: shell.lists,
        views,
        order: &order,
        tabbed: &tabbed,
        in_front,
        front_title: None,
        title_room: 0.0,
        selected,
        maximised: *maximised,
        more_views,
        to_export,
        clip: ui.clip_rect(),
        asked: &mut page.asked,
        notes: &mut page.notes,
    };
    match *maximised {
        Some(id) => {
            if let Some(pane) = tree.tiles.get_pane(&id).cloned() {
                stage.tile_ui(ui, id, &pane);
            }
        }
        None => tree.ui(&mut stage, ui),
    }
    page.tiling.assign_numbers();
    lesson::take_guess(page, ui.ctx());
}

fn empty_ui(ui: &mut Ui, shell: &mut Shell<'_>) {
    ui.vertical_centered(|ui| {
        ui.add_space(ui.available_height() * 0.4);
        quiet_ui(ui, shell.theme, "Every view is closed.");
        shell.on_click(ui.button("Open the lab's views"), PageAction::ResetLayout);
    });
}

struct TilesBehavior<'a> {
    cx: ViewCx<'a>,
    lab: &'static str,
    lists: Lists,
    views: &'a mut HashMap<TileId, Box<dyn View>>,
    /// The number of each tile, which is the key that selects it.
    order: &'a HashMap<TileId, usize>,
    tabbed: &'a HashSet<TileId>,
    in_front: HashSet<TileId>,
    /// The title in front of the tab bar that is being drawn, shortened to the space available.
    front_title: Option<(TileId, Arc<Galley>)>,
    /// The width between the arrows of that bar, points.
    title_room: f32,
    selected: &'a mut Option<TileId>,
    maximised: Option<TileId>,
    more_views: MoreViews,
    /// The tiles whose next drawing is saved.
    to_export: Vec<(TileId, ExportFormat)>,
    /// What may be drawn on: the tree clips each tile to itself alone, also where a low page scrolls all of them.
    clip: Rect,
    asked: &'a mut HashMap<TileId, Vec<Key>>,
    /// The reason why a tile shows the answer to a question other than that of its controls.
    notes: &'a mut HashMap<TileId, String>,
}

impl TilesBehavior<'_> {
    /// One tile. True when its title is being dragged away.
    fn tile_ui(&mut self, ui: &mut Ui, id: TileId, pane: &Pane) -> bool {
        let rect = ui.max_rect();
        ui.shrink_clip_rect(self.clip);
        let theme = self.cx.theme;
        let is_selected = *self.selected == Some(id);
        ui.painter().rect_filled(rect, theme::CORNER, theme.panel);
        let pressed = ui.input(|i| i.pointer.interact_pos().filter(|p| i.pointer.any_pressed() && rect.contains(*p)));
        // a click on what lies over the tile is none on it
        if pressed.is_some_and(|p| ui.ctx().layer_id_at(p) == Some(ui.layer_id())) {
            *self.selected = Some(id);
        }
        let entry = self.lists.view(&pane.view);
        let header = Rect::from_min_size(rect.min, vec2(rect.width(), HEADER_HEIGHT));
        let keys = self.asked.get(&id).cloned().unwrap_or_default();
        let open = match self.cx.is_answered() {
            true => self.cx.questions.unanswered(&keys, self.cx.mirror, ui.input(|i| i.time)),
            false => vec![],
        };
        let overdue = overdue_question(ui, &open);
        let more = self.more_views.button_width(id);
        let noted = header.with_max_x(header.right() - more);
        let taken = more + overdue.map_or(0.0, |_| width(noted));
        let dragged = self.header_ui(ui, id, pane, entry, header, taken);
        if more > 0.0 {
            self.more_views.show(ui, theme, header, self.cx.actions);
        }
        if let Some(question) = overdue
            && open_question_ui(ui, theme, noted, question)
        {
            self.cx.act(RunAction::Cancel(question.request));
        }
        let corner = pos2(rect.left() + VIEW_MARGIN, header.bottom());
        let body = Rect::from_min_max(corner, rect.max - Vec2::splat(VIEW_MARGIN));
        if body.is_positive() {
            // Its widgets keep their ids, so that a drag continues, whatever the header has beside them.
            let name = ui.scope_id().with(("view", self.lab, &pane.view, id.0));
            let mut inner = ui.new_child(UiBuilder::new().max_rect(body).scope_id(name));
            // the margin at the right and below has the bars of what scrolls
            let drawn = Rect::from_min_max(body.min - vec2(2.0, 2.0), rect.max);
            inner.set_clip_rect(drawn.intersect(ui.clip_rect()));
            match Tiling::view_of(self.views, id, entry) {
                Some(view) => {
                    let noted = self.notes.get(&id).map(String::as_str);
                    let note = body_ui(&mut inner, id, view.as_mut(), &mut self.cx, noted);
                    // nothing moves under a button that is held
                    if !inner.input(|i| i.pointer.any_down()) && note.as_deref() != noted {
                        match note {
                            Some(words) => self.notes.insert(id, words),
                            None => self.notes.remove(&id),
                        };
                        inner.ctx().request_repaint();
                    }
                    // a question belongs to the tile that asked it, even after the answer came
                    let known = self.asked.entry(id).or_default();
                    let fresh = std::mem::take(&mut self.cx.questions.touched);
                    let unknown: Vec<Key> = fresh.into_iter().filter(|key| !known.contains(key)).collect();
                    known.extend(unknown);
                }
                None => {
                    let words = format!("This build has no view \u{201c}{}\u{201d}.", pane.view);
                    quiet_ui(&mut inner, theme, words);
                }
            }
        }
        let due: Vec<ExportFormat> = self.to_export.iter().filter(|(tile, _)| *tile == id).map(|(_, f)| *f).collect();
        for format in due {
            self.export(id, pane, format);
        }
        if is_selected {
            let outline = Stroke::new(1.0, theme.accent);
            ui.painter().rect_stroke(rect, theme::CORNER, outline, StrokeKind::Inside);
        }
        dragged
    }

    /// The title bar of a tile. `taken`: the width at its right that *More views* and a note about an open question take.
    fn header_ui(
        &mut self,
        ui: &mut Ui,
        id: TileId,
        pane: &Pane,
        entry: Option<&'static ViewEntry>,
        rect: Rect,
        taken: f32,
    ) -> bool {
        let theme = self.cx.theme;
        let view = Tiling::view_of(self.views, id, entry);
        let own = view.as_ref().and_then(|v| v.title(self.cx.mirror));
        let subtitle = view.map(|v| v.subtitle(&self.cx)).unwrap_or_default();
        let title = own.as_deref().unwrap_or_else(|| entry.map_or(pane.view.as_str(), |e| e.title));
        let response = ui.interact(rect, ui.scope_id().with(("title", id.0)), Sense::click_and_drag());
        let number = self.order.get(&id).copied().unwrap_or_default();
        response.widget_info(|| WidgetInfo::labeled(Role::TitleBar, true, format!("Tile {number}: {title}")));
        // A tab shows the title already.
        let (number, shown) =
            if self.tabbed.contains(&id) && self.maximised.is_none() { (0, "") } else { (number, title) };
        paint_title(ui, theme, rect.with_max_x(rect.right() - taken), number, shown, &subtitle);
        let place = UiBuilder::new().max_rect(rect.with_min_x(rect.right() - 36.0)).id_salt(("corner", id.0));
        let mut corner = ui.new_child(place.layout(Layout::right_to_left(Align::Center)));
        corner.add_space(4.0);
        let button = icon_button_in(&mut corner, theme, Icon::More, &format!("Menu of {title}"), IconStyle::Plain);
        Popup::menu(&button).show(|ui| self.menu_ui(ui, id, entry));
        if response.double_clicked() || response.triple_clicked() {
            self.cx.act(PageAction::MaximiseTile(id));
        }
        if let Some(entry) = entry {
            // the bar may have room for the subtitle's first clauses alone
            let tip = if subtitle.is_empty() { entry.about.to_owned() } else { format!("{subtitle}\n{}", entry.about) };
            response.clone().on_hover_text(tip);
        }
        response.drag_started() && self.maximised.is_none()
    }

    fn menu_ui(&mut self, ui: &mut Ui, id: TileId, entry: Option<&'static ViewEntry>) {
        ui.set_width(280.0);
        let theme = self.cx.theme;
        let mut entry_ui = |ui: &mut Ui, button: Button<'_>, action: PageAction| {
            if ui.add(button.frame(false)).clicked() {
                self.cx.act(action);
                ui.close();
            }
        };
        if let Some(entry) = entry {
            ui.with_layout(Layout::top_down(Align::Min), |ui| note_ui(ui, theme, entry.about));
            ui.separator();
            for format in ExportFormat::ALL {
                let save = Button::new(format!("Save the {}…", format.label()));
                entry_ui(ui, save, PageAction::Export(id, format));
            }
            ui.separator();
        }
        let max = if self.maximised.is_some() { "Put back" } else { "Maximise" };
        entry_ui(ui, Button::new(max).shortcut_text("Enter"), PageAction::MaximiseTile(id));
        entry_ui(ui, Button::new("Close"), PageAction::CloseTile(id));
    }

    /// Saves the content of a tile; for a picture a dialog first asks for its properties.
    fn export(&mut self, id: TileId, pane: &Pane, format: ExportFormat) {
        let Some(entry) = self.lists.view(&pane.view) else { return };
        let Some(view) = self.views.get(&id) else { return };
        let step = subtitle_step(&view.subtitle(&self.cx)).unwrap_or(self.cx.step);
        let name = format!("{}-{}-step{step}", self.lab, pane.view);
        let title = view.title(self.cx.mirror).unwrap_or_else(|| entry.title.to_owned());
        if format == ExportFormat::Csv {
            let action: Action = match view.csv(&self.cx) {
                Some(table) => {
                    let note = self.notes.get(&id).map(|note| format!("# {}\n", note.replace('\n', " ")));
                    FileAction::Save(format!("{name}.csv"), (note.unwrap_or_default() + &table).into_bytes()).into()
                }
                None => {
                    let hint = if self.cx.mirror.info.is_none() { " Space runs the lab." } else { "" };
                    MessageAction::Toast(format!("{title} shows nothing yet.{hint}")).into()
                }
            };
            return self.cx.act(action);
        }
        let (view, dark, is_svg) = (entry.id, self.cx.theme.dark, format == ExportFormat::Svg);
        let order = PictureOrder { tile: id, view, title, name, size: MIN_PICTURE_SIZE, dark, is_svg };
        self.cx.act(FileAction::PictureSheet(order));
    }
}

/// The opacity of a view that shows the answer to a question other than that of its controls.
const OUTDATED_OPACITY: f32 = 0.55;
/// A view is laid out in at least this much room; a smaller tile is scrolled.
const MIN_TILE: Vec2 = vec2(300.0, 200.0);

/// Shows the view, in a scroll area where it is larger than its room. While the answer in it is not to the question
/// that its controls show, it is faint except for these, and a note has room of its own below it, with the margin of the
/// tile, so that it takes little of the view's. That room is made for what is `noted`: not while a button is held, when
/// nothing may move and the note covers the view's lower edge. Returns the note. A view may ask while it is drawn, so that
/// it is known only in the next frame whether and what it notes.
fn body_ui(ui: &mut Ui, id: TileId, view: &mut dyn View, cx: &mut ViewCx<'_>, noted: Option<&str>) -> Option<String> {
    plot::begin_tile(ui.ctx(), id.0);
    let (place, clip, opacity) = (ui.max_rect(), ui.clip_rect(), ui.opacity());
    let height_of = |words: &str| note_height(&note_galley(ui, cx.theme, place, words)).min(place.height() / 2.0);
    let key = ui.scope_id().with("outdated");
    let last: Option<String> = ui.data(|d| d.get_temp(key));
    let (room, cover) = (noted.map(height_of), last.as_deref().map(height_of));
    if let Some(height) = room {
        // the margin above the note has the bars of what scrolls, and the note that of the tile
        ui.set_max_height(place.height() - height);
    }
    if let Some(height) = cover {
        ui.set_clip_rect(clip.with_max_y(clip.bottom().min(place.bottom() + VIEW_MARGIN - height)));
        ui.multiply_opacity(OUTDATED_OPACITY);
    }
    view_ui(ui, view, cx);
    ui.set_opacity(opacity);
    ui.set_clip_rect(clip);
    let note = cx.questions.outdated.take();
    if note != last {
        match &note {
            Some(words) => ui.data_mut(|d| _ = d.insert_temp(key, words.clone())),
            None => ui.data_mut(|d| d.remove::<String>(key)),
        }
        ui.ctx().request_repaint();
    }
    if let Some(words) = &note {
        edge_note_ui(ui, cx.theme, place, words);
    }
    note
}

/// The first line of a note: the rest is for exports and for a screen reader.
fn note_galley(ui: &Ui, theme: &Theme, place: Rect, words: &str) -> Arc<Galley> {
    let shown = words.lines().next().unwrap_or_default();
    ui.painter().layout(shown.to_owned(), theme::small(), theme.warm, place.width() - 12.0)
}

fn note_height(galley: &Galley) -> f32 {
    galley.size().y + 6.0
}

/// A note at the lower edge of a tile, below the place of its view.
fn edge_note_ui(ui: &Ui, theme: &Theme, place: Rect, words: &str) {
    let galley = note_galley(ui, theme, place, words);
    let size = vec2(place.width(), note_height(&galley));
    let rect = Rect::from_min_size(place.left_bottom() + vec2(0.0, VIEW_MARGIN - size.y), size);
    ui.painter().rect_filled(rect, theme::CORNER, theme.panel);
    ui.painter().galley(rect.min + vec2(6.0, 3.0), galley, theme.warm);
    ui.interact(rect, ui.scope_id().with("note"), Sense::hover())
        .widget_info(|| WidgetInfo::labeled(Role::Label, true, words));
}

fn view_ui(ui: &mut Ui, view: &mut dyn View, cx: &mut ViewCx<'_>) {
    view.needs(cx);
    let bars = ui.spacing().scroll.allocated_width();
    ui.set_max_size(ui.available_size() + Vec2::splat(bars));
    let shown = scrolled_ui(ui, view, cx, MIN_TILE, bars);
    plot::end_tile(ui.ctx(), shown.inner_rect.size(), shown.content_size);
}

/// The step in a view's subtitle, which may be older than the step that the page shows.
fn subtitle_step(subtitle: &str) -> Option<u64> {
    subtitle.split(" \u{b7} ").find_map(|part| part.strip_prefix("step ")?.parse().ok())
}

/// The ends of a subtitle's clauses, in bytes, the shortest beginning first: a clause ends before a dot, a semicolon or a
/// comma, though not in brackets or quotes. What it is of comes first, and what explains it later.
fn clause_ends(subtitle: &str) -> Vec<usize> {
    let (mut ends, mut depth, mut is_quoted) = (vec![], 0i32, false);
    for (at, letter) in subtitle.char_indices() {
        match letter {
            '(' | '[' | '{' | '\u{201c}' => depth += 1,
            ')' | ']' | '}' | '\u{201d}' => depth -= 1,
            '"' => is_quoted = !is_quoted,
            ',' | ';' if depth == 0 && !is_quoted && subtitle[at + 1..].starts_with(' ') => ends.push(at),
            '\u{b7}' if depth == 0 && !is_quoted && subtitle[..at].ends_with(' ') => ends.push(at - 1),
            _ => {}
        }
    }
    ends.push(subtitle.len());
    ends
}

/// Number, title, and as many clauses of the subtitle as fit; all of them are in the tooltip.
fn paint_title(ui: &Ui, theme: &Theme, rect: Rect, number: usize, title: &str, subtitle: &str) {
    let painter = ui.painter().with_clip_rect(rect.intersect(ui.clip_rect()));
    let middle = rect.center().y;
    let key = if (1..10).contains(&number) { number.to_string() } else { String::new() };
    let place = pos2(rect.left() + 10.0, middle);
    let at = painter.text(place, Align2::LEFT_CENTER, key, theme::numbers(), theme.secondary);
    let title_at = pos2(at.right() + if at.width() > 0.0 { 8.0 } else { 0.0 }, middle);
    let at = painter.text(title_at, Align2::LEFT_CENTER, title, FontId::proportional(theme::BODY), theme.text);
    let gap = if title.is_empty() { 0.0 } else { 12.0 };
    let room = rect.right() - 40.0 - (at.right() + gap);
    if subtitle.is_empty() || room < 40.0 {
        return;
    }
    let laid_out = |end: usize| truncated(&painter, &subtitle[..end], theme::small(), theme.secondary, room);
    let ends = clause_ends(subtitle);
    let whole = ends.iter().rev().map(|end| laid_out(*end)).find(|galley| !galley.elided);
    let galley = whole.unwrap_or_else(|| laid_out(ends[0]));
    painter.galley(pos2(at.right() + gap, middle - galley.size().y / 2.0), galley, theme.secondary);
}

#[cfg(test)]
mod tests {
    use super::{clause_ends, subtitle_step};

    #[test]
    fn a_subtitle_ends_with_a_clause() {
        let clauses = |subtitle: &'static str| -> Vec<&str> {
            clause_ends(subtitle).into_iter().map(|end| &subtitle[..end]).collect()
        };
        let gate = "step 4 \u{b7} weight, and its gradient; below zero as open as above";
        let shown = ["step 4", "step 4 \u{b7} weight", "step 4 \u{b7} weight, and its gradient", gate];
        assert_eq!(clauses(gate), shown);
        let solved = "step 9 \u{b7} \"The tea, was\", u = (0, 0), dopri5";
        let shown = ["step 9", "step 9 \u{b7} \"The tea, was\"", "step 9 \u{b7} \"The tea, was\", u = (0, 0)", solved];
        assert_eq!(clauses(solved), shown);
        assert_eq!(clauses("of 1,233 neurons"), ["of 1,233 neurons"], "a number is whole");
        assert_eq!(clauses(""), [""]);
    }

    #[test]
    fn a_file_has_the_step_of_what_is_shown() {
        assert_eq!(subtitle_step("step 213 \u{b7} currency, 24 nouns"), Some(213));
        assert_eq!(subtitle_step("mean of heads \u{b7} step 7"), Some(7));
        assert_eq!(subtitle_step("what synapses hold while a text is read"), None);
        assert_eq!(subtitle_step("the gate at each step 0 to 9"), None);
    }
}
