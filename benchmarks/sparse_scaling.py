"""Scaling of TF-IDF rows before the default estimators."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer

from benchmarks.choosing_tasks import drop_rare_columns, labeled_rows
from benchmarks.common import DOCS, write_csv
from oneof import CandidateSets, make_partial_labels
from oneof.comparison import default_estimators

SOURCES = ("news20", "reuters21578")
N_CLASSES, N_TRAIN, N_TEST = 10, 300, 500
SLOW = "GraphLogisticRegression"
"""Not measured: a fit with ten classes takes 20 s, most of it for the evidence."""
SCALERS: dict[str, Any] = {
    "none": None,
    "columns by their maximum": MaxAbsScaler(),
    "columns, then rows": make_pipeline(MaxAbsScaler(), Normalizer()),
}


class Task(NamedTuple):
    """Training and test rows, and the candidate sets of the training rows."""

    train: Any
    test: Any
    candidates: CandidateSets
    truth: np.ndarray


def make_task(source: str, labeled: float, seed: int) -> Task:
    """Return TF-IDF rows of length 1 and at most ten classes.

    A fraction of the training rows is labeled, seven of ten of these with two distractors; the others are unlabeled.
    """
    X, truth = labeled_rows(source, 100_000, seed)
    rng = np.random.default_rng(seed)
    classes = (
        rng.permutation(truth.max() + 1)[:N_CLASSES]
        if source == "news20"
        else np.argsort(-np.bincount(truth))[:N_CLASSES]
    )
    rows = rng.permutation(np.flatnonzero(np.isin(truth, classes)))[: N_TRAIN + N_TEST]
    X, truth = drop_rare_columns(X[rows]), np.unique(truth[rows], return_inverse=True)[1]
    X = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X))
    sets = make_partial_labels(
        truth[:N_TRAIN], fraction=0.7, n_distractors=2, classes=range(truth.max() + 1), random_state=seed
    )
    mask = sets.mask.copy()
    mask[rng.random(N_TRAIN) > labeled] = True
    return Task(X[:N_TRAIN], X[N_TRAIN:], CandidateSets(mask, range(mask.shape[1])), truth[N_TRAIN:])


def sparse_scaling(n_seeds=3):
    """Measure the error of every default estimator with each scaler, and write docs/sparse_scaling.csv."""
    lines = []
    for source in SOURCES:
        for labeled in (1.0, 0.25):
            for seed in range(n_seeds):
                task = make_task(source, labeled, seed)
                estimators = default_estimators(sparse=True, n_rows=int((~task.candidates.is_unlabeled).sum()))
                for title, scaler in SCALERS.items():
                    train = task.train if scaler is None else sp.csr_array(scaler.fit_transform(task.train))
                    test = task.test if scaler is None else sp.csr_array(scaler.transform(task.test))
                    for name in (name for name in estimators if name != SLOW):
                        model = estimators[name][-1].fit(train, task.candidates)
                        error = 100 * float(np.mean(model.predict(test) != task.truth))
                        lines.append([source, labeled, seed, name, title, round(error, 1)])
                print(source, labeled, seed, flush=True)
    write_csv(DOCS / "sparse_scaling.csv", ["data", "labeled", "seed", "method", "scaler", "error %"], lines)
