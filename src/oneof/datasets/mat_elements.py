"""The elements of a MATLAB file, looked through before SciPy reads them.

SciPy's compiled reader takes an element's type for an index without looking whether there is such a type, so that one
changed byte ends the process; and its reader of level 4 follows a negative size back to where it has been, without end.
Here each element that it will read is checked: its type, its length, its place.

The layout is that of "MAT-File Format" (MathWorks), chapter 1.
"""

import math
import struct
import zlib
from collections.abc import Collection
from typing import NamedTuple

from oneof.errors import DataError
from oneof.files import check_size

_HEADER = 128
_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
"""Bytes of a number, by the type of the element."""
_INT8, _INT32, _UINT32, _MATRIX, _COMPRESSED = 1, 5, 6, 14, 15
_LEVEL_4_SIZES = {0: 8, 1: 4, 2: 4, 3: 2, 4: 2, 5: 1}
"""Bytes of a number, by the tens of the type of a matrix of level 4, which is at most 5,000."""
_LEVEL_4_SPARSE, _LEVEL_4_MOST = 2, 5000
_SPARSE, _NUMERIC = 5, range(6, 16)
"""Classes of matrices."""
_COMPLEX = 0x800
_MOST_DIMENSIONS = 32


class _Element(NamedTuple):
    kind: int
    content: memoryview
    after: int
    """Where the next one begins."""


def check_elements(content: bytes, wanted: Collection[str]) -> None:
    """Raise unless SciPy can read the wanted matrices of a MATLAB file without leaving its bounds.

    Parameters
    ----------
    content : bytes
        Of the whole file; one that is neither of level 4 nor 5 is left to SciPy.
    wanted : collection of str

    Raises
    ------
    DataError
        If an element is damaged, unfolds too far, or a wanted matrix does not hold real numbers.
    """
    if 0 in content[:4]:
        _check_level_4(memoryview(content), wanted)
        return
    if len(content) < _HEADER:
        return
    order = "<" if content[126:128] == b"IM" else ">"
    if struct.unpack_from(f"{order}H", content, 124)[0] >> 8 != 1:
        return
    whole, place = memoryview(content), _HEADER
    while place < len(content):
        kind, length = _unpack(whole, place, order)
        part = _take(whole, place + 8, length)
        place += 8 + length
        if kind == _COMPRESSED:
            unfolded = memoryview(_unfold(part, len(content)))
            kind, length = _unpack(unfolded, 0, order)
            part = _take(unfolded, 8, length)
        if kind != _MATRIX:
            raise DataError(f"an element is of type {kind}, where a matrix is expected")
        if length:
            _check_matrix(part, order, wanted)


def _check_level_4(whole: memoryview, wanted: Collection[str]) -> None:
    """Raise unless each matrix ends behind its beginning and within the file, up to the last that is wanted."""
    order = "<" if 0 <= struct.unpack("<i", _take(whole, 0, 4))[0] <= _LEVEL_4_MOST else ">"
    left, place = set(wanted), 0
    while left and place < len(whole):
        kind, n_rows, n_columns, imaginary, n_name = struct.unpack(f"{order}5i", _take(whole, place, 20))
        size = _LEVEL_4_SIZES.get(kind // 10 % 10)
        if size is None or not 0 <= kind <= _LEVEL_4_MOST or min(n_rows, n_columns, n_name) < 0:
            raise DataError("the description of a matrix is damaged")
        left.discard(bytes(_take(whole, place + 20, n_name)).strip(b"\0").decode("latin1"))
        is_complex = imaginary == 1 and kind % 10 != _LEVEL_4_SPARSE
        length = size * n_rows * n_columns * (1 + is_complex)
        place += 20 + n_name + len(_take(whole, place + 20 + n_name, length))


def _check_matrix(part: memoryview, order: str, wanted: Collection[str]) -> None:
    flags = _element(part, 0, order, _UINT32)
    dimensions = _element(part, flags.after, order, _INT32)
    name = _element(part, dimensions.after, order, _INT8)
    n_dimensions = len(dimensions.content) // 4
    if len(flags.content) != 8 or not 2 <= n_dimensions <= _MOST_DIMENSIONS or len(dimensions.content) % 4:
        raise DataError("the description of a matrix is damaged")
    if bytes(name.content).decode("latin1") not in wanted:
        return  # whose content is passed over
    kind = struct.unpack(f"{order}I", flags.content[:4])[0]
    shape = struct.unpack(f"{order}{n_dimensions}i", dimensions.content)
    if kind & 0xFF not in (_SPARSE, *_NUMERIC) or kind & _COMPLEX or min(shape) < 0:
        raise DataError(f"expected a numeric matrix, found one of class {kind & 0xFF}")
    place = name.after
    if kind & 0xFF == _SPARSE:
        rows = _element(part, place, order, _INT32)
        ends = _element(part, rows.after, order, _INT32)
        if n_dimensions != 2 or len(rows.content) % 4 or len(ends.content) != 4 * (shape[1] + 1):
            raise DataError("the indices of a sparse matrix do not fit its shape")
        place = ends.after
    numbers = _element(part, place, order)
    size = _SIZES.get(numbers.kind)
    if size is None or len(numbers.content) % size:
        raise DataError(f"a matrix holds numbers of type {numbers.kind}")
    if kind & 0xFF != _SPARSE and len(numbers.content) != size * math.prod(shape):
        raise DataError("a matrix is not as large as its shape says")


def _element(whole: memoryview, place: int, order: str, expected: int | None = None) -> _Element:
    kind, length = _unpack(whole, place, order)
    if kind >> 16:  # up to four bytes stand in the place of their length
        kind, length = kind & 0xFFFF, kind >> 16
        if length > 4:
            raise DataError("a small element is longer than four bytes")
        found = _Element(kind, _take(whole, place + 4, length), place + 8)
    else:
        found = _Element(kind, _take(whole, place + 8, length), place + 8 + length + -length % 8)
    if expected is not None and found.kind != expected:
        raise DataError(f"an element is of type {found.kind}, expected {expected}")
    return found


def _unpack(whole: memoryview, place: int, order: str) -> tuple[int, int]:
    kind, length = struct.unpack(f"{order}II", _take(whole, place, 8))
    return kind, length


def _take(whole: memoryview, start: int, length: int) -> memoryview:
    if start + length > len(whole):
        raise DataError("an element is longer than the file")
    return whole[start : start + length]


def _unfold(part: memoryview, held: int) -> bytes:
    """Return what a compressed element holds, which is added up as it comes."""
    unfolding, parts, n_bytes = zlib.decompressobj(), [], 0
    left = bytes(part)
    try:
        while left and not unfolding.eof:
            parts.append(unfolding.decompress(left, 2**24))
            n_bytes += len(parts[-1])
            check_size(n_bytes, held, "what it holds")
            left = unfolding.unconsumed_tail
    except zlib.error as error:
        raise DataError(f"a compressed element is damaged ({error})") from None
    if not unfolding.eof:
        raise DataError("a compressed element is cut short")
    return b"".join(parts)
