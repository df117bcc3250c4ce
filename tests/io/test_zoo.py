"""Tables as people have them: the columns are those of the clean file, or a sentence names row and column."""

from pathlib import Path

import numpy as np
import pytest

from oneof.errors import DataError, LabelError
from oneof.io import UnreadCells, align_columns, choose_columns, find_separator, read_labels, read_table
from tests.io.zoo import CITIES, Sheet, make_clean, make_zoo

ZOO = make_zoo()


def _check(sheet: Sheet, path: Path) -> list[str]:
    """Check columns and labels of a file, and return the notes."""
    table = read_table(path, verbatim=["city"])
    columns, findings = choose_columns(table, exclude=["city"])
    notes = findings.sentences()
    frame = align_columns(table.frame, columns, path, form=table.form, unread=UnreadCells())
    kinds = {column.name: column.kind for column in columns}
    for name, (kind, values) in sheet.expected.items():
        assert kinds[name] == kind, (name, notes)
        if kind in ("category", "text"):
            assert frame[name].to_list() == values, name
        else:
            np.testing.assert_allclose(frame[name].to_numpy(), np.array(values, dtype=float), rtol=1e-12, err_msg=name)
    for name in set(kinds) - set(sheet.expected):
        assert any(repr(name) in note for note in notes), (name, notes)
    unread = {found.column: [row for row, _ in found.unread] for found in findings.columns if found.n_unread}
    assert unread == sheet.unread
    for name, rows in sheet.unread.items():
        assert all(any(repr(name) in note and f"row {row}" in note for note in notes) for row in rows), notes
    separator = find_separator(table, ["city"])
    assert read_labels(table, ["city"], separator=separator, classes=CITIES).to_sets() == sheet.labels
    return notes


@pytest.mark.parametrize("name", ZOO)
def test_columns_are_those_of_the_clean_file(tmp_path: Path, name: str) -> None:
    """Kinds, values, missing cells and labels do not depend on the form of the file; unreadable cells are named."""
    notes = _check(ZOO[name], ZOO[name].write(tmp_path / "table.csv"))
    assert all(note.endswith(".") and "\n" not in note for note in notes)


def test_the_zoo_has_sixty_files() -> None:
    assert len(ZOO) >= 60
