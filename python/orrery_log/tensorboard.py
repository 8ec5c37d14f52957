"""A `SummaryWriter` that writes a run folder: `from orrery_log.tensorboard import SummaryWriter`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import orrery_log

from .notices import Notices
from .runs import Run

_notices = Notices()


class SummaryWriter:
    """The methods of PyTorch's writer that have a meaning here; the others do nothing, which is said once.

    `log_dir` (tensorboardX: `logdir`) is a folder's path: its last part is the run's name, the rest is where the folder
    is made. `names` is that of `orrery_log.init`.
    """

    def __init__(
        self,
        log_dir: Any | None = None,
        comment: str = "",
        *_: Any,
        logdir: Any | None = None,
        names: Mapping[str, str] | None = None,
        **__: Any,
    ) -> None:
        log_dir = log_dir or logdir
        path = os.path.normpath(os.fspath(log_dir)) if log_dir else os.path.join("runs", f"run{comment}")
        parent, name = os.path.split(path)
        self._run = Run(name or "run", dir=parent or ".", names=names)
        orrery_log._runs.add(self._run)
        self.log_dir = self._run.folder or path
        self._steps: dict[str, int] = {}

    @property
    def run(self) -> Run:
        """The run, for what TensorBoard has no word for: attention, watch."""
        return self._run

    def _step(self, tag: str, step: int | None) -> int:
        """The step that was given, or one more than the tag's last."""
        if step is None:
            step = self._steps.get(tag, -1) + 1
        if isinstance(step, int):
            self._steps[tag] = step
        return step

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, *_: Any, **__: Any) -> None:
        """One number."""
        self._run.log({tag: scalar_value}, self._step(tag, global_step))

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any] | None, global_step: int | None = None, *_: Any, **__: Any
    ) -> None:
        """Numbers of one group."""
        values = {f"{main_tag}/{tag}": value for tag, value in (tag_scalar_dict or {}).items()}
        self._run.log(values, self._step(main_tag, global_step))

    def add_text(self, tag: str, text_string: str, global_step: int | None = None, *_: Any, **__: Any) -> None:
        """A text."""
        self._run.text(tag, text_string, self._step(tag, global_step))

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = 64, *_: Any, **__: Any
    ) -> None:
        """The distribution of values, in bins of one width."""
        self._run.histogram(tag, values, self._step(tag, global_step), bins=bins if isinstance(bins, int) else 64)

    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: int | None = None,
        *_: Any,
        **__: Any,
    ) -> None:
        """A distribution that is counted already, by the upper ends of its bins."""
        self._run.histogram_counts(tag, bucket_counts, [min, *bucket_limits], self._step(tag, global_step))

    def add_tensor(self, tag: str, tensor: Any, global_step: int | None = None, *_: Any, **__: Any) -> None:
        """An array of one to three axes."""
        self._run.matrix(tag, tensor, self._step(tag, global_step))

    def add_hparams(self, hparam_dict: dict[str, Any], metric_dict: dict[str, Any], *_: Any, **__: Any) -> None:
        """Settings, and numbers at the last step."""
        self._run.update(hparam_dict)
        self._run.log(metric_dict, self._run.last_step or 0)

    def get_logdir(self) -> str:
        """The run's folder."""
        return self.log_dir

    @property
    def logdir(self) -> str:
        """The run's folder, by tensorboardX's name."""
        return self.log_dir

    @property
    def file_writer(self) -> SummaryWriter:
        """This writer: there is one file of each kind."""
        return self

    @property
    def all_writers(self) -> dict[str, SummaryWriter]:
        """This writer, by its folder."""
        return {self.log_dir: self}

    def _get_file_writer(self) -> SummaryWriter:
        return self

    def flush(self) -> None:
        """Everything is written within a second; nothing waits for it."""

    def close(self) -> None:
        """Ends the run."""
        self._run.finish()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self._run.finish(None if kind is None else f"{kind.__name__}: {value}")

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(("add_", "export_")):
            raise AttributeError(name)
        _notices.once(name, f"SummaryWriter.{name} has no meaning in a run folder: it does nothing")
        return lambda *_, **__: None
