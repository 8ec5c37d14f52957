"""What single calls cost the training thread, in microseconds; needs no package, and measures one more with PyTorch.

    python benchmarks/calls.py

`log` of three scalars, and the look at `ask/` that a step costs where questions are allowed: with nothing in it, and
with a question in it that was answered before; and what each step of an optimizer of PyTorch costs, which looks there
too. All in turns, 50 rounds of 200 calls each; printed are the median and the quartiles over rounds. The writer's
thread works meanwhile, as it does in a training.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import orrery_log

with contextlib.suppress(ImportError):
    import torch

ROUNDS, CALLS = 50, 200


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        silent, asked = (orrery_log.Run(name, dir=folder, allow=["pause"]) for name in ("silent", "asked"))
        path = Path(asked.folder, "ask", "waiting.json")
        path.write_text(json.dumps({"protocol": 1, "ask": "nobody allowed this"}))
        for run in (silent, asked):
            run.log({"loss": 1.0}, step=0)
        assert Path(asked.folder, "answer", "waiting.json").exists()
        # a folder that changed a moment ago is read, not only looked at
        time.sleep(2.5)
        step = 0

        def log() -> None:
            nonlocal step
            step += 1
            silent.log({"loss": 1.0 / step, "lr": 1e-3, "grad_norm": 0.5}, step=step)

        cases = {
            "log of three scalars, with its look at ask/": log,
            "the look alone, nothing asked": lambda: silent._questions.look(1),
            "the look alone, a question of earlier in ask/": lambda: asked._questions.look(1),
        }
        if "torch" in globals():
            optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
            stepped = silent.updates._stepped
            cases["an optimizer's step: counted, and the look, nothing asked"] = lambda: stepped(optimizer)
        micros: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(ROUNDS):
            for name, call in cases.items():
                began = time.perf_counter()
                for _ in range(CALLS):
                    call()
                micros[name].append((time.perf_counter() - began) / CALLS * 1e6)
            silent.flush()
        for name, times in micros.items():
            low, middle, high = statistics.quantiles(times, n=4)
            print(f"{middle:6.1f} us  ({low:.1f} to {high:.1f})  {name}")
        for run in (silent, asked):
            run.finish()


if __name__ == "__main__":
    main()
