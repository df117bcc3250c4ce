"""The process of a library, in an environment that pip makes from its registry package alone."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.common import ONE_THREAD

HOME = Path(__file__).parents[2] / "build" / "peers"
PACKAGES = {
    # The release that oneof itself uses, so that a ratio compares methods and not releases.
    "scikit-learn": ("scikit-learn==" + version("scikit-learn"),),
    "vowpalwabbit": ("vowpalwabbit==9.11.*",),
    "river": ("river==0.26.*", "pandas"),  # pandas is for its mini-batches
    "liblinear-official": ("liblinear-official==2.50.*",),
    "graphlearning": ("graphlearning==1.7.*",),
}
SAME = (f"numpy=={version('numpy')}", f"scipy=={version('scipy')}")
"""The releases that every side reads its data with."""


class PeerError(Exception):
    """The reason why a library cannot be run."""


def interpreter(library: str, environments: dict[str, str]) -> str:
    """Return the Python of a library's environment; it is created on first use, unless `environments` has one."""
    if library == "oneof":
        return sys.executable
    folder = Path(environments[library]) if library in environments else HOME / library
    python = folder / "bin" / "python"
    requested = "\n".join((*PACKAGES[library], *SAME))
    stamp = folder / "installed"
    if library in environments or (stamp.exists() and stamp.read_text() == requested):
        return str(python)
    print(f"  (making an environment for {library})", flush=True)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, capture_output=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES[library], *SAME], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr or error).strip().splitlines()
        raise PeerError(f"{library} cannot be installed: {lines[-1] if lines else error}") from error
    stamp.write_text(requested)
    return str(python)


WORKER = Path(__file__).with_name("worker.py")
LOG = HOME / "log"
MODULES = {
    "oneof": "with_oneof",
    "scikit-learn": "with_scikit_learn",
    "vowpalwabbit": "with_others",
    "river": "with_others",
    "liblinear-official": "with_others",
    "graphlearning": "with_others",
}


class Side:
    """The process of one library, which prepares and runs a race on request."""

    def __init__(self, library: str, environments: dict[str, str]) -> None:
        self.library = library
        self._python = interpreter(library, environments)
        self._start()
        self.versions = self._ask(do="versions", library=library)

    def _start(self) -> None:
        environ = {**os.environ, **ONE_THREAD}
        if self.library != "oneof":
            environ.pop("PYTHONPATH", None)  # the peer's environment has its own packages
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
        """Read the data and convert it to the library's structures, which is not timed."""
        self._ask(do="prepare", module=MODULES[self.library], runner=runner, data=str(data), options=options)

    def run(self, *, times: int = 1, evaluate: bool = False) -> dict:
        """Run several times; return the mean seconds, and the evaluated result if requested."""
        return self._ask(do="run", times=times, evaluate=evaluate)

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
            self._start()  # the next race has a new process
            raise PeerError(f"{self.library} ended with status {status}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.library}: {answer['error']}")
        return answer
