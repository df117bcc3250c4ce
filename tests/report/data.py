"""Data of a report, without a fit."""

from types import SimpleNamespace

import numpy as np

from oneof.candidates import CandidateSets
from oneof.crowd import ClassAccuracies, PairAgreements
from oneof.report import AnnotatorSummary, Assessment, DisputedRow, ReportData, choose_headline


def result(method, covering=0.9, approximated=0.8, accuracy=None, error=None, incomplete=None):
    failed = error is not None
    return SimpleNamespace(
        method=method,
        expected_accuracy=None if failed else 0.7,
        covering_rate=None if failed else covering,
        covering_rate_std=None if failed else 0.012,
        approximated_accuracy=None if failed else approximated,
        approximated_accuracy_std=None if failed else 0.02,
        fit_seconds=None if failed else 0.25,
        accuracy=accuracy,
        accuracy_std=None if accuracy is None else 0.03,
        folds=[SimpleNamespace(n_true=60)],
        error=error,
        incomplete=incomplete,
    )


def comparison(*results, n_folds=5, n_held_out=60, **changes):
    values = {
        "results": results, "best_method": results[0].method, "n_folds": n_folds, "n_train": 4 * n_held_out // 5,
        "n_held_out": n_held_out, "n_groups": None, "baseline_warning": "",
    }  # fmt: skip
    return SimpleNamespace(**{**values, **changes})


def curve(rates, train_sizes=(50, 100, 200), std=0.01, accuracy=None):
    return SimpleNamespace(
        train_sizes=np.array(train_sizes),
        covering_rate=np.array(rates),
        covering_rate_std=np.full(len(rates), std),
        accuracy=accuracy,
        accuracy_std=None,
    )


def annotators(n=4, names=None, *, specialist=False, **changes):
    """Make the accuracies of n annotators, of whom the second copies the first, and the last is at chance.

    If `specialist`, the accuracy of the first differs between the classes.
    """
    names = [f"worker {j}" for j in range(n)] if names is None else list(names)
    accuracy = np.linspace(0.95, 0.3, len(names))
    cells = np.repeat(accuracy[:, None], 2, axis=1)
    cells[0, 1] = 0.25 if specialist else cells[0, 1]
    by_class = ClassAccuracies(
        np.array(names), np.array(["finch", "wren"]), cells, np.stack([cells - 0.05, cells + 0.05], axis=2),
        np.full(cells.shape, 7.0), (cells == 0.25),
    )  # fmt: skip
    one, two = np.triu_indices(len(names), k=1)
    kappa = np.linspace(0.1, 0.9, len(one))
    pairs = PairAgreements(np.array(names)[one], np.array(names)[two], np.full(len(one), 12), kappa / 2 + 0.5, kappa)
    values = {
        "names": names, "n_answers": np.arange(10, 10 + len(names)), "accuracy": accuracy,
        "interval": np.stack([accuracy - 0.1, np.minimum(accuracy + 0.1, 1)], axis=1), "coverage": 0.9,
        "copies": [tuple(names[:2])], "no_better_than_chance": names[-1:],
        "few_answers": [], "notes": ["Check the answers."],
        "by_class": by_class, "pairs": pairs, "alpha": 0.42, "masi_alpha": None,
        "disputed": [DisputedRow(7, "b7", "finch", "wren", 2 / 3, "finch: Ann, Bob; wren: Cem")],
    }  # fmt: skip
    return AnnotatorSummary(**{**values, **changes})


def sample(
    names=("finch", "sparrow", "tit", "wren"), *, n=60, kinds=(1, 2, 3, None), truth=True, weighted=False, **changes
):
    """Make the data of a report with n rows whose set sizes cycle through `kinds`; None is unlabeled.

    If `weighted`, the rows with several candidates have weights.
    """
    k = len(names)
    rng = np.random.default_rng(0)
    mask = np.zeros((n, k), dtype=bool)
    true = rng.integers(k, size=n)
    for i in range(n):
        size = kinds[i % len(kinds)] or k
        distractors = np.setdiff1d(np.arange(k), true[i])
        mask[i, [true[i], *rng.permutation(distractors)[: size - 1]]] = True
    proba = np.where(mask, rng.random((n, k)) + 0.1, 0)
    proba /= proba.sum(axis=1, keepdims=True)
    decided = proba.argmax(axis=1)
    classes = np.array(names, dtype=object)
    candidates = CandidateSets(mask, classes)
    if weighted:
        candidates = CandidateSets.from_weights(np.where(mask.all(axis=1, keepdims=True), 1.0, proba), classes)
    results = (result("PLKNN", accuracy=0.85 if truth else None), result("CLPL", 0.8), result("IPAL", error="it broke"))
    compared = changes.pop("comparison", comparison(*results, n_held_out=n))
    values = {
        "title": "Birds", "source": "birds.csv", "candidates": candidates, "comparison": compared,
        "learning_curve": curve([0.6, 0.7, 0.9]),
        "decisions": SimpleNamespace(labels=classes[decided], confidence=proba.max(axis=1)),
        "assessment": Assessment(choose_headline(compared.results[0], None, candidates)),
        "truth": classes[true] if truth else None,
        "preview": lambda row: {"wing": f"{row} mm", "song": "tsip"},
        "features": ["wing", "song"], "n_features": 2, "findings": ["column 'song' has 3 missing cells."],
        "command": "oneof fit birds.csv --labels seen", "version": "9.8.7", "date": "2025-11-20",
    }  # fmt: skip
    return ReportData(**{**values, **changes})
