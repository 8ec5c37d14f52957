"""The thread that writes: a bounded queue in front of append-only logs. Training never waits for it."""

from __future__ import annotations

import collections
import contextlib
import errno
import os
import threading
import time
from typing import Any, Callable, NamedTuple

from .folder import now, open_file, write_all
from .notices import Notices, Refused
from .numbers import line

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

METRICS, SAMPLES, EVENTS = "metrics.jsonl", "samples.jsonl", "events.jsonl"
#: Bytes of a line; readers pass over longer ones.
MAX_LINE = {METRICS: 4 << 20, SAMPLES: 512 << 20, EVENTS: 4 << 20}
#: Lines that wait at most, and bytes of arrays and scalars among them.
MAX_WAITING = 100_000
MAX_WAITING_BYTES = 256 << 20
#: Lines are gathered for this many seconds, then written together.
GATHER_SECS = 0.1
#: After a failed write the disk is tried again after this many seconds.
RETRY_SECS = 2.0
#: The thread looks this often where nothing comes, and reports drops at most this often.
IDLE_SECS = 0.5
REPORT_SECS = 10.0


class Job(NamedTuple):
    """One thing to write. `make` runs on the writer's thread and returns a line, or writes a file and returns None."""

    log: str
    make: Callable[[], bytes | None]
    size: int


class Log:
    """One append-only file, opened once. Lines go to the system whole; a torn one is ended before the next."""

    def __init__(self, folder: str, name: str) -> None:
        self.path = os.path.join(folder, name)
        self.fd = open_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        self.length = os.fstat(self.fd).st_size
        self.torn = self.length > 0 and self._last_byte() != b"\n"
        self.shared = False

    def _last_byte(self) -> bytes:
        os.lseek(self.fd, -1, os.SEEK_END)
        return os.read(self.fd, 1)

    def append(self, data: bytes) -> None:
        """Appends whole lines.

        Raises OSError where the system refuses, FileNotFoundError where the path leads elsewhere by now.
        """
        here, there = os.fstat(self.fd), os.stat(self.path)
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            raise FileNotFoundError(errno.ENOENT, "the folder was moved or replaced", self.path)
        self.shared = self.shared or here.st_size != self.length
        if self.torn:
            data = b"\n" + data
        try:
            write_all(self.fd, data)
            self.torn = False
        except OSError:
            self.torn = True
            raise
        finally:
            self.length = os.fstat(self.fd).st_size

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.fd)


class Writer:
    """Writes jobs in their order. A full queue drops what comes then; it is counted."""

    def __init__(self, folder: str, notices: Notices, max_bytes: int) -> None:
        self.folder = folder
        self.notices = notices
        self.max_bytes = max_bytes
        self.step = 0
        self.dropped: collections.Counter[str] = collections.Counter()
        self._reported = 0
        self._lock_fd = lock(folder)
        self._logs: dict[str, Log] = {}
        try:
            for name in (METRICS, SAMPLES, EVENTS):
                self._logs[name] = Log(folder, name)
        except BaseException:
            self.abandon()
            raise
        self._queue: collections.deque[Job] = collections.deque()
        self._waiting_bytes = 0
        self._condition = threading.Condition()
        self._closing = False
        self._urgent = False
        self._busy = False
        self._retry_at = 0.0
        self._report_at = 0.0
        #: Called on the writer's thread about twice a second.
        self.on_idle: Callable[[], None] | None = None
        self._thread = threading.Thread(target=self._run, name="orrery-log", daemon=True)
        self._thread.start()

    def put(self, log: str, make: Callable[[], bytes | None], size: int = 0) -> bool:
        """Takes a job unless the queue is full; False if it was dropped. Events of no size are always taken."""
        with self._condition:
            full = len(self._queue) >= MAX_WAITING or (size > 0 and self._waiting_bytes + size > MAX_WAITING_BYTES)
            if self._closing or (full and (log != EVENTS or size > 0)):
                self.dropped[log] += 1
                first = sum(self.dropped.values()) == 1 and not self._closing
            else:
                self._queue.append(Job(log, make, size))
                self._waiting_bytes += size
                first = False
                if len(self._queue) == 1:
                    self._condition.notify_all()
                return True
        if first:
            text = "more is logged than can be written: lines are dropped; the events of the run say how many"
            self.notices.once("dropped", text)
        return False

    def event(self, size: int = 0, **fields: Any) -> None:
        """A line of events.jsonl, with the newest step and the time."""
        entry = {"step": self.step, "at": now(), **fields}
        self.put(EVENTS, lambda: line(entry), size)

    def flush(self, timeout: float) -> bool:
        """Waits until everything is written; False if that takes longer than `timeout` seconds."""
        end = time.monotonic() + timeout
        with self._condition:
            self._urgent = True
            self._condition.notify_all()
            while self._queue or self._busy:
                rest = end - time.monotonic()
                if rest <= 0 or not self._thread.is_alive():
                    return False
                self._condition.wait(min(rest, 0.2))
            return True

    def close(self, timeout: float) -> bool:
        """Writes what waits, at most for `timeout` seconds, and ends the thread."""
        done = self.flush(timeout)
        self._report_drops()
        done = self.flush(min(timeout, 5.0)) and done
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        self._thread.join(1.0)
        if not self._thread.is_alive():
            for log in self._logs.values():
                log.close()
            if self._lock_fd is not None:
                os.close(self._lock_fd)
                self._lock_fd = None
        return done

    def abandon(self) -> None:
        """Closes the files and writes nothing: for a forked child, whose parent has them open."""
        for log in self._logs.values():
            log.close()
        if self._lock_fd is not None:
            with contextlib.suppress(OSError):
                os.close(self._lock_fd)

    def _report_drops(self) -> None:
        total = sum(self.dropped.values())
        if total > self._reported:
            self._reported = total
            parts = ", ".join(f"{n} of {log}" for log, n in sorted(self.dropped.items()))
            self.event(notice={"level": "warning", "text": f"{total} lines were dropped ({parts})"})

    def _run(self) -> None:
        while True:
            with self._condition:
                if not self._queue and not self._closing:
                    self._condition.wait(IDLE_SECS)
                if not self._queue and self._closing:
                    return
                if self._queue and not self._urgent and not self._closing:
                    self._condition.wait(GATHER_SECS)
                jobs = list(self._queue)
                self._queue.clear()
                self._waiting_bytes = 0
                self._busy = True
            try:
                self._write(jobs)
                if time.monotonic() > self._report_at:
                    self._report_at = time.monotonic() + REPORT_SECS
                    self._report_drops()
                if self.on_idle is not None:
                    self.on_idle()
            except Exception as e:  # a thread that dies would lose all that follows
                self.notices.once("writer", f"writing failed: {type(e).__name__}: {e}")
            with self._condition:
                self._busy = False
                if not self._queue:
                    self._urgent = False
                self._condition.notify_all()

    def _write(self, jobs: list[Job]) -> None:
        lines: dict[str, list[bytes]] = {}
        for job in jobs:
            try:
                made = job.make()
                if made is None:
                    continue
                if len(made) > MAX_LINE[job.log]:
                    text = f"a line of {job.log} is left out: it has {len(made):,} bytes"
                    raise Refused(f"long {job.log}", f"{text}, and readers take {MAX_LINE[job.log]:,}")
            except OSError as e:
                self._failed(e, job.log, 1)
                continue
            except Exception as e:
                self.notices.error(f"make {job.log}", f"a line of {job.log} was left out", e)
                continue
            lines.setdefault(job.log, []).append(made)
            if len(made) > 1 << 20:
                self._append(job.log, lines.pop(job.log))
        for log in (EVENTS, SAMPLES, METRICS):
            if log in lines:
                self._append(log, lines[log])

    def _append(self, name: str, lines: list[bytes]) -> None:
        log = self._logs[name]
        if name == SAMPLES and log.length + sum(map(len, lines)) > self.max_bytes:
            self.dropped[name] += len(lines)
            size = f"{self.max_bytes / 2**30:.1f} GiB"
            self.notices.once(
                "max_bytes", f"samples.jsonl has reached {size} (max_bytes): no more measurements are kept"
            )
            return
        if time.monotonic() < self._retry_at and not self._urgent:
            self.dropped[name] += len(lines)
            return
        try:
            log.append(b"".join(lines))
        except OSError as e:
            self._failed(e, name, len(lines))
            return
        self._retry_at = 0.0
        if log.shared:
            self.notices.once("shared", "another process writes into this run folder too: both records are mixed")

    def _failed(self, e: OSError, name: str, lines: int) -> None:
        self.dropped[name] += lines
        self._retry_at = time.monotonic() + RETRY_SECS
        why = (
            "the disk is full"
            if e.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
            else (e.strerror or str(e))
        )
        self.notices.once("disk", f"cannot write in {self.folder}: {why}; training goes on, lines are lost")


def lock(folder: str) -> int | None:
    """Holds `.lock`, so that other programs of this machine can tell that the folder is being written, or is no more.

    Raises BlockingIOError where another process holds it. Nothing where the system has no such locks.
    """
    if fcntl is None:
        return None
    fd = open_file(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise
    except OSError:
        return fd  # some network file systems have no locks
    # on another machine the lock may not be seen, and says nothing there
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/random/boot_id", "rb") as boot:
            machine = boot.read()
        os.ftruncate(fd, 0)
        write_all(fd, machine)
    return fd
