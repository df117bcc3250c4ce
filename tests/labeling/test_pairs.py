"""Agreement of each pair of annotators, compared with a literal count."""

from itertools import combinations

import numpy as np
import pytest

from oneof.crowd import krippendorff_alpha, krippendorff_interval
from oneof.labeling.annotators import compare_pairs
from oneof.labeling.session import LabelingSession
from tests.labeling.conftest import CLASSES, make_rows
from tests.labeling.test_agreement import answer

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
    """The matrices are symmetric, and have the numbers of shared, equal and compatible answers."""
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


@pytest.mark.parametrize("seed", range(3))
def test_the_counts_add_up(seed: int) -> None:
    """All pairs of answers to a row are counted once, and the confused classes have all that exclude each other."""
    sets = sets_at_random(seed)
    pairs = compare_pairs(sets, 4)
    off = ~np.eye(4, dtype=bool)
    assert pairs.n_shared[off].sum() // 2 == sum(len(given) * (len(given) - 1) // 2 for given in sets.values())
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
