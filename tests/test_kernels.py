"""Kernels of Gaussian processes: scikit-learn's own values, whatever holds the rows, and no digits lost."""

import tracemalloc

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    ExpSineSquared,
    Kernel,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

import oneof.kernels.gaussian_process
import oneof.kernels.rows
from oneof.errors import InputError
from oneof.kernels import covariance, is_psd_by_construction, variances

SCALES = (0.5, 2.0, 1.0, 3.0)
KERNELS = [
    ConstantKernel(2.5),
    WhiteKernel(0.3),
    RBF(1.5),
    RBF(SCALES),
    RBF([2.0]),
    *[Matern(1.5, nu=nu) for nu in (0.5, 1.5, 2.5, np.inf)],
    Matern(SCALES, nu=1.5),
    RationalQuadratic(1.5, alpha=0.7),
    ExpSineSquared(1.2, periodicity=3.0),
    DotProduct(0.8),
    2.0 * RBF(1.5) + WhiteKernel(0.1),
    ConstantKernel(2.0) * ConstantKernel(3.0) + ConstantKernel(0.5),
    WhiteKernel(0.5) * RBF(SCALES) * 3.0 + Matern(2.0) * DotProduct(),
    (DotProduct(1.0) + WhiteKernel(0.5)) ** 3,
    Exponentiation(RationalQuadratic() + 0.5, 1.5),
    Exponentiation(ConstantKernel(2.0), 2) * RBF(),
]


class Own(Kernel):
    """A kernel of a user's own: x.y + 1, and 0.5 more at equal rows when Y is None."""

    def __call__(self, X, Y=None):
        return X @ X.T + 1 + 0.5 * np.eye(len(X)) if Y is None else X @ Y.T + 1

    def diag(self, X):
        return (X**2).sum(axis=1) + 1.5

    def is_stationary(self):
        return False


class Broken(Own):
    """Whatever it is told to return."""

    def __init__(self, values=None):
        self.values = values

    def __call__(self, X, Y=None):
        del X, Y
        return self.values

    diag = __call__


class Mine(RBF):
    """A subclass that says something else than its base."""

    def __call__(self, X, Y=None):
        return 2.0 * super().__call__(X, Y)


@pytest.fixture
def rows():
    """Return 30 rows, one of them twice, and 20 others, of 4 features."""
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(30, 4)), random.normal(size=(20, 4))
    X[7] = Y[3] = X[2]
    return X, Y


@pytest.fixture(params=[1024, 8], ids=["one tile", "many tiles"])
def tiles(request, monkeypatch):
    """Run with the rows in one tile, and in several."""
    monkeypatch.setattr(oneof.kernels.gaussian_process, "_TILE", request.param)


FORMS = {
    "NumPy": np.asarray,
    "CSR array": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "torch": torch.asarray,
    "array_api_strict": array_api_strict.asarray,
}


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_are_those_of_scikit_learn(kernel, form, rows):
    """With Y and without, in every form of rows, values are scikit-learn's; without Y they are exactly symmetric."""
    X, Y = rows
    gram = covariance(kernel, form(X))
    cross = covariance(kernel, form(X), form(Y))
    diagonal = variances(kernel, form(X))
    for values in (gram, cross, diagonal):
        assert type(values) is (np.ndarray if sp.issparse(form(X)) else type(form(X)))
    gram, cross, diagonal = (np.from_dlpack(values) for values in (gram, cross, diagonal))
    assert gram.dtype == cross.dtype == diagonal.dtype == np.float64
    np.testing.assert_allclose(gram, kernel(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(cross, kernel(X, Y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(diagonal, kernel.diag(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("kernel", [RBF(0.1), Matern(0.1, nu=0.5), RationalQuadratic(0.1)], ids=str)
def test_equal_rows_have_covariance_one(kernel, form, rows):
    """A row has distance exactly 0 to itself and to its copy, within X and between X and Y."""
    X, Y = (form(100 * part) for part in rows)
    assert (covariance(kernel, X).diagonal() == 1).all()
    assert (covariance(kernel, X, X).diagonal() == 1).all()
    assert covariance(kernel, X)[2, 7] == covariance(kernel, X, Y)[2, 3] == 1


@pytest.mark.parametrize(
    "kernel", [RBF(2.0), Matern(2.0, nu=0.5), Matern(2.0, nu=2.5), RationalQuadratic(2.0)], ids=str
)
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("moved", [1e-3, 1e-7])
def test_near_copies_far_from_the_origin(kernel, offset, moved, rows):
    """Wherever rows lie, and however close together, k is that of their differences to 1e-11, and 1 - k to 1e-6."""
    X, _ = rows
    X = np.vstack([X, X + moved]) + offset
    X[-1] = offset + 1e4  # a row far off draws the mean away from all the others
    for Y in (None, X[5:]):
        values, peers = covariance(kernel, X, Y), kernel(X, Y)
        np.testing.assert_allclose(values, peers, rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(1 - values, 1 - peers, rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_pairs_are_subtracted_wherever_the_rows_lie(dtype, monkeypatch):
    """Neither an offset of all rows nor one row far off makes more pairs lose digits than each row's with itself."""
    subtracted, taken = [], oneof.kernels.rows._taken
    monkeypatch.setattr(oneof.kernels.rows, "_taken", lambda X, i: subtracted.append(len(i)) or taken(X, i))
    X = np.random.default_rng(0).normal(size=(200, 20)) + 1e4
    X[3] += 1e3
    covariance(RBF(3.0), X.astype(dtype))
    assert sum(subtracted) == 2 * len(X)


def test_near_copies_in_csr(rows):
    """CSR rows, which cannot be shifted, keep the digits of close pairs as well."""
    X, _ = rows
    X = np.where(X > 0, X, 0.0) * 1e3
    X = np.vstack([X, X * (1 + 1e-9)])
    kernel = Matern(1.0, nu=0.5)
    np.testing.assert_allclose(covariance(kernel, sp.csr_array(X)), kernel(X), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, torch.asarray], ids=["NumPy", "CSR", "torch"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_single_precision_stays(kernel, form, rows):
    """Rows of float32 give values of float32, right to its rounding; dense ones a hundred deviations away, too."""
    offset = 0.0 if form is sp.csr_array or "sigma_0" in repr(kernel) else 100.0
    X, Y = (np.float32(part + offset) for part in rows)
    for values, peers in (
        (covariance(kernel, form(X)), kernel(np.float64(X))),
        (covariance(kernel, form(X), form(Y)), kernel(np.float64(X), np.float64(Y))),
        (variances(kernel, form(X)), kernel.diag(np.float64(X))),
    ):
        assert str(values.dtype).endswith("float32")
        np.testing.assert_allclose(np.asarray(values), peers, rtol=2e-5, atol=2e-5)


def test_rows_of_two_kinds(rows):
    """CSR beside dense rows, float32 beside float64, and integers are brought to one kind, the wider one."""
    X, Y = rows
    kernel = RBF(1.5) + DotProduct()
    np.testing.assert_allclose(covariance(kernel, sp.csr_array(X), Y), kernel(X, Y))
    single = np.float32(X)
    assert covariance(kernel, single, Y).dtype == np.float64
    np.testing.assert_allclose(covariance(kernel, single, Y), kernel(np.float64(single), Y))
    whole = np.rint(3 * X).astype(np.int64)
    for form in (np.asarray, torch.asarray, sp.csr_array):
        np.testing.assert_allclose(np.asarray(covariance(kernel, form(whole))), kernel(np.float64(whole)))


def test_squares_that_overflow_are_no_trouble():
    """Where squares of rows overflow but their differences do not, or are large as well, values are right."""
    X = np.array([[1e200, 0.0], [1e200, 1.0], [-1e200, 0.0]])
    gram = covariance(RBF(1.0), X)
    np.testing.assert_allclose(gram, RBF(1.0)(X))
    assert gram[0, 1] > 0.6


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize(
    "kernel",
    [Own(), Own() + RBF(), Mine(1.5), Matern(nu=0.8), PairwiseKernel(metric="rbf")],
    ids=lambda k: type(k).__name__,
)
def test_other_kernels_are_called(kernel, form, rows):
    """Kernels of a user's own, subclasses and rarer kernels are called with dense rows, and not trusted to be PSD."""
    X, Y = rows
    np.testing.assert_array_equal(covariance(kernel, form(X)), kernel(X))
    np.testing.assert_array_equal(covariance(kernel, form(X), form(Y)), kernel(X, Y))
    np.testing.assert_array_equal(variances(kernel, form(X)), kernel.diag(X))
    assert covariance(kernel, np.float32(X)).dtype == np.float32
    assert not is_psd_by_construction(kernel, 4)
    for other in (torch.asarray, array_api_strict.asarray):
        for function in (covariance, variances):
            with pytest.raises(InputError, match="is evaluated for NumPy rows only: give those, or a kernel made of"):
                function(kernel, other(X))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_by_construction_have_no_negative_eigenvalue(kernel, rows):
    """What is said to be positive semi-definite by construction is; of a fractional power that is not said."""
    X = rows[0][:, :1] if isinstance(kernel, ExpSineSquared) else rows[0]
    assert is_psd_by_construction(kernel, X.shape[1]) or kernel.exponent == 1.5
    eigenvalues = np.linalg.eigvalsh(covariance(kernel, X))
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


def test_what_is_no_kernel_by_construction():
    """Negative numbers, roots, and periodic functions of distances in a plane are not taken for kernels."""
    assert is_psd_by_construction(ExpSineSquared(), 1)
    assert is_psd_by_construction(2.0 * RBF() ** 2 + WhiteKernel(), 7)
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    assert np.linalg.eigvalsh(covariance(ExpSineSquared(0.5, 2.0), grid))[0] < -0.1
    for kernel in (
        RBF() + ExpSineSquared(), RBF() + ConstantKernel(-1.0), RBF() * WhiteKernel(-1.0), DotProduct() ** 0.5,
        DotProduct() ** -1, RationalQuadratic(alpha=-1.0), CompoundKernel([RBF()]), Own() * 2.0,
    ):  # fmt: skip
        assert not is_psd_by_construction(kernel, 2)


def test_refused_kernels(rows):
    """Values that are not finite, of another shape, or length scales of other features are refused, with what to do."""
    X, _ = rows
    for form in FORMS.values():
        with pytest.raises(InputError, match="overflows: scale the features"):
            covariance(DotProduct() ** 4, form(1e80 * X))
        with pytest.raises(InputError, match="overflows: scale the features"):
            variances(DotProduct() ** 4, form(1e80 * X))
        with pytest.raises(InputError, match="length_scale of RBF has 4 values for 3 features"):
            covariance(RBF(SCALES), form(X[:, :3]))
    with pytest.raises(InputError, match="length_scale of RationalQuadratic has 4 values"):
        covariance(RationalQuadratic(SCALES), X)
    with pytest.raises(InputError, match="NaN or infinity"):
        covariance(DotProduct(0.0) ** 0.5, X)
    with pytest.raises(InputError, match="NaN or infinity"):
        covariance(Broken(np.full((30, 30), np.nan)), X)
    with pytest.raises(InputError, match=r"shape \(30, 2\): for these rows it must be of shape \(30, 30\)"):
        covariance(Broken(np.ones((30, 2))), X)
    with pytest.raises(InputError, match=r"must be of shape \(30,\)"):
        variances(Broken(np.ones((30, 1))), X)
    with pytest.raises(InputError, match="must be of shape"):
        covariance(CompoundKernel([RBF(), RBF()]), X)


@pytest.mark.parametrize("kernel", [2.0 * RBF(), Matern(nu=2.5) + WhiteKernel()], ids=str)
def test_memory_is_that_of_the_gram_matrix(kernel, monkeypatch):
    """Beside the Gram matrix, the evaluation holds less than half as much, whatever the kernel is made of."""
    monkeypatch.setattr(oneof.kernels.gaussian_process, "_TILE", 128)
    X = np.random.default_rng(0).normal(size=(1500, 2))
    covariance(kernel, X[:5])
    tracemalloc.start()
    gram = covariance(kernel, X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * gram.nbytes
