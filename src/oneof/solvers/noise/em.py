"""EM for the noise of candidate sets, given held-out predictions of the true class.

Row i has the true class k with probability p_ik, the softmax of b times its held-out scores. Its set excludes k with
probability e_g, where g is the group of the row: the size of its set. See `wrong_sets` for the probability of a set.

* E-step: r_i = p(wrong | x_i, S_i), and the posterior q_ik of the true class.
* M-step: e_g is the mean of r_i in the group, shrunk to the mean of all rows. R_kj is the expected frequency of the
  wrong label j in rows of class k, shrunk to 1 / (K - 1). b takes one Newton step of sum_i sum_k q_ik log p_ik.

The classifier was fitted to labels with errors. Its probabilities are calibrated for the label that a row was given,
not for the true one, and with b = 1 they explain every error. The power b and the noise rate are fitted together. A
large b with a positive e_g explains labels that are wrong among confident predictions. A small b explains classes that
overlap. EM starts from several values of b, and the most probable solution is returned.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from oneof.likelihoods import softmax
from oneof.solvers.noise.wrong_sets import WrongSets, uniform_confusion
from oneof.typing import Evidence, Floats, Ints

CONFUSION_STRENGTH = 70.0
"""Pseudo-rows of each class with equally probable wrong labels."""
GROUP_STRENGTH = 20.0
"""Pseudo-rows of each group at the noise rate of all rows."""
MIN_POWER, MAX_POWER, MAX_STEP = 1.0 / 16, 16.0, 0.5
"""Limits of b, and of a step of its logarithm."""
MIN_RATE, MAX_RATE = 1e-6, 0.95
STARTS = ((1.0, 0.02), (1.5, 0.1), (2.5, 0.25))
"""Values of b and e at which EM starts."""


@dataclass(frozen=True)
class NoiseModel:
    """Parameters of the model of noise."""

    power: float
    """b."""
    rates: Floats
    """e_g, (n_groups,)."""
    confusion: Floats
    """R, (K, K)."""

    def predict(self, scores: Floats) -> Floats:
        """Return p, the softmax of b times the scores, (n, K)."""
        return np.asarray(softmax(self.power * scores))


@dataclass(frozen=True)
class NoisePosterior:
    """Result of an E-step."""

    proba: Floats
    """p, (n, K)."""
    ratios: Floats
    """p(S_i | k, wrong) / p(S_i | k, right), (n, K)."""
    wrong: Floats
    """r, (n,)."""
    likelihood: Floats
    """p(S_i | x_i), (n,), up to a constant factor."""


@dataclass(frozen=True)
class NoiseSolution:
    """Result of `solve_noise`."""

    model: NoiseModel
    proba: Floats
    """Tempered probabilities p, (n, K)."""
    wrong: Floats
    """r, (n,): the probability that the set of the row excludes its true class."""
    outside: Floats
    """(n, K): probabilities of the classes if the set is wrong; rows sum to 1, or are 0 without such a class."""
    likelihood: Floats
    """p(S_i | x_i), (n,), up to the factor by which sum_k w_ik p_ik is the likelihood of a right set."""
    log_likelihood: float
    """With the logarithm of the prior of R."""
    n_iter: int


@dataclass(frozen=True)
class NoiseProblem:
    """The rows of the model: scores, evidence and groups."""

    scores: Floats
    inside: Floats
    """(n, K): the weights."""
    sets: WrongSets
    group: Ints
    n_groups: int

    @classmethod
    def of(cls, scores: Floats, evidence: Evidence, group: Ints, n_groups: int) -> Self:
        """Return the problem of some rows."""
        return cls(scores, evidence.astype(np.float64), WrongSets.from_evidence(evidence), group, n_groups)

    def posterior(self, model: NoiseModel) -> NoisePosterior:
        """Return the E-step."""
        proba, ratios = model.predict(self.scores), self.sets.likelihood_ratios(model.confusion)
        rate = model.rates[self.group]
        inside = (1.0 - rate) * (proba * self.inside).sum(axis=1)
        outside = rate * (proba * ratios).sum(axis=1)
        likelihood = np.maximum(inside + outside, np.finfo(np.float64).tiny)
        return NoisePosterior(proba, ratios, outside / likelihood, likelihood)

    def log_likelihood(self, model: NoiseModel, posterior: NoisePosterior) -> float:
        """Return the logarithm of the likelihood and of the prior of the confusion."""
        K = self.scores.shape[1]
        off = ~np.eye(K, dtype=bool)
        prior = CONFUSION_STRENGTH / (K - 1) * np.log((K - 1) * model.confusion[off]).sum() if K > 2 else 0.0
        return float(np.log(posterior.likelihood).sum() + prior)

    def update(self, model: NoiseModel, posterior: NoisePosterior, total_rate: float | None = None) -> NoiseModel:
        """Return the M-step; with `total_rate` this is the mean of the rates over the rows."""
        rate, weight = model.rates[self.group], 1.0 / posterior.likelihood
        sums = np.bincount(self.group, weights=posterior.wrong, minlength=self.n_groups)
        totals = np.bincount(self.group, minlength=self.n_groups)
        rates = (sums + GROUP_STRENGTH * posterior.wrong.mean()) / (totals + GROUP_STRENGTH)
        if total_rate is not None:
            mean = float(totals @ rates) / len(self.group)
            rates = rates * (total_rate / mean) if mean > 0 else np.full(self.n_groups, total_rate)
        rates = np.clip(rates, MIN_RATE if total_rate is None else 0.0, MAX_RATE)
        confusion = model.confusion
        K = len(confusion)
        if K > 2:
            counts = self.sets.counts(confusion, posterior.proba * (rate * weight)[:, None])
            counts += CONFUSION_STRENGTH * uniform_confusion(K)
            confusion = counts / counts.sum(axis=1, keepdims=True)
        members = posterior.proba * ((1.0 - rate)[:, None] * self.inside + rate[:, None] * posterior.ratios)
        return NoiseModel(self._power_step(model.power, posterior.proba, members * weight[:, None]), rates, confusion)

    def _power_step(self, power: float, proba: Floats, target: Floats) -> float:
        """Return b after a Newton step of sum_i sum_k q_ik log p_ik in log b."""
        mean = (proba * self.scores).sum(axis=1)
        slope = power * float(((target * self.scores).sum(axis=1) - mean).sum())
        curvature = power**2 * float(((proba * self.scores**2).sum(axis=1) - mean**2).sum())
        step = np.clip(slope / max(curvature, 1e-12), -MAX_STEP, MAX_STEP)
        return float(np.clip(power * np.exp(step), MIN_POWER, MAX_POWER))

    def run(self, model: NoiseModel, max_iter: int, tol: float, total_rate: float | None = None) -> "EMRun":
        """Return the model after EM; it ends when no rate and not log b change by more than `tol`."""
        n_iter, change = 0, np.inf
        while n_iter < max_iter and change > tol:
            updated = self.update(model, self.posterior(model), total_rate)
            change = max(float(np.abs(updated.rates - model.rates).max()), abs(np.log(updated.power / model.power)))
            model, n_iter = updated, n_iter + 1
        posterior = self.posterior(model)
        return EMRun(model, posterior, self.log_likelihood(model, posterior), n_iter)


@dataclass(frozen=True)
class EMRun:
    """Result of EM from one start."""

    model: NoiseModel
    posterior: NoisePosterior
    log_likelihood: float
    n_iter: int


def solve_noise(
    scores: Floats,
    evidence: Evidence,
    group: Ints,
    *,
    total_rate: float | None = None,
    max_iter: int = 500,
    tol: float = 1e-5,
    max_rows: int = 10_000,
    seed: int = 0,
) -> NoiseSolution:
    """Fit the model of noise to rows that are not unlabeled.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Held-out scores: the logarithms of probabilities, or others of which the softmax is taken.
    evidence : ndarray of shape (n, K)
        A mask, or weights.
    group : ndarray of shape (n,)
        The group of each row, from 0, with its own noise rate.
    total_rate : float, optional
        A known noise rate of all groups.
    max_iter : int
        Limit of the iterations from each start.
    tol : float
        EM ends when no rate and not log b change by more than this.
    max_rows : int
        The parameters are fitted to at most this number of rows.
    seed : int
        Seed of the choice of these rows.
    """
    n, K = scores.shape
    n_groups = int(group.max()) + 1
    problem = NoiseProblem.of(scores, evidence, group, n_groups)
    rows = sample_rows(n, max_rows, seed)
    fitted = problem if len(rows) == n else NoiseProblem.of(scores[rows], evidence[rows], group[rows], n_groups)
    runs = [
        fitted.run(
            NoiseModel(power, np.full(n_groups, rate if total_rate is None else total_rate), uniform_confusion(K)),
            max_iter,
            tol,
            total_rate,
        )
        for power, rate in STARTS
    ]
    best = max(runs, key=lambda run: run.log_likelihood)
    posterior = problem.posterior(best.model)
    outside = normalize_rows(posterior.proba * posterior.ratios)
    return NoiseSolution(
        best.model, posterior.proba, posterior.wrong, outside, posterior.likelihood, best.log_likelihood, best.n_iter
    )


def normalize_rows(values: Floats) -> Floats:
    """Return values whose rows sum to 1; rows of zeros stay zero."""
    total = values.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(values, total, out=np.zeros_like(values), where=total > 0))


def sample_rows(n: int, max_rows: int, seed: int) -> Ints:
    """Return all of n rows, or `max_rows` of them at random, in increasing order.

    Evenly spaced rows would miss errors that depend on the order of the rows.
    """
    return np.arange(n) if n <= max_rows else np.sort(np.random.default_rng(seed).permutation(n)[:max_rows])
