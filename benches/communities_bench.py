"""leidenalg, igraph and networkx on the graphs of `orrery-bench --communities`.

Reads lines "method seed nodes path-of-edges"; answers each with one line of JSON: {"ms", "q"} of one
search. Reading the file and building the library's graph is not timed.
"""

import argparse
import functools
import json
import sys
import time

import igraph
import leidenalg
import networkx


@functools.cache
def edges(path):
    with open(path) as file:
        return [tuple(map(int, line.split())) for line in file]


@functools.lru_cache(maxsize=2)
def built(kind, nodes, path):
    if kind == "networkx":
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(nodes))
        graph.add_edges_from(edges(path))
        return graph
    return igraph.Graph(n=nodes, edges=edges(path), directed=kind == "leidenalg")


def search(method, seed, graph):
    """(seconds, Q) of one search."""
    began = time.perf_counter()
    if method == "leidenalg":
        found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, n_iterations=2, seed=seed)
        return time.perf_counter() - began, found.modularity
    if method == "igraph":  # draws from the random module
        found = graph.community_leiden(objective_function="modularity", n_iterations=2)
        return time.perf_counter() - began, graph.modularity(found.membership)
    found = networkx.community.louvain_communities(graph, seed=seed)
    taken = time.perf_counter() - began
    return taken, networkx.community.modularity(graph, found)


def main():
    ap = argparse.ArgumentParser()
    # the same arguments as the other peers; none of the three searches uses threads
    ap.add_argument("--threads", type=int, default=0)
    ap.parse_args()
    for line in sys.stdin:
        method, seed, nodes, path = line.strip().split(" ", 3)
        taken, q = search(method, int(seed), built(method, int(nodes), path))
        print(json.dumps({"ms": taken * 1e3, "q": q}), flush=True)


if __name__ == "__main__":
    main()
