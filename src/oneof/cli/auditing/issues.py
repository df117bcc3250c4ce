"""Audit of a table: its held-out predictions, their time, and the result in words and for JSON."""

from typing import TYPE_CHECKING, Any

from oneof.cli.output import terminal
from oneof.cli.output.progress import Progress
from oneof.cli.tables.first_labels import (
    describe_first_label,
    excluded_rows,
    first_labels,
    measure_first_labels,
    named_classes,
    nameless_rows,
    written_weights,
)

if TYPE_CHECKING:
    import polars as pl

    from oneof.audit import LabelIssues
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.comparison import Comparison
    from oneof.typing import Ints

N_FOLDS = 5
"""Number of folds of the held-out predictions, unless there are fewer groups."""
MAX_PRINTED = 0.995
"""Probabilities above this would be rounded to 1.00."""
CHECKED_NOTE = (
    "rows with a checked label are right: they are used to predict the others, and are neither audited nor counted."
)


def choose_folds(n_groups: int | None) -> int:
    """Return the number of folds for a number of groups, None without groups."""
    return N_FOLDS if n_groups is None else max(2, min(N_FOLDS, n_groups))


def describe_rest(read_options: "ReadOptions", prepared: "PreparedTable") -> list[str]:
    """Return a note if posteriors rule out the classes that rows do not list, or if rows list no class at all.

    The first makes the noise rate too high.
    """
    weights, candidates = read_options.weights, prepared.candidates
    n_nameless = int(nameless_rows(prepared).sum())
    if n_nameless:
        have = "row names no label and is" if n_nameless == 1 else "rows name no label and are"
        return [f"{n_nameless:,} {have} not audited: all of the probability is that of the rest."]
    is_partial = candidates.is_weighted & ~candidates.mask.all(axis=1)
    if not weights.weighted or weights.kind != "posterior" or weights.rest or not is_partial.any():
        return []
    return [
        "classes that a row does not list are ruled out, without --rest. If the probabilities of the listed ones are "
        "too close to 0 and 1, the noise rate is too high and the estimated accuracy too low: add --rest auto."
    ]


def find_issues(
    prepared: "PreparedTable",
    method: str,
    *,
    folds: int | None = None,
    seed: int = 0,
    noise_rate: float | None = None,
    rows: "Ints | None" = None,
    progress: Progress | None = None,
) -> "tuple[str, LabelIssues]":
    """Return the name of the method of the held-out predictions, and the issues of all rows, or of some.

    `oneof audit`, `oneof fit` and its report, and `oneof label --audit` all have this rate and this list. A fit with
    --answers has none.
    """
    import numpy as np
    from sklearn.utils import _safe_indexing

    from oneof.audit import find_label_issues

    def take(values: Any) -> Any:
        return values if values is None or rows is None else _safe_indexing(values, rows)

    candidates, groups = prepared.candidates if rows is None else prepared.candidates[rows], take(prepared.groups)
    n_groups = None if groups is None else len(np.unique(np.asarray(groups)[~candidates.is_unlabeled]))
    if rows is not None and n_groups == 1:
        groups = n_groups = None
    name, auditor = audit_method(prepared, method, seed)
    return name, find_label_issues(
        take(prepared.frame),
        candidates,
        auditor,
        cv=choose_folds(n_groups) if folds is None else folds,
        groups=groups,
        checked=take(excluded_rows(prepared)),
        named=take(named_classes(prepared)),
        noise_rate=noise_rate,
        random_state=seed,
        progress=progress,
    )


def audit_method(prepared: "PreparedTable", method: str, seed: int) -> tuple[str, Any]:
    """Return the method of the held-out predictions, by default the default one, with its name."""
    from oneof.cli.tables.methods import resolve_methods
    from oneof.comparison.methods import DEFAULT_METHOD

    [named] = resolve_methods(prepared, DEFAULT_METHOD if method.lower() == "auto" else method, seed)[0].items()
    return named


def describe_rate(issues: "LabelIssues") -> str:
    """Return the expected number of wrong rows and the noise rate in a sentence."""
    n_rows, n_issues = len(issues.ranking), int(issues.is_issue.sum())
    if issues.is_rate_given:
        rate = terminal.format_percent(issues.noise_rate)
        return f"with the given noise rate of {rate}, {n_issues:,} of {n_rows:,} labeled rows are suspected"
    low, high = issues.n_wrong_interval
    rate_low, rate_high = map(terminal.format_percent, issues.noise_rate_interval)
    return (
        f"about {issues.n_wrong:.0f} of {n_rows:,} labeled rows ({low:.0f} to {high:.0f}) have labels "
        f"without the true one: a noise rate of {terminal.format_percent(issues.noise_rate)} ({rate_low} to "
        f"{rate_high})"
    )


def format_probability(probability: float) -> str:
    """Format the probability of an error with two decimals; none is shown as certain."""
    return ">0.99" if probability > MAX_PRINTED else f"{probability:.2f}"


def issue_table(issues: "LabelIssues", prepared: "PreparedTable") -> "pl.DataFrame":
    """Return all labeled rows, the most probably wrong first; with weights also the first label of each row.

    `first` is the label of the largest weight, by the weights as they are in the table, null if several have it;
    `most_probable` the most probable class; `first_wrong` the probability that the first label is wrong.
    """
    import numpy as np
    import polars as pl

    texts = written_labels(issues, prepared)
    listed, rows = issues.top(len(issues.ranking)), issues.ranking
    columns: dict[str, Any] = {
        "row": rows,
        **({} if prepared.answers is None else {"id": [prepared.answers.row_names[row] for row in rows]}),
        "labels": [texts[row] for row in rows],
        "proposed": [issue.proposed for issue in listed],
        "probability": [issue.probability for issue in listed],
        "runner_up": [issue.runner_up for issue in listed],
        "suspected": issues.is_issue[rows],
    }
    if issues.candidates.is_weighted.any():
        names = np.array([*issues.candidates.classes.tolist(), None], dtype=object)  # None at -1
        first, posterior = first_labels(written_weights(prepared))[rows], issues.posterior[rows]
        wrong = 1.0 - posterior[np.arange(len(rows)), first]
        columns |= {
            "first": names[first].tolist(),
            "most_probable": names[posterior.argmax(axis=1)].tolist(),
            "first_wrong": [None if k < 0 else p for k, p in zip(first, wrong.tolist(), strict=True)],
        }
    return pl.DataFrame(columns)


def wrong_first_labels(table: "pl.DataFrame") -> "pl.DataFrame":
    """Return the rows whose first label is more probably wrong than right, the most probably wrong first."""
    return table.filter(table["first_wrong"] > 0.5).sort("first_wrong", descending=True, maintain_order=True)


def count_first_labels(
    issues: "LabelIssues", prepared: "PreparedTable", table: "pl.DataFrame"
) -> tuple[int, float, tuple[float, float]]:
    """Return the number of rows with a first label, and of those that are wrong, with an interval of 95 %."""
    import numpy as np

    names = np.array([*issues.candidates.classes.tolist(), None], dtype=object)  # None at -1
    _, (low, high) = issues.estimate_accuracy(names[first_labels(written_weights(prepared))])
    n_first = table["first_wrong"].count()
    return n_first, float(table["first_wrong"].sum()), (n_first * (1 - high), n_first * (1 - low))


def describe_wrong_first_labels(issues: "LabelIssues", prepared: "PreparedTable", table: "pl.DataFrame") -> str:
    """Return the expected number of rows with a wrong first label in a sentence, with its interval and its basis."""
    n_first, n_wrong, (low, high) = count_first_labels(issues, prepared, table)
    return (
        f"The first label, {describe_first_label(prepared)}, is wrong in about {n_wrong:.0f} of {n_first:,} rows "
        f"({low:.0f} to {high:.0f}), and more probably wrong than right in {len(wrong_first_labels(table)):,}. "
        "This is estimated from the held-out predictions and the weights, which must not be too large or too small."
    )


def written_labels(issues: "LabelIssues", prepared: "PreparedTable") -> list[str]:
    """Return the labels of each row as text: the cell if the labels have weights and are one column of text."""
    import polars as pl

    from oneof.io import find_column

    texts = issues.candidates.to_strings(separator=prepared.separator)
    if prepared.label_column is None or not issues.candidates.is_weighted.any():
        return texts
    frame = prepared.table.frame
    cells = frame[find_column(prepared.label_column, frame.columns, prepared.table.path)]
    if cells.dtype != pl.String:
        return texts
    return [text if cell is None else " ".join(cell.split()) for cell, text in zip(cells.to_list(), texts, strict=True)]


def summarize(issues: "LabelIssues", prepared: "PreparedTable") -> dict[str, Any]:
    """Return the issues for JSON, with the first labels that are probably wrong if labels have weights."""
    rate, table = measure_first_labels(prepared), issue_table(issues, prepared)
    suspected = table.filter("suspected").select("row", "proposed", "probability", "runner_up", candidates="labels")
    facts = {
        "rows": len(issues.candidates),
        "labeled": len(issues.ranking),
        "n_wrong": issues.n_wrong,
        "n_wrong_interval": list(issues.n_wrong_interval),
        "noise_rate": issues.noise_rate,
        "is_rate_given": issues.is_rate_given,
        "noise_rate_interval": list(issues.noise_rate_interval),
        "noise_rate_by_size": issues.noise_rate_by_size,
        "noise_rate_by_label": issues.noise_rate_by_label,
        "checked_first_labels": None if rate is None else rate._asdict(),
        "issues": suspected.to_dicts(),
    }
    if issues.candidates.is_weighted.any():
        n_first, n_wrong, interval = count_first_labels(issues, prepared, table)
        facts |= {
            "n_first_labels": n_first,
            "n_wrong_first_labels": n_wrong,
            "n_wrong_first_labels_interval": list(interval),
            "first_labels": wrong_first_labels(table)
            .select("row", "first", "most_probable", probability="first_wrong")
            .to_dicts(),
        }
    return facts


def describe_correction(issues: "LabelIssues", auditor: str) -> str:
    """Return the noise rate with its origin, and the number of rows that are fitted to corrected weights."""
    if not issues.n_changed:
        return f"{describe_rate(issues)}; no row is corrected: the fit is the same as without --noise-rate."
    n_changed = "1 row is" if issues.n_changed == 1 else f"{issues.n_changed:,} rows are"
    origin = "" if issues.is_rate_given else f", estimated from predictions of {auditor} without each row's own labels"
    return f"{describe_rate(issues)}{origin}; {n_changed} fitted to corrected weights."


def has_predictions_of_all_rows(comparison: "Comparison", candidates: "CandidateSets") -> bool:
    """Return whether wrong labels are searched for: not in a table so large that one split of its sets is held out."""
    is_exact = bool((candidates.is_exact | candidates.is_unlabeled).all())
    return comparison.n_folds > 1 or (comparison.n_groups is None and is_exact)


def find_suspects(
    prepared: "PreparedTable", method: str, *, seed: int = 0, progress: Progress | None = None
) -> "LabelIssues | None":
    """Return the issues of `oneof audit`; None if no row can be audited."""
    import warnings

    from oneof.audit.detection import only_in_one_group

    excluded, candidates = excluded_rows(prepared), prepared.candidates
    left_out = candidates.is_unlabeled if excluded is None else candidates.is_unlabeled | excluded
    if prepared.groups is not None:
        left_out = left_out | only_in_one_group(candidates, prepared.groups)
    if left_out.all():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that some rows are not audited
        return find_issues(prepared, method, seed=seed, progress=progress)[1]
