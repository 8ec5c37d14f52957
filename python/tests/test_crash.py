"""What is left when the program, the disk or the folder goes away."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from orrery_log import folder as run_folder
from orrery_log import writer
from strict import EVENTS, METRICS, Folder

PACKAGE = str(Path(__file__).parents[1])
#: A program that opens the folders of killed scripts too.
ORRERY = os.environ.get("ORRERY_LOG_READER")
TRAINER = """
import sys, time
import orrery_log
run = orrery_log.init("killed", dir=sys.argv[1], config={"a": 1})
print(run.folder, flush=True)
step = 0
while True:
    run.log({"loss": 1.0 / (step + 1), "step_of": step}, step=step)
    if step % 5 == 0:
        run.matrix("m", [[step] * 30] * 30, step=step)
        run.attention("h.0", [[1.0]], step=step)
        run.text("t", "x" * 5000, step=step)
    step += 1
    time.sleep(0.0005)
"""


def python(code, *args, **options):
    env = {**os.environ, "PYTHONPATH": PACKAGE, **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        **options,
    )


def run_python(code, *args, **options):
    process = python(code, *args, **options)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


def wait_until(done, seconds=60):
    """Waits for what another process or thread does; on a busy machine it may take long."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.001)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_kill_at_any_moment_leaves_a_folder_that_reads(tmp_path):
    moments = random.Random(7)
    for start in range(0, int(os.environ.get("ORRERY_LOG_KILLS", "20")), 4):
        running = [python(TRAINER, tmp_path / str(start + n)) for n in range(4)]
        paths = [Path(process.stdout.readline().decode().strip()) for process in running]
        for process, path in zip(running, paths):
            # a moment of the record, not of the clock: some lines are there, and more are on their way
            length = moments.randrange(1, 20_000)
            wait_until(lambda: (path / METRICS).stat().st_size >= length)  # noqa: B023
            process.kill()
            process.communicate()
            read = Folder(path)
            assert (path / METRICS).stat().st_size >= length
            assert [line["step"] for line in read.metrics] == list(range(len(read.metrics)))
            if ORRERY:
                # though a log may end in a torn line: a killed program's long write ends between two pages of memory
                export = [ORRERY, "export", path, "--csv", tmp_path / "all.csv"]
                exported = subprocess.run(export, capture_output=True, text=True)
                assert exported.returncode == 0, exported.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_kill_while_the_folder_is_made_leaves_a_folder_or_nothing(tmp_path):
    for n, wait in enumerate((0.0, 0.0002, 0.001, 0.01)):
        runs = tmp_path / str(n)
        process = python(TRAINER, runs)
        wait_until(lambda: runs.exists() and any(runs.iterdir()))  # noqa: B023
        time.sleep(wait)
        process.kill()
        process.communicate()
        for path in runs.iterdir():
            assert path.name.startswith(".") or {"run.json", "config.toml"} <= {p.name for p in path.iterdir()}


def test_the_end_of_a_program_is_recorded(tmp_path):
    end = "import sys, orrery_log\nrun = orrery_log.init('e', dir=sys.argv[1])\nprint(run.folder)\nrun.log({'a': 1})\n"
    for code, state in (
        ("", "finished"),
        ("raise RuntimeError('it broke')", {"failed": {"message": "RuntimeError: it broke"}}),
        ("raise KeyboardInterrupt", "stopped"),
        ("sys.exit()", "finished"),
        ("sys.exit(0)", "finished"),
        ("sys.exit('wrong settings')", {"failed": {"message": "SystemExit: wrong settings"}}),
        ("sys.exit(2)", {"failed": {"message": "SystemExit: 2"}}),
        ("import threading; t = threading.Thread(target=sys.exit, args=(2,)); t.start(); t.join()", "finished"),
        ("with run: sys.exit(0)", "finished"),
        ("with run: sys.exit(2)", {"failed": {"message": "SystemExit: 2"}}),
    ):
        _, out, _ = run_python(end + code, tmp_path)
        read = Folder(out.strip())
        assert read.state() == state and len(read.metrics) == 1


def test_an_error_that_the_program_survives_is_not_its_end(tmp_path):
    start = (
        "import sys, orrery_log\nrun = orrery_log.init('e', dir=sys.argv[1])\nprint(run.folder)\nrun.log({'a': 1})\n"
    )
    # as in a console, which calls the hook and goes on
    console = "try:\n    nothing\nexcept NameError:\n    sys.excepthook(*sys.exc_info())\n"
    caught = "try:\n    sys.exit(2)\nexcept SystemExit:\n    pass\n"
    for error in (console, caught):
        _, out, _ = run_python(start + error + "run.log({'a': 2})", tmp_path)
        assert Folder(out.strip()).state() == "finished"
        code = start + error + "print(orrery_log.init('n', dir=sys.argv[1]).folder)"
        _, out, _ = run_python(code, tmp_path)
        assert Folder(out.split()[1]).state() == "finished", "a run that began after the error"


def test_a_run_that_init_did_not_make_ends_with_the_program(tmp_path):
    code = "import sys, orrery_log\nrun = orrery_log.Run('r', dir=sys.argv[1])\nprint(run.folder)\nrun.log({'a': 1})\n"
    _, out, _ = run_python(code, tmp_path)
    read = Folder(out.strip())
    assert read.state() == "finished" and read.scalar("a") == [(0, 1)]


def test_a_run_in_a_torn_folder_goes_on_after_the_torn_line(begin, tmp_path):
    run = begin(config={"old": 1})
    run.log({"a": 1}, step=0)
    run.finish()
    with open(f"{run.folder}/{METRICS}", "ab") as file:
        file.write(b'{"step":1,"vari')
    again = begin(resume=run.folder, config={"new": 2})
    again.log({"a": 2})
    again.finish()
    lines = Path(run.folder, METRICS).read_bytes().split(b"\n")
    assert lines[1] == b'{"step":1,"vari' and b'"a":2' in lines[2] and lines[3] == b""
    assert b'"step":0' in lines[0] and again.folder == run.folder
    described = json.loads(Path(run.folder, "run.json").read_bytes())
    assert described["run"]["config"]["values"] == {"config.old": 1, "config.new": 2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_writes_nothing_of_its_parent(begin):
    run = begin()
    for step in range(50):
        run.log({"a": step}, step=step)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            import orrery_log

            for step in range(50):
                run.log({"child": step}, step=step)
            run.matrix("m", [[1]])
            own = orrery_log.init("own", dir=os.path.dirname(run.folder))
            own.log({"child": 1})
            own.finish()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    run.log({"a": 50}, step=50)
    read = run.read()
    assert [v for _, v in read.scalar("a")] == list(range(51)) and not read.scalar("child")
    (other,) = [p for p in read.path.parent.iterdir() if "-own-" in p.name]
    assert Folder(other).scalar("child") == [(0, 1)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_closes_no_file_of_others_in_place_of_those_of_an_ended_run(begin):
    run = begin()
    numbers = [log.fd for log in run.active._logs.values()]
    run.finish()
    reader, other = os.pipe()
    assert {reader, other} & set(numbers), "the system gives free numbers again"
    child = os.fork()
    if child == 0:
        try:
            os.write(other, b"open")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(other)
    assert os.read(reader, 10) == b"open"
    os.close(reader)


def test_two_processes_that_resume_one_folder_get_two(begin, tmp_path):
    pytest.importorskip("fcntl")
    run = begin()
    run.log({"a": 1}, step=0)
    run.flush()
    code = (
        "import sys, orrery_log\nrun = orrery_log.init('second', resume=sys.argv[1])\n"
        "run.log({'b': 1})\nprint(run.folder)"
    )
    _, out, err = run_python(code, run.folder)
    second = Folder(out.strip())
    assert err.count("is being written by another process") == 1
    assert second.path.parent == tmp_path and second.scalar("b") == [(0, 1)]
    assert second.path != Path(run.folder) and not run.read().scalar("b")


def test_lines_of_another_process_in_the_same_log_are_told(begin, capfd):
    run = begin()
    run.log({"a": 1}, step=0)
    run.flush()
    with open(f"{run.folder}/{METRICS}", "ab") as file:
        file.write(b'{"step":0,"variant":"model","other":1}\n')
    run.log({"a": 2}, step=1)
    run.flush()
    run.log({"a": 3}, step=2)
    read = run.read()
    assert len(read.metrics) == 4 and capfd.readouterr().err.count("another process writes") == 1


def test_a_full_disk_is_said_once_and_lines_go_on_when_there_is_room(begin, monkeypatch, capfd):
    run = begin()
    run.log({"a": 0}, step=0)
    run.flush()
    full = [True]

    def write_half(fd, data):
        if full[0]:
            os.write(fd, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        run_folder.write_all(fd, data)

    monkeypatch.setattr(writer, "write_all", write_half)
    monkeypatch.setattr(writer, "RETRY_SECS", 0.05)
    for step in range(1, 5):
        run.log({"a": step}, step=step)
        run.flush()
    full[0] = False
    time.sleep(0.1)
    run.log({"a": 5}, step=5)
    run.finish()
    said = capfd.readouterr().err
    assert said.count("the disk is full") == 1
    lines = Path(run.folder, METRICS).read_bytes().split(b"\n")
    assert b'"a":5' in lines[-2] and lines[-1] == b""
    assert "lines were dropped" in Path(run.folder, EVENTS).read_text()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_disk_that_is_really_full_stops_nothing(begin, capfd):
    run = begin()
    log = run.active._logs[METRICS]
    os.close(log.fd)
    log.fd, log.path = os.open("/dev/full", os.O_WRONLY), "/dev/full"
    for step in range(3):
        run.log({"a": step}, step=step)
        run.flush()
    run.finish()
    assert "the disk is full; training goes on" in capfd.readouterr().err


def test_a_folder_that_cannot_be_made_is_said_and_training_goes_on(begin, tmp_path, capfd):
    import orrery_log

    (tmp_path / "file").write_text("")
    run = orrery_log.init("x", dir=tmp_path / "file" / "runs")
    run.log({"a": 1})
    run.matrix("m", [[1]])
    orrery_log.log_weights({})
    run.finish()
    assert run.folder is None and capfd.readouterr().err.count("no run is recorded") == 1


def test_a_folder_that_is_moved_away_is_said_once(begin, tmp_path, capfd):
    run = begin()
    run.log({"a": 0}, step=0)
    run.flush()
    os.rename(run.folder, tmp_path / "moved")
    for step in range(1, 4):
        run.log({"a": step}, step=step)
        run.flush()
    run.finish()
    assert capfd.readouterr().err.count("cannot write in") == 1
    assert len((tmp_path / "moved" / METRICS).read_bytes().splitlines()) == 1


def test_a_log_that_is_a_link_is_not_written_through(begin, tmp_path):
    if not hasattr(os, "O_NOFOLLOW"):
        pytest.skip("no O_NOFOLLOW here")
    target = tmp_path / "target"
    target.write_text("mine\n")
    run = begin()
    run.finish()
    os.unlink(f"{run.folder}/{METRICS}")
    os.symlink(target, f"{run.folder}/{METRICS}")
    begin(resume=run.folder).log({"a": 1})
    assert target.read_text() == "mine\n"


def test_nothing_of_the_package_opens_a_socket():
    code = (
        "import sys\nbad = []\n"
        "sys.addaudithook(lambda name, args: bad.append(name) if name.startswith('socket.') else None)\n"
        "import tempfile, orrery_log, orrery_log.wandb as w, orrery_log.tensorboard as t\n"
        "d = tempfile.mkdtemp()\nw.init(dir=d); w.log({'a': 1}); w.finish()\n"
        "s = t.SummaryWriter(d + '/x'); s.add_scalar('a', 1, 1); s.close()\n"
        "assert not bad, bad\nassert 'socket' not in sys.modules and 'numpy' not in sys.modules"
    )
    status, _, err = run_python(code)
    assert status == 0, err
