"""Times of the steps of a fit and of an audit, estimated from fits on samples of the rows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import PreparedTable

HELD_OUT = "estimating the rates on held-out rows"
CURVE = "measuring the learning curve"
AUDIT = "looking for wrong labels"
RATES = "estimating the rates of the corrected fit"
FINAL = "fitting all rows"
WRITING = "writing the model and the report"
"""The steps of a fit, with `HELD_OUT` of one method, or `COMPARING` of several."""
COMPARING = "comparing methods"
CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""
MAX_ESTIMATE_SECONDS = 60.0
"""Seconds up to which a more exact estimate of the time is not needed, and a command does not announce its time."""
FASTER_METHODS = ("AvgPegasos", "PLEM")
"""Methods that are named if a fit takes long: fast ones on many rows and on sparse text, with and without epochs."""
MIN_FASTER_SECONDS = 600.0
"""Estimated seconds from which the times of `FASTER_METHODS` are estimated too."""
WRITE_SECONDS = 3.0
"""Seconds of writing the model and the report, mostly imports and plots, which depend little on the table."""
_MAX_SAMPLE_CELLS = 2_000
"""Number of rows times classes of the sample from which the time of the model of noise is estimated."""
_MIN_ROWS = 40
"""Number of rows from which samples of the rows can be fitted."""


def count_fits(train_sizes: Sequence[int], n_rows: int) -> dict[str, float]:
    """Return the number of fits of all rows that take the time of the held-out estimate, the curve and the fit."""
    curve = sum(CURVE_FRACTIONS) * sum(min(size, MAX_CURVE_ROWS) for size in train_sizes)
    return {HELD_OUT: sum(train_sizes) / n_rows, CURVE: curve / n_rows, FINAL: 1.0}


def count_audit_fits(candidates: "CandidateSets", n_folds: int, *, is_default: bool, is_grouped: bool) -> int:
    """Return the number of fits of all rows that take the time of `oneof.audit.find_label_issues`.

    The default method is fitted to all rows, or with groups to the folds, and with partial rows to the folds as well.
    """
    folds = n_folds - 1  # each fold trains on the others
    if not is_default:
        return folds
    return (folds if is_grouped else 1) + (folds if count_audit_models(candidates) > 1 else 0)


def count_audit_models(candidates: "CandidateSets") -> int:
    """Return how often `oneof.audit.find_label_issues` fits the model of noise to predictions of the default method."""
    return 1 if (candidates.is_exact | candidates.is_unlabeled).all() else 2


def estimate_noise_seconds(candidates: "CandidateSets", seed: int) -> float:
    """Return the estimated time of `oneof.audit.label_issues.issues_from_proba`, from a sample of the rows.

    The time grows about as the square root of the number of rows, since most of it is for at most 2,000 rows.
    """
    import numpy as np

    from oneof.audit.label_issues import issues_from_proba
    from oneof.comparison import folds
    from oneof.likelihoods import softmax

    rng, labeled = np.random.default_rng(seed), np.flatnonzero(~candidates.is_unlabeled)
    rows = rng.permutation(labeled)[: max(_MIN_ROWS, _MAX_SAMPLE_CELLS // candidates.shape[1])]
    sample = candidates[rows]
    proba = softmax(3.0 * sample.evidence + rng.normal(size=sample.shape))
    start = folds.clock()
    issues_from_proba(proba, sample)
    return float((folds.clock() - start) * np.sqrt(len(labeled) / len(rows)))


def count_fits_of_rounds() -> int:
    """Return the maximum number of fits of all rows in the rounds of `oneof.crowd.CrowdClassifier`."""
    from oneof.crowd import CrowdClassifier

    defaults = CrowdClassifier()
    return int(defaults.max_iter * (defaults.cv - 1))  # each fold trains on the others


def estimate_seconds(estimator: Any, task: Any, test: Any, n_fits: float, seed: int) -> float | None:
    """Return the estimated time of a number of fits of all rows; None if it is unknown.

    Parameters
    ----------
    estimator : estimator
    task : Task
        See `oneof.comparison.folds.check_task`.
    test : array of int
        The rows that are predicted after a fit.
    n_fits : float
    seed : int
    """
    import numpy as np

    from oneof.comparison import cost

    rows = np.arange(len(task.candidates))
    seconds = cost.estimate_fold_seconds(
        estimator,
        task,
        rows,
        test,
        enough=MAX_ESTIMATE_SECONDS / n_fits,
        patience=MAX_ESTIMATE_SECONDS / 20,
        random_state=seed,
        is_busy=True,
    )
    if math.isnan(seconds) and len(rows) >= _MIN_ROWS:
        seconds = _estimate_small(estimator, task, test, seed, MAX_ESTIMATE_SECONDS / n_fits)
    return None if math.isnan(seconds) else seconds * n_fits


def find_faster_methods(
    prepared: "PreparedTable", task: Any, test: Any, n_fits: float, seconds: float, seed: int
) -> tuple[tuple[str, float], ...]:
    """Return fast methods with the time of the same fits, if these take more than `MIN_FASTER_SECONDS`."""
    from oneof.cli.tables.methods import resolve_methods

    if seconds < MIN_FASTER_SECONDS:
        return ()
    times = {}
    for name in FASTER_METHODS:
        [estimator] = resolve_methods(prepared, name, seed)[0].values()
        times[name] = estimate_seconds(estimator, task, test, n_fits, seed)
    known = [(name, value) for name, value in times.items() if value is not None and value < seconds / 2]
    return tuple(sorted(known, key=lambda item: item[1]))


def _estimate_small(estimator: Any, task: Any, test: Any, seed: int, enough: float) -> float:
    """Return the estimated time of a fit of all rows of a small table from fits on a quarter and a half of them.

    If no fit can take more than `enough` seconds by the first one, which may include compilation, no other is run.
    """
    import numpy as np

    from oneof.comparison import cost, folds

    order = np.random.default_rng(seed).permutation(len(task.candidates))

    def run(size: int) -> float:
        start = folds.clock()
        result = folds.try_fit_and_score(estimator, task, np.sort(order[:size]), test)
        return folds.clock() - start if result.error is None else math.nan

    first = run(len(order) // 4)
    if first * 4.0 ** cost.GROWTH_RANGE[1] <= enough:
        return 4.0 * first
    quarter, half = run(len(order) // 4), run(len(order) // 2)
    if math.isnan(quarter) or math.isnan(half):
        return math.nan
    # Fixed costs dominate on few rows: the growth may be slower than linear.
    exponent = float(np.clip(math.log2(half / quarter), 0.0, cost.GROWTH_RANGE[1])) if min(quarter, half) > 0 else 1.0
    return half * 2.0**exponent
