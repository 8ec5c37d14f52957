"""`layers.json`: a bidirectional GRU, six clipped AdamW steps and activations, all in f64."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

HYPERPARAMETERS = {"lr": 3e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
CLIP_NORM = 1.0
STEPS = 6


def gru() -> dict[str, Any]:
    """Two sequences of seven vectors of five numbers; six hidden units per direction."""
    layer = nn.GRU(5, 6, batch_first=True, bidirectional=True).double()
    x = torch.randn(2, 7, 5, dtype=torch.float64)
    with torch.no_grad():
        y, h = layer(x)
    weights = {name: weight.tolist() for name, weight in layer.named_parameters()}
    return {"weights": weights, "x": x.tolist(), "y": y.tolist(), "h": h.tolist()}


def adamw() -> dict[str, Any]:
    """The way of 4 x 3 weights towards a target; `grad_norm` is that before clipping, `p` after the step."""
    start, target = torch.randn(4, 3).double(), torch.randn(4, 3).double()
    p = nn.Parameter(start.clone())
    optimizer = torch.optim.AdamW([p], **HYPERPARAMETERS)
    steps = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        (p - target).pow(2).sum().backward()
        norm = nn.utils.clip_grad_norm_([p], CLIP_NORM)
        optimizer.step()
        steps.append({"grad_norm": norm.item(), "p": p.tolist()})
    start_and_target = {"start": start.tolist(), "target": target.tolist()}
    loss = {"loss": "sum (p-target)^2"}
    return HYPERPARAMETERS | {"clip_norm": CLIP_NORM} | start_and_target | loss | {"steps": steps}


def zclip() -> dict[str, Any]:
    """As `adamw`, with gradients that grow tenfold now and then, clipped by ZClip (arXiv 2504.02507); linear decay of
    the learning rate to a tenth after a warm-up. `limit` is null where nothing was clipped."""
    start, target = torch.randn(4, 3).double(), torch.randn(4, 3).double()
    p = nn.Parameter(start.clone())
    optimizer = torch.optim.AdamW([p], **HYPERPARAMETERS)
    total, warmup, peak = 80, 10, 2e-2
    growth = (1 + 0.2 * torch.rand(total, dtype=torch.float64)).tolist()
    for spike in (8, 40, 41, 60):  # the first while norms are collected
        growth[spike] *= 10
    norms: list[float] = []
    mean = variance = 0.0
    steps = []
    for i, factor in enumerate(growth):
        rate = peak * (i + 1) / warmup if i < warmup else peak * (1 - 0.9 * (i + 1 - warmup) / (total - warmup))
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        (factor * (p - target).sum()).backward()
        norm = p.grad.norm().item()
        limit = None
        if len(norms) < 25:
            norms.append(norm)
            if len(norms) == 25:
                mean = sum(norms) / 25
                variance = sum((n - mean) ** 2 for n in norms) / 25
        else:
            z = (norm - mean) / (variance**0.5 + 1e-6)
            if z > 2.5:
                limit = mean + 2.5 * variance**0.5 / (z / 2.5)
            counted = norm if limit is None else limit
            mean = 0.97 * mean + 0.03 * counted
            variance = 0.97 * variance + 0.03 * (counted - mean) ** 2
        if limit is not None:
            nn.utils.clip_grad_norm_([p], limit)
        optimizer.step()
        steps.append({"factor": factor, "lr": rate, "limit": limit, "p": p.tolist()})
    start_and_target = {"start": start.tolist(), "target": target.tolist()}
    schedule = {"total": total, "warmup": warmup, "peak": peak}
    return HYPERPARAMETERS | schedule | start_and_target | {"loss": "factor sum (p-target)", "steps": steps}


def activations() -> dict[str, list[float]]:
    x = torch.linspace(-4, 4, 33, dtype=torch.float64)
    values = {"x": x, "gelu_erf": F.gelu(x), "gelu_tanh": F.gelu(x, approximate="tanh"), "silu": F.silu(x)}
    return {name: value.tolist() for name, value in values.items()}


def make(seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    return {"source": "torch float64", "gru": gru(), "adamw": adamw(), "activations": activations(), "zclip": zclip()}
