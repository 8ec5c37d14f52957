"""Watches a PyTorch module while it trains: attention maps, gates, activations; by forward hooks, every few steps."""

from __future__ import annotations

import fnmatch
import math
import os
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Union

from . import arrays
from .capture import Capture, Hook, forward_hook, torch
from .steps import StepCounter, is_compiling

if TYPE_CHECKING:
    from .runs import Run

#: Passes that were looked at and wait until logs tell their step; their maps lie on the model's device.
MAX_WAITING = 8
#: More passes than this before the first update and log are no longer taken for those of one step.
MANY_IN_ONE_STEP = 10_000
#: Number of passes with gradients in eval mode, and none in training mode, after which a notice is given.
MANY_PASSES = 10

Gates = Union[bool, str, Iterable[str], Mapping[str, Callable[[], Any]]]


class Watch:
    """The hooks on one module.

    A pass is looked at where it trains (`model.training`, gradients on) and `every` steps have gone by. Its step is
    told by the next `log`, or by updates since the last one where logs are rare. `remove` takes the hooks off.
    """

    def __init__(
        self,
        run: Run,
        model: Any,
        every: int = 50,
        attention: bool | None = None,
        *,
        gates: Gates | None = None,
        activations: bool | str | Iterable[str] | None = None,
        decode: Callable[..., str] | None = None,
        max_tokens: int = 128,
        optimizer: Any = None,
        name: str | None = None,
        batch_first: bool | None = None,
    ) -> None:
        self.run = run
        run.model, run.optimizer = model, optimizer or run.optimizer
        self.every = max(int(every), 1)
        self.max_tokens = max(int(max_tokens), 2)
        self._decode = decode
        self._attention = attention
        self._model = model
        others = [one for one in run.listeners if isinstance(one, Watch)]
        sizes = {id(p): int(p.numel()) for p in model.parameters()}
        same = [one for one in others if not sizes.keys().isdisjoint(map(id, one._model.parameters()))]
        if name is None and others and not same:
            name = type(model).__name__
            taken = sum(1 for one in others if one._prefix.startswith(name))
            name += str(taken + 1) if taken else ""
        #: Stands before the names of the layers, which two models may share.
        self._prefix: str = f"{name}." if name else same[0]._prefix if name is None and same else ""
        for one in others:
            sizes.update((id(p), int(p.numel())) for p in one._model.parameters())
        self._batch_first = batch_first
        self._gates = chosen_gates(model, gates)
        self._gates_step = -1
        self._modules = chosen_modules(model, activations)
        if activations is True and not self._modules:
            text = "no activation of the model is a module (ReLU, GELU ..): name modules by activations=[..]"
            run.notices.once("activations", text)
        # tells the step where no optimizer of PyTorch does
        self._passes = StepCounter(is_update=False)
        self._calls_at_pass = -1
        # 1 where a script logs a step before its update
        self._logs_early = 0
        self._has_trained = False
        self._eval_passes = 0
        self._due = 0
        # the pass that is looked at and its thread, between its two hooks
        self._current: _Pass | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._capture: Capture | None = None
        self._waiting: list[_Pass] = []
        self._sent_step = -1
        self._activations: dict[str, arrays.Scalar] = {}
        self._handles: list[Any] = []
        self._temporary: list[Any] = []
        self._steps_without_pass = 0
        self._pid = os.getpid()
        device = next((str(p.device) for p in model.parameters()), "cpu")
        run.update(params=sum(sizes.values()), device=device)
        run.collectors.append(self._scalars)
        if self._is_compiled(model):
            return
        self._handles.append(model.register_forward_pre_hook(Hook(self._before), with_kwargs=True))
        self._handles.append(forward_hook(model, Hook(self._after)))
        run.listeners.append(self)
        if run.active is not None:
            run.updates.begin()

    def remove(self) -> None:
        """Takes the hooks off."""
        self._end_capture()
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        if self in self.run.listeners:
            self.run.listeners.remove(self)
        if self._scalars in self.run.collectors:
            self.run.collectors.remove(self._scalars)

    def _is_compiled(self, model: Any) -> bool:
        """True where the model, or a module in it, was compiled: hooks would stop its compilation with an error."""
        compiled = "ScriptModule" in type(model).__name__ or any(
            hasattr(m, "_orig_mod") or getattr(m, "_compiled_call_impl", None) is not None for m in model.modules()
        )
        if compiled:
            text = "a compiled model, or one with a compiled module, shows no attention or activations"
            self.run.notices.once("compiled", f"{text}: leave it uncompiled to see them")
        return compiled

    def _failed(self, e: Exception) -> None:
        self.run.notices.once("watch", f"a measurement of watch() was left out: {type(e).__name__}: {e}")

    def _before(self, module: Any, args: Any, kwargs: Any) -> None:
        if is_compiling(torch()):
            return
        try:
            if not torch().is_grad_enabled() or os.getpid() != self._pid:
                return
            if self.run.answering_thread == threading.get_ident():
                return
            if not module.training:
                self._passed_in_eval_mode()
                return
            if self._thread is not None:
                return  # a module that calls itself, or a second thread in it
            self._has_trained = True
            self._passes.count += 1
            self._calls_at_pass = self.run.updates.calls
            seen = _Pass(self.run.updates.steps.count, self._passes.count)
            step = self._step_of(seen)
            expected = self.run.next_step + self._number(seen) - 1 if step is None else step
            self._send_overdue(expected)
            with self._lock:
                if expected < self._due or self._current is not None or self.run.active is None:
                    return
                if len(self._waiting) >= MAX_WAITING and not self.run.updates.calls and seen.passes < MANY_IN_ONE_STEP:
                    return  # a field that a solver evaluates, perhaps all within the first step
                if len(self._waiting) >= MAX_WAITING:
                    text = f"{MAX_WAITING} passes that were looked at wait for the next log, which tells their steps"
                    self.run.notices.once("waiting", f"{text}; no other is looked at until then", level="info")
                    return
                self._due = (expected // self.every + 1) * self.every
                if self._is_compiled(module):
                    return
                seen.tokens = self._tokens(args, kwargs)
                self._current = seen
                self._thread = threading.current_thread()
            if self._attention is not False:
                self._capture = Capture(module, self.max_tokens, self._failed)
            for name, inner in self._modules:
                self._temporary.append(inner.register_forward_hook(self._activation(name)))
        except Exception as e:
            self._failed(e)

    def _passed_in_eval_mode(self) -> None:
        """Says once that a model seems to be trained so; `from_pretrained` of transformers gives one in eval mode."""
        self._eval_passes += 1
        if not self._has_trained and (self.run.updates.calls or self._eval_passes == MANY_PASSES):
            text = "the watched model is in eval mode: its passes are not looked at; call model.train() before training"
            self.run.notices.once("eval mode", text)

    def _after(self, *_: Any) -> None:
        if is_compiling(torch()) or self._thread is not threading.current_thread():
            return
        try:
            capture = self._capture
            self._end_capture()
            # a model without attention is usual where something else is looked at
            wanted = self._attention or (self._attention is None and not self._gates and not self._modules)
            if wanted and capture is not None and not capture.layers:
                text = f"no attention was seen in a pass of {type(self._model).__name__}"
                self.run.notices.once("no attention", f"{text}; log its maps by attention(layer, weights)")
        except Exception as e:
            self._failed(e)

    def _end_capture(self) -> None:
        capture, self._capture = self._capture, None
        for handle in self._temporary:
            handle.remove()
        self._temporary.clear()
        if capture is not None:
            capture.close()
        seen, self._current = self._current, None
        if seen is not None:
            seen.capture = capture
            self._waiting.append(seen)
        self._thread = None

    def _activation(self, name: str) -> Callable[..., None]:
        def hook(module: Any, args: Any, out: Any) -> None:
            try:
                if isinstance(out, (tuple, list)):
                    out = out[0]
                if not arrays.is_tensor(out) or not out.is_floating_point():
                    return
                values = out.detach().float()
                for key, value in (
                    ("mean", values.mean()),
                    ("std", values.std(unbiased=False)),
                    ("zero", (values <= 0).float().mean()),
                ):
                    self._activations[f"activation/{self._prefix}{name}/{key}"] = value
            except Exception as e:
                self._failed(e)

        return hook

    def _tokens(self, args: Any, kwargs: Any) -> _Tokens | None:
        """The first sequence of the model's first input, where that is a matrix of whole numbers."""
        inputs = [kwargs[k] for k in ("input_ids", "idx", "tokens", "x") if k in kwargs] + list(args[:1])
        for ids in inputs:
            if arrays.is_tensor(ids) and ids.dim() == 2 and not ids.is_floating_point():
                row, column = ids[0, : self.max_tokens].tolist(), ids[: self.max_tokens, 0].tolist()
                return _Tokens(tuple(ids.shape), row, column)
        return None

    def _token_names(self, tokens: _Tokens, capture: Capture, positions: int) -> list[str] | None:
        """Names of the positions; none where the input could be `(batch, T)` as well as `(T, batch)`."""
        batch_first = capture.batch_first if self._batch_first is None else self._batch_first
        if batch_first is None:
            rows, columns = tokens.shape
            if rows == columns == capture.length:
                text = f"a batch of {rows} sequences of {rows} tokens: its maps get no tokens"
                self.run.notices.once("batch_first", f"{text}; watch(.., batch_first=True) says what a row is")
                return None
            batch_first = columns == capture.length
        if tokens.shape[1 if batch_first else 0] != capture.length:
            return None
        return [self._name(i) for i in (tokens.row if batch_first else tokens.column)[:positions]]

    def _name(self, token: int) -> str:
        if self._decode is None:
            return str(token)
        try:
            return str(self._decode([token]))
        except Exception:
            try:
                return str(self._decode(token))
            except Exception as e:
                self._failed(e)
                return str(token)

    def _scalars(self, step: int) -> dict[str, Any]:
        """The activations of the last pass that was looked at, and gates: once a step, which may be logged in parts."""
        found, self._activations = self._activations, {}
        if step == self._gates_step:
            return found
        self._gates_step = step
        for gate in self._gates:
            end = f"/{self._prefix}{gate.name}" if len(self._gates) > 1 or self._prefix else ""
            found[f"gate/tanh{end}"] = gate.opening()
            found[f"gate/grad{end}"] = gate.gradient()
        return found

    def logged(self, step: int) -> None:
        """A step was logged: the pass that was looked at belongs to it, or to one of the steps just before it."""
        thread = self._thread
        if thread is not None and (thread is threading.current_thread() or not thread.is_alive()):
            self._end_capture()  # a pass that was interrupted calls no hook
        # a pass without an update since then: the update of this step is still to come
        self._logs_early = int(self._calls_at_pass == self.run.updates.calls)
        passes = self._passes.logged(step)
        interval = self.run.updates.interval if self.run.updates.calls else passes
        for seen in [*self._waiting, self._current]:
            if seen is not None and seen.step is None:
                seen.step = interval.step_of(self._number(seen))
        self._send([seen for seen in self._waiting if seen.step is not None])
        if self._due > step + self.every:
            self._due = (step // self.every + 1) * self.every  # steps came otherwise than expected
        if passes.first < passes.last and passes.events == 0:
            self._steps_without_pass += 1
            if self._steps_without_pass == 10 * self.every and not self._eval_passes:
                text = "no forward pass of the watched model was seen: is it compiled, or another object?"
                self.run.notices.once("no pass", text)
        elif passes.events:
            self._steps_without_pass = 0
        if [one for one in self.run.listeners if isinstance(one, Watch)][-1:] == [self]:
            self.run._attention.flush()  # no other model adds to the line of this step

    def _number(self, seen: _Pass) -> int:
        """Which update since the last log, or which pass where no updates are seen, from 1."""
        return seen.updates + 1 - self._logs_early if self.run.updates.calls else seen.passes

    def _step_of(self, seen: _Pass) -> int | None:
        """The step of a pass as far as it is known."""
        counter = self.run.updates.steps if self.run.updates.calls else self._passes
        return counter.step_of(self._number(seen)) if seen.step is None else seen.step

    def _send_overdue(self, expected: int) -> None:
        """Sends what was looked at long ago, where logs are rarer than `every` steps."""
        for seen in list(self._waiting):
            step = self._step_of(seen)
            if step is not None and expected >= step + self.every:
                seen.step = step
                self._send([seen])

    def _send(self, passes: list[_Pass]) -> None:
        for seen in passes:
            try:
                self._waiting.remove(seen)
            except ValueError:
                continue  # another thread sent it
            # steps that are long, such as epochs, show one of their passes
            if seen.step is not None and seen.step != self._sent_step:
                self._sent_step = seen.step
                self._write(seen, seen.step)

    def _write(self, seen: _Pass, step: int) -> None:
        capture = seen.capture
        if capture is None:
            return
        if capture.layers:
            positions = max(layer.positions for layer in capture.layers)
            tokens = self._token_names(seen.tokens, capture, positions) if seen.tokens else None
            about = f"batch item 0, {capture.length} tokens"
            if positions < capture.length:
                about = f"batch item 0, the first {positions} of {capture.length} tokens"
            if capture.is_one_head:
                about += ", one head where batch and heads share an axis"
            layers = [layer._replace(path=f"{self._prefix}{layer.path}") for layer in capture.layers]
            # not written yet: the layers of a second model belong into the same line
            self.run._attention.add(layers, step, tokens, about)
        if capture.activity:
            nothing = {"x": "NaN", "y": "NaN"}

            def payload() -> Any:
                layers = [{k: arrays.settled(v) for k, v in one.items()} for one in capture.activity]
                return {"layers": [{"trained": one, "random_weights": nothing} for one in layers]}

            about = "shares of neurons above zero in a training batch"
            self.run.sample("synapses.activity", payload, step, 64 * len(capture.activity), about=about)

    def finish(self) -> None:
        for seen in self._waiting:
            step = self._step_of(seen)
            seen.step = self.run.next_step + self._number(seen) - 1 if step is None else step
        if self._waiting:
            self._send(list(self._waiting))
            self.run._attention.flush()
        self.remove()


class _Tokens(NamedTuple):
    """The shape of a model's input, and the first of its rows and of its columns."""

    shape: tuple[int, ...]
    row: list[int]
    column: list[int]


class _Pass:
    """A pass that is looked at, and the updates and passes since the last log by then, itself among the passes."""

    def __init__(self, updates: int, passes: int) -> None:
        self.updates = updates
        self.passes = passes
        #: The step, once a log has told it.
        self.step: int | None = None
        self.tokens: _Tokens | None = None
        self.capture: Capture | None = None


def matches(name: str, patterns: Iterable[str]) -> bool:
    return any(name == p or fnmatch.fnmatchcase(name, p) for p in patterns)


class Gate(NamedTuple):
    """One gate: what gives its opening, and the gradient of its parameter (None where there is none)."""

    name: str
    opening: Callable[[], Any]
    gradient: Callable[[], Any]


def chosen_gates(model: Any, gates: Gates | None) -> list[Gate]:
    if not gates:
        return []
    if isinstance(gates, Mapping):
        return [Gate(str(name), function, lambda: None) for name, function in gates.items()]
    patterns = ["*gate*", "*gamma*", "*alpha*"] if gates is True else [gates] if isinstance(gates, str) else list(gates)
    found = [
        Gate(name, opening(parameter), gradient(parameter))
        for name, parameter in model.named_parameters()
        if matches(name, patterns) and (gates is not True or parameter.numel() == 1)
    ]
    if not found:
        raise ValueError(f"no parameter of the model matches the gates {patterns}")
    return found


def opening(parameter: Any) -> Callable[[], Any]:
    """The mean of tanh over the parameter."""

    def value() -> Any:
        if is_number(parameter):
            return math.tanh(parameter.item())
        return parameter.detach().float().tanh().mean()

    return value


def gradient(parameter: Any) -> Callable[[], Any]:
    """The mean of the parameter's gradient."""

    def value() -> Any:
        grad = parameter.grad
        if grad is None or is_number(grad):
            return grad
        return grad.detach().float().mean()

    return value


def is_number(tensor: Any) -> bool:
    """One number on the CPU, for which an operation of PyTorch costs more than the number."""
    return bool(tensor.numel() == 1 and tensor.device.type == "cpu")


#: Modules that PyTorch has beside its activations.
NOT_ACTIVATIONS = ("MultiheadAttention", "Softmax", "Softmax2d", "Softmin", "LogSoftmax")


def is_activation(module: Any) -> bool:
    """ReLU, GELU and their like: PyTorch's own, and those of Hugging Face by how they are called."""
    kinds = type(module).__mro__
    if any(kind.__name__ in NOT_ACTIVATIONS for kind in kinds):
        return False
    own = "torch.nn.modules.activation"
    return any(kind.__module__ == own or kind.__name__.endswith(("Activation", "GELUTanh")) for kind in kinds)


def chosen_modules(model: Any, activations: bool | str | Iterable[str] | None) -> list[tuple[str, Any]]:
    if not activations:
        return []
    named = [(name, module) for name, module in model.named_modules() if name]
    if activations is True:
        return [(name, m) for name, m in named if is_activation(m)]
    patterns = [activations] if isinstance(activations, str) else list(activations)
    found = [(name, m) for name, m in named if matches(name, patterns)]
    if not found:
        raise ValueError(f"no module of the model matches the activations {patterns}")
    return found
