"""Exports of annotation tools: each form has the same answers, and each defect is one sentence with its place."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.crowd import Answers
from oneof.errors import DataError, InputError, LabelError, OneofError
from oneof.io.formats.annotations import UnnamedItemError, is_export, read_doccano, read_export, read_label_studio

ANSWERS = {
    ("b1", "Ann"): ("finch",),
    ("b1", "Bob"): ("finch", "wren"),
    ("b2", "Ann"): ("owl",),
    ("b3", "Bob"): ("wren",),
}


def choose(*labels: str, by: Any = "Ann", tag: str = "bird", **more: Any) -> dict[str, Any]:
    result = {"id": "x1", "from_name": tag, "to_name": "text", "type": "choices", "value": {"choices": list(labels)}}
    return {"id": 1, "completed_by": by, "was_cancelled": False, "ground_truth": False, "result": [result]} | more


def full_tasks() -> list[dict[str, Any]]:
    """Return the answers as tasks of Label Studio."""
    tasks: dict[str, dict[str, Any]] = {}
    for (name, annotator), labels in ANSWERS.items():
        task = tasks.setdefault(name, {"id": len(tasks) + 7, "data": {"name": name}, "annotations": []})
        task["annotations"].append(choose(*labels, by={"id": 4, "email": annotator}))
    return [*tasks.values()]


def short_tasks() -> list[dict[str, Any]]:
    """Return the answers as tasks of the short form: one choice is text."""
    return [
        {"name": name, "id": 7, "annotator": by, "bird": labels[0] if len(labels) == 1 else {"choices": [*labels]}}
        for (name, by), labels in ANSWERS.items()
    ]


def documents(annotator: str) -> list[dict[str, Any]]:
    """Return the documents of doccano with the labels of an annotator; a document without labels has an empty list."""
    names = ["b1", "b2", "b3"]
    listed = [ANSWERS.get((name, annotator), ()) for name in names]
    return [
        {"id": 40 + i, "text": f"text {i}", "label": list(labels), "Comments": [], "name": name}
        for i, (name, labels) in enumerate(zip(names, listed, strict=True))
    ]


def write_json(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def write_lines(path: Path, content: list[Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in content), encoding="utf-8")
    return path


def content(annotations: Any) -> dict[tuple[Any, str], tuple[str, ...]]:
    return {(one.item, one.annotator): one.labels for one in annotations if one.labels}


def write(kind: str, folder: Path) -> Path:
    """Write the answers in a form."""
    if kind in ("full", "short"):
        return write_json(folder / "export.json", full_tasks() if kind == "full" else short_tasks())
    if kind == "folder":
        (folder / "export").mkdir()
        write_lines(folder / "export/Ann.jsonl", documents("Ann"))
        write_json(folder / "export/Bob.json", documents("Bob"))
        return folder / "export"
    if kind == "zip":
        with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("Ann", "Bob", "eve.admin"):
                archive.writestr(f"{name}.jsonl", "\n".join(map(json.dumps, documents(name))))
        return folder / "export.zip"
    if kind == "username":
        lines = [{"doc_id": 3, "text": "x", "labels": labels, "username": by, "meta": {"name": name}}
                 for (name, by), labels in ANSWERS.items()]  # fmt: skip
    else:
        lines = [
            {"id": 3, "text": "x", "meta": {"name": name}, "annotations": [
                {"label": label, "user": by} for (one, by), labels in ANSWERS.items() if one == name for label in labels
            ]}
            for name in ("b1", "b2", "b3")
        ]  # fmt: skip
    return write_lines(folder / "export.jsonl", lines)


@pytest.mark.parametrize("kind", ["full", "short", "zip", "folder", "username", "users"])
def test_every_form_has_the_same_answers(tmp_path: Path, kind: str) -> None:
    path = write(kind, tmp_path)
    assert is_export(path)
    assert content(read_export(path, item="name", choice="bird" if kind == "short" else None)) == ANSWERS


def test_the_short_form_needs_the_tag_only_if_no_task_has_several_choices(tmp_path: Path) -> None:
    """Text in a field that has an object of choices in any task is a choice; other text is not."""
    tasks = [task | {"note": "small", "created_at": "2024-05-01"} for task in short_tasks()]
    assert content(read_label_studio(write_json(tmp_path / "several.json", tasks), item="name")) == ANSWERS
    single = write_json(tmp_path / "single.json", [task for task in tasks if isinstance(task["bird"], str)])
    with pytest.raises(
        DataError, match=r"--answer on the command line\); the fields with text are .*bird, note\."
    ) as caught:
        read_label_studio(single, item="name")
    assert "created_at" not in str(caught.value)
    expected = {key: labels for key, labels in ANSWERS.items() if len(labels) == 1}
    assert content(read_label_studio(single, item="name", choice="bird")) == expected


def test_answers_of_exports_are_those_of_records(tmp_path: Path) -> None:
    """Both constructors give the answers of the same records, over all rows of an index."""
    expected = Answers.from_records(
        [name for name, _ in ANSWERS], [by for _, by in ANSWERS], [[*labels] for labels in ANSWERS.values()],
        index=["b0", "b3", "b2", "b1"],
    )  # fmt: skip
    studio = Answers.from_label_studio(write("full", tmp_path), row="name", index=["b0", "b3", "b2", "b1"])
    with pytest.warns(UserWarning, match=r"annotators without answers are omitted: 'eve.admin'\."):
        doccano = Answers.from_doccano(write("zip", tmp_path), row="name", index=["b0", "b3", "b2", "b1"])
    for answers in (studio, doccano):
        assert answers.rows.tolist() == expected.rows.tolist()
        assert answers.annotators.tolist() == ["Ann", "Bob"]
        assert answers.classes.tolist() == ["finch", "owl", "wren"]
        for i in range(4):
            given = {name: set(labels) for name, labels in answers.of_row(i).items()}
            assert given == {name: set(labels) for name, labels in expected.of_row(i).items()}


@pytest.mark.parametrize(
    ("document", "item", "own_id", "name"),
    [
        ({"name": "top", "meta": {"name": "meta"}}, "name", True, "top"),
        ({"name": "top", "meta": {"name": "meta"}}, "name", False, "top"),
        ({"name": "top", "meta": {"name": None}}, "name", True, "top"),
        ({"name": None, "meta": {"name": "meta"}}, "name", True, "meta"),
        ({"id": 7, "meta": {"id": "b1"}}, "id", True, 7),
        ({"id": 7, "meta": {"id": "b1"}}, "id", False, "b1"),
        ({"id": 7, "meta": {"id": None}}, "id", True, 7),
        ({"id": 7, "meta": {"id": None}}, "id", False, None),
        ({"id": 7, "meta": None}, "id", False, None),
    ],
)
def test_a_document_of_doccano_comes_before_its_metadata(
    tmp_path: Path, document: dict[str, Any], item: str, own_id: bool, name: str | int | None
) -> None:
    """A name is that of the document if it has one; without `own_id`, its "id" is that of its metadata only."""
    path = write_lines(tmp_path / "Ann.jsonl", [document | {"label": ["owl"]}])
    if name is None:
        with pytest.raises(UnnamedItemError, match="the field 'id', which identifies the item, is missing"):
            read_doccano(path, item=item, own_id=own_id)
    else:
        assert [one.item for one in read_doccano(path, item=item, own_id=own_id)] == [name]


def test_the_data_of_a_task_come_before_its_number(tmp_path: Path) -> None:
    """The id of a task of Label Studio is that of its data, and its number if that is missing or null."""
    tasks = [
        {"id": i, "data": data, "annotations": [choose("owl")]} for i, data in enumerate([{"id": 9}, {"id": None}])
    ]
    path = write_json(tmp_path / "export.json", tasks)
    assert [one.item for one in read_label_studio(path, item="id")] == [9, 1]
    with pytest.raises(UnnamedItemError, match="task 1: the field 'id'"):
        read_label_studio(path, item="id", own_id=False)


def test_doccano_files_and_numbers(tmp_path: Path) -> None:
    """Files can be listed; whole numbers are integers also if a tool wrote them as floats; the default is the id."""
    one = write_lines(tmp_path / "Ann.jsonl", [{"id": 1, "label": ["a"], "n": 7.0}, {"id": 2, "label": "b", "n": 8}])
    other = write_lines(tmp_path / "Bob.jsonl", [{"id": 1, "label": ["b", "a"], "n": 7.0}])
    assert content(read_doccano([one, other])) == {(1, "Ann"): ("a",), (2, "Ann"): ("b",), (1, "Bob"): ("b", "a")}
    answers = Answers.from_doccano([one, other], row="n", index=[6, 7, 8])
    assert answers.rows.tolist() == [6, 7, 8]
    assert answers.n_answers == 3


def test_label_studio_tasks_and_tags(tmp_path: Path) -> None:
    """Tasks are named by their number if their data have no "id"; cancelled annotations are ignored."""
    tasks = [
        {"id": 5, "data": {"text": "x"}, "annotations": [choose("a", by=1), choose("b", by=2, was_cancelled=True)],
         "predictions": [{"result": choose("c")["result"]}]},
        {"id": 6, "data": {"text": "y"}, "annotations": [
            {"completed_by": None, "result": [{"type": "rating", "value": {"rating": 3}}, *choose("b")["result"]]}]},
        {"id": 7, "data": {"id": 70}, "annotations": [choose("a", by=1), choose("a", by=1)]},
    ]  # fmt: skip
    path = write_json(tmp_path / "export.json", tasks)
    assert [(one.item, one.annotator, one.labels) for one in read_label_studio(path, item="id")] == [
        (5, "1", ("a",)), (6, "unknown", ("b",)), (70, "1", ("a",)), (70, "1", ("a",)),
    ]  # fmt: skip
    again = [*tasks, {"id": 8, "data": {"id": 70}, "annotations": [choose("b", by=1)]}]
    with pytest.raises(
        DataError, match=r"task 3: annotator '1' answered the item 70 twice, with 'a' and 'b'\. Delete one"
    ):
        Answers.from_label_studio(write_json(tmp_path / "again.json", again))
    tasks[0]["annotations"].append(choose("small", by=3, tag="size"))
    path = write_json(tmp_path / "export.json", tasks)
    with pytest.raises(DataError, match="has choices of the tags bird, size"):
        read_label_studio(path, item="id")
    assert content(read_label_studio(path, item="id", choice="size")) == {(5, "3"): ("small",)}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "a.json is not JSON"),
        ("a.json", "{}", "expected a list of tasks"),
        ("a.json", '[{"data": {"id": [1]}, "annotations": []}]', "task 0: the field 'id', .* must be text or a whole"),
        ("a.json", '[{"data": 3}]', "task 0: the data must be an object"),
        ("a.json", '[{"data": {"x": 1}}]', "task 0: the field 'id', which identifies the item, is missing"),
        ("a.json", "[]", "the export has no answers"),
        ("a.json", '[{"id": 1, "kind": "owl", "annotator": 1}]', "no choices.*the fields with text are kind"),
        ("a.json", json.dumps([{"id": 1, "data": {}, "annotations": [choose("a\ud800")]}]), "a lone surrogate"),
        ("Ann.jsonl", '{"id": 1, "text": "x"}', "object 0: the key 'label' is missing"),
        ("Ann.jsonl", '{"id": 1, "label": [[0, 4, "LOC"]]}', "object 0: .* is not a label of the document"),
        ("Ann.jsonl", '{"id": 1, "annotations": [{"label": 1, "user": 1, "start_offset": 0}]}', "must have a user"),
        ("Ann.jsonl", '{"label": ["a"]}', "object 0: the field 'id', which identifies the item, is missing"),
        ("all.jsonl", '{"id": 1, "label": ["a", "b"]}', "the labels of all annotators together"),
        ("a.zip", "no zip file", "a.zip is not a readable zip file"),
        ("Ann.json", '{"id": 1}', "expected a list of documents"),
    ],
)  # fmt: skip
def test_defects_of_a_file(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    make = Answers.from_label_studio if name == "a.json" else Answers.from_doccano
    with pytest.raises(DataError, match=message) as caught:
        make(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["none.json", "none.zip", "none.jsonl", "empty"])
def test_a_file_that_does_not_exist(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"does not exist|No such file|has no file of doccano"):
        read_export(tmp_path / name, item="id")


def test_labels_and_rows_that_do_not_fit(tmp_path: Path) -> None:
    """A label that is not a class names the task; a row that the index does not have names the annotator."""
    path = write("full", tmp_path)
    with pytest.raises(LabelError, match=r"export.json, task 1: label 'owl' is not one of the classes"):
        Answers.from_label_studio(path, row="name", classes=["finch", "wren"])
    with pytest.raises(InputError, match=r"export.json: an answer of annotator 'Bob' is about the row 'b3', which"):
        Answers.from_label_studio(path, row="name", index=["b1", "b2"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["a", "b", "choices", ""]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["id", "data", "annotations", "result", "type", "value", "choices", "completed_by", "annotator", "email",
             "label", "labels", "username", "user", "meta", "from_name"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:the text .* is read as a class")
@settings(max_examples=150, deadline=None)
@given(st.lists(JSON, max_size=4))
def test_any_json_is_read_or_rejected(tmp_path_factory: pytest.TempPathFactory, value: list[Any]) -> None:
    """Each reader gives answers or an OneofError for objects with the keys of the tools."""
    folder = tmp_path_factory.mktemp("json")
    path, lines = write_json(folder / "a.json", value), write_lines(folder / "Ann.jsonl", value)
    for make in (
        lambda: Answers.from_label_studio(path),
        lambda: Answers.from_label_studio(path, row="label", choice="value"),
        lambda: Answers.from_doccano(path),
        lambda: Answers.from_doccano(lines, row="label"),
    ):
        try:
            answers = make()
        except OneofError:
            continue
        assert answers.n_answers
