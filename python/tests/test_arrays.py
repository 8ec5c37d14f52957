"""Arrays of libraries that are not known by name: whatever has `__array__`."""

from __future__ import annotations

import pytest
from strict import array, tensors

numpy = pytest.importorskip("numpy")


class Array:
    """As much as JAX's arrays have in common with NumPy's; it has no `__dlpack__` and no buffer."""

    def __init__(self, values, dtype="float32"):
        self._values = numpy.array(values, dtype=dtype)
        self.shape, self.dtype, self.ndim = self._values.shape, self._values.dtype, self._values.ndim
        self.size = self._values.size
        self.is_deleted = False

    def __array__(self, dtype=None, copy=None):
        if self.is_deleted:
            raise RuntimeError("Array has been deleted with shape=float32[3].")
        return self._values.astype(dtype) if dtype is not None else self._values

    def item(self):
        return self.__array__().item()

    def __float__(self):
        return float(self.__array__())

    def __iter__(self):
        return (Array(row, self.dtype) for row in self._values)

    def __len__(self):
        return len(self._values)


def dtypes():
    names = ["float32", "float16", "int8", "bool"]
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        return [*names, pytest.param(None, marks=pytest.mark.skip(reason="ml_dtypes is not installed"), id="bfloat16")]
    assert numpy.dtype(bfloat16).kind == "V"
    return [*names, pytest.param(bfloat16, id="bfloat16")]


@pytest.mark.parametrize("dtype", dtypes())
def test_arrays_of_another_library_in_every_call(begin, dtype):
    run = begin()
    values = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    flat = [v for row in values for v in row]
    made = Array(values, dtype)
    run.log({"zero axes": Array(1.0, dtype), "one": Array([1.0], dtype), "many": made}, step=0)
    run.matrix("m", made)
    run.matrix("rows", list(made))
    run.matrix("large", Array([values] * 10, dtype))
    run.attention("h", Array([values], dtype))
    run.histogram("d", made, bins=2)
    run.curves("c", {"a": (made._values[:, 0] * 0 + numpy.arange(3), Array(values[2], dtype))})
    run.graph(Array([0.0, 1.0], dtype), [1, 0], Array([1.0, 1.0], dtype))
    folder = run.read()
    (line,) = folder.metrics
    assert (line["zero axes"], line["one"]) == (1, 1) and "many" not in line
    assert array(folder.channel("matrix/m")[0]["payload"]["values"]) == ([3, 3], flat)
    assert array(folder.channel("matrix/rows")[0]["payload"]["values"]) == ([3, 3], flat)
    assert array(folder.channel("matrix/large")[0]["payload"]["values"]) == ([10, 3, 3], flat * 10)
    (layer,) = folder.channel("attention.maps")[0]["payload"]["layers"]
    assert array(layer["weights"]) == ([1, 3, 3], flat) and layer["entropy"] == [0.0]
    assert folder.channel("histogram/d")[0]["payload"]["counts"] == [6, 3]
    assert folder.channel("curves/c")[0]["payload"]["curves"][0]["y"] == [0, 1, 0]
    assert folder.channel("graph.neurons")[0]["payload"]["edges"]["source"] == [0, 1]
    assert folder.notices() == "`many` is an array: log one number, or use matrix()"


def test_weights_in_bfloat16_of_another_library_keep_their_bits(begin):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    run = begin()
    run.log_weights({"w": Array([[1.5, -2.0]], bfloat16)}, 3)
    folder = run.read()
    assert tensors(folder.path / "snapshots" / "step-00000003.safetensors") == {
        "model/w": ("BF16", [1, 2], numpy.array([0x3FC0, 0xC000], dtype="<u2").tobytes())
    }


def test_an_array_that_was_given_away_is_said_and_training_goes_on(begin, capfd):
    run = begin()
    gone = Array([1.0, 2.0, 3.0])
    gone.is_deleted = True
    scalar = Array(1.0)
    scalar.is_deleted = True
    for step in range(2):
        run.log({"gone": scalar, "kept": 1.0}, step=step)
        run.matrix("gone", gone)
    folder = run.read()
    assert folder.scalar("kept") == [(0, 1.0), (1, 1.0)] and not folder.samples and not folder.scalar("gone")
    assert capfd.readouterr().err.count("Array has been deleted") == 2
