"""Questions to the running program: files in `ask/`, looked at once a step, answered by files in `answer/`.

A step is an update by one of PyTorch's optimizers, and a `log`.

Only what the script allowed by name is done. No link is followed, and at most 64 KiB of a question are read.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from . import arrays
from .answer_tensors import MAX_FILE, file_bytes, large_arrays
from .attention_maps import Layer
from .attention_maps import payload as attention_payload
from .folder import PROTOCOL, VARIANT, check_inside, make_inside, now, write_whole
from .notices import Refused
from .numbers import plain, to_json
from .silence import silence
from .weights import Tensor

if TYPE_CHECKING:
    from .runs import Run

#: Questions that need no function of the script.
OWN_ANSWERS = ("pause", "resume", "save", "scale_lr")
MAX_QUESTION = 64 << 10
#: Names in `ask/` that are looked at, and questions that are answered in one step.
MAX_NAMES = 1000
MAX_AT_ONCE = 8
#: Seconds after which nobody waits for a question that does not say how long, and by which clocks may differ.
MAX_WAIT_SECS = 86_400.0
CLOCK_SECS = 60.0
#: Seconds in which a folder may change without a new time of change, on coarse file systems.
COARSE_SECS = 2.0
PAUSE_POLL_SECS = 0.1
NAME = re.compile(r"([A-Za-z0-9_-]{1,64})\.json")


class Answer(NamedTuple):
    """What was done, in words; and a line of samples.jsonl, or large arrays in its place, where there are some."""

    words: str
    sample: dict[str, Any] | None = None
    tensors: list[Tensor] | None = None


class Questions:
    """The questions of one run."""

    def __init__(self, run: Run, on_save: Callable[[], Any] | None, answers: dict[str, Callable[..., Any]]) -> None:
        assert run.folder is not None
        self.run = run
        self.ask = os.path.join(run.folder, "ask")
        self.answer = os.path.join(run.folder, "answer")
        self._on_save = on_save
        self._answers = answers
        self._changed = 0
        self._fresh_until = 0.0
        self._done: set[str] = set()
        self._paused = False
        self._lock = threading.Lock()
        missing = [ask for ask in run.allow if ask not in answers and ask not in OWN_ANSWERS]
        if missing:
            names = ", ".join(f"`{ask[:80]}`" for ask in missing)
            text = f"{names}: allowed, but init(answers=..) has no function for it, so it is refused"
            run.notices.once("allow", text)
        make_inside(self.ask)
        make_inside(self.answer)

    def look(self, step: int) -> None:
        """One `stat`; reads what is new. Waits while training is paused.

        Does nothing while another thread looks, nor in an answer that logs or steps itself.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._look(step)
            if self._paused:
                self._wait(step)
        finally:
            self._lock.release()

    def _wait(self, step: int) -> None:
        writer = self.run.active
        if writer is not None:
            # updates may have come since the last log: the step that the answer says
            writer.step = max(writer.step, step)
            writer.event(state="paused")
        while self._paused and self.run.active is not None:
            time.sleep(PAUSE_POLL_SECS)
            self._look(step)
        if writer is not None:
            writer.event(state="running")

    def _look(self, step: int) -> None:
        try:
            found = os.lstat(self.ask)
        except OSError:
            return
        if found.st_mtime_ns == self._changed and time.monotonic() > self._fresh_until:
            return
        if found.st_mtime_ns != self._changed:
            self._fresh_until = time.monotonic() + COARSE_SECS
        self._changed = found.st_mtime_ns
        if not stat.S_ISDIR(found.st_mode):
            self.run.notices.once("ask", "ask/ is a link or not a folder: no question is answered")
            return
        try:
            self._read_all(step)
        except OSError as e:
            self.run.notices.once("ask", f"a question cannot be answered: {e.strerror or e}")
        except Refused as e:
            self.run.notices.once("ask", str(e))

    def _read_all(self, step: int) -> None:
        check_inside(self.answer)
        new = []
        with os.scandir(self.ask) as entries:
            for n, entry in enumerate(entries):
                found = NAME.fullmatch(entry.name)
                if n >= MAX_NAMES:
                    self.run.notices.once(
                        "asks", f"ask/ holds more than {MAX_NAMES} files: the others are not looked at"
                    )
                    break
                if found and found[1] not in self._done:
                    new.append(found[1])
        for id in sorted(new)[:MAX_AT_ONCE]:
            self._done.add(id)
            if not os.path.lexists(os.path.join(self.answer, f"{id}.json")):
                self._reply(id, step)
        if len(new) > MAX_AT_ONCE:
            self._changed = -1  # the others at the next step

    def _reply(self, id: str, step: int) -> None:
        try:
            question = self._read(id)
            if question is None:
                return
            done = self._do(question, step)
            parts = file_bytes(done.tensors) if done.tensors else None
            if parts:
                # whoever asked looks for the JSON, and finds the arrays then
                write_whole(os.path.join(self.answer, f"{id}.safetensors"), parts)
            state = "answered"
        except Refused as e:
            done, state = Answer(str(e)), "refused"
        except Exception as e:
            done, state = Answer(f"{type(e).__name__}: {e}"), "refused"
        fields = {"protocol": PROTOCOL, "id": id, "state": state, "step": step, "at": now(), "words": done.words}
        if done.sample is not None:
            fields["sample"] = done.sample
        data = to_json(plain(fields))
        if len(data) > MAX_FILE:
            fields.pop("sample")
            fields.update(state="refused", words=f"the answer has {len(data):,} bytes, more than {MAX_FILE:,}")
            data = to_json(plain(fields))
        write_whole(os.path.join(self.answer, f"{id}.json"), [data])

    def _read(self, id: str) -> dict[str, Any] | None:
        """A question, or None if it was withdrawn.

        Refused: what is not a regular file of bounded size with an object, and what nobody waits for any more.
        """
        path = os.path.join(self.ask, f"{id}.json")
        if os.path.islink(path):  # where the system's open() has no O_NOFOLLOW
            raise Refused("ask", "the question is a link, and links are not followed")
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            fd = os.open(path, flags)
        except FileNotFoundError:
            return None
        except OSError as e:
            raise Refused("ask", f"the question cannot be read ({e.strerror}): links are not followed") from None
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise Refused("ask", "the question is not a regular file")
            data = b""
            while len(data) <= MAX_QUESTION:
                part = os.read(fd, MAX_QUESTION + 1 - len(data))
                if not part:
                    break
                data += part
        finally:
            os.close(fd)
        if len(data) > MAX_QUESTION:
            raise Refused("ask", f"the question has more than {MAX_QUESTION:,} bytes")
        try:
            question = json.loads(data)
        except (ValueError, RecursionError):
            raise Refused("ask", "the question is not JSON") from None
        if not isinstance(question, dict) or not isinstance(question.get("ask"), str):
            raise Refused("ask", 'the question is not an object with a text "ask"')
        version = question.get("protocol", PROTOCOL)
        if not isinstance(version, int) or version > PROTOCOL:
            raise Refused("ask", f"the question is of protocol {version!r}, and this program knows {PROTOCOL}")
        if not isinstance(question.setdefault("args", {}), dict):
            raise Refused("ask", "`args` of the question is not an object")
        wait = question.get("wait")
        if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not 0 <= wait < MAX_WAIT_SECS:
            wait = MAX_WAIT_SECS
        # by this program's clock and the file's time, not by the time that the question says; the two clocks may
        # differ where the folder lies on another machine, for which CLOCK_SECS are left
        age = time.time() - found.st_mtime
        if age > wait + CLOCK_SECS:
            raise Refused("ask", f"nobody waits for the answer any more: the question is {age:.0f} s old")
        return question

    def _do(self, question: dict[str, Any], step: int) -> Answer:
        self.run.answering_thread = threading.get_ident()
        try:
            return self._answered(question, step)
        finally:
            self.run.answering_thread = None

    def _answered(self, question: dict[str, Any], step: int) -> Answer:
        ask, args = question["ask"], question["args"]
        allowed = self.run.allow
        if ask not in allowed and not (ask == "resume" and "pause" in allowed):
            offered = ", ".join(allowed)
            raise Refused("ask", f"`{ask[:80]}` is not allowed: the script allows {offered}")
        if ask in self._answers:
            return self._own(ask, self._answers[ask], args, step)
        known: dict[str, Callable[..., Answer]] = {
            "pause": self._pause,
            "resume": self._resume,
            "save": self._save,
            "scale_lr": self._scale_lr,
        }
        if ask not in known:
            raise Refused("ask", f"`{ask[:80]}` is allowed, but the script gives no function for it: init(answers=..)")
        return known[ask](step, **args)

    def _pause(self, step: int) -> Answer:
        was, self._paused = self._paused, True
        return Answer("paused already" if was else f"paused after step {step}")

    def _resume(self, step: int) -> Answer:
        was, self._paused = self._paused, False
        return Answer(f"goes on after step {step}" if was else "was not paused")

    def _save(self, step: int) -> Answer:
        if self._on_save is not None:
            said = self._on_save()
            return Answer(str(said) if isinstance(said, str) else "saved by the script's own function")
        if self.run.model is None:
            raise Refused("ask", "there is nothing to save: init(on_save=..) takes a function, watch() a model")
        if not self.run._take_snapshot(self.run.model, step):
            raise Refused("ask", f"the weights of step {step} are left out: those before are still being written")
        return Answer(f"the weights of step {step} go to snapshots/")

    def _scale_lr(self, step: int, factor: Any) -> Answer:
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not math.isfinite(factor):
            raise Refused("ask", "`factor` is not a number")
        if not 0 < factor <= 100:
            raise Refused("ask", f"`factor` is {factor}: it must be above 0 and at most 100")
        groups = getattr(self.run.optimizer, "param_groups", None)
        if not groups:
            raise Refused("ask", "the optimizer is not known: watch(model, optimizer=..) names it")
        before = [float(g["lr"]) for g in groups]
        for group in groups:
            group["lr"] = group["lr"] * factor
        after = [float(g["lr"]) for g in groups]
        self.run.changed("train.lr", after[0], step)
        return Answer(f"learning rate {before[0]:g} -> {after[0]:g}; a scheduler may set it again")

    def _own(self, ask: str, function: Callable[..., Any], args: dict[str, Any], step: int) -> Answer:
        """The script's own function. `attention` gives `{layer: weights}` or that and tokens, `next_tokens` pairs.

        Any other gives words, or numbers, which are shown by their shape, or the `{"channel": .., "payload": ..}` of a
        typed channel.
        """
        text = str(args.get("text", ""))
        if ask == "silence":
            return self._silence(function, dict(args), step)
        said = function(**args)
        if ask == "attention":
            maps, tokens = said if isinstance(said, tuple) else (said, None)
            layers = [Layer.checked(str(path), arrays.copy(w, str(path)), False) for path, w in maps.items()]
            sample = self._sample("attention.maps", attention_payload(layers), step, text)
            if tokens is not None:
                sample["tokens"] = [str(t) for t in tokens]
            return Answer(f"attention of {len(layers)} layers", sample)
        if ask == "next_tokens":
            likely = [{"token": str(t), "probability": float(p)} for t, p in said]
            payload = {"prompt": text, "is_typed": True, "likely": likely, "continuation": ""}
            return Answer(f"{len(likely)} next tokens", self._sample("text.next_tokens", payload, step, text))
        if said is None or isinstance(said, str):
            return Answer("done" if said is None else said[:10_000])
        if isinstance(said, dict) and set(said) == {"channel", "payload"}:
            return Answer("", self._sample(str(said["channel"]), plain(said["payload"], encoded), step, text))
        tensors = large_arrays(said, ask)
        if tensors:
            return Answer("", tensors=tensors)
        is_plain = isinstance(said, (dict, list, tuple, int, float))
        payload = plain(said, encoded) if is_plain else arrays.encode(arrays.copy(said, ask))
        return Answer("", self._sample(f"answer/{ask}", payload, step, text))

    def _silence(self, function: Callable[..., Any], args: dict[str, Any], step: int) -> Answer:
        """The script's function gives a loss, of the text where one is asked with."""
        read = {"text": args.pop("text")} if "text" in args else {}
        done = silence(self.run.model, lambda: function(**read), **args)
        about = f"{args['module']}, unit {done.unit}"
        return Answer(done.words(), self._sample("answer/silence", done.payload(), step, about))

    @staticmethod
    def _sample(channel: str, payload: Any, step: int, about: str) -> dict[str, Any]:
        return {"step": step, "variant": VARIANT, "channel": channel, "about": about[:200], "payload": payload}


def encoded(value: Any) -> Any:
    """What is not a list, dict, text or number, in an answer: an array as arrays are written, anything else as text."""
    return arrays.encode(arrays.copy(value)) if arrays.is_array(value) else str(value)
