"""`oneof audit`: find the rows of a table whose labels are probably wrong."""

import contextlib
import datetime
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli import options
from oneof.cli.option_groups import AnswerGroup, FeatureGroup, FileGroup, LabelGroup, make_read_options
from oneof.cli.output import terminal
from oneof.cli.output.progress import Progress, progress

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.cli.tables.inputs import PreparedTable, ReadOptions
    from oneof.typing import Floats

NAME = "audit"
MIN_TIMED_ROWS = 5_000
"""Number of rows, times the number of fits, from which the time of the default method is estimated beforehand."""
N_FOLDS = 5
"""Number of folds of the held-out predictions, unless there are fewer groups."""
MAX_PRINTED = 0.995
"""Probabilities above this would be rounded to 1.00."""
MAX_CELL = 40
"""Number of characters of a text in the printed list."""
MIN_PROBABILITY = 1e-6
"""Lower bound of held-out probabilities."""
CHECKED_NOTE = (
    "rows with a checked label are right: they are used to predict the others, and are neither audited nor counted."
)
EXAMPLES = """\b
Examples:
  oneof audit birds.csv --labels species
  oneof audit birds.csv --labels species --out issues.csv --report issues.html
  oneof audit birds.csv --labels species --groups recorder
  oneof audit birds.csv --labels species --method LOORidge:distractors=cooccurring
  oneof audit birds.csv --labels species --gold checked
  oneof audit birds.csv --answers answers.csv --row id
  oneof audit birds.csv --labels species --weighted --kind posterior
"""


def run(
    context: typer.Context,
    table: options.TableFile,
    *,
    labels: options.LabelsOrAnswers = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Name of the method that predicts the held-out rows, if necessary with parameters as in "
            "LOORidge:distractors=cooccurring, or auto: LOORidge.",
        ),
    ] = "auto",
    top: Annotated[int, typer.Option("--top", metavar="N", min=0, help="Number of rows to print.")] = 20,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write all labeled rows, the most probably wrong first (.csv), with their identifiers and texts.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page with the suspected rows (.html).")
    ] = None,
    label_group: LabelGroup,
    weights: options.Weights = None,
    answer_group: AnswerGroup,
    groups: options.Groups = None,
    feature_group: FeatureGroup,
    file_group: FileGroup,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            metavar="N",
            min=2,
            help="Number of folds of the held-out predictions, by default 5; with --groups, at most the number of "
            "groups. Without --groups, LOORidge requires no folds if all rows are exact.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Find the rows of a table whose labels probably exclude the true one.

    Each row is predicted without its own labels. The command prints the expected number of wrong rows, with an
    interval, and the most probably wrong rows with the label proposed instead. The table is not changed; fit with
    --noise-rate auto learns from it without relying on these rows, and label --audit opens them for labeling.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.answers.annotators import WEIGHTS_NOTE
        from oneof.cli.tables.inputs import prepare
        from oneof.cli.tables.plan import announce
        from oneof.cli.training.headline import LISTS_NOTE, share_lists
        from oneof.errors import InputError
        from oneof.files import atomic_write, check_not_input, check_writable, create_directories

        if method.lower() == "best":
            raise InputError("--method must name one method, or be auto; got best. `oneof compare` finds the best.")
        outputs = [path for path in (out, report) if path is not None]
        if out is not None and report is not None and out.resolve() == report.resolve():
            raise InputError(f"--out and --report must be different files; got {out} for both.")
        for path in outputs:
            check_writable(path.absolute().parent)
        answers = answer_group.answer_options(context)
        for option, file in (("--out", out), ("--report", report)):
            inputs = [table] if answers is None else [table, answers.path]
            check_not_input([file] if file is not None else [], inputs, option)
        read_options = make_read_options(
            labels,
            label_group,
            feature_group,
            file_group,
            weights=weights,
            groups=groups,
            gold=answer_group.gold,
            answers=answers,
        )
        prepared = prepare(table, read_options)
        separator = prepared.separator
        extra = [*([] if prepared.answers is None else [WEIGHTS_NOTE]), *describe_rest(read_options, prepared)]
        if prepared.answers is None and share_lists(prepared.candidates):
            extra.append(LISTS_NOTE)
        if prepared.is_checked is not None:
            extra.append(CHECKED_NOTE)
        for sentence in (*prepared.notes, *extra):
            terminal.print_note(sentence)
        n_folds = count_folds(prepared) if folds is None else folds
        with progress("Estimating the time"):
            seconds, advice = _estimate_time(prepared, method, n_folds, seed)
        for sentence in announce("the audit", seconds, advice):
            terminal.print_note(sentence)
        with progress("Predicting held-out rows", each_name=True, seconds=seconds) as bar:
            name, issues = find_issues(prepared, method, folds=n_folds, seed=seed, progress=bar)
        with contextlib.ExitStack() as files:  # each file replaces an older one when both are complete
            for path in outputs:
                files.enter_context(create_directories(path.absolute().parent))
                temporary = files.enter_context(atomic_write(path))
                if path is out:
                    _write_table(temporary, issues, prepared)
                else:
                    _write_page(temporary, issues, prepared, name)
        if json:
            facts = {"method": name, "groups": groups, "n_groups": prepared.n_groups, "files": list(map(str, outputs))}
            terminal.print_json(summarize(issues, separator) | facts)
            return
        print_issues(issues, table, prepared, top=top)
        if prepared.n_groups is not None:
            terminal.print_line(f"Folds by groups: no row is predicted from its group ({prepared.n_groups:,} groups).")
        for path in outputs:
            terminal.print_line(f"File: {path}")


def _estimate_time(prepared: "PreparedTable", method: str, folds: int, seed: int) -> tuple[float | None, str]:
    """Return the estimated time of all fits of the audit, None if it is unknown or short, and advice to save time."""
    from oneof.cli.tables.methods import is_default_method, resolve_methods
    from oneof.cli.tables.times import count_audit_fits, count_audit_models, estimate_noise_seconds, estimate_seconds
    from oneof.comparison.folds import check_task, make_folds
    from oneof.comparison.methods import DEFAULT_METHOD

    is_default = is_default_method(method)
    candidates = prepared.candidates
    is_grouped = prepared.groups is not None
    n_fits = count_audit_fits(candidates, folds, is_default=is_default, is_grouped=is_grouped)
    advice = "--drop excludes columns"
    if not is_default:
        advice = f"--method {DEFAULT_METHOD} requires no folds if all rows are exact; {advice}"
    elif len(candidates) * n_fits < MIN_TIMED_ROWS:
        return None, advice
    [estimator] = resolve_methods(prepared, DEFAULT_METHOD if method.lower() == "auto" else method, seed)[0].values()
    task = check_task(prepared.frame, prepared.candidates, None)
    test = make_folds(task, 1, seed)[0][1]
    seconds = estimate_seconds(estimator, task, test, n_fits, seed)
    if seconds is None:
        return None, advice
    n_models = count_audit_models(candidates) if is_default else 1
    return seconds + n_models * estimate_noise_seconds(candidates, seed), advice


def count_folds(prepared: "PreparedTable") -> int:
    """Return the number of folds of the held-out predictions: not more than groups."""
    return choose_folds(prepared.n_groups)


def choose_folds(n_groups: int | None) -> int:
    """Return the number of folds for a number of groups, None without groups."""
    return N_FOLDS if n_groups is None else max(2, min(N_FOLDS, n_groups))


def describe_rest(read_options: "ReadOptions", prepared: "PreparedTable") -> list[str]:
    """Return a note if posteriors rule out the classes that rows do not list, which makes the noise rate too high."""
    weights, candidates = read_options.weights, prepared.candidates
    is_partial = candidates.is_weighted & ~candidates.mask.all(axis=1)
    if not weights.weighted or weights.kind != "posterior" or weights.rest or not is_partial.any():
        return []
    return [
        "classes that a row does not list are ruled out, without --rest. If the probabilities of the listed ones are "
        "too close to 0 and 1, the noise rate is too high: add --rest auto."
    ]


def find_issues(
    prepared: "PreparedTable",
    method: str,
    *,
    folds: int,
    seed: int = 0,
    noise_rate: float | None = None,
    progress: Progress | None = None,
) -> "tuple[str, LabelIssues]":
    """Return the name of the method of the held-out predictions, and the issues."""
    from oneof.audit import find_label_issues
    from oneof.cli.tables.methods import resolve_methods
    from oneof.comparison.methods import DEFAULT_METHOD

    methods, _ = resolve_methods(prepared, DEFAULT_METHOD if method.lower() == "auto" else method, seed)
    [(name, pipeline)] = methods.items()
    return name, find_label_issues(
        prepared.frame,
        prepared.candidates,
        pipeline,
        cv=folds,
        groups=prepared.groups,
        checked=prepared.is_checked,
        noise_rate=noise_rate,
        random_state=seed,
        progress=progress,
    )


def describe_rate(issues: "LabelIssues") -> str:
    """Return the expected number of wrong rows and the noise rate in a sentence."""
    n_rows, n_issues = len(issues.ranking), int(issues.is_issue.sum())
    if issues.is_rate_unknown:
        return (
            f"the noise rate of {n_rows:,} labeled rows is unknown: the predictions have too little information about "
            "the labels, and no row is suspected"
        )
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


def first_label_errors(issues: "LabelIssues") -> "Floats":
    """Return the probability of each labeled row that its label of largest weight is wrong.

    It is that of a set without the true label, or of another label of the set: its labels have probabilities in
    proportion to their weight times the held-out prediction.
    """
    import numpy as np

    rows = issues.ranking
    weights = np.asarray(issues.candidates.weights, dtype=np.float64)[rows]
    joint = weights * np.maximum(issues.proba[rows], MIN_PROBABILITY)
    first = joint[np.arange(len(rows)), weights.argmax(axis=1)] / joint.sum(axis=1)
    return np.asarray(1.0 - (1.0 - issues.probability[rows]) * first)


def shown_columns(prepared: "PreparedTable") -> list[str]:
    """Return the first column that identifies the rows and the first one of text, if the table has them."""
    names = [*prepared.identifiers[:1], *[column.name for column in prepared.columns if column.kind == "text"][:1]]
    frame = prepared.table.frame
    return [name for name in names if name in frame.columns and not frame[name].dtype.is_nested()]


def _first_words(cell: Any) -> str:
    """Return the first words of a cell in one line."""
    words = " ".join(str("" if cell is None else cell).split())
    return words if len(words) <= MAX_CELL else f"{words[: MAX_CELL - 3].rstrip()}..."


def print_issues(issues: "LabelIssues", table: Path, prepared: "PreparedTable", *, top: int) -> None:
    """Print the noise rate and the most probably wrong rows."""
    from oneof.cli.answers.annotators import describe_answers

    terminal.print_line(f"{table}: {describe_rate(issues)}.")
    if not issues.is_rate_unknown:
        terminal.print_line(
            "Wrong means that the true label is not among the labels of the row, whatever their weights. Errors that "
            "the features predict, such as those of one device, are not recognized."
        )
        if issues.candidates.is_weighted.any():
            wrong = first_label_errors(issues)
            terminal.print_line(
                f"The first label, that of largest weight, is wrong in about {wrong.sum():.0f} rows, and more probably "
                f"wrong than right in {int((wrong > 0.5).sum()):,}."
            )
    n_issues = int(issues.is_issue.sum())
    if not n_issues:
        if issues.is_rate_unknown:
            return
        terminal.print_line("No row has labels that are more probably wrong than right.")
        return
    listed = issues.top(min(top, n_issues))
    if listed:
        if prepared.answers is None:
            texts = dict(enumerate(issues.candidates.to_strings(separator=prepared.separator)))
        else:
            given = prepared.answers.answers
            texts = {x.row: describe_answers(given, x.row) for x in listed}
        names = shown_columns(prepared)
        cells = {name: prepared.table.frame[name] for name in names}
        rows = [
            (
                str(x.row),
                *(_first_words(cells[name][x.row]) for name in names),
                texts[x.row],
                str(x.proposed),
                str(x.runner_up),
                format_probability(x.probability),
            )
            for x in listed
        ]
        title = f"Suspected rows, counted from 0 ({len(listed)} of {n_issues:,})"
        labels = "labels" if prepared.answers is None else "answers"
        columns = ("row", *names, labels, "proposed", "runner-up", "probability")
        terminal.print_table(title, columns, rows, text_columns=len(columns) - 1)


def summarize(issues: "LabelIssues", separator: str) -> dict[str, Any]:
    """Return the issues for JSON."""
    texts = issues.candidates.to_strings(separator=separator)
    return {
        "rows": len(issues.candidates),
        "labeled": len(issues.ranking),
        "n_wrong": issues.n_wrong,
        "n_wrong_interval": list(issues.n_wrong_interval),
        "noise_rate": issues.noise_rate,
        "is_rate_given": issues.is_rate_given,
        "noise_rate_interval": list(issues.noise_rate_interval),
        "noise_rate_by_size": issues.noise_rate_by_size,
        "noise_rate_by_label": issues.noise_rate_by_label,
        "issues": [issue._asdict() | {"candidates": texts[issue.row]} for issue in issues.top()],
    }


def _write_table(path: Path, issues: "LabelIssues", prepared: "PreparedTable") -> None:
    """Write all labeled rows as CSV, the most probably wrong first."""
    import polars as pl

    from oneof.cli.tables.inputs import insert_identifiers

    texts = issues.candidates.to_strings(separator=prepared.separator)
    names = None if prepared.answers is None else prepared.answers.row_names
    listed = issues.top(len(issues.ranking))
    columns = {
        "row": [issue.row for issue in listed],
        **({} if names is None else {"id": [names[issue.row] for issue in listed]}),
        "labels": [texts[issue.row] for issue in listed],
        "proposed": [issue.proposed for issue in listed],
        "probability": [None if issues.is_rate_unknown else issue.probability for issue in listed],
        "runner_up": [issue.runner_up for issue in listed],
        "suspected": issues.is_issue[issues.ranking].tolist(),
    }
    texts_of_rows = [column.name for column in prepared.columns if column.kind == "text"]
    names_of_rows = [*prepared.identifiers, *texts_of_rows]
    insert_identifiers(pl.DataFrame(columns), prepared.table.frame, names_of_rows).write_csv(path)


def _write_page(path: Path, issues: "LabelIssues", prepared: "PreparedTable", method: str) -> None:
    """Write the page with the suspected rows."""
    import oneof
    from oneof.report import render_audit, table_preview

    columns = [*prepared.identifiers[:1], *(column.name for column in prepared.columns)]
    page = render_audit(
        issues,
        table_preview(prepared.table.frame, columns, prepared.table.rows),
        source=prepared.table.path.name,
        method=method,
        command=shlex.join(["oneof", *sys.argv[1:]]),
        version=oneof.__version__,
        date=datetime.datetime.now().astimezone().date().isoformat(),
        n_groups=prepared.n_groups,
    )
    path.write_text(page, encoding="utf-8", newline="\n")
