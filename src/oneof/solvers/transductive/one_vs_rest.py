"""Transductive machines of each class against the others."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from oneof.errors import InputError
from oneof.solvers.feature_spaces import Space
from oneof.solvers.transductive.annealing import TransductiveSolution, solve_transductive
from oneof.solvers.transductive.machine import MachineProblem
from oneof.solvers.transductive.sides import sides_of
from oneof.typing import Floats, Ints, Mask

_STOPS = ("passes", "machines")


@dataclass(frozen=True)
class ClassMachines:
    """The machines of K classes, and what they make of the rows."""

    coefficients: Floats
    """(n, K): w_k = sum_i coefficients_ik Phi(x_i)."""
    intercepts: Floats
    """(K,)."""
    labels: Ints
    """(n,): a candidate of each row. Of two classes the sign that the row ended with; of more the highest score in the
    set."""
    solutions: tuple[TransductiveSolution, ...]
    """One for each class; of two classes that of the second alone."""

    @property
    def n_iter(self) -> int:
        """Machines solved for the class that took most."""
        return max(solution.n_iter for solution in self.solutions)

    @property
    def stopped(self) -> Literal["passes", "machines"] | None:
        """What kept a problem from its end, passes before machines; None if nothing did."""
        return min((s.stopped for s in self.solutions if s.stopped), key=_STOPS.index, default=None)

    @property
    def converged(self) -> bool:
        """Whether all problems came to their end."""
        return self.stopped is None


def solve_classes(
    space: Space,
    mask: Mask,
    *,
    C: float | None = None,
    C_unlabeled: float | None = None,
    positive_fractions: Sequence[float] | None = None,
    switching: Literal["multiple", "single"] = "multiple",
    cost_ratio: Literal["balanced", "printed"] = "balanced",
    fit_intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    random: np.random.Generator,
) -> ClassMachines:
    """Solve `solve_transductive` for each class, with the sides that candidate sets say.

    Of two classes the second is solved for alone: the problem of the first is the same with its signs changed.

    Parameters
    ----------
    space : FeatureSpace or KernelSpace
    mask : ndarray of shape (n, K), bool
        Not all of its rows full.
    C, C_unlabeled : float, optional
        1 / mean_i ||Phi(x_i)||^2 over all rows, or 1 where all are 0; C.
    positive_fractions : sequence of K floats, optional
        Share of each class in the rows that are unlabeled in its problem.
    fit_intercept : bool
        Whether there is a b, or it is 0.
    switching, cost_ratio, tol, max_iter, random
        As in `solve_transductive`.

    Returns
    -------
    ClassMachines

    Raises
    ------
    InputError
        If a cost is so large that sums would overflow.
    """
    n_classes = mask.shape[1]
    mend = "lower it" if C is not None or C_unlabeled is not None else "scale the features"
    if C is None:
        mean = float(space.squares.mean())
        C = 1.0 / mean if mean > 0 else 1.0
    C_unlabeled = C if C_unlabeled is None else C_unlabeled
    most = float(max(C, C_unlabeled))
    if not (most < 1e150 and most * float(space.squares.max()) < 1e100):
        raise InputError(f"a cost of {most:.4g} is too large beside the features: {mend}.")
    problem = MachineProblem(space, fit_intercept)
    solutions = []
    for k in range(1 if n_classes == 2 else 0, n_classes):
        sides = sides_of(mask, k, None if positive_fractions is None else positive_fractions[k])
        if not sides.n_positive and not mask[~mask.all(axis=1), k].any():
            solutions.append(_nowhere(problem, C_unlabeled))
            continue
        solutions.append(
            solve_transductive(
                problem,
                sides,
                C=C,
                C_unlabeled=C_unlabeled,
                switching=switching,
                cost_ratio=cost_ratio,
                tol=tol,
                max_iter=max_iter,
                random=random,
            )
        )
    machines = [solution.machine for solution in solutions]
    coefficients = np.column_stack([machine.coefficients for machine in machines])
    intercepts = np.array([machine.intercept for machine in machines])
    if n_classes == 2:
        labels = (solutions[0].signs > 0).astype(np.int64)
        return ClassMachines(
            np.column_stack([-coefficients, coefficients]), np.append(-intercepts, intercepts), labels, tuple(solutions)
        )
    scores = np.column_stack([machine.scores for machine in machines])
    labels = np.where(mask, scores, -np.inf).argmax(axis=1)
    return ClassMachines(coefficients, intercepts, labels, tuple(solutions))


def _nowhere(problem: MachineProblem, cost: float) -> TransductiveSolution:
    """Return w = 0, b = -1, by which no row has a loss, for a class that none is of; even where others have no b."""
    machine = replace(problem.start(), intercept=-1.0, held_intercept=-1.0, violation=0.0, converged=True)
    return TransductiveSolution(machine, -np.ones(problem.space.n_rows), np.zeros(1), np.full((1, 2), cost), None)
