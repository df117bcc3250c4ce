"""Several annotators of a session: their model, agreement and conflicts, and the degrees of certainty of answers."""

import shutil
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from oneof.candidates import CandidateSets
from oneof.crowd import AnnotatorModel, krippendorff_alpha, krippendorff_interval
from oneof.errors import DataError, InputError
from oneof.labeling.annotators import MIN_SHARED_ROWS, compare_pairs
from oneof.labeling.answers.database import expected_schema, schema_of
from oneof.labeling.answers.degrees import (
    ANNOTATOR_STRENGTH,
    DEGREE_STRENGTH,
    PRIOR_MEANS,
    first_predictions,
    fit_degrees,
)
from oneof.labeling.answers.log import DEGREES, Entry
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, label, make_rows, say

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
    """Accuracies, agreement and the weights of a fit equal those of AnnotatorModel on the table of answers."""
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
    assert candidates == session._training_input().candidates != session.candidates("votes")
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


# -- Degrees of certainty: weights by reliabilities that are learned, stored and exported as stated --------------------


def crowd(rng: np.random.Generator, quality: dict, *, n_rows: int = 300, n_classes: int = 4, per_row: int = 2) -> tuple:
    """Return the true classes, and answers by row and annotator; `quality` has q by annotator and degree."""
    truth, answered, names = rng.integers(n_classes, size=n_rows), {}, sorted({name for name, _ in quality})
    for row in range(n_rows):
        answered[row] = {}
        for name in rng.choice(names, per_row, replace=False).tolist():
            degree = DEGREES[rng.integers(3)]
            code = truth[row] if rng.random() < quality[name, degree] else rng.integers(n_classes)
            answered[row][name] = Entry("k", name, row, "one of", (int(code),), degree=degree)
    return truth, answered


def estimates_of(fit: object) -> dict:
    return {(one.annotator, one.degree): one for one in fit.reliabilities}


# -- weights -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combination", ["votes", "model"])
def test_without_degrees_nothing_changes(begin: Begin, truth: np.ndarray, combination: str) -> None:
    """Without degrees, and after they are undone, the candidates are those of votes, or of the annotators' model.

    An undo restores the degree before it.
    """
    session = begin(combination=combination)
    for row in range(12):
        say(session, row, "Ann", CLASSES[truth[row]])
        say(session, row, "Bob", CLASSES[truth[row - row % 3]])
    expected = session.candidates()
    assert session.candidates() == expected
    say(session, 20, "Ann", "owl", "guess")
    guessed = session.candidates()
    assert guessed != expected
    say(session, 20, "Ann", "owl", "sure")
    assert session.candidates() != guessed
    assert session.undo("Ann").degree == "sure"
    assert session.candidates() == guessed
    assert session.answers.history("Ann")[0].degree == "guess"
    session.undo("Ann")
    assert session.candidates() == expected
    assert session.candidates().is_weighted.any() == (combination == "model")


def test_the_weights_of_a_row_are_the_product_of_its_answers(begin: Begin) -> None:
    """Before any comparison, an answer of degree d is a coin of probability q + (1 - q) |A| / K."""
    session = begin()
    say(session, 0, "Ann", "owl", "probably")
    say(session, 1, "Ann", ["finch", "wren"], "guess")
    session.reject(session.question_for(2, "Ann"), "finch", degree="sure")
    say(session, 3, "Ann", "wren")
    weights = session.candidates().weights
    for row, (q, size, inside) in enumerate([(0.8, 1, [1]), (0.5, 2, [0, 2]), (0.95, 2, [1, 2])]):
        r = q + (1 - q) * size / 3
        expected = np.where(np.isin(np.arange(3), inside), 1.0, (1 - r) / r * size / (3 - size))
        np.testing.assert_allclose(weights[row], expected, rtol=1e-9)
    assert weights[3].tolist() == [0, 0, 1]
    say(session, 0, "Bob", "wren")
    q = {one[:2]: one.reliability for one in session.reliabilities()}
    ann, bob = q["Ann", "probably"], q["Bob", None]
    product = np.array([(1 - ann) * (1 - bob), (1 + 2 * ann) * (1 - bob), (1 - ann) * (1 + 2 * bob)])
    np.testing.assert_allclose(session.candidates().weights[0], product / product.max(), rtol=1e-9)


def test_too_few_votes_keep_the_initial_set(begin: Begin) -> None:
    """With min_votes=2 one answer with a degree has no weights yet."""
    session = begin(min_votes=2)
    say(session, 0, "Ann", "owl", "sure")
    assert session.candidates().is_unlabeled.all()
    say(session, 0, "Bob", "owl", "guess")
    assert session.candidates()[[0]].weights.argmax() == 1


def test_the_model_is_fitted_to_the_weights(begin: Begin, truth: np.ndarray) -> None:
    """The training input has the weights, and the labels of guesses have less effect."""
    session = begin()
    label(session, truth, 20)
    row = session.ask().row
    wrong = (truth[row] + 1) % 3
    probabilities = []
    for degree in ("guess", "sure", None):
        say(session, row, "me", CLASSES[wrong], degree)
        assert session.train()
        assert session._training_input().candidates == session.candidates()
        assert session.candidates().is_weighted[row] == (degree is not None)
        probabilities.append(session.snapshot.proba[row, wrong])
    assert probabilities == sorted(probabilities)
    assert probabilities[0] < probabilities[1] - 0.01


@pytest.mark.parametrize("degree", ["certain", "", 3, ["sure"]])
def test_an_unknown_degree_is_an_error(begin: Begin, degree: object) -> None:
    """Nothing is written."""
    session = begin()
    for act in (session.answer, session.reject):
        with pytest.raises(InputError, match="`degree` must be 'sure', 'probably', 'guess' or None; got"):
            act(session.question_for(0), "owl", degree=degree)
    assert session.answers.log() == []


# -- reliabilities -----------------------------------------------------------------------------------------------------


def test_reliabilities_of_simulated_annotators() -> None:
    """Intervals of probability .9 contain the true reliabilities in most cases, over 8 crowds."""
    covered, errors = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        quality = {
            (name, degree): rng.beta(10 * mean, 10 * (1 - mean))
            for name in ("Ann", "Bob", "Cem", "Dan")
            for degree, mean in (("sure", 0.9), ("probably", 0.7), ("guess", 0.3))
        }
        _, answered = crowd(rng, quality, n_rows=400)
        estimates = estimates_of(fit_degrees(answered, 4))
        for pair, q in quality.items():
            covered.append(estimates[pair].low <= q <= estimates[pair].high)
            errors.append(abs(estimates[pair].reliability - q))
    assert np.mean(covered) >= 0.8
    assert np.mean(errors) < 0.1


def test_known_labels_determine_the_reliability() -> None:
    """With known labels of all rows, the estimate of a degree is the mode of a Beta posterior of its accuracy."""
    rng = np.random.default_rng(0)
    truth, answered = crowd(rng, {("Ann", d): q for d, q in zip(DEGREES, (0.9, 0.6, 0.1))}, n_rows=3000, per_row=1)
    fit = fit_degrees(answered, 4, known=dict(enumerate(truth.tolist())))
    for degree in DEGREES:
        right = np.mean(
            [truth[row] in given["Ann"].labels for row, given in answered.items() if given["Ann"].degree == degree]
        )
        one = estimates_of(fit)["Ann", degree]
        assert one.reliability == pytest.approx((right - 0.25) / 0.75, abs=0.02)
        assert one.n_compared == one.n_answers


def test_a_new_annotator_is_like_the_others() -> None:
    """Without compared answers an annotator has the reliabilities of all; with three answers, nearly."""
    rng = np.random.default_rng(3)
    _, answered = crowd(rng, {(n, d): q for n in "ABC" for d, q in zip(DEGREES, (0.9, 0.7, 0.2))}, n_rows=300)
    answered[300] = {"New": Entry("k", "New", 300, "one of", (0,), degree="sure")}
    for row in range(3):
        code = next(iter(answered[row].values())).labels[0]
        answered[row]["Few"] = Entry("k", "Few", row, "one of", ((code + 1) % 4,), degree="sure")
    estimates = estimates_of(fit_degrees(answered, 4))
    pool = estimates[None, "sure"].reliability
    assert estimates["New", "sure"].reliability == pytest.approx(pool, abs=1e-9)
    assert abs(estimates["Few", "sure"].reliability - pool) <= 3 / (3 + ANNOTATOR_STRENGTH)
    assert estimates["Few", "sure"].reliability < pool
    assert ("New", "guess") not in estimates


def test_before_comparisons_the_defaults_are_used() -> None:
    """The prior means apply until there are comparisons, which count against 20 answers."""
    single = {row: {"Ann": Entry("k", "Ann", row, "one of", (0,), degree="guess")} for row in range(50)}
    estimates = estimates_of(fit_degrees(single, 3))
    assert {degree: estimates[None, degree].reliability for degree in (*DEGREES, None)} == pytest.approx(PRIOR_MEANS)
    assert estimates["Ann", "guess"][2:4] == (50, 0)
    few = estimates_of(fit_degrees(single, 3, known=dict.fromkeys(range(5), 1)))[None, "guess"].reliability
    assert pytest.approx(few, abs=1e-3) == 0.5 * DEGREE_STRENGTH / (5 + DEGREE_STRENGTH)  # five wrong answers


def test_the_order_of_classes_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    _, answered = crowd(rng, {(n, d): 0.7 for n in "AB" for d in DEGREES}, n_rows=60)
    order = [2, 0, 3, 1]
    permuted = {
        row: {
            name: Entry("k", name, row, "one of", (order[one.labels[0]],), degree=one.degree)
            for name, one in given.items()
        }
        for row, given in answered.items()
    }
    first, second = (fit_degrees(given, 4) for given in (answered, permuted))
    np.testing.assert_allclose(first.reliability, second.reliability, atol=1e-9)


def test_predictions_are_uncertain_evidence() -> None:
    """Agreement with the model increases the reliability, by less than known labels; disagreement lowers it little."""
    answered = {row: {"Ann": Entry("k", "Ann", row, "one of", (row % 3,), degree="probably")} for row in range(60)}

    def reliability(**evidence: object) -> float:
        return estimates_of(fit_degrees(answered, 3, **evidence))["Ann", "probably"].reliability

    equal = {row: ("Ann", row % 3) for row in range(60)}
    other = {row: ("Ann", (row + 1 + row // 3 % 2) % 3) for row in range(60)}
    labels = {row: row % 3 for row in range(60)}
    assert 0.8 < reliability(predictions=equal) < reliability(known=labels)
    wrong = {row: code for row, (_, code) in other.items()}
    assert reliability(known=wrong) < 0.3
    assert 0.6 < reliability(predictions=other) < 0.8


def test_only_predictions_before_the_first_answer_count() -> None:
    """A prediction for a row that somebody has answered may come from a model that was fitted to this answer."""

    def entry(row: int, name: str, kind: str = "one of", purpose: str = "check", guess: int | None = 1) -> Entry:
        return Entry("k", name, row, kind, (0,), purpose=purpose, guess=guess)

    entries = [
        entry(0, "Ann"),
        entry(0, "Bob", guess=2),
        entry(1, "Ann", purpose="query"),
        entry(1, "Bob"),
        entry(2, "Ann", "unknown"),
        entry(2, "Bob"),
        entry(3, "Ann", guess=None),
        entry(3, "Bob"),
    ]
    assert first_predictions(entries) == {0: ("Ann", 1), 2: ("Bob", 1)}


def test_answers_after_those_of_others_are_no_comparison(begin: Begin) -> None:
    """An answer given with the others' answers shown has a weight, and the reliabilities are those of first answers."""
    session = begin()
    for row in range(12):
        say(session, row, "Ann", "owl", "probably")
        say(session, row, "Bob", "wren" if row < 6 else "owl", "probably")
    before, weights = session.reliabilities(), session.candidates().weights[0]
    for row in range(6):
        session.answer(session.question_for(row, "Bob", purpose="informed review"), "owl", degree="probably")
    session.answer(session.question_for(0, "Cem", purpose="informed review"), "owl", degree="sure")
    assert session.reliabilities() == before
    assert session.candidates().weights[0, 2] < weights[2] == weights[1]


OLD_LOG = Path(__file__).parents[1] / "fixtures" / "answers_before_degrees.sqlite"
"""Log of the last version without degrees, with answers to 12 rows of 2 features, an undo and a correction."""
OLD_SETS = [{"finch"}, {"finch", "owl"}, None, None, None, {"owl"}, *[None] * 6]


def open_old(path: Path) -> LabelingSession:
    return LabelingSession(np.arange(24.0).reshape(12, 2), classes=CLASSES, path=path, random_state=0)


def test_a_log_without_degrees_is_read_and_continued(tmp_path: Path) -> None:
    """A log of the last version has the same answers, keeps its schema without degrees, and accepts degrees."""
    path = tmp_path / "old.sqlite"
    shutil.copy(OLD_LOG, path)
    with open_old(path) as session:
        expected = [set(CLASSES) if one is None else one for one in OLD_SETS]
        assert session.candidates().to_sets() == expected
        assert [entry.degree for entry in session.answers.log()] == [None] * 9
        say(session, 3, "Ann", "owl")
        assert schema_of(session.answers._log._connection) == expected_schema()  # earlier versions read it
        say(session, 3, "Ann", "owl", "probably")
    with open_old(path) as session:
        assert session.answers.current_answer(3, "Ann").degree == "probably"
        assert session.candidates().to_sets()[:3] == expected[:3]
        assert [entry.number for entry in session.answers.log()] == list(range(1, 12))
        # Earlier versions open a log of exactly the first schema, and name any other "a database of another program".
        assert schema_of(session.answers._log._connection) != expected_schema()


def test_a_log_of_a_later_version_is_an_error(tmp_path: Path) -> None:
    """A log with an unknown table is not read, and the error says so."""
    with open_old(tmp_path / "log") as session:
        session.answers._log._connection.execute("CREATE TABLE moods (number INTEGER)")
    with pytest.raises(DataError, match=r"table 'moods' of a later version of oneof or another program\. Update"):
        open_old(tmp_path / "log")


def test_an_invalid_degree_in_a_file_is_an_error(tmp_path: Path) -> None:
    with open_old(tmp_path / "log") as session:
        say(session, 0, "Ann", "owl", "sure")
        session.answers._log._connection.execute("UPDATE degrees SET degree = 'certain'")
    with pytest.raises(DataError, match="damaged"):
        open_old(tmp_path / "log")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("match", [None, "name"])
def test_exported_answers_are_imported_with_their_degrees(
    begin: Begin, table: LabelTable, tmp_path: Path, suffix: str, match: str | None
) -> None:
    """Degrees are written as stated; a second import changes nothing."""
    session, other = begin(table=table), begin(table=table)
    say(session, 0, "Ann", "owl", "probably")
    say(session, 0, "Bob", ["owl", "wren"])
    session.reject(session.question_for(1, "Bob"), "owl", degree="guess")
    session.dont_know(session.question_for(2, "Bob"))
    path = session.export_answers(tmp_path / f"answers{suffix}", match=match)
    assert other.import_annotations(path, match=match) == 3
    assert other.import_annotations(path, match=match) == 0
    assert other.candidates() == session.candidates()
    assert sorted((e.row, e.annotator, e.degree) for e in other.answers.log()) == [
        (0, "Ann", "probably"),
        (0, "Bob", None),
        (1, "Bob", "guess"),
    ]
