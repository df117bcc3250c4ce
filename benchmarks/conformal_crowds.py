"""Coverage and mean size of the prediction sets of `oneof fit --answers`."""

import csv

import numpy as np

import oneof
from benchmarks.common import DOCS, write_csv
from oneof import LOORidge
from oneof.cli.prediction.sets import SetOptions, held_out_calibration
from oneof.comparison import compare
from oneof.comparison.folds import check_task, make_folds
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier
from oneof.crowd.learners import calibration_labels
from oneof.persistence import prediction_sets

TABLE = DOCS / "conformal_crowds.csv"
COLUMNS = ("data", "calibration", "nominal", "draws", "coverage", "mean_size", "accuracy")
SETS = (
    "glass",
    "vehicle",
    "satimage",
    "mfeat_morphological",
    "segment",
    "pendigits",
    "mfeat_zernike",
    "ecoli",
    "labelme_crowd",
)
CALIBRATIONS = ("oneof fit", "answers alone", "true labels")
COVERAGES = (0.8, 0.9, 0.95)
MAX_ROWS = 1_600
"""Maximum number of rows of a draw, of which three eighths are for the test."""
N_ANNOTATORS, N_ANSWERS, ACCURACIES = 6, 3, (0.4, 0.8)
"""Simulated annotators, number of answers to a row, and the range of the probability not to answer at random."""


def crowds(*names: str, draws: int = 3):
    """Measure the sets with the calibration of `oneof fit --answers`, and with two others.

    "answers alone": predictions and labels by the held-out predictions of the comparison, which is fitted to weights by
    the answers alone. "true labels": held-out predictions of the final fit, and the true labels. The rule of all
    calibrations is "sampled".
    """
    lines = []
    for name in names or SETS:
        cells = [_measure_draw(name, draw) for draw in range(draws)]
        for calibration in CALIBRATIONS:
            for coverage in COVERAGES:
                means = np.mean([cell[calibration, coverage] for cell in cells], axis=0).round(4)
                lines.append([name, calibration, coverage, draws, *means])
                print(*lines[-1], flush=True)
    write_csv(TABLE, COLUMNS, lines)


def print_table():
    """Print the table of docs/conformal.md from the file."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    kept = [(calibration, nominal) for nominal in COVERAGES[1:] for calibration in CALIBRATIONS]
    print(f"| data | accuracy | {' | '.join(f'{nominal:g}, {calibration}' for calibration, nominal in kept)} |")
    print("|" + "---|" * (2 + len(kept)))
    for name in SETS:
        part = {(line["calibration"], float(line["nominal"])): line for line in lines if line["data"] == name}
        cells = [f"{float(part[key]['coverage']):.3f}, {float(part[key]['mean_size']):.2f}".lstrip("0") for key in kept]
        print(f"| {name} | {float(part[kept[0]]['accuracy']):.2f} | {' | '.join(cells)} |")


def _measure_draw(name, draw):
    """Return coverage, mean size and accuracy for each calibration and nominal coverage."""
    rng = np.random.default_rng(draw)
    data = oneof.datasets.load(name)
    n_classes = len(data.classes)
    answers = data.annotations
    n_rows = len(data.y) if answers is None else len(answers)
    order = rng.permutation(n_rows)[:MAX_ROWS]
    code = {label: k for k, label in enumerate(data.classes.tolist())}
    X, y = data.X[order].astype(np.float64), np.array([code[label] for label in data.y[order].tolist()])
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    answers = _simulate(y, n_classes, rng) if answers is None else answers[order]
    rows, test = np.split(np.arange(len(y)), [len(y) * 5 // 8])
    answers = answers[rows][:, (answers[rows] >= 0).any(axis=0)]
    table = Answers.from_table(np.where(answers >= 0, answers, None), classes=range(n_classes))
    candidates = AnnotatorModel().fit(table).candidates_
    folds = make_folds(check_task(X[rows], candidates, None), 5, draw)
    comparison = compare(
        X[rows], candidates, ["LOORidge"], cv=folds, refit=False, keep_predictions="labeled", random_state=draw
    )
    crowd = CrowdClassifier(LOORidge(), random_state=draw).fit(X[rows], table)
    prior = comparison.results[0].probabilities, comparison.held_out_rows
    proba, posterior = calibration_labels(crowd, X[rows], candidates, *prior, folds)
    parts = {
        "oneof fit": held_out_calibration(comparison, candidates, draw, posterior, None, proba),
        "answers alone": held_out_calibration(comparison, candidates, draw),
        "true labels": held_out_calibration(comparison, candidates, draw, None, y[rows], proba),
    }
    new, result = crowd.predict_proba(X[test]), {}
    for calibration, part in parts.items():
        for coverage in COVERAGES:
            options = SetOptions(coverage, calibration="sampled")
            mask = prediction_sets.predict_mask(prediction_sets.calibrate_rows(part, options), new, options)
            covered = mask[np.arange(len(test)), y[test]]
            result[calibration, coverage] = (
                covered.mean(),
                mask.sum(axis=1).mean(),
                (new.argmax(axis=1) == y[test]).mean(),
            )
    return result


def _simulate(y, n_classes, rng):
    """Return answers of annotators to some of the rows each, -1 if an annotator has none."""
    answers = np.full((len(y), N_ANNOTATORS), -1)
    accuracy = rng.uniform(*ACCURACIES, size=N_ANNOTATORS)
    for i in range(len(y)):
        for j in rng.permutation(N_ANNOTATORS)[:N_ANSWERS]:
            answers[i, j] = y[i] if rng.random() < accuracy[j] else rng.integers(n_classes)
    return answers
