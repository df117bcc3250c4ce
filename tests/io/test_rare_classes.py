"""Notes on rare classes that are probably misspelled names of frequent ones."""

import time

import numpy as np
import pytest

from oneof.candidates import CandidateSets
from oneof.io import misspelled_classes


def describe(counts: dict[str, int]) -> list[str]:
    """Return the notes about exact labels of which each class has a number of rows."""
    return misspelled_classes(CandidateSets.from_labels([name for name, n in counts.items() for _ in range(n)]))


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("Parus mayor", "Parus major"),  # a letter replaced
        ("Parus majro", "Parus major"),  # two letters transposed
        ("Prunella modulari", "Prunella modularis"),  # a letter missing
        ("parus mayor", "Parus Major"),  # in another case as well
        ("Acrocefalus schoenobaenus", "Acrocephalus schoenobaenus"),  # two edits of a long word
        ("Alcedo athis", "Alcedo atthis"),
    ],
)
def test_a_misspelled_rare_class_is_named_with_the_frequent_one(rare: str, common: str) -> None:
    """A rare name with one or two edits in a long word of a frequent name has a note with both names and the remedy."""
    [note] = describe({rare: 1, common: 120, "Turdus merula": 50})
    assert f"'{rare}' (1 row) and '{common}' (120 rows) have nearly the same name" in note
    assert "correct the rare name in the table" in note


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("class 1", "class 2"),
        ("A", "B"),
        ("type_10", "type_11"),
        ("type_a", "type_b"),
        ("classA", "classB"),
        ("grade I", "grade II"),
        ("wren", "wern"),
        ("abnormal", "normal"),
        ("untreated", "treated"),
        ("Parus minor", "Parus major"),
        ("cardiology", "radiology"),
        ("Parus maj", "Parus"),
    ],
)
def test_different_names_have_no_note(rare: str, common: str) -> None:
    """Names that differ in digits, short words, prefixes, or many letters of a word are different classes."""
    assert describe({rare: 1, common: 500}) == []


def test_the_rare_class_has_few_rows_compared_with_the_frequent_one() -> None:
    """A class of more than three rows, or of more than a tenth of the other one, is not called misspelled."""
    for n_rare, n_common, n_notes in ((3, 30, 1), (3, 29, 0), (4, 4000, 0), (1, 10, 1), (1, 9, 0)):
        assert len(describe({"Parus mayor": n_rare, "Parus major": n_common})) == n_notes


def test_at_most_three_pairs_are_listed_and_the_others_counted() -> None:
    """The note has three pairs and the number of further ones."""
    [note] = describe({"Parus major": 100} | {f"Parus maj{letter}r": 1 for letter in "abcde"})
    assert note.count("'Parus major'") == 3
    assert "and 2 more pairs" in note


def test_unlabeled_rows_and_numbers_do_not_count() -> None:
    """An unlabeled row is not a row of every class, and classes that are numbers have no spelling."""
    y = CandidateSets.from_labels(["Parus mayor"] + ["Parus major"] * 20 + [None] * 100)
    assert "(1 row) and 'Parus major' (20 rows)" in misspelled_classes(y)[0]
    assert misspelled_classes(CandidateSets.from_labels([12345] + [12346] * 50)) == []


def test_ten_thousand_classes_are_compared_in_seconds() -> None:
    """The time does not grow with the number of pairs of names times their length."""
    rng = np.random.default_rng(0)
    names = sorted({"".join(rng.choice(list("abcdefghijklmnop"), 10)) for _ in range(10_000)})
    n_rare = len(names) // 2
    mask = np.zeros((n_rare + 20, len(names)), dtype=bool)
    mask[np.arange(n_rare), np.arange(n_rare)] = True
    mask[n_rare:, n_rare:] = True  # the other classes are candidates of 20 rows
    y = CandidateSets(mask, np.array(names))
    start = time.perf_counter()
    misspelled_classes(y)
    assert time.perf_counter() - start < 20
