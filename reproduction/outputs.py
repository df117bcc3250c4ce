"""The outputs of an experiment: its table, its figures, its claims, and the page that shows them."""

import csv
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.plots.svg import to_svg
from oneof.report.templating import environment
from reproduction.claims import Claim
from reproduction.experiment import Experiment, Table
from reproduction.records import Records
from reproduction.trial import format_replicates

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
        The records of all its trials, including failed ones; or of its first draws only, which the page then states.
    quick : bool
        Whether the records are those of the quick run, which the page then states.
    command : str
        The command that makes the page.

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
    write_csv(folder / "table.csv", table.columns, table.rows)
    rows = [(claim.verdict, claim.statement, claim.paper, claim.measured) for claim in claims]
    write_csv(folder / "claims.csv", ("verdict", "claim", "paper", "measured"), rows)
    pictures: list[tuple[str, str]] = []
    for name, figure in figures.items():
        # The picture in the page takes the page's colors; that in the file has its own.
        pictures.append((name, _to_svg(figure, name, experiment.title)))
        _save(figure, folder / name)
    page = _render(experiment, records, table, claims, pictures, quick=quick, command=command)
    (folder / "index.html").write_text(page, encoding="utf-8", newline="\n")
    return claims


def format_verdicts(claims: Sequence[Claim]) -> str:
    """Return a line on how many claims are confirmed."""
    if not claims:
        return "No claim could be checked"
    n_confirmed = sum(claim.confirmed is True for claim in claims)
    n_unknown = sum(claim.confirmed is None for claim in claims)
    rest = f", {n_unknown} not measured" if n_unknown else ""
    return f"{n_confirmed} of {len(claims)} claims confirmed{rest}"


def format_cell(value: str | float | int) -> str:
    """Format a cell of the page and of the CSV file."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{DIGITS}g}" if abs(value) < 1 else f"{value:.2f}"
    return f"{value}"


def format_minutes(minutes: float) -> str:
    """Format a duration in seconds, minutes or hours."""
    if minutes < 1.5:
        return f"{max(60 * minutes, 1):.0f} s" if minutes < 0.9 else "1 min"
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def format_versions(records: Records, now: str) -> str:
    """Return a sentence on the versions of oneof that measured the records; empty if it was only this one."""
    counts = sorted(records.versions.items(), key=lambda item: (item[0] is None, item[0] or ""))
    if [version for version, _ in counts] in ([now], []):
        return ""
    text = ", ".join(
        f"{count:,} by {'a version that was not recorded' if version is None else version}" for version, count in counts
    )
    return f"Not all records were measured by this version, {now}: {text}. A new folder measures everything again."


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str | float | int]]) -> None:
    """Write a table with the digits of the published ones."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([format_cell(cell) for cell in row] for row in rows)


def _save(figure: "Figure", path: Path) -> None:
    """Write a figure to a PNG and an SVG file, without dates or random names in them."""
    import matplotlib as mpl

    figure.savefig(path.with_suffix(".png"), dpi=DPI, facecolor="white", metadata={"Software": None})
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "oneof"}):
        figure.savefig(path.with_suffix(".svg"), facecolor="white", metadata={"Date": None})


def _to_svg(figure: "Figure", name: str, title: str) -> str:
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
        verdicts=format_verdicts(claims),
        claims=claims,
        pictures=[(name.replace("-", " "), Markup(svg)) for name, svg in pictures],
        table=table,
        numeric=[bool(table.rows) and not isinstance(table.rows[0][i], str) for i in range(len(table.columns))],
        failed=records.failed,
        n_trials=len(records),
        summary=f"{len(records):,} trials, {format_minutes(minutes)} of one core in total.",
        replicates=format_replicates((record.trial for record in records), plan),
        versions=format_versions(records, now),
        quick=quick,
        command=command,
        version=now,
    )


@cache
def _template() -> "Template":
    templates = environment("reproduction")
    templates.filters.update(format_cell=format_cell)
    return templates.get_template("experiment.html")
