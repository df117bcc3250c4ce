"""docs/reproduction/ from the records of full runs: tables, pictures, and a page with every claim.

Run the experiments first, each into a folder of its name: `oneof reproduce NAME --out RUNS/NAME`. Then
`python benchmarks/reproduction.py RUNS`. Of a run that was ended early the whole draws are shown, and the page says
how many they are; what has none in RUNS keeps its files and its part of the page.
"""

import argparse
import re
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from PIL import Image
from reproduction.draws import say_draws, whole_draws
from reproduction.outputs import count_verdicts, say_minutes, say_versions, write_outputs

from reproduction import NAMES, Records, Store, find

DOCS = Path(__file__).parent.parent / "docs" / "reproduction"
HEAD = """# Claims of the papers, and what we measured

Made by `benchmarks/reproduction.py` from the records of full runs (`oneof reproduce NAME`; how it is done, and what
can be relied on: [reproduction.md](../reproduction.md)). Where a claim does not hold, what was found out stands
below the table. ± is one standard error over the draws; a difference counts beyond two, unless the claim says
otherwise.

"""


def measured(experiment, folder):
    """Return the records of the whole draws of a full run."""
    path = folder / "records.jsonl"
    if not path.exists():
        return Records([])
    with (
        tempfile.TemporaryDirectory() as copy,  # a run that goes on holds its own file
        Store(shutil.copy(path, Path(copy) / path.name), experiment.name) as store,
    ):
        return Records(store.records[trial.key] for trial in whole_draws(experiment.full, store.records))


def earlier():
    """Return what the page holds of each experiment, by title: its row of the overview and its part."""
    page = (DOCS / "README.md").read_text(encoding="utf-8") if (DOCS / "README.md").exists() else ""
    rows = dict(re.findall(r"(?m)^(?=\| \[(.*?)\]\(#)(.*)$", page))
    parts = dict(re.findall(r"(?ms)^(?=## (.*?)$)(.*?\n)(?=\n## |\nNot run yet|\Z)", page))
    return {title: (rows[title], part) for title, part in parts.items()}


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
    fewer = say_draws((record.trial for record in records), experiment.full)
    lines = [
        f"## {experiment.title}",
        "",
        f"{experiment.citation}. {len(records):,} trials, {say_minutes(minutes)} of one core. "
        f"{fewer}{' ' if fewer else ''}**{count_verdicts(claims)}.** Numbers: [{name}-table.csv]({name}-table.csv).",
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
        lines += [f"{len(records.failed)} trials failed, the first with: {records.failed[0].error}", ""]
    lines.append(say_versions(records, version("oneof")))
    overview = f"| [{experiment.title}](#{anchor(experiment.title)}) | {count_verdicts(claims)} |"
    return overview, "\n".join(lines).rstrip() + "\n"


def main():
    """Write all that is finished."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    DOCS.mkdir(exist_ok=True)
    rows, parts, missing = ["| experiment | |", "|---|---|"], [], []
    kept = earlier()
    for name in NAMES:
        experiment = find(name)
        records = measured(experiment, runs / name)
        if len(records):
            row, part = section(experiment, records)
            print(name, len(records), flush=True)
        elif experiment.title in kept:
            row, part = kept[experiment.title]
        else:
            missing.append(name)
            continue
        rows.append(row)
        parts.append(part)
    if missing:
        parts.append(f"Not run yet: {', '.join(f'`{name}`' for name in missing)}.\n")
    page = HEAD + "\n".join(["\n".join(rows) + "\n", *parts])
    (DOCS / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
