# tests/oracle.py - runs a comparison script with the Python that has PyTorch and transformers.
# SPDX-License-Identifier: Apache-2.0
"""usage: oracle.py SCRIPT ARGUMENT...     the interpreter is RUDA_ORACLE_PYTHON, or this one"""

import os
import sys

python = os.environ.get("RUDA_ORACLE_PYTHON") or sys.executable
os.execv(python, [python] + sys.argv[1:])
