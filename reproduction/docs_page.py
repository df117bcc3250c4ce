"""Make docs/reproduction from the records of full runs: tables, figures, and a page with every claim.

Run the experiments first, each into a folder of its name: ``python -m reproduction NAME --out RUNS/NAME``. Then run
``python -m reproduction.docs_page RUNS``. Of an unfinished run the complete draws are shown, and the page states their
number. An experiment without a complete draw in RUNS has the records in docs/reproduction/records.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from reproduction import NAMES, Claim, Experiment, Records, Store, get_experiment
from reproduction.outputs import format_minutes, format_verdicts, format_versions, write_outputs
from reproduction.trial import complete_replicates, format_replicates

DOCS = Path(__file__).parent.parent / "docs" / "reproduction"
HEADER = """# Claims of the papers, and measured results

This page compares the claims of the papers with measured results, for readers who choose a method by its paper. ± is
one standard error over the draws; a difference counts beyond two, unless the claim says otherwise. Times are of one
core. The linked claims have the words of the papers and all numbers. `python -m reproduction.docs_page` makes this page
from the records of full runs ([protocol](../reproduction.md)).

"""
MAX_WORDS = 24
"""Maximum number of words of a measured result on the page; longer ones are in the file of claims alone."""


def complete_records(experiment: Experiment, folder: Path) -> Records:
    """Return the records of the complete draws of a full run."""
    path = folder / "records.jsonl"
    if not path.exists():
        return Records([])
    with (
        tempfile.TemporaryDirectory() as copy,  # the file may be locked by a run
        Store(Path(shutil.copy(path, Path(copy) / path.name)), experiment.name) as store,
    ):
        return Records(store.records[trial.key] for trial in complete_replicates(experiment.full, store.records))


def escape_cell(text: str) -> str:
    """Escape text for a Markdown table."""
    return text.replace("|", "\\|")


def anchor(title: str) -> str:
    """Return GitHub's anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def claim_lines(claims: Sequence[Claim], file: str) -> list[str]:
    """Return the list of the confirmed claims, and the table of the other ones with the measured results."""
    lines = []
    confirmed = [claim.statement.rstrip(".") for claim in claims if claim.confirmed]
    if confirmed:
        lines += [f"**Confirmed**: {'; '.join(confirmed)}.", ""]
    others = [claim for claim in claims if not claim.confirmed]
    if others:
        lines += ["| not confirmed | measured |", "|---|---|"]
        for claim in others:
            measured = claim.measured if len(claim.measured.split()) <= MAX_WORDS else f"[numbers]({file})"
            verdict = " (not measured)" if claim.confirmed is None else ""
            lines.append(f"| {escape_cell(claim.statement)}{verdict} | {escape_cell(measured)} |")
        lines.append("")
    return lines


def short_citation(citation: str) -> str:
    """Return the first author and the year of a citation, or its first sentence if it names no paper."""
    paper = re.match(r"(\w+)(( & \w+)? |, [^(]*)\((\d{4})\)", citation)
    if paper is None:
        return citation.split(".", maxsplit=1)[0]
    return f"{paper[1]}{paper[3] or ''}{' et al.' if paper[2].startswith(',') else ''} {paper[4]}"


def make_section(experiment: Experiment, records: Records) -> tuple[str, str]:
    """Write the tables and figures of an experiment; return its row of the overview and its section of the page."""
    from PIL import Image

    name = experiment.name
    with tempfile.TemporaryDirectory() as outputs:
        folder = Path(outputs)
        claims = write_outputs(folder, experiment, records, quick=False, command=f"python -m reproduction {name}")
        for table in ("table", "claims"):
            shutil.copy(folder / f"{table}.csv", DOCS / f"{name}-{table}.csv")
        pictures = []
        for picture in sorted(folder.glob("*.png")):
            target = DOCS / (f"{name}.png" if picture.stem == "figure" else f"{name}-{picture.stem}.png")
            # Without k-means the colors of a color bar are merged into bands.
            Image.open(picture).convert("RGB").quantize(256, kmeans=1).save(target, optimize=True)
            pictures.append(target)
    minutes = sum(record.seconds for record in records) / 60
    replicates = format_replicates((record.trial for record in records), experiment.full)
    lines = [
        f"## {experiment.title}",
        "",
        f"`python -m reproduction {name}` ({format_minutes(minutes)}). "
        f"{replicates}{' ' if replicates else ''}[table]({name}-table.csv), [claims]({name}-claims.csv)"
        f"{''.join(f', [{picture.stem}]({picture.name})' for picture in pictures[1:])}.",
        "",
        *claim_lines(claims, f"{name}-claims.csv"),
        *(f"{remark}\n" for remark in experiment.remarks),
        *(f"![Results]({picture.name})" for picture in pictures[:1]),
        "",
    ]
    if records.failed:
        lines += [f"{len(records.failed)} trials failed, the first with: {records.failed[0].error}", ""]
    lines.append(format_versions(records, version("oneof")))
    overview = (
        f"| [{name}](#{anchor(experiment.title)}) | {short_citation(experiment.citation)} | "
        f"{format_verdicts(claims).replace(' claims confirmed', '')} |"
    )
    return overview, "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Write the page, with the experiments that have complete draws made anew."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.docs_page", description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    DOCS.mkdir(exist_ok=True)
    rows, sections, missing = ["| experiment | paper | confirmed |", "|---|---|---|"], [], []
    for name in NAMES:
        experiment = get_experiment(name)
        records = complete_records(experiment, runs / name) or complete_records(experiment, DOCS / "records" / name)
        if not records:
            missing.append(name)
            continue
        row, section = make_section(experiment, records)
        sys.stdout.write(f"{name} {len(records)}\n")
        rows.append(row)
        sections.append(section)
    if missing:
        sections.append(f"Not run yet: {', '.join(f'`{name}`' for name in missing)}.\n")
    page = HEADER + "\n".join(["\n".join(rows) + "\n", *sections])
    (DOCS / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
