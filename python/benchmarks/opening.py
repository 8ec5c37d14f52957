"""How long Orrery takes to open a long run of another program, and what following one costs; needs no package.

    python benchmarks/opening.py --orrery target/release/orrery

Writes a run of 100,000 steps by orrery_log and times `orrery runs` (which reads how it went), `orrery export --csv`
(every number) and `orrery follow --headless` until it prints the newest step (every line read, as the window does it),
in turns, each a process of its own. Then steps go on being logged, 50 a second by default, while `orrery follow`
prints them: its processor time over the time that passed is the share of one core. Linux, macOS.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import orrery_log


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orrery", default="orrery", help="the program")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=50.0, help="steps per second that are logged while it is followed")
    parser.add_argument("--seconds", type=float, default=30.0, help="for which it is followed")
    args = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        run = orrery_log.Run("long", dir=folder)
        for step in range(args.steps):
            log(run, step)
            if step % 10_000 == 9_999:
                run.flush()  # a queue that is full would drop steps
        run.flush()
        size = Path(run.folder, "metrics.jsonl").stat().st_size
        print(f"{args.steps:,} steps of three scalars, {size / 2**20:.1f} MiB")

        commands = {
            "orrery runs": ["runs", "--out", folder],
            "orrery export --csv": ["export", run.folder, "--csv", f"{folder}/all.csv"],
        }
        cases = {name: lambda words=words: finished(args.orrery, words) for name, words in commands.items()}
        cases["orrery follow, to the newest step"] = lambda: newest_step(args.orrery, run.folder, args.steps - 1)
        seconds: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(args.rounds):
            for name, call in cases.items():
                began = time.perf_counter()
                call()
                seconds[name].append(time.perf_counter() - began)
        for name, times in seconds.items():
            print(f"{statistics.median(times):6.2f} s  ({min(times):.2f} to {max(times):.2f})  {name}")
        print(f"{follow(args, run):6.2%} of a core to follow {args.rate:g} steps per second")
        run.finish()


def log(run: orrery_log.Run, step: int) -> None:
    run.log({"loss": 3.0 / (step + 1) ** 0.5, "lr": 1e-3, "grad_norm": 1.0 + step % 7 / 10}, step=step)


def finished(orrery: str, words: list[str]) -> None:
    subprocess.run([orrery, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def follower(orrery: str, folder: str) -> subprocess.Popen:
    words = [orrery, "follow", "--headless", folder]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def newest_step(orrery: str, folder: str, step: int) -> None:
    """Follows until the newest step is printed, which is the first line."""
    with follower(orrery, folder) as process:
        line = process.stdout.readline()
        process.kill()
    if not line.startswith(f"step {step} "):
        sys.exit(f"`orrery follow` printed {line!r} where step {step} is the newest")


def follow(args: argparse.Namespace, run: orrery_log.Run) -> float:
    """The share of a core, without the time that opening takes."""
    with follower(args.orrery, run.folder) as process:
        process.stdout.readline()
        printed: list[str] = []
        reader = threading.Thread(target=lambda: printed.extend(process.stdout))
        reader.start()
        used, began = processor_seconds(process.pid), time.perf_counter()
        step = args.steps
        while time.perf_counter() - began < args.seconds:
            log(run, step)
            step += 1
            time.sleep(max(0.0, began + (step - args.steps) / args.rate - time.perf_counter()))
        share = (processor_seconds(process.pid) - used) / (time.perf_counter() - began)
        time.sleep(2.0)
        process.kill()
        reader.join()
    if len(printed) < 0.9 * (step - args.steps):
        sys.exit(f"of {step - args.steps} steps `orrery follow` printed {len(printed)}")
    return share


def processor_seconds(pid: int) -> float:
    """User and system time of a process, to a hundredth of a second."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    words = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], check=True, capture_output=True, text=True).stdout
    total = 0.0
    for part in words.strip().split(":"):
        total = total * 60 + float(part)
    return total


if __name__ == "__main__":
    main()
