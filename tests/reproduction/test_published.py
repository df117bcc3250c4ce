"""The published tables and claims, and the records that they are made from."""

import pytest

from reproduction import NAMES, get_experiment
from reproduction.docs_page import DOCS, complete_records
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
