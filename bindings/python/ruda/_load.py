# bindings/python/ruda/_load.py - finds libruda.so.1 and the raw module that fits it.
# SPDX-License-Identifier: Apache-2.0
"""The raw module needs libruda.so.1. It takes the copy beside it, unless the environment variable
RUDA_LIBRARY names another file: the loader keeps one library of a name, so the one that is loaded first is
the one that is used.
"""

import ctypes
import os
import re
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES

FOLDER = os.path.dirname(os.path.abspath(__file__))


def mapped_path():
    """Path of the library that this process uses, "" when it cannot be told."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            return next((line.split(None, 5)[5].strip() for line in maps if "/libruda.so" in line), "")
    except OSError:
        return ""


def python_of(tag):
    """"CPython 3.11" for cpython-311-x86_64-linux-gnu; other tags as they are."""
    version = re.match(r"cpython-(\d)(\d+)(\w*)-", tag)
    return f"CPython {version[1]}.{version[2]}{version[3]}" if version else tag


def why_missing():
    """What is said where no raw module fits this Python."""
    own = sysconfig.get_config_var("SOABI") or f"cpython-{sys.version_info[0]}{sys.version_info[1]}-"
    build = f"build with -Dbindings=python -Dpython={sys.executable}"
    found = sorted(name for name in os.listdir(FOLDER) if re.fullmatch(r"_raw\.[\w-]+\.so", name))
    if not found:
        return f"ruda is not built: {FOLDER} has no raw module, expected one for {python_of(own)}: {build}"
    tags = [name.split(".")[1] for name in found]
    names = list(map(python_of, tags))
    this = python_of(own)
    if this in names:  # of another machine
        names, this = tags, own
    files = ", ".join(os.path.join(FOLDER, name) for name in found)
    return f"ruda was built for {' and '.join(names)} (file {files}), this is {this}: {build}"


def load():
    chosen = os.environ.get("RUDA_LIBRARY")
    if chosen:
        try:
            ctypes.CDLL(chosen)
        except OSError as error:
            raise ImportError(f"RUDA_LIBRARY names {chosen}, which cannot be loaded: {error}") from None
    if not any(os.path.exists(os.path.join(FOLDER, "_raw" + suffix)) for suffix in EXTENSION_SUFFIXES):
        raise ImportError(why_missing())
    from . import _raw
    from ._constants import API_LEVEL

    level = _raw.ruda_api_level()
    if level < API_LEVEL:
        raise ImportError(
            f"{mapped_path() or 'libruda'} has API level {level}, this package needs {API_LEVEL}"
        )
    return _raw


_raw = load()
