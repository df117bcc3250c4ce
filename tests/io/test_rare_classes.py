"""Notes on rare classes that are probably misspelled names of frequent ones."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof.candidates import CandidateSets
from oneof.io import misspelled_classes
from oneof.io.labels import rare_classes


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
        ("hypotension", "hypertension"),
        ("nitrate", "nitrite"),
        ("afferent", "efferent"),
        ("Parus maj", "Parus"),
    ],
)
@pytest.mark.parametrize("n_rare", [1, 10])
def test_different_names_have_no_note(rare: str, common: str, n_rare: int) -> None:
    """Names that differ in digits, short words, prefixes, or many letters of a word are different classes."""
    assert describe({rare: n_rare, common: 500}) == []


def test_the_rare_class_has_few_rows_compared_with_the_frequent_one() -> None:
    """The limit is a tenth of the other class up to three rows, and a fiftieth above, in a table of any size."""
    small = ((3, 30, 1), (3, 29, 0), (1, 10, 1), (1, 9, 0))
    large = ((4, 200, 1), (4, 199, 0), (8, 648, 1), (100, 5000, 1), (100, 4999, 0), (300, 700, 0))
    for n_rare, n_common, n_notes in small + large:
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


def test_the_number_of_compared_names_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand names of the same letters do not take the time of all their pairs."""
    calls = []
    monkeypatch.setattr(rare_classes, "_is_misspelled", lambda *names: bool(calls.append(names)))
    monkeypatch.setattr(rare_classes, "_MAX_PAIRS", 500)
    names = ["".join(order) for order in itertools.islice(itertools.permutations("abcdef"), 200)]
    mask = np.zeros((110, 200), dtype=bool)
    mask[np.arange(100), np.arange(100)] = True
    mask[100:, 100:] = True  # the other classes are candidates of ten rows
    misspelled_classes(CandidateSets(mask, np.array(names)))
    assert len(calls) == 500


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_edits_are_those_of_the_optimal_string_alignment(word: str, other: str) -> None:
    """Up to two edits equal those of a literal recursion, and more are above two."""

    @functools.cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        least = min(distance(i - 1, j) + 1, distance(i, j - 1) + 1)
        least = min(least, distance(i - 1, j - 1) + (word[i - 1] != other[j - 1]))
        if i > 1 and j > 1 and word[i - 2 : i] == other[j - 2 : j][::-1]:
            least = min(least, distance(i - 2, j - 2) + 1)
        return least

    assert min(rare_classes._count_edits(word, other), 3) == min(distance(len(word), len(other)), 3)


def test_a_misspelled_list_of_a_recording_is_one_misspelling() -> None:
    """The rows of a recording share a list: different lists count, and not their rows."""
    lists = [["Parus major", f"species {k}"] for k in range(60) for _ in range(5)]
    lists += [["Parus mayor", "Turdus merula"]] * 12
    [note] = misspelled_classes(CandidateSets.from_sets([*lists, ["Parus major"], ["Turdus merula"]]))
    assert "'Parus mayor' (12 rows) and 'Parus major' (301 rows)" in note
    few_sets = [["central", "medial"]] * 300 + [["ventral", "medial"]] * 30
    assert misspelled_classes(CandidateSets.from_sets(few_sets)) == []
    exact = [["Parus major"]] * 300 + [["Parus mayor"]] * 12
    assert misspelled_classes(CandidateSets.from_sets([*exact, ["Turdus merula"]])) == []
