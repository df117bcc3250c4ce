"""Several annotators of a session: their model, their agreement, of all and of each pair, and their conflicts."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from oneof.candidates import CandidateSets
from oneof.crowd import AnnotatorModel, krippendorff_alpha, krippendorff_interval
from oneof.labeling.annotators import MIN_SHARED_ROWS, compare_pairs
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


def test_the_model_is_trained_with_the_weights(begin: Begin, truth: np.ndarray) -> None:
    """With combination="model" a fit has the weights of the annotators' model."""
    votes, model = begin(), begin(combination="model")
    for session in (votes, model):
        answer_at_random(session, truth)
        assert session.train()
    assert model._training_input().candidates == model.candidates("model")
    assert votes._training_input().candidates == votes.candidates("votes")
    assert not np.allclose(votes.snapshot.proba, model.snapshot.proba)


NAMES = ("Ann", "Bob", "Cem", "Dan")


def sets_at_random(seed: int, n_rows: int = 40, n_classes: int = 4) -> dict[int, dict[str, tuple[int, ...]]]:
    """Return answers of one to three classes; some annotators do not answer a row."""
    rng = np.random.default_rng(seed)
    return {
        row: {
            name: tuple(sorted(rng.choice(n_classes, rng.integers(1, 4), replace=False).tolist()))
            for name in NAMES
            if rng.random() < 0.7
        }
        for row in rng.permutation(n_rows).tolist()
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_equal_those_of_a_loop(seed: int) -> None:
    """The matrices have the numbers of shared, equal and compatible answers; the confused classes have the others."""
    sets = sets_at_random(seed)
    pairs = compare_pairs(sets, 4)
    assert pairs.names == NAMES
    for matrix in (pairs.n_shared, pairs.n_equal, pairs.n_compatible):
        assert np.array_equal(matrix, matrix.T)
    for i, j in combinations(range(4), 2):
        shared = [(given[NAMES[i]], given[NAMES[j]]) for given in sets.values() if {NAMES[i], NAMES[j]} <= set(given)]
        assert pairs.n_shared[i, j] == len(shared)
        assert pairs.n_equal[i, j] == sum(a == b for a, b in shared)
        assert pairs.n_compatible[i, j] == sum(bool(set(a) & set(b)) for a, b in shared)
    n_answers = [sum(name in given for given in sets.values()) for name in NAMES]
    assert np.diag(pairs.n_shared).tolist() == np.diag(pairs.n_equal).tolist() == n_answers
    n_excluding = (pairs.n_shared - pairs.n_compatible).sum() // 2
    assert sum(one.n_pairs for one in pairs.confused) == pytest.approx(n_excluding)
    assert all(one.first < one.second for one in pairs.confused)
    assert len({(one.first, one.second) for one in pairs.confused}) == len(pairs.confused)
    assert [one.n_pairs for one in pairs.confused] == sorted((one.n_pairs for one in pairs.confused), reverse=True)


def test_the_confused_classes_of_sets() -> None:
    """A pair of sets is divided among their classes."""
    pairs = compare_pairs({0: {"Ann": (0,), "Bob": (1, 2)}, 1: {"Ann": (1,), "Bob": (0,)}, 2: {"Ann": (0,)}}, 3)
    assert pairs.confused == ((0, 1, 1.5), (0, 2, 0.5))
    assert compare_pairs({}, 3).names == ()


def test_alpha_has_the_interval_of_the_crowd_room() -> None:
    """Alpha and its interval are those of `oneof.crowd` on the same answers, for both distances, in every call."""
    with LabelingSession(make_rows()[0], classes=CLASSES, random_state=0) as session:
        rng = np.random.default_rng(0)
        for row in range(30):
            for name in NAMES[:3]:
                answer(session, row, **{name: [CLASSES[k] for k in rng.choice(3, rng.integers(1, 3), replace=False)]})
        agreement, answers = session.agreement(), session.annotator_answers()
        assert agreement.alpha == krippendorff_alpha(answers)
        assert agreement.masi_alpha == krippendorff_alpha(answers, "masi")
        assert agreement.alpha_interval == krippendorff_interval(answers, random_state=0)
        assert agreement.masi_interval == krippendorff_interval(answers, "masi", random_state=0)
        low, high = agreement.alpha_interval
        assert low <= agreement.alpha <= high
        assert agreement == session.agreement()


def test_later_answers_change_labels_but_not_the_agreement() -> None:
    """The agreement has the first answers given without knowing the others; the labels have the last answers."""
    with LabelingSession(make_rows()[0], classes=CLASSES, random_state=0) as session:
        for row in range(12):
            answer(session, row, Ann=CLASSES[row % 3], Bob=CLASSES[row % 2])
        before = session.agreement()
        for row in (2, 3):
            session.answer(session.question_for(row, "Bob", purpose="informed review"), CLASSES[row % 3])
        session.answer(session.question_for(4, "Bob", purpose="review"), CLASSES[4 % 3])
        session.answer(session.question_for(0, "Cem", purpose="informed review"), "wren")
        after = session.agreement()
        assert (after.alpha, after.alpha_interval) == (before.alpha, before.alpha_interval)
        assert after.annotators == before.annotators
        assert after.pairs.confused == before.pairs.confused
        assert after.n_conflicts == before.n_conflicts - 3 + 1
        assert session.candidates()[[3]].to_sets() == [{CLASSES[0]}]
        purposes = [entry.purpose for entry in session.answers.log()[-4:]]
        assert purposes == ["informed review", "informed review", "review", "informed review"]


def test_an_answer_is_not_independent_after_the_others_were_shown() -> None:
    """A row opened once with the other answers stays informed for this annotator, also if it is opened otherwise."""
    with LabelingSession(make_rows()[0], classes=CLASSES, random_state=0) as session:
        answer(session, 5, Ann="owl")
        session.question_for(5, "Bob", purpose="informed review")
        assert session.question_for(5, "Bob").purpose == "informed review"
        assert session.question_for(5, "Bob", purpose="review").purpose == "informed review"
        assert session.question_for(5, "Cem").purpose == "free"
        entry = session.answer(session.question_for(5, "Bob"), "owl")
        assert entry.purpose == "informed review"
        assert session.agreement().n_shared == 0


def test_a_prediction_from_the_answers_of_others_is_not_shown() -> None:
    """The model may be fitted to them, so that the answer would not be independent; own answers change nothing."""
    rows, truth = make_rows()
    with LabelingSession(rows, classes=CLASSES, random_state=0) as session:
        for row in range(12):
            answer(session, row, Ann=CLASSES[truth[row]])
        session.train()
        assert session.question_for(3, "Ann").proba is not None
        assert session.question_for(3, "Bob").proba is None
        assert session.question_for(3, "Bob", purpose="informed review").proba is not None
        assert session.question_for(20, "Bob").proba is not None
