"""Result of an audit: the rows whose candidate sets probably exclude the true class, and weights for a refit."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.likelihoods import uniform_within_sets
from oneof.solvers.noise import NoiseModel, NoiseProblem, normalize_rows
from oneof.typing import Evidence, Floats, Ints, Mask
from oneof.validation import check_positive

ISSUE_PROBABILITY = 0.5
"""A row is an issue if its set is more probably wrong than right."""
MIN_MEAN_SHARE = 1e-12
"""Mean probability of wrong sets up to which there are none."""
Z = 1.96
"""Quantile of intervals of 95 %."""
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
        A weighted row is a mixture of the sets of its classes above each weight; if named classes were given, it is the
        probability that it does not name the true class. NaN for the rows of the ranking if the noise rate is unknown.
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
    share : ndarray of shape (n_samples,)
        The share of `outside` in `posterior`: `probability`, except for rows with weights and named classes. It has no
        use if the noise rate is unknown.
    share_interval : tuple of two floats
        The interval of the mean share.
    ends : tuple of two NoiseModel
        The models of noise at both ends of this interval.
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
    share: Floats
    share_interval: tuple[float, float]
    ends: tuple[NoiseModel, NoiseModel]

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
        share = np.zeros_like(self.share) if self.is_rate_unknown else self.share
        return mix_posterior(self.proba, self.candidates.evidence, share, self.outside)

    def estimate_accuracy(self, labels: Any) -> tuple[float, tuple[float, float]]:
        """Return the expected fraction of labels that are the true class, with an interval of 95 %.

        Such labels are the first labels of lists, one for each row. The estimate rests on the model of noise, as the
        noise rate does. The interval contains the estimates at both ends of the interval of the noise rate, and the
        binomial error of the rows is added to them.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            Classes; rows with another value, such as None, are not counted, and neither are checked rows.

        Returns
        -------
        accuracy : float
            NaN if the noise rate is unknown, or if no row has a label.
        interval : tuple of two floats

        Raises
        ------
        InputError
            If there is not one label for each row.

        Examples
        --------
        >>> import numpy as np
        >>> from oneof import CandidateSets
        >>> from oneof.audit import find_label_issues
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.integers(3, size=300)
        >>> X = 2 * np.eye(3)[truth] + rng.normal(size=(300, 3))
        >>> first = np.where(rng.random(300) < 0.8, truth, rng.integers(3, size=300))
        >>> lists = CandidateSets.from_weights(0.07 + 0.79 * np.eye(3)[first], kind="posterior")
        >>> accuracy, (low, high) = find_label_issues(X, lists).estimate_accuracy(first)
        >>> bool(low < np.mean(first == truth) < high)
        True
        """
        column = {label: k for k, label in enumerate(self.candidates.classes.tolist())}
        given = np.asarray(labels, dtype=object)
        if given.shape != (len(self.candidates),):
            raise InputError(
                f"`labels` must be a vector with a label for each of the {len(self.candidates)} rows; got shape "
                f"{given.shape}."
            )
        code = np.array([column.get(label, -1) for label in given.tolist()])
        rows = self.ranking[code[self.ranking] >= 0]
        if self.is_rate_unknown or not len(rows):
            return float("nan"), (0.0, 1.0)
        right = self.posterior[rows, code[rows]]
        labeled = np.sort(self.ranking)
        scores = np.log(np.maximum(self.proba[labeled], np.finfo(np.float64).tiny)) / self.power
        problem = NoiseProblem.of(
            scores, self.candidates.evidence[labeled], group_rows(self.candidates, labeled), len(self.ends[0].rates)
        )
        is_counted = code[labeled] >= 0
        at_ends = [
            float(one[is_counted, code[labeled][is_counted]].mean())
            for one in posteriors_at_ends(problem, self.ends, self.share_interval)
        ]
        accuracy = float(right.mean())
        error = binomial_error(accuracy, len(rows))
        return accuracy, (max(min(accuracy, *at_ends) - error, 0.0), min(max(accuracy, *at_ends) + error, 1.0))

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

        A row has the weights (1 - r_i) w_ik / sum_j w_ij + r_i u_ik. Here r_i is the probability that its set is wrong
        (`share`), and u_ik that of the class in this case. A probably right row keeps its set, and a probably wrong one
        has mainly the labels proposed instead.

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
        return mix_weights(self.candidates, self.share, self.outside, self._is_changed())

    def _is_changed(self) -> Mask:
        """Return the mask of the rows that `corrected` changes."""
        if self.is_rate_unknown:
            return np.zeros(len(self.share), dtype=bool)
        return self.share >= (MIN_CORRECTION if self.share_interval[0] > 0 else ISSUE_PROBABILITY)

    def __repr__(self) -> str:
        low, high = self.noise_rate_interval
        n_rows, n_issues = len(self.ranking), int(self.is_issue.sum())
        if self.is_rate_unknown:
            return f"<LabelIssues of {n_rows} rows: unknown noise rate>"
        source = "given" if self.is_rate_given else f"{low:.1%} to {high:.1%}"
        rate = f"{self.noise_rate:.1%} of the sets are wrong ({source})"
        return f"<LabelIssues of {n_rows} rows: {rate}, {n_issues} probable>"


def group_rows(candidates: CandidateSets, rows: Ints) -> Ints:
    """Return the group of some rows, from 0, with its own noise rate: the rows with weights, or of one set size."""
    size = np.where(candidates.is_weighted, 0, candidates.sizes)[rows]
    return np.asarray(np.unique(size, return_inverse=True)[1])


def mix_posterior(proba: Floats, evidence: Evidence, share: Floats, outside: Floats) -> Floats:
    """Return the posterior probabilities of the true class, (n, K): those of right sets, and a share of wrong ones."""
    wrong = share[:, None]
    return np.asarray((1.0 - wrong) * normalize_rows(proba * evidence) + wrong * outside)


def posteriors_at_ends(
    problem: NoiseProblem, ends: tuple[NoiseModel, NoiseModel], rates: tuple[float, float]
) -> Iterator[Floats]:
    """Yield the posterior probabilities of the true class, (n, K), at both ends of the interval of the noise rate.

    The rows that explain the labels best have a mean probability of errors that differs from the rate of the model.
    The probabilities are scaled to this rate, so that the interval of a fraction of rows is not narrower than it.
    """
    for model, rate in zip(ends, rates, strict=True):
        posterior = problem.posterior(model)
        share = np.minimum(posterior.wrong * (rate / max(float(posterior.wrong.mean()), MIN_MEAN_SHARE)), 1.0)
        outside = normalize_rows(posterior.proba * posterior.ratios)
        yield mix_posterior(posterior.proba, problem.inside, share, outside)


def binomial_error(rate: float, n_rows: int) -> float:
    """Return half of the width of the interval of 95 % of a fraction of rows, which is not 0 for rates of 0 and 1."""
    return Z * math.sqrt(max(rate * (1 - rate), 1 / n_rows) / n_rows)


def mix_weights(candidates: CandidateSets, probability: Floats, outside: Floats, changed: Mask) -> CandidateSets:
    """Return candidate sets in which some rows have the weights of `LabelIssues.corrected`."""
    weights = candidates.weights
    share = probability[changed][:, None]
    mixed = (1.0 - share) * uniform_within_sets(weights[changed]) + share * outside[changed]
    kept = candidates.mask[changed] | (mixed >= MIN_CORRECTION * mixed.max(axis=1, keepdims=True))
    weights[changed] = np.where(kept, mixed, 0.0)
    return CandidateSets.from_weights(weights, classes=candidates.classes)
