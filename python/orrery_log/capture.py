"""Attention weights seen during one forward pass of a PyTorch model, whoever wrote it.

Three ways lead to them: `scaled_dot_product_attention` (its weights are computed again from queries and keys), a
softmax over square scores, and `nn.MultiheadAttention`. The public BDH has linear attention and is read from its own
parts. None of this changes what the model computes, nor its random numbers.
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Iterator
from typing import Any, Callable

from . import arrays
from .attention_maps import Layer, tensor_entropies


def torch() -> Any:
    """PyTorch, which whoever has a module has imported."""
    return sys.modules["torch"]


class Capture:
    """What one forward pass shows. While `quiet` is entered, what this code computes is not seen."""

    def __init__(self, model: Any, max_tokens: int, on_error: Callable[[Exception], None]) -> None:
        self.max_tokens = max_tokens
        self.layers: list[Layer] = []
        self.length = 0
        self.activity: list[dict[str, arrays.Scalar]] = []
        self._on_error = on_error
        #: The modules that are entered, the innermost last; the model itself is not among them.
        self._stack: list[tuple[str, Any]] = []
        self._model_name = type(model).__name__
        self._thread = threading.get_ident()
        self._quiet = False
        self._handles: list[Any] = []
        self._mode = function_mode(self)
        #: True where a layer's batch and heads share an axis and one entry of it was taken.
        self.is_one_head = False
        #: Whether sequences are rows of the input, as far as `nn.MultiheadAttention` tells.
        self.batch_first: bool | None = None
        for name, module in model.named_modules():
            self._add(name.removeprefix("module.") if hasattr(name, "removeprefix") else name, module)
        self._mode.__enter__()

    def _add(self, name: str, module: Any) -> None:
        def enter(*_: Any) -> None:
            if threading.get_ident() == self._thread:
                self._stack.append((name, module))

        def leave(*_: Any) -> None:
            if threading.get_ident() == self._thread and self._stack and self._stack[-1][1] is module:
                self._stack.pop()

        if "ScriptModule" in type(module).__name__:
            return  # it takes no hooks
        if name:
            self._handles.append(module.register_forward_pre_hook(enter))
            self._handles.append(forward_hook(module, leave))
        if is_multihead(module):
            hook = self._guarded(lambda m, args, kwargs, out: self._multihead(name, m, args, kwargs))
            self._handles.append(module.register_forward_hook(hook, with_kwargs=True))
        if is_bdh(module):
            hook = self._guarded(lambda m, args, kwargs, out: self._bdh(name, module, args, kwargs, out))
            self._handles.append(module.attn.register_forward_hook(hook, with_kwargs=True))

    def close(self) -> None:
        """Ends the capture; the model is as it was. A function mode of another thread stays but sees nothing."""
        thread, self._thread = self._thread, 0
        try:
            for handle in self._handles:
                handle.remove()
            self._handles.clear()
        finally:
            if thread == threading.get_ident():
                self._mode.__exit__(None, None, None)

    def _guarded(self, hook: Callable[..., None]) -> Callable[..., None]:
        def run(*args: Any) -> None:
            if self._quiet or threading.get_ident() != self._thread:
                return
            try:
                with self.quiet():
                    hook(*args)
            except Exception as e:
                self._on_error(e)

        return run

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        self._quiet = True
        try:
            with torch().no_grad(), without_autocast():
                yield
        finally:
            self._quiet = False

    def called(self, function: Any, args: Any, kwargs: Any, out: Any) -> None:
        """A function of PyTorch was called."""
        name = getattr(function, "__name__", "")
        if name == "scaled_dot_product_attention":
            self._guarded(lambda: self._dot_product(args, kwargs))()
        elif name in ("softmax", "_softmax", "special_softmax"):
            self._guarded(lambda: self._softmax(args, kwargs, out))()

    def _path(self) -> str | None:
        names = [(name, module) for name, module in self._stack if type(module).__name__ != "Softmax"]
        if any(is_multihead(module) for _, module in names):
            return None
        return names[-1][0] if names else self._model_name

    def _keep(self, path: str, weights: Any, differential: bool = False) -> None:
        """Takes weights (heads, T, T) or more queries and keys than are kept."""
        n = min(weights.shape[-1], weights.shape[-2], self.max_tokens)
        rows = weights[..., :n, :].detach()
        if rows.dim() == 2:
            rows = rows.unsqueeze(0)
        if not rows.is_floating_point() or rows.dim() != 3:
            return
        cropped = rows[..., :n]
        # those of a row without its last keys would be others
        whole = arrays.after_copy(tensor_entropies(rows.float(), differential)) if rows.shape[-1] > n else None
        taken = sum(1 for layer in self.layers if layer.path == path or layer.path.startswith(f"{path} call "))
        name = f"{path} call {taken + 1}" if taken else path
        self.layers.append(Layer(name, arrays.after_copy(cropped.clone()), differential, whole))
        self.length = max(self.length, weights.shape[-1])

    def _softmax(self, args: Any, kwargs: Any, out: Any) -> None:
        path = self._path()
        if path is None or not arrays.is_tensor(out) or out.dim() not in (3, 4):
            return
        axis = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if out.shape[-1] != out.shape[-2] or out.shape[-1] < 2 or axis not in (-1, out.dim() - 1):
            return
        self.is_one_head |= out.dim() == 3
        self._keep(path, out[0])

    def _dot_product(self, args: Any, kwargs: Any) -> None:
        path = self._path()
        given = dict(zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args), **kwargs)
        query, key, mask = given["query"], given["key"], given.get("attn_mask")
        if path is None or query.shape[-2] != key.shape[-2] or query.dim() < 3:
            return
        batched = query.dim() == 4
        self.is_one_head |= query.dim() == 3
        query, key = query[0].detach().float(), key[0].detach().float()
        if batched and query.shape[0] != key.shape[0]:
            key = key.repeat_interleave(query.shape[0] // key.shape[0], 0)
        length = key.shape[-2]
        n = min(length, self.max_tokens)
        causal = bool(given.get("is_causal"))
        query = query[..., :n, :]
        if causal:
            key = key[..., :n, :]
        scale = given.get("scale") or 1.0 / math.sqrt(query.shape[-1])
        scores = query @ key.transpose(-1, -2) * scale
        if causal:
            future = torch().ones(n, n, dtype=torch().bool, device=scores.device).triu(1)
            scores = scores.masked_fill(future, -math.inf)
        if mask is not None:
            mask = mask.detach()
            if mask.dim() == 4 or (mask.dim() == 3 and not batched):
                mask = mask[0]
            mask = mask[..., :n, : scores.shape[-1]] if mask.shape[-2] > 1 else mask[..., : scores.shape[-1]]
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch().bool else scores + mask.float()
        # a row without any key has no weights
        self._keep(path, scores.softmax(-1).nan_to_num(0.0))
        self.length = max(self.length, length)

    def _multihead(self, path: str, module: Any, args: Any, kwargs: Any) -> None:
        names = ("query", "key", "value", "key_padding_mask", "need_weights", "attn_mask", "average_attn_weights")
        given = dict(zip((*names, "is_causal"), args), **kwargs)
        query = given["query"]
        dtype = module.out_proj.weight.dtype
        for name in ("query", "key", "value"):
            given[name] = given[name].detach().to(dtype)
        if query.dim() == 3:
            batch = 0 if module.batch_first else 1
            for name in ("query", "key", "value"):
                given[name] = given[name].narrow(batch, 0, 1)
            if given.get("key_padding_mask") is not None:
                given["key_padding_mask"] = given["key_padding_mask"][:1]
            mask = given.get("attn_mask")
            if mask is not None and mask.dim() == 3:
                given["attn_mask"] = mask[: module.num_heads]
            self.batch_first = bool(module.batch_first)
        position_axis = 1 if query.dim() == 3 and module.batch_first else 0
        if given["query"].shape[position_axis] != given["key"].shape[position_axis]:
            return
        given.update(need_weights=True, average_attn_weights=False)
        training = module.training
        module.training = False  # no dropout, so no random numbers are drawn
        try:
            _, weights = module.forward(**given)
        finally:
            module.training = training
        self._keep(path or "attention", weights[0] if weights.dim() == 4 else weights)

    def _bdh(self, path: str, model: Any, args: Any, kwargs: Any, out: Any) -> None:
        given = dict(zip(("Q", "K", "V"), args), **kwargs)
        neurons = given["Q"].detach()
        positive = (neurons > 0).float().mean()
        second = (model.ln(out.detach()[:1]).to(model.encoder_v.dtype) @ model.encoder_v).relu()
        self.activity.append({"x": device_scalar(positive), "y": device_scalar((second > 0).float().mean())})
        length = neurons.shape[-2]
        query = neurons[:1, :, : min(length, self.max_tokens)]
        positions = torch().arange(query.shape[-2], device=query.device, dtype=model.attn.freqs.dtype)
        rotated = model.attn.rope(positions.view(1, 1, -1, 1) * model.attn.freqs, query).float()
        scores = (rotated @ rotated.transpose(-1, -2)).tril(diagonal=-1)
        # the norm behind them forgets the scale of a row
        shares = scores / scores.abs().sum(-1, keepdim=True).clamp_min(1e-30)
        self._keep(f"{path}.attn" if path else "attn", shares[0], differential=True)
        self.length = max(self.length, length)


def device_scalar(tensor: Any) -> arrays.Scalar:
    return arrays.scalar(tensor, "activity")


@contextlib.contextmanager
def without_autocast() -> Iterator[None]:
    """Own computations run in the types of their inputs, whatever the training casts to."""
    with contextlib.ExitStack() as stack:
        for device in ("cpu", "cuda") if torch().cuda.is_available() else ("cpu",):
            stack.enter_context(torch().autocast(device_type=device, enabled=False))
        yield


class Hook:
    """A hook that stays on a module between passes. A copy or a file of the module has one in its place that does
    nothing and needs no `orrery_log`: what a hook calls may not be copied, and belongs to one run.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self.call = call

    def __call__(self, *args: Any) -> None:
        self.call(*args)

    def __deepcopy__(self, memo: Any) -> Any:
        return contextlib.nullcontext().__exit__  # takes the three arguments of a hook and gives None

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")


def forward_hook(module: Any, hook: Callable[..., None]) -> Any:
    """A forward hook that is called after errors too, where this version of PyTorch can."""
    try:
        return module.register_forward_hook(hook, always_call=True)
    except TypeError:
        return module.register_forward_hook(hook)


def is_multihead(module: Any) -> bool:
    """True for `nn.MultiheadAttention` and its subclasses."""
    return any(c.__name__ == "MultiheadAttention" and c.__module__.startswith("torch.") for c in type(module).__mro__)


def is_bdh(module: Any) -> bool:
    """True for the public code's BDH, by its parts."""
    attention = getattr(module, "attn", None)
    parts = all(hasattr(module, name) for name in ("encoder", "encoder_v", "decoder", "ln"))
    return parts and hasattr(attention, "freqs") and hasattr(attention, "rope")


def function_mode(capture: Capture) -> Any:
    """Calls `capture.called` for each function of PyTorch that this thread calls while it is entered."""
    from torch.overrides import TorchFunctionMode

    class AttentionFunctionMode(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            out = function(*args, **kwargs)
            capture.called(function, args, kwargs, out)
            return out

    return AttentionFunctionMode()
