"""A run: what the functions of the package write into."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from . import arrays, folder
from .attention_maps import Layer
from .attention_maps import payload as attention_payload
from .measurements import Measurements
from .notices import Notices, Refused, never_raises
from .numbers import line
from .writer import METRICS, SAMPLES, Writer

#: What Orrery's views look for, and the names that scripts give it.
ALIASES = {
    "loss": "loss/train",
    "train_loss": "loss/train",
    "train/loss": "loss/train",
    "val_loss": "loss/held_out",
    "valid_loss": "loss/held_out",
    "eval_loss": "loss/held_out",
    "val/loss": "loss/held_out",
    "valid/loss": "loss/held_out",
    "eval/loss": "loss/held_out",
    "loss/val": "loss/held_out",
    "lr": "train/lr",
    "learning_rate": "train/lr",
    "train/learning_rate": "train/lr",
    "grad_norm": "train/grad_norm",
}
#: Columns of metrics.jsonl that are no scalars.
COLUMNS = ("step", "variant", "wall_secs")
#: Different scalars of one run.
MAX_SCALARS = 10_000
#: Layers of attention that come one by one are written together when none has come for so many seconds.
ATTENTION_SECS = 0.4


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
        enabled: bool = True,
    ) -> None:
        self.name = str(name)
        self.enabled = enabled
        self.folder: str | None = None
        self.notices = Notices(self._notice)
        self.allow = [str(a) for a in ([allow] if isinstance(allow, str) else allow)]
        #: Functions that add scalars to a step: called with the step by `log`.
        self.collectors: list[Callable[[int], Mapping[str, Any]]] = []
        #: Objects whose `logged(step)` is called after each logged step, and `finish()` at the end.
        self.listeners: list[Any] = []
        self.last_step: int | None = None
        self._seed = seed if isinstance(seed, int) and 0 <= seed < 2**63 else 0
        self._settings: dict[str, Any] = {}
        self._known: dict[str, Any] = {"total_steps": max(int(total_steps), 0)}
        self._names: dict[str, str] = {}
        self._attention: _PendingAttention | None = None
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._began = time.monotonic()
        self._started_at = folder.now()
        self._writer: Writer | None = None
        self._finished = False
        self._describing = False
        self._snapshots: Any = None
        self._questions: Any = None
        #: What `save` and `scale_lr` act on: set by `watch`, or by the script.
        self.model: Any = None
        self.optimizer: Any = None
        self._open(config, dir, resume, all_ranks, max_bytes, on_save, dict(answers or {}))

    @never_raises
    def _open(
        self,
        config: Any,
        dir: str,
        resume: str | None,
        all_ranks: bool,
        max_bytes: int,
        on_save: Callable[[], Any] | None,
        answers: dict[str, Callable[..., Any]],
    ) -> None:
        rank = os.environ.get("RANK", "0")
        if rank.isdigit() and int(rank) > 0:
            if not all_ranks:
                return  # one process of a training writes
            self.name += f"-rank{rank}"
        self._settings = folder.settings(config)
        if not self.enabled:
            return
        try:
            self._writer = self._writer_in(os.fspath(dir), resume and os.fspath(resume), max_bytes)
        except OSError as e:
            why = e.strerror or str(e)
            self.notices.once("folder", f"no run is recorded: cannot make a folder in `{dir}`: {why}; training goes on")
            return
        self._writer.on_idle = self._flush_old_attention
        self._writer.event(state="running")
        if self.allow:
            from .questions import Questions

            self._questions = Questions(self, on_save, answers)

    def _writer_in(self, parent: str, resume: str | None, max_bytes: int) -> Writer:
        if resume is not None:
            try:
                writer = Writer(resume, self.notices, max_bytes)
                self.folder = resume
                self._go_on(folder.earlier(resume))
                self._describe()
                return writer
            except BlockingIOError:
                text = f"`{resume}` is being written by another process: this one writes a folder beside it"
                self.notices.once("busy", text)
                parent = os.path.dirname(os.path.abspath(resume))
        path = folder.create(parent, self.name, self._seed)
        self.folder = path
        self._describe()
        return Writer(path, self.notices, max_bytes)

    def _go_on(self, earlier: folder.Earlier) -> None:
        """Keeps what the folder tells of the run so far."""
        self._settings = {**earlier.settings, **self._settings}
        self._started_at = earlier.started_at or self._started_at
        self._began -= earlier.wall_secs
        self.last_step = earlier.last_step

    def _describe(self) -> None:
        """Writes run.json and config.toml as far as they are known."""
        assert self.folder is not None
        self._describing = False
        text = folder.description(
            self.name, self._seed, self._settings, self._started_at, self.allow, **dict(self._known)
        )
        folder.write_whole(os.path.join(self.folder, "run.json"), [text])
        toml = folder.toml(self.name, self._seed, self._settings)
        folder.write_whole(os.path.join(self.folder, "config.toml"), [toml])

    @property
    def active(self) -> Writer | None:
        """The writer, where this process writes; said once in a forked child, which does not."""
        if self._writer is None or self._finished:
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
        if writer is not None and not self._finished and os.getpid() == self._pid:
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

        `step` counts finished updates; left out, it is one more than the last. `loss`, `val_loss`, `lr` and their
        like are written under the names that Orrery's views know (ALIASES).
        """
        writer = self.active
        if writer is None:
            return
        step = self.next_step if step is None else self._step(step)
        if self.last_step is not None and step < self.last_step:
            self.notices.once("back", f"step {step} comes after step {self.last_step}: steps should not fall")
        scalars: dict[str, arrays.Scalar] = {}
        self._take(scalars, "", values, 0)
        for collect in list(self.collectors):
            try:
                for key, value in collect(step).items():
                    self._take(scalars, "", {key: value}, 0)
            except Exception as e:
                self.notices.once(f"collector {collect}", f"a measurement was left out: {type(e).__name__}: {e}")
        self.last_step = step
        writer.step = max(writer.step, step)
        wall = time.monotonic() - self._began
        if scalars:
            writer.put(METRICS, lambda: metrics_line(step, wall, scalars))
        pending = self._attention
        if pending is not None and pending.step < step:
            self._flush_attention()
        for listener in list(self.listeners):
            self._tell(listener, lambda: listener.logged(step))
        if self._questions is not None:
            self._questions.look(step)

    def _tell(self, listener: Any, call: Callable[[], Any]) -> None:
        """A listener that fails leaves out its own part, and neither the other listeners nor the end of the run."""
        try:
            call()
        except Exception as e:
            self.notices.once(f"listener {type(listener).__name__}", f"a measurement was left out: {type(e).__name__}: {e}")

    def _take(self, into: dict[str, arrays.Scalar], prefix: str, values: Mapping[str, Any], depth: int) -> None:
        for key, value in values.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping) and depth < 8:
                self._take(into, f"{name}/", value, depth + 1)
                continue
            try:
                channel = self._channel(name)
                if channel in into:
                    text = f"`{name}` is given twice in one step (as `{channel}`): the first value is kept"
                    raise Refused(f"twice {name}", text)
                if value is not None:
                    into[channel] = arrays.scalar(value, name)
            except Refused as e:
                self.notices.once(f"refused {e.key}", str(e))
            except Exception as e:
                self.notices.once(f"value {name}", f"`{name}` is left out: {type(e).__name__}: {e}")

    def _channel(self, name: str) -> str:
        """The channel of a scalar; two names never share one."""
        known = self._names.get(name)
        if known is not None:
            return known
        if len(self._names) >= MAX_SCALARS:
            raise Refused(
                "scalars", f"more than {MAX_SCALARS:,} different scalars: `{name}` and further ones are left out"
            )
        channel = f"scalar/{name}" if name in COLUMNS else ALIASES.get(name, name)
        if channel in self._names.values():
            if name == channel or name in self._names.values():
                text = f"`{name}` has the same name as another scalar (`{channel}`): it is left out"
                raise Refused(f"name {name}", text)
            channel = name
        self._names[name] = channel
        return channel

    @never_raises
    def attention(
        self,
        layer: str,
        weights: Any,
        step: int | None = None,
        *,
        tokens: Iterable[Any] | None = None,
        about: str = "",
        differential: bool = False,
    ) -> None:
        """Attention weights of one layer, `(heads, T, T)` or `(T, T)`: head, query, key.

        Rows sum to 1, masked keys are 0.
        The layers of one step are shown together, in the order of the calls. `tokens` names the T places.
        `differential`: weights may be negative and rows need not sum to 1.
        """
        if self.active is None:
            return
        found = Layer.checked(str(layer), arrays.copy(weights, "attention"), differential)
        names = self._tokens(tokens, found.positions)
        self.attention_layers([found], self._step(step), tokens=names, about=about)

    def _tokens(self, tokens: Iterable[Any] | None, length: int) -> list[str] | None:
        try:
            return arrays.names(tokens, length, "tokens")
        except Refused as e:
            self.notices.once(f"refused {e.key}", str(e))
            return None

    def attention_layers(
        self, layers: list[Layer], step: int, *, tokens: list[str] | None = None, about: str = "", whole: bool = False
    ) -> None:
        """Takes layers of one step; `whole`: these are all of them."""
        with self._lock:
            pending = self._attention
            if pending is not None and (pending.step != step or pending.has(layers)):
                self._flush_attention()
                pending = None
            if pending is None:
                pending = self._attention = _PendingAttention(step, about)
            pending.layers += layers
            pending.tokens = pending.tokens or tokens
            pending.at = time.monotonic()
            if whole:
                self._flush_attention()

    def _flush_attention(self) -> None:
        with self._lock:
            pending, self._attention = self._attention, None
        if pending is not None:
            size = sum(layer.byte_size() for layer in pending.layers)
            self.sample(
                "attention.maps", lambda: attention_payload(pending.layers), pending.step, size,
                about=pending.about, tokens=pending.tokens,
            )  # fmt: skip

    def _flush_old_attention(self) -> None:
        pending = self._attention
        if pending is not None and time.monotonic() - pending.at > ATTENTION_SECS:
            self._flush_attention()

    def sample(
        self,
        channel: str,
        make: Callable[[], Any],
        step: int,
        size: int,
        *,
        about: str = "",
        tokens: list[str] | None = None,
    ) -> None:
        """A line of samples.jsonl; `make` gives its payload on the writer's thread, from `size` bytes that wait."""
        writer = self.active
        if writer is None:
            return
        writer.step = max(writer.step, step)

        def entry() -> bytes:
            fields: dict[str, Any] = {"step": step, "variant": folder.VARIANT, "channel": channel, "about": about}
            if tokens:
                fields["tokens"] = tokens
            fields["payload"] = make()
            return line(fields)

        writer.put(SAMPLES, entry, max(size, 1))

    @never_raises
    def log_weights(
        self,
        model: Any,
        step: int | None = None,
        *,
        budget: int = 1 << 30,
        names: Iterable[str] | None = None,
    ) -> None:
        """A snapshot of a model's weights (a module, or a dict of arrays by name).

        All snapshots together stay within `budget` bytes: those that lie closest in time are removed, the first and the
        last stay. `names` are patterns such as `*.attn.*`.
        """
        if self.active is None:
            return
        if self._snapshots is None:
            from .weights import Snapshots

            self._snapshots = Snapshots(self)
        self._snapshots.take(model, self._step(step), budget, None if names is None else list(names))

    @never_raises
    def changed(self, key: str, value: Any, step: int | None = None) -> None:
        """A setting that was changed while the model trains."""
        writer = self.active
        if writer is not None:
            writer.event(changed={"step": self._step(step), "key": str(key), "value": folder.setting(value)})

    @never_raises
    def update(self, config: Any = None, **known: Any) -> None:
        """Adds settings, or facts of the run: params, total_steps, device, corpus, vocab, tokens_per_step."""
        writer = self.active
        if writer is None:
            return
        with self._lock:
            self._settings.update(folder.settings(config))
            self._known.update(known)
            if self._describing:
                return
            self._describing = True

        if not writer.put(METRICS, self._describe, 0):
            self._describing = False

    def watch(self, model: Any, every: int = 50, attention: bool = True, **options: Any) -> Any:
        """See `orrery_log.watch`."""
        try:
            from .model_watch import Watch

            return Watch(self, model, every, attention, **options)
        except Exception as e:
            self.notices.once("watch", f"the model is not watched: {type(e).__name__}: {e}")
            return None

    def ode(self, func: Any, every: int = 50, name: str = "ode") -> Any:
        """See `orrery_log.ode`."""
        from .field import watch_field

        return watch_field(self, func, every, name)

    @never_raises
    def finish(self, error: str | None = None, timeout: float = 30.0) -> None:
        """Writes what waits (for `timeout` seconds at most) and ends the run; `error` says why it failed."""
        if os.getpid() != self._pid:
            return  # a forked child ends, and its parent's run does not
        writer = self.active
        if writer is None:
            return
        self._flush_attention()
        for listener in list(self.listeners):
            self._tell(listener, listener.finish)
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
        self._flush_attention()
        return writer.flush(timeout)

    def abandon(self) -> None:
        """For a forked child, which does not write its parent's run. Locks that other threads held are made anew."""
        self._lock = threading.RLock()
        self.notices = Notices()
        if self._writer is not None:
            self._writer.abandon()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.finish(None if kind is None else f"{kind.__name__}: {value}")


class _PendingAttention:
    """Layers of one step that were given one by one."""

    def __init__(self, step: int, about: str) -> None:
        self.step = step
        self.about = about
        self.tokens: list[str] | None = None
        self.layers: list[Layer] = []
        self.at = time.monotonic()

    def has(self, layers: list[Layer]) -> bool:
        paths = {layer.path for layer in self.layers}
        return any(layer.path in paths for layer in layers)


def metrics_line(step: int, wall: float, scalars: Mapping[str, arrays.Scalar]) -> bytes:
    fields: dict[str, Any] = {"step": step, "variant": folder.VARIANT, "wall_secs": round(wall, 6)}
    for channel, value in scalars.items():
        fields[channel] = arrays.settled(value)
    return line(fields)
