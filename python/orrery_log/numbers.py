"""Numbers and JSON as run folders hold them: what is not finite is text."""

from __future__ import annotations

import json
import math
from typing import Any, Union

Number = Union[int, float, str]


def number(value: float) -> Number:
    """A float for JSON: NaN and the infinities as `"NaN"`, `"Infinity"`, `"-Infinity"`."""
    if isinstance(value, int) or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def plain(value: Any) -> Any:
    """A value of nested lists and dicts with every number written as `number` writes it."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return str(value)


def line(fields: dict[str, Any]) -> bytes:
    """One line of a log, with its end."""
    return to_json(fields) + b"\n"


def to_json(value: Any, indent: int | None = None) -> bytes:
    """JSON in UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, separators=separators, indent=indent, allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "replace")
