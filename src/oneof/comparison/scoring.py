"""Scores and predictions of the held-out rows of all folds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.comparison.criterion import expected_accuracies
from oneof.comparison.few_labels import blend_with_agreement
from oneof.comparison.folds import Task
from oneof.comparison.results import FoldResult, HeldOut
from oneof.likelihoods import constant_rows
from oneof.typing import Ints


class Scores(NamedTuple):
    """Scores of the methods that have all folds."""

    expected_accuracy: dict[str, float]
    odds_ratio: float = 1.0
    """Odds ratio of predicted distractors."""
    tied: frozenset[str] = frozenset()
    """Names of the methods that the evidence does not separate from the best one."""


def score_held_out(
    task: Task,
    parts: Sequence[tuple[Ints, Ints, Ints]],
    folds: Mapping[str, Sequence[FoldResult]],
    *,
    few_labels: bool = False,
) -> Scores:
    """Score the methods with all folds by their predictions of the test rows and, with few labels, of `further` rows.

    A single method has no expected accuracy: its own probabilities alone would be overconfident.
    """
    outputs: dict[str, list[HeldOut]] = {}
    for name, results in folds.items():
        held_out = [fold.held_out for fold in results if fold.held_out is not None]
        if len(held_out) == len(parts):
            outputs[name] = held_out
    if len(outputs) < 2:
        return Scores({})
    tests = [test for _, test, _ in parts]
    evidence = np.concatenate([task.candidates.evidence[test] for test in tests])
    selection = expected_accuracies(
        evidence,
        [_of_test_rows([fold.proba for fold in held_out], tests) for held_out in outputs.values()],
        [_of_test_rows([fold.predicted for fold in held_out], tests) for held_out in outputs.values()],
    )
    scores = selection.expected_accuracy
    if few_labels:
        unlabeled = [
            np.concatenate([fold.predicted[len(test) :] for fold, test in zip(held_out, tests, strict=True)])
            for held_out in outputs.values()
        ]
        n_rows = int((~constant_rows(evidence)).sum())
        scores = blend_with_agreement(scores, n_rows, np.stack(unlabeled), evidence.shape[1])
    tied = frozenset(name for name, is_tied in zip(outputs, selection.is_tied, strict=True) if is_tied)
    return Scores(dict(zip(outputs, scores.tolist(), strict=True)), selection.odds_ratio, tied)


def _of_test_rows(outputs: Sequence[Any], tests: Sequence[Ints]) -> Any:
    """Return the outputs of the test rows of all folds, which precede those of other rows."""
    return np.concatenate([values[: len(test)] for values, test in zip(outputs, tests, strict=True)])


def held_out_predictions(
    folds: Sequence[FoldResult],
    parts: Sequence[tuple[Ints, Ints, Ints]],
    rows: Ints,
    candidates: CandidateSets,
) -> dict[str, Any]:
    """Return the fields `predictions` and `probabilities` of a method; None if a fold is missing or has failed."""
    outputs = [fold.held_out for fold in folds if fold.held_out is not None]
    if len(outputs) < len(parts):
        return {}
    n_rows, n_classes = candidates.shape
    codes = np.full(n_rows, -1, dtype=np.int64)
    proba = None
    if all(output.has_proba for output in outputs):
        proba = np.zeros((n_rows, n_classes), dtype=np.result_type(*(output.proba for output in outputs)))
    for output, (_, test, further) in zip(outputs, parts, strict=True):
        predicted_rows = np.concatenate([np.arange(n_rows)[test], further])
        codes[predicted_rows] = output.predicted
        if proba is not None:
            proba[predicted_rows] = output.proba
    codes = codes[rows]
    predictions = candidates.classes[codes]
    if (codes < 0).any():  # an estimator predicted a label that is not a class
        predictions = predictions.astype(object)
        predictions[codes < 0] = None
    return {"predictions": predictions, "probabilities": None if proba is None else proba[rows]}
