//! The arrangement of views: the saved layout and the living views in it.

use std::collections::{HashMap, HashSet};

use eframe::egui;
use egui_tiles::{Container, Linear, LinearDir, Tile, TileId, Tiles, Tree};
use serde::{Deserialize, Serialize};

use super::view::{View, ViewEntry};
use crate::labs::Pane as LabPane;

/// A tile's content, by the id of its view.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pane {
    pub view: String,
}

/// The saved form.
pub type Layout = Tree<Pane>;

/// The tiles of a lab's page.
pub struct Tiling {
    pub tree: Layout,
    /// One view a tile, made when first shown.
    pub views: HashMap<TileId, Box<dyn View>>,
    pub selected: Option<TileId>,
    pub maximised: Option<TileId>,
    /// The number of each tile, as long as it is open; those of closed ones too, should they come back.
    numbers: HashMap<TileId, usize>,
}

impl Tiling {
    /// The lab's own layout.
    pub fn new(lab: &str, panes: &[LabPane]) -> Self {
        Self::from_layout(initial(lab, panes))
    }

    pub fn from_layout(tree: Layout) -> Self {
        Self { tree, views: HashMap::new(), selected: None, maximised: None, numbers: HashMap::new() }
    }

    /// Puts another layout in place, as undo does; views whose tiles stay keep what they show. Returns the one before.
    pub fn replace(&mut self, layout: Layout) -> Layout {
        let before = std::mem::replace(&mut self.tree, layout);
        let tree = &self.tree;
        let is_here = |id: &TileId| tree.tiles.get_pane(id).is_some() && tree.tiles.is_visible(*id);
        self.views.retain(|id, _| is_here(id) && before.tiles.get_pane(id) == tree.tiles.get_pane(id));
        self.selected = self.selected.filter(is_here);
        self.maximised = self.maximised.filter(is_here);
        before
    }

    /// Makes the tiles of a view anew, so that its own controls stand as at first.
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

    /// Tiles on the page in reading order, with their views' ids; hidden tabs come last.
    pub fn in_order(&self) -> Vec<(TileId, String)> {
        let active = self.tree.active_tiles();
        let mut found: Vec<(TileId, String, egui::Pos2)> = self
            .tree
            .tiles
            .iter()
            .filter_map(|(id, tile)| match tile {
                Tile::Pane(_) if !self.tree.tiles.is_visible(*id) => None,
                Tile::Pane(p) => {
                    let shown = self.tree.tiles.rect(*id).filter(|_| active.is_empty() || active.contains(id));
                    let at = shown.map_or(egui::pos2(id.0 as f32, 1e6), |r| r.min);
                    Some((*id, p.view.clone(), at))
                }
                Tile::Container(_) => None,
            })
            .collect();
        found.sort_by(|a, b| {
            let row = |p: egui::Pos2| (p.y / 24.0).round();
            row(a.2).total_cmp(&row(b.2)).then(a.2.x.total_cmp(&b.2.x)).then(a.0.0.cmp(&b.0.0))
        });
        found.into_iter().map(|(id, view, _)| (id, view)).collect()
    }

    /// Gives tiles that have no number the lowest free ones, in reading order; call when they have their places. A
    /// tile that comes back has its former number, unless another has it now.
    pub fn number(&mut self) {
        let open: Vec<TileId> = self.in_order().into_iter().map(|(id, _)| id).collect();
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

    /// Numbers all tiles anew when they next have their places.
    pub fn forget_numbers(&mut self) {
        self.numbers.clear();
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

    /// Shows a view: brings its tile forward, puts it back where it was closed, or opens a new one.
    pub fn show(&mut self, view: &str) {
        if let Some(id) = self.in_order().into_iter().find(|(_, v)| v == view).map(|t| t.0).or(self.closed(view)) {
            self.tree.tiles.set_visible(id, true);
            self.tree.make_active(|t, _| t == id);
            self.selected = Some(id);
            return;
        }
        let id = self.tree.tiles.insert_pane(Pane { view: view.to_owned() });
        match self.tree.root {
            Some(root) if self.tree.tiles.get_container(root).is_some() => {
                self.tree.move_tile_to_container(id, root, usize::MAX, true);
            }
            Some(root) => self.tree.root = Some(self.tree.tiles.insert_horizontal_tile(vec![root, id])),
            None => self.tree.root = Some(id),
        }
        self.selected = Some(id);
    }

    /// Ids of the views in front, in reading order.
    pub fn in_front(&self) -> Vec<String> {
        let active = self.tree.active_tiles();
        let front = self.in_order().into_iter().filter(|(id, _)| active.contains(id));
        front.map(|(_, view)| view).collect()
    }

    /// The settings whose controls stand in tiles in sight, each with the id of its view: of the first one that has it.
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

    /// Brings these views to the front, opens those that are not on the page, and closes what else would be in front.
    pub fn bring_in_front(&mut self, views: &[String]) {
        views.iter().for_each(|view| self.show(view));
        let is_wanted = |id: TileId| self.tree.tiles.get_pane(&id).is_some_and(|p| views.contains(&p.view));
        let stands_behind = |id: TileId| match self.tree.tiles.parent_of(id).and_then(|p| self.tree.tiles.get(p)) {
            Some(Tile::Container(Container::Tabs(tabs))) => tabs.children.iter().any(|tab| is_wanted(*tab)),
            _ => false,
        };
        let others = self.in_order().into_iter().map(|(id, _)| id);
        let closed: Vec<TileId> = others.filter(|id| !is_wanted(*id) && !stands_behind(*id)).collect();
        closed.into_iter().for_each(|id| self.close(id));
        self.selected = None;
    }

    /// Brings a view's tab to the front, if the view is on the page.
    pub fn bring_forward(&mut self, view: &str) {
        self.tree.make_active(|_, tile| matches!(tile, Tile::Pane(p) if p.view == view));
    }

    /// The tile of a closed view, which keeps its place in the layout.
    fn closed(&self, view: &str) -> Option<TileId> {
        let mut panes = self.tree.tiles.iter().filter(|(_, tile)| matches!(tile, Tile::Pane(p) if p.view == view));
        panes.find(|(id, _)| !self.tree.tiles.is_visible(**id)).map(|(id, _)| *id)
    }

    /// Tiles that stand in tabs, whose bar shows their titles.
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

/// Columns from left to right, each column's panes stacked by share; a pane that is a tab shares
/// the place of the one before it.
fn initial(lab: &str, panes: &[LabPane]) -> Layout {
    let mut tiles = Tiles::default();
    let last = panes.iter().map(|p| p.column).max().unwrap_or_default();
    let columns: Vec<TileId> =
        (0..=last).filter_map(|column| column_of(&mut tiles, panes.iter().filter(|p| p.column == column))).collect();
    let id = egui::Id::unique(("tiles", lab));
    match columns.as_slice() {
        [] => Tree::empty(id),
        [one] => Tree::new(id, *one, tiles),
        _ => {
            let root = tiles.insert_horizontal_tile(columns);
            Tree::new(id, root, tiles)
        }
    }
}

fn column_of<'a>(tiles: &mut Tiles<Pane>, panes: impl Iterator<Item = &'a LabPane>) -> Option<TileId> {
    let mut places: Vec<(Vec<TileId>, f32)> = vec![];
    for pane in panes {
        let id = tiles.insert_pane(Pane { view: pane.view.to_owned() });
        match places.last_mut() {
            Some((tabs, _)) if pane.tab => tabs.push(id),
            _ => places.push((vec![id], pane.share.max(0.05))),
        }
    }
    let stacked: Vec<(TileId, f32)> = places
        .into_iter()
        .filter_map(|(tabs, share)| match tabs.as_slice() {
            [] => None,
            [one] => Some((*one, share)),
            _ => Some((tiles.insert_tab_tile(tabs), share)),
        })
        .collect();
    match stacked.as_slice() {
        [] => None,
        [(one, _)] => Some(*one),
        _ => {
            let mut linear = Linear::new(LinearDir::Vertical, stacked.iter().map(|(id, _)| *id).collect());
            for (id, share) in stacked {
                linear.shares.set_share(id, share);
            }
            Some(tiles.insert_new(Tile::Container(linear.into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panes() -> Vec<LabPane> {
        vec![
            LabPane { view: "a", column: 0, share: 0.6, tab: false },
            LabPane { view: "b", column: 0, share: 0.4, tab: false },
            LabPane { view: "c", column: 1, share: 1.0, tab: false },
        ]
    }

    #[test]
    fn a_closed_view_can_be_opened_again() {
        let mut t = Tiling::new("x", &panes());
        let (id, view) = t.in_order()[0].clone();
        t.close(id);
        assert_eq!(t.in_order().len(), 2);
        t.show(&view);
        assert_eq!(t.in_order().len(), 3);
        t.show(&view);
        assert_eq!(t.in_order().len(), 3, "a view that is there is brought forward, not doubled");
    }

    /// A second view in a tab, a first in a column: each stands again where it stood, also after a restart.
    #[test]
    fn a_closed_view_goes_back_where_it_was() {
        let mut panes = panes();
        panes[1].tab = true;
        panes.push(LabPane { view: "d", column: 0, share: 0.5, tab: false });
        let t = Tiling::new("x", &panes);
        let before = serde_json::to_value(&t.tree.tiles).unwrap();
        for view in ["a", "b", "c", "d"] {
            let mut t = Tiling::new("x", &panes);
            let (id, _) = t.in_order().into_iter().find(|(_, v)| v == view).unwrap();
            t.close(id);
            assert!(t.in_order().iter().all(|(_, v)| v != view));
            let saved = serde_json::to_string(&t.tree).unwrap();
            let mut t = Tiling::from_layout(serde_json::from_str(&saved).unwrap());
            t.show(view);
            assert_eq!(t.selected, Some(id));
            t.tree.make_active(|_, tile| matches!(tile, Tile::Pane(p) if p.view == "a"));
            assert_eq!(serde_json::to_value(&t.tree.tiles).unwrap(), before, "{view}");
        }
    }

    #[test]
    fn closing_everything_leaves_a_page_that_can_be_filled() {
        let mut t = Tiling::new("x", &panes());
        for (id, _) in t.in_order() {
            t.close(id);
        }
        t.show("c");
        assert_eq!(t.in_order().len(), 1);
    }

    #[test]
    fn a_tile_keeps_its_number_while_it_is_open() {
        let mut t = Tiling::new("x", &panes());
        t.number();
        let of = |t: &Tiling| t.by_number().into_iter().map(|(n, _, view)| format!("{n}{view}")).collect::<Vec<_>>();
        assert_eq!(of(&t), ["1a", "2b", "3c"]);
        let before = t.tree.clone();
        let first = t.by_number()[0].1;
        t.close(first);
        t.number();
        assert_eq!(of(&t), ["2b", "3c"], "the others keep theirs");
        t.replace(before);
        t.number();
        assert_eq!(of(&t), ["1a", "2b", "3c"], "one that comes back has its own");
        t.close(first);
        t.show("d");
        t.number();
        assert_eq!(of(&t), ["1d", "2b", "3c"], "a new one has the lowest that is free");
    }

    #[test]
    fn what_is_in_front_is_so_again_by_its_names() {
        let mut panes = panes();
        panes.push(LabPane { view: "d", column: 1, share: 1.0, tab: true });
        let mut t = Tiling::new("x", &panes);
        assert_eq!(t.in_front().len(), 3, "a tab is behind");
        t.show("d");
        let (id, _) = t.in_order().into_iter().find(|(_, v)| v == "a").unwrap();
        t.close(id);
        t.show("e");
        let sorted = |t: &Tiling| {
            let mut front = t.in_front();
            front.sort();
            front
        };
        assert_eq!(sorted(&t), ["b", "d", "e"]);
        let mut again = Tiling::new("x", &panes);
        again.bring_in_front(&t.in_front());
        assert_eq!(sorted(&again), ["b", "d", "e"]);
    }

    #[test]
    fn a_layout_survives_json() {
        let t = Tiling::new("x", &panes());
        let text = serde_json::to_string(&t.tree).unwrap();
        let back: Layout = serde_json::from_str(&text).unwrap();
        assert_eq!(Tiling::from_layout(back).in_order().len(), 3);
    }
}
