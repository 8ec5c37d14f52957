"""The scalars of a step, under the names that a script gives its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import arrays
from .notices import Notices, Refused

#: Columns of metrics.jsonl that are not scalars.
COLUMNS = ("step", "variant", "wall_secs")
#: Different scalars of one run, and characters of the name of one.
MAX_SCALARS = 10_000
MAX_NAME = 200
#: Nested dicts are joined by `/` down to this depth.
MAX_DEPTH = 8


class ScalarChannels:
    """The channels of one run's scalars. Two names never share one.

    A name is its channel: what a script calls a loss may be of any unit, and `loss/train` is drawn in nats per token.
    Only names that the user gave other channels are written under those.
    """

    def __init__(self, notices: Notices) -> None:
        self._notices = notices
        #: The channels that the user gave to names.
        self.names: dict[str, str] = {}
        self._by_name: dict[str, str] = {}
        #: The name that took each channel.
        self._taken: dict[str, str] = {}

    def add(self, to: dict[str, arrays.Scalar], values: Mapping[str, Any], prefix: str = "", depth: int = 0) -> None:
        """Adds `values` by channel. What cannot be written is left out and said once; None is left out silently."""
        for key, value in values.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping) and depth < MAX_DEPTH:
                self.add(to, value, f"{name}/", depth + 1)
                continue
            try:
                channel = self._channel(name)
                if channel in to:
                    text = f"`{name}` is given twice in one step (as `{channel}`): the first value is kept"
                    raise Refused(f"twice {name}", text)
                if value is not None:
                    to[channel] = arrays.scalar(value, name)
            except Exception as e:
                self._notices.error(f"value {name}", f"`{name}` is left out", e)

    def _channel(self, name: str) -> str:
        known = self._by_name.get(name)
        if known is not None:
            return known
        if len(self._by_name) >= MAX_SCALARS:
            text = f"more than {MAX_SCALARS:,} different scalars: `{name}` and further ones are left out"
            raise Refused("scalars", text)
        channel = self.names.get(name, name)
        if max(len(name), len(channel)) > MAX_NAME:
            text = f"a scalar's name has at most {MAX_NAME} characters: `{name[:60]}..` and others are left out"
            raise Refused("long name", text)
        if channel in COLUMNS:
            channel = f"scalar/{channel}"
        if channel in self._taken:
            if name in self._taken or name in COLUMNS:
                other = self._taken[channel]
                text = f"`{other}` and `{name}` are both written as `{channel}`: `{name}` is left out"
                raise Refused(f"name {name}", text)
            channel = name
        self._by_name[name] = channel
        self._taken[channel] = name
        return channel
