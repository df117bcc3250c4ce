"""One stream in every format: numbers with gaps, a category, a remark, and sets of labels."""

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

NAMES = ("finch", "owl", "wren")
N_ROWS = 700


def make_frame(n=N_ROWS, seed=0):
    """Return rows whose class shows in all features; a sixth has no label, a third several."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    sets = [
        "" if i % 6 == 5 else f"{NAMES[k]}|{NAMES[(k + 1) % 3]}" if i % 3 == 0 else NAMES[k]
        for i, k in enumerate(truth)
    ]
    return pl.DataFrame(
        {
            "span": [
                None if i % 9 == 4 else round(float(2 * k + x), 3)
                for i, (k, x) in enumerate(zip(truth, rng.normal(size=n)))
            ],
            "mass": np.round(rng.normal(size=n) - truth, 3),
            "color": [None if i % 11 == 3 else ["red", "gray", "brown"][k] for i, k in enumerate(truth)],
            "remark": [f"seen {i} times, by the {['river', 'barn', 'hedge'][k]}" for i, k in enumerate(truth)],
            "species": sets,
        }
    )


def make_weighted():
    """Return the rows with weights of the labels in every second row."""
    frame, rng = make_frame(), np.random.default_rng(0)
    texts = [
        "|".join(f"{label}:{w:.3f}" for label, w in zip(text.split("|"), rng.uniform(0.1, 1, 2), strict=False))
        if text and i % 2 else text
        for i, text in enumerate(frame["species"].to_list())
    ]  # fmt: skip
    return frame.with_columns(species=pl.Series(texts))


def make_numbers(n=N_ROWS, seed=0, d=4):
    """Return rows of numbers alone, and their labels."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d)) + 1.5 * np.eye(3, d)[truth]
    sets = ["a|b" if i % 4 == 0 and k < 2 else "abc"[k] for i, k in enumerate(truth)]
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(d)}).with_columns(label=pl.Series(sets))


def write_svmlight(frame, path):
    """Write numbers and labels in the form of svmlight."""
    lines = [
        f"{row['label']} " + " ".join(f"{j}:{row[f'x{j}']!r}" for j in range(len(row) - 1))
        for row in frame.iter_rows(named=True)
    ]
    path.write_text("\n".join(lines) + "\n")


def write_all(frame, folder):
    """Write a table in every format that has columns; return the paths."""
    paths = {name: folder / name for name in ("t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arrow")}
    frame.write_csv(paths["t.csv"])
    frame.write_csv(paths["t.tsv"], separator="\t")
    paths["t.csv.gz"].write_bytes(gzip.compress(frame.write_csv().encode()))
    paths["t.jsonl"].write_text("".join(json.dumps(row) + "\n" for row in frame.to_dicts()))
    frame.write_parquet(paths["t.parquet"], row_group_size=97)
    frame.write_ipc(paths["t.arrow"])
    return paths


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Return the stream in every format, and in a folder of three files."""
    folder = tmp_path_factory.mktemp("stream")
    frame = make_frame()
    paths = write_all(frame, folder)
    parts = folder / "parts"
    parts.mkdir()
    for number, first in enumerate((0, 130, 260)):
        frame.slice(first, 130 if first < 260 else None).write_csv(parts / f"{number}.csv")
    (parts / "_SUCCESS").touch()
    (parts / "notes.txt").write_text("not a table")
    return paths | {"parts": parts}


@pytest.fixture
def numbers(tmp_path):
    """Write a table of numbers and labels, and return its path."""
    path = Path(tmp_path, "numbers.csv")
    make_numbers().write_csv(path)
    return path
