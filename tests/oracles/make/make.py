"""Makes the oracle files: the numbers of PyTorch, torchdiffeq, networkx, leidenalg and scipy that tests compare with.

    python make.py models [--only NAME]     # NAME.safetensors, one for each model
    python make.py interventions            # bdh_interventions.safetensors
    python make.py layers                   # layers.json
    python make.py hebbian                  # hebbian.json
    python make.py bdh_theory               # bdh_theory.json
    python make.py solvers                  # solvers.json
    python make.py communities              # communities.json
    python make.py statistics               # statistics.json
    python make.py directed_blocks          # directed_blocks.json
    python make.py graph_files              # graph_files/
    python make.py all

Every number follows from --seed (7, that of the stored files) and the versions in requirements.txt.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from generators import (
    bdh_theory,
    communities,
    directed_blocks,
    graph_files,
    hebbian,
    interventions,
    layers,
    models,
    solvers,
    statistics,
)

# Drawn from one stream in this order, whichever of them are wanted.
STREAM = {
    "solvers": (lambda rng, seed: solvers.draw(rng), solvers.compute),
    "communities": (communities.draw, communities.compute),
    "statistics": (lambda rng, seed: statistics.draw(rng), statistics.compute),
}


def write(out: Path, name: str, content: dict[str, Any]) -> None:
    (out / f"{name}.json").write_text(json.dumps(content))
    print(f"{name}.json", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    alone = ["models", "interventions", "layers", "hebbian", "bdh_theory", "directed_blocks", "graph_files"]
    parser.add_argument("what", choices=[*alone, *STREAM, "all"])
    parser.add_argument("--only", choices=models.ORACLES, metavar="NAME", help="with models: this one alone")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("made"), help="folder to write to (made)")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)  # sums of several threads are rounded in another order

    if args.what in ("models", "all"):
        models.make(args.seed, args.out, args.only)
    if args.what in ("interventions", "all"):
        interventions.make(args.seed, args.out)
    if args.what in ("layers", "all"):
        write(args.out, "layers", layers.make(args.seed))
    if args.what in ("hebbian", "all"):
        write(args.out, "hebbian", hebbian.make(args.seed))
    if args.what in ("bdh_theory", "all"):
        write(args.out, "bdh_theory", bdh_theory.make(args.seed))
    if args.what in ("directed_blocks", "all"):
        write(args.out, "directed_blocks", directed_blocks.make())
    if args.what in ("graph_files", "all"):
        graph_files.make(args.out)
    rng = np.random.default_rng(args.seed)
    for name, (draw, compute) in STREAM.items():
        inputs = draw(rng, args.seed)
        if args.what in (name, "all"):
            write(args.out, name, compute(inputs))


if __name__ == "__main__":
    main()
