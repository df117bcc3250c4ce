"""From rows and their sets to the Gaussian posterior of the latents."""

import warnings
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array

from oneof.errors import InputError
from oneof.kernels import covariance, is_psd_by_construction, variances
from oneof.likelihoods import softmax
from oneof.solvers.laplace.cholesky import find_mode_by_factors
from oneof.solvers.laplace.jitter import least_jitter
from oneof.solvers.laplace.landmarks import NystroemFeatures
from oneof.solvers.laplace.limits import LARGEST_VARIANCE, TOO_LARGE, refused_if_too_large
from oneof.solvers.laplace.mode import LaplaceMode, find_mode
from oneof.solvers.laplace.posterior import LaplacePosterior, double, prior_of
from oneof.solvers.laplace.prior import FeaturePrior, GramPrior
from oneof.typing import Array, FeatureMatrix
from oneof.validation import check_memory


def approximate_posterior(
    kernels: list[Any],
    rows: FeatureMatrix,
    mask: Array,
    sharpness: float,
    *,
    published: bool,
    n_components: int | None,
    anneal: bool,
    max_iter: int,
    tol: float,
    random: np.random.Generator,
) -> tuple[LaplacePosterior, LaplaceMode]:
    """Find the mode, and keep what predicts from it.

    Parameters
    ----------
    kernels : list of kernels
        One, or one for each class.
    rows : array of shape (n, d)
    mask : boolean array of shape (n, K)
        None of the sets holds every class.
    sharpness : float
        L.
    published : bool
        By Cholesky factors, not by conjugate gradients.
    n_components : int or None
        Landmarks of the Nystrom approximation; None takes the kernels as they are.
    anneal, max_iter, tol
        As for `find_mode`.
    random : Generator
        Draws the landmarks.

    Raises
    ------
    InputError
        If a Gram matrix, or later the covariances of features, would not fit in memory, or the kernel is none.
    """
    n = rows.shape[0]
    features: list[NystroemFeatures] = []
    if n_components is None:
        # In double and in single precision. What tensors take is the memory of another device.
        needed = 0 if is_torch_array(rows) else 12 * n**2 * len(kernels)
        check_memory(needed, f"the kernel of {n} labeled rows", 'pass approximation="nystroem"')
    else:
        m, size = min(n_components, n), min(n_components, n) * mask.shape[1]
        if not is_torch_array(rows):
            check_memory(12 * n * m * len(kernels), f"{m} features of {n} labeled rows", "lower n_components")
            # Predictions will need them: better said now than after the fit.
            check_memory(16 * size**2, f"covariances of {m} features and {mask.shape[1]} classes", "lower n_components")
        features = landmark_features(kernels, rows[np.sort(random.permutation(n)[:m])])
    check_variances(kernels, rows)
    jitters = tuple(0.0 if features else _jitter(kernel, rows) for kernel in kernels)
    prior = prior_of(kernels, features, rows, jitters)
    if published and isinstance(prior, GramPrior):
        check_memory(8 * n**2 * (mask.shape[1] + 3), f"factors of {n} labeled rows", 'pass solver="cg"')
        with refused_if_too_large():
            mode = find_mode_by_factors(prior, mask, sharpness, anneal=anneal, max_iter=max_iter, tol=tol)
    else:
        mode = find_mode(prior, mask, sharpness, anneal=anneal, max_iter=max_iter, tol=tol)
    weights = prior.weights(mode.coefficients) if isinstance(prior, FeaturePrior) else None
    posterior = LaplacePosterior(
        kernels, rows, features, mode.coefficients, softmax(mode.latents), weights, jitters, sharpness, published
    )
    return posterior, mode


def landmark_features(kernels: list[Any], landmarks: FeatureMatrix) -> list[NystroemFeatures]:
    """Return the features of each kernel; raises where one is no kernel."""
    for kernel in kernels:
        if not is_psd_by_construction(kernel, landmarks.shape[1]):
            least_jitter(double(covariance(kernel, landmarks)))  # raises; what is nearly a kernel needs no jitter
    return [NystroemFeatures.of(kernel, landmarks) for kernel in kernels]


def check_variances(kernels: list[Any], rows: FeatureMatrix) -> None:
    """Raise where the prior variance of a row is too large for the arithmetic."""
    if any(float(array_namespace(own).max(own)) > LARGEST_VARIANCE for own in (variances(k, rows) for k in kernels)):
        raise InputError(TOO_LARGE)


def _jitter(kernel: Any, rows: FeatureMatrix) -> float:
    """Return what must be added to the diagonal of a kernel's Gram matrix, with a warning if that is anything."""
    if is_psd_by_construction(kernel, rows.shape[1]):
        return 0.0
    gram = double(covariance(kernel, rows))
    share = least_jitter(gram)
    if share:
        warnings.warn(
            f"the kernel {kernel} is not quite positive semi-definite: {share:g} of its mean variance was added to the "
            "diagonal.",
            UserWarning,
            stacklevel=5,
        )
    return share * float(array_namespace(gram).mean(abs(array_namespace(gram).linalg.diagonal(gram))))
