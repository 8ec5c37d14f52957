"""`graph_files/`: graphs as networkx writes them, in every format that is read, and what networkx reads from them."""

import json
from pathlib import Path
from typing import Any

import networkx as nx

FORMATS = {
    "gexf": (nx.write_gexf, nx.read_gexf),
    "graphml": (nx.write_graphml_xml, nx.read_graphml),
    "gml": (nx.write_gml, nx.read_gml),
}


def graphs() -> dict[str, nx.Graph]:
    """Attributes of every type, self-loops, parallel edges, nodes that are called by numbers and by words."""
    directed = nx.DiGraph()
    for i, name in enumerate(["salt", "r\u00e4ude", 'a "quoted" & <odd> one', "d", "e", "alone"]):
        directed.add_node(name, kind="abcabc"[i], mass=0.5 * i - 0.25, count=3 * i, ripe=i % 2 == 0)
    ends = [
        ("salt", "r\u00e4ude"),
        ("r\u00e4ude", "salt"),
        ("salt", "salt"),
        ("d", "e"),
        ("e", 'a "quoted" & <odd> one'),
    ]
    for i, (a, b) in enumerate(ends):
        directed.add_edge(a, b, weight=0.125 * (i + 1), how=["raises", "lowers"][i % 2], age=i)
    undirected = nx.Graph()
    for i in range(8):
        undirected.add_node(i, part=i // 4, phase=1e-9 * i)
    for i in range(7):
        undirected.add_edge(i, i + 1 if i != 3 else i, seen=i % 3 == 0)
    multi = nx.MultiDiGraph()
    multi.add_nodes_from(range(4), colour="plain")
    for i, (a, b) in enumerate([(0, 1), (0, 1), (1, 0), (2, 2), (2, 2), (1, 3)]):
        multi.add_edge(a, b, weight=float(i + 1), note=f"n{i}")
    return {"directed": directed, "undirected": undirected, "multi": multi}


def plain(graph: nx.Graph) -> dict[str, Any]:
    """What a test compares with: everything by the nodes' names as text."""
    drop = {"id", "viz"}
    keep = lambda data: {k: v for k, v in data.items() if k not in drop}  # noqa: E731
    sizes = lambda parts: sorted((len(c) for c in parts), reverse=True)  # noqa: E731
    weak = nx.weakly_connected_components if graph.is_directed() else nx.connected_components
    return {
        "directed": graph.is_directed(),
        "nodes": [[str(n), keep(data), graph.degree(n)] for n, data in graph.nodes(data=True)],
        "edges": sorted(([str(a), str(b), keep(data)] for a, b, data in graph.edges(data=True)), key=json.dumps),
        "self_loops": nx.number_of_selfloops(graph),
        "components": sizes(weak(graph)),
        "strong": sizes(nx.strongly_connected_components(graph)) if graph.is_directed() else [],
    }


def make(out: Path) -> None:
    folder = out / "graph_files"
    folder.mkdir(parents=True, exist_ok=True)
    expected = {}
    for name, graph in graphs().items():
        for ending, (write, read) in FORMATS.items():
            file = f"{name}.{ending}"
            write(graph, folder / file)
            expected[file] = plain(read(folder / file))
        for key in ("edges", "links"):
            file = f"{name}-{key}.json"
            data = nx.node_link_data(graph, edges=key)
            (folder / file).write_text(json.dumps(data, ensure_ascii=False, indent=1))
            expected[file] = plain(nx.node_link_graph(data, edges=key))
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))
    print("graph_files/", flush=True)
