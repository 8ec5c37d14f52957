"""The most used calls of Weights & Biases, written into a run folder: `import orrery_log.wandb as wandb`."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Callable

import orrery_log

from .notices import Notices
from .scalars import MAX_DEPTH

#: What scripts compare: the version of wandb that these calls follow.
__version__ = "0.16.0"
_notices = Notices()


class Histogram:
    """The distribution of many values, or counts that are known: `np_histogram=(counts, edges)`."""

    def __init__(self, sequence: Any = None, np_histogram: Any = None, num_bins: int = 64) -> None:
        self.sequence = sequence
        self.np_histogram = np_histogram
        self.num_bins = num_bins


class Table:
    """Rows of values under named columns."""

    def __init__(
        self, columns: Any = None, data: Any = None, rows: Any = None, dataframe: Any = None, **_: Any
    ) -> None:
        if dataframe is not None and columns is None:
            columns, data = list(dataframe.columns), dataframe.values.tolist()
        given = data if data is not None else rows
        self.data: list[list[Any]] = [list(row) for row in (() if given is None else given)]
        width = len(self.data[0]) if self.data else 0
        self.columns = [str(c) for c in columns] if columns is not None else [str(i + 1) for i in range(width)]

    def add_data(self, *data: Any) -> None:
        self.data.append(list(data))

    def add_row(self, *row: Any) -> None:
        self.add_data(*row)

    def add_column(self, name: str, data: Any, **_: Any) -> None:
        values = list(data)
        self.data.extend([] for _ in range(len(values) - len(self.data)))
        self.columns.append(str(name))
        for row, value in zip(self.data, values):
            row.append(value)

    def get_column(self, name: str, **_: Any) -> list[Any]:
        index = self.columns.index(name)
        return [row[index] for row in self.data]

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        return iter(list(enumerate(self.data)))


class Html:
    """A text; its markup is shown as it is."""

    def __init__(self, data: Any, **_: Any) -> None:
        self.text = data.read() if hasattr(data, "read") else str(data)


def settings_of(values: Any) -> dict[str, Any]:
    """Settings as a dict, from a mapping or an object with attributes; none, and that is said once, of a file."""
    if values is None:
        return {}
    if hasattr(values, "keys") and hasattr(values, "__getitem__"):
        return {str(key): values[key] for key in values.keys()}  # noqa: SIM118
    if hasattr(values, "__dict__"):
        return dict(vars(values))
    _notices.once("config", f"config={str(values)[:80]!r} is not read: a dict or a namespace is recorded")
    return {}


class Config(MutableMapping):  # type: ignore[type-arg]
    """Settings by name, as attributes or items."""

    def __init__(self) -> None:
        self.__dict__["_values"] = {}

    def update(self, values: Any = None, allow_val_change: bool = True, **more: Any) -> None:  # type: ignore[override]
        given = {**settings_of(values), **more}
        self._values.update(given)
        if orrery_log.run is not None:
            orrery_log.run.update(given)

    def setdefaults(self, values: Any) -> dict[str, Any]:
        self.update({k: v for k, v in settings_of(values).items() if k not in self._values})
        return self.as_dict()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def as_dict(self) -> dict[str, Any]:
        return dict(self._values)


class Summary(dict):  # type: ignore[type-arg]
    """The last value of each name. What the script sets itself is logged as `summary/NAME` when the run ends."""

    def __init__(self) -> None:
        super().__init__()
        self.of_script: set[str] = set()

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    def update(self, *values: Any, **more: Any) -> None:
        given = dict(*values, **more)
        self.of_script |= given.keys()
        super().update(given)

    def clear(self) -> None:
        super().clear()
        self.of_script.clear()


class WandbRun:
    """What `init` returns."""

    resumed = disabled = False
    offline = True
    url = sweep_id = group = job_type = notes = None
    entity = ""
    tags: tuple[str, ...] = ()

    def __init__(self, written: orrery_log.Run, project: str) -> None:
        self.written = written
        self.name = self.id = written.name
        self.project = project
        self.config = config
        self.summary = summary

    @functools.cached_property
    def dir(self) -> str:
        """The run's folder; a temporary one for a script's own files where nothing is recorded."""
        return self.written.folder or tempfile.mkdtemp()

    @property
    def step(self) -> int:
        return self.written.next_step

    def log(self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, **_: Any) -> None:
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
Run = WandbRun
_sweeps: dict[str, dict[str, Any]] = {}
_sweep: dict[str, Any] = {}
_uncommitted: dict[str, Any] = {}


def init(
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    dir: str | None = None,
    mode: str | None = None,
    names: Mapping[str, str] | None = None,
    **options: Any,
) -> WandbRun:
    """Begins a run folder in `dir` (`runs`), named by `name` or by `project`. `mode="disabled"` writes nothing; `names`
    is that of `orrery_log.init`. Other options have no meaning here. WANDB_PROJECT, WANDB_MODE and WANDB_DISABLED are
    read.
    """
    global run
    if mode is None and os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes", "on"):
        mode = "disabled"
    enabled = (mode or os.environ.get("WANDB_MODE")) != "disabled"
    parent = str(dir) if dir else "runs"
    project = project or os.environ.get("WANDB_PROJECT") or ""
    settings = {**settings_of(config), **_sweep}
    written = orrery_log.init(name or project or "run", config=settings, dir=parent, names=names, enabled=enabled)
    _uncommitted.clear()
    summary.clear()
    globals()["config"]._values.clear()
    globals()["config"]._values.update(settings)
    run = WandbRun(written, project)
    return run


def log(data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, **_: Any) -> None:
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
    for key, value in joined(taken).items():
        if isinstance(value, Histogram):
            if value.np_histogram is not None:
                counts, edges = value.np_histogram
                current.histogram_counts(key, counts, edges, at)
            else:
                current.histogram(key, value.sequence, at, bins=value.num_bins)
        elif isinstance(value, Html):
            current.text(key, value.text, at)
        elif isinstance(value, str):
            current.text(key, value, at)
        elif isinstance(value, Table):
            current.table(key, value.columns, value.data, at)
        elif isinstance(value, _Nothing) or is_list_of(value, _Nothing):
            continue
        elif is_list_of(value, Table):
            for number, one in enumerate(value):
                current.table(f"{key}/{number}", one.columns, one.data, at)
        else:
            scalars[key] = value
    # a loss that is kept would keep the graph of its step, and with it every activation
    dict.update(summary, {k: v.detach() if hasattr(v, "detach") else v for k, v in scalars.items()})
    summary.of_script -= scalars.keys()
    current.log(scalars, at)


def is_list_of(value: Any, kind: type) -> bool:
    """True for a list that is not empty and holds objects of this class alone, such as pictures."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(one, kind) for one in value)


def joined(values: Mapping[Any, Any], prefix: str = "", depth: int = 0) -> dict[str, Any]:
    """Nested dicts as one, their names joined by `/`."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping) and depth < MAX_DEPTH:
            flat.update(joined(value, f"{prefix}{key}/", depth + 1))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def watch(models: Any, criterion: Any = None, log: Any = "gradients", log_freq: int = 50, **_: Any) -> None:
    """Watches a model by `orrery_log.watch`: attention maps, not histograms of gradients, which is said once."""
    if log is not None:
        _notices.once("watch", f"wandb.watch looks for attention; histograms of log={log!r} are not written")
    for model in models if isinstance(models, (list, tuple)) else [models]:
        orrery_log.watch(model, every=log_freq)


def finish(exit_code: int | None = None, **_: Any) -> None:
    """Ends the run."""
    _end(f"exit code {exit_code}" if exit_code else None)


def _end(error: str | None) -> None:
    """Logs what waits for a commit and ends the run; `error` says why it failed."""
    global run
    current = orrery_log.run
    if current is not None:
        if _uncommitted:
            log({}, commit=True)
        own = {name: summary[name] for name in sorted(summary.of_script & summary.keys())}
        if own:
            log({"summary": own}, current.last_step or 0)
    orrery_log.finish(error)
    run = None


def login(*_: Any, **__: Any) -> bool:
    """True: there is no account."""
    return True


def sweep(sweep: Any = None, *_: Any, **__: Any) -> str:
    """Keeps the first value of each parameter, with which `agent` runs its function; there are no sweeps."""
    parameters = settings_of(settings_of(sweep).get("parameters"))
    given = {name: settings_of(one) for name, one in parameters.items()}
    name = f"sweep-{len(_sweeps) + 1}"
    _sweeps[name] = {k: v.get("value", next(iter(v.get("values") or ()), v.get("min"))) for k, v in given.items()}
    return name


def agent(sweep_id: Any, function: Callable[[], Any] | None = None, *_: Any, **__: Any) -> None:
    """Calls the function once."""
    global _sweep
    if function is None:
        _nothing("agent without a function")
        return
    _notices.once("agent", "wandb.agent makes no sweep: its function runs once, with the first value of each setting")
    _sweep = _sweeps.get(str(sweep_id), {})
    try:
        function()
    finally:
        _sweep = {}


class _Nothing:
    """Stands for what has no meaning in a run folder: it can be called, entered and asked for more of the same.

    It is false, empty, and as text "", which added to anything changes nothing.
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        _nothing(type(self).__name__)

    def __call__(self, *_: Any, **__: Any) -> _Nothing:
        return self

    def __getattr__(self, name: str) -> _Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, key: Any) -> _Nothing:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __str__(self) -> str:
        return ""

    __fspath__ = __str__

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: Any) -> None:
        return None


def _nothing(name: str) -> _Nothing:
    _notices.once(name, f"wandb.{name} has no meaning in a run folder: it does nothing")
    return object.__new__(_Nothing)


class Error(Exception):
    """Every error of wandb; none is raised here."""


class _Errors:
    """`wandb.errors`, whose names are used in `except`."""

    def __getattr__(self, name: str) -> type[Error]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Error


errors = _Errors()
CommError = UsageError = Error


# classes, for `isinstance`
class Image(_Nothing):
    """A picture."""


class Artifact(_Nothing):
    """A file with versions."""


class Video(_Nothing):
    """A film."""


class Audio(_Nothing):
    """A sound."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _nothing(name)
