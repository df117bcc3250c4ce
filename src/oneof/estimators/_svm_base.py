"""Base of the support vector machines: the space of a kernel, coefficients, scores of new rows."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from oneof.estimators.base import LinearClassifierMixin
from oneof.kernels import Kernel, check_gram, check_square
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace, Space
from oneof.solvers.row_accessors import sparse_if_few
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory


class KernelSVMMixin(LinearClassifierMixin):
    """Mixin of the kernel SVMs: ``coef_`` with the linear kernel, ``dual_coef_`` with other kernels.

    A subclass has `kernel`, `degree`, `gamma` and `coef0` among its parameters.
    """

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: float | Literal["scale", "auto"]
    coef0: float
    dual_coef_: Floats

    def _make_space(
        self, rows: FeatureMatrix, used: Ints, *, has_constant: bool = False
    ) -> tuple[Space, Kernel | None]:
        """Return the space of the used rows, with an optional constant feature, and its kernel, None if precomputed."""
        used_rows = rows if len(used) == rows.shape[0] else rows[used]
        kernel = None
        if self._is_precomputed():
            check_square(rows.shape)
            gram = used_rows if used_rows.shape[1] == len(used) else used_rows[:, used]
        else:
            kernel = Kernel.from_rows(self.kernel, used_rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
            if kernel.name == "linear":
                used_rows = sparse_if_few(used_rows).astype(np.float64, copy=False)
                return FeatureSpace(used_rows, has_constant=has_constant), kernel
            # The matrix, and at most two of its size: the submatrix of the free rows, and its factor.
            check_memory(24.0 * len(used) ** 2, f"the kernel of all pairs of {len(used)} rows", 'set kernel="linear"')
            gram = kernel.gram(used_rows, used_rows)
        gram = check_gram(gram, used)
        if has_constant:
            is_owned = kernel is not None and not callable(kernel.name)  # another matrix may belong to the caller
            gram = np.add(gram, 1.0, out=gram if is_owned else None)
        return KernelSpace(gram), kernel

    def _set_linear(self, weights: Floats, kernel: Kernel | None) -> None:
        """Set the attributes of a linear model, from weights in the form of `_set_coefficients`."""
        self._clear_fitted_attributes()
        self._kernel = kernel
        self._set_coefficients(weights)

    def _set_dual_coefficients(
        self, coefficients: Floats, intercept: Floats, kernel: Kernel | None, rows: FeatureMatrix, used: Ints
    ) -> None:
        """Set the attributes of a kernel model: w_k = sum_i coefficients_ik Phi(x_i) over the used rows."""
        self._clear_fitted_attributes()
        self._kernel = kernel
        self.dual_coef_ = np.zeros((rows.shape[0], coefficients.shape[1]))
        self.dual_coef_[used] = coefficients
        self.intercept_ = intercept
        self._support = np.flatnonzero(self.dual_coef_.any(axis=1))
        self._support_rows = None if kernel is None else rows[self._support]

    def _clear_fitted_attributes(self) -> None:
        """Delete the attributes of an earlier fit with another kernel."""
        for name in ("coef_", "dual_coef_", "_support", "_support_rows"):
            self.__dict__.pop(name, None)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        if hasattr(self, "coef_"):
            return super()._scores(rows)
        if not len(self._support):  # the solution is 0: the kernel is not called without rows
            return np.tile(self.intercept_, (rows.shape[0], 1))
        gram = rows[:, self._support] if self._kernel is None else self._kernel.gram(rows, self._support_rows)
        return gram @ self.dual_coef_[self._support] + self.intercept_

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # a mixin of CandidateClassifier, which has them
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
