"""`bdh_theory.json`: claims of the BDH paper's theory on small matrices, in numpy with 64 bits.

The formulas are written with whole matrices, as in the paper, not as the program computes them.
"""

from typing import Any

import numpy as np

NODES, SUCCESSORS, RANK, BIAS = 13, 3, 6, 0.07
FACTS, KEY, VALUE = 9, 11, 5
NEURONS, WIDTH, TOKENS, EDGES = 10, 3, 7, 45


def markov(rng: np.random.Generator) -> dict[str, Any]:
    """Claim 5: G = G' P P^T, its error and that of its ReLU in the L1 norm, from every node."""
    successors = [rng.choice(NODES, SUCCESSORS, replace=False) for _ in range(NODES)]
    p = rng.normal(0, RANK**-0.5, (NODES, RANK))
    g = np.zeros((NODES, NODES))
    for i, following in enumerate(successors):
        g[following, i] = 1 / SUCCESSORS
    low = g @ p @ p.T
    maps = {"linear": low, "relu": np.maximum(low, 0), "biased": np.maximum(low - BIAS, 0)}
    return {
        "successors": [following.tolist() for following in successors],
        "p": p.ravel().tolist(),
        "bias": BIAS,
        **{name: np.abs(found - g).sum(axis=0).tolist() for name, found in maps.items()},
    }


def capacity(rng: np.random.Generator) -> dict[str, Any]:
    """Claims 7 and 8: equation (17) with t keys, none of which is the query."""
    keys, values = rng.normal(0, 1, (FACTS, KEY)), rng.normal(0, 1, (FACTS, VALUE))
    query = rng.normal(0, 1, KEY)
    answers = [values[:t].T @ keys[:t] @ query for t in range(1, FACTS + 1)]
    return {
        "keys": keys.ravel().tolist(),
        "values": values.ravel().tolist(),
        "query": query.tolist(),
        "errors": [float(np.linalg.norm(answer)) for answer in answers],
    }


def near_distributions() -> list[dict[str, float]]:
    """Observation 8: the two distributions written out."""
    found = []
    for n, alpha in [(5, 0.2), (50, 0.3), (400, 0.1)]:
        first = np.full(n, (1 - alpha) / (n - 1))
        second = first.copy()
        first[0], second[1] = alpha, alpha
        distance = float(np.abs(first - second).sum() / 2)
        found.append(
            {"n": n, "alpha": alpha, "distance": distance, "apart": float(1 - first @ second / (first @ first))}
        )
    return found


def sparse_state(rng: np.random.Generator) -> dict[str, Any]:
    """Claim 9: E sigma x of the whole state, against sigma on some edges, scaled by what they leave out."""
    x, y = (np.maximum(rng.normal(0, 1, (TOKENS, NEURONS)), 0) for _ in range(2))
    encoder = rng.normal(0, 1, (WIDTH, NEURONS))
    chosen = rng.choice(NEURONS**2, EDGES, replace=False)
    graph = np.zeros(NEURONS**2)
    graph[chosen] = NEURONS**2 / EDGES
    graph = graph.reshape(NEURONS, NEURONS)
    errors = []
    for t in range(1, TOKENS + 1):
        sigma = y[:t].T @ x[:t]
        exact = encoder @ sigma @ x[t - 1]
        errors.append(float(np.linalg.norm(encoder @ (sigma * graph) @ x[t - 1] - exact) / np.linalg.norm(exact)))
    return {
        "x": x.ravel().tolist(),
        "y": y.ravel().tolist(),
        "encoder": encoder.ravel().tolist(),
        "neurons": NEURONS,
        "edges": [[int(k) // NEURONS, int(k) % NEURONS] for k in chosen],
        "errors": errors,
    }


def kernel(rng: np.random.Generator) -> dict[str, Any]:
    """Equation (3) with a full tensor of rates, three steps."""
    species = 5
    rates = rng.random((species, species, species)) * (rng.random((species, species, species)) < 0.3)
    decay, q = rng.random(species), rng.random(species)
    states = [q]
    for _ in range(3):
        states.append((1 - decay) * states[-1] + np.einsum("ijk,i,j->k", rates, states[-1], states[-1]))
    rules = [[int(i), int(j), int(k), float(rates[i, j, k])] for i, j, k in np.argwhere(rates > 0)]
    return {"rules": rules, "decay": decay.tolist(), "states": [state.tolist() for state in states]}


def rounds(rng: np.random.Generator) -> dict[str, Any]:
    """Table 1 (b) with whole matrices: G(i, j) leads from j to i."""
    n = 9

    def graph() -> np.ndarray:
        return rng.random((n, n)) * (rng.random((n, n)) < 0.4) / n

    synapses, sigma, wires, prods = graph(), rng.random((n, n)) / n, [graph(), graph()], [graph(), graph()]
    x, y = rng.random(n), rng.random(n)
    sigma = sigma * (synapses > 0)
    a = sigma @ x
    y_next = np.maximum((prods[0] - prods[1]) @ a, 0) * x
    x_next = x + np.maximum((wires[0] - wires[1]) @ y_next, 0)
    sigma_next = sigma + synapses * np.outer(y, x)
    places = np.argwhere(synapses > 0)

    def links(matrix: np.ndarray) -> list[list[float]]:
        return [[float(j), float(i), float(matrix[i, j])] for i, j in np.argwhere(matrix > 0)]

    return {
        "n": n,
        "synapses": [[float(j), float(i), float(synapses[i, j])] for i, j in places],
        "sigma": [float(sigma[i, j]) for i, j in places],
        "wires": [links(part) for part in wires],
        "prods": [links(part) for part in prods],
        "x": x.tolist(),
        "y": y.tolist(),
        "a": a.tolist(),
        "sigma_next": [float(sigma_next[i, j]) for i, j in places],
        "y_next": y_next.tolist(),
        "x_next": x_next.tolist(),
    }


def pair_gains(rng: np.random.Generator) -> dict[str, Any]:
    """Section 5.4: f(z + v + w) - f(z + v) - f(z + w) + f(z) of each node and the next; D E z = -bias everywhere."""
    successors = [rng.choice(NODES, SUCCESSORS, replace=False) for _ in range(NODES)]
    p = rng.normal(0, RANK**-0.5, (NODES, RANK))
    g = np.zeros((NODES, NODES))
    for i, following in enumerate(successors):
        g[following, i] = 1 / SUCCESSORS
    bias = 1.5 / SUCCESSORS

    def f(v: np.ndarray) -> np.ndarray:
        return np.maximum(g @ p @ p.T @ v - bias, 0)

    nodes, nothing = np.eye(NODES), np.zeros(NODES)
    gains = [f(v + w) - f(v) - f(w) + f(nothing) for v, w in zip(nodes, np.roll(nodes, -1, axis=0), strict=True)]
    return {
        "successors": [following.tolist() for following in successors],
        "p": p.ravel().tolist(),
        "bias": bias,
        "gains": np.concatenate(gains).tolist(),
    }


def make(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "source": "numpy float64",
        "markov": markov(rng),
        "capacity": capacity(rng),
        "near_distributions": near_distributions(),
        "sparse_state": sparse_state(rng),
        "kernel": kernel(rng),
        "rounds": rounds(rng),
        "pair_gains": pair_gains(rng),
    }
