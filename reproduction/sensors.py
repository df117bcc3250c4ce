"""Synthetic rows of two sensors, with missing sensors."""

from typing import Any, NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Labels

N_BACKGROUND = 12
"""Number of common factors of the first sensor's features; they explain 90 % of the variance."""


class TwoSensors(NamedTuple):
    """Rows of two sensors.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The features of the first sensor, then those of the second; NaN in all features of a sensor that a row lacks.
    y : ndarray of shape (n_samples,)
        "mine" or "clutter".
    views : list of ndarray
        The columns of each sensor, as ``GraphLogisticRegression(views=...)`` takes them.
    seen : ndarray of shape (n_samples, 2), bool
        True if the row is a mine and the sensor shows its signature. A mine may be seen by neither sensor.
    """

    X: Floats
    y: Labels
    views: list[Ints]
    seen: np.ndarray[Any, np.dtype[np.bool_]]


def make_two_sensors(
    n_rows: tuple[int, int, int] = (123, 398, 316),
    n_features: tuple[int, int] = (420, 9),
    *,
    fraction: float = 0.25,
    visible: tuple[float, float] = (0.75, 0.75),
    separation: tuple[float, float] = (5.0, 3.0),
    random_state: Any = None,
) -> TwoSensors:
    """Generate rows of a rare class and of clutter, as recorded by two sensors of different kinds.

    The data are synthetic. The sizes are those of the land-mine data of Krishnapuram et al., which are not public: an
    optical sensor of 420 features, and a radar of 9.

    Parameters
    ----------
    n_rows : tuple of three int, default=(123, 398, 316)
        The numbers of rows with only the first sensor, only the second sensor, and both.
    n_features : tuple of two int, default=(420, 9)
        The number of features of each sensor, at least 1.
    fraction : float, default=0.25
        The fraction of mines among all rows, in (0, 1); their number is rounded and independent of the sensors.
    visible : tuple of two float, default=(0.75, 0.75)
        The probability that each sensor sees a mine, in [0, 1]. The sensors are independent, so that both together miss
        fewer mines than either.
    separation : tuple of two float, default=(5.0, 3.0)
        The distance between the means of visible mines and of clutter, at least 0, in standard deviations along the
        best direction.
    random_state : int, Generator or None
        The same seed gives the same rows.

    Returns
    -------
    TwoSensors
        In random order.

    Notes
    -----
    Clutter is Gaussian. The features of the first sensor are smooth, such as neighboring bands of a spectrum: 12
    factors with loadings that vary slowly from feature to feature, and little noise. The features of the second sensor
    are correlated at random. A visible mine adds its sensor's signature, a fixed vector, times a strength from 0.5 to
    1.5 that is drawn for each mine and sensor.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: section 6.
    """
    rng = np.random.default_rng(random_state)
    n = sum(n_rows)
    has = np.repeat([[True, False], [False, True], [True, True]], n_rows, axis=0)[rng.permutation(n)]
    mine = np.zeros(n, dtype=bool)
    mine[rng.permutation(n)[: round(fraction * n)]] = True
    seen = mine[:, None] & has & (rng.random((n, 2)) < visible)
    first, second = n_features
    blocks = []
    for sensor, roots in enumerate((_smooth_roots(first, rng), _mixed_roots(second, rng))):
        rows = rng.normal(size=(n, roots.shape[1])) @ roots.T
        # A random direction is scaled to the requested length in the metric of the clutter's covariance.
        signature = roots @ rng.normal(size=roots.shape[1])
        length = np.sqrt(signature @ np.linalg.solve(roots @ roots.T, signature))
        strength = rng.uniform(0.5, 1.5, size=n) * seen[:, sensor]
        rows += separation[sensor] / length * strength[:, None] * signature
        rows[~has[:, sensor]] = np.nan
        blocks.append(rows)
    views = [np.arange(first), np.arange(first, first + second)]
    return TwoSensors(np.hstack(blocks), np.where(mine, "mine", "clutter"), views, seen)


def _smooth_roots(n_features: int, rng: np.random.Generator) -> Floats:
    """Return R with R R^T the covariance of smooth features of variance 1, (n_features, N_BACKGROUND + n_features)."""
    position = np.linspace(0.0, 1.0, n_features)[:, None]
    phases = rng.uniform(0.0, 2 * np.pi, size=N_BACKGROUND)
    loadings = np.cos(np.pi * np.arange(N_BACKGROUND) * position + phases) / np.sqrt(1.0 + np.arange(N_BACKGROUND))
    loadings *= np.sqrt(0.9) / np.linalg.norm(loadings, axis=1, keepdims=True)
    return np.hstack([loadings, np.sqrt(0.1) * np.eye(n_features)])


def _mixed_roots(n_features: int, rng: np.random.Generator) -> Floats:
    """Return R with R R^T the covariance of features of variance 1 that are correlated at random."""
    roots = np.eye(n_features) + 0.5 * rng.normal(size=(n_features, n_features))
    return roots / np.linalg.norm(roots, axis=1, keepdims=True)
