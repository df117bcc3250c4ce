"""Reading of blocks: common classes, and errors for blocks that do not match."""

import sys
from dataclasses import dataclass

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from oneof import CLPL, PLEM, PLGP, AvgPegasos, AvgPerceptron, LOORidge, distributed
from oneof.distributed.reduction import AlignedCall, aligned
from oneof.errors import InputError, InputTypeError, LabelError, MissingExtraError
from tests.distributed.blocks import in_blocks, table


def vector(values, lengths):
    return da.from_array(np.asarray(values), chunks=(tuple(lengths),))


def objects(values, lengths):
    array = np.array([*values, None], dtype=object)[:-1]
    return da.from_array(array, chunks=(tuple(lengths),))


def fitted(y, n=6, lengths=(3, 3), **options):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, distributed.fit(LOORidge(), in_blocks(X, lengths), y, **options)


FORMS = [
    ([0, 0, -1, 2, 1, -1], vector),
    ([-1, 1, -1, 2, 2, 1], vector),  # the first block alone would be the two classes -1 and +1
    ([0.0, np.nan, 1.0, 2.0, 2.0, 1.0], vector),
    (["a", "a", None, "c", "b", "c"], objects),
    ([["a"], ["a", "b"], None, ["c"], ["b"], ["c", "d"]], objects),
    (["a", "b", None, ["c"], ["b"], ["c", "d"]], objects),
    (np.array([[1, 1, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1], [1, 0, 0], [0, 1, 1]]), None),
]


@pytest.mark.parametrize(("values", "form"), FORMS, ids=range(len(FORMS)))
def test_classes_equal_those_of_the_ordinary_fit(values, form):
    """Classes and weights equal those of the ordinary fit, for any split of the labels."""
    y = in_blocks(values, (3, 3)) if form is None else form(values, (3, 3))
    X, model = fitted(y)
    full = LOORidge().fit(X, values if isinstance(values, np.ndarray) else np.array([*values, None], dtype=object)[:-1]
                       if form is objects else np.asarray(values))  # fmt: skip
    assert model.classes_.tolist() == full.classes_.tolist()
    assert model.classes_.dtype == full.classes_.dtype
    np.testing.assert_allclose(model.decision_function(X), full.decision_function(X), atol=1e-8)


def test_given_classes_may_exceed_those_of_the_labels():
    """Classes that no label has may be given."""
    _, model = fitted(vector([0, 1, 1, 0, 1, -1], (3, 3)), classes=[0, 1, 5])
    assert model.classes_.tolist() == [0, 1, 5]
    assert model.predict(np.zeros((1, 2)))[0] in (0, 1, 5)


def test_sparse_indicators_in_memory_and_column_chunks():
    """Labels in memory are split in the same way as X, and X may be split along its columns."""
    X, y, _ = table(60)
    rows = da.from_array(X, chunks=(20, 2))
    model = distributed.fit(LOORidge(), rows, sp.csr_array(y.mask.astype(float)))
    np.testing.assert_allclose(model.decision_function(X), LOORidge().fit(X, y).decision_function(X), atol=1e-8)


def check_error(match, X, y, estimator=None, kind=InputError, **options):
    with pytest.raises(kind, match=match):
        distributed.fit(estimator or AvgPerceptron(), X, y, **options)


def test_mismatched_blocks_raise():
    """Each error names the block and the mismatch."""
    X, y, label = table(60)
    rows = in_blocks(X, [20, 40])
    check_error("`X` must be a dask array or DataFrame", X, y, kind=InputTypeError)
    check_error("got 59 candidate sets for 60 rows", rows, y[:59])
    check_error("got 3 blocks for 2 of X", rows, vector(label, [20, 20, 20]))
    check_error(r"block \d: `y` must have the same number of rows as X; got 30 for", rows, vector(label, [30, 30]))
    check_error("compute_chunk_sizes", rows[rows[:, 0] > -np.inf], y)
    check_error("every row of every block of y is unlabeled", rows, vector(np.full(60, -1), [20, 40]), classes=[0, 1])
    check_error("got only one class", rows, vector(np.ones(60, dtype=int), [20, 40]), kind=LabelError)
    letters = vector(["a"] * 23 + ["b"] * 37, [20, 40])
    check_error("block 1: row 3: label 'b' is not one of", rows, letters, classes=["a", "c"])
    check_error("`X` must have at least one row", in_blocks(X[:0], [0]), vector(label[:0], [0]), classes=[0, 1])
    check_error(r"block \d: row [02]", rows, in_blocks(np.arange(60)[:, None] < [2, 2, 2], [20, 40]))
    ones = in_blocks(np.ones((60, 3)), [20, 40])
    columns = ones.map_blocks(lambda block, block_id: block[:, : 3 - block_id[0]], dtype=float)
    check_error("block 1 of y has the columns 0, 1, block 0 0, 1, 2", rows, columns)
    narrow = rows.map_blocks(lambda block, block_id: block[:, : 5 - block_id[0]], dtype=float)
    check_error("block 1 of X has 4 features, block 0 has 5", narrow, vector(label, [20, 40]))


def test_unknown_lengths_with_labels_in_the_same_blocks():
    """Blocks of unknown lengths are read if the labels have the same blocks."""
    X, _, label = table(60)
    rows, labels = in_blocks(X, [20, 40]), vector(label, [20, 40])
    selected = rows[:, 0] > 0
    model = distributed.fit(LOORidge(), rows[selected], labels[selected])
    full = LOORidge().fit(X[X[:, 0] > 0], label[X[:, 0] > 0])
    np.testing.assert_allclose(model.decision_function(X), full.decision_function(X), atol=1e-8)
    assert len(distributed.predict(model, rows[selected]).compute()) == (X[:, 0] > 0).sum()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_invalid_values_are_named_by_block_and_row(value):
    """NaN and infinity are errors with block, row and column."""
    X, y, _ = table(60)
    X[33, 2] = value
    rows = in_blocks(X, [20, 40])
    check_error("block 1: row 13, column 2: X contains", rows, y)
    check_error("block 1: row 13, column 2: X contains", rows.map_blocks(sp.csr_matrix), y)


def test_overflow_suggests_scaling():
    """Features that overflow are an error that recommends scaling."""
    X, y, _ = table(60)
    for model in (AvgPerceptron(), AvgPegasos(), LOORidge()):
        check_error("(?i)scale the features", in_blocks(X * 1e200, [30, 30]), y, model)


def test_unsupported_estimators_raise():
    """Estimators and parameters without a form over blocks are errors."""
    X, y, _ = table(60)
    rows = in_blocks(X, [30, 30])
    check_error("over blocks of rows; got PLEM", rows, y, PLEM(), kind=InputTypeError)
    check_error('must be "nystroem" over blocks', rows, y, PLGP())
    check_error("needs all rows in memory", rows, y, PLGP(approximation="nystroem", temperature="loo"))
    check_error("n_epochs", rows, y, AvgPerceptron(n_epochs=0))


def test_without_dask_the_error_names_the_extra(monkeypatch):
    """A call names the extra to install."""
    for module in ("dask", "dask.array"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'oneof\[dask\]'"):
        distributed.fit(AvgPerceptron(), [[0.0]], ["a"])


# -- Predictions over blocks -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return table()


def test_predictions_equal_those_of_the_estimator(rows):
    """Classes, probabilities, scores and disambiguation over blocks equal those of all rows at once."""
    X, y, _ = rows
    blocks = in_blocks(X, [100, 0, 140])
    model = PLEM(lam=0.1).fit(X, y)
    for method in ("predict", "predict_proba"):
        result = getattr(distributed, method)(model, blocks)
        assert isinstance(result, da.Array)
        assert result.numblocks[0] >= 2
        expected = getattr(model, method)(X)
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.compute(), expected)
    scores = distributed.decision_function(CLPL().fit(X, y), blocks).compute()
    np.testing.assert_allclose(scores, CLPL().fit(X, y).decision_function(X), rtol=1e-12)
    labels, confidence = distributed.disambiguate(model, blocks, y)
    np.testing.assert_array_equal(labels.compute(), model.disambiguate(X, y).labels)
    np.testing.assert_allclose(confidence.compute(), model.disambiguate(X, y).confidence, rtol=1e-12)


def test_predictions_are_lazy(rows):
    """Predictions do not access the rows before `compute`."""
    X, y, _ = rows
    model = AvgPerceptron().fit(X, y)

    def fail(block):
        raise AssertionError("accessed")

    lazy = distributed.predict(model, in_blocks(X, [240]).map_blocks(fail, dtype=float, meta=np.empty((0, 0))))
    with pytest.raises(AssertionError, match="accessed"):
        lazy.compute()


def test_data_frames(rows):
    """A dask DataFrame with unknown block lengths is fitted and predicted, with the names of its columns."""
    X, y, _ = rows
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    labels = pd.Series([None if len(s) == 3 else sorted(s)[0] for s in y.to_sets()], dtype=object)
    table = dd.from_pandas(frame.assign(label=labels), npartitions=3)
    columns = table[list(frame.columns)]
    remote = distributed.fit(AvgPerceptron(), columns, table["label"])
    assert remote.feature_names_in_.tolist() == list(frame.columns)
    one = dd.from_pandas(frame.assign(label=labels), npartitions=1)
    local = AvgPerceptron().fit(frame, labels)
    np.testing.assert_array_equal(
        distributed.fit(AvgPerceptron(), one[list(frame.columns)], one["label"]).coef_, local.coef_
    )
    np.testing.assert_array_equal(distributed.predict(remote, columns).compute(), remote.predict(frame))


def test_two_classes_have_one_score(rows):
    """With two classes there is one decision value per row."""
    X, _, label = rows
    model = CLPL().fit(X, label > 0)
    result = distributed.decision_function(model, in_blocks(X, [120, 120]))
    assert result.shape == (240,)
    np.testing.assert_allclose(result.compute(), model.decision_function(X), rtol=1e-12)


def test_invalid_predictions_raise(rows):
    """Missing methods, other rows, unfitted models and NaN are errors."""
    X, y, _ = rows
    model, blocks = CLPL().fit(X, y), in_blocks(X, [120, 120])
    with pytest.raises(InputTypeError, match="must have the method predict_proba; CLPL"):
        distributed.predict_proba(model, blocks)
    with pytest.raises(InputTypeError, match="must be a dask array"):
        distributed.predict(model, X)
    for method in (distributed.predict, distributed.predict_proba, distributed.decision_function):
        with pytest.raises(NotFittedError):
            method(PLEM(), blocks)
    with pytest.raises(NotFittedError):
        distributed.disambiguate(PLEM(), blocks, y)
    broken = X.copy()
    broken[130, 2] = np.nan
    with pytest.raises(InputError, match="block 1: "):
        distributed.predict(model, in_blocks(broken, [120, 120])).compute()


# -- Unaligned arrays from other processes -----------------------------------------------------------------------------


def unaligned(a):
    """Return a copy that starts at an odd byte."""
    buffer = np.empty(a.nbytes + 1, dtype=np.uint8)
    out = buffer[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    assert not out.flags.aligned
    return out


@dataclass(frozen=True)
class Record:
    X: object
    name: str


def test_products_equal_those_of_aligned_arrays():
    """Arrays in dataclasses and tuples are aligned; aligned arrays are not copied."""
    X, W = np.random.default_rng(0).normal(size=(50, 5)), np.random.default_rng(1).normal(size=(50, 3))

    def product(record, arrays):
        return arrays[0].T @ record.X

    result = AlignedCall(product)(Record(unaligned(X), "x"), (unaligned(W), 1))
    np.testing.assert_array_equal(result, product(Record(X, "x"), (W, 1)))
    record = Record(X, "x")
    assert aligned(record) is record
    assert aligned(X) is X


def test_sparse_rows():
    """The three arrays of a CSR matrix are aligned, and the matrix is equal."""
    X = sp.random_array((20, 7), density=0.3, format="csr", random_state=0)
    arrays = [unaligned(array) for array in (X.data, X.indices, X.indptr)]
    moved = X.copy()
    moved.data, moved.indices, moved.indptr = arrays
    result = aligned(moved)
    assert all(array.flags.aligned for array in (result.data, result.indices, result.indptr))
    np.testing.assert_array_equal(result.toarray(), X.toarray())
    assert aligned(X) is X
