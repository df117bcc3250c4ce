"""The published tables and claims, and the records that they are made from."""

import csv

import pytest

from reproduction import NAMES, get_experiment
from reproduction.docs_page import DOCS, MAX_WORDS, complete_records, escape_cell
from reproduction.outputs import write_csv


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_published_tables_follow_from_the_stored_records(tmp_path, name):
    """Every published number and verdict is computed from the records in the repository."""
    experiment = get_experiment(name)
    records = complete_records(experiment, DOCS / "records" / name)
    table, claims = experiment.tabulate(records), experiment.claims(records)
    write_csv(tmp_path / "table.csv", table.columns, table.rows)
    rows = [(claim.verdict, claim.statement, claim.paper, claim.measured) for claim in claims]
    write_csv(tmp_path / "claims.csv", ("verdict", "claim", "paper", "measured"), rows)
    for part in ("table", "claims"):
        assert (tmp_path / f"{part}.csv").read_bytes() == (DOCS / f"{name}-{part}.csv").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_published_claim(name):
    """A section lists each claim of its file by its verdict, and the measured results of those not confirmed."""
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    section = page.partition(f"`python -m reproduction {name}` ")[2].partition("\n## ")[0]
    confirmed, _, others = section.partition("| not confirmed | measured |")
    with (DOCS / f"{name}-claims.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            statement = escape_cell(row["claim"])
            if row["verdict"] == "confirmed":
                assert statement.rstrip(".") in confirmed.partition("**Confirmed**")[2]
            else:
                is_short = len(row["measured"].split()) <= MAX_WORDS
                measured = escape_cell(row["measured"]) if is_short else f"[numbers]({name}-claims.csv)"
                assert f"| {statement} | {measured} |" in others
