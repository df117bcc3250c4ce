"""Selection of the model of the annotators, and of their class frequencies, by held-out answers."""

from typing import Any

import numpy as np

from oneof.crowd.answers import Answers
from oneof.crowd.results import ModelSelection
from oneof.errors import InputError
from oneof.solvers.annotators import AnswerColumns, held_out_log_likelihoods
from oneof.typing import Floats, Mask
from oneof.validation import as_float_array

MAX_SELECTION_ANSWERS = 30_000
"""Maximum number of answers by which the model is selected; with more, those about evenly spaced rows."""
SHRINKAGES = (0.0, 0.1, 0.25, 0.5)
"""Shrinkages of fitted class frequencies to equal ones; equal frequencies are another choice."""
N_STANDARD_ERRORS = 1.0
"""Gain of confusion matrices from which they are selected; chosen on simulations, LabelMe and bluebirds."""
MIN_TOL = 1e-3


def confusion_columns(answers: Answers, columns: AnswerColumns, model: str) -> Mask:
    """Return the columns that have a confusion matrix."""
    if model == "one_coin" or answers.select_rows:
        return np.zeros(len(columns.source), dtype=bool)
    return columns.is_label


def class_priors(given: Any, answers: Answers) -> list[Floats | float]:
    """Return the class prior, or those to select from: frequencies, or the shrinkage of fitted ones."""
    K = len(answers.classes)
    if isinstance(given, str):
        uniform = np.full(K, 1.0 / K)
        if given == "uniform" or (given == "auto" and answers.select_rows):
            return [uniform]
        return [0.0] if given == "fitted" else [*SHRINKAGES, uniform]
    prior = as_float_array(given, "class_prior")
    if prior.shape != (K,) or not np.isfinite(prior).all() or not (prior > 0).all():
        raise InputError(f"`class_prior` must have {K} numbers above 0, one for each class; got {given!r}.")
    return [prior / prior.sum()]


def select_model(
    answers: Answers,
    columns: AnswerColumns,
    model: str,
    priors: list[Floats | float],
    evidence: Floats | None,
    tol: float,
) -> tuple[ModelSelection, Floats | float]:
    """Return the model and the prior with the largest likelihood of held-out answers, each model with its best prior.

    Confusion matrices are selected if they are better than accuracies by one standard error: with few answers, the
    matrices and the class frequencies can explain the same answers.
    """
    names = ["confusion", "one_coin"] if model == "auto" else [model]
    reason = "" if model == "auto" else "The model was given."
    if not confusion_columns(answers, columns, "confusion").any():
        names = ["one_coin"]
        reason = (
            "Each vote of a rule has two rates." if answers.select_rows
            else "All answers are sets of labels, which have one accuracy for each annotator."
        )  # fmt: skip
    if len(columns.row) < 2:
        reason = reason or "There are fewer than two informative answers."
    if len(names) * len(priors) == 1 or len(columns.row) < 2:
        return ModelSelection(names[0], np.nan, np.nan, reason), priors[-1]
    if len(columns.row) > MAX_SELECTION_ANSWERS:
        step = -(-len(columns.row) // MAX_SELECTION_ANSWERS)
        part = slice(0, len(answers), step)
        answers, evidence = answers[part], None if evidence is None else evidence[part]
        columns = answers._columns()

    best: dict[str, tuple[Floats | float, Floats]] = {}
    for name in names:
        uses = confusion_columns(answers, columns, name)
        logs = [
            held_out_log_likelihoods(columns, uses, prior=prior, evidence=evidence, tol=max(10 * tol, MIN_TOL))
            for prior in priors
        ]
        k = int(np.argmax([values.mean() for values in logs]))
        best[name] = priors[k], logs[k]
    if len(names) == 1:
        return ModelSelection(names[0], np.nan, np.nan, reason), best[names[0]][0]
    gains = best["confusion"][1] - best["one_coin"][1]
    gain, error = float(gains.mean()), float(gains.std() / np.sqrt(len(gains)))
    name = "one_coin" if gain <= N_STANDARD_ERRORS * error else "confusion"
    return ModelSelection(name, gain, error, _describe_gain(gain, error)), best[name][0]


def _describe_gain(gain: float, error: float) -> str:
    """Return a sentence on the log-likelihood of held-out answers."""
    if gain > N_STANDARD_ERRORS * error:
        relation = "predict held-out answers better"
    else:
        relation = "do not predict held-out answers " + ("significantly better" if gain > 0 else "better")
    return (
        f"Confusion matrices {relation} than one accuracy for each annotator: their mean gain in the log-likelihood is "
        f"{gain:.2g} nats per answer (standard error {error:.2g})."
    )
