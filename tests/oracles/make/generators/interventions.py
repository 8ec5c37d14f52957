"""`bdh_interventions.safetensors`: logits of the model of `bdh` while neurons or synapses are silenced, scaled or held.

Written from the equations alone: a neuron's activation is set in place; a synapse (layer, i, j) is what neuron i
of y wrote into the values that attention read through neuron j of x, the norms of every token given.
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor

from families.bdh import Bdh, layer_norm
from generators.models import ORACLES, drawn

EPS = 1e-5

# neurons and synapses are numbered over all heads: neuron k of head h is h N + k
CASES = [
    {"neurons": [3], "part": "x", "layer": None, "scale": 0.0, "value": 0.0},
    {"neurons": [3, 130, 255], "part": "x", "layer": 1, "scale": 2.5, "value": 0.0},
    {"neurons": [64, 65], "part": "x", "layer": None, "scale": 0.0, "value": 0.7},
    {"neurons": [3], "part": "y", "layer": None, "scale": 0.0, "value": 0.0},
    {"neurons": [200, 7], "part": "y", "layer": 0, "scale": -1.5, "value": 0.0},
    {"neurons": [128], "part": "y", "layer": 2, "scale": 0.0, "value": 0.4},
    {"neurons": list(range(0, 256, 3)), "part": "x", "layer": None, "scale": 0.0, "value": 0.0},
    {"synapses": "strongest", "count": 1, "layer": 1, "scale": 0.0, "value": 0.0},
    {"synapses": "strongest", "count": 1, "layer": 2, "scale": 40.0, "value": 0.0},
    {"synapses": "strongest", "count": 12, "layer": 1, "scale": 0.0, "value": 0.0},
    {"synapses": "strongest", "count": 3, "layer": 2, "scale": 0.0, "value": 25.0},
    {"synapses": [[1, 5, 130], [2, 200, 17], [1, 5, 131]], "scale": -30.0, "value": 0.0},
]


def deviation(z: Tensor) -> Tensor:
    return (z.var(-1, unbiased=False, keepdim=True) + EPS).sqrt()


def strongest(model: Bdh, tokens: Tensor, layer: int, count: int) -> list[list[int]]:
    """Pairs (i, j) with the greatest sum of y(i) x(j) over the tokens of all sequences."""
    _, xs, ys = model.activity(tokens)
    flat = [t.transpose(1, 2).flatten(2).flatten(0, 1) for t in (ys[layer - 1], xs[layer])]  # (B T, n)
    sigma = flat[0].T @ flat[1]
    best = sigma.flatten().topk(count).indices
    return [[layer, int(k) // sigma.shape[1], int(k) % sigma.shape[1]] for k in best]


def changed(model: Bdh, tokens: Tensor, case: dict) -> Tensor:
    """Logits (B, T, V) under one case."""
    per_head = model.encoder.shape[2]

    def activation(kind: str, layer: int, a: Tensor) -> Tensor:
        if case.get("part") == kind and case["layer"] in (None, layer):
            a = a.clone()
            for k in case["neurons"]:
                a[:, k // per_head, :, k % per_head] *= case["scale"]
                a[:, k // per_head, :, k % per_head] += case["value"]
        return a

    v, y, read, inner = layer_norm(model.embed(tokens))[:, None], None, None, None
    time = tokens.shape[1]
    past = torch.ones(time, time).tril(-1)
    for layer in range(model.layers):
        x = activation("x", layer, F.relu(v @ model.encoder))
        turned = model.rotate(x)
        a = (turned @ turned.mT).tril(-1) @ v
        for end, i, j in case.get("synapses", []):
            if end != layer:
                continue
            head, within = j // per_head, j % per_head
            # a query of neuron j alone at every token, against every key before it
            alone = torch.zeros_like(x)
            alone[:, head, :, within] = 1.0
            keys = (model.rotate(alone)[:, head] @ turned[:, head].mT) * past  # (B, T, T)
            wrote = y[:, i // per_head, :, i % per_head] / (deviation(read) * deviation(inner))[:, 0, :, 0]  # (B, T)
            sigma = keys @ wrote[..., None]  # (B, T, 1)
            row = model.decoder[i] - model.decoder[i].mean()
            becomes = case["scale"] * sigma + case["value"]
            a[:, head] += x[:, head, :, within, None] * (becomes - sigma) * row
        y = activation("y", layer, F.relu(layer_norm(a) @ model.encoder_v) * x)
        read = y.transpose(1, 2).flatten(-2)[:, None] @ model.decoder
        inner = v + layer_norm(read)
        v = layer_norm(inner)
    return v[:, 0] @ model.lm_head


def make(seed: int, out: Path) -> None:
    model, ids = drawn(ORACLES["bdh"], seed)
    tokens = ids[:, :-1]
    tensors, cases = {"in.tokens": tokens.contiguous()}, []
    with torch.no_grad():
        usual = model(tokens)
        for number, case in enumerate(CASES):
            if case.get("synapses") == "strongest":
                case = case | {"synapses": strongest(model, tokens, case["layer"], case["count"])}
            logits = changed(model, tokens, case)
            # a case that does nothing would test nothing
            assert (logits - usual).abs().max() > 1e-3, case
            tensors[f"out.{number}"] = logits.contiguous()
            cases.append(case)
    metadata = {"cases": json.dumps(cases), "torch": torch.__version__, "seed": str(seed)}
    save_file(tensors, out / "bdh_interventions.safetensors", metadata)
    print("bdh_interventions.safetensors", flush=True)
