"""Trials of files in another process, for compiled readers that a damaged file can end.

Python cannot catch the end of its own process. A file is therefore read once by another process, whose result is
discarded; only a file that it has read is read by this one.
"""

import json
import subprocess
import sys
from typing import Any

_START = """
import json, os, sys
sys.path[:], request = json.load(sys.stdin)
try:
    import resource
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (memory + 2**32, resource.getrlimit(resource.RLIMIT_AS)[1]))
except (ImportError, AttributeError, OSError, ValueError):
    pass
"""


def run_trial(script: str, request: Any, *, timeout: float | None = None) -> subprocess.CompletedProcess[bytes] | None:
    """Run a script in another Python, which imports the same modules and has `request`, converted by JSON.

    None if no second Python can be started (an embedded or frozen interpreter).

    Raises
    ------
    subprocess.TimeoutExpired
        If the script takes longer than `timeout` seconds.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        return None
    return subprocess.run(
        [sys.executable, "-I", "-c", _START + script],
        input=json.dumps([sys.path, request]).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=timeout,
        check=False,
    )
