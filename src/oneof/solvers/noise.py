"""The noise rate of candidate sets with its interval, and the probability of each set to be wrong.

Row i has the true class k with the probability

    p_ik proportional to f_k (m_ik / f_k)^b,

with the held-out probabilities m, the frequencies f of the classes in the labels, and the power b. Its set excludes
the true class with probability e, and a wrong set has the wrong label j with probability R_kj (see `wrong_sets`).

The classifier was fitted to labels with errors, so that m is calibrated for the labels given, and b = 1 explains every
error. Labels that are wrong among confident predictions are explained by a large b and e > 0, and classes that overlap
by a small b and e = 0. With b = 0 the predictions have no information.

For each e of a grid, b is fitted by EM with a Newton step of sum_i sum_k q_ik log p_ik, where q is the posterior of
the true class. R is the expected frequency of the wrong labels after the first fit, shrunk to 1 / (K - 1). All
estimates are averages over the grid. The weights are the likelihood of e to the power 1/c, times the prior of e. Its
strength is fixed, so that many rows outweigh it. Without information in the predictions, few rows are then suspected.

The grid ends at the rate of random sets, 1 - s / K: beyond it, a set is evidence against its labels, and predictions
that are worse than chance would be evidence for wrong labels.

The interval has all e whose log-likelihood is at most c q / 2 below the largest one, where q is a quantile of the
chi-squared distribution with one degree of freedom (Wilks 1938). The factor c widens it, since the model is an
approximation. Errors that a classifier has learned look like overlap, so that the upper end of the likelihood is too
low. The upper end is therefore at least the fraction of labels that exclude the predicted class, among the most
confident half of the predictions of each class.

**Probabilities of sets that exclude the true class.**

A set S of size s < K contains the true class k with probability 1 - e. All sets of size s that contain k are then
equally probable, 1 / C(K-1, s-1). A wrong set, one without k, contains a label j with probability R_kj, and its other
members are random:

    p(S | k, wrong) = (K - 1) / C(K-1, s) * 1/s sum_{j in S} R_kj.

R_kk = 0 and sum_j R_kj = 1. If all wrong labels are equally probable, R_kj = 1 / (K - 1), all wrong sets have the
probability 1 / C(K-1, s). For exact labels R is the distribution of the wrong label. Divided by the probability of a
right set, the factor is (K - 1) / (K - s) sum_{j in S} R_kj.

A row with weights is a mixture of its level sets (`oneof.candidates.LevelSets`), each right or wrong in this way.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import PchipInterpolator
from scipy.stats import chi2

from oneof.candidates import LevelSets
from oneof.likelihoods import softmax, uniform_within_sets
from oneof.typing import Evidence, Floats, Ints, Mask

MIN_PROBABILITY = 1e-8
"""Held-out probabilities and frequencies below this count as this: the inverse of more rows than are audited."""
CONFUSION_STRENGTH = 100.0
"""Pseudo-rows of each class with equally probable wrong labels. Chosen among 20, 70, 100, 200 and infinity on ecoli,
glass, ionosphere, mfeat_zernike, usps and vehicle; confirmed on the other sets, those of docs/audit.md."""
DISPERSION = 4.0
"""c. Chosen among 1, 2, 4 and 8 on the same six sets, where .94 of the intervals of 90 % contain the rate; .95 on the
sets of docs/audit.md."""
PRIOR_ROWS = 4.0
"""Pseudo-rows with a right set: the prior of e is Beta(1, 5), of mean 1/6. Chosen among 0, 2, 4 and 8 in simulations of
weak features with right labels, of which at most .3 % of exact ones (18 % with 0) and 7 % of sets are suspected. On the
same six sets and on those of docs/audit.md, as many intervals contain the rate as with 0, and the mean average
precision differs by less than .001."""
CRITICAL = float(chi2.ppf(0.9, 1))
"""Quantile of intervals of 90 %."""
CONFIDENT_SHARE = 0.5
"""Share of the most confident predictions. Chosen among .2, .5 and 1 on the same six sets for narrow intervals."""
MAX_RATE, N_RATES = 0.95, 25
"""Limit of e, and number of values of the grid. They are equally spaced in sqrt(e), in which the error of a binomial
fraction is constant; .027 apart at e = .1, which is two standard errors of 500 rows."""
MAX_ROWS = 2000
"""Number of rows, drawn at random, to which the parameters are fitted: the standard error of e = .1 is .007."""
MIN_POWER, MAX_POWER, MAX_STEP = 1.0 / 64, 16.0, 0.5
"""Limits of b: no information, and hard predictions; and of a step of log b, for the safety of Newton's method."""
POWER_TOL, MAX_ITER = 2e-3, 15
"""Tolerance and number of Newton steps of log b. Each fit starts at b of the neighboring e."""
MIN_WEIGHT = 1e-4
"""Rates of the grid of less weight do not change two decimals of a probability."""


# -- wrong sets --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrongSets:
    """The level sets of n rows, without those of all classes."""

    n_rows: int
    row: Ints
    """(m,): the row of each set."""
    mask: Mask
    """(m, K): the members of each set."""
    factor: Floats
    """(m,): (K - 1) / (K - s), times the mass of the set in its row."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Self:
        """Return the sets of an (n, K) mask, or of (n, K) weights with row maxima of 1."""
        levels = LevelSets.from_evidence(evidence)
        n, K = evidence.shape
        factor = levels.mass * (K - 1) / (K - np.count_nonzero(levels.mask, axis=1))
        return cls(n, levels.row, levels.mask, factor)

    def likelihood_ratios(self, confusion: Floats) -> Floats:
        """Return p(S_i | k, wrong) / p(S_i | k, right), (n, K), summed over the level sets of each row.

        Parameters
        ----------
        confusion : ndarray of shape (K, K)
            R.
        """
        ratios = np.where(self.mask, 0.0, self.factor[:, None] * (self.mask @ confusion.T))
        of_row = sp.csr_array(
            (np.ones(len(self.row)), (self.row, np.arange(len(self.row)))), (self.n_rows, len(ratios))
        )
        return np.asarray(of_row @ ratios)

    def counts(self, confusion: Floats, weights: Floats) -> Floats:
        """Return the expected numbers of rows of class k with the wrong label j, (K, K).

        Parameters
        ----------
        confusion : ndarray of shape (K, K)
            R.
        weights : ndarray of shape (n, K)
            The posterior probability that row i has class k and a wrong set, divided by its likelihood ratio.
        """
        of_set = np.where(self.mask, 0.0, weights[self.row] * self.factor[:, None])
        return np.asarray(confusion * (of_set.T @ self.mask))


def uniform_confusion(n_classes: int) -> Floats:
    """Return R with equally probable wrong labels."""
    return (1.0 - np.eye(n_classes)) / (n_classes - 1)


@dataclass(frozen=True)
class NoiseModel:
    """Parameters of the model of noise: e, b and R."""

    rate: float
    power: float
    confusion: Floats


@dataclass(frozen=True)
class NoisePosterior:
    """Result of an E-step."""

    proba: Floats
    """p, (n, K)."""
    ratios: Floats
    """p(S_i | k, wrong) / p(S_i | k, right), (n, K)."""
    wrong: Floats
    """r, (n,): the probability that the set of the row excludes its true class."""
    likelihood: Floats
    """p(S_i | x_i), (n,), up to a constant factor."""

    @property
    def outside(self) -> Floats:
        """The probabilities of the classes if the set is wrong, (n, K); rows sum to 1, or are 0 without any."""
        return normalize_rows(self.proba * self.ratios)


@dataclass(frozen=True)
class NoiseProblem:
    """Rows with held-out probabilities and labels."""

    log_frequencies: Floats
    """log f, (K,)."""
    log_gains: Floats
    """log(m / f), (n, K)."""
    inside: Floats
    """The weights, (n, K)."""
    sets: WrongSets

    @classmethod
    def of(cls, proba: Floats, evidence: Evidence, audited: Mask | None = None, rows: Any = slice(None)) -> Self:
        """Return the problem of some rows; the frequencies are those of all audited rows, and other rows are right."""
        audited = np.ones(len(proba), dtype=bool) if audited is None else audited
        frequencies = np.log(np.maximum(uniform_within_sets(evidence[audited]).mean(axis=0), MIN_PROBABILITY))
        gains = np.log(np.maximum(proba[rows], MIN_PROBABILITY)) - frequencies
        sets = WrongSets.from_evidence(np.where(audited[:, None], evidence, True)[rows])  # of all classes: never wrong
        return cls(frequencies, gains, evidence[rows].astype(np.float64), sets)

    def posterior(self, model: NoiseModel) -> NoisePosterior:
        """Return the E-step."""
        proba = np.asarray(softmax(model.power * self.log_gains + self.log_frequencies))
        ratios = self.sets.likelihood_ratios(model.confusion)
        inside = (1.0 - model.rate) * (proba * self.inside).sum(axis=1)
        outside = model.rate * (proba * ratios).sum(axis=1)
        likelihood = np.maximum(inside + outside, np.finfo(np.float64).tiny)
        return NoisePosterior(proba, ratios, outside / likelihood, likelihood)

    def fit(self, rate: float, power: float = 1.0) -> tuple[NoiseModel, float]:
        """Return the model with a rate, from a start of b, and its log-likelihood with the log prior of R."""
        K = self.log_gains.shape[1]
        model = self._fit_power(NoiseModel(rate, power, uniform_confusion(K)))
        prior = 0.0
        if K > 2 and rate > 0:
            posterior = self.posterior(model)
            counts = self.sets.counts(model.confusion, posterior.proba * (rate / posterior.likelihood)[:, None])
            counts += CONFUSION_STRENGTH * uniform_confusion(K)
            confusion = counts / counts.sum(axis=1, keepdims=True)
            model = self._fit_power(NoiseModel(rate, model.power, confusion))
            off = ~np.eye(K, dtype=bool)
            prior = CONFUSION_STRENGTH / (K - 1) * float(np.log((K - 1) * confusion[off]).sum())
        return model, float(np.log(self.posterior(model).likelihood).sum()) + prior

    def _fit_power(self, model: NoiseModel) -> NoiseModel:
        """Return the model with the most probable b, by EM with one Newton step of log b for each E-step."""
        power, step, n_iter = model.power, np.inf, 0
        while abs(step) > POWER_TOL and n_iter < MAX_ITER:
            one = self.posterior(NoiseModel(model.rate, power, model.confusion))
            factor = (1.0 - model.rate) * self.inside + model.rate * one.ratios
            target = one.proba * factor / one.likelihood[:, None]
            mean = (one.proba * self.log_gains).sum(axis=1)
            slope = power * float(((target * self.log_gains).sum(axis=1) - mean).sum())
            curvature = power**2 * float(((one.proba * self.log_gains**2).sum(axis=1) - mean**2).sum())
            step = float(np.clip(slope / max(curvature, MIN_PROBABILITY), -MAX_STEP, MAX_STEP))
            power, n_iter = float(np.clip(power * np.exp(step), MIN_POWER, MAX_POWER)), n_iter + 1
        return NoiseModel(model.rate, power, model.confusion)

    def classes(self, model: NoiseModel, audited: Mask) -> Floats:
        """Return the probabilities of the true class, (n, K): the model's rate of audited rows is outside the sets."""
        posterior = self.posterior(model)
        mean = max(float(posterior.wrong[audited].mean()), MIN_PROBABILITY)
        share = np.minimum(posterior.wrong * (model.rate / mean), 1.0)
        return mix_posterior(posterior.proba, self.inside, share, posterior.outside)


@dataclass(frozen=True)
class NoiseEstimate:
    """Result of `estimate_noise`."""

    interval: tuple[float, float]
    proba: Floats
    """Mean of p, (n, K)."""
    wrong: Floats
    """Mean of r, (n,)."""
    outside: Floats
    """(n, K): probabilities of the classes if the set is wrong; rows sum to 1, or are 0 without such a class."""
    power: float
    """Geometric mean of b."""
    confusion: Floats
    """Mean of R, (K, K)."""
    at_ends: tuple[Floats, Floats]
    """The probabilities of the true class, (n, K), at both ends of the interval."""

    def posterior(self, evidence: Evidence) -> Floats:
        """Return the probabilities of the true class, (n, K)."""
        return mix_posterior(self.proba, evidence, self.wrong, self.outside)


def estimate_noise(
    proba: Floats, evidence: Evidence, rate: float | None = None, seed: int = 0, audited: Mask | None = None
) -> NoiseEstimate:
    """Estimate the noise of rows.

    Parameters
    ----------
    proba : ndarray of shape (n, K)
        Held-out probabilities.
    evidence : ndarray of shape (n, K)
        A mask, or weights.
    rate : float, optional
        The noise rate, if it is known.
    seed : int
        Seed of the rows that the parameters are fitted to.
    audited : ndarray of bool of shape (n,), optional
        The rows whose noise is estimated, none of them unlabeled, by default all. The others are right.
    """
    audited = np.ones(len(proba), dtype=bool) if audited is None else audited
    rows, sample = np.flatnonzero(audited), np.flatnonzero(audited)
    if len(rows) > MAX_ROWS:  # evenly spaced rows would miss errors that depend on the order of the rows
        sample = rows[np.random.default_rng(seed).permutation(len(rows))[:MAX_ROWS]]
    problem, part = (NoiseProblem.of(proba, evidence, audited, one) for one in (slice(None), sample))
    chance = 1.0 - float(evidence[rows].sum(axis=1).mean()) / evidence.shape[1]  # of random sets to exclude the truth
    largest = min(chance, MAX_RATE)
    rates = np.linspace(0.0, np.sqrt(largest), N_RATES) ** 2 if rate is None else np.array([rate])
    models, logs, power = [], np.empty(len(rates)), 1.0
    for j, value in enumerate(rates.tolist()):
        model, logs[j] = part.fit(value, power)
        models.append(model)
        power = model.power
    weights = np.ones(1)
    if rate is None:
        weights = np.exp((logs - logs.max()) / DISPERSION) * (1.0 - rates) ** PRIOR_ROWS * np.gradient(rates)
    weights = np.where(weights > MIN_WEIGHT * weights.sum(), weights, 0.0)
    weights /= weights.sum()
    kept = [(weight, model) for weight, model in zip(weights.tolist(), models, strict=True) if weight > 0]
    mean, wrong, outside = np.zeros(proba.shape), np.zeros(len(proba)), np.zeros(proba.shape)
    for weight, model in kept:
        posterior = problem.posterior(model)
        mean += weight * posterior.proba
        wrong += weight * posterior.wrong
        outside += weight * posterior.proba * posterior.ratios
    wrong = np.minimum(wrong, 1.0)  # the weights sum to 1 up to rounding
    low, high = rates[0], rates[-1]
    if rate is None:
        estimate = float(wrong[rows].mean())
        low, high = _interval(rates, logs)
        high = max(high, _contradicted_share(proba[rows], evidence[rows]))
        low, high = min(low, estimate), min(max(high, estimate), largest)
    at_low, at_high = (
        problem.classes(part.fit(float(end), model.power)[0], audited)
        for end, (_, model) in ((low, kept[0]), (high, kept[-1]))
    )
    return NoiseEstimate(
        interval=(float(low), float(high)),
        proba=mean,
        wrong=wrong,
        outside=normalize_rows(outside),
        power=float(np.exp(sum(weight * np.log(model.power) for weight, model in kept))),
        confusion=np.asarray(sum(weight * model.confusion for weight, model in kept)),
        at_ends=(at_low, at_high),
    )


def _interval(rates: Floats, logs: Floats) -> tuple[float, float]:
    """Return the smallest and the largest rate whose log-likelihood is near the largest one."""
    fine = np.union1d(rates, np.linspace(rates[0], rates[-1], 1000))
    inside = fine[PchipInterpolator(rates, logs)(fine) >= logs.max() - DISPERSION * CRITICAL / 2]
    return float(inside[0]), float(inside[-1])


def _contradicted_share(proba: Floats, evidence: Evidence) -> float:
    """Return an upper limit of the fraction of rows whose labels exclude a confident prediction.

    It is the fraction among the most confident half of the predictions of each class, weighted by the number of
    predictions of the class, and its binomial error.
    """
    predicted, n = proba.argmax(axis=1), len(proba)
    rows = np.arange(n)
    excluded, confidence = evidence[rows, predicted] == 0, proba[rows, predicted]
    share = 0.0
    for k in np.unique(predicted):
        of_class = np.flatnonzero(predicted == k)
        n_confident = max(int(CONFIDENT_SHARE * len(of_class)), 1)
        share += len(of_class) / n * excluded[of_class[np.argsort(-confidence[of_class])[:n_confident]]].mean()
    return float(share + z_error(share, CONFIDENT_SHARE * n, CRITICAL))


def z_error(fraction: float, n_rows: float, critical: float) -> float:
    """Return the half-width of the normal interval of a fraction of rows; it is not 0 for fractions of 0 and 1."""
    return float(np.sqrt(critical * max(fraction * (1 - fraction), 1 / n_rows) / n_rows))


def mix_posterior(proba: Floats, evidence: Evidence, share: Floats, outside: Floats) -> Floats:
    """Return the probabilities of the true class, (n, K): those of right sets, and a share of wrong ones."""
    return np.asarray((1.0 - share[:, None]) * normalize_rows(proba * evidence) + share[:, None] * outside)


def normalize_rows(values: Floats) -> Floats:
    """Return values whose rows sum to 1; rows of zeros stay zero."""
    total = values.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(values, total, out=np.zeros_like(values), where=total > 0))
