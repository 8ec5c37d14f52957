"""Counts the evaluations of the field of an ODE, such as torchdiffeq's `func`."""

from __future__ import annotations

import functools
import threading
import weakref
from typing import TYPE_CHECKING, Any

from . import arrays
from .capture import Hook

if TYPE_CHECKING:
    from .runs import Run

#: Evaluations whose time is kept in one step.
MAX_TIMES = 10_000


class Field:
    """The evaluations since the last logged step, of every function of one name. A field is called as `func(t, y)`."""

    def __init__(self, run: Run, name: str) -> None:
        self.run = run
        self.every = 1
        self.name = name
        self.evaluations = 0
        self._times: list[Any] = []
        self._due = 0
        self._is_due = True
        #: The hook of each module.
        self._handles: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        run.collectors.append(self._scalars)
        run.listeners.append(self)

    def watch(self, func: Any) -> Any:
        """Counts the calls of `func`, once however often it is given: a script does so in each step."""
        if not hasattr(func, "register_forward_pre_hook"):
            return func if getattr(func, "_orrery_field", None) is self else self._wrapped(func)
        if func not in self._handles:
            self._handles[func] = func.register_forward_pre_hook(Hook(self._called))
        return func

    def _called(self, module: Any, args: Any) -> None:
        # `eval()` says that no training is under way; `no_grad` says nothing, as the adjoint method trains under it
        if getattr(module, "training", True):
            self.evaluated(args[0] if args else None)

    def _wrapped(self, func: Any) -> Any:
        @functools.wraps(func)
        def counted(t: Any, *args: Any, **kwargs: Any) -> Any:
            self.evaluated(t)
            return func(t, *args, **kwargs)

        counted._orrery_field = self  # type: ignore[attr-defined]
        return counted

    def evaluated(self, t: Any) -> None:
        if self.run.answering_thread == threading.get_ident():
            return
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
        for handle in list(self._handles.values()):
            handle.remove()
        self._handles.clear()
