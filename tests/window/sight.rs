//! Measures the opening page of every lab with its recorded example: the number and height of its tiles, the size of
//! its charts, and whether its tables are cut off, at typical window sizes. It needs no graphics adapter, and covers
//! new views without a change.

use std::sync::Arc;

use crossbeam::channel::bounded;
use eframe::egui::{
    Context, Event, FullOutput, Key, Modifiers, MouseWheelSource, MouseWheelUnit, RawInput, Rect, Shape, TouchPhase,
    Vec2, ViewportId,
    accesskit::{self, Role},
    epaint::TextShape,
    pos2, vec2,
};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use egui_tiles::{Container, Tile, TileId};
use orrery::{
    cli::{host::DesktopHost, runs::Runs},
    config::{Config, Value},
    labs::{self, LABS, Lab, Place},
    telemetry::{RunHandle, RunInfo, RunState},
    ui::{
        action::Actions,
        app::Opening,
        lists::Lists,
        page::{Page, example},
        panels::{CONTROLS_WIDTH, INSPECTOR_WIDTH, Shell, lab_page_ui},
        plot::{self, DrawnTiles},
        run::EXAMPLE_CANNOT_BE_ASKED,
        session::{Session, Tab},
        theme::{self, Theme},
        views::{self, VIEWS},
    },
};

use crate::{
    recorded,
    stub_host::StubHost,
    tessellation::{tile, unseen},
    tiles::{Tile as ViewTile, in_a_tile},
    ui::{Desktop, Worker, open_labs},
    wait_for::wait_until,
};

/// A window size in points, and its pixels per point.
struct Sheet {
    name: &'static str,
    size: [f32; 2],
    scale: f32,
    /// The minimum height of a tile, points.
    least_tile: f32,
}

const SHEETS: [Sheet; 6] = [
    Sheet { name: "1280x800", size: [1280.0, 800.0], scale: 1.0, least_tile: 300.0 },
    // the space that remains beside the desktop's bars on a 1280x800 screen, and on a 1920x1080 one at 1.5 pixels per
    // point
    Sheet { name: "1280x728", size: [1280.0, 728.0], scale: 1.0, least_tile: 300.0 },
    Sheet { name: "1280x648", size: [1280.0, 648.0], scale: 1.0, least_tile: 300.0 },
    Sheet { name: "1024x700", size: [1024.0, 700.0], scale: 1.0, least_tile: 300.0 },
    Sheet { name: "1920x1080", size: [1920.0, 1080.0], scale: 1.0, least_tile: 300.0 },
    Sheet { name: "3840x2160 at 2", size: [1920.0, 1080.0], scale: 2.0, least_tile: 300.0 },
];
/// A window in which two rows of tiles have little more than their minimum height.
const LOWEST: Sheet = Sheet { name: "1280x768", size: [1280.0, 768.0], scale: 1.0, least_tile: 300.0 };
/// A window of 1280x800 in presenter mode, in which everything is 1.5 times as large.
const PRESENTED: Sheet =
    Sheet { name: "presenter mode", size: [1280.0 / 1.5, 800.0 / 1.5], scale: 1.0, least_tile: 300.0 };
/// The same at a scale of 250%.
const ENLARGED: Sheet =
    Sheet { name: "presenter mode at 250%", size: [1280.0 / 3.75, 800.0 / 3.75], scale: 1.0, least_tile: 200.0 };
/// A window that is too small for any lab.
const TINY: Sheet = Sheet { name: "640x400", size: [640.0, 400.0], scale: 1.0, least_tile: 300.0 };

const MOST_TILES: usize = 3;
/// The tolerance for rounded sizes, points.
const SLACK: f32 = 1.0;

/// A lab's page as it opens, with its recorded example.
fn opened(lab: &'static Lab, ctx: &Context) -> Page {
    let folder = tempfile::tempdir().unwrap();
    let mut host = DesktopHost::new(folder.path().to_owned(), Runs::new()).with_examples();
    let mut page = Page::new(lab, lab.opening_config().unwrap());
    assert!(example::show(&mut page, &mut host, ctx), "{} has no example", lab.id);
    wait_until(lab.id, || {
        page.pump();
        page.mirror().and_then(|mirror| mirror.state.as_ref()) == Some(&RunState::Stopped)
    });
    page
}

/// A lab's page with a recorded run that has data for every view.
fn filled(lab: &'static Lab, ctx: &Context) -> Page {
    let mut page = Page::new(lab, lab.opening_config().unwrap());
    let mut mirror = recorded::twins();
    let info = mirror.info.take().expect("a recorded run has a description");
    let config: Config = page.config.clone();
    mirror.info = Some(Arc::new(RunInfo { lab: config.lab.clone(), config, ..(*info).clone() }));
    let begin = |_: &Config| Ok(RunHandle { commands: bounded(1).0, inbox: Default::default() });
    page.launch(&mut StubHost(begin), ctx);
    page.run.as_mut().expect("a run was begun").mirror = mirror;
    page
}

/// Draws several frames of the page and returns the plots and tiles of the last one.
fn draw(page: &mut Page, ctx: &Context, sheet: &Sheet) -> DrawnTiles {
    frames(page, ctx, sheet, &mut Session { still: true, ..Session::default() });
    plot::drawn(ctx)
}

/// An upright text of a frame.
struct SeenText {
    words: String,
    place: Rect,
    clip: Rect,
    is_elided: bool,
    /// The visible part of a tab's title is painted over.
    is_covered: bool,
    /// Its rows, with the places of their ink.
    rows: Vec<(String, Rect)>,
}

impl SeenText {
    fn new(text: &TextShape, clip: Rect) -> Self {
        let rows = text.galley.rows.iter().map(|row| {
            let ink = row.row.visuals.mesh_bounds.translate(text.pos.to_vec2() + row.pos.to_vec2());
            (row.row.glyphs.iter().map(|glyph| glyph.chr).collect(), ink)
        });
        let place = Rect::from_min_size(text.pos, text.galley.size());
        let (words, is_elided) = (text.galley.text().to_owned(), text.galley.elided);
        Self { words, place, clip, is_elided, is_covered: false, rows: rows.collect() }
    }

    fn visible_part(&self) -> Rect {
        self.place.intersect(self.clip)
    }

    fn is_covered_by(&self, shape: &Shape) -> bool {
        let Shape::Rect(cover) = shape else { return false };
        cover.fill.is_opaque() && cover.rect.expand(SLACK).contains_rect(self.visible_part())
    }

    /// Returns true for the title of a numbered tab.
    fn is_tab(&self) -> bool {
        self.words.starts_with(|c: char| c.is_ascii_digit()) && self.words[1..].starts_with("  ")
    }

    /// Returns true for a part of a tab's title that the end of its bar has left.
    fn is_part_of_tab(&self) -> bool {
        self.is_tab() && !self.is_whole() && !self.is_covered && self.visible_part().is_positive()
    }

    fn is_whole(&self) -> bool {
        self.clip.expand(SLACK).contains_rect(self.place)
    }

    /// Returns the rows that the lower edge of their area cuts.
    fn cut_rows(&self) -> impl Iterator<Item = &str> {
        let edge = self.clip.bottom();
        let is_cut = move |ink: &Rect| ink.top() < edge - SLACK && ink.bottom() > edge + 2.0 * SLACK;
        self.rows.iter().filter(move |(_, ink)| is_cut(ink)).map(|(words, _)| words.as_str())
    }
}

/// The texts of a frame, those of them that are wholly visible, its scroll bars, and the buttons with their names.
#[derive(Default)]
struct Seen {
    texts: Vec<SeenText>,
    words: Vec<String>,
    bars: Vec<Rect>,
    buttons: Vec<(String, Rect)>,
}

impl Seen {
    fn new(out: &FullOutput) -> Self {
        let texts = out.shapes.iter().enumerate().filter_map(|(i, clipped)| match &clipped.shape {
            Shape::Text(text) if text.angle == 0.0 => {
                let text = SeenText::new(text, clipped.clip_rect);
                let later = &out.shapes[i + 1..];
                let is_covered = text.is_tab() && later.iter().any(|later| text.is_covered_by(&later.shape));
                Some(SeenText { is_covered, ..text })
            }
            _ => None,
        });
        let texts: Vec<SeenText> = texts.collect();
        let words = texts.iter().filter(|text| text.is_whole()).map(|text| text.words.clone()).collect();
        let nodes = || out.platform_output.accesskit_update.iter().flat_map(|update| &update.nodes);
        let bars = nodes().filter(|(_, node)| node.role() == Role::ScrollBar && node.label().is_none());
        let place =
            |r: accesskit::Rect| Rect::from_min_max(pos2(r.x0 as f32, r.y0 as f32), pos2(r.x1 as f32, r.y1 as f32));
        let buttons = nodes().filter(|(_, node)| node.role() == Role::Button);
        let buttons = buttons.filter_map(|(_, node)| Some((node.label()?.to_owned(), place(node.bounds()?))));
        let bars = bars.filter_map(|(_, node)| node.bounds().map(place)).collect();
        Self { words, bars, buttons: buttons.collect(), texts }
    }
}

/// Draws the page several times; returns the visible texts and scroll bars of the last frame.
fn frames(page: &mut Page, ctx: &Context, sheet: &Sheet, session: &mut Session) -> Seen {
    const FRAMES: u8 = 5;
    let (theme, mut seen) = (Theme::dark(), Seen::default());
    theme::apply(&theme, true, ctx);
    ctx.enable_accesskit();
    plot::watch(ctx);
    for frame in 1..=FRAMES {
        let (mut actions, now) = (Actions::default(), 1.0 + f64::from(frame) / 60.0);
        let screen_rect = Some(Rect::from_min_size(pos2(0.0, 0.0), vec2(sheet.size[0], sheet.size[1])));
        let mut input = RawInput { screen_rect, time: Some(now), ..RawInput::default() };
        input.viewports.entry(ViewportId::ROOT).or_default().native_pixels_per_point = Some(sheet.scale);
        let out = ctx.run_ui(input, |ui| {
            let mut shell = Shell {
                theme: &theme,
                session: &mut *session,
                lists: Lists::default(),
                actions: &mut actions,
                devices: &[],
                trash: &[],
                now,
            };
            lab_page_ui(ui, &mut shell, page, None);
        });
        if frame == FRAMES {
            seen = Seen::new(&out);
        }
        out.drop_without_applying_deltas();
    }
    seen
}

/// The tiles in front, with the id of their view and their height including the tab bar.
fn in_front(page: &Page) -> Vec<(TileId, String, f32)> {
    let tiles = &page.tiling.tree.tiles;
    let active = page.tiling.tree.active_tiles();
    let front = page.tiling.in_order().into_iter().filter(|(id, _)| active.contains(id));
    let height = |id: TileId| {
        let whole = tiles.parent_of(id).filter(|parent| {
            matches!(tiles.get(*parent), Some(Tile::Container(Container::Tabs(tabs))) if tabs.children.contains(&id))
        });
        tiles.rect(whole.unwrap_or(id)).map_or(0.0, |rect| rect.height())
    };
    front.map(|(id, view)| (id, view, height(id))).collect()
}

/// Messages about the faults of an opening page (too many tiles, or a part that is too small), and the number of
/// pictures.
fn faults(page: &mut Page, ctx: &Context, sheet: &Sheet) -> (Vec<String>, usize) {
    let drawn = draw(page, ctx, sheet);
    let front = in_front(page);
    let mut faults = vec![];
    if front.is_empty() || front.len() > MOST_TILES {
        faults.push(format!("{} tiles", front.len()));
    }
    for (_, view, high) in &front {
        if *high < sheet.least_tile - SLACK {
            faults.push(format!("the tile of {view} is {high} points high"));
        }
    }
    let view_of =
        |tile: u64| front.iter().find(|(id, ..)| id.0 == tile).map_or("no tile", |(_, view, _)| view.as_str());
    let is_roomy = |size: Vec2| size.x >= plot::MIN_PLOT_SIZE.x - SLACK && size.y >= plot::MIN_PLOT_SIZE.y - SLACK;
    for found in &drawn.plots {
        // the topmost charts of a tile must be wholly visible; those below may need scrolling
        let of_tile = drawn.plots.iter().filter(|other| other.tile == found.tile);
        let highest = of_tile.map(|other| other.area.bottom()).fold(f32::INFINITY, f32::min);
        let size = if found.area.top() < highest { found.in_sight.size() } else { found.area.size() };
        if !is_roomy(size) {
            let (view, chart) = (view_of(found.tile), &found.chart);
            faults.push(format!("{view}: of the plot of {chart} {} x {} points are in sight", size.x, size.y));
        }
    }
    let pictures = || drawn.plots.iter().chain(&drawn.canvases);
    for (id, view, _) in &front {
        // small pictures are allowed beside a large one
        let sizes: Vec<Vec2> = pictures().filter(|found| found.tile == id.0).map(|f| f.in_sight.size()).collect();
        let is_small = !sizes.is_empty() && !sizes.iter().any(|size| is_roomy(*size));
        if is_small {
            faults.push(format!("{view}: no picture is large enough: {sizes:?}"));
        }
    }
    for tile in &drawn.tiles {
        if tile.content.x > tile.room.x + 2.0 * SLACK {
            let (view, content, room) = (view_of(tile.tile), tile.content.x, tile.room.x);
            faults.push(format!("{view}: {content} points of content are wider than its tile of {room}"));
        }
    }
    for table in drawn.tables.iter().filter(|table| table.content > table.room + 2.0 * SLACK) {
        let (view, content, room) = (view_of(table.tile), table.content, table.room);
        faults.push(format!("{view}: the columns of {} take {content} points, and {room} are in sight", table.table));
    }
    let place = format!("{} {}", page.lab.id, sheet.name);
    (faults.into_iter().map(|fault| format!("{place}: {fault}")).collect(), pictures().count())
}

/// Space must also move something that is in sight, in windows where tiles share a place too.
#[test]
fn the_first_sight_of_every_lab_is_large_enough() {
    const WITHOUT_TRAINING: [&str; 6] =
        ["oscillators", "phase_plane", "slow_manifold", "trace_decay", "trace_strips", "word_swap"];
    let only = std::env::var("LAB").ok();
    let (mut all, mut pictures) = (vec![], 0);
    for lab in LABS.iter().filter(|lab| only.as_deref().is_none_or(|only| only == lab.id)) {
        let ctx = Context::default();
        let mut page = opened(lab, &ctx);
        for sheet in &SHEETS {
            let (faults, found) = faults(&mut page, &ctx, sheet);
            all.extend(faults);
            pictures += found;
            let front: Vec<String> = in_front(&page).into_iter().map(|(_, view, _)| view).collect();
            if front.iter().all(|view| WITHOUT_TRAINING.contains(&view.as_str())) {
                all.push(format!("{} {}: training moves none of {front:?}", lab.id, sheet.name));
            }
        }
    }
    assert!(all.is_empty(), "{} faults:\n{}", all.len(), all.join("\n"));
    assert!(only.is_some() || pictures >= LABS.len() * SHEETS.len(), "only {pictures} pictures were seen");
}

/// Looks at the first screen of these labs in windows of these sizes, after the page was small.
fn first_sights<'a>(
    labs: impl IntoIterator<Item = &'static Lab>,
    sheets: impl IntoIterator<Item = &'a Sheet> + Clone,
    mut look: impl FnMut(&Page, &Seen, &str),
) {
    for lab in labs {
        let ctx = Context::default();
        let mut page = opened(lab, &ctx);
        let mut session = Session { still: true, ..Session::default() };
        frames(&mut page, &ctx, &TINY, &mut session);
        for sheet in sheets.clone() {
            frames(&mut page, &ctx, sheet, &mut session);
            frames(&mut page, &ctx, sheet, &mut session);
            let seen = frames(&mut page, &ctx, sheet, &mut session);
            look(&page, &seen, &format!("{} {}", lab.id, sheet.name));
        }
    }
}

/// A subtitle says what is shown at which step, and its explanation may be in the tooltip alone; half a row of a table or
/// a note cannot be read; and no title of a tab lies under an arrow.
#[test]
fn subtitles_rows_and_tabs_are_whole_at_first_sight() {
    let mut faults = vec![];
    first_sights(LABS.iter().copied(), SHEETS.iter().chain([&LOWEST]), |page, seen, name| {
        let fronts = in_front(page).into_iter().filter_map(|(id, ..)| page.tiling.tree.tiles.rect(id));
        let fronts: Vec<Rect> = fronts.collect();
        // in lower windows more tiles share a place than its bar has room for, and *More views* takes room of a subtitle
        let has_all_tiles = [&SHEETS[0], &LOWEST].iter().any(|sheet| name.ends_with(sheet.name));
        for title in fronts.iter().map(|tile| tile.with_max_y(tile.top() + 32.0)) {
            for text in seen.texts.iter().filter(|text| title.contains(text.place.center())) {
                let says_what = !text.words.starts_with("step ") || text.words.contains(" \u{b7} ");
                if text.is_elided || has_all_tiles && !says_what {
                    faults.push(format!("{name}: the subtitle `{}`", text.words));
                }
            }
        }
        let in_tiles = seen.texts.iter().filter(|text| fronts.iter().any(|tile| tile.contains(text.clip.center())));
        faults.extend(in_tiles.flat_map(SeenText::cut_rows).map(|row| format!("{name}: `{row}` is cut")));
        // the steps of a lesson are numbered too, beside the tiles
        let is_over_tile = |text: &&SeenText| fronts.iter().any(|tile| tile.x_range().contains(text.place.center().x));
        let cut_tabs = seen.texts.iter().filter(is_over_tile).filter(|text| text.is_part_of_tab());
        faults.extend(cut_tabs.map(|text| format!("{name}: a part of the tab `{}` is in sight", text.words)));
        let arrows = seen.buttons.iter().filter(|(label, _)| has_all_tiles && label.starts_with("Scroll tabs"));
        faults.extend(arrows.map(|(label, place)| format!("{name}: {label} at {place:?}")));
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The first screen of a lab shows what the lab is about.
#[test]
fn the_first_screen_of_a_lab_shows_its_subject() {
    let about = ["traces", "grammar_roles", "synapses", "neuron_graph", "trained_bdh"];
    first_sights(about.map(|id| labs::find(id).unwrap()), [&SHEETS[0], &LOWEST], |page, seen, name| {
        let has = |words: &str| seen.words.iter().any(|seen| seen == words);
        match page.lab.id {
            "traces" => {
                assert!(has("attention, raw tokens"), "{name}: the line that stays at 1 is named: {:?}", seen.words);
                let rows = ["fast", "medium", "slow"].map(|trace| seen.words.iter().filter(|w| *w == trace).count());
                assert!(rows[0] == rows[1] && rows[1] == rows[2] && rows[0] > 0, "{name}: {rows:?} of three traces");
                let (strips, ..) = in_front(page)[0];
                let strips = page.tiling.tree.tiles.rect(strips).unwrap();
                assert!(!seen.bars.iter().any(|bar| strips.contains(bar.center())), "{name}: the strips are whole");
            }
            "grammar_roles" => {
                assert!(has("precision") && has("feedback") && !has("W_fb"), "{name}: {:?}", seen.words);
                let place = |words: &str| seen.texts.iter().find(|text| text.words == words).map(|text| text.place);
                let places = ["error", "precision", "feedback"].map(|words| place(words).unwrap());
                let is_in_row = |pair: &[Rect]| pair[0].top() == pair[1].top() && pair[0].right() < pair[1].left();
                assert!(places.windows(2).all(is_in_row), "{name}: {places:?}");
            }
            "synapses" => {
                let sentence = seen.texts.iter().find(|text| text.words.contains("surprise\u{a0}"));
                let rows = &sentence.expect("the values at the cursor").rows;
                let is_named = |row: &str| ["\u{3c3}", "surprise", "y"].iter().any(|name| row.starts_with(name));
                assert!(rows.iter().all(|(row, _)| is_named(row)), "{name}: {rows:?}");
            }
            _ => {
                let button = |label: &str| seen.buttons.iter().find(|(name, _)| name == label);
                let rows = ["look", "export"].map(|label| button(label).map(|(_, place)| place.center().y));
                assert!(rows[0].is_some() && rows[0] == rows[1], "{name}: {rows:?}");
                for text in seen.texts.iter().filter(|text| ["look", "export"].contains(&text.words.as_str())) {
                    let (_, frame) = button(&text.words).unwrap();
                    let is_apart = frame.left() < text.place.left() - 2.0 && frame.right() > text.place.right() + 2.0;
                    assert!(is_apart, "{name}: `{}` at {:?} has no frame: {frame:?}", text.words, text.place);
                }
                let has_legend = seen.words.iter().any(|words| words.starts_with("community "));
                assert!(has_legend, "{name}: the colours are named: {:?}", seen.words);
            }
        }
    });
}

/// The first picture of these labs says what they have found.
#[test]
fn labs_open_with_their_findings_in_sight() {
    let shown_by: [(&str, &[&str]); 3] = [
        (
            "ode_flow",
            &["class + at u\u{2080} = +1", "at u\u{2080} = \u{2212}1: 0.0", "class \u{2212}", "u\u{2080} = 0.00"],
        ),
        ("bdh_physics", &["all 5 hold up to rounding", "local rules = equations (6)", "holds"]),
        ("trained_bdh", &["modularity Q", "one null (same degrees): 0."]),
    ];
    for (lab, shown) in shown_by {
        let ctx = Context::default();
        let mut page = opened(labs::find(lab).unwrap(), &ctx);
        let seen = frames(&mut page, &ctx, &SHEETS[0], &mut Session { still: true, ..Session::default() });
        for words in shown {
            assert!(seen.words.iter().any(|seen| seen.starts_with(words)), "{lab}, {words}: {:?}", seen.words);
        }
    }
}

/// A dial that is turned over an example asks what nobody can answer. One line says so, and no plot loses its room for it.
#[test]
fn a_slider_moved_over_an_example_does_not_shrink_plots() {
    let ctx = Context::default();
    let mut page = opened(labs::find("ode_flow").unwrap(), &ctx);
    let views = ["flow_sweep", "flow_paths", "flow_along"];
    for (sheet, view) in SHEETS.iter().flat_map(|sheet| views.map(|view| (sheet, view))) {
        let place = format!("{view} {}", sheet.name);
        page.tiling.show(view);
        page.change("control.u0", Value::Float(0.0), 1.0);
        let before = draw(&mut page, &ctx, sheet);
        page.change("control.u0", Value::Float(1.5), 1.0);
        let seen = frames(&mut page, &ctx, sheet, &mut Session { still: true, ..Session::default() });
        assert!(seen.words.iter().any(|words| words == EXAMPLE_CANNOT_BE_ASKED), "{place}: {:?}", seen.words);
        for tile in plot::drawn(&ctx).tiles {
            let room = before.tiles.iter().find(|other| other.tile == tile.tile).map(|other| other.room.y);
            let lost = room.map(|room| room - tile.room.y);
            assert!(lost.is_some_and(|lost| lost < 26.0), "{place}: {lost:?} points for one line");
        }
        let (faults, _) = faults(&mut page, &ctx, sheet);
        assert!(faults.is_empty(), "{place}:\n{}", faults.join("\n"));
    }
}

/// The text below a sentence does not push the chart out of view.
#[test]
fn the_whole_staircase_chart_is_visible() {
    let (ctx, sheet) = (Context::default(), &SHEETS[0]);
    let mut page = opened(labs::find("fast_slow").unwrap(), &ctx);
    draw(&mut page, &ctx, sheet);
    page.tiling.show("staircase");
    let (faults, _) = faults(&mut page, &ctx, sheet);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(in_front(&page).iter().any(|(_, view, _)| view == "staircase"));
}

/// Tabs are numbered by their order in the bars, even if they were numbered in another arrangement before.
#[test]
fn numbers_of_tabs_rise_along_their_bars() {
    // in Traces a tile without a bar is at the right of one with a bar
    for (id, first) in [("ode_flow", &SHEETS[4]), ("traces", &SHEETS[0])] {
        let lab = labs::find(id).unwrap();
        let ctx = Context::default();
        let mut page = opened(lab, &ctx);
        for sheet in [first, &SHEETS[0], &TINY] {
            draw(&mut page, &ctx, sheet);
            let views: Vec<String> = page.tiling.by_number().into_iter().map(|(.., view)| view).collect();
            let own = lab.panes.iter().filter(|pane| pane.place != Place::More);
            assert_eq!(views, own.map(|pane| pane.view).collect::<Vec<_>>(), "{id}, {}", sheet.name);
        }
    }
}

/// Scroll bars are in the margin of a tile, beside its content.
#[test]
fn scroll_bars_of_tiles_cover_no_content() {
    let (ctx, sheet) = (Context::default(), &SHEETS[2]);
    let mut page = opened(labs::find("ode_flow").unwrap(), &ctx);
    let seen = frames(&mut page, &ctx, sheet, &mut Session { still: true, ..Session::default() });
    let tree = &page.tiling.tree;
    let tiles: Vec<Rect> = tree.active_tiles().into_iter().filter_map(|id| tree.tiles.rect(id)).collect();
    let is_upright = |bar: &&Rect| bar.height() > bar.width();
    let in_tiles = seen.bars.iter().filter(is_upright).filter_map(|bar| {
        let tile =
            tiles.iter().filter(|tile| tile.contains(bar.center())).min_by(|a, b| a.area().total_cmp(&b.area()))?;
        Some((bar, tile))
    });
    let in_tiles: Vec<(&Rect, &Rect)> = in_tiles.collect();
    assert!(!in_tiles.is_empty(), "the tile of Steering scrolls");
    for (bar, tile) in in_tiles {
        // a scroll bar away from the pointer is drawn four points wide
        assert!(bar.right() - 4.0 >= tile.right() - 8.0, "{bar:?} in {tile:?}");
    }
}

/// The sliders are still beside the parts that they move.
#[test]
fn sliders_and_their_effect_are_in_sight_in_presenter_mode() {
    let ctx = Context::default();
    let mut page = opened(labs::find("ode_flow").unwrap(), &ctx);
    let mut session = Session { still: true, is_presenting: true, ..Session::default() };
    let words = frames(&mut page, &ctx, &PRESENTED, &mut session).words;
    for wanted in ["u\u{2080}", "u\u{2083}", "mass of a class", "next word"] {
        assert!(words.iter().any(|word| word == wanted), "{wanted}: {words:?}");
    }
    let is_share = |word: &&String| word.starts_with("0.") && word.len() == 6;
    assert!(words.iter().filter(is_share).count() >= 8, "a value at each bar: {words:?}");
}

/// However large everything is, the tiles keep a height, and the page scrolls to them.
#[test]
fn tiles_keep_a_height_in_an_enlarged_presentation() {
    let ctx = Context::default();
    let mut page = opened(labs::find("fast_slow").unwrap(), &ctx);
    let mut session = Session { still: true, is_presenting: true, ..Session::default() };
    let seen = frames(&mut page, &ctx, &ENLARGED, &mut session);
    let front = in_front(&page);
    let is_high = |(.., high): &(TileId, String, f32)| *high >= ENLARGED.least_tile - SLACK;
    assert!(!front.is_empty() && front.iter().all(is_high), "{front:?}");
    let tiles = page.tiling.tree.root.and_then(|root| page.tiling.tree.tiles.rect(root)).unwrap();
    let is_of_page = |bar: &Rect| bar.height() > bar.width() && bar.right() > tiles.right() + SLACK;
    assert!(seen.bars.iter().any(is_of_page), "no bar of the page: {:?}", seen.bars);
}

/// The rates are large beside their labels, and what they say of the limit can be read.
#[test]
fn a_generator_is_readable_in_presenter_mode() {
    let ctx = Context::default();
    let mut page = opened(labs::find("equilibrium").unwrap(), &ctx);
    let mut session = Session { still: true, is_presenting: true, ..Session::default() };
    let seen = frames(&mut page, &ctx, &PRESENTED, &mut session);
    let canvases = plot::drawn(&ctx).canvases;
    let matrix = canvases.iter().find(|canvas| canvas.chart.starts_with("rates between")).expect("the matrix");
    assert!(matrix.in_sight.height() >= 150.0, "{:?}", matrix.in_sight);
    let verdict = "Irreducible: one stationary distribution";
    assert!(seen.words.iter().any(|words| words.starts_with(verdict)), "{:?}", seen.words);
}

/// A tile that is too low for the rates and the chart above one another shows the one that is chosen.
#[test]
fn a_low_tile_of_a_generator_shows_the_chosen_picture() {
    let size = vec2(404.0, 293.0);
    let builder = unseen(Harness::builder().with_size(size));
    let mut harness = builder.build_ui_state(in_a_tile(size), tile("generator", recorded::twins()));
    harness.run_steps(3);
    let shown = |harness: &Harness<'_, ViewTile>| {
        let svg = harness.state().svg.clone().unwrap();
        ["rates between states", "stationary distribution"]
            .map(|title| svg.contains(&format!("<title>{title}</title>")))
    };
    assert_eq!(shown(&harness), [true, false]);
    harness.get_by_role_and_label(Role::ComboBox, "picture").click();
    harness.run_steps(4);
    harness.get_by_label("distributions").click();
    harness.run_steps(4);
    assert_eq!(shown(&harness), [false, true]);
}

/// The tiles have the room that side panels of a fixed width leave.
fn check_room(page: &Page, tab: Tab) {
    let room = SHEETS[0].size[0] - CONTROLS_WIDTH - INSPECTOR_WIDTH - 16.0;
    let tree = &page.tiling.tree;
    let width = tree.root.and_then(|root| tree.tiles.rect(root)).map_or(0.0, |rect| rect.width());
    let place = format!("{}, {tab:?} {:?}", page.lab.id, page.lesson.current);
    assert!((width - room).abs() < SLACK, "{place}: {width} of {room}");
}

/// A step of a lesson is about one view: its tile is as large as any other, or high enough for all that a view has. The
/// panel beside the tiles does not shrink them, whatever it holds.
#[test]
fn the_view_of_every_lesson_step_has_a_large_tile() {
    const HIGH_ENOUGH: f32 = 450.0;
    let mut faults = vec![];
    for lab in LABS {
        let ctx = Context::default();
        let mut page = opened(lab, &ctx);
        let mut session = Session { still: true, tab: Tab::Inspector, ..Session::default() };
        frames(&mut page, &ctx, &SHEETS[0], &mut session);
        check_room(&page, session.tab);
        session.tab = Tab::Lesson;
        for (i, step) in page.lesson.lesson.steps.clone().iter().enumerate() {
            page.lesson.current = Some(i);
            let Some(view) = &step.does.view else {
                frames(&mut page, &ctx, &SHEETS[0], &mut session);
                check_room(&page, session.tab);
                continue;
            };
            page.tiling.show(view);
            for sheet in [&SHEETS[0], &LOWEST] {
                frames(&mut page, &ctx, sheet, &mut session);
                check_room(&page, session.tab);
                let front = in_front(&page);
                let tiles = &page.tiling.tree.tiles;
                let area =
                    |(id, _, high): &(TileId, String, f32)| tiles.rect(*id).map_or(0.0, |rect| rect.width() * high);
                let largest = front.iter().map(area).fold(0.0, f32::max);
                let own = front.iter().find(|(_, shown, _)| shown == view);
                if !own.is_some_and(|tile| tile.2 >= HIGH_ENOUGH || area(tile) > 0.88 * largest) {
                    faults.push(format!("{} {}, step {}: {view} in {own:?}", lab.id, sheet.name, i + 1));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// The chart of the step is in sight, below a sentence and controls.
#[test]
fn the_lesson_step_on_causality_shows_its_chart() {
    let ctx = Context::default();
    let mut page = filled(labs::find("fast_slow").unwrap(), &ctx);
    let mut steps = page.lesson.lesson.steps.iter();
    page.lesson.current = steps.position(|step| step.does.view.as_deref() == Some("causality"));
    assert!(page.lesson.current.is_some());
    page.tiling.show("causality");
    let drawn = draw(&mut page, &ctx, &SHEETS[0]);
    let chart = drawn.plots.iter().find(|found| found.chart == "causality").expect("an answer is recorded");
    let (sight, least) = (chart.in_sight.size(), plot::MIN_PLOT_SIZE - Vec2::splat(SLACK));
    assert!(sight.x >= least.x && sight.y >= least.y, "{sight:?} of it are in sight");
}

/// The check reports each kind of fault.
#[test]
fn a_window_that_is_too_small_is_found() {
    let ctx = Context::default();
    let mut page = filled(LABS[0], &ctx);
    let (small, _) = faults(&mut page, &ctx, &TINY);
    assert!(small.iter().any(|fault| fault.contains("points high")), "{small:?}");
    // more views in front than allowed
    page.tiling.tree = orrery::ui::tiling::Tiling::new("x", &[0, 0, 1, 1].map(|row| tile_of(LABS[0], row))).tree;
    let (many, _) = faults(&mut page, &ctx, &SHEETS[0]);
    assert!(many.iter().any(|fault| fault.contains("4 tiles")), "{many:?}");
    // a table in a third of the page, which is less than it needs
    let lab = labs::find("coupled_qk").unwrap();
    let mut page = filled(lab, &ctx);
    page.tiling.tree = orrery::ui::tiling::Tiling::new("x", &[tile_of(lab, 0), tile_of(lab, 0), tile_of(lab, 0)]).tree;
    let (narrow, _) = faults(&mut page, &ctx, &SHEETS[0]);
    assert!(narrow.iter().any(|fault| fault.contains("wider than its tile")), "{narrow:?}");
    assert!(narrow.iter().any(|fault| fault.contains("the columns of race")), "{narrow:?}");
}

/// Returns the pane with the lab's first view in this row.
fn tile_of(lab: &Lab, row: usize) -> orrery::labs::Pane {
    orrery::labs::Pane::tile(lab.panes[0].view, row)
}

fn open(lab: &str) -> Desktop {
    let mut d = open_labs(Opening::Lab(lab.into()), Worker::Steps, VIEWS, [1280.0, 800.0]);
    d.steps(6);
    d
}

/// A view that is not on the page can be opened with a click: it becomes a tab, leaves the list, and undo names it.
#[test]
fn more_views_has_the_rest_of_the_lab() {
    let mut d = open("fast_slow");
    let lab = d.page().lab;
    let rest = || lab.panes.iter().filter(|pane| pane.place == Place::More).map(|pane| views::find(pane.view).unwrap());
    let tiles = in_front(d.page()).len();
    for view in rest() {
        assert!(d.page().tiling.in_order().iter().all(|(_, open)| open != view.id));
        d.harness.get_by_role_and_label(Role::Button, "More views").click();
        d.steps(4);
        d.harness.get_by_role_and_label(Role::Button, view.title).click();
        d.steps(4);
        let selected = d.page().tiling.selected;
        let found = in_front(d.page()).into_iter().find(|(_, open, _)| open == view.id);
        assert_eq!(found.map(|(id, ..)| id), selected, "{} is in front and selected", view.id);
        assert_eq!(in_front(d.page()).len(), tiles, "as a tab");
    }
    assert!(rest().count() > 3, "the lab has more views");
    assert!(!d.shows("More views"), "nothing is left to open");
    let last = rest().next_back().unwrap();
    d.harness.key_press_modifiers(Modifiers::COMMAND, Key::Z);
    d.steps(3);
    assert!(d.shows(&format!("Undid: opened tile {}", last.title)));
    assert!(d.shows("More views"), "what was closed is in the list again");
}

/// The last tab of a bar, opened from the list, is visible, also after the window became narrower.
#[test]
fn the_tab_in_front_stays_in_sight() {
    let mut d = open("fast_slow");
    let lab = d.page().lab;
    for view in lab.panes.iter().filter(|pane| pane.place == Place::More).map(|pane| views::find(pane.view).unwrap()) {
        d.harness.get_by_role_and_label(Role::Button, "More views").click();
        d.steps(4);
        d.harness.get_by_role_and_label(Role::Button, view.title).click();
        d.steps(20);
    }
    let selected = d.page().tiling.selected.expect("the last one is selected");
    let (_, view) = d.page().tiling.in_order().into_iter().find(|(id, _)| *id == selected).unwrap();
    let title = views::find(&view).unwrap().title;
    for width in [1280.0, 1024.0, 1180.0, 900.0] {
        d.harness.set_size(vec2(width, 800.0));
        d.steps(30);
        let selected = d.page().tiling.selected.expect("it stays selected");
        let tiles = &d.page().tiling.tree.tiles;
        let bar = tiles.parent_of(selected).and_then(|bar| tiles.rect(bar)).expect("it is a tab");
        let tabs = d.harness.query_all_by_role(Role::Button).filter(|node| {
            let label = node.accesskit_node().label().unwrap_or_default();
            label.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start() == title
        });
        let tab = tabs.map(|node| node.rect()).next().expect("a tab");
        assert!(bar.x_range().expand(SLACK).contains(tab.left()), "{width}: {tab:?} in {bar:?}");
        assert!(bar.x_range().expand(SLACK).contains(tab.right()), "{width}: {tab:?} in {bar:?}");
    }
}

/// A view that was scrolled begins at its top when it comes to the front again.
#[test]
fn a_view_that_is_shown_again_begins_at_its_top() {
    let mut d = open("traces");
    d.harness.set_size(vec2(1280.0, 330.0));
    d.steps(30);
    let strips = |d: &Desktop| d.harness.get_by_role_and_label(Role::Canvas, "traces under the sentence").rect();
    d.press(Key::Num1);
    let before = strips(&d);
    d.harness.hover_at(before.center_top() + vec2(0.0, 10.0));
    let (unit, source, delta) = (MouseWheelUnit::Point, MouseWheelSource::Unknown, vec2(0.0, -30.0));
    let (phase, modifiers) = (TouchPhase::Move, Modifiers::NONE);
    d.harness.event(Event::MouseWheel { unit, source, delta, phase, modifiers });
    d.steps(30);
    assert!(strips(&d).top() < before.top() - 10.0, "it was scrolled: {:?} from {before:?}", strips(&d));
    d.press(Key::Num2);
    d.steps(5);
    d.press(Key::Num1);
    d.steps(5);
    assert!((strips(&d).top() - before.top()).abs() < SLACK, "{:?} in place of {before:?}", strips(&d));
}

/// Each press of Escape closes what is innermost; a selected tile is nothing to leave.
#[test]
fn escape_closes_what_is_open_and_then_leads_back() {
    let mut d = open("fast_slow");
    d.press(Key::Num1);
    d.press(Key::Enter);
    assert!(d.page().tiling.maximised.is_some());
    d.press(Key::Escape);
    assert!(d.page().tiling.maximised.is_none() && d.page().tiling.selected.is_some(), "it puts the tile back");
    d.harness.get_by_role_and_label(Role::Button, "More views").click();
    d.steps(4);
    let is_listed = |d: &Desktop| d.harness.query_by_role_and_label(Role::Button, "Cost").is_some();
    assert!(is_listed(&d), "the list is open");
    d.press(Key::Escape);
    assert!(!is_listed(&d) && d.page().lab.id == "fast_slow", "it closes the list");
    d.press(Key::Escape);
    assert!(d.harness.state().page().is_none(), "it leads back to the gallery");
}
