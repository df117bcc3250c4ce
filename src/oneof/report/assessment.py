"""Quality of a fitted model on new rows: its headline, and its prediction sets."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.stats import binomtest

from oneof.audit.accuracy import AccuracyEstimate
from oneof.candidates import CandidateSets
from oneof.comparison import MethodResult
from oneof.conformal import SetEvaluation
from oneof.report.templating import is_known

MAX_INTERVAL = 0.5
"""Width of the interval of an accuracy that is not a headline: it excludes less than half of [0, 1]."""


class Headline(NamedTuple):
    """The first number of a report.

    Attributes
    ----------
    measure : str
        Its name, a term of the glossary.
    value : float
        In [0, 1]; a rate of held-out predictions is that of the rows of all folds together.
    std : float or None
        The standard deviation over the folds, or the binomial standard error of one split.
    interval : tuple of two floats, or None
        An interval of 95 %.
    meaning : str
        A sentence that begins after the number.
    """

    measure: str
    value: float
    std: float | None
    interval: tuple[float, float] | None
    meaning: str


class FirstLabelRate(NamedTuple):
    """The fraction of rows whose first label, as given, is the known true label.

    Attributes
    ----------
    accuracy : float
    interval : tuple of two floats
        Of 95 %.
    n_rows : int
        Number of labeled rows with a known true label and one label of the largest weight.
    meaning : str
        The definition of the first label.
    """

    accuracy: float
    interval: tuple[float, float]
    n_rows: int
    meaning: str


@dataclass(frozen=True)
class Assessment:
    """Quality of a model on new rows.

    Attributes
    ----------
    headline : Headline
        The first number of the report.
    accuracy : AccuracyEstimate, optional
        The accuracy that is estimated without true labels.
    first_labels : FirstLabelRate, optional
        The accuracy of the first labels as given, if they differ from the classes of largest weight of the candidates.
    calibration : dict, optional
        The held-out rows that calibrate the prediction sets.
    sets : SetEvaluation, optional
        Coverage and mean size of the prediction sets of held-out rows.
    set_coverage : float
        Their nominal coverage.
    expected_coverage : float, optional
        Their expected coverage by the probabilities of the true classes, if wrong labels were corrected.
    guarantee : str, optional
        One sentence on the coverage of the sets of new rows, and its conditions.
    notes : tuple of str
    """

    headline: Headline
    accuracy: AccuracyEstimate | None = None
    first_labels: FirstLabelRate | None = None
    calibration: dict[str, Any] | None = None
    sets: SetEvaluation | None = None
    set_coverage: float = 0.9
    expected_coverage: float | None = None
    guarantee: str | None = None
    notes: tuple[str, ...] = ()


def _is_precise(rate: float, n_rows: int) -> bool:
    """Return whether the interval of Clopper and Pearson (95 %) of a rate is narrow enough for a headline."""
    low, high = binomtest(round(rate * n_rows), max(n_rows, 1)).proportion_ci()
    return bool(high - low <= MAX_INTERVAL)


def choose_headline(
    result: MethodResult, accuracy: AccuracyEstimate | None, candidates: CandidateSets, *, is_grouped: bool = False
) -> Headline:
    """Return the best known rate: the accuracy by true labels, an estimate of it, or the covering rate.

    Parameters
    ----------
    result : MethodResult
    accuracy : AccuracyEstimate or None
    candidates : CandidateSets
        The labels of the table.
    is_grouped : bool
        Whether the held-out rows are those of other groups.
    """
    new = "rows of new groups" if is_grouped else "new rows"
    rate = float(result.accuracy or 0.0)
    if is_known(result.accuracy) and _is_precise(rate, sum(fold.n_true for fold in result.folds)):
        meaning = "of the held-out predictions equal the true label."
        return Headline("accuracy", rate, result.accuracy_std, None, meaning)
    is_vague = accuracy is not None and not accuracy.interval[1] - accuracy.interval[0] <= MAX_INTERVAL
    if accuracy is not None and not is_vague:
        basis = "Wrong labels that the features predict are not recognized: only true labels of some rows show them."
        if accuracy.n_checked == accuracy.n_rows:
            basis = "All held-out rows have a checked label, by which their predictions are right or wrong."
        meaning = f"of {new} are expected to be predicted correctly. {basis}"
        return Headline("estimated accuracy", accuracy.accuracy, None, accuracy.interval, meaning)
    if is_known(result.expected_accuracy) and not is_vague:
        meaning = f"of {new} are expected to be predicted correctly, given the labels. This tends to be too low."
        return Headline("expected accuracy", float(result.expected_accuracy or 0.0), None, None, meaning)
    is_exact = bool((candidates.is_exact | candidates.is_unlabeled).all())
    place = "equal the label of their row" if is_exact else "are among the labels of their row"
    reason = "" if is_exact else "lower if wrong predictions are among the labels, and "
    cause = "there are too few held-out rows for an estimate" if is_vague else f"{reason}higher if labels are wrong"
    meaning = f"of the held-out predictions {place}. The accuracy is unknown: {cause}."
    return Headline("covering rate", float(result.covering_rate), result.covering_rate_std, None, meaning)
