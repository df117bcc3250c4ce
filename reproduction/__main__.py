"""The command ``python -m reproduction``: run an experiment of a paper and check the paper's claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneof.cli import options
from oneof.cli.output import terminal
from oneof.cli.output.progress import progress as show_progress

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


@app.command(epilog=EXAMPLES)
def main(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="An experiment; without a name, list the experiments.")
    ] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a few draws of a small subset, in about a minute on two cores.")
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option("--draws", metavar="N", min=1, help="Run only the first N draws.", show_default="all"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The output folder.", show_default="oneof-NAME")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Number of processes; -1: one for each core.")] = -1,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler instead.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run the trials again that failed in an earlier run.")] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run an experiment of a paper, and write its table, its figures and a page with the verdict on each claim.

    An interrupted run continues if the command is started again with the same folder. The exit code is 1 if trials
    failed.
    """
    with terminal.handle_errors(debug=debug):
        from reproduction import get_experiment

        if name is None:
            _list_experiments(json=json)
            return
        experiment = get_experiment(name)
        folder = out if out is not None else Path(f"oneof-{name}{'-quick' if quick else ''}")
        claims, failed = _reproduce(experiment, folder, quick=quick, draws=draws, jobs=jobs, dask=dask, retry=retry)
        if json:
            content = [vars(claim) | {"verdict": claim.verdict} for claim in claims]
            terminal.print_json(
                {"experiment": name, "quick": quick, "folder": folder, "failed": len(failed), "claims": content}
            )
            raise typer.Exit(FAILED if failed else 0)
        rows = [[claim.verdict, claim.statement, claim.measured] for claim in claims]
        terminal.print_table(experiment.title, ["verdict", "claim", "measured"], rows, text_columns=3)
        if failed:
            terminal.print_note(
                f"{len(failed)} trials failed; the first error is: {failed[0].error} The page lists all of them; "
                "--retry runs them again."
            )
        terminal.print_line(f"Read {folder / 'index.html'} next.")
        raise typer.Exit(FAILED if failed else 0)


def _reproduce(
    experiment: "Experiment",
    folder: Path,
    *,
    quick: bool,
    draws: int | None,
    jobs: int,
    dask: str | None,
    retry: bool,
) -> "tuple[list[Claim], Records]":
    """Run the pending trials, write the outputs, and return the claims and the failed trials."""
    from oneof.files import atomic_directory, check_writable
    from reproduction import Store, pending, run
    from reproduction.outputs import format_minutes, write_outputs
    from reproduction.trial import first_replicates

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
            records = run(trials, experiment.measure, store, jobs=jobs, dask=dask, retry=retry, progress=progress)
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
    rows = [
        [
            e.name,
            e.title,
            "no" if e.missing() else "to download" if e.to_download() else "yes",
            str(len(e.full)),
            *map(format_minutes, e.minutes),
        ]
        for e in experiments
    ]
    columns = ["name", "contents", "data available", "trials", "full run", "--quick"]
    terminal.print_table("Experiments, with their times on two cores", columns, rows, text_columns=3)


if __name__ == "__main__":
    app(prog_name=PROGRAM)
