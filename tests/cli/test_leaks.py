"""Columns that are not features: those that reveal the labels, and those of groups of rows."""

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import CandidateSets
from oneof.cli.auditing import find_issues
from oneof.cli.options import ReadOptions
from oneof.cli.tables.inputs import prepare, read_groups
from oneof.cli.tables.leaks import class_name_columns, find_groups, find_leaks, label_columns, set_columns
from oneof.cli.tables.methods import resolve_methods
from oneof.comparison import compare
from oneof.comparison.folds import check_task, make_folds
from oneof.errors import InputError
from oneof.io import Column, describe
from oneof.model_selection import compute_sample_weight
from oneof.persistence import load
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json

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
    """The genus of a species is found, but neither with one other value nor in few rows, nor are equal measurements.

    So is the text of which partial sets are made.
    """
    rng = np.random.default_rng(0)
    true = rng.integers(0, 4, 200)
    genus = [("Parus", "Parus", "Turdus", "Strix")[k] for k in true]
    frame = pl.DataFrame({"genus": genus, "once": ["Corvus", *genus[1:]], "same": ["Aves"] * 200, "n": true // 2 * 1.0})
    kinds = [Column(name, "number" if name == "n" else "category") for name in frame.columns]
    sets = CandidateSets.from_labels(NAMES[true])
    assert label_columns(frame, kinds, sets) == ["genus"]
    assert label_columns(frame[:33], kinds, sets[:33]) == []
    mask = rng.random((200, 4)) < 0.4
    mask[np.arange(200), true] = True
    partial = CandidateSets(mask, NAMES[:4])
    frame = frame.with_columns(heard=pl.Series(partial.to_strings(separator="+", write_full=True)))
    assert label_columns(frame, [Column("heard", "category")], partial) == ["heard"]


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


# -- Folds by groups ---------------------------------------------------------------------------------------------------


TABLE = ("birds.csv", "--labels", "species", "--truth", "truth", "--groups", "recorder")


@pytest.fixture
def recorded(run: Run) -> pl.DataFrame:
    """Write a table with a column of twelve recorders."""
    table = make_birds().with_columns(pl.Series("recorder", [f"r{i // 5}" for i in range(60)]))
    table.write_csv("birds.csv")
    spellings = pl.when(pl.int_range(60) % 2 == 0).then(pl.col("recorder").str.to_uppercase()).otherwise("recorder")
    table.with_columns(recorder=spellings).write_csv("spellings.csv")
    return table


def test_the_rates_of_every_command_are_those_of_folds_by_groups(run: Run, recorded: pl.DataFrame) -> None:
    """`fit`, `compare` and `audit` have these folds, in any case of letters; the column is a feature if it is named."""
    prepared = prepare(Path("birds.csv"), ReadOptions(labels=("species",), truth="truth", groups="recorder"))
    assert prepared.groups == recorded["recorder"].to_list()
    assert prepare(Path("spellings.csv"), prepared.read_options).groups == prepared.groups
    assert "recorder" not in [column.name for column in prepared.columns]
    with pytest.raises(InputError, match="--groups and --weights must name different columns"):
        read_groups(prepared.table, replace(prepared.read_options, weight_column="recorder"))
    named = prepare(Path("birds.csv"), replace(prepared.read_options, categorical=("recorder",)))
    assert "recorder" in [column.name for column in named.columns]
    splits = make_folds(check_task(prepared.frame, prepared.candidates, None), 2, 0, prepared.groups)
    groups = recorded["recorder"].to_numpy()
    assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)

    compared = read_json(run, "compare", *TABLE, *QUICK)
    fitted = read_json(run, "fit", *TABLE, *QUICK)
    for result in (compared, fitted):
        assert result["groups"] == "recorder"
        tested = f"2 folds by 12 groups, {sum(len(test) for _, test in splits)} held-out rows"
        assert result["evaluation"].startswith(tested)
    assert compared["n_groups"] == fitted["comparison"]["n_groups"] == 12
    assert fitted["headline"]["value"] == fitted["estimate"]["accuracy"]
    rates = [fold["covering_rate"] for fold in compared["results"][0]["folds"]]
    assert rates == [fold["covering_rate"] for fold in fitted["estimate"]["folds"]]
    assert [fold["n_labeled"] for fold in compared["results"][0]["folds"]] == [len(test) for _, test in splits]

    options = ("--labels", "species", "--groups", "recorder", "--drop", "truth", "--method", "PLKNN")
    audited = read_json(run, "audit", "birds.csv", *options)
    assert (audited["groups"], audited["n_groups"]) == ("recorder", 12)
    without = read_json(run, "audit", "birds.csv", *options[:2], "--drop", "truth,recorder", *options[-2:])
    assert without["n_groups"] is None
    assert without["n_wrong"] != audited["n_wrong"]


@pytest.mark.figures
def test_the_pages_say_that_folds_are_by_groups(run: Run, recorded: pl.DataFrame) -> None:
    """The report repeats the command and has the number of groups, and so does the page of an audit."""
    result = run.done("fit", *TABLE, "--folds", "3", "--noise-rate", "auto")
    assert "folds     by the 12 groups of recorder" in result.err
    assert "3 folds by 12 groups" in result.out
    report = " ".join(Path("birds-oneof/report.html").read_text(encoding="utf-8").split())
    assert "by 12 groups" in report
    assert "--groups recorder" in report
    result = run("audit", *TABLE[:3], *TABLE[5:], "--drop", "truth", "--report", "issues.html")
    assert "no row is predicted from its group (12 groups)" in result.out
    assert "without the rows of its group" in Path("issues.html").read_text(encoding="utf-8")
    table = recorded.drop("recorder")  # the model does not need the column
    table.write_csv("new.csv")
    assert run("predict", "birds-oneof/model.skops", "new.csv").code == 0


def test_rows_of_a_class_of_one_group_have_no_part_in_the_search_for_wrong_labels(run: Run) -> None:
    """A plain fit does not audit rows of a class that no other group has; without the groups it does."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), np.where(np.arange(60) == 7, 40, 8))
    y = np.where(groups == 7, "bittern", rng.choice(["finch", "owl", "wren"], len(groups)))
    X = 4 * (y[:, None] == ["bittern", "finch", "owl", "wren"]) + rng.normal(size=(len(groups), 4))
    columns = {name: X[:, k] for k, name in enumerate("abcd")}
    pl.DataFrame({**columns, "species": y, "recorder": groups}).write_csv("birds.csv")
    prepared = prepare(Path("birds.csv"), ReadOptions(("species",), groups="recorder"))
    with pytest.warns(UserWarning, match="not audited"):
        without, issues = (find_issues(one, "LOORidge")[1] for one in (replace(prepared, groups=None), prepared))
    assert (without.probability[groups == 7] > 0).all()
    assert (issues.probability[groups == 7] == 0).all()
    assert set(issues.ranking.tolist()) == set(np.flatnonzero(groups != 7).tolist())


def test_one_group_is_an_error(run: Run) -> None:
    """There are no other groups to hold out, whatever the number of folds."""
    make_birds().with_columns(pl.lit("r1").alias("recorder")).write_csv("birds.csv")
    message = "column 'recorder' of --groups has one value. Name another column, or remove --groups."
    check_error(run, "fit", "birds.csv", "--labels", "species", "--groups", "recorder", message=message)


@pytest.mark.parametrize("n_copies", [8, 30])
def test_copied_texts_have_a_note_with_options_that_hold_them_out_together(run: Run, n_copies: int) -> None:
    """Copies are named if they are more than the deviation of a rate; then their groups are those of the folds."""
    texts = [f"the {i} small birds sang in tree {7 * i}" for i in range(100 - n_copies // 2)]
    texts += texts[: n_copies // 2] + ["an unlabeled song"] * 50
    labels = ["wren" if i % 2 else "finch" for i in range(100)] + [""] * 50
    pl.DataFrame({"text": texts, "species": labels}).write_csv("songs.csv")
    words = ("inspect", "songs.csv", "--labels", "species")
    note = f"{n_copies} rows have the features of another row"
    found = run(*words).err
    assert (note in found) == (n_copies == 30)
    if n_copies == 30:
        given = run(*words, *found.split("together, add ")[1].split(".\n")[0].split())
        assert note not in given.err
        assert "1 text: text" in given.out
        pl.DataFrame({"text": [*texts[:-1], ""], "species": labels}).write_csv("songs.csv")
        assert "together, number the distinct texts in a column of --groups." in run(*words).err


def test_columns_that_seem_to_name_groups_have_a_note(run: Run, recorded: pl.DataFrame) -> None:
    """Texts and whole numbers that recur and have the name of groups are named, with the option for the finest."""

    def group_notes(*args: Any, **options: Any) -> list[str]:
        return describe(find_groups(*args, **options))

    n = len(recorded)
    sites, patients = [f"s{i % 4}" for i in range(n)], [i % 9 for i in range(n)]
    frame = recorded.with_columns(pl.Series("siteName", sites), pl.Series("patient_id", patients))
    [note] = group_notes(frame, {"species", "truth"})
    assert note.startswith("columns 'recorder', 'patient_id' and 'siteName' may name groups of rows.")
    assert note.endswith("too high for new groups: add --groups recorder to estimate these.")
    blank = frame.with_columns(recorder=pl.when(pl.int_range(n) > 2).then("recorder").otherwise(pl.lit(" ")))
    assert group_notes(blank, {"species", "truth"}) == [note]  # an empty cell is not a value
    assert group_notes(frame, {"recorder", "siteName ", "patient_id"}) == []
    [note] = group_notes(frame, {"siteName ", "patient_id"}, given="patient_id")
    assert note.startswith("column 'recorder' may name groups of rows as well.")
    assert "add --drop recorder" in note
    assert group_notes(frame, {"recorder", "siteName ", "patient_id"}, {"station"}, given="recorder") == []
    ordinary = pl.DataFrame({"color": sites, "site": range(n), "plot": [0.5 * i for i in patients], "user": ["a"] * n})
    assert group_notes(ordinary, ()) == []  # a category, identifiers, fractions, and a constant
    pairs = pl.DataFrame(
        {"patient": [f"p{i - i % 29 // 28}" for i in range(n)], "file": range(n)}
    )  # two patients twice
    [note] = group_notes(pairs, (), identifiers=["patient", "file"])
    assert note.startswith("column 'patient' may name groups of rows.")
    assert group_notes(pairs, (), identifiers=["patient", "file"], given="site") == []
    [note] = group_notes(ordinary, (), ["clip", "recorder"])
    assert note.startswith("column 'recorder' may name groups of rows.")

    words = ("inspect", "birds.csv", "--labels", "species", "--truth", "truth")
    assert "column 'recorder' may name groups of rows" in run(*words).err
    assert "groups of rows" not in run(*words, "--groups", "recorder").err
    assert "add --groups recorder to estimate these" in run(*words, "--drop", "recorder,id").err


# -- Tests of weights of classes on the command line -----------------------------------------------------------------


CLASSES_OF_BIRDS = ("birds.csv", "--labels", "species", "--drop", "truth")
BALANCED = ("--method", "CLPL", "--class-weight", "balanced")


def test_the_model_is_fitted_with_balanced_weights(run: Run, birds: Path) -> None:
    """The model and the rates are those of the weights of the rows; the report repeats the option."""
    summary = read_json(run, "fit", *CLASSES_OF_BIRDS, *BALANCED, "--folds", "2")
    assert summary["class_weight"] == "balanced"
    assert "--class-weight balanced" in Path("birds-oneof/report.html").read_text(encoding="utf-8")
    prepared = prepare(Path("birds.csv"), ReadOptions(("species",), truth="truth"))
    methods, _ = resolve_methods(prepared, "CLPL", 0)
    weight = compute_sample_weight("balanced", prepared.candidates)
    expected = methods["CLPL"].fit(prepared.frame, prepared.candidates, clpl__sample_weight=weight)
    saved = load("birds-oneof/model.skops")
    scores = saved.pipeline.decision_function(prepared.frame)
    assert scores == pytest.approx(expected.decision_function(prepared.frame))
    compared = compare(
        prepared.frame, prepared.candidates, methods, cv=2, class_weight="balanced", refit=False, random_state=0
    )
    assert summary["estimate"]["covering_rate"] == compared.results[0].covering_rate


def test_a_comparison_has_the_methods_with_weights(run: Run, birds: Path) -> None:
    """A note names the methods without weights."""
    pl.read_csv("birds.csv").drop("remark", "color").write_csv("small.csv")
    result = run.done(
        "compare", "small.csv", *CLASSES_OF_BIRDS[1:], "--class-weight", "balanced", "--folds", "2", "--json"
    )
    content = json.loads(result.out)
    methods = {one["method"] for one in content["results"]}
    assert {"CLPL", "PLEM", "GaussianEM"} <= methods
    assert not {"LOORidge", "PLKNN"} & methods
    assert content["class_weight"] == "balanced"
    assert "methods without class weights are not compared: LOORidge, " in result.err
