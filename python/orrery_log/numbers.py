"""Numbers and JSON as run folders hold them: what is not finite is text."""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Union

Number = Union[int, float, str]


def number(value: float) -> Number:
    """A number for JSON: NaN and the infinities as `"NaN"`, `"Infinity"`, `"-Infinity"`."""
    try:
        if math.isfinite(value):
            return value
        if math.isnan(value):
            return "NaN"
    except OverflowError:
        pass  # a whole number beyond every float, which readers of JSON refuse
    return "Infinity" if value > 0 else "-Infinity"


def plain(value: Any, convert: Callable[[Any], Any] = str) -> Any:
    """A value of nested lists and dicts: numbers as `number` writes them, what JSON does not know as `convert` does."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return number(value)
    if isinstance(value, dict):
        return {str(k): plain(v, convert) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, convert) for v in value]
    return convert(value)


def line(fields: dict[str, Any]) -> bytes:
    """One line of a log, with its end."""
    return to_json(fields) + b"\n"


def to_json(value: Any, indent: int | None = None) -> bytes:
    """JSON in UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(value, separators=separators, indent=indent, allow_nan=False, ensure_ascii=False)
    return text.encode("utf-8", "replace")
