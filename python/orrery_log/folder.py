"""A run folder: its name, its description, and files that are whole or not there."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import re
import secrets
from collections.abc import Iterable
from typing import Any, NamedTuple

from .numbers import plain, to_json

#: Version of the protocol (docs/protocol.md) and of the folder's format.
PROTOCOL = 1
FORMAT = 2
#: The id of the one variant that a run of this package has.
VARIANT = "model"
#: The settings of a run: more, or longer texts, are cut.
MAX_SETTINGS = 1000
MAX_TEXT = 2000
#: Bytes of run.json, and of the end of metrics.jsonl, that are read where a run goes on.
MAX_DESCRIPTION = 4 << 20
MAX_TAIL = 1 << 20
VERSION = "0.1.0"


def now() -> str:
    """Local time with its offset: `2026-01-31T14:25:01+01:00`."""
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def safe_name(name: str) -> str:
    """Letters, digits, `.`, `-` and `_`; never empty, never hidden, at most 80 characters."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:80]
    return "_" + safe[1:] if safe.startswith(".") else safe or "_"


def create(parent: str, name: str, seed: int) -> str:
    """Makes a new run folder in `parent` and returns its path. Two runs never share one."""
    os.makedirs(parent, exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    base = os.path.join(parent, safe_name(f"{stamp}-foreign-{safe_name(name)[:40]}-s{seed}"))
    for n in range(1, 10_000):
        path = base if n == 1 else f"{base}-{n}"
        try:
            os.mkdir(path)
        except FileExistsError:
            continue
        return path
    raise FileExistsError(f"{base} and 9,999 others exist already")


def write_whole(path: str, parts: Iterable[bytes]) -> None:
    """Writes a file under a temporary name beside its place and renames it: it is whole or not there."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}-{secrets.token_hex(6)}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
    try:
        try:
            for part in parts:
                write_all(fd, part)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def settings(config: Any) -> dict[str, Any]:
    """Settings by dotted key, from nested dicts, dataclasses, argparse's namespaces or anything with attributes."""
    flat: dict[str, Any] = {}

    def walk(prefix: str, value: Any, depth: int) -> None:
        inner = fields_of(value) if depth < 8 else None
        if inner is not None:
            for key, item in inner.items():
                walk(f"{prefix}.{key}" if prefix else str(key), item, depth + 1)
        elif len(flat) < MAX_SETTINGS:
            key = prefix if "." in prefix else f"config.{prefix}"
            flat[key] = setting(value)

    walk("", {} if config is None else config, 0)
    return flat


def fields_of(value: Any) -> dict[Any, Any] | None:
    if isinstance(value, dict):
        return value
    if hasattr(value, "keys") and hasattr(value, "__getitem__") and not isinstance(value, type):
        return {k: value[k] for k in value}
    if isinstance(value, (str, bytes, int, float, bool, list, tuple, set, type)) or value is None or callable(value):
        return None
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if type(value).__name__ in ("Namespace", "SimpleNamespace"):
        return dict(vars(value))
    return None


def setting(value: Any) -> Any:
    """A switch, a whole number of 64 bits, a finite number, or a text."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    value = plain(value)
    if isinstance(value, float):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:MAX_TEXT]


class Earlier(NamedTuple):
    """What a folder tells of a run that is gone on with; empty where it tells nothing."""

    settings: dict[str, Any]
    started_at: str
    last_step: int | None
    wall_secs: float


def earlier(path: str) -> Earlier:
    """Reads run.json, and the last whole line of metrics.jsonl."""
    settings: dict[str, Any] = {}
    started_at, last_step, wall_secs = "", None, 0.0
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        with open(os.path.join(path, "run.json"), "rb") as file:
            record = json.loads(file.read(MAX_DESCRIPTION))
        started_at = str(record["started_at"])
        settings = {str(k): setting(v) for k, v in record["run"]["config"]["values"].items()}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        with open(os.path.join(path, "metrics.jsonl"), "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - MAX_TAIL, 0))
            line = json.loads(file.read(MAX_TAIL).split(b"\n")[-2])
        last_step, wall_secs = int(line["step"]), float(line["wall_secs"])
    return Earlier(settings, started_at, last_step, wall_secs)


def description(name: str, seed: int, values: dict[str, Any], started_at: str, asks: list[str], **known: Any) -> bytes:
    """`run.json`. `known` has what is known of the model: params, total_steps, device."""
    config = {"lab": "foreign", "preset": name, "seed": seed, "values": values}
    params = known.pop("params", 0)
    run = {
        "lab": "foreign",
        "config": config,
        "variants": [{"id": VARIANT, "label": name, "group": VARIANT, "seed": seed, "params": params}],
        "total_steps": 0,
        "device": "",
        "threads": 0,
        "corpus": "",
        "vocab": 0,
        "tokens_per_step": 0,
        "folder": None,
        "inputs": [],
        **known,
    }
    record = {
        "format": FORMAT,
        "protocol": PROTOCOL,
        "asks": asks,
        "started_at": started_at,
        "seed": seed,
        "environment": {
            "orrery": f"orrery-log {VERSION}",
            "os": f"{platform.system()} {platform.release()}, {platform.machine()}",
            "cpu": platform.processor(),
            "cores": os.cpu_count() or 0,
        },
        "run": run,
    }
    return to_json(record, indent=2) + b"\n"


def toml(name: str, seed: int, values: dict[str, Any]) -> bytes:
    """`config.toml`."""
    lines = ['lab = "foreign"', f"preset = {toml_value(name)}", f"seed = {seed}"]
    groups: dict[str, list[str]] = {}
    for key, value in values.items():
        group, _, rest = key.partition(".")
        groups.setdefault(group, []).append(f"{toml_value(rest)} = {toml_value(value)}")
    for group, entries in groups.items():
        # a setting of this name would be lost among the run's own
        lines += ["", f"[{toml_value(group)}]", *entries]
    return "\n".join(lines).encode("utf-8", "replace") + b"\n"


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        # TOML wants a digit on both sides of the point
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    # a basic string of TOML has the escapes of JSON, except that it has no surrogates, and DEL must be escaped
    clean = str(value).encode("utf-8", "replace").decode()
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007F")
