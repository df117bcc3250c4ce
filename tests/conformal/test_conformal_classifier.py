"""ConformalClassifier: coverage on exchangeable rows, modes of calibration, forms of labels, single rows, bad input."""

import json
import math
import pickle
import warnings
from typing import Any, Self

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.stats import betabinom, binom
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from oneof import CLPL, PLEM, PLKNN, CandidateEM, CandidateSets, LOORidge, persistence
from oneof.conformal import ConformalClassifier, evaluate_sets
from oneof.errors import InputError
from oneof.io import Column, make_encoder
from oneof.likelihoods import softmax
from oneof.persistence import SavedModel
from oneof.serving import RowPredictor, make_app
from oneof.solvers.conformal import calibrate, class_scores, p_values, prediction_sets
from oneof.typing import Floats, Ints, Labels, Mask
from tests.cli.conftest import Run, run
from tests.serving.models import call

__all__ = ["run"]

CENTERS = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
LOO = {"estimator": LOORidge("rbf", features="standard"), "cv": "leave_one_out"}


def draw(rng, n):
    """Return rows around one center per class, with overlap, and their labels."""
    y = rng.integers(3, size=n)
    return CENTERS[y] + rng.normal(size=(n, 2)), np.array(["finch", "owl", "wren"])[y]


def add_distractors(rng, y, rate):
    classes = np.unique(y)
    return CandidateSets((y[:, None] == classes) | (rng.random((len(y), len(classes))) < rate), classes)


@parametrize_with_checks(
    [
        ConformalClassifier(LogisticRegression(), random_state=0),
        ConformalClassifier(PLKNN(n_neighbors=3), cv=0.4, method="aps", random_state=0),
        ConformalClassifier(**LOO),
    ]
)
@pytest.mark.filterwarnings("ignore")  # the checks fit a few rows
def test_scikit_learn_checks(estimator, check):
    """Every check of check_estimator passes, without expected failures."""
    check(estimator)


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"cv": 0.5},
        {"cv": 5},
        {"cv": 5, "method": "aps"},
        {"cv": 0.5, "method": "aps", "randomized": False},
        {"cv": 5, "class_conditional": True},
        LOO,
    ],
    ids=["split", "cross", "cross-aps", "split-aps", "cross-conditional", "leave-one-out"],
)
def test_new_rows_are_covered(options):
    """Over many draws, the sets of new rows contain the truth at the nominal rate, within binomial bounds."""
    rng, n_draws, covered = np.random.default_rng(0), {0.5: 200, 5: 80}.get(options["cv"], 40), 0
    for seed in range(n_draws):
        X, y = draw(rng, 61)
        model = ConformalClassifier(coverage=0.8, random_state=seed, **{"estimator": GaussianNB()} | options)
        covered += y[60] in model.fit(X[:60], y[:60]).predict_set(X[60:]).to_sets()[0]
    assert covered >= binom.ppf(0.001, n_draws, 0.8)
    if not options.get("class_conditional"):  # which can only be covered above the rate, with 12 rows of a class
        assert covered <= binom.ppf(0.999, n_draws, 0.87)


def test_split_sets_are_those_of_the_solver():
    """The sets of a fitted estimator are those of the p-values of its own probabilities."""
    rng = np.random.default_rng(2)
    X, y = draw(rng, 200)
    model = LogisticRegression().fit(X[:80], y[:80])
    conformal = ConformalClassifier(model, cv="prefit", coverage=0.85).fit(X[80:150], y[80:150])
    scores = class_scores(model.predict_proba(X[80:150]), "lac")
    mask = y[80:150, None] == model.classes_
    p = p_values(
        [calibrate(scores, 1 - scores, mask, calibration="sampled")],
        [class_scores(model.predict_proba(X[150:]), "lac")],
    )
    best = model.predict_proba(X[150:])
    np.testing.assert_array_equal(conformal.predict_set(X[150:]).mask, prediction_sets(p, 0.85, best))
    np.testing.assert_array_equal(conformal.predict(X), model.predict(X))
    np.testing.assert_array_equal(conformal.predict_proba(X), model.predict_proba(X))
    assert conformal.estimator_ is model
    assert conformal.score(X, y) == model.score(X, y)
    frozen = ConformalClassifier(FrozenEstimator(model), cv=2, coverage=0.85).fit(X[80:150], y[80:150])
    np.testing.assert_array_equal(frozen.predict_set(X[150:]).mask, prediction_sets(p, 0.85, best))


def test_every_labeled_row_is_compared_with_a_model_that_was_not_fitted_to_it():
    """Cross-conformal sets are those of models fitted to the other folds; unlabeled rows do not calibrate."""
    rng = np.random.default_rng(3)
    X, y = draw(rng, 70)
    truth = CandidateSets.from_labels([None if i % 7 == 0 else label for i, label in enumerate(y)])
    folds = [(np.flatnonzero(np.arange(70) % 2 != k), np.flatnonzero(np.arange(70) % 2 == k)) for k in range(2)]
    conformal = ConformalClassifier(PLKNN(5), cv=folds, coverage=0.7).fit(X, truth)
    new, parts, scores = draw(rng, 30)[0], [], []
    for train, test in folds:
        model, known = PLKNN(5).fit(X[train], truth[train]), test[~truth.is_unlabeled[test]]
        proba = model.predict_proba(X[known])
        parts.append(calibrate(class_scores(proba, "lac"), proba, truth[known].mask, calibration="conservative"))
        scores.append(class_scores(model.predict_proba(new), "lac"))
    best = PLKNN(5).fit(X, truth).predict_proba(new)
    np.testing.assert_array_equal(conformal.predict_set(new).mask, prediction_sets(p_values(parts, scores), 0.7, best))
    assert conformal.n_calibration_ == 60
    assert len(conformal.estimators_) == 2


@pytest.mark.parametrize(
    "estimator", [CLPL(), LinearSVC(), make_pipeline(StandardScaler(), LogisticRegression())], ids=str
)
def test_classifiers_with_scores_and_pipelines(estimator):
    """Classifiers without predict_proba are scored by a softmax; clones, pickles and sparse rows give the same sets."""
    rng = np.random.default_rng(7)
    X, y = draw(rng, 150)
    model = ConformalClassifier(estimator, cv=3, coverage=0.8, random_state=0).fit(X[:100], y[:100])
    sets = model.predict_set(X[100:])
    assert 0.6 < evaluate_sets(sets, y[100:]).coverage <= 1.0
    assert clone(model).fit(X[:100], y[:100]).predict_set(X[100:]) == sets
    assert pickle.loads(pickle.dumps(model)).predict_set(X[100:]) == sets
    if not hasattr(estimator, "steps"):
        as_sparse = clone(model).fit(sp.csr_array(X[:100]), y[:100]).predict_set(sp.csr_array(X[100:]))
        assert (as_sparse.mask != sets.mask).mean() < 0.05
    if not hasattr(estimator, "predict_proba"):
        with pytest.raises(InputError, match="must have predict_proba"):
            model.predict_proba(X)


def test_a_class_that_is_not_in_a_fold_has_the_largest_score():
    """A class that is missing from the training rows of a fold has probability 0 there, in its own column."""
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [9.0]] * 3)
    y = np.array(["a", "a", "a", "b", "b", "b", "c"] * 3)
    folds = [(np.arange(6), np.arange(6, 21)), (np.arange(6, 21), np.arange(6))]  # the first without class c
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sets = ConformalClassifier(LogisticRegression(), cv=folds).fit(X, y).predict_set([[0.1], [9.0]])
    assert sets.classes.tolist() == ["a", "b", "c"]
    assert "c" in sets.to_sets()[1]


def test_few_rows_warn():
    """A coverage that the calibration rows cannot give is a warning, and the sets have all classes."""
    rng = np.random.default_rng(9)
    X, y = draw(rng, 8)
    model = ConformalClassifier(GaussianNB(), cv=2, coverage=0.9, random_state=0)
    y[:6] = ["finch", "owl", "wren"] * 2
    with pytest.warns(UserWarning, match="3 of 3 classes are in every prediction set.*at least 9 calibration rows[.]"):
        assert model.fit(X, y).predict_set(X).mask.all()
    X, y = draw(rng, 30)
    model = ConformalClassifier(GaussianNB(), cv=2, coverage=0.5, class_conditional=True, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="3 of 3 classes are in every.*at least 99 calibration rows of each class"):
        assert model.predict_set(X, coverage=0.99).mask.all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "`cv` must be an integer of at least 2"),
        ({"cv": True}, "`cv` must be"),
        ({"cv": [(np.arange(6), np.arange(6, 40))]}, "exactly one test subset"),
        ({"cv": "leave_one_out"}, "`estimator` must be LOORidge"),
        ({"cv": "prefit", "estimator": None}, "`estimator` must be a fitted classifier"),
        ({"estimator": StandardScaler()}, "must have predict_proba or decision_function"),
        ({"estimator": LogisticRegression}, "must be an object"),
    ],
)
def test_wrong_parameters_are_errors(options, message):
    """A wrong parameter is one sentence that names it."""
    X, y = draw(np.random.default_rng(11), 40)
    with pytest.raises((InputError, TypeError), match=message):
        ConformalClassifier(**{"estimator": GaussianNB()} | options).fit(X, y)


def test_wrong_input_is_an_error():
    """Partial rows for a classifier of scikit-learn, unknown labels and lengths are errors with a remedy."""
    rng = np.random.default_rng(12)
    X, y = draw(rng, 60)
    sets = add_distractors(rng, y, 0.3)
    with pytest.raises(InputError, match=r"Wrap it in oneof.CandidateEM"):
        ConformalClassifier(GaussianNB()).fit(X, sets)
    ConformalClassifier(CandidateEM(GaussianNB()), cv=0.5, coverage=0.5, random_state=0).fit(X, sets)
    with pytest.raises(InputError, match="row 0: label 'stork' is not one of the classes"):
        ConformalClassifier(GaussianNB().fit(X, y), cv="prefit").fit(X, ["stork", *y[1:]])
    with pytest.raises(InputError, match="60 rows, but y has 59"):
        ConformalClassifier(GaussianNB()).fit(X, y[1:])
    model = ConformalClassifier(GaussianNB(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match="`coverage` must be"):
        model.predict_set(X, coverage=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_calibration_uses_the_label_distributions(weighted):
    """With leave-one-out, a partial row has its candidates with the label distribution of the fitted LOORidge."""
    rng = np.random.default_rng(13)
    X, y = draw(rng, 100)
    sets = add_distractors(rng, y, 0.4)
    if weighted:
        sets = CandidateSets.from_weights(sets.weights * rng.choice([0.5, 1.0], size=sets.shape), sets.classes)
    steps = make_pipeline(StandardScaler(), LOORidge("rbf", features="standard"))
    conformal = ConformalClassifier(steps, cv="leave_one_out", coverage=0.8, calibration="sampled")
    conformal.fit(X[:80], sets[:80])
    ridge, labeled = conformal.estimator_[-1], ~sets[:80].is_unlabeled
    proba = softmax(ridge.inverse_temperature_ * ridge.loo_scores_)[labeled]
    by_labels = calibrate(
        class_scores(proba, "lac"),
        proba,
        sets[:80].evidence[labeled],
        calibration="sampled",
        posterior=ridge.label_distributions_[labeled],
    )
    new = conformal.predict_proba(X[80:])
    p = p_values([by_labels], [class_scores(new, "lac")])
    np.testing.assert_array_equal(conformal.predict_set(X[80:]).mask, prediction_sets(p, 0.8, new))
    assert conformal.n_calibration_ == labeled.sum()


def test_conservative_sets_of_many_partial_rows_warn():
    """If most sets have all classes because of partial rows, a warning names the other rule."""
    rng = np.random.default_rng(10)
    X, y = draw(rng, 100)
    sets = add_distractors(rng, y, 0.5)
    model = ConformalClassifier(PLKNN(5), random_state=0).fit(X, sets)
    with pytest.warns(UserWarning, match=r"Most prediction sets have all classes, since \d+ of \d+.*sampled"):
        model.predict_set(X)
    assert "if every candidate set of the calibration contains it" in model.guarantee_
    model = ConformalClassifier(PLKNN(5), calibration="sampled", random_state=0).fit(X, sets)
    assert model.predict_set(X).sizes.mean() < 2.5
    assert model.guarantee_.startswith("No guarantee")


def simulate(seed: int, n_groups: int, n_rows: int = 10) -> tuple[Floats, Ints, Ints]:
    """Return rows, labels and groups; each group has an offset of its own, and mainly one class."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), n_rows)
    main, y = rng.integers(3, size=n_groups)[groups], rng.integers(3, size=n_groups * n_rows)
    y = np.where(rng.random(len(y)) < 0.8, main, y)
    offset = 3 * rng.normal(size=(n_groups, 4))[groups]
    return np.eye(3, 4)[y] + offset + 0.3 * rng.normal(size=offset.shape), y, groups


@pytest.mark.long
def test_rows_of_new_groups_are_covered() -> None:
    """Folds by groups cover 90 % of the rows of new groups; folds of rows know the offsets, and cover too few."""
    X, y, groups = simulate(0, 60)
    X_new, y_new, _ = simulate(1, 400)
    covered = []
    for given in (None, groups):
        model = ConformalClassifier(LOORidge(), coverage=0.9, random_state=0).fit(X, y, groups=given)
        covered.append(model.predict_set(X_new).mask[np.arange(len(y_new)), y_new].mean())
    assert covered[0] < 0.8
    assert covered[1] > 0.87


@pytest.mark.parametrize("cv", ["prefit", "leave_one_out", 0.3])
def test_groups_need_folds(cv: object) -> None:
    """Without folds, groups have no meaning."""
    X, y, groups = simulate(0, 20)
    estimator = LOORidge().fit(X, y)
    with pytest.raises(InputError, match="`groups` defines folds, and `cv` must be their number or a splitter"):
        ConformalClassifier(estimator, cv=cv).fit(X, y, groups=groups)


class GroupRecorder(LogisticRegression):
    """A classifier that stores the groups of its rows, which are the first feature."""

    def fit(self, X: Floats, y: Ints) -> Self:
        self.groups_ = set(X[:, 0])
        return super().fit(X, y)


def test_a_number_of_folds_separates_the_groups() -> None:
    """Each group is left out of the rows of one estimator."""
    X, y, groups = simulate(0, 20)
    X[:, 0] = groups
    model = ConformalClassifier(GroupRecorder(max_iter=5000), cv=4, random_state=0).fit(X, y, groups=groups)
    left_out = [set(range(20)) - part.groups_ for part in model.estimators_]
    assert sum(map(len, left_out)) == 20
    assert set.union(*left_out) == set(range(20))


def test_few_groups_have_a_warning() -> None:
    """The coverage of new groups depends on their number, and not on that of the rows."""
    X, y, groups = simulate(0, 10, n_rows=60)
    with pytest.warns(UserWarning, match="10 groups calibrate the sets"):
        ConformalClassifier(LogisticRegression()).fit(X, y, groups=groups)


def test_numbers_of_a_small_table():
    """Coverage, bounds and sizes are those counted by hand."""
    sets = CandidateSets.from_sets([["a"], ["a", "b"], ["c"], ["a", "b", "c"], ["b"]], classes=["a", "b", "c"])
    result = evaluate_sets(sets, [["a"], ["c"], ["c"], ["a", "c"], None])
    assert (result.n_exact, result.n_labeled, result.n_rows) == (3, 4, 5)
    assert result.coverage == pytest.approx(2 / 3)
    assert result.coverage_bounds == (0.75, 0.75)
    assert result.mean_size == pytest.approx(8 / 5)
    assert [(g.key, g.n_rows, g.coverage, g.mean_size) for g in result.by_class] == [("a", 1, 1, 1), ("c", 2, 0.5, 1.5)]
    assert [(g.key, g.n_rows, g.coverage) for g in result.by_size] == [(1, 2, 1.0), (2, 1, 0.0)]


def test_bounds_hold_the_true_coverage():
    """Whatever candidate is the true class, the coverage is between the bounds."""
    rng = np.random.default_rng(0)
    masks = rng.random((2, 50, 4)) < 0.5
    masks[:, :, 0] |= ~masks.any(axis=2)
    sets, y = (CandidateSets(mask, list("abcd")) for mask in masks)
    low, high = evaluate_sets(sets, y).coverage_bounds
    for _ in range(20):
        labels = [sorted(members)[rng.integers(len(members))] for members in y.to_sets()]
        labels = [label if size < 4 else None for label, size in zip(labels, y.sizes, strict=True)]
        assert low <= evaluate_sets(sets, labels).coverage <= high


def test_rows_without_a_true_class():
    """The coverage of partial rows alone is NaN with bounds; unlabeled rows alone and other lengths are errors."""
    assert math.isnan(evaluate_sets([["a"], ["b"], ["c"]], [["a", "b"], ["b", "c"], ["a", "b"]]).coverage)
    with pytest.raises(InputError, match="every row is unlabeled"):
        evaluate_sets([["a"], ["b"]], CandidateSets([[True, True]] * 2, ["a", "b"]))
    with pytest.raises(InputError, match="same length"):
        evaluate_sets([["a"], ["b"]], ["a"])


# -- A row has the same prediction set alone, in a batch and through the server, and each of them has the coverage ----


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
