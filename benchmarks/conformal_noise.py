"""Coverage and mean size of the prediction sets of `oneof fit` if a part of the candidate sets lacks the true class."""

import csv

import numpy as np

import oneof
from benchmarks.common import DOCS, write_csv
from oneof import CandidateSets, LOORidge
from oneof.audit import find_label_issues
from oneof.cli.prediction.sets import SetOptions, held_out_calibration
from oneof.comparison import compare
from oneof.persistence import prediction_sets

TABLE = DOCS / "conformal_noise.csv"
COLUMNS = ("data", "noise_rate", "max_distractors", "labels", "draws", "coverage", "mean_size", "accuracy")
SETS = ("segment", "pendigits", "satimage", "letter", "vehicle")
NOISE_RATES, MAX_DISTRACTORS = (0.1, 0.25), (0, 2)
LABELS = ("as they are", "corrected", "corrected, sampled")
COVERAGE = 0.9
MAX_ROWS = 2_400
"""Maximum number of rows of a draw, of which half are for the test."""


def noise(*names: str, draws: int = 3):
    """Compare the sets of models that are fitted to the labels as they are and to corrected weights.

    A fraction of the sets lacks the true class, and has another one if it would be empty. The model is `LOORidge`.
    The held-out predictions of five folds calibrate.
    """
    lines = []
    for name in names or SETS:
        for noise_rate in NOISE_RATES:
            for max_distractors in MAX_DISTRACTORS:
                cells = [_measure_draw(name, noise_rate, max_distractors, draw) for draw in range(draws)]
                for labels in LABELS:
                    means = np.mean([cell[labels] for cell in cells], axis=0).round(4)
                    lines.append([name, noise_rate, max_distractors, labels, draws, *means])
                    print(*lines[-1], flush=True)
    write_csv(TABLE, COLUMNS, lines)


def print_table():
    """Print the table of docs/conformal.md from the file."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    columns = [f"{rate:.0%}, {labels}".replace("%", " %") for rate in NOISE_RATES for labels in LABELS]
    print(f"| data, distractors | {' | '.join(columns)} |")
    print("|" + "---|" * (1 + len(columns)))
    for name in SETS:
        for n_distractors in MAX_DISTRACTORS:
            row = [line for line in lines if (line["data"], line["max_distractors"]) == (name, str(n_distractors))]
            cells = [f"{float(line['coverage']):.3f}".lstrip("0") + f", {float(line['mean_size']):.2f}" for line in row]
            print(f"| {name}, {f'up to {n_distractors}' if n_distractors else 'none'} | {' | '.join(cells)} |")


def _measure_draw(data_name, noise_rate, max_distractors, draw):
    """Return coverage, mean size and accuracy for both kinds of labels."""
    data = oneof.datasets.load(data_name)
    order = np.random.default_rng(draw).permutation(len(data.y))[:MAX_ROWS]
    X = data.X[order].astype(np.float64)
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    y = np.unique(data.y, return_inverse=True)[1][order]
    rows, test = np.split(np.arange(len(y)), [len(y) // 2])
    y_sets = _noisy_sets(y[rows], y.max() + 1, noise_rate, max_distractors, draw)
    comparison = compare(
        X[rows], y_sets, ["LOORidge"], cv=5, refit=False, keep_predictions="labeled", random_state=draw
    )
    issues = find_label_issues(X[rows], y_sets, random_state=draw)
    result = {}
    for labels, used, fitted_to in (("as they are", None, y_sets), ("corrected", issues.posterior, issues.corrected())):
        calibration = held_out_calibration(comparison, y_sets, draw, used)
        model = LOORidge().fit(X[rows], fitted_to)
        proba = model.predict_proba(X[test])
        for name, rule in ((labels, "conservative"), (f"{labels}, sampled", "sampled")):
            options = SetOptions(COVERAGE, calibration=rule)
            calibrated = prediction_sets.calibrate_rows(calibration, options)
            mask = prediction_sets.predict_mask(calibrated, proba, options)
            covered = mask[np.arange(len(test)), y[test]]
            result[name] = covered.mean(), mask.sum(axis=1).mean(), (proba.argmax(axis=1) == y[test]).mean()
    return result


def _noisy_sets(y, n_classes, noise_rate, max_distractors, draw):
    """Return sets of the label and up to some distractors, of which a fraction loses the label."""
    rng = np.random.default_rng(draw)
    mask = np.eye(n_classes, dtype=bool)[y]
    for i in range(len(y)):
        mask[i, rng.permutation(n_classes)[: rng.integers(0, max_distractors + 1)]] = True
    for i in np.flatnonzero(rng.random(len(y)) < noise_rate):
        mask[i, y[i]] = False
        if not mask[i].any():
            mask[i, rng.choice(np.delete(np.arange(n_classes), y[i]))] = True
    return CandidateSets(mask, np.arange(n_classes))
