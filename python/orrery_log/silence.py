"""Silences one unit of a watched module, and random units as active, while a function of the script reads something."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple

from .arrays import is_tensor
from .notices import Refused
from .numbers import number

MAX_DRAWS = 100
#: Random units are drawn from this many times their number of units, those whose activation is the nearest.
NEAREST = 4


class Silenced(NamedTuple):
    """What the function gave as the model is, and with each of some units silenced."""

    loss: float
    unit: int
    #: Losses by unit, the one asked for first.
    losses: dict[int, float]
    #: Mean absolute activation of every unit.
    activity: list[float]

    def words(self) -> str:
        """One sentence."""
        draws = [loss for unit, loss in self.losses.items() if unit != self.unit]
        said = f"loss {self.loss:.4f} -> {self.losses[self.unit]:.4f} without unit {self.unit}"
        if not draws:
            return said
        return f"{said}; {min(draws):.4f} to {max(draws):.4f} without one of {len(draws)} random units as active"

    def payload(self) -> dict[str, Any]:
        """A table: the model as it is, the unit, and each random unit."""
        rows: list[list[Any]] = [["none", "", number(self.loss)]]
        rows += [[u, number(self.activity[u]), number(loss)] for u, loss in self.losses.items()]
        return {"columns": ["silenced unit", "mean absolute activation", "loss"], "rows": rows}


def silence(model: Any, read: Callable[[], Any], module: Any, unit: Any, draws: Any = 8) -> Silenced:
    """Calls `read` once with the module as it is, and once for each unit whose output is held at 0.

    `read` gives a loss. A unit is an index on the last axis of the module's output.
    """
    if model is None:
        raise Refused("silence", "no model is watched: watch(model) names it")
    modules = dict(model.named_modules())
    if module not in modules or module == "":
        some = ", ".join(name for name in list(modules)[:20] if name)
        raise Refused("silence", f"the model has no module `{str(module)[:80]}`; some are {some}")
    if isinstance(unit, bool) or not isinstance(unit, int) or isinstance(draws, bool) or not isinstance(draws, int):
        raise Refused("silence", "`unit` and `draws` are whole numbers")
    if not 0 <= draws <= MAX_DRAWS:
        raise Refused("silence", f"`draws` is {draws}: it goes from 0 to {MAX_DRAWS}")
    seen: list[list[float]] = []

    def record_activity(output: Any) -> Any:
        size = int(output.shape[-1])
        seen.append([float(v) for v in output.detach().abs().reshape(-1, size).mean(0).tolist()])
        return output

    with hooked(modules[module], record_activity):
        loss = loss_value(read())
    if not seen:
        raise Refused("silence", f"the function does not pass through `{module}`")
    activity = [sum(values) / len(seen) for values in zip(*seen)]
    if not 0 <= unit < len(activity):
        raise Refused("silence", f"`{module}` has {len(activity)} units, counted from 0: there is no unit {unit}")
    losses = {}
    for silenced in [unit, *as_active(activity, unit, draws)]:

        def zero_unit(output: Any, silenced: int = silenced) -> Any:
            changed = output.clone()
            changed[..., silenced] = 0
            return changed

        with hooked(modules[module], zero_unit):
            losses[silenced] = loss_value(read())
    return Silenced(loss, unit, losses, activity)


def loss_value(value: Any) -> float:
    """A loss as a number; one of PyTorch may still have its graph, and PyTorch would warn of that."""
    return float(value.detach() if is_tensor(value) else value)


def as_active(activity: list[float], unit: int, draws: int) -> list[int]:
    """Random other units among those whose activation is the nearest; the same ones each time."""
    others = [u for u in range(len(activity)) if u != unit]
    others.sort(key=lambda u: (abs(activity[u] - activity[unit]), u))
    return random.Random(unit).sample(others[: NEAREST * draws], min(draws, len(others)))


@contextlib.contextmanager
def hooked(module: Any, change: Callable[[Any], Any]) -> Iterator[None]:
    """While it lasts, the output of a module (the first one, of several) is what `change` makes of it."""

    def hook(_module: Any, _args: Any, output: Any) -> Any:
        if isinstance(output, tuple):
            return (change(output[0]), *output[1:])
        return change(output)

    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
