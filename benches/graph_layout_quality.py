"""How well a layout shows a graph, Orrery's against networkx's, on the same graph.

    python benches/graph_layout_quality.py target/release/orrery

Needs networkx, numpy and scipy. The graph is made here (communities, hubs), written as a table of
edges and laid out by `orrery graph EDGES --layout OUT`, by networkx.spring_layout with its usual
50 iterations and with 300, and by networkx.forceatlas2_layout. Three numbers for each:

- stress: sum over pairs of (s |x_i - x_j| - d_ij)^2 / d_ij^2, divided by the number of pairs, d the
  length of the shortest path and s the best scale. Less is better.
- neighbours: of each node with k neighbours, its k nearest in the picture; size of what both sets share
  over what either has (Jaccard), mean over nodes. More is better.
- community: of the ten nearest in the picture, the share of the node's own community. More is better.

What Orrery writes is read by networkx.read_gexf and read_graphml, so that is tried as well.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path


def planted(n, groups, edges, inside, seed):
    r = np.random.default_rng(seed)
    group = r.integers(0, groups, n)
    p = (np.arange(1, n + 1) ** -0.7)[r.permutation(n)]
    p /= p.sum()
    members = [np.where(group == g)[0] for g in range(groups)]
    chance = [p[m] / p[m].sum() for m in members]
    found = set()
    while len(found) < edges:
        a = r.choice(n, p=p)
        near = r.random() < inside
        b = r.choice(members[group[a]], p=chance[group[a]]) if near else r.choice(n, p=p)
        if a != b:
            found.add((min(a, b), max(a, b)))
    return group, np.array(sorted(found))


def measures(n, edges, group, x):
    a = np.zeros((n, n), bool)
    a[edges[:, 0], edges[:, 1]] = True
    a |= a.T
    d = shortest_path(sp.csr_matrix(a), unweighted=True)
    far = np.linalg.norm(x[:, None] - x[None], axis=-1)
    pairs = np.triu_indices(n, 1)
    dg, dl = d[pairs], far[pairs]
    dg, dl = dg[np.isfinite(dg)], dl[np.isfinite(dg)]
    w = dg**-2.0
    scale = (w * dg * dl).sum() / (w * dl * dl).sum()
    stress = (w * (scale * dl - dg) ** 2).mean()
    np.fill_diagonal(far, np.inf)
    order = np.argsort(far, 1)
    shared, own = [], []
    for i in range(n):
        k = a[i].sum()
        own.append((group[order[i, :10]] == group[i]).mean())
        if k:
            hits = a[i, order[i, :k]].sum()
            shared.append(hits / (2 * k - hits))
    return stress, np.mean(shared), np.mean(own)


def orrery(program, n, edges, folder):
    table = folder / "edges.csv"
    # Nodes are numbered in the order in which they come; every one is named by an edge.
    table.write_text("source,target,weight\n" + "".join(f"{a},{b},1\n" for a, b in edges))
    subprocess.run([program, "graph", table, "--layout", folder / "out.gexf"], check=True)
    subprocess.run([program, "graph", table, "--layout", folder / "out.graphml"], check=True)
    graph = nx.read_gexf(folder / "out.gexf")
    other = nx.read_graphml(folder / "out.graphml")
    assert set(graph) == set(other) and graph.number_of_edges() == other.number_of_edges() == len(edges)
    x = np.zeros((n, 2))
    for node, data in graph.nodes(data=True):
        place = data["viz"]["position"]
        x[int(node)] = place["x"], place["y"]
        assert abs(other.nodes[node]["x"] - place["x"]) < 1e-9
    return x


def layouts(program, n, edges, folder):
    """Each layout by its name, as a function that gives positions, (n, 2)."""
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(map(tuple, edges))

    def as_array(positions):
        return np.array([positions[i] for i in range(n)])

    return {
        "orrery": lambda: orrery(program, n, edges, folder),
        "spring_layout, 50": lambda: as_array(nx.spring_layout(graph, seed=1)),
        "spring_layout, 300": lambda: as_array(nx.spring_layout(graph, seed=1, iterations=300)),
        "forceatlas2_layout": lambda: as_array(nx.forceatlas2_layout(graph, seed=1, max_iter=300)),
    }


def main():
    program = sys.argv[1]
    for n, groups, m, inside in [(800, 8, 6000, 0.75), (1000, 12, 10000, 0.6)]:
        group, edges = planted(n, groups, m, inside, 1)
        used = np.unique(edges)
        renumber = np.full(n, -1)
        renumber[used] = np.arange(len(used))
        group, edges, n = group[used], renumber[edges], len(used)
        print(f"{n} nodes, {len(edges)} edges, {groups} communities, {inside:.0%} of edges inside", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            for name, make in layouts(program, n, edges, Path(folder)).items():
                begun = time.time()
                x = make()
                secs = time.time() - begun
                stress, shared, own = measures(n, edges, group, x)
                figures = f"stress {stress:.3f}  neighbours {shared:.3f}  community {own:.3f}  {secs:.1f} s"
                print(f"  {name:<20} {figures}", flush=True)


if __name__ == "__main__":
    main()
