"""Scores, p-values and prediction sets of conformal prediction, compared with literal oracles and MAPIE."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, kstest

from oneof.solvers.conformal import (
    calibrate,
    candidate_proba,
    class_scores,
    describe_few_rows,
    describe_guarantee,
    p_values,
    prediction_sets,
    row_uniforms,
)
from tests.oracles import conformal as oracle

MAPIE = json.loads((Path(__file__).parents[1] / "fixtures" / "conformal.json").read_text(encoding="utf-8"))
CALIBRATIONS = ("conservative", "optimistic", "sampled")


def draw_proba(rng, n, n_classes, sharpness=2.0):
    """Return probabilities, and labels drawn from them."""
    proba = rng.dirichlet(np.full(n_classes, 1.0 / sharpness), size=n)
    return proba, (proba.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def one_hot(labels, n_classes):
    return np.eye(n_classes, dtype=bool)[labels]


def add_candidates(rng, labels, n_classes, rate=0.3):
    """Return sets of the labels and random distractors."""
    return one_hot(labels, n_classes) | (rng.random((len(labels), n_classes)) < rate)


def make_scores(method, proba, rng):
    if method == "lac":
        return class_scores(proba, "lac")
    return class_scores(proba, "aps", rng.random(len(proba)) if method == "randomized" else None)


def p_of(proba, evidence, new, rule, method="lac"):
    """Return the p-values of new rows by one model."""
    scores, new_scores = class_scores(proba, method), class_scores(new, method)
    return p_values([calibrate(scores, proba, evidence, calibration=rule)], [new_scores])


@pytest.mark.parametrize("randomized", [False, True])
def test_scores_equal_the_oracle(randomized):
    """LAC and APS scores equal those of loops over classes, with ties and zeros."""
    rng = np.random.default_rng(0)
    proba = rng.integers(0, 4, size=(40, 5)) + np.eye(5)[rng.integers(5, size=40)]
    proba /= proba.sum(axis=1, keepdims=True)
    u = rng.random(40) if randomized else None
    lac, aps = class_scores(proba, "lac"), class_scores(proba, "aps", u)
    for i, row in enumerate(proba.tolist()):
        for k in range(5):
            assert lac[i, k] == pytest.approx(oracle.lac_score(row, k), abs=1e-6)
            assert aps[i, k] == pytest.approx(oracle.aps_score(row, k, 0.0 if u is None else u[i]), abs=1e-6)
            tied = [j for j in range(5) if row[j] == row[k]]
            assert (lac[i, tied] == lac[i, k]).all()
            assert (aps[i, tied] == aps[i, k]).all()


@pytest.mark.parametrize("noise", [1e-14, 1e-6])
def test_equal_probabilities_with_rounding_errors_have_equal_scores(noise):
    """Rounding errors, in double or in single precision, do not rank classes of equal probability."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, size=(200, 6))
    proba = counts / counts.sum(axis=1, keepdims=True)
    noisy = proba * (1 + rng.uniform(-noise, noise, size=proba.shape))
    for method, u in (("lac", None), ("aps", None), ("aps", rng.random(200))):
        scores = class_scores(noisy, method, u)
        np.testing.assert_allclose(scores, class_scores(proba, method, u), rtol=0, atol=10 * noise + 1e-12)
        for row, count in zip(scores, counts, strict=True):
            assert len(np.unique(row)) == len(np.unique(count))


@pytest.mark.parametrize("method", ["lac", "aps"])
def test_tied_classes_are_in_a_set_together(method):
    """No set has one of two classes of equal probability, at any coverage; the most probable ones fill empty sets."""
    rng = np.random.default_rng(2)
    proba, labels = draw_proba(rng, 60, 3)
    new = np.array([[1, 1, 1], [1, 2, 2], [2, 2, 1], [0, 0, 1], [0, 3, 3]]) / np.array([[3], [5], [5], [1], [6]])
    p_new = p_of(proba, one_hot(labels, 3), new, "conservative", method)
    for coverage in np.linspace(0.01, 0.99, 50):
        mask = prediction_sets(p_new, coverage, new)
        for row, p in zip(mask, new, strict=True):
            assert row.any()
            assert all(row[j] == row[k] for j in range(3) for k in range(3) if p[j] == p[k])


def test_the_number_of_a_row_is_its_own():
    """The number does not depend on the other rows or on rounding errors, and is uniform over rows."""
    rng = np.random.default_rng(3)
    proba = rng.dirichlet(np.ones(4), size=2_000)
    u = row_uniforms(proba, 5)
    order = rng.permutation(len(proba))
    np.testing.assert_array_equal(row_uniforms(proba[order], 5), u[order])
    np.testing.assert_array_equal([row_uniforms(row[None], 5)[0] for row in proba[:50]], u[:50])
    assert (row_uniforms(proba.astype(np.float32), 5) == u).mean() > 0.99
    assert (row_uniforms(proba, 6) != u).all()
    assert kstest(u, "uniform").pvalue > 0.01


@pytest.mark.parametrize("class_conditional", [False, True])
@pytest.mark.parametrize("method", ["lac", "aps", "randomized"])
def test_p_values_equal_those_over_all_labels_that_the_sets_allow(method, class_conditional):
    """Conservative and optimistic p-values are extremes over the labels of the sets, sampled ones expected counts."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        n_classes, parts, rows, sets, posteriors = 3, [], [], [], []
        for model, n in enumerate((4, 3)):
            proba, labels = draw_proba(rng, n, n_classes)
            evidence = add_candidates(rng, labels, n_classes) * rng.choice([0.5, 1.0], size=(n, n_classes))
            scores = make_scores(method, proba, rng)
            parts.append((scores, proba, evidence))
            rows += [(model, row) for row in scores.tolist()]
            sets += [np.flatnonzero(row).tolist() for row in evidence]
            posteriors += candidate_proba(proba, evidence).tolist()
        new = [make_scores(method, draw_proba(rng, 5, n_classes)[0], rng) for _ in range(2)]
        values = {
            rule: p_values(
                [calibrate(*part, calibration=rule, class_conditional=class_conditional) for part in parts], new
            )
            for rule in CALIBRATIONS
        }
        for i in range(5):
            for k in range(n_classes):
                new_scores = [scores[i].tolist() for scores in new]
                options = {"class_conditional": class_conditional}
                low, high = oracle.extreme_p_values(rows, sets, new_scores, k, **options)
                assert values["optimistic"][i, k] == pytest.approx(low)
                assert values["conservative"][i, k] == pytest.approx(high)
                expected = oracle.expected_p_value(rows, posteriors, new_scores, k, **options)
                assert values["sampled"][i, k] == pytest.approx(expected)


def test_few_rows_exclude_no_class():
    """With n calibration rows, no class is excluded at a coverage above n / (n + 1), of which a note has the number."""
    rng = np.random.default_rng(8)
    proba, labels = draw_proba(rng, 8, 3)
    new = draw_proba(rng, 20, 3)[0]
    scores, exact = class_scores(proba, "lac"), one_hot(labels, 3)
    assert describe_few_rows([calibrate(scores, proba, exact, calibration="conservative")], 3, 8 / 9, False) == ""
    assert prediction_sets(p_of(proba, exact, new, "conservative"), 0.9, new).all()
    conditional = calibrate(scores, proba, exact, calibration="sampled", class_conditional=True)
    for coverage in (0.5, 0.7, 0.75, 0.9):
        n_few = (np.bincount(labels, minlength=3) + 1 < 1 / (1 - coverage) - 1e-9).sum()
        note = describe_few_rows([conditional], 3, coverage, True)
        assert note.startswith(f"{n_few} of 3 classes") if n_few else note == ""


def count_covered(method, rule, rate, *, n_draws=200, n=59, coverage=0.8):
    """Return the number of some draws of calibration rows and one new row in which the new row is covered."""
    rng = np.random.default_rng(9)
    n_covered = 0
    for _ in range(n_draws):
        proba, labels = draw_proba(rng, n + 1, 4)
        wrong = rng.dirichlet(np.ones(4), size=n + 1)  # the model has another idea of the probabilities
        proba = 0.5 * proba + 0.5 * wrong if rule != "sampled" else proba
        scores = make_scores(method, proba, rng)
        sets = add_candidates(rng, labels, 4, rate)
        calibration = calibrate(scores[:n], proba[:n], sets[:n], calibration=rule)
        mask = prediction_sets(p_values([calibration], [scores[n:]]), coverage, proba[n:])
        n_covered += mask[0, labels[n]]
    return n_covered


COVERING = [*((method, "conservative", 0.2) for method in ("lac", "aps", "randomized")), ("lac", "sampled", 0.3)]


@pytest.mark.parametrize(("method", "rule", "rate"), COVERING)
def test_calibration_covers(method, rule, rate):
    """Conservative calibrations cover, and a sampled one if labels have the probabilities of the model."""
    assert count_covered(method, rule, rate) >= binom.ppf(0.001, 200, 0.8)


def test_optimistic_calibration_does_not_cover():
    """The test above can fail: the most plausible candidate is not always the label."""
    assert count_covered("lac", "optimistic", rate=0.6) < binom.ppf(0.001, 200, 0.8)


@pytest.mark.parametrize("case", MAPIE["cases"], ids=lambda case: f"{case['method']}-{case['coverage']}-{case['n']}")
def test_sets_equal_those_of_mapie(case):
    """Split-conformal sets on exact labels equal those of MAPIE; it leaves sets of LAC empty, which are filled here."""
    proba, labels = np.array(MAPIE["proba"])[: case["n"]], np.array(MAPIE["labels"])[: case["n"]]
    new = np.array(MAPIE["new"])
    scores, new_scores = class_scores(proba, "lac"), class_scores(new, "lac")
    if case["method"] == "aps":
        scores = class_scores(proba, "aps", np.array(case["calibration_uniform"]))
        new_scores = class_scores(new, "aps", np.array(case["new_uniform"]))
    calibration = calibrate(scores, proba, one_hot(labels, new.shape[1]), calibration="conservative")
    mask = prediction_sets(p_values([calibration], [new_scores]), case["coverage"], new)
    expected = np.array(case["sets"], dtype=bool)
    empty = ~expected.any(axis=1)
    expected[empty, new.argmax(axis=1)[empty]] = True
    np.testing.assert_array_equal(mask, expected)
    assert empty.any() or case["coverage"] > 0.5


def test_the_guarantee_names_its_conditions():
    """Only the worst candidate keeps the guarantee with partial rows; models of several folds have no strict one."""
    options = {"class_conditional": False, "is_bound": True, "n_groups": None}
    exact = {describe_guarantee(0.9, calibration=rule, n_partial=0, **options) for rule in CALIBRATIONS}
    assert exact == {"At least 90 % of new rows like the calibration rows have the true label in the set."}
    for rule in CALIBRATIONS:
        sentence = describe_guarantee(0.9, calibration=rule, n_partial=7, **options)
        assert sentence.startswith("No guarantee") == (rule != "conservative")
    assert "if every candidate set" in describe_guarantee(0.9, calibration="conservative", n_partial=7, **options)
    for n_groups in (8, 20):
        about = {"class_conditional": True, "is_bound": False, "n_groups": n_groups}
        sentence = describe_guarantee(0.95, calibration="conservative", n_partial=0, **about)
        assert sentence.startswith("About 95 % of rows of new groups, on average over groups, of each class")
        assert ("8 groups calibrate the sets" in sentence) == (n_groups == 8)
