"""Times one training step of each case of `orrery-bench` in PyTorch.

    python benches/torch_bench.py [--only CASE] [--threads N] [--steps N] [--compile] [--device cpu|cuda]

A step is forward, cross-entropy, backward, clipping at norm 1 and AdamW, on a fresh batch of random tokens; three
untimed steps (--warm) come first. Each case prints one line of JSON. `orrery-bench --vs-torch PYTHON
benches/torch_bench.py` runs this script and itself in turn and prints ratios. The models are those that make the
oracles, tests/oracles/make/families, so what is timed is what the tests compare with. Those of `gated_linear` and
`graph_bdh` read position by position, as their equations are printed, which a PyTorch made for speed would not: their
ratios are not a bound.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracles" / "make"))

from families.alibi_gpt import AlibiGpt
from families.bdh import Bdh
from families.coupled_qk import CoupledQk
from families.dense import Dense
from families.fast_slow import FastSlow
from families.graph_bdh import GraphBdh
from families.ode_flow import OdeFlow
from families.spen import Spen

AUX_WEIGHT = 0.01


@dataclass
class Case:
    """`build` makes the model for a width of the stream and a length of the texts; most cases have their own width."""

    build: Callable[[int, int], nn.Module]
    vocab: int
    sequences: int
    tokens: int
    width: int | None = None


def coupled(kind: str) -> Case:
    def build(width: int, tokens: int) -> nn.Module:
        return CoupledQk(256, width, 4, 4 * width, 4, max(tokens, 128), kind, steps=3, use_rope=False)

    return Case(build, 256, 8, 128, width=128)


def fast_slow(**other: str) -> Case:
    sizes = dict(n_pre=1, n_post=1, n_slow=2, n_rounds=2, pool=4)
    return Case(lambda width, _: FastSlow(320, width, 4, 2, **sizes, **other), 320, 4, 256, width=128)


def ode_flow(*_: int) -> nn.Module:
    return OdeFlow(256, 128, 4, 128, head_layers=2, tail_layers=2, control=4, steps=4)


def graph_bdh(*_: int) -> nn.Module:
    model = GraphBdh(64, n=96, degree=8, synapses=8, layers=2, memory=64.0, norms=True)
    for parameter in model.parameters():  # those of edges are not drawn
        nn.init.normal_(parameter, std=0.2)
    return model


# The sizes of `CASES` in benches/orrery_bench/case.rs, and of labs to come.
CASES = {
    "fast_slow": fast_slow(),
    "gated_linear": fast_slow(slow_mixer="gated_linear"),
    "dense": Case(lambda *_: Dense(320, 128, 4, 2, layers=4, hidden=512), 320, 4, 256),
    "ode_flow": Case(ode_flow, 256, 8, 128),
    "bdh": Case(lambda width, _: Bdh(256, width, 4, 32 * width, layers=4), 256, 8, 128, width=64),
    "alibi_gpt": Case(lambda *_: AlibiGpt(256, 80, 2, layers=5), 256, 8, 128),
    "graph_bdh": Case(graph_bdh, 64, 16, 64),
    "spen": Case(lambda width, _: Spen(256, width, 4 * width, k=31 * width // 128, layers=2), 256, 8, 256, width=128),
    "tread_gpt": Case(lambda *_: AlibiGpt(256, 88, 2, layers=5), 256, 8, 256),
    "spen_wide": Case(lambda *_: Spen(256, 768, 3072, k=184, layers=2), 256, 2, 256),
    **{f"qk_{kind}": coupled(kind) for kind in ("standard", "diff", "euler", "hamiltonian")},
}


def resized(case: Case, args: argparse.Namespace) -> Case:
    """The case with the sizes that were asked for in place of its own."""
    if args.width and case.width is None:
        raise SystemExit("this case has no width to choose")
    return replace(
        case,
        width=args.width or case.width,
        tokens=args.tokens or case.tokens,
        sequences=args.batch or case.sequences,
    )


def total_loss(model: nn.Module, logits: Tensor, targets: Tensor) -> Tensor:
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    aux = getattr(model, "aux", None)
    return loss if aux is None else loss + AUX_WEIGHT * aux


def step_times(case: Case, model: nn.Module, args: argparse.Namespace, device: torch.device) -> list[float]:
    """Milliseconds of each timed step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    forward = torch.compile(model) if args.compile else model
    times = []
    for step in range(args.warm + args.steps):
        ids = torch.randint(0, case.vocab, (case.sequences, case.tokens + 1), device=device)
        synchronize(device)
        began = time.perf_counter()
        loss = total_loss(model, forward(ids[:, :-1]), ids[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()  # as a trainer that shows it reads it
        synchronize(device)
        if step >= args.warm:
            times.append((time.perf_counter() - began) * 1e3)
    return times


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(name: str, args: argparse.Namespace) -> dict[str, str | int | float]:
    """The names are those that `orrery-bench --json` prints too."""
    torch.manual_seed(0)
    case, device = resized(CASES[name], args), torch.device(args.device)
    model = case.build(case.width or 0, case.tokens).to(device)
    times = step_times(case, model, args, device)
    median, tokens = statistics.median(times), case.sequences * case.tokens
    return {
        "case": name,
        "params": sum(p.numel() for p in model.parameters()),
        "tokens_per_step": tokens,
        "ms_median": round(median, 3),
        "ms_min": round(min(times), 3),
        "ms_max": round(max(times), 3),
        "tokens_per_s": round(tokens / median * 1e3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, metavar="CASE")
    parser.add_argument("--threads", type=int, default=0, help="0 for PyTorch's own choice")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm", type=int, default=3, help="steps before those that are timed")
    for name, what in (("tokens", "of a sequence"), ("width", "of the stream"), ("batch", "sequences of a step")):
        parser.add_argument(f"--{name}", type=int, help=f"{what}, in place of the case's own")
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    for name in CASES if args.only is None else [args.only]:
        print(json.dumps(measure(name, args)), flush=True)


if __name__ == "__main__":
    main()
