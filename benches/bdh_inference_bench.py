"""Times how a BDH of the public size reads in PyTorch: a text of 1,000 tokens at once, and tokens one by one.

    python benches/bdh_inference_bench.py [--threads N] [--make FILE]

`orrery-bench --inference --vs-torch PYTHON benches/bdh_inference_bench.py` asks it in turn with itself, a line with
`text` or `token` for one time in milliseconds. Weights are random, of standard deviation 0.02 on both sides. The model
is the one that makes the oracles (tests/oracles/make/families/bdh.py); its recurrent form is here. `--make` writes the
weights as a checkpoint that `orrery model eval` reads, and ends.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracles" / "make"))

from families.bdh import Bdh, layer_norm

# The sizes of `PUBLIC` in benches/orrery_bench/inference.rs.
VOCAB, D, HEADS, N, LAYERS, TOKENS = 256, 256, 4, 32768, 6, 1000


class Recurrent:
    """The same model, token by token: the state of a layer is (H, N, D)."""

    def __init__(self, model: Bdh):
        self.model, self.at = model, 0
        self.states = [torch.zeros(HEADS, N // HEADS, D) for _ in range(LAYERS)]

    def rotate(self, x: Tensor) -> Tensor:
        phase = (self.at * self.model.turns).frac() * (2 * torch.pi)  # (N)
        even, odd = x[..., ::2], x[..., 1::2]
        swapped = torch.stack((-odd, even), dim=-1).flatten(-2)
        return x * phase.cos() + swapped * phase.sin()

    def read(self, token: Tensor) -> Tensor:
        """Logits (1, V) after one more token (1)."""
        m = self.model
        v = layer_norm(m.embed(token))[None]  # (1, 1, D)
        for state in self.states:
            x = F.relu(v @ m.encoder)  # (H, 1, N)
            q = self.rotate(x)
            a = layer_norm(q @ state)  # (H, 1, D)
            state.baddbmm_(q.mT, v.expand(HEADS, 1, D))
            y = F.relu(a @ m.encoder_v) * x
            v = layer_norm(v + layer_norm(y.transpose(0, 1).reshape(1, 1, N) @ m.decoder))
        self.at += 1
        return v[0] @ m.lm_head


def check(model: Bdh) -> None:
    """Both forms agree."""
    ids = torch.randint(0, VOCAB, (1, 6))
    recurrent = Recurrent(model)
    steps = torch.cat([recurrent.read(ids[0, i : i + 1]) for i in range(6)])
    off = (steps - model(ids)[0]).abs().max().item()
    if not off < 1e-3:
        sys.exit(f"the recurrent form is {off} off")


@torch.inference_mode()
def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--threads", type=int, default=0)
    ap.add_argument("--make", type=Path)
    args = ap.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    model = Bdh(VOCAB, D, HEADS, N, LAYERS)
    if args.make:
        torch.save(model.state_dict(), args.make)
        return
    check(model)
    recurrent = Recurrent(model)
    for line in sys.stdin:
        began = time.perf_counter()
        if line.strip() == "text":
            ids = torch.randint(0, VOCAB, (1, TOKENS))
            began = time.perf_counter()
            F.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:]).item()
        else:
            recurrent.read(torch.randint(0, VOCAB, (1,))).argmax().item()
        print(json.dumps({"ms": (time.perf_counter() - began) * 1e3}), flush=True)


if __name__ == "__main__":
    main()
