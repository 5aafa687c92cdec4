# bindings/python/ruda/_load.py - finds libruda.so.1 and the raw module that fits it.
# SPDX-License-Identifier: Apache-2.0
"""The raw module needs libruda.so.1. It takes the copy beside it, unless the environment variable
RUDA_LIBRARY names another file: the loader keeps one library of a name, so the one that is loaded first is
the one that is used.
"""

import ctypes
import os

from ._constants import API_LEVEL


def mapped_path():
    """Path of the library that this process uses, "" when it cannot be told."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            return next((line.split(None, 5)[5].strip() for line in maps if "/libruda.so" in line), "")
    except OSError:
        return ""


def load():
    chosen = os.environ.get("RUDA_LIBRARY")
    if chosen:
        try:
            ctypes.CDLL(chosen)
        except OSError as error:
            raise ImportError(f"RUDA_LIBRARY names {chosen}, which cannot be loaded: {error}") from None
    from . import _raw

    level = _raw.ruda_api_level()
    if level < API_LEVEL:
        raise ImportError(
            f"{mapped_path() or 'libruda'} has API level {level}, this package needs {API_LEVEL}"
        )
    return _raw


_raw = load()
