"""Quick trials for tests of the store and the runner; also a program that can be killed."""

import os
import sys
import time
from pathlib import Path

import numpy as np

from reproduction import Store, Trial, run

N_TRIALS = 40
_RETAINED = []


def plan(n=N_TRIALS, experiment="toy"):
    """Return n trials."""
    return [Trial.from_settings(experiment, draw=draw, name=f"é{draw % 3}") for draw in range(n)]


def measure(trial):
    """Return numbers from the trial's own generator after a short pause; one trial in ten fails."""
    rng = trial.generator()
    time.sleep(0.01 * rng.random())
    if trial["draw"] % 10 == 7:
        raise ValueError(f"draw {trial['draw']}\nwas not to be")
    return {"value": rng.random(), "curve": rng.normal(size=20), "name": trial["name"]}


def die(trial):
    """Kill the process, as the system does when memory runs out."""
    if trial["draw"] == 3:
        os._exit(9)
    return {"value": 1.0}


def read_much(trial):
    """Keep 350 MB more after each trial, so that joblib replaces the process; return the process id."""
    _RETAINED.append(np.ones(44_000_000))
    time.sleep(1.1)  # joblib looks at most once a second
    return {"process": os.getpid()}


def outcome(records):
    """Return the content of records without their times."""
    return [(record.trial, record.result, record.error) for record in records]


if __name__ == "__main__":
    with Store(Path(sys.argv[1]), "toy") as store:
        run(plan(), measure, store, jobs=int(sys.argv[2]))
