"""From kernels and sets to labels and a function of rows: weights of the kernels, the loops, what is kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oneof.parallel import n_available_threads, parallel_map
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.judgment import Account, Judgment, judged_labels
from oneof.solvers.loo_ridge.left_out import ExactRidge, NystroemRidge, Ridge
from oneof.solvers.loo_ridge.model import KernelModel, RowKernel, StackedModel
from oneof.solvers.loo_ridge.stacking import StackedExact, stacked, stacking_weights
from oneof.solvers.loo_ridge.vouchers import Vouchers, rivals, vouchers
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_memory


@dataclass(frozen=True)
class LOORidgeSolution:
    """The function, and the labels it was fitted to."""

    sets: CandidateGroups
    model: StackedModel
    weights: Floats
    """(number of kernels,): what each counts, sum 1."""
    judgment: Judgment
    scores: Floats
    """LOO(P), (n, K)."""
    rivals: Ints
    """(n,): see `oneof.solvers.loo_ridge.vouchers`."""
    vouchers: Vouchers | None
    """Who speaks for each decision; only in the exact form."""

    @property
    def odds(self) -> Floats:
        """(K,): how little a class needs to be explained as a distractor: M^-w, w the part of the scenes.

        Between 1 where there are none and 1 / M where there are nothing else; the account of confusion has none.
        """
        return (self.judgment.shares[~self.sets.unlabeled].sum(axis=0) + 1.0) ** -self.judgment.parts["scene"]


def solve_loo_ridge(
    kernels: Sequence[tuple[RowKernel, FeatureMatrix]],
    sets: CandidateGroups,
    *,
    lam: float,
    max_iter: int,
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
    max_iter : int
        Of each loop.
    account : {"uniform", "scene", "confusion"}, optional
        How false candidates arise, where that is known.
    landmarks : ndarray of shape (m,), optional
        Numbers of the rows that stand for all in the Nystroem form; without them the exact form is taken.
    weighed : ndarray, optional
        Numbers of the rows on which, with landmarks, kernels are weighed, in the exact form; all if not given.

    Raises
    ------
    InputError
        If a kernel is not positive semi-definite, its values are not finite, or they would not fit in memory.
    """
    n = len(sets.mask)
    ridges: list[Ridge]
    if landmarks is None:
        ridges = list(_exact(kernels, lam, 'pass approximation="nystroem"'))
        weights = stacking_weights(ridges, sets, max_iter=max_iter)
        ridges = [ridge for ridge, weight in zip(ridges, weights, strict=True) if weight > 0]
    else:
        weights = np.ones(1)
        if len(kernels) > 1:
            some = np.arange(n) if weighed is None else weighed
            alike = _exact([(kernel, mapped[some]) for kernel, mapped in kernels], lam, "name one kernel and one map")
            weights = stacking_weights(alike, CandidateGroups.of(sets.mask[some]), max_iter=max_iter)
            del alike
        held = 8.0 * n * len(landmarks) * (np.count_nonzero(weights) + 2)
        check_memory(held, f"{len(landmarks)} features of {n} rows for each kernel", "lower n_components")
        ridges = [
            NystroemRidge.of(kernel.gram(mapped, mapped[landmarks]), kernel.gram(mapped[landmarks]), lam)
            for (kernel, mapped), weight in zip(kernels, weights, strict=True)
            if weight > 0
        ]
    kept = [pair for pair, weight in zip(kernels, weights, strict=True) if weight > 0]
    ridge = stacked(ridges, weights[weights > 0])
    judgment = judged_labels(ridge, sets, account=account, max_iter=max_iter)
    models = [
        KernelModel(
            kernel, kernel.kept(mapped if landmarks is None else mapped[landmarks]), each.fitted(judgment.shares)
        )
        for (kernel, mapped), each in zip(kept, ridges, strict=True)
    ]
    scores = ridge.left_out(judgment.shares)
    rival = rivals(judgment.shares, scores, sets.mask)
    spoken = None
    if isinstance(ridge, ExactRidge | StackedExact):
        spoken = vouchers(ridge, judgment.shares, rival)
    model = StackedModel(models, weights[weights > 0])
    return LOORidgeSolution(sets, model, weights, judgment, scores, rival, spoken)


def _exact(kernels: Sequence[tuple[RowKernel, FeatureMatrix]], lam: float, remedy: str) -> list[ExactRidge]:
    n = kernels[0][1].shape[0]
    # Each one's inverse, their average, and two for each that is being made.
    held = 8.0 * n**2 * (len(kernels) + 1 + 2 * min(n_available_threads(), len(kernels)))
    check_memory(held, f"{len(kernels)} kernels of all pairs of {n} rows", remedy)
    return parallel_map(lambda pair: ExactRidge.of(pair[0].gram(pair[1]), lam), kernels)
