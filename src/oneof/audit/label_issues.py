"""Result of an audit: the rows whose candidate sets probably exclude the true class, and weights for a refit."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.solvers.noise import NoiseEstimate, estimate_noise, z_error
from oneof.typing import Floats, Ints, Mask
from oneof.validation import check_positive

ISSUE_PROBABILITY = 0.5
"""A row is an issue if its set is more probably wrong than right."""
CRITICAL = 1.96**2
"""Quantile of the intervals of 95 % of an accuracy."""
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
        The probability that the set excludes the true class, in [0, 1].
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
        probability that it does not name the true class.
    ranking : ndarray of shape (n_labeled,)
        The rows that are neither unlabeled nor checked, by decreasing probability.
    proposed : ndarray of shape (n_samples,)
        The most probable class if the set is wrong.
    runner_up : ndarray of shape (n_samples,)
        The most probable class except the proposed one.
    noise_rate : float
        The fraction of wrong sets among the rows of the ranking: estimated, or the known one.
    noise_rate_interval : tuple of two floats
        An interval of 90 %. It is wide if the predictions have little information about the labels.
    is_rate_given : bool
        Whether the noise rate was given, so that its interval has no width.
    n_wrong : float
        The expected number of wrong sets.
    n_wrong_interval : tuple of two floats
    n_changed : int
        The number of rows that `corrected` changes.
    is_issue : ndarray of shape (n_samples,), bool
        The rows with a probability above 1/2.
    noise_rate_by_size : dict of int to float
        The expected fraction of wrong sets among the sets of each size; weighted rows are not counted.
    noise_rate_by_label : dict of label to float
        The expected fraction of wrong labels among the exact rows with each label.
    noise : NoiseEstimate
        The model of noise, with all rows. `power` is the power of the held-out predictions, and `proba` are these
        predictions, so that they predict the true class. `confusion` has the probability of each wrong label (columns)
        if the set excludes the true class (rows); classes with few wrong sets have nearly equal probabilities.
        `outside` has the probabilities of the classes if the set is wrong. `wrong` is the share of `outside` in
        `posterior`: `probability`, except for rows with weights and named classes. `at_ends` are the posteriors at
        both ends of the interval of the mean share.
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
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    is_rate_given: bool
    noise_rate_by_size: dict[int, float]
    noise_rate_by_label: dict[Any, float]
    noise: NoiseEstimate

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
        return int((self.noise.wrong >= MIN_CORRECTION).sum())

    @property
    def posterior(self) -> Floats:
        """The probabilities of the true class of each row, (n_samples, n_classes)."""
        return self.noise.posterior(self.candidates.evidence)

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
            NaN if no row has a label.
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
        given = np.asarray(labels, dtype=object)
        if given.shape != (len(self.candidates),):
            raise InputError(
                f"`labels` must be a vector with a label for each of the {len(self.candidates)} rows; got shape "
                f"{given.shape}."
            )
        code = class_codes(given, self.candidates)
        rows = self.ranking[code[self.ranking] >= 0]
        return self._accuracy_of(code, rows) if len(rows) else (float("nan"), (0.0, 1.0))

    def _accuracy_of(self, code: Ints, rows: Ints) -> tuple[float, tuple[float, float]]:
        """Return the expected fraction of rows whose true class has the code; -1 is not a class."""
        right = [
            float(np.where(code[rows] >= 0, posterior[rows, code[rows]], 0.0).mean())
            for posterior in (self.posterior, *self.noise.at_ends)
        ]
        return right[0], widen(right, len(rows))

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

        A row has the weights, up to a factor,

            (1 - r_i) w_ik / sum_j pi_j w_ij + r_i u_ik / pi_k.

        Here r_i is the probability that its set is wrong (`noise.wrong`), u_ik that of the class in this case
        (`noise.outside`), and pi the mean of the held-out predictions. A probably right row keeps its set, and a
        probably wrong one has mainly the labels proposed instead. These are posteriors divided by their prior pi, so
        that a fit does not count the class frequencies twice; without information in the features, they are the
        likelihood of the set under the model of noise.

        Returns
        -------
        CandidateSets
            The weights have the same rows and classes. Rows with r_i below 0.001 and unlabeled rows do not change.

        Notes
        -----
        The weights contain the held-out prediction of the row. Estimators of oneof accept them; any other classifier
        does so in a `CandidateEM`.
        """
        changed = self.noise.wrong >= MIN_CORRECTION
        weights, mask = self.candidates.weights, self.candidates.mask
        prior = self.noise.proba[np.sort(self.ranking)].mean(axis=0)
        share, given = self.noise.wrong[changed][:, None], weights[changed]
        mixed = (1.0 - share) * given / (given @ prior)[:, None] + share * self.noise.outside[changed] / prior
        kept = mask[changed] | (mixed >= MIN_CORRECTION * mixed.max(axis=1, keepdims=True))
        weights[changed] = np.where(kept, mixed, 0.0)
        return CandidateSets.from_weights(weights, classes=self.candidates.classes)

    def __repr__(self) -> str:
        low, high = self.noise_rate_interval
        source = "given" if self.is_rate_given else f"{low:.1%} to {high:.1%}"
        rate = f"{self.noise_rate:.1%} of the sets are wrong ({source})"
        return f"<LabelIssues of {len(self.ranking)} rows: {rate}, {self.is_issue.sum()} probable>"


def issues_from_proba(
    proba: Floats,
    candidates: CandidateSets,
    noise_rate: float | None = None,
    seed: int = 0,
    *,
    checked: Mask | None = None,
    named: Mask | None = None,
) -> LabelIssues:
    """Fit the model of noise (`oneof.solvers.noise`) to held-out probabilities, (n, K).

    Rows of the mask `checked` are right, and have no part in the fit. `named` has the classes that rows with weights
    list, see `find_label_issues`.
    """
    audited = ~candidates.is_unlabeled if checked is None else ~candidates.is_unlabeled & ~checked
    rows, evidence = np.flatnonzero(audited), candidates.evidence
    noise = estimate_noise(proba, evidence, noise_rate, seed, audited)
    probability, elsewhere = noise.wrong, noise.outside
    rate, interval = float(probability[rows].mean()) if noise_rate is None else float(noise_rate), noise.interval
    lists = np.flatnonzero(candidates.is_weighted & audited)
    if named is not None and len(lists):
        names = np.where(candidates.is_weighted[:, None], named, candidates.mask)
        probability, elsewhere = noise.wrong.copy(), noise.outside.copy()
        elsewhere[lists] = np.where(names[lists], 0.0, noise.posterior(evidence)[lists])
        probability[lists] = np.minimum(elsewhere[lists].sum(axis=1), 1.0)
        means = [float(np.where(names, 0.0, one)[rows].sum(axis=1).mean()) for one in noise.at_ends]
        rate = float(probability[rows].mean())
        interval = widen([rate, *means], len(rows))
    best = np.where(elsewhere.any(axis=1), elsewhere.argmax(axis=1), noise.proba.argmax(axis=1))
    others = noise.proba.copy()
    others[np.arange(len(best)), best] = -1.0
    sets, exact = audited & ~candidates.is_weighted, np.flatnonzero(candidates.is_exact & audited)
    classes = candidates.classes
    return LabelIssues(
        candidates=candidates,
        probability=probability,
        ranking=rows[np.argsort(-probability[rows], kind="stable")],
        proposed=classes[best],
        runner_up=classes[others.argmax(axis=1)],
        noise_rate=rate,
        noise_rate_interval=interval,
        is_rate_given=noise_rate is not None,
        noise_rate_by_size=_mean_by_group(probability[sets], candidates.sizes[sets]),
        noise_rate_by_label=_mean_by_group(probability[exact], classes[candidates.mask[exact].argmax(axis=1)]),
        noise=noise,
    )


def _mean_by_group(probability: Floats, group: Any) -> dict[Any, float]:
    """Return the mean probability of each group."""
    return {k: float(probability[group == k].mean()) for k in np.unique(group).tolist()}


def class_codes(labels: Any, candidates: CandidateSets) -> Ints:
    """Return the codes of labels in the classes; -1 for another value."""
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    return np.array([column.get(label, -1) for label in labels.tolist()])


def widen(values: list[float], n_rows: int) -> tuple[float, float]:
    """Return an interval that contains values, the first of which is the estimate, and its binomial error of 95 %."""
    error = z_error(values[0], n_rows, CRITICAL)
    return max(min(values) - error, 0.0), min(max(values) + error, 1.0)
