"""Base of the support vector machines: the space of a kernel, coefficients, scores of new rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from oneof.errors import InputError
from oneof.estimators.base import LinearClassifierMixin
from oneof.kernels import Kernel, check_gram, check_square
from oneof.kernels.nystroem import BLOCK_ROWS, inverse_root
from oneof.kernels.pairwise import scale_gamma
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace, Space
from oneof.solvers.row_accessors import sparse_if_few
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_choice, check_memory, check_positive, check_random_state


@dataclass(frozen=True)
class LandmarkRows:
    """Rows whose kernel values give the features k(x, Z) R of all rows, with inner products close to the kernel."""

    chosen: Ints
    """The rows of Z, (m,)."""
    root: Floats
    """R, (m, m): the symmetric root of k(Z, Z)^-1, so that the features have similar sizes."""

    @classmethod
    def from_gram(cls, chosen: Ints, gram: Floats) -> "LandmarkRows":
        """Compute the root from k(Z, Z)."""
        root = inverse_root(gram)
        sizes = np.sqrt((root**2).sum(axis=0))
        vectors = np.divide(root, sizes, out=np.zeros_like(root), where=sizes > 0.0)
        return cls(chosen, root @ vectors.T)

    def coefficients(self, weights: Floats, n_rows: int) -> Floats:
        """Return the (n, K) coefficients of the rows that give the same scores as (K, m) weights of the features."""
        coefficients = np.zeros((n_rows, len(weights)))
        coefficients[self.chosen] = self.root @ weights.T
        return coefficients


class KernelSVMMixin(LinearClassifierMixin):
    """Mixin of the kernel SVMs: ``coef_`` with the linear kernel, ``dual_coef_`` with other kernels.

    A subclass has `kernel`, `degree`, `gamma`, `coef0`, `approximation`, `n_components` and `random_state` among its
    parameters.
    """

    kernel: str | Callable[[Any, Any], Any]
    degree: int
    gamma: float | Literal["scale", "auto"]
    coef0: float
    approximation: Literal["nystroem"] | None
    n_components: int
    random_state: Any
    dual_coef_: Floats
    _uses_gram_matrix = True

    def _make_space(
        self, rows: FeatureMatrix, used: Ints, *, weight: Floats | None = None, has_constant: bool = False
    ) -> tuple[Space, Kernel | None, LandmarkRows | None]:
        """Return the space of the used rows, with an optional constant feature; its kernel and landmarks, if any.

        `weight`, (n_used,), are the weights with which rows are counted in ``gamma="scale"``.
        """
        check_choice("approximation", self.approximation, (None, "nystroem"))
        check_positive("n_components", self.n_components, integer=True)
        if self._is_precomputed() and self.approximation is not None:
            raise InputError('`approximation` must be None with kernel="precomputed"; got "nystroem".')
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
                return FeatureSpace(used_rows, has_constant=has_constant), kernel, None
            if self.approximation is not None:
                landmarks, features = self._nystroem_features(kernel, used_rows)
                return FeatureSpace(features, has_constant=has_constant), kernel, landmarks
            # The matrix, and at most two of its size: the submatrix of the free rows, and its factor.
            remedy = 'set kernel="linear" or approximation="nystroem"'
            check_memory(24.0 * len(used) ** 2, f"the kernel of all pairs of {len(used)} rows", remedy)
            gram = kernel.gram(used_rows, used_rows)
        gram = check_gram(gram, used)
        if has_constant:
            is_owned = kernel is not None and not callable(kernel.name)  # another matrix may belong to the caller
            gram = np.add(gram, 1.0, out=gram if is_owned else None)
        return KernelSpace(gram), kernel, None

    def _nystroem_features(self, kernel: Kernel, rows: FeatureMatrix) -> tuple[LandmarkRows, Floats]:
        """Return random landmarks among n rows, and the (n, m) features that they give."""
        n, m = rows.shape[0], min(int(self.n_components), rows.shape[0])
        check_memory(16.0 * n * m, f"the features of {n} rows and {m} landmarks", "decrease `n_components`")
        chosen = np.sort(check_random_state(self.random_state).permutation(n)[:m])
        landmarks = LandmarkRows.from_gram(chosen, check_gram(kernel.gram(rows[chosen], rows[chosen]), chosen))
        features = np.empty((n, m))
        for start in range(0, n, BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            features[block] = kernel.gram(rows[block], rows[chosen]) @ landmarks.root
        return landmarks, features

    def _set_solution(
        self,
        weights: Floats,
        intercept: Floats,
        kernel: Kernel | None,
        landmarks: LandmarkRows | None,
        rows: FeatureMatrix,
        used: Ints,
    ) -> None:
        """Set the attributes of the model.

        `weights` are (K, d) of the features with a linear kernel, (K, m) of the features of landmarks, or else the
        (n_used, K) coefficients of the used rows: w_k = sum_i coefficients_ik Phi(x_i).
        """
        for name in ("coef_", "dual_coef_", "_support", "_support_rows"):  # of an earlier fit with another kernel
            self.__dict__.pop(name, None)
        self._kernel = kernel
        if kernel is not None and kernel.name == "linear":
            self._set_coefficients(np.column_stack([weights, intercept]).astype(rows.dtype, copy=False))
            return
        self.dual_coef_ = np.zeros((rows.shape[0], len(intercept)))
        self.dual_coef_[used] = weights if landmarks is None else landmarks.coefficients(weights, len(used))
        self.intercept_ = intercept
        self._support = np.flatnonzero(self.dual_coef_.any(axis=1))
        self._support_rows = None if kernel is None else rows[self._support]

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
