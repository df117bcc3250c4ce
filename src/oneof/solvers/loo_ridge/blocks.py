"""The Nystroem form over blocks of rows: the features of all rows are never in memory at a time.

Self-training uses as many rows as fit in memory. The function fitted to them labels all rows. Then a few iterations of
self-training use all rows, each in two passes over the blocks: one for the leave-one-out predictions, one for the
projections Phi^T R of the new labels. With Phi = k(x, Z) L^-T, L L^T = k(Z, Z), and M M^T = Phi^T Phi + lam I,

    f(x) = phi(x) M^-T M^-1 Phi^T R + m,    h_ii = || M^-1 phi(x_i) ||^2.

Everything is a sum over blocks, in their order, so that the number of threads or workers does not affect the result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from array_api_compat import is_torch_array

from oneof.arrays import as_floats, precision_of
from oneof.kernels.mapped import KernelSum, MappedRows
from oneof.parallel import n_available_threads, parallel_map
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.distractors import N_WARM_UP_ITER, Distractors, IterationState
from oneof.solvers.loo_ridge.linear_algebra import product, solve_lower, solve_rows, squared_lengths
from oneof.solvers.loo_ridge.loo_operators import DualCoefficients, check_leverage, landmark_factor, regularized_factor
from oneof.solvers.loo_ridge.self_training import MIN_PREDICTION
from oneof.typing import Array, FeatureMatrix, Floats, Ints

BLOCK_ROWS = 8192
"""Number of rows of a block."""
MAX_FULL_ITER = 3
"""Maximum number of iterations with all rows."""
FULL_TOL = 0.01
"""The iterations with all rows end when at most this fraction of the label mass changes."""


class BlockedRows(Protocol):
    """Rows in blocks, in memory or on workers."""

    @property
    def slices(self) -> Sequence[slice]:
        """The rows of each block."""

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by ascending index, or all rows."""

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *shared: Any) -> tuple[Any, list[Any]]:
        """Apply ``function(X_block, payload, *shared) -> (summand, value)``.

        Returns the sum of the summands, in the order of the blocks, and the list of the values.
        """


@dataclass(frozen=True)
class RowsInMemory:
    """Rows of one array, in blocks."""

    X: FeatureMatrix
    slices: Sequence[slice]

    @classmethod
    def from_array(cls, X: FeatureMatrix) -> "RowsInMemory":
        """Divide the rows into blocks of `BLOCK_ROWS`."""
        n = X.shape[0]
        return cls(X, [slice(start, min(start + BLOCK_ROWS, n)) for start in range(0, n, BLOCK_ROWS)])

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by index, or all rows."""
        return self.X if index is None else self.X[index]

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *shared: Any) -> tuple[Any, list[Any]]:
        """Apply a function to each block, in as many threads as BLAS would use."""
        total, values, step = None, [], 1 if is_torch_array(self.X) else n_available_threads()
        for first in range(0, len(self.slices), step):  # few summands are in memory at a time
            blocks = list(zip(self.slices, payloads, strict=True))[first : first + step]
            for summand, value in map_blocks(
                lambda block: function(self.X[block[0]], block[1], *shared), blocks, self.X
            ):
                total = summand if total is None else total + summand
                values.append(value)
        return total, values


def map_blocks(function: Callable[[Any], Any], items: Sequence[Any], X: FeatureMatrix) -> list[Any]:
    """Apply a function to each item: in several threads, but in turn for tensors, whose operations are parallel."""
    return [function(item) for item in items] if is_torch_array(X) else parallel_map(function, items)


@dataclass(frozen=True)
class LandmarkFeatures:
    """The features of the rows, from their kernel with the landmarks."""

    kernel: KernelSum
    landmarks: list[MappedRows]
    factor: Array
    """L, (m, m), in the precision of the features."""

    @classmethod
    def from_landmarks(
        cls, kernel: KernelSum, landmarks: list[MappedRows], precision: Literal["float32", "float64"]
    ) -> "LandmarkFeatures":
        """Factorize the kernel of the landmarks."""
        factor = landmark_factor(kernel.gram(landmarks), precision)
        return cls(kernel, landmarks, as_floats(factor, precision))

    def cross(self, X: FeatureMatrix) -> Array:
        """Return k(x_i, z_j), (n, m)."""
        gram = self.kernel.gram(self.kernel.transform(X), self.landmarks)
        return as_floats(gram, precision_of(self.factor))


@dataclass(frozen=True)
class BlockSolution:
    """Labels of all rows, and the function fitted to them."""

    label_probabilities: Floats
    """P of the pairs."""
    dual: DualCoefficients
    scores: Floats
    """LOO(P), (n, K)."""
    changes: list[float]
    """The changed fraction of the label mass in each iteration with all rows."""


def fit_in_blocks(
    blocks: BlockedRows,
    features: LandmarkFeatures,
    sets: CandidateGroups,
    distractors: Distractors,
    initial: DualCoefficients,
    *,
    lam: float,
) -> BlockSolution:
    """Label all rows by self-training from an initial function.

    Parameters
    ----------
    blocks : BlockedRows
    features : LandmarkFeatures
    sets : CandidateGroups
        Candidate sets of all rows.
    distractors : Distractors
    initial : DualCoefficients
        The function fitted to a part of the rows, with coefficients of the landmarks.
    lam : float
        > 0.
    """
    parts = [_BlockPairs.from_sets(sets, block) for block in blocks.slices]
    square, predictions = blocks.map_reduce(_square_and_predictions, parts, features, initial)
    P = sets.normalize(sets.weigh(np.maximum(np.concatenate(predictions), MIN_PREDICTION)))
    ridge_factor = regularized_factor(square, lam)
    factor = as_floats(features.factor, "float64")
    n, n_classes = sets.mask.shape
    leverages: list[Any] = [None] * len(parts)
    changes: list[float] = []
    while True:
        means = sets.class_sums(P) / n
        payloads = [(part, P[part.pairs]) for part in parts]
        projections, _ = blocks.map_reduce(_projections, payloads, features, means)
        for each in (factor, ridge_factor):
            projections = solve_lower(each, projections)
        for each in (ridge_factor, factor):
            projections = solve_lower(each, projections, transposed=True)
        dual = DualCoefficients(projections, means)
        if len(changes) == MAX_FULL_ITER or (changes and changes[-1] <= FULL_TOL):
            break
        with_leverages = [(*pair, leverage) for pair, leverage in zip(payloads, leverages, strict=True)]
        _, values = blocks.map_reduce(_loo_pairs, with_leverages, features, dual, ridge_factor)
        leverages = [leverage for _, leverage in values]
        predictions = np.maximum(np.concatenate([pairs for pairs, _ in values]), MIN_PREDICTION)
        new = sets.normalize(distractors.update(IterationState(predictions, P, sets, N_WARM_UP_ITER)))
        changes.append(float(np.abs(new - P).sum() / (2.0 * n)))
        P = new
    with_leverages = [(*pair, leverage) for pair, leverage in zip(payloads, leverages, strict=True)]
    _, scores = blocks.map_reduce(_loo_scores, with_leverages, features, dual)
    return BlockSolution(P, dual, np.concatenate(scores) if scores else np.empty((0, n_classes)), changes)


@dataclass(frozen=True)
class _BlockPairs:
    """The pairs (row, candidate) of one block."""

    pairs: slice
    """Indices among the pairs of all rows."""
    rows: Any
    """Row of each pair, in the block."""
    classes: Any
    shape: tuple[int, int]

    @classmethod
    def from_sets(cls, sets: CandidateGroups, block: slice) -> "_BlockPairs":
        last = block.stop - 1
        pairs = slice(int(sets.starts[block.start]), int(sets.starts[last] + sets.sizes[last]))
        shape = (block.stop - block.start, sets.mask.shape[1])
        return cls(pairs, sets.rows[pairs] - block.start, sets.classes[pairs], shape)

    def to_dense(self, values: Floats) -> Floats:
        """Return the labels, (number of rows, K)."""
        array = np.zeros(self.shape)
        array[self.rows, self.classes] = values
        return array


def _scores(cross: Array, dual: DualCoefficients) -> Floats:
    """Return the scores of rows, (n, K), from their kernel with the landmarks."""
    return product(cross, dual.coefficients) + dual.means


def _square_and_predictions(
    X: FeatureMatrix, part: _BlockPairs, features: LandmarkFeatures, dual: DualCoefficients
) -> tuple[Array, Floats]:
    cross = features.cross(X)
    scores = _scores(cross, dual)
    phi = solve_rows(features.factor, cross)
    return as_floats(phi.T @ phi, "float64"), scores[part.rows, part.classes]


def _projections(
    X: FeatureMatrix, payload: tuple[_BlockPairs, Floats], features: LandmarkFeatures, means: Floats
) -> tuple[Floats, None]:
    """Return k(Z, X) R of a block, (m, K)."""
    part, values = payload
    cross = features.cross(X)
    return product(cross.T, part.to_dense(values) - means), None


def _loo_pairs(
    X: FeatureMatrix,
    payload: tuple[_BlockPairs, Floats, Any],
    features: LandmarkFeatures,
    dual: DualCoefficients,
    ridge_factor: Array,
) -> tuple[int, tuple[Floats, Floats]]:
    """Return the leave-one-out predictions of the pairs of a block, and its 1 - h_ii."""
    part, values, one_minus_leverage = payload
    cross = features.cross(X)
    scores = _scores(cross, dual)
    if one_minus_leverage is None:
        directions = solve_rows(ridge_factor, solve_rows(features.factor, cross))
        one_minus_leverage = 1.0 - squared_lengths(directions)
        check_leverage(one_minus_leverage)
    residuals = values - scores[part.rows, part.classes]
    return 0, (values - residuals / one_minus_leverage[part.rows], one_minus_leverage)


def _loo_scores(
    X: FeatureMatrix,
    payload: tuple[_BlockPairs, Floats, Floats],
    features: LandmarkFeatures,
    dual: DualCoefficients,
) -> tuple[int, Floats]:
    """Return the leave-one-out scores of the rows of a block, (number of rows, K)."""
    part, values, one_minus_leverage = payload
    P = part.to_dense(values)
    cross = features.cross(X)
    scores = _scores(cross, dual)
    return 0, P - (P - scores) / one_minus_leverage[:, None]
