# tests/gpu_run.py - runs a program for at most so many seconds, and reads what it printed.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import time


def run(command, seconds):
    """(exit code or None past the time, output, seconds)"""
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=max(seconds, 1))
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        code = None
    return code, output, time.monotonic() - started


def tail(output, lines=25):
    return "\n".join(output.strip().splitlines()[-lines:])
