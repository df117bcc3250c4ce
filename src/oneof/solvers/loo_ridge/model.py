"""One kernel's model: the Gram matrix or its landmarks, the loop, and the scores of other rows."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oneof.memory import check_memory
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import Distractors
from oneof.solvers.loo_ridge.left_out import Dual, ExactRidge, NystroemRidge, Ridge
from oneof.solvers.loo_ridge.solve import LOORidgeSolution, solve_loo_ridge
from oneof.typing import Floats, Ints, Rows

BLOCK = 2048
"""New rows whose kernel is held at a time."""


class RowKernel(Protocol):
    """A kernel of rows in the form that it has them in."""

    def mapped(self, X: Rows) -> Rows:
        """Return rows in that form."""

    def gram(self, mapped: Rows, others: Rows | None = None) -> Floats:
        """Return k of rows in that form, (n, m); without `others`, of the rows with themselves, which may be kept."""


@dataclass(frozen=True)
class KernelModel:
    """A fitted function of rows."""

    kernel: RowKernel
    known: Rows
    """Rows of fit or landmarks, in the kernel's form."""
    dual: Dual

    def scores(self, X: Rows) -> Floats:
        """Return the (n, K) scores of new rows, worked out in blocks."""
        found = np.empty((X.shape[0], len(self.dual.means)))
        for start in range(0, X.shape[0], BLOCK):
            mapped = self.kernel.mapped(X[start : start + BLOCK])
            found[start : start + BLOCK] = self.kernel.gram(mapped, self.known) @ self.dual.coefficients
        return found + self.dual.means


def fit_kernel(
    kernel: RowKernel,
    mapped: Rows,
    sets: CandidateGroups,
    distractors: Distractors,
    *,
    lam: float,
    n_rounds: int,
    landmarks: Ints | None = None,
) -> tuple[KernelModel, LOORidgeSolution]:
    """Run the loop with one kernel.

    Parameters
    ----------
    kernel : RowKernel
    mapped : array or CSR matrix of n rows
        The rows in the kernel's form.
    sets : CandidateGroups
        Of the rows.
    distractors : Distractors
    lam : float
        Above 0: for k(x, x) of about 1, the noise that is expected of a target.
    n_rounds : int
    landmarks : ndarray of shape (m,), optional
        Numbers of the rows that stand for all in the Nystroem form; without them the exact form is taken.

    Raises
    ------
    InputError
        If the kernel is not positive semi-definite, its values are not finite, or they would not fit in memory.
    """
    n = mapped.shape[0]
    ridge: Ridge
    if landmarks is None:
        check_memory(16.0 * n**2, f"the kernel of all pairs of {n} rows", 'pass approximation="nystroem"')
        known, ridge = mapped, ExactRidge.of(kernel.gram(mapped), lam)
    else:
        check_memory(24.0 * n * len(landmarks), f"{len(landmarks)} features of {n} rows", "lower n_components")
        known = mapped[landmarks]
        ridge = NystroemRidge.of(kernel.gram(mapped, known), kernel.gram(known), lam)
    found = solve_loo_ridge(ridge, sets, distractors, n_rounds=n_rounds)
    return KernelModel(kernel, known, found.dual), found
