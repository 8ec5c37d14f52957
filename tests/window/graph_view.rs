//! Tests the picture of the neuron graph: how it responds to the pointer, that its layout comes to rest, and how it
//! looks.

use std::{fs, path::PathBuf, sync::Arc};

use crate::{
    adapter, planted_graph,
    recorded::{bare_sample, twins_info, variant},
    tiles::{self, Tile, press, sized},
};
use eframe::egui::{self, Key, Modifiers, Pos2, Rect, accesskit::Role, vec2};
use egui_kittest::{Harness, HarnessBuilder, kittest::Queryable, wgpu::WgpuTestRenderer};
use orrery::{
    analysis::graph_file::{Format, GraphFile},
    config::{Config, Value},
    gpu::{self, graph::frames_drawn, offscreen::Offscreen},
    telemetry::{
        Array, Event, Measurement, RunInfo, RunState, Sample,
        measurements::{
            EntriesAbove, EntryHistogram, GraphEdges, HeadPair, HeadPairs, HeavyTail, NeuronGraph, NeuronGroups,
        },
    },
    ui::{action::FileAction, figure::Figure, mirror::Mirror, theme::Theme},
};

fn info() -> RunInfo {
    RunInfo {
        lab: "neuron_graph".into(),
        config: Config::defaults("neuron_graph", &[]),
        variants: vec![variant("bdh")],
        total_steps: 600,
        corpus: "planted".into(),
        vocab: 256,
        ..twins_info()
    }
}

fn emit<M: Measurement>(mirror: &mut Mirror, step: u64, measurement: M) {
    let measured = bare_sample(measurement.into_payload());
    mirror.apply(Event::Sample(Sample { step, about: "G_x, planted".into(), ..measured }));
}

fn mirror(graph: NeuronGraph) -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(info())));
    mirror.apply(Event::State(RunState::Paused));
    emit(&mut mirror, 0, graph);
    mirror
}

fn folder() -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("graph");
    fs::create_dir_all(&folder).unwrap();
    folder
}

const SIZE: [f32; 2] = [760.0, 560.0];

fn tile(mirror: Mirror, still: bool) -> Harness<'static, Tile> {
    tile_in(sized(SIZE[0], SIZE[1]), mirror, still, true)
}

/// A tile whose graph is laid out and drawn on the adapter, as in the window.
fn tile_on(offscreen: &Offscreen, size: [f32; 2], mirror: Mirror, dark: bool) -> Harness<'static, Tile> {
    let state = offscreen.render_state().clone();
    let told = state.clone();
    let builder = sized(size[0], size[1])
        .renderer(WgpuTestRenderer::from_render_state(state))
        .with_context_setup(move |ctx| gpu::install(ctx, &told))
        .with_render_every_step(true);
    let mut harness = tile_in(builder, mirror, false, dark);
    harness.state_mut().writes = false;
    harness
}

fn tile_in(builder: HarnessBuilder<Tile>, mirror: Mirror, still: bool, dark: bool) -> Harness<'static, Tile> {
    let (config, theme) = (Config::defaults("neuron_graph", &[]), Theme::new(dark));
    Tile { config, theme, still, ..Tile::new("neuron_graph", mirror) }.shown(builder)
}

/// A ring of six nodes and one node beside it, with given positions, so that the test knows where they are.
fn ring() -> NeuronGraph {
    let at = |i: u32| std::f32::consts::TAU * i as f32 / 6.0;
    let positions: Vec<f32> = (0..6).flat_map(|i| [at(i).cos(), at(i).sin()]).chain([0.0, 0.0]).collect();
    NeuronGraph {
        neurons: (100..107).collect(),
        labels: (0..7).map(|i| format!("cell {i}")).collect(),
        edges: GraphEdges::new((0..6).map(|i| (i, (i + 1) % 6, 1.0 + i as f32)).chain([(6, 0, 2.0)])),
        groups: NeuronGroups {
            community: Some(vec![Some(0), Some(0), Some(0), Some(1), Some(1), Some(1), None]),
            ..NeuronGroups::default()
        },
        positions: Some(Array::new([7, 2], positions).unwrap()),
        ..NeuronGraph::default()
    }
}

fn canvas(harness: &Harness<'_, Tile>) -> Rect {
    harness.get_by_role(Role::Canvas).rect()
}

/// The screen position of a node of the ring, which fills the height of the canvas.
fn place_of(harness: &Harness<'_, Tile>, node: usize) -> Pos2 {
    let rect = canvas(harness);
    if node == 6 {
        return rect.center();
    }
    let radius = (rect.height() / 2.0 - 28.0) / (std::f32::consts::TAU / 6.0).sin();
    let at = std::f32::consts::TAU * node as f32 / 6.0;
    rect.center() + vec2(radius * at.cos(), -radius * at.sin())
}

fn click(harness: &mut Harness<'_, Tile>, at: Pos2) {
    tiles::click(harness, at);
    for _ in 0..30 {
        harness.step(); // lets enough time pass that the next click does not make a double click
    }
}

/// The current export of the graph, with positions and pins.
fn exported(harness: &mut Harness<'_, Tile>) -> GraphFile {
    harness.state_mut().exports.clear();
    harness.get_by_label("export").click();
    harness.step();
    harness.step();
    harness.get_by_label("GEXF (Gephi, networkx)").click();
    harness.step();
    harness.step();
    let Some(FileAction::SaveInExports(name, bytes)) = harness.state().exports.first().cloned() else {
        panic!("nothing exported")
    };
    assert!(name.ends_with(".gexf"), "{name}");
    Format::Gexf.read(std::str::from_utf8(&bytes).unwrap()).unwrap()
}

fn histogram() -> EntryHistogram {
    let above = EntriesAbove {
        excitatory: vec![9.0, 0.0].into(),
        inhibitory: vec![9.0, 0.0].into(),
        both: vec![18.0, 0.0].into(),
    };
    EntryHistogram {
        entry: vec![-1.0, 0.0, 1.0].into(),
        density: vec![0.1, 0.8, 0.1].into(),
        symmetric: vec![0.1, 0.8, 0.1].into(),
        skew: vec![0.0; 3].into(),
        threshold: vec![0.0, 1.0].into(),
        above,
        beta: 0.5,
        edges: 7,
        entries: 42,
        mean: 0.0,
        standard_deviation: 0.4,
        skewness: 0.0,
        kurtosis: 3.0,
    }
}

#[test]
fn a_sign_of_two_heads_cuts_the_graph_between_them() {
    use HeavyTail::{Both, Negative, Neither, Positive};
    let pair = |k: usize, heavy_tail| HeadPair {
        from_head: k / 2 + 1,
        to_head: k % 2 + 1,
        mean: 0.0,
        standard_deviation: 1.0,
        skewness: 0.5,
        kurtosis: 4.0,
        positive_tail: 1e-3,
        negative_tail: 1e-4,
        random_tail: 5e-4,
        heavy_tail,
    };
    let pairs = [Positive, Negative, Neither, Both].into_iter().enumerate().map(|(k, tail)| pair(k, tail)).collect();
    let mut mirror = mirror(ring());
    emit(&mut mirror, 0, histogram());
    emit(&mut mirror, 0, HeadPairs { heads: 2, pairs });
    let knobs = (orrery::labs::find("neuron_graph").unwrap().knobs)();
    let config = Config::defaults("neuron_graph", &knobs);
    let tile = Tile { preset: config.clone(), config, knobs, ..Tile::new("graph_threshold", mirror) };
    let mut harness = tile.shown(sized(520.0, 320.0));
    let heads = |harness: &Harness<'_, Tile>| {
        ["graph.from_head", "graph.to_head"].map(|key| harness.state().config.get(key).cloned())
    };
    let set = |a: i64, b: i64| [a, b].map(|head| Some(Value::Int(head)));
    for sign in ["head 1 to head 1: +", "head 2 to head 1: \u{b7}", "head 2 to head 2: \u{b1}"] {
        harness.get_by_role_and_label(Role::Button, sign);
    }
    for expected in [set(1, 2), set(0, 0)] {
        harness.get_by_role_and_label(Role::Button, "head 1 to head 2: \u{2212}").click();
        harness.step();
        harness.step();
        assert_eq!(heads(&harness), expected);
    }
}

#[test]
fn a_click_selects_a_neuron_for_all_views_and_another_lets_it_go() {
    let mut harness = tile(mirror(ring()), false);
    for node in [0, 2, 6] {
        let at = place_of(&harness, node);
        click(&mut harness, at);
        assert_eq!(harness.state().selection.neuron, Some(100 + node as u32), "by its number in the model");
        click(&mut harness, at);
        assert_eq!(harness.state().selection.neuron, None);
    }
    let beside = place_of(&harness, 0) + vec2(-40.0, 60.0);
    click(&mut harness, beside);
    assert_eq!(harness.state().selection.neuron, None);
    assert!(harness.state().subtitle.contains("7 neurons") && harness.state().subtitle.contains("7 edges"));
}

#[test]
fn a_drawing_has_every_neuron_and_edge_where_they_are() {
    let graph = planted_graph::graph(120, 4, 500, 0.8, 3);
    let mut harness = tile(mirror(planted_graph::measurement(&graph, |i| i)), true);
    harness.step();
    let svg = harness.state().svg.clone().unwrap();
    fs::write(folder().join("drawing.svg"), &svg).unwrap();
    // the legend has a disc for each of the four communities
    let legend = svg.matches("r=\"4.5\"").count();
    assert_eq!((svg.matches("<circle").count() - legend, legend), (120, 4));
    let sample = harness.state().mirror.sample_at(0, NeuronGraph::CHANNEL, 0).unwrap();
    let edges = &sample.measurement::<NeuronGraph>().unwrap().edges;
    let loops = edges.iter().filter(|e| e.0 == e.1).count();
    assert_eq!(svg.matches('M').count(), edges.len() - loops, "a stroke an edge");
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN"));
    // the drawing is a scaled copy of the layout, so all distances have the same ratio
    let places: Vec<[f64; 2]> = exported(&mut harness).nodes.iter().map(|n| n.position.unwrap()).collect();
    let drawn: Vec<[f64; 2]> = svg
        .lines()
        .filter_map(|l| {
            let number = |key: &str| l.split(&format!("{key}=\"")).nth(1)?.split('"').next()?.parse::<f64>().ok();
            l.starts_with("<circle").then(|| [number("cx").unwrap(), number("cy").unwrap()])
        })
        .collect();
    let far = |of: &[[f64; 2]], a: usize, b: usize| (of[a][0] - of[b][0]).hypot(of[a][1] - of[b][1]);
    let scale = far(&drawn, 0, 60) / far(&places, 0, 60);
    for b in 1..120 {
        let (plane, paper) = (far(&places, 0, b) * scale, far(&drawn, 0, b));
        assert!((plane - paper).abs() < 0.02 * scale.max(10.0), "{b}: {plane} and {paper}");
    }
}

#[test]
fn the_selected_neuron_shows_its_strongest_partners_and_leads_to_them() {
    let mut harness = tile(mirror(ring()), false);
    let at = place_of(&harness, 0);
    click(&mut harness, at);
    harness.get_by_label("acts on 1");
    harness.get_by_label("is acted on by 2");
    harness.get_by_label("cell 5").click();
    harness.step();
    assert_eq!(harness.state().selection.neuron, Some(105));
}

#[test]
fn the_wheel_zooms_about_the_pointer_and_fit_goes_back() {
    let mut harness = tile(mirror(ring()), false);
    let at = place_of(&harness, 1);
    harness.event(egui::Event::PointerMoved(at));
    harness.step();
    let wheel = |harness: &mut Harness<'_, Tile>, by: f32| {
        harness.event(egui::Event::MouseWheel {
            unit: egui::MouseWheelUnit::Point,
            source: egui::MouseWheelSource::Unknown,
            delta: vec2(0.0, by),
            phase: egui::TouchPhase::Move,
            modifiers: Modifiers::NONE,
        });
        for _ in 0..20 {
            harness.step();
        }
    };
    wheel(&mut harness, 400.0);
    click(&mut harness, at);
    assert_eq!(harness.state().selection.neuron, Some(101), "what was under the pointer still is");
    let other = place_of(&harness, 4);
    click(&mut harness, other);
    assert_eq!(harness.state().selection.neuron, None, "the far side has moved away: nobody is there");
    harness.get_by_label("fit").click();
    harness.step();
    click(&mut harness, other);
    assert_eq!(harness.state().selection.neuron, Some(104));
}

#[test]
fn search_finds_by_label_and_by_number_and_enter_goes_there() {
    let mut harness = tile(mirror(ring()), false);
    for (words, neuron) in [("103", 103), ("Cell 5", 105)] {
        let field = harness.get_by_role_and_label(Role::TextInput, "find a neuron");
        field.focus();
        harness.step();
        harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
        harness.get_by_role_and_label(Role::TextInput, "find a neuron").type_text(words);
        harness.step();
        harness.key_press(Key::Enter);
        harness.step();
        assert_eq!(harness.state().selection.neuron, Some(neuron), "{words}");
    }
}

#[test]
fn a_dragged_neuron_goes_with_the_hand_and_a_pinned_one_stays() {
    let mut harness = tile(mirror(ring()), false);
    let before = exported(&mut harness);
    let at = place_of(&harness, 3);
    click(&mut harness, at);
    harness.key_press(Key::P);
    harness.step();
    let (from, to) = (place_of(&harness, 0), place_of(&harness, 0) + vec2(60.0, -40.0));
    press(&mut harness, from, true);
    for share in [0.3, 0.6, 1.0] {
        harness.event(egui::Event::PointerMoved(from + (to - from) * share));
        harness.step();
    }
    let held = requests_frames_while_held(&mut harness);
    press(&mut harness, to, false);
    for _ in 0..200 {
        harness.step();
    }
    let after = exported(&mut harness);
    let place = |graph: &GraphFile, i: usize| graph.nodes[i].position.unwrap();
    let far = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    assert!(held, "the picture moves under the hand");
    assert_eq!(place(&before, 3), place(&after, 3), "pinned");
    assert!(far(place(&before, 0), place(&after, 0)) > 0.0 && far(place(&before, 1), place(&after, 1)) > 0.0);
}

/// True if frames are requested while the pointer drags a neuron.
fn requests_frames_while_held(harness: &mut Harness<'_, Tile>) -> bool {
    harness.ctx.has_requested_repaint()
}

#[test]
fn the_layout_settles_and_then_requests_no_frame() {
    let graph = planted_graph::graph(120, 4, 500, 0.8, 3);
    let mut harness = tile(mirror(planted_graph::measurement(&graph, |i| i)), false);
    let mut frames = 0;
    while harness.ctx.has_requested_repaint() {
        harness.step();
        frames += 1;
        assert!(frames < 2000, "it never rests");
    }
    assert!(frames > 250, "it rested after {frames} frames, before it was laid out");
    let places: Vec<[f32; 2]> =
        exported(&mut harness).nodes.iter().map(|n| n.position.map(|p| p.map(|v| v as f32)).unwrap()).collect();
    let pure = planted_graph::purity(&graph, &places);
    assert!(pure > 0.8, "{pure}");
    // with reduced motion, the final positions appear at once
    let mut still = tile(mirror(planted_graph::measurement(&graph, |i| i)), true);
    let jumped: Vec<_> = exported(&mut still).nodes.iter().map(|n| n.position.unwrap().map(|v| v as f32)).collect();
    assert!(places == jumped, "the same seed, the same rest");
}

#[test]
fn neurons_of_both_samples_keep_their_place() {
    let graph = planted_graph::graph(120, 4, 500, 0.8, 3);
    let mut harness = tile(mirror(planted_graph::measurement(&graph, |i| i)), true);
    let before = exported(&mut harness);
    // the edges change, and every tenth neuron is replaced
    let next = planted_graph::graph(120, 4, 520, 0.8, 3);
    let named = |i: u32| if i.is_multiple_of(10) { 1000 + i } else { i };
    let step = {
        let state = harness.state_mut();
        state.still = false;
        emit(&mut state.mirror, 50, planted_graph::measurement(&next, named));
        state.mirror.apply(Event::Step(orrery::telemetry::StepStats {
            step: 50,
            variant: 0,
            scalars: vec![],
            wall_secs: 1.0,
        }));
        state.mirror.step
    };
    assert_eq!(step, 50);
    harness.step();
    let after = exported(&mut harness);
    let size = before.nodes.iter().filter_map(|n| n.position).map(|p| p[0].hypot(p[1])).fold(0.0, f64::max);
    let mut moved: Vec<f64> = (0..120)
        .filter(|i: &usize| !i.is_multiple_of(10))
        .map(|i| {
            let (a, b) = (before.nodes[i].position.unwrap(), after.nodes[i].position.unwrap());
            (a[0] - b[0]).hypot(a[1] - b[1]) / size
        })
        .collect();
    moved.sort_by(f64::total_cmp);
    assert!(moved[54] < 0.1, "half of those that stay moved more than {} of the picture at once", moved[54]);
}

/// Each sample may number communities differently, but their colours must not change.
#[test]
fn a_community_keeps_its_colour_when_its_number_changes() {
    let graph = planted_graph::graph(120, 4, 500, 0.8, 3);
    let mut harness = tile(mirror(planted_graph::measurement(&graph, |i| i)), true);
    let before = exported(&mut harness);
    let mut next = planted_graph::graph(120, 4, 500, 0.8, 3);
    next.groups.iter_mut().for_each(|g| *g = 3 - *g);
    emit(&mut harness.state_mut().mirror, 0, planted_graph::measurement(&next, |i| i));
    harness.step();
    let after = exported(&mut harness);
    let colours = |graph: &GraphFile| graph.nodes.iter().map(|n| n.colour.unwrap()).collect::<Vec<_>>();
    assert_eq!(colours(&before), colours(&after));
    let of = |graph: &GraphFile| graph.nodes[0].value("community").unwrap();
    assert_ne!(of(&before), of(&after));
    let different: std::collections::HashSet<_> = colours(&after).into_iter().collect();
    assert_eq!(different.len(), 4);
}

/// Returns the screen position of an exported node when the whole graph fits the canvas.
fn node_position(harness: &Harness<'_, Tile>, graph: &GraphFile, node: usize) -> Pos2 {
    let places: Vec<[f32; 2]> = graph.nodes.iter().map(|n| n.position.unwrap().map(|v| v as f32)).collect();
    let (rect, b) = (canvas(harness), orrery::analysis::layout::bounds(&places));
    let scale = ((rect.width() - 56.0) / (b[2] - b[0])).min((rect.height() - 56.0) / (b[3] - b[1]));
    let off = vec2(places[node][0] - 0.5 * (b[0] + b[2]), 0.5 * (b[1] + b[3]) - places[node][1]);
    rect.center() + off * scale
}

fn rested(harness: &mut Harness<'_, Tile>) -> usize {
    let mut frames = 0;
    while harness.ctx.has_requested_repaint() {
        harness.step();
        frames += 1;
        assert!(frames < 2000, "it never rests");
    }
    frames
}

/// On any adapter, positions are read back from it, clicks hit the right nodes, and nothing is drawn twice.
#[test]
fn on_an_adapter_it_rests_is_picked_and_drawn_once() {
    let Some(offscreen) = adapter::offscreen() else { return };
    let graph = planted_graph::graph(150, 4, 600, 0.8, 3);
    let mut harness = tile_on(&offscreen, [440.0, 320.0], mirror(planted_graph::measurement(&graph, |i| 10 + i)), true);
    let frames = rested(&mut harness);
    assert!((90..200).contains(&frames), "{frames} frames");
    let file = exported(&mut harness);
    let places: Vec<[f32; 2]> = file.nodes.iter().map(|n| n.position.unwrap().map(|v| v as f32)).collect();
    let pure = planted_graph::purity(&graph, &places);
    assert!(pure > 0.8, "{pure}");
    harness.key_press(Key::Escape);
    rested(&mut harness);
    let drawn = |o: &Offscreen| frames_drawn(&o.render_state().renderer.read().callback_resources);
    let before = drawn(&offscreen);
    let corner = canvas(&harness).left_top() + vec2(3.0, 3.0);
    for at in [node_position(&harness, &file, 5), corner, node_position(&harness, &file, 9)] {
        harness.event(egui::Event::PointerMoved(at));
        harness.step();
        harness.step();
    }
    assert_eq!(drawn(&offscreen), before, "hovering draws the graph anew");
    let at = node_position(&harness, &file, 5);
    click(&mut harness, at);
    assert_eq!(harness.state().selection.neuron, Some(15));
    assert!(drawn(&offscreen) > before, "a selection is seen");
    // another start ends in the same positions
    harness.get_by_label("restart").click();
    harness.step();
    rested(&mut harness);
    assert!(exported(&mut harness).nodes.iter().map(|n| n.position).eq(file.nodes.iter().map(|n| n.position)));
}

/// Writes large pictures for visual inspection if ORRERY_LOOK=1.
#[test]
fn write_large_pictures_for_inspection() {
    if std::env::var("ORRERY_LOOK").is_err() {
        return;
    }
    let Some(mut offscreen) = adapter::offscreen() else { return };
    let graph = planted_graph::graph(2000, 14, 20_000, 0.72, 5);
    for dark in [true, false] {
        let Some(offscreen) = adapter::offscreen() else { return };
        let mut harness = tile_on(&offscreen, [860.0, 640.0], mirror(planted_graph::measurement(&graph, |i| i)), dark);
        let begun = std::time::Instant::now();
        let frames = rested(&mut harness);
        println!("{frames} frames to rest, {:.1} ms each", begun.elapsed().as_secs_f64() * 1e3 / frames as f64);
        harness.state_mut().selection.neuron = Some(77);
        let file = exported(&mut harness);
        harness.key_press(Key::Escape);
        harness.step();
        let at = node_position(&harness, &file, 77);
        harness.event(egui::Event::PointerMoved(at));
        harness.step();
        harness.step();
        harness.render().unwrap().save(folder().join(format!("selected-{dark}.png"))).unwrap();
    }
    let mirror = mirror(planted_graph::measurement(&graph, |i| i));
    for (dark, size, scale) in [(true, [960.0, 640.0], 1.0), (false, [960.0, 640.0], 1.0), (true, [900.0, 600.0], 2.0)]
    {
        let begun = std::time::Instant::now();
        let (config, theme) = (info().config, Theme::new(dark));
        let figure =
            Figure { size, pixels_per_point: scale, ..Figure::new("neuron_graph", &mirror, &config, &[], &theme) };
        let image = figure.image(&mut offscreen).unwrap();
        println!("{dark} {size:?} {scale}: {:?}", begun.elapsed());
        fs::write(folder().join(format!("large-{dark}-{scale}.png")), image.png().unwrap()).unwrap();
    }
}
