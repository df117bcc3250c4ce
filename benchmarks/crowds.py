"""Labels from the answers of annotators, and classifiers fitted to them, with known true labels for evaluation.

The data sets are LabelMe (Rodrigues & Pereira 2018; 1,000 images with answers, 500 for validation, 1,188 for the
test), bluebirds (Welinder et al. 2010), dog and web (Zhou et al. 2012). The last three have no features: their files
in the folder of the data sets are arrays of answers and true labels.
"""

import csv
import time

import numpy as np

import oneof
from benchmarks.common import DOCS, candidate_columns, write_csv
from oneof import CandidateSets
from oneof.crowd import AnnotatorModel, CrowdClassifier, krippendorff_alpha
from oneof.datasets import load
from oneof.datasets.cache import data_folders

TABLE = DOCS / "crowds.csv"
COLUMNS = ("part", "data", "method", "rows", "correct_labels", "validation", "test", "alpha", "seconds")
ANSWERS = ("labelme", "bluebirds", "dog", "web")
N_VALIDATION = 500
CLASSIFIERS = {
    "LOORidge": oneof.LOORidge,
    "GaussianEM tied": lambda: oneof.GaussianEM(covariance="tied"),
}


def read_answers(name):
    """Return the (rows, annotators) table of answers, and the true classes, both -1 if missing."""
    files = [folder / f"{name}_crowd.npz" for folder in data_folders(None)]
    with np.load(next(file for file in files if file.exists())) as arrays:
        table = arrays["answers"].astype(np.int64)
        return table, arrays["y"][: len(table)].astype(np.int64)


def vote_correct(table, truth):
    """Return the expected fraction of correct labels by the most votes, ties at random."""
    votes = (table[:, :, None] == np.unique(table[table >= 0])).sum(axis=1)
    tied = votes == votes.max(axis=1, keepdims=True)
    known = truth >= 0
    return (tied / tied.sum(axis=1, keepdims=True))[known, truth[known]].mean()


def aggregation():
    """Write the fractions of correct labels by votes and by `AnnotatorModel`, from the answers alone."""
    lines = []
    for name in ANSWERS:
        table, truth = read_answers(name)
        known = truth >= 0
        start = time.process_time()
        model = AnnotatorModel().fit(table)
        seconds = time.process_time() - start
        alpha = f"{krippendorff_alpha(table):.3f}"
        correct = (model.transduction_ == truth)[known].mean()
        for method, value, cost in (("votes", vote_correct(table, truth), None), ("AnnotatorModel", correct, seconds)):
            spent = "" if cost is None else f"{cost:.1f}"
            lines.append(("aggregation", name, method, len(table), f"{value:.4f}", "", "", alpha, spent))
    _write("aggregation", lines)


def classifiers():
    """Write the accuracies on LabelMe of classifiers fitted to the sets of all answers and by `CrowdClassifier`."""
    data = load("labelme_crowd")
    table, truth, X = data.annotations, candidate_columns(data), data.X.astype(np.float64)
    n, classes = len(table), np.arange(len(data.classes))
    sets = CandidateSets.from_annotations(table, classes=classes)
    parts = slice(n, n + N_VALIDATION), slice(n + N_VALIDATION, None)
    lines = []
    for name, make in CLASSIFIERS.items():
        for form in ("sets", "CrowdClassifier"):
            start = time.process_time()
            if form == "sets":
                model = make().fit(X[:n], sets)
                labels = model.disambiguate().labels
            else:
                model = CrowdClassifier(make(), random_state=0).fit(X[:n], table)
                labels = model.transduction_
            seconds = time.process_time() - start
            rates = [(labels == truth[:n]).mean(), *((model.predict(X[rows]) == truth[rows]).mean() for rows in parts)]
            figures = (*(f"{rate:.4f}" for rate in rates), "", f"{seconds:.1f}")
            lines.append(("classifiers", "labelme", f"{name} ({form})", n, *figures))
    _write("classifiers", lines)


def _write(part, lines):
    """Print the lines, and replace those of the part in the table."""
    kept = []
    if TABLE.exists():
        with TABLE.open(encoding="utf-8", newline="") as file:
            kept = [tuple(line) for line in list(csv.reader(file))[1:] if line[0] != part]
    write_csv(TABLE, COLUMNS, sorted([*kept, *lines], key=lambda line: line[:2]))
    for line in lines:
        print(*line)
