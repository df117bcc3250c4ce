"""Laplacians and graph kernels: definitions, positive semi-definiteness, and their use in PLSVM and PLGP."""

import os
import pickle
import re

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from oneof import PLGP, diffusion_kernel, regularized_laplacian_kernel
from oneof.errors import InputError
from oneof.graphs import NeighborGraph, PrecomputedKernel, check_affinity, laplacian
from oneof.persistence import load, save
from tests.graphs.test_graph import rows
from tests.oracles import graphs as oracle

KERNELS = [diffusion_kernel, regularized_laplacian_kernel]


def affinity(n=40):
    return NeighborGraph().graph(rows(n)).affinity


@pytest.mark.parametrize("kind", ["plain", "symmetric"])
@pytest.mark.parametrize("beta", [1e-6, 0.5, 20.0])
def test_kernels_are_their_functions_of_the_laplacian(kind, beta):
    """The kernels are exp(-beta L) and (I + beta L)^-1."""
    W = affinity()
    L = laplacian(W, kind).toarray()
    np.testing.assert_allclose(diffusion_kernel(W, beta, kind=kind), scipy.linalg.expm(-beta * L), atol=1e-12)
    np.testing.assert_allclose(
        regularized_laplacian_kernel(W, beta, kind=kind), np.linalg.inv(np.eye(40) + beta * L), atol=1e-12
    )


def rounding(kernel, beta):
    """Return the tolerance of an eigenvalue: for the inverse, beta amplifies the last digit of L."""
    return 1e-13 + (1e-15 * beta if kernel is regularized_laplacian_kernel else 0.0)


@pytest.mark.parametrize("kernel", KERNELS)
def test_invalid_arguments_are_named(kernel, monkeypatch):
    """Invalid arguments, and graphs that exceed the memory, are errors with the name of the argument."""
    for beta in (0.0, -1.0, np.nan, np.inf, "1", True, None, 1 + 1j, np.complex128(1), np.ones(2)):
        with pytest.raises(InputError, match="`beta`"):
            kernel(affinity(), beta)
    with pytest.raises(InputError, match=r"`kind` must be .*random_walk"):
        kernel(affinity(), kind="random_walk")
    for function in (kernel, laplacian):
        with pytest.raises(InputError, match="not symmetric"):
            function([[0, 1], [2, 0]])
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1}.get)
    with pytest.raises(InputError, match=r"a kernel of 40 rows would need .* GB"):
        kernel(affinity())


SIZES = [1e-300, 1e-150, 1.0, 1e150, 1e300]


@pytest.mark.parametrize("kind", ["plain", "symmetric"])
@pytest.mark.parametrize("scale", SIZES)
@pytest.mark.parametrize("beta", [*SIZES, 1e-3, 1e3, 1e12])
def test_weights_and_beta_of_any_size(kind, scale, beta):
    """Kernels are symmetric, with eigenvalues in [0, 1]; the inverse exists up to a size of beta L."""
    W = affinity() * scale
    is_large = beta * (scale if kind == "plain" else 1.0) > 1e13
    for kernel in (diffusion_kernel, regularized_laplacian_kernel):
        if kernel is regularized_laplacian_kernel and is_large:
            with pytest.raises(InputError, match=rf"`beta` must be at most .*; got {re.escape(str(beta))}"):
                kernel(W, beta, kind=kind)
            continue
        K = kernel(W, beta, kind=kind)
        assert (K == K.T).all()
        values = np.linalg.eigvalsh(K)
        assert values.min() > -1e-13
        assert values.max() == pytest.approx(1.0, abs=rounding(kernel, beta * max(scale, 1.0)))


@pytest.mark.parametrize(
    "graph", [sp.diags_array([1.0], offsets=[1], shape=(300, 300)), np.triu(np.ones((300, 300)), 1)]
)
def test_the_largest_beta_with_an_inverse(graph):
    """Up to a product of 1e13 with the largest degree the kernel is accurate to 0.2 %; beyond it raises."""
    W = sp.csr_array(graph + graph.T)
    beta = 1e13 / W.sum(axis=1).max()
    np.testing.assert_allclose(regularized_laplacian_kernel(W, 0.999 * beta), 1 / 300, rtol=2e-3)
    with pytest.raises(InputError, match="`beta`"):
        regularized_laplacian_kernel(W, 1.001 * beta)


def two_groups():
    """Return the graph of two groups of rows, the true labels, and 4 given labels."""
    X = np.concatenate([rows(30), rows(30, seed=1) + 3.0])
    truth = np.repeat([0, 1], 30)
    y = np.full(60, -1)
    labeled = [0, 1, 30, 31]
    y[labeled] = truth[labeled]
    return NeighborGraph().graph(X).affinity, truth, y


def test_a_precomputed_kernel_is_its_matrix():
    """A precomputed kernel returns entries of its matrix, also in sums, has no hyperparameters, and can be pickled."""
    gram = diffusion_kernel(affinity(6))
    kernel = PrecomputedKernel(gram)
    i, j = np.array([[3], [0], [3]]), np.array([[5], [1]])
    np.testing.assert_array_equal(kernel(i, j), gram[np.ix_([3, 0, 3], [5, 1])])
    np.testing.assert_array_equal(kernel(i), gram[np.ix_([3, 0, 3], [3, 0, 3])])
    np.testing.assert_array_equal(kernel.diag(i), gram[[3, 0, 3], [3, 0, 3]])
    assert kernel(i, eval_gradient=True)[1].shape == (3, 3, 0)
    assert kernel.n_dims == 0
    assert not kernel.is_stationary()
    assert kernel == PrecomputedKernel(gram.copy())
    assert kernel != PrecomputedKernel(2 * gram)
    assert "6 rows" in repr(kernel)
    scaled = ConstantKernel(2.0) * kernel + WhiteKernel(0.5)
    np.testing.assert_allclose(scaled(np.arange(6)[:, None]), 2 * gram + 0.5 * np.eye(6))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(i), kernel(i))
    for wrong in ([[6]], [[-1]], [[0.5]], [[0, 1]], [0]):
        with pytest.raises(InputError, match="0 to 5"):
            kernel(np.array(wrong))


def test_the_scale_of_a_precomputed_kernel_is_optimized_and_saved(tmp_path):
    """The factor of a precomputed kernel is optimized by the evidence, and is stored in a model file."""
    W, _, y = two_groups()
    vertices = np.arange(60)[:, None]
    kernel = ConstantKernel(1.0) * PrecomputedKernel(60.0 * diffusion_kernel(W, 5.0))
    model = PLGP(kernel, random_state=0).fit(vertices, y)
    assert model.kernel_.theta[0] != kernel.theta[0]
    pytest.importorskip("skops")
    save(tmp_path / "model.skops", model)
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict_proba(vertices), model.predict_proba(vertices))


@pytest.mark.parametrize(
    ("kernel", "beta", "atol"),
    [*((diffusion_kernel, beta, 1e-12) for beta in (1e8, 1e15, 1e300)), (regularized_laplacian_kernel, 1e9, 1e-6)],
)
def test_the_limit_is_the_mean_over_each_component(kernel, beta, atol):
    """For very large beta the kernel is constant on a component of the graph, and 0 between two components."""
    rng = np.random.default_rng(0)
    block = np.exp(-rng.random((20, 20)))
    W = sp.block_diag([block + block.T, block[:7, :7] + block[:7, :7].T])
    expected = sp.block_diag([np.full((20, 20), 1 / 20), np.full((7, 7), 1 / 7)]).toarray()
    np.testing.assert_allclose(kernel(W, beta), expected, atol=atol)


def test_kernels_of_no_rows():
    """The kernel of an empty graph is an empty matrix."""
    for kernel in (diffusion_kernel, regularized_laplacian_kernel):
        assert kernel(np.zeros((0, 0))).shape == (0, 0)


def test_a_precomputed_kernel_is_square():
    """A sparse matrix is read like a dense one; a matrix that is not square raises."""
    W = affinity()
    numbers = np.arange(5)[:, None]
    kernel = PrecomputedKernel(W)
    np.testing.assert_array_equal(kernel(numbers), W.toarray()[:5, :5])
    np.testing.assert_array_equal(kernel.diag(numbers), 0)
    with pytest.raises(InputError, match="square"):
        PrecomputedKernel(np.zeros((3, 2)))(numbers[:2])


KINDS = ["plain", "random_walk", "symmetric"]


@pytest.mark.parametrize("kind", KINDS)
def test_laplacians_are_those_of_the_definition(kind):
    """The Laplacians equal those of dense arrays."""
    W = NeighborGraph().graph(rows()).affinity
    L = laplacian(W, kind)
    assert isinstance(L, sp.csr_array)
    np.testing.assert_allclose(L.toarray(), oracle.laplacian(W.toarray(), kind), atol=1e-15)
    if kind != "random_walk":
        assert (L != L.T).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_without_edges_are_rows_of_zeros(kind):
    """Vertices without edges have rows of zeros."""
    W = np.zeros((5, 5))
    W[0, 3] = W[3, 0] = 2.0
    L = laplacian(check_affinity(W), kind)
    assert np.isfinite(L.data).all()
    assert not L.toarray()[[1, 2, 4]].any()
    assert L.nnz == 4
    assert laplacian(sp.csr_array((3, 3)), kind).nnz == 0


@pytest.mark.parametrize("scale", [1e-320, 1e-150, 1e150, 1e300])
def test_normalized_laplacians_have_no_scale(scale):
    """A factor of all weights does not change the normalized Laplacians."""
    W = (NeighborGraph("binary").graph(rows()).affinity).astype(float)
    for kind in ("random_walk", "symmetric"):
        np.testing.assert_allclose(laplacian(W * scale, kind).toarray(), laplacian(W, kind).toarray(), rtol=1e-3)
