"""What the search for the minimum asks of the objective: sums over rows, wherever these lie."""

from typing import Any, Protocol

from oneof.solvers.linear_objective import Block
from oneof.typing import Floats


class Line(Protocol):
    """The losses along a step, as functions of its length."""

    def slope(self, length: float) -> float:
        """Return the first derivative of the losses' sum."""

    def curvature(self, length: float) -> float:
        """Return the second."""


class Sums(Protocol):
    """What the search asks of the objective; scores and curvatures are handed back as they came."""

    @property
    def shape(self) -> tuple[int, int]:
        """(K, D)."""

    @property
    def blocks_fit(self) -> bool:
        """Whether the Hessian's blocks are small enough to be factorized."""

    def penalized(self, weights: Floats) -> Floats:
        """Return the weights with 0 for the intercept."""

    def scores(self, weights: Floats) -> Any:
        """Return the scores of the rows."""

    def objective(self, weights: Floats, scores: Any) -> float:
        """Return f."""

    def gradient(self, weights: Floats, scores: Any) -> Floats:
        """Return the (K, D) gradient of f."""

    def curvatures(self, scores: Any) -> Any:
        """Return the second derivatives of the losses by the scores."""

    def hessian_product(self, curvatures: Any, direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""

    def hessian_diagonal(self, curvatures: Any) -> Floats:
        """Return its diagonal, (K, D)."""

    def hessian_blocks(self, curvatures: Any) -> list[Block]:
        """Return its blocks, one a class."""

    def line(self, scores: Any, moved: Any) -> Line:
        """Return the losses where the scores move."""
