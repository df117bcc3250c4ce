"""Files of answers: the names of their rows, numbers and defects; the forms are those of tests/cli/answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.crowd import Answers
from oneof.errors import DataError, InputError, LabelError, OneofError
from oneof.io.answers import AnswerOptions, parse_answers, read_answer_file


def write(path: Path, content: Any) -> Path:
    """Write objects as lines of JSON, or a value as JSON to a .json file."""
    text = json.dumps(content) if path.suffix == ".json" else "".join(json.dumps(one) + "\n" for one in content)
    path.write_text(text, encoding="utf-8")
    return path


def rows(path: Path, row: str, answers_row: str | None) -> list[Any]:
    file = read_answer_file(AnswerOptions(path, row, answers_row=answers_row))
    return [one.row for one in file.answers]


DOCUMENT = {"username": "Ann", "label": ["owl"]}
TASK = {"annotations": [{"completed_by": 1, "result": [{"type": "choices", "value": {"choices": ["owl"]}}]}]}


@pytest.mark.parametrize(
    ("name", "item", "row", "answers_row", "expected"),
    [
        ("a.jsonl", {"name": "top", "meta": {"name": "meta"}}, "name", None, "top"),
        ("a.jsonl", {"name": "top", "meta": {"name": None}}, "name", None, "top"),
        ("a.jsonl", {"name": None, "meta": {"name": "meta"}}, "name", None, "meta"),
        ("a.jsonl", {"id": 7.0, "meta": {"id": "b1"}}, "id", "id", 7),
        ("a.jsonl", {"id": 7, "meta": {"id": "b1"}}, "id", None, "b1"),
        ("a.jsonl", {"id": 7, "meta": {"id": None}}, "id", None, None),
        ("a.jsonl", {"id": 7, "meta": None}, "id", None, None),
        ("a.json", {"id": 1, "data": {"id": 9}}, "id", "id", 9),
        ("a.json", {"id": 1, "data": {"id": 9}}, "id", None, 9),
        ("a.json", {"id": 1, "data": {"id": None}}, "id", "id", 1),
        ("a.json", {"id": 1, "data": {"id": None}}, "id", None, None),
    ],
)
def test_the_number_of_a_tool_is_not_the_name_of_a_row(
    tmp_path: Path, name: str, item: Any, row: str, answers_row: str | None, expected: Any
) -> None:
    """The field "id" beside the data names a row only if it is asked for; whole numbers are integers."""
    path = write(tmp_path / name, [item | (TASK if name == "a.json" else DOCUMENT)])
    if expected is not None:
        assert rows(path, row, answers_row) == [expected]
        return
    with pytest.raises(
        DataError, match=r"the field 'id', which identifies the item, is missing\..*add --answers-row id"
    ):
        rows(path, row, answers_row)


def test_files_of_an_export_and_rows_of_an_index(tmp_path: Path) -> None:
    """Files of doccano can be listed; a row that the index does not have names the annotator."""
    one = write(tmp_path / "Ann.jsonl", [{"id": 1, "label": ["a"], "n": 7.0}, {"id": 2, "label": "c", "n": 8}])
    other = write(tmp_path / "Bob.jsonl", [{"id": 1, "label": ["b", "a"], "n": 7.0}, {"id": 2, "label": [], "n": 8}])
    silent = write(tmp_path / "eve.admin.jsonl", [{"id": 1, "label": [], "n": 7}])
    with pytest.warns(UserWarning, match=r"annotators without informative answers are omitted: 'eve.admin'\."):
        answers = Answers.from_doccano([one, other, silent], row="n", index=[6, 7, 8])
    assert (answers.rows.tolist(), answers.annotators.tolist(), answers.n_answers) == ([6, 7, 8], ["Ann", "Bob"], 3)
    with pytest.raises(InputError, match=r"Ann.jsonl, .*: an answer of annotator 'Ann' is about the row 7, which"):
        Answers.from_doccano([one, other], row="n", index=[8])
    with pytest.raises(LabelError, match=r"Bob.jsonl, object 0: label 'b' is not one of the classes"):
        Answers.from_doccano([other], row="n", classes=["a", "c"])


def test_whole_numbers_of_an_export_are_numbers(tmp_path: Path) -> None:
    """Choices that are whole numbers are numbers, as in a column of labels, with and without given classes."""
    path = write(tmp_path / "a.jsonl", [{"id": k, "label": str(k % 3), "username": "Ann"} for k in range(6)])
    for classes in (None, [0, 1, 2]):
        answers = Answers.from_doccano(path, classes=classes)
        assert answers.classes.tolist() == [0, 1, 2]
        assert [answers.of_row(row) for row in range(3)] == [{"Ann": [row]} for row in range(3)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"{", "a.json: invalid JSON"),
        (
            "a.json",
            b'[{"data": {"id": [1]}, "annotations": []}]',
            "object 0: the field 'id', .* must be text or a whole",
        ),
        ("a.json", b'[{"data": 3, "annotations": []}]', "object 0: the data must be an object"),
        ("a.json", b'[{"id": "\\ud800"}]', "a lone surrogate"),
        ("a.json", b"\xff", "not text in UTF-8"),
        ("a.zip", b"no zip file", "a.zip cannot be read"),
        ("none.json", None, "does not exist"),
        ("empty", None, "has no objects in .jsonl or .json files"),
    ],
)
def test_defects_of_a_file(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    """A file that cannot be read is an error that names it."""
    (tmp_path / "empty").mkdir()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        rows(tmp_path / name, "id", "id")
    assert str(tmp_path / name) in str(caught.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "b", "choices", ""]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["id", "data", "annotations", "completions", "result", "type", "value", "choices", "completed_by",
             "annotator", "email", "label", "labels", "username", "user", "meta", "from_name", "q.responses", "user_id",
             "responses", "answer", "accept", "_input_hash", "lead_time"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(JSON, max_size=4), st.sampled_from(["id", "label", "value"]), st.sampled_from([None, "value", "label"]))
def test_any_json_is_read_or_rejected(
    tmp_path_factory: pytest.TempPathFactory, value: list[Any], row: str, answer: str | None
) -> None:
    """The reader gives answers or an OneofError for objects with the keys of the tools."""
    folder = tmp_path_factory.mktemp("json")
    for path in (write(folder / "a.json", value), write(folder / "a.jsonl", value)):
        try:
            file = read_answer_file(AnswerOptions(path, row, answer=answer, answers_row=row))
            labels = parse_answers(file).code
        except OneofError:
            continue
        assert len(labels) == len(file.answers)
