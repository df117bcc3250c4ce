"""Several annotators of a session: their model, their agreement, and the rows on which they differ."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.candidates import CandidateSets
from oneof.crowd import AnnotatorModel, krippendorff_alpha
from oneof.errors import InputError
from oneof.io import read_labels, read_table
from oneof.labeling.annotators import MIN_SHARED_ROWS
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows

Begin = Callable[..., LabelingSession]
ACCURACIES = {"Ann": 0.95, "Bob": 0.8, "Cem": 0.7, "Dan": 0.0}


def answer(session: LabelingSession, row: int, **answers: str | list[str] | None) -> None:
    """Write answers to a row by annotator; None is "don't know"."""
    for name, labels in answers.items():
        question = session.question_for(row, name)
        if labels is None:
            session.dont_know(question)
        else:
            session.answer(question, labels)


def answer_at_random(session: LabelingSession, truth: np.ndarray, n_rows: int = 50, seed: int = 0) -> np.ndarray:
    """Let four annotators answer most of the first rows, and return the table of all labels; -1 is no answer."""
    rng = np.random.default_rng(seed)
    table = np.full((session.n_rows, len(ACCURACIES)), -1)
    for row in range(n_rows):
        for j, (name, accuracy) in enumerate(ACCURACIES.items()):
            if rng.random() < 0.8:
                table[row, j] = truth[row] if rng.random() < accuracy else rng.integers(3)
                answer(session, row, **{name: CLASSES[table[row, j]]})
    return table


def test_the_model_is_that_of_the_answers(begin: Begin, truth: np.ndarray) -> None:
    """Accuracies, agreement and weights equal those of AnnotatorModel on the table of answers."""
    session = begin(combination="model")
    table = answer_at_random(session, truth)
    named = np.array([*CLASSES, None], dtype=object)[table]
    model = AnnotatorModel(classes=CLASSES).fit(named)
    agreement = session.agreement()
    estimates = {one.name: one for one in agreement.annotators}
    for j, name in enumerate(ACCURACIES):
        assert estimates[name].n_answers == (table[:, j] >= 0).sum()
        assert estimates[name].accuracy == pytest.approx(model.accuracy_[j], abs=1e-6)
        assert (estimates[name].low, estimates[name].high) == pytest.approx(model.accuracy_interval_[j], abs=1e-6)
    assert agreement.alpha == pytest.approx(krippendorff_alpha(named))
    assert agreement.masi_alpha is None
    assert [one.accuracy for one in agreement.annotators] == sorted(one.accuracy for one in agreement.annotators)
    assert agreement.annotators[0].name == "Dan"
    candidates = session.candidates()
    assert np.allclose(candidates.weights, model.candidates_.weights, atol=1e-6)
    assert candidates.is_unlabeled[50:].all()
    assert (candidates[:50].weights.argmax(axis=1) == truth[:50]).mean() > 0.9


def test_copies_are_named(begin: Begin, truth: np.ndarray) -> None:
    """The agreement names annotators who are copies of one another, which are those of AnnotatorModel."""
    session, rng = begin(annotations_per_item=9), np.random.default_rng(0)
    for row in range(50):
        labels = [CLASSES[truth[row] if rng.random() < 0.7 else rng.integers(3)] for _ in range(8)]
        answer(session, row, **dict(zip("abcdefgh", labels, strict=True)), i=labels[-1])
    assert session.agreement().copies == (("h", "i"),)


def test_an_accuracy_needs_ten_shared_rows(begin: Begin) -> None:
    """With fewer rows that others answered, an annotator has no accuracy; two others have none either."""
    session = begin()
    for row in range(MIN_SHARED_ROWS):
        label = CLASSES[row % 3]
        answer(session, row, Bob=label, Cem=label)
        if row < MIN_SHARED_ROWS - 1:
            answer(session, row, Ann=label)
    answer(session, 30, Ann="owl")
    estimates = session.agreement().annotators
    assert [(one.name, one.n_answers, one.n_shared) for one in estimates] == [
        ("Ann", 10, 9), ("Bob", 10, 10), ("Cem", 10, 10),
    ]  # fmt: skip
    # The agreement of two annotators does not show which one is right.
    assert [one.accuracy is None for one in estimates] == [True, True, True]
    assert estimates[0] == ("Ann", 10, 9, None, None, None, False)
    answer(session, 9, Ann="finch")
    assert all(one.accuracy is not None for one in session.agreement().annotators)


def test_conflicts_are_rows_with_answers_that_exclude_each_other(begin: Begin) -> None:
    """Overlapping sets and "don't know" are no conflict, and the current answers count."""
    session = begin()
    answer(session, 0, Ann="finch", Bob="finch")
    answer(session, 1, Ann="finch", Bob="owl", Cem=None)
    answer(session, 2, Ann=["finch", "owl"], Bob=["owl", "wren"])
    answer(session, 3, Ann="wren")
    session.answer(session.question_for(4, "Ann"), "owl")
    session.reject(session.question_for(4, "Bob"), "owl")
    agreement = session.agreement()
    assert agreement.n_shared == 4
    assert agreement.n_conflicts == 2
    assert {conflict.row: sorted(conflict.answers) for conflict in agreement.conflicts} == {
        1: ["Ann", "Bob"],
        4: ["Ann", "Bob"],
    }
    assert agreement.masi_alpha is not None
    answer(session, 1, Bob="finch")
    session.undo("Bob", number=session.answers.current_answer(4, "Bob").number)
    assert session.agreement().n_conflicts == 0


def test_rows_that_an_annotator_may_still_be_asked_are_hidden(begin: Begin) -> None:
    """An annotator sees the answers of others to rows that are complete, or that the annotator has answered."""
    session = begin(annotations_per_item=3)
    answer(session, 0, Ann="finch", Bob="owl")
    answer(session, 1, Ann="finch", Bob="owl", Cem="wren")
    listed = {
        name: ([one.row for one in agreement.conflicts], agreement.n_hidden, agreement.n_conflicts)
        for name in ("Ann", "Cem", "Dan", None)
        for agreement in [session.agreement(name)]
    }
    assert listed["Cem"] == listed["Dan"] == ([1], 1, 2)
    assert (sorted(listed["Ann"][0]), *listed["Ann"][1:]) == (sorted(listed[None][0]), 0, 2) == ([0, 1], 0, 2)


def test_the_least_certain_conflicts_are_listed_first(begin: Begin, truth: np.ndarray) -> None:
    session = begin()
    answer_at_random(session, truth)
    agreement = session.agreement()
    assert agreement.n_conflicts > len(agreement.conflicts) == 20
    fit = AnnotatorModel().fit(session.annotator_answers())
    assert [one.probability for one in agreement.conflicts] == pytest.approx(
        [fit.posterior_[one.row].max() for one in agreement.conflicts]
    )
    assert agreement.conflicts[0].probability < agreement.conflicts[-1].probability


def test_without_a_shared_row_the_votes_count(begin: Begin) -> None:
    """Annotators without a common row have no estimated accuracy, and the model has the sets of the votes."""
    session = begin(combination="model")
    assert session.agreement().annotators == ()
    assert session.annotator_answers() is None
    answer(session, 0, Ann="finch")
    answer(session, 1, Bob=["owl", "wren"], Cem=None)
    agreement = session.agreement()
    assert (agreement.n_shared, agreement.alpha, agreement.conflicts) == (0, None, ())
    assert [(one.name, one.n_answers, one.accuracy) for one in agreement.annotators] == [
        ("Ann", 1, None),
        ("Bob", 1, None),
    ]
    assert session.candidates() == session.candidates("votes")
    assert not session.candidates().is_weighted.any()


def test_the_initial_evidence_of_unanswered_rows_stays(rows: np.ndarray) -> None:
    """Weights of a row that nobody answers are those of the start."""
    start = np.ones((len(rows), 3))
    start[5] = [1, 0.5, 0]
    initial = CandidateSets.from_weights(start, CLASSES)
    with LabelingSession(rows, initial, combination="model", random_state=0) as session:
        answer(session, 0, Ann="finch", Bob="owl")
        assert np.array_equal(session.candidates().weights[5], [1, 0.5, 0])
        assert session.candidates().is_weighted[0]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_an_export_has_the_weights_of_the_model(begin: Begin, truth: np.ndarray, tmp_path: Path, suffix: str) -> None:
    """By default an export has sets; with combination="model", weights that the command line reads."""
    table = LabelTable(pl.DataFrame({"x": make_rows()[0][:, 0]}), "species")
    session = begin(table=table)
    answer_at_random(session, truth)
    sets = read_table(session.export(tmp_path / f"sets{suffix}"), labels=["species"])
    assert read_labels(sets, ["species"], classes=CLASSES) == session.candidates("votes")
    path = session.export(tmp_path / f"weights{suffix}", combination="model")
    read = read_labels(
        read_table(path, labels=["species"]), ["species"], classes=CLASSES, weighted=True, kind="likelihood"
    )
    assert np.allclose(read.weights, session.candidates("model").weights, atol=1e-6)
    assert session.candidates("model").is_weighted.any()


def test_the_model_is_trained_with_the_weights(begin: Begin, truth: np.ndarray) -> None:
    """With combination="model" a fit has the weights of the annotators' model."""
    votes, model = begin(), begin(combination="model")
    for session in (votes, model):
        answer_at_random(session, truth)
        assert session.train()
    assert model._training_input().candidates == model.candidates("model")
    assert votes._training_input().candidates == votes.candidates("votes")
    assert not np.allclose(votes.snapshot.proba, model.snapshot.proba)


def test_an_unknown_combination_is_an_error(begin: Begin) -> None:
    with pytest.raises(InputError, match="`combination` must be"):
        begin(combination="average")
    with pytest.raises(InputError, match="`combination` must be"):
        begin().candidates("average")
