"""What logging costs: the time of a training step with orrery-log over that without, interleaved.

    python benchmarks/overhead.py

Two copies of a model like nanoGPT (8 layers, 12 heads, T = 128) train in turns on the same batches, one of them with
two scalars a step and the attention of all layers every 50 steps. Prints the ratio of the mean times and that of
processor time, which a busy machine disturbs less, each with its 95% interval over rounds of 50 steps (resampled). The
time of the writer's thread is in both: each round ends when its lines are written.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "examples")]
import orrery_log  # noqa: E402
from nanogpt_like import GPT  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=6, help="rounds of --every steps each")
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()

    def trained():
        torch.manual_seed(0)
        model = GPT(65, args.length, args.layers, args.heads, args.width).to(args.device)
        return model, torch.optim.AdamW(model.parameters(), lr=1e-3)

    plain, watched = trained(), trained()
    folder = tempfile.mkdtemp()
    run = orrery_log.init("overhead", dir=folder)
    orrery_log.watch(watched[0], every=args.every, max_tokens=args.length)

    def step_of(pair, step):
        model, optimizer = pair
        idx = torch.randint(65, (args.batch, args.length), generator=torch.Generator().manual_seed(step)).to(
            args.device
        )
        loss = F.cross_entropy(model(idx).flatten(0, 1), idx.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    def wait():
        if args.device != "cpu":
            torch.cuda.synchronize()

    for step in range(3):
        step_of(plain, step), step_of(watched, step)
    run.log({"loss": 0.0}, step=0)
    times = {"plain": [], "watched": []}
    processor = {"plain": [], "watched": []}
    step = 1
    for round_number in range(args.rounds):
        total, worked = {"plain": 0.0, "watched": 0.0}, {"plain": 0.0, "watched": 0.0}
        for _ in range(args.every):
            # in turns, and the first of them in turns too
            for name in ("plain", "watched") if step % 2 else ("watched", "plain"):
                wait()
                began, used = time.perf_counter(), time.process_time()
                loss = step_of(plain if name == "plain" else watched, step)
                if name == "watched":
                    run.log({"loss": loss, "lr": 1e-3}, step=step)
                wait()
                total[name] += time.perf_counter() - began
                worked[name] += time.process_time() - used
            step += 1
        began, used = time.perf_counter(), time.process_time()
        run.flush()
        total["watched"] += time.perf_counter() - began
        worked["watched"] += time.process_time() - used
        for name in total:
            times[name].append(total[name] / args.every)
            processor[name].append(worked[name])
        print(
            f"round {round_number + 1}: {times['plain'][-1] * 1e3:.1f} ms, {times['watched'][-1] * 1e3:.1f} ms",
            flush=True,
        )
    run.finish()
    print(
        f"{ratio_and_interval(times['plain'], times['watched'])}; "
        f"a step takes {statistics.mean(times['plain']) * 1e3:.1f} ms"
    )
    print(f"{ratio_and_interval(processor['plain'], processor['watched'])} of the processor time of all threads")
    print(
        f"{args.layers} layers, {args.heads} heads, T = {args.length}, {args.device}, {torch.get_num_threads()} threads"
    )


def ratio_and_interval(plain: list[float], watched: list[float]) -> str:
    ratios = []
    chooser = random.Random(0)
    for _ in range(2000):
        rounds = chooser.choices(range(len(plain)), k=len(plain))
        ratios.append(sum(watched[i] for i in rounds) / sum(plain[i] for i in rounds))
    ratios.sort()
    return f"ratio {sum(watched) / sum(plain):.4f} (95% {ratios[50]:.4f} to {ratios[1949]:.4f})"


if __name__ == "__main__":
    main()
