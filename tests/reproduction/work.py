"""Trials that measure little, for tests of the store and the runner; also run as a program that can be killed."""

import os
import sys
import time
from pathlib import Path

import numpy as np

from reproduction import Store, Trial, run

N_TRIALS = 40
_HELD = []


def plan(n=N_TRIALS, experiment="toy"):
    """Return n trials."""
    return [Trial.of(experiment, draw=draw, name=f"é{draw % 3}") for draw in range(n)]


def measure(trial):
    """Return numbers drawn from the trial's own generator, after a moment; one trial in ten fails."""
    random = trial.generator()
    time.sleep(0.01 * random.random())
    if trial["draw"] % 10 == 7:
        raise ValueError(f"draw {trial['draw']}\nwas not to be")
    return {"value": random.random(), "curve": random.normal(size=20), "name": trial["name"]}


def die(trial):
    """End the process, as a system does that is out of memory."""
    if trial["draw"] == 3:
        os._exit(9)
    return {"value": 1.0}


def read_much(trial):
    """Hold 350 MB more after each trial, for which joblib replaces the process, and tell which process it was."""
    _HELD.append(np.ones(44_000_000))
    time.sleep(1.1)  # joblib looks at most once a second
    return {"process": os.getpid()}


def outcome(records):
    """Return what records say, without the time that they took."""
    return [(record.trial, record.result, record.error) for record in records]


if __name__ == "__main__":
    with Store(Path(sys.argv[1]), "toy") as store:
        run(plan(), measure, store, jobs=int(sys.argv[2]))
