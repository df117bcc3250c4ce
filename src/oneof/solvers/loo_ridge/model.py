"""From kernels and sets to labels and a function of rows: weights of the kernels, the loops, what is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oneof.memory import check_memory
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.judgement import Account, Judgement, judged_labels
from oneof.solvers.loo_ridge.left_out import Dual, ExactRidge, NystroemRidge, Ridge
from oneof.solvers.loo_ridge.stacking import StackedExact, stacked, stacking_weights
from oneof.solvers.loo_ridge.vouchers import Vouchers, vouchers
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


@dataclass(frozen=True)
class StackedModel:
    """The average of functions of rows."""

    models: Sequence[KernelModel]
    weights: Floats

    def scores(self, X: Rows) -> Floats:
        """Return the (n, K) scores of new rows."""
        return np.sum([w * model.scores(X) for model, w in zip(self.models, self.weights, strict=True)], axis=0)


@dataclass(frozen=True)
class LOORidgeSolution:
    """The function, and the labels it was fitted to."""

    model: StackedModel
    weights: Floats
    """(number of kernels,): what each counts, sum 1."""
    judgement: Judgement
    scores: Floats
    """LOO(P), (n, K)."""
    vouchers: Vouchers | None
    """Who speaks for each decision; only in the exact form."""

    @property
    def odds(self) -> Floats:
        """(K,): how little a class needs to be explained as a distractor, (its rows)^-(part of the scenes)."""
        return (self.judgement.shares.sum(axis=0) + 1.0) ** -self.judgement.parts.get("scene", 0.0)


def solve_loo_ridge(
    kernels: Sequence[tuple[RowKernel, Rows]],
    sets: CandidateGroups,
    *,
    lam: float,
    n_rounds: int,
    account: Account | None = None,
    landmarks: Ints | None = None,
    weighed: Ints | None = None,
) -> LOORidgeSolution:
    """Weigh the kernels, settle the labels, and fit them.

    Parameters
    ----------
    kernels : sequence of (RowKernel, array or CSR matrix of n rows)
        Each with the rows in its form.
    sets : CandidateGroups
        Of the rows.
    lam : float
        Above 0: for k(x, x) of about 1, the noise that is expected of a target.
    n_rounds : int
        Of each loop.
    account : {"uniform", "scene", "confusion"}, optional
        How false candidates arise, where that is known.
    landmarks : ndarray of shape (m,), optional
        Numbers of the rows that stand for all in the Nystroem form; without them the exact form is taken.
    weighed : ndarray, optional
        Numbers of the rows on which, with landmarks, kernels are weighed, in the exact form.

    Raises
    ------
    InputError
        If a kernel is not positive semi-definite, its values are not finite, or they would not fit in memory.
    """
    n = len(sets.mask)
    if landmarks is None:
        held = 8.0 * n**2 * (len(kernels) + 3)
        check_memory(held, f"{len(kernels)} kernels of all pairs of {n} rows", 'pass approximation="nystroem"')
        ridges: list[Ridge] = [ExactRidge.of(kernel.gram(mapped), lam) for kernel, mapped in kernels]
        weights = stacking_weights(ridges, sets, n_rounds=n_rounds)
        ridges = [ridge for ridge, weight in zip(ridges, weights, strict=True) if weight > 0]
    else:
        weights = np.ones(1)
        if weighed is not None and len(kernels) > 1:
            some = CandidateGroups.of(sets.mask[weighed])
            exact = [ExactRidge.of(kernel.gram(mapped[weighed]), lam) for kernel, mapped in kernels]
            weights = stacking_weights(exact, some, n_rounds=n_rounds)
        held = 24.0 * n * len(landmarks) * np.count_nonzero(weights)
        check_memory(held, f"{len(landmarks)} features of {n} rows for each kernel", "lower n_components")
        ridges = [
            NystroemRidge.of(kernel.gram(mapped, mapped[landmarks]), kernel.gram(mapped[landmarks]), lam)
            for (kernel, mapped), weight in zip(kernels, weights, strict=True)
            if weight > 0
        ]
    kept = [pair for pair, weight in zip(kernels, weights, strict=True) if weight > 0]
    ridge = stacked(ridges, weights[weights > 0])
    judgement = judged_labels(ridge, sets, account=account, n_rounds=n_rounds)
    models = [
        KernelModel(kernel, mapped if landmarks is None else mapped[landmarks], each.fitted(judgement.shares))
        for (kernel, mapped), each in zip(kept, ridges, strict=True)
    ]
    scores, spoken = ridge.left_out(judgement.shares), None
    if isinstance(ridge, ExactRidge | StackedExact):
        spoken = vouchers(ridge, judgement.shares, scores, sets.mask)
    return LOORidgeSolution(StackedModel(models, weights[weights > 0]), weights, judgement, scores, spoken)
