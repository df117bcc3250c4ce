"""A generated survey of 900 rows and 124 columns, clean and as it was exported from a spreadsheet.

118 columns are answers on a scale, with one or a few tokens of missing values in 101 of them. The others are a code, a
date, a region, a consent, a wave that is the same in all rows, and the city, which is the label: a tenth of the rows
has none, and a third has two candidates.
"""

import csv
import io
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np

N_ROWS, N_QUESTIONS, N_TOKENS = 900, 118, 101
SEPARATION = 0.34
"""Standard deviation of the class means; that of the noise is 1."""
CITIES = (
    "Bergen", "Cork", "Gent", "Graz", "K\u00f6ln", "Lyon", "M\u00e1laga", "Oslo", "Porto", "S\u00e3o Paulo", "Turin",
    "Z\u00fcrich",
)  # fmt: skip
TOKENS = ("-", "None", "n.a.", "#N/A", "?", ".")


class Survey(NamedTuple):
    """Contents of the two files, and the true city of each row."""

    clean: bytes
    messy: bytes
    truth: list[str]


def make_survey(n_rows: int = N_ROWS, seed: int = 0) -> Survey:
    """Return the survey; rows of another seed have the same distribution."""
    centers = np.random.default_rng(12345).normal(scale=SEPARATION, size=(len(CITIES), N_QUESTIONS))
    rng = np.random.default_rng(seed)
    code = rng.integers(len(CITIES), size=n_rows)
    answers = centers[code] + rng.normal(size=(n_rows, N_QUESTIONS))
    cells = [[f"{x:.3f}" for x in row] for row in answers.tolist()]
    for j in range(N_TOKENS):
        for i in rng.choice(n_rows, size=1 + j % 5, replace=False):
            cells[i][j] = ""
    other = (code + rng.integers(1, len(CITIES), size=n_rows)) % len(CITIES)
    number = rng.permutation(n_rows)
    clean, messy = [], []
    for i, row in enumerate(cells):
        day = date(2021, 1, 4) + timedelta(days=int(rng.integers(400)))
        region = f"{rng.integers(1, 20):02d}"
        consent = ("no", "yes")[int(rng.integers(2))]
        names = [CITIES[code[i]], *([CITIES[other[i]]] if i % 3 == 0 else [])]
        names = [] if i % 10 == 9 else sorted(names)
        clean.append([f"C-{number[i]:05d}", *row, day.isoformat(), region, consent, "3", "|".join(names)])
        tokens = [cell.replace(".", ",") or TOKENS[int(rng.integers(len(TOKENS)))] for cell in row]
        written = day.strftime("%d.%m.%Y") if i % 4 else day.isoformat()
        messy.append([f"C-{number[i]:05d}", *tokens, written, region, consent, "3", " / ".join(names)])
    names = ["ID", *(f"q{j + 1}" for j in range(N_QUESTIONS)), "day", "region", "consent", "wave", "city"]
    return Survey(
        _write([names, *clean], ",", "\n").encode(),
        _write([["ID ", *names[1:]], *messy], ";", "\r\n").encode("latin-1"),
        [CITIES[k] for k in code],
    )


def _write(rows: list[list[str]], delimiter: str, line_end: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    return text.getvalue()
