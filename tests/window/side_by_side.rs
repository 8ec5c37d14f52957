//! Tests the attention maps side by side through user input: one choice of layer and head for all variants, weights and
//! differences under the pointer, seeds, longer texts. A frame without a change must not copy or upload anything.

use std::time::Instant;

use crate::{
    adapter, recorded,
    tessellation::unseen,
    tiles::{Tile, click, painted, questions, rect_of, sized},
};
use eframe::egui::{Event, Key, Modifiers, Pos2, Shape, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    config::Value,
    gpu::{
        heatmap::uploads,
        offscreen::{Offscreen, Sheet},
    },
    telemetry::{
        self, Array, Measurement, RunState, Sample,
        measurements::{AttentionLayer, AttentionMaps, LongAttentionMaps},
    },
    ui::{
        mirror::Mirror,
        plot::{map::MapFrame, value_label},
    },
};

const TOKENS: usize = 8;

/// Returns a weight that differs for every variant, layer, head, query and key, so that tests can tell cells apart.
fn weight(variant: usize, layer: usize, head: usize, (query, key): (usize, usize)) -> f32 {
    let place = 0.01 * layer as f32 + 0.002 * head as f32 + 1e-4 * query as f32 + 1e-5 * key as f32;
    0.1 + 0.2 * variant as f32 + place
}

fn layer(variant: usize, layer: usize, heads: usize, positions: usize) -> AttentionLayer {
    let cells = (0..heads).flat_map(|h| (0..positions).flat_map(move |q| (0..positions).map(move |k| (h, q, k))));
    let of = |(h, q, k)| if k > q { 0.0 } else { weight(variant, layer, h, (q, k)) };
    AttentionLayer {
        path: format!("layers.{layer}"),
        tokens_per_position: 1,
        is_differential: false,
        weights: Array::new([heads, positions, positions], cells.map(of).collect()).unwrap(),
        entropy: vec![1.0; heads].into(),
        uniform_entropy: vec![2.0; heads].into(),
    }
}

fn sample<M: Measurement>(mirror: &mut Mirror, variant: usize, request: Option<u64>, tokens: usize, measured: M) {
    let about = format!("held-out passage 0, {tokens} tokens");
    let tokens = (0..tokens).map(|i| ((b'a' + (i % 26) as u8) as char).to_string()).collect();
    let sample = Sample { variant, about, tokens, request, ..recorded::bare_sample(measured.into_payload()) };
    mirror.apply(telemetry::Event::Sample(sample));
}

/// A paused run whose scheduled probe has measured the maps of every variant.
fn measured(of: Mirror) -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(telemetry::Event::Started(of.info.unwrap()));
    for variant in 0..mirror.variants().len() {
        let layers = (0..3).map(|l| layer(variant, l, 4, TOKENS)).collect();
        sample(&mut mirror, variant, None, TOKENS, AttentionMaps { layers });
    }
    mirror.apply(telemetry::Event::State(RunState::Paused));
    mirror
}

fn shown(mirror: Mirror) -> Harness<'static, Tile> {
    let mut harness = Tile::new("attention_side_by_side", mirror).shown(unseen(sized(900.0, 460.0)));
    harness.run_steps(2);
    harness
}

fn says(harness: &Harness<'_, Tile>, wanted: &str) -> bool {
    painted(harness).iter().any(|w| w == wanted)
}

/// The screen position of a cell's centre.
fn cell(harness: &Harness<'_, Tile>, canvas: &str, (query, key): (usize, usize)) -> Pos2 {
    let sheet = rect_of(harness, canvas);
    let frame = MapFrame { has_bar: false, has_ticks: sheet.width() >= 190.0, title: Some(Default::default()) };
    let (left, head, foot) = frame.margins(sheet.width());
    let side = (sheet.width() - left - 2.0).min(sheet.height() - head - foot);
    let at = |i: usize| (i as f32 + 0.5) * side / TOKENS as f32;
    sheet.min + vec2(left + at(key), head + at(query))
}

fn weight_text(v: f32) -> String {
    value_label(f64::from(v))
}

#[test]
fn one_choice_is_shown_of_every_variant() {
    let mut harness = shown(measured(recorded::twins()));
    assert!(questions(&harness).is_empty(), "what the schedule measured is shown");
    assert!(harness.state().subtitle.contains("layers.0 head 0"), "{}", harness.state().subtitle);
    harness.get_by_role_and_label(Role::Button, "layers.2 head 3").click();
    harness.run_steps(2);
    let selection = &harness.state().selection;
    assert_eq!((selection.layer.as_deref(), selection.head), (Some("layers.2"), Some(3)));
    assert!(harness.state().subtitle.contains("layers.2 head 3"), "{}", harness.state().subtitle);
    let table = harness.state().csv.clone().unwrap();
    let row = table.lines().find(|l| l.starts_with("layers.2,3,5,1,")).unwrap();
    let weights: Vec<f32> = row.split(',').skip(4).map(|w| w.parse().unwrap()).collect();
    assert_eq!(weights, [0, 1, 2].map(|v| weight(v, 2, 3, (5, 1))));
}

#[test]
fn a_cell_is_chosen_in_every_map_at_once() {
    let mut harness = shown(measured(recorded::twins()));
    let at = cell(&harness, "attention of frozen", (5, 2));
    click(&mut harness, at);
    harness.remove_cursor();
    harness.run_steps(3);
    assert_eq!(harness.state().selection.token, Some(5));
    assert!(says(&harness, "5 \u{201c}f\u{201d} attends to 2 \u{201c}c\u{201d}"), "{:?}", painted(&harness));
    for variant in 0..3 {
        assert!(says(&harness, &weight_text(weight(variant, 0, 0, (5, 2)))), "{variant}: {:?}", painted(&harness));
    }
    let last_less_first = weight(2, 0, 0, (5, 2)) - weight(0, 0, 0, (5, 2));
    assert!(last_less_first > 0.0 && says(&harness, &format!("+{}", weight_text(last_less_first))));
    assert!(says(&harness, "dense D=128 \u{2212} coupled"), "{:?}", painted(&harness));
    // exchanges the two variants of the difference
    harness.get_by_label("dense D=128 \u{2212} coupled").click();
    harness.run_steps(3);
    let all: Vec<Pos2> =
        harness.query_all_by_role_and_label(Role::Button, "coupled").map(|n| n.rect().center()).collect();
    let minuend = all.into_iter().min_by(|a, b| a.x.total_cmp(&b.x)).unwrap();
    click(&mut harness, minuend);
    let all: Vec<Pos2> =
        harness.query_all_by_role_and_label(Role::Button, "frozen").map(|n| n.rect().center()).collect();
    let less = all.into_iter().max_by(|a, b| a.x.total_cmp(&b.x)).unwrap();
    click(&mut harness, less);
    harness.key_press(Key::Escape);
    harness.remove_cursor();
    harness.run_steps(3);
    let negative = weight(0, 0, 0, (5, 2)) - weight(1, 0, 0, (5, 2));
    assert!(negative < 0.0 && says(&harness, &weight_text(negative)), "{:?}", painted(&harness));
    assert!(says(&harness, "coupled \u{2212} frozen"));
}

#[test]
fn the_readout_names_the_weight_of_every_variant() {
    let mut harness = shown(measured(recorded::twins()));
    let at = cell(&harness, "attention of coupled", (6, 3));
    harness.event(Event::PointerMoved(at));
    harness.run_steps(60);
    let all = painted(&harness).join("\n");
    for (variant, label) in ["coupled", "frozen", "dense D=128"].into_iter().enumerate() {
        let line = format!("{label}: {}", weight_text(weight(variant, 0, 0, (6, 3))));
        assert!(all.contains(&line), "{line} is not in {all}");
    }
    assert!(all.contains("6 \u{201c}g\u{201d} attends to 3 \u{201c}d\u{201d}"), "{all}");
    let masked = cell(&harness, "difference of attention", (3, 6));
    harness.event(Event::PointerMoved(masked));
    harness.run_steps(60);
    assert!(painted(&harness).join("\n").contains("frozen: masked"), "the future has no weight");
}

/// In a window of 1280x800 the tile of the lab is 696 points wide, and its controls leave the maps little height.
#[test]
fn the_title_of_the_difference_is_whole_at_every_height() {
    let mut info = recorded::twins_info();
    info.variants[0].label = "standard".into();
    info.variants[2].label = "coupled, leapfrog".into();
    for height in [250.0, 210.0, 180.0] {
        let mut mirror = Mirror::default();
        mirror.apply(telemetry::Event::Started(info.clone().into()));
        let tile = Tile::new("attention_side_by_side", measured(mirror));
        let mut harness = tile.shown(unseen(sized(696.0, height)));
        harness.run_steps(2);
        let is_cut = |shape: &Shape| matches!(shape, Shape::Text(text) if text.galley.elided && text.galley.text().contains("\u{2212} standard"));
        assert!(!harness.output().shapes.iter().any(|clipped| is_cut(&clipped.shape)), "{height}");
        assert!(height > 200.0 || says(&harness, "difference"), "{:?}", painted(&harness));
    }
}

#[test]
fn hatched_cells_have_a_legend_beside_the_scales() {
    let name = "NaN or infinite";
    let mut mirror = measured(recorded::twins());
    assert!(!says(&shown(measured(recorded::twins())), name), "every weight is finite");
    let mut layers: Vec<AttentionLayer> = (0..3).map(|l| layer(1, l, 4, TOKENS)).collect();
    let mut weights = layers[0].weights.data().to_vec();
    weights[0] = f32::NAN;
    layers[0].weights = Array::new([4, TOKENS, TOKENS], weights).unwrap();
    sample(&mut mirror, 1, None, TOKENS, AttentionMaps { layers });
    let harness = shown(mirror);
    assert!(says(&harness, name), "{:?}", painted(&harness));
}

#[test]
fn keys_choose_a_cell() {
    let mut harness = shown(measured(recorded::twins()));
    harness.get_by_role_and_label(Role::Canvas, "attention of coupled").focus();
    harness.run_steps(2);
    for key in [Key::ArrowDown, Key::ArrowDown, Key::ArrowDown, Key::ArrowRight, Key::ArrowUp] {
        harness.event(Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: Modifiers::NONE });
        harness.run_steps(2);
    }
    assert_eq!(harness.state().selection.token, Some(1));
    assert!(says(&harness, "1 \u{201c}b\u{201d} attends to 1 \u{201c}b\u{201d}"), "{:?}", painted(&harness));
    assert!(says(&harness, &weight_text(weight(2, 0, 0, (1, 1)))));
}

#[test]
fn maps_are_of_one_seed_that_is_named_and_chosen() {
    let mut harness = shown(measured(recorded::seeds()));
    assert!(harness.state().subtitle.contains("seed 1"), "{}", harness.state().subtitle);
    let columns = |h: &Harness<'_, Tile>| h.state().csv.as_ref().unwrap().lines().next().unwrap().to_owned();
    assert!(columns(&harness).ends_with(r#""coupled, seed 1","frozen, seed 1""#), "{}", columns(&harness));
    harness.get_by_role_and_label(Role::Button, "seed 1").click();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::Button, "seed 3").click();
    harness.run_steps(3);
    assert_eq!(harness.state().selection.variant, 2);
    assert!(harness.state().subtitle.contains("seed 3"), "{}", harness.state().subtitle);
    assert!(columns(&harness).ends_with(r#""coupled, seed 3","frozen, seed 3""#), "{}", columns(&harness));
}

/// Returns maps of a long text: small ones of all layers, and full ones of one layer.
fn long(variant: usize, layers: usize, heads: usize, (positions, whole): (usize, usize)) -> LongAttentionMaps {
    let small = |l| AttentionLayer { tokens_per_position: positions / 64, ..layer(variant, l, heads, 64) };
    LongAttentionMaps {
        thumbnails: (0..layers).map(small).collect(),
        layers: vec![layer(variant, whole, heads, positions)],
    }
}

#[test]
fn a_longer_text_is_asked_of_every_variant_and_whole_maps_where_they_are_missing() {
    let mut harness = shown(measured(recorded::twins()));
    harness.get_by_role_and_label(Role::Button, "as measured").click();
    harness.run_steps(3);
    harness.get_by_role_and_label(Role::Button, "256 tokens").click();
    harness.run_steps(3);
    let asked = questions(&harness);
    assert_eq!(asked.iter().map(|q| q.variant).collect::<Vec<_>>(), [Some(0), Some(1), Some(2)]);
    assert!(asked.iter().all(|q| q.probe == "long_attention_maps" && q.args["length"] == Value::Int(256)));
    for q in &asked {
        let v = q.variant.unwrap();
        sample(&mut harness.state_mut().mirror, v, Some(q.request), 256, long(v, 3, 4, (256, 0)));
    }
    harness.run_steps(3);
    assert_eq!(questions(&harness).len(), 3, "the first layer is whole");
    assert!(harness.state().subtitle.contains("256 tokens"), "{}", harness.state().subtitle);
    harness.get_by_role_and_label(Role::Button, "layers.2 head 1").click();
    harness.run_steps(3);
    let asked = questions(&harness).split_off(3);
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|q| q.args["layer"] == Value::Text("layers.2".into())), "{asked:?}");
    assert!(harness.state().csv.as_ref().unwrap().lines().count() < 64 * 65, "blocks until the whole maps come");
}

#[test]
fn a_text_of_ones_own_is_asked() {
    let mut harness = shown(measured(recorded::twins()));
    harness.get_by_role_and_label(Role::Button, "as measured").click();
    harness.run_steps(3);
    harness.get_by_label("text to attend in").focus();
    harness.run_steps(2);
    harness.event(Event::Text("a b a".into()));
    harness.run_steps(3);
    let asked = questions(&harness);
    assert!(!asked.is_empty() && asked.iter().all(|q| q.args["text"] == Value::Text("a b a".into())), "{asked:?}");
}

#[test]
fn without_maps_it_says_how_to_get_them() {
    let harness = shown(Mirror::default());
    assert!(painted(&harness).join(" ").contains("press Space"), "{:?}", painted(&harness));
}

/// The size is realistic: 8 layers, the paper's depth, of 12 heads along 512 tokens.
#[test]
fn a_frame_in_which_nothing_changed_uploads_nothing() {
    let Some(mut offscreen) = adapter::offscreen() else { return };
    let mut tile = Tile { writes: false, ..Tile::new("attention_side_by_side", measured(recorded::twins())) };
    let draw = |offscreen: &mut Offscreen, tile: &mut Tile| {
        let sheet = Sheet { size: [900.0, 560.0], pixels_per_point: 1.0 };
        offscreen.draw(sheet, |_| {}, |ui| tile.ui(ui)).unwrap();
        uploads(&offscreen.render_state().renderer.read().callback_resources)
    };
    let small = draw(&mut offscreen, &mut tile);
    assert_eq!(small, 3 * 4 + 3 + 1, "heads of one variant, a map a variant, the difference");
    for variant in 0..3 {
        // recorded maps without a request, which the page did not ask for
        let layers = (0..8).map(|l| layer(variant, l, 12, if l == 0 { 512 } else { 64 })).collect();
        sample(&mut tile.mirror, variant, None, 512, AttentionMaps { layers });
    }
    let first = draw(&mut offscreen, &mut tile);
    assert_eq!(first - small, 8 * 12 + 3 + 1);
    let begun = Instant::now();
    for _ in 0..5 {
        assert_eq!(draw(&mut offscreen, &mut tile), first, "nothing changed");
    }
    println!("a frame of 8 x 12 heads along 512 tokens: {:.1} ms", begun.elapsed().as_secs_f64() * 200.0);
    // another head: only the maps that were not drawn before are uploaded
    tile.selection.head = Some(7);
    let second = draw(&mut offscreen, &mut tile);
    assert!((1..=4).contains(&(second - first)), "{}", second - first);
    tile.selection.head = Some(0);
    let back = draw(&mut offscreen, &mut tile);
    assert!(back - second <= 1, "only the difference is made again: {}", back - second);
    // another variant: its small maps are uploaded
    tile.selection.variant = 1;
    let other = draw(&mut offscreen, &mut tile);
    assert!((1..=96).contains(&(other - back)), "{}", other - back);
    assert_eq!(draw(&mut offscreen, &mut tile), other);
}
