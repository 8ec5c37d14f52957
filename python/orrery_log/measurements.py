"""Measurements: attention maps, matrices, graphs, texts, histograms, curves, tables."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, Callable

from . import arrays, folder
from .attention_maps import AttentionBuffer, Layer, StepMaps, reshaped
from .attention_maps import payload as attention_payload
from .histograms import histogram
from .notices import Notices, Refused, never_raises
from .numbers import line, number
from .scalars import MAX_NAME
from .writer import SAMPLES, Writer

#: Characters of a text that are kept; Orrery shows its first 64 KiB.
MAX_TEXT = 100_000
#: Different names of measurements of one run. With its scalars they stay below the 16,384 channels that a reader takes.
MAX_CHANNELS = 6000
MAX_EDGES = 400_000
#: Rows of a table, and characters of a text in it.
MAX_ROWS = 10_000
MAX_CELL = 1000


def cell(value: Any) -> arrays.Scalar | str:
    """A value of a table: a number of whatever library, else its text."""
    if not isinstance(value, (str, bool)):
        with contextlib.suppress(TypeError, ValueError):  # what is not a number
            return arrays.scalar(value, "cell")
    return str(value)[:MAX_CELL]


class Measurements:
    """The methods of a run that write one measurement. `step` left out is that of the last `log`."""

    def __init__(self, notices: Notices) -> None:
        self.notices = notices
        self._attention = AttentionBuffer(self._write_attention)
        self._channels: set[str] = set()

    @property
    def active(self) -> Writer | None:
        raise NotImplementedError

    def _step(self, step: Any) -> int:
        raise NotImplementedError

    def sample(
        self,
        channel: str,
        make: Callable[[], Any],
        step: int,
        size: int,
        *,
        about: str = "",
        tokens: list[str] | None = None,
    ) -> None:
        """A line of samples.jsonl; `make` gives its payload on the writer's thread, from `size` bytes that wait."""
        writer = self.active
        if writer is None:
            return
        if channel not in self._channels:
            if len(channel) > MAX_NAME or len(self._channels) >= MAX_CHANNELS:
                text = f"a run has at most {MAX_CHANNELS:,} names of measurements, of {MAX_NAME} characters"
                self.notices.once("channels", f"{text}: `{channel[:60]}` and others are left out")
                return
            self._channels.add(channel)
        writer.step = max(writer.step, step)

        def entry() -> bytes:
            fields: dict[str, Any] = {"step": step, "variant": folder.VARIANT, "channel": channel, "about": about}
            if tokens:
                fields["tokens"] = tokens
            fields["payload"] = make()
            return line(fields)

        writer.put(SAMPLES, entry, max(size, 1))

    @never_raises
    def attention(
        self,
        layer: str,
        weights: Any,
        step: int | None = None,
        *,
        tokens: Iterable[Any] | None = None,
        about: str = "",
        differential: bool = False,
    ) -> None:
        """Attention weights of one layer, `(heads, T, T)` or `(T, T)`: head, query, key.

        Rows sum to 1, masked keys are 0.
        The layers of one step are shown together, in the order of the calls. `tokens` names the T places.
        `differential`: weights may be negative and rows need not sum to 1.
        """
        if self.active is None:
            return
        found = Layer.checked(str(layer), arrays.copy(weights, "attention"), differential)
        names = self._names(tokens, found.positions, "tokens")
        self._attention.add([found], self._step(step), names, about)

    def _write_attention(self, maps: StepMaps) -> None:
        tokens = maps.tokens
        if tokens and any(layer.positions != len(tokens) for layer in maps.layers):
            tokens = None
            text = "layers of one step have different numbers of positions: the names of the tokens are left out"
            self.notices.once("tokens", text)
        self.sample(
            "attention.maps",
            lambda: attention_payload(maps.layers),
            maps.step,
            maps.byte_size(),
            about=maps.about,
            tokens=tokens,
        )

    def _names(self, given: Iterable[Any] | None, length: int, what: str) -> list[str] | None:
        """Names of places; none, and that is said once, where there are more or fewer than places."""
        try:
            return arrays.names(given, length, what)
        except Refused as e:
            self.notices.error("names", what, e)
            return None

    @never_raises
    def matrix(
        self,
        name: str,
        values: Any,
        step: int | None = None,
        *,
        rows: Iterable[Any] | None = None,
        columns: Iterable[Any] | None = None,
        row_axis: str = "",
        column_axis: str = "",
        about: str = "",
    ) -> None:
        """A matrix `(rows, columns)`, or several `(slices, rows, columns)`, drawn as a heat map.

        One axis makes one row. `rows` and `columns` name the places, `row_axis` and `column_axis` what they are.
        """
        if self.active is None:
            return
        copied = arrays.copy(values, name)
        sides = arrays.shape(copied)
        if len(sides) not in (1, 2, 3) or 0 in sides:
            raise Refused(f"matrix {name}", f"matrix `{name}` has shape {sides}: two or three axes are needed")
        if len(sides) == 1:
            sides = (1, *sides)
            copied = reshaped(copied, sides)
        payload: dict[str, Any] = {"kind": "matrix"}
        for key, given, length in (("rows", rows, sides[-2]), ("columns", columns, sides[-1])):
            listed = self._names(given, length, f"{key} of {name}")
            if listed is not None:
                payload[key] = listed
        payload.update({k: v for k, v in (("row_axis", row_axis), ("column_axis", column_axis)) if v})
        size = arrays.byte_size(copied)
        self.sample(
            f"matrix/{name}", lambda: {**payload, "values": arrays.encode(copied)}, self._step(step), size, about=about
        )

    @never_raises
    def graph(
        self,
        source: Any,
        target: Any,
        weight: Any = None,
        step: int | None = None,
        *,
        labels: Iterable[Any] | None = None,
        community: Iterable[int | None] | None = None,
        about: str = "",
    ) -> None:
        """A directed graph: ends and weights of its edges, one each; nodes are numbered from 0.

        `labels` and `community` have one entry a node.
        """
        if self.active is None:
            return
        given = [arrays.flatten(arrays.copy(end, "graph")).data for end in (source, target)]
        if not all(v.is_integer() for values in given for v in values):
            raise Refused("graph fraction", "the ends of edges are whole numbers: a graph has others and is left out")
        ends = [[int(v) for v in values] for values in given]
        count = len(ends[0])
        weights = arrays.copy([1.0] * count if weight is None else weight, "graph")
        if len(ends[1]) != count or math.prod(arrays.shape(weights)) != count:
            raise Refused("graph ends", "a graph needs as many sources as targets and weights: left out")
        if count > MAX_EDGES:
            raise Refused("graph", f"a graph of {count:,} edges: at most {MAX_EDGES:,} are drawn; log the strongest")
        if count and min(map(min, ends)) < 0:
            raise Refused("graph number", "nodes of a graph are numbered from 0: one has a negative number")
        names = None if labels is None else [str(v) for v in labels]
        groups = None if community is None else [None if c is None else int(c) for c in community]
        nodes = max((max(map(max, ends)) + 1) if count else 0, len(names or ()), len(groups or ()))
        if nodes > 2 * MAX_EDGES:
            raise Refused("graph nodes", f"a graph of {nodes:,} nodes cannot be drawn: number them without gaps")
        for what, listed in (("labels", names), ("communities", groups)):
            if listed is not None and len(listed) != nodes:
                raise Refused(f"graph {what}", f"a graph of {nodes} nodes has {len(listed)} {what}: left out")

        def payload() -> Any:
            flat = arrays.flatten(weights)
            edges = {
                "source": ends[0],
                "target": ends[1],
                "weight": arrays.encode(arrays.Flat((count,), flat.data)) if count else [],
            }
            made: dict[str, Any] = {"neurons": list(range(nodes)), "edges": edges, "groups": {}}
            if names:
                made["labels"] = names
            if groups:
                made["groups"]["community"] = groups
            return made

        self.sample("graph.neurons", payload, self._step(step), 32 * (count + nodes), about=about)

    @never_raises
    def text(self, name: str, text: str, step: int | None = None, *, about: str = "") -> None:
        """A text, such as what a language model writes."""
        if self.active is None:
            return
        words = str(text)
        if len(words) > MAX_TEXT:
            self.notices.once(f"text {name}", f"text `{name}` is cut to {MAX_TEXT:,} characters")
            words = words[:MAX_TEXT]
        self.sample(f"text/{name}", lambda: {"kind": "text", "text": words}, self._step(step), len(words), about=about)

    @never_raises
    def histogram(self, name: str, values: Any, step: int | None = None, *, bins: int = 64, about: str = "") -> None:
        """The distribution of many values in `bins` bins of one width; what is not finite is left out.

        Its edges are read in single precision, as are the x of curves: subtract what large values have in common.
        """
        if self.active is None:
            return
        copied = arrays.copy(values, name)

        def payload() -> Any:
            made = histogram(copied, bins)
            self._check_precision(f"the edges of histogram `{name}`", made["edges"])
            return made

        self.sample(
            f"histogram/{name}",
            payload,
            self._step(step),
            arrays.byte_size(copied),
            about=about,
        )

    @never_raises
    def histogram_counts(self, name: str, counts: Any, edges: Any, step: int | None = None, *, about: str = "") -> None:
        """A distribution that is counted already: n counts, and the n + 1 edges of their bins."""
        if self.active is None:
            return
        numbers, ends = (list(arrays.flatten(arrays.copy(v, name)).data) for v in (counts, edges))
        if not numbers or len(ends) != len(numbers) + 1:
            text = f"histogram `{name}` has {len(numbers)} counts and {len(ends)} edges: one more edge is needed"
            raise Refused(f"counts {name}", text)
        self._check_precision(f"the edges of histogram `{name}`", ends)
        payload = {"kind": "histogram", "edges": [number(v) for v in ends], "counts": [number(v) for v in numbers]}
        self.sample(f"histogram/{name}", lambda: payload, self._step(step), 32 * len(ends), about=about)

    @never_raises
    def table(
        self,
        name: str,
        columns: Iterable[Any],
        rows: Iterable[Iterable[Any]],
        step: int | None = None,
        *,
        about: str = "",
    ) -> None:
        """Rows of values under named columns. A value is a number or a text; anything else is written as text."""
        if self.active is None:
            return
        names = [str(c) for c in columns]
        listed = list(rows)
        if len(listed) > MAX_ROWS:
            self.notices.once(f"table {name}", f"table `{name}` is cut to {MAX_ROWS:,} rows")
            listed = listed[:MAX_ROWS]
        cells = [[cell(value) for value in row] for row in listed]
        if any(len(row) != len(names) for row in cells):
            text = f"table `{name}` has {len(names)} columns and rows of other lengths: it is left out"
            raise Refused(f"table {name}", text)

        def payload() -> Any:
            settled = [[v if isinstance(v, str) else arrays.settled(v) for v in row] for row in cells]
            return {"kind": "table", "columns": names, "rows": settled}

        size = sum(len(v) + 8 if isinstance(v, str) else 16 for row in cells for v in row)
        self.sample(f"table/{name}", payload, self._step(step), size, about=about)

    @never_raises
    def curves(
        self,
        name: str,
        curves: Mapping[str, tuple[Any, Any]],
        step: int | None = None,
        *,
        x_axis: str = "",
        y_axis: str = "",
        about: str = "",
    ) -> None:
        """Curves by name, each a pair of equally many x and y; their points are joined in the order of x."""
        if self.active is None:
            return
        made = []
        for label, (x, y) in curves.items():
            xs, ys = (arrays.flatten(arrays.copy(v, name)).data for v in (x, y))
            if len(xs) != len(ys):
                raise Refused(f"curves {name}", f"curve `{label}` has {len(xs)} x and {len(ys)} y: left out")
            self._check_precision(f"the x of curve `{label}` of `{name}`", xs)
            made.append({"name": str(label), "x": [number(v) for v in xs], "y": [number(v) for v in ys]})
        payload = {"kind": "curves", "x_axis": x_axis, "y_axis": y_axis, "curves": made}
        size = sum(32 * len(c["x"]) for c in made)
        self.sample(f"curves/{name}", lambda: payload, self._step(step), size, about=about)

    def _check_precision(self, what: str, values: Any) -> None:
        if arrays.collapse(values):
            text = f"{what} lie closer together than single precision tells apart: subtract the first, such as a time"
            self.notices.once(f"precision {what}", text)
