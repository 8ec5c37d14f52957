"""A small strict reader of run folders: what it accepts, the protocol promises."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import struct
import zlib
from pathlib import Path
from typing import Any

METRICS, SAMPLES, EVENTS = "metrics.jsonl", "samples.jsonl", "events.jsonl"
TYPED = {"attention.maps", "graph.neurons", "text.next_tokens", "synapses.activity"}
OWN = {"matrix", "text", "histogram", "curves", "table"}
#: Rule 8 of the protocol.
MAX_BYTES = {"run.json": 4 << 20, "config.toml": 256 << 10, METRICS: 4 << 20, SAMPLES: 512 << 20, EVENTS: 4 << 20}
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "U8": 1}


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse(text: bytes) -> Any:
    return json.loads(text, parse_constant=refuse_constant)


def value(number: Any) -> float:
    if isinstance(number, str):
        assert number in ("NaN", "Infinity", "-Infinity"), number
        return float(number)
    assert isinstance(number, (int, float)) and not isinstance(number, bool), number
    return float(number)


def array(data: Any) -> tuple[list[int], list[float]]:
    """Shape and values of an array."""
    if isinstance(data, dict):
        (name,) = set(data) - {"shape"}
        code, width = {"f32": ("f", 4), "f16": ("e", 2)}[name]
        raw = base64.b64decode(data[name], validate=True)
        assert len(raw) == width * math.prod(data["shape"])
        return data["shape"], list(struct.unpack(f"<{len(raw) // width}{code}", raw))
    if not isinstance(data, list):
        return [], [value(data)]
    inner = [array(d) for d in data]
    assert all(shape == inner[0][0] for shape, _ in inner), "ragged"
    return [len(data), *(inner[0][0] if inner else [])], [v for _, values in inner for v in values]


class Folder:
    """A run folder, read and checked."""

    def __init__(self, path: Any) -> None:
        self.path = Path(path)
        self.run = parse((self.path / "run.json").read_bytes())
        for name in ("run.json", "config.toml"):
            assert (self.path / name).stat().st_size <= MAX_BYTES[name], name
        assert self.run["format"] == 2 and self.run["protocol"] == 1 and self.run["run"]["lab"] == "foreign"
        self.variants = {v["id"] for v in self.run["run"]["variants"]}
        for key, setting in self.run["run"]["config"]["values"].items():
            assert "." in key and isinstance(setting, (bool, int, float, str)), (key, setting)
        assert (self.path / "config.toml").read_text(encoding="utf-8").startswith('lab = "foreign"\n')
        self.torn = 0
        self.metrics, self.samples, self.events = (self.lines(name) for name in (METRICS, SAMPLES, EVENTS))
        for line in self.metrics:
            assert line["variant"] in self.variants and isinstance(line["step"], int)
            for name, number in line.items():
                if name != "variant":
                    value(number)
        for line in self.samples:
            self.check_sample(line)
        for line in self.events:
            assert {"step", "at"} < set(line)
        for path in (self.path / "snapshots").glob("*"):
            if not path.name.startswith("."):
                tensors(path)

    def lines(self, name: str) -> list[dict[str, Any]]:
        path = self.path / name
        *whole, last = path.read_bytes().split(b"\n") if path.exists() else [b""]
        # an object that parses lacks nothing but the end of its line
        with contextlib.suppress(ValueError):
            parse(last)
            whole, last = [*whole, last], b""
        self.torn += last != b""
        assert all(len(line) < MAX_BYTES[name] for line in whole), f"a line of {name} is too long"
        return [parse(line) for line in whole]

    def check_sample(self, line: dict[str, Any]) -> None:
        assert line["variant"] in self.variants and isinstance(line["step"], int) and isinstance(line["about"], str)
        channel, payload = line["channel"], line["payload"]
        if channel == "attention.maps":
            for layer in payload["layers"]:
                (heads, rows, columns), weights = array(layer["weights"])
                assert rows == columns and len(layer["entropy"]) == len(layer["uniform_entropy"]) == heads
                assert "tokens" not in line or len(line["tokens"]) == rows
                del weights
        elif channel == "graph.neurons":
            edges = payload["edges"]
            _, weights = array(edges["weight"])
            assert len(edges["source"]) == len(edges["target"]) == len(weights)
            assert all(0 <= end < len(payload["neurons"]) for end in edges["source"] + edges["target"])
        elif channel not in TYPED:
            kind, _, name = channel.partition("/")
            assert kind in OWN and name and payload["kind"] == kind
            if kind == "histogram":
                assert len(payload["edges"]) == len(payload["counts"]) + 1
            if kind == "table":
                assert all(isinstance(c, str) for c in payload["columns"])
                for row in payload["rows"]:
                    assert len(row) == len(payload["columns"])
                    assert all(isinstance(v, str) or not isinstance(value(v), str) for v in row)
            if kind == "matrix":
                sides, _ = array(payload["values"])
                assert len(sides) in (2, 3) and 0 not in sides, sides
                for axis, length in (("rows", sides[-2]), ("columns", sides[-1])):
                    assert axis not in payload or len(payload[axis]) == length

    def scalar(self, name: str) -> list[tuple[int, float]]:
        return [(line["step"], value(line[name])) for line in self.metrics if name in line]

    def channel(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.samples if line["channel"] == name]

    def notices(self) -> str:
        return "\n".join(e["notice"]["text"] for e in self.events if "notice" in e)

    def state(self) -> Any:
        return [e["state"] for e in self.events if "state" in e][-1]


def tensors(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    """The tensors of a safetensors file, whose checksum must be right."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = parse(data[8 : 8 + length])
    body = data[8 + length :]
    metadata = header.pop("__metadata__")
    assert int(metadata["orrery.crc32"], 16) == zlib.crc32(body)
    assert set(parse(metadata["orrery.variants"].encode())) == {"model"}
    found = {}
    ends = 0
    for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, end = t["data_offsets"]
        assert start == ends and end - start == WIDTHS[t["dtype"]] * math.prod(t["shape"])
        ends = end
        found[name] = (t["dtype"], t["shape"], body[start:end])
    assert ends == len(body)
    return found
