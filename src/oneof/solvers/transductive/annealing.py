"""Label switching while the cost of the unlabeled rows grows (Joachims 1999, Algorithm TSVM).

Over w, b and the signs y*_j of the unlabeled rows, num_+ of which are 1, what is to be minimized is

    1/2 ||w||^2 + C sum_i xi_i + C* sum_j xi*_j,

the first sum over labeled rows, the second over unlabeled ones. There are as many minima as labelings, and the one
that is reached depends on the way. The costs C*_- and C*_+ of the two kinds of unlabeled rows begin so low that labels
alone count, and grow round by round; in each round machines are solved and signs traded until no pair is switchable.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from oneof.solvers.feature_spaces import kernel_matvec
from oneof.solvers.transductive.machine import Machine, MachineProblem, solve_machine
from oneof.solvers.transductive.switching import switchable_pairs
from oneof.typing import Floats

LOWEST_COST = 1e-5
"""C*_- in the first round, in units of C*."""
GROWTH = 1.5
"""Of the costs from one round to the next: that of the author's program; 2 is printed."""


@dataclass(frozen=True)
class Sides:
    """What is known of one class against the others."""

    signs: Floats
    """(n,): 1 for rows of the class, -1 for rows of others, 0 for the unlabeled."""
    n_positive: int
    """num_+, from 0 to the number of the unlabeled rows."""
    ranking: Floats | None = None
    """(n,): coefficients of the rows in the scores sum_i ranking_i k(x_i, x) by which the unlabeled rows are first
    ranked; None for the scores of the machine of the labeled rows."""


@dataclass(frozen=True)
class TransductiveSolution:
    """Where the last round ended."""

    machine: Machine
    signs: Floats
    """(n,): y, and y* for the unlabeled rows."""
    objective: Floats
    """After each machine, from the hinge losses at the costs of its round."""
    costs: Floats
    """(len(objective), 2): C*_- and C*_+ of that round."""
    stopped: Literal["passes", "machines"] | None
    """What kept it from its end: the passes of a machine, that of the labeled rows among them, which then is not
    solved to its tolerance; or the number of machines. None if nothing did."""

    @property
    def n_iter(self) -> int:
        """Machines solved of all rows, so without that of the labeled rows."""
        return len(self.objective)

    @property
    def converged(self) -> bool:
        """Whether every machine was solved to its tolerance, and switching came to its end."""
        return self.stopped is None


def solve_transductive(
    problem: MachineProblem,
    sides: Sides,
    *,
    C: float,
    C_unlabeled: float,
    switching: Literal["multiple", "single"] = "multiple",
    cost_ratio: Literal["balanced", "printed"] = "balanced",
    growth: float = GROWTH,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    random: np.random.Generator,
) -> TransductiveSolution:
    """Find signs of the unlabeled rows of which no pair is switchable, and their machine.

    Parameters
    ----------
    problem : MachineProblem
    sides : Sides
    C, C_unlabeled : float
        Above 0.
    switching : {"multiple", "single"}
        Between two machines, trade the signs of all pairs that `switchable_pairs` returns, or of the first.
    cost_ratio : {"balanced", "printed"}
        C*_+ / C*_- at first: "balanced" is (1 - p) / p with p the share of num_+ in the unlabeled rows, so that both
        kinds have the same total cost; "printed" is p / (1 - p).
    growth : float
        Above 1.
    tol : float
        Above 0: tolerance of the scores of the last machine, and margin of its switchable pairs. Until the end both are
        sqrt(tol).
    max_iter : int
        Machines solved of all rows, at most.
    random : Generator
        For the order in which rows are visited.

    Returns
    -------
    TransductiveSolution
        Its objective never rises while the costs stay as they are.
    """
    unlabeled = np.flatnonzero(sides.signs == 0)
    costs = np.where(sides.signs == 0, 0.0, C)
    loose = max(tol, float(np.sqrt(tol))) if len(unlabeled) else tol
    signs = np.where(sides.signs == 0, -1.0, sides.signs)
    machine = problem.start()
    stopped: Literal["passes", "machines"] | None = None
    if costs.any():
        machine = solve_machine(problem, signs, costs, initial=machine, tol=loose, random=random, may_rise=True)
        stopped = None if machine.converged else "passes"
    ranks = machine.products if sides.ranking is None else kernel_matvec(problem.space, sides.ranking)
    highest = unlabeled[np.argsort(-ranks[unlabeled], kind="stable")[: sides.n_positive]]
    signs[highest] = 1.0
    trace: list[tuple[float, float, float]] = []
    last = None
    for low, high, precision in rounds(sides.n_positive, len(unlabeled), C_unlabeled, cost_ratio, growth, (loose, tol)):
        while len(trace) < max_iter:
            costs[unlabeled] = np.where(signs[unlabeled] > 0, high, low)
            machine = solve_machine(
                problem, signs, costs, initial=machine, tol=precision, random=random, may_rise=(low, high) != last
            )
            last = low, high
            trace.append((problem.objective(machine, signs, costs), low, high))
            if not machine.converged:
                # Trades need not lower the objective of such a machine, and so might go on for ever.
                stopped = "passes"
                break
            pairs = switchable_pairs(machine.scores, signs, unlabeled, margin=precision)
            if not len(pairs[0]):
                break
            if len(trace) < max_iter:  # what is returned are the signs of the last machine
                for rows in pairs:
                    traded = rows if switching == "multiple" else rows[:1]
                    signs[traded] *= -1.0
        else:
            stopped = stopped or "machines"
    found = np.array(trace)
    return TransductiveSolution(machine, signs, found[:, 0], found[:, 1:], stopped)


def rounds(
    n_positive: int, n_unlabeled: int, top: float, cost_ratio: str, growth: float, tolerances: tuple[float, float]
) -> Iterator[tuple[float, float, float]]:
    """Yield C*_-, C*_+ and the tolerance of each round: two at full cost come last, of which one is exact."""
    loose, tol = tolerances
    n_negative = n_unlabeled - n_positive
    if n_unlabeled:
        ratio = 1.0  # where all have one sign, nothing is to be balanced, nor switched
        if n_positive and n_negative:
            ratio = n_negative / n_positive if cost_ratio == "balanced" else n_positive / n_negative
        low, high = LOWEST_COST * top, min(LOWEST_COST * top * ratio, top)
        while low < top or high < top:
            yield low, high, loose
            low, high = min(growth * low, top), min(growth * high, top)
        yield top, top, loose
    yield top, top, tol
