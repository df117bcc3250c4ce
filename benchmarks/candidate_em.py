"""CandidateEM around boosting, a forest and logistic regression, compared with the other methods."""

import csv
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oneof
from benchmarks.common import DOCS, candidate_columns, peak_memory, write_csv
from oneof.comparison import default_estimators
from oneof.datasets import load

COLUMNS = ("data", "seed", "method", "accuracy", "training_labels", "seconds", "n_iter")
TABLE = DOCS / "candidate_em.csv"
PUBLISHED_SETS = ("lost", "msrcv2", "birdsong")
SYNTHETIC = ("satimage", "letter", "usps")
MAX_ROWS = 2_000
"""Rows of a synthetic task, training and test rows together."""
OTHERS = ("LOORidge", "PLEM", "AvgPegasos", "PLKNN", "GaussianEM")
EM = {
    "CandidateEM, boosting": lambda seed: oneof.CandidateEM(
        HistGradientBoostingClassifier(l2_regularization=1.0, early_stopping=False),
        cv=3,
        round_params={"max_iter": 20},
        random_state=seed,
    ),
    "CandidateEM, forest": lambda seed: oneof.CandidateEM(RandomForestClassifier(), random_state=seed),
    "CandidateEM, logistic": lambda seed: oneof.CandidateEM(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), random_state=seed
    ),
}


def task(name, seed):
    """Return X, candidate sets and true columns of training rows, and X and true columns of test rows."""
    data = load(name)
    X = np.asarray(data.X, dtype=np.float64)
    if name in PUBLISHED_SETS:
        candidates, truth = data.candidates, candidate_columns(data)
    else:
        rows = np.random.default_rng(seed).permutation(len(X))[:MAX_ROWS]
        X, truth = X[rows], candidate_columns(data)[rows]
        classes = np.arange(len(data.classes))
        candidates = oneof.make_partial_labels(truth, n_distractors=2, classes=classes, random_state=seed)
    train, test = train_test_split(np.arange(len(X)), test_size=0.2, random_state=seed)
    return X[train], candidates[train], truth[train], X[test], truth[test]


def codes(classes, labels):
    """Return the columns of labels."""
    column = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([column[label] for label in labels.tolist()])


def accuracy(*names: str, only: str = "", n_seeds: int = 1):
    """Write docs/candidate_em.csv: accuracy on the test rows and on the labels of the training rows, and time.

    Published candidate sets (lost, msrcv2, birdsong), and 2,000 rows of satimage, letter and usps with two random
    distractors in every row. Random splits 80/20. The other methods are as in `oneof.comparison`, scalers included.
    Neither the settings of CandidateEM nor its constants were chosen on these data sets. Times are processor times.
    `only` limits the run to methods that contain the text; rows of other methods and data sets stay in the table.
    """
    for label in (label for label in (*OTHERS, *EM) if only in label):
        for name in names or (*PUBLISHED_SETS, *SYNTHETIC):
            for seed in range(n_seeds):
                X, y, known, Z, truth = task(name, seed)
                panel = default_estimators(n_rows=len(X), random_state=seed)
                model = EM[label](seed) if label in EM else panel[label]
                start = time.process_time()
                model.fit(X, y)
                seconds = time.process_time() - start
                rate = (codes(y.classes, model.predict(Z)) == truth).mean()
                labels = model.transduction_ if label in EM else model[-1].disambiguate().labels
                label_rate = (codes(y.classes, labels) == known).mean()
                rounds = model.n_iter_ if label in EM else ""
                row = (name, seed, label, f"{rate:.4f}", f"{label_rate:.4f}", f"{seconds:.1f}", rounds)
                print(*row, sep="\t", flush=True)
                store(row)


def store(row):
    """Add a row to the table, in place of one of the same data set, seed and method."""
    columns, *rows = csv.reader(TABLE.open(encoding="utf-8")) if TABLE.exists() else [COLUMNS]
    row = [str(value) for value in row]
    write_csv(TABLE, columns, sorted([*(other for other in rows if other[:3] != row[:3]), row]))


def table():
    """Print docs/candidate_em.csv as a table of methods and data sets: test accuracy, mean over the seeds."""
    rows = list(csv.DictReader(TABLE.open(encoding="utf-8")))
    names = [name for name in (*PUBLISHED_SETS, *SYNTHETIC) if any(row["data"] == name for row in rows)]
    print(f"| method | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for label in (*OTHERS, *EM):
        cells = []
        for name in names:
            chosen = [row for row in rows if (row["data"], row["method"]) == (name, label)]
            rate = np.mean([float(row["accuracy"]) for row in chosen]) if chosen else np.nan
            seconds = np.mean([float(row["seconds"]) for row in chosen]) if chosen else np.nan
            cells.append(f"{rate:.3f}".lstrip("0") + f" ({seconds:.3g} s)" if chosen else "")
        print(f"| {label} | {' | '.join(cells)} |")


def large(n_rows: int = 60_000, *, boosting_iterations: int = 20, only: str = ""):
    """Print accuracy, time and memory of CandidateEM on pixels of MNIST with two random distractors in every row.

    The time of one fit of the classifier to the true labels is printed too. `only` is a part of a classifier's name.
    """
    data = load("mnist")
    X, y = np.asarray(data.X, dtype=np.float32), candidate_columns(data)
    X, y, Z, truth = X[:n_rows], y[:n_rows], X[60_000:], y[60_000:]
    sets = oneof.make_partial_labels(y, n_distractors=2, random_state=0)
    classifiers = {
        "forest": (RandomForestClassifier(50, min_samples_leaf=5, n_jobs=2, random_state=0), None),
        "boosting": (
            HistGradientBoostingClassifier(l2_regularization=1.0, early_stopping=False, random_state=0),
            {"max_iter": boosting_iterations},
        ),
    }
    for name, (classifier, round_params) in classifiers.items():
        if only not in name:
            continue
        start = time.perf_counter()
        bound = (classifier.fit(X, y).predict(Z) == truth).mean()
        print(f"{name}: true labels {bound:.4f}, {time.perf_counter() - start:.0f} s", flush=True)
        start = time.perf_counter()
        model = oneof.CandidateEM(classifier, cv=3, round_params=round_params, random_state=0).fit(X, sets)
        seconds = time.perf_counter() - start
        print(
            f"{name}: CandidateEM {(model.predict(Z) == truth).mean():.4f}, training labels "
            f"{(model.transduction_ == y).mean():.4f}, {model.n_iter_} rounds, {seconds:.0f} s, {peak_memory():.2f} GB",
            flush=True,
        )
