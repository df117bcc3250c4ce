"""Parameters of all estimators: errors that name them, before anything is fitted, and their common effects."""

import inspect
import re

import numpy as np
import pytest
import scipy.sparse as sp
from dask.base import tokenize
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from oneof import (
    CLPL,
    IPAL,
    PLECOC,
    PLEM,
    PLGP,
    PLKNN,
    PLSVM,
    CandidateEM,
    CandidateSets,
    CandidateStacking,
    GaussianEM,
    GraphLogisticRegression,
    HarmonicField,
    LocalGlobalConsistency,
    LOORidge,
    MarkovWalk,
    MultinomialEM,
    PoissonLearning,
    TransductiveSVM,
)
from oneof.errors import InputError, InputTypeError
from oneof.estimators.parameters import Positive, estimator
from oneof.model_selection import CandidateKFold, covering_rate_scorer
from tests.estimators.panel import ALL, name, scores, table, weighted_table

RELEVANT = {
    "gamma": {"kernel": "rbf", "features": "kernel"},
    "degree": {"kernel": "poly", "features": "kernel"},
    "coef0": {"kernel": "poly", "features": "kernel"},
    "n_components": {"kernel": "rbf", "approximation": "nystroem"},
    "random_state": {"kernel": "rbf", "approximation": "nystroem", "n_components": 2},
}
"""Other parameters with which a parameter has an effect; LOORidge has features of its own."""
MAY_BE_ZERO = {"alpha", "beta", "coef0", "entropy_weight", "label_tol", "n_restarts_optimizer", "partial_weight"}
MAY_BE_ZERO |= {"positive_fraction", "random_state", "ridge", "shrinkage", "tol", "unlabeled_weight", "verbose"}
FRACTIONS = "`positive_fraction` must have one number for each of the 3 classes"
CASES = [
    pytest.param(estimator, parameter, id=f"{name(estimator)}-{parameter}")
    for estimator in ALL
    for parameter in estimator.get_params(deep=False)
]


@pytest.mark.parametrize(("estimator", "parameter"), CASES)
def test_an_invalid_value_is_named(estimator, parameter):
    """A number below the range, NaN, an unknown word and an object are errors of fit that begin with the name."""
    X, mask = table(20, like=estimator)
    known, default = estimator.get_params(deep=False), getattr(estimator, parameter)
    relevant = {key: value for key, value in RELEVANT.get(parameter, {}).items() if key in known}
    if name(estimator) in ("LOORidge", "PLGP"):
        relevant = {key: value for key, value in relevant.items() if key not in ("features", "kernel")}
    values = [-1.5, float("nan"), "no such", object(), *([] if parameter in MAY_BE_ZERO else [0])]
    values += [None, 2, np.array([1.0, 2.0])] if isinstance(default, bool) else []
    for value in values:
        model = clone(estimator).set_params(**{**relevant, parameter: value})
        with pytest.raises((InputError, InputTypeError), match=rf"`{parameter}\b"):
            model.fit(X, mask)
        assert not hasattr(model, "classes_")
    if isinstance(default, bool) and parameter != "shuffle":
        given, of_numpy = (clone(estimator).set_params(**{parameter: kind(not default)}) for kind in (bool, np.bool_))
        np.testing.assert_array_equal(of_numpy.fit(X, mask).predict(X), given.fit(X, mask).predict(X))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CLPL(float("inf")), "`C` must be"),
        (CLPL(C=10**400), "`C` must be a number above 0"),
        (PLECOC(Ridge()), "`estimator` must"),
        (PLECOC(SVC), "`estimator` must be a classifier object"),
        (PLECOC(min_fraction=1.5), "`min_fraction` must be"),
        (PLECOC(random_state=np.random.default_rng(0)), "`random_state` must be .*; got"),
        (CandidateEM(SVC()), r"must have predict_proba; got SVC\(\)\. Wrap it"),
        (CandidateEM(SVC), "must be a classifier object"),
        (CandidateEM(cv=True), "`cv` must be an integer of at least 2 or a splitter; got True"),
        (CandidateEM(cv=ShuffleSplit(3, random_state=0)), "in exactly one test subset"),
        (CandidateEM(round_params={"depth": 3}), "Invalid parameter 'depth'"),
        (CandidateEM(LogisticRegression(C=-1)), "The 'C' parameter"),
        (CandidateStacking([]), "at least one member"),
        (CandidateStacking([("one", PLEM()), ("one", PLEM())]), "not unique"),
        (CandidateStacking([("bayes", GaussianNB())]), r"Wrap it in oneof\.CandidateEM"),
        (CandidateStacking({"linear": PLEM()}), r"a list of \(name, estimator\) tuples"),
        (CandidateStacking([("linear", PLEM)]), "get_params and fit"),
        (GraphLogisticRegression(features="kernel", kernel="sigmoid"), "`kernel` must be .* got 'sigmoid'"),
        (GraphLogisticRegression(kernel="precomputed"), "`kernel` must be .* for kernel features, .* got 'precomp"),
        (GraphLogisticRegression(views=np.array(0.5)), "`views.*must be .*; got"),
        (LOORidge("laplacian", features="l2"), "`features` must be .* with kernel=.laplacian"),
        (LOORidge("precomputed", approximation="nystroem"), "`approximation` must be None or .auto. with kernel"),
        (MultinomialEM(unlabeled_weight=True), "`unlabeled_weight` must be"),
        (MultinomialEM(cv_weights=[]), "`cv_weights` must be"),
        (MultinomialEM(cv_weights=[0.1, -1]), "`cv_weights` must be"),
        (GaussianEM(cv_weights=np.array(0.5)), "`cv_weights` must be .*; got"),
        (HarmonicField(class_prior="equal"), "class_prior"),
        (LocalGlobalConsistency(class_prior=[1.0]), "class_prior"),
        (MarkovWalk(class_prior=[1.0, -1.0, 1.0]), "class_prior"),
        *((PoissonLearning(class_prior=sizes), "class_prior") for sizes in ([0.0, 0.0, 0.0], ["a", "b", "c"])),
        (PoissonLearning(True, class_prior=None), "class_prior"),
        (PLGP("rbf"), r"`kernel` must be .*'rbf'"),
        (PLGP(approximation="nystroem", solver="cholesky"), "`solver`|`approximation`"),
        (PLSVM(1e-320), "`lam` must be"),
        (PLSVM(kernel=np.eye(2)), "`kernel` must be"),
        (PLSVM(kernel="precomputed", approximation="nystroem"), "`approximation`"),
        *((TransductiveSVM(positive_fraction=value), FRACTIONS) for value in (True, 0.5, [0.5, 0.5], ["a", "b", "c"])),
        (TransductiveSVM(positive_fraction=[0.2, 1.5, 0.1]), "`positive_fraction` must have .*from 0 to 1; got .*1.5"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else None,
)
def test_other_invalid_values_are_named(model, message):
    """Values at the end of a range, of the wrong kind or in a combination without meaning have an error of oneof."""
    X, mask = table()
    with pytest.raises((InputError, InputTypeError), match=message):
        clone(model, safe=False).fit(np.abs(X), mask)


@pytest.mark.parametrize(
    "model",
    [
        *(CLPL(100.0), PLEM(1e-3), PLSVM(1e-4, tol=1e-12), GaussianEM(tol=1e-12), MultinomialEM(tol=1e-12)),
        *(PLGP(optimizer=None), TransductiveSVM(), CandidateEM(GaussianNB(), tol=1e-9)),
    ],
    ids=name,
)
def test_too_few_iterations_warn(model):
    """A fit that reaches `max_iter` warns once with the remedy, and keeps its result."""
    X, mask = table(60)
    with pytest.warns(ConvergenceWarning, match="did not converge.*ncrease .*max_iter") as caught:
        fitted = clone(model).set_params(max_iter=1).fit(np.abs(X), mask)
    assert len(caught) == 1
    assert np.isfinite(scores(fitted, np.abs(X))).all()


@pytest.mark.parametrize(
    "model", [CandidateEM(RandomForestClassifier(3), random_state=0), PLECOC(RandomForestClassifier(3), random_state=0)]
)
def test_results_do_not_depend_on_the_number_of_jobs(model):
    """Classifiers with drawn seeds are equal in serial and in parallel; the given one is not fitted."""
    X, mask = table()
    serial, parallel = (clone(model).set_params(n_jobs=n_jobs).fit(X, mask) for n_jobs in (None, 2))
    np.testing.assert_array_equal(scores(parallel, X), scores(serial, X))
    assert not hasattr(model.estimator, "classes_")


def test_weights_need_a_classifier_with_sample_weights():
    """A classifier that does not accept sample weights is an error, only if some row has weights."""
    X, mask, weights = weighted_table()
    model = PLECOC(make_pipeline(StandardScaler(), SVC()), code_length=2, random_state=0).fit(X, mask)
    with pytest.raises(InputError, match="`estimator` must accept sample_weight"):
        model.fit(X, CandidateSets.from_weights(weights))


MACHINES = [PLSVM(0.1, tol=1e-10), TransductiveSVM(tol=1e-9), LOORidge(lam=1.0)]
machines = pytest.mark.parametrize("model", MACHINES, ids=name)


@machines
def test_a_kernel_by_function_and_precomputed_agree(model):
    """Equal Gram matrices give equal scores and labels, also for new rows, and are not changed."""
    X, mask = table(80)
    new, _ = table(10, seed=1)
    gram = rbf_kernel(X, gamma=0.3)
    given, before = clone(model).set_params(kernel="precomputed"), gram.copy()
    function = clone(model).set_params(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.3)).fit(X, mask)
    expected = scores(function, new)
    np.testing.assert_allclose(scores(given.fit(gram, mask), rbf_kernel(new, X, gamma=0.3)), expected, atol=1e-5)
    np.testing.assert_array_equal(given.disambiguate().labels, function.disambiguate().labels)
    np.testing.assert_array_equal(gram, before)
    if name(model) != "LOORidge":
        named = clone(model).set_params(kernel="rbf", gamma=0.3).fit(X, mask)
        np.testing.assert_allclose(scores(named, new), expected, atol=1e-5)


@machines
def test_an_invalid_kernel_is_an_error(model):
    """A kernel must be square, finite and symmetric, with a diagonal of at least 0."""
    X, mask = table()
    asymmetric = linear_kernel(X)
    asymmetric[0, 1], asymmetric[1, 0] = 9e5, 9e5 + 5.0  # a larger difference, but within the rounding of such values
    asymmetric[3, 5] += 1.0
    for kernel, rows, message in (
        ("precomputed", X, "square"),
        ("precomputed", -linear_kernel(X), "must be at least 0|positive semi-definite"),
        (lambda A, B: linear_kernel(A, B) * np.nan, X, "NaN or infinity"),
        ("precomputed", asymmetric, "not symmetric.*(3 and 5|5 and 3)"),
        ("precomputed", np.ones((60, 60)) - 0.9 * np.eye(60), "positive semi-definite"),
        ("precomputed", sp.csr_array(linear_kernel(X)), "[Ss]parse"),
        ("poly", X * 1e80, "[Ss]cale the features"),
    )[: 3 if name(model) == "LOORidge" else 7]:
        with pytest.raises((InputError, InputTypeError), match=message):
            clone(model).set_params(kernel=kernel, **({"degree": 5, "gamma": 1.0} if kernel == "poly" else {})).fit(
                rows, mask
            )


@pytest.mark.parametrize("model", MACHINES[:2], ids=name)
def test_a_refit_with_another_kernel_deletes_old_attributes(model):
    """After a fit with another kernel only its own attributes are set; after a failed one the model is not fitted."""
    X, mask = table()
    fitted = clone(model).fit(X, mask)
    assert not hasattr(fitted.set_params(kernel="rbf").fit(X, mask), "coef_")
    expected = clone(model).set_params(kernel="rbf").fit(X, mask)
    np.testing.assert_array_equal(scores(fitted, X), scores(expected, X))
    with pytest.raises(InputError, match="must be of shape"):
        fitted.set_params(kernel=lambda A, B: A @ B[:1].T).fit(X, mask)
    with pytest.raises(NotFittedError):
        fitted.predict(X)
    assert not hasattr(fitted.set_params(kernel="linear").fit(X, mask), "dual_coef_")


def test_a_search_splits_precomputed_kernels():
    """GridSearchCV selects rows and columns of a Gram matrix, with the scores of the named kernel."""
    X, mask = table(90)
    options = {
        "param_grid": {"lam": [1e-3, 1e-1]},
        "cv": CandidateKFold(2, shuffle=False),
        "scoring": covering_rate_scorer,
    }
    named = GridSearchCV(PLSVM(kernel="rbf", gamma=0.3), **options).fit(X, mask.astype(int))
    given = GridSearchCV(PLSVM(kernel="precomputed"), **options).fit(rbf_kernel(X, gamma=0.3), mask.astype(int))
    np.testing.assert_allclose(given.cv_results_["mean_test_score"], named.cv_results_["mean_test_score"])


WIDE = sp.csr_array((np.ones(10), (np.arange(10), np.arange(10))), shape=(10, 2**40))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LOORidge("rbf", features="standard"), 'Pass approximation="nystroem"'),
        (LOORidge("rbf", approximation="nystroem", n_components=20), "Pass one `kernel` and one of `features`"),
        (LOORidge("rbf", features="standard", approximation="nystroem", n_components=20), "Lower n_components"),
        (PLGP(optimizer=None), r"would need .* GB.*nystroem"),
        (PLGP(optimizer=None, approximation="nystroem"), r"would need"),
        (PLSVM(kernel="rbf", approximation="nystroem", n_components=20), "Decrease `n_components`"),
        (TransductiveSVM(kernel="rbf"), r'all pairs of 90 rows would need .* Set kernel="linear"'),
    ],
)
def test_computations_that_exceed_the_memory_are_errors(monkeypatch, model, message):
    """The size of a matrix is compared with the memory before it is computed; the error has the remedy."""
    monkeypatch.setattr("os.sysconf", lambda _: 100)
    X, mask = table(90)
    with pytest.raises(InputError, match=message):
        model.fit(X, mask)


@pytest.mark.parametrize("model", [LOORidge("rbf", features="standard"), GaussianEM()], ids=name)
def test_dense_forms_of_sparse_rows_that_exceed_the_memory_are_errors(model):
    """Sparse rows that would not fit in memory as dense rows raise before the conversion."""
    with pytest.raises(InputError, match=r"GB|memory"):
        model.fit(WIDE, np.arange(10) % 2)


@pytest.mark.parametrize("model", [IPAL(), PLKNN()], ids=name)
def test_a_single_labeled_row_is_uniform_over_its_set(model):
    """A single labeled row has no neighbors: its candidates are equally probable."""
    y = CandidateSets([[True, True, False], [True, True, True]], ["a", "b", "c"])
    labels, confidence = model.fit([[1.0], [2.0]], y).disambiguate()
    assert labels.tolist() == ["a", "a"]
    assert confidence.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("model", ALL, ids=name)
def test_every_parameter_is_documented_and_no_type_has_a_range(model):
    """The docstring has an entry for each parameter of the constructor; the signature shows plain types."""
    signature = inspect.signature(type(model))
    entries = re.findall(r"^ *(\w+(?:, \w+)*) :", type(model).__doc__, re.MULTILINE)
    assert set(signature.parameters) <= {name for entry in entries for name in entry.split(", ")}
    assert "Annotated" not in str(signature)


def test_dask_tells_fits_apart():
    """An estimator is not a dataclass: Dask's token depends on the fitted attributes, not only on the parameters."""
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    fits = [CLPL().fit(X, labels) for labels in (y, 1 - y)]
    assert tokenize(fits[0]) != tokenize(fits[1])
    assert not hasattr(CLPL, "C")


def test_ranges_of_types_in_text_are_checked():
    """A parameter is checked too if its type is text, as with `from __future__ import annotations`."""

    @estimator
    class Scaled(CLPL):
        """CLPL with a scale.

        Parameters
        ----------
        scale : float, default=1.0
            Above 0.
        """

        scale: "Positive" = 1.0

    with pytest.raises(InputError, match="`scale` must be a number above 0; got -3"):
        Scaled(scale=-3).fit(np.eye(2), [0, 1])
