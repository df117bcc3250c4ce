"""Wrong labels: errors put into the labels of data sets, and how many of them an audit finds and counts.

The constants of the model were chosen on ecoli, glass, ionosphere, mfeat_zernike, usps and vehicle, which are not used
here. "noise" has random features. The rows are drawn at random, 1,000 of each data set, or all if there are fewer.
"""

import csv
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import DOCS, write_csv
from oneof import CandidateSets, LOORidge, make_partial_labels
from oneof.audit import find_label_issues
from oneof.comparison.methods import default_estimators
from oneof.datasets import load
from oneof.datasets.cache import data_folders
from oneof.estimators.loo_ridge import loo_logits
from oneof.likelihoods import softmax
from oneof.model_selection import cross_val_predict

DATA = (
    "dermatology", "leaf", "letter", "mfeat_fourier", "mfeat_karhunen", "mfeat_morphological", "mnist", "pendigits",
    "pima", "satimage", "segment", "wdbc", "noise",
)  # fmt: skip
N_ROWS = 1000
MIN_CLASS_ROWS = 6
ERRORS = (
    ("none", 0.0), ("uniform", 0.05), ("uniform", 0.1), ("uniform", 0.2), ("confusable", 0.1), ("confusable", 0.2),
    ("some classes", 0.1),
)  # fmt: skip
REFITTED = ("LOORidge", "PLSVM", "PLEM")
REFIT_ERRORS = (("none", 0.0), ("uniform", 0.2), ("confusable", 0.2))
SET_RATE = 0.2
EXACT, SETS, REFITS = DOCS / "audit_exact.csv", DOCS / "audit_sets.csv", DOCS / "audit_refits.csv"
FIGURES = ("precision", "average_precision", "noise_rate", "low", "high", "suspected")
EXACT_COLUMNS = ("data", "errors", "rate", "probabilities", "finder", *FIGURES)
SET_COLUMNS = ("data", "rate", "finder", *FIGURES)
REFIT_COLUMNS = ("data", "errors", "rate", "method", "plain", "corrected")
MODELS = ("LOORidge", "logistic", "forest")


def classifiers():
    """Return classifiers of scikit-learn for the held-out probabilities."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest": RandomForestClassifier(100, random_state=0),
    }


def rows_of(name, n_rows=N_ROWS):
    """Return features and classes of rows drawn at random, of classes with enough rows."""
    rng = np.random.default_rng(0)
    if name == "noise":
        return rng.normal(size=(600, 6)), rng.choice(4, size=600, p=[0.4, 0.3, 0.2, 0.1])
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    rows = rng.permutation(len(X))[:n_rows]
    y = np.unique(data.y[rows], return_inverse=True)[1]
    kept = np.bincount(y)[y] >= MIN_CLASS_ROWS
    return X[rows][kept], np.unique(y[kept], return_inverse=True)[1]


def put_errors(y, kind, rate):
    """Return labels with errors, and the mask of the errors.

    Uniform errors are any other class, confusable ones one partner of each class; "some classes" are confusable errors
    in half of the classes only.
    """
    rng = np.random.default_rng(0)
    K, n, wrong = y.max() + 1, len(y), np.zeros(len(y), dtype=bool)
    pool = np.flatnonzero(rng.permutation(K)[y] < K // 2) if kind == "some classes" else np.arange(n)
    wrong[rng.permutation(pool)[: min(round(rate * n), len(pool) // 2)]] = True
    shift = rng.integers(1, K, size=n) if kind == "uniform" else rng.integers(1, K, size=K)[y]
    return np.where(wrong, (y + shift) % K, y), wrong


def figures(scores, wrong, issues=None):
    """Return precision at the true number of errors, average precision, and the rate; ties are in random order."""
    order = np.random.default_rng(0).permutation(len(scores))
    first = order[np.argsort(-scores[order], kind="stable")][: wrong.sum()]
    found = (wrong[first].mean(), average_precision_score(wrong, scores)) if wrong.any() else (np.nan, np.nan)
    rate = () if issues is None else (issues.noise_rate, *issues.noise_rate_interval, issues.is_issue.mean())
    return [f"{value:.4f}" for value in (*found, *rate)] + [""] * (4 - len(rate))


def exact(*, folder="audit-probabilities"):
    """Put errors into exact labels; write figures, and held-out probabilities into a folder for audit_cleanlab.py."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    lines = []
    for name in DATA:
        X, y = rows_of(name)
        for kind, rate in ERRORS:
            given, wrong = put_errors(y, kind, rate)
            path = Path(folder) / f"{name}-{kind}-{rate}.npz"
            if not path.exists():
                proba = {"LOORidge": softmax(loo_logits(LOORidge().fit(X, given)))}
                for method, classifier in classifiers().items():
                    proba[method] = cross_val_predict(classifier, X, given, method="predict_proba")
                np.savez(path, given=given, wrong=wrong, **proba)
            with np.load(path) as arrays:
                proba = {method: arrays[method] for method in MODELS}
            for method, p in proba.items():
                issues = find_label_issues(None, given, proba=p)
                lines.append((name, kind, rate, method, "oneof", *figures(issues.probability, wrong, issues)))
                scores = 1.0 - p[np.arange(len(given)), given]
                lines.append((name, kind, rate, method, "self-confidence", *figures(scores, wrong)))
            print(*lines[-6:], flush=True)
    write_csv(EXACT, EXACT_COLUMNS, lines)


def sets():
    """Put sets that exclude the true class among sets of two, and use LabelMe; write docs/audit_sets.csv."""
    lines = []
    for name in DATA[:-1]:
        X, y = rows_of(name)
        K = y.max() + 1
        if K == 2:  # a set of two labels would have all classes
            continue
        y_sets = make_partial_labels(y, n_distractors=1, noise_rate=SET_RATE, classes=np.arange(K), random_state=0)
        lines += set_lines(name, SET_RATE, X, y, y_sets)
    lines += set_lines("labelme", 0.111, *read_labelme())
    write_csv(SETS, SET_COLUMNS, lines)


def set_lines(name, rate, X, y, y_sets):
    """Return the lines of one task: the audit, and the probability outside the set of leave-one-out predictions."""
    wrong = ~y_sets.mask[np.arange(len(y)), y]
    proba = softmax(loo_logits(LOORidge().fit(X, y_sets)))
    issues = find_label_issues(X, y_sets)
    outside = np.where(y_sets.mask, 0.0, proba).sum(axis=1)
    lines = [
        (name, rate, "oneof", *figures(issues.probability, wrong, issues)),
        (name, rate, "outside", *figures(outside, wrong)),
    ]
    print(f"{wrong.mean():.3f}", *lines, flush=True)
    return lines


def read_labelme():
    """Return features, true classes and the sets of all answers of LabelMe."""
    paths = [folder / "labelme_crowd.npz" for folder in data_folders(None)]
    with np.load(next(path for path in paths if path.exists())) as arrays:
        answers, n = arrays["answers"].astype(np.int64), len(arrays["answers"])
        X, y = arrays["X"][:n].astype(np.float64), arrays["y"][:n].astype(np.int64)
    return X, y, CandidateSets.from_annotations(answers, classes=np.arange(y.max() + 1))


def refits():
    """Compare the test accuracy of a fit with that of the refit on corrected weights; write docs/audit_refits.csv."""
    lines = []
    for name in DATA[:-1]:
        X, y = rows_of(name, n_rows=2 * N_ROWS)
        n = len(y) // 2
        estimators = default_estimators(negative=True, n_rows=n, random_state=0)
        for kind, rate in REFIT_ERRORS:
            given, _ = put_errors(y[:n], kind, rate)
            labels = CandidateSets.from_labels(given, classes=np.arange(y.max() + 1))
            corrected = find_label_issues(X[:n], labels).corrected()
            for method in REFITTED:
                accuracy = [
                    np.mean(clone(estimators[method]).fit(X[:n], one).predict(X[n:]) == y[n:])
                    for one in (labels, corrected)
                ]
                lines.append((name, kind, rate, method, *(f"{value:.4f}" for value in accuracy)))
            print(*lines[-len(REFITTED) :], flush=True)
    write_csv(REFITS, REFIT_COLUMNS, lines)


def summary():
    """Print the tables of docs/audit.md."""
    lines = read(EXACT)
    finders = ("oneof", "self-confidence", "cleanlab")
    print(f"| data | {' | '.join(f'{m}: {f}' for m in MODELS for f in finders)} |")
    print("|---" * (1 + 3 * len(finders)) + "|")
    for name in (*DATA[:-1], "mean"):
        of_set = {} if name == "mean" else {"data": name}
        cells = [mean_precision(lines, probabilities=m, finder=f, **of_set) for m in MODELS for f in finders]
        print(f"| {name} | {' | '.join(cells)} |")
    print(f"\n| errors | rate | {' | '.join(MODELS)} |\n|---|---|---|---|---|")
    for kind, rate in (*ERRORS, ("all", "")):
        of_errors = {} if kind == "all" else {"errors": kind, "rate": rate}
        cells = [rate_cell(chosen(lines, probabilities=m, finder="oneof", **of_errors)) for m in MODELS]
        print(f"| {kind} | {rate} | {' | '.join(cells)} |")
    lines = read(SETS)
    print("\n| data | true rate | interval | oneof | outside |\n|---|---|---|---|---|")
    for name in dict.fromkeys(line["data"] for line in lines):
        cells = [mean_precision(lines, data=name, finder=finder) for finder in ("oneof", "outside")]
        [line] = chosen(lines, data=name, finder="oneof")
        print(f"| {name} | {line['rate']} | {line['low'][1:5]} to {line['high'][1:5]} | {' | '.join(cells)} |")
    lines = read(REFITS)
    print("\n| method | errors | rate | plain | refit | lowest difference |\n|---|---|---|---|---|---|")
    for method in REFITTED:
        for kind, rate in REFIT_ERRORS:
            part = chosen(lines, method=method, errors=kind, rate=rate)
            plain, refit = (np.array([float(line[key]) for line in part]) for key in ("plain", "corrected"))
            lowest = f"{(refit - plain).min():+.3f} ({part[int((refit - plain).argmin())]['data']})"
            print(f"| {method} | {kind} | {rate} | {plain.mean():.3f} | {refit.mean():.3f} | {lowest} |")


def chosen(lines, **values):
    """Return the lines with these values."""
    return [line for line in lines if all(line[key] == str(value) for key, value in values.items())]


def mean_precision(lines, **values):
    """Return the mean average precision of some lines with errors, without the set "noise", as text."""
    part = [line for line in chosen(lines, **values) if line["average_precision"] != "nan" and line["data"] != "noise"]
    return f"{np.mean([float(line['average_precision']) for line in part]):.3f}" if part else ""


def rate_cell(part):
    """Return the number of intervals that contain the rate, their mean width, and the mean estimate, as text."""
    rate, estimate, low, high = (
        np.array([float(line[key]) for line in part]) for key in ("rate", "noise_rate", "low", "high")
    )
    inside = (low <= rate + 0.001) & (rate - 0.001 <= high)  # the number of errors is rounded
    return f"{inside.sum()} of {len(part)}, {(high - low).mean():.2f}, {estimate.mean():.3f}"


def read(path):
    """Return the lines of a CSV as dicts."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
