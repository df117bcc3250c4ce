"""Validation of precomputed affinities."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs import NeighborGraph, check_affinity
from tests.graphs.test_graph import assert_well_formed, rows


def weights(n=12, seed=0):
    W = np.random.default_rng(seed).random((n, n)) * (np.random.default_rng(seed + 1).random((n, n)) < 0.3)
    W = W + W.T
    np.fill_diagonal(W, 0.0)
    return W


FORMS = [
    np.asarray,
    np.ndarray.tolist,
    np.asfortranarray,
    sp.csr_array,
    sp.csr_matrix,
    sp.csc_array,
    sp.coo_array,
    sp.coo_matrix,
    sp.lil_array,
    sp.dok_array,
    sp.dia_array,
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_form_is_the_same_graph(form):
    """Dense and sparse matrices of any kind give the same result, with and without a diagonal, and are not modified."""
    W = weights()
    for diagonal in (0.0, 1.0):
        matrix = form(W + diagonal * np.eye(12))
        before = matrix.copy()
        solution = check_affinity(matrix, 12)
        assert_well_formed(solution)
        np.testing.assert_allclose(solution.toarray(), W, rtol=1e-15)
        np.testing.assert_array_equal(*[A.toarray() if sp.issparse(A) else A for A in (matrix, before)])


def test_types_zeros_and_duplicate_entries():
    """Integers and booleans are weights, a stored zero is not an edge, duplicate entries are summed."""
    W = (weights() > 0).astype(int)
    for kind in (np.int8, np.int64, np.uint8, bool, np.float32, object):
        np.testing.assert_array_equal(check_affinity(W.astype(kind), 12).toarray(), W)
        if kind is not object:
            np.testing.assert_array_equal(check_affinity(sp.csc_array(W.astype(kind)), 12).toarray(), W)
    stored = sp.csr_array(W.astype(float))
    stored.data[0] = 0.0
    i, j = 0, int(stored.indices[0])
    symmetric = stored.minimum(stored.T)
    explicit = sp.coo_array((np.r_[symmetric.tocoo().data, 0.0], np.c_[symmetric.tocoo().coords, [i, j]]))
    solution = check_affinity(sp.csr_array(explicit), 12)
    assert_well_formed(solution)
    duplicates = sp.coo_array(([1.0, 1.0, 2.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(check_affinity(duplicates, 2).toarray(), [[0.0, 2.0], [2.0, 0.0]])
    unsorted = sp.csr_array((np.array([2.0, 1.0, 1.0, 2.0]), np.array([2, 1, 0, 0]), np.array([0, 2, 3, 4])))
    assert_well_formed(check_affinity(unsorted, 3))


def test_rounding_errors_are_symmetrized():
    """Weights that differ by rounding between both directions become equal."""
    W = weights()
    solution = check_affinity(W * (1 + 1e-10 * np.random.default_rng(2).random((12, 12))), 12)
    assert_well_formed(solution)
    np.testing.assert_allclose(solution.toarray(), W, rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_matrix])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "nan in row 2, column 5. Edge weights must be finite"),
        (np.inf, "inf in row 2, column 5"),
        (-1.0, "-1 in row 2, column 5. Edge weights must be at least 0"),
        (7.0, "not symmetric: it is 7 in row 2, column 5, and 0 in row 5, column 2.*A.maximum"),
        (1e-300, "not symmetric"),
    ],
)
def test_invalid_weights_are_named_with_row_and_column(form, value, message):
    """The error has the value, its row and its column."""
    W = weights()
    W[2, 5], W[5, 2] = value, 0.0
    with pytest.raises(InputError, match=message):
        check_affinity(form(W), 12)


@pytest.mark.parametrize(
    ("affinity", "message"),
    [
        (np.ones((3, 4)), r"shape \(3, 4\)"),
        (np.ones((4, 4)), r"must be of shape \(3, 3\)"),
        (np.ones(9), "cannot be read"),
        (np.ones((3, 3)) * 1j, "cannot be read"),
        (np.full((3, 3), "a"), "cannot be read"),
        (np.full((3, 3), None), "finite|cannot be read"),
        ([[1.0], [1.0, 2.0]], "cannot be read"),
        (None, "cannot be read"),
        (sp.csr_array((3, 2)), r"shape \(3, 2\)"),
        (np.full((3, 3), 1e308), "overflow float64"),
    ],
)
def test_invalid_affinities_raise(affinity, message):
    """Other shapes, types and sums that overflow are errors."""
    with pytest.raises(InputError, match=message):
        check_affinity(affinity, 3)


def test_precomputed_affinities_and_functions_define_the_graph():
    """A matrix or the result of a function is the affinity; new rows have self-tuning Gaussian weights."""
    X, W = rows(12), weights()
    expected = NeighborGraph(n_neighbors=4).graph(X).transform(rows(3, seed=1)).toarray()
    for affinity in (W, sp.csc_matrix(W), lambda X_fit: check_affinity(W) if X_fit is X else None):
        builder = NeighborGraph(affinity, n_neighbors=4, radius=0.1, bandwidth=3.0, symmetrize="mutual")
        graph = builder.graph(X)
        np.testing.assert_array_equal(graph.affinity.toarray(), W)
        np.testing.assert_array_equal(graph.transform(rows(3, seed=1)).toarray(), expected)
    with pytest.raises(InputError, match=r"shape \(13, 13\)"):
        NeighborGraph(weights(13)).graph(X)
    with pytest.raises(InputError, match="cannot be read"):
        NeighborGraph(lambda _: "no").graph(X)
