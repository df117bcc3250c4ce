"""Selection of the model of the annotators, and of their class frequencies, by held-out answers."""

import numpy as np

from oneof.crowd.answers import Answers
from oneof.solvers.annotators import AnswerColumns, held_out_log_likelihoods
from oneof.typing import Floats, Mask

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


def class_priors(name: str, answers: Answers) -> list[Floats | float]:
    """Return the class prior of a name, or those to select from: frequencies, or the shrinkage of fitted ones."""
    uniform = np.full(len(answers.classes), 1.0 / len(answers.classes))
    if name == "uniform" or (name == "auto" and answers.select_rows):
        return [uniform]
    return [0.0] if name == "fitted" else [*SHRINKAGES, uniform]


def select_model(
    answers: Answers,
    columns: AnswerColumns,
    names: list[str],
    priors: list[Floats | float],
    evidence: Floats | None,
    tol: float,
) -> tuple[str, Floats | float]:
    """Return the model and the prior with the largest likelihood of held-out answers, each model with its best prior.

    Confusion matrices are selected if they are better than accuracies by one standard error: with few answers, the
    matrices and the class frequencies can explain the same answers.
    """
    if not confusion_columns(answers, columns, "confusion").any():
        names = ["one_coin"]
    if len(names) * len(priors) == 1 or len(columns.row) < 2:
        return names[0], priors[-1]
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
    name = names[0]
    if len(names) == 2:
        gain = best["confusion"][1] - best["one_coin"][1]
        if gain.mean() <= N_STANDARD_ERRORS * gain.std() / np.sqrt(len(gain)):
            name = "one_coin"
    return name, best[name][0]
