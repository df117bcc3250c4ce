"""Wrong labels: errors put into the labels of data sets, and how many of them an audit finds and counts.

The constants of the model were chosen on ecoli, glass, ionosphere, mfeat_zernike, usps and vehicle, which are not used
here. "noise" has random features. The rows are drawn at random, 1,000 of each data set, or all if there are fewer.
"""

from importlib.util import find_spec

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import Table, markdown, read_arrays
from oneof import CandidateSets, LOORidge, make_partial_labels
from oneof.audit import find_label_issues
from oneof.comparison.methods import default_estimators
from oneof.datasets import load
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
FIGURES = ("precision", "average_precision", "noise_rate", "low", "high", "suspected")
EXACT = Table("audit_exact.csv", ("data", "errors", "rate", "probabilities", "finder", *FIGURES))
SETS = Table("audit_sets.csv", ("data", "rate", "finder", *FIGURES))
REFITS = Table("audit_refits.csv", ("data", "errors", "rate", "method", "plain", "corrected"))
MODELS, FINDERS = ("LOORidge", "logistic", "forest"), ("oneof", "self-confidence", "cleanlab")


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


def exact():
    """Put errors into exact labels, and rank the rows by `find_label_issues`, by their probabilities and by cleanlab.

    All have the same held-out probabilities. Without cleanlab, which is not a dependency, its lines are missing.
    """
    lines = []
    for name in DATA:
        X, y = rows_of(name)
        for kind, rate in ERRORS:
            given, wrong = put_errors(y, kind, rate)
            proba = {"LOORidge": softmax(loo_logits(LOORidge().fit(X, given)))}
            for method, classifier in classifiers().items():
                proba[method] = cross_val_predict(classifier, X, given, method="predict_proba")
            for method, p in proba.items():
                issues = find_label_issues(None, given, proba=p)
                found = {"oneof": (issues.probability, wrong, issues)}
                found["self-confidence"] = (1.0 - p[np.arange(len(given)), given], wrong)
                if find_spec("cleanlab") is not None:
                    found["cleanlab"] = (cleanlab_scores(given, p), wrong)
                lines += [(name, kind, rate, method, finder, *figures(*args)) for finder, args in found.items()]
            print(name, kind, rate, flush=True)
    EXACT.replace(lines, "data", "errors", "rate", "probabilities", "finder")


def cleanlab_scores(given, p):
    """Return scores whose order is that of cleanlab's `find_label_issues`, then of its quality of the labels."""
    from cleanlab.filter import find_label_issues as find_by_cleanlab
    from cleanlab.rank import get_label_quality_scores

    found = find_by_cleanlab(given, p, return_indices_ranked_by="self_confidence", n_jobs=1)
    order = np.argsort(get_label_quality_scores(given, p), kind="stable")
    scores = np.empty(len(given))
    scores[np.concatenate([found, order[~np.isin(order, found)]]).astype(int)] = -np.arange(len(given))
    return scores


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
    SETS.replace(lines)


def set_lines(name, rate, X, y, y_sets):
    """Return the lines of one task: the audit, and the probability outside the set of leave-one-out predictions."""
    wrong = ~y_sets.mask[np.arange(len(y)), y]
    proba = softmax(loo_logits(LOORidge().fit(X, y_sets)))
    issues = find_label_issues(X, y_sets)
    outside = np.where(y_sets.mask, 0.0, proba).sum(axis=1)
    print(name, f"{wrong.mean():.3f}", flush=True)
    return [
        (name, rate, "oneof", *figures(issues.probability, wrong, issues)),
        (name, rate, "outside", *figures(outside, wrong)),
    ]


def read_labelme():
    """Return features, true classes and the sets of all answers of LabelMe."""
    arrays = read_arrays("labelme_crowd.npz")
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
    REFITS.replace(lines)


def summary():
    """Print the tables of docs/audit.md."""
    names = {name: {"data": name} for name in DATA[:-1]} | {"mean": {}}
    rows = [
        [title, *(mean_precision(EXACT, probabilities=m, finder=f, **of_set) for m in MODELS for f in FINDERS)]
        for title, of_set in names.items()
    ]
    print(markdown(["data", *(f"{m}: {f}" for m in MODELS for f in FINDERS)], rows), end="\n\n")
    rows = [
        [kind, rate, *(rate_cell(EXACT.where(probabilities=m, finder="oneof", errors=kind, rate=rate)) for m in MODELS)]
        for kind, rate in ERRORS
    ]
    rows.append(["all", "", *(rate_cell(EXACT.where(probabilities=m, finder="oneof")) for m in MODELS)])
    print(markdown(["errors", "rate", *MODELS], rows), end="\n\n")
    rows = [
        [line["data"], line["rate"], f"{line['low'][1:5]} to {line['high'][1:5]}"]
        + [mean_precision(SETS, data=line["data"], finder=finder) for finder in ("oneof", "outside")]
        for line in SETS.where(finder="oneof")
    ]
    print(markdown(["data", "true rate", "interval", "oneof", "outside"], rows), end="\n\n")
    rows = []
    for method in REFITTED:
        for kind, rate in REFIT_ERRORS:
            part = REFITS.where(method=method, errors=kind, rate=rate)
            plain, refit = (np.array([float(line[key]) for line in part]) for key in ("plain", "corrected"))
            lowest = f"{(refit - plain).min():+.3f} ({part[int((refit - plain).argmin())]['data']})"
            rows.append([method, kind, rate, f"{plain.mean():.3f}", f"{refit.mean():.3f}", lowest])
    print(markdown(["method", "errors", "rate", "plain", "refit", "lowest difference"], rows))


def mean_precision(table, **values):
    """Return the mean average precision of some lines with errors, without the set "noise", as text."""
    lines = [line for line in table.where(**values) if line["data"] != "noise"]
    precisions = [float(line["average_precision"]) for line in lines if line["average_precision"] != "nan"]
    return f"{np.mean(precisions):.3f}" if precisions else ""


def rate_cell(part):
    """Return the number of intervals that contain the rate, their mean width, and the mean estimate, as text."""
    rate, estimate, low, high = (
        np.array([float(line[key]) for line in part]) for key in ("rate", "noise_rate", "low", "high")
    )
    inside = (low <= rate + 0.001) & (rate - 0.001 <= high)  # the number of errors is rounded
    return f"{inside.sum()} of {len(part)}, {(high - low).mean():.2f}, {estimate.mean():.3f}"
