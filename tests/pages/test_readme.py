"""What README promises of itself."""

import re
from pathlib import Path

import oneof
from oneof.estimators.base import CandidateClassifier

README = Path(__file__).resolve().parents[2] / "README.md"


def test_every_method_has_a_row() -> None:
    """The table of methods names each public estimator once, and nothing else."""
    public = {
        name
        for name in oneof._LAZY_NAMES
        if isinstance(getattr(oneof, name), type) and issubclass(getattr(oneof, name), CandidateClassifier)
    }
    table = README.read_text(encoding="utf-8").partition("| estimator |")[2].partition("\n\n")[0]
    named = [name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(named) == sorted(public)


def test_it_fits_on_three_screens() -> None:
    """README has at most 150 lines."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150
