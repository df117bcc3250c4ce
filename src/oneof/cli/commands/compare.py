"""`oneof compare`: cross-validate several methods on a table.

oneof compare birds.csv --labels species
oneof compare birds.csv --labels species --truth checked --json
oneof compare birds.csv --labels species --groups recorder
oneof compare birds.csv --answers answers.csv --row id
oneof compare birds.csv --labels species --weighted --kind posterior
"""

import typer

from oneof.cli import options, terminal
from oneof.cli.options import ReadOptions


def run(
    context: typer.Context,
    table: options.TableFile,
    *,
    read_options: ReadOptions,
    compare_options: options.CompareOptions,
    json: options.Json = False,
) -> None:
    """Compare the methods on held-out rows of a table; no file is written. Method auto is best.

    The method is chosen by the expected accuracy: the mean probability of the held-out predictions, given the sets, in
    the mixture of the methods for which the sets are most likely. The covering rate is the fraction of held-out rows
    whose prediction is in the row's candidate set. Ctrl-C ends the comparison and prints the methods compared so far.
    """
    from oneof.cli.answers import WEIGHTS_NOTE
    from oneof.cli.training import compare_methods, start

    method = compare_options.method
    named = vars(compare_options) | {"method": "best" if method.lower() == "auto" else method}
    fit = start(table, read_options.checked(context), options.FitOptions(**named))
    terminal.print_note(*fit.notes, *[WEIGHTS_NOTE] * (fit.prepared.answers is not None))
    comparison = compare_methods(fit)
    if comparison.is_interrupted:
        terminal.print_note("the comparison was interrupted; the table has the methods compared so far.")
    if json:
        facts = {"groups": read_options.groups, "class_weight": fit.options.weights_of_classes}
        unreadable = {"unreadable_labels": fit.prepared.unreadable_labels.to_dict()}
        terminal.print_json(comparison.to_dict() | facts | unreadable)
    else:
        terminal.print_comparison(f"{table} ({comparison.evaluation})", comparison)
