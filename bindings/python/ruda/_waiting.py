# bindings/python/ruda/_waiting.py - long calls on the main thread, which signal handlers interrupt.
# SPDX-License-Identifier: Apache-2.0
"""Python runs signal handlers on the main thread, between two of its own steps: never while one C call lasts. So a
long call of the main thread is made by a worker, and the main thread waits where handlers run."""

import _thread
import threading

from . import _raw


def call_stoppable(call, arguments, cancel):
    """call(*arguments, token) with a token that `cancel`, a Cancel or None, raises too. On the main thread an exception
    of a signal handler stops the call, and is raised when it has ended."""
    if threading.get_ident() != threading.main_thread().ident:
        return call(*arguments, None if cancel is None else cancel._h)
    token = _raw.ruda_cancel_create()
    result, ended = [], threading.Lock()
    ended.acquire()

    def work():
        try:
            result.append((call(*arguments, token), None))
        except BaseException as error:  # raised below, by the thread that called
            result.append((None, error))
        ended.release()

    if cancel is not None:
        cancel._follow(token)
    try:
        try:
            _thread.start_new_thread(work, ())
        except RuntimeError as error:
            if "new thread" not in str(error):
                raise
            work()  # there are no more threads
        while not result:
            ended.acquire(timeout=0.1)  # a while at a time, as another thread may have taken the signal
    except BaseException:  # of a signal handler
        _raw.ruda_cancel_request(token)
        while not result:
            try:
                ended.acquire(timeout=0.1)
            except BaseException:  # the first one is raised
                pass
        raise
    finally:
        if cancel is not None:
            cancel._leave(token)
    value, error = result.pop()
    if error is not None:
        try:
            raise error
        finally:
            del error  # it holds this frame
    return value
