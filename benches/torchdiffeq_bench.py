"""torchdiffeq on the cases of `orrery-bench --solvers`: the same fields, weights, states and tolerances.

Reads names of cases, one a line; answers each with one line of JSON: {"ms", "nfe", "end"} of one solve
(`end` is the mean of the end state).
"""

import argparse
import json
import math
import sys
import time

import torch
import torch.nn.functional as F
from torchdiffeq import odeint


def weight(rows, columns, seed, dtype):
    """sin(0.7 k + seed) / sqrt(columns), row by row: the formula that the other side uses."""
    k = torch.arange(rows * columns, dtype=torch.float64)
    return (torch.sin(0.7 * k + seed) / math.sqrt(columns)).reshape(rows, columns).to(dtype)


def van_der_pol(counted):
    def field(t, y):
        counted[0] += 1
        a, b = y[0], y[1]
        return torch.stack((b, 5 * (1 - a * a) * b - a))

    return field, torch.tensor([2.0, 0.0], dtype=torch.float64)


def mlp(rows, width, hidden):
    def make(counted):
        up, down = weight(hidden, width, 1.0, torch.float32), 3 * weight(width, hidden, 2.0, torch.float32)

        def field(t, y):
            counted[0] += 1
            return F.linear(F.silu(F.linear(y, up)), down)

        return field, 2 * weight(rows, width, 3.0, torch.float32)

    return make


FIELDS = {
    "van_der_pol": (van_der_pol, 15.0),
    "mlp_64x64": (mlp(64, 64, 128), 2.0),
    "mlp_1024x128": (mlp(1024, 128, 512), 2.0),
}


def solve(case):
    name, method, setting = case.split(":")
    make, t1 = FIELDS[name]
    counted = [0]
    field, y0 = make(counted)
    t = torch.tensor([0.0, t1], dtype=torch.float64)
    if method in ("euler", "midpoint", "rk4"):
        options = dict(method=method, options={"step_size": t1 / int(setting)})
    else:
        options = dict(method=method, rtol=float(setting), atol=float(setting))
    began = time.perf_counter()
    with torch.no_grad():
        end = odeint(field, y0, t, **options)[-1]
    ms = (time.perf_counter() - began) * 1e3
    return {"ms": ms, "nfe": counted[0], "end": end.double().mean().item()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--threads", type=int, default=0)
    a = ap.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    for line in sys.stdin:
        print(json.dumps(solve(line.strip())), flush=True)


if __name__ == "__main__":
    main()
