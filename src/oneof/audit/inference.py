"""The model of noise (`oneof.solvers.noise`), fitted to held-out scores, and its result for each row."""

import numpy as np

from oneof.audit.label_issues import LabelIssues, binomial_error, group_rows, mix_posterior, posteriors_at_ends
from oneof.candidates import CandidateSets
from oneof.messages import warn as warn_caller
from oneof.solvers.noise import (
    NoiseEstimate,
    NoiseModel,
    NoiseProblem,
    NoiseSolution,
    average_noise,
    information_gains,
    is_better_than_frequencies,
    solve_noise,
)
from oneof.typing import Floats, Ints, Mask

MIN_PROBABILITY = 1e-8
"""Held-out probabilities below this count as this."""
MIN_GROUP_ROWS = 50
"""Number of rows from which the noise rate of a set size, or of a label, is reported."""
WEAK_PREDICTIONS = (
    "The features do not predict the labels well enough, and wrong labels cannot be found. Check X, pass another "
    "estimator, or pass `noise_rate` if it is known."
)
"""Warning."""


def issues_from_scores(
    scores: Floats,
    candidates: CandidateSets,
    noise_rate: float | None = None,
    seed: int = 0,
    *,
    checked: Mask | None = None,
    named: Mask | None = None,
    warn: bool = True,
) -> LabelIssues:
    """Fit the model of noise to held-out scores, (n, K), of which the softmax is taken; `warn` of weak predictions.

    Rows of the mask `checked` are right, and have no part in the fit. `named` has the classes that rows with weights
    list, see `find_label_issues`.
    """
    audited = ~candidates.is_unlabeled if checked is None else ~candidates.is_unlabeled & ~checked
    labeled = np.flatnonzero(audited)
    evidence, classes = candidates.evidence, candidates.classes
    group = group_rows(candidates, labeled)
    solution = solve_noise(scores[labeled], evidence[labeled], group, total_rate=noise_rate, seed=seed)
    gains, min_gain = information_gains(solution.likelihood, evidence[labeled])
    is_weak = not is_better_than_frequencies(gains) or (noise_rate is None and gains.mean() < min_gain)
    if is_weak and warn:
        warn_caller(WEAK_PREDICTIONS)
    result: NoiseSolution | NoiseEstimate = solution
    model, ends = solution.model, (solution.model, solution.model)
    if noise_rate is None:
        result = estimate = average_noise(scores[labeled], evidence[labeled], group, solution, seed=seed)
        model, ends = NoiseModel(estimate.power, model.rates, estimate.confusion), estimate.ends
        rate, interval = float(estimate.wrong.mean()), estimate.interval
    else:
        rate, interval = float(noise_rate), (float(noise_rate), float(noise_rate))
    share, outside = np.zeros(len(candidates)), np.zeros(candidates.shape)
    share[labeled], outside[labeled] = result.wrong, result.outside
    proba, share_interval = model.predict(scores), interval
    probability, elsewhere = share, outside
    lists = np.flatnonzero(candidates.is_weighted & audited)
    if named is not None and len(lists):
        posterior = mix_posterior(proba[lists], evidence[lists], share[lists], outside[lists])
        probability, elsewhere = share.copy(), outside.copy()
        elsewhere[lists] = np.where(named[lists], 0.0, posterior)
        probability[lists] = np.minimum(elsewhere[lists].sum(axis=1), 1.0)
        if noise_rate is None:
            rate = float(probability[labeled].mean())
            problem = NoiseProblem.of(scores[labeled], evidence[labeled], group, len(model.rates))
            names = np.where(candidates.is_weighted[labeled, None], named[labeled], candidates.mask[labeled])
            at_ends = [
                float(np.where(names, 0.0, one).sum(axis=1).mean())
                for one in posteriors_at_ends(problem, ends, interval)
            ]
            error = binomial_error(rate, len(labeled))
            interval = max(min(rate, *at_ends) - error, 0.0), min(max(rate, *at_ends) + error, 1.0)
    ranking = labeled[np.argsort(-probability[labeled], kind="stable")]
    if is_weak and noise_rate is None:
        rate, interval, share_interval = np.nan, (0.0, interval[1]), (0.0, share_interval[1])
        probability = np.where(audited, np.nan, 0.0)
    best = np.where(elsewhere.any(axis=1), elsewhere.argmax(axis=1), proba.argmax(axis=1))
    others = proba.copy()
    others[np.arange(len(best)), best] = -1.0
    hard = labeled[~candidates.is_weighted[labeled]]
    exact = np.flatnonzero(candidates.is_exact & audited)
    column, names = candidates.mask[exact].argmax(axis=1), classes.tolist()
    return LabelIssues(
        candidates=candidates,
        probability=probability,
        ranking=ranking,
        proposed=classes[best],
        runner_up=classes[others.argmax(axis=1)],
        proba=proba,
        noise_rate=rate,
        noise_rate_interval=interval,
        is_rate_given=noise_rate is not None,
        noise_rate_by_size=_mean_by_group(probability[hard], candidates.sizes[hard]),
        noise_rate_by_label={names[k]: mean for k, mean in _mean_by_group(probability[exact], column).items()},
        confusion=model.confusion,
        power=model.power,
        outside=outside,
        share=share,
        share_interval=share_interval,
        ends=ends,
    )


def _mean_by_group(probability: Floats, group: Ints) -> dict[int, float]:
    """Return the mean probability of each group with enough rows; none if the probabilities are unknown."""
    if np.isnan(probability).any():
        return {}
    groups, counts = np.unique(group, return_counts=True)
    return {k: float(probability[group == k].mean()) for k in groups[counts >= MIN_GROUP_ROWS].tolist()}
