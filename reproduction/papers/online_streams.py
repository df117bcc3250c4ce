"""The streams of the online experiments: rows, candidate sets, algorithms and error counts."""

from typing import Any, NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Mask
from reproduction.data import load_arrays
from reproduction.records import Records, Result
from reproduction.trial import Setting, Trial

EXACT = 1
"""Size of the sets of the algorithms that see the labels."""
N_CHECKPOINTS = 60
LAMS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
REFERENCE = "Pegasos, exact labels"
WRONG = "wrong predictions"
"""Key of the counts: whole numbers are exact, and have a fifth of the digits of the error rates."""
AVERAGE, MAXIMUM = ("Avg Perceptron", "Avg Pegasos"), ("Max Perceptron", "Max Pegasos")
PARTIAL = (*AVERAGE, *MAXIMUM)
ON_LABELS = ("Perceptron, exact labels", REFERENCE)


class Stream(NamedTuple):
    """The stream of one figure: its set sizes, scaling and number of rounds."""

    figure: int
    sizes: tuple[int, ...]
    scale: str
    rounds: int
    minutes: tuple[float, float]


STREAMS = {
    "dermatology": Stream(1, (2, 4), "standard", 3660, (0.5, 0.2)),
    "ecoli": Stream(2, (2, 4, 6), "standard", 3360, (0.5, 0.2)),
    "satimage": Stream(3, (2, 4), "standard", 4435, (0.6, 0.2)),
    "usps": Stream(4, (2, 4, 6, 8), "none", 7291, (1.5, 0.3)),
    "mnist": Stream(5, (2, 4, 6, 8), "bytes", 60_000, (6.0, 0.5)),
}


def plan(data: str, *, draws: int, rounds: int | None = None) -> tuple[Trial, ...]:
    """Return the trials of a figure; fewer rounds stop earlier."""
    stream = STREAMS[data]
    return tuple(
        Trial.from_settings(f"online-{data}", data=data, size=size, draw=draw, rounds=rounds or stream.rounds)
        for draw in range(draws)
        for size in (EXACT, *stream.sizes)
    )


def checkpoints(rounds: int) -> Ints:
    """Return the rounds after which the number of wrong predictions is stored."""
    return np.unique(np.linspace(rounds / N_CHECKPOINTS, rounds, N_CHECKPOINTS).astype(np.int64))


def measure(trial: Trial) -> Result:
    """Return for each algorithm (and lambda) the number of wrong predictions up to each checkpoint."""
    from oneof.datasets import make_partial_labels

    X, y, _, n_train = load_arrays(trial.text("data"), STREAMS[trial.text("data")].scale)
    X, y = X[:n_train], y[:n_train]
    rounds, size = trial.number("rounds"), trial.number("size")
    # The rows and their order are the same for all set sizes.
    order = draw_passes(len(y), rounds, trial.generator("data", "draw"))
    sets = make_partial_labels(y, set_size=size, random_state=trial.generator("data", "draw", "size"))
    if size == EXACT:
        methods = {name: (name.split(",")[0], "max") for name in ON_LABELS}
    else:
        methods = {name: (name.split()[1], "average" if name in AVERAGE else "max") for name in PARTIAL}
    results: dict[str, Ints] = {}
    kept = checkpoints(rounds)
    for name, (family, prediction) in methods.items():
        for lam in LAMS if family == "Pegasos" else (None,):
            wrong = wrong_predictions(X, y, sets.mask, order, prediction, lam)
            results[result_key(name, lam)] = np.cumsum(wrong)[kept - 1]
    return {WRONG: results}


def error_rates(records: Records, name: str, **settings: Setting) -> Floats:
    """Return the fraction of wrong predictions up to each checkpoint, (n_draws, n_checkpoints)."""
    part = records.where(**settings)
    counts = part.values(lambda result: result[WRONG][name])
    return counts / checkpoints(part[0].trial.number("rounds")) if len(counts) else counts


def result_key(method: str, lam: float | None) -> str:
    """Return the key of a result."""
    return method if lam is None else f"{method}, lambda {lam:g}"


def draw_passes(n_rows: int, rounds: int, rng: np.random.Generator) -> list[Ints]:
    """Return passes over the rows, each in a new order, `rounds` rows in total."""
    passes, left = [], rounds
    while left > 0:
        passes.append(rng.permutation(n_rows)[:left])
        left -= len(passes[-1])
    return passes


def wrong_predictions(X: Floats, y: Ints, mask: Mask, order: list[Ints], prediction: Any, lam: float | None) -> Ints:
    """Return for each round whether the class predicted before the update was wrong."""
    from oneof.solvers.online import OnlineState, pegasos, perceptron

    state = OnlineState.zeros(mask.shape[1], X.shape[1], dtype=X.dtype, average=False)
    predicted, wrong = np.empty(len(y), dtype=np.int64), []
    for rows in order:
        options: dict[str, Any] = {"initial": state, "order": rows, "predicted": predicted, "prediction": prediction}
        state = perceptron(X, mask, **options) if lam is None else pegasos(X, mask, lam=lam, **options)
        wrong.append(predicted[rows] != y[rows])
    return np.concatenate(wrong)
