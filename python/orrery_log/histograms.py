"""The distribution of many values."""

from __future__ import annotations

import math
from typing import Any

from . import arrays


def histogram(values: arrays.Copy, bins: int) -> dict[str, Any]:
    """The payload of `histogram/NAME`: `bins + 1` edges and `bins` counts, of the finite values."""
    bins = max(1, min(int(bins), 4096))
    if isinstance(values, arrays.DeviceTensor):
        tensor = arrays.host_tensor(values).flatten().float()
        tensor = tensor[tensor.isfinite()]
        low, high = (float(tensor.min()), float(tensor.max())) if tensor.numel() else (0.0, 0.0)
        low, high = span(low, high)
        counts = [int(c) for c in tensor.histc(bins, low, high).tolist()]
        return payload(low, high, counts)
    if isinstance(values, arrays.Flat):
        finite = [v for v in values.data if math.isfinite(v)]
        low, high = span(min(finite, default=0.0), max(finite, default=0.0))
        counts = [0] * bins
        for v in finite:
            counts[min(int((v - low) / (high - low) * bins), bins - 1)] += 1
        return payload(low, high, counts)
    numpy = arrays.numpy_of(values)
    flat = numpy.asarray(values, dtype=numpy.float64).ravel()
    flat = flat[numpy.isfinite(flat)]
    low, high = span(float(flat.min()), float(flat.max())) if flat.size else (0.0, 1.0)
    counts, _ = numpy.histogram(flat, bins=bins, range=(low, high))
    return payload(low, high, [int(c) for c in counts])


def span(low: float, high: float) -> tuple[float, float]:
    """A span that is not empty, so wide that the edges of its bins differ in single precision."""
    margin = max(0.5, abs(low) * 1e-3)
    return (low, high) if high > low else (low - margin, low + margin)


def payload(low: float, high: float, counts: list[int]) -> dict[str, Any]:
    edges = [low + (high - low) * i / len(counts) for i in range(len(counts) + 1)]
    return {"kind": "histogram", "edges": edges, "counts": counts}
