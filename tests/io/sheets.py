"""A table as text, and the form in which it is written: the clean table of the zoo, with its expected columns."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl

from tests.io.spreadsheets import WRITERS

N_ROWS = 60


CITIES = ("Lyon", "Oslo", "S\u00e3o Paulo", "Z\u00fcrich")


COLORS = ("red", "green", "blue")


PHRASES = ("a small caf\u00e9 near the sea", "an old house with two doors", "the long way home", "rain, wind and snow")


@dataclass(frozen=True)
class Sheet:
    """Cells of text, and the form in which they are written."""

    names: list[str]
    rows: list[list[str]]
    delimiter: str = ","
    encoding: str = "utf-8"
    line_end: str = "\n"
    quoting: int = csv.QUOTE_MINIMAL
    quote: str = '"'
    mark: bytes = b""
    above: tuple[str, ...] = ()
    """Lines above the header."""
    end: str = ""
    final_line_end: bool = True
    labels: list[set[str]] = field(default_factory=list)
    expected: dict[str, tuple[str, list[object]]] = field(default_factory=dict)
    unreadable: dict[str, list[int]] = field(default_factory=dict)
    """Rows of cells that are in no format; they are missing values that a note must name."""
    missing: tuple[str, ...] = ()
    """Tokens of missing values that the user names."""
    notes: dict[str, str] = field(default_factory=dict)
    """Text that a note about a column must have."""

    def column(self, name: str) -> int:
        """Return the index of a column."""
        return self.names.index(name)

    def with_cells(self, name: str, change: Callable[[int, str], str]) -> "Sheet":
        """Return the sheet with a column changed by a function of row and cell."""
        j = self.column(name)
        rows = [[*row[:j], change(i, row[j]), *row[j + 1 :]] for i, row in enumerate(self.rows)]
        return replace(self, rows=rows)

    def without_values(self, name: str, missing: range) -> "Sheet":
        """Return the sheet in which some values of a column are expected to be missing."""
        kind, values = self.expected[name]
        empty = "" if kind in ("category", "text") else np.nan
        changed = [empty if i in missing else value for i, value in enumerate(values)]
        return replace(self, expected=self.expected | {name: (kind, changed)})

    @property
    def is_plain(self) -> bool:
        """Whether the table has no fault of a text file, and unique names, so that other formats can have it."""
        is_text = self.above or self.end or any(len(row) != len(self.names) for row in self.rows)
        names = {name for name in self.names if name and name == name.strip()}
        return not is_text and len(names) == len(self.names)

    def write(self, path: Path) -> Path:
        """Write the sheet to a file in the format of its suffix."""
        suffix = "".join(path.suffixes)
        if suffix == ".csv.gz":
            path.write_bytes(gzip.compress(self.to_csv()))
        elif suffix == ".csv":
            path.write_bytes(self.to_csv())
        elif suffix in WRITERS:
            WRITERS[suffix](path, table=[self.names, *([_to_value(cell) for cell in row] for row in self.rows)])
        elif suffix == ".jsonl":
            rows = [dict(zip(self.names, map(_to_value, row), strict=True)) for row in self.rows]
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        else:
            pl.DataFrame(self.rows, schema=dict.fromkeys(self.names, pl.String), orient="row").write_parquet(path)
        return path

    def to_csv(self) -> bytes:
        """Return the content of a CSV file."""
        text = io.StringIO(newline="")
        text.writelines(line + self.line_end for line in self.above)
        writer = csv.writer(
            text, delimiter=self.delimiter, lineterminator=self.line_end, quoting=self.quoting, quotechar=self.quote
        )
        writer.writerows([self.names, *self.rows])
        content = text.getvalue() + self.end
        content = content if self.final_line_end else content.removesuffix(self.line_end)
        return self.mark + content.encode(self.encoding)


def _to_value(cell: str) -> str | float | None:
    """Return a cell as a spreadsheet program stores it: numbers without leading zeros are not text."""
    if re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", cell):
        return float(cell) if "." in cell else int(cell)
    return cell or None


def make_clean(seed: int = 0) -> Sheet:
    """Return the clean table: one column of each kind, with the expected kinds, values and labels."""
    rng = np.random.default_rng(seed)
    span = np.round(rng.normal(3, 2, N_ROWS), 3)
    mass = np.round(rng.normal(1500, 800, N_ROWS), 2)
    count = rng.integers(0, 2000, N_ROWS)
    wet = rng.integers(0, 2, N_ROWS)
    color = [COLORS[k] for k in rng.integers(0, 3, N_ROWS)]
    days = [date(2019, 3, 14) + timedelta(days=int(k)) for k in rng.integers(0, 900, N_ROWS)]
    minutes = rng.integers(1, 600, N_ROWS)
    region = [f"{k:03d}" for k in rng.integers(1, 9, N_ROWS)]
    remark = [PHRASES[k] + " " + PHRASES[j] + f" {i}" for i, (k, j) in enumerate(rng.integers(0, 4, (N_ROWS, 2)))]
    cities = [sorted(set(rng.choice(CITIES, size=1 + (i % 3 == 0)).tolist())) for i in range(N_ROWS)]
    mass_is_empty = [i % 11 == 5 for i in range(N_ROWS)]
    columns = {
        "code": [f"C-{i:05d}" for i in rng.permutation(N_ROWS)],
        "span": [f"{x:.3f}" for x in span],
        "mass": ["" if empty else f"{x:.2f}" for x, empty in zip(mass, mass_is_empty, strict=True)],
        "count": [str(k) for k in count],
        "wet": ["yes" if k else "no" for k in wet],
        "color": color,
        "day": [day.isoformat() for day in days],
        "took": [f"{k // 60}:{k % 60:02d}" for k in minutes],
        "region": region,
        "flat": ["same"] * N_ROWS,
        "remark": remark,
        "city": ["" if i % 10 == 7 else "|".join(names) for i, names in enumerate(cities)],
    }
    epoch = date(1970, 1, 1)
    expected: dict[str, tuple[str, list[object]]] = {
        "span": ("number", span.tolist()),
        "mass": ("number", [np.nan if empty else x for x, empty in zip(mass.tolist(), mass_is_empty, strict=True)]),
        "count": ("number", count.astype(float).tolist()),
        "wet": ("yes/no", wet.astype(float).tolist()),
        "color": ("category", list(color)),
        "day": ("date", [float((day - epoch).days) for day in days]),
        "took": ("duration", (minutes / 60).tolist()),
        "region": ("category", list(region)),
        "remark": ("text", list(remark)),
    }
    labels = [set(CITIES) if i % 10 == 7 else set(names) for i, names in enumerate(cities)]
    return Sheet(
        list(columns), [list(row) for row in zip(*columns.values(), strict=True)], labels=labels, expected=expected
    )
