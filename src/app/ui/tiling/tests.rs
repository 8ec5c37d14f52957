//! Tiles that are closed, opened, numbered and brought to the front.

use super::*;

fn panes() -> Vec<LabPane> {
    vec![LabPane::tile("a", 0), LabPane::tile("b", 1), LabPane::tile("c", 1)]
}

/// A closed view returns to its place, be it the second tab or the first in a row, and also after a restart.
#[test]
fn a_closed_view_goes_back_where_it_was() {
    let mut panes = panes();
    panes[1] = LabPane::tab("b");
    panes.push(LabPane::tile("d", 1));
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
        // one that is there comes to the front and is not doubled
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
    t.assign_numbers();
    let of = |t: &Tiling| t.by_number().into_iter().map(|(n, _, view)| format!("{n}{view}")).collect::<Vec<_>>();
    assert_eq!(of(&t), ["1a", "2b", "3c"]);
    let before = t.tree.clone();
    let first = t.by_number()[0].1;
    t.close(first);
    t.assign_numbers();
    assert_eq!(of(&t), ["2b", "3c"], "the others keep theirs");
    t.replace(before);
    t.assign_numbers();
    assert_eq!(of(&t), ["1a", "2b", "3c"], "one that comes back has its own");
    t.close(first);
    t.show("d");
    t.assign_numbers();
    assert_eq!(of(&t), ["1d", "2b", "3c"], "a new one has the lowest that is free");
}

#[test]
fn views_in_front_are_restored_by_their_names() {
    let mut panes = panes();
    panes.extend([LabPane::tab("d"), LabPane::more("e")]);
    let mut t = Tiling::new("x", &panes);
    assert_eq!(t.in_front().len(), 3, "a tab is behind");
    let sorted = |t: &Tiling| {
        let mut front = t.in_front();
        front.sort();
        front
    };
    t.show("d");
    let (id, _) = t.in_order().into_iter().find(|(_, v)| v == "a").unwrap();
    t.close(id);
    t.selected = t.find_tile("b");
    t.show("e");
    assert_eq!(sorted(&t), ["d", "e"], "it stands in front of the selected tile");
    let mut again = Tiling::new("x", &panes);
    again.bring_in_front(&t.in_front());
    assert_eq!(sorted(&again), ["d", "e"]);
    again.bring_in_front(&["b", "d", "e"].map(str::to_owned));
    assert_eq!(sorted(&again), ["b", "d", "e"]);
    again.bring_in_front(&["b", "d", "e", "f"].map(str::to_owned));
    assert_eq!(sorted(&again), ["b", "d", "e", "f"]);
}

/// A view that is not on the page opens over the selected tile, or over the first; asked for again, it is there.
#[test]
fn a_view_from_the_list_opens_as_a_tab() {
    let mut panes = panes();
    panes.push(LabPane::more("d"));
    let mut t = Tiling::new("x", &panes);
    assert_eq!(t.in_order().len(), 3, "it is not open at first");
    t.bring_forward("d");
    assert_eq!((t.in_order().len(), t.in_front().len(), t.selected), (4, 3, None));
    assert_eq!(t.tabs_with(t.find_tile("a").unwrap()), [t.find_tile("a").unwrap(), t.find_tile("d").unwrap()]);
    let before = t.tree.clone();
    t.bring_forward("d");
    assert!(t.tree == before);
    t.selected = t.find_tile("c");
    t.show("e");
    let e = t.find_tile("e").unwrap();
    assert_eq!((t.tabs_with(e), t.selected), (vec![t.find_tile("c").unwrap(), e], Some(e)));
    t.maximised = Some(e);
    t.show("f");
    assert_eq!((t.maximised, t.selected), (t.find_tile("f"), t.find_tile("f")), "the maximised tile makes room");
    assert_eq!(t.in_front().len(), 3, "still three tiles");
    let mut t = Tiling::new("x", &panes[..1]);
    t.show("d");
    assert_eq!(t.in_front(), ["d"], "also over the only tile");
}

/// A tall tile is beside the rows, with its tabs.
#[test]
fn a_tall_view_has_a_column_of_its_own() {
    let panes = [LabPane::tall("a"), LabPane::tab("b"), LabPane::tile("c", 0), LabPane::tile("d", 1)];
    let t = Tiling::new("x", &panes);
    let container = |id: TileId| t.tree.tiles.get_container(id).map(|c| (c.kind(), c.children_vec()));
    let (kind, columns) = container(t.tree.root.unwrap()).unwrap();
    assert_eq!((kind, columns.len()), (egui_tiles::ContainerKind::Horizontal, 2));
    let known = |view: &str| t.find_tile(view).unwrap();
    assert_eq!(container(columns[0]), Some((egui_tiles::ContainerKind::Tabs, vec![known("a"), known("b")])));
    assert_eq!(container(columns[1]), Some((egui_tiles::ContainerKind::Vertical, vec![known("c"), known("d")])));
}

/// A page that is too low for the lab's rows shows two of its tiles, the rest as tabs, and the rows again when it grows.
#[test]
fn a_small_page_shows_fewer_tiles() {
    let mut panes = panes();
    panes.extend([LabPane::tab("d"), LabPane::more("e")]);
    let mut t = Tiling::new("x", &panes);
    let whole = t.tree.clone();
    let (large, low, narrow, tiny) =
        (egui::vec2(720.0, 640.0), egui::vec2(720.0, 500.0), egui::vec2(500.0, 700.0), egui::vec2(500.0, 400.0));
    assert!(!t.fit("x", large), "there is room");
    assert!(t.fit("x", low) && !t.fit("x", low));
    assert_eq!(t.in_front(), ["a", "b"]);
    let kinds = |t: &Tiling| t.tree.root.and_then(|id| t.tree.tiles.get_container(id)).map(Container::kind);
    assert_eq!(kinds(&t), Some(egui_tiles::ContainerKind::Horizontal));
    t.bring_forward("d");
    assert!(t.fit("x", narrow));
    assert_eq!(kinds(&t), Some(egui_tiles::ContainerKind::Vertical));
    assert_eq!(t.in_front(), ["a", "d"], "what was brought to the front stays there");
    assert!(t.fit("x", tiny));
    assert_eq!(t.in_front(), ["d"]);
    assert!(t.fit("x", large));
    assert_eq!(t.in_order().len(), 4, "none is lost");
    t.bring_forward("c");
    assert!(has_same_arrangement(&t.tree, &whole, true));
}

/// The user's arrangement and closed tiles are kept, also after the page was left and opened again.
#[test]
fn fitting_a_page_keeps_the_arrangement_of_the_user() {
    let low = egui::vec2(720.0, 500.0);
    let mut t = Tiling::new("x", &panes());
    t.close(t.by_view("b"));
    assert!(!t.fit("x", low));
    let mut t = Tiling::new("x", &panes());
    let mut saved = t.tree.clone();
    let (a, root) = (t.by_view("a"), saved.root.unwrap());
    saved.move_tile_to_container(a, root, usize::MAX, true);
    t.replace(saved.clone());
    assert!(!t.fit("x", low));
    assert_eq!(t.tree, saved);
    let mut unknown = Tiling::from_layout(saved);
    assert!(!unknown.fit("x", low), "nothing is known of its panes");
}

impl Tiling {
    fn by_view(&self, view: &str) -> TileId {
        self.in_order().into_iter().find(|(_, v)| v == view).expect("it is open").0
    }
}

/// A view added from *More views* becomes a tab: the page still fits, and the front tabs and the selection stay.
#[test]
fn tabs_that_were_added_move_with_their_tile() {
    let (large, low, tiny) = (egui::vec2(720.0, 640.0), egui::vec2(720.0, 500.0), egui::vec2(500.0, 400.0));
    for first in [large, low, tiny] {
        let mut t = Tiling::new("x", &panes());
        t.fit("x", first);
        t.assign_numbers();
        t.show("e");
        t.assign_numbers();
        assert!(!t.fit("x", first), "it fits as it is");
        for room in [large, low, tiny, low, large] {
            t.fit("x", room);
            t.assign_numbers();
            let mut open: Vec<String> = t.in_order().into_iter().map(|(_, view)| view).collect();
            open.sort();
            assert_eq!(open, ["a", "b", "c", "e"], "{first} {room}");
            assert_eq!(t.selected, Some(t.by_view("e")), "{first} {room}");
            assert!(t.in_front().contains(&"e".to_owned()), "{first} {room}");
            assert_eq!(t.by_number().last().map(|(number, _, view)| (*number, view.as_str())), Some((4, "e")));
        }
        assert_eq!(t.in_front().len(), 3, "{first}");
        t.close(t.by_view("e"));
        assert!(t.fit("x", tiny), "what was closed is in no one's way");
        assert_eq!(t.in_order().len(), 3);
    }
}

/// A link names the views that would be in front on a large page, so that opening it there closes none of them.
#[test]
fn a_small_page_lists_the_views_in_front_on_a_large_page() {
    let mut t = Tiling::new("x", &panes());
    t.fit("x", egui::vec2(500.0, 400.0));
    assert_eq!(t.in_front(), ["a"]);
    assert_eq!(t.in_front_of_large_page("x"), ["a", "b", "c"]);
    t.close(t.by_view("b"));
    assert_eq!(t.in_front_of_large_page("x"), ["a"], "the user has closed a tile");
}

/// Five tiles in rows of three, as a run of another program has them: four are shown if two by two fit.
#[test]
fn many_tiles_stand_in_a_grid() {
    let panes: Vec<LabPane> =
        ["a", "b", "c", "d", "e"].iter().enumerate().map(|(i, v)| LabPane::tile(v, i / 3)).collect();
    let mut t = Tiling::new("x", &panes);
    assert!(t.fit("x", egui::vec2(720.0, 640.0)));
    assert_eq!(t.in_front(), ["a", "b", "c", "d"]);
    assert!(t.fit("x", egui::vec2(1100.0, 400.0)));
    assert_eq!(t.in_front(), ["a", "b", "c"], "three beside one another");
    assert!(t.fit("x", egui::vec2(1100.0, 640.0)));
    assert_eq!(t.in_front().len(), 5);
}

/// A step of the lesson is about one view: a low tile that is smaller than another would not show all that the step names.
#[test]
fn the_view_of_a_lesson_step_has_the_largest_tile() {
    let (room, high) = (egui::vec2(720.0, 640.0), egui::vec2(720.0, 1000.0));
    let mut t = Tiling::new("x", &panes());
    let mut fronts = |view: Option<&str>, room: Vec2| {
        t.step_view = view.map(str::to_owned);
        if let Some(view) = view {
            t.show(view);
        }
        t.fit("x", room);
        assert!(!t.fit("x", room), "it fits as it is");
        t.in_front()
    };
    assert_eq!(fronts(Some("c"), room), ["a", "c"], "beside one another");
    assert_eq!(fronts(Some("b"), room), ["a", "b"]);
    assert_eq!(fronts(Some("a"), room), ["a", "b", "c"], "the first tile is the largest already");
    assert_eq!(fronts(Some("c"), high), ["a", "b", "c"], "the lower row is high enough");
    // one that is not on the page opens as a tab of the selected tile
    assert_eq!(fronts(Some("e"), room), ["a", "e"]);
    assert_eq!(fronts(None, room).len(), 3, "without a step the tiles are the lab's");
}
