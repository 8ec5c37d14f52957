//! Tests the views of graphs that were read from files: colours and sizes from the file's attributes, arrowheads and
//! loops, the table beside the picture, and exports that contain the file's data unchanged.

use std::sync::Arc;

use crate::{
    adapter,
    real_host::TestWindow,
    recorded::bare_sample,
    tiles::{Tile, sized},
};
use eframe::egui::Key;
use egui_kittest::{Harness, kittest::Queryable};
use orrery::{
    analysis::graph_file::{AttributeValue, Format},
    config::Config,
    telemetry::{
        Array, Event, Measurement, RunInfo, RunState, Sample, VariantInfo,
        measurements::{ColumnType, FileGraph, GraphColumn, GraphEdges, NeuronGraph},
        number::Number,
    },
    ui::{action::FileAction, figure::Figure, mirror::Mirror, plot::hex, theme::Theme},
};

fn column(name: &str, of: ColumnType, numbers: &[f64], texts: &[&str]) -> GraphColumn {
    let texts = texts.iter().map(|t| (!t.is_empty()).then(|| (*t).to_owned())).collect();
    GraphColumn { name: name.into(), of, numbers: numbers.to_vec().into(), texts }
}

/// A graph of four corners and one inner node, in which `b` has a loop.
fn square(directed: bool) -> NeuronGraph {
    let positions = vec![0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.5, 0.6];
    NeuronGraph {
        neurons: (0..5).collect(),
        labels: ["a", "b", "c", "d", "e"].map(String::from).into(),
        edges: GraphEdges::new([(0, 1, 1.0), (1, 2, 2.0), (1, 1, 3.0), (3, 0, 0.5), (4, 2, 1.0), (4, 3, 1.5)]),
        positions: Some(Array::new([5, 2], positions).unwrap()),
        file: Some(FileGraph {
            directed,
            weighted: true,
            ids: ["a", "b", "c", "d", "e"].map(String::from).into(),
            node_values: vec![
                column("mass", ColumnType::Float, &[0.25, 0.5, f64::NAN, 0.75, 1.25], &[]),
                column("kind", ColumnType::Text, &[], &["salt", "salt", "oil", "", "oil"]),
                column("ripe", ColumnType::Boolean, &[1.0, 0.0, 1.0, f64::NAN, 0.0], &[]),
            ],
            edge_values: vec![column("age", ColumnType::Integer, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[])],
            component: vec![0; 5],
            ..FileGraph::default()
        }),
        ..NeuronGraph::default()
    }
}

fn mirror(graph: NeuronGraph) -> Mirror {
    let mut mirror = Mirror::default();
    mirror.apply(Event::Started(Arc::new(RunInfo {
        lab: "neuron_graph".into(),
        config: Config::defaults("neuron_graph", &[]),
        variants: vec![VariantInfo { id: "file".into(), label: "g".into(), group: "file".into(), seed: 0, params: 0 }],
        total_steps: 0,
        device: "no device".into(),
        threads: 1,
        corpus: "the file g".into(),
        vocab: 0,
        tokens_per_step: 0,
        ..RunInfo::default()
    })));
    mirror.apply(Event::Sample(Sample { about: "g".into(), ..bare_sample(graph.into_payload()) }));
    mirror.apply(Event::State(RunState::Stopped));
    mirror
}

fn tile(view: &'static str, graph: NeuronGraph) -> Harness<'static, Tile> {
    let (config, theme) = (Config::defaults("neuron_graph", &[]), Theme::new(true));
    Tile { config, theme, still: true, ..Tile::new(view, mirror(graph)) }.shown(sized(760.0, 560.0))
}

fn click(harness: &mut Harness<'_, Tile>, label: &str) {
    harness.get_by_label(label).click();
    // a menu needs some frames for its size and position before it can be clicked
    harness.run_steps(4);
}

/// Exports through this entry of the menu and returns the exported text.
fn exported(harness: &mut Harness<'_, Tile>, line: &str) -> String {
    harness.state_mut().exports.clear();
    click(harness, "export");
    click(harness, line);
    match harness.state().exports.first() {
        Some(FileAction::SaveInExports(_, bytes)) => String::from_utf8(bytes.clone()).unwrap(),
        _ => panic!("nothing exported"),
    }
}

#[test]
fn exports_give_back_what_the_file_said() {
    let mut harness = tile("neuron_graph", square(false));
    for (line, format) in [
        ("GEXF (Gephi, networkx)", Format::Gexf),
        ("GraphML", Format::GraphMl),
        ("JSON, node-link (networkx, d3)", Format::NodeLinkJson),
    ] {
        let back = format.read(&exported(&mut harness, line)).unwrap();
        assert!(!back.directed, "{format:?}");
        let text = |words: &str| AttributeValue::Text(words.into());
        let named = |name: &str, value| (name.to_owned(), value);
        let [a, _, c, d, _] = back.nodes.as_slice() else { panic!("{format:?}") };
        let of_a = [
            named("mass", AttributeValue::Float(0.25)),
            named("kind", text("salt")),
            named("ripe", AttributeValue::Boolean(true)),
        ];
        assert_eq!((a.id.as_str(), a.values.as_slice()), ("a", &of_a[..]), "{format:?}");
        assert_eq!(c.values, [named("kind", text("oil")), named("ripe", AttributeValue::Boolean(true))]);
        assert_eq!(d.values, [named("mass", AttributeValue::Float(0.75))]);
        assert_eq!(back.edges[2].values, [named("age", AttributeValue::Integer(3))], "{format:?}");
        assert_eq!((back.edges[3].weight, back.edges[2].from, back.edges[2].to), (0.5, 1, 1));
    }
}

#[test]
fn a_number_colours_from_low_to_high() {
    let mut harness = tile("neuron_graph", square(true));
    click(&mut harness, "colour by");
    click(&mut harness, "mass (number)");
    let graph = Format::Gexf.read(&exported(&mut harness, "GEXF (Gephi, networkx)")).unwrap();
    let colour = |i: usize| graph.nodes[i].colour.unwrap();
    assert_eq!((colour(0), colour(4)), ([0x44, 0x01, 0x54], [0xfd, 0xe7, 0x24]), "the ends of viridis");
    let grey = Theme::new(true).grey();
    assert_eq!(colour(2), [grey.r(), grey.g(), grey.b()], "it has no mass");
    click(&mut harness, "colour by");
    click(&mut harness, "kind");
    let graph = Format::Gexf.read(&exported(&mut harness, "GEXF (Gephi, networkx)")).unwrap();
    let colour = |i: usize| graph.nodes[i].colour.unwrap();
    assert!(colour(0) == colour(1) && colour(2) == colour(4) && colour(0) != colour(2));
    harness.get_by_label_contains("kind salt");
}

#[test]
fn the_table_filters_sorts_and_selects() {
    let mut harness = tile("graph_table", square(true));
    harness.get_by_label("5 of 5");
    harness.get_by_label("filter").click();
    harness.step();
    harness.get_by_label("filter").type_text("degree>=2 kind!=oil");
    harness.step();
    harness.step();
    // three nodes match: a (degree 2), b (4, because a loop counts twice) and d (2; without a kind, it is not oil)
    harness.get_by_label("3 of 5");
    click(&mut harness, "b b");
    assert_eq!(harness.state().selection.neuron, Some(1));
    click(&mut harness, "Sort by degree");
    let csv = harness.state().csv.clone().unwrap();
    let first = csv.lines().nth(1).unwrap().to_owned();
    assert!(csv.starts_with("id,label,community,component,degree,") && first.starts_with("b,b,"), "{csv}");
    let mut harness = tile("graph_table", square(true));
    click(&mut harness, "filter");
    harness.get_by_label("filter").type_text("size>1");
    harness.step();
    harness.step();
    harness.get_by_label_contains("no column");
}

/// No model is behind it: there is no run, a setting would act on nothing, and no number of a lab can come.
#[test]
fn a_page_of_a_graph_file_shows_no_control_that_acts_on_nothing() {
    let here = tempfile::tempdir().unwrap();
    let file = here.path().join("own.gml");
    let nodes = "node [ id 0 label \"a\" ] node [ id 1 label \"b\" ] edge [ source 0 target 1 ]";
    std::fs::write(&file, format!("graph [ directed 1 {nodes} ]")).unwrap();
    let mut desk = TestWindow::new(here.path());
    desk.drop_folder(&file);
    let is_shown = |desk: &TestWindow| {
        desk.page().and_then(|page| page.mirror()).is_some_and(|mirror| mirror.state == Some(RunState::Stopped))
    };
    desk.until("the graph is shown", is_shown);
    desk.harness.run_steps(3);
    assert!(desk.shows("own.gml") && desk.shows("graph of 2 nodes"));
    let controls = [
        "Acts now",
        "All settings",
        "excitatory",
        "Find a control",
        "Neuron graph",
        "preset",
        "Reset",
        "seed",
        "Step shown",
        "Threshold",
    ];
    let shown: Vec<&str> =
        controls.into_iter().filter(|label| desk.harness.query_all_by_label(label).next().is_some()).collect();
    assert!(shown.is_empty(), "{shown:?}");
    let words = ["No main number", "numbers appear here", "This run", "R to begin"];
    assert!(words.into_iter().all(|words| !desk.shows(words)));
    desk.harness.key_press(Key::Escape);
    desk.harness.run_steps(3);
    assert!(desk.page().is_none() && desk.shows("own.gml"), "its card has the name of the file");
    desk.harness.get_by_label("Open Graph file").click();
    desk.harness.run_steps(3);
    assert!(is_shown(&desk) && desk.shows("graph of 2 nodes"), "home leads back to it");
}

#[test]
fn a_picture_tells_negative_edges_from_positive_ones() {
    let mut graph = square(true);
    graph.edges = GraphEdges::new([(0, 1, 1.0), (1, 2, -2.0), (3, 0, 0.5)]);
    let file = graph.file.as_mut().unwrap();
    file.edge_values.clear();
    file.modularity = Some(Number(0.5));
    let (mirror, config, theme) = (mirror(graph), Config::defaults("neuron_graph", &[]), Theme::new(true));
    let svg = Figure::new("neuron_graph", &mirror, &config, &[], &theme).svg().unwrap();
    let caption = "5 nodes \u{b7} 3 directed edges \u{b7} communities of Q = 0.500 (of 2 positive edges)";
    for words in [">g<", caption, "positive edges  2", "negative edges  1"] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    let strokes = |colour| svg.matches(&format!("<path stroke=\"{}\"", hex(colour))).count();
    assert!(strokes(theme.cool) == 1 && strokes(theme.warm) == 2, "a path for each sign and strength: {svg}");
}

/// Where few edges are, none is so faint that it is not seen, long ones neither.
#[test]
fn edges_of_a_small_graph_are_visible() {
    let Some(mut offscreen) = adapter::offscreen() else { return };
    let mut graph = square(false);
    graph.edges = GraphEdges::new([(0, 1, 1.0), (1, 2, 1.0), (2, 3, -1.0), (3, 0, -1.0)]);
    graph.file.as_mut().unwrap().edge_values.clear();
    let (mirror, config) = (mirror(graph), Config::defaults("neuron_graph", &[]));
    for theme in [Theme::new(true), Theme::new(false)] {
        let image = Figure::new("neuron_graph", &mirror, &config, &[], &theme).image(&mut offscreen).unwrap();
        // no node has a colour like that of positive edges
        let wanted = [theme.warm.r(), theme.warm.g(), theme.warm.b()];
        let is_near = |pixel: &&[u8]| pixel.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) < 80);
        let seen = image.rgba.chunks(4).filter(is_near).count();
        assert!(seen > 1000, "{seen} pixels, dark: {}", theme.dark);
    }
}

/// A directed and an undirected drawing differ only in the arrowheads, and the loop is drawn above its node.
#[test]
fn arrowheads_and_loops_are_seen() {
    let Some(mut offscreen) = adapter::offscreen() else { return };
    let mut image = |graph: NeuronGraph| {
        let mirror = mirror(graph);
        let (config, theme) = (Config::defaults("neuron_graph", &[]), Theme::new(true));
        let figure = Figure {
            size: [480.0, 400.0],
            pixels_per_point: 1.0,
            ..Figure::new("neuron_graph", &mirror, &config, &[], &theme)
        };
        figure.image(&mut offscreen).unwrap()
    };
    let without_loop = |directed: bool| {
        let mut graph = square(directed);
        let edges: Vec<_> = graph.edges.iter().filter(|e| e.0 != e.1).collect();
        graph.edges = GraphEdges::new(edges);
        graph.file.as_mut().unwrap().edge_values.clear();
        graph
    };
    let (with, without) = (image(square(true)), image(without_loop(true)));
    let plain = image(without_loop(false));
    // compares only the pixels below the title, which names the kind of edges
    let differing = |a: &[u8], b: &[u8]| a.chunks(4).zip(b.chunks(4)).skip(480 * 60).filter(|(a, b)| a != b).count();
    let heads = differing(&without.rgba, &plain.rgba);
    assert!((40..2500).contains(&heads), "{heads} pixels differ");
    let ring = differing(&with.rgba, &without.rgba);
    assert!((20..4000).contains(&ring), "{ring} pixels differ");
}
