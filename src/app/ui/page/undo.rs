//! The undo steps of a page and their names. A step changes the settings, the layout, the selection, the run,
//! or several of them, and keeps each that it changed, whole, as it was ([`Snapshot`]), the run with the step shown;
//! undone, it changes nothing else.
//! Settings are noted where they are changed; layout and selection, which views and tiles change themselves, are
//! compared after each frame in which the user did something. A view's zoom, and what time moves (a text that is
//! played), are not steps. A live setting that its control changed reaches the run when it is undone, as it did before;
//! any other setting waits for a reset.

use eframe::egui::Event;
use egui_tiles::Tile;

use super::prelude::*;
use crate::{
    telemetry::VariantInfo,
    ui::{
        lesson::LessonPlace,
        lists::Lists,
        selection::SlotStep,
        tiling::{Pane, has_same_arrangement},
    },
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownRun {
    /// The run of this folder, or a file opened as a run.
    Recorded(PathBuf),
    Example,
    /// A run without a record, because it has made no step.
    New,
}

/// The state that a step changed, as it was before.
#[derive(Default)]
pub struct Snapshot {
    config: Option<Config>,
    /// Every setting was replaced at once, as by a preset: such a step reaches no run, in neither direction.
    replaces_all: bool,
    layout: Option<Layout>,
    selection: Option<Selection>,
    run: Option<ShownRun>,
    lesson: Option<LessonPlace>,
    /// The step shown, in a step that changes the run or follows the lesson; `None`: the newest.
    scrub: Option<u64>,
}

impl Snapshot {
    pub(super) fn from_run(run: ShownRun, scrub: Option<u64>) -> Self {
        Self { run: Some(run), scrub, ..Self::default() }
    }

    /// Adds the run that was left as every setting was replaced, or a step of the lesson followed; false where this is no such
    /// step.
    pub(super) fn join_run(&mut self, run: &ShownRun) -> bool {
        let joins = (self.replaces_all || self.lesson.is_some()) && self.run.is_none();
        if joins {
            self.run = Some(run.clone());
        }
        joins
    }

    fn changes_only_settings(&self) -> bool {
        self.layout.is_none() && self.selection.is_none() && self.run.is_none() && self.lesson.is_none()
    }
}

/// The page after the last frame, to find what the user has changed since.
#[derive(Default)]
pub(super) struct LastFrame {
    page: Option<(Layout, Selection)>,
    dragged: Option<TileId>,
    /// The time of the last frame, by egui's clock.
    pub(super) now: f64,
    held_since: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoKind {
    Undo,
    /// The last step that changed settings, whatever was selected or moved since.
    UndoSettings,
    Redo,
}

impl UndoKind {
    /// True for a step that an undo of this kind may take back.
    fn includes(self, step: &Snapshot) -> bool {
        self != Self::UndoSettings || step.config.is_some()
    }

    /// The message where there is no such step.
    pub fn empty_message(self) -> &'static str {
        match self {
            Self::Undo => "There is nothing to undo.",
            Self::UndoSettings => "There is no setting to undo.",
            Self::Redo => "There is nothing to redo.",
        }
    }
}

/// Notes that the settings were `before`. What ends as it began is not a step: a field in which what was typed was
/// undone, a slider that was dragged back.
pub(super) fn note_config(page: &mut Page, before: Config, what: &str, name: String, now: f64) {
    page.history.note(Snapshot { config: Some(before), ..Snapshot::default() }, what, name, now);
    let config = &page.config;
    page.history.forget_last_if(|was| was.changes_only_settings() && was.config.as_ref() == Some(config));
}

/// A step of the lesson that is about to be followed: all that it changes is one undo step, together with the settings
/// that [`note_everything`] notes under the same name.
pub(super) fn note_lesson(page: &mut Page, name: &str, replaces_all: bool) {
    let was = Snapshot {
        config: replaces_all.then(|| page.config.clone()),
        replaces_all,
        layout: Some(page.tiling.tree.clone()),
        selection: Some(page.selection.clone()),
        lesson: Some(page.lesson.place(page.mirror())),
        scrub: page.scrub,
        ..Snapshot::default()
    };
    page.history.note(was, &format!("everything {name}"), name.to_owned(), page.seen.now);
}

/// A step of the lesson that has been followed: not a step of undo where it changed nothing.
pub(super) fn end_lesson(page: &mut Page) {
    let Page { history, tiling, selection, lesson, scrub, .. } = page;
    history.forget_last_if(|was| {
        was.lesson.as_ref().is_some_and(|place| lesson.is_at(place))
            && was.config.is_none()
            && was.run.as_ref().is_none_or(|run| *run == ShownRun::New)
            && was.layout.as_ref() == Some(&tiling.tree)
            && was.selection.as_ref() == Some(&*selection)
            && was.scrub == *scrub
    });
    remember(page);
}

/// Every setting at once, with a layout where one came along: `name` is where from.
pub(super) fn note_everything(page: &mut Page, config: Config, layout: Option<Layout>, name: String) {
    let what = format!("everything {name}");
    let was = Snapshot { config: Some(config), replaces_all: true, layout, scrub: page.scrub, ..Snapshot::default() };
    page.history.note(was, &what, name, page.seen.now);
    remember(page);
}

pub fn last_settings_step(page: &Page) -> Option<&str> {
    page.history.undoable(|step| UndoKind::UndoSettings.includes(step)).map(|(name, _)| name)
}

/// The name of the next undo or redo step, if it replaces the current run with another.
pub fn step_that_ends_run(page: &Page, kind: UndoKind) -> Option<&str> {
    let (name, was) = match kind {
        UndoKind::Redo => page.history.redoable(),
        UndoKind::Undo | UndoKind::UndoSettings => page.history.undoable(|step| kind.includes(step)),
    }?;
    was.run.as_ref().filter(|run| !is_on_page(page, run)).map(|_| name)
}

/// Undoes or redoes a step; returns a description of what was done.
pub fn step_back(page: &mut Page, kind: UndoKind, now: f64) -> Option<String> {
    let mut history = std::mem::take(&mut page.history);
    let before = page.config.clone();
    let (mut is_locked, mut stays) = (false, true);
    let swap = |was: Snapshot| {
        let (asked, is_only_settings) = (was.config.clone(), was.changes_only_settings());
        let here = swap(page, was, now);
        let is_as = |config: &Config| config.changed_keys(&page.config).is_empty() && config.seed == page.config.seed;
        let is_kept = here.config.as_ref().is_some_and(is_as);
        let is_refused = asked.as_ref().is_some_and(|asked| !is_as(asked));
        is_locked = !page.restrictions.locked.is_empty() && (is_refused || is_kept && is_only_settings);
        stays = (here.config.is_none() || is_kept)
            && here.layout.as_ref().is_none_or(|layout| *layout == page.tiling.tree)
            && here.selection.as_ref().is_none_or(|selection| *selection == page.selection)
            && here.lesson.as_ref().is_none_or(|place| page.lesson.is_at(place))
            && page.wanted.as_ref().is_none_or(|run| is_on_page(page, run));
        here
    };
    let name = match kind {
        UndoKind::Redo => history.redo(swap),
        UndoKind::Undo | UndoKind::UndoSettings => history.undo_last(|step| kind.includes(step), swap),
    };
    page.history = history;
    if name.is_none() {
        // nothing was undone, so that the run that is being opened is not opened a second time
        page.wanted = None;
    }
    remember(page);
    let verb = if kind == UndoKind::Redo { "Redid" } else { "Undid" };
    name.map(|name| match (is_locked, stays) {
        (true, true) => format!("The link locks what \u{201c}{name}\u{201d} changed."),
        (true, false) => format!("{verb}: {name}, but not what the link locks{}", consequence(page, &before)),
        (false, _) => format!("{verb}: {name}{}", consequence(page, &before)),
    })
}

/// Restores a state; returns the one that it replaces.
fn swap(page: &mut Page, was: Snapshot, now: f64) -> Snapshot {
    let (mut here, awaited) = (Snapshot::default(), page.wanted.take());
    if was.run.is_some() || was.lesson.is_some() {
        page.play.stop();
        here.scrub = std::mem::replace(&mut page.scrub, was.scrub);
    }
    if let Some(layout) = was.layout {
        here.layout = Some(page.tiling.replace(layout));
    }
    if let Some(selection) = was.selection {
        let now = std::mem::replace(&mut page.selection, selection);
        page.selection.keep_slots_of(&now);
        here.selection = Some(now);
        let variants = page.mirror().map_or(0, |m| m.variants().len());
        page.selection.variant = page.selection.variant.min(variants.saturating_sub(1));
    }
    if let Some(config) = was.config {
        let before = std::mem::replace(&mut page.config, config);
        page.restrictions.keep_locked(&page.knobs, &mut page.config, &before);
        page.preset = preset_of(page.lab, &page.knobs, &page.config);
        page.drafts.clear();
        page.refused.clear();
        page.is_detached |= was.replaces_all;
        page.after_change(&before, now);
        (here.config, here.replaces_all) = (Some(before), was.replaces_all);
    }
    if let Some(place) = was.lesson {
        here.lesson = Some(page.lesson.place(page.mirror()));
        page.lesson.return_to(place, was.run.is_some());
        page.scroll_to = None;
    }
    if let Some(run) = was.run {
        here.run = Some(awaited.or_else(|| shown_run(page)).unwrap_or(ShownRun::New));
        page.wanted = Some(run);
    }
    here
}

/// The run on the page, as a step back finds it again; `None` where nothing of it is recorded.
pub(super) fn shown_run(page: &Page) -> Option<ShownRun> {
    if page.run.as_ref().is_some_and(Run::is_example) {
        return Some(ShownRun::Example);
    }
    page.recorded_folder().map(ShownRun::Recorded)
}

/// True if the page shows the run already, so that nothing is to be opened or begun for it: when a step is redone, the run
/// that undoing it asked for may not be open yet.
pub fn is_on_page(page: &Page, run: &ShownRun) -> bool {
    match run {
        ShownRun::Recorded(_) | ShownRun::Example => shown_run(page).as_ref() == Some(run),
        ShownRun::New => {
            page.run.as_ref().is_some_and(|run| run.is_own() && run.is_untouched()) && page.has_settings_of_run()
        }
    }
}

/// The consequence for the run of a change of the settings since `before`, as the end of a sentence.
fn consequence(page: &Page, before: &Config) -> &'static str {
    match &page.wanted {
        Some(run) if is_on_page(page, run) => return ". The run on the page stays.",
        Some(ShownRun::Recorded(_)) => return ". The previous run is opened again.",
        Some(ShownRun::Example) => return ". The recorded example is shown again.",
        Some(ShownRun::New) => return ". A new run of these settings is ready.",
        None => {}
    }
    let Some(run) = page.run.as_ref().filter(|r| !r.is_untouched()) else { return "" };
    let mut changed = page.config.changed_keys(before);
    if page.config.seed != before.seed {
        changed.push("seed".into());
    }
    let pending = page.pending();
    let is_live = |key: &String| page.knobs.iter().any(|k| k.key == key && k.applies == Applies::Live);
    if changed.iter().any(|key| pending.contains(key)) {
        match Run::has_ended(run) {
            true => ". It applies at a reset.",
            false => ". It applies at a reset; the run goes on as it was.",
        }
    } else if changed.iter().any(is_live) && !Run::has_ended(run) {
        ". The run has it at once."
    } else {
        ""
    }
}

/// Remembers the current page as the state that was last compared.
pub(super) fn remember(page: &mut Page) {
    page.seen.page = Some((page.tiling.tree.clone(), page.selection.clone()));
}

/// Records the user's changes of layout and selection in this frame. Called once a frame, after everything else.
pub fn watch(page: &mut Page, lists: Lists, ctx: &Context) {
    let now = ctx.input(|i| i.time);
    page.seen.now = now;
    let is_held = ctx.input(|i| i.pointer.any_down());
    // undo inside of a text field is the field's own, so that all that is typed there is one step here
    let is_busy = is_held || ctx.text_edit_focused();
    page.seen.held_since = is_busy.then(|| page.seen.held_since.unwrap_or(now));
    page.history.hold(page.seen.held_since);
    if let Some(tile) = page.tiling.tree.dragged_id(ctx) {
        page.seen.dragged = Some(tile);
    }
    let Some((layout, selection)) = page.seen.page.take() else { return remember(page) };
    let variants = page.mirror().map_or(&[][..], |m| m.variants());
    let chosen = selection_step(&selection, &page.selection, variants);
    if layout == page.tiling.tree && chosen.is_none() {
        page.seen.page = Some((layout, selection));
        return;
    }
    if is_held || has_acted(ctx) {
        let title = |view: &str| lists.view(view).map_or(view, |v| v.title).to_owned();
        let moved = layout_step(&layout, &page.tiling.tree, title, page.seen.dragged);
        if let Some((what, name)) = chosen {
            page.history.note(Snapshot { selection: Some(selection), ..Snapshot::default() }, &what, name, now);
        }
        if let Some((what, name)) = moved {
            page.history.note(Snapshot { layout: Some(layout), ..Snapshot::default() }, &what, name, now);
        }
    }
    remember(page);
}

/// True if the user did something in this frame.
fn has_acted(ctx: &Context) -> bool {
    use Event::{AccessKitActionRequest, Key, Paste, PointerButton, Text};
    let acts =
        |e: &Event| matches!(e, PointerButton { .. } | Key { .. } | Text(_) | Paste(_) | AccessKitActionRequest(_));
    ctx.input(|i| i.events.iter().any(acts))
}

/// The change of the selection: the key of the gesture, whose changes are one step, and the step's name.
fn selection_step(before: &Selection, now: &Selection, variants: &[VariantInfo]) -> Option<(String, String)> {
    let neuron = |s: &Selection| s.neuron.map(|n| n.to_string());
    let token = |s: &Selection| s.token.map(|t| t.to_string());
    let head = |s: &Selection| {
        let layer = s.layer.as_ref().map_or(String::new(), |l| format!(" of {l}"));
        s.head.map(|h| format!("{h}{layer}"))
    };
    let (what, was, is) = if before.neuron != now.neuron {
        ("neuron", neuron(before), neuron(now))
    } else if let Some(SlotStep { noun, before, after }) = before.slot_step(now) {
        (noun, before, after)
    } else if (before.head, &before.layer) != (now.head, &now.layer) {
        ("head", head(before), head(now))
    } else if before.variant != now.variant {
        let label = variants.get(now.variant).map_or(now.variant.to_string(), |v| v.label.clone());
        ("variant", None, Some(label))
    } else if before.token != now.token {
        ("token", token(before), token(now))
    } else {
        return None;
    };
    let name = match (was, is) {
        (_, Some(is)) => format!("selected {what} {is}"),
        (Some(was), None) => format!("unselected {what} {was}"),
        (None, None) => format!("selected {what}"),
    };
    Some((format!("selection {what}"), name))
}

/// The change of the layout: the key of the gesture, whose changes are one step, and the step's name. The tab in front
/// is not a step.
fn layout_step(
    before: &Layout,
    now: &Layout,
    title: impl Fn(&str) -> String,
    dragged: Option<TileId>,
) -> Option<(String, String)> {
    let (was, is) = (panes(before), panes(now));
    let name = |ids: &[(&TileId, &String)]| match ids {
        [(_, view)] => format!("tile {}", title(view)),
        many => format!("{} tiles", many.len()),
    };
    let closed: Vec<_> = was.iter().filter(|(id, _)| !is.contains_key(id)).collect();
    let opened: Vec<_> = is.iter().filter(|(id, _)| !was.contains_key(id)).collect();
    let step = |what: &str, name: String| Some((format!("{what} {name}"), name));
    match (closed.as_slice(), opened.as_slice()) {
        ([], []) => {}
        (closed, []) => return step("close", format!("closed {}", name(closed))),
        ([], opened) => return step("open", format!("opened {}", name(opened))),
        _ => return step("layout", "layout".into()),
    }
    if has_same_arrangement(before, now, true) {
        return None;
    }
    if has_same_arrangement(before, now, false) {
        return Some(("resize".into(), "resized tiles".into()));
    }
    let tile = dragged.and_then(|id| is.get(&id)).map_or(String::new(), |view| format!(" {}", title(view)));
    step("move", format!("moved tile{tile}"))
}

fn panes(layout: &Layout) -> HashMap<TileId, String> {
    let pane = |(id, tile): (&TileId, &Tile<Pane>)| match tile {
        // A closed tile keeps its place unseen.
        Tile::Pane(pane) if layout.tiles.is_visible(*id) => Some((*id, pane.view.clone())),
        _ => None,
    };
    layout.tiles.iter().filter_map(pane).collect()
}

#[cfg(test)]
mod tests {
    use egui_tiles::Container;

    use super::*;
    use crate::labs;

    #[test]
    fn tiles_that_moved_without_a_drag_are_called_so() {
        let before = Tiling::new("x", &["gate", "losses"].map(|view| labs::Pane::tile(view, 0))).tree;
        let (mut now, root) = (before.clone(), before.root.unwrap());
        let Some(Tile::Container(Container::Linear(row))) = now.tiles.get_mut(root) else { panic!("no row") };
        row.children.reverse();
        let step = layout_step(&before, &now, str::to_owned, None);
        assert_eq!(step.map(|(_, name)| name).as_deref(), Some("moved tile"));
    }

    #[test]
    fn an_undo_without_a_step_opens_no_run() {
        let lab = labs::find("fast_slow").unwrap();
        for kind in [UndoKind::Undo, UndoKind::UndoSettings, UndoKind::Redo] {
            let mut page = Page::new(lab, lab.config(None).unwrap());
            page.wanted = Some(ShownRun::Example);
            assert_eq!((step_back(&mut page, kind, 0.0), page.wanted), (None, None));
        }
    }

    #[test]
    fn a_step_of_the_selection_is_called_what_it_chose() {
        let before = Selection::default();
        let now = Selection { token: Some(17), ..Selection::default() };
        let name = |a, b| selection_step(a, b, &[]).map(|(_, name)| name);
        assert_eq!(name(&before, &now).as_deref(), Some("selected token 17"));
        assert_eq!(name(&now, &before).as_deref(), Some("unselected token 17"));
        assert_eq!(name(&now, &now), None);
    }
}
