"""A prior so wide that a Gaussian process predicts against its own means, seen on the rows of fit."""

import warnings
from typing import Any

import numpy as np

from oneof.estimators.tensors import as_numpy, like
from oneof.solvers.laplace.expectation import expected_shares
from oneof.solvers.laplace.posterior import LaplacePosterior
from oneof.typing import Floats

PROBES = 64
"""Rows of fit on which predictions are compared with the latent means."""
MOST_OTHERS = 1 / 3
"""Share of them that may differ without a warning."""
LEAST_DRAWS = 100
"""With fewer, predictions differ by chance."""


def warn_of_wide_posteriors(posterior: LaplacePosterior, spread: Any, normals: Floats) -> None:
    """Warn where the means of the softmax name other classes than the means of the latents, for many rows of fit."""
    if len(normals) < LEAST_DRAWS:
        return
    rows = posterior.rows
    probes = rows[np.linspace(0, rows.shape[0] - 1, PROBES, dtype=int)]
    means, covariances = next(posterior.means_and_covariances(probes, spread))
    shares = as_numpy(expected_shares(means, covariances, like(normals, means)))
    others = float((shares.argmax(axis=1) != as_numpy(means).argmax(axis=1)).mean())
    if others > MOST_OTHERS:
        warnings.warn(
            f"PLGP predicts another class than the largest latent mean does for {others:.0%} of the rows of fit, "
            "as the prior variance is large: lower the kernel's, or take the means of latent_mean_and_cov.",
            UserWarning,
            stacklevel=2,
        )
