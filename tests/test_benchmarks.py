"""Shared functions and the command of the benchmarks."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import benchmarks
from benchmarks.__main__ import THEMES, main
from benchmarks.common import candidate_columns
from oneof.datasets.dataset import from_codes


@pytest.mark.parametrize("classes", [["ant", "bee", "cat"], ["cat", "ant", "bee"], ["8", "9", "10"]], ids=str)
def test_true_labels_are_columns_of_the_candidate_sets(classes):
    """Each class has its own column, in the order of the data set, sorted or not."""
    codes = np.array([2, 0, 1, 1, 2, 0])
    data = from_codes("animals", np.zeros((6, 1)), codes, np.array(classes))
    columns = candidate_columns(data)
    np.testing.assert_array_equal(columns, codes)
    assert data.candidates.mask[np.arange(6), columns].all()


def test_every_part_can_be_imported():
    """The modules of the benchmarks import names of the tests that exist."""
    root = Path(benchmarks.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if "peers" not in path.parts and path.stem != "__main__":
            importlib.import_module(".".join(["benchmarks", *path.relative_to(root).with_suffix("").parts]))


def test_help_of_a_theme_lists_its_parts(monkeypatch, capsys):
    """The help of a theme has its parts and no other theme, and runs nothing."""
    for theme in ("accuracy", "crowds"):
        monkeypatch.setattr(sys, "argv", ["benchmarks", theme, "--help"])
        assert main() == 0
        listed = capsys.readouterr().out.splitlines()[3:]
        assert listed[0] == theme
        assert [line.split()[0] for line in listed[1:]] == list(THEMES[theme])
