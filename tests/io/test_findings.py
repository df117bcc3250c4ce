"""Findings about tables and labels: one table of inputs with the kinds of findings, whose remedies work."""

import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.cli.options import read_names
from oneof.io import CellFormat, Finding, class_findings, describe, label_findings, notes, read_labels, read_table
from oneof.io.findings import MAX_NOTES
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS

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
        (["-1"], {MISSED: ["-1"]}, "add --missing=-1"),
        (["?", "NA", "k.A.", "Unbekannt"], {MISSED: ["?", "NA", "k.A.", "Unbekannt"]}, "add --missing '?"),
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


@pytest.mark.parametrize("token", [*MISSING, *MISSING_NUMBERS])
def test_each_token_of_missing_values_is_found_as_a_class(token: str) -> None:
    """The remedy makes the rows unlabeled."""
    [finding] = class_findings({token.upper(): 3, "owl": 9}, "|")
    assert (finding.kind, finding.examples) == (MISSED, (token.upper(),))


def test_a_rest_names_no_class():
    """The rows of a class are those whose lists name it, without those that have only its share of the rest."""
    weights = np.full((40, 4), 0.1)
    weights[np.arange(40), [*range(3)] * 13 + [3]] = 1.0
    named = CandidateSets.from_weights(weights, ["finch", "owl", "wren", "finch (unsure)"])
    [finding] = label_findings(named, "|", has_rest=True)
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
