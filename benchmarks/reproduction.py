"""docs/reproduction/ from the records of full runs: tables, pictures, and a page with every claim.

Run the experiments first, each into a folder of its name: `oneof reproduce NAME --out RUNS/NAME`. Then
`python benchmarks/reproduction.py RUNS`. What has no finished run in RUNS keeps its files, and is not on the page.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from PIL import Image

from oneof.experiments import NAMES, Records, Store, find
from oneof.experiments.outputs import count_verdicts, write_outputs

DOCS = Path(__file__).parent.parent / "docs" / "reproduction"
HEAD = """# Claims of the papers, and what we measured

Made by `benchmarks/reproduction.py` from the records of full runs (`oneof reproduce NAME`; how it is done, and what
can be relied on: [reproduction.md](../reproduction.md)). Where a claim does not hold, what was found out stands
below the table.

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


def section(experiment, records):
    """Write tables and pictures of one experiment, and return its part of the page."""
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
    hours = sum(record.seconds for record in records) / 3600
    lines = [
        f"## {experiment.title}",
        "",
        f"{experiment.citation}. {len(records):,} trials, {hours:.1f} hours of one core. **{count_verdicts(claims)}.** "
        f"Numbers: [{name}-table.csv]({name}-table.csv).",
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
    return "\n".join(lines) + "\n"


def main():
    """Write all that is finished."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    DOCS.mkdir(exist_ok=True)
    parts, missing = [], []
    for name in NAMES:
        experiment = find(name)
        records = finished(experiment, runs / name)
        if records is None:
            missing.append(name)
        else:
            parts.append(section(experiment, records))
            print(name, len(records), flush=True)
    if missing:
        parts.append(f"Not run in full yet: {', '.join(f'`{name}`' for name in missing)}.\n")
    (DOCS / "README.md").write_text(HEAD + "\n".join(parts).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
