"""Labels that differ only in case, spaces, underscores or hyphens: `--fold-case` in every command that reads labels."""

import json
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneof import CandidateSets
from oneof.candidates.labels import fold_case
from oneof.errors import DataError
from tests.candidates.columns import label_reader, read_label_columns, stream_classes
from tests.cli.conftest import QUICK, Run, make_birds, read_json

NAMES = ["finch", "sea owl", "wren"]
LABEL = st.sampled_from([*NAMES, "Finch", "SEA  owl", "Sea-Owl", "sea_Owl", "WREN"])


def spell(text: str, rng: np.random.Generator) -> str:
    """Return text in lower, title or upper case, with one or two spaces between words."""
    text = [str.lower, str.title, str.upper][rng.integers(3)](text)
    return text.replace(" ", " " * int(rng.integers(1, 3)))


def clean_birds() -> pl.DataFrame:
    """Return the birds; one class is of two words."""
    return make_birds().with_columns(pl.col("species", "truth").str.replace("owl", "sea owl"))


def misspell(birds: pl.DataFrame) -> pl.DataFrame:
    """Return the birds with several spellings of each class."""
    rng = np.random.default_rng(0)
    return birds.with_columns(
        pl.col(name).map_elements(lambda text: spell(text, rng), return_dtype=pl.String)
        for name in ("species", "truth")
        if name in birds.columns
    )


def name_classes(birds: pl.DataFrame, spelled: pl.DataFrame) -> pl.DataFrame:
    """Return the birds with each class named by its most frequent spelling in the column of labels."""
    counts = Counter(label for text in spelled["species"].drop_nulls() for label in text.split("|") if label)
    names = {name: max((k for k in counts if fold_case(k) == name), key=counts.__getitem__) for name in NAMES}
    columns = [name for name in ("species", "truth") if name in birds.columns]
    return birds.with_columns(pl.col(columns).str.replace_many(names))


def spellings_of(names: list[str]) -> list[str]:
    """Return names in one spelling, sorted."""
    return sorted(map(fold_case, names))


@given(st.lists(st.lists(LABEL, min_size=1, max_size=3, unique=True), min_size=2, max_size=8))
def test_folded_labels_are_those_of_one_spelling(sets: list[list[str]]) -> None:
    """Sets are those of a column with one spelling, and the largest likelihood of the spellings is used."""
    one = [list(dict.fromkeys(map(fold_case, members))) for members in sets]
    assume(len({name for members in one for name in members}) > 1)
    assume(any(len(members) < 3 for members in one))
    texts = pl.Series("y", ["|".join(members) for members in sets])
    expected = read_label_columns(pl.DataFrame({"y": ["|".join(members) for members in one]}), ["y"], classes=NAMES)
    lists = pl.Series("y", sets)
    for cells in (texts, texts.cast(pl.Categorical), lists, lists.cast(pl.List(pl.Categorical))):
        named = ["Finch", "Sea  Owl", "wren"]
        read = read_label_columns(cells.to_frame(), ["y"], classes=named, folds_case=True)
        assert read.classes.tolist() == named
        np.testing.assert_array_equal(read.mask, expected.mask)
        reader = label_reader(["y"], "|", ["Finch", "Sea  Owl", "wren"], folds_case=True)
        np.testing.assert_array_equal(reader.evidence(cells.to_frame()), expected.mask)
        found = label_reader(["y"], "|", folds_case=True).count(cells.to_frame()).counts
        assert {fold_case(label) for label, _ in found} == {name for row in one for name in row}

    weights = [{name: 0.25 * (j + 1) for j, name in enumerate(members)} for members in sets]
    largest = np.array(
        [[max((w for k, w in row.items() if fold_case(k) == name), default=0) for name in NAMES] for row in weights]
    )
    forms = [
        pl.Series("y", ["|".join(f"{name}:{weight}" for name, weight in row.items()) for row in weights]),
        pl.Series("y", [json.dumps(row) for row in weights]),
        pl.DataFrame(weights, infer_schema_length=None).to_struct("y"),
        pl.Series("y", [[{"label": k, "score": w} for k, w in row.items()] for row in weights]),
    ]
    for cells in forms:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "some rows repeat a label", UserWarning)
            read = read_label_columns(cells.to_frame(), ["y"], weighted=True, classes=NAMES, folds_case=True)
            reader = label_reader(["y"], "|", NAMES, weighted=True, folds_case=True)
            np.testing.assert_allclose(reader.evidence(cells.to_frame()) * np.ones(3), read.weights, rtol=1e-12)
        np.testing.assert_allclose(read.weights, largest / largest.max(axis=1, keepdims=True), rtol=1e-12)


@given(st.lists(st.lists(LABEL, min_size=1, max_size=3, unique=True), min_size=2, max_size=9), st.integers(1, 4))
def test_a_class_has_the_name_of_its_most_frequent_spelling(sets: list[list[str]], size: int) -> None:
    """Ties have the first spelling; tables, text and streams, in batches of any size, have the same names."""
    counts = Counter(label for members in sets for label in members)  # in the order of their first occurrence
    best = {
        key: max((k for k in counts if fold_case(k) == key), key=counts.__getitem__) for key in map(fold_case, counts)
    }
    assume(len(best) > 1)
    texts = ["|".join(members) for members in sets]
    expected = sorted(best.values())
    assert CandidateSets.from_strings(texts, fold_case=True).classes.tolist() == expected
    weighted = [text.replace("|", ":0.5|") + ":1.0" for text in texts]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "some rows repeat a label", UserWarning)
        read = CandidateSets.from_strings(weighted, fold_case=True, weighted=True)
    assert read.classes.tolist() == expected
    for cells, is_weighted in ((texts, False), (weighted, True)):
        batches = [pl.DataFrame({"y": cells[start : start + size]}) for start in range(0, len(cells), size)]
        assert stream_classes(batches, folds_case=True, weighted=is_weighted) == expected


def test_columns_of_classes_have_one_spelling() -> None:
    """The names of several label columns are not merged."""
    frame = pl.DataFrame({"Finch": [0, 1], "finch": [1, 0]})
    with pytest.raises(DataError, match="the names of several label columns are the classes"):
        read_label_columns(frame, frame.columns, folds_case=True)
    with pytest.raises(DataError, match="the names of several label columns are the classes"):
        label_reader(frame.columns, "|", folds_case=True)


def test_fit_predict_and_compare_equal_those_of_one_spelling(run: Run) -> None:
    """Classes, estimates and predictions are those of a table with one spelling; without the option a note names it."""
    spelled, rows = misspell(clean_birds()), ("--labels", "species", "--truth", "truth", *QUICK)
    clean = name_classes(clean_birds(), spelled)
    clean.write_csv("clean.csv")
    spelled.write_csv("birds.csv")
    expected = read_json(run, "fit", "clean.csv", *rows, "--out", "expected")
    summary = read_json(run, "fit", "birds.csv", *rows, "--fold-case", "--out", "out")
    assert summary["classes"] == expected["classes"]
    assert spellings_of(summary["classes"]) == NAMES
    for name in ("exact", "partial", "unlabeled"):
        assert summary[name] == expected[name]
    for name in ("covering_rate", "accuracy"):
        assert summary["estimate"][name] == expected["estimate"][name]
    assert "--fold-case" in Path("out/report.html").read_text()
    folded = read_json(run, "predict", "out/model.skops", "birds.csv", "--truth", "truth", "--out", "folded.csv")
    one = read_json(run, "predict", "expected/model.skops", "clean.csv", "--truth", "truth", "--out", "one.csv")
    assert folded["covering_rate"] == one["covering_rate"]
    assert folded["accuracy"] == one["accuracy"]
    assert Path("folded.csv").read_bytes() == Path("one.csv").read_bytes()
    plain = run("inspect", "birds.csv", "--labels", "species")
    assert (
        "differ only in case, spaces, underscores or hyphens, and are read as different classes: add --fold-case"
        in plain.err
    )
    inspected = read_json(run, "inspect", "birds.csv", "--labels", "species", "--fold-case")
    assert [found["label"] for found in inspected["classes"]] == summary["classes"]


def test_labeling_begins_with_one_spelling(run: Run) -> None:
    """The classes of a new and of a resumed session have one spelling; the exported labels are the same."""
    birds = misspell(clean_birds().drop("truth"))
    birds.write_csv("birds.csv")
    words = ("birds.csv", "--labels", "species", "--export", "out.csv")
    classes = read_json(run, "label", *words, "--fold-case")["classes"]
    assert spellings_of(classes) == NAMES
    assert read_json(run, "label", *words)["classes"] == classes
    exported = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    assert [set(map(fold_case, text.split("|"))) for text in exported] == [
        set(map(fold_case, text.split("|"))) for text in birds["species"].fill_null("")
    ]
