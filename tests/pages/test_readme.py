"""README lists every method and is short."""

import re
from pathlib import Path

import oneof
from oneof.estimators.base import CandidateClassifier

README = Path(__file__).resolve().parents[2] / "README.md"


def test_every_method_is_listed() -> None:
    """The section on methods names each public estimator once, and nothing else."""
    values = [getattr(oneof, name) for name in oneof._LAZY_NAMES]
    public = {value.__name__ for value in values if isinstance(value, type) and issubclass(value, CandidateClassifier)}
    section = README.read_text(encoding="utf-8").partition("\n## Methods\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"`(\w+)`", section)) == sorted(public)


def test_readme_is_short() -> None:
    """README has at most 110 lines."""
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 110
