"""Neighbor graphs: edges, weights, the edges of new rows, and precomputed affinities."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs import NeighborGraph, check_affinity
from tests.oracles import graphs as oracle

OPTIONS = [
    {"affinity": "gaussian"},
    {"affinity": "gaussian", "n_neighbors": 3, "bandwidth": 0.8},
    {"affinity": "gaussian", "radius": 1.5},
    {"affinity": "gaussian", "radius": 1.5, "bandwidth": 2.0},
    {"affinity": "cosine", "n_neighbors": 7},
    {"affinity": "cosine", "radius": 0.4},
    {"affinity": "cosine", "radius": 1.5},
    {"affinity": "binary", "n_neighbors": 1},
    {"affinity": "binary", "radius": 1.2},
]


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def assert_well_formed(W):
    """Assert that an affinity is symmetric to the last bit, finite, sorted, without zeros or diagonal."""
    assert isinstance(W, sp.csr_array)
    assert W.dtype == np.float64
    assert W.indices.dtype == W.indptr.dtype == np.int32
    assert (W != W.T).nnz == 0
    assert np.isfinite(W.data).all()
    assert (W.data > 0).all()
    assert not W.diagonal().any()
    assert W.has_canonical_format


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_weights_are_those_of_the_definition(options):
    """The weights, also of new rows, equal those of loops over pairs; "sum" is the sum of "union" and "mutual"."""
    X, new, expected = rows(), rows(9, seed=1), {}
    for symmetrize in ("union", "mutual", "sum"):
        graph = NeighborGraph(**options, symmetrize=symmetrize).graph(X)
        assert_well_formed(graph.affinity)
        is_sum = symmetrize == "sum"
        expected[symmetrize] = sum(expected.values()) if is_sum else oracle.undirected(X, symmetrize, **options)
        np.testing.assert_allclose(graph.affinity.toarray(), expected[symmetrize], rtol=1e-10, atol=1e-14)
        B = graph.transform(new)
        assert B.shape == (9, 60)
        np.testing.assert_allclose(B.toarray(), oracle.directed(X, new, **options), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("options", [o for o in OPTIONS if o["affinity"] != "cosine" or "radius" not in o], ids=str)
@pytest.mark.parametrize("scale", [1e-305, 1e-150, 1e-20, 1e20, 1e150, 1e300])
def test_bandwidths_and_radii_are_in_the_unit_of_the_features(options, scale):
    """Features, bandwidth and radius multiplied by one factor, however large, give the same weights."""
    X, new = rows(), rows(9, seed=1)
    graph = NeighborGraph(**options).graph(X)
    lengths = {name: scale * options[name] for name in ("bandwidth", "radius") if name in options}
    scaled = NeighborGraph(**{**options, **lengths}).graph(X * scale)
    np.testing.assert_allclose(scaled.affinity.toarray(), graph.affinity.toarray(), rtol=1e-8)
    np.testing.assert_allclose(scaled.transform(new * scale).toarray(), graph.transform(new).toarray(), rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("bandwidth", [1e-300, 1.0, 1e300])
def test_extreme_bandwidths_give_no_nan(bandwidth, scale):
    """Tiny and huge bandwidths give finite weights, and every new row has one."""
    graph = NeighborGraph(bandwidth=bandwidth).graph(rows() * scale)
    assert_well_formed(graph.affinity)
    B = graph.transform(rows(9, seed=1) * scale)
    assert np.isfinite(B.data).all()
    assert (B.sum(axis=1) > 0).all()


@pytest.mark.parametrize("far", [1e8, 1e200, 1e308])
def test_new_rows_far_away_have_neighbors_or_raise(far):
    """The weights of a row far from all others are scaled up; distances that overflow raise an error."""
    for bandwidth in ("local", 1.0):
        graph = NeighborGraph(bandwidth=bandwidth).graph(rows())
        new = rows(3, seed=1) + far
        if far > 1e150:
            with pytest.raises(InputError, match="distances between rows overflow"):
                graph.transform(new)
            continue
        B = graph.transform(new)
        assert np.isfinite(B.data).all()
        assert (B.sum(axis=1) > 0).all()


@pytest.mark.parametrize("options", [*OPTIONS, {"affinity": "gaussian", "n_neighbors": 100}], ids=str)
def test_duplicates_are_neighbors_but_not_of_themselves(options):
    """Duplicate rows are connected with the largest weight; no bandwidth is 0, no weight NaN."""
    X = np.repeat(rows(6), 12, axis=0)
    graph = NeighborGraph(**options).graph(X)
    W = graph.affinity
    assert_well_formed(W)
    same = np.repeat(np.arange(6), 12)
    i, j = W.coords if W.format == "coo" else W.tocoo().coords
    np.testing.assert_allclose(W.data[same[i] == same[j]], 1.0, rtol=1e-12)
    assert (np.diff(W.indptr) > 0).all()
    B = graph.transform(X[:5])
    assert np.isfinite(B.data).all()
    np.testing.assert_allclose(B.max(axis=1).toarray(), 1.0, rtol=1e-12)


def test_all_rows_equal():
    """If all rows are equal, every edge has weight 1."""
    for affinity in ("gaussian", "cosine", "binary"):
        W = NeighborGraph(affinity, n_neighbors=3).graph(np.ones((10, 2))).affinity
        assert_well_formed(W)
        np.testing.assert_allclose(W.data, 1.0)
        assert (np.diff(W.indptr) >= 3).all()


@pytest.mark.parametrize("affinity", ["gaussian", "cosine", "binary"])
def test_more_neighbors_than_rows_connect_all(affinity):
    """With more neighbors than rows the graph is complete."""
    X = np.abs(rows(7))
    W = NeighborGraph(affinity, n_neighbors=50).graph(X).affinity
    assert W.nnz == 42
    assert NeighborGraph(affinity, n_neighbors=50).graph(X).transform(X).nnz == 49


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_row_is_a_vertex_without_edges(options):
    """A single row has no edge, and new rows are connected to it."""
    graph = NeighborGraph(**options).graph(np.array([[1.0, 2.0]]))
    assert graph.affinity.shape == (1, 1)
    assert graph.affinity.nnz == 0
    np.testing.assert_allclose(graph.transform(np.array([[1.0, 2.0]])).toarray(), [[1.0]])
    assert graph.transform(np.zeros((0, 2))).shape == (0, 1)


def test_rows_of_zeros_have_no_direction():
    """By cosine, rows of zeros and orthogonal rows have no edge, and rows of zeros displace no neighbor."""
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0], [-1.0, 0.0]])
    for form in (np.asarray, sp.csr_array):
        graph = NeighborGraph("cosine", n_neighbors=5).graph(form(X))
        root = np.sqrt(0.5)
        expected = np.zeros((6, 6))
        expected[0, [3, 4]] = expected[2, [3, 4]] = root
        expected[3, 4] = 1.0
        np.testing.assert_allclose(graph.affinity.toarray(), expected + expected.T, atol=1e-15)
        assert graph.affinity.nnz == 10
        assert graph.transform(form(np.zeros((2, 2)))).nnz == 0
        assert NeighborGraph("cosine").graph(form(np.zeros((4, 2)))).affinity.nnz == 0


@pytest.mark.parametrize(
    "wrong", [{"n_neighbors": 0}, {"radius": 0.0}, {"bandwidth": np.inf}, {"algorithm": "approximate", "radius": 1.0}]
)
def test_invalid_parameters_are_named(wrong):
    """The error begins with the name of the parameter."""
    with pytest.raises(InputError, match=next(iter(wrong))):
        NeighborGraph(**wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_raise(value):
    """NaN and infinity are errors for dense and sparse rows, in the graph and for new rows."""
    X = rows()
    X[3, 2] = value
    for affinity in ("gaussian", "cosine"):
        for form in (X, sp.csr_array(X)):
            with pytest.raises(InputError, match="NaN or infinity"):
                NeighborGraph(affinity).graph(form)
            with pytest.raises(InputError, match="NaN or infinity"):
                NeighborGraph(affinity).graph(rows()).transform(form)


@pytest.mark.parametrize(
    "builder", [NeighborGraph(), NeighborGraph(radius=1.5), NeighborGraph(bandwidth=0.5), NeighborGraph("cosine")]
)
def test_new_rows_do_not_influence_each_other(builder):
    """The weights of a new row do not depend on other new rows, even if it equals many rows of fit."""
    X = np.concatenate([np.ones((6, 2)), rows(20)[:, :2]])
    graph = builder.graph(X)
    query = np.array([[1.0, 1.0]])
    alone = graph.transform(query).toarray()
    assert alone.any()
    for value in (50.0, 0.05):
        np.testing.assert_array_equal(graph.transform(np.vstack([query, [[value, value]]])).toarray()[:1], alone)


@pytest.mark.parametrize("far", [1e9, 1e11, 1e14])
def test_an_outlier_does_not_change_the_edges_of_other_rows(far):
    """A missing value coded as a huge number does not affect the other distances."""
    X = rows(200, 30)
    with_outlier = X.copy()
    with_outlier[70] = far
    kept_rows = np.delete(np.arange(200), 70)
    expected = NeighborGraph("binary").graph(X[kept_rows]).affinity.toarray()
    W = NeighborGraph("binary").graph(with_outlier).affinity.toarray()[np.ix_(kept_rows, kept_rows)]
    np.testing.assert_array_equal(W, expected)


# -- Validation of precomputed affinities -----------------------------------------------------------------------------


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
