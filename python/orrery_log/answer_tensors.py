"""Large arrays of an answer, which lie beside its JSON as safetensors."""

from __future__ import annotations

import array
import math
from collections.abc import Iterator, Mapping
from typing import Any

from . import arrays
from .notices import Refused
from .weights import Tensor, header

#: Arrays of more bytes together, in single precision, are not part of the JSON.
LARGE = 1 << 20
#: Bytes of the file and of its header that a reader takes.
MAX_FILE = 64 << 20
MAX_HEADER = 1 << 20


def large_arrays(value: Any, name: str) -> list[Tensor]:
    """The arrays and numbers of a value of dicts and lists, in single precision, by the keys that lead to them.

    Empty where they are small, or where the value holds something else, which a file of tensors cannot. Raises Refused
    where they are more than a reader takes.
    """
    copies: dict[str, arrays.Copy] = {}
    size = 0
    try:
        for key, copied in named_copies(value, name, ""):
            copies[key] = copied
            size += 4 * math.prod(arrays.shape(copied))
            if size > MAX_FILE:
                break
    except Refused:
        return []
    if size > MAX_FILE:
        raise Refused("answer", f"the answer has more than {MAX_FILE:,} bytes of arrays: ask for a part")
    if size <= LARGE:
        return []
    made = []
    for key, copied in copies.items():
        _, data = arrays.float_bytes(copied, half=False)
        made.append(Tensor(key, "F32", arrays.shape(copied), len(data), data))
    return made


def named_copies(value: Any, name: str, prefix: str) -> Iterator[tuple[str, arrays.Copy]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from named_copies(inner, str(key), f"{prefix}{key}/")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield prefix[:-1] or name, arrays.Flat((), array.array("d", [arrays.as_float(value, name)]))
    elif is_list_of_others(value):
        for place, inner in enumerate(value):
            yield from named_copies(inner, name, f"{prefix}{place}/")
    else:
        copied = arrays.copy(value, name)
        if 0 in arrays.shape(copied):
            raise Refused(name, f"`{name}` is empty")
        yield prefix[:-1] or name, copied


def is_list_of_others(value: Any) -> bool:
    """True for a list that is not an array itself: of dicts, or of arrays that have several shapes."""
    if not isinstance(value, (list, tuple)):
        return False
    shapes = {getattr(item, "shape", None) for item in value}
    return len(shapes) > 1 or any(isinstance(item, Mapping) for item in value)


def file_bytes(tensors: list[Tensor]) -> list[Any]:
    """The parts of the file. Refused: what no reader takes."""
    head = header(tensors, {"format": "pt"})
    if len(head) > MAX_HEADER or len(head) + sum(t.size for t in tensors) > MAX_FILE:
        text = f"the answer has {len(tensors):,} arrays, whose names or values are more than a reader takes"
        raise Refused("answer", f"{text}: ask for a part")
    return [head, *(t.buffer() for t in tensors)]
