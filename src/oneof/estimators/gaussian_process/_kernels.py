"""Parameters and kernels of `PLGP`: validation, optimization of hyperparameters, and a check of the prior variance."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from oneof.arrays import as_numpy, to_namespace_of
from oneof.errors import InputError, InputTypeError
from oneof.messages import warn
from oneof.solvers.laplace.hyperparameters import search_hyperparameters
from oneof.solvers.laplace.posterior import LaplacePosterior, PosteriorCovariance, expected_softmax
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints

N_PROBES = 64
"""Number of rows of `fit` on which predictions are compared with the latent means."""
MAX_DISAGREEMENT = 1 / 3
"""Maximum fraction of these rows whose predictions may differ without a warning."""
MIN_MC_SAMPLES = 100
"""With fewer samples, predictions differ by chance."""


def make_kernels(kernel: Any, variance: Callable[[], float], n_classes: int) -> list[Any]:
    """Return clones of the kernels, one or as many as there are classes.

    Parameters
    ----------
    kernel : kernel, list of kernels or None
        None makes the default kernel.
    variance : callable
        Returns the sum of the variances of the features; only called for the default kernel.
    n_classes : int
    """
    from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, Kernel

    if kernel is None:
        # The evidence often grows with the variance; above 100 the mean of the softmax may prefer classes without data.
        # Rounded: on flat evidence the optimizer would diverge if another order of summation changed the last bit.
        length = float(f"{np.sqrt(variance()):.9g}") or 1.0
        return [ConstantKernel(1.0, (1e-2, 1e2)) * RBF(length, (length / 100.0, length * 100.0))]
    kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
    if any(isinstance(own, CompoundKernel) for own in kernels):
        raise InputTypeError("`kernel` must not be a CompoundKernel. Pass a list of kernels, one for each class.")
    if not all(isinstance(own, Kernel) for own in kernels) or not kernels:
        raise InputTypeError(
            f"`kernel` must be a kernel of sklearn.gaussian_process.kernels, or a list of them; got {kernel!r}."
        )
    if isinstance(kernel, list | tuple) and len(kernels) != n_classes:
        raise InputError(
            f"`kernel` must be one kernel or one for each class; got a list of {len(kernels)} for {n_classes} classes."
        )
    return [clone(own) for own in kernels]


def subsample(n_rows: int, max_rows: int | None, rng: np.random.Generator) -> Ints | None:
    """Return sorted indices of a random sample of the rows, or None if there are no more than `max_rows`."""
    if max_rows is None or max_rows >= n_rows:
        return None
    return np.sort(rng.permutation(n_rows)[:max_rows])


def optimize_kernels(
    kernels: list[Any],
    rows: FeatureMatrix,
    evidence: Evidence,
    sharpness: float,
    *,
    optimizer: Any,
    n_restarts: int,
    max_rows: int | None,
    rng: np.random.Generator,
) -> list[Any]:
    """Return the kernels with the hyperparameters that maximize the evidence of at most `max_rows` random rows."""
    if is_torch_array(rows):  # scikit-learn's kernel derivatives need NumPy arrays
        raise InputError("`optimizer` must be None for tensors. Pass optimizer=None.")
    sample = subsample(len(evidence), max_rows, rng)
    if sample is not None:
        rows, evidence = rows[sample], evidence[sample]
    result = search_hyperparameters(
        np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64),
        evidence,
        kernels if len(kernels) > 1 else kernels[0],
        sharpness,
        optimizer=optimizer,
        n_restarts=n_restarts,
        rng=rng,
    )
    if not np.isfinite(result.evidence):
        warn(
            "PLGP: the evidence could not be computed for any hyperparameters of the kernel, which is unchanged. "
            "Scale the features, or pass optimizer=None.",
            ConvergenceWarning,
        )
    return result.kernel if len(kernels) > 1 else [result.kernel]


def warn_if_prior_dominates(posterior: LaplacePosterior, covariance: PosteriorCovariance, normals: Floats) -> None:
    """Warn if the mean of the softmax and the mean of the latents predict different classes for many rows of `fit`."""
    if len(normals) < MIN_MC_SAMPLES:
        return
    rows = posterior.rows
    probes = rows[np.linspace(0, rows.shape[0] - 1, N_PROBES, dtype=int)]
    means, covariances = next(posterior.means_and_covariances(probes, covariance))
    proba = as_numpy(expected_softmax(means, covariances, to_namespace_of(normals, means)))
    disagreement = float((proba.argmax(axis=1) != as_numpy(means).argmax(axis=1)).mean())
    if disagreement > MAX_DISAGREEMENT:
        warn(
            "PLGP predicts another class than the largest latent mean does for "
            f"{disagreement:.0%} of the rows of fit, because the prior variance is large. Lower the kernel's variance, "
            "or use the means of `latent_mean_and_cov`.",
        )
