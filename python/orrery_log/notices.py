"""Sentences for the user: each is said once, on standard error and in the run's events."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from typing import Any, Callable, TypeVar

#: No more different sentences than this are said in one run, except for those about what is lost.
MAX_SENTENCES = 100
ALWAYS_SAID = ("disk", "dropped", "shared", "timeout", "writer")
#: Characters of one sentence; it may hold names that a script made.
MAX_SENTENCE = 2000

Function = TypeVar("Function", bound=Callable[..., Any])


class Notices:
    """Says a sentence once a key. `record` also writes it into the events of the run."""

    def __init__(self, record: Callable[[str, str], None] | None = None) -> None:
        self._record = record
        self._said: set[str] = set()
        self._lock = threading.Lock()

    def once(self, key: str, text: str, level: str = "warning") -> None:
        with self._lock:
            full = len(self._said) >= MAX_SENTENCES and key not in ALWAYS_SAID
            if full or key in self._said:
                return
            self._said.add(key)
            is_last = len(self._said) == MAX_SENTENCES
        text = text[:MAX_SENTENCE]
        if is_last:
            text += f" (the last of {MAX_SENTENCES} sentences: further ones are not shown)"
        # standard error may be closed, full or absent
        with contextlib.suppress(OSError, ValueError, AttributeError):
            print(f"orrery-log: {text}", file=sys.stderr, flush=True)
        if self._record is not None:
            self._record(level, text)

    def error(self, key: str, what: str, e: Exception) -> None:
        """Says once why `what` was not done: a refusal in its own words, any other error with its type."""
        if isinstance(e, Refused):
            self.once(f"refused {e.key}", str(e))
        else:
            self.once(key, f"{what}: {type(e).__name__}: {e}")

    def forked(self) -> None:
        """For a forked child: another thread of the parent may have held the lock, and the record is the parent's."""
        self._lock = threading.Lock()
        self._said = set()
        self._record = None


def never_raises(function: Function) -> Function:
    """For methods of objects with `notices`: an error is said once and does not reach the training loop."""

    @functools.wraps(function)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except Exception as e:
            self.notices.error(f"error {function.__name__}", function.__name__, e)
        return None

    return guarded  # type: ignore[return-value]


class Refused(ValueError):
    """A value that cannot be written. `key` tells sentences about different things apart."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key
