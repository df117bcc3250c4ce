"""Base of the support vector machines: the space of a kernel, coefficients, scores of new rows."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.estimators.base import LinearClassifierMixin, PrecomputedKernelMixin
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.kernels.nystroem import NystroemFeatures, inverse_root
from oneof.kernels.pairwise import check_gram, check_square, scale_gamma
from oneof.kernels.svc import Kernel
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace, Space
from oneof.solvers.row_accessors import sparse_if_few
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory, check_random_state


class UsedRows(NamedTuple):
    """Rows of fit that a problem uses, in the space of a kernel."""

    indices: Ints
    """The rows, or the landmarks among them."""
    space: Space
    kernel: Kernel | None
    """None if the kernel is precomputed."""
    root: Floats | None = None
    """R of the features k(x, Z) R with landmarks Z."""


@estimator
class KernelSVM(PrecomputedKernelMixin, LinearClassifierMixin):
    """Base class of the kernel SVMs: ``coef_`` with the linear kernel, ``dual_coef_`` with other kernels.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in scikit-learn's SVC; a callable ``kernel(X, Y)`` returns the matrix of all pairs. All but "linear" need
        memory for n x n numbers, unless `approximation` is "nystroem".
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the "poly" and "rbf" kernels: 1/(d Var(X)) over the rows that are used, 1/d, or a number above 0.
    coef0 : float, default=0.0
        Constant of the "poly" kernel; at least 0.
    approximation : {None, "nystroem"}, default=None
        None uses the kernel of all pairs of rows. "nystroem" uses the linear model of `n_components` features whose
        inner products approximate the kernel: time and memory grow with the number of rows times `n_components`.
    n_components : int, default=500
        Number of landmarks of "nystroem", random rows, limited to the number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks; nothing else is random.
    """

    _uses_gram_matrix = True

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Any] = "linear"
    degree: Count = 3
    gamma: Positive | Literal["scale", "auto"] = "scale"
    coef0: NonNegative = 0.0
    approximation: Literal["nystroem"] | None = None
    n_components: Count = 500
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_precomputed() and self.approximation is not None:
            raise InputError('`approximation` must be None with kernel="precomputed"; got "nystroem".')

    def _use_rows(
        self, rows: FeatureMatrix, used: Ints, *, weight: Floats | None = None, has_constant: bool = False
    ) -> UsedRows:
        """Return the used rows in the space of the kernel, with an optional constant feature.

        Weights count in the default bandwidth, but not in the choice of the landmarks.
        """
        used_rows = rows if len(used) == rows.shape[0] else rows[used]
        kernel = None
        if self._is_precomputed():
            check_square(rows.shape)
            gram = used_rows if used_rows.shape[1] == len(used) else used_rows[:, used]
        else:
            is_counted = weight is not None and isinstance(self.gamma, str) and self.gamma == "scale"
            gamma = scale_gamma(used_rows, weight) if is_counted and self.kernel != "linear" else self.gamma
            kernel = Kernel.from_rows(self.kernel, used_rows, gamma=gamma, degree=self.degree, coef0=self.coef0)
            if kernel.name == "linear":
                used_rows = sparse_if_few(used_rows).astype(np.float64, copy=False)
                return UsedRows(used, FeatureSpace(used_rows, has_constant=has_constant), kernel)
            if self.approximation is not None:
                n, m = len(used), min(int(self.n_components), len(used))
                check_memory(16.0 * n * m, f"the features of {n} rows and {m} landmarks", "decrease `n_components`")
                chosen = np.sort(check_random_state(self.random_state).permutation(n)[:m])
                landmarks = used_rows[chosen]
                root = inverse_root(check_gram(kernel.gram(used_rows[chosen], landmarks), chosen), symmetric=True)
                features = NystroemFeatures(kernel, landmarks, root).transform(used_rows)
                return UsedRows(used[chosen], FeatureSpace(features, has_constant=has_constant), kernel, root)
            # The matrix, and at most two of its size: the submatrix of the free rows, and its factor.
            remedy = 'set kernel="linear" or approximation="nystroem"'
            check_memory(24.0 * len(used) ** 2, f"the kernel of all pairs of {len(used)} rows", remedy)
            gram = kernel.gram(used_rows, used_rows)
        gram = check_gram(gram, used)
        if has_constant:
            is_owned = kernel is not None and not callable(kernel.name)  # another matrix may belong to the caller
            gram = np.add(gram, 1.0, out=gram if is_owned else None)
        return UsedRows(used, KernelSpace(gram), kernel)

    def _set_solution(self, used: UsedRows, weights: Floats, intercept: Floats, rows: FeatureMatrix) -> None:
        """Set the attributes of the model.

        `weights` are those of the features, (K, m), with the linear kernel or landmarks, and otherwise the coefficients
        of the used rows.
        """
        self._kernel = used.kernel
        if used.kernel is not None and used.kernel.name == "linear":
            self._set_coefficients(np.column_stack([weights, intercept]), rows.dtype)
            return
        self.dual_coef_ = np.zeros((rows.shape[0], len(intercept)))
        self.dual_coef_[used.indices] = weights if used.root is None else used.root @ weights.T
        self.intercept_ = intercept
        self._support = np.flatnonzero(self.dual_coef_.any(axis=1))
        self._support_rows = None if used.kernel is None else rows[self._support]

    def _scores(self, rows: FeatureMatrix) -> Floats:
        if hasattr(self, "coef_"):
            return super()._scores(rows)
        if not len(self._support):  # the solution is 0: the kernel is not called without rows
            return np.tile(self.intercept_, (rows.shape[0], 1))
        gram = rows[:, self._support] if self._kernel is None else self._kernel.gram(rows, self._support_rows)
        return gram @ self.dual_coef_[self._support] + self.intercept_
