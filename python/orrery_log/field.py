"""Counts the evaluations of the field of an ODE, such as torchdiffeq's `func`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from . import arrays
from .capture import Hook

if TYPE_CHECKING:
    from .runs import Run

#: Evaluations whose time is kept in one step.
MAX_TIMES = 10_000


class Field:
    """The evaluations since the last logged step. A field is called as `func(t, y)`."""

    def __init__(self, run: Run, every: int, name: str) -> None:
        self.run = run
        self.every = max(int(every), 1)
        self.name = name
        self.evaluations = 0
        self._times: list[Any] = []
        self._due = 0
        self._is_due = True
        self.handle: Any = None
        run.collectors.append(self._scalars)
        run.listeners.append(self)

    def evaluated(self, t: Any) -> None:
        self.evaluations += 1
        if self._is_due and len(self._times) < MAX_TIMES:
            self._times.append(t.detach() if arrays.is_tensor(t) else t)

    def _scalars(self, step: int) -> dict[str, Any]:
        count, self.evaluations = self.evaluations, 0
        return {f"{self.name}/nfe": count} if count else {}

    def logged(self, step: int) -> None:
        if self._times and step >= self._due:
            self._due = (step // self.every + 1) * self.every
            self._write(step)
        if self._is_due:
            self._times = []
        self._is_due = step + 1 >= self._due

    def _write(self, step: int) -> None:
        times = self._times
        copies = [arrays.scalar(t, "t") for t in times]

        def payload() -> Any:
            numbers = list(range(1, len(copies) + 1))
            curve = {"name": "t", "x": numbers, "y": [arrays.settled(t) for t in copies]}
            return {"kind": "curves", "x_axis": "evaluation of the field", "y_axis": "t", "curves": [curve]}

        about = f"{len(copies)} evaluations of the field, forward and backward passes"
        self.run.sample(f"curves/{self.name}", payload, step, 64 * len(copies), about=about)

    def finish(self) -> None:
        self._is_due = False
        if self.handle is not None:
            self.handle.remove()


def watch_field(run: Run, func: Any, every: int = 50, name: str = "ode") -> Any:
    """Counts the calls of `func`: a PyTorch module gets a hook and stays itself, another function is wrapped."""
    try:
        field = Field(run, every, name)
        if hasattr(func, "register_forward_pre_hook"):
            hook = Hook(lambda module, args: field.evaluated(args[0] if args else None))
            field.handle = func.register_forward_pre_hook(hook)
            return func
    except Exception as e:
        run.notices.once("ode", f"the field is not watched: {type(e).__name__}: {e}")
        return func

    @functools.wraps(func)
    def counted(t: Any, *args: Any, **kwargs: Any) -> Any:
        field.evaluated(t)
        return func(t, *args, **kwargs)

    return counted
