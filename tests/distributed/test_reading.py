"""Reading blocks: classes that all agree on, and sentences for what does not fit together."""

import subprocess
import sys

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from oneof import CLPL, PLEM, PLGP, PLSVM, AvgPerceptron, distributed
from oneof.errors import InputError, InputTypeError, LabelError
from tests.distributed.blocks import in_blocks, table


def vector(values, lengths):
    return da.from_array(np.asarray(values), chunks=(tuple(lengths),))


def objects(values, lengths):
    array = np.array([*values, None], dtype=object)[:-1]
    return da.from_array(array, chunks=(tuple(lengths),))


def fitted(y, n=6, lengths=(3, 3), **options):
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, distributed.fit(CLPL(), in_blocks(X, lengths), y, **options)


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
def test_classes_are_those_of_all_rows_at_once(values, form):
    """However the labels are cut, classes and weights are those that one machine reads from all of them."""
    y = in_blocks(values, (3, 3)) if form is None else form(values, (3, 3))
    X, model = fitted(y)
    whole = CLPL().fit(X, values if isinstance(values, np.ndarray) else np.array([*values, None], dtype=object)[:-1]
                       if form is objects else np.asarray(values))  # fmt: skip
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert model.classes_.dtype == whole.classes_.dtype
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-9)


def test_given_classes_spare_the_pass_and_may_be_more():
    _, model = fitted(vector([0, 1, 1, 0, 1, -1], (3, 3)), classes=[0, 1, 5])
    assert model.classes_.tolist() == [0, 1, 5]
    assert model.predict(np.zeros((1, 2)))[0] in (0, 1, 5)


def test_sparse_indicators_in_memory_and_column_chunks():
    """Labels in memory are cut like X, and X may be cut along its columns."""
    X, y, _ = table(60)
    rows = da.from_array(X, chunks=(20, 2))
    model = distributed.fit(CLPL(), rows, sp.csr_array(y.mask.astype(float)))
    np.testing.assert_allclose(model.coef_, CLPL().fit(X, y).coef_, rtol=1e-7, atol=1e-9)


def refused(match, X, y, estimator=None, kind=InputError, **options):
    with pytest.raises(kind, match=match):
        distributed.fit(estimator or AvgPerceptron(), X, y, **options)


def test_what_does_not_fit_together_is_told():
    """Each mistake has a sentence that says where it is, and what to do."""
    X, y, label = table(60)
    rows = in_blocks(X, [20, 40])
    refused("expected a dask array or DataFrame", X, y, kind=InputTypeError)
    refused("X has 60 rows, but y has 59 candidate sets", rows, y[:59])
    refused("X has 2 blocks and y has 3", rows, vector(label, [20, 20, 20]))
    refused("block 0: X has 20 rows and y has 30", rows, vector(label, [30, 30]))
    unknown = rows[rows[:, 0] > -np.inf]
    refused("compute_chunk_sizes", unknown, y)
    refused("block 0: X has 20 rows, but y has 30 candidate sets", unknown, vector(label, [30, 30]))
    refused("every row of every block of y is unlabeled", rows, vector(np.full(60, -1), [20, 40]), classes=[0, 1])
    refused("names only one class", rows, vector(np.ones(60, dtype=int), [20, 40]), kind=LabelError)
    letters = vector(["a"] * 23 + ["b"] * 37, [20, 40])
    refused("block 1: row 3: label 'b' is not one of", rows, letters, classes=["a", "c"])
    refused("X has no rows", in_blocks(X[:0], [0]), vector(label[:0], [0]), classes=[0, 1])
    refused("block 0: row 2", rows, in_blocks(np.arange(60)[:, None] < [2, 2, 2], [20, 40]))
    ones = in_blocks(np.ones((60, 3)), [20, 40])
    columns = ones.map_blocks(lambda part, block_id: part[:, : 3 - block_id[0]], dtype=float)
    refused("block 1 of y has the columns 0, 1, block 0 0, 1, 2", rows, columns)


def test_unknown_lengths_do_where_labels_are_cut_alike():
    """Blocks whose lengths dask does not know are read where they lie."""
    X, _, label = table(60)
    rows, labels = in_blocks(X, [20, 40]), vector(label, [20, 40])
    kept = rows[:, 0] > 0
    model = distributed.fit(CLPL(), rows[kept], labels[kept])
    whole = CLPL().fit(X[X[:, 0] > 0], label[X[:, 0] > 0])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    assert len(distributed.predict(model, rows[kept]).compute()) == (X[:, 0] > 0).sum()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_missing_value_is_named_by_block_and_row(value):
    X, y, _ = table(60)
    X[33, 2] = value
    rows = in_blocks(X, [20, 40])
    refused("block 1: row 13, column 2: X contains", rows, y)
    refused("block 1: row 13, column 2: X contains", rows.map_blocks(sp.csr_matrix), y)


def test_features_that_differ_between_blocks():
    X, _, label = table(60)
    rows = da.from_array(X, chunks=(30, 5)).map_blocks(lambda part, block_id: part[:, : 5 - block_id[0]], dtype=float)
    refused("block 1 of X has 4 features, block 0 has 5", rows, vector(label, [30, 30]))


def test_overflow_asks_for_scaling():
    X, y, _ = table(60)
    for model in (AvgPerceptron(), CLPL(), PLSVM()):
        refused("scale the features", in_blocks(X * 1e200, [30, 30]), y, model)


def test_estimators_that_need_all_rows_are_told_of():
    X, y, _ = table(60)
    rows = in_blocks(X, [30, 30])
    refused("PLEM cannot be fitted over blocks", rows, y, PLEM(), kind=InputTypeError)
    refused('choose "linear"', rows, y, PLSVM(kernel="rbf"))
    refused('choose "cccp"', rows, y, PLSVM(solver="pegasos"))
    refused('pass "nystroem"', rows, y, PLGP())
    refused("needs all rows at hand", rows, y, PLGP(approximation="nystroem", temperature="loo"))
    refused("n_epochs", rows, y, AvgPerceptron(n_epochs=0))


def test_without_dask_it_says_how_to_get_it():
    """The room can be imported without dask; asking for anything says what to install."""
    code = (
        "import sys; sys.modules['dask'] = None\n"
        "from oneof import CLPL, distributed\n"
        "try: distributed.fit(CLPL(), [[0.0]], ['a'])\n"
        "except ImportError as error: print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'oneof[dask]'" in found.stdout
