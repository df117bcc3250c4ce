"""Blocks of svmlight files: a set of labels and pairs index:value a line.

The labels of a row are joined by commas, as scikit-learn writes several, or by the separator of all other formats:
``2,5 1:0.3 7:1`` and ``wren|finch 1:0.3 7:1``. A line that begins with a pair is unlabelled. Index j is column j.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oneof.errors import DataError
from oneof.stream.lines import Block

_PAIR = re.compile(rb"(\d+|qid):")
_NUMBER = re.compile(r"[+-]?\d+(\.0*)?")


@dataclass(frozen=True)
class IndexedRows:
    """Sparse rows with the text of their labels.

    Attributes
    ----------
    rows : CSR matrix of shape (n, n_columns)
    labels : list of str
        Joined by the separator; empty where there are none.
    """

    rows: Any
    labels: list[str]

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.labels)


def read_labels(block: Block, separator: str) -> list[str]:
    """Return the text of the labels of each row, without reading the pairs."""
    return [_labels(block, i, separator)[0] for i in _rows(block)]


def read_block(block: Block, separator: str, n_columns: int) -> IndexedRows:
    """Return the rows of a block, in which index j is column j."""
    from sklearn.datasets import load_svmlight_file

    found = [_labels(block, i, separator) for i in _rows(block)]
    pairs = [rest for _, rest in found]
    try:
        rows, _ = _load(load_svmlight_file, pairs, n_columns)
    except (ValueError, OverflowError):
        for i, rest in zip(_rows(block), pairs, strict=True):
            try:
                _load(load_svmlight_file, [rest], n_columns)
            except (ValueError, OverflowError):
                raise _fault(block, i, rest, n_columns) from None
        raise
    return IndexedRows(rows, [labels for labels, _ in found])


def _load(load: Any, pairs: Sequence[bytes], n_columns: int) -> Any:
    content = io.BytesIO(b"".join(b"0 " + rest.rstrip(b"\r\n") + b"\n" for rest in pairs))
    return load(content, n_features=n_columns, zero_based=True)


def _rows(block: Block) -> list[int]:
    return [i for i, record in enumerate(block.records) if record.split(b"#", 1)[0].strip()]


def _labels(block: Block, i: int, separator: str) -> tuple[str, bytes]:
    """Return the labels of a line and its pairs."""
    line = block.records[i]
    if i == 0 and block.start.line == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    first, _, rest = line.strip().partition(b" ")
    if b"\t" in first:
        first, _, rest = line.strip().partition(b"\t")
    if _PAIR.match(first):
        return "", line
    try:
        text = first.decode()
    except UnicodeDecodeError:
        raise DataError(f"{block.path} is not text in UTF-8 (line {block.start.line + i}): save it as UTF-8.") from None
    return separator.join(_plain(label) for label in text.replace(",", separator).split(separator)), rest


def _plain(label: str) -> str:
    """Return +1 and 1.0, which are the same number, as one text."""
    return str(int(float(label))) if _NUMBER.fullmatch(label) else label


def _fault(block: Block, i: int, pairs: bytes, n_columns: int) -> DataError:
    where = f"{block.path}, line {block.start.line + i}"
    indices = [int(pair.split(b":", 1)[0]) for pair in pairs.split() if re.match(rb"\d+:", pair)]
    if indices and max(indices) >= n_columns:
        bits = max(indices).bit_length()
        return DataError(
            f"{where}: index {max(indices)} lies beyond the {n_columns:,} columns of the model; "
            f"give fit at least --hash-bits {bits}."
        )
    if indices != sorted(set(indices)):
        return DataError(f"{where}: the indices do not increase from pair to pair; sort them, each named once.")
    return DataError(f"{where}: expected labels and pairs index:value, as in `2,5 1:0.3 7:1`; correct the line.")
