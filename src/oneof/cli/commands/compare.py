"""`oneof compare`: cross-validate several methods on a table."""

import typer

from oneof.cli import options
from oneof.cli.output import terminal
from oneof.cli.output.progress import progress
from oneof.cli.tables.read_options import ReadOptions

NAME = "compare"
EXAMPLES = """\b
Examples:
  oneof compare birds.csv --labels species
  oneof compare birds.csv --labels species --truth checked --json
  oneof compare birds.csv --labels species --groups recorder
  oneof compare birds.csv --answers answers.csv --row id
  oneof compare birds.csv --labels species --weighted --kind posterior
"""


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
    from oneof.cli.answers.annotators import WEIGHTS_NOTE
    from oneof.cli.tables.inputs import prepare
    from oneof.cli.tables.methods import describe_comparison, resolve_methods
    from oneof.comparison import compare
    from oneof.comparison.folds import check_task, make_folds

    prepared = prepare(table, read_options.checked(context))
    method, seed, budget = compare_options.method, compare_options.seed, compare_options.budget
    class_weight = compare_options.weights_of_classes
    methods, notes = resolve_methods(prepared, "best" if method.lower() == "auto" else method, seed, class_weight)
    answer_notes = [] if prepared.answers is None else [WEIGHTS_NOTE]
    terminal.print_notes((*prepared.notes, *answer_notes, *notes))
    task = check_task(prepared.frame, prepared.candidates, prepared.truth, class_weight)
    splits = make_folds(task, compare_options.folds or "auto", seed, prepared.groups)
    title, several = f"Cross-validating {next(iter(methods))}", len(methods) > 1
    if several:
        title = "Comparing methods"
        terminal.print_note(describe_comparison(len(methods), budget))
    with progress(title, each_name=several) as bar:
        comparison = compare(
            prepared.frame,
            prepared.candidates,
            methods,
            cv=splits,
            groups=prepared.groups,
            truth=prepared.truth,
            class_weight=class_weight,
            budget=budget if several else None,  # a single method is not left out
            refit=False,
            random_state=seed,
            progress=bar,
        )
    if comparison.is_interrupted:
        terminal.print_note("the comparison was interrupted; the table has the methods compared so far.")
    if json:
        facts = {"groups": read_options.groups, "class_weight": class_weight}
        terminal.print_json(comparison.to_dict() | facts | {"unreadable_labels": prepared.unreadable_labels.to_dict()})
    else:
        terminal.print_comparison(f"{table} ({comparison.evaluation})", comparison)
