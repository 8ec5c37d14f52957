"""Attention maps: one layer, its entropies, and the payload of `attention.maps`."""

from __future__ import annotations

import math
import threading
import time
from typing import Any, Callable, NamedTuple

from . import arrays
from .notices import Refused
from .numbers import plain

#: Lists of more values get no entropies: plain Python would take too long.
MAX_LIST_VALUES = 50_000
#: More positions than this make a map that nobody can look at.
MAX_POSITIONS = 2048
#: The layers of a step are written when the next step is logged, or when none has come for this many seconds.
HOLD_SECS = 10.0


class Layer(NamedTuple):
    """A private copy of the weights of one layer, `(heads, T, T)`: head, query, key.

    `entropies`: what `tensor_entropies` gives of the same queries and all keys, where `weights` lack some.
    """

    path: str
    weights: arrays.Copy
    differential: bool
    entropies: arrays.DeviceTensor | None = None

    @classmethod
    def checked(cls, path: str, weights: arrays.Copy, differential: bool) -> Layer:
        """Refused: shapes that are not `(heads, T, T)` or `(T, T)`. A batch of one is taken as its only item."""
        sides = arrays.shape(weights)
        if len(sides) == 4 and sides[0] == 1:
            sides = sides[1:]
        if len(sides) == 2:
            sides = (1, *sides)
        if len(sides) != 3 or sides[1] != sides[2] or 0 in sides:
            shown = arrays.shape(weights)
            raise Refused(f"attention {path}", f"attention of `{path}` has shape {shown}: (heads, T, T) is needed")
        if sides[1] > MAX_POSITIONS:
            text = f"attention of `{path}` over {sides[1]} positions is left out: at most {MAX_POSITIONS} are drawn"
            raise Refused(f"attention {path}", text)
        return cls(path, reshaped(weights, sides), differential)

    @property
    def positions(self) -> int:
        return arrays.shape(self.weights)[1]

    def byte_size(self) -> int:
        return arrays.byte_size(self.weights)


def reshaped(weights: arrays.Copy, sides: tuple[int, ...]) -> arrays.Copy:
    if isinstance(weights, arrays.DeviceTensor):
        return arrays.DeviceTensor(weights.tensor.reshape(sides), weights.ready)
    if isinstance(weights, arrays.Flat):
        return arrays.Flat(sides, weights.data)
    return weights.reshape(sides)


class StepMaps:
    """The layers of one step, which make one line of samples.jsonl."""

    def __init__(self, step: int, about: str) -> None:
        self.step = step
        self.about = about
        self.tokens: list[str] | None = None
        self.layers: list[Layer] = []
        self.at = time.monotonic()

    def add(self, layers: list[Layer], tokens: list[str] | None, about: str) -> None:
        self.layers += layers
        self.tokens = self.tokens or tokens
        if about not in self.about:
            self.about = f"{self.about}; {about}" if self.about else about
        self.at = time.monotonic()

    def has(self, layers: list[Layer]) -> bool:
        paths = {layer.path for layer in self.layers}
        return any(layer.path in paths for layer in layers)

    def byte_size(self) -> int:
        return sum(layer.byte_size() for layer in self.layers)


class AttentionBuffer:
    """Holds layers that are given one by one, and hands those of a step to `write` together."""

    def __init__(self, write: Callable[[StepMaps], None]) -> None:
        self._write = write
        self._maps: StepMaps | None = None
        self._lock = threading.RLock()

    def add(self, layers: list[Layer], step: int, tokens: list[str] | None, about: str) -> None:
        """Takes layers; those of another step, or of the same paths, are written before."""
        with self._lock:
            if self._maps is not None and (self._maps.step != step or self._maps.has(layers)):
                self.flush()
            if self._maps is None:
                self._maps = StepMaps(step, about)
            self._maps.add(layers, tokens, about)

    def flush(self) -> None:
        with self._lock:
            maps, self._maps = self._maps, None
        if maps is not None:
            self._write(maps)

    def flush_before(self, step: int) -> None:
        """Writes what is of an earlier step."""
        maps = self._maps
        if maps is not None and maps.step < step:
            self.flush()

    def flush_old(self) -> None:
        """Writes layers that none has followed for a while."""
        maps = self._maps
        if maps is not None and time.monotonic() - maps.at > HOLD_SECS:
            self.flush()

    def forked(self) -> None:
        """For a forked child: another thread of the parent may have held the lock."""
        self._lock = threading.RLock()


def payload(layers: list[Layer]) -> dict[str, Any]:
    """The payload of `attention.maps`; on the writer's thread."""
    return {"layers": [layer_json(layer) for layer in layers]}


def layer_json(layer: Layer) -> dict[str, Any]:
    weights = layer.weights
    if isinstance(weights, arrays.DeviceTensor):
        weights = arrays.DeviceTensor(arrays.host_tensor(weights).float(), None)
        if layer.entropies is None:
            entropies = tensor_entropies(weights.tensor, layer.differential)
        else:
            entropies = arrays.host_tensor(layer.entropies)
        entropy, uniform = entropies.tolist()
    elif isinstance(weights, arrays.Flat):
        entropy, uniform = list_entropies(weights, layer.differential)
    else:
        entropy, uniform = array_entropies(weights, layer.differential)
    return {
        "path": layer.path,
        "tokens_per_position": 1,
        "is_differential": layer.differential,
        "weights": arrays.encode(weights, half=True),
        "entropy": plain(entropy),
        "uniform_entropy": plain(uniform),
    }


def tensor_entropies(weights: Any, differential: bool) -> Any:
    """`(2, heads)`: mean over queries of -sum w ln w, nats; the same of weights spread evenly over keys not masked."""
    size = weights.abs()
    shares = size / size.sum(-1, keepdim=True).clamp_min(1e-30) if differential else size
    entropy = -(shares * shares.clamp_min(1e-38).log()).sum(-1).mean(-1)
    found = entropy.new_empty(2, weights.shape[0])
    found[0] = entropy
    found[1] = (weights != 0).any(0).sum(-1).clamp_min(1).float().log().mean()
    return found


def array_entropies(weights: Any, differential: bool) -> tuple[list[float], list[float]]:
    """The two rows of `tensor_entropies`, of a NumPy array."""
    numpy = arrays.numpy_of(weights)
    size = numpy.abs(weights.astype(numpy.float32))
    shares = size / numpy.maximum(size.sum(-1, keepdims=True), 1e-30) if differential else size
    entropy = -(shares * numpy.log(numpy.maximum(shares, 1e-38))).sum(-1).mean(-1)
    seen = numpy.log(numpy.maximum((weights != 0).any(0).sum(-1), 1)).mean()
    return [float(e) for e in entropy], [float(seen)] * weights.shape[0]


def list_entropies(weights: arrays.Flat, differential: bool) -> tuple[list[float], list[float]]:
    """The same of lists; NaN where they are long."""
    heads, rows, columns = weights.shape
    if len(weights.data) > MAX_LIST_VALUES:
        return [math.nan] * heads, [math.nan] * heads
    entropy = []
    seen = [[False] * columns for _ in range(rows)]
    for h in range(heads):
        total = 0.0
        for t in range(rows):
            start = (h * rows + t) * columns
            row = [abs(v) for v in weights.data[start : start + columns]]
            scale = sum(row) or 1.0
            for k, v in enumerate(row):
                share = v / scale if differential else v
                if v != 0:
                    seen[t][k] = True
                    total += -share * math.log(share) if share > 0 else share
        entropy.append(total / rows)
    uniform = sum(math.log(max(sum(row), 1)) for row in seen) / rows
    return entropy, [uniform] * heads
