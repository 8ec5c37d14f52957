//! Tests every view in its empty state and with recorded telemetry, in both themes, with the code that draws it in the
//! window. The pictures are written into the target folder for a person to look at, in the dark theme only those of the
//! view that `ORRERY_VIEW` names; `pictures` compares that theme with stored ones.

use std::{cell::Cell, fs, path::PathBuf, rc::Rc};

use eframe::egui::{self, Rect, epaint::TextShape, vec2};
use egui_kittest::{Harness, kittest::Queryable};

use crate::{
    adapter::offscreen,
    recorded,
    tessellation::{replace, tile, unseen, view_ids},
    tiles::{Tile, in_a_tile, painted, rect_of, sized, texts},
};
use orrery::{
    gpu::offscreen::{Image, Offscreen},
    ui::{
        figure::Figure,
        mirror::Mirror,
        plot::{
            self,
            svg::{self, escape},
        },
        theme::Theme,
        views::{self, Selection},
    },
};

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("views");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Typical sizes of a tile in a window of 1280 x 800, and one with two pixels per point.
const SHEETS: [([f32; 2], f32); 3] = [([480.0, 300.0], 1.0), ([800.0, 500.0], 1.0), ([640.0, 400.0], 2.0)];

#[derive(Clone, Copy)]
struct Draw<'a> {
    view: &'a str,
    mirror: &'a Mirror,
    step: u64,
    dark: bool,
    sheet: ([f32; 2], f32),
}

impl Draw<'_> {
    fn figure<R>(&self, f: impl FnOnce(&Figure<'_>) -> R) -> R {
        let (theme, config, knobs) = (Theme::new(self.dark), recorded::config(), recorded::knobs());
        f(&Figure {
            step: self.step,
            size: self.sheet.0,
            pixels_per_point: self.sheet.1,
            ..Figure::new(self.view, self.mirror, &config, &knobs, &theme)
        })
    }

    fn image(&self, offscreen: &mut Offscreen, name: &str) -> Image {
        let image = self.figure(|f| f.image(offscreen)).unwrap_or_else(|e| panic!("{}: {e}", self.view));
        let mode = if self.dark { "dark" } else { "light" };
        let width = self.sheet.0[0];
        fs::write(folder().join(format!("{}-{name}-{mode}-{width}.png", self.view)), image.png().unwrap()).unwrap();
        image
    }

    /// Lays the view out without rendering it, which is much faster.
    fn lay_out(&self, offscreen: &Offscreen) {
        let mut view = (views::find(self.view).unwrap().make)();
        self.figure(|f| f.lay_out(view.as_mut(), &mut Selection::default(), offscreen.target()).discard());
    }
}

/// Views that are computed from settings alone: they are never empty, and a run need not change them.
const NEEDS_NO_RUN: &[&str] =
    &["cost", "oscillators", "phase_plane", "slow_manifold", "trace_decay", "trace_strips", "word_swap"];

#[test]
fn every_view_draws_its_empty_state_and_recorded_runs_in_both_modes() {
    let Some(mut offscreen) = offscreen() else { return };
    let (empty, twins, seeds) = (Mirror::default(), recorded::twins(), recorded::seeds());
    let is_alone = std::env::var_os("ORRERY_VIEW").is_some();
    let [small, wide, dense] = SHEETS;
    for view in view_ids() {
        for dark in [true, false] {
            let blank = Draw { view, mirror: &empty, step: 0, dark, sheet: small };
            // rendering takes most of the time, and `pictures` renders the recorded run in the dark theme
            if dark && !is_alone {
                blank.lay_out(&offscreen);
                continue;
            }
            let full = Draw { mirror: &twins, step: recorded::STEPS, ..blank };
            let differs = blank.image(&mut offscreen, "empty") != full.image(&mut offscreen, "twins");
            assert!(differs || NEEDS_NO_RUN.contains(&view), "{view}: data change nothing");
        }
        // another run, other sizes and an earlier step are only laid out
        for (mirror, step, sheet) in [(&twins, 300, wide), (&seeds, recorded::STEPS, dense)] {
            Draw { view, mirror, step, dark: true, sheet }.lay_out(&offscreen);
        }
    }
}

/// A picture cannot be scrolled: it has to be as high as its rows need.
#[test]
fn a_picture_has_every_row_of_a_table() {
    let Some(mut offscreen) = offscreen() else { return };
    let twins = recorded::twins();
    let draw = Draw { view: "role_accuracy", mirror: &twins, step: recorded::STEPS, dark: true, sheet: SHEETS[0] };
    let csv = draw.figure(|f| f.csv()).unwrap().unwrap();
    let mut rows: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    rows.dedup();
    let least = 15 * rows.len() as u32;
    assert!(least > 300, "{rows:?} have room without that");
    let image = draw.image(&mut offscreen, "rows");
    assert!(image.height > least + 60, "{} for {} rows", image.height, rows.len());
}

#[test]
fn pictures_are_the_same_each_time() {
    let Some(mut offscreen) = offscreen() else { return };
    let twins = recorded::twins();
    for view in ["losses", "attention"] {
        let draw = Draw { view, mirror: &twins, step: recorded::STEPS, dark: true, sheet: SHEETS[0] };
        assert!(draw.image(&mut offscreen, "again") == draw.image(&mut offscreen, "again"), "{view}");
    }
}

#[test]
fn exported_csv_has_the_values_of_the_shown_curves() {
    let twins = recorded::twins();
    let draw = Draw { view: "losses", mirror: &twins, step: recorded::STEPS, dark: true, sheet: SHEETS[0] };
    let csv = draw.figure(|f| f.csv()).unwrap().unwrap();
    let head = csv.lines().next().unwrap();
    assert!(head.starts_with("step,\"coupled, train (raw)\",\"coupled, train, smoothed\""), "{head}");
    assert_eq!(csv.lines().count() as u64, recorded::STEPS + 1);
    let raw = twins.curve(0, orrery::telemetry::channels::LOSS_TRAIN).unwrap().value_at(10).unwrap();
    let row: Vec<&str> = csv.lines().nth(10).unwrap().split(',').collect();
    assert_eq!((row[0], row[1].parse::<f64>().unwrap()), ("10", raw));
    for view in view_ids() {
        let empty = Mirror::default();
        let draw = Draw { view, mirror: &empty, step: 0, dark: true, sheet: SHEETS[0] };
        if !NEEDS_NO_RUN.contains(&view) {
            assert_eq!(draw.figure(|f| f.csv()).unwrap(), None, "{view}: a table of nothing");
        }
        let draw = Draw { mirror: &twins, step: recorded::STEPS, ..draw };
        if let Some(csv) = draw.figure(|f| f.csv()).unwrap() {
            let columns = fields(csv.lines().next().unwrap());
            assert!(columns > 1 && csv.lines().count() > 1, "{view}: {csv}");
            assert!(csv.lines().all(|l| fields(l) == columns), "{view}: ragged");
        }
    }
}

/// The number of fields in a CSV line, not counting commas between quotes.
fn fields(line: &str) -> usize {
    let mut quoted = false;
    1 + line
        .chars()
        .filter(|c| {
            quoted ^= *c == '"';
            *c == ',' && !quoted
        })
        .count()
}

/// A view with a chart that is drawn as shapes, as all of the view is.
const CHART_IN_SHAPES: &str = "trace_reading";

/// The SVG must be complete in a large tile and in a small one.
#[test]
fn every_chart_that_is_drawn_is_in_the_svg() {
    let mut charts = 0;
    for size in [vec2(1000.0, 760.0), vec2(460.0, 340.0)] {
        let builder = unseen(Harness::builder().with_size(size));
        let mut harness = builder.build_ui_state(in_a_tile(size), tile("losses", recorded::twins()));
        for view in view_ids().into_iter().filter(|view| *view != CHART_IN_SHAPES) {
            let mirror = std::mem::take(&mut harness.state_mut().mirror);
            replace(&mut harness, Tile { writes: false, ..tile(view, mirror) });
            harness.run_steps(2);
            harness.state_mut().writes = true;
            harness.step();
            let svg = harness.state().svg.clone().unwrap_or_default();
            for plot in plot::drawn(&harness.ctx).plots {
                let title = format!("<title>{}</title>", escape(&plot.chart));
                assert!(svg.contains(&title), "{view}, {size:?}: {} is not in it", plot.chart);
                charts += 1;
            }
        }
    }
    assert!(charts > 60 || std::env::var("ORRERY_VIEW").is_ok(), "only {charts} charts were drawn");
}

/// What a view does not write of itself is drawn from its interface code, with maps as images.
#[test]
fn every_view_has_a_drawing() {
    let twins = recorded::twins();
    let drawing = |view: &str, mirror: &Mirror, step| {
        let draw = Draw { view, mirror, step, dark: false, sheet: SHEETS[0] };
        draw.figure(|f| f.svg()).unwrap()
    };
    for view in view_ids() {
        for svg in [drawing(view, &twins, recorded::STEPS), drawing(view, &Mirror::default(), 0)] {
            let mut reader = quick_xml::Reader::from_str(&svg);
            reader.config_mut().check_end_names = true;
            let mut count = 0;
            loop {
                match reader.read_event().unwrap_or_else(|e| panic!("{view}: {e}")) {
                    quick_xml::events::Event::Eof => break,
                    _ => count += 1,
                }
            }
            let title = views::find(view).unwrap().title;
            assert!(count > 3 && svg.contains(&escape(title)), "{view}: {svg}");
        }
    }
    let sheet = ([1000.0, 760.0], 1.0);
    let reading = Draw { view: CHART_IN_SHAPES, mirror: &twins, step: recorded::STEPS, dark: false, sheet };
    let reading = reading.figure(|f| f.svg()).unwrap();
    assert!(reading.matches("<path ").count() > 2 && reading.contains("<image "), "its curves and maps: {reading}");
    let attention = drawing("attention", &twins, recorded::STEPS);
    assert!(attention.matches("<image ").count() > 1 && attention.contains(">pre.0<"), "{attention}");
    assert!(!attention.contains("no graphics adapter"));
}

/// Every cell of a canvas must be a rectangle in the SVG.
#[test]
fn canvases_are_in_the_svg_with_their_cells() {
    let canvases = [
        ("stationary_map", "error of the network over the control", 33 * 33),
        ("generator_flow", "particles", 12 * 100),
        ("fast_weights", "perplexity with fast weights", 2 * (4 * 3 + 2)),
    ];
    for (view, canvas, cells) in canvases {
        let builder = unseen(Harness::builder().with_size(vec2(1000.0, 760.0)));
        let mut harness = tile(view, recorded::twins()).shown(builder);
        harness.run_steps(2);
        let svg = harness.state().svg.clone().unwrap();
        assert!(svg.contains(&format!("<title>{canvas}</title>")), "{view}: {}", &svg[..300]);
        assert!(svg.matches("<rect").count() > cells, "{view}: {} rectangles", svg.matches("<rect").count());
    }
}

/// The SVG must contain the matrix, the graph and the chart in both arrangements of the tile: above and beside one
/// another. Each edge of the graph is a path.
#[test]
fn a_generator_is_in_the_svg_as_a_whole() {
    for size in [vec2(1000.0, 760.0), vec2(1000.0, 330.0)] {
        let builder = unseen(Harness::builder().with_size(size));
        let mut harness = tile("generator", recorded::twins()).shown(builder);
        harness.run_steps(2);
        let shown = harness.state();
        let (csv, drawing) = (shown.csv.as_deref().unwrap(), shown.svg.as_deref().unwrap());
        let entries = csv.lines().skip(1).flat_map(|row| row.split(',').skip(3));
        let rates = entries.filter(|entry| entry.parse::<f64>().unwrap() > 0.0).count();
        let [cells, lines] = ["<rect", "<path"].map(|tag| drawing.matches(tag).count());
        assert!(rates > 40 && cells > rates && lines > rates, "{size:?}: {rates} rates, {cells} cells, {lines} lines");
        for title in ["rates between states", "stationary distribution"] {
            assert!(drawing.contains(&format!("<title>{title}</title>")), "{size:?}: {title}");
        }
        let unused = size - svg::size_of(drawing).unwrap();
        assert!((0.0..40.0).contains(&unused.x) && (0.0..120.0).contains(&unused.y), "{size:?}: {unused:?}");
    }
}

#[test]
fn an_unknown_view_is_named_with_those_there_are() {
    let empty = Mirror::default();
    let draw = Draw { view: "nonsense", mirror: &empty, step: 0, dark: true, sheet: SHEETS[0] };
    let words = draw.figure(|f| f.csv()).unwrap_err();
    assert!(words.contains("nonsense") && words.contains("losses"), "{words}");
}

/// Beside the small maps, the large one would have a third of the width of a tile that is higher than wide.
#[test]
fn the_large_attention_map_fills_a_tall_tile() {
    let mut harness = tile("attention", recorded::twins()).shown(unseen(sized(352.0, 500.0)));
    harness.run_steps(2);
    let (map, head) = (rect_of(&harness, "attention map"), harness.get_by_label("pre.0 head 0").rect());
    assert!(map.width() > 300.0 && map.height() > 200.0 && map.top() > head.bottom(), "{map:?}, {head:?}");
    let mut texts = texts(&harness.output().shapes).into_iter();
    let entropy = texts.find(|text| text.galley.text().starts_with("pre.0 head 0: entropy"));
    assert!(entropy.is_some_and(|text| !text.galley.elided), "its entropy is readable");
}

/// In a narrow tile the numbers of a race stand below its names, so that none is cut.
#[test]
fn a_race_is_whole_in_a_narrow_tile() {
    let size = vec2(352.0, 500.0);
    let builder = unseen(Harness::builder().with_size(size));
    let mut harness = builder.build_ui_state(in_a_tile(size), tile("race", recorded::twins()));
    harness.run_steps(3);
    let tables = plot::drawn(&harness.ctx).tables;
    assert_eq!(tables.len(), 1);
    assert!(tables[0].content <= tables[0].room + 1.0, "{} of {}", tables[0].content, tables[0].room);
    let texts = texts(&harness.output().shapes);
    for wanted in ["loss to reach", "dense D=128", "parameters", "MFLOP/token"] {
        let found: Vec<&TextShape> = texts.iter().copied().filter(|text| text.galley.text() == wanted).collect();
        let is_whole = |text: &&TextShape| !text.galley.elided && text.pos.x + text.galley.size().x <= size.x;
        assert!(!found.is_empty() && found.iter().all(is_whole), "{wanted}");
    }
}

#[test]
fn a_swapped_in_word_stands_inside_its_field() {
    let harness = tile("word_swap", Mirror::default()).shown(unseen(sized(560.0, 400.0)));
    let field = harness.get_by_label("word to swap in").rect();
    let texts = texts(&harness.output().shapes).into_iter();
    let mut places = texts.map(|text| Rect::from_min_size(text.pos, text.galley.size()));
    let word = places.find(|place| field.contains(place.center())).expect("the word");
    let is_inside = word.left() >= field.left() + 4.0 && (word.center().y - field.center().y).abs() < 2.0;
    assert!(is_inside, "{word:?} in {field:?}");
}

#[test]
fn the_digits_of_next_tokens_stand_beside_the_scroll_bar() {
    let right = Rc::new(Cell::new(0.0));
    let edge = Rc::clone(&right);
    let draw = move |ui: &mut egui::Ui, tile: &mut Tile| {
        edge.set(ui.max_rect().right());
        tile.ui(ui);
    };
    let mut harness = unseen(sized(340.0, 300.0)).build_ui_state(draw, tile("next_tokens", recorded::twins()));
    harness.run_steps(2);
    let scroll = harness.ctx.global_style().spacing.scroll;
    let over_the_view = scroll.bar_width - scroll.floating_allocated_width;
    let bars = harness.get_by_label_contains("next tokens of coupled: ").rect();
    assert!(bars.right() <= right.get() - over_the_view, "{bars:?} of {}", right.get());
}

#[test]
fn the_blanks_of_a_continuation_are_visible_as_those_of_the_prompt() {
    let said = painted(&tile("next_tokens", recorded::twins()).shown(unseen(sized(640.0, 420.0)))).join(" ");
    assert!(said.contains("goes on: \u{b7}the\u{b7}bell"), "{said}");
}
