"""Coverage of the estimated accuracy with answers of simulated annotators."""

from typing import Any

import numpy as np

from oneof.audit.accuracy import estimate_accuracy
from oneof.comparison import compare
from oneof.crowd import AnnotatorModel, Answers

N_CLASSES = 4
CROWDS: dict[str, dict[str, Any]] = {
    "accuracies .9 to .6, three answers per row": {},
    "accuracies .6 to .5": {"accuracies": (0.6, 0.55, 0.5, 0.5)},
    "accuracies .95 to .9": {"accuracies": (0.95, 0.9, 0.9)},
    "one answer per row": {"n_answers": 1},
    "two answers per row": {"n_answers": 2},
    "two classes confused": {"accuracies": (0.75, 0.7, 0.7, 0.65), "confused": 0.7},
    "overlapping classes": {"distance": 0.6},
    "120 rows": {"n_rows": 120},
}


def draw_crowd(
    seed: int,
    *,
    n_rows: int = 400,
    distance: float = 1.2,
    accuracies: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6),
    n_answers: int = 3,
    confused: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Gaussian rows, true labels, and a table of answers with -1 for none.

    A wrong answer is the next class with the probability `confused`, otherwise a random one.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_CLASSES, size=n_rows)
    X = (distance * rng.normal(size=(N_CLASSES, 8)))[truth] + rng.normal(size=(n_rows, 8))
    table = np.full((n_rows, len(accuracies)), -1)
    for i, label in enumerate(truth):
        for a in rng.permutation(len(accuracies))[:n_answers]:
            wrong = (label + (1 if rng.random() < confused else rng.integers(1, N_CLASSES))) % N_CLASSES
            table[i, a] = label if rng.random() < accuracies[a] else wrong
    return X, truth, table


def estimated_accuracy(n_draws=12):
    """Print how often the interval of 95 % contains the accuracy of the held-out predictions."""
    for method in ("LOORidge", "PLEM"):
        for title, options in CROWDS.items():
            inside, errors, widths = [], [], []
            for seed in range(n_draws):
                X, truth, table = draw_crowd(seed, **options)
                candidates = AnnotatorModel().fit(Answers.from_table(table, classes=range(N_CLASSES))).candidates_
                compared = compare(X, candidates, [method], cv=5, random_state=0, keep_predictions=True)
                result, rows = compared.results[0], compared.held_out_rows
                estimate = estimate_accuracy(result.probabilities, result.predictions, candidates[rows])
                if estimate is not None:
                    accuracy = float(np.mean(result.predictions == truth[rows]))
                    low, high = estimate.interval
                    inside.append(low <= accuracy <= high)
                    errors.append(estimate.accuracy - accuracy)
                    widths.append(high - low)
            print(
                f"{method}, {title}: {sum(inside)} of {len(inside)} intervals ({n_draws - len(inside)} without), "
                f"mean error {np.mean(errors):+.3f}, mean width {np.mean(widths):.3f}",
                flush=True,
            )
