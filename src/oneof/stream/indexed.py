"""Blocks of svmlight files: a set of labels and pairs index:value a line.

The labels of a row are joined by commas, as scikit-learn writes several, or by the separator of all other formats:
``2,5 1:0.3 7:1`` and ``wren|finch 1:0.3 7:1``. A line that begins with a pair is unlabeled. Index j is column j.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oneof.errors import DataError
from oneof.stream.lines import Block

MOST_BITS = 30
"""Of the indices, so that 2 ** bits columns of weights can be held at all."""

_PAIR = re.compile(rb"(\d+|qid):")
_NUMBER = re.compile(r"([+-]?\d{1,18})(\.0*)?")
_LONGEST_INDEX = 19


@dataclass(frozen=True)
class IndexedRows:
    """Sparse rows with the text of their labels.

    Attributes
    ----------
    rows : CSR matrix of shape (n, n_columns)
    labels : list of str
        Joined by the separator; empty where there are none.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from oneof.stream import IndexedRows
    >>> IndexedRows(sp.csr_array([[0.0, 1.0], [2.0, 0.0]]), ["wren|finch", ""]).height
    2
    """

    rows: Any
    labels: list[str]

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.labels)


def read_labels(block: Block, separator: str) -> list[str]:
    """Return the text of the labels of each row, without reading the pairs."""
    return _cut(block, separator)[1]


def read_block(block: Block, separator: str, n_columns: int) -> IndexedRows:
    """Return the rows of a block, in which index j is column j."""
    from sklearn.datasets import load_svmlight_file

    lines, labels, pairs = _cut(block, separator)
    try:
        rows, _ = _load(load_svmlight_file, pairs, n_columns)
    except (ValueError, OverflowError):
        for line, rest in zip(lines, pairs, strict=True):
            try:
                _load(load_svmlight_file, [rest], n_columns)
            except (ValueError, OverflowError):
                raise _fault(f"{block.path}, line {line}", rest, n_columns) from None
        raise
    return IndexedRows(rows, labels)


def _load(load: Any, pairs: Sequence[bytes], n_columns: int) -> Any:
    return load(io.BytesIO(b"0 " + b"\n0 ".join(pairs)), n_features=n_columns, zero_based=True)


def _cut(block: Block, separator: str) -> tuple[list[int], list[str], list[bytes]]:
    """Return the number, the text of the labels and the pairs of each line that is a row."""
    lines: list[int] = []
    labels: list[str] = []
    pairs: list[bytes] = []
    known: dict[bytes, str] = {}
    for number, record in enumerate(block.records, block.start.line):
        line = record.strip()
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line or line.startswith(b"#"):
            continue
        first, *rest = line.split(None, 1)
        if _PAIR.match(first):
            first, rest = b"", [line]
        if first not in known:
            known[first] = _read(first, separator, f"{block.path}, line {number}")
        lines.append(number)
        labels.append(known[first])
        pairs.append(rest[0] if rest else b"")
    return lines, labels, pairs


def _read(labels: bytes, separator: str, where: str) -> str:
    try:
        text = labels.decode()
    except UnicodeDecodeError:
        raise DataError(f"{where}: the labels are not text in UTF-8; save the file as UTF-8.") from None
    return separator.join(_plain(label) for label in text.replace(",", separator).split(separator))


def _plain(label: str) -> str:
    """Return +1 and 1.0, which are the same number, as one text."""
    number = _NUMBER.fullmatch(label)
    return str(int(number[1])) if number else label


def _fault(where: str, pairs: bytes, n_columns: int) -> DataError:
    # More digits than Python reads are cut: such an index lies beyond all columns either way.
    indices = [int(pair.split(b":", 1)[0][:_LONGEST_INDEX]) for pair in pairs.split() if re.match(rb"\d+:", pair)]
    if indices and max(indices) >= n_columns:
        bits = max(indices).bit_length()
        advice = f"give fit at least --hash-bits {bits}" if bits <= MOST_BITS else "number the features anew, from 0"
        return DataError(f"{where}: index {max(indices)} lies beyond the {n_columns:,} columns of the model; {advice}.")
    if indices != sorted(set(indices)):
        return DataError(f"{where}: the indices do not increase from pair to pair; sort them, each named once.")
    return DataError(f"{where}: expected labels and pairs index:value, as in `2,5 1:0.3 7:1`; correct the line.")
