"""Kernels of Gaussian processes: scikit-learn's values for all types of rows, without loss of digits."""

import contextlib

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
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
from oneof.errors import InputError
from oneof.kernels.gaussian_process import covariance, is_psd_by_construction, variances
from oneof.kernels.pairwise import scale_gamma, total_variance
from tests.retained import peak_bytes

with contextlib.suppress(ImportError):
    import torch  # noqa: F401 - its BLAS must be loaded before oneof.parallel lists the BLAS libraries

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


class UserKernel(Kernel):
    """User-defined kernel: x.y + 1, and 0.5 more on the diagonal if Y is None."""

    def __call__(self, X, Y=None):
        return X @ X.T + 1 + 0.5 * np.eye(len(X)) if Y is None else X @ Y.T + 1

    def diag(self, X):
        return (X**2).sum(axis=1) + 1.5

    def is_stationary(self):
        return False


class FixedValues(UserKernel):
    """Kernel that returns the given values."""

    def __init__(self, values=None):
        self.values = values

    def __call__(self, X, Y=None):
        del X, Y
        return self.values

    diag = __call__


class SubclassedRBF(RBF):
    """Subclass with other values than its base."""

    def __call__(self, X, Y=None):
        return 2.0 * super().__call__(X, Y)


@pytest.fixture
def rows():
    """Return 30 rows, one of them twice, and 20 other rows, of 4 features."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(20, 4))
    X[7] = Y[3] = X[2]
    return X, Y


@pytest.fixture(params=[1024, 8], ids=["one tile", "many tiles"])
def tiles(request, monkeypatch):
    """Run with one tile and with several."""
    monkeypatch.setattr(oneof.kernels.gaussian_process, "_TILE", request.param)


def as_tensor(rows):
    """Return rows as a torch tensor; skip the test if torch is not installed."""
    return pytest.importorskip("torch", reason="torch is not installed").asarray(rows)


FORMS = {
    "NumPy": np.asarray,
    "CSR array": sp.csr_array,
    "CSR matrix": sp.csr_matrix,
    "torch": as_tensor,
    "array_api_strict": array_api_strict.asarray,
}


@pytest.mark.usefixtures("tiles")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_values_equal_scikit_learn(kernel, form, rows):
    """With Y and without, for all types of rows, values equal scikit-learn's; without Y they are symmetric."""
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
    X, Y = (form(100 * block) for block in rows)
    assert (covariance(kernel, X).diagonal() == 1).all()
    assert (covariance(kernel, X, X).diagonal() == 1).all()
    assert covariance(kernel, X)[2, 7] == covariance(kernel, X, Y)[2, 3] == 1


@pytest.mark.parametrize(
    "kernel", [RBF(2.0), Matern(2.0, nu=0.5), Matern(2.0, nu=2.5), RationalQuadratic(2.0)], ids=str
)
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("moved", [1e-3, 1e-7])
def test_near_copies_far_from_the_origin(kernel, offset, moved, rows):
    """For any location and distance of the rows, k has a precision of 1e-11, and 1 - k of 1e-6."""
    X, _ = rows
    X = np.vstack([X, X + moved]) + offset
    X[-1] = offset + 1e4  # an outlier moves the mean away from all other rows
    for Y in (None, X[5:]):
        values, peers = covariance(kernel, X, Y), kernel(X, Y)
        np.testing.assert_allclose(values, peers, rtol=1e-11, atol=1e-300)
        np.testing.assert_allclose(1 - values, 1 - peers, rtol=1e-6, atol=1e-15)


def test_near_copies_in_csr(rows):
    """CSR rows cannot be shifted, but keep the digits of close pairs too."""
    X, _ = rows
    X = np.where(X > 0, X, 0.0) * 1e3
    X = np.vstack([X, X * (1 + 1e-9)])
    kernel = Matern(1.0, nu=0.5)
    np.testing.assert_allclose(covariance(kernel, sp.csr_array(X)), kernel(X), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, as_tensor], ids=["NumPy", "CSR", "torch"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_single_precision_is_kept(kernel, form, rows):
    """Rows of float32 give values of float32, accurate to rounding, also far from the origin for dense rows."""
    offset = 0.0 if form is sp.csr_array or "sigma_0" in repr(kernel) else 100.0
    X, Y = (np.float32(block + offset) for block in rows)
    for values, peers in (
        (covariance(kernel, form(X)), kernel(np.float64(X))),
        (covariance(kernel, form(X), form(Y)), kernel(np.float64(X), np.float64(Y))),
        (variances(kernel, form(X)), kernel.diag(np.float64(X))),
    ):
        assert str(values.dtype).endswith("float32")
        np.testing.assert_allclose(np.asarray(values), peers, rtol=2e-5, atol=2e-5)


def test_rows_of_two_types(rows):
    """CSR with dense rows and float32 with float64 are converted to the wider type, and integers to float64."""
    X, Y = rows
    kernel = RBF(1.5) + DotProduct()
    np.testing.assert_allclose(covariance(kernel, sp.csr_array(X), Y), kernel(X, Y))
    single = np.float32(X)
    assert covariance(kernel, single, Y).dtype == np.float64
    np.testing.assert_allclose(covariance(kernel, single, Y), kernel(np.float64(single), Y))
    integers = np.rint(3 * X).astype(np.int64)
    for form in (np.asarray, sp.csr_array, as_tensor):
        np.testing.assert_allclose(np.asarray(covariance(kernel, form(integers))), kernel(np.float64(integers)))


def test_overflowing_squares_give_correct_values():
    """Values are correct if squares of rows overflow, for small and for large differences."""
    X = np.array([[1e200, 0.0], [1e200, 1.0], [-1e200, 0.0]])
    gram = covariance(RBF(1.0), X)
    np.testing.assert_allclose(gram, RBF(1.0)(X))
    assert gram[0, 1] > 0.6


OTHER_KERNELS = [UserKernel(), UserKernel() + RBF(), SubclassedRBF(1.5), Matern(nu=0.8), PairwiseKernel(metric="rbf")]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("kernel", OTHER_KERNELS, ids=lambda k: type(k).__name__)
def test_other_kernels_are_called(kernel, form, rows):
    """User-defined kernels, subclasses and rarer kernels are called with dense rows, and not assumed to be PSD."""
    X, Y = rows
    np.testing.assert_array_equal(covariance(kernel, form(X)), kernel(X))
    np.testing.assert_array_equal(covariance(kernel, form(X), form(Y)), kernel(X, Y))
    np.testing.assert_array_equal(variances(kernel, form(X)), kernel.diag(X))
    assert covariance(kernel, np.float32(X)).dtype == np.float32
    assert not is_psd_by_construction(kernel, 4)


@pytest.mark.parametrize("form", [as_tensor, array_api_strict.asarray], ids=["torch", "array_api_strict"])
@pytest.mark.parametrize("kernel", OTHER_KERNELS, ids=lambda k: type(k).__name__)
def test_other_kernels_need_numpy_rows(kernel, form, rows):
    """User-defined kernels, subclasses and rarer kernels raise an error for rows of other array namespaces."""
    for function in (covariance, variances):
        message = r"is evaluated for NumPy rows only\. Pass NumPy rows, or a kernel made of"
        with pytest.raises(InputError, match=message):
            function(kernel, form(rows[0]))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_by_construction_have_no_negative_eigenvalue(kernel, rows):
    """Kernels that are PSD by construction have no negative eigenvalue; a fractional power is not among them."""
    X = rows[0][:, :1] if isinstance(kernel, ExpSineSquared) else rows[0]
    assert is_psd_by_construction(kernel, X.shape[1]) or kernel.exponent == 1.5
    eigenvalues = np.linalg.eigvalsh(covariance(kernel, X))
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]


def test_kernels_that_are_not_psd_by_construction():
    """Negative constants, roots, and periodic functions of distances in a plane are not kernels."""
    assert is_psd_by_construction(ExpSineSquared(), 1)
    assert is_psd_by_construction(2.0 * RBF() ** 2 + WhiteKernel(), 7)
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    assert np.linalg.eigvalsh(covariance(ExpSineSquared(0.5, 2.0), grid))[0] < -0.1
    for kernel in (
        RBF() + ExpSineSquared(), RBF() + ConstantKernel(-1.0), RBF() * WhiteKernel(-1.0), DotProduct() ** 0.5,
        DotProduct() ** -1, RationalQuadratic(alpha=-1.0), CompoundKernel([RBF()]), UserKernel() * 2.0,
    ):  # fmt: skip
        assert not is_psd_by_construction(kernel, 2)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    ("function", "kernel", "scale", "message"),
    [
        *(
            (function, DotProduct() ** 4, 1e80, r"overflows\. Scale the features")
            for function in (covariance, variances)
        ),
        (covariance, RBF((1.0, 2.0)), 1.0, "length_scale of RBF has 2 values for 4 features"),
        (covariance, RationalQuadratic(SCALES), 1.0, "length_scale of RationalQuadratic has 4 values"),
        (covariance, DotProduct(0.0) ** 0.5, 1.0, "NaN or infinity"),
        (covariance, FixedValues(np.full((30, 30), np.nan)), 1.0, "NaN or infinity"),
        (covariance, FixedValues(np.ones((30, 2))), 1.0, r"shape \(30, 2\): for these rows it must be of shape"),
        (variances, FixedValues(np.ones((30, 1))), 1.0, r"must be of shape \(30,\)"),
        (covariance, CompoundKernel([RBF(), RBF()]), 1.0, "must be of shape"),
    ],
)
def test_invalid_values_are_rejected(function, kernel, scale, message, form, rows):
    """Values that overflow, are not finite or of another shape, and wrong numbers of length scales, raise errors."""
    X = form(scale * rows[0])
    if isinstance(kernel, FixedValues | CompoundKernel) and not (sp.issparse(X) or isinstance(X, np.ndarray)):
        message = "NumPy rows"
    with pytest.raises(InputError, match=message):
        function(kernel, X)


@pytest.mark.parametrize("kernel", [2.0 * RBF(), Matern(nu=2.5) + WhiteKernel()], ids=str)
def test_memory_is_at_most_one_and_a_half_gram_matrices(kernel, monkeypatch):
    """The evaluation needs less than half of the Gram matrix as additional memory, for composite kernels too."""
    monkeypatch.setattr(oneof.kernels.gaussian_process, "_TILE", 128)
    X = np.random.default_rng(0).normal(size=(1500, 2))
    covariance(kernel, X[:5])
    peak, gram = peak_bytes(lambda: covariance(kernel, X))
    assert peak < 1.5 * gram.nbytes


@pytest.mark.parametrize("weight", [None, np.arange(500.0) % 3], ids=["without weights", "weighted"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_variances_of_single_precision_rows(form, weight):
    """Variances of float32 rows far from 0 are those of the same rows in float64."""
    X = np.float32(np.random.default_rng(0).standard_normal((500, 5)) + 1e6)
    copies = np.repeat(X, 1 if weight is None else weight.astype(int), axis=0).astype(np.float64)
    assert scale_gamma(form(X), weight) == pytest.approx(1.0 / (5 * copies.var()), rel=1e-8)
    assert total_variance(form(copies)) == pytest.approx(copies.var(axis=0).sum(), rel=1e-8)


@pytest.mark.parametrize("value", [0.1, 1e-140, -1e100])
@pytest.mark.parametrize("n", [7, 10_000])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_equal_values_have_a_variance_of_zero(form, n, value):
    """Rounding errors of the means are not a variance, with or without weights."""
    X = form(np.full((n, 3), value))
    assert scale_gamma(X) == scale_gamma(X, np.random.default_rng(0).random(n)) == 1.0
    assert total_variance(X) == 0.0
