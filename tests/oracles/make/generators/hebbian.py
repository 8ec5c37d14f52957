"""`hebbian.json`: four Hebbian rules for the feedforward weights of a sparse network, in numpy with 64 bits.

Each has its weights `(units, inputs)` at the start, a row of sparse inputs and states, and its weights after all of
them. The rules are written out by their sums, not as the program computes them.
"""

from typing import Any

import numpy as np

UNITS, INPUTS, ON, WORDS = 11, 7, 4, 30
RATE, DECAY, FOLLOW, THRESHOLD = 0.05, 0.01, 0.01, 1.0


def sanger(w: np.ndarray, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """W + eta (y z^T - lower(y y^T) W), where lower keeps the diagonal and what is below it."""
    return w + RATE * (np.outer(y, z) - np.tril(np.outer(y, y)) @ w)


def foldiak(w: np.ndarray, a: np.ndarray, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    on = (y > 0).astype(float)
    a = np.minimum(a - RATE * (np.outer(on, on) - (ON / UNITS) ** 2), 0)
    np.fill_diagonal(a, 0)
    return w + RATE * on[:, None] * (z[None, :] - w), a


def surprise(w: np.ndarray, mean: float, z: np.ndarray, r: np.ndarray, pi: np.ndarray) -> tuple[np.ndarray, float]:
    found = float(pi @ r**2)
    if found > mean:
        w = (1 - DECAY) * w + RATE * np.outer(pi * (pi * r), z)
    return w, mean + FOLLOW * (found - mean)


def forward_forward(w: np.ndarray, z: np.ndarray, u: np.ndarray, sign: float) -> np.ndarray:
    """The gradient of log sigmoid(sign (G - theta)) with G = sum u^2 and u = W z; the 2 is left to eta."""
    goodness = float(u @ u)
    return w + RATE * sign / (1 + np.exp(sign * (goodness - THRESHOLD))) * np.outer(u, z)


def make(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    z = rng.random((WORDS, INPUTS)) * (rng.random((WORDS, INPUTS)) < 0.5)
    y = rng.random((WORDS, UNITS)) + 0.1
    for row in y:
        row[np.argsort(row)[:-ON]] = 0
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    lengths = 0.3 + 1.5 * rng.random(WORDS)
    errors = rng.normal(0, 0.3, (WORDS, UNITS)) * np.linspace(0.2, 1.5, WORDS)[:, None]
    precision = rng.uniform(0.1, 10, (WORDS, UNITS))
    signs = np.where(np.arange(WORDS) % 2 == 0, 1.0, -1.0)
    start = rng.normal(0, INPUTS**-0.5, (UNITS, INPUTS))
    w = {name: start.copy() for name in ("sanger", "foldiak", "surprise", "forward_forward")}
    inhibition, mean, gates = np.zeros((UNITS, UNITS)), 0.4, []
    for t in range(WORDS):
        w["sanger"] = sanger(w["sanger"], z[t], y[t])
        w["foldiak"], inhibition = foldiak(w["foldiak"], inhibition, z[t], y[t])
        gates.append(bool(precision[t] @ errors[t] ** 2 > mean))
        w["surprise"], mean = surprise(w["surprise"], mean, z[t], errors[t], precision[t])
        w["forward_forward"] = forward_forward(w["forward_forward"], z[t], lengths[t] * y[t], signs[t])
    singular = {name: np.linalg.svd(value, compute_uv=False) for name, value in w.items()}
    shares = {name: s / s.sum() for name, s in singular.items()}
    return {
        "source": "numpy float64",
        "sizes": {"units": UNITS, "inputs": INPUTS, "active": ON},
        "rate": RATE,
        "decay": DECAY,
        "surprise_start": 0.4,
        "start": start.tolist(),
        "inputs": z.tolist(),
        "states": y.tolist(),
        "lengths": lengths.tolist(),
        "errors": errors.tolist(),
        "precision": precision.tolist(),
        "signs": signs.tolist(),
        "weights": {name: value.tolist() for name, value in w.items()},
        "inhibition": inhibition.tolist(),
        "surprise": mean,
        "gates_open": sum(gates),
        "ranks": {name: float(np.exp(-(p * np.log(p)).sum())) for name, p in shares.items()},
    }
