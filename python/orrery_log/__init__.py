"""Writes run folders that Orrery shows while a model trains.

    import orrery_log

    orrery_log.init("nanogpt", config=vars(args))
    orrery_log.watch(model, every=50)
    for step in range(steps):
        ...
        orrery_log.log({"loss/train": loss, "train/lr": lr}, step=step)

The folder is the interface (docs/protocol.md of Orrery): no server, no port, no account, and nothing but Python's
standard library. No function here raises or changes what is trained, and `log` and measurements do not wait for the
disk: what cannot be written is said once on standard error and in the run's events.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from .folder import PROTOCOL, VERSION
from .notices import Notices
from .runs import Run, open_runs

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")

__version__ = VERSION
__all__ = [
    "PROTOCOL",
    "Run",
    "attention",
    "curves",
    "finish",
    "graph",
    "histogram",
    "init",
    "log",
    "log_weights",
    "matrix",
    "ode",
    "run",
    "table",
    "text",
    "update",
    "watch",
]

#: The run that the functions of this module write; None before `init` and after `finish`.
run: Run | None = None
_runs = open_runs
_notices = Notices()
#: Why the program seems to end, by run, with the run's last step by then: one that logs on has not ended by it.
_errors: weakref.WeakKeyDictionary[Run, tuple[str, int | None]] = weakref.WeakKeyDictionary()


def _make_init(kind: Callable[P, Run]) -> Callable[P, Run]:
    """`init`: makes `kind` (which is `Run`) the run of this module. It has the signature of `kind`."""
    known = inspect.signature(kind).parameters

    @functools.wraps(kind, assigned=(), updated=())
    def init(*args: P.args, **options: P.kwargs) -> Run:
        global run
        if run is not None:
            run.finish()
        for name in [name for name in options if name not in known]:
            _notices.once(f"init {name}", f"init() has no option `{name}`: it is left out")
            del options[name]
        run = kind(*args, **options)
        return run

    init.__doc__ = kind.__init__.__doc__
    return init


init = _make_init(Run)


def _call(function: str, /, *args: Any, **options: Any) -> Any:
    """Calls the method of the run with this name; without a run says so once and gives None."""
    if run is None:
        _notices.once("no run", f"{function}() without a run: call init() first; nothing is recorded")
        return None
    return getattr(run, function)(*args, **options)


def log(values: Mapping[str, Any], step: int | None = None) -> None:
    """Scalars of one step by name; see `Run.log`."""
    _call("log", values, step)


def attention(layer: str, weights: Any, step: int | None = None, **options: Any) -> None:
    """Attention weights of one layer, `(heads, T, T)`; see `Run.attention`."""
    _call("attention", layer, weights, step, **options)


def graph(source: Any, target: Any, weight: Any = None, step: int | None = None, **options: Any) -> None:
    """A directed graph by its edges; see `Run.graph`."""
    _call("graph", source, target, weight, step, **options)


def matrix(name: str, values: Any, step: int | None = None, **options: Any) -> None:
    """A matrix, drawn as a heat map; see `Run.matrix`."""
    _call("matrix", name, values, step, **options)


def text(name: str, text: str, step: int | None = None, **options: Any) -> None:
    """A text; see `Run.text`."""
    _call("text", name, text, step, **options)


def table(
    name: str, columns: Iterable[Any], rows: Iterable[Iterable[Any]], step: int | None = None, **options: Any
) -> None:
    """Rows of numbers and texts under named columns; see `Run.table`."""
    _call("table", name, columns, rows, step, **options)


def histogram(name: str, values: Any, step: int | None = None, **options: Any) -> None:
    """The distribution of many values; see `Run.histogram`."""
    _call("histogram", name, values, step, **options)


def curves(name: str, curves: Mapping[str, tuple[Any, Any]], step: int | None = None, **options: Any) -> None:
    """Curves by name, each a pair of x and y; see `Run.curves`."""
    _call("curves", name, curves, step, **options)


def log_weights(model: Any, step: int | None = None, **options: Any) -> bool:
    """A snapshot of weights, within a budget; False if it is left out; see `Run.log_weights`."""
    return bool(_call("log_weights", model, step, **options))


def update(config: Any = None, **known: Any) -> None:
    """Adds settings, or facts such as total_steps; see `Run.update`."""
    _call("update", config, **known)


def watch(model: Any, every: int = 50, attention: bool | None = None, **options: Any) -> Any:
    """Looks into a PyTorch module every `every` steps while it trains, by forward hooks.

    attention: maps of every layer, of the first batch item: `scaled_dot_product_attention`, softmax over square scores,
        `nn.MultiheadAttention`, and the public BDH. False looks for none. That none was seen is said with True, and
        where nothing else is looked at.
    gates: names or patterns of gate parameters, whose tanh is logged each step; True for those named gate, gamma or
        alpha; or a dict of functions that give the openings.
    activations: names or patterns of modules whose mean, deviation and share at or below zero are logged; True for
        ReLU, GELU and their like.
    decode: gives the text of token ids, such as a tokenizer's `decode`, to name the places of the maps.
    max_tokens: queries and keys of a map at most.
    optimizer: what the question "scale_lr" acts on.
    name: what the layers of this model are called where a run watches several; the class without it.
    batch_first: False where token ids are (T, B), so that the places of the maps get their names; else as the model
        tells.
    """
    return _call("watch", model, every, attention, **options)


def ode(func: Any, every: int = 50, name: str = "ode") -> Any:
    """Counts the evaluations of an ODE's field and returns the field for the solver: `odeint(ode(func), y, t)`.

    It may be called once or in each step. Fields of one `name` are counted together. Evaluations of a test pass count
    too, under `no_grad` as well, unless the field is a module in eval mode.
    """
    counted = _call("ode", func, every, name)
    return func if counted is None else counted


def finish(error: str | None = None) -> None:
    """Ends the run; `error` says why it failed. Called at the end of the program by itself."""
    global run
    current, run = run, None
    if current is not None:
        current.finish(error)


def _at_exit() -> None:
    for one in list(_runs):
        error, step = _errors.get(one, (None, None))
        one.finish(error if step == one.last_step else None)


def _remember_error(text: str) -> None:
    for one in list(_runs):
        _errors[one] = (text, one.last_step)


def _excepthook(kind: Any, value: Any, trace: Any) -> None:
    _remember_error(f"{kind.__name__}: {value}")
    _previous_hook(kind, value, trace)


def _exit(status: Any = None, /) -> NoReturn:
    """`sys.exit`, which calls no hook: a status that says failure is the run's end."""
    is_success = status is None or (isinstance(status, int) and status == 0)
    if not is_success and threading.current_thread() is threading.main_thread():
        _remember_error(f"SystemExit: {status}")
    _previous_exit(status)


def _in_child() -> None:
    """After a fork the child has no run: it may begin one of its own."""
    global run
    run = None
    for one in list(_runs):
        one.abandon()


_previous_hook, _previous_exit = sys.excepthook, sys.exit
sys.excepthook, sys.exit = _excepthook, _exit
atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
