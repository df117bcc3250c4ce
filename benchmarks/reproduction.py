"""docs/reproduction/ from the records of full runs: tables, pictures, and a page with every claim.

Run the experiments first, each into a folder of its name: `oneof reproduce NAME --out RUNS/NAME`. Then
`python benchmarks/reproduction.py RUNS`. What has no finished run in RUNS keeps its files, and is not on the page.
"""

import argparse
import re
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from PIL import Image

from oneof.experiments import NAMES, Records, Store, find
from oneof.experiments.outputs import count_verdicts, say_minutes, say_versions, write_outputs

DOCS = Path(__file__).parent.parent / "docs" / "reproduction"
HEAD = """# Claims of the papers, and what we measured

Made by `benchmarks/reproduction.py` from the records of full runs (`oneof reproduce NAME`; how it is done, and what
can be relied on: [reproduction.md](../reproduction.md)). Where a claim does not hold, what was found out stands
below the table. ± is one standard error over the draws; a difference counts beyond two, unless the claim says
otherwise.

"""


def finished(experiment, folder):
    """Return the records of a full run, or None while some of it is missing."""
    path = folder / "records.jsonl"
    if not path.exists():
        return None
    with (
        tempfile.TemporaryDirectory() as copy,  # a run that goes on holds its own file
        Store(shutil.copy(path, Path(copy) / path.name), experiment.name) as store,
    ):
        found = [store.records[trial.key] for trial in experiment.full if trial.key in store.records]
    return Records(found) if len(found) == len(experiment.full) else None


def cell(text):
    """Return text that a Markdown table takes."""
    return text.replace("|", "\\|")


def anchor(title):
    """Return the name that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def section(experiment, records):
    """Write tables and pictures of one experiment, and return its row of the overview and its part of the page."""
    name = experiment.name
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        claims = write_outputs(folder, experiment, records, quick=False, command=f"oneof reproduce {name}")
        for table in ("table", "claims"):
            shutil.copy(folder / f"{table}.csv", DOCS / f"{name}-{table}.csv")
        pictures = []
        for picture in sorted(folder.glob("*.png")):
            target = DOCS / (f"{name}.png" if picture.stem == "figure" else f"{name}-{picture.stem}.png")
            Image.open(picture).convert("RGB").quantize(64).save(target, optimize=True)
            pictures.append(f"![{experiment.title}]({target.name})")
    minutes = sum(record.seconds for record in records) / 60
    lines = [
        f"## {experiment.title}",
        "",
        f"{experiment.citation}. {len(records):,} trials, {say_minutes(minutes)} of one core. "
        f"**{count_verdicts(claims)}.** Numbers: [{name}-table.csv]({name}-table.csv).",
        "",
        "| claim | the paper | ours | |",
        "|---|---|---|---|",
        *(f"| {cell(c.statement)} | {cell(c.paper)} | {cell(c.ours)} | {c.verdict} |" for c in claims),
        "",
        *(f"{remark}\n" for remark in experiment.remarks),
        *pictures,
        "",
    ]
    if records.failed:
        lines.append(f"{len(records.failed)} trials failed, the first with: {records.failed[0].error}\n")
    overview = f"| [{experiment.title}](#{anchor(experiment.title)}) | {count_verdicts(claims)} |"
    return overview, "\n".join(lines).rstrip() + "\n"


def main():
    """Write all that is finished."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    DOCS.mkdir(exist_ok=True)
    rows, parts, missing, shown = ["| experiment | |", "|---|---|"], [], [], []
    for name in NAMES:
        experiment = find(name)
        records = finished(experiment, runs / name)
        if records is None:
            missing.append(name)
        else:
            row, part = section(experiment, records)
            rows.append(row)
            parts.append(part)
            shown += records
            print(name, len(records), flush=True)
    older = say_versions(Records(shown), version("oneof"))
    if older:
        parts.append(f"{older}\n")
    if missing:
        parts.append(f"Not run in full yet: {', '.join(f'`{name}`' for name in missing)}.\n")
    page = HEAD + "\n".join(["\n".join(rows) + "\n", *parts])
    (DOCS / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
