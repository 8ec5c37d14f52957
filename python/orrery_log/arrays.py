"""Arrays of any library by duck typing: PyTorch, NumPy, JAX, buffers and nested lists.

`copy` takes a private copy quickly, on the caller's thread; `encode` turns it into JSON later, on the writer's thread.
"""

from __future__ import annotations

import array
import base64
import collections
import ctypes
import importlib
import math
import sys
from typing import Any, NamedTuple, Union

from .notices import Refused
from .numbers import Number, number

#: Arrays of at most this many values are written as nested lists.
LONGEST_LIST = 64
#: What is read as a list.
LISTS = (list, tuple, range, collections.deque)
#: The smallest magnitude of half precision. Smaller ones that are not zero are written as it, not as zero.
SMALLEST_HALF = 2.0**-24
LARGEST_HALF = 65504.0


class DeviceTensor(NamedTuple):
    """A copy that lies on a device, and the event after which it is complete."""

    tensor: Any
    ready: Any


class Flat(NamedTuple):
    """Values in row-major order with their shape."""

    shape: tuple[int, ...]
    data: array.array[float]
    dtype = "float64"


#: A private copy of an array.
Copy = Union[DeviceTensor, Flat, Any]


def is_tensor(value: Any) -> bool:
    """True for a PyTorch tensor (or a subclass), without importing torch."""
    return hasattr(value, "detach") and hasattr(value, "data_ptr")


def is_array(value: Any) -> bool:
    """True for whatever `copy` takes."""
    return is_tensor(value) or hasattr(value, "__array__") or isinstance(value, (*LISTS, array.array, memoryview))


def shape(value: Any) -> tuple[int, ...]:
    """The length of each axis of a copy, or of an array that has a shape."""
    if isinstance(value, DeviceTensor):
        return tuple(value.tensor.shape)
    return tuple(int(n) for n in value.shape)


def numpy_of(value: Any) -> Any:
    """NumPy's module, which whoever gives an object with `__array__` has."""
    return sys.modules.get("numpy") or importlib.import_module("numpy")


def copy(value: Any, name: str = "array") -> Copy:
    """A private copy that later changes of `value` do not reach. A tensor stays on its device and nothing waits for it.

    Refused: ragged lists, complex numbers, what is not an array.
    """
    if is_tensor(value):
        tensor = value.detach()
        if getattr(tensor, "is_complex", lambda: False)():
            raise Refused(name, f"`{name}` holds complex numbers: give their real or absolute values")
        if getattr(tensor, "is_sparse", False) or getattr(tensor, "is_quantized", False):
            tensor = tensor.to_dense() if tensor.is_sparse else tensor.dequantize()
        return after_copy(tensor.clone())
    if hasattr(value, "__array__"):
        numpy = numpy_of(value)
        values = numpy.asarray(value)
        if values.dtype == object or values.dtype.kind in "cSUO":
            raise Refused(name, f"`{name}` is ragged or does not hold real numbers")
        # bfloat16 and other additions to NumPy have kind V and convert to float32
        return numpy.array(values, dtype=None if values.dtype.kind in "biuf" else numpy.float32)
    if isinstance(value, (array.array, memoryview)):
        value = value.tolist()
    if isinstance(value, LISTS):
        return from_lists(value, name)
    raise Refused(name, f"`{name}` is not an array but {type(value).__name__}")


def after_copy(tensor: Any) -> DeviceTensor:
    """A tensor that is already a private copy."""
    ready = None
    if getattr(tensor, "is_cuda", False):
        ready = sys.modules["torch"].cuda.Event()
        ready.record()
    return DeviceTensor(tensor, ready)


def from_lists(value: Any, name: str = "array") -> Flat:
    """Nested lists of one length a level. Items may be tensors or arrays of one shape."""
    data = array.array("d")

    def walk(item: Any) -> tuple[int, ...]:
        if is_tensor(item) or (hasattr(item, "__array__") and getattr(item, "shape", None)):
            flat = flatten(copy(item, name))
            data.extend(flat.data)
            return flat.shape
        if isinstance(item, LISTS):
            shapes = [walk(i) for i in item]
            if any(s != shapes[0] for s in shapes):
                raise Refused(name, f"`{name}` is ragged: rows of {shapes[0]} and of other lengths")
            return (len(item), *(shapes[0] if shapes else ()))
        try:
            if isinstance(item, (str, bytes, bytearray)):
                raise TypeError
            data.append(float(item))
        except (TypeError, ValueError, OverflowError):
            raise Refused(name, f"`{name}` holds {type(item).__name__}, which is not a number") from None
        return ()

    return Flat(walk(value), data)


def host_tensor(value: DeviceTensor) -> Any:
    """The tensor on the CPU, once it is complete."""
    if value.ready is not None:
        value.ready.synchronize()
    return value.tensor.detach().cpu()


def flatten(value: Copy) -> Flat:
    """The values of a copy as 64-bit floats."""
    if isinstance(value, Flat):
        return value
    data = array.array("d")
    if isinstance(value, DeviceTensor):
        tensor = host_tensor(value).double().contiguous()
        data.frombytes(tensor_bytes(tensor))
        return Flat(tuple(tensor.shape), data)
    data.frombytes(numpy_of(value).ascontiguousarray(value, dtype="=f8").tobytes())
    return Flat(shape(value), data)


def tensor_bytes(tensor: Any) -> bytes:
    """The bytes of a contiguous tensor on the CPU, without NumPy."""
    size = tensor.numel() * tensor.element_size()
    return ctypes.string_at(tensor.data_ptr(), size) if size else b""


def little_endian(values: array.array[Any]) -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def float_bytes(value: Copy, half: bool) -> tuple[str, bytes]:
    """The name of the encoding and the bytes of all values, row by row."""
    if isinstance(value, Flat):
        return "f32", little_endian(array.array("f", [clamp(v) for v in value.data]))
    if isinstance(value, DeviceTensor):
        tensor = host_tensor(value).float()
        half = half and not bool((tensor.abs() > LARGEST_HALF).any())
        if half:
            small = (tensor != 0) & (tensor.abs() < SMALLEST_HALF)
            if bool(small.any()):
                tensor = tensor.masked_fill(small & (tensor > 0), SMALLEST_HALF)
                tensor = tensor.masked_fill(small & (tensor < 0), -SMALLEST_HALF)
            tensor = tensor.half()
        return ("f16" if half else "f32"), tensor_bytes(tensor.contiguous())
    numpy = numpy_of(value)
    values = numpy.asarray(value, dtype=numpy.float32)
    half = half and not bool((numpy.abs(values) > LARGEST_HALF).any())
    if half:
        small = (values != 0) & (numpy.abs(values) < SMALLEST_HALF)
        values = numpy.where(small, numpy.copysign(numpy.float32(SMALLEST_HALF), values), values)
    return ("f16" if half else "f32"), numpy.ascontiguousarray(values, dtype="<f2" if half else "<f4").tobytes()


def clamp(value: float) -> float:
    """The nearest number of single precision; larger ones become infinite."""
    if math.isfinite(value) and abs(value) > 3.4028235e38:
        return math.copysign(math.inf, value)
    return value


def encode(value: Copy, half: bool = False) -> Any:
    """A copy as JSON: one number without axes, nested lists where it is small, else base64 with its shape.

    `half`: in half precision.
    """
    sides = shape(value)
    if not sides:
        return number(flatten(value).data[0])
    if math.prod(sides) <= LONGEST_LIST and 0 not in sides:
        return nested(flatten(value))
    name, data = float_bytes(value, half)
    return {name: base64.b64encode(data).decode("ascii"), "shape": list(sides)}


def nested(flat: Flat) -> Any:
    """Nested lists."""
    values: list[Any] = [number(v) for v in flat.data]
    for length in reversed(flat.shape[1:]):
        values = [values[i : i + length] for i in range(0, len(values), length)]
    return values


def collapse(values: Any) -> bool:
    """True where numbers that differ become the same in single precision, which is that of readers."""
    return len(set(array.array("f", map(clamp, values)))) < len(set(values))


def byte_size(value: Copy) -> int:
    """Bytes that a copy holds in memory, about."""
    return 8 * math.prod(shape(value))


class Pending(NamedTuple):
    """A scalar on a device, which the writer's thread waits for."""

    tensor: DeviceTensor


Scalar = Union[int, float, Pending]


def scalar(value: Any, name: str) -> Scalar:
    """A number of whatever library. One on a GPU is copied there and read later, so that training does not wait.

    A list of one number is that number. Refused: arrays of more than one value, texts, complex numbers.
    """
    if isinstance(value, (bool, int, float)):
        return as_float(int(value) if isinstance(value, bool) else value, name)
    if is_tensor(value):
        if value.numel() != 1:
            raise Refused(name, f"`{name}` has shape {tuple(value.shape)}: log one number, or use matrix()")
        if getattr(value, "is_cuda", False):
            return Pending(after_copy(value.detach().clone()))
        return as_float(value.detach().item(), name)
    size = getattr(value, "size", 1)
    if hasattr(value, "item") and (size() if callable(size) else size) == 1:
        return as_float(value.item(), name)
    if isinstance(value, (list, tuple)) and len(value) == 1 and not isinstance(value[0], LISTS):
        # such as the learning rates that a scheduler of PyTorch gives, of one group
        return scalar(value[0], name)
    if hasattr(value, "__array__") or isinstance(value, (list, tuple)):
        raise Refused(name, f"`{name}` is an array: log one number, or use matrix()")
    if hasattr(value, "__float__"):
        return as_float(float(value), name)
    raise Refused(name, f"`{name}` is not a number but {type(value).__name__}; text() takes texts")


def as_float(value: Any, name: str) -> int | float:
    if isinstance(value, complex):
        raise Refused(name, f"`{name}` is a complex number: log its real or absolute value")
    if isinstance(value, int) and abs(value) < 2**53:
        return int(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def settled(value: Scalar) -> Number:
    """The number for JSON; waits for one on a device."""
    if isinstance(value, Pending):
        return number(float(host_tensor(value.tensor).item()))
    return number(value)


def names(values: Any | None, length: int, what: str) -> list[str] | None:
    """Names of the places of an axis; refused where there are more or fewer than places."""
    if values is None:
        return None
    listed = [str(v) for v in values]
    if len(listed) != length:
        raise Refused(f"names {what}", f"{len(listed)} names for {length} {what}: the names are left out")
    return listed
