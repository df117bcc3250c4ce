"""Proximal point method for columns that are far larger than the others, such as time stamps beside 0/1 columns.

The weights of such a column are almost free of penalty, since small weights suffice. The duals of all rows then cancel
in them: sums of terms up to ||x|| / lam must be exact to many more digits than a number has. With v_j = w_j s_j, where
s_j > 1 is the size of the column relative to the others and p_j = 1 / s_j^2, the objective is

    J(v) = lam/2 sum_j p_j v_j^2 + losses of the rows divided by s.

Each outer step adds the term lam/2 sum_j (1 - p_j) (v_j - v'_j)^2 at the current weights v', with which the penalty is
lam/2 ||v - (1 - p) v'||^2 up to a constant. The dual is again that of a support vector machine with well-scaled rows,
and J never increases (Rockafellar 1976, Monotone operators and the proximal point algorithm).
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.plsvm.problem import PLSVMProblem
from oneof.typing import Floats

MAX_SCALE_RATIO = 1e3
"""Ratio of a column's root mean square to the median of all columns above which the column is scaled."""


@dataclass(frozen=True)
class ProximalPenalty:
    """The penalty lam/2 ||W - center||^2 + constant, which is at least the penalty of the problem.

    Both are equal at the weights at which it was made.
    """

    center: Floats | float = 0.0
    constant: float = 0.0

    @classmethod
    def at(cls, problem: PLSVMProblem, weights: Floats) -> "ProximalPenalty":
        """Return the penalty with the proximal term at some weights; without scaled columns that of the problem."""
        if problem.ridge is None:
            return NO_PROXIMAL_TERM
        center = weights - problem.penalized(weights)
        return cls(center, 0.5 * problem.lam * float(np.vdot(problem.penalized(weights), center)))


NO_PROXIMAL_TERM = ProximalPenalty()


def scale_columns(problem: PLSVMProblem) -> tuple[PLSVMProblem, Floats] | None:
    """Return the problem in scaled columns and the scales, (D,); None if no column is far larger than the median."""
    space = problem.space
    if not isinstance(space, FeatureSpace) or not space.X.shape[1] or not space.n_rows:
        return None
    squares = space.X.power(2) if sp.issparse(space.X) else np.square(space.X)
    sizes = np.sqrt(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel())
    if not sizes.any():
        return None
    median = float(np.quantile(sizes[sizes > 0.0], 0.5, method="lower"))
    scales = np.where(sizes > MAX_SCALE_RATIO * median, sizes / median, 1.0)
    if (scales == 1.0).all():
        return None
    X = (space.X @ sp.diags_array(1.0 / scales)).tocsr() if sp.issparse(space.X) else space.X / scales
    all_scales = np.append(scales, 1.0) if space.has_constant else scales
    scaled = FeatureSpace(X, has_constant=space.has_constant)
    return replace(problem, space=scaled, ridge=all_scales**-2.0), all_scales
