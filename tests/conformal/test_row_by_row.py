"""A row has the same prediction set alone, in a batch and through the server, and each of them has the coverage."""

import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import betabinom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from oneof import PLEM, LOORidge, persistence
from oneof.conformal import ConformalClassifier
from oneof.io import Column, make_encoder
from oneof.persistence import SavedModel
from oneof.serving import RowPredictor, make_app
from oneof.typing import Floats, Labels, Mask
from tests.cli.conftest import Run, run
from tests.conformal.test_conformal_classifier import draw
from tests.serving.models import call

__all__ = ["run"]

CLASSES = np.array(["finch", "owl", "wren"])
N_SEEDS, N_ROWS, COVERAGE = 12, 1_000, 0.9
OPTIONS: dict[str, dict[str, Any]] = {
    "lac": {"method": "lac"},
    "aps": {"method": "aps"},
    "randomized": {"method": "aps", "randomized": True},
}


def is_covered(mask: Mask, y: Labels) -> Mask:
    return np.asarray(mask[np.arange(len(y)), np.searchsorted(CLASSES, y)])


def check_coverage(n_covered: int, n_new: int) -> None:
    """Fail unless a number of covered rows is within the bounds of its distribution, by N_ROWS calibration rows.

    The coverage given the calibration rows has a beta distribution (Vovk, ACML 2012). One of a thousand correct methods
    fails in one of N_SEEDS seeds.
    """
    rank = math.ceil((N_ROWS + 1) * COVERAGE)
    low, high = betabinom.interval(1 - 1e-3 / N_SEEDS, n_new, rank, N_ROWS + 1 - rank)
    assert low <= n_covered <= high, f"{n_covered} of {n_new} rows are covered; the bounds are {low:g} and {high:g}"


@pytest.mark.parametrize("seed", range(N_SEEDS))
def test_single_rows_and_batches_are_covered(seed: int) -> None:
    """For each seed, the rows of a batch are covered at the nominal rate, and so are the same rows one by one.

    The sets of single rows are those of the batch (see below), so that one seed of them is enough.
    """
    X, y = draw(np.random.default_rng(seed), 100 + 2 * N_ROWS)
    fit, calibration, new = np.split(np.arange(len(y)), [100, 100 + N_ROWS])
    fitted = LogisticRegression().fit(X[fit], y[fit])
    for name, options in OPTIONS.items():
        model = ConformalClassifier(fitted, coverage=COVERAGE, cv="prefit", random_state=seed, **options)
        model.fit(X[calibration], y[calibration])
        check_coverage(is_covered(model.predict_set(X[new]).mask, y[new]).sum(), N_ROWS)
        if name == "randomized" and seed == 0:
            alone = np.concatenate([model.predict_set(X[[i]]).mask for i in new])
            check_coverage(is_covered(alone, y[new]).sum(), N_ROWS)


@pytest.mark.long
def test_single_rows_of_the_server_are_covered() -> None:
    """Over the seeds, rows that are sent one by one are covered at the nominal rate by both methods."""
    for method in ("lac", "aps"):
        n_covered, n_new = 0, N_ROWS // N_SEEDS
        for seed in range(0, N_SEEDS, 3):
            model, X, y = fit_saved(seed, n_new)
            app = make_app(RowPredictor(model, coverage=COVERAGE, set_method=method))
            for row, label in zip(X, y, strict=True):
                n_covered += label in call(app, "/predict", {"row": to_row(row)}).json()["prediction"]["set"]
        check_coverage(n_covered, N_SEEDS // 3 * n_new)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("cv", ["prefit", "leave_one_out", 3])
def test_a_row_has_its_own_set(cv: Any, options: dict[str, Any]) -> None:
    """The set of a row is the same alone, in any batch, in CSR and in single precision."""
    X, y = draw(np.random.default_rng(0), 300)
    ridge = LOORidge("rbf", features="standard")
    estimator = ridge.fit(X[:100], y[:100]) if cv == "prefit" else ridge
    model = ConformalClassifier(estimator, coverage=0.8, cv=cv, random_state=0, **options).fit(X[100:200], y[100:200])
    sets = model.predict_set(X).mask
    order = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_array_equal(model.predict_set(X[order]).mask, sets[order])
    alone = np.concatenate([model.predict_set(X[[i]]).mask for i in range(0, len(X), 3)])
    np.testing.assert_array_equal(alone, sets[::3])
    np.testing.assert_array_equal(model.predict_set(sp.csr_array(X)).mask, sets)
    assert (model.predict_set(X.astype(np.float32)).mask == sets).all(axis=1).mean() > 0.99
    assert len(np.unique(sets, axis=0)) > 1


@pytest.mark.parametrize(
    "options",
    [{}, {"set_method": "aps"}, {"class_conditional": True}, {"calibration": "sampled"}, {"calibration": "optimistic"}],
    ids=str,
)
def test_python_the_command_line_and_the_server_agree(run: Run, options: dict[str, Any]) -> None:
    """The sets of `SavedModel.predict_set`, `oneof predict` and `oneof serve`, by rows and by batches, are equal."""
    model, X, _ = fit_saved(0, 40)
    persistence.save("model.skops", model)
    pl.DataFrame(X, schema=["a", "b"]).write_csv("new.csv")
    words = [f"--{name.replace('_', '-')}" + f"={value}" * (value is not True) for name, value in options.items()]
    result = run("predict", "model.skops", "new.csv", "--coverage", "0.8", *words, "--json", "--out", "-")
    content = json.loads(result.out)
    expected = [row["set"].split("|") for row in content["predictions"]]
    named = {name.removeprefix("set_"): value for name, value in options.items()}
    assert [sorted(members) for members in model.predict_set("new.csv", 0.8, **named).to_sets()] == expected
    app = make_app(RowPredictor(model, coverage=0.8, **options))
    rows = [to_row(row) for row in X]
    assert [row["set"] for row in call(app, "/predict", {"rows": rows}).json()["predictions"]] == expected
    assert [call(app, "/predict", {"row": row}).json()["prediction"]["set"] for row in rows] == expected
    guarantee = content["prediction_sets"]["calibration"]["guarantee"]
    assert call(app, "/model").json()["prediction_sets"]["guarantee"] == guarantee
    assert guarantee.startswith("No guarantee: " if "calibration" in options else "About 80 % of new rows")


def fit_saved(seed: int, n_new: int) -> tuple[SavedModel, Floats, Labels]:
    """Return a model of a table, calibrated by held-out rows of which one has two candidates, and new rows."""
    X, y = draw(np.random.default_rng(seed), 100 + N_ROWS + n_new)
    columns = [Column("a", "number"), Column("b", "number")]
    frame = pl.DataFrame(X, schema=["a", "b"])
    pipeline = make_pipeline(make_encoder(columns), PLEM()).fit(frame[:100], y[:100])
    held_out = np.arange(100, 100 + N_ROWS)
    evidence = y[held_out, None] == CLASSES
    evidence[0] = [True, True, False]
    proba = pipeline.predict_proba(frame[100 : 100 + N_ROWS]).astype(np.float32)
    calibration = {"rows": held_out, "proba": proba, "evidence": evidence}
    names = [(column.name, column.kind) for column in columns]
    model = SavedModel(pipeline, CLASSES.tolist(), names, ["species"], "PLEM", {"rows": 100}, calibration=calibration)
    return model, X[100 + N_ROWS :], y[100 + N_ROWS :]


def to_row(row: Floats) -> dict[str, float]:
    return dict(zip("ab", row.tolist(), strict=True))


class Jitter(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are about .6 and .4, and change slightly with the rows of the fit."""

    def fit(self, X: Floats, y: Labels) -> "Jitter":
        self.classes_ = np.unique(y)
        self.shift_ = 0.01 * np.mean(X)
        return self

    def predict(self, X: Floats) -> Labels:
        return self.classes_[np.zeros(len(X), dtype=int)]

    def predict_proba(self, X: Floats) -> Floats:
        first = 0.6 + 0.01 * X[:, 0] + self.shift_
        return np.stack([first, 1 - first], axis=1)


@pytest.mark.parametrize("cv", [5, 0.5])
def test_a_row_has_one_random_number_in_all_folds(cv: float) -> None:
    """With one number for each row, .6 + .75 * .4 = .9 are covered; the mean of five p-values would cover .99."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 1)), np.where(rng.random(2_000) < 0.6, "a", "b")
    model = ConformalClassifier(Jitter(), cv=cv, method="aps", randomized=True, random_state=0).fit(X, y)
    is_full = model.predict_set(rng.normal(size=(2_000, 1))).is_unlabeled
    assert is_full.mean() == pytest.approx(0.75, abs=0.05)
