"""Several annotators in `oneof label`: imported answers, gold rows, progress, and their model."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from oneof.candidates import CandidateSets
from tests.cli.conftest import Run, make_birds
from tests.cli.labeling.conftest import CLASSES, LABEL, READ_OPTIONS, open_birds


def test_several_files_are_imported(run: Run, bare: Path) -> None:
    """--import reads a long table and an export of Label Studio, and --export writes both."""
    Path("long.csv").write_text("id,who,bird\nb1,x,owl\nb2,x,owl|wren\n")
    result = {"type": "choices", "from_name": "bird", "value": {"choices": ["wren"]}}
    task = {"data": {"id": "b3"}, "annotations": [{"completed_by": 4, "result": [result]}]}
    Path("tasks.json").write_text(json.dumps([task]))
    words = ("label", bare, *LABEL, *CLASSES, "--row", "id", "--answer", "bird")
    first = run.done(*words, "--import", "long.csv", "--annotator", "who", "--export", "out.parquet", "--json")
    files = ("--import", "tasks.json", "--import", "more.csv")
    Path("more.csv").write_text("item,worker,bird\nb3,x,wren\nb4,x,owl\n")
    second = run(*words, *files, "--export", "out.parquet", "--json")
    assert [json.loads(one.out)["n_imported"] for one in (first, second)] == [2, 3]
    expected = [None, ["owl"], ["owl", "wren"], ["wren"], ["owl"]]
    assert pl.read_parquet("out.parquet")["species"].to_list()[:5] == expected


def test_several_annotators_are_combined_by_their_model(run: Run, bare: Path) -> None:
    """--combination model writes weights of the annotators' model, in which an unreliable one counts less."""
    truth = make_birds()["truth"].to_list()
    given = {"Ann": truth, "Bob": truth, "Cem": [name if i % 3 else "owl" for i, name in enumerate(truth)]}
    pl.DataFrame({"id": [f"b{i}" for i in range(30)], **{by: names[:30] for by, names in given.items()}}).write_csv(
        "a.csv"
    )
    words = ("label", bare, *LABEL, *CLASSES, "--import", "a.csv", "--row", "id", "--export", "out.csv")
    run.done(*words, "--combination", "model")
    texts = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    weights = CandidateSets.from_strings(texts, weighted=True, classes=["finch", "owl", "wren"]).weights
    assert [["finch", "owl", "wren"][k] for k in weights[:30].argmax(axis=1)] == truth[:30]
    assert (np.sort(weights[:30], axis=1)[:, 1] > 0).any()


def test_remaining_rows_are_counted_after_imports(run: Run, bare: Path, served: Any) -> None:
    """The JSON output and the page have the same count."""
    shown: list[int] = []
    served(lambda client: shown.append(client.post("api/ask", {"annotator": "Ann", "window": "w"}).json()["state"]))
    Path("long.csv").write_text("item,worker,label\n0,x,owl\n1,x,owl|wren\n")
    result = run("label", bare, *LABEL, *CLASSES, "--import", "long.csv", "--no-browser", "--json")
    facts = json.loads(result.out)
    assert (facts["rows"], facts["n_imported"], facts["n_remaining"]) == (60, 2, 58)
    assert shown[0]["n_remaining"] == 58


def test_gold_rows_of_a_column_or_a_file(run: Run, birds: Path) -> None:
    """Known labels are those of a column, which is not shown, or of a file of items; exports have them."""
    known = ["owl", None, " wren "] + [None] * 1000
    frame = make_birds().drop("species", "truth")
    frame.with_columns(pl.Series("known", known[: frame.height])).write_csv("gold.csv")
    pl.DataFrame({"item": ["0", "2"], "label": ["owl", "wren"]}).write_csv("known.csv")
    common = ("label", "gold.csv", "--labels", "species", *CLASSES)
    for gold, hide in (("known", ()), ("known.csv", ("--hide", "known"))):
        exported = f"{gold}-labels.parquet"
        run.done(*common, "--gold", gold, *hide, "--export", exported, "--session", f"{gold}.sqlite")
        assert pl.read_parquet(exported)["species"].explode().to_list()[:3] == ["owl", None, "wren"]
    with open_birds("gold.csv", READ_OPTIONS, hide=(), gold="known").session as session:
        assert "known" not in dict(session.table.item(0)["cells"])


def test_the_progress_of_annotators(run: Run, bare: Path) -> None:
    """The table has each annotator, JSON has the numbers, and the files of the exports are written, too."""
    pl.DataFrame({"item": ["0", "1"], "worker": ["Ann", "Bob"], "label": ["finch", "owl"]}).write_csv("answers.csv")
    exports = ("--export", "labeled.csv", "--export-answers", "out.csv")
    common = ("label", bare, *LABEL, *CLASSES, "--import", "answers.csv", "--progress", *exports)
    result = run.done(*common)
    assert all(text in result.out for text in ("Ann", "File: labeled.csv", "File: out.csv"))
    assert pl.read_csv("labeled.csv")["species"].to_list()[:3] == ["finch", "owl", ""]
    assert pl.read_csv("out.csv").height == 2
    facts = json.loads(run(*common, "--json").out)
    progress = [(one["name"], one["n_answers"], one["gold"]) for one in facts["progress"]]
    assert progress == [("Ann", 1, None), ("Bob", 1, None)]
    assert (facts["export"], facts["export_answers"]) == ("labeled.csv", "out.csv")
