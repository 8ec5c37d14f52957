"""Which step something belongs to that happens between two logs."""

from __future__ import annotations

import sys
from typing import Any, Callable, NamedTuple


class Interval(NamedTuple):
    """The events between the logs of two steps, `first` and `last`."""

    first: int
    last: int
    events: int

    def step_of(self, number: int) -> int:
        """The step of the event with this number, counted from 1: as if the steps between were of one length."""
        if number >= self.events:
            return self.last
        return self.first + rounded_up((self.last - self.first) * number, self.events)


class StepCounter:
    """Counts events since the last log of a new step: updates by an optimizer, or forward passes.

    An event belongs to the step of the log that follows it. Which step that will be is told by the logs before: how
    many steps they went on for how many events. One event a step is taken as given for updates after a first log that
    does not say otherwise; for forward passes nothing is.
    """

    def __init__(self, *, is_update: bool) -> None:
        self.count = 0
        self._last: int | None = None
        self._steps, self._events = (1, 1) if is_update else (0, 0)

    def forget(self) -> None:
        """Counts from now on; the next log is the first."""
        self.count, self._last = 0, None

    def step_of(self, number: int) -> int | None:
        """The step of the event with this number since the last log, counted from 1; None where no log tells."""
        if self._last is None or self._events == 0:
            return None
        return self._last + rounded_up(self._steps * number, self._events)

    def finished_step(self, last_logged: int | None) -> int:
        """The step that the last event reached. Before a log of this count: that of the last one, else the count."""
        if self._last is None:
            return self.count if last_logged is None else last_logged
        return self._last + (self._steps * self.count // self._events if self._events else 0)

    def logged(self, step: int) -> Interval:
        """What was counted up to the log of `step`, which may be logged in parts."""
        if step == self._last:
            return Interval(step, step, self.count)
        if self._last is None:
            # a training that goes on elsewhere begins at any step; one whose steps are epochs falls behind its updates
            found = Interval(max(step - self.count, 0), step, self.count)
            steps = max(min(step, self.count), 1)
        else:
            found = Interval(min(self._last, step), step, self.count)
            steps = found.last - found.first
        if self.count and steps:
            self._steps, self._events = steps, self.count
        self.count, self._last = 0, step
        return found


class Updates:
    """Counts the updates of PyTorch's optimizers, by a hook that all of them call.

    Optimizers that take turns make one update together: the one with the most is counted. `on_update` is called after
    each, on the thread that trains, but not inside a backward pass, a compilation or a capture of a CUDA graph.
    """

    def __init__(self, on_update: Callable[[], None], on_error: Callable[[Exception], None]) -> None:
        self.steps = StepCounter(is_update=True)
        #: Calls of any optimizer so far.
        self.calls = 0
        #: What was counted up to the last log.
        self.interval = Interval(0, 0, 0)
        self._on_update = on_update
        self._on_error = on_error
        self._by_optimizer: dict[int, int] = {}
        self._is_wanted = False
        self._handle: Any = None

    def begin(self) -> None:
        """Hooks in, at the next log if PyTorch is not imported yet."""
        self._is_wanted = True
        if self._handle is not None:
            return
        module = sys.modules.get("torch.optim.optimizer")
        register = getattr(module, "register_optimizer_step_post_hook", None)
        if register is not None:
            self._forget()
            self._handle = register(self._stepped)

    def _forget(self) -> None:
        self.steps.forget()
        self._by_optimizer.clear()

    def logged(self, step: int) -> None:
        if self._is_wanted and self._handle is None:
            self.begin()
        self.interval = self.steps.logged(step)
        if self.steps.count == 0:
            self._by_optimizer.clear()

    def _stepped(self, optimizer: Any, *_: Any) -> None:
        try:
            torch = sys.modules["torch"]
            if is_compiling(torch):
                return
            count = self._by_optimizer.get(id(optimizer), 0) + 1
            self._by_optimizer[id(optimizer)] = count
            self.steps.count = max(self.steps.count, count)
            self.calls += 1
            if not is_inside(torch):
                self._on_update()
        except Exception as e:
            self._on_error(e)

    def end(self) -> None:
        """Takes the hook off."""
        self._is_wanted = False
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.remove()


def is_compiling(torch: Any) -> bool:
    """True while torch.compile traces: hooks are not part of what it makes."""
    compiler = getattr(torch, "compiler", None)
    return bool(compiler is not None and getattr(compiler, "is_compiling", bool)())


def is_inside(torch: Any) -> bool:
    """True inside a backward pass, where optimizers may step parameter by parameter, or a capture of a CUDA graph."""
    if getattr(torch._C, "_current_graph_task_id", lambda: -1)() != -1:
        return True
    return bool(torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing())


def rounded_up(steps: int, events: int) -> int:
    """`steps / events`, rounded up."""
    return -(-steps // events)
