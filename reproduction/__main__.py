"""The command ``python -m reproduction``: run an experiment of a paper and check the paper's claims."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from oneof.cli import options, terminal
from oneof.cli.terminal import step as show_progress

if TYPE_CHECKING:
    from reproduction import Claim, Experiment, Records

FAILED = 1
"""Exit code if trials failed."""
PROGRAM = "python -m reproduction"
EXAMPLES = f"""\b
Examples:
  {PROGRAM}
  {PROGRAM} online-ecoli --quick
  {PROGRAM} online-mnist --jobs 4 --out mnist
  {PROGRAM} plsvm-alone --draws 2
  {PROGRAM} online-mnist --dask tcp://10.0.0.1:8786
"""

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Name: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="NAME", help="An experiment; without a name, list the experiments.")
]


@dataclass(frozen=True)
class RunOptions:
    """Options of a run."""

    quick: bool = options.flag("Run a few draws of a small subset, in about a minute on two cores.")
    draws: int | None = options.option("N", "Run only the first N draws.", min=1, show_default="all")
    out: Path | None = options.option("DIR", "The output folder.", show_default="oneof-NAME")
    jobs: int = options.option("N", "Number of processes; -1: one for each core.", -1)
    dask: str | None = options.option("ADDRESS", "Run on the workers of this Dask scheduler instead.")
    retry: bool = options.flag("Run the trials again that failed in an earlier run.")


@app.command(epilog=EXAMPLES)
@options.expand
def main(name: Name = None, *, run_options: RunOptions, json: options.Json = False) -> None:
    """Run an experiment of a paper, and write its table, its figures and a page with the verdict on each claim.

    An interrupted run continues if the command is started again with the same folder. The exit code is 1 if trials
    failed.
    """
    from reproduction import get_experiment

    if name is None:
        _list_experiments(json=json)
        return
    experiment = get_experiment(name)
    folder = run_options.out or Path(f"oneof-{name}{'-quick' if run_options.quick else ''}")
    claims, failed = _reproduce(experiment, folder, run_options)
    if json:
        content = [vars(claim) | {"verdict": claim.verdict} for claim in claims]
        facts = {"experiment": name, "quick": run_options.quick, "folder": folder, "failed": len(failed)}
        terminal.print_json({**facts, "claims": content})
    else:
        rows = [[claim.verdict, claim.statement, claim.measured] for claim in claims]
        terminal.print_table(experiment.title, ["verdict", "claim", "measured"], rows, text_columns=3)
        if failed:
            terminal.print_note(
                f"{len(failed)} trials failed; the first error is: {failed[0].error} The page lists all of them; "
                "--retry runs them again."
            )
        terminal.print_line(f"Read {folder / 'index.html'} next.")
    raise typer.Exit(FAILED if failed else 0)


def _reproduce(experiment: "Experiment", folder: Path, run_options: RunOptions) -> "tuple[list[Claim], Records]":
    """Run the pending trials, write the outputs, and return the claims and the failed trials."""
    from oneof.files import atomic_directory, check_writable
    from reproduction import Store, pending, run
    from reproduction.outputs import format_minutes, write_outputs
    from reproduction.trial import first_replicates

    quick, draws, retry = run_options.quick, run_options.draws, run_options.retry
    check_writable(folder)
    experiment.check_data()
    plan = experiment.quick if quick else experiment.full
    trials = plan if draws is None else first_replicates(plan, draws)
    with Store(folder / "records.jsonl", experiment.name) as store:
        n_pending = len(pending(trials, store, retry=retry))
        minutes = experiment.minutes[1 if quick else 0]
        if n_pending:
            experiment.download()
            terminal.print_note(
                f"{experiment.name}: {n_pending} of {len(trials)} trials are pending, about "
                f"{format_minutes(minutes * n_pending / len(plan))} of two cores."
            )
        with show_progress(experiment.name) as progress:
            records = run(
                trials, experiment.measure, store, jobs=run_options.jobs, dask=run_options.dask, retry=retry,
                progress=progress,
            )  # fmt: skip
        command = f"{PROGRAM} {experiment.name}{' --quick' if quick else ''}"
        command += "" if draws is None else f" --draws {draws}"
        with atomic_directory(folder) as stage:
            claims = write_outputs(stage, experiment, records, quick=quick, command=command)
    return claims, records.failed


def _list_experiments(*, json: bool) -> None:
    """Print the experiments with their data, their number of trials and their running times."""
    from reproduction import iter_experiments
    from reproduction.outputs import format_minutes

    experiments = list(iter_experiments())
    if json:
        names = ("name", "title", "citation", "datasets", "minutes")
        content = [
            {n: getattr(e, n) for n in names} | {"trials": len(e.full), "missing": e.missing()} for e in experiments
        ]
        terminal.print_json({"experiments": content})
        return
    rows = []
    for e in experiments:
        available = "no" if e.missing() else "to download" if e.to_download() else "yes"
        rows.append([e.name, e.title, available, str(len(e.full)), *map(format_minutes, e.minutes)])
    columns = ["name", "contents", "data available", "trials", "full run", "--quick"]
    terminal.print_table("Experiments, with their times on two cores", columns, rows, text_columns=3)


if __name__ == "__main__":
    app(prog_name=PROGRAM)
