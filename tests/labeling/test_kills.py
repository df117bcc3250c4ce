"""A server killed by `kill -9` at any moment loses no acknowledged answer."""

import http.client
import secrets
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneof.labeling.answers.log import DEGREES
from tests.labeling.server_processes import ServerProcesses, server_processes
from tests.labeling.serving import Client

N_ROWS = 1_000


def label(link: str, window: str, rng: np.random.Generator, sent: dict[str, Any], acknowledged: dict[str, Any]) -> None:
    """Answer questions, with some undos, until the server is killed."""
    client = Client(link)
    try:
        question = client.ask(window=window)
        while True:
            key = secrets.token_hex(8)
            if rng.random() < 0.1:
                undo = {"annotator": "Ann", "window": window, "key": key}
                sent[key] = ("undo", None, None)
                response = client.post("api/undo", undo)
            else:
                kind, labels = [("one of", [0]), ("one of", [0, 2]), ("none of", [1]), ("unknown", [])][rng.integers(4)]
                degree = None if kind == "unknown" else [None, *DEGREES][rng.integers(4)]
                sent[key] = (kind, tuple(labels), degree)
                response = client.answer(question, kind, labels, key, degree)
            if response.status == 200 and response.json().get("undone", key):  # an undo of nothing writes no entry
                acknowledged[key] = sent[key]
            elif response.status == 409:  # the other window undid the same answer, or changed the row
                response = client.post("api/ask", {"annotator": "Ann", "window": window})
            question = response.json()["question"]
    except (OSError, http.client.HTTPException, ValueError):
        return  # killed


def kill_at_random(servers: ServerProcesses, log: Path, n_rounds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sent: dict[str, Any] = {}
    acknowledged: dict[str, Any] = {}
    for done in range(n_rounds):
        process, link = servers.start(log, N_ROWS)
        before = len(acknowledged)
        threads = [
            threading.Thread(target=label, args=(link, window, rng.spawn(1)[0], sent, acknowledged)) for window in "12"
        ]
        for thread in threads:
            thread.start()
        enough = before + rng.integers(8, 24)  # answers, as a slow machine gives few in any fixed time
        while len(acknowledged) < enough and any(thread.is_alive() for thread in threads):
            time.sleep(0.001)
        time.sleep(rng.random() * 0.03)  # any moment of the next requests
        servers.kill(process)
        for thread in threads:
            thread.join()
        connection = sqlite3.connect(log)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        [has_degrees] = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'degrees'").fetchone()
        degree, join = ("degree", "LEFT JOIN degrees USING (number)") if has_degrees else ("NULL", "")
        lines = connection.execute(
            f"SELECT key, kind, labels, {degree}, number FROM entries {join} ORDER BY number"
        ).fetchall()
        connection.close()
        stored = {
            key: (
                kind,
                None if kind == "undo" else tuple(map(int, labels.strip("[]").split(", "))) if labels != "[]" else (),
                degree,
            )
            for key, kind, labels, degree, _ in lines
        }
        assert [number for *_, number in lines] == list(range(1, len(lines) + 1))
        assert acknowledged.items() <= stored.items() <= sent.items()
        assert len(stored) - len(acknowledged) <= 2 * (done + 1)  # one request of each window may be in progress
    assert len(acknowledged) > 5 * n_rounds
    assert {degree for *_, degree in acknowledged.values()} == {None, *DEGREES}


@pytest.mark.long
def test_five_kills(tmp_path: Path) -> None:
    """All acknowledged answers of two windows are in the file, with their degrees, and the file is valid."""
    with server_processes() as servers:
        kill_at_random(servers, tmp_path / "log", 5, 0)


@pytest.mark.slow
def test_fifty_kills(tmp_path: Path) -> None:
    """All acknowledged answers survive fifty kills, as in `test_five_kills`."""
    with server_processes() as servers:
        kill_at_random(servers, tmp_path / "log", 50, 1)
