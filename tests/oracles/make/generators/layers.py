"""`layers.json`: a bidirectional GRU, six clipped AdamW steps and activations, all in f64."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

HYPERPARAMETERS = {"lr": 3e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
CLIP_NORM = 1.0
STEPS = 6


def gru() -> dict[str, Any]:
    """Two sequences of seven vectors of five numbers; six hidden units a direction."""
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


def activations() -> dict[str, list[float]]:
    x = torch.linspace(-4, 4, 33, dtype=torch.float64)
    values = {"x": x, "gelu_erf": F.gelu(x), "gelu_tanh": F.gelu(x, approximate="tanh"), "silu": F.silu(x)}
    return {name: value.tolist() for name, value in values.items()}


def make(seed: int) -> dict[str, Any]:
    torch.manual_seed(seed)
    return {"source": "torch float64", "gru": gru(), "adamw": adamw(), "activations": activations()}
