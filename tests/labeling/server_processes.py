"""Servers in separate processes, which tests may kill.

The imports of a server take seconds, so one process imports them and is forked for each server:
`python -m tests.labeling.server_processes`. A line "FILE N_ROWS" on its standard input starts a server with this file
of answers, and a line "PID LINK" on its standard output has the address of the server.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ServerProcesses:
    """Starts and kills servers."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._alive: set[int] = set()

    def start(self, log: Path, n_rows: int) -> tuple[int, str]:
        """Start a server, and return its process and its link."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{log} {n_rows}\n")
        self._process.stdin.flush()
        number, link = self._process.stdout.readline().split()
        self._alive.add(int(number))
        return int(number), link

    def kill(self, number: int) -> None:
        """Kill a server by SIGKILL."""
        self._alive.discard(number)
        os.kill(number, signal.SIGKILL)

    def close(self) -> None:
        """Kill the remaining servers."""
        for number in list(self._alive):
            self.kill(number)
        self._process.communicate()


@contextmanager
def server_processes() -> Iterator[ServerProcesses]:
    """Yield an object that starts and kills servers; it kills the remaining ones at the end."""
    command = [sys.executable, "-m", "tests.labeling.server_processes"]
    process = subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    servers = ServerProcesses(process)
    try:
        yield servers
    finally:
        servers.close()


def main() -> None:
    """Fork a server for each line of standard input."""
    from oneof.labeling import session
    from oneof.labeling.http import app, server  # noqa: F401 - before the first fork
    from tests.labeling.conftest import CLASSES, make_rows

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # killed servers are not waited for
    for line in sys.stdin:
        log, n_rows = line.split()
        if os.fork():
            continue
        begun = session.LabelingSession(
            make_rows(int(n_rows))[0], classes=CLASSES, path=log, background=True, random_state=0
        )
        served = server.LabelingServer(begun, title="Birds", annotator="Ann")
        sys.stdout.write(f"{os.getpid()} {served.link}\n")
        sys.stdout.flush()
        served.run()
        os._exit(0)


if __name__ == "__main__":
    main()
