"""Audit of a table: its held-out predictions, the result in words and for JSON, and the output of `oneof audit`.

Reading order: `find_issues`, `issue_table` and `summarize`; `print_issues` and `write_page`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils import _safe_indexing

import oneof
from oneof.audit import LabelIssues, find_label_issues
from oneof.audit.detection import only_in_one_group
from oneof.audit.label_issues import widen
from oneof.candidates.cells import LabelFormat, escape_label
from oneof.cli import terminal
from oneof.cli.answers import WEIGHTS_NOTE, describe_answers
from oneof.cli.tables.inputs import PreparedTable, insert_identifiers
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.terminal import Progress, new_file, today
from oneof.comparison.methods import DEFAULT_METHOD
from oneof.io import find_column
from oneof.model_selection.folds import count_groups
from oneof.report import FirstLabelRate, render_audit, table_preview
from oneof.report.data import Preview
from oneof.typing import Ints, Mask

N_FOLDS = 5
"""Number of folds of the held-out predictions, unless there are fewer labeled rows or groups."""
MAX_PRINTED = 0.995
"""Probabilities above this would be rounded to 1.00."""
MAX_CELL = 40
"""Number of characters of a text in the printed list."""
CHECKED_NOTE = (
    "rows with a checked label are right: they are used to predict the others, and are neither audited nor counted."
)
SHARED_LISTS = "many rows share one list of labels, such as the clips of a recording"


def find_issues(
    prepared: PreparedTable,
    method: str,
    *,
    folds: int | None = None,
    seed: int = 0,
    noise_rate: float | None = None,
    rows: Ints | None = None,
    progress: Progress | None = None,
) -> tuple[str, LabelIssues]:
    """Return the name of the method of the held-out predictions, and the issues of all rows, or of some.

    `oneof audit`, `oneof fit` and its report, and `oneof label --audit` all have this rate and this list. A fit with
    --answers has none.
    """

    def take(values: Any) -> Any:
        return values if values is None or rows is None else _safe_indexing(values, rows)

    groups, candidates = take(prepared.groups), prepared.candidates if rows is None else prepared.candidates[rows]
    n_labeled = int((~candidates.is_unlabeled).sum())
    n_parts = n_labeled if groups is None else count_groups(groups, candidates)
    method = DEFAULT_METHOD if method.lower() == "auto" else method
    [(name, auditor)] = resolve_methods(prepared, method, seed)[0].items()
    return name, find_label_issues(
        take(prepared.frame),
        candidates,
        auditor,
        cv=max(2, min(N_FOLDS, n_parts)) if folds is None else folds,
        groups=groups,
        checked=take(excluded_rows(prepared)),
        named=take(named_classes(prepared)),
        noise_rate=noise_rate,
        random_state=seed,
        progress=progress,
    )


def can_audit(prepared: PreparedTable, rows: Ints | slice = slice(None)) -> bool:
    """Return whether some rows can be audited: they are labeled, not checked, and their class is in several groups."""
    candidates = prepared.candidates[rows]
    left_out = candidates.is_unlabeled | excluded_rows(prepared)[rows]
    if prepared.groups is not None:
        left_out = left_out | only_in_one_group(candidates, np.asarray(prepared.groups)[rows])
    return not left_out.all()


def named_classes(prepared: PreparedTable) -> Mask | None:
    """Return the classes that rows name, (n, K), if the others have the weight of a rest; None without rest.

    A row that names no class has all its candidates.
    """
    if not prepared.has_rest:
        return None
    candidates, named = prepared.candidates, _listed(prepared)
    nameless = ~named.any(axis=1)
    named[nameless] = candidates.mask[nameless]
    return named


def nameless_rows(prepared: PreparedTable) -> Mask:
    """Return the mask of the rows with weights that name no class, (n,), such as those of a rest alone."""
    if not prepared.has_rest:
        return np.zeros(len(prepared.candidates), dtype=bool)
    return prepared.candidates.is_weighted & ~_listed(prepared).any(axis=1)


def _listed(prepared: PreparedTable) -> Mask:
    """Return the candidates with a weight in the table, (n, K)."""
    return (prepared.written_weights > 0) & prepared.candidates.mask


def excluded_rows(prepared: PreparedTable) -> Mask:
    """Return the mask of the rows that are not audited, which are checked or name no class."""
    nameless = nameless_rows(prepared)
    return nameless if prepared.is_checked is None else nameless | prepared.is_checked


def first_labels(prepared: PreparedTable) -> Ints:
    """Return the code of the largest weight of each row, (n,); -1 if several are equal, as those of a row of zeros."""
    weights = prepared.written_weights
    is_tied = (weights == weights.max(axis=1, keepdims=True)).sum(axis=1) > 1
    return np.where(is_tied, -1, weights.argmax(axis=1))


def measure_first_labels(prepared: PreparedTable) -> FirstLabelRate | None:
    """Return the accuracy of the first labels by the true or checked labels; None without such a row.

    Rows with several labels of the largest weight have no first label.
    """
    known = prepared.known_codes
    if prepared.answers is not None or not prepared.candidates.is_weighted.any() or known.max() < 0:
        return None
    first = first_labels(prepared)
    rows = (first >= 0) & (known >= 0)
    if not rows.any():
        return None
    accuracy, n_rows = float(np.mean(first[rows] == known[rows])), int(rows.sum())
    return FirstLabelRate(accuracy, widen([accuracy], n_rows), n_rows, f"that of {prepared.largest} in the table")


def describe_first_labels(rate: FirstLabelRate | None) -> list[str]:
    """Return a sentence with the accuracy of the first labels; none if it is unknown."""
    if rate is None:
        return []
    low, high = (100 * end for end in rate.interval)
    rows = "1 labeled row" if rate.n_rows == 1 else f"{rate.n_rows:,} labeled rows"
    return [
        f"the first label, {rate.meaning}, is the true one in {100 * rate.accuracy:.1f} % of {rows} with a known true "
        f"label and one first label (95 % interval {low:.1f} to {high:.1f} %)."
    ]


def describe_rest(prepared: PreparedTable) -> list[str]:
    """Return a note if posteriors rule out the classes that rows do not list, or if rows list no class at all.

    The first makes the noise rate too high.
    """
    weights, candidates = prepared.read_options.weights, prepared.candidates
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


def describe_rate(issues: LabelIssues) -> str:
    """Return the expected number of wrong rows and the noise rate in a sentence."""
    n_rows, n_issues, percent = len(issues.ranking), int(issues.is_issue.sum()), terminal.format_percent
    if issues.is_rate_given:
        rate = percent(issues.noise_rate)
        return f"with the given noise rate of {rate}, {n_issues:,} of {n_rows:,} labeled rows are suspected"
    (low, high), (rate_low, rate_high) = issues.n_wrong_interval, map(percent, issues.noise_rate_interval)
    return (
        f"about {issues.n_wrong:.0f} of {n_rows:,} labeled rows ({low:.0f} to {high:.0f}) have labels without the true "
        f"one: a noise rate of {percent(issues.noise_rate)} ({rate_low} to {rate_high})"
    )


def describe_correction(issues: LabelIssues, auditor: str) -> str:
    """Return the noise rate with its origin, and the number of rows that are fitted to corrected weights."""
    if not issues.n_changed:
        return f"{describe_rate(issues)}; no row is corrected: the fit is the same as without --noise-rate."
    n_changed = "1 row is" if issues.n_changed == 1 else f"{issues.n_changed:,} rows are"
    origin = "" if issues.is_rate_given else f", estimated from predictions of {auditor} without each row's own labels"
    return f"{describe_rate(issues)}{origin}; {n_changed} fitted to corrected weights."


def format_probability(probability: float) -> str:
    """Format the probability of an error with two decimals; none is shown as certain."""
    return ">0.99" if probability > MAX_PRINTED else f"{probability:.2f}"


def issue_table(issues: LabelIssues, prepared: PreparedTable) -> pl.DataFrame:
    """Return all labeled rows, the most probably wrong first; with weights also the first label of each row.

    With answers, the rows whose first label is most probably wrong are first.

    `first` is the label of the largest weight, by the weights as they are in the table, null if several have it;
    `most_probable` the most probable class; `first_wrong` the probability that the first label is wrong.
    """
    texts, rows = written_labels(issues, prepared), issues.ranking
    columns: dict[str, Any] = {
        "row": rows,
        "labels": [texts[row] for row in rows],
        "proposed": issues.proposed[rows].tolist(),
        "probability": issues.probability[rows],
        "runner_up": issues.runner_up[rows].tolist(),
        "suspected": issues.is_issue[rows],
    }
    if issues.candidates.is_weighted.any():
        codes, posterior = first_labels(prepared)[rows], issues.posterior[rows]
        wrong = 1.0 - posterior[np.arange(len(rows)), codes]
        columns |= {
            "first": _names(issues)[codes].tolist(),
            "most_probable": _names(issues)[posterior.argmax(axis=1)].tolist(),
            "first_wrong": [None if k < 0 else p for k, p in zip(codes, wrong.tolist(), strict=True)],
        }
    table = pl.DataFrame(columns)
    if prepared.answers is None:
        return table
    # Answers rule out no class, so that no set lacks the true one.
    return table.sort("first_wrong", descending=True, nulls_last=True, maintain_order=True)


def _names(issues: LabelIssues) -> Any:
    """Return the classes, and None at index -1."""
    return np.array([*issues.candidates.classes.tolist(), None], dtype=object)


def wrong_first_labels(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose first label is more probably wrong than right, the most probably wrong first."""
    return table.filter(table["first_wrong"] > 0.5).sort("first_wrong", descending=True, maintain_order=True)


def summarize_first_labels(issues: LabelIssues, prepared: PreparedTable, table: pl.DataFrame) -> dict[str, Any]:
    """Return the number of rows with a first label, and of those that are wrong, with an interval of 95 %."""
    _, (low, high) = issues.estimate_accuracy(_names(issues)[first_labels(prepared)])
    n_first = table["first_wrong"].count()
    return {
        "n_first_labels": n_first,
        "n_wrong_first_labels": float(table["first_wrong"].sum()),
        "n_wrong_first_labels_interval": [n_first * (1 - high), n_first * (1 - low)],
    }


def written_labels(issues: LabelIssues, prepared: PreparedTable) -> list[str]:
    """Return the labels of each row as text: those with weights as in a cell of text, or the largest share first."""
    if not issues.candidates.is_weighted.any():
        return issues.candidates.to_strings(separator=prepared.separator)
    labels, frame = prepared.read_options.labels, prepared.table.frame
    if len(labels) == 1 and prepared.read_options.weight_column is None:
        cells = frame[find_column(labels[0], frame.columns, prepared.table.path)]
        if cells.dtype == pl.String:
            return [" ".join(text.split()) for text in cells.fill_null("").to_list()]
    names = [escape_label(str(name), LabelFormat(weighted=True)) for name in issues.candidates.classes.tolist()]
    texts = []
    for weights in prepared.written_weights:
        listed = np.flatnonzero(weights)
        shares = weights[listed] / weights.sum()
        order = np.argsort(-shares, kind="stable").tolist()
        texts.append("|".join(f"{names[listed[k]]}:{shares[k]:.3g}" for k in order))
    return texts


def preview(prepared: PreparedTable) -> Preview:
    """Return the first identifier and the first features of each row, as texts, for a page."""
    columns = [*prepared.findings.identifiers[:1], *(column.name for column in prepared.columns)]
    return table_preview(prepared.table.frame, columns, prepared.table.rows)


def summarize(issues: LabelIssues, prepared: PreparedTable) -> dict[str, Any]:
    """Return the issues for JSON, with the first labels that are probably wrong if labels have weights."""
    rate, table = measure_first_labels(prepared), issue_table(issues, prepared)
    suspected = table.filter("suspected").select("row", "proposed", "probability", "runner_up", candidates="labels")
    rates = ("n_wrong", "n_wrong_interval", "noise_rate", "is_rate_given", "noise_rate_interval")
    facts: dict[str, Any] = {"rows": len(issues.candidates), "labeled": len(issues.ranking)}
    facts |= {name: getattr(issues, name) for name in (*rates, "noise_rate_by_size", "noise_rate_by_label")}
    facts |= {
        "truth": compare_with_truth(issues, prepared),
        "checked_first_labels": None if rate is None else rate._asdict(),
        "issues": suspected.to_dicts(),
    }
    if not issues.candidates.is_weighted.any():
        return facts
    wrong = wrong_first_labels(table).select("row", "first", "most_probable", probability="first_wrong")
    return facts | summarize_first_labels(issues, prepared, table) | {"first_labels": wrong.to_dicts()}


def compare_with_truth(issues: LabelIssues, prepared: PreparedTable) -> dict[str, int] | None:
    """Return numbers of the audited rows with a true label: all, wrong, suspected, and both; None without any."""
    codes, mask = prepared.true_codes, named_classes(prepared)
    rows = issues.ranking[codes[issues.ranking] >= 0]
    wrong = ~(issues.candidates.mask if mask is None else mask)[rows, codes[rows]]
    suspected = issues.is_issue[rows]
    counts = {"rows": len(rows), "wrong": wrong.sum(), "suspected": suspected.sum(), "found": (wrong & suspected).sum()}
    return {name: int(count) for name, count in counts.items()} if len(rows) else None


def audit_notes(prepared: PreparedTable) -> list[str]:
    """Return notes on labels that an audit treats in another way than a fit."""
    found = [*([] if prepared.answers is None else [WEIGHTS_NOTE]), *describe_rest(prepared)]
    if prepared.answers is None and prepared.has_shared_lists:
        found.append(f"{SHARED_LISTS}: the noise rate tends to be too low, and its interval too narrow.")
    if prepared.is_checked is not None:
        found += [CHECKED_NOTE, *describe_first_labels(measure_first_labels(prepared))]
    return found


def print_issues(issues: LabelIssues, table: Path, prepared: PreparedTable, *, top: int) -> None:
    """Print the noise rate, the most probably wrong rows, and those whose label of largest weight is."""
    terminal.print_line(f"{table}: {describe_rate(issues)}.")
    labels = "the labels that the row names" if prepared.has_rest else "the labels of the row"
    terminal.print_line(
        f"Wrong means that the true label is not among {labels}, whatever their weights. Errors that the features "
        "predict, such as those of one device, are not recognized."
    )
    if known := compare_with_truth(issues, prepared):
        terminal.print_line(
            f"By the true labels of {known['rows']:,} rows, {known['found']:,} of {known['suspected']:,} suspected "
            f"rows are wrong, and {known['wrong']:,} rows in all."
        )
    rows = issue_table(issues, prepared)
    suspected, columns = rows.filter("suspected"), {"proposed": "", "runner_up": "runner-up", "probability": ""}
    if suspected.is_empty():
        terminal.print_line("No row has labels that are more probably wrong than right.")
    _print_rows("Suspected rows", suspected, columns, top, prepared)
    if "first" in rows.columns:
        n_first, n_wrong, (low, high) = summarize_first_labels(issues, prepared, rows).values()
        wrong = wrong_first_labels(rows)
        terminal.print_line(
            f"The first label, that of {prepared.largest} in the table, is wrong in about {n_wrong:.0f} of "
            f"{n_first:,} rows ({low:.0f} to {high:.0f}), and more probably wrong than right in {len(wrong):,}. This "
            "is estimated from the held-out predictions and the weights, which must not be too large or too small."
        )
        rate = measure_first_labels(prepared)
        most, least = (1, 0) if rate is None else (1 - end for end in rate.interval)
        if most * n_first < low or least * n_first > high:
            terminal.print_line(
                f"Known labels contradict this: {terminal.format_percent(least)} to {terminal.format_percent(most)} of "
                "the first labels are wrong. The weights are too large or too small, so that the rates above are wrong."
            )
        columns = {"first": "", "most_probable": "most probable", "first_wrong": "probability"}
        _print_rows("Rows whose first label is probably wrong", wrong, columns, top, prepared)


def _print_rows(title: str, rows: pl.DataFrame, columns: dict[str, str], top: int, prepared: PreparedTable) -> None:
    """Print the first rows with an identifier and a text, their labels or answers, and two labels and a probability.

    The last three are `columns`, with their headings if these are not their names.
    """
    shown, answers = with_names(rows.head(top), prepared, limit=1), prepared.answers
    names, lines = shown.columns[: shown.columns.index("labels")], []
    for row in shown.to_dicts():
        labels = _first_words(row["labels"]) if answers is None else describe_answers(answers.answers, row["row"])
        one, other, probability = (row[name] for name in columns)
        cells = (_first_words(row[name]) for name in names)
        lines.append((*cells, labels, str(one), str(other), format_probability(probability)))
    if lines:
        headings = [*names, "labels" if answers is None else "answers", *(columns[name] or name for name in columns)]
        title = f"{title}, counted from 0 ({len(lines)} of {len(rows):,})"
        terminal.print_table(title, headings, lines, text_columns=len(headings) - 1)


def with_names(
    result: pl.DataFrame, prepared: PreparedTable, *, limit: int | None = None, has_texts: bool = True
) -> pl.DataFrame:
    """Return a table of results with columns of the table after its column `row`.

    They are those of names in the answers, at most `limit` identifiers, and, with `has_texts`, as many texts at most.
    If the names are in a column `row`, they are `id` in the results, where `row` is the number of the row.
    """
    texts = [column.name for column in prepared.columns if has_texts and column.kind == "text"]
    columns = [*prepared.findings.identifiers[:limit], *texts[:limit]]
    frame, names = prepared.table.frame, [*prepared.answer_rows, *columns]
    if "row" in prepared.answer_rows:
        frame, names = frame.with_columns(id=pl.col("row")), ["id", *columns]
    return insert_identifiers(result, frame, dict.fromkeys(names))


def _first_words(cell: Any) -> str:
    """Return the first words of a cell in one line."""
    words = " ".join(str("" if cell is None else cell).split())
    return words if len(words) <= MAX_CELL else f"{words[: MAX_CELL - 3].rstrip()}..."


def write_page(path: Path, issues: LabelIssues, prepared: PreparedTable, method: str, command: str) -> None:
    """Write the page with the suspected rows."""
    page = render_audit(
        issues,
        preview(prepared),
        source=prepared.table.path.name,
        method=method,
        command=command,
        version=oneof.__version__,
        date=today(),
        n_groups=prepared.n_groups,
    )
    with new_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
