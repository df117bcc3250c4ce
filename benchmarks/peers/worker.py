"""The process of one library: it reads requests as lines of JSON, runs them, and answers with a line of JSON.

It is run by the environment's own Python, so it imports only the standard library until a request names a module.
A runner reads its data and returns three functions: `renew()` prepares one run and is not timed; `run(renewed)` is
timed; `evaluate(outcome)` evaluates the result and is not timed.
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
    results = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in (library, "numpy", "scipy"):
        try:
            results[name] = version(name)
        except PackageNotFoundError:
            results[name] = "?"
    return results


EXCLUDED = [0.0, 0.0]
"""Processor and wall-clock seconds of the present run that are not counted."""


@contextmanager
def excluded():
    """Stop the clock, for preparation that must be done in blocks because it would not fit in memory."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    EXCLUDED[0] += time.process_time() - cpu
    EXCLUDED[1] += time.perf_counter() - wall


def no_renewal():
    """Return nothing, for runs without preparation."""


def timed(run, fresh):
    """Return the outcome of a call, the processor seconds of this process and the seconds on the wall."""
    EXCLUDED[:] = 0.0, 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    outcome = run(fresh)
    return outcome, time.process_time() - cpu - EXCLUDED[0], time.perf_counter() - wall - EXCLUDED[1]


def main():
    """Answer requests until there are no more."""
    # The output of libraries goes to standard error, so that the pipe has the answers alone.
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
                renew, run, evaluate = side
                seconds = []
                for _ in range(request["times"]):
                    outcome = None
                    fresh = renew()
                    outcome, *spent = timed(run, fresh)
                    seconds.append(spent)
                cpu, wall = (sum(column) / len(seconds) for column in zip(*seconds))
                answer = {"cpu": cpu, "wall": wall}
                if request["evaluate"]:
                    answer["result"] = {name: float(value) for name, value in evaluate(outcome).items()}
                outcome = fresh = None
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.modules["worker"] = sys.modules["__main__"]  # one clock, also for modules that import it by name
    main()
