"""`--exclude-annotator`: answers of an annotator that are not used, and stay in their file."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.answers.conftest import ANSWERS, FIT, NAMES, make_answers
from tests.cli.conftest import Run, check_error, make_birds

CLASSES = ("--labels", "species", "--classes", ",".join(NAMES))


@pytest.mark.parametrize("form", ["csv", "wide"])
def test_the_labels_are_those_without_the_excluded_answers(run: Run, table: Path, form: str) -> None:
    """`--exclude-annotator` gives the same labels as a file without the lines of the annotator."""
    answers = make_answers()
    others = answers.filter(pl.col("worker") != "Dan")
    args = ANSWERS
    if form == "wide":
        answers, others = (one.pivot(on="worker", index="id", values="label") for one in (answers, others))
        args = ("--answers", "answers.csv", "--row", "id")
    results = []
    for frame, excluded in ((answers, ("--exclude-annotator", "Dan")), (others, ())):
        frame.write_csv("answers.csv")
        before = Path("answers.csv").read_bytes()
        result = run.done("audit", table, *args, *excluded, "--method", "PLKNN", "--out", "issues.csv")
        assert ("answers that are not used, by --exclude-annotator Dan: " in result.err) == bool(excluded)
        results.append(Path("issues.csv").read_bytes())
        assert Path("answers.csv").read_bytes() == before
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ("Dam", "--exclude-annotator 'Dam' has no answers in answers.csv; annotators are Dan."),
        ("x", "'x' has no answers in answers.csv; annotators are Ann, Bob, Cem, Dan and \"Smith, J\"."),
        ("Smith, J", "--exclude-annotator 'Smith' has no answers in answers.csv; annotators are \"Smith, J\"."),
        ('Ann,Bob,Cem,Dan,"Smith, J"', "--exclude-annotator excludes all annotators of answers.csv. Keep at least one"),
    ],
)
def test_annotators_that_cannot_be_excluded(run: Run, table: Path, names: str, sentence: str) -> None:
    """A name without answers, and the names of all annotators, are errors with the names as the option has them."""
    with Path("answers.csv").open("a") as file:
        file.write('b0,"Smith, J",owl\n')
    check_error(run, *FIT, "--exclude-annotator", names, message=sentence)
    assert (
        'by --exclude-annotator "Smith, J": 1.' in run("inspect", *FIT[1:-4], "--exclude-annotator", '"Smith, J"').err
    )


def test_a_session_names_an_annotator_of_random_answers_and_excludes_it(run: Run) -> None:
    """An export names the annotator that is no better than chance; without it, labels are those of the others."""
    birds, rng = make_birds(), np.random.default_rng(7)
    birds.drop("species").write_csv("table.csv")
    lines = [
        (f"b{i}", worker, str(rng.choice(NAMES)) if worker == "bot" else label)
        for i, label in enumerate(birds["truth"])
        for worker in ("Ann", "Bob", "bot")
        if worker != "Bob" or i >= 5
    ]
    pl.DataFrame(lines, ["id", "worker", "label"], orient="row").write_csv("all.csv")
    words = ("label", "table.csv", *CLASSES, "--hide", "truth", "--row", "id")
    result = run.done(*words, "--import", "all.csv", "--export", "all.parquet")
    assert "the answers of bot are no better than chance. --exclude-annotator bot leaves them out" in result.err
    result = run.done(
        *words, "--exclude-annotator", "bot", "--export", "others.parquet", "--export-answers", "others.csv"
    )
    assert "no better than chance" not in result.err
    assert pl.read_parquet("others.parquet")["species"].to_list() == [[label] for label in birds["truth"]]
    assert set(pl.read_csv("others.csv")["worker"]) == {"Ann", "Bob"}
    result = run(*words, "--export-answers", "again.csv")
    assert pl.read_csv("again.csv").height == len(lines)
    result = run(*words, "--exclude-annotator", "robot", "--export", "others.parquet")
    assert result.code == 2
    assert "--exclude-annotator 'robot' has no answers in table-answers.sqlite; annotators are bot." in result.err


def test_an_unknown_annotator_is_an_error_before_the_import(run: Run) -> None:
    """The session has no answers of the file then; the rows of its only annotator are asked again if it is excluded."""
    make_birds().drop("species").write_csv("table.csv")
    pl.DataFrame({"id": [f"b{i}" for i in range(4)], "worker": "bot", "label": "owl"}).write_csv("one.csv")
    words = ("label", "table.csv", *CLASSES, "--hide", "truth", "--row", "id", "--export-answers", "out.csv")
    result = run(*words, "--exclude-annotator", "bto", "--import", "one.csv")
    assert result.code == 2
    assert "'bto' has no answers in table-answers.sqlite or one.csv; annotators are bot." in result.err
    run.done(*words)
    assert pl.read_csv("out.csv").height == 0
    result = run.done(*words, "--exclude-annotator", "bot", "--import", "one.csv", "--export", "none.parquet")
    assert "New answers imported: 4." in result.out
    assert "(60 rows remain to be labeled)" in result.out
    assert pl.read_csv("out.csv").height == 0
