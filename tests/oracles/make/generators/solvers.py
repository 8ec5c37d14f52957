"""`solvers.json`: evaluations and end states of torchdiffeq for seven fields, in f64."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchdiffeq import odeint

TOLERANCES = [(1e-2, 1e-2), (1e-3, 1e-3), (1e-4, 1e-4), (1e-5, 1e-5), (1e-6, 1e-8), (1e-7, 1e-9)]  # rtol, atol
ADAPTIVE = ("dopri5", "adaptive_heun", "bosh3")
FIXED = ("euler", "midpoint", "rk4")
STEPS = (4, 16, 64)

Slope = Callable[[Tensor, Tensor], Tensor]


@dataclass
class Inputs:
    w1: np.ndarray  # (16, 8)
    w2: np.ndarray  # (8, 16)
    start: np.ndarray  # (8,), of mlp_tanh
    start_strong: np.ndarray  # (8,), of mlp_tanh_strong


def draw(rng: np.random.Generator) -> Inputs:
    w1, w2 = 0.8 * rng.standard_normal((16, 8)), 0.8 * rng.standard_normal((8, 16))
    return Inputs(w1, w2, rng.standard_normal(8), rng.standard_normal(8))


@dataclass
class Field:
    formula: str
    slope: Slope
    y0: list[float]
    t1: float


def fields(inputs: Inputs) -> dict[str, Field]:
    w1, w2 = torch.from_numpy(inputs.w1), torch.from_numpy(inputs.w2)

    def mlp(y: Tensor) -> Tensor:
        return w2 @ torch.tanh(w1 @ y)

    def lotka_volterra(_t: Tensor, y: Tensor) -> Tensor:
        return torch.stack((1.5 * y[0] - y[0] * y[1], -3 * y[1] + y[0] * y[1]))

    def van_der_pol(_t: Tensor, y: Tensor) -> Tensor:
        return torch.stack((y[1], 5 * (1 - y[0] ** 2) * y[1] - y[0]))

    return {
        "decay": Field("dy=-y", lambda t, y: -y, [1.0, 0.5], 1.0),
        "harmonic": Field("dy=(y1,-y0)", lambda t, y: torch.stack((y[1], -y[0])), [1.0, 0.0], 2 * math.pi),
        "time_cubic": Field("dy=(t^3, cos 5t)", lambda t, y: torch.stack((t**3, torch.cos(5 * t))), [0.0, 0.0], 2.0),
        "lotka_volterra": Field("dy=(1.5 a - a b, -3 b + a b)", lotka_volterra, [1.0, 1.0], 10.0),
        "van_der_pol_5": Field("dy=(y1, 5(1-y0^2) y1 - y0)", van_der_pol, [2.0, 0.0], 15.0),
        "mlp_tanh": Field("dy=W2 tanh(W1 y)", lambda t, y: mlp(y), inputs.start.tolist(), 1.0),
        "mlp_tanh_strong": Field(
            "dy=4 W2 tanh(W1 y) + sin(7t) (added to every component)",
            lambda t, y: 4 * mlp(y) + torch.sin(7 * t),
            inputs.start_strong.tolist(),
            1.0,
        ),
    }


def solve(field: Field, method: str, **options: Any) -> dict[str, Any]:
    evaluations = 0

    def counted(t: Tensor, y: Tensor) -> Tensor:
        nonlocal evaluations
        evaluations += 1
        return field.slope(t, y)

    y0 = torch.tensor(field.y0, dtype=torch.float64)
    times = torch.tensor([0.0, field.t1], dtype=torch.float64)
    end = odeint(counted, y0, times, method=method, **options)[-1]
    return {"nfe": evaluations, "y1": end.tolist()}


def cases(name: str, field: Field) -> list[dict[str, Any]]:
    problem = {"field": name, "y0": field.y0, "t1": field.t1}
    found = []
    for method in ADAPTIVE:
        for rtol, atol in TOLERANCES:
            case = problem | {"method": method, "rtol": rtol, "atol": atol}
            found.append(case | solve(field, method, rtol=rtol, atol=atol))
    for method in FIXED:
        for steps in STEPS:
            solved = solve(field, method, options={"step_size": field.t1 / steps})
            found.append(problem | {"method": method, "steps": steps} | solved)
    return found


def compute(inputs: Inputs) -> dict[str, Any]:
    """A fixed step that is too long for its field ends in NaN, which Python writes as such."""
    known = fields(inputs)
    return {
        "source": "torchdiffeq 0.2.5, float64; rk4 is torchdiffeq's rk4 (the 3/8 rule)",
        "mlp_w1": inputs.w1.tolist(),
        "mlp_w2": inputs.w2.tolist(),
        "fields": {name: field.formula for name, field in known.items()},
        "cases": [case for name, field in known.items() for case in cases(name, field)],
    }
