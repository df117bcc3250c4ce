"""`oneof reproduce`: the papers' experiments, run again and held against what the papers say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oneof.cli import options
from oneof.cli.guard import guarded

if TYPE_CHECKING:
    from reproduction import Claim, Experiment

NAME = "reproduce"
EXAMPLES = """\b
Examples:
  oneof reproduce
  oneof reproduce online-ecoli --quick
  oneof reproduce online-mnist --jobs 4 --out mnist
  oneof reproduce plsvm-alone --draws 2
  oneof reproduce online-mnist --dask tcp://10.0.0.1:8786
"""


def run(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="An experiment; without one, list them.")] = None,
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few draws of a small part, in about a minute on two cores.")
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws", metavar="N", min=1, help="Only the first N draws, which the page then says.", show_default="all"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write to.", show_default="oneof-NAME")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Processes; -1: one for each core.")] = -1,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler instead.")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run trials again that failed in an earlier run.")] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run an experiment of the papers; leave its table, figures, and a page that says which claims held.

    A run that was cut off goes on where it was when it is started again with the same folder.
    """
    with guarded(debug=debug):
        from oneof.cli import terminal
        from reproduction import find

        if name is None:
            _list_experiments(json=json)
            return
        experiment = find(name)
        folder = out if out is not None else Path(f"oneof-{name}{'-quick' if quick else ''}")
        claims, failed = _reproduce(experiment, folder, quick=quick, draws=draws, jobs=jobs, dask=dask, retry=retry)
        if json:
            facts = [vars(claim) | {"verdict": claim.verdict} for claim in claims]
            terminal.show_json(
                {"experiment": name, "quick": quick, "folder": folder, "failed": failed, "claims": facts}
            )
            return
        rows = [[claim.verdict, claim.statement, claim.ours] for claim in claims]
        terminal.show_table(experiment.title, ["verdict", "claim", "measured"], rows, text_columns=3)
        if failed:
            terminal.note(f"{failed} trials failed; the page names them, and --retry runs them again.")
        terminal.say(f"Read {folder / 'index.html'} next.")


def _reproduce(
    experiment: "Experiment",
    folder: Path,
    *,
    quick: bool,
    draws: int | None,
    jobs: int,
    dask: str | None,
    retry: bool,
) -> "tuple[list[Claim], int]":
    """Run what is left, write the outputs, and return the claims and the number of trials that failed."""
    from reproduction.draws import first_draws
    from reproduction.outputs import say_minutes, write_outputs

    from oneof.cli import terminal
    from oneof.cli.outputs import check_writable, staged
    from reproduction import Store, left_of, run

    check_writable(folder)
    experiment.check_data()
    plan = experiment.quick if quick else experiment.full
    trials = plan if draws is None else first_draws(plan, draws)
    with Store(folder / "records.jsonl", experiment.name) as store:
        left = len(left_of(trials, store, retry=retry))
        whole = experiment.minutes[1 if quick else 0]
        if left:
            words = (
                f"{left} of {len(trials)} trials are left, about {say_minutes(whole * left / len(plan))} of two cores"
            )
            terminal.note(f"{experiment.name}: {words}.")
        with terminal.progress(experiment.name, every_minute=True) as progress:
            records = run(trials, experiment.measure, store, jobs=jobs, dask=dask, retry=retry, progress=progress)
        command = f"oneof reproduce {experiment.name}{' --quick' if quick else ''}"
        command += "" if draws is None else f" --draws {draws}"
        with staged(folder) as stage:
            claims = write_outputs(stage, experiment, records, quick=quick, command=command)
    return claims, len(records.failed)


def _list_experiments(*, json: bool) -> None:
    from reproduction.outputs import say_minutes

    from oneof.cli import terminal
    from reproduction import listed

    experiments = list(listed())
    if json:
        names = ("name", "title", "citation", "datasets", "minutes")
        facts = [
            {n: getattr(e, n) for n in names} | {"trials": len(e.full), "missing": e.missing()} for e in experiments
        ]
        terminal.show_json({"experiments": facts})
        return
    rows = [
        [e.name, e.title, "no" if e.missing() else "yes", str(len(e.full)), *map(say_minutes, e.minutes)]
        for e in experiments
    ]
    columns = ["name", "what", "data at hand", "trials", "in full", "--quick"]
    terminal.show_table("Experiments, and what they take on two cores", columns, rows, text_columns=3)
