//! Tests graphs that networkx wrote in every format (`tests/oracles/graph_files`): they are read with the same content
//! as by networkx, and stay the same after a conversion into every other format with the same types. Errors in the
//! newer formats are named.

use std::{collections::BTreeMap, fs, path::PathBuf};

use orrery::analysis::{
    graph::components,
    graph_file::{AttributeValue, FileNode, Format, GraphFile, NamedValue},
};
use serde_json::{Value, json};

use super::command::{command, stderr_of};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/graph_files")
}

fn expected() -> BTreeMap<String, Value> {
    serde_json::from_str(&fs::read_to_string(folder().join("expected.json")).unwrap()).unwrap()
}

fn read(name: &str) -> GraphFile {
    let text = fs::read_to_string(folder().join(name)).unwrap();
    Format::from_name(name).unwrap().read(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn json_of(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Integer(v) => json!(v),
        AttributeValue::Float(v) => json!(v),
        AttributeValue::Boolean(v) => json!(v),
        AttributeValue::Text(v) => json!(v),
        AttributeValue::Json(v) => serde_json::from_str(v).unwrap(),
    }
}

/// The attributes except an edge's key and id, which networkx does not treat as attributes.
fn values(all: &[NamedValue]) -> serde_json::Map<String, Value> {
    let kept = all.iter().filter(|(name, _)| !["id", "key", "networkx_key"].contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), json_of(value))).collect()
}

fn same(name: &str, graph: &GraphFile, wanted: &Value) {
    assert_eq!(json!(graph.directed), wanted["directed"], "{name}");
    let mut degree = vec![0; graph.nodes.len()];
    for edge in &graph.edges {
        degree[edge.from] += 1;
        degree[edge.to] += 1;
    }
    let node = |(node, degree): (&FileNode, &u64)| {
        let mut found = values(&node.values);
        if name.ends_with(".gexf") {
            found.insert("label".into(), json!(node.name()));
        }
        json!([node.name(), found, degree])
    };
    let nodes: Vec<Value> = graph.nodes.iter().zip(&degree).map(node).collect();
    assert_eq!(json!(nodes), wanted["nodes"], "{name}");
    let mut edges: Vec<Value> = vec![];
    for edge in &graph.edges {
        let mut found = values(&edge.values);
        if !edge.is_unweighted {
            found.insert("weight".into(), json!(edge.weight));
        }
        let mut ends = [graph.nodes[edge.from].name(), graph.nodes[edge.to].name()];
        if !graph.directed {
            ends.sort_unstable();
        }
        edges.push(json!([ends[0], ends[1], found]));
    }
    let mut wanted_edges = wanted["edges"].as_array().unwrap().clone();
    edges.sort_by_key(Value::to_string);
    wanted_edges.sort_by_key(Value::to_string);
    assert_eq!(edges, wanted_edges, "{name}");
    assert_eq!(json!(graph.edges.iter().filter(|e| e.from == e.to).count()), wanted["self_loops"], "{name}");
    let ends = || graph.edges.iter().map(|e| (e.from as u32, e.to as u32));
    let sizes = |of: Vec<u32>| {
        let mut sizes = vec![0; of.iter().max().map_or(0, |c| *c as usize + 1)];
        of.iter().for_each(|c| sizes[*c as usize] += 1);
        json!(sizes)
    };
    assert_eq!(sizes(components::weakly_connected(graph.nodes.len(), ends())), wanted["components"], "{name}");
    if graph.directed {
        assert_eq!(sizes(components::strongly_connected(graph.nodes.len(), ends())), wanted["strong"], "{name}");
    }
}

#[test]
fn graphs_written_by_networkx_are_read_as_networkx_reads_them() {
    let expected = expected();
    assert_eq!(expected.len(), 15);
    for (name, wanted) in &expected {
        same(name, &read(name), wanted);
    }
}

/// Each file is converted into its own format and every other one. GML has neither booleans nor texts as ids, so only
/// the numbers of nodes and edges are compared for it.
#[test]
fn attributes_come_back_equal_through_every_format() {
    for name in expected().keys() {
        let graph = read(name);
        for format in [Format::Gexf, Format::GraphMl, Format::NodeLinkJson, Format::Gml] {
            let text = format.write(&graph);
            let back = format.read(&text).unwrap_or_else(|e| panic!("{name} as {format:?}: {e}\n{text}"));
            if format == Format::Gml && !name.ends_with(".gml") {
                assert_eq!((back.nodes.len(), back.edges.len()), (graph.nodes.len(), graph.edges.len()));
                continue;
            }
            assert_eq!(back.directed, graph.directed);
            for (back, node) in back.nodes.iter().zip(&graph.nodes) {
                assert_eq!(
                    (&back.id, back.name(), &back.values),
                    (&node.id, node.name(), &node.values),
                    "{name} {format:?}"
                );
            }
            let plain = |graph: &GraphFile| -> Vec<_> {
                graph.edges.iter().map(|e| (e.from, e.to, e.weight, e.is_unweighted, values(&e.values))).collect()
            };
            assert_eq!(plain(&back), plain(&graph), "{name} {format:?}");
        }
    }
}

#[test]
fn tables_say_direction_and_values_of_edges() {
    let text = "Source,Target,Type,Weight,how,age\na,b,Undirected,2,raises,7\nb,b,Undirected,,\"8\",\n";
    let graph = Format::Csv.read(text).unwrap();
    assert!(!graph.directed);
    let (first, second) = (&graph.edges[0], &graph.edges[1]);
    let text_of = |words: &str| AttributeValue::Text(words.into());
    assert_eq!(first.values, [("how".into(), text_of("raises")), ("age".into(), AttributeValue::Integer(7))]);
    assert_eq!((second.values.as_slice(), second.is_unweighted), (&[("how".into(), text_of("8"))][..], true));
    assert!(Format::Csv.read("a,b\n").unwrap().directed, "a table that says nothing is directed");
}

/// A table of losses is not a graph, though each of its lines could be an edge.
#[test]
fn words_over_numbers_alone_are_names_of_columns() {
    let error = Format::Csv.read("loss,lr\n1.5,0.003\n1.4,0.003\n").unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("`source` and `target`"), "{error}");
    for edges in ["hub,rim\n1,2\nhub,1\n", "\"loss\",\"lr\"\n1,2\n", "1,2\n3,4\n", "a,b\n"] {
        assert!(Format::Csv.read(edges).is_ok(), "{edges}");
    }
}

#[test]
fn a_weight_in_json_is_a_number_as_in_the_other_formats() {
    let graph = |weight: &str| {
        let edge = format!("{{\"source\": 1, \"target\": 2, \"weight\": {weight}}}");
        Format::NodeLinkJson.read(&format!("{{\"nodes\": [{{\"id\": 1}}, {{\"id\": 2}}], \"edges\": [{edge}]}}"))
    };
    for weight in ["{}", "[1]", "true", "\"heavy\""] {
        let error = graph(weight).unwrap_err().to_string();
        assert!(error.contains("an edge's weight is") && error.contains("should be a number"), "{weight}: {error}");
    }
    for (weight, read) in [("3", Some(3.0)), ("\"0.5\"", Some(0.5)), ("null", None)] {
        let graph = graph(weight).unwrap();
        for format in [Format::Gexf, Format::GraphMl, Format::Gml, Format::NodeLinkJson] {
            let back = format.read(&format.write(&graph)).unwrap();
            let edge = &back.edges[0];
            assert_eq!((!edge.is_unweighted).then_some(edge.weight), read, "{weight} {format:?}");
        }
    }
}

#[test]
fn errors_in_graph_files_name_their_line() {
    let mixed = "<gexf><graph><nodes><node id=\"a\"/></nodes><edges>\n<edge source=\"a\" target=\"a\" type=\"directed\"/>\n\
                 <edge source=\"a\" target=\"a\"/></edges></graph></gexf>";
    for (format, text, line, words) in [
        (Format::Gexf, mixed, 3, "some are not"),
        (Format::Csv, "source,target,type\na,b,directed\na,b,sideways\n", 3, "Directed or Undirected"),
        (Format::Gml, "graph [\n  node [\n    id 1\n", 4, "cut off"),
        (Format::Gml, "graph [\n  node [ label \"a\" ]\n]", 2, "no `id`"),
        (Format::Gml, "graph [ node [ id 1 ]\n edge [ source 1 target 2 ] ]", 2, "no such node"),
        (Format::Gml, "graph [ node [ id 1 label \"a ] ]", 1, "never ends"),
        (Format::Gml, "Creator \"me\"", 1, "graph ["),
        (
            Format::NodeLinkJson,
            "{\"nodes\": [{\"id\": 1}],\n \"links\": [{\"source\": 1, \"target\": 2}]}",
            2,
            "no such node",
        ),
        (Format::NodeLinkJson, "{\"nodes\": [{\"id\": 1},\n{\"id\": 1}], \"edges\": []}", 2, "second node `1`"),
        (Format::NodeLinkJson, "{\"nodes\": [{\"id\": 1}],\n \"links\": [{\"source\": 1}]}", 2, "no `target`"),
        (Format::NodeLinkJson, "{\"nodes\": [{\"id\": 1}", 1, "cut off"),
        (Format::NodeLinkJson, "{\"elements\": {\"nodes\": []}}", 1, "not a node-link graph"),
        (Format::NodeLinkJson, "[1, 2]", 1, "an object"),
    ] {
        let e = format.read(text).expect_err(text);
        assert_eq!(e.line, line, "{text}: {e}");
        assert!(e.to_string().contains(words), "{text}: {e}");
    }
}

#[test]
fn the_command_line_converts_measures_and_takes_direction() {
    let out = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let done = command(out.path(), ["graph"]).args(args).output().unwrap();
        (done.status.code(), stderr_of(&done))
    };
    let path = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let file = folder().join("directed.graphml").to_str().unwrap().to_owned();
    assert_eq!(run(&[&file, "--save", &path("a.json")]).0, Some(0));
    let saved = Format::NodeLinkJson.read(&fs::read_to_string(path("a.json")).unwrap()).unwrap();
    assert_eq!(saved.nodes, read("directed.graphml").nodes);
    assert_eq!(run(&[&file, "--undirected", "--threshold", "0.3", "--measures", "--save", &path("b.gml")]).0, Some(0));
    let measured = Format::Gml.read(&fs::read_to_string(path("b.gml")).unwrap()).unwrap();
    assert!(!measured.directed && measured.edges.len() == 3, "weights of 0.375, 0.5 and 0.625");
    let degrees: Vec<_> = measured.nodes.iter().map(|n| n.value("degree").unwrap()).collect();
    assert_eq!(degrees, [2.0, 0.0, 1.0, 1.0, 2.0, 0.0]);
    assert!(measured.nodes.iter().all(|n| n.value("community").is_some() && n.value("component").is_some()));
    let (code, words) = run(&[&file, "--threshold", "9", "--save", &path("c.gml")]);
    assert!(code == Some(2) && words.contains("the greatest weight is 0.625"), "{words}");
    fs::write(path("one.csv"), "source,target\na,b\n").unwrap();
    let (one, saved) = (path("one.csv"), path("one.gml"));
    let printed = command(out.path(), ["graph", &one, "--save", &saved]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&printed.stdout).trim_end(), format!("{saved} (2 nodes, 1 edge)"));
    for (args, expected, part) in [
        (vec![file.as_str(), "--measures"], 2, "cannot hold measures of nodes: choose .gexf"),
        (vec![file.as_str()], 0, "it lacks "),
    ] {
        let to = path("c.csv");
        let (code, words) = run(&[args.as_slice(), &["--save", to.as_str()]].concat());
        assert!(code == Some(expected) && words.contains(part), "{words}");
    }
    fs::write(
        path("signed.gml"),
        "graph [ node [ id 1 ] node [ id 2 ] node [ id 3 ] edge [ source 1 target 2 weight 2 ]\n\
         edge [ source 1 target 2 weight -1 ] ]",
    )
    .unwrap();
    let (signed, table, measured) = (path("signed.gml"), path("signed.csv"), path("measured.gml"));
    let printed = command(out.path(), ["graph", &signed, "--save", &table]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&printed.stdout).trim_end(), format!("{table} (2 nodes, 2 edges)"));
    assert!(stderr_of(&printed).contains("it lacks 1 node without edges: choose .gexf"), "{}", stderr_of(&printed));
    assert!(!Format::Csv.read(&fs::read_to_string(&table).unwrap()).unwrap().directed);
    let printed = command(out.path(), ["graph", &signed, "--save", &measured, "--measures"]).output().unwrap();
    let printed = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.contains("(3 nodes, 2 edges; communities (Q = "), "{printed}");
    assert!(printed.contains(") and cores of the 1 positive edge of 2)"), "{printed}");
    fs::write(path("nodes.gml"), "graph [ node [ id 1 ] ]").unwrap();
    let (code, words) = run(&[&path("nodes.gml"), "--save", &table]);
    assert!(code == Some(2) && words.contains("has no edges: choose .gexf"), "{words}");
    let (code, words) = run(&[&file, "--save", &path("c.txt")]);
    assert!(code == Some(2) && words.contains(".gml"), "{words}");
}

#[test]
fn a_separator_in_a_quoted_header_does_not_separate() {
    for table in ["source;target;\"a;b,c,d,e\"\nx;y;2\n", "source,target,\"a;b;c;d\"\nx,y,2\n", "a\"b;c;1\nc;d;2\n"] {
        let graph = Format::Csv.read(table).unwrap();
        let again = Format::Csv.read(&Format::Csv.write(&graph)).unwrap();
        assert!(graph.nodes.len() >= 2 && graph.nodes.iter().all(|node| !node.id.contains([';', ','])), "{table}");
        assert_eq!((again.nodes.len(), again.edges.len()), (graph.nodes.len(), graph.edges.len()), "{table}");
    }
}
