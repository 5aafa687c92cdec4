# bindings/python/ruda/_stops.py - where an answer ends: its number of tokens and the texts that end it.
# SPDX-License-Identifier: Apache-2.0
"""A stop text is found across the pieces of an answer; what may begin one is held back."""

import operator

from ._numbers import MOST_I64, utf8


def check_stops(stops):
    """A list of stop texts: a text, or a sequence of them, none of which is empty."""
    try:
        stops = [stops] if isinstance(stops, str) else list(stops)
    except TypeError:
        raise TypeError(f"stops is {stops!r}, expected texts") from None
    for i, stop in enumerate(stops):
        if not isinstance(stop, str):
            raise TypeError(f"stops[{i}] is {stop!r}, expected a text")
        if not stop:
            raise ValueError(f"stops[{i}] is empty, expected a text of one character or more")
        utf8(f"stops[{i}]", stop)
    return stops


def check_count(max_tokens):
    try:
        count = operator.index(max_tokens)
    except TypeError:
        raise TypeError(f"max_tokens is {max_tokens!r}, expected an integer") from None
    if not 0 <= count <= MOST_I64:
        raise ValueError(f"max_tokens is {count}, expected 0 to {MOST_I64}")
    return count


class StopText:
    """Holds text back that may begin a stop sequence."""

    def __init__(self, stops):
        self._stops = check_stops(stops)
        self._held = ""

    def push(self, text):
        """(text that may be shown, whether a stop sequence was found)"""
        self._held += text
        found = [at for at in (self._held.find(stop) for stop in self._stops) if at >= 0]
        if found:
            shown, self._held = self._held[: min(found)], ""
            return shown, True
        keep = 0
        for stop in self._stops:
            for length in range(min(len(stop) - 1, len(self._held)), keep, -1):
                if self._held.endswith(stop[:length]):
                    keep = length
                    break
        split = len(self._held) - keep
        shown, self._held = self._held[:split], self._held[split:]
        return shown, False

    def rest(self):
        held, self._held = self._held, ""
        return held
