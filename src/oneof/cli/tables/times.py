"""Times of the steps of a fit and of an audit, estimated from fits on samples of the rows."""

import math
import time
from collections.abc import Callable, Sequence
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
MIN_SAMPLE_ROWS = 250
"""Number of training rows of the first sample; with less than four times as many, all samples are of small tables."""
MAX_FIRST_ROWS = 2_000
"""Number of rows that a sample reaches before a low estimate is accepted, unless an eighth of all rows is fewer.

Fixed costs dominate on few rows. Methods with landmarks have another growth on fewer rows than landmarks (1,000 or
more).
"""
GROWTH_RANGE = (1.0, 3.0)
"""Exponents of the growth of the time with the number of rows: no method is faster than linear, none above cubic."""
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

    rows = np.arange(len(task.candidates))
    seconds = _estimate_fit(estimator, task, test, seed, MAX_ESTIMATE_SECONDS / n_fits)
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


def extrapolate_seconds(run: Callable[[int], float], n_rows: int, *, enough: float, patience: float) -> float:
    """Return the time of a run on many rows, as a power of their number, from runs on samples of doubling size.

    The exponent follows from the last two samples. The samples grow until the estimate is at most `enough`, a sample
    takes more than `patience` seconds, or half of the rows are used. The first run is not measured, since it may
    include compilation. ``run(size)`` returns seconds, or NaN if it failed; the result is NaN with fewer than 1,000
    rows, and if no two samples succeed.
    """
    size, estimate = MIN_SAMPLE_ROWS, math.nan
    if n_rows < 4 * MIN_SAMPLE_ROWS:
        return estimate
    run(size)
    seconds = run(size)
    if seconds > patience:
        seconds = min(seconds, run(size))  # a further run, since the first one may have another path of compilation
    while 4 * size <= n_rows:
        larger, size = run(2 * size), 2 * size
        if larger > 0 and seconds > 0:
            exponent = min(max(math.log2(larger / seconds), GROWTH_RANGE[0]), GROWTH_RANGE[1])
            estimate = larger * (n_rows / size) ** exponent
        seconds = larger
        if seconds > patience or (estimate <= enough and size >= min(MAX_FIRST_ROWS, n_rows / 8)):
            break
    return estimate


def _estimate_fit(estimator: Any, task: Any, test: Any, seed: int, enough: float) -> float:
    """Return the estimated time of a fit of all rows and the predictions of `test`; NaN if it is unknown.

    It is the processor time of this process if that is shorter, as on a machine with other processes.
    """
    import numpy as np

    from oneof.comparison import folds

    rng = np.random.RandomState(seed)
    rows, test = rng.permutation(len(task.candidates)), rng.permutation(test)

    def run(size: int) -> float:
        n_test = max(1, round(len(test) * size / len(rows)))
        start, processor_start = folds.clock(), time.process_time()
        result = folds.try_fit_and_score(estimator, task, (np.sort(rows[:size]), np.sort(test[:n_test])))
        seconds, processor = folds.clock() - start, time.process_time() - processor_start
        return math.nan if result.error is not None else min(seconds, processor)

    return extrapolate_seconds(run, len(rows), enough=enough, patience=MAX_ESTIMATE_SECONDS / 20)


def _estimate_small(estimator: Any, task: Any, test: Any, seed: int, enough: float) -> float:
    """Return the estimated time of a fit of all rows of a small table from fits on a quarter and a half of them.

    If no fit can take more than `enough` seconds by the first one, which may include compilation, no other is run.
    """
    import numpy as np

    from oneof.comparison import folds

    order = np.random.default_rng(seed).permutation(len(task.candidates))

    def run(size: int) -> float:
        start = folds.clock()
        result = folds.try_fit_and_score(estimator, task, (np.sort(order[:size]), test))
        return folds.clock() - start if result.error is None else math.nan

    first = run(len(order) // 4)
    if first * 4.0 ** GROWTH_RANGE[1] <= enough:
        return 4.0 * first
    quarter, half = run(len(order) // 4), run(len(order) // 2)
    if math.isnan(quarter) or math.isnan(half):
        return math.nan
    # Fixed costs dominate on few rows: the growth may be slower than linear.
    exponent = float(np.clip(math.log2(half / quarter), 0.0, GROWTH_RANGE[1])) if min(quarter, half) > 0 else 1.0
    return half * 2.0**exponent
