"""A run: what the functions of the package write into."""

from __future__ import annotations

import contextlib
import operator
import os
import sys
import time
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from . import arrays, folder
from .measurements import Measurements
from .notices import Notices, Refused, never_raises
from .numbers import line
from .scalars import ScalarChannels
from .steps import Updates
from .writer import METRICS, Writer


class Run(Measurements):
    """A run folder that is being written. No method raises. `log` and measurements do not wait for the disk; making the
    folder, an answered question, `flush` and `finish` do, and `log_weights` waits for the device.

    `folder` is its path; None where it could not be made (then nothing is written, and that was said).
    """

    def __init__(
        self,
        name: str = "run",
        config: Any = None,
        dir: str = "runs",
        allow: Iterable[str] = (),
        *,
        seed: int = 0,
        total_steps: int = 0,
        resume: str | None = None,
        all_ranks: bool = False,
        max_bytes: int = 8 << 30,
        on_save: Callable[[], Any] | None = None,
        answers: Mapping[str, Callable[..., Any]] | None = None,
        names: Mapping[str, str] | None = None,
        enabled: bool = True,
    ) -> None:
        """Begins a run in a new folder in `dir`; `init` returns it, and the module's functions write it from then on.

        config: settings, as a dict (nested ones too), a dataclass or argparse's namespace.
        allow: names of what may be asked of the running program: "pause", "save", "scale_lr", and names in `answers`.
        answers: the script's functions for questions, such as {"attention": lambda text: ({"h.0": weights}, tokens)}.
        names: channels for names that are logged, such as {"train_loss": "loss/train"} for a cross-entropy in nats per
            token, which the view Loss then draws. Any other name stays as it is.
        on_save: called when "save" is asked; without it, a snapshot of the watched model is written.
        resume: a run folder to go on with, in place of a new one. Its name, seed, settings and what else it tells stay
            where they are not given anew. Where it cannot be gone on with, that is said and a new one is made.
        all_ranks: of a distributed training only rank 0 writes; with this each writes a folder of its own. The rank is
            that of RANK, of torch.distributed (call `init_process_group` before), of Slurm or of Open MPI.
        enabled: with False nothing is written.
        max_bytes: no measurements are kept once samples.jsonl is this long; scalars always are.
        """
        super().__init__(Notices(self._notice))
        self._writer: Writer | None = None
        #: Levels and sentences from before there is a writer.
        self._early_notices: list[tuple[str, str]] = []
        self._pid = os.getpid()
        self._finished = False
        self.name = str(name)[: folder.MAX_KEY]
        self.folder: str | None = None
        self.allow: list[str] = []
        #: Functions that add scalars: called with the step at each `log`; a step may have several.
        self.collectors: list[Callable[[int], Mapping[str, Any]]] = []
        #: Objects whose `logged(step)` is called after each `log`, and `finish()` at the end.
        self.listeners: list[Any] = []
        self.last_step: int | None = None
        #: The thread in which a question is being answered: what it computes is not a step of the training.
        self.answering_thread: int | None = None
        self.updates = Updates(self._updated, lambda e: self.notices.error("updates", "updates are not counted", e))
        #: What `save` and `scale_lr` act on: set by `watch`, or by the script.
        self.model: Any = None
        self.optimizer: Any = None
        self._seed = self._checked_seed(seed)
        self._settings: dict[str, Any] = {}
        self._known: dict[str, Any] = {}
        self._scalars = ScalarChannels(self.notices)
        self._began = time.monotonic()
        self._started_at = folder.now()
        self._describing = False
        self._snapshots: Any = None
        self._questions: Any = None
        #: What counts the evaluations of fields, by the name they are logged under.
        self._fields: dict[str, Any] = {}
        try:
            self._add_settings(config)
            if total_steps:
                self._known.update(folder.facts({"total_steps": total_steps}))
            self.allow = [str(a) for a in ([allow] if isinstance(allow, str) else allow)]
            self._scalars.names = {str(name): str(channel) for name, channel in dict(names or {}).items()}
        except Exception as e:
            self.notices.error("settings", "settings of the run are left out", e)
        try:
            if enabled and self._is_written(all_ranks):
                self._open(dir, resume, max_bytes)
            if self._writer is not None and self.allow:
                from .questions import Questions

                self._questions = Questions(self, on_save, dict(answers or {}))
                self.updates.begin()
        except Exception as e:
            self.notices.error("init", "init", e)
        open_runs.add(self)

    def _checked_seed(self, seed: Any) -> int:
        with contextlib.suppress(TypeError):
            index = operator.index(seed)
            if not isinstance(seed, bool) and 0 <= index < 2**63:
                return index
        self.notices.once("seed", f"a seed is a whole number from 0, not {seed!r}: 0 is written")
        return 0

    def _add_settings(self, config: Any) -> None:
        self._settings, sentences = folder.settings(config, self._settings)
        for text in sentences:
            self.notices.once(text, text)

    def _is_written(self, all_ranks: bool) -> bool:
        """True where this process of a distributed training writes."""
        rank, source = process_rank()
        if rank == 0:
            return True
        if all_ranks:
            self.name += f"-rank{rank}"
        elif source not in ("RANK", "torch.distributed"):
            # such a job may also be several trainings that know nothing of each other
            self.notices.once("rank", f"rank {rank} ({source}) writes no run: rank 0 does; all_ranks=True: each does")
        return all_ranks

    def _open(self, dir: str, resume: str | None, max_bytes: int) -> None:
        try:
            # absolute, as the script may change its working directory
            parent = os.path.abspath(os.fspath(dir))
            self._writer = self._writer_in(parent, resume and os.path.abspath(os.fspath(resume)), max_bytes)
        except OSError as e:
            why = e.strerror or str(e)
            self.notices.once("folder", f"no run is recorded: cannot make a folder in `{dir}`: {why}; training goes on")
            return
        self._writer.on_idle = self._attention.flush_old
        self._writer.event(state="running")
        for level, text in self._early_notices:
            self._notice(level, text)

    def _writer_in(self, parent: str, resume: str | None, max_bytes: int) -> Writer:
        if resume:
            try:
                return self._resumed(resume, max_bytes)
            except BlockingIOError:
                text = f"`{resume}` is being written by another process: this one writes a folder beside it"
                self.notices.once("busy", text)
                parent = os.path.dirname(resume)
            except (OSError, Refused) as e:
                why = (e.strerror or str(e)) if isinstance(e, OSError) else str(e)
                text = f"`{resume}` cannot be gone on with: {why}; a new folder in `{parent}` is written"
                self.notices.once("resume", text)
        self.folder = path = folder.create(parent, self.name, self._seed, self._description())
        return Writer(path, self.notices, max_bytes)

    def _resumed(self, path: str, max_bytes: int) -> Writer:
        folder.read_previous_run(path)  # refuses before any file is made there
        writer = Writer(path, self.notices, max_bytes)
        self.folder = path
        self._restore(folder.read_previous_run(path))
        try:
            self._describe()
        except OSError as e:
            self.notices.error("describe", f"run.json in `{path}` stays as it was", e)
        return writer

    def _restore(self, previous: folder.PreviousRun) -> None:
        """Keeps what the folder tells of the run so far."""
        if self.name == "run":
            self.name = previous.name or self.name
        self._seed = self._seed or previous.seed or 0
        self._settings = {**previous.settings, **self._settings}
        self._add_settings(None)
        self._known = {**previous.known, **self._known}
        self._started_at = previous.started_at or self._started_at
        self._began -= previous.wall_secs
        self.last_step = previous.last_step

    def _description(self) -> dict[str, bytes]:
        """run.json and config.toml as far as they are known."""
        # copies: the script's thread may add some meanwhile
        settings, known = dict(self._settings), dict(self._known)
        record = folder.description(self.name, self._seed, settings, self._started_at, self.allow, **known)
        return {"run.json": record, "config.toml": folder.toml(self.name, self._seed, settings)}

    def _describe(self) -> None:
        assert self.folder is not None
        self._describing = False
        for name, text in self._description().items():
            folder.write_whole(os.path.join(self.folder, name), [text])

    @property
    def active(self) -> Writer | None:
        """The writer, where this process writes; said once in a forked child, which does not."""
        if self._writer is None:
            return None
        if self._finished:
            self.notices.once("finished", "the run has ended: what is logged after finish() is left out")
            return None
        if os.getpid() != self._pid:
            self.notices.once("fork", "a forked process does not write its parent's run: call init() there")
            return None
        return self._writer

    @property
    def next_step(self) -> int:
        """The step that `log` takes where none is given."""
        return 0 if self.last_step is None else self.last_step + 1

    def _notice(self, level: str, text: str) -> None:
        writer = self._writer
        if writer is None:
            self._early_notices.append((level, text))
        elif not self._finished and os.getpid() == self._pid:
            writer.event(notice={"level": level, "text": text})

    def _step(self, step: Any) -> int:
        if step is None:
            return self.next_step if self.last_step is None else self.last_step
        if hasattr(step, "item") and not isinstance(step, int):
            step = step.item()
        if isinstance(step, float) and step.is_integer():
            step = int(step)
        if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < 2**53:
            raise Refused("step", f"a step is a whole number from 0, not {step!r}: left out")
        return step

    @never_raises
    def log(self, values: Mapping[str, Any], step: int | None = None) -> None:
        """Scalars of one step by name. Nested dicts are joined by `/`.

        `step` counts finished updates; left out, it is one more than the last. Names stay as they are: `loss/train` and
        `loss/held_out`, cross-entropies in nats per token, are what the view Loss draws. `init(names=..)` maps others.
        """
        writer = self.active
        if writer is None:
            return
        if not hasattr(values, "items"):
            raise TypeError(f"log takes a dict of numbers, as {{'gate': gate}}, and not a {type(values).__name__}")
        step = self.next_step if step is None else self._step(step)
        if self.last_step is not None and step < self.last_step:
            self.notices.once("back", f"step {step} comes after step {self.last_step}: steps should not fall")
        scalars: dict[str, arrays.Scalar] = {}
        self._scalars.add(scalars, values)
        for collect in list(self.collectors):
            try:
                self._scalars.add(scalars, collect(step))
            except Exception as e:
                self.notices.error(f"collector {collect}", "a measurement was left out", e)
        self.last_step = step
        writer.step = max(writer.step, step)
        wall = time.monotonic() - self._began
        if scalars:
            size = sum(64 + len(name) for name in scalars)
            writer.put(METRICS, lambda: metrics_line(step, wall, scalars), size)
        self._attention.flush_before(step)
        self.updates.logged(step)
        for listener in list(self.listeners):
            self._notify_listener(listener, listener.logged, step)
        if self._questions is not None:
            self._questions.look(step)

    def _updated(self) -> None:
        """PyTorch's optimizer has stepped: questions need not wait for the next log."""
        if self._questions is not None and not self._finished and self.active is not None:
            self._questions.look(self.updates.steps.finished_step(self.last_step))

    def _notify_listener(self, listener: Any, method: Callable[..., Any], *args: int) -> None:
        """A listener that fails leaves out its own part, and neither the other listeners nor the end of the run."""
        try:
            method(*args)
        except Exception as e:
            self.notices.error(f"listener {type(listener).__name__}", "a measurement was left out", e)

    def log_weights(
        self,
        model: Any,
        step: int | None = None,
        *,
        budget: int = 1 << 30,
        names: Iterable[str] | None = None,
    ) -> bool:
        """A snapshot of a model's weights (a module, or a dict of arrays or lists by name); False if it is left out.

        All snapshots together stay within `budget` bytes: those that lie closest in time are removed, the first and the
        last stay. `names` are patterns such as `*.attn.*`.
        """
        try:
            return self._take_snapshot(model, self._step(step), budget, None if names is None else list(names))
        except Exception as e:
            self.notices.error("error log_weights", "log_weights", e)
            return False

    def _take_snapshot(self, model: Any, step: int, budget: int = 1 << 30, names: list[str] | None = None) -> bool:
        if self.active is None:
            return False
        if self._snapshots is None:
            from .weights import Snapshots

            self._snapshots = Snapshots(self)
        return bool(self._snapshots.take(model, step, budget, names))

    @never_raises
    def changed(self, key: str, value: Any, step: int | None = None) -> None:
        """A setting that was changed while the model trains."""
        writer = self.active
        if writer is not None:
            step = self._step(step)
            made = {"step": step, "key": str(key)[: folder.MAX_KEY], "value": folder.setting(value)}
            writer.step = max(writer.step, step)
            writer.event(folder.MAX_TEXT, changed=made)

    @never_raises
    def update(self, config: Any = None, **known: Any) -> None:
        """Adds settings, or facts of the run: params, total_steps, device, corpus, vocab, tokens_per_step."""
        writer = self.active
        if writer is None:
            return
        self._add_settings(config)
        for key, value in known.items():
            try:
                self._known.update(folder.facts({key: value}))
            except Exception as e:
                self.notices.error(f"fact {key}", f"`{key}` is left out", e)
        if self._describing:
            return
        self._describing = True
        if not writer.put(METRICS, self._describe, 0):
            self._describing = False

    def watch(self, model: Any, every: int = 50, attention: bool | None = None, **options: Any) -> Any:
        """See `orrery_log.watch`."""
        try:
            from .model_watch import Watch

            return Watch(self, model, every, attention, **options)
        except Exception as e:
            self.notices.error("watch", "the model is not watched", e)
            return None

    def ode(self, func: Any, every: int = 50, name: str = "ode") -> Any:
        """See `orrery_log.ode`."""
        try:
            from .field import Field

            field = self._fields.get(name)
            if field is None:
                field = self._fields[name] = Field(self, name)
            field.every = max(int(every), 1)
            return field.watch(func)
        except Exception as e:
            self.notices.error("ode", "the field is not watched", e)
            return func

    @never_raises
    def finish(self, error: str | None = None, timeout: float = 30.0) -> None:
        """Writes what waits (for `timeout` seconds at most) and ends the run; `error` says why it failed."""
        if self._finished or os.getpid() != self._pid:
            return  # a forked child ends, and its parent's run does not
        writer = self.active
        if writer is None:
            return
        self.updates.end()
        self._attention.flush()
        for listener in list(self.listeners):
            self._notify_listener(listener, listener.finish)
        interrupted = error is not None and error.startswith("KeyboardInterrupt")
        failed = {"failed": {"message": str(error)[: folder.MAX_TEXT]}}
        writer.event(state="finished" if error is None else "stopped" if interrupted else failed)
        if not writer.close(timeout):
            self.notices.once("timeout", f"the last measurements were not written within {timeout:.0f} s")
        self._finished = True

    def flush(self, timeout: float = 30.0) -> bool:
        """Waits until what was logged is written; False after `timeout` seconds."""
        writer = self.active
        if writer is None:
            return False
        self._attention.flush()
        return writer.flush(timeout)

    def abandon(self) -> None:
        """For a forked child, which does not write its parent's run. Locks that other threads held are made anew."""
        self.notices.forked()
        self.updates.end()
        self._attention.forked()
        if self._writer is not None and not self._finished:  # the files of one that has ended are closed already
            self._writer.abandon()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        ended_well = kind is None or (issubclass(kind, SystemExit) and not value.code)
        self.finish(None if ended_well else f"{kind.__name__}: {value}")


#: The runs of this process, which end with it.
open_runs: weakref.WeakSet[Run] = weakref.WeakSet()


def process_rank() -> tuple[int, str]:
    """The rank of this process in a distributed training, 0 where there is none, and what tells it."""
    if os.environ.get("RANK", "").isdigit():
        return int(os.environ["RANK"]), "RANK"
    with contextlib.suppress(Exception):
        distributed = sys.modules["torch"].distributed
        if distributed.is_available() and distributed.is_initialized():
            return int(distributed.get_rank()), "torch.distributed"
    for name in ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name]), name
    return 0, ""


def metrics_line(step: int, wall: float, scalars: Mapping[str, arrays.Scalar]) -> bytes:
    fields: dict[str, Any] = {"step": step, "variant": folder.VARIANT, "wall_secs": round(wall, 6)}
    for channel, value in scalars.items():
        fields[channel] = arrays.settled(value)
    return line(fields)
