"""What support vector machines share: the space that a kernel makes of the rows, coefficients, scores of new rows."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from oneof.estimators.base import LinearClassifierMixin
from oneof.kernels import Kernel, check_gram, check_square
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace, Space
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory


class KernelSVMMixin(LinearClassifierMixin):
    """Mixin of the machines that know rows by a kernel: ``coef_`` with the linear one, ``dual_coef_`` with others.

    A subclass has `kernel`, `degree`, `gamma` and `coef0` among its parameters.
    """

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: float | Literal["scale", "auto"]
    coef0: float
    dual_coef_: Floats

    def _space(self, rows: FeatureMatrix, used: Ints, *, has_constant: bool = False) -> tuple[Space, Kernel | None]:
        """Return the space of the rows that are used, perhaps with a constant feature, and its kernel, if not given."""
        known = rows if len(used) == rows.shape[0] else rows[used]
        kernel = None
        if self._is_precomputed():
            check_square(rows.shape)
            gram = known if known.shape[1] == len(used) else known[:, used]
        else:
            kernel = Kernel.of(self.kernel, known, gamma=self.gamma, degree=self.degree, coef0=self.coef0)
            if kernel.name == "linear":
                return FeatureSpace(known.astype(np.float64, copy=False), has_constant=has_constant), kernel
            # The matrix, and at most two of its size: a part that is solved for, and its factor.
            check_memory(24.0 * len(used) ** 2, f"the kernel of all pairs of {len(used)} rows", 'take kernel="linear"')
            gram = kernel.gram(known, known)
        gram = check_gram(gram, used)
        if has_constant:
            is_ours = kernel is not None and not callable(kernel.name)  # others may be the caller's
            gram = np.add(gram, 1.0, out=gram if is_ours else None)
        return KernelSpace(gram), kernel

    def _set_linear(self, weights: Floats, kernel: Kernel | None) -> None:
        """Set what a linear machine has, from weights as `_set_coefficients` takes them."""
        self._clear_fitted_attributes()
        self._kernel = kernel
        self._set_coefficients(weights)

    def _set_dual_coefficients(
        self, coefficients: Floats, intercept: Floats, kernel: Kernel | None, rows: FeatureMatrix, used: Ints
    ) -> None:
        """Set what another machine has: w_k = sum_i coefficients_ik Phi(x_i) over the rows that are used."""
        self._clear_fitted_attributes()
        self._kernel = kernel
        self.dual_coef_ = np.zeros((rows.shape[0], coefficients.shape[1]))
        self.dual_coef_[used] = coefficients
        self.intercept_ = intercept
        self._support = np.flatnonzero(self.dual_coef_.any(axis=1))
        self._support_rows = None if kernel is None else rows[self._support]

    def _clear_fitted_attributes(self) -> None:
        """Drop what an earlier fit with another kernel has left."""
        for name in ("coef_", "dual_coef_", "_support", "_support_rows"):
            self.__dict__.pop(name, None)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        if hasattr(self, "coef_"):
            return super()._scores(rows)
        if not len(self._support):  # the best machine is 0: no kernel of no rows is asked for
            return np.tile(self.intercept_, (rows.shape[0], 1))
        gram = rows[:, self._support] if self._kernel is None else self._kernel.gram(rows, self._support_rows)
        return gram @ self.dual_coef_[self._support] + self.intercept_

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # a mixin beside CandidateClassifier, which has them
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags
