"""One table of cells, which every entry point reads by the same function."""

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.cells import LISTS, LabelFormat, parse, read_cells
from oneof.candidates.labels import clean
from oneof.cli.answers import read_answers
from oneof.errors import DataError, InputError, LabelError
from oneof.io import CellFormat, Table, read_checked_labels, read_labels, read_table, read_truth
from oneof.io.answers import AnswerOptions
from oneof.labeling.answers.importing import read_file
from tests.candidates.columns import label_reader, read_label_columns, stream_classes

CLASSES = ["CL:0000236", "Caf\u00e9", "[(R)-carvone]", "finch", "finch|wren", "owl", "wren"]
FINCH, BOTH = {"finch": 1.0}, {"finch": 1.0, "wren": 1.0}
WEIGHTS = {"finch": 1.0, "wren": 0.25}

Labels = dict[str, float] | str | None
"""The weights of a cell, a part of its error, or None for an unlabeled row."""

SETS: list[tuple[str, dict[str, Any], Labels]] = [
    ("finch", {}, FINCH),
    ("finch|wren", {}, BOTH),
    (" finch | wren ", {}, BOTH),
    ("|finch|", {}, FINCH),
    ("; finch ;wren;", {"separator": ";"}, BOTH),
    ("finch\nwren\n", {"separator": "\n"}, BOTH),
    ("finch ;wren|finch", {"separator": "| ;"}, BOTH),
    ("finch\uff1bwren", {"separator": "\uff1b"}, BOTH),
    ("finch\\|wren", {}, {"finch|wren": 1.0}),
    ("[(R)-carvone]", {}, {"[(R)-carvone]": 1.0}),
    ("[(R)-carvone]", {"separator": LISTS}, {"[(R)-carvone]": 1.0}),
    ("fin\u200bch\ufeff", {}, FINCH),
    ("finch\u00a0|\u00a0wren", {}, BOTH),
    ("Cafe\u0301", {}, {"Caf\u00e9": 1.0}),
    ("", {}, None),
    (" \u200b ", {}, None),
    ("n/a", {"missing": ("N/A",)}, None),
    ("-1", {}, None),
    ("-1|finch", {}, "'-1' is not one of the classes"),
    ("N/A|finch", {"missing": ("n/a",)}, FINCH),
    ("FINCH|Finch", {"folds_case": True}, FINCH),
    ("FINCH or WREN", {"folds_case": True, "separator": " OR "}, BOTH),
    ('["finch", "wren"]', {}, BOTH),
    ('{"labels": ["finch", "wren"]}', {}, BOTH),
    ('[{"label": "finch"}, {"label": "wren"}]', {"separator": LISTS}, BOTH),
    ('[{"label": "finch"}]', {}, FINCH),
    ("['finch', 'wren']", {"separator": LISTS}, BOTH),
    ("['finch' 'wren']", {"separator": LISTS}, BOTH),
    ('c("finch", "wren")', {"separator": LISTS}, BOTH),
    ("{finch,wren}", {"separator": LISTS}, BOTH),
    ('{"finch",wren}', {"separator": LISTS}, BOTH),
    ("[finch, wren]", {"separator": LISTS}, BOTH),
    ("array(['finch', 'wren'], dtype=object)", {"separator": LISTS}, BOTH),
    ("(finch, wren)", {"separator": LISTS}, "is not one of the classes"),
    ("{'finch', 'wren'}", {"separator": LISTS}, BOTH),
    ("('finch', 'wren')", {"separator": LISTS}, BOTH),
    ('["N/A", "finch"]', {"separator": LISTS, "missing": ("n/a",)}, FINCH),
    ('{"choices": ["finch", "wren"]}', {"separator": LISTS}, BOTH),
    ('{"species": ["finch", "wren"]}', {"separator": LISTS}, BOTH),
    ('{"label": "finch|wren"}', {}, {"finch|wren": 1.0}),
    ('{"label": " finch "}', {}, FINCH),
    ('{"candidates": ["finch", "wren"]}', {}, BOTH),
    ("frozenset({'finch'})", {"separator": LISTS}, FINCH),
    ('Answer:\n```json\n["finch", "wren"]\n```', {"separator": LISTS}, BOTH),
    ("[]", {"separator": LISTS}, None),
    ('{"label": " "}', {}, None),
    ('{"labels": []}', {}, None),
    ('{"label": null}', {}, None),
    ("{}", {}, None),
    ("finch||wren", {}, "contains an empty label"),
    ("|", {}, "the candidate set is empty"),
    ("[]", {}, "the candidate set is empty"),
    ('["finch", "wren"', {"separator": LISTS}, "is not valid JSON"),
    ('{"finch": 0.7}', {}, "the labels have weights"),
    ('[["finch", 0.7]]', {"separator": LISTS}, "the labels have weights"),
    ('{"labels": ["finch"], "why": "x"}', {"separator": LISTS}, "the weight of 'labels' must be a number"),
    ("c()", {}, "the candidate set is empty"),
    ('{"labels": ["finch"], "labels": ["wren"]}', {}, "not a label|must be a number"),
    ("[finch, 'wren]", {"separator": LISTS}, "is not valid JSON"),
    ('["finch", null]', {"separator": LISTS}, "contains None, which is not a label"),
    ("['finch', ['wren']]", {"separator": LISTS}, r"contains \['wren'\], which is not a label"),
    ('["finch", 0.5]', {"separator": LISTS}, "labels must not be continuous; got 0.5|label .0.5. is not one of"),
    ('["finch", " "]', {}, "contains an empty label"),
    ('[["finch", "wren"]]', {}, "must be a number"),
    ('[[["finch"]]]', {}, "which is not a label"),
    ("eagle", {}, "'eagle' is not one of the classes"),
]
WEIGHTED: list[tuple[str, dict[str, Any], Labels]] = [
    ("|finch|", {}, FINCH),
    ("finch|wren", {}, BOTH),
    ("finch:0.8|wren:0.2", {}, WEIGHTS),
    ("finch:80%|wren:20 %", {}, WEIGHTS),
    ("finch (0.8)|wren (0.2)", {}, WEIGHTS),
    ("finch|wren:.25", {}, WEIGHTS),
    ('{"finch": 0.8, "wren": "0.2", "owl": null}', {}, WEIGHTS),
    ("{'finch': 0.8, 'wren': 0.2}", {}, WEIGHTS),
    ('[["finch", 0.8], ["wren", 0.2]]', {}, WEIGHTS),
    ('[{"label": "finch", "score": 0.8}, {"label": "wren", "score": 0.2}]', {}, WEIGHTS),
    ('[{"token": "finch", "logprob": 0}, {"token": "wren", "logprob": -1.3862943611198906}]', {}, WEIGHTS),
    ('```json\n{"finch": 0.8, "wren": 0.2}\n```', {}, WEIGHTS),
    ('["finch", "wren"]', {}, BOTH),
    ("FINCH:0.5|Finch:0.8|Wren:0.2", {"folds_case": True}, WEIGHTS),
    ('{"Finch": 0.8, "FINCH": 0.5, "WREN": 0.2}', {"folds_case": True}, WEIGHTS),
    ('[["FINCH", 0.5], ["Finch", 0.8], ["WREN", 0.2]]', {"folds_case": True}, WEIGHTS),
    ("CL:0000236", {}, {"CL:0000236": 1.0}),
    ("CL:0000236:0.25|finch:1", {}, {"CL:0000236": 0.25, "finch": 1.0}),
    ("[(R)-carvone]", {}, {"[(R)-carvone]": 1.0}),
    ("[]", {}, None),
    ("{}", {}, None),
    ("null", {}, None),
    ("-1:1", {}, None),
    ('{"finch": null}', {}, None),
    ('{"labels": ["finch", "wren"]}', {}, BOTH),
    ('{"labels": {"finch": 0.8, "wren": 0.2}}', {}, WEIGHTS),
    ('{"labels": [{"label": "finch", "probability": 0.8}, {"label": "wren", "probability": 0.2}]}', {}, WEIGHTS),
    ('[{"name": "finch", "weight": "80%"}, {"class": "wren", "confidence": ".2"}]', {}, WEIGHTS),
    ('{"label": "finch", "score": null}', {}, FINCH),
    ('[{"label": "finch", "prob": 0.8}, {"label": "owl", "prob": null}, {"label": "wren", "prob": 0.2}]', {}, WEIGHTS),
    ('[{"label": "finch", "score": null}, {"label": "wren", "score": null}]', {}, BOTH),
    ("finch:", {}, "the weight of 'finch' must be a number.*got ''"),
    ("http://x", {}, "the weight of 'http' must be a number.*backslash"),
    ("finch:nan", {}, "the weight of 'finch' must be a number"),
    ("finch:-1", {}, "must be a finite number of at least 0"),
    ("finch:1e999", {}, "must be a finite number of at least 0; got inf"),
    (":0.5", {}, "contains an empty label"),
    ("finch:0|wren:0.0", {}, "all weights of the row are 0"),
    ('{"finch": "0,7"}', {}, 'must be a number, or text such as "0.85" or "85%"; got \'0,7\''),
    ('{"finch": NaN}', {}, "must be a finite number of at least 0; got nan"),
    ('{"finch": 1, " ": 1}', {}, "contains an empty label"),
    ('{"finch": {"wren": 0.7}}', {}, "the weight of 'finch' must be a number"),
    ('{"labels": ["finch"], "why": "x"}', {}, "the weight of .* must be a number.* whose only key"),
    ('{"label": 0.7}', {}, "labels must not be continuous"),
    ('{"label": "3"}', {}, "'3' is not one of the classes"),
    ('[{"label": "finch", "name": "wren", "prob": 1}]', {}, "the weight of 'label' must be a number"),
    ('[{"label": "finch", "prob": 1, "score": 1}]', {}, "the weight of 'label' must be a number"),
    ("[('finch', 0.7]", {}, "is not valid JSON, such as .*json.dumps"),
    ("{'finch': f(0.7)}", {}, "is not valid JSON, such as .*json.dumps"),
    ('{"finch": ' * 10**4 + "1" + "}" * 10**4, {}, "is not valid JSON"),
    ("eagle:1", {}, "'eagle' is not one of the classes"),
]

Entry = Callable[[list[str], dict[str, Any], Path], list[Labels]]
CASES = [*SETS, *((cell, options | {"weighted": True}, expected) for cell, options, expected in WEIGHTED)]


def _weights(y: CandidateSets) -> list[Labels]:
    """Return the weights of each row, None if it is unlabeled."""
    rows = [{k: w for k, w in zip(y.classes.tolist(), row, strict=True) if w} for row in y.weights.tolist()]
    return [None if unlabeled else row for row, unlabeled in zip(rows, y.is_unlabeled.tolist(), strict=True)]


def _table(cells: list[str], options: dict[str, Any], name: str = "y", **more: Any) -> Table:
    cell_format = CellFormat(missing=options.get("missing", ()), folds_labels=options.get("folds_case", False), **more)
    return Table(pl.DataFrame({name: cells}), Path("t.csv"), cell_format=cell_format)


def _sets(table: Table, options: dict[str, Any]) -> list[Labels]:
    chosen = {name: options[name] for name in ("separator", "weighted") if name in options}
    return _weights(read_labels(table, ["y"], classes=CLASSES, **chosen))


def _text(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    options = {{"folds_case": "fold_case"}.get(name, name): value for name, value in options.items()}
    return _weights(CandidateSets.from_strings(cells, classes=CLASSES, **options))


def _column(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    return _sets(_table(cells, options), options)


def _lines(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    """Read the values of cells of JSON among lists in a file of JSON lines."""
    values = [["owl"], *map(json.loads, cells[1:]), [name for name in CLASSES if name != "owl"]]
    path = folder / "t.jsonl"
    path.write_text("".join(json.dumps({"x": i, "y": value}) + "\n" for i, value in enumerate(values)))
    return _sets(replace(read_table(path, labels=["y"]), cell_format=_table(cells, options).cell_format), options)[:-1]


def _batch(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    reader = label_reader(["y"], classes=CLASSES, **options)
    evidence = np.asarray(reader.evidence(pl.DataFrame({"y": cells})), dtype=float)
    return _weights(CandidateSets.from_weights(evidence, CLASSES))


def _answers(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    path = folder / "answers.csv"
    pl.DataFrame({"row": range(len(cells)), "annotator": "ann", "answer": cells}).write_csv(path)
    table, separator = _table(cells, options, "x"), options.get("separator", "|")
    read = read_answers(AnswerOptions(path, rules="no"), table, separator=separator, classes=tuple(CLASSES))
    codes, found = read.answers.to_codes(), [None] * len(cells)
    for row, answer in zip(codes.row.tolist(), codes.answer.tolist(), strict=True):
        found[row] = dict.fromkeys(codes.classes[codes.sets[answer]].tolist(), 1.0)
    return found


def _imported(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    path = folder / "imported.csv"
    pl.DataFrame({"item": range(len(cells)), "worker": "ann", "label": cells}).write_csv(path)
    answers, _ = read_file(path, pl.DataFrame({"x": cells}), np.array(CLASSES), **options)
    return [dict.fromkeys(answers.of_row(row).get("ann", ()), 1.0) or None for row in range(len(cells))]


def _checked(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    chosen = {"separator": options.get("separator", "|"), "has_weights": options.get("weighted", False)}
    labels, _ = read_checked_labels(_table(cells, options), "y", np.array(CLASSES), **chosen)
    return [None if label is None else {label: 1.0} for label in labels]


def _true(cells: list[str], options: dict[str, Any], folder: Path) -> list[Labels]:
    truth = read_truth(_table(cells, options), "y", np.array(CLASSES))
    return [None if label is None else {label: 1.0} for label in truth.tolist()]


def _is_json(cell: str) -> bool:
    """Return whether a cell is JSON whose value is not read in another way: no empty list, and no repeated key."""
    with contextlib.suppress(ValueError, RecursionError):
        return cell != "[]" and cell.count('"labels"') < 2 and isinstance(json.loads(cell), list | dict)
    return False


def _is_simple(options: dict[str, Any]) -> bool:
    return not {*options} - {"separator"}


ENTRIES: dict[str, tuple[Entry, Callable[[str, dict[str, Any], Labels], bool]]] = {
    "text": (_text, lambda *_: True),
    "column": (_column, lambda *_: True),
    "batch": (_batch, lambda *_: True),
    "lines": (_lines, lambda cell, *_: _is_json(cell)),
    "answers": (_answers, lambda _, options, __: not options),
    "imported": (_imported, lambda _, options, expected: _is_simple(options) and "not one of" not in str(expected)),
}
"""The readers of columns, and the cells that they may have."""


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.filterwarnings("ignore")
def test_every_entry_reads_a_cell_by_the_parser(name: str, tmp_path: Path) -> None:
    """A column of all cells of a format has the labels of the table, and a cell that cannot be read is an error.

    These are text in Python, columns of `fit`, batches of a stream, values of JSON, and answers, also imported ones.
    """
    entry, may_have = ENTRIES[name]
    columns: dict[Any, list[tuple[str, Labels]]] = {}
    for cell, options, expected in CASES:
        if not may_have(cell, options, expected):
            continue
        if isinstance(expected, str):
            with pytest.raises(InputError, match=rf"row 1: .*(?:{expected})"):
                entry(["owl", cell], options, tmp_path)
        else:
            columns.setdefault(tuple(sorted(options.items())), []).append((cell, expected))
    for options, cases in columns.items():
        found = entry(["owl", *(cell for cell, _ in cases)], dict(options), tmp_path)
        assert found[1:] == [None if expected is None else pytest.approx(expected) for _, expected in cases]


@pytest.mark.parametrize(("cell", "options", "expected"), CASES)
def test_a_checked_label_has_the_same_meaning(
    cell: str, options: dict[str, Any], expected: Labels, tmp_path: Path
) -> None:
    """A cell of one label is this label as a checked one, and as a true one; a cell of several is an error of both.

    A cell that is the name of a class is that class, and an empty set is no checked label.
    """
    if clean(cell) in CLASSES:
        expected = {clean(cell): 1.0}
    if cell == "[]":
        expected = None
    # True labels have neither weights nor separators, and the weight of a single checked label has no effect.
    is_plain = not (options.get("weighted") or re.search(r"[|;\uff1b]| or ", cell))
    for entry in [_true] * is_plain + [_checked] * (expected != "all weights of the row are 0"):
        if expected is None or (isinstance(expected, dict) and len(expected) == 1):
            assert entry(["owl", cell], options, tmp_path)[1] == expected
        else:
            with pytest.raises(InputError, match="row 1: "):
                entry(["owl", cell], options, tmp_path)


def test_a_new_true_label_is_its_text() -> None:
    """A model may be evaluated on new labels, but not on cells of several labels."""
    cells = ["owl", '{"label": "eagle"}', "finch", "wren", "Ca\u0301fe"]
    truth = read_truth(_table(cells, {}), "y", np.array(CLASSES), allows_new=True)
    assert truth.tolist() == ["owl", "eagle", "finch", "wren", "C\u00e1fe"]
    for cell in ('["finch", "wren"]', "finch;wren"):
        with pytest.raises(DataError, match=r"row 1: .* It has several classes: name one"):
            read_truth(_table(["owl", cell], {}), "y", np.array(CLASSES), allows_new=True)


@pytest.mark.parametrize(("cell", "options", "expected"), SETS)
def test_inspection_has_the_labels_of_other_commands(cell: str, options: dict[str, Any], expected: Labels) -> None:
    """Rows that cannot be read are unlabeled if the errors are, and no other row changes."""
    table = _table(["owl", cell, "finch"], options, label_errors="unlabeled")
    assert _sets(table, options) == [{"owl": 1.0}, None if isinstance(expected, str) else expected, FINCH]


def test_a_number_is_a_weight_only_if_it_is_not_a_part_of_a_class() -> None:
    """An identifier that has a weight of its own in another cell is a class where it stands alone."""
    cells = ["CHEBI:15377:0.5|CHEBI:16236:0.5", "CHEBI:15377", "CHEBI:16236:0.25|CHEBI:15377:0.75"]
    y = CandidateSets.from_strings(cells, weighted=True)
    assert y.classes.tolist() == ["CHEBI:15377", "CHEBI:16236"]
    assert y.to_sets()[1] == {"CHEBI:15377"}
    mixed = CandidateSets.from_strings([*cells, "CHEBI:15377|CHEBI:16236:0.5"], weighted=True)
    assert mixed.weights[3].tolist() == [1.0, 0.5]
    for size in (1, 3):
        batches = [pl.DataFrame({"y": cells[i : i + size]}) for i in range(0, 3, size)]
        names = stream_classes(batches, weighted=True)
        assert names == y.classes.tolist()
        known = label_reader(["y"], "|", names, weighted=True)
        assert [row.tolist() for batch in batches for row in (known.evidence(batch) > 0)] == y.mask.tolist()
    assert CandidateSets.from_strings(["finch:3|wren:1", "finch:2"], weighted=True).classes.tolist() == [
        "finch",
        "wren",
    ]
    for rest in (True, "other"):  # with a rest, weights are probabilities
        y = CandidateSets.from_strings(["CHEBI:15377", "a:0.7", "a:0.2|CHEBI:15377:0.5"], weighted=True, rest=rest)
        assert y.classes.tolist() == ["CHEBI:15377", "a"]
    fractions = ["x:2.5|y:1", "y:3", "x:2:0.3|y:0.1"]  # 2.5 is not the 2 of another class
    assert CandidateSets.from_strings(fractions, weighted=True).classes.tolist() == ["x", "x:2", "y"]
    assert stream_classes([pl.DataFrame({"y": fractions})], weighted=True) == ["x", "x:2", "y"]


@pytest.mark.parametrize("cells", [["1|-1", "-1", "2"], ["a|-1", "-1", "b"]])
def test_minus_one_is_a_class_if_it_is_one_of_several_labels(cells: list[str], tmp_path: Path) -> None:
    """-1 alone is an unlabeled row unless -1 is a class, by its name or as a label of a set, as in a stream."""
    with pytest.warns(UserWarning, match="'-1' is read as a class"):
        y = CandidateSets.from_strings(cells)
    assert y.to_sets()[1] == {"-1"}
    frame = pl.DataFrame({"y": cells})
    assert [{*map(str, row)} for row in read_label_columns(frame, ["y"])] == y.to_sets()
    batch = label_reader(["y"], classes=stream_classes([frame])).evidence(frame)
    assert batch.sum(axis=1).tolist() == y.sizes.tolist()


def test_noncharacters_and_leading_zeros() -> None:
    """Characters that stand for escapes are invisible and removed; 007 and 007.0 are two codes, not the number 7."""
    assert CandidateSets.from_strings(["a\ufdef|b\\|c", "\ufdd0b"]).to_sets() == [{"a", "b|c"}, {"b"}]
    cells = pl.DataFrame({"y": ["007", "007.0", "7.0"]})
    assert read_label_columns(cells, ["y"]).classes.tolist() == ["007", "007.0", "7"]


def test_equal_cells_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser is called for distinct cells, of text and of lists."""
    seen: list[Any] = []

    def count(cell: Any, form: LabelFormat) -> Any:
        seen.append(cell)
        return parse(cell, form)

    monkeypatch.setattr("oneof.candidates.cells.parse", count)
    for cells in (["a|b", "b", "a|b", "", "b"], [["a", "b"], ["b"], ["a", "b"], None, ["b"]]):
        seen.clear()
        found = read_cells(cells * 50, LabelFormat())
        assert len(seen) == 3
        assert found.code.tolist() == [0, 1, 0, 2, 1] * 50


def test_errors_of_equal_cells_name_their_rows() -> None:
    """Each row that cannot be read has the error with its own number."""
    errors = read_cells(["a||b", "a", "a||b", "|"], LabelFormat()).errors
    assert {row: error.row for row, error in errors.items()} == {0: 0, 2: 2, 3: 3}
    assert str(errors[2]).startswith("row 2: 'a||b' contains an empty label")


@given(st.text(max_size=12), st.booleans(), st.booleans(), st.sampled_from(["|", ";", LISTS, " or "]))
def test_any_text_is_labels_or_one_sentence(text: str, weighted: bool, folds_case: bool, separator: str) -> None:
    """A cell is read, or is an error of one sentence; its labels are clean and not empty."""
    form = LabelFormat(separator, weighted=weighted, folds_case=folds_case)
    try:
        pairs = parse(text, form)
    except LabelError as error:
        pairs = None
        reason = error.reason
    else:
        reason = ""
    assert "\n" not in reason.replace(text, "")
    assert pairs is None or all(label and clean(label) == label for label, _ in pairs)


@pytest.mark.parametrize(
    ("classes", "options"), [(["Caf\u00e9", "Cafe\u0301"], {}), (["Finch", "finch"], {"fold_case": True})]
)
def test_classes_that_read_alike_are_an_error(classes: list[str], options: dict[str, Any]) -> None:
    """Two names that the cells cannot tell apart are refused, also if unreadable rows are unlabeled."""
    for errors in ("raise", "unlabeled"):
        with pytest.raises(LabelError, match=r"the classes '.*' and '.*' are read as one label"):
            CandidateSets.from_strings(["owl"], classes=classes, errors=errors, **options)
