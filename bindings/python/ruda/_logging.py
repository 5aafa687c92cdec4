# bindings/python/ruda/_logging.py - hands log lines of contexts to the logging module.
# SPDX-License-Identifier: Apache-2.0
"""The library keeps log lines until they are fetched; no thread of it ever enters the interpreter."""

import logging
import os
import threading
import weakref

from ._core import given

LEVELS = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO, "debug": logging.DEBUG}
_drains = weakref.WeakSet()


class LogDrain:
    """Fetches the log lines of a context every `interval` seconds on a thread of its own and gives them to
    logger.getChild(component). In a with statement it ends after a last fetch; close() does so too. A logger that
    raises is told the next lines all the same; close() raises the first exception, once."""

    def __init__(self, context, logger=None, *, interval=0.1):
        given(context, "context", "context")
        if interval < 0:
            raise ValueError(f"interval is {interval}, expected 0 or more")
        self._context = weakref.ref(context)
        self._logger = logging.getLogger("ruda") if logger is None else logger
        self._interval, self._stop = interval, threading.Event()
        self._failure = None
        self._start()
        _drains.add(self)

    def _start(self):
        self._thread = threading.Thread(
            target=self._run,
            args=(weakref.ref(self), self._stop, self._interval),
            name="ruda log",
            daemon=True,
        )
        self._thread.start()

    @staticmethod
    def _run(reference, stop, interval):
        while not stop.wait(interval):
            drain = reference()
            if drain is None or not drain.fetch():
                return
            del drain

    def fetch(self):
        """Hands over what waits; False when the context is gone."""
        context = self._context()
        if context is None or context.closed:
            return False
        try:
            lines = context.drain_log()
        except ValueError:  # closed in between
            return False
        for level, component, text in lines:
            try:
                self._logger.getChild(component).log(LEVELS.get(level, logging.INFO), "%s", text)
            except BaseException as error:  # on this thread nobody would learn of it
                self._failure = self._failure or error
        return True

    def close(self):
        own = self._thread is threading.current_thread()
        if not self._stop.is_set():
            self._stop.set()
            if not own:
                self._thread.join()
            self.fetch()
        if not own and self._failure is not None:
            error, self._failure = self._failure, None
            raise error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _after_fork():
    """Threads do not survive a fork: the child begins its own."""
    for drain in list(_drains):
        if not drain._stop.is_set():
            drain._stop = threading.Event()
            drain._start()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
