//! The arrangement of views: the saved layout and the living views in it.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
};

use eframe::egui::{self, Vec2};
use egui_tiles::{Container, SimplificationOptions, Tabs, Tile, TileId, Tree};
use serde::{Deserialize, Serialize};

pub use self::arrangement::has_same_arrangement;
use self::arrangement::{Arrangement, initial};
use super::view::{View, ViewEntry};
use crate::labs::{Pane as LabPane, Place};

mod arrangement;

/// A tile's content, by the id of its view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pane {
    pub view: String,
}

/// The saved form.
pub type Layout = Tree<Pane>;

/// The gap between two tiles, points.
pub const GAP: f32 = 8.0;

pub struct Tiling {
    pub tree: Layout,
    /// The panes of the lab, from which [`Tiling::fit`] arranges the tiles until the user does; empty if unknown.
    panes: Vec<LabPane>,
    /// The view that the current step of the lesson is about: [`Tiling::fit`] gives it a large tile.
    pub step_view: Option<String>,
    /// The area and step that the tiles were fitted to in the last frame, and their layout for it.
    fitted: Option<Fitted>,
    /// The view of each tile, made when it is first shown.
    pub views: HashMap<TileId, Box<dyn View>>,
    pub selected: Option<TileId>,
    pub maximised: Option<TileId>,
    /// The number of each open tile, and of closed ones in case they return.
    numbers: HashMap<TileId, usize>,
}

impl Tiling {
    /// The lab's own layout.
    pub fn new(lab: &str, panes: &[LabPane]) -> Self {
        Self { panes: panes.to_vec(), ..Self::from_layout(initial(lab, panes, Arrangement::Whole)) }
    }

    pub fn from_layout(tree: Layout) -> Self {
        let (views, numbers) = (HashMap::new(), HashMap::new());
        Self { tree, panes: vec![], step_view: None, fitted: None, views, selected: None, maximised: None, numbers }
    }

    /// Arranges the lab's own tiles for an area of this size, in points: where they would be too small to be read,
    /// fewer are on the page and the rest are tabs. What is in front stays so, above all what is selected, and views
    /// opened as tabs stay tabs of their tiles. The user's own arrangement is left as it is. True if something changed.
    pub fn fit(&mut self, lab: &str, room: Vec2) -> bool {
        let is_fitted =
            |fitted: &Fitted| fitted.room == room && fitted.step_view == self.step_view && fitted.layout == self.tree;
        if self.fitted.as_ref().is_some_and(is_fitted) {
            return false;
        }
        let is_changed = self.arrange(lab, room);
        self.fitted = Some(Fitted { room, step_view: self.step_view.clone(), layout: self.tree.clone() });
        is_changed
    }

    /// The arrangement of the lab's own tiles for this area, and for the view that the step of the lesson is about.
    fn wanted_arrangement(&self, lab: &str, room: Vec2) -> Arrangement {
        let usual = Arrangement::for_room(&self.panes, room);
        match self.step_view.as_deref().and_then(|view| self.own_view(view)) {
            Some(view) => usual.for_step(lab, &self.panes, room, view),
            None => usual,
        }
    }

    /// The view itself if it is in one of the lab's own tiles, or else one of those in the tile to which it was added.
    fn own_view<'a>(&'a self, view: &'a str) -> Option<&'a str> {
        let is_own = |view: &&str| self.panes.iter().any(|pane| pane.view == *view && pane.place != Place::More);
        let beside = self.find_tile(view).map_or(vec![], |id| self.tabs_with(id));
        let beside = beside.into_iter().filter_map(|id| Some(self.tree.tiles.get_pane(&id)?.view.as_str()));
        std::iter::once(view).chain(beside).find(is_own)
    }

    /// Arranges the tiles by the rule that [`Tiling::fit`] states; true if something changed.
    fn arrange(&mut self, lab: &str, room: Vec2) -> bool {
        if self.panes.is_empty() {
            return false;
        }
        let as_arranged = |arrangement| initial(lab, &self.panes, arrangement);
        let is = |tree: &Layout, arrangement| has_same_arrangement(tree, &as_arranged(arrangement), true);
        let wanted = self.wanted_arrangement(lab, room);
        if is(&self.tree, wanted) {
            return false;
        }
        let mut layout = as_arranged(wanted);
        let Some((own, added)) = self.without_added(&layout) else { return false };
        if is(&own, wanted) || !Arrangement::all().any(|arrangement| is(&own, arrangement)) {
            return false;
        }
        // an added tab gets another id, because a container may have its former one now
        let (mut renamed, mut views) = (HashMap::new(), vec![]);
        for tab in added {
            let id = layout.tiles.insert_pane(Pane { view: tab.view });
            stack(&mut layout, id, tab.host);
            views.extend(self.views.remove(&tab.id).map(|view| (id, view)));
            renamed.insert(tab.id, id);
        }
        let renamed = |id: TileId| renamed.get(&id).copied().unwrap_or(id);
        let (selected, maximised) = (self.selected.map(renamed), self.maximised.map(renamed));
        let opening = as_arranged(Arrangement::Whole).active_tiles();
        let mut front = self.tree.active_tiles();
        front.retain(|id| self.tree.tiles.get_pane(id).is_some());
        let mut front: Vec<TileId> = front.into_iter().map(renamed).collect();
        let is_of_step =
            |id: &TileId| layout.tiles.get_pane(id).is_some_and(|pane| Some(&pane.view) == self.step_view.as_ref());
        // if two become tabs of one tile, the one that was brought to the front stays in front, else the first
        let rank = |id: &TileId| (selected == Some(*id), is_of_step(id), !opening.contains(id), Reverse(id.0));
        front.sort_by_key(rank);
        for id in front {
            layout.make_active(|tile, _| tile == id);
        }
        self.replace(layout);
        self.views.extend(views);
        self.numbers = self.numbers.drain().map(|(id, number)| (renamed(id), number)).collect();
        (self.selected, self.maximised) = (selected, maximised);
        true
    }

    /// Puts the lab's own layout in place, fits it for the last frame's area, and later numbers all tiles again.
    pub fn reset(&mut self, lab: &str, panes: &[LabPane]) {
        self.replace(Self::new(lab, panes).tree);
        if let Some(Fitted { room, .. }) = self.fitted {
            self.fit(lab, room);
        }
        self.numbers.clear();
    }

    /// Splits the layout into one without tabs added to the lab's own tiles, and those tabs; `None` if a view was added
    /// elsewhere.
    fn without_added(&self, own: &Layout) -> Option<(Layout, Vec<AddedTab>)> {
        let is_own =
            |id: &TileId| own.tiles.get_pane(id).is_some_and(|pane| self.tree.tiles.get_pane(id) == Some(pane));
        let (mut layout, mut added) = (self.tree.clone(), vec![]);
        let panes = self.tree.tiles.iter().filter_map(|(id, tile)| match tile {
            Tile::Pane(pane) if !is_own(id) => Some((*id, pane.view.clone())),
            _ => None,
        });
        let mut others: Vec<(TileId, String)> = panes.collect();
        others.sort_by_key(|(id, _)| id.0);
        for (id, view) in others {
            if self.tree.tiles.is_visible(id) {
                let host = self.tabs_with(id).into_iter().find(is_own)?;
                added.push(AddedTab { id, view, host });
            }
            layout.set_visible(id, true);
            layout.remove_recursively(id);
        }
        layout.simplify(&simplification());
        Some((layout, added))
    }

    /// The views that are in front where the page has room for all tiles, in reading order.
    pub fn in_front_of_large_page(&self, lab: &str) -> Vec<String> {
        let mut large = Self::from_layout(self.tree.clone());
        large.panes.clone_from(&self.panes);
        large.fit(lab, Vec2::INFINITY);
        large.in_front()
    }

    /// Replaces the layout, as undo does, and returns the previous one. Views whose tiles stay keep their state.
    pub fn replace(&mut self, layout: Layout) -> Layout {
        let before = std::mem::replace(&mut self.tree, layout);
        let tree = &self.tree;
        let is_here = |id: &TileId| tree.tiles.get_pane(id).is_some() && tree.tiles.is_visible(*id);
        self.views.retain(|id, _| is_here(id) && before.tiles.get_pane(id) == tree.tiles.get_pane(id));
        self.selected = self.selected.filter(is_here);
        self.maximised = self.maximised.filter(is_here);
        before
    }

    /// Makes the tiles of a view again, so that its own controls are as at first.
    pub fn renew(&mut self, view: &str) {
        let tiles = &self.tree.tiles;
        self.views.retain(|id, _| tiles.get_pane(id).is_none_or(|pane| pane.view != view));
    }

    /// The view of a tile, made if need be; `None` if this build has no such view.
    pub fn view_of<'a>(
        views: &'a mut HashMap<TileId, Box<dyn View>>,
        tile: TileId,
        entry: Option<&'static ViewEntry>,
    ) -> Option<&'a mut Box<dyn View>> {
        let entry = entry?;
        Some(views.entry(tile).or_insert_with(entry.make))
    }

    /// Tiles on the page in reading order, with their views' ids; hidden tabs come last. A tile in tabs is where its
    /// bar begins: beside one that has no bar it is in the same row.
    pub fn in_order(&self) -> Vec<(TileId, String)> {
        let active = self.tree.active_tiles();
        let mut found: Vec<(TileId, String, egui::Pos2)> = self
            .tree
            .tiles
            .iter()
            .filter_map(|(id, tile)| match tile {
                Tile::Pane(p) if self.tree.tiles.is_visible(*id) => {
                    let place = self.tabs_of(*id).map_or(*id, |(bar, _)| bar);
                    let shown = self.tree.tiles.rect(place).filter(|_| active.is_empty() || active.contains(id));
                    let at = shown.map_or(egui::pos2(id.0 as f32, 1e6), |r| r.min);
                    Some((*id, p.view.clone(), at))
                }
                _ => None,
            })
            .collect();
        found.sort_by(|a, b| {
            let row = |p: egui::Pos2| (p.y / 24.0).round();
            row(a.2).total_cmp(&row(b.2)).then(a.2.x.total_cmp(&b.2.x)).then(a.0.0.cmp(&b.0.0))
        });
        found.into_iter().map(|(id, view, _)| (id, view)).collect()
    }

    /// Open tiles in reading order; the tabs of one place follow the order of its bar.
    fn in_reading_order(&self) -> Vec<TileId> {
        let mut all: Vec<TileId> = vec![];
        for (id, _) in self.in_order() {
            let is_new = |tab: &TileId| {
                let tiles = &self.tree.tiles;
                tiles.get_pane(tab).is_some() && tiles.is_visible(*tab) && !all.contains(tab)
            };
            let new: Vec<TileId> = self.tabs_with(id).into_iter().filter(is_new).collect();
            all.extend(new);
        }
        all
    }

    /// Gives tiles that have no number the lowest free ones, as they are, so that the numbers of a bar of tabs always
    /// rise; call when they have their places. A tile that comes back has its former number, unless another has it now.
    pub fn assign_numbers(&mut self) {
        let open = self.in_reading_order();
        let mut taken: HashSet<usize> = HashSet::new();
        let (kept, new): (Vec<TileId>, Vec<TileId>) =
            open.into_iter().partition(|id| self.numbers.get(id).is_some_and(|n| taken.insert(*n)));
        debug_assert!(kept.len() == taken.len());
        for id in new {
            let lowest = (1..).find(|n| taken.insert(*n)).unwrap_or_default();
            self.numbers.insert(id, lowest);
        }
    }

    /// The number that a tile keeps while it is open: the key that selects it.
    pub fn number_of(&self, tile: TileId) -> Option<usize> {
        self.numbers.get(&tile).copied()
    }

    /// Tiles by their number, with their views' ids.
    pub fn by_number(&self) -> Vec<(usize, TileId, String)> {
        let numbered = |(id, view): (TileId, String)| Some((self.number_of(id)?, id, view));
        let mut all: Vec<_> = self.in_order().into_iter().filter_map(numbered).collect();
        all.sort_by_key(|(number, ..)| *number);
        all
    }

    /// Brings the tile with this number to the front and selects it.
    pub fn select(&mut self, number: usize) {
        if let Some((_, id, _)) = self.by_number().into_iter().find(|(n, ..)| *n == number) {
            self.bring_tile_forward(id);
        }
    }

    /// Brings a tile to the front, in full if another one is maximised, and selects it.
    pub fn bring_tile_forward(&mut self, id: TileId) {
        self.tree.make_active(|t, _| t == id);
        self.selected = Some(id);
        if self.maximised.is_some() {
            self.maximised = Some(id);
        }
    }

    /// Maximises the selected tile (or the first), or puts the maximised one back.
    pub fn toggle_maximised(&mut self) {
        self.maximised = match self.maximised {
            Some(_) => None,
            None => self.selected.or_else(|| self.in_order().first().map(|(id, _)| *id)),
        };
    }

    /// Shows a view: brings its tile forward or back, or opens it as a tab of the selected tile, or else of the first.
    pub fn show(&mut self, view: &str) {
        let id = self.find_tile(view).unwrap_or_else(|| {
            let order = self.in_order();
            let selected = self.selected.filter(|id| order.iter().any(|(here, _)| here == id));
            self.open(view, selected.or(order.first().map(|(id, _)| *id)))
        });
        self.tree.tiles.set_visible(id, true);
        self.bring_tile_forward(id);
    }

    /// The tile of a view, open or closed: a closed one keeps its place in the layout.
    fn find_tile(&self, view: &str) -> Option<TileId> {
        let open = self.in_order().into_iter().find(|(_, v)| v == view).map(|t| t.0);
        let mut panes = self.tree.tiles.iter().filter(|(_, tile)| matches!(tile, Tile::Pane(p) if p.view == view));
        open.or_else(|| panes.find(|(id, _)| !self.tree.tiles.is_visible(**id)).map(|(id, _)| *id))
    }

    /// Makes a tile for a view: a tab of the tile `host`, or a place of its own.
    fn open(&mut self, view: &str, host: Option<TileId>) -> TileId {
        let id = self.tree.tiles.insert_pane(Pane { view: view.to_owned() });
        match (host, self.tree.root) {
            (Some(host), _) => stack(&mut self.tree, id, host),
            (None, Some(root)) if self.tree.tiles.get_container(root).is_some() => {
                self.tree.move_tile_to_container(id, root, usize::MAX, true);
            }
            (None, Some(root)) => self.tree.root = Some(self.tree.tiles.insert_vertical_tile(vec![root, id])),
            (None, None) => self.tree.root = Some(id),
        }
        id
    }

    /// The tiles that are in tabs with this one, itself among them.
    fn tabs_with(&self, id: TileId) -> Vec<TileId> {
        self.tabs_of(id).map_or_else(|| vec![id], |(_, tabs)| tabs.children.clone())
    }

    /// The tabs that a tile is one of, with their own id.
    fn tabs_of(&self, id: TileId) -> Option<(TileId, &Tabs)> {
        let parent = self.tree.tiles.parent_of(id)?;
        match self.tree.tiles.get(parent)? {
            Tile::Container(Container::Tabs(tabs)) => Some((parent, tabs)),
            _ => None,
        }
    }

    /// Ids of the views in front, in reading order.
    pub fn in_front(&self) -> Vec<String> {
        let active = self.tree.active_tiles();
        let front = self.in_order().into_iter().filter(|(id, _)| active.contains(id));
        front.map(|(_, view)| view).collect()
    }

    /// The settings whose controls are in visible tiles, each with the id of its view: of the first one that has it.
    pub fn controls(&self) -> HashMap<&'static str, String> {
        let active = self.tree.active_tiles();
        let is_shown = |id: TileId| self.maximised.map_or(active.contains(&id), |only| only == id);
        let mut all = HashMap::new();
        for (id, name) in self.in_order().into_iter().filter(|(id, _)| is_shown(*id)) {
            for key in self.views.get(&id).map_or(&[][..], |view| view.controls()) {
                all.entry(*key).or_insert_with(|| name.clone());
            }
        }
        all
    }

    /// Brings these views to the front, opening those that are not on the page, and closes other tiles in front.
    pub fn bring_in_front(&mut self, views: &[String]) {
        let (known, new): (Vec<&String>, Vec<&String>) = views.iter().partition(|view| self.find_tile(view).is_some());
        known.into_iter().for_each(|view| self.show(view));
        for view in new {
            let is_free = |id: &TileId| !self.tabs_with(*id).iter().any(|tab| self.is_one_of(*tab, views));
            let host = self.in_order().into_iter().map(|(id, _)| id).find(is_free);
            let id = self.open(view, host);
            self.bring_tile_forward(id);
        }
        let is_needed = |id: TileId| self.tabs_with(id).iter().any(|tab| self.is_one_of(*tab, views));
        let closed: Vec<TileId> = self.in_order().into_iter().map(|(id, _)| id).filter(|id| !is_needed(*id)).collect();
        closed.into_iter().for_each(|id| self.close(id));
        self.selected = None;
    }

    fn is_one_of(&self, id: TileId, views: &[String]) -> bool {
        self.tree.tiles.get_pane(&id).is_some_and(|pane| views.contains(&pane.view))
    }

    /// Brings a view to the front as [`Tiling::show`] does, and selects nothing.
    pub fn bring_forward(&mut self, view: &str) {
        let selected = self.selected;
        self.show(view);
        self.selected = selected;
    }

    /// Tiles that are in tabs, whose bar shows their titles.
    pub fn tabbed(&self) -> HashSet<TileId> {
        let containers = self.tree.tiles.tiles().filter_map(|t| match t {
            Tile::Container(Container::Tabs(tabs)) => Some(tabs.children.clone()),
            _ => None,
        });
        containers.flatten().collect()
    }

    /// Takes a view off the page. Its tile stays in the layout unseen, so that it can go back where it was.
    pub fn close(&mut self, tile: TileId) {
        self.tree.tiles.set_visible(tile, false);
        self.views.remove(&tile);
        self.selected = self.selected.filter(|t| *t != tile);
        self.maximised = self.maximised.filter(|t| *t != tile);
    }
}

/// The area and step that tiles were fitted to, and their layout for it.
struct Fitted {
    /// The area of all tiles, points.
    room: Vec2,
    step_view: Option<String>,
    layout: Layout,
}

/// A view that was opened as a tab of one of the lab's own tiles.
struct AddedTab {
    id: TileId,
    view: String,
    host: TileId,
}

/// A container of one tile is replaced by that; a pane needs no tabs.
pub fn simplification() -> SimplificationOptions {
    SimplificationOptions { all_panes_must_have_tabs: false, ..SimplificationOptions::default() }
}

/// Makes a new tile a tab of the tile `host`.
fn stack(tree: &mut Layout, id: TileId, host: TileId) {
    let tiles = &mut tree.tiles;
    let parent = tiles.parent_of(host);
    match parent.and_then(|parent| tiles.get_mut(parent)) {
        Some(Tile::Container(Container::Tabs(tabs))) => tabs.add_child(id),
        _ => {
            let tabs = tiles.insert_tab_tile(vec![host, id]);
            match parent.and_then(|parent| tiles.get_mut(parent)) {
                Some(Tile::Container(container)) => _ = container.replace_child(host, tabs),
                _ => tree.root = Some(tabs),
            }
        }
    }
}

#[cfg(test)]
mod tests;
