"""`oneof compare`: cross-validate several methods on a table."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from oneof.cli import options
from oneof.cli.option_groups import ReadGroup
from oneof.cli.output import terminal
from oneof.cli.output.progress import progress

NAME = "compare"
EXAMPLES = """\b
Examples:
  oneof compare birds.csv --labels species
  oneof compare birds.csv --labels species --truth checked --json
  oneof compare birds.csv --labels species --groups recorder
  oneof compare birds.csv --answers answers.csv --row id
  oneof compare birds.csv --labels species --weighted --kind posterior
"""


@dataclass(frozen=True)
class CompareOptions:
    """Options of `oneof compare`."""

    TITLE: ClassVar[str] = "Model"

    method: Annotated[
        str,
        options.value(
            "--method",
            "NAME",
            "Name of one method, with parameters as in LOORidge:distractors=cooccurring, or auto or best: all "
            "methods except slow ones such as PLGP.",
        ),
    ] = "auto"
    class_weight: options.ClassWeight = "none"
    folds: options.Folds = None
    budget: options.Budget = options.DEFAULT_BUDGET
    seed: options.Seed = 0


def run(
    context: typer.Context,
    table: options.TableFile,
    *,
    read_group: ReadGroup,
    compare_options: CompareOptions,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare the methods on held-out rows of a table; no file is written.

    The method is chosen by the expected accuracy: the mean probability of the held-out predictions, given the sets, in
    the mixture of the methods for which the sets are most likely. The covering rate is the fraction of held-out rows
    whose prediction is in the row's candidate set. Ctrl-C ends the comparison and prints the methods compared so far.
    """
    with terminal.handle_errors(debug=debug):
        from oneof.cli.answers.annotators import WEIGHTS_NOTE
        from oneof.cli.tables.inputs import prepare
        from oneof.cli.tables.methods import describe_comparison, resolve_methods
        from oneof.comparison import compare
        from oneof.comparison.folds import check_task, make_folds

        read_options = read_group.options(context)
        prepared = prepare(table, read_options)
        weights_of_classes = options.read_class_weight(compare_options.class_weight)
        name = "best" if compare_options.method.lower() == "auto" else compare_options.method
        seed, folds, budget = compare_options.seed, compare_options.folds, compare_options.budget
        methods, notes = resolve_methods(prepared, name, seed, weights_of_classes)
        answer_notes = [] if prepared.answers is None else [WEIGHTS_NOTE]
        for sentence in (*prepared.notes, *answer_notes, *notes):
            terminal.print_note(sentence)
        limit = budget if len(methods) > 1 else None  # a single method is not left out
        task = check_task(prepared.frame, prepared.candidates, prepared.truth, weights_of_classes)
        splits = make_folds(task, "auto" if folds is None else folds, seed, prepared.groups)
        if len(methods) > 1:
            terminal.print_note(describe_comparison(len(methods), budget))
        title = "Comparing methods" if len(methods) > 1 else f"Cross-validating {next(iter(methods))}"
        with progress(title, each_name=len(methods) > 1) as bar:
            comparison = compare(
                prepared.frame,
                prepared.candidates,
                methods,
                cv=splits,
                groups=prepared.groups,
                truth=prepared.truth,
                class_weight=weights_of_classes,
                budget=limit,
                refit=False,
                random_state=seed,
                progress=bar,
            )
        if comparison.is_interrupted:
            terminal.print_note("the comparison was interrupted; the table has the methods compared so far.")
        if json:
            facts = {"groups": read_options.groups, "class_weight": weights_of_classes}
            unreadable = {"unreadable_labels": prepared.unreadable_labels.to_dict()}
            terminal.print_json(comparison.to_dict() | facts | unreadable)
        else:
            terminal.print_comparison(f"{table} ({comparison.evaluation})", comparison)
