"""Graphs of rows: their links, their weights, and the links of new rows."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs import NeighborGraph
from tests.oracles import graphs as oracle

RULES = [
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
    """Assert that an affinity is symmetric to the last bit, finite, sorted, and holds neither zeros nor a diagonal."""
    assert isinstance(W, sp.csr_array)
    assert W.dtype == np.float64
    assert W.indices.dtype == W.indptr.dtype == np.int32
    assert (W != W.T).nnz == 0
    assert np.isfinite(W.data).all()
    assert (W.data > 0).all()
    assert not W.diagonal().any()
    assert W.has_canonical_format


@pytest.mark.parametrize("symmetrize", ["union", "mutual"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_affinity_is_that_of_the_definition(rule, symmetrize):
    X = rows()
    W = NeighborGraph(**rule, symmetrize=symmetrize).graph(X).affinity
    assert_well_formed(W)
    np.testing.assert_allclose(W.toarray(), oracle.undirected(X, symmetrize, **rule), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_summed_links_count_twice_where_they_are_mutual(rule):
    """A + A^T is the graph of links that either row has, plus that of those both have."""
    X = rows()
    either, mutual, both = (NeighborGraph(**rule, symmetrize=s).graph(X).affinity for s in ("union", "mutual", "sum"))
    assert_well_formed(both)
    np.testing.assert_allclose(both.toarray(), either.toarray() + mutual.toarray(), rtol=1e-15)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_new_rows_are_linked_by_the_same_definition(rule):
    X, new = rows(), rows(9, seed=1)
    B = NeighborGraph(**rule).graph(X).to_new(new)
    assert B.shape == (9, 60)
    np.testing.assert_allclose(B.toarray(), oracle.directed(X, new, **rule), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_csr_and_single_precision_make_the_same_graph(rule):
    """Rows in CSR form, or of numbers that single precision holds exactly, have the graph of dense double ones."""
    X, new = rows().astype(np.float32), rows(9, seed=1).astype(np.float32)
    graph = NeighborGraph(**rule).graph(X.astype(np.float64))
    for form in (sp.csr_array, sp.csr_matrix, np.asarray, lambda R: sp.csr_array(R.astype(np.float64))):
        other = NeighborGraph(**rule).graph(form(X))
        np.testing.assert_allclose(other.affinity.toarray(), graph.affinity.toarray(), rtol=1e-9, atol=1e-14)
        for given in (new, sp.csr_array(new)):
            np.testing.assert_allclose(
                other.to_new(given).toarray(), graph.to_new(new.astype(np.float64)).toarray(), rtol=1e-9, atol=1e-14
            )


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_order_of_rows_does_not_matter(rule):
    X, order = rows(), np.random.default_rng(2).permutation(60)
    W, permuted = NeighborGraph(**rule).graph(X).affinity, NeighborGraph(**rule).graph(X[order]).affinity
    np.testing.assert_allclose(permuted.toarray(), W.toarray()[np.ix_(order, order)], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_graph_survives_pickling_without_its_index(rule):
    """A pickle holds arrays and parameters alone, and new rows are linked as before."""
    graph = NeighborGraph(**rule).graph(rows())
    file = pickle.dumps(graph)
    assert b"sklearn" not in file
    again = pickle.loads(file)
    assert (again.affinity != graph.affinity).nnz == 0
    assert (again.to_new(rows(5, seed=3)) != graph.to_new(rows(5, seed=3))).nnz == 0
    assert pickle.loads(pickle.dumps(NeighborGraph(**rule))).graph(rows()).affinity.nnz == graph.affinity.nnz


@pytest.mark.parametrize("rule", [r for r in RULES if r.get("bandwidth") is None and r.get("radius") is None], ids=str)
@pytest.mark.parametrize("scale", [1e-305, 1e-150, 1e-20, 1e20, 1e150, 1e300])
def test_extreme_features_have_the_same_graph(rule, scale):
    """Weights that have no scale of their own do not change where all features are multiplied, however much."""
    X, new = rows(), rows(9, seed=1)
    graph, other = NeighborGraph(**rule).graph(X), NeighborGraph(**rule).graph(X * scale)
    np.testing.assert_allclose(other.affinity.toarray(), graph.affinity.toarray(), rtol=1e-8)
    np.testing.assert_allclose(other.to_new(new * scale).toarray(), graph.to_new(new).toarray(), rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-305, 1e-150, 1e150, 1e300])
@pytest.mark.parametrize("rule", [{"bandwidth": 0.8}, {"radius": 1.2, "bandwidth": 2.0}, {"radius": 1.2}], ids=str)
def test_widths_and_radii_are_in_the_units_of_the_features(rule, scale):
    X, new = rows(), rows(9, seed=1)
    graph = NeighborGraph(**rule).graph(X)
    other = NeighborGraph(**{name: value * scale for name, value in rule.items()}).graph(X * scale)
    np.testing.assert_allclose(other.affinity.toarray(), graph.affinity.toarray(), rtol=1e-8)
    np.testing.assert_allclose(other.to_new(new * scale).toarray(), graph.to_new(new).toarray(), rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
@pytest.mark.parametrize("bandwidth", [1e-300, 1.0, 1e300])
def test_widths_far_from_the_features_give_no_nan(bandwidth, scale):
    graph = NeighborGraph(bandwidth=bandwidth).graph(rows() * scale)
    assert_well_formed(graph.affinity)
    B = graph.to_new(rows(9, seed=1) * scale)
    assert np.isfinite(B.data).all()
    assert (B.sum(axis=1) > 0).all()


@pytest.mark.parametrize("far", [1e8, 1e200, 1e308])
def test_new_rows_far_away_have_their_nearest_or_are_refused(far):
    """The weights of a row far from all others are scaled up; where distances overflow, a sentence says so."""
    for width in ("local", 1.0):
        graph = NeighborGraph(bandwidth=width).graph(rows())
        new = rows(3, seed=1) + far
        if far > 1e150:
            with pytest.raises(InputError, match="distances between rows overflow"):
                graph.to_new(new)
            continue
        B = graph.to_new(new)
        assert np.isfinite(B.data).all()
        assert (B.sum(axis=1) > 0).all()


def test_a_large_offset_loses_no_neighbors():
    """Rows far from the origin, beside their spread, have the neighbors that they have at the origin."""
    X = np.round(rows(200, 20) * 2**10) / 2**10
    for rule in ({}, {"radius": 5.0}):
        W, moved = NeighborGraph(**rule).graph(X).affinity, NeighborGraph(**rule).graph(X + 2.0**30).affinity
        np.testing.assert_allclose(moved.toarray(), W.toarray(), rtol=1e-12)


@pytest.mark.parametrize("rule", [*RULES, {"affinity": "gaussian", "n_neighbors": 100}], ids=str)
def test_duplicates_are_neighbors_and_never_of_themselves(rule):
    """Rows that are there many times link to each other with the largest weight; no width is 0, no weight NaN."""
    X = np.repeat(rows(6), 12, axis=0)
    graph = NeighborGraph(**rule).graph(X)
    W = graph.affinity
    assert_well_formed(W)
    same = np.repeat(np.arange(6), 12)
    i, j = W.coords if W.format == "coo" else W.tocoo().coords
    np.testing.assert_allclose(W.data[same[i] == same[j]], 1.0, rtol=1e-12)
    assert (np.diff(W.indptr) > 0).all()
    B = graph.to_new(X[:5])
    assert np.isfinite(B.data).all()
    np.testing.assert_allclose(B.max(axis=1).toarray(), 1.0, rtol=1e-12)


def test_all_rows_equal():
    """One point, many times: every link has weight 1."""
    for affinity in ("gaussian", "cosine", "binary"):
        W = NeighborGraph(affinity, n_neighbors=3).graph(np.ones((10, 2))).affinity
        assert_well_formed(W)
        np.testing.assert_allclose(W.data, 1.0)
        assert (np.diff(W.indptr) >= 3).all()


@pytest.mark.parametrize("affinity", ["gaussian", "cosine", "binary"])
def test_more_neighbors_than_rows_link_all(affinity):
    X = np.abs(rows(7))
    W = NeighborGraph(affinity, n_neighbors=50).graph(X).affinity
    assert W.nnz == 42
    assert NeighborGraph(affinity, n_neighbors=50).graph(X).to_new(X).nnz == 49


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_one_row_is_a_vertex_without_links(rule):
    graph = NeighborGraph(**rule).graph(np.array([[1.0, 2.0]]))
    assert graph.affinity.shape == (1, 1)
    assert graph.affinity.nnz == 0
    np.testing.assert_allclose(graph.to_new(np.array([[1.0, 2.0]])).toarray(), [[1.0]])
    assert graph.to_new(np.zeros((0, 2))).shape == (0, 1)


def test_rows_of_zeros_have_no_direction():
    """By cosine a row of zeros is linked to none, and takes no neighbor's place; neither are rows at right angles."""
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 2.0], [-1.0, 0.0]])
    for form in (np.asarray, sp.csr_array):
        graph = NeighborGraph("cosine", n_neighbors=5).graph(form(X))
        root = np.sqrt(0.5)
        wanted = np.zeros((6, 6))
        wanted[0, [3, 4]] = wanted[2, [3, 4]] = root
        wanted[3, 4] = 1.0
        np.testing.assert_allclose(graph.affinity.toarray(), wanted + wanted.T, atol=1e-15)
        assert graph.affinity.nnz == 10
        assert graph.to_new(form(np.zeros((2, 2)))).nnz == 0
        assert NeighborGraph("cosine").graph(form(np.zeros((4, 2)))).affinity.nnz == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"affinity": "rbf"},
        {"n_neighbors": 0},
        {"n_neighbors": 2.0},
        {"n_neighbors": True},
        {"radius": 0.0},
        {"radius": np.nan},
        {"radius": "1"},
        {"bandwidth": -1.0},
        {"bandwidth": np.inf},
        {"bandwidth": "global"},
        {"bandwidth": None},
        {"bandwidth": np.array([1.0, 2.0])},
        {"bandwidth": 1j},
        {"radius": np.array([1.0, 2.0])},
        {"symmetrize": "both"},
        {"symmetrize": None},
        {"algorithm": "some"},
        {"algorithm": "approximate", "radius": 1.0},
    ],
    ids=str,
)
def test_impossible_parameters_are_named(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        NeighborGraph(**wrong)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_refused(value):
    X = rows()
    X[3, 2] = value
    for affinity in ("gaussian", "cosine"):
        for given in (X, sp.csr_array(X)):
            with pytest.raises(InputError, match="NaN or infinity"):
                NeighborGraph(affinity).graph(given)
            with pytest.raises(InputError, match="NaN or infinity"):
                NeighborGraph(affinity).graph(rows()).to_new(given)


@pytest.mark.parametrize(
    "rule", [NeighborGraph(), NeighborGraph(radius=1.5), NeighborGraph(bandwidth=0.5), NeighborGraph("cosine")]
)
def test_new_rows_do_not_feel_one_another(rule):
    """Weights of a new row are the same alone and beside any others, also where it equals many rows of fit."""
    X = np.concatenate([np.ones((6, 2)), rows(20)[:, :2]])
    graph = rule.graph(X)
    here = np.array([[1.0, 1.0]])
    alone = graph.to_new(here).toarray()
    assert alone.any()
    for beside in (50.0, 0.05):
        np.testing.assert_array_equal(graph.to_new(np.vstack([here, [[beside, beside]]])).toarray()[:1], alone)


@pytest.mark.parametrize("far", [1e9, 1e11, 1e14])
def test_one_row_far_off_leaves_the_links_of_the_others(far):
    """A missing value that stands as a huge number is an outlier, and not the end of all other distances."""
    X = rows(200, 30)
    with_outlier = X.copy()
    with_outlier[70] = far
    others = np.delete(np.arange(200), 70)
    expected = NeighborGraph("binary").graph(X[others]).affinity.toarray()
    W = NeighborGraph("binary").graph(with_outlier).affinity.toarray()[np.ix_(others, others)]
    np.testing.assert_array_equal(W, expected)
