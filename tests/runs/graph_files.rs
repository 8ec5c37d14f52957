//! Tests graph files: every format reads what it writes, errors name their line, and no text causes a panic.

use orrery::analysis::graph_file::{AttributeValue, FileEdge, FileNode, Format, GraphFile};
use proptest::prelude::*;

fn small() -> GraphFile {
    let node = |i: usize| FileNode {
        id: format!("{}", 40 + i),
        label: Some(format!("head 0 \u{b7} \"neuron\" <{i}> & co")),
        position: Some([1.5 * i as f64, -0.25]),
        colour: Some([10, 20, 30 + i as u8]),
        size: Some(2.5),
        values: vec![
            ("community".into(), AttributeValue::Integer(i as i64)),
            ("octave".into(), AttributeValue::Float(7.0)),
            ("kind".into(), AttributeValue::Text("a < b".into())),
            ("ripe".into(), AttributeValue::Boolean(i == 1)),
        ],
        ..FileNode::default()
    };
    let edge = |from, to, weight| FileEdge { from, to, weight, ..FileEdge::default() };
    GraphFile {
        title: "step 40, G_x > 0.1 & more".into(),
        directed: true,
        nodes: (0..3).map(node).collect(),
        edges: vec![edge(0, 1, 0.125), edge(2, 0, -3.5)],
        ..GraphFile::default()
    }
}

#[test]
fn written_graphs_are_read_back_unchanged() {
    for format in [Format::Gexf, Format::GraphMl, Format::NodeLinkJson] {
        let text = format.write(&small());
        assert_eq!(format.read(&text).unwrap(), small(), "{format:?}\n{text}");
    }
    let csv = Format::Csv.write(&small());
    assert_eq!(csv, "source,target,weight\n40,41,0.125\n42,40,-3.5\n");
    let back = Format::Csv.read(&csv).unwrap();
    let named = |g: &GraphFile| -> Vec<(String, String, f64)> {
        g.edges.iter().map(|e| (g.nodes[e.from].id.clone(), g.nodes[e.to].id.clone(), e.weight)).collect()
    };
    assert_eq!(named(&back), named(&small()));
}

#[test]
fn ids_that_xml_cannot_tell_apart_are_told_apart() {
    let node = |id: &str| FileNode { id: id.into(), ..FileNode::default() };
    let ids = ["a\u{1}", "a\u{2}", "a", "a-2", "b"];
    let edges = (0..5).map(|i| FileEdge { from: i, to: 4 - i, weight: 1.0, ..FileEdge::default() }).collect();
    let graph = GraphFile { nodes: ids.map(node).into(), edges, ..GraphFile::default() };
    for format in [Format::Gexf, Format::GraphMl] {
        let back = format.read(&format.write(&graph)).unwrap();
        assert_eq!(back.edges, graph.edges, "{format:?}");
        assert_eq!(back.nodes.iter().map(|n| n.id.as_str()).collect::<Vec<_>>(), ["a-3", "a-4", "a", "a-2", "b"]);
    }
}

/// Files in the form that Gephi and networkx write.
#[test]
fn graph_files_of_gephi_and_networkx_are_read() {
    let gephi = r#"<?xml version='1.0' encoding='UTF-8'?>
<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2" xmlns:viz="http://www.gexf.net/1.2draft/viz">
  <graph defaultedgetype="undirected" mode="static"><attributes class="node"><attribute id="modularity_class"
    title="Modularity Class" type="integer"/><attribute id="n" title="nickname" type="string"/></attributes>
    <attributes class="edge"><attribute id="modularity_class" title="other" type="string"/></attributes>
    <nodes><node id="a" label="A"><attvalues><attvalue for="modularity_class" value="3"/><attvalue for="n" value="x"/>
      </attvalues><viz:size value="4.0"/><viz:position x="-1.0" y="2.0"/><viz:color r="1" g="2" b="255"/></node>
      <node id="b"/></nodes>
    <edges><edge id="0" source="a" target="b"/></edges></graph></gexf>"#;
    let graph = Format::Gexf.read(gephi).unwrap();
    assert_eq!((graph.nodes.len(), graph.edges.len(), graph.directed), (2, 1, false));
    let a = &graph.nodes[0];
    assert_eq!(
        (a.position, a.colour, a.values.as_slice()),
        (
            Some([-1.0, 2.0]),
            Some([1, 2, 255]),
            &[
                ("Modularity Class".to_owned(), AttributeValue::Integer(3)),
                ("nickname".to_owned(), AttributeValue::Text("x".to_owned())),
            ][..]
        )
    );
    assert_eq!((graph.nodes[1].name(), graph.edges[0].weight, graph.edges[0].is_unweighted), ("b", 1.0, true));
    let nx = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d1" for="edge" attr.name="weight" attr.type="double"/>
<key id="d0" for="node" attr.name="community" attr.type="long"/>
<graph edgedefault="directed"><node id="0"><data key="d0">1</data></node><node id="1"/>
<edge source="0" target="1"><data key="d1">0.5</data></edge></graph></graphml>"#;
    let graph = Format::GraphMl.read(nx).unwrap();
    assert_eq!((graph.nodes[0].value("community"), graph.edges[0].weight, graph.directed), (Some(1.0), 0.5, true));
    for csv in [
        "1,2\n2,3,0.5\n",
        "Weight;To;From\n1;2;1\n0.5;3;2\n",
        "\u{feff}source\ttarget\tweight\r\n1\t2\t1\r\n\r\n2\t3\t0.5\r\n",
    ] {
        let graph = Format::Csv.read(csv).unwrap();
        let edges: Vec<_> =
            graph.edges.iter().map(|e| (&*graph.nodes[e.from].id, &*graph.nodes[e.to].id, e.weight)).collect();
        assert_eq!(edges, [("1", "2", 1.0), ("2", "3", 0.5)], "{csv:?}");
    }
}

#[test]
fn errors_in_graph_files_name_their_line_and_a_remedy() {
    for (format, text, line, words) in [
        (Format::Csv, "source,target\n1,2\n3\n", 3, "source, target"),
        (Format::Csv, "1,2,much\n", 1, "`much`"),
        (Format::Csv, "source,target,weight\na,b,1\nb,,1\n", 3, "does not name two nodes"),
        (Format::Csv, ",b\n", 1, "does not name two nodes"),
        (Format::Csv, "1,2\n\"3,4\n", 2, "never ends"),
        (Format::Csv, "", 1, "no nodes"),
        (Format::Gexf, "<gexf>\n<graph><nodes>\n<node id=\"a\"/>", 3, "cut off"),
        (
            Format::Gexf,
            "<gexf><graph><nodes><node id=\"a\"/></nodes>\n<edges><edge source=\"a\" target=\"b\"/></edges></graph></gexf>",
            2,
            "`b`",
        ),
        (Format::Gexf, "<gexf><graph><nodes>\n<node label=\"a\"/></nodes></graph></gexf>", 2, "`id`"),
        (
            Format::Gexf,
            "<gexf><graph><nodes><node id=\"a\"/>\n\n<node id=\"a\"/></nodes></graph></gexf>",
            3,
            "second node `a`",
        ),
        (Format::Gexf, "<html></html>", 1, "GEXF"),
        (Format::Gexf, "<gexf><graph><nodes><node id=\"&bomb;\"/></nodes></graph></gexf>", 1, "&amp;"),
        (
            Format::GraphMl,
            "<graphml><graph>\n<node id=\"a\"><data key=\"x\">far</data></node></graph></graphml>",
            2,
            "`far`",
        ),
        (Format::GraphMl, "just words", 1, "graphml"),
    ] {
        let e = format.read(text).expect_err(text);
        assert_eq!(e.line, line, "{text}: {e}");
        assert!(e.to_string().contains(words), "{text}: {e}");
    }
}

fn any_name() -> impl Strategy<Value = String> {
    // the writers leave out characters that XML does not allow, so the names contain only others
    proptest::string::string_regex("[ -~\u{e9}\u{3b1}\t]{1,12}").unwrap()
}

fn any_graph() -> impl Strategy<Value = GraphFile> {
    let node = (any_name(), proptest::option::of((-1e6..1e6f64, -1e6..1e6f64)), proptest::option::of(any::<[u8; 3]>()));
    let nodes = proptest::collection::vec(node, 1..12);
    (nodes, any::<bool>()).prop_flat_map(|(nodes, directed)| {
        let n = nodes.len();
        let edges = proptest::collection::vec((0..n, 0..n, -1e3..1e3f64), 0..20);
        edges.prop_map(move |edges| GraphFile {
            title: "t".into(),
            directed,
            nodes: nodes
                .iter()
                .enumerate()
                .map(|(i, (name, place, colour))| FileNode {
                    id: format!("{name}{i}"),
                    label: Some(name.clone()),
                    position: place.map(|(x, y)| [x, y]),
                    colour: *colour,
                    values: vec![("community".into(), AttributeValue::Float(i as f64 * 0.5))],
                    ..FileNode::default()
                })
                .collect(),
            edges: edges
                .iter()
                .map(|(from, to, weight)| FileEdge { from: *from, to: *to, weight: *weight, ..FileEdge::default() })
                .collect(),
            ..GraphFile::default()
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_comes_back_from_xml_and_json(graph in any_graph()) {
        for format in [Format::Gexf, Format::GraphMl, Format::NodeLinkJson] {
            let back = format.read(&format.write(&graph));
            prop_assert_eq!(back.as_ref(), Ok(&graph), "{:?}", format);
        }
    }

    #[test]
    fn any_edges_come_back_from_a_table(graph in any_graph()) {
        prop_assume!(!graph.edges.is_empty());
        let back = Format::Csv.read(&Format::Csv.write(&graph)).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let named = |g: &GraphFile| -> Vec<(String, String, f64)> {
            g.edges.iter().map(|e| (g.nodes[e.from].id.clone(), g.nodes[e.to].id.clone(), e.weight)).collect()
        };
        prop_assert_eq!(named(&back), named(&graph));
    }

    /// Files that are truncated and changed at random give a graph or an error, never a panic.
    #[test]
    fn no_text_makes_a_reader_fail_otherwise(cut in 0usize..2000, at in 0usize..2000, byte in any::<u8>(), words in ".{0,80}") {
        for format in Format::ALL {
            let mut bytes = format.write(&small()).into_bytes();
            let (cut, at) = (cut % bytes.len(), at % bytes.len());
            bytes[at] = byte;
            bytes.truncate(cut.max(1));
            let _ = format.read(&String::from_utf8_lossy(&bytes));
            let _ = format.read(&words);
        }
    }
}

/// Graph files that are opened in the window and at the command line.
mod opened {
    use std::{fs, path::Path, time::Duration};

    use orrery::{
        analysis::graph_file::{AttributeValue, FileEdge, FileNode, Format, GraphFile},
        cli::{host::DesktopHost, runs::Runs},
        telemetry::{Measurement, RunState, measurements::NeuronGraph},
        ui::{host::Host, mirror::Mirror},
    };

    use crate::command::{done, expect_exit};

    fn graph() -> GraphFile {
        let node = |i: usize| FileNode {
            id: format!("{}", 500 + i),
            label: Some(format!("n{i}")),
            position: Some([i as f64, (i * i % 7) as f64]),
            values: vec![("modularity_class".into(), AttributeValue::Integer(i as i64 % 2))],
            ..FileNode::default()
        };
        GraphFile {
            title: "a test".into(),
            directed: true,
            nodes: (0..9).map(node).collect(),
            edges: (0..8).map(|i| FileEdge { from: i, to: i + 1, weight: 1.0, ..FileEdge::default() }).collect(),
            ..GraphFile::default()
        }
    }

    fn opened(file: &Path) -> Mirror {
        let handle = DesktopHost::new(file.parent().unwrap().to_owned(), Runs::new()).open_run(file.to_owned());
        let mut mirror = Mirror::default();
        for _ in 0..400 {
            handle.inbox.take().into_iter().for_each(|event| mirror.apply(event));
            if mirror.state.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        mirror
    }

    #[test]
    fn the_window_opens_it_on_a_page_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for format in Format::ALL {
            let file = folder.path().join(format!("g.{}", format.extension()));
            fs::write(&file, format.write(&graph())).unwrap();
            let mirror = opened(&file);
            assert_eq!(mirror.state, Some(RunState::Stopped), "{format:?}: {:?}", mirror.notices);
            assert_eq!(mirror.info.as_ref().unwrap().lab, "graph_file");
            let sample = mirror.sample_at(0, NeuronGraph::CHANNEL, 0).unwrap();
            let read: &NeuronGraph = sample.measurement().unwrap();
            assert_eq!((read.neurons.len(), read.edges.len()), (9, 8));
            // GML nodes are identified by their labels, as in networkx
            let third = if format == Format::Gml { 3 } else { 503 };
            assert_eq!(read.neurons[3], third, "numbers that are names stay");
            let has_more = format != Format::Csv;
            assert_eq!(read.positions.is_some(), has_more);
            let file = read.file.as_ref().unwrap();
            assert_eq!(file.modularity.is_some(), !has_more, "its own communities, or those that are found");
            assert_eq!(file.component, [0; 9]);
            assert_eq!(read.groups.community.as_ref().unwrap().len(), 9);
            assert_eq!(read.groups.head, None);
        }
        let broken = folder.path().join("broken.gexf");
        fs::write(&broken, "<gexf>\n<graph>").unwrap();
        let mirror = opened(&broken);
        let Some(RunState::Failed { message }) = &mirror.state else { panic!("{:?}", mirror.state) };
        assert!(message.contains("broken.gexf, line 2"), "{message}");
        assert!(mirror.info.is_none(), "nothing is shown of it");
    }

    #[test]
    fn the_command_line_lays_it_out_and_names_what_is_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let (file, out) = (folder.path().join("g.csv"), folder.path().join("out.graphml"));
        fs::write(&file, Format::Csv.write(&graph())).unwrap();
        done(folder.path(), "graph g.csv --layout out.graphml");
        let laid = Format::GraphMl.read(&fs::read_to_string(&out).unwrap()).unwrap();
        assert!(laid.nodes.len() == 9 && laid.nodes.iter().all(|n| n.position.is_some()));
        fs::write(&file, "1,2\n3\n").unwrap();
        expect_exit(folder.path(), "graph g.csv --layout out.graphml", 2, &["g.csv, line 2"]);
    }
}
