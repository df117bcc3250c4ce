"""Exports of annotation tools as answers."""

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from tests.cli.answers.conftest import fit, make_answers
from tests.cli.conftest import Run, check_error, make_birds


def write_label_studio(*, short: bool = False) -> None:
    """Write the answers as an export of Label Studio."""
    tasks: dict[str, list[tuple[str, list[str]]]] = {}
    for name, worker, label in make_answers().iter_rows():
        tasks.setdefault(name, []).append((worker, label.split("|")))
    full = [
        {
            "id": 100 + i,
            "data": {"id": name, "text": "a bird"},
            "annotations": [
                {
                    "id": 1000 * i + j,
                    "completed_by": {"id": j, "email": worker, "first_name": "", "last_name": ""},
                    "was_cancelled": False,
                    "ground_truth": False,
                    "result": [
                        {"from_name": "bird", "to_name": "text", "type": "choices", "value": {"choices": labels}}
                    ],
                }
                for j, (worker, labels) in enumerate(annotations)
            ],
            "predictions": [],
        }
        for i, (name, annotations) in enumerate(tasks.items())
    ]
    brief = [
        {"name": name, "annotator": worker, "bird": labels[0] if len(labels) == 1 else {"choices": labels}}
        for name, annotations in tasks.items()
        for worker, labels in annotations
    ]
    Path("export.json").write_text(json.dumps(brief if short else full))


def write_doccano() -> None:
    """Write the answers as an export of doccano, with a member without labels."""
    with zipfile.ZipFile("export.zip", "w") as archive:
        for (worker,), records in make_answers().group_by("worker", maintain_order=True):
            documents = [
                {"id": 500 + i, "text": "a bird", "label": label.split("|"), "Comments": [], "name": name}
                for i, (name, _, label) in enumerate(records.iter_rows())
            ]
            archive.writestr(f"{worker}.jsonl", "\n".join(map(json.dumps, documents)))
        archive.writestr("admin.jsonl", json.dumps({"id": 1, "text": "a bird", "label": [], "name": "b0"}))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["label studio", "short", "doccano"])
def test_exports_of_annotation_tools_give_the_same_labels(run: Run, table: Path, kind: str) -> None:
    """An export gives the results of a table with the same answers."""
    expected = json.loads(fit(run, "--json", "--out", "expected").out)["answers"]["annotators"]
    names = make_birds()["id"]
    make_birds().drop("species").with_columns(name=names).drop("id").write_csv("table.csv")
    if kind == "label studio":
        make_birds().drop("species").write_csv("table.csv")
        write_label_studio()
        args = ["--answers", "export.json", "--row", "id"]
    elif kind == "short":
        write_label_studio(short=True)
        args = ["--answers", "export.json", "--row", "name", "--answer", "bird"]
    else:
        write_doccano()
        args = ["--answers", "export.zip", "--row", "name"]
    result = run("fit", "table.csv", *args, "--truth", "truth", "--method", "CLPL", "--folds", "2", "--json")
    assert result.code == 0, result.err
    annotators = json.loads(result.out)["answers"]["annotators"]
    assert [line["accuracy"] for line in annotators] == pytest.approx([line["accuracy"] for line in expected])
    assert [line["answers"] for line in annotators] == [line["answers"] for line in expected]
    labels = [pl.read_csv(f"{folder}/training_labels.csv")["label"].to_list() for folder in ("table-oneof", "expected")]
    assert labels[0] == labels[1]
    assert ("annotators without answers are omitted: 'admin'" in result.err) == (kind == "doccano")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--row", "name"], "export.json, task 0: the field 'name', which identifies the item, is missing"),
        (["--row", "id", "--answer", "kind"], "export.json has no choices of the tag 'kind'"),
        (["--row", "id", "--annotator", "worker"], "--annotator has no use with the export export.json"),
        (["--row", "id", "--classes", "finch,owl"], "export.json, task 0: label 'wren' is not one of the classes"),
        (["--row", "color"], "column 'color' is empty. Name the row"),
    ],
)
def test_bad_exports(run: Run, table: Path, args: list[str], message: str) -> None:
    write_label_studio()
    make_birds().drop("species").with_columns(name=pl.col("id")).write_csv("table.csv")
    check_error(run, "fit", "table.csv", "--answers", "export.json", *args, message=message)


def test_a_task_that_is_not_in_the_table(run: Run, table: Path) -> None:
    """Its answers are omitted, with a note that names the task."""
    write_label_studio()
    make_birds().drop("species").slice(1).write_csv("table.csv")
    args = ("--answers", "export.json", "--row", "id", "--truth", "truth", "--method", "CLPL", "--folds", "2")
    result = run("fit", "table.csv", *args)
    assert result.code == 0, result.err
    assert "does not have their row 'b0' (export.json, task 0)." in result.err
