"""Tests of all estimators: one meaning of a candidate set in every form, invariances, errors."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from oneof import PLEM, CandidateSets, GaussianEM, MultinomialEM
from oneof.errors import InputError, LabelError
from oneof.solvers.generative.gaussian import COVARIANCE_TYPES
from tests.estimators.panel import (
    ALL,
    BATCH,
    OF_NEIGHBORS,
    ONLINE,
    TRANSDUCTIVE,
    fit_table,
    name,
    same_model,
    scores,
    table,
    weighted_table,
)
from tests.fuzz.outcome import outcome

every = pytest.mark.parametrize("estimator", ALL, ids=name)
batch = pytest.mark.parametrize("estimator", BATCH, ids=name)
NAMES = np.array(["ant", "bee", "cat"])
OF_WORK = ("n_neighbors", "max_iter", "n_epochs", "code_length", "cv")


@batch
def test_row_order_does_not_matter(estimator):
    """Batch methods do not depend on the order of the rows."""
    X, mask = table(like=estimator)
    order = np.random.default_rng(1).permutation(len(X))
    reference = scores(fit_table(estimator), X)
    permuted = scores(clone(estimator).fit(X[order], mask[order]), X)
    np.testing.assert_allclose(permuted, reference, rtol=1e-6, atol=1e-6 * np.abs(reference).max())


@every
def test_dense_and_sparse_rows_agree(estimator):
    """A CSR matrix gives the model and the predictions of its dense form, also if the other form was fitted."""
    X, mask = table(like=estimator)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, sparse = clone(estimator).fit(X, mask), clone(estimator).fit(sp.csr_array(X), mask)
    for model, rows in ((sparse, sp.csr_array(X)), (sparse, X), (dense, sp.csr_array(X))):
        np.testing.assert_allclose(scores(model, rows), scores(dense, X), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(sparse.predict(sp.csr_matrix(X)), dense.predict(X))


@every
def test_single_and_double_precision_agree(estimator):
    """float32 rows give the float64 model to single precision."""
    X, mask = table(like=estimator)
    X = X.astype(np.float32)
    double = scores(clone(estimator).fit(X.astype(np.float64), mask), X.astype(np.float64))
    single = scores(clone(estimator).fit(X, mask), X)
    np.testing.assert_allclose(single, double, rtol=1e-3, atol=1e-3 * np.abs(double).max())


@pytest.mark.parametrize(
    "estimator",
    [*ALL, *(GaussianEM(0.0, covariance=kind, tol=1e-10) for kind in COVARIANCE_TYPES), MultinomialEM(0.0, tol=1e-10)],
    ids=name,
)
def test_supervised_methods_ignore_unlabeled_rows(estimator):
    """Removing the unlabeled rows does not change a supervised batch method."""
    X, mask = table(like=estimator)
    labeled = ~mask.all(axis=1)
    assert not labeled.all()
    if name(estimator) in ("AvgPegasos", "MaxPegasos"):
        pytest.skip("Pegasos counts every row seen in its step size, unlabeled ones included (METHODS, section 1)")
    if name(estimator) in TRANSDUCTIVE and getattr(estimator, "unlabeled_weight", 1) != 0:
        pytest.skip("transduction learns from the features of unlabeled rows")
    same_model(fit_table(estimator), clone(estimator).fit(X[labeled], mask[labeled]), X)


@every
def test_all_forms_of_a_set_give_one_model(estimator):
    """Text, integers, booleans, an indicator in any container and lists in any column type give one model.

    Estimators read the labels by one function of their base class, so that the slow ones are fitted to three forms.
    """
    X, mask = table(30, like=estimator)
    sets = [[k for k in range(3) if row[k]] for row in mask]
    named = [[str(NAMES[k]) for k in s] for s in sets]
    expected = clone(estimator).fit(X, mask)
    assert expected.classes_.tolist() == [0, 1, 2]
    forms = {
        "indicator": mask.astype(int),
        "float indicator": mask.astype(float),
        "CSR indicator": sp.csr_array(mask.astype(int)),
        "pandas indicator": pd.DataFrame(mask.astype(int), columns=NAMES),
        "polars indicator": pl.DataFrame(mask.astype(int), schema=NAMES.tolist()),
        "lists of integers": sets,
        "lists of text": named,
        "tuples": [tuple(s) for s in named],
        "frozen sets": [frozenset(s) for s in named],
        "an object array": np.array([*map(set, named), None], dtype=object)[:-1],
        "pandas lists": pd.Series(named),
        "polars lists": pl.Series(named),
        "Arrow lists": pl.Series(named).to_arrow(),
        "CandidateSets": CandidateSets(mask, NAMES),
    }
    reads_all = name(estimator) in ("PLKNN", *map(name, ONLINE))
    for form, y in forms.items():
        if not reads_all and form not in ("polars indicator", "lists of text", "CandidateSets"):
            continue
        model = clone(estimator).fit(X, y)
        np.testing.assert_array_equal(scores(model, X), scores(expected, X), err_msg=form)
        codes = [model.classes_.tolist().index(label) for label in model.predict(X).tolist()]
        np.testing.assert_array_equal(codes, expected.predict(X), err_msg=form)
        assert model.score(X, y) == expected.score(X, mask), form
        for decided, known in (
            (model.disambiguate(), expected.disambiguate()),
            (model.disambiguate(X, y), expected.disambiguate(X, mask)),
        ):
            np.testing.assert_array_equal(decided.confidence, known.confidence, form)
            codes = [model.classes_.tolist().index(label) for label in decided.labels.tolist()]
            np.testing.assert_array_equal(codes, known.labels, err_msg=form)


@every
def test_a_class_without_rows_keeps_its_column(estimator):
    """A class without rows keeps its column, and its scores are finite."""
    X, mask = table(like=estimator)
    wide = np.column_stack([mask, np.zeros(len(X), dtype=bool)])
    wide[mask.all(axis=1)] = True
    model = clone(estimator).fit(X, CandidateSets(wide, [*NAMES, "yak"]))
    assert model.classes_.tolist() == [*NAMES, "yak"]
    assert scores(model, X).shape == (len(X), 4)
    assert np.isfinite(scores(model, X)).all()


@every
def test_two_classes(estimator):
    """With two classes there is one decision value per row, positive if classes_[1] is predicted."""
    X, mask = table(K=2, like=estimator)
    model = clone(estimator).fit(X, CandidateSets(mask, ["no", "yes"]))
    if hasattr(model, "decision_function"):
        values = model.decision_function(X)
        assert values.shape == (len(X),)
        np.testing.assert_array_equal(model.predict(X) == "yes", values > 0)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    if hasattr(model, "coef_"):  # one of the two has weights of 0 in some published models
        assert model.coef_.shape == (1 if name(estimator) == "GraphLogisticRegression" else 2, X.shape[1])


@every
def test_one_row(estimator):
    """One row with one label of three is sufficient to predict that label for it."""
    X, _ = table(like=estimator)
    model = clone(estimator).fit(X[:1], CandidateSets.from_labels(["bee"], classes=NAMES))
    assert model.predict(X[:1]).tolist() == ["bee"]
    assert np.isfinite(scores(model, X)).all()


@every
@pytest.mark.filterwarnings("ignore:.*components of the graph without a label")  # rows of zeros have no cosine
def test_a_constant_feature(estimator):
    """With constant features all scores are finite; a feature of zeros has no effect."""
    X, mask = table(like=estimator)
    zero = np.column_stack([X, np.zeros(len(X))])
    reference, with_zero = fit_table(estimator), clone(estimator).fit(zero, mask)
    if name(estimator) == "MultinomialEM":  # smoothing gives an absent word a positive probability, as in MultinomialNB
        assert np.isfinite(scores(with_zero, zero)).all()
    else:
        np.testing.assert_allclose(scores(with_zero, zero), scores(reference, X), rtol=1e-6, atol=1e-9)
    ones = np.column_stack([X, np.ones(len(X))])
    assert np.isfinite(scores(clone(estimator).fit(ones, mask), ones)).all()
    nothing = np.zeros((len(X), 2))
    assert np.isfinite(scores(clone(estimator).fit(nothing, mask), nothing)).all()


@every
def test_disambiguation_is_within_the_sets(estimator):
    """The label is in its row's set, with a confidence of at least 1/|S|, and 1 for exact labels.

    `transduction_` has these labels, and `label_distributions_` are 0 outside partial sets.
    """
    X, mask, weights = weighted_table(120, like=estimator)
    y = CandidateSets.from_weights(weights)
    model = clone(estimator).fit(X, y)
    for labels, confidence in (model.disambiguate(), model.disambiguate(X, y)):
        assert (weights[np.arange(len(X)), labels] > 0).all()
        assert ((confidence > 0) & (confidence <= 1 + 1e-12)).all()
    model = clone(estimator).fit(X, CandidateSets(mask, NAMES))
    for labels, confidence in (model.disambiguate(), model.disambiguate(X, mask)):
        codes = np.searchsorted(NAMES, labels)
        assert mask[np.arange(len(X)), codes].all()
        size = mask.sum(axis=1)
        assert np.all(confidence >= 1 / size - 1e-12)
        assert np.all(confidence <= 1 + 1e-12)
        np.testing.assert_allclose(confidence[size == 1], 1)
    labels = model.disambiguate().labels[size > 1]  # soft graph methods may correct exact labels
    np.testing.assert_array_equal(getattr(model, "transduction_", model.disambiguate().labels)[size > 1], labels)
    distributions = getattr(model, "label_distributions_", mask / mask.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(distributions.sum(axis=1), 1)
    assert not distributions[(size > 1)[:, None] & ~mask].any()


@every
def test_score_is_the_covering_rate_of_labeled_rows(estimator):
    """The score is the mean weight of the predictions of informative rows; on exact labels it is the accuracy."""
    X, mask, weights = weighted_table(120, like=estimator)
    model = clone(estimator).fit(X, mask)
    for y, values in ((mask, mask), (CandidateSets.from_weights(weights), weights)):
        informative = (values < 1).any(axis=1)
        covered = values[np.arange(len(X)), model.predict(X)]
        assert model.score(X, y) == pytest.approx(covered[informative].mean())
    labels = np.arange(len(X)) % 3
    assert model.score(X, labels) == pytest.approx(np.mean(model.predict(X) == labels))
    assert model.score(X[:2], [5, 5]) == 0.0


@every
def test_invalid_input_is_rejected(estimator):
    """Invalid input raises an exception of oneof.errors, before the fit."""
    X, mask = table(like=estimator)
    model = clone(estimator)
    with pytest.raises(InputError, match="60 rows, but y has 59"):
        model.fit(X, mask[:-1])
    with pytest.raises(LabelError, match="only one class"):
        model.fit(X, ["a"] * 60)
    with pytest.raises(LabelError, match="unlabeled"):
        model.fit(X, np.ones((60, 3)))
    with pytest.raises(LabelError, match="unlabeled"):
        model.fit(X, [None] * 60)
    with pytest.raises(LabelError, match="row 7: the candidate set is empty"):
        model.fit(X, np.where(np.arange(60)[:, None] == 7, 0, mask))
    with pytest.raises(LabelError, match="continuous"):
        model.fit(X, X[:, 0])
    with pytest.raises(InputError, match="must both be given"):
        clone(estimator).fit(X, mask).disambiguate(X)
    assert not hasattr(model, "classes_")


@every
def test_duplicate_entries_are_summed(estimator):
    """CSR rows with duplicate or unsorted entries give the model of their dense form, and are not changed."""
    X, mask = table(like=estimator)
    parts = sp.csr_array(
        (np.repeat(X.ravel(), 2) / 2, np.tile([0, 0, 1, 1, 3, 3, 2, 2], len(X)), np.arange(len(X) + 1) * 8),
        shape=X.shape,
    )
    dense = parts.toarray()
    model, expected = clone(estimator).fit(parts, mask), clone(estimator).fit(dense, mask)
    np.testing.assert_allclose(scores(model, parts), scores(expected, dense), rtol=1e-6, atol=1e-6)
    assert parts.nnz == 2 * X.size


@every
def test_rows_of_any_memory_layout_agree(estimator):
    """Fortran-ordered, strided, integer and half-precision rows, and 64-bit indices, give the same model."""
    X, mask = table(like=estimator)
    X = np.round(X * 100)  # integers, with hardly any equal distances
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    layouts = (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.astype(int), X.astype(np.float16), wide)
    reference = scores(clone(estimator).fit(X, mask), X)
    for rows in (*layouts, sp.csc_array(X), X.astype(">f8")):
        dense_rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64, order="C")
        is_rounded = rows.dtype == np.float16
        expected = scores(clone(estimator).fit(dense_rows, mask), dense_rows) if is_rounded else reference
        values = scores(clone(estimator).fit(rows, mask), dense_rows)
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@every
def test_overflow_is_an_error_not_nan(estimator):
    """Features that overflow float64 raise an error that recommends scaling."""
    X, mask = table(like=estimator)
    if name(estimator) in OF_NEIGHBORS:
        huge, reference = clone(estimator).fit(X * 1e300, mask), clone(estimator).fit(X, mask)
        np.testing.assert_allclose(scores(huge, X * 1e300), scores(reference, X), rtol=1e-6, atol=1e-9)
        return  # nearest neighbors do not depend on the scale: distances are normalized
    with pytest.raises(InputError, match=r"[Ss]cale the features"):
        clone(estimator).fit(X * 1e300, mask).predict(X * 1e300)


@every
def test_a_failed_fit_does_not_mix_models(estimator):
    """After invalid rows the estimator is not fitted; after an invalid parameter it is unchanged."""
    X, mask = table(20, like=estimator)
    model = clone(estimator).fit(X, mask)
    expected = model.predict(X)
    parameter = next(p for p in (*OF_WORK, "shrinkage") if hasattr(model, p))
    stored = getattr(model, parameter)
    with pytest.raises(InputError, match=parameter):
        model.set_params(**{parameter: -1}).fit(np.hstack([X, X]), mask)
    model.set_params(**{parameter: stored})
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(InputError, match="Give one set for each row"):
        model.fit(np.hstack([X, X]), mask[:5])
    with pytest.raises(NotFittedError):
        model.predict(X)


@every
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_nonfinite_values_are_located(estimator, value):
    """NaN and infinity raise with row and column, for dense and sparse rows, in fit and in predict."""
    X, mask = table(20, like=estimator)
    model = clone(estimator).fit(X, mask)
    X[5, 1] = value
    message = (
        r"^row 5, column 1: X contains (NaN|infinity or a number that overflows its type)\. Impute the value or drop"
    )
    with pytest.raises(InputError, match=message):
        clone(estimator).fit(sp.csr_array(X), mask)
    with pytest.raises(InputError, match=message):
        model.predict(X)


@every
def test_values_with_which_a_prediction_overflows_are_located(estimator):
    """A finite value that is too large for a method is an error with its row; other rows do not hide it."""
    X, mask = table(20, like=estimator)
    model = clone(estimator).fit(X, mask)
    counts = type(model).__name__ == "MultinomialEM"  # the total of the row is too large
    methods = ("predict", "predict_proba", "decision_function")
    for method, form, value in product(methods, (np.asarray, sp.csr_array), (1e160, 1e300, 1.7e308)):
        X[5, 1] = value
        values = outcome(getattr(model, method, lambda rows: rows.shape), form(X))
        if isinstance(values, Exception):
            assert isinstance(values, InputError)
            assert str(values).startswith("row 5: the total of a row" if counts else "row 5, column 1: ")
            assert "cale the features" in str(values)
        else:
            assert method == "predict" or np.isfinite(values).all()


def test_a_column_of_lists_has_a_remedy():
    """Embeddings are often one column of lists."""
    with pytest.raises(InputError, match=r"stack a column of lists, such as embeddings, by numpy\.stack"):
        PLEM().fit(pl.DataFrame({"e": [[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]]}), ["a", "b", "a"])


def test_minus_one_and_plus_one_are_two_classes_with_a_warning():
    """A vector of only -1 and +1 is two classes, with a warning."""
    X, _ = table(K=2)
    y = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
    with pytest.warns(UserWarning, match="two classes"):
        model = PLEM().fit(X, y)
    same_model(model, PLEM().fit(X, CandidateSets.from_labels(y, classes=[-1, 1])), X)
