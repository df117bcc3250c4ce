"""Result of an audit: the rows whose candidate sets probably exclude the true class, and weights for a refit."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.likelihoods import uniform_within_sets
from oneof.solvers.noise import normalize_rows
from oneof.typing import Floats, Ints, Mask
from oneof.validation import check_positive

ISSUE_PROBABILITY = 0.5
"""A row is an issue if its set is more probably wrong than right."""
MIN_CORRECTION = 1e-3
"""Rows below this probability keep their evidence, and classes below it, relative to the best one, are ruled out."""


class LabelIssue(NamedTuple):
    """A row whose candidate set may exclude its true class.

    Attributes
    ----------
    row : int
        Counted from 0.
    candidates : list
        The labels of its set.
    proposed : label
        The most probable class if the set excludes the true class.
    probability : float
        The probability that the set excludes the true class, in [0, 1]; NaN if the noise rate is unknown.
    runner_up : label
        The most probable class except the proposed one; it may be a candidate.

    Examples
    --------
    >>> from oneof.audit import LabelIssue
    >>> LabelIssue(3, ["finch"], "wren", 0.93, "finch").proposed
    'wren'
    """

    row: int
    candidates: list[Any]
    proposed: Any
    probability: float
    runner_up: Any


@dataclass(frozen=True, eq=False)
class LabelIssues:
    """Result of `find_label_issues`.

    Attributes
    ----------
    candidates : CandidateSets
        The sets, n_samples rows.
    probability : ndarray of shape (n_samples,)
        The probability that the set of the row excludes its true class, in [0, 1]; 0 for unlabeled and checked rows.
        A weighted row is a mixture of the sets of its classes above each weight. NaN for the rows of the ranking if the
        noise rate is unknown.
    ranking : ndarray of shape (n_labeled,)
        The rows that are neither unlabeled nor checked, by decreasing probability.
    proposed : ndarray of shape (n_samples,)
        The most probable class if the set is wrong.
    runner_up : ndarray of shape (n_samples,)
        The most probable class except the proposed one.
    proba : ndarray of shape (n_samples, n_classes)
        The held-out predictions to a power, so that they predict the true class; rows sum to 1.
    noise_rate : float
        The fraction of wrong sets among the rows of the ranking: estimated, or the known one. NaN if it is unknown
        because the predictions have too little information about the labels.
    noise_rate_interval : tuple of two floats
        It begins at 0 if the rate is unknown.
    is_rate_given : bool
        Whether the noise rate was given, so that its interval has no width.
    is_rate_unknown : bool
        Whether the noise rate is NaN. Then no row is an issue, and `corrected` changes nothing.
    n_wrong : float
        The expected number of wrong sets.
    n_wrong_interval : tuple of two floats
    n_changed : int
        The number of rows that `corrected` changes.
    is_issue : ndarray of shape (n_samples,), bool
        The rows with a probability above 1/2.
    noise_rate_by_size : dict of int to float
        The noise rates of sets of each size with at least 50 rows; weighted rows are not counted.
    noise_rate_by_label : dict of label to float
        The noise rates of the exact rows with each label, of at least 50 rows.
    confusion : ndarray of shape (n_classes, n_classes)
        The probability of each wrong label (columns) if the set excludes the true class (rows); rows sum to 1. Classes
        with few wrong sets have nearly equal probabilities.
    power : float
        The power of the held-out predictions.
    outside : ndarray of shape (n_samples, n_classes)
        The probabilities of the classes if the set is wrong. Rows sum to 1; those of unlabeled rows are 0.
    posterior : ndarray of shape (n_samples, n_classes)
        The probabilities of the true class given the features and the set, which may be wrong; rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof import PLEM
    >>> from oneof.audit import find_label_issues
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=100)
    >>> X = rng.normal(size=(100, 2)) + 4 * truth[:, None]
    >>> y = np.where(np.arange(100) < 10, 1 - truth, truth)  # the first ten labels are wrong
    >>> issues = find_label_issues(X, y)
    >>> sum(issue.row < 10 for issue in issues.top(10))
    9
    >>> low, high = issues.n_wrong_interval
    >>> low < 10 < high
    True
    >>> refit = PLEM().fit(X, issues.corrected())
    """

    candidates: CandidateSets
    probability: Floats
    ranking: Ints
    proposed: Any
    runner_up: Any
    proba: Floats
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    is_rate_given: bool
    noise_rate_by_size: dict[int, float]
    noise_rate_by_label: dict[Any, float]
    confusion: Floats
    power: float
    outside: Floats

    @property
    def is_rate_unknown(self) -> bool:
        """Whether the noise rate is unknown."""
        return bool(np.isnan(self.noise_rate))

    @property
    def n_wrong(self) -> float:
        """The expected number of wrong sets."""
        return float(self.probability.sum())

    @property
    def n_wrong_interval(self) -> tuple[float, float]:
        """The interval of the number of wrong sets."""
        low, high = self.noise_rate_interval
        return low * len(self.ranking), high * len(self.ranking)

    @property
    def is_issue(self) -> Mask:
        """Mask of the rows with a probability above 1/2, of shape (n_samples,)."""
        return self.probability > ISSUE_PROBABILITY

    @property
    def n_changed(self) -> int:
        """The number of rows that `corrected` changes."""
        return int(self._is_changed().sum())

    @property
    def posterior(self) -> Floats:
        """The probabilities of the true class of each row, (n_samples, n_classes); of right sets at an unknown rate."""
        wrong = np.nan_to_num(self.probability)[:, None]
        return (1.0 - wrong) * normalize_rows(self.proba * self.candidates.evidence) + wrong * self.outside

    def top(self, n: int | None = None) -> list[LabelIssue]:
        """Return the rows whose sets are most probably wrong, the most probable first.

        Parameters
        ----------
        n : int, optional
            Number of rows; by default those with a probability above 1/2.

        Returns
        -------
        list of LabelIssue

        Raises
        ------
        InputError
            If `n` is not a whole number of at least 0.
        """
        if n is None:
            n = int(self.is_issue.sum())
        check_positive("n", n, integer=True, allow_zero=True)
        rows = self.ranking[: int(n)]
        classes = self.candidates.classes
        return [
            LabelIssue(int(i), classes[self.candidates.mask[i]].tolist(), proposed, float(self.probability[i]), second)
            for i, proposed, second in zip(rows, self.proposed[rows].tolist(), self.runner_up[rows].tolist())
        ]

    def corrected(self) -> CandidateSets:
        """Return weights for a refit: ``estimator.fit(X, issues.corrected())``.

        A row has the weights (1 - r_i) w_ik / sum_j w_ij + r_i u_ik. Here r_i is the probability that its set is wrong,
        and u_ik that of the class in this case. A probably right row keeps its set, and a probably wrong one has mainly
        the labels proposed instead.

        Returns
        -------
        CandidateSets
            The weights have the same rows and classes. Rows with r_i below 0.001 and unlabeled rows do not change. If
            the interval of the noise rate begins at 0, only rows with r_i above 1/2 change, so that clean sets stay as
            they are.

        Notes
        -----
        The weights are posterior probabilities and contain the held-out prediction of the row. Estimators of oneof
        accept them; any other classifier does so in a `CandidateEM`.
        """
        return mix_weights(self.candidates, self.probability, self.outside, self._is_changed())

    def _is_changed(self) -> Mask:
        """Return the mask of the rows that `corrected` changes."""
        return self.probability >= (MIN_CORRECTION if self.noise_rate_interval[0] > 0 else ISSUE_PROBABILITY)

    def __repr__(self) -> str:
        low, high = self.noise_rate_interval
        n_rows, n_issues = len(self.ranking), int(self.is_issue.sum())
        if self.is_rate_unknown:
            return f"<LabelIssues of {n_rows} rows: unknown noise rate>"
        source = "given" if self.is_rate_given else f"{low:.1%} to {high:.1%}"
        rate = f"{self.noise_rate:.1%} of the sets are wrong ({source})"
        return f"<LabelIssues of {n_rows} rows: {rate}, {n_issues} probable>"


def mix_weights(candidates: CandidateSets, probability: Floats, outside: Floats, changed: Mask) -> CandidateSets:
    """Return candidate sets in which some rows have the weights of `LabelIssues.corrected`."""
    weights = candidates.weights
    share = probability[changed][:, None]
    mixed = (1.0 - share) * uniform_within_sets(weights[changed]) + share * outside[changed]
    kept = candidates.mask[changed] | (mixed >= MIN_CORRECTION * mixed.max(axis=1, keepdims=True))
    weights[changed] = np.where(kept, mixed, 0.0)
    return CandidateSets.from_weights(weights, classes=candidates.classes)
