"""Columns of labels: all forms of one supervision give equal sets; other cells are errors; findings about labels."""

import itertools
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.cli.options import read_names
from oneof.errors import DataError, LabelError, OneofError
from oneof.io import (
    CellFormat,
    Finding,
    Table,
    UnreadableCells,
    class_findings,
    describe,
    find_separator,
    label_findings,
    notes,
    read_labels,
    read_table,
    read_truth,
)
from oneof.io.findings import MAX_NOTES
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS

SETS = [{"a", "b"}, {"b"}, {"a", "b", "c"}, {"c"}]


def _table(cell_format: CellFormat | None = None, **columns: Any) -> Table:
    return Table(pl.DataFrame(columns), Path("t.csv"), cell_format=cell_format or CellFormat())


@pytest.mark.parametrize("values", [(0, 1), ("0", "1"), (False, True)])
def test_one_column_per_class(values: tuple[Any, Any]) -> None:
    """Several columns of 0 and 1 are an indicator, also as text or booleans; their names are the classes."""
    cells = {name: [values[name in labels] for labels in SETS] for name in "abc"}
    assert read_labels(_table(**cells), [*cells]).to_sets() == SETS
    if values == ("0", "1"):
        for missing in ("", " ", "n/a"):
            unlabeled = {name: [*of_class, missing] for name, of_class in cells.items()}
            sets = read_labels(_table(cell_format=CellFormat(missing=("n/a",)), **unlabeled), [*cells]).to_sets()
            assert sets == [*SETS, set("abc")]


@pytest.mark.parametrize(
    ("cells", "missing", "sets"),
    [
        ([3, 1, -1, 3], (), [{3}, {1}, {1, 3}, {3}]),
        (["3", "1", "", "3"], (), [{3}, {1}, {1, 3}, {3}]),
        ([3.0, 1.0, None, 3.0], (), [{3}, {1}, {1, 3}, {3}]),
        (["3", "1", "-1", "3.0"], (), [{3}, {1}, {1, 3}, {3}]),
        (["07|8", "8", None], (), [{"07", "8"}, {"8"}, {"07", "8"}]),
        (["07", "8", "07"], (), [{"07"}, {"8"}, {"07"}]),
        (["10|9", "9", None, "-1", "9|-1"], (), [{9, 10}, {9}, {-1, 9, 10}, {-1}, {-1, 9}]),
        ([1, 999, 2], ("999",), [{1}, {1, 2}, {2}]),
        ([1.0, 999.0, 2.0], ("999",), [{1}, {1, 2}, {2}]),
        (["1", "999", "2"], ("999",), [{1}, {1, 2}, {2}]),
    ],
)
def test_labels_are_numbers_if_all_are_whole_numbers(cells: list[Any], missing: Any, sets: list[Any]) -> None:
    """-1, empty cells and tokens are unlabeled; codes with leading zeros are names, and a label has one type."""
    table = _table(CellFormat(missing=missing), y=cells)
    candidates = read_labels(table, ["y"])
    assert candidates.to_sets() == sets
    assert candidates.classes.tolist() == sorted(set().union(*sets))
    if missing:
        assert read_truth(table, "y", np.array([1, 2])).tolist() == [1, None, 2]


@pytest.mark.parametrize(
    ("table", "columns", "options", "message"),
    [
        (_table(y=["a", "a"]), ["y"], {}, "only one class occurs"),
        (_table(y=["", None]), ["y"], {}, "every row is unlabeled"),
        (_table(y=["a|b", "b|a"]), ["y"], {}, "every row is unlabeled"),
        (_table(y=[["a"], ["b"], []]), ["y"], {}, "row 2: the candidate set is empty"),
        (_table(a=[1, 0], b=[0, 0]), ["a", "b"], {}, "row 1: the candidate set is empty"),
        (_table(a=[1, 0], b=[0, 2]), ["a", "b"], {}, "row 1: column 'b' must contain 0 and 1.* got 2"),
        (_table(a=["x", "y"], b=[0, 1]), ["a", "b"], {}, "column 'a' must contain 0 and 1"),
        (_table(a=["yes", "no"], b=["no", "yes"]), ["a", "b"], {}, "column 'a' must contain 0 and 1"),
        (
            _table(a=["on", "off"], b=["off", "off"]),
            ["a", "b"],
            {},
            "the labels 'off' and 'on' alone, and no empty cell",
        ),
        (_table(a=[1, 0], b=[0, 1]), ["a", "a"], {}, "'a' twice"),
        (_table(y=["1.5", "2.25"]), ["y"], {}, "row 0: labels must not be continuous; got '1.5'"),
        (_table(y=[1.5, 2.25]), ["y"], {}, "continuous"),
        (_table(y=[1, 2]), ["y"], {"classes": ["a", "b"]}, "'1' is not one of the classes"),
    ],
)
def test_invalid_labels_are_errors(table: Table, columns: list[str], options: Any, message: str) -> None:
    with pytest.raises(OneofError, match=message.replace("|", r"\|")) as caught:
        read_labels(table, columns, **options)
    assert "\n" not in str(caught.value)


CITIES = ["Oslo", "Lyon", "S\u00e3o Paulo", "Z\u00fcrich"]
LISTS = [",".join(labels) for n in (2, 3) for labels in itertools.combinations("abcd", n)]


@pytest.mark.parametrize(
    ("cells", "row", "separator"),
    [
        ([*CITIES, "S\u00e3o Paulo;Z\u00fcrich"], 4, ";"),
        ([*CITIES, "Oslo, Norway"], 4, ","),
        ([*CITIES, "Oslo / Lyon"], 4, " / "),
        (LISTS[:1] + LISTS[-2:], 0, ","),
        ([f"{size}, {color}" for size in "sml" for color in "rgb"], 0, ","),
    ],
)
def test_doubtful_separators_are_questions(cells: list[str], row: int, separator: str) -> None:
    """Cells that may be sets or classes, such as few lists, are an error that names the row and both options."""
    message = f"row {row}: '.*' may be a set .* Add --separator '{separator}'.* --separator '.'"
    with pytest.raises(LabelError, match=message):
        find_separator(_table(y=cells), ["y"])
    assert find_separator(_table(y=cells), ["y"], classes=cells) == "|"


def test_all_bad_cells_are_in_one_error() -> None:
    """The error has the first cell with its reason, and the rows of the next nine."""
    cells = ["a", "b||a", "[]", "b", *(f"b||{i}" for i in range(12)), "b||a"]
    with pytest.raises(LabelError) as caught:
        read_labels(_table(y=cells), ["y"])
    message = str(caught.value)
    assert "row 1: 'b||a' contains an empty label" in message
    assert "In all, 15 cells cannot be read: also row 2 ('[]'), row 4 ('b||0')" in message
    assert ("row 11" in message, "row 12" in message, caught.value.row) == (True, False, 1)
    with pytest.raises(LabelError, match=r"row 1: label 'c' .* In all, 2 cells .*: also row 2 \('d'\)") as caught:
        read_labels(_table(y=["a", "c|b", "d"]), ["y"], classes=["a", "b"])
    assert caught.value.cause == "unknown label"
    with pytest.raises(DataError, match=r"row 0: .* contains 'x', .* In all, 3 cells .*: also row 2 \('z'\)"):
        read_truth(_table(t=["x", "a", "z", "x"]), "t", np.array(["a", "b"]))


def test_truth_is_read_over_the_classes() -> None:
    """A label is the same as a number or as text; a missing true label is allowed, an unknown label is not."""
    table = _table(y=["1|2", "2", "3"], t=[1, 2, 3], u=["3", None, "1"], w=["1", "2", "9"], e=[None, None, None])
    classes = read_labels(table, ["y"]).classes
    assert read_truth(table, "t", classes).tolist() == [1, 2, 3]
    assert read_truth(table, "u", classes).tolist() == [3, None, 1]
    with pytest.raises(
        DataError, match="row 2: the truth column 'w' contains '9', which is not a class of the candidate sets"
    ):
        read_truth(table, "w", classes)
    with pytest.raises(DataError, match=r"\(--classes\), or add --separator '/' if a class has several labels\."):
        read_truth(_table(t=["owl", "wren"]), "t", np.array(["barn owl", "wren/owl"]))
    with pytest.raises(DataError, match=r"the truth column 'e' has no labels"):
        read_truth(table, "e", classes)


RANKED = {
    "first": ["owl", "owl", "wren", None, " "],
    "second": ["wren", "n/a", None, None, None],
    "p": [0.75, 0.5, 1.0, None, None],
    "q": [0.25, 0.5, None, None, 0.5],
}


def test_ranked_columns_are_the_weights_of_their_labels() -> None:
    """Columns of labels and of their weights give the weights of the text; empty labels are left out."""
    y = read_labels(_table(**RANKED), ["first", "second"], weights=["p", "q"])
    texts, classes = ["owl:.75|wren:.25", "owl:.5|n/a:.5", "wren:1", "", ""], ["n/a", "owl", "wren"]
    assert y == CandidateSets.from_strings(texts, classes=classes, weighted=True)
    with pytest.raises(DataError, match="--labels and --weights must name as many columns; got 2 and 1"):
        read_labels(_table(**RANKED), ["first", "second"], weights="p")
    with pytest.raises(LabelError, match=r"row 2: the weight of 'wren' must be a number.*got None"):
        read_labels(_table(**RANKED | {"p": [0.75, 0.5, None, None, None]}), ["first", "second"], weights=["p", "q"])


@pytest.mark.parametrize(
    "further", [["['wren', 'robin']", "[]", "[]"], [["wren", "robin"], None, None], ["wren|robin", "", None]]
)
def test_a_primary_label_and_further_ones_are_one_set(further: list[Any]) -> None:
    """Columns of labels, of which one may have lists, give their union; a separator is that of all, or of each."""
    names = ["first", "more"]
    y = read_labels(_table(first=["owl", "wren", None], more=further), names, separator=None)
    assert y.to_sets() == [{"owl", "robin", "wren"}, {"wren"}, {"owl", "robin", "wren"}]
    with pytest.raises(LabelError, match=r"labels 'more' of t.csv, row 1: .* contains an empty label"):
        read_labels(_table(first=["owl", "wren"], more=["owl", "a||b"]), names)
    y = read_labels(_table(first=["owl", "wren"], more=["wren+robin", None]), names, separator="+")
    assert y.to_sets() == [{"owl", "robin", "wren"}, {"wren"}]
    unreadable = UnreadableCells()
    tolerant = _table(CellFormat(label_errors="unlabeled"), first=["owl", "wren"], more=["wren", "a||b"])
    y = read_labels(tolerant, names, classes=["owl", "robin", "wren"], unreadable=unreadable)
    assert y.is_unlabeled.tolist() == [False, True]
    assert [finding.rows for finding in unreadable.findings("unreadable labels")] == [(1,)]


def test_names_of_rows_are_refused_as_labels() -> None:
    """More than 1,000 labels that are more than half as many as the rows are an error, unless they are named."""
    names = [f"clip {i}" for i in range(1_001)]
    for cells in (names, list(range(1_001))):
        with pytest.raises(LabelError, match=r"1,001 cells have 1,001 different labels"):
            read_labels(_table(y=cells), ["y"])
        assert read_labels(_table(y=cells[:1_000]), ["y"]).shape == (1_000, 1_000)
        assert read_labels(_table(y=cells), ["y"], classes=list(map(str, cells))).shape == (1_001, 1_001)
    with pytest.raises(LabelError, match=r"different labels"):  # also if a few cells have several
        read_labels(_table(y=[*names, "clip 1|clip 2"]), ["y"])
    pairs = [f"{a}|{b}" for a, b in zip(names[:40] * 60, names[1:61] * 40, strict=True)]
    assert read_labels(_table(y=pairs), ["y"]).shape[1] == 61


@pytest.mark.parametrize("folds_case", [False, True])
def test_an_unknown_class_does_not_recommend_an_option_that_is_given(folds_case: bool) -> None:
    """The error names --fold-case only if case is not folded already."""
    table = _table(CellFormat(folds_labels=folds_case), y=["Owl", "crow"])
    with pytest.raises(LabelError, match="--missing leaves out labels that are not classes") as caught:
        read_labels(table, ["y"], classes=["owl" if folds_case else "Owl", "wren"])
    assert ("--fold-case" in str(caught.value)) != folds_case


# -- Findings about tables and labels, whose remedies work -------------------------------------------------------------


BASE = ["owl", "wren", "finch"] * 12

JOINED, MISSED, SUSPICIOUS = "joined classes", "missing class", "suspicious class"
SPELLED, SINGLE = "spellings", "single rows"


@pytest.mark.filterwarnings("ignore:the text")
@pytest.mark.parametrize(
    ("cells", "kinds", "part"),
    [
        (["rock/pop", "house wren"] * 9, {}, ""),
        (["owl;wren"], {JOINED: ["owl;wren"]}, "(row 36) is read as one class: if it is a set of labels, add --sep"),
        (["owl, wren", "owl, finch"], {JOINED: ["owl, wren", "owl, finch"]}, "add --separator ','"),
        (["owl and wren"], {JOINED: ["owl and wren"]}, "add --separator ' and ', or --separator '| and' if"),
        (["owl\nwren"], {JOINED: ["owl\nwren"]}, "write '|' between them"),
        (["owl wren"], {JOINED: ["owl wren"]}, "write '|' between them"),
        (["['owl', 'wren']"], {JOINED: ["['owl', 'wren']"]}, "or add --separator '[]' to read the cells as lists"),
        (["(owl, wren)"], {JOINED: ["(owl, wren)"]}, "write sets of labels as 'a|b'."),
        (["[owl]", "[owl, wren]"], {JOINED: ["[owl]", "[owl, wren]"]}, "add --separator '[]'"),
        (["C33", "C33.1", "C33.2"] * 12, {}, ""),
        (["InChI=1S/CH4/h1H4", "InChI=1S/C3H8O/c1-3(2)4/h3-4H,1-2H3"] * 12, {}, ""),
        (["not owl", "not wren", "not finch"] * 20, {SUSPICIOUS: ["not owl", "not wren", "not finch"]}, "excludes a"),
        (["owl (probably)"] * 14, {SUSPICIOUS: ["owl (probably)"]}, "14 rows; 'owl' with a remark"),
        (["Parus major"] * 22 + ["Parus cf. major"] * 8, {SUSPICIOUS: ["Parus cf. major"]}, "'Parus major' with a"),
        (["-1"], {MISSED: ["-1"]}, "add --missing=-1"),
        (["?", "NA", "k.A.", "Unbekannt"], {MISSED: ["?", "NA", "k.A.", "Unbekannt"]}, "add --missing '?"),
        (["n.b.", "Indet."], {MISSED: ["Indet.", "n.b."]}, "add --missing"),
        (["OWL", "Wren"], {SPELLED: []}, "add --fold-case"),
        (["not owl", "!wren"], {SUSPICIOUS: ["not owl", "!wren"]}, "excludes a class: write the labels that remain"),
        (["owl?", "finch (probably)"], {SUSPICIOUS: ["owl?", "finch (probably)"]}, "'owl' with a remark"),
        (["finch=0.7", "probably wren"], {SUSPICIOUS: ["finch=0.7", "probably wren"]}, "'finch' with a remark"),
        (["???", "2021-09-02 00:00:00"] * 3, {SUSPICIOUS: ["???", "2021-09-02 00:00:00"]}, "3 rows; without letters"),
        (["owl;wren", "owl?", "n/a"], {JOINED: ["owl;wren"], SUSPICIOUS: ["owl?"], MISSED: ["n/a"]}, ""),
        (["skip", "Refused"] * 12, {MISSED: ["skip", "Refused"]}, "add --missing Refused,skip"),
        (
            [f"I think it is number {k}" for k in range(3)],
            {SINGLE: ["I think it is number 0"]},
            "--unreadable-labels unlabeled",
        ),
        ([f"clip {k}" for k in range(40)], {SINGLE: ["clip 0"]}, "Check that --labels names the column of labels"),
        (["common eider"] * 20 + ["common eidre"], {SUSPICIOUS: ["common eidre"]}, "nearly 'common eider' with 20"),
    ],
)
def test_labels_have_the_findings(cells: list[str], kinds: dict[str, list[str]], part: str) -> None:
    """A class is in one finding at most, and ordinary classes are in none; the note has the remedy."""
    candidates = CandidateSets.from_labels([*BASE, *cells])
    found = label_findings(candidates, "|")
    listed: dict[str, list[str]] = {}
    for finding in found:
        listed.setdefault(finding.kind, []).extend(finding.examples)
    assert {kind: sorted(examples) for kind, examples in listed.items()} == {k: sorted(v) for k, v in kinds.items()}
    sentences = describe(found)
    assert len(sentences) == len(kinds)
    assert any(part in sentence for sentence in [*sentences, ""])
    assert all(sentence.endswith(".") for sentence in sentences)


def test_negated_answers_have_the_option_for_them() -> None:
    """Answers are negated by an option, and labels are written as those that remain."""
    [finding] = class_findings({"owl": 20, "wren": 20, "finch": 9, "not owl": 3}, "|", unit="answer")
    assert finding.detail == "3 answers; excludes a class: add --not 'not '"


@pytest.mark.parametrize("token", [*MISSING, *MISSING_NUMBERS, "<no annotation>", "NoID", "abstain"])
def test_each_token_of_missing_values_is_found_as_a_class(token: str) -> None:
    """The remedy makes the rows unlabeled."""
    [finding] = class_findings({token.upper(): 3, "owl": 9}, "|")
    assert (finding.kind, finding.examples) == (MISSED, (token.upper(),))


def test_a_rest_names_no_class():
    """The rows of a class are those whose lists name it, without those that have only its share of the rest."""
    weights = np.full((40, 5), 0.1)
    weights[np.arange(40), [*range(3)] * 13 + [3]] = 1.0
    named = CandidateSets.from_weights(weights, ["finch", "owl", "wren", "finch (unsure)", "hawk"])
    [finding] = label_findings(named, "|", named=weights == 1)
    assert (finding.kind, finding.count, finding.examples) == (SUSPICIOUS, 1, ("finch (unsure)",))
    assert [finding] == label_findings(CandidateSets.from_labels(named.classes[weights.argmax(axis=1)]), "|")


@pytest.mark.parametrize(
    "cell",
    [
        *("owl;wren", "owl, wren", "owl-wren", "owl_wren", "owl : wren", "owl # wren", "owl oder wren", "owl and wren"),
        *("[owl, wren]", "[owl, hawk]", "{owl, hawk}"),
        *("?", "n/a", "Unbekannt", "???", "owl?", "finch (probably)", "2021-09-02 00:00:00", 'owl, "b"?'),
    ],
)
def test_remedies_work(tmp_path: Path, cell: str) -> None:
    """With the option of its note, a set is read as a set, and a class that is none as an unlabeled row."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": range(len(BASE) + 1), "y": [*BASE, cell]}).write_parquet(path)
    before = read_labels(read_table(path), ["y"])
    [finding] = label_findings(before, "|")
    [note] = describe([finding])
    option = note[note.index("--") :].removesuffix(".").partition(", so that")[0].partition(" to read")[0]
    words = shlex.split(option.partition(", or")[0].replace("=", " ", 1))
    if words[0] == "--separator":
        after = read_labels(read_table(path), ["y"], separator=words[1])
        assert after.to_sets()[-1] == {"owl", "hawk" if "hawk" in cell else "wren"}
        assert label_findings(after, words[1]) == []
    else:
        tokens = read_names(words[0], words[1:])
        after = read_labels(read_table(path, cell_format=CellFormat(missing=tokens)), ["y"])
        assert after.is_unlabeled.tolist() == [*[False] * len(BASE), True]
        assert label_findings(after, "|") == []


@pytest.mark.parametrize("given", ["|", ";"])
def test_a_column_with_two_separators_is_read_by_the_option_of_the_note(tmp_path: Path, given: str) -> None:
    """The note names the option that reads both separators, and gives the sets of a column with one separator."""
    texts = ["owl|wren", "wren;finch", "owl", "finch", "wren", "owl;finch|wren"] * 5
    path = tmp_path / "t.parquet"
    pl.DataFrame({"y": texts}).write_parquet(path)
    classes = read_labels(read_table(path), ["y"], separator=given)
    [note] = describe(finding for finding in label_findings(classes, given) if finding.kind == JOINED)
    separator = note.rpartition("or --separator '")[2].partition("'")[0]
    assert separator.split() == [given, *({"|", ";"} - {given})]
    read = read_labels(read_table(path), ["y"], separator=separator)
    expected = CandidateSets.from_strings([text.replace(";", "|") for text in texts])
    assert read.classes.tolist() == expected.classes.tolist()
    assert np.array_equal(read.mask, expected.mask)
    assert label_findings(read, separator) == []


def test_cells_without_weights_among_weights_are_suspicious_or_sets(tmp_path: Path) -> None:
    """A text that no weighted cell has is named once: a set is not called a comment, whose remedy loses its rows."""
    cells = [*["a:0.7|b:0.3", "b:0.8|a:0.2"] * 10, "a", "I cannot decide.", "b;a"]
    found = label_findings(CandidateSets.from_strings(cells, weighted=True), "|")
    assert [(finding.kind, finding.examples[0]) for finding in found] == [
        (JOINED, "b;a"),
        (SUSPICIOUS, "I cannot decide."),
    ]
    few = CandidateSets.from_strings(["x", "y", "z", "a:0.7|b:0.3"], weighted=True)
    assert label_findings(few, "|") == []


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        ("Parus mayor", "Parus major"),
        ("Parus majro", "Parus major"),
        ("Prunella modulari", "Prunella modularis"),
        ("parus mayor", "Parus Major"),
        ("Acrocefalus schoenobaenus", "Acrocephalus schoenobaenus"),
        ("Alcedo athis", "Alcedo atthis"),
    ],
)
def test_a_misspelled_rare_class_is_named_with_the_frequent_one(rare: str, common: str) -> None:
    """The limit is a tenth of the other class up to three rows, and a fiftieth above, in a table of any size."""
    small = ((3, 30, True), (3, 29, False), (1, 10, True), (1, 9, False))
    large = ((4, 200, True), (4, 199, False), (100, 5000, True), (100, 4999, False), (300, 700, False))
    for n_rare, n_common, is_found in small + large:
        found = class_findings({rare: n_rare, common: n_common, "Turdus merula": 20}, "|")
        assert [finding.examples for finding in found] == [(rare,)] * is_found, (n_rare, n_common)
        assert all(repr(common) in finding.detail for finding in found)


@pytest.mark.parametrize(
    ("rare", "common"),
    [
        *(("class 1", "class 2"), ("A", "B"), ("type_10", "type_11"), ("type_a", "type_b"), ("classA", "classB")),
        *(("grade I", "grade II"), ("wren", "wern"), ("abnormal", "normal"), ("untreated", "treated")),
        *(("Parus minor", "Parus major"), ("cardiology", "radiology"), ("hypotension", "hypertension")),
        *(("nitrate", "nitrite"), ("afferent", "efferent"), ("12345", "12346"), ("centralBankA", "centralBankB")),
        ("spam", "not spam"),
    ],
)
@pytest.mark.parametrize("n_rare", [1, 10])
def test_different_names_have_no_finding(rare: str, common: str, n_rare: int) -> None:
    """Names that differ in digits, short words or prefixes are different classes."""
    assert class_findings({rare: n_rare, common: 500}, "|") == []


def test_names_of_many_classes_take_seconds() -> None:
    """Ten thousand rare names are not all compared with each other."""
    rows = {f"species {chr(97 + k % 26)}{k:05d} of a long name": 1 + 99 * (k < 500) for k in range(10_000)}
    assert class_findings(rows, "|") == []


def test_a_misspelled_list_of_a_recording_is_one_misspelling() -> None:
    """The rows of a recording share a list: different lists count, and not their rows."""
    lists = [["Parus major", f"species {k}"] for k in range(60) for _ in range(5)]
    lists += [["Parus mayor", "Turdus merula"]] * 12
    found = label_findings(CandidateSets.from_sets([*lists, ["Parus major"], ["Turdus merula"]]), "|")
    assert [finding.examples for finding in found] == [("Parus mayor",)]
    exact = [["Parus major"]] * 300 + [["Parus mayor"]] * 12
    assert label_findings(CandidateSets.from_sets([*exact, ["Turdus merula"]]), "|") == []


def test_posteriors_that_are_mostly_exact_have_a_note() -> None:
    """A note counts the exact rows if they are more than half of the labeled rows of a posterior, and only then."""
    rows = [{"a": 1.0, "b": 0.0}, {"b": 1.0}, {"a": 0.6, "b": 0.4}, None]
    y = CandidateSets.from_weights(rows)
    [note] = describe(label_findings(y, "|", kind="posterior"))
    assert note.startswith("2 of 3 labeled rows are exact")
    assert label_findings(y, "|") == label_findings(y[1:], "|", kind="posterior") == []


def test_few_classes_of_one_row_have_no_note() -> None:
    """A few rare classes are usual, and so are sentences in several rows."""
    names = [f"clip {i}" for i in range(30)]
    few = CandidateSets.from_labels([*names[:19], "owl", "owl"])
    half = CandidateSets.from_labels([*names, *names[:15]])
    prose = [f"I think it is a finch, number {i}" for i in range(3)]
    others = [f"class {i}" for i in range(15)]
    tables = [few[:10], half]
    for labels in (prose[:2], [*prose, *prose], [*prose, *others, *others]):
        tables.append(CandidateSets.from_labels([*labels, *12 * ["owl", "wren"]]))
    assert not any(finding.kind == SINGLE for table in tables for finding in label_findings(table, "|"))


def test_findings_are_ordered_and_cut() -> None:
    """The most important sentences come first, the last one counts the others, and JSON keeps all of them."""
    found = [*notes("file", [f"sentence {k}." for k in range(30)]), Finding("class leak", "x", detail="determines")]
    sentences = describe(found)
    assert len(sentences) == MAX_NOTES
    assert "column 'x' reveals the labels" in sentences[0]
    assert sentences[-1] == "22 further notes: `oneof inspect --json`."
    assert len(describe(found, None)) == 31
    assert describe(found[:MAX_NOTES]) == [f"sentence {k}." for k in range(MAX_NOTES)]
    assert [Finding.from_dict(finding.to_dict()) for finding in found] == found


def test_the_remedy_for_a_set_with_another_sign_has_the_whole_separator() -> None:
    """The separator of the other cells and the sign, of which one may be a word, read both."""
    [finding] = class_findings({"clay": 20, "sand": 20, "loess": 9, "clay/sand": 8}, " or ")
    [sentence] = describe([finding])
    assert "--separator 'or /' if ' or ' separates other cells" in sentence
    assert (
        CandidateSets.from_strings(["clay or sand", "clay/sand"], separator="or /").to_sets() == [{"clay", "sand"}] * 2
    )
