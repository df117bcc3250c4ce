"""The likelihood of the candidate sets, as the mode and the evidence see it: value, slopes and bends in the latents."""

from dataclasses import dataclass
from typing import Protocol

from array_api_compat import array_namespace

from oneof.likelihoods import log_likelihoods, masked_softmax, softmax, softmax_jvp
from oneof.typing import Array


@dataclass(frozen=True)
class Likelihood:
    """p(S_i | f_i) = exp(G_L(f_i)) / sum_k exp f_ik, with the aggregate function G_L of `oneof.likelihoods`."""

    mask: Array
    """(n, K): no row holds every class."""
    sharpness: float
    """L, above 0; inf for the largest candidate."""

    def value(self, latents: Array) -> float:
        """Return sum_i log p(S_i | f_i)."""
        values = log_likelihoods(latents, self.mask, self.sharpness)
        return float(array_namespace(values).sum(values))

    def psi(self, coefficients: Array, latents: Array) -> float:
        """Return Psi = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k, for coefficients A with F = K A."""
        return self.value(latents) - 0.5 * float(array_namespace(latents).sum(coefficients * latents))

    def at(self, latents: Array) -> "Shares":
        """Return the derivatives at these latents."""
        inside = masked_softmax(latents, self.mask, self.sharpness)
        return Shares(softmax(latents), inside, self.sharpness)


class Bends(Protocol):
    """What a step of the ascent asks of the likelihood."""

    def bends(self, moves: Array) -> Array:
        """Return its negative Hessian times a move of the latents."""


@dataclass(frozen=True)
class Shares:
    """The probabilities of the classes, from which come all derivatives of the likelihood."""

    overall: Array
    """pi, (n, K)."""
    inside: Array
    """q, (n, K): 0 outside the sets."""
    sharpness: float

    @property
    def slopes(self) -> Array:
        """Q - pi, (n, K): the gradient."""
        return self.inside - self.overall

    def bends(self, moves: Array) -> Array:
        """Return W_true v with W_true = diag pi - pi pi^T - L (diag q - q q^T), the negative Hessian.

        For L = inf it is W = diag pi - pi pi^T: of the other term nothing is left but where candidates tie.
        """
        bends = softmax_jvp(self.overall, moves)
        if self.sharpness < float("inf"):
            bends -= self.sharpness * softmax_jvp(self.inside, moves)
        return bends
