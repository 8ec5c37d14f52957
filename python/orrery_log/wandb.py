"""The most used calls of Weights & Biases, written into a run folder: `import orrery_log.wandb as wandb`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import orrery_log

from .notices import Notices

_notices = Notices()


class Histogram:
    """The distribution of many values, or counts that are known: `np_histogram=(counts, edges)`."""

    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = 64) -> None:
        self.sequence = sequence
        self.np_histogram = np_histogram
        self.num_bins = num_bins


class Html:
    """A text; its markup is shown as it is."""

    def __init__(self, data: Any, **_: Any) -> None:
        self.text = data.read() if hasattr(data, "read") else str(data)


class Config:
    """Settings by name, as attributes or items."""

    def __init__(self) -> None:
        self.__dict__["_values"] = {}

    def update(self, values: Any = None, allow_val_change: bool = True, **more: Any) -> None:
        given = vars(values) if hasattr(values, "__dict__") and not isinstance(values, Mapping) else dict(values or {})
        self._values.update(given, **more)
        if orrery_log.run is not None:
            orrery_log.run.update({**given, **more})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({name: value})

    __getitem__ = __getattr__
    __setitem__ = __setattr__

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def keys(self) -> Any:
        return self._values.keys()

    def items(self) -> Any:
        return self._values.items()

    def as_dict(self) -> dict[str, Any]:
        return dict(self._values)


class Summary(dict):  # type: ignore[type-arg]
    """The last value of each name."""


class WandbRun:
    """What `init` returns."""

    def __init__(self, written: orrery_log.Run) -> None:
        self.written = written
        self.name = self.id = written.name
        self.dir = written.folder
        self.url = None
        self.config = config
        self.summary = summary

    @property
    def step(self) -> int:
        return self.written.next_step

    def log(self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
        log(data, step, commit)

    def watch(self, models: Any, *args: Any, **kwargs: Any) -> None:
        watch(models, *args, **kwargs)

    def finish(self, exit_code: int | None = None, **_: Any) -> None:
        finish(exit_code)

    def __enter__(self) -> WandbRun:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _end(None if kind is None else f"{kind.__name__}: {value}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing(f"run.{name}")


config = Config()
summary = Summary()
run: WandbRun | None = None
_uncommitted: dict[str, Any] = {}


def init(
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    dir: str | None = None,
    mode: str | None = None,
    **options: Any,
) -> WandbRun:
    """Begins a run folder in `dir` (`runs`), named by `name` or by `project`. `mode="disabled"` writes nothing;
    other options have no meaning here.
    """
    global run
    enabled = (mode or os.environ.get("WANDB_MODE")) != "disabled"
    parent = str(dir) if dir else "runs"
    written = orrery_log.init(name or project or "run", config=config, dir=parent, enabled=enabled)
    _uncommitted.clear()
    summary.clear()
    globals()["config"]._values.clear()
    if config:
        globals()["config"]._values.update(dict(config) if isinstance(config, Mapping) else vars(config))
    run = WandbRun(written)
    return run


def log(data: Mapping[str, Any], step: int | None = None, commit: bool | None = None) -> None:
    """Scalars of one step; histograms and texts beside them. With `commit=False` they wait for the next call."""
    current = orrery_log.run
    if current is None:
        _notices.once("no run", "wandb.log() before wandb.init(): nothing is recorded")
        return
    _uncommitted.update(data)
    if commit is False:
        return
    taken = dict(_uncommitted)
    _uncommitted.clear()
    at = current.next_step if step is None else step
    scalars: dict[str, Any] = {}
    for key, value in taken.items():
        if isinstance(value, Histogram):
            if value.np_histogram is not None:
                counts, edges = value.np_histogram
                middles = [(float(a) + float(b)) / 2 for a, b in zip(edges, list(edges)[1:])]
                current.curves(key, {"count": (middles, list(counts))}, at)
            else:
                current.histogram(key, value.sequence, at, bins=value.num_bins)
        elif isinstance(value, Html):
            current.text(key, value.text, at)
        elif isinstance(value, str):
            current.text(key, value, at)
        elif isinstance(value, _Nothing):
            continue
        else:
            scalars[key] = value
    # a loss that is kept would keep the graph of its step, and with it every activation
    summary.update({k: v.detach() if hasattr(v, "detach") else v for k, v in scalars.items()})
    current.log(scalars, at)


def watch(models: Any, criterion: Any = None, log: Any = "gradients", log_freq: int = 50, **_: Any) -> None:
    """Watches a model by `orrery_log.watch`: attention maps, not histograms of gradients."""
    for model in models if isinstance(models, (list, tuple)) else [models]:
        orrery_log.watch(model, every=log_freq)


def finish(exit_code: int | None = None, **_: Any) -> None:
    """Ends the run."""
    _end(f"exit code {exit_code}" if exit_code else None)


def _end(error: str | None) -> None:
    """Logs what waits for a commit and ends the run; `error` says why it failed."""
    global run
    if _uncommitted and orrery_log.run is not None:
        log({}, commit=True)
    orrery_log.finish(error)
    run = None


class _Nothing:
    """Stands for what has no meaning in a run folder: it can be called, entered and asked for more of the same."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *_: Any, **__: Any) -> _Nothing:
        return self

    def __getattr__(self, name: str) -> _Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


def _nothing(name: str) -> _Nothing:
    _notices.once(name, f"wandb.{name} has no meaning in a run folder: it does nothing")
    return _Nothing(name)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _nothing(name)
