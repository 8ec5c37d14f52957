//! The arrangements of a lab's own tiles: as the lab says, or as many of them as a small page has room for.

use std::collections::BTreeMap;

use eframe::egui::{self, Vec2};
use egui_tiles::{Container, ContainerKind, Tile, TileId, Tiles, Tree};

use super::{GAP, Layout, Pane};
use crate::{
    labs::{Pane as LabPane, Place},
    ui::plot,
};

/// A tile of this height, points, has room for a view with its controls, its sentence and its chart.
const WHOLE_VIEW_HEIGHT: f32 = 450.0;
/// A tile that is smaller than this share of the largest one counts as smaller than it.
const LARGE_SHARE: f32 = 0.9;

/// The arrangement of a lab's tiles that the page has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// The arrangement that the lab defines.
    Whole,
    /// The first tiles row by row, and the others as tabs of the last place.
    Grid { columns: usize, rows: usize },
}

impl Arrangement {
    /// No grid has more columns or more rows.
    const MAX_SIDE: usize = 3;

    /// The one for an area of this size: as many tiles as are in it at their minimum size ([`plot::MIN_TILE_SIZE`]). A
    /// lab that has none side by side needs the whole width for each.
    pub fn for_room(panes: &[LabPane], room: Vec2) -> Self {
        let mut places = views_by_row(panes);
        let tall = places.remove(&None).map_or(0, |tall| tall.len());
        let (wide, high) = (tall + places.values().map(Vec::len).max().unwrap_or(0), places.len().max(1));
        let fitting = |room: f32, least: f32| ((room + GAP) / (least + GAP)) as usize;
        let columns = fitting(room.x, plot::MIN_TILE_SIZE.x);
        let rows = fitting(room.y, plot::MIN_TILE_SIZE.y);
        if columns >= wide && rows >= high {
            return Self::Whole;
        }
        let columns = columns.clamp(1, Self::MAX_SIDE);
        Self::Grid { columns: if wide > 1 { columns } else { 1 }, rows: rows.clamp(1, Self::MAX_SIDE) }
    }

    /// This arrangement, or that of two tiles beside one another, if the view that a step of the lesson is about would
    /// otherwise have a low tile that is smaller than another.
    pub fn for_step(self, lab: &str, panes: &[LabPane], room: Vec2, view: &str) -> Self {
        let layout = initial(lab, panes, self);
        let Some(own) = layout.root.and_then(|root| tile_size(&layout, root, view, room)) else { return self };
        let sizes = panes.iter().filter_map(|pane| tile_size(&layout, layout.root?, pane.view, room));
        let largest = sizes.map(|size| size.x * size.y).fold(0.0, f32::max);
        let is_large = own.y >= WHOLE_VIEW_HEIGHT || own.x * own.y >= LARGE_SHARE * largest;
        if is_large || room.x < 2.0 * plot::MIN_TILE_SIZE.x + GAP { self } else { Self::Grid { columns: 2, rows: 1 } }
    }

    pub fn all() -> impl Iterator<Item = Self> {
        let grids =
            (1..=Self::MAX_SIDE).flat_map(|columns| (1..=Self::MAX_SIDE).map(move |rows| Self::Grid { columns, rows }));
        std::iter::once(Self::Whole).chain(grids)
    }
}

/// True if both hold the same tiles in the same places (`with_sizes`: of the same sizes), whatever tab is in front.
pub fn has_same_arrangement(a: &Layout, b: &Layout, with_sizes: bool) -> bool {
    let compared = |layout: &Layout| {
        let mut tiles = layout.tiles.clone();
        for tile in tiles.tiles_mut() {
            match tile {
                Tile::Container(Container::Tabs(tabs)) => tabs.active = None,
                Tile::Container(Container::Linear(linear)) if !with_sizes => linear.shares = Default::default(),
                _ => {}
            }
        }
        tiles
    };
    a.root == b.root && compared(a) == compared(b)
}

/// The views of the tiles by their row, the tall ones first, at `None`; the tabs of a tile are behind its first view.
fn views_by_row(panes: &[LabPane]) -> BTreeMap<Option<usize>, Vec<Vec<&'static str>>> {
    let mut places: BTreeMap<Option<usize>, Vec<Vec<&'static str>>> = BTreeMap::new();
    let mut row = None;
    for pane in panes {
        match pane.place {
            Place::Tall => row = None,
            Place::Tile { row: of_tile } => row = Some(of_tile),
            Place::Tab => {}
            Place::More => continue,
        }
        let beside = places.entry(row).or_default();
        match beside.last_mut() {
            Some(tabs) if pane.place == Place::Tab => tabs.push(pane.view),
            _ => beside.push(vec![pane.view]),
        }
    }
    places
}

/// Tall tiles from the left, then rows from the top, whose tiles share the width; tabs are behind a first view.
pub fn initial(lab: &str, panes: &[LabPane], arrangement: Arrangement) -> Layout {
    let mut tiles = Tiles::default();
    let mut insert = |view: &str| tiles.insert_pane(Pane { view: view.to_owned() });
    let mut places: BTreeMap<Option<usize>, Vec<Vec<TileId>>> = BTreeMap::new();
    for (row, beside) in self::views_by_row(panes) {
        let inserted = beside.into_iter().map(|tabs| tabs.into_iter().map(&mut insert).collect());
        places.insert(row, inserted.collect());
    }
    let tabbed = |beside: Vec<Vec<TileId>>, tiles: &mut Tiles<Pane>| -> Vec<TileId> {
        beside.into_iter().map(|tabs| joined(tiles, tabs, Tiles::insert_tab_tile)).collect()
    };
    let id = egui::Id::unique(("tiles", lab));
    if places.is_empty() {
        return Tree::empty(id);
    }
    let root = match arrangement {
        Arrangement::Whole => {
            let mut columns = tabbed(places.remove(&None).unwrap_or_default(), &mut tiles);
            let rows = places.into_values().map(|beside| {
                let beside = tabbed(beside, &mut tiles);
                joined(&mut tiles, beside, Tiles::insert_horizontal_tile)
            });
            let rows: Vec<TileId> = rows.collect();
            if !rows.is_empty() {
                columns.push(joined(&mut tiles, rows, Tiles::insert_vertical_tile));
            }
            joined(&mut tiles, columns, Tiles::insert_horizontal_tile)
        }
        Arrangement::Grid { columns, rows } => {
            let mut groups: Vec<Vec<TileId>> = places.into_values().flatten().collect();
            let rest = groups.split_off(groups.len().min(columns * rows - 1)).concat();
            groups.extend((!rest.is_empty()).then_some(rest));
            let groups = tabbed(groups, &mut tiles);
            let rows =
                groups.chunks(columns).map(|beside| joined(&mut tiles, beside.to_vec(), Tiles::insert_horizontal_tile));
            let rows: Vec<TileId> = rows.collect();
            joined(&mut tiles, rows, Tiles::insert_vertical_tile)
        }
    };
    Tree::new(id, root, tiles)
}

/// The size of the tile that has this view at first, points, if the tile `id` has this much room; `None` if none has it.
fn tile_size(layout: &Layout, id: TileId, view: &str, room: Vec2) -> Option<Vec2> {
    let container = match layout.tiles.get(id)? {
        Tile::Pane(pane) => return (pane.view == view).then_some(room),
        Tile::Container(container) => container,
    };
    let children: Vec<TileId> = container.children().copied().collect();
    let share = |room: f32| (room + GAP) / children.len() as f32 - GAP;
    let each = match container.kind() {
        ContainerKind::Horizontal => egui::vec2(share(room.x), room.y),
        ContainerKind::Vertical => egui::vec2(room.x, share(room.y)),
        ContainerKind::Tabs | ContainerKind::Grid => room,
    };
    children.iter().find_map(|child| tile_size(layout, *child, view, each))
}

/// The only one of these tiles, or a container of them.
fn joined(
    tiles: &mut Tiles<Pane>,
    children: Vec<TileId>,
    join: impl Fn(&mut Tiles<Pane>, Vec<TileId>) -> TileId,
) -> TileId {
    match children.as_slice() {
        [one] => *one,
        _ => join(tiles, children),
    }
}
