"""`oneof compare`: cross-validate several methods on a table."""

from typing import Annotated

import typer

from oneof.cli import options, terminal

NAME = "compare"
EXAMPLES = """\b
Examples:
  oneof compare birds.csv --labels species
  oneof compare birds.csv --labels species --truth checked --json
  oneof compare birds.csv --labels species --weighted --kind posterior
"""


def run(
    table: options.TableFile,
    *,
    labels: options.Labels,
    truth: options.Truth = None,
    method: Annotated[
        str, typer.Option("--method", help="Name of one method, or auto: all methods except slow ones such as PLGP.")
    ] = "auto",
    separator: options.Separator = None,
    weighted: options.Weighted = False,
    weights: options.Weights = None,
    kind: options.WeightKind = None,
    rest: options.Rest = None,
    classes: options.Classes = None,
    drop: options.Drop = None,
    text: options.Text = None,
    stop_words: options.StopWords = "none",
    stem: options.Stem = "none",
    categorical: options.Categorical = None,
    numeric: options.Numeric = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    missing: options.Missing = None,
    date_format: options.DateFormat = None,
    strict: options.Strict = False,
    format: options.Format = None,  # noqa: A002 - the option's name
    sheet: options.Sheet = None,
    folds: options.Folds = None,
    budget: options.Budget = options.DEFAULT_BUDGET,
    seed: options.Seed = 0,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare the methods on held-out rows of a table; no file is written.

    The method is chosen by the expected accuracy: the mean probability of the held-out predictions, given the sets. The
    covering rate is the fraction of held-out rows whose prediction is in the row's candidate set. Ctrl-C ends the
    comparison and prints the methods compared so far.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.inputs import ReadOptions, describe_comparison, prepare, resolve_methods
        from oneof.comparison import compare
        from oneof.io import Overrides

        table_options = options.read_table_options(
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            missing=missing,
            date_format=date_format,
            strict=strict,
        )
        overrides = Overrides(*map(options.split, (numeric, categorical, text, drop)))
        named = None if classes is None else options.split([classes])
        weighting = options.read_weight_options(weighted=weighted, weights=weights, kind=kind, rest=rest)
        read_options = ReadOptions(
            options.split(labels),
            truth,
            separator,
            named,
            overrides,
            stop_words,
            stem,
            weighting,
            table=table_options,
            format=format,
            sheet=sheet,
        )
        prepared = prepare(table, read_options)
        methods, notes = resolve_methods(prepared, "best" if method.lower() == "auto" else method, seed)
        for sentence in (*prepared.notes, *notes):
            terminal.print_note(sentence)
        limit = budget if len(methods) > 1 else None  # a single method is not left out
        terminal.print_note(describe_comparison(len(methods), limit))
        with terminal.progress("Comparing methods", each_name=len(methods) > 1) as progress:
            comparison = compare(
                prepared.frame,
                prepared.candidates,
                methods,
                cv="auto" if folds is None else folds,
                truth=prepared.truth,
                budget=limit,
                refit=False,
                random_state=seed,
                progress=progress,
            )
        if comparison.is_interrupted:
            terminal.print_note("the comparison was interrupted; the table has the methods compared so far.")
        if json:
            terminal.print_json(comparison.to_dict())
        else:
            terminal.print_comparison(f"{table} ({comparison.evaluation})", comparison)
