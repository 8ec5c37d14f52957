"""Holds made oracle files against stored ones: the same names, shapes and types, and values within a tolerance.

    python compare.py STORED MADE

Only files of MADE are looked for in STORED (under it or under STORED/models). What was drawn (weights, tokens, samples,
graphs) must be equal; the tolerances of what was computed are a tenth or less of those that the tests ask for, so
that what is left is the rounding of another processor.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

OUTPUT = 1e-5  # logits, losses, activations
GRADIENT = 1e-4  # of the tensor's largest entry
TRAINING = 1e-4  # losses of thirty steps, each of which adds to the rounding
NUMBER = 1e-6  # of the JSON files, relative above 1


def tolerance(name: str, stored: Tensor) -> float:
    if name.startswith("grad."):
        return GRADIENT * stored.abs().max().item()
    if name == "out.train_losses":
        return TRAINING
    return OUTPUT if name.startswith("out.") else 0.0


def tensors(stored: dict[str, Tensor], made: dict[str, Tensor]) -> Iterator[str]:
    for name in sorted(stored.keys() ^ made.keys()):
        yield f"{name} is only in {'STORED' if name in stored else 'MADE'}"
    for name in sorted(stored.keys() & made.keys()):
        a, b = stored[name], made[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            yield f"{name}: {a.dtype} {tuple(a.shape)}, made {b.dtype} {tuple(b.shape)}"
            continue
        off = (a.double() - b.double()).abs().max().item()
        if not off <= tolerance(name, a):
            yield f"{name}: off by {off:.2e}, allowed {tolerance(name, a):.2e}"


def values(path: str, stored: Any, made: Any) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(made, dict):
        for key in sorted(stored.keys() ^ made.keys()):
            yield f"{path}.{key} is only in {'STORED' if key in stored else 'MADE'}"
        for key in stored.keys() & made.keys():
            yield from values(f"{path}.{key}", stored[key], made[key])
    elif isinstance(stored, list) and isinstance(made, list):
        if len(stored) != len(made):
            yield f"{path}: {len(stored)} entries, made {len(made)}"
        for i, (a, b) in enumerate(zip(stored, made, strict=False)):
            yield from values(f"{path}[{i}]", a, b)
    elif isinstance(stored, float) and isinstance(made, float):
        same = stored == made or (math.isnan(stored) and math.isnan(made))
        if not same and not abs(stored - made) <= NUMBER * max(1.0, abs(stored)):
            yield f"{path}: {stored!r}, made {made!r}"
    elif stored != made:
        yield f"{path}: {stored!r}, made {made!r}"


def differences(stored: Path, made: Path) -> Iterator[str]:
    if made.suffix == ".json":
        yield from values(made.stem, json.loads(stored.read_text()), json.loads(made.read_text()))
    else:
        yield from tensors(load_file(stored), load_file(made))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stored", type=Path)
    parser.add_argument("made", type=Path)
    args = parser.parse_args()
    compared, failed = 0, False
    for made in sorted([*args.made.glob("*.json"), *args.made.glob("*.safetensors")]):
        places = [args.stored / made.name, args.stored / "models" / made.name]
        stored = next((place for place in places if place.exists()), None)
        if stored is None:
            print(f"{made.name}: none is stored")
            continue
        found = list(differences(stored, made))
        print(f"{made.name}: {'same' if not found else f'{len(found)} differences'}")
        for line in found[:20]:
            print(f"    {line}")
        compared, failed = compared + 1, failed or bool(found)
    if not compared:
        sys.exit(f"{args.made} holds no file that {args.stored} has")
    sys.exit(failed)


if __name__ == "__main__":
    main()
