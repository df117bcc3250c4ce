"""Forms of files of answers: one table of contents, options and answers or errors, tried at each entry point."""

import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof.cli.answers import read_answers
from oneof.cli.options import ReadOptions
from oneof.cli.tables.inputs import prepare
from oneof.crowd import Answers
from oneof.errors import OneofError
from oneof.io import read_table
from oneof.io.answers import AnswerOptions
from oneof.labeling.content.table import LabelTable
from oneof.labeling.session import LabelingSession
from tests.cli.conftest import Run

CLASSES = ("finch", "owl", "wren")
NAMES = ["b0", "b1", "b2", "b3"]
SETS = {("b0", "Ann"): {"finch"}, ("b0", "Bob"): {"finch", "wren"}, ("b1", "Ann"): {"owl"}, ("b2", "Bob"): {"wren"}}
"""The answers of every form, by row and annotator."""
LISTS = {key: sorted(labels) for key, labels in SETS.items()}
SINGLE = {key: labels for key, labels in LISTS.items() if len(labels) == 1}


def lines(objects: Any) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def table(header: str, rows: Any) -> str:
    return "\n".join([header, *(",".join(row) for row in rows)]) + "\n"


def chosen(labels: list[str], by: Any, tag: str = "bird", **more: Any) -> dict[str, Any]:
    result = {"from_name": tag, "to_name": "text", "type": "choices", "value": {"choices": labels}}
    return {"completed_by": by, "result": [result], **more}


def tasks(key: str = "annotations", **more: Any) -> list[dict[str, Any]]:
    """Return the answers as tasks of Label Studio, with a canceled annotation and a prediction."""
    ignored = [chosen(["owl"], "Eve", was_cancelled=True), {"completed_by": "Ann", "result": [{"type": "rating"}]}]
    return [
        {
            "id": 7 + i,
            "data": {"id": name, "text": "x"},
            key: [*(chosen(labels, {"email": by}, **more) for (n, by), labels in LISTS.items() if n == name), *ignored],
            "predictions": [chosen(["owl"], 1)],
        }
        for i, name in enumerate(NAMES)
    ]


def short(**fields: Any) -> list[dict[str, Any]]:
    """Return the answers in the short form of Label Studio, in which one choice is text."""
    return [
        {"name": name, "id": 7, "annotation_id": 3, "annotator": by, "lead_time": 1.5, "text": "x", **fields}
        | {"bird": labels[0] if len(labels) == 1 else {"choices": labels}}
        for (name, by), labels in LISTS.items()
    ]


def documents(by: str, labels: str = "label") -> str:
    """Return the documents of doccano with the labels of an annotator."""
    return lines(
        {"id": 40 + i, "text": "x", labels: LISTS.get((name, by), []), "Comments": [], "name": name}
        for i, name in enumerate(NAMES)
    )


def responses(nested: Callable[[list[dict[str, Any]]], dict[str, Any]]) -> str:
    """Return records of Argilla with a draft, which is ignored."""
    draft = {"user_id": "Eve", "value": "owl", "status": "draft"}
    return lines(
        {"id": name, "text": "x"}
        | nested([*({"user_id": by, "value": labels if len(labels) > 1 else labels[0], "status": "submitted"}
                    for (n, by), labels in LISTS.items() if n == name), draft])
        for name in NAMES
    )  # fmt: skip


def decisions(answer: str, labels: dict[tuple[str, str], list[str]]) -> str:
    return lines(
        {"text": "x", "_input_hash": 1, "_annotator_id": by, "label": label, "answer": answer, "meta": {"name": name}}
        for (name, by), given in labels.items() for label in given
    )  # fmt: skip


OTHERS = {key: sorted({*CLASSES} - labels) for key, labels in SETS.items()}
LONG = table("name,worker,label", ([name, by, "|".join(labels)] for (name, by), labels in LISTS.items()))
WIDE = table("name,Ann,Bob", ([n, *("|".join(LISTS.get((n, by), [])) for by in ("Ann", "Bob"))] for n in NAMES))
NUMBERED = table("item,annotator,answer", ([name[1:], by, "|".join(labels)] for (name, by), labels in LISTS.items()))
NAME = {"row": "name"}


@dataclass(frozen=True)
class Case:
    """The content of a file, or of the members of an archive or a folder; the options; and the error, if any."""

    file: str
    content: Any
    options: dict[str, Any] = field(default_factory=lambda: NAME)
    error: str = ""
    expected: dict[tuple[str, str], set[str]] = field(default_factory=lambda: SETS)


CASES = {
    "long table": Case("a.csv", LONG),
    "long table, other columns": Case(
        "a.csv", LONG.replace("name,worker,label", "n,who,said"),
        {"row": "name", "answers_row": "n", "annotator": "who", "answer": "said"},
    ),
    "long table of the page": Case("a.csv", LONG.replace("name", "item")),
    "numbered rows": Case("a.csv", NUMBERED.replace("item,", "row,"), {}),
    "numbered items": Case("a.csv", NUMBERED, {}),
    "long table with times": Case(
        "a.csv", table("name,worker,label,lead_time", ([n, by, "|".join(x), "1.5"] for (n, by), x in LISTS.items()))
    ),
    "long JSON lines": Case("a.jsonl", lines({"name": n, "worker": by, "label": x} for (n, by), x in LISTS.items())),
    "list of objects": Case("a.json", [{"name": n, "annotator": by, "answer": x} for (n, by), x in LISTS.items()]),
    "repeated answers": Case("a.csv", LONG + LONG.splitlines()[-1] + "\n"),
    "spaces around annotators": Case("a.csv", LONG.replace(",Ann,", ", Ann ,")),
    "wide table": Case("a.csv", WIDE),
    "wide table of the page": Case("a.csv", WIDE.replace("name", "item")),
    "wide JSON lines": Case(
        "a.jsonl",
        lines({"name": n, "Ann": (LISTS.get((n, "Ann")) or [None])[0], "Bob": LISTS.get((n, "Bob"))} for n in NAMES),
    ),
    "Label Studio": Case("a.json", tasks(), {"row": "id"}),
    "Label Studio before 1.0": Case("a.json", tasks("completions"), {"row": "id"}, "object 0: .* before version 1.0"),
    "Label Studio, JSON-MIN": Case("a.json", short()),
    "Label Studio, JSON-MIN, one choice each": Case(
        "a.json", [one for one in short() if isinstance(one["bird"], str)], {"row": "name", "answer": "bird"},
        expected={key: {*labels} for key, labels in SINGLE.items()},
    ),
    "Label Studio, CSV": Case(
        "a.csv", table("annotation_id,annotator,bird,lead_time,name",
                       (["1", by, x[0] if len(x) == 1 else json.dumps(json.dumps({"choices": x}))
                         .replace('\\"', '""'), "1.5", n] for (n, by), x in LISTS.items())),
    ),
    "Label Studio, a tag": Case(
        "a.json",
        [*tasks(), {"id": 9, "data": {"id": "b3"}, "annotations": [chosen(["owl"], "Bob", "size")]}],
        {"row": "id", "answer": "bird"},
    ),
    "doccano, folder": Case("export", {"Ann.jsonl": documents("Ann"), "Bob.jsonl": documents("Bob", "labels")}),
    "doccano, archive": Case("a.zip", {"Ann.jsonl": documents("Ann"), "Bob.jsonl": documents("Bob")}),
    "doccano, username": Case(
        "a.jsonl", lines({"labels": x, "username": by, "meta": {"name": n}} for (n, by), x in LISTS.items())
    ),
    "doccano before 1.1": Case(
        "a.jsonl", lines([{"meta": {"name": "b0"}, "annotations": [{"label": 1, "user": 1}]}]),
        error="object 0: the export is that of doccano before version 1.1",
    ),
    "Argilla": Case("a.jsonl", responses(lambda given: {"q.responses": given, "q.suggestion": "owl"}), {"row": "id"}),
    "Argilla, records": Case("a.jsonl", responses(lambda given: {"responses": {"q": given}}), {"row": "id"}),
    "Prodigy, choices": Case(
        "a.jsonl", lines({"name": n, "_input_hash": 1, "_session_id": by, "accept": x, "answer": "accept"}
                         for (n, by), x in LISTS.items()) + decisions("ignore", {("b3", "Ann"): ["owl"]}),
    ),
    "Prodigy, rejected labels": Case("a.jsonl", decisions("reject", OTHERS)),
    "labels that a row does not have": Case(
        "a.csv", table("name,worker,label", ([n, by, "not " + "|".join(x)] for (n, by), x in OTHERS.items())),
        {"row": "name", "negation": "not "},
    ),
    "labels that a row does not have, each negated": Case(
        "a.csv", table("name,worker,label", ([n, by, "|".join(f"not {label}" for label in x)]
                                             for (n, by), x in OTHERS.items())),
        {"row": "name", "negation": "not "},
    ),
    "lists of labels that a row does not have": Case(
        "a.jsonl", lines({"name": n, "worker": by, "label": [f"not {label}" for label in x]}
                         for (n, by), x in OTHERS.items()),
        {"row": "name", "negation": "not "},
    ),
    "no annotators": Case("a.csv", "name,label\nb0,owl\n", error="no column 'annotator' or 'worker' names the annot"),
    "other column": Case("a.csv", "name,worker,said\nb0,Ann,owl\n", error="'answer' does not exist.*--answer COL"),
    "no rows": Case("a.csv", LONG, {}, error="column 'row' does not exist"),
    "no field of the rows": Case("a.json", tasks(), error="object 0: the field 'name', which identifies the item, is"),
    "two answers": Case(
        "a.json", [{"id": i, "data": {"id": "b0"}, "annotations": [chosen([x], "Ann")]} for i, x in enumerate(CLASSES)],
        {"row": "id"}, error="object 1: annotator 'Ann' answered the",
    ),
    "two answers of one name": Case("a.csv", "name,worker,label\nb0,Ann,owl\nb0,Ann ,wren\n", error="row 1.*'Ann'"),
    "several tags": Case("a.json", [{"id": 1, "data": {"id": "b0"}, "annotations": [
        chosen(["owl"], 1), chosen(["owl"], 1, "size")]}], {"row": "id"}, error="has choices of the tags bird, size"),
    "another tag": Case("a.json", tasks(), {"row": "id", "answer": "kind"}, error="no choices of the tag 'kind'"),
    "annotators of an export": Case(
        "a.json", tasks(), {"row": "id", "annotator": "worker"}, error="--annotator has no use with the export"
    ),
    "not a class": Case("a.json", tasks(), {"row": "id"}, error="object 0: label 'finch' is not one of the classes"),
    "labels of a document": Case(
        "a.jsonl", lines([{"name": "b0", "username": "Ann", "label": [[0, 4, "LOC"]]}]), error="object 0: .* is not"
    ),
    "all annotators together": Case("a.zip", {"all.jsonl": documents("Ann")}, error="of all annotators together"),
    "no choices": Case("a.json", [{**one, "bird": "x"} for one in short()], error="'answer' does not exist"),
    "no list": Case("a.json", {"id": 1}, error="must be a list of objects"),
    "no answers": Case("a.json", [{"id": 1, "data": {"id": "b0"}, "annotations": []}], {"row": "id"}, "no answers"),
    "no labels": Case("a.jsonl", lines([{"name": "b0", "username": "Ann"}]), error="object 0: the key 'label' is"),
    "a cell": Case("a.csv", WIDE.replace("finch|wren", "finch||wren"), error="row 0, column 'Bob': .* an empty label"),
    "an excluded set": Case(
        "a.jsonl", decisions("reject", {("b0", "Ann"): [*CLASSES]}), error="to the row 'b0' exclude all classes"
    ),
}  # fmt: skip


def write(case: Case) -> Path:
    """Write the file of a case, and a table of rows, to the working folder."""
    pl.DataFrame({"id": NAMES, "name": NAMES, "x": [0.0, 1.0, 2.0, 3.0]}).write_csv("table.csv")
    path = Path(case.file)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in case.content.items():
                archive.writestr(name, text)
    elif not path.suffix:
        path.mkdir()
        for name, text in case.content.items():
            (path / name).write_text(text, encoding="utf-8")
    else:
        path.write_text(case.content if isinstance(case.content, str) else json.dumps(case.content), encoding="utf-8")
    return path


def _of(answers: Answers) -> dict[tuple[str, str], set[str]]:
    """Return the answers by the row and the annotator."""
    return {(NAMES[i], by): {*labels} for i in range(len(answers)) for by, labels in answers.of_row(i).items()}


def _command(path: Path, options: dict[str, Any], classes: tuple[str, ...]) -> Any:
    rows = read_table("table.csv", labels=("id", "name"))
    return _of(read_answers(AnswerOptions(path, **options), rows, separator=None, classes=classes).answers)


def _session(path: Path, options: dict[str, Any], classes: tuple[str, ...]) -> Any:
    given = {"item": options.get("answers_row"), "worker": options.get("annotator"), "label": options.get("answer")}
    names = LabelTable(pl.read_csv("table.csv"), "species")
    with LabelingSession(np.eye(4), classes=[*classes], table=names, background=False) as session:
        session.import_annotations(path, match=options.get("row"), **given)
        return {
            (NAMES[row], by): {classes[k] for k in entry.labels}
            for row, entries in session.answers.current_answers().items()
            for by, entry in entries.items()
        }


def _python(path: Path, options: dict[str, Any], classes: tuple[str, ...]) -> Any:
    named = {"row": options["row"], "classes": classes, "index": NAMES}
    if path.suffix in ("", ".zip", ".jsonl"):
        return _of(Answers.from_doccano(path, **named))
    return _of(Answers.from_label_studio(path, choice=options.get("answer"), **named))


ENTRIES = {"command": _command, "session": _session, "python": _python}
PAIRS = [
    *((kind, entry) for kind, case in CASES.items() for entry in ("command", "session")
      if entry == "command" or "negation" not in case.options),
    *((kind, "python") for kind in CASES if kind.startswith(("Label Studio", "doccano"))),
    *((kind, "python") for kind in ("labels of a document", "all annotators together", "several tags", "no answers")),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:annotators without informative answers")
@pytest.mark.parametrize(("kind", "entry"), PAIRS)
def test_every_form_has_the_same_answers(run: Run, kind: str, entry: str) -> None:
    """Commands, sessions and constructors give the answers of a file, or its error, which names the file."""
    case = CASES[kind]
    path, read = write(case), ENTRIES[entry]
    if not case.error:
        assert read(path, case.options, CLASSES) == case.expected
        return
    with pytest.raises(OneofError, match=case.error) as caught:
        read(path, case.options, CLASSES[1:] if kind == "not a class" else CLASSES)
    assert case.file in str(caught.value)


def test_every_command_reads_the_same_answers(run: Run) -> None:
    """The sentence about a defect is that of the reader in each command with answers."""
    path = write(CASES["no annotators"])
    with pytest.raises(OneofError) as caught:
        _command(path, NAME, CLASSES)
    for words in (
        *((name, "table.csv", "--answers", str(path)) for name in ("fit", "inspect", "compare", "audit")),
        ("label", "table.csv", "--labels", "species", "--classes", "finch,owl,wren", "--import", str(path), "--export",
         "out.csv"),
    ):  # fmt: skip
        result = run(*words, "--row", "name")
        assert result.code == 2
        assert f"Error: {caught.value}" in " ".join(result.err.split())


def test_candidates_with_confidences(run: Run) -> None:
    """A line for each candidate gives the labels of a column of candidates and one of weights."""
    rows = [("b0", "finch", 0.7), ("b0", "wren", 0.3), ("b1", "owl", 0.4), ("b1", "wren", 0.4), ("b3", "wren", 1.0)]
    pl.DataFrame({"name": NAMES, "x": range(4)}).write_csv("table.csv")
    pl.DataFrame(rows, ["name", "label", "confidence"], orient="row").write_csv("answers.csv")
    texts = ["finch:0.7|wren:0.3", "owl:0.4|wren:0.4", None, "wren:1.0"]
    pl.DataFrame({"name": NAMES, "x": range(4), "y": texts}).write_csv("labels.csv")
    options = ReadOptions(answers_file=Path("answers.csv"), row="name", weight_column="confidence")
    given = prepare(Path("table.csv"), options)
    expected = prepare(Path("labels.csv"), ReadOptions(("y",), weighted=True))
    assert given.candidates == expected.candidates
    assert [column.name for column in given.columns] == ["x"]
    pl.read_csv("answers.csv").with_columns(worker=pl.lit("Ann")).write_csv("answers.csv")
    with pytest.raises(OneofError, match="whose column 'worker' names annotators: answers have no weights"):
        prepare(Path("table.csv"), options)
    lines = [{"name": "b0", "label": label, "confidence": 0.7} for label in ("owl", ["finch", "wren"])]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(
        OneofError, match=r"object 1: \['finch', 'wren'\] are several candidates.* Write a line for each"
    ):
        prepare(Path("table.csv"), replace(options, answers_file=Path("answers.jsonl")))


@pytest.mark.parametrize("cells", [["finch:0.7|wren:0.3", "owl:1"], ['{"finch": 0.7, "wren": 0.3}', "owl"]])
def test_the_remedy_for_weights_in_answers_can_be_used(tmp_path: Path, cells: list[str]) -> None:
    """Answers cannot be combined with --weighted: the error names a file of candidates with confidences."""
    pl.DataFrame({"x": range(2)}).write_csv(tmp_path / "table.csv")
    answers = pl.DataFrame({"row": ["0", "1"], "annotator": ["Ann", "Ann"], "answer": cells})
    answers.write_csv(tmp_path / "answers.csv")
    with pytest.raises(OneofError, match=r"have weights.* a column of its own, which --weights names") as caught:
        prepare(tmp_path / "table.csv", ReadOptions(answers_file=tmp_path / "answers.csv"))
    assert "--weighted" not in str(caught.value)
