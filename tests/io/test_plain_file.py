"""Compressed files, standard input and spreadsheets give the table of the plain file, and errors name the original."""

import gzip
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from oneof.errors import DataError
from oneof.io import read_table, stem_of
from oneof.stream import read_batches

CONTENT = b"x,n,label\n1.5,1,a|b\n,2,\n-,3,b\n"


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[bytes], None]]:
    """Return a function that replaces standard input by some bytes."""
    files: list[Any] = []

    def replace(content: bytes) -> None:
        (tmp_path / "stdin").write_bytes(content)
        files.append((tmp_path / "stdin").open("rb"))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(files[-1]))

    yield replace
    for file in files:
        file.close()


@pytest.fixture
def expected(tmp_path: Path) -> pl.DataFrame:
    (tmp_path / "plain.csv").write_bytes(CONTENT)
    return read_table(tmp_path / "plain.csv", labels=["label"]).frame


@pytest.mark.parametrize("name", ["t.csv.gz", "t.CSV.GZ", "t.tsv.gz", "t.jsonl.gz"])
def test_compressed_files(tmp_path: Path, expected: pl.DataFrame, name: str) -> None:
    """A compressed file gives the table of its content."""
    path = tmp_path / name
    content = CONTENT if "csv" in name.lower() else CONTENT.replace(b",", b"\t")
    if "jsonl" in name:
        content = expected.write_ndjson().encode()
    path.write_bytes(gzip.compress(content))
    table = read_table(path, labels=["label"])
    assert table.frame.equals(expected)
    assert table.path == path


@pytest.mark.parametrize("content", [CONTENT, gzip.compress(CONTENT)], ids=["plain", "compressed"])
def test_standard_input(stdin: Callable[[bytes], None], expected: pl.DataFrame, content: bytes) -> None:
    """Standard input, compressed or not, gives the table of its content."""
    stdin(content)
    table = read_table("-", format="csv", labels=["label"])
    assert table.frame.equals(expected)
    assert str(table.path) == "standard input"


def test_standard_input_needs_a_format() -> None:
    for options in ({}, {"format": "parquet"}):
        with pytest.raises(DataError, match=r"standard input needs a text format\. Add --format with csv, tsv, jsonl"):
            read_table("-", **options)  # type: ignore[arg-type]


def test_formats_of_other_names(tmp_path: Path, expected: pl.DataFrame) -> None:
    """A format may be named for a file without a known suffix."""
    (tmp_path / "t.data").write_bytes(CONTENT)
    assert read_table(tmp_path / "t.data", format="csv", labels=["label"]).frame.equals(expected)
    with pytest.raises(DataError, match=r"unknown format\. Give --format, or a file that ends in \.csv"):
        read_table(tmp_path / "t.data")
    with pytest.raises(
        DataError, match="the format must be one of csv, tsv, parquet, jsonl, npz, excel; got 'svmlight'"
    ):
        read_table(tmp_path / "t.data", format="svmlight")
    with pytest.raises(DataError, match="--sheet needs a spreadsheet"):
        read_table(tmp_path / "t.data", format="csv", sheet="a")


FAULTS = [
    (gzip.compress(b"a,b\n1,2\n3\n", mtime=0), "line 3: found 1 cells, but the header has 2"),
    (gzip.compress(b"a,b\n1,2\n", mtime=0)[:-6], "damaged or truncated"),
    (b"a,b\n1,2\n", "damaged or truncated"),
    (gzip.compress(b"", mtime=0), "is empty"),
    (gzip.compress(b"a,b\n", mtime=0), "no rows"),
    (gzip.compress(gzip.compress(b"a,b\n1,2\n", mtime=0), mtime=0), "is compressed by gzip"),
]


@pytest.mark.parametrize(("content", "message"), FAULTS, ids=range(len(FAULTS)))
def test_errors_name_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    """An error names the compressed file, not its copy, and nothing remains."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert "oneof-copy" not in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]


def test_errors_of_standard_input(stdin: Callable[[bytes], None]) -> None:
    stdin(b"a,b\n1\n")
    with pytest.raises(DataError, match=r"^standard input, line 2: found 1 cells"):
        read_table("-", format="csv")


def test_a_file_that_expands_too_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of zeros is not expanded beyond the limit."""
    monkeypatch.setattr("oneof.archives.MAX_BYTES", 2**20)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"0" * 2**23))
    with pytest.raises(DataError, match=r"t\.csv\.gz: its content would expand to 0\.0 GB"):
        read_table(path)


def test_standard_input_that_expands_too_far(stdin: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed standard input has the limit of a compressed file."""
    monkeypatch.setattr("oneof.archives.MAX_BYTES", 2**20)
    stdin(gzip.compress(b"a\n" + b"0" * 2**23))
    with pytest.raises(DataError, match=r"^standard input: its content would expand to 0\.0 GB"):
        read_table("-", format="csv")


def test_a_stream_reads_compressed_standard_input(stdin: Callable[[bytes], None]) -> None:
    """The rule for a stream is that of a table: compressed standard input is read."""
    content = b"x,n\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(999))
    batches = []
    for given in (content, gzip.compress(content)):
        stdin(given)
        batches.append([batch["n"].to_list() for batch in read_batches("-", n_rows=100, format="csv")])
    assert batches[0] == batches[1]
    assert sum(map(len, batches[0])) == 999


def test_stems() -> None:
    for name, stem in (("a/birds.csv", "birds"), ("birds.v2.csv.gz", "birds.v2"), ("b.TSV.GZ", "b"), ("-", "stdin")):
        assert stem_of(Path(name)) == stem
