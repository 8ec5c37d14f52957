"""How long Orrery takes to open a long run of another program, and what following one costs; needs no package.

    python benchmarks/opening.py --orrery target/release/orrery
    xvfb-run -a -s "-screen 0 1280x800x24" python benchmarks/opening.py --window

Writes a run of 100,000 steps by orrery_log and times `orrery runs` (which reads how it went), `orrery export --csv`
(every number) and `orrery follow --headless` until it prints the newest step (every line read, as the window does it),
in turns, each a process of its own. Then steps go on being logged, 50 a second by default, while `orrery follow`
prints them: its processor time over the time that passed is the share of one core. Linux, macOS. With --window the
same in the window, on Linux: until it rests with the run in it, and while it is followed, where the time of Mesa's
software rasteriser, which draws where there is no graphics card, is a number of its own.
"""

from __future__ import annotations

import argparse
import collections
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
    parser.add_argument("--rate", type=float, default=50.0, help="steps per second, while it is followed")
    parser.add_argument("--seconds", type=float, default=30.0, help="for which it is followed")
    parser.add_argument("--window", action="store_true", help="in the window too, which needs a display")
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
            print(f"{middle(times)}  {name}")
        share, waits = follow(args, run)
        print(f"{share:6.2%} of a core to follow {args.rate:g} steps per second")
        print(f"{middle(waits)}  from a log to its line there")
        if args.window:
            in_window(args, run)
        run.finish()


def middle(times: list[float]) -> str:
    return f"{statistics.median(times):6.2f} s  ({min(times):.2f} to {max(times):.2f})"


def log(run: orrery_log.Run, step: int) -> None:
    run.log(
        {"loss/train": 3.0 / (step + 1) ** 0.5, "train/lr": 1e-3, "train/grad_norm": 1.0 + step % 7 / 10}, step=step
    )


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


def follow(args: argparse.Namespace, run: orrery_log.Run) -> tuple[float, list[float]]:
    """The share of a core, without the time that opening takes, and the seconds until each step is printed."""
    with follower(args.orrery, run.folder) as process:
        process.stdout.readline()
        printed: dict[int, float] = {}
        first = run.next_step

        def read() -> None:
            for line in process.stdout:
                printed[int(line.split()[1])] = time.perf_counter()

        reader = threading.Thread(target=read)
        reader.start()
        used, began = processor_seconds(process.pid), time.perf_counter()
        logged = grow(args, run)
        share = (processor_seconds(process.pid) - used) / (time.perf_counter() - began)
        time.sleep(2.0)
        process.kill()
        reader.join()
    waits = [printed[step] - at for step, at in enumerate(logged, first) if step in printed]
    if len(waits) < 0.9 * len(logged):
        sys.exit(f"of {len(logged)} steps `orrery follow` printed {len(waits)}")
    return share, waits


def grow(args: argparse.Namespace, run: orrery_log.Run) -> list[float]:
    """Logs steps at the rate that was asked for; returns when."""
    logged = [time.perf_counter()]
    log(run, run.next_step)
    while logged[-1] - logged[0] < args.seconds:
        time.sleep(max(0.0, logged[0] + len(logged) / args.rate - time.perf_counter()))
        logged.append(time.perf_counter())
        log(run, run.next_step)
    return logged


def in_window(args: argparse.Namespace, run: orrery_log.Run) -> None:
    """Opens the run in the window several times, and follows it in the last one."""
    opened, worked = [], []
    for is_last in [False] * (args.rounds - 1) + [True]:
        began = time.perf_counter()
        with subprocess.Popen([args.orrery, "follow", run.folder], stderr=subprocess.DEVNULL) as process:
            opened.append(at_rest(process) - began)
            worked.append(processor_seconds(process.pid))
            if is_last:
                print(f"{middle(opened)}  the window, until it rests with the run in it")
                print(f"{middle(worked)}  of processor time for that")
                began, used, drawn = time.perf_counter(), worked[-1], rasteriser_seconds(process.pid)
                grow(args, run)
                passed = time.perf_counter() - began
                drawn = rasteriser_seconds(process.pid) - drawn
                share = (processor_seconds(process.pid) - used - drawn) / passed
                print(f"{share:6.2%} of a core to follow them in the window, {drawn / passed:.2%} to rasterise it")
            process.terminate()


def at_rest(process: subprocess.Popen) -> float:
    """When a second began in which the process, which has worked before, did nothing to speak of."""
    seen = collections.deque()
    while process.poll() is None:
        seen.append((time.perf_counter(), processor_seconds(process.pid)))
        while seen[-1][0] - seen[0][0] > 1.05:
            seen.popleft()
        (then, before), (now, used) = seen[0], seen[-1]
        if now - then > 1.0 and used > 0.1 and used - before <= 0.02:
            return then
        time.sleep(0.02)
    sys.exit(f"`orrery follow` ended with {process.returncode}: is there a display?")


def rasteriser_seconds(pid: int) -> float:
    stats = [task.joinpath("stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    return sum(ticks(stat) for stat in stats if "(llvmpipe" in stat) / os.sysconf("SC_CLK_TCK")


def ticks(stat: str) -> int:
    """User and system time, of the text of /proc/PID/stat."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def processor_seconds(pid: int) -> float:
    """User and system time of a process, to a hundredth of a second."""
    stat = Path(f"/proc/{pid}/stat")
    if stat.exists():
        return ticks(stat.read_text()) / os.sysconf("SC_CLK_TCK")
    words = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], check=True, capture_output=True, text=True).stdout
    total = 0.0
    for part in words.strip().split(":"):
        total = total * 60 + float(part)
    return total


if __name__ == "__main__":
    main()
