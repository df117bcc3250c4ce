"""Rare classes that are probably misspelled names of frequent ones, such as 'Parus mayor' and 'Parus major'."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from oneof.candidates.columns import fold_case

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.typing import Ints

MAX_RARE_ROWS = 3
"""Number of rows up to which a class may be a misspelling of a class with `MIN_RATIO` times its rows."""
MAX_RARE_SETS = 5
"""Number of different sets of several candidates, such as lists of recordings, up to which it may be one."""
MIN_RATIO = 10
"""Number of rows of the frequent class for each row of a class of at most `MAX_RARE_ROWS`, at least."""
MIN_RATIO_MORE_ROWS = 50
"""The same for a class of more rows: a usual typing error recurs in a large table."""
MIN_LETTERS = 5
"""Number of letters of a word that may be misspelled."""
MIN_LETTERS_TWO_EDITS = 8
"""Number of letters from which a word may have two edits, none of which is the first letter."""
_MAX_EDITS = 2
_MAX_LISTED = 3
_BLOCK_SIZE = 256
"""Number of rare classes that are compared with all frequent ones at once."""
_MAX_PAIRS = 100_000
"""Number of pairs of names that are compared, at most: a few seconds."""
_N_LETTER_COUNTS = 32
"""Number of counts of letters that are compared before the names."""
_AFFIXES = re.compile("^(?:hypo|hyper|ab|ad|af|ef|in|ex|endo|ecto|exo|mono|di|tri)|(?:ate|ite|ide|ane|ene|ine|one)$")
"""Beginnings and endings of words that differ in these only, such as "hypotension" and "nitrite"."""
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def misspelled_classes(candidates: "CandidateSets", *, unit: str = "row", source: str = "the table") -> list[str]:
    """Return a note about the rare classes that differ from a frequent class in one or two letters of a long word.

    The rows of a class are the labeled rows of which it is a candidate; `unit` is their name, such as "answer", and
    `source` names the table. A rare class has at most three rows and a tenth of those of the frequent one, or more and
    a fiftieth. Equal sets of several candidates count once if the table has many different ones: they may be those of
    one recording. Names that differ in digits, in short words such as "type A" and "type B", or by a usual prefix or
    suffix such as "normal" and "abnormal", are different classes; some other pairs of words have a note as well.
    """
    names = candidates.classes.tolist()
    if not all(isinstance(name, str) for name in names):
        return []
    mask = candidates.mask[~candidates.is_unlabeled]
    counts, is_partial = mask.sum(axis=0), mask.sum(axis=1) > 1
    is_few = counts <= MAX_RARE_ROWS
    sets = np.unique(mask[is_partial], axis=0)
    if len(sets) >= MIN_RATIO * MAX_RARE_SETS:
        is_few |= (mask[~is_partial].sum(axis=0) <= MAX_RARE_ROWS) & (sets.sum(axis=0) <= MAX_RARE_SETS)
    pairs = list(_similar_pairs(names, counts, counts * np.where(is_few, MIN_RATIO, MIN_RATIO_MORE_ROWS)))
    if not pairs:
        return []
    listed = [
        f"{names[i]!r} ({_count(counts[i], unit)}) and {names[j]!r} ({_count(counts[j], unit)})" for i, j in pairs
    ]
    more = f"; and {len(listed) - _MAX_LISTED:,} more pairs" if len(listed) > _MAX_LISTED else ""
    pronoun = "they are" if len(pairs) == 1 else "those of a pair are"
    return [
        f"{'; '.join(listed[:_MAX_LISTED])}{more} have nearly the same name, and are read as different classes. If "
        f"{pronoun} the same class, correct the rare name in {source}; otherwise ignore this note."
    ]


def _count(count: int, unit: str) -> str:
    return f"1 {unit}" if count == 1 else f"{count:,} {unit}s"


def _similar_pairs(names: Sequence[str], counts: "Ints", n_required: "Ints") -> Iterator[tuple[int, int]]:
    """Yield each rare class with the most frequent class of nearly the same name.

    `n_required` has the number of rows of a frequent class from which on each class is rare compared with it.
    """
    from scipy.spatial.distance import cdist

    folded = [fold_case(name) for name in names]
    n_letters = np.array([sum(map(str.isalpha, text)) for text in folded])
    rare = np.flatnonzero((counts >= 1) & (n_required <= counts.max()) & (n_letters >= MIN_LETTERS))
    common = np.flatnonzero((counts >= MIN_RATIO) & (n_letters >= MIN_LETTERS - _MAX_EDITS))
    common = common[np.argsort(-counts[common], kind="stable")]
    if not len(rare) or not len(common):
        return
    words = [_WORDS.findall(_CAMEL_CASE.sub(" ", name).casefold()) for name in names]
    letters = np.array(
        [np.bincount([ord(c) % _N_LETTER_COUNTS for c in text], minlength=_N_LETTER_COUNTS) for text in folded]
    )
    n_left = _MAX_PAIRS
    for start in range(0, len(rare), _BLOCK_SIZE):
        block = rare[start : start + _BLOCK_SIZE]
        near = cdist(letters[block], letters[common], "cityblock") <= 2 * _MAX_EDITS
        near &= counts[common] >= n_required[block][:, None]
        for i, row in zip(block.tolist(), near, strict=True):
            compared = common[row][:n_left].tolist()
            n_left -= len(compared)
            j = next((j for j in compared if _is_misspelled(words[i], words[j])), None)
            if j is not None:
                yield i, j


def _is_misspelled(words: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether two lists of words differ by one or two edits of long words."""
    if len(words) != len(others):
        return False
    different = [(word, other) for word, other in zip(words, others, strict=True) if word != other]
    if not different or not all(_may_be_misspelled(word, other) for word, other in different):
        return False
    return sum(_count_edits(word, other) for word, other in different) <= _MAX_EDITS


def _may_be_misspelled(word: str, other: str) -> bool:
    """Return whether two words are long and differ by one edit, or by two edits of longer words."""
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) < MIN_LETTERS or shorter.isdigit() or longer.isdigit() or longer.endswith(shorter):
        return False
    if word != (stem := _AFFIXES.sub("", word)) and stem == _AFFIXES.sub("", other) != other:
        return False
    # "cardiology" and "radiology" are two words.
    has_two_edits = len(shorter) >= MIN_LETTERS_TWO_EDITS and word[0] == other[0]
    return _count_edits(word, other) <= (_MAX_EDITS if has_two_edits else 1)


def _count_edits(word: str, other: str) -> int:
    """Return the least number of letters replaced, inserted or deleted, and of neighbors that change places.

    This is the distance of optimal string alignment; numbers above `_MAX_EDITS` are not exact.
    """
    if abs(len(word) - len(other)) > _MAX_EDITS:
        return _MAX_EDITS + 1
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, compared in enumerate(other, 1):
            edits = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != compared))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == compared:
                edits = min(edits, before[j - 2] + 1)
            row.append(edits)
        if min(row) > _MAX_EDITS:
            return _MAX_EDITS + 1
        before, last = last, row
    return last[-1]
