"""Degrees of certainty: they weigh answers by reliabilities that are learned, and are stored and exported as stated."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof.errors import DataError, InputError
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
from tests.labeling.conftest import CLASSES, label, say

Begin = Callable[..., LabelingSession]


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


def test_no_answer_is_evidence_against_itself(begin: Begin) -> None:
    """The guess that a label is excluded, whose set has two of three classes, has less weight for this label."""
    session = begin()
    session.reject(session.question_for(0, "Ann"), "wren", degree="guess")
    weights = session.candidates().weights[0]
    assert weights[2] < weights[0] == weights[1] == 1


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


@pytest.fixture
def table(rows: np.ndarray) -> LabelTable:
    return LabelTable(pl.DataFrame({"name": [f"bird {i}" for i in range(len(rows))], "x": rows[:, 0]}), "species")


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
