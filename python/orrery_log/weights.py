"""Snapshots of a model's weights as safetensors, within a budget."""

from __future__ import annotations

import contextlib
import ctypes
import fnmatch
import os
import re
import stat
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import arrays
from .folder import VARIANT, check_inside, make_inside, write_whole
from .notices import Refused
from .numbers import to_json
from .writer import METRICS

if TYPE_CHECKING:
    from .runs import Run

#: The names of types in safetensors, by the names that PyTorch and NumPy give them.
TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "uint8": "U8",
}


class Tensor(NamedTuple):
    """A private copy on the CPU."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    values: Any

    def buffer(self) -> Any:
        """The bytes, row by row, little-endian."""
        if self.size == 0:
            return b""
        if arrays.is_tensor(self.values):
            return memoryview((ctypes.c_char * self.size).from_address(self.values.data_ptr())).cast("B")
        return memoryview(self.values).cast("B")


class Snapshots:
    """The snapshots of one run. One is written at a time; one that comes meanwhile is left out and said."""

    def __init__(self, run: Run) -> None:
        assert run.folder is not None
        self.run = run
        self.folder = os.path.join(run.folder, "snapshots")
        make_inside(self.folder)
        #: Bytes of each snapshot, by its step.
        self.kept: dict[int, int] = {}
        for name in os.listdir(self.folder):
            found = re.fullmatch(r"step-(\d+)\.safetensors", name)
            status = os.lstat(os.path.join(self.folder, name))
            if found and stat.S_ISREG(status.st_mode):
                self.kept[int(found[1])] = status.st_size
        self._busy = False

    def take(self, model: Any, step: int, budget: int, patterns: list[str] | None) -> bool:
        """True where the snapshot will be written."""
        writer = self.run.active
        if writer is None:
            return False
        if self._busy:
            writer.dropped["snapshots"] += 1
            text = f"the weights of step {step} are left out: those before are being written; events.jsonl counts them"
            self.run.notices.once("snapshot busy", text)
            return False
        tensors = list(self._copies(model, patterns))
        size = sum(t.size for t in tensors) + len(snapshot_header(tensors, step, 0))
        if not tensors:
            raise Refused(
                "weights", "there are no weights to keep: none has a name that matches, or a type that is known"
            )
        if 2 * size > budget:
            text = (
                f"weights of {size / 2**20:,.0f} MiB do not fit twice into a budget of {budget / 2**20:,.0f} MiB: "
                "none are kept; raise budget=, or choose some by names=[..]"
            )
            raise Refused("weights", text)
        self._busy = True

        def write() -> None:
            try:
                check_inside(self.folder)
                self._make_room(step, size, budget)
                write_whole(self._path(step), file_parts(tensors, step))
                self.kept[step] = size
            finally:
                self._busy = False

        if not writer.put(METRICS, write, 0):
            self._busy = False
            return False
        return True

    def _path(self, step: int) -> str:
        return os.path.join(self.folder, f"step-{step:08}.safetensors")

    def _copies(self, model: Any, patterns: list[str] | None) -> Iterator[Tensor]:
        state = model.state_dict() if hasattr(model, "state_dict") else model
        for name, value in state.items():
            name = str(name)
            if patterns is not None and not any(fnmatch.fnmatchcase(name, p) for p in patterns):
                continue
            try:
                if not hasattr(value, "dtype") and arrays.is_array(value):
                    value = arrays.copy(value, name)
                kind = str(getattr(value, "dtype", type(value).__name__))
                dtype = TYPES.get(kind.rpartition(".")[2])
                if dtype is None:
                    self.run.notices.once(f"dtype {kind}", f"weights of type {kind} are not kept (`{name}`)")
                    continue
                copied, size = copy(value, dtype)
            except Exception as e:
                why = str(e) if isinstance(e, Refused) else f"{type(e).__name__}: {e}"
                self.run.notices.once(f"weight {name}", f"the weight `{name}` is not kept: {why}")
                continue
            yield Tensor(f"{VARIANT}/{name}", dtype, tuple(int(n) for n in value.shape), size, copied)

    def _make_room(self, step: int, size: int, budget: int) -> None:
        """Removes those that lie closest to their neighbours, never the first, the last or that of `step`."""
        sizes = {**self.kept, step: size}
        while sum(sizes.values()) > budget:
            steps = sorted(sizes)
            gaps = {at: after - before for before, at, after in zip(steps, steps[1:], steps[2:]) if at != step}
            if not gaps:
                return
            closest = min(gaps, key=lambda at: (gaps[at], at))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path(closest))
            del sizes[closest], self.kept[closest]


def copy(value: Any, dtype: str) -> tuple[Any, int]:
    """A private copy on the CPU, row by row, and its bytes."""
    if arrays.is_tensor(value):
        copied = value.detach().to("cpu", copy=True).contiguous()
        copied.data_ptr()  # an error here, not in the writer, for what has no bytes of its own: sparse, meta
        return copied, copied.numel() * copied.element_size()
    if isinstance(value, arrays.Flat):
        return value.data, len(value.data) * value.data.itemsize
    numpy = arrays.numpy_of(value)
    copied = numpy.array(value, order="C", copy=True)
    if dtype == "BF16":
        copied = copied.view(numpy.uint16)
    return copied, copied.nbytes


def header(tensors: list[Tensor], metadata: dict[str, str]) -> bytes:
    """What precedes the values in a safetensors file: eight bytes and JSON."""
    entries: dict[str, Any] = {}
    offset = 0
    for t in tensors:
        entries[t.name] = {"dtype": t.dtype, "shape": list(t.shape), "data_offsets": [offset, offset + t.size]}
        offset += t.size
    text = to_json({"__metadata__": metadata, **entries})
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def snapshot_header(tensors: list[Tensor], step: int, checksum: int) -> bytes:
    """The header of a snapshot, of one length for any checksum."""
    variants = {VARIANT: {"step": step, "runtime_params": []}}
    metadata = {"format": "pt", "orrery.variants": to_json(variants).decode(), "orrery.crc32": f"{checksum:08x}"}
    return header(tensors, metadata)


def file_parts(tensors: list[Tensor], step: int) -> Iterator[Any]:
    """The parts of a safetensors file: its header, and the values."""
    checksum = 0
    for t in tensors:
        checksum = zlib.crc32(t.buffer(), checksum)
    yield snapshot_header(tensors, step, checksum)
    for t in tensors:
        if t.size:
            yield t.buffer()
