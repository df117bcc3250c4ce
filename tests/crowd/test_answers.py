"""Answers: every form of a table or of records has the same answers, and each error has one sentence."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from oneof.cli.answers import read_answers
from oneof.crowd import AnnotatorModel, Answers
from oneof.crowd.answers import as_answers
from oneof.errors import DataError, InputError, OneofError
from oneof.io import read_table
from oneof.io.answers import AnswerOptions

TABLE = [["finch", None, "wren"], [["finch", "wren"], "wren", None], [None, "owl", {"owl"}]]
RECORDS = [
    (0, 0, "finch"), (0, 2, "wren"), (1, 0, ("wren", "finch")), (1, 1, "wren"), (2, 1, "owl"), (2, 2, "owl"),
]  # fmt: skip


def content(answers):
    """Return the answers as a set of (row, annotator, set of labels)."""
    return {
        (name, annotator, frozenset(labels))
        for i, name in enumerate(answers.rows.tolist())
        for annotator, labels in answers.of_row(i).items()
    }


def test_tables_and_records_have_the_same_answers():
    expected = {(i, j, frozenset([a] if isinstance(a, str) else a)) for i, j, a in RECORDS}
    rows, annotators, values = zip(*RECORDS)
    records = pd.DataFrame({"row": rows, "annotator": annotators, "answer": values})
    frame = pd.DataFrame(TABLE)
    for answers in (
        Answers.from_table(TABLE),
        Answers.from_table(np.array(TABLE, dtype=object)),
        Answers.from_records(rows, annotators, values),
        Answers.from_records(records),
        as_answers(records),
        as_answers(frame),
    ):
        assert content(answers) == expected
        assert answers.classes.tolist() == ["finch", "owl", "wren"]


def test_numbers_and_text_of_arrays_and_data_frames():
    numbers = np.array([[1, -1, 2], [2, 2, -1]])
    floats = np.where(numbers < 0, np.nan, numbers)
    for table in (numbers, floats, pd.DataFrame(numbers), pl.DataFrame(numbers.tolist(), orient="row")):
        answers = as_answers(table)
        assert answers.n_answers == 4
        assert answers.classes.tolist() == [1, 2]
    named = as_answers(pd.DataFrame({"Ann": ["a", "b"], "Bob": ["b", None]}, index=["r", "s"]))
    assert content(named) == {("r", "Ann", frozenset("a")), ("s", "Ann", frozenset("b")), ("r", "Bob", frozenset("b"))}


def test_selected_rows_have_their_answers_and_their_annotators():
    answers = Answers.from_table(TABLE)
    part = answers[[2, 0]]
    assert part.rows.tolist() == [2, 0]
    assert content(part) == {item for item in content(answers) if item[0] != 1}
    assert answers[1:2].annotators.tolist() == [0, 1]
    assert content(answers.align([2, 7, 1, 0])) == content(answers)
    assert answers.has_sets
    assert not answers[[0, 2]].has_sets


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Answers.from_table([["a", "c"]], classes=["a", "b"]), "row 0, column 1: label 'c' is not one of"),
        (lambda: Answers.from_table([["a"], [["a", "c"]]], classes=["a", "b"]), "row 1: label 'c' is not one of the"),
        (lambda: Answers.from_table([["a"], [[]]]), "row 1: the answer is an empty set"),
        (lambda: AnnotatorModel().fit([["a", "a"]]), "at least two classes"),
        (lambda: AnnotatorModel().fit({"Ann": ["a", "b"]}), r"got a mapping \(dict\).*pandas.DataFrame\(y\)"),
        (lambda: AnnotatorModel().fit([(1, "Ann", "a")]), r"one type.*Answers.from_records"),
        (lambda: Answers.from_records([0, 1], ["A", ""], ["x", "y"]), "name of annotator 1 is empty"),
        (lambda: Answers.from_table([["a"], ["a", "b"]]), "row 1: got 2 answers; other rows have 1"),
        (lambda: Answers.from_table([[None, -1]]), "`answers` must contain at least one answer"),
        (lambda: Answers.from_table([1, 2]), "`answers` must be a table"),
        (lambda: Answers.from_table(np.zeros(3)), r"must be a table of shape \(n_rows, n_annotators\)"),
        (lambda: Answers.from_table([[1, -1], [-1, 1]]), "only -1 and 1"),
        (lambda: Answers.from_records([0], [1, 2], ["a"]), r"must have the same length; got \[1, 2, 1\]"),
        (lambda: Answers.from_records([0, None], [1, 2], ["a", "b"]), "row 1: the name of the row is missing"),
        (
            lambda: Answers.from_records(["r", "s"], ["Ann", "Bob"], ["a", "c"], classes=["a", "b"]),
            r"row 1: label 'c' is not one of the classes 'a', 'b'\.",
        ),
        (
            lambda: Answers.from_records([0, 5], ["Ann", "Bob"], ["a", "b"], index=[0, 1]),
            "an answer of annotator 'Bob' is about the row 5, which the table does not have",
        ),
        (
            lambda: Answers.from_records([3, 4, 3], ["Ann", "Ann", "Ann"], ["a", "b", ["a", "b"]]),
            "row 2: annotator 'Ann' answered the row 3 twice, with 'a' and 'a or b'",
        ),
        (
            lambda: as_answers(pd.DataFrame({"row": [0, 1], "annotator": ["x", "y"], "label": ["a", "b"]})),
            "the DataFrame of answers has the columns 'row', 'annotator' and 'label', as with one answer in each line",
        ),
        (lambda: Answers.from_table(TABLE).align([0, 1, 1, 2]), "`index` must contain different rows; 1 is repeated"),
        (lambda: Answers.from_label_studio("a.json", row=3), "`row` must be the name of a field; got 3"),
        (
            lambda: Answers.from_table(pd.DataFrame({"id": [f"m{i}" for i in range(20)], "Ann": ["a", "b"] * 10})),
            "column 0: almost no label of 'id' is in another column.* make names of rows the index",
        ),
        (lambda: Answers.from_records([0, 1]), "must be a DataFrame with the columns row, annotator and answer"),
        (lambda: Answers.from_table(TABLE, annotators=["x", "y"]), "`annotators` must be 3 different names"),
        (lambda: Answers.from_table(TABLE)[[0, 1, 0]], r"a slice, a mask or different rows; got \[0, 1, 0\]"),
        (lambda: Answers.from_table(TABLE).of_row(3), "`row` must be from 0 to 2; got 3"),
        (
            lambda: AnnotatorModel().fit(TABLE, ["finch", None, "eagle"]),
            "`gold`, row 2: label 'eagle' is not one of the",
        ),
        (
            lambda: AnnotatorModel().fit(TABLE, ["finch", None]),
            "`gold` must have one label for each of the 3 rows; got 2",
        ),
        (
            lambda: AnnotatorModel().fit(TABLE, {0: "finch", 2: "eagle"}),
            "`gold`, row 2: label 'eagle' is not one of the",
        ),
        (lambda: AnnotatorModel().fit(TABLE, {7: "finch"}), "`gold` names the row 7, which the answers do not have"),
        (lambda: as_answers(Answers.from_table(TABLE), ["a", "b"]), "`classes` must be the classes of the answers"),
    ],
)
def test_errors_have_the_cause_and_the_place(call, message):
    with pytest.raises(OneofError, match=message):
        call()


def test_text_of_several_classes_is_one_class_with_a_warning():
    """A warning names the list if all parts of a text are classes, and `classes` are not given."""
    records = [0, 0, 1, 1], ["x", "y", "x", "y"], ["finch", "finch|wren", "wren", "finch"]
    for call in (
        lambda: Answers.from_records(*records),
        lambda: Answers.from_table([["finch", "finch|wren"], ["wren", "finch"]]),
    ):
        with pytest.warns(UserWarning, match=r"'finch\|wren' is read as one class.*\['finch', 'wren'\]") as caught:
            assert call().classes.tolist() == ["finch", "finch|wren", "wren"]
        assert caught[0].filename == __file__
    assert not Answers.from_records(*records, classes=["finch", "finch|wren", "wren"]).has_sets
    assert len(Answers.from_table([["finch|owl", "finch"]]).classes) == 2


def test_repeated_answers_count_once():
    """Records with equal row, annotator and answer, in any order of the labels, are one answer."""
    rows, annotators, values = zip(*RECORDS, RECORDS[2], (1, 0, {"finch", "wren"}), RECORDS[0])
    assert content(Answers.from_records(rows, annotators, values)) == content(Answers.from_table(TABLE))
    assert Answers.from_records(rows, annotators, values).n_answers == len(RECORDS)


def test_records_with_other_names_of_columns_are_not_annotators():
    """A file of one answer per line, as the command line reads it, is not read as a table of three annotators."""
    records = pd.DataFrame({"id": ["r1", "r1"], "worker": ["Ann", "Bob"], "label": ["owl", "wren"]})
    for read in (as_answers, Answers.from_records):
        with pytest.raises(InputError, match=r"Rename those of the row, the annotator and the answer to 'row'"):
            read(records)
    assert as_answers(records.set_axis(["row", "annotator", "answer"], axis=1)).n_answers == 2


def test_names_of_annotators_have_no_surrounding_spaces():
    """Records and tables name annotators as files of answers do: "Ann " is "Ann"."""
    names = ["Ann ", " Bob", "Ann"]
    answers = Answers.from_records([0, 0, 1], names, ["a", "b", "b"])
    assert answers.annotators.tolist() == ["Ann", "Bob"]
    assert answers.n_answers == 3
    with pytest.raises(InputError, match="annotator 'Ann' answered the row 0 twice"):
        Answers.from_records([0, 0], ["Ann ", "Ann"], ["a", "b"])
    table = Answers.from_table([["a", "b"], ["b", None]], annotators=["Ann ", "Bob"])
    assert table.annotators.tolist() == ["Ann", "Bob"]
    with pytest.raises(InputError, match="2 different names"):
        Answers.from_table([["a", "b"]], annotators=["Ann ", "Ann"])


FRAMES = {
    "names": ({"id": [f"m{i}" for i in range(30)]}, ["id"]),
    "dates": ({"day": [f"2024-05-{1 + i % 14:02}" for i in range(30)]}, ["day"]),
    "comments": ({"remark": ["nice song", None, "a wren, or not"] * 10}, ["remark"]),
    "a rule for a rare class": ({"Eve": ["owl", None, None] * 10}, []),
    "few answers": ({"Eve": ["owl", "robin", *[None] * 28]}, []),
    "another annotator": ({"Eve": ["wren", "finch", "owl"] * 10}, []),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_columns_that_are_not_annotators_are_errors_in_python_and_on_the_command_line(kind, tmp_path):
    """The error names the column, and its removal, `--exclude-annotator` or the classes mend it."""
    more, other = FRAMES[kind]
    frame = pd.DataFrame({"Ann": ["wren", "finch"] * 15, "Bob": ["wren", "finch", "finch"] * 10, **more})
    frame.rename_axis("row").to_csv(tmp_path / "answers.csv")
    columns = [*frame.columns]
    labels = sorted({label for name in columns for label in frame[name].dropna()})
    frame[[]].rename_axis("row").to_csv(tmp_path / "table.csv")

    def read_file(excluded=(), classes=None):
        options = AnswerOptions(tmp_path / "answers.csv", excluded=tuple(excluded))
        table = read_table(tmp_path / "table.csv")
        return read_answers(options, table, separator="|", classes=classes).answers.annotators.tolist()

    def read_frame(excluded=(), classes=None):
        return Answers.from_table(frame.drop(columns=[*excluded]), classes=classes).annotators.tolist()

    for read in (read_file, read_frame):
        if other:
            with pytest.raises(InputError, match=f"almost no label of '{other[0]}' is in another column"):
                read()
        assert sorted(read(other)) == sorted(name for name in columns if name not in other)
        assert sorted(read(classes=labels)) == sorted(columns)


def test_annotators_without_answers_are_omitted():
    """Tables and records have the answers of the others, as files of answers do."""
    for read in (
        lambda: Answers.from_table([["a", None, "b"], ["b", None, None]], annotators=["Ann", "Bob", "Cem"]),
        lambda: Answers.from_records([0, 1, 0, 0], ["Ann", "Ann", "Bob", "Cem"], ["a", "b", None, "b"]),
    ):
        with pytest.warns(
            UserWarning, match=r"^annotators without informative answers are omitted: 'Bob'\.$"
        ) as caught:
            answers = read()
        assert caught[0].filename == __file__
        assert answers.annotators.tolist() == ["Ann", "Cem"]
        expected = {(0, "Ann", frozenset("a")), (1, "Ann", frozenset("b")), (0, "Cem", frozenset("b"))}
        assert content(answers) == expected


def test_a_table_is_not_an_export(tmp_path):
    """`from_label_studio` refuses a table, whose columns would be annotators."""
    pd.DataFrame({"id": [0, 1], "length": [1.5, 2.5], "color": ["red", "blue"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="not an export of Label Studio"):
        Answers.from_label_studio(tmp_path / "t.csv")
