"""Reader of svmlight files: a set of labels and pairs index:value per line.

The labels of a row are joined by commas, as in scikit-learn, or by the separator of the other formats:
``2,5 1:0.3 7:1`` and ``wren|finch 1:0.3 7:1``. A line that begins with a pair is unlabeled. Index j is column j.
"""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oneof.candidates.cells import separators_of, split_labels
from oneof.candidates.columns import number_to_text
from oneof.errors import DataError
from oneof.io.formats.records import Block

MAX_INDEX_BITS = 30
"""Limit of the bits of an index, so that 2 ** bits columns of weights fit in memory."""

_PAIR = re.compile(rb"(\d+|qid):")


@dataclass(frozen=True)
class IndexedRows:
    """Sparse rows with the text of their labels.

    Attributes
    ----------
    rows : CSR matrix of shape (n, n_columns)
    labels : list of str
        Joined by the separator; empty for an unlabeled row.
    height : int
        Number of rows.

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
        """Number of rows."""
        return len(self.labels)


def read_indexed_rows(block: Block, separator: str, n_columns: int) -> IndexedRows:
    """Return the rows of lines, without comments.

    Parameters
    ----------
    block : Block
    separator : str
        The text between two labels in the result.
    n_columns : int
        The number of columns of the rows; 0 if only labels are read, so that the pairs are not parsed.
    """
    lines: list[int] = []
    labels: list[str] = []
    pairs: list[bytes] = []
    texts: dict[bytes, str] = {}
    for number, record in enumerate(block.content.split(b"\n"), block.start.line):
        line = record.strip()
        if not line or line.startswith(b"#"):
            continue
        first, *rest = line.split(None, 1)
        if _PAIR.match(first):
            first, rest = b"", [line]
        if first not in texts:
            texts[first] = _join_labels(first, separator)
        lines.append(number)
        labels.append(texts[first])
        pairs.append(b"".join(rest))
    if not n_columns:
        return IndexedRows(None, labels)
    rows = _load(pairs, n_columns)
    if rows is None:
        wrong = next(line for line, one in zip(lines, pairs, strict=True) if _load([one], n_columns) is None)
        raise DataError(
            f"{block.path}, line {wrong}: a line must be labels and pairs index:value, such as `2,5 1:0.3 7:1`, with "
            f"increasing indices less than {n_columns:,}, the number of columns. Correct the line, or fit with more "
            "--hash-bits."
        )
    return IndexedRows(rows, labels)


def _load(pairs: Sequence[bytes], n_columns: int) -> Any:
    """Return the rows of lines without labels, None if a pair is wrong."""
    from sklearn.datasets import load_svmlight_file

    try:
        return load_svmlight_file(io.BytesIO(b"0 " + b"\n0 ".join(pairs)), n_features=n_columns, zero_based=True)[0]
    except (ValueError, OverflowError):
        return None


def _join_labels(labels: bytes, separator: str) -> str:
    written = separators_of(separator)[0]
    text = labels.decode().replace(",", written)
    return written.join(number_to_text(label) for label in split_labels(text, separator))
