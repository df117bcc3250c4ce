"""Processes killed by SIGKILL at random moments: the labeling page, a fit from a stream, the reproduction runner."""

import signal
import tempfile
import time
from pathlib import Path

from benchmarks.common import Table

ROUND = 20
"""Kills of one session, stream or experiment, after which the next one begins."""


def kill_page(n_kills, seed, folder):
    """Kill servers while two windows answer; each acknowledged answer must be in the file."""
    from tests.labeling.server_processes import server_processes
    from tests.labeling.test_kills import kill_at_random

    with server_processes() as servers:
        for start in range(0, n_kills, ROUND):  # a new session each time, which never runs out of questions
            kill_at_random(servers, folder / str(start), min(ROUND, n_kills - start), seed + start)


def kill_streams(n_kills, seed, folder):
    """Kill fits that write checkpoints; the resumed fit must have the bits of an uninterrupted one."""
    from tests.stream.test_checkpoint import stop_repeatedly

    for start in range(0, n_kills, ROUND):
        own = folder / str(start)
        own.mkdir()
        stop_repeatedly(own, [signal.SIGKILL] * min(ROUND, n_kills - start), seed + start)


def kill_runner(n_kills, seed, folder):
    """Kill experiments with one and two processes; no record may be lost or doubled."""
    from reproduction import Store, run
    from tests.reproduction.test_store import kill_until_done
    from tests.reproduction.toy import measure, outcome, plan

    with Store(folder / "uninterrupted.jsonl", "toy") as store:
        uninterrupted = outcome(run(plan(), measure, store))
    for start in range(0, n_kills, ROUND):
        own, jobs = folder / f"{start}.jsonl", 1 + start // ROUND % 2
        kill_until_done(own, uninterrupted, jobs=jobs, kills=min(ROUND, n_kills - start), seed=seed + start)


KILLED = {
    "labeling page, two windows that answer": (kill_page, 0.4),
    "oneof fit --online with checkpoints": (kill_streams, 0.32),
    "python -m reproduction": (kill_runner, 0.28),
}


def kills(total=500, seed=0):
    """Kill `total` processes, and write docs/reliability/kills.csv.

    A lost answer, weight or record ends the run with an error, and without a table.
    """
    lines = []
    for title, (kill, share) in KILLED.items():
        n_kills, start = round(total * share), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            kill(n_kills, seed, Path(folder))
        lines.append([title, n_kills])
        print(*lines[-1], f"{time.monotonic() - start:.0f} s", flush=True)
    Table("reliability/kills.csv", ["killed process", "kills without a loss"]).replace(lines)
