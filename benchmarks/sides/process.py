"""A library's process, as the race sees it."""

import json
import os
import subprocess
from pathlib import Path

from sides.environments import PeerError, interpreter

WORKER = Path(__file__).with_name("worker.py")
LOG = WORKER.parents[2] / "build" / "peers" / "log"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
MODULES = {
    "oneof": "with_oneof",
    "scikit-learn": "with_scikit_learn",
    "vowpalwabbit": "with_vowpal_wabbit",
    "river": "with_river",
    "liblinear-official": "with_liblinear",
}


class Side:
    """One library, told what to prepare and when to run."""

    def __init__(self, library: str, given: dict[str, str]) -> None:
        self.library = library
        self._python = interpreter(library, given)
        self._start()
        self.versions = self._ask(do="versions", library=library)

    def _start(self) -> None:
        environ = {**os.environ, **ONE_THREAD}
        if self.library != "oneof":
            environ.pop("PYTHONPATH", None)  # nothing of ours leaks into its environment
        LOG.mkdir(parents=True, exist_ok=True)
        with (LOG / f"{self.library}.txt").open("a") as log:
            self._process = subprocess.Popen(
                [self._python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=environ,
            )

    def prepare(self, runner: str, data: Path, options: dict) -> None:
        """Read the data and put it into the form that the library likes, all outside the clock."""
        self._ask(do="prepare", module=MODULES[self.library], runner=runner, data=str(data), options=options)

    def run(self, *, times: int = 1, judge: bool = False) -> dict:
        """Run some times; return mean seconds, and what was found if it is to be judged."""
        return self._ask(do="run", times=times, judge=judge)

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()

    def _ask(self, **request) -> dict:
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            status = self._process.wait()
            self._start()  # the next race begins anew
            raise PeerError(f"{self.library} ended with status {status}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.library}: {answer['error']}")
        return answer
