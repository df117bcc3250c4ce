"""What an experiment leaves: its table, its figures, its claims, and the page that shows them together."""

import csv
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.plots.svg import to_svg
from oneof.report.templating import environment
from reproduction.claims import Claim
from reproduction.draws import say_draws
from reproduction.experiment import Experiment, Table
from reproduction.records import Records

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

DIGITS = 4
DPI = 110


def write_outputs(folder: Path, experiment: Experiment, records: Records, *, quick: bool, command: str) -> list[Claim]:
    """Write ``table.csv``, ``claims.csv``, a PNG and an SVG of each figure, and ``index.html``.

    Equal records give equal files.

    Parameters
    ----------
    folder : Path
        An existing folder.
    experiment : Experiment
    records : Records
        Of all its trials, those that failed among them; or of its first draws alone, which the page then says.
    quick : bool
        Whether they are those of the quick run, which the page then says.
    command : str
        The command that makes the page again.

    Returns
    -------
    list of Claim

    Raises
    ------
    MissingExtraError
        If jinja2 or matplotlib is not installed.
    """
    done = Records(record for record in records if record.error is None)
    table = experiment.tabulate(done) if len(done) else Table(("trial",), [])
    claims = list(experiment.claims(done)) if len(done) else []
    figures = dict(experiment.draw(done)) if len(done) else {}
    _write_csv(folder / "table.csv", table.columns, table.rows)
    judged = [(claim.verdict, claim.statement, claim.paper, claim.ours) for claim in claims]
    _write_csv(folder / "claims.csv", ("verdict", "claim", "paper", "ours"), judged)
    pictures: list[tuple[str, str]] = []
    for name, figure in figures.items():
        # The page's picture takes its colors from the page; that of the file has its own.
        pictures.append((name, _svg(figure, name, experiment.title)))
        _save(figure, folder / name)
    page = _render(experiment, records, table, claims, pictures, quick=quick, command=command)
    (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    return claims


def count_verdicts(claims: Sequence[Claim]) -> str:
    """Say in one line how many claims held."""
    if not claims:
        return "No claim could be judged"
    held = sum(claim.held is True for claim in claims)
    unknown = sum(claim.held is None for claim in claims)
    rest = f", {unknown} could not be judged" if unknown else ""
    return f"{held} of {len(claims)} claims held{rest}"


def show_cell(value: str | float | int) -> str:
    """Write a cell as the page and the CSV file show it."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{DIGITS}g}" if abs(value) < 1 else f"{value:.2f}"
    return f"{value}"


def say_minutes(minutes: float) -> str:
    """Write a time as people say it."""
    if minutes < 1.5:
        return f"{max(60 * minutes, 1):.0f} s" if minutes < 0.9 else "1 min"
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def say_versions(records: Records, now: str) -> str:
    """Say which versions of oneof measured, where it was not this one alone: a trial measured once is not run again."""
    made = sorted(records.versions.items(), key=lambda item: (item[0] is None, item[0] or ""))
    if [version for version, _ in made] in ([now], []):
        return ""
    told = ", ".join(
        f"{count:,} by {'a version that was not written down' if version is None else version}"
        for version, count in made
    )
    return f"Not all was measured by this version, {now}: of the records, {told} (a new folder measures all anew)."


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str | float | int]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([show_cell(cell) for cell in row] for row in rows)


def _save(figure: "Figure", path: Path) -> None:
    """Write a figure to files of its own, without dates or random names in them."""
    import matplotlib as mpl

    figure.savefig(path.with_suffix(".png"), dpi=DPI, facecolor="white", metadata={"Software": None})
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "oneof"}):
        figure.savefig(path.with_suffix(".svg"), facecolor="white", metadata={"Date": None})


def _svg(figure: "Figure", name: str, title: str) -> str:
    return to_svg(figure, prefix=name, title=title, description="Curves with their bands; the table has the numbers.")


def _render(
    experiment: Experiment,
    records: Records,
    table: Table,
    claims: Sequence[Claim],
    pictures: Sequence[tuple[str, str]],
    *,
    quick: bool,
    command: str,
) -> str:
    from importlib.metadata import version

    from markupsafe import Markup

    minutes, now = sum(record.seconds for record in records) / 60, version("oneof")
    plan = experiment.quick if quick else experiment.full
    return _template().render(
        experiment=experiment,
        verdicts=count_verdicts(claims),
        claims=claims,
        pictures=[(name.replace("-", " "), Markup(svg)) for name, svg in pictures],
        table=table,
        numeric=[bool(table.rows) and not isinstance(table.rows[0][i], str) for i in range(len(table.columns))],
        failed=records.failed,
        n_trials=len(records),
        facts=f"{len(records):,} trials, which took {say_minutes(minutes)} of one core in all.",
        fewer=say_draws((record.trial for record in records), plan),
        older=say_versions(records, now),
        quick=quick,
        command=command,
        version=now,
    )


@cache
def _template() -> "Template":
    templates = environment("reproduction")
    templates.filters.update(shown=show_cell)
    return templates.get_template("experiment.html")
