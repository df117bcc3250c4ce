"""Columns that reveal the labels are named in notes, and a feature is not accepted as true labels of a model."""

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.cli.tables.leaks import class_name_columns, find_leaks, label_columns, set_columns
from oneof.io import Column
from tests.cli.conftest import QUICK, Run, check_error, make_birds

NAMES = np.array(["creeper", "crossbill", "flycatcher", "grosbeak", "junco", "nuthatch", "thrush", "wren"])
N_SCENES = 60


def make_scenes(seed: int = 0) -> tuple[pl.DataFrame, CandidateSets]:
    """Return rows whose sets have all three species of a recording, which recorder and date together identify.

    The color is a function of the true label, the habitat one of the recorder, and the sex is random.
    """
    rng = np.random.default_rng(seed)
    species = np.array([rng.choice(len(NAMES), 3, replace=False) for _ in range(N_SCENES)])
    places = rng.permutation(150)[:N_SCENES]
    scene = np.repeat(np.arange(N_SCENES), 8)
    truth = species[scene, rng.integers(0, 3, len(scene))]
    frame = pl.DataFrame(
        {
            "recorder": [f"PC{place // 15}" for place in places[scene]],
            "date": [14_000.0 + place % 15 for place in places[scene]],
            "color": [f"color {k}" for k in truth],
            "habitat": [["forest", "meadow"][place // 15 % 2] for place in places[scene]],
            "sex": rng.choice(["female", "male"], len(scene)),
        }
    )
    return frame, CandidateSets.from_sets([set(NAMES[species[i]].tolist()) for i in scene])


def columns_of(frame: pl.DataFrame) -> list[Column]:
    return [Column(name, "date" if name == "date" else "category") for name in frame.columns]


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_together_identify_the_scene_are_found(seed: int) -> None:
    """Recorder and date predict the sets of a scene together, and columns that add nothing are not named."""
    frame, candidates = make_scenes(seed)
    found, accuracy = set_columns(frame, columns_of(frame), candidates)
    assert found == ["recorder", "date"]
    assert accuracy > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_ordinary_categories_are_not_found(seed: int) -> None:
    """A category that depends on the sets by the true label only is not found, even if it determines the label."""
    frame, candidates = make_scenes(seed)
    ordinary = frame.select("color", "habitat", "sex")
    assert set_columns(ordinary, columns_of(ordinary), candidates) == ([], 0.0)
    alone = frame.select("recorder", "sex")
    assert set_columns(alone, columns_of(alone), candidates) == ([], 0.0)
    partner = CandidateSets.from_sets([{color, f"not {color}"} for color in frame["color"]])  # one set for each label
    assert set_columns(ordinary, columns_of(ordinary), partner) == ([], 0.0)


def test_dates_with_a_different_time_in_each_row_are_days() -> None:
    """Times of the day do not hide that the day identifies the set."""
    frame, candidates = make_scenes()
    times = frame.with_columns(date=pl.col("date") + np.random.default_rng(1).random(len(frame)))
    assert set_columns(times, columns_of(times), candidates)[0] == ["recorder", "date"]


def test_few_rows_and_numbers_are_not_compared_with_the_sets() -> None:
    """Sets of few rows are predicted by chance, and numbers are features of the row."""
    frame, candidates = make_scenes()
    assert set_columns(frame[:90], columns_of(frame), candidates[:90]) == ([], 0.0)
    numbers = frame.select(date=pl.col("date") + 100.0)
    assert set_columns(numbers, [Column("date", "number")], candidates) == ([], 0.0)


def test_columns_of_class_names() -> None:
    """A column is found if nine of ten distinct values are class names, at least two, whatever their case."""
    frame = pl.DataFrame(
        {
            "expert": ["", "wren", "Thrush", "junco "],
            "one": ["", "wren", "wren", ""],
            "half": ["wren", "thrush", "rain", "wind"],
            "many": ["wren", "thrush", "junco", "rain"],
        }
    )
    kinds = [Column(name, "category") for name in frame.columns]
    assert class_name_columns(frame, kinds, NAMES.tolist()) == ["expert"]
    digits = pl.DataFrame({"room": ["1", "2"]})
    assert class_name_columns(digits, [Column("room", "category")], [1, 2, 3]) == []
    [finding] = find_leaks(frame, kinds, CandidateSets.from_labels(NAMES.tolist()))
    assert (finding.kind, finding.column, finding.detail) == ("class leak", "expert", "class names")


def test_columns_that_determine_the_label() -> None:
    """Numbers, names and copies of the true label are found with exact and with partial labels, others are not."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, len(NAMES), 400)
    frame = pl.DataFrame(
        {
            "key": (true + 100).astype(float),
            "latin": [f"species {k}" for k in true],
            "site": [f"site {k}" for k in rng.integers(0, 20, 400)],
            "mostly": [f"site {k if i % 20 else 0}" for i, k in enumerate(true)],
            "size": true + rng.normal(size=400),
        }
    )
    kinds = [Column(name, "number" if frame[name].dtype == pl.Float64 else "category") for name in frame.columns]
    exact = CandidateSets.from_labels(NAMES[true])
    partial = CandidateSets.from_sets([{NAMES[k], NAMES[rng.integers(len(NAMES))]} for k in true])
    for candidates in (exact, partial):
        assert label_columns(frame, kinds, candidates) == ["key", "latin"]
        assert label_columns(frame[:25], kinds, candidates[:25]) == []
    frequent = CandidateSets.from_labels(np.where(np.arange(400) % 20, "wren", "junco"))
    assert label_columns(frame, kinds, frequent) == []


def test_a_column_that_the_label_determines_is_found() -> None:
    """The genus of a species is found, but neither with one other value nor in few rows, nor are equal measurements."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 4, 200)
    genus = [("Parus", "Parus", "Turdus", "Strix")[k] for k in true]
    frame = pl.DataFrame({"genus": genus, "once": ["Corvus", *genus[1:]], "same": ["Aves"] * 200, "n": true // 2 * 1.0})
    kinds = [Column(name, "number" if name == "n" else "category") for name in frame.columns]
    sets = CandidateSets.from_labels(NAMES[true])
    assert label_columns(frame, kinds, sets) == ["genus"]
    assert label_columns(frame[:33], kinds, sets[:33]) == []


def make_calls() -> pl.DataFrame:
    """Return a table of calls with a column of true labels of some rows."""
    frame, candidates = make_scenes()
    code = frame["color"].str.slice(6).cast(pl.Int64).to_numpy()
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "pitch": np.round(code + rng.normal(size=len(code)), 3),
            "recorder": frame["recorder"],
            "date": [date(2009, 6, 1) + timedelta(days=day - 14_000) for day in frame["date"]],
            "sex": frame["sex"],
            "heard": candidates.to_strings(),
            "expert": [NAMES[k] if i % 9 == 0 else "" for i, k in enumerate(code)],
        }
    )


def test_the_commands_name_the_columns(run: Run) -> None:
    """Fit, compare and inspect have both notes with their remedies, and no note if these are followed."""
    make_calls().write_csv("calls.csv")
    expected = (
        "column 'expert' reveals the labels, and is a feature: the rates are those of rows with known values. If it is "
        "unknown for new rows, add --drop expert; with --truth expert, true labels are used for evaluation only.",
        "columns 'recorder' and 'date' nearly identify the candidate sets",
        "compare with --drop recorder,date",
    )
    for command in ("fit", "compare", "inspect"):
        quick = () if command == "inspect" else ("--method", "AvgPerceptron", "--folds", "1")
        result = run.done(command, "calls.csv", "--labels", "heard", *quick)
        assert all(text in result.err for text in expected)
        result = run.done(
            command, "calls.csv", "--labels", "heard", "--truth", "expert", "--drop", "recorder,date", *quick
        )
        assert "reveal" not in result.err
        assert "identify" not in result.err


@pytest.mark.parametrize("options", [(), ("--truth", "expert")])
def test_the_first_number_depends_on_a_column_that_determines_the_label(run: Run, options: tuple[str, ...]) -> None:
    """The line of the number, the summary and the report say so, and no longer if the column is dropped."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, len(NAMES), 200)
    sets = [f"{NAMES[k]}|{NAMES[rng.integers(len(NAMES))]}" for k in true]
    expert = NAMES[true] if options else NAMES[rng.permutation(true)]
    frame = pl.DataFrame({"taxon": true, "size": rng.normal(size=200), "sets": sets, "expert": expert})
    (frame if options else frame.drop("expert")).write_csv("birds.csv")
    quick = ("fit", "birds.csv", "--labels", "sets", *options, "--method", "PLKNN", "--folds", "2", "--out", "model")
    condition = "only if column 'taxon' is known for new rows, which reveals the labels; otherwise add --drop taxon."
    for more, is_expected in (((), True), (("--drop", "taxon"), False)):
        result = run.done(*quick, *more)
        headline = json.loads(Path("model/summary.json").read_text(encoding="utf-8"))["headline"]
        measure = f"{headline['measure'].capitalize()}: "
        [line] = [line for line in result.out.splitlines() if line.startswith(measure)]
        report = Path("model/report.html").read_text(encoding="utf-8").replace("&#39;", "'")
        assert [condition in text for text in (line, headline["meaning"], report)] == 3 * [is_expected]


def test_no_accuracy_is_estimated_if_columns_identify_the_sets(run: Run) -> None:
    """Rows of a scene share errors also if a shuffled table hides that they are neighbors."""
    calls = make_calls().drop("expert").sample(fraction=1.0, shuffle=True, seed=0)
    calls.write_csv("calls.csv")
    result = run.done("fit", "calls.csv", "--labels", "heard", "--folds", "2")
    assert "many rows share one list of labels" in result.err
    assert "Estimated accuracy" not in result.out


@pytest.mark.parametrize("options", [QUICK, ("--online",)])
def test_a_feature_of_the_model_is_not_the_truth(run: Run, birds: Path, options: tuple[str, ...]) -> None:
    """A column that is a feature of the model cannot be its column of true labels; the error has the remedy."""
    assert run("fit", birds, "--labels", "species", *options).code == 0
    make_birds(1).write_csv("new.csv")
    message = "Fit the model again with --truth truth (evaluation only) or --drop truth."
    check_error(run, "predict", "birds-oneof/model.skops", "new.csv", "--truth", "truth", message=message)
    assert run("predict", "birds-oneof/model.skops", "new.csv").code == 0
