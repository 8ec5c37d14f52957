"""`communities.json`: graphs, the modularity of a random partition, and the best modularity that others find."""

from dataclasses import dataclass
from typing import Any

import igraph
import leidenalg
import networkx as nx
import numpy as np

GROUPS = 4  # labels of the random partition
LOUVAIN_SEEDS, LEIDEN_SEEDS = 20, 10


@dataclass
class Case:
    name: str
    graph: nx.Graph  # nodes 0 .. n - 1, every edge with a weight
    partition: list[int]


def numbered(graph: nx.Graph) -> nx.Graph:
    """Nodes become their position in the graph; edges without a weight get 1."""
    position = {node: i for i, node in enumerate(graph)}
    result = graph.__class__()
    result.add_nodes_from(range(len(graph)))
    result.add_weighted_edges_from((position[a], position[b], w) for a, b, w in graph.edges(data="weight", default=1.0))
    return result


def unweighted(graph: nx.Graph) -> nx.Graph:
    for _, _, attributes in graph.edges(data=True):
        attributes.clear()
    return graph


def directed_blocks(rng: np.random.Generator, seed: int) -> nx.DiGraph:
    """Four blocks of 30, weights 0.1 + Exp(1) to four digits; nodes in the order in which edges name them."""
    within = [[0.3 if i == j else 0.03 for j in range(4)] for i in range(4)]
    blocks = nx.stochastic_block_model([30] * 4, within, seed=seed, directed=True)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from((a, b, round(0.1 + float(rng.exponential(1)), 4)) for a, b in blocks.edges())
    return graph


def draw(rng: np.random.Generator, seed: int) -> list[Case]:
    graphs = {
        "karate_unweighted": unweighted(nx.karate_club_graph()),
        "les_miserables": nx.les_miserables_graph(),
        "sbm_5x40": nx.planted_partition_graph(5, 40, 0.25, 0.02, seed=seed),
        "er_200_0.05": nx.gnp_random_graph(200, 0.05, seed=seed),
        "ba_300_3": nx.barabasi_albert_graph(300, 3, seed=seed),
        "directed_sbm_weighted": directed_blocks(rng, seed),
    }
    return [Case(name, numbered(g), rng.integers(0, GROUPS, len(g)).tolist()) for name, g in graphs.items()]


def best_louvain(graph: nx.Graph) -> float:
    found = (nx.community.louvain_communities(graph, seed=seed) for seed in range(LOUVAIN_SEEDS))
    return max(nx.community.modularity(graph, partition) for partition in found)


def best_leiden(graph: nx.Graph) -> float:
    """Until nothing gains. `quality()` is the weighted modularity; `modularity` would leave the weights out."""
    edges = list(graph.edges(data="weight"))
    peer = igraph.Graph(n=len(graph), edges=[(a, b) for a, b, _ in edges], directed=graph.is_directed())
    weights = [w for _, _, w in edges]
    kind = leidenalg.ModularityVertexPartition
    found = (
        leidenalg.find_partition(peer, kind, weights=weights, n_iterations=-1, seed=seed)
        for seed in range(LEIDEN_SEEDS)
    )
    return max(partition.quality() for partition in found)


def describe(case: Case) -> dict[str, Any]:
    graph = case.graph
    groups = [{node for node, label in enumerate(case.partition) if label == g} for g in range(GROUPS)]
    return {
        "name": case.name,
        "directed": graph.is_directed(),
        "nodes": len(graph),
        "edges": [[a, b, float(w)] for a, b, w in graph.edges(data="weight")],
        "partition": case.partition,
        "modularity_of_partition": nx.community.modularity(graph, groups),
        "best_louvain_of_20": best_louvain(graph),
        "best_leiden_of_10": best_leiden(graph),
        "degrees": [d for _, d in (graph.in_degree() if graph.is_directed() else graph.degree())],
    }


def compute(cases: list[Case]) -> dict[str, Any]:
    return {
        "source": "networkx modularity (resolution 1; directed graphs use Leicht-Newman in/out degrees), "
        "networkx Louvain best of 20 seeds, leidenalg best of 10",
        "graphs": [describe(case) for case in cases],
    }
