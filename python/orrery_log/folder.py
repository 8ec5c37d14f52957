"""A run folder: its name, its description, and files that are whole or not there."""

from __future__ import annotations

import contextlib
import datetime
import errno
import json
import os
import platform
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .notices import Refused
from .numbers import plain, to_json

#: Version of the protocol (docs/protocol.md) and of the folder's format.
PROTOCOL = 1
FORMAT = 2
#: The id of the one variant that a run of this package has.
VARIANT = "model"
#: The settings of a run: longer texts are cut; more settings, longer keys, and what makes config.toml longer than a
#: reader takes (256 KiB) are left out.
MAX_SETTINGS = 1000
MAX_TEXT = 2000
MAX_KEY = 200
MAX_SETTINGS_BYTES = 200 << 10
#: Names that config.toml has outside of its tables.
TOP_LEVEL = ("lab", "preset", "seed")
#: What is known of a run beside its settings.
COUNTS = ("params", "total_steps", "vocab", "tokens_per_step")
TEXTS = ("device", "corpus")
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


def create(parent: str, name: str, seed: int, files: Mapping[str, bytes]) -> str:
    """Makes a new run folder in `parent` that holds these files and returns its path. Two runs never share one.

    The folder is filled under a hidden name, over which readers pass: a program that is killed leaves no half of one.
    """
    os.makedirs(parent, exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    base = os.path.join(parent, safe_name(f"{stamp}-foreign-{safe_name(name)[:40]}-s{seed}"))
    temporary = os.path.join(parent, f".run-{secrets.token_hex(6)}")
    os.mkdir(temporary)
    try:
        for file, text in files.items():
            write_whole(os.path.join(temporary, file), [text])
        for n in range(1, 10_000):
            path = base if n == 1 else f"{base}-{n}"
            # a rename would take the place of an empty folder
            if os.path.lexists(path):
                continue
            try:
                os.rename(temporary, path)
            except OSError as e:
                if e.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise
                continue
            return path
        raise FileExistsError(f"{base} and 9,999 others exist already")
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def make_inside(path: str) -> None:
    """Makes a folder unless it is there. Raises Refused for a link, which could lead to anywhere, and for a file."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path)
    check_inside(path)


def check_inside(path: str) -> None:
    """Raises Refused where a link or a file is in the place of a folder, OSError where nothing is."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        text = f"`{path}` is a link or no folder: nothing is written there"
        raise Refused(f"folder {os.path.basename(path)}", text)


def open_file(path: str, flags: int) -> int:
    """Opens a file of a run folder, which may be somebody else's: no link is followed and no pipe waited for.

    Raises Refused for what is not a regular file, and for one that has another name too (a hard link) where it is to be
    written; OSError where the system refuses.
    """
    name, is_written = os.path.basename(path), bool(flags & (os.O_WRONLY | os.O_RDWR))
    link = Refused(f"file {name}", f"`{name}` is a link, and links are not followed")
    for more in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, more, 0)
    if os.path.islink(path):  # where the system's open() has no O_NOFOLLOW
        raise link
    try:
        fd = os.open(path, flags, 0o666)
    except OSError as e:
        raise (link if e.errno == errno.ELOOP else e) from None
    found = os.fstat(fd)
    text = None
    if not stat.S_ISREG(found.st_mode):
        text = f"`{name}` is not a regular file"
    elif is_written and found.st_nlink > 1:
        text = f"`{name}` has another name too (a hard link), under which it would change as well"
    if text is not None:
        os.close(fd)
        raise Refused(f"file {name}", text)
    return fd


def read_file(path: str, limit: int, *, from_end: bool = False) -> bytes:
    """The first bytes of a file of a run folder, at most `limit`, or its last ones; none where it cannot be read.

    Raises Refused as `open_file` does.
    """
    with contextlib.suppress(OSError), os.fdopen(open_file(path, os.O_RDONLY), "rb") as file:
        if from_end:
            file.seek(max(os.fstat(file.fileno()).st_size - limit, 0))
        return file.read(limit)
    return b""


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


def settings(config: Any, earlier: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], list[str]]:
    """Settings by dotted key, added to `earlier` ones, and sentences about what is left out.

    `config` is a nested dict, a dataclass, argparse's namespace, or an object or class with attributes.
    """
    flat: dict[str, Any] = {}
    sentences: list[str] = []

    def walk(prefix: str, value: Any, depth: int) -> None:
        inner = fields(value, depth) if depth < 8 else None
        if inner is not None:
            for key, item in inner.items():
                walk(f"{prefix}.{key}" if prefix else str(key), item, depth + 1)
            return
        if depth == 0:
            sentences.append(f"the settings are {type(value).__name__}: a dict is needed; they are left out")
            return
        group, dot, _ = prefix.partition(".")
        key = prefix if dot and group not in TOP_LEVEL else f"config.{prefix}"
        if key in flat:
            sentences.append(f"setting `{key[:MAX_KEY]}` is given twice: the first value is kept")
        else:
            flat[key] = setting(value)

    walk("", {} if config is None else config, 0)
    kept: dict[str, Any] = {}
    left_out: list[str] = []
    size = 0
    for key, value in {**(earlier or {}), **flat}.items():
        # the rest is what a line of config.toml, or the head of a table, has beside them
        length = len((toml_value(key) + toml_value(value)).encode()) + 16
        if len(key) > MAX_KEY or len(kept) >= MAX_SETTINGS or size + length > MAX_SETTINGS_BYTES:
            left_out.append(key)
            continue
        kept[key] = value
        size += length
    if left_out:
        text = f"{len(left_out):,} settings are left out, `{left_out[0][:80]}` first: a run has at most"
        sentences.append(
            f"{text} {MAX_SETTINGS:,}, of {MAX_SETTINGS_BYTES >> 10} KiB, with keys of {MAX_KEY} characters"
        )
    return kept, sentences


def fields(value: Any, depth: int) -> dict[Any, Any] | None:
    """The named parts of a value; None where it is one setting. At depth 0 the attributes of any object are parts."""
    if isinstance(value, dict):
        return value
    if hasattr(value, "keys") and hasattr(value, "__getitem__") and not isinstance(value, type):
        return {k: value[k] for k in value}
    if not isinstance(value, type) and hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if type(value).__name__ in ("Namespace", "SimpleNamespace"):
        return dict(vars(value))
    if depth == 0 and hasattr(value, "__dict__"):
        # `class Options: lr = 0.1`, whose objects have no attributes of their own
        return attributes(value) or (attributes(type(value)) if not isinstance(value, type) else {})
    return None


def attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object or class itself that may be settings: methods and properties are descriptors."""
    return {k: v for k, v in vars(value).items() if not k.startswith("_") and not hasattr(v, "__get__")}


def facts(known: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a run, as run.json holds it.

    Raises Refused for names that are not in `COUNTS` or `TEXTS`, TypeError or ValueError for what is not a count.
    """
    made: dict[str, Any] = {}
    for key, value in known.items():
        if key in COUNTS:
            made[key] = min(max(int(value), 0), 2**63 - 1)
        elif key in TEXTS:
            made[key] = str(value)[:MAX_TEXT]
        else:
            names = ", ".join(COUNTS + TEXTS)
            raise Refused(f"fact {key}", f"`{key}` is not a fact of a run ({names}): update({{..}}) adds settings")
    return made


def setting(value: Any) -> Any:
    """A switch, a whole number of 64 bits, a finite number, or a text."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()  # one number of NumPy or PyTorch
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(value)
    value = plain(value)
    if isinstance(value, float):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text[:MAX_TEXT]


class PreviousRun(NamedTuple):
    """What a folder tells of a run that is gone on with; empty or None where it tells nothing."""

    name: str | None
    seed: int | None
    settings: dict[str, Any]
    known: dict[str, Any]
    started_at: str
    last_step: int | None
    wall_secs: float


def read_previous_run(path: str) -> PreviousRun:
    """Reads run.json, and the last whole line of metrics.jsonl. What is damaged or missing is empty.

    Raises Refused where the run is one that this package cannot write, or a file of it is not a regular one.
    """
    record: Any = None
    description = read_file(os.path.join(path, "run.json"), MAX_DESCRIPTION)
    with contextlib.suppress(ValueError, RecursionError):
        record = json.loads(description)
    record = as_dict(record)
    run = as_dict(record.get("run"))
    variants = run.get("variants")
    variants = [as_dict(v) for v in variants] if isinstance(variants, list) and variants else [{"id": VARIANT}]
    check_own(record, run, [v.get("id") for v in variants])
    config = as_dict(run.get("config"))
    name, seed = config.get("preset"), config.get("seed")
    known = {"params": variants[0].get("params"), **run}
    known = {k: v for k, v in known.items() if (k in COUNTS and type(v) is int) or (k in TEXTS and isinstance(v, str))}
    last_step, wall_secs = None, 0.0
    tail = read_file(os.path.join(path, "metrics.jsonl"), MAX_TAIL, from_end=True)
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, IndexError):
        line = json.loads(tail.split(b"\n")[-2])
        last_step, wall_secs = int(line["step"]), float(line["wall_secs"])
    return PreviousRun(
        name if isinstance(name, str) else None,
        seed if type(seed) is int and seed >= 0 else None,
        {str(k): setting(v) for k, v in as_dict(config.get("values")).items()},
        facts(known),
        str(record.get("started_at", "")),
        last_step,
        wall_secs,
    )


def check_own(record: dict[str, Any], run: dict[str, Any], variants: list[Any]) -> None:
    """Raises Refused for a run of another lab, version or variants, whose run.json would be replaced."""
    lab = run.get("lab", "foreign")
    if lab != "foreign":
        raise Refused("resume", f"it is a run of the lab `{lab}`")
    if variants != [VARIANT]:
        raise Refused("resume", f"its variants are {variants[:5]}, where this package writes `{VARIANT}` alone")
    for key, newest in (("format", FORMAT), ("protocol", PROTOCOL)):
        version = record.get(key, newest)
        if not isinstance(version, int) or version > newest:
            raise Refused("resume", f"its {key} is {version!r}, and this package writes {newest}")


def as_dict(value: Any) -> dict[str, Any]:
    """A dict as it is, and an empty one for anything else."""
    return value if isinstance(value, dict) else {}


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
