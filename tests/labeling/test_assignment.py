"""Number of answers per row: fixed, or adapted to the answers."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from oneof.crowd import AnnotatorModel
from oneof.errors import InputError
from oneof.labeling.answers.log import Entry
from oneof.labeling.answers.state import AnswerState
from oneof.labeling.quality import WINDOW, Check, collect_checks, estimate, wilson
from oneof.labeling.scheduler import answer_posterior
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows

ROWS, TRUTH = make_rows(100)
NAMES = ("Ann", "Bob", "Cem", "Dan")


def begin(**options: Any) -> LabelingSession:
    settings = {"classes": CLASSES, "strategy": "random", "refit_every": 30, "random_state": 0}
    return LabelingSession(ROWS, **(settings | options))


def run(session: LabelingSession, rates: dict[str, float], seed: int = 0) -> np.ndarray:
    """Let annotators of given accuracies answer in random order until nobody has a question; count answers per row."""
    rng = np.random.default_rng(seed)
    waiting = set(rates)
    while waiting:
        name = sorted(waiting)[rng.integers(len(waiting))]
        question = session.ask(name)
        if question is None:
            waiting.discard(name)
            continue
        waiting = set(rates)
        is_right = rng.random() < rates[name]
        code = TRUTH[question.row] if is_right else (TRUTH[question.row] + rng.integers(1, 3)) % 3
        session.answer(question, CLASSES[code])
    return np.bincount([entry.row for entry in session.answers.log()], minlength=session.n_rows)


@pytest.mark.parametrize(
    ("options", "rate", "counts"),
    [
        ({"max_annotations": 3, "double_annotated": 0.0}, 1.0, [0, 100]),
        ({"max_annotations": 3, "double_annotated": 0.2}, 1.0, [0, 80, 20]),
        ({"max_annotations": 3, "double_annotated": 0.5}, 1.0, [0, 50, 50]),
        ({"double_annotated": 0.3}, 0.4, [0, 70, 30]),
    ],
)
def test_the_number_of_answers_of_a_row(options: dict[str, Any], rate: float, counts: list[int]) -> None:
    """If all answers agree, (1 + fraction) n answers are needed.

    Without `max_annotations`, disagreement is not followed by more answers.
    """
    with begin(**options) as session:
        assert np.bincount(run(session, dict.fromkeys(NAMES, rate))).tolist() == counts
        assert session.n_remaining() == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_rows_in_dispute_get_the_maximum_at_most(seed: int) -> None:
    """A complete row has the maximum of answers, or no answers that exclude each other."""
    with begin(max_annotations=3) as session:
        n_answers = run(session, dict.fromkeys(NAMES, 0.5), seed)
        assert session.n_remaining() == 0
        answered = session.answers.state.all_answers()
    assert n_answers.max() == 3
    for row, answers in answered.items():
        assert len({entry.labels for entry in answers.values()}) == 1 or n_answers[row] == 3


@pytest.mark.long
def test_rows_of_inaccurate_annotators_get_more_answers() -> None:
    """With estimated accuracies, answers that agree are sufficient only if their label has a probability of 0.9."""
    counts = []
    for rate in (0.95, 0.75):
        with begin(max_annotations=3) as session:
            n_answers = run(session, dict.fromkeys(NAMES, rate), 1)
            accuracies = session._scheduler._assignment.accuracies
            for row, answers in session.answers.state.all_answers().items():
                if n_answers[row] < 3 and accuracies is not None:  # few common rows do not identify them
                    sets = {name: entry.labels for name, entry in answers.items()}
                    assert answer_posterior(sets, accuracies, 3).max() >= 0.9
            counts.append(n_answers.sum())
    assert accuracies is not None
    assert counts[0] < counts[1]


def test_the_number_of_remaining_rows_is_that_of_the_estimated_accuracies(tmp_path: Path) -> None:
    """A session that is opened again has the same number before and after its first fit, with gold rows or without.

    The number of the page has the gold rows in addition, also if it is the first one that is requested.
    """
    path = tmp_path / "answers.sqlite"
    rng = np.random.default_rng(0)
    with begin(path=path, max_annotations=4) as session:
        for row in range(80):
            for name in NAMES[:2]:
                code = TRUTH[row] if rng.random() < 0.75 else (TRUTH[row] + rng.integers(1, 3)) % 3
                session.answer(session.question_for(row, name), CLASSES[code])
    for gold in (None, {row: CLASSES[TRUTH[row]] for row in range(90, 100)}):
        n_gold, numbers = len(gold or ()), []
        for is_fitted, is_page_first in itertools.product((False, True), repeat=2):
            with begin(path=path, max_annotations=4, gold=gold) as session:
                if is_fitted:
                    session.ask("Ann")
                if is_page_first:
                    numbers.append(session.n_remaining_for("Dan") - n_gold)
                numbers.append(session.n_remaining())
                numbers.append(session.n_remaining_for("Dan") - n_gold)
        assert len(set(numbers)) == 1


def test_the_double_annotated_rows_are_the_same_in_every_process() -> None:
    """They depend on the number of rows only, so that two sessions of one file do not double more rows."""
    required = []
    for seed in (0, 1):
        with begin(double_annotated=0.2, random_state=seed) as session:
            required.append(session._scheduler._assignment.n_required)
    assert np.array_equal(*required)
    assert required[0].sum() == 120


@pytest.mark.long
def test_the_posterior_is_that_of_the_model() -> None:
    """With one accuracy for each annotator and equal class frequencies, it equals that of AnnotatorModel."""
    table = [["a", "b", ["a", "c"]], ["b", ["b", "c"], "b"], ["c", "c", "a"], ["a", None, "a"]] * 5
    fit = AnnotatorModel("one_coin", "uniform", classes=list("abc"), max_iter=20_000, tol=1e-9).fit(table)
    codes = {"a": 0, "b": 1, "c": 2}
    rates = {0: 0.9, 1: 0.6, 2: 0.7}
    for answers in table[:4]:
        sets = {j: [codes[k] for k in one] for j, one in enumerate(answers) if one is not None}
        expected = np.ones(3)
        for j, allowed in sets.items():
            s = len(allowed)
            inside, outside = {1: (1, 2), 2: (2, 1)}[s]  # numbers of sets with, and without, a class
            for k in range(3):
                expected[k] *= rates[j] / inside if k in allowed else (1 - rates[j]) / outside
        assert answer_posterior(sets, rates, 3) == pytest.approx(expected / expected.sum())
    accuracies = dict(enumerate(fit._source_model.confusion(fit._columns)[:, 0, 0].tolist()))
    exact = {j: [codes[k]] for j, k in enumerate(["c", "c", "a"])}
    assert answer_posterior(exact, accuracies, 3) == pytest.approx(fit.posterior_[2], abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_nobody_gets_the_row_of_another(seed: int) -> None:
    """In any interleaving of windows, skips, undos and reviews, a question is about a row that is open nowhere else."""
    rng = np.random.default_rng(seed)
    gold = {row: CLASSES[TRUTH[row]] for row in range(8)}
    with begin(max_annotations=3, double_annotated=0.3, gold=gold, gold_interval=4) as session:
        held: dict[tuple[str, str], Any] = {}
        for _ in range(250):
            name, window = NAMES[rng.integers(4)], str(rng.integers(2))
            action = rng.random()
            if action < 0.5:
                before = held.get((name, window))
                question = session.ask(name, window=window)
                if question is None:
                    continue
                if question is not before:
                    others = {one.row for pair, one in held.items() if pair != (name, window)}
                    assert question.row not in others
                    assert session.answers.current_answer(question.row, name) is None
                held[name, window] = question
            elif action < 0.9 and (name, window) in held:
                question = held.pop((name, window))
                if session.answers.state.version(question.row, name) != question.seen:
                    continue
                if rng.random() < 0.2:
                    session.skip(question)
                else:
                    session.answer(question, CLASSES[rng.integers(3)])
            elif action >= 0.95:
                session.undo(name)


def test_checks_are_rows_without_answers() -> None:
    """The model may be fitted to the answers of a row, which would make its prediction no estimate."""
    with begin(annotations_per_item=2, check_interval=2, refit_every=1) as session:
        answered: set[int] = set()
        for i in range(80):
            question = session.ask(NAMES[i % 2])
            assert question.purpose != "check" or question.row not in answered
            session.answer(question, CLASSES[TRUTH[question.row]])
            answered.add(question.row)


def test_rows_of_an_excluded_annotator_are_asked_again(tmp_path: Path) -> None:
    """Excluded answers stay in the file, do not count, and their rows are asked of others; a later session has them."""
    rows, path = make_rows(12)[0], tmp_path / "answers.sqlite"
    options = {"classes": CLASSES, "path": path, "random_state": 0}
    with LabelingSession(rows, **options) as session:
        for row in range(6):
            session.answer(session.question_for(row, "bot"), "owl")
        session.answer(session.question_for(6, "Ann"), "wren")
        answered = session.candidates()
    with LabelingSession(rows, exclude_annotators=["bot"], **options) as session:
        assert session.n_remaining() == 11
        assert np.flatnonzero(~session.candidates().is_unlabeled).tolist() == [6]
        assert [one.name for one in session.progress()] == ["Ann"]
        asked = {session.answer(session.ask("Ann"), "owl").row for _ in range(11)}
        assert asked == set(range(12)) - {6}
        for ask in (session.ask, lambda name: session.question_for(0, name)):
            with pytest.raises(InputError, match=r"must not be excluded \(`exclude_annotators`\); got 'bot'"):
                ask("bot")
        assert session.undo("bot") is None
        for row in range(12):
            if row != 6:
                session.undo("Ann")
    with LabelingSession(rows, **options) as session:
        assert (session.candidates().mask == answered.mask).all()
        assert len(session.answers.log()) == 7 + 11 + 11


# -- The estimate of quality uses rows drawn at random only ----------------------------------------------------------


def state_of(*entries):
    state = AnswerState()
    for number, (row, kind, labels, more) in enumerate(entries, 1):
        state.add(Entry(str(number), "Ann", row, kind, labels, number=number, **more))
    return state


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (10, 10), (49, 50)])
def test_the_interval_has_the_probabilities_that_are_not_rejected(k, n):
    """The bounds of the interval solve |k/n - p| = z sqrt(p (1 - p) / n)."""
    z = 1.959963984540054

    def excess(p):
        return abs(k / n - p) - z * np.sqrt(p * (1 - p) / n)

    low, high = wilson(k, n)
    assert low == pytest.approx(0 if k == 0 else brentq(excess, 1e-9, k / n - 1e-9), abs=1e-6)
    assert high == pytest.approx(1 if k == n else brentq(excess, k / n + 1e-9, 1 - 1e-9), abs=1e-6)


def test_only_checks_count():
    """Queries, and checks without a prediction, without an answer, skipped or undone, do not count."""
    check, query = {"purpose": "check", "guess": 1}, {"purpose": "query", "guess": 1}
    state = state_of(
        (0, "one of", (1,), query),
        (1, "one of", (1,), check),
        (2, "one of", (0, 2), check),
        (3, "none of", (0,), check),
        (4, "unknown", (), check),
        (5, "skip", (), check),
        (6, "one of", (0,), {"purpose": "check", "guess": None}),
        (7, "one of", (0,), check),
        (7, "undo", (), {"undoes": 8}),
    )
    assert collect_checks(state, 3) == [(2, True, 1, 3), (3, False, 2, 3), (4, True, 2, 3)]
    result = estimate(collect_checks(state, 3))
    assert (result.n_checks, result.n_covered, result.n_exact, result.rate) == (3, 2, 1, 2 / 3)
    assert result.chance == pytest.approx((1 + 2 + 2) / 9)


def test_a_corrected_answer_counts_as_corrected():
    """The current answer is compared with the prediction before the first answer."""
    check = {"purpose": "check", "guess": 1}
    state = state_of((0, "one of", (0,), check), (0, "one of", (1,), {"purpose": "free", "guess": 0}))
    assert collect_checks(state, 3) == [(1, True, 1, 3)]


def test_the_estimate_uses_the_latest_checks():
    """Checks before the window do not change the estimate."""
    checks = [Check(n, n >= 30, 1, 3) for n in range(30 + WINDOW)]
    assert estimate(checks).rate == 1
    assert (estimate([]).rate, estimate([]).chance) == (None, None)
    assert (estimate([]).low, estimate([]).high) == (0, 1)
