"""`directed_blocks.json`: small directed weighted graphs with planted blocks, and the best modularity of ten runs
of Leiden."""

from typing import Any

import igraph
import leidenalg
import numpy as np

# nodes, blocks, probability of an arc inside a block and between blocks
SIZES = [
    (60, 4, 0.2, 0.06),
    (90, 5, 0.15, 0.05),
    (120, 6, 0.12, 0.04),
    (150, 5, 0.08, 0.03),
    (200, 8, 0.08, 0.02),
    (120, 4, 0.10, 0.05),
    (200, 10, 0.10, 0.02),
]


def make(seed: int = 11) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"graphs": [graph(rng, *size) for size in SIZES]}


def graph(rng: np.random.Generator, n: int, blocks: int, inside: float, between: float) -> dict[str, Any]:
    block = rng.integers(0, blocks, n)
    arcs = rng.random((n, n)) < np.where(block[:, None] == block[None, :], inside, between)
    np.fill_diagonal(arcs, False)
    ends = np.argwhere(arcs)
    weights = np.round(rng.lognormal(0, 0.8, len(ends)), 4).tolist()
    found = igraph.Graph(n=n, edges=ends.tolist(), directed=True)
    runs = []
    for run in range(10):
        parts = leidenalg.find_partition(
            found, leidenalg.ModularityVertexPartition, weights=weights, seed=run, n_iterations=2
        )
        runs.append(found.modularity(parts.membership, weights=weights, directed=True))
    edges = [[int(a), int(b), w] for (a, b), w in zip(ends, weights, strict=True)]
    return {"nodes": n, "edges": edges, "leiden": max(runs)}
