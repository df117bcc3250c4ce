"""The process of one library: reads one request a line, runs what it names, answers with one line of JSON.

Run by the environment's own Python, so it imports nothing but the standard library until a request names a module.
A runner there reads its data and returns three functions: `renew()` sets up what one run uses up, outside the clock;
`run(renewed)` is what the clock sees; `judge(outcome)` measures the outcome, outside the clock again.
"""

import importlib
import json
import os
import sys
import time
import traceback
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version


def versions(library):
    """Return the release of the library, of Python and of NumPy."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in (library, "numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "?"
    return found


ASIDE = [0.0, 0.0]
"""Processor seconds and those on the wall that the present run has spent aside."""


@contextmanager
def aside():
    """Stop the clock: for what a run has to do in pieces because it would not fit in memory beforehand."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    ASIDE[0] += time.process_time() - cpu
    ASIDE[1] += time.perf_counter() - wall


def afresh():
    """Renew nothing."""


def timed(run, fresh):
    """Return the outcome of a call, the processor seconds of this process and the seconds on the wall."""
    ASIDE[:] = 0.0, 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    outcome = run(fresh)
    return outcome, time.process_time() - cpu - ASIDE[0], time.perf_counter() - wall - ASIDE[1]


def main():
    """Answer requests until there are no more."""
    # Libraries print; what they print goes where errors go, and the answers keep the pipe for themselves.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    side = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "versions":
                answer = versions(request["library"])
            elif request["do"] == "prepare":
                side = None
                module = importlib.import_module(request["module"])
                side = getattr(module, request["runner"])(request["data"], **request["options"])
                answer = {}
            else:
                renew, run, judge = side
                seconds = []
                for _ in range(request["times"]):
                    outcome = None
                    fresh = renew()
                    outcome, *spent = timed(run, fresh)
                    seconds.append(spent)
                cpu, wall = (sum(column) / len(seconds) for column in zip(*seconds))
                answer = {"cpu": cpu, "wall": wall}
                if request["judge"]:
                    answer["found"] = {name: float(value) for name, value in judge(outcome).items()}
                outcome = fresh = None
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.modules["worker"] = sys.modules["__main__"]  # one clock, also for those that import it by name
    main()
