//! Checks that no word is cut off or covered by another: on every lab's page with a small model that trains for a few
//! steps, in the gallery, on the sheets, and wherever other tests ask, at typical window sizes. It needs no graphics
//! adapter, and covers new views without a change.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use eframe::egui::{Color32, Event, Key, Modifiers, Rect, Shape, accesskit::Role, epaint::RectShape, pos2};
use egui_kittest::{
    Harness,
    kittest::{NodeT, Queryable},
};
use egui_tiles::Tile;
use orrery::{
    gpu,
    labs::{LABS, Lab, TrainSettings},
    telemetry::{QuestionState, RunState},
    ui::{
        action::ExportFormat,
        app::{App, Opening},
        mirror::Mirror,
        views::{self, VIEWS},
    },
};

use crate::{
    real_host::window_on,
    small_models::{lessen, make_small},
    ui::{Worker, open_labs},
};

/// The size of a page in points, its pixels per point, and whether it is in presenter mode.
struct Sheet {
    name: &'static str,
    size: [f32; 2],
    scale: f32,
    presents: bool,
    /// True for a width so narrow that every view of a lab is checked; at other widths only the views in front are.
    is_narrow: bool,
}

/// The scale of presenter mode.
const PRESENTED: f32 = 1.5;
/// The pause between two frames while the model works, so that it gets the core.
const PAUSE: Duration = Duration::from_millis(20);
/// The length of a frame in seconds while animations end, which takes some tenths of a second. In a longer one egui
/// moves nothing farther.
const LONG_FRAME: f32 = 0.1;

const SHEETS: [Sheet; 4] = [
    Sheet { name: "1280x800", size: [1280.0, 800.0], scale: 1.0, presents: false, is_narrow: false },
    Sheet { name: "1024x700", size: [1024.0, 700.0], scale: 1.0, presents: false, is_narrow: true },
    Sheet { name: "4K", size: [1920.0, 1080.0], scale: 2.0, presents: false, is_narrow: false },
    Sheet {
        name: "projector",
        size: [1280.0 / PRESENTED, 800.0 / PRESENTED],
        scale: 1.0,
        presents: true,
        is_narrow: true,
    },
];

/// A run that is measured within its first steps and writes no checkpoint.
const SOON: [(&str, f64); 4] =
    [("train.steps", 1000.0), ("run.eval_every", 2.0), ("run.checkpoint_every", 0.0), ("probe.flow_every", 2.0)];

struct TestWindow {
    harness: Harness<'static, App>,
    _folder: tempfile::TempDir,
}

impl TestWindow {
    fn new(lab: &'static Lab, preset: Option<&str>) -> Self {
        let mut config = lab.config(preset).unwrap();
        make_small(lab, &mut config);
        lessen(lab, &mut config, &SOON);
        let steps = config.value(TrainSettings::steps).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let builder = Harness::builder().with_size(SHEETS[0].size).with_step_dt(LONG_FRAME);
        let harness = window_on(builder, folder.path(), Some(Opening::Config(config)));
        // nothing is painted, but without a render target views would only show a message that says so
        let format = eframe::egui_wgpu::wgpu::TextureFormat::Rgba8Unorm;
        let target = gpu::Target { format, max_texture: 8192, compute: true, software: true };
        gpu::install_target(&harness.ctx, target);
        let mut desk = Self { harness, _folder: folder };
        desk.until("a page", |app| app.page().is_some());
        desk.train(steps.min(4));
        desk
    }

    fn until(&mut self, what: &str, holds: impl Fn(&App) -> bool) {
        let begun = Instant::now();
        while !holds(self.harness.state()) {
            let problem = self.harness.state().page().and_then(|p| p.problem.as_ref());
            assert!(begun.elapsed() < Duration::from_secs(300), "waited in vain: {what}; {problem:?}");
            self.harness.step();
            std::thread::sleep(PAUSE);
        }
    }

    fn train(&mut self, steps: u64) {
        for wanted in 1..=steps {
            self.harness.key_press(Key::ArrowRight);
            // the run pauses once everything scheduled for the step has been measured
            let paused = |m: &Mirror| m.step >= wanted && m.state == Some(RunState::Paused);
            self.until("a step", |app| app.page().and_then(|p| p.mirror()).is_some_and(paused));
        }
    }

    /// True while the model has unanswered questions.
    fn is_asked(&self) -> bool {
        let page = self.harness.state().page();
        page.and_then(|page| Some((page, page.mirror()?))).is_some_and(|(page, mirror)| {
            let mut put = page.asked.values().flatten().filter_map(|key| page.questions.request(*key));
            put.any(|request| matches!(mirror.question(request), None | Some(QuestionState::Working(_))))
        })
    }

    /// Steps until the model has answered every question and nothing moves.
    fn settle(&mut self) {
        let (mut calm, begun) = (0, Instant::now());
        while calm < 4 && begun.elapsed() < Duration::from_secs(20) {
            self.harness.step();
            calm += 1;
            if self.is_asked() {
                std::thread::sleep(PAUSE);
                calm = 0;
            }
        }
    }

    /// Brings each of the lab's views to the front in turn, in its own tile or as a new tab from the list of the rest.
    fn each_view(&mut self, mut visit: impl FnMut(&mut Self, &str)) {
        let lab = self.harness.state().page().unwrap().lab;
        for pane in lab.panes {
            let title = views::find(pane.view).unwrap().title;
            let open = self.harness.state().page().unwrap().tiling.in_order();
            if open.iter().all(|(_, view)| view != pane.view) {
                self.harness.get_by_role_and_label(Role::Button, "More views").click();
                self.harness.run_steps(4);
                self.harness.get_by_role_and_label(Role::Button, title).click();
                self.harness.run_steps(4);
            }
            let is_tab = |label: String| unnumbered(&label) == title;
            let mut buttons = self.harness.query_all_by_role(Role::Button);
            let tab = buttons.find(|node| node.accesskit_node().label().is_some_and(is_tab));
            // a tab that is scrolled out of view is below an arrow of its bar or another tile, which a click would hit
            if let Some(tab) = tab {
                tab.click_accesskit();
            }
            drop(buttons);
            // a tooltip would cover texts
            self.harness.remove_cursor();
            self.settle();
            visit(self, pane.view);
        }
    }
}

/// A tab's title without the number of its tile.
fn unnumbered(title: &str) -> &str {
    title.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start()
}

/// A row of text as it is painted.
struct Words {
    text: String,
    ink: Rect,
    clip: Rect,
    /// Its index among all shapes, in painting order.
    order: usize,
}

/// The texts of a frame, and the opaque backgrounds that cover earlier shapes.
#[derive(Default)]
struct Frame {
    words: Vec<Words>,
    grounds: Vec<(usize, Rect)>,
    screen: Option<Rect>,
    /// The scroll bars.
    bars: Vec<Rect>,
    /// The text fields, whose text scrolls with the cursor.
    fields: Vec<Rect>,
    /// The rectangles of the tiles; each scrolls by itself.
    tiles: Vec<Rect>,
    /// True if a sheet covers the page; only the sheet's texts are checked then.
    is_sheet: bool,
}

impl Frame {
    fn new(harness: &Harness<'_, App>) -> Self {
        let mut frame = Self { screen: Some(harness.ctx.content_rect()), ..Self::default() };
        for (order, clipped) in harness.output().shapes.iter().enumerate() {
            frame.take(order, clipped.clip_rect, &clipped.shape);
        }
        // an axis with a brush has the same role, but also a name
        let bars = harness.query_all_by_role(Role::ScrollBar).filter(|node| node.accesskit_node().label().is_none());
        frame.bars = bars.map(|node| node.rect()).collect();
        frame.fields = harness.query_all_by_role(Role::TextInput).map(|node| node.rect()).collect();
        // a page outside of the labs has no tiles, and neither has a sheet
        let Some(page) = harness.state().page().filter(|_| !frame.is_sheet) else { return frame };
        let tiles = &page.tiling.tree.tiles;
        let shown = page.tiling.tree.active_tiles();
        frame.tiles = tiles.tile_ids().filter(|id| shown.contains(id)).filter_map(|id| tiles.rect(id)).collect();
        // a tab bar scrolls to the front tab
        let behind = tiles.iter().filter(|(id, _)| !shown.contains(id)).filter_map(|(_, tile)| match tile {
            Tile::Pane(pane) => views::find(&pane.view).map(|v| v.title),
            Tile::Container(_) => None,
        });
        let behind: Vec<&str> = behind.collect();
        frame.words.retain(|w| !behind.contains(&unnumbered(&w.text)));
        frame
    }

    fn take(&mut self, order: usize, clip: Rect, shape: &Shape) {
        match shape {
            Shape::Vec(all) => all.iter().for_each(|s| self.take(order, clip, s)),
            Shape::Rect(r) if self.is_backdrop(r) => {
                (self.is_sheet, self.words, self.grounds) = (true, vec![], vec![]);
            }
            Shape::Rect(r) if r.fill.a() > 160 => self.grounds.push((order, r.rect.intersect(clip))),
            Shape::Text(text) if text.opacity_factor > 0.0 => {
                for row in &text.galley.rows {
                    let words: String = row.row.glyphs.iter().map(|g| g.chr).collect();
                    let section = text.galley.job.sections.first().map_or(Color32::WHITE, |s| s.format.color);
                    let upright = row.row.visuals.mesh_bounds.translate(text.pos.to_vec2() + row.pos.to_vec2());
                    let ink = if text.angle == 0.0 { upright } else { shape.visual_bounding_rect() };
                    if !words.trim().is_empty() && section != Color32::TRANSPARENT && ink.is_positive() {
                        self.words.push(Words { text: words, ink, clip, order });
                    }
                }
            }
            _ => {}
        }
    }

    /// True for the shape that darkens the page behind a sheet.
    fn is_backdrop(&self, shape: &RectShape) -> bool {
        let is_clear = (1..255).contains(&shape.fill.a());
        is_clear && self.screen.is_some_and(|screen| shape.rect.contains_rect(screen))
    }

    /// True if text that is cut off can be scrolled into view: its tile or panel has a scroll bar along the cut side,
    /// or, on a page without tiles, where scroll areas may be nested, a scroll bar ends at the cut.
    fn is_scrolled(&self, w: &Words) -> bool {
        let middle = pos2(w.clip.center().x, w.clip.top().min(w.clip.bottom()) + 1.0);
        if self.fields.iter().any(|field| field.expand(4.0).contains(middle)) {
            return true;
        }
        let tile = self.tiles.iter().filter(|t| t.contains(middle)).min_by(|a, b| a.area().total_cmp(&b.area()));
        let area = tile.copied().unwrap_or(w.clip).expand(6.0);
        let across = w.ink.left() < w.clip.left() - 1.0 || w.ink.right() > w.clip.right() + 1.0;
        let along = w.ink.top() < w.clip.top() - 1.0 || w.ink.bottom() > w.clip.bottom() + 1.0;
        let has = |upright: bool| {
            let ends = |rect: &Rect| if upright { rect.y_range() } else { rect.x_range() };
            let of_area = |bar: &Rect| {
                let (bar, cut) = (ends(bar), ends(&w.clip));
                self.tiles.is_empty() && ((bar.min - cut.min).abs() < 6.0 || (bar.max - cut.max).abs() < 6.0)
            };
            let mut bars = self.bars.iter().filter(|bar| (bar.height() > bar.width()) == upright);
            bars.any(|bar| area.contains(bar.center()) || of_area(bar))
        };
        (!across || has(false)) && (!along || has(true))
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = vec![];
        let screen = self.screen.unwrap_or(Rect::EVERYTHING);
        let mut seen: Vec<(&Words, Rect)> = vec![];
        for w in &self.words {
            let clip = w.clip.intersect(screen);
            let shown = w.ink.intersect(clip);
            let is_whole = clip.expand(SLACK).contains_rect(w.ink);
            if !is_whole && !self.is_scrolled(w) {
                faults.push(format!("`{}` is cut: {:?} in {:?}", w.text, w.ink, clip));
            }
            if shown.is_positive() {
                seen.push((w, shown));
            }
        }
        for (i, (a, place)) in seen.iter().enumerate() {
            for (b, other) in &seen[i + 1..] {
                let both = place.intersect(*other);
                if both.width() > SLACK && both.height() > SLACK {
                    faults.push(format!("`{}` lies on `{}` at {:?}", b.text, a.text, both));
                }
            }
            let ground = self.grounds.iter().find(|(order, ground)| {
                let both = place.intersect(*ground);
                *order > a.order && both.width() > SLACK && both.height() > SLACK
            });
            if let Some((_, ground)) = ground {
                faults.push(format!("`{}` is covered at {:?}", a.text, ground));
            }
        }
        faults
    }
}

/// The texts of a frame that are cut off or covered.
pub fn faults_of(harness: &Harness<'_, App>) -> Vec<String> {
    Frame::new(harness).faults()
}

/// The margin of a glyph's box without ink, in points.
const SLACK: f32 = 2.0;

/// Takes what was put in, and draws long frames for this many seconds of the window's own time.
fn rest(harness: &mut Harness<'static, App>, seconds: f64) {
    let now = |harness: &Harness<'static, App>| harness.ctx.input(|i| i.time);
    let until = now(harness) + seconds;
    harness.step();
    while now(harness) < until {
        harness.input_mut().time = Some(now(harness) + f64::from(LONG_FRAME));
        harness.step();
    }
    // later frames are as long as the harness makes them
    harness.input_mut().time = None;
}

fn lay_out(harness: &mut Harness<'static, App>, sheet: &Sheet, presents: &mut bool) {
    if sheet.presents != *presents {
        harness.key_press(Key::P);
        harness.step();
        *presents = sheet.presents;
    }
    if !sheet.presents {
        harness.set_pixels_per_point(sheet.scale);
        // the first frame after a change of scale ignores `set_size`
        harness.step();
    }
    harness.set_size(sheet.size.into());
    // waits for animations to end and for the name of the pressed key to disappear
    rest(harness, if sheet.presents { 1.5 } else { 0.6 });
    let width = harness.ctx.content_rect().width();
    assert!((width - sheet.size[0]).abs() < 2.0, "{} is {width} wide", sheet.name);
}

/// Opens a sheet over the page.
type OpenSheet<'a> = &'a dyn Fn(&mut Harness<'static, App>);

/// The texts that are cut off or covered, in an ordinary and a small window and in presenter mode; on the sheet, if one
/// is opened. It leaves the window at its ordinary size.
pub fn faults_at_every_size(
    harness: &mut Harness<'static, App>,
    what: &str,
    open: Option<OpenSheet<'_>>,
) -> Vec<String> {
    let (mut faults, mut presents) = (vec![], false);
    for sheet in SHEETS.iter().filter(|sheet| sheet.scale < 2.0) {
        lay_out(harness, sheet, &mut presents);
        if let Some(open) = open {
            open(harness);
        }
        // a tooltip would cover words, and so does the name of a pressed key for a while
        harness.remove_cursor();
        rest(harness, if presents && open.is_some() { 1.5 } else { 0.3 });
        let frame = Frame::new(harness);
        assert_eq!(frame.is_sheet, open.is_some(), "{what}, {}", sheet.name);
        assert!(frame.words.len() > 3, "{what}, {}: hardly a word", sheet.name);
        faults.extend(frame.faults().into_iter().map(|fault| format!("{what}, {}: {fault}", sheet.name)));
        if open.is_some() {
            harness.key_press(Key::Escape);
            harness.run_steps(4);
        }
    }
    lay_out(harness, &SHEETS[0], &mut presents);
    faults
}

#[test]
fn gallery_and_sheet_texts_are_not_clipped() {
    let mut gallery = open_labs(None::<Opening>, Worker::Steps, VIEWS, SHEETS[0].size);
    gallery.steps(3);
    let mut faults = faults_at_every_size(&mut gallery.harness, "gallery", None);
    let cards = gallery.harness.query_all_by_label_contains("Open ");
    let cards: Vec<Rect> =
        cards.filter(|node| node.accesskit_node().role() == Role::Button).map(|node| node.rect()).collect();
    assert_eq!(cards.len(), LABS.len());
    for w in Frame::new(&gallery.harness).words {
        let card = cards.iter().find(|card| card.contains(w.ink.left_center()));
        if card.is_some_and(|card| card.right() < w.ink.right() + SLACK) {
            faults.push(format!("`{}` leaves its card", w.text));
        }
    }
    let mut d = open_labs(Opening::Lab("fast_slow".into()), Worker::Steps, VIEWS, SHEETS[0].size);
    d.until("ready", |d| d.state() == "ready");
    d.press(Key::ArrowRight);
    d.until("a step", |d| d.page().newest() == 1);
    let help = |harness: &mut Harness<'static, App>| harness.key_press(Key::Questionmark);
    let palette = |harness: &mut Harness<'static, App>| harness.key_press_modifiers(Modifiers::COMMAND, Key::P);
    let picture = |harness: &mut Harness<'static, App>| {
        let front = harness.state().page().unwrap().tiling.in_front();
        let title = views::find(&front[0]).unwrap().title;
        for entry in [format!("Menu of {title}"), format!("Save the {}\u{2026}", ExportFormat::Png.label())] {
            harness.get_by_label(&entry).click();
            harness.run_steps(4);
        }
    };
    let class_link = |harness: &mut Harness<'static, App>| {
        palette(harness);
        harness.run_steps(3);
        harness.event(Event::Text("Copy a link for a class".into()));
        harness.run_steps(3);
        harness.key_press(Key::Enter);
        harness.run_steps(4);
    };
    let sheets: [(&str, OpenSheet<'_>); 4] =
        [("help", &help), ("palette", &palette), ("picture sheet", &picture), ("class link", &class_link)];
    for (what, open) in sheets {
        faults.extend(faults_at_every_size(&mut d.harness, what, Some(open)));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn no_text_of_any_lab_is_clipped_or_covered() {
    let only = std::env::var("LAB").ok();
    let mut faults = vec![];
    for lab in LABS.iter().filter(|l| only.as_deref().is_none_or(|o| o == l.id)) {
        let begun = Instant::now();
        let mut desk = TestWindow::new(lab, None);
        let mut presents = false;
        for sheet in &SHEETS {
            lay_out(&mut desk.harness, sheet, &mut presents);
            let mut seen = BTreeSet::new();
            let mut look = |desk: &mut TestWindow, view: &str| {
                for fault in Frame::new(&desk.harness).faults().into_iter().filter(|f| seen.insert(f.clone())) {
                    faults.push(format!("{} {}, with {view} in front: {fault}", lab.id, sheet.name));
                }
            };
            if sheet.is_narrow {
                desk.each_view(look);
            } else {
                desk.harness.remove_cursor();
                desk.settle();
                look(&mut desk, "what opens");
            }
        }
        println!("{}: {:?}", lab.id, begun.elapsed());
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// At both ends of every chart, the readout under the pointer must be completely visible.
#[test]
fn pointer_readouts_are_not_clipped_at_edges() {
    let lab = LABS.iter().find(|l| l.id == "fast_slow").unwrap();
    let mut desk = TestWindow::new(lab, None);
    let mut faults = vec![];
    lay_out(&mut desk.harness, &SHEETS[1], &mut false);
    desk.each_view(|desk, view| {
        let charts: Vec<Rect> = desk.harness.query_all_by_role(Role::Canvas).map(|node| node.rect()).collect();
        for chart in charts {
            for x in [chart.left() + 2.0, chart.right() - 2.0] {
                desk.harness.hover_at(pos2(x, chart.bottom() - 3.0));
                desk.harness.run_steps(3);
                let cut = Frame::new(&desk.harness).faults().into_iter().filter(|f| f.contains("is cut"));
                faults.extend(cut.map(|fault| format!("{view} at {x}: {fault}")));
            }
        }
        desk.harness.remove_cursor();
    });
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
