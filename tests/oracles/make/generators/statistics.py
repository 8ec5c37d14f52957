"""`statistics.json`: tests, spectra, fits and linear algebra, by scipy and numpy in f64."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, special, stats

# sizes of both samples, shift of the first, whether both are rounded (which makes ties)
SAMPLES = [(50, 50, 0.9, False), (50, 50, 0.0, False), (12, 9, 0.6, True), (200, 150, 0.3, True), (3, 4, 2.0, False)]
MATRICES = [(6, 6), (12, 12), (20, 8)]
WILSON = [(48, 50), (0, 10), (10, 10), (300, 1000)]  # successes, trials
RIDGE = 0.01
STATES = 12


@dataclass
class Inputs:
    samples: list[tuple[np.ndarray, np.ndarray]]
    matrices: list[np.ndarray]  # rows sum to one
    zipf: np.ndarray  # (3000,)
    x: np.ndarray  # (60, 7)
    y: np.ndarray  # (60, 4), one-hot
    rates: np.ndarray  # (12, 12), the diagonal is not used


def draw(rng: np.random.Generator) -> Inputs:
    samples = []
    for n, m, shift, rounded in SAMPLES:
        a, b = rng.standard_normal(n) + shift, rng.standard_normal(m)
        samples.append((np.round(a), np.round(b)) if rounded else (a, b))
    positive = [np.abs(rng.standard_normal(shape)) for shape in MATRICES]
    return Inputs(
        samples,
        [m / m.sum(axis=1, keepdims=True) for m in positive],
        rng.zipf(2.5, 3000),
        rng.standard_normal((60, 7)),
        np.eye(4)[rng.integers(0, 4, 60)],
        np.abs(rng.standard_normal((STATES, STATES))),
    )


def mann_whitney(a: np.ndarray, b: np.ndarray) -> dict[str, Any]:
    greater = stats.mannwhitneyu(a, b, alternative="greater", method="asymptotic")
    two_sided = stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic")
    return {
        "a": a.tolist(),
        "b": b.tolist(),
        "u": float(greater.statistic),
        "p_greater_asymptotic": float(greater.pvalue),
        "p_two_sided_asymptotic": float(two_sided.pvalue),
        "rank_biserial": float(2 * greater.statistic / (len(a) * len(b)) - 1),
    }


def spectrum(matrix: np.ndarray) -> dict[str, Any]:
    values = np.linalg.svd(matrix, compute_uv=False)
    return {
        "matrix": matrix.tolist(),
        "singular_values": values.tolist(),
        "effective_rank": float(values.sum() ** 2 / (values**2).sum()),
        "top1_ratio": float(values[0] / values.sum()),
        "mean_row_entropy_nats": float(special.entr(matrix).sum(axis=1).mean()),
    }


def power_law_exponent(sample: np.ndarray) -> float:
    """The discrete maximum-likelihood exponent from 1 on: minimises n ln zeta(alpha) + alpha sum ln k."""
    logs = np.log(sample).mean()
    found = optimize.minimize_scalar(
        lambda alpha: np.log(special.zeta(alpha)) + alpha * logs, bounds=(1.01, 10), options={"xatol": 1e-12}
    )
    return float(found.x)


def wilson(successes: int, trials: int) -> dict[str, Any]:
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    return {"k": successes, "n": trials, "interval95": [float(interval.low), float(interval.high)]}


def ridge(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    weights = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ y)
    note = "no intercept; (X'X + lam I)^-1 X'Y"
    return {"x": x.tolist(), "y": y.tolist(), "lam": RIDGE, "weights": weights.tolist(), "note": note}


def generator(rates: np.ndarray) -> dict[str, Any]:
    """A continuous-time Markov chain and its stationary distribution, the null vector by SVD."""
    matrix = rates - np.diag(np.diag(rates))
    matrix -= np.diag(matrix.sum(axis=0))
    null = np.linalg.svd(matrix)[2][-1]
    eigenvalues = np.linalg.eigvals(matrix)
    slowest_first = np.lexsort((eigenvalues.imag, -eigenvalues.real.round(9)))
    eigenvalues = eigenvalues[slowest_first]
    return {
        "matrix": matrix.tolist(),
        "stationary": (null / null.sum()).tolist(),
        "eigenvalues_real": eigenvalues.real.tolist(),
        "eigenvalues_imag": eigenvalues.imag.tolist(),
        "note": "column sums zero, off-diagonals >= 0; A p = 0",
    }


def compute(inputs: Inputs) -> dict[str, Any]:
    return {
        "source": "scipy / numpy float64",
        "mann_whitney": [mann_whitney(a, b) for a, b in inputs.samples],
        "matrices": [spectrum(matrix) for matrix in inputs.matrices],
        "zipf_sample": inputs.zipf.tolist(),
        "zipf_mle_alpha_xmin1": power_law_exponent(inputs.zipf),
        "wilson": [wilson(k, n) for k, n in WILSON],
        "ridge": ridge(inputs.x, inputs.y),
        "generator": generator(inputs.rates),
    }
