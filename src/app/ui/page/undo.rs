//! What of a page can be undone, and what each step is called. A step changes the settings, the layout, the selection,
//! or several of them, and keeps each that it changed, whole, as it was ([`Was`]); undone, it changes nothing else.
//! Settings are noted where they are changed; layout and selection, which views and tiles change themselves, are
//! compared after each frame in which a person did something. A view's zoom, and what time moves (a text that is
//! played), are no steps. The run is not touched: settings that were undone wait for a reset as any change does.

use std::collections::HashMap;

use eframe::egui::{Context, Event};
use egui_tiles::{Container, Tile, TileId};

use super::{Page, preset_of};
use crate::{
    config::{Applies, Config},
    telemetry::VariantInfo,
    ui::{
        lists::Lists,
        run::Run,
        tiling::{Layout, Pane},
        views::Selection,
    },
};

/// What a step changed, as it was.
#[derive(Default)]
pub struct Was {
    config: Option<Config>,
    layout: Option<Layout>,
    selection: Option<Selection>,
}

impl Was {
    fn of_config(config: Config) -> Self {
        Self { config: Some(config), ..Self::default() }
    }

    fn has_config(&self) -> bool {
        self.config.is_some()
    }
}

/// The page as it was looked at last, to find what a person has changed since.
#[derive(Default)]
pub(super) struct Seen {
    page: Option<(Layout, Selection)>,
    /// The tile dragged last.
    dragged: Option<TileId>,
    /// The time of the last frame, by egui's clock.
    now: f64,
    held_since: Option<f64>,
}

/// Which step is to be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    Undo,
    /// The last step that changed settings, whatever was selected or moved since.
    UndoSettings,
    Redo,
}

impl Page {
    /// Notes that the settings were `before`.
    pub(super) fn note_config(&mut self, before: Config, what: &str, name: String, now: f64) {
        self.history.note(Was::of_config(before), what, name, now);
    }

    /// Every setting at once, with a layout where one came along: `name` is where from.
    pub(super) fn note_everything(&mut self, config: Config, layout: Option<Layout>, name: String) {
        let what = format!("everything {name}");
        self.history.note(Was { config: Some(config), layout, selection: None }, &what, name, self.seen.now);
        self.look();
    }

    /// The name of the last step that changed settings.
    pub fn last_settings_step(&self) -> Option<&str> {
        self.history.last_of(Was::has_config)
    }

    /// Goes a step back or forth; returns what was done, in words.
    pub fn step_back(&mut self, back: Back, now: f64) -> Option<String> {
        let mut history = std::mem::take(&mut self.history);
        let before = self.config.clone();
        let name = match back {
            Back::Undo => history.undo(|was| self.swap(was, now)),
            Back::UndoSettings => history.undo_last(Was::has_config, |was| self.swap(was, now)),
            Back::Redo => history.redo(|was| self.swap(was, now)),
        };
        self.history = history;
        self.look();
        let verb = if back == Back::Redo { "Redid" } else { "Undid" };
        name.map(|name| format!("{verb}: {name}{}", self.consequence(&before)))
    }

    /// As [`Page::step_back`], for those who do not ask what was done.
    pub fn undo(&mut self, redo: bool, now: f64) -> bool {
        self.step_back(if redo { Back::Redo } else { Back::Undo }, now).is_some()
    }

    /// Puts a state in place; returns what stood there.
    fn swap(&mut self, was: Was, now: f64) -> Was {
        let mut here = Was::default();
        if let Some(layout) = was.layout {
            here.layout = Some(self.tiling.replace(layout));
        }
        if let Some(selection) = was.selection {
            let (flow, chain_text) = (self.selection.flow.clone(), self.selection.chain_text.clone());
            let selection = Selection { flow, chain_text, ..selection };
            here.selection = Some(std::mem::replace(&mut self.selection, selection));
            let variants = self.mirror().map_or(0, |m| m.variants().len());
            self.selection.variant = self.selection.variant.min(variants.saturating_sub(1));
        }
        if let Some(config) = was.config {
            here.config = Some(std::mem::replace(&mut self.config, config));
            self.preset = preset_of(self.lab, &self.knobs, &self.config);
            self.drafts.clear();
            self.refused.clear();
            self.after_change(now);
        }
        here
    }

    /// What a change of the settings since `before` means for the run, as the end of a sentence.
    fn consequence(&self, before: &Config) -> &'static str {
        let Some(run) = self.run.as_ref().filter(|r| !r.is_untouched()) else { return "" };
        let mut changed = self.config.changed_keys(before);
        if self.config.seed != before.seed {
            changed.push("seed".into());
        }
        let pending = self.pending();
        let is_live = |key: &String| self.knobs.iter().any(|k| k.key == key && k.applies == Applies::Live);
        if changed.iter().any(|key| pending.contains(key)) {
            ". It applies at a reset; the run goes on as it was."
        } else if changed.iter().any(is_live) && !Run::has_ended(run) {
            ". The run has it at once."
        } else {
            ""
        }
    }

    /// Takes the page as it is for what was looked at last.
    fn look(&mut self) {
        self.seen.page = Some((self.tiling.tree.clone(), self.selection.clone()));
    }

    /// Notes what a person changed of layout and selection in this frame. Called once a frame, after everything else.
    pub fn watch(&mut self, lists: Lists, ctx: &Context) {
        let now = ctx.input(|i| i.time);
        self.seen.now = now;
        let is_held = ctx.input(|i| i.pointer.any_down());
        self.seen.held_since = is_held.then(|| self.seen.held_since.unwrap_or(now));
        self.history.hold(self.seen.held_since);
        if let Some(tile) = self.tiling.tree.dragged_id(ctx) {
            self.seen.dragged = Some(tile);
        }
        let Some((layout, selection)) = self.seen.page.take() else { return self.look() };
        let is_layout_same = layout == self.tiling.tree;
        if is_layout_same && is_same(&selection, &self.selection) {
            self.seen.page = Some((layout, selection));
            return;
        }
        if is_held || has_acted(ctx) {
            let title = |view: &str| lists.view(view).map_or(view, |v| v.title).to_owned();
            let variants = self.mirror().map_or(&[][..], |m| m.variants());
            let chosen = selection_step(&selection, &self.selection, variants);
            let moved = layout_step(&layout, &self.tiling.tree, title, self.seen.dragged);
            if let Some((what, name)) = chosen {
                self.history.note(Was { selection: Some(selection), ..Was::default() }, &what, name, now);
            }
            if let Some((what, name)) = moved {
                self.history.note(Was { layout: Some(layout), ..Was::default() }, &what, name, now);
            }
        }
        self.look();
    }
}

/// Whether a person did something in this frame.
fn has_acted(ctx: &Context) -> bool {
    let acts = |e: &Event| {
        matches!(
            e,
            Event::PointerButton { .. }
                | Event::Key { .. }
                | Event::Text(_)
                | Event::Paste(_)
                | Event::AccessKitActionRequest(_)
        )
    };
    ctx.input(|i| i.events.iter().any(acts))
}

/// Whether the same is selected.
fn is_same(a: &Selection, b: &Selection) -> bool {
    selection_step(a, b, &[]).is_none()
}

/// What became of the selection: what for one gesture is one step, and its name.
fn selection_step(before: &Selection, now: &Selection, variants: &[VariantInfo]) -> Option<(String, String)> {
    let named = |what: &str, was: Option<String>, is: Option<String>| {
        let name = match (was, is) {
            (_, Some(is)) => format!("selected {what} {is}"),
            (Some(was), None) => format!("unselected {what} {was}"),
            (None, None) => format!("selected {what}"),
        };
        Some((format!("selection {what}"), name))
    };
    let words = |n: &Option<usize>| n.map(|n| n.to_string());
    if before.neuron != now.neuron {
        let of = |n: Option<u32>| n.map(|n| n.to_string());
        return named("neuron", of(before.neuron), of(now.neuron));
    }
    if before.synapse != now.synapse {
        let of = |s: &Selection| s.synapse.map(|s| format!("{} to {} of layer {}", s.i, s.j, s.layer));
        return named("synapse", of(before), of(now));
    }
    if (before.head, &before.layer) != (now.head, &now.layer) {
        let of = |s: &Selection| {
            let layer = s.layer.as_ref().map_or(String::new(), |l| format!(" of {l}"));
            words(&s.head).map(|h| format!("{h}{layer}"))
        };
        return named("head", of(before), of(now));
    }
    if before.variant != now.variant {
        let label = variants.get(now.variant).map_or(now.variant.to_string(), |v| v.label.clone());
        return named("variant", None, Some(label));
    }
    if before.token != now.token {
        return named("token", words(&before.token), words(&now.token));
    }
    None
}

/// What became of the layout: what for one gesture is one step, and its name. Which tab is in front is no step.
fn layout_step(
    before: &Layout,
    now: &Layout,
    title: impl Fn(&str) -> String,
    dragged: Option<TileId>,
) -> Option<(String, String)> {
    let (was, is) = (panes(before), panes(now));
    let of = |ids: &[(&TileId, &String)]| match ids {
        [(_, view)] => format!("tile {}", title(view)),
        many => format!("{} tiles", many.len()),
    };
    let closed: Vec<_> = was.iter().filter(|(id, _)| !is.contains_key(id)).collect();
    let opened: Vec<_> = is.iter().filter(|(id, _)| !was.contains_key(id)).collect();
    let step = |what: &str, name: String| Some((format!("{what} {name}"), name));
    match (closed.as_slice(), opened.as_slice()) {
        ([], []) => {}
        (closed, []) => return step("close", format!("closed {}", of(closed))),
        ([], opened) => return step("open", format!("opened {}", of(opened))),
        _ => return step("layout", "layout".into()),
    }
    if arrangement(before, true) == arrangement(now, true) {
        return None;
    }
    if arrangement(before, false) == arrangement(now, false) {
        return Some(("resize".into(), "resized tiles".into()));
    }
    let tile = dragged.and_then(|id| is.get(&id)).map_or(String::new(), |view| format!(" {}", title(view)));
    step("move", format!("moved tile{tile}"))
}

fn panes(layout: &Layout) -> HashMap<TileId, String> {
    let pane = |(id, tile): (&TileId, &Tile<Pane>)| match tile {
        // A closed tile keeps its place unseen.
        Tile::Pane(pane) if layout.tiles.is_visible(*id) => Some((*id, pane.view.clone())),
        Tile::Pane(_) => None,
        Tile::Container(_) => None,
    };
    layout.tiles.iter().filter_map(pane).collect()
}

/// Where everything stands, whichever tab is in front; with or without the tiles' sizes.
fn arrangement(layout: &Layout, with_sizes: bool) -> Layout {
    let mut layout = layout.clone();
    for tile in layout.tiles.tiles_mut() {
        match tile {
            Tile::Container(Container::Tabs(tabs)) => tabs.active = None,
            Tile::Container(Container::Linear(linear)) if !with_sizes => linear.shares = Default::default(),
            _ => {}
        }
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{labs, ui::tiling::Tiling};

    fn layout() -> Tiling {
        let pane = |view, column| labs::Pane { view, column, share: 1.0, tab: false };
        Tiling::new("x", &[pane("gate", 0), pane("losses", 0), pane("cost", 1)])
    }

    fn step(before: &Layout, now: &Layout) -> Option<String> {
        layout_step(before, now, |view| view.to_owned(), None).map(|(_, name)| name)
    }

    #[test]
    fn a_step_of_the_layout_is_called_what_it_did() {
        let before = layout();
        let mut now = layout();
        assert_eq!(step(&before.tree, &now.tree), None);
        now.show("accuracy");
        assert_eq!(step(&before.tree, &now.tree).as_deref(), Some("opened tile accuracy"));
        assert_eq!(step(&now.tree, &before.tree).as_deref(), Some("closed tile accuracy"));
    }

    #[test]
    fn sizes_and_places_are_told_apart() {
        let before = layout();
        let mut now = layout();
        let (column, children) = now
            .tree
            .tiles
            .iter()
            .find_map(|(id, tile)| match tile {
                Tile::Container(Container::Linear(l)) if l.children.len() == 2 && Some(*id) != now.tree.root => {
                    Some((*id, l.children.clone()))
                }
                _ => None,
            })
            .unwrap();
        let change = |now: &mut Tiling, f: &dyn Fn(&mut egui_tiles::Linear)| match now.tree.tiles.get_mut(column) {
            Some(Tile::Container(Container::Linear(linear))) => f(linear),
            _ => panic!("a column"),
        };
        change(&mut now, &|l| l.shares.set_share(children[0], 0.2));
        assert_eq!(step(&before.tree, &now.tree).as_deref(), Some("resized tiles"));
        change(&mut now, &|l| l.children.reverse());
        assert_eq!(step(&before.tree, &now.tree).as_deref(), Some("moved tile"));
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
