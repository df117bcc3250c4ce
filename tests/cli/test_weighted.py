"""Labels on the command line: weights, checked labels of some rows (`--gold`), and spellings (`--fold-case`)."""

import json
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oneof import CandidateSets, persistence
from oneof.candidates.labels import fold_case
from oneof.cli.options import ReadOptions
from oneof.cli.tables.inputs import PreparedTable, prepare
from oneof.io import Column, align_columns
from oneof.persistence import load
from tests.candidates.columns import label_reader, read_label_columns, stream_classes
from tests.cli.conftest import QUICK, Run, check_error, make_birds, read_json
from tests.cli.test_audit import make_noisy

NAMES = ["finch", "owl", "wren"]
LIKELIHOOD = ("--weighted", "--kind", "likelihood")
POSTERIOR = ("--weighted", "--kind", "posterior")


def make_weights(n: int = 60) -> np.ndarray:
    """Return weights with a sum of 1 that are largest at the true label of most birds."""
    rng = np.random.default_rng(1)
    truth = np.array([NAMES.index(name) for name in make_birds()["truth"]])
    weights = np.exp(rng.normal(size=(n, 3)) + 2 * np.eye(3)[truth])
    return np.round(weights / weights.sum(axis=1, keepdims=True), 3)


def to_texts(weights: np.ndarray) -> list[str]:
    """Return text such as "owl:0.7|finch:0.2|wren:0.1"; every seventh row is a set, every eleventh is unlabeled."""
    texts = ["|".join(f"{NAMES[k]}:{row[k]}" for k in np.argsort(-row)) for row in weights]
    texts[::7] = [f"{NAMES[row.argmax()]}|{NAMES[(row.argmax() + 1) % 3]}" for row in weights[::7]]
    texts[::11] = ["" for _ in texts[::11]]
    return texts


def numbers_only() -> pl.DataFrame:
    """Return the birds with two features of numbers."""
    return make_birds().select("mass", pl.col("span").fill_null(0.0), "truth")


@pytest.fixture
def weighted(run: Run) -> Path:
    """Write a table with weighted labels, and return its path."""
    path = Path("birds.csv")
    numbers_only().with_columns(species=pl.Series(to_texts(make_weights()))).write_csv(path)
    return path


def fitted(run: Run, *words: Any, out: str = "out") -> tuple[Any, dict[str, Any]]:
    """Run `oneof fit`; return the last step of the model, and the summary."""
    summary = read_json(run, "fit", *words, "--out", out)
    return persistence.load(Path(out, "model.skops")).pipeline[-1], summary


@pytest.mark.figures
@pytest.mark.parametrize("kind", ["likelihood", "posterior"])
def test_fit_equals_the_python_interface(run: Run, weighted: Path, kind: str) -> None:
    """The model is that of the weights; counts, held-out scores and report are those of weighted rows."""
    method, summary = fitted(
        run, weighted, "--labels", "species", "--truth", "truth", "--weighted", "--kind", kind, *QUICK
    )
    saved = persistence.load(Path("out/model.skops"))
    y = CandidateSets.from_strings(to_texts(make_weights()), weighted=True, kind=kind)
    frame = align_columns(numbers_only(), [Column(*column) for column in saved.columns], weighted)
    peer = type(method)(**method.get_params()).fit(saved.pipeline[:-1].transform(frame), y)
    np.testing.assert_array_equal(method.coef_, peer.coef_)
    counts = {name: summary[name] for name in ("exact", "partial", "unlabeled", "weighted")}
    assert counts == {
        "exact": int(y.is_exact.sum()), "partial": int((~y.is_exact & ~y.is_unlabeled).sum()),
        "unlabeled": int(y.is_unlabeled.sum()), "weighted": int(y.is_weighted.sum()),
    }  # fmt: skip
    assert counts["weighted"] > 40
    report = Path("out/report.html").read_text()
    assert "weighted: several with weights" in report
    assert f"--weighted --kind {kind}" in report
    labels = pl.read_csv("out/training_labels.csv")["candidates"].fill_null("").to_list()
    written = CandidateSets.from_strings(labels, weighted=True)
    np.testing.assert_allclose(written.weights, y.weights, rtol=1e-12)


def test_posteriors_of_a_stream_are_divided_by_their_mean(run: Run, weighted: Path) -> None:
    """The prior is the mean over all rows with weights, as in a table; a stream that is read once is an error."""
    words = ("--labels", "species", "--drop", "truth", "--online", *POSTERIOR)
    _, summary = fitted(run, weighted, *words, "--batch-rows", "7")
    texts = to_texts(make_weights())
    posterior = make_weights()[["1" in text or "0." in text for text in texts]]
    prior = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
    saved = persistence.load(Path("out/model.skops"))
    np.testing.assert_allclose(saved.summary["weights"]["prior"], prior)
    facts = read_json(run, "predict", "out/model.skops", weighted)
    labels = pl.read_csv("birds-predictions.csv")["label"]
    y = CandidateSets.from_strings(texts, weighted=True, kind="posterior")
    assert (summary["weighted"], summary["exact"]) == (int(y.is_weighted.sum()), int(y.is_exact.sum()))
    covered = y.weights[np.arange(60), [NAMES.index(label) for label in labels]][~y.is_unlabeled]
    assert facts["covering_rate"] == pytest.approx(covered.mean())
    check_error(run, "fit", "-", "--format", "csv", *words, message="standard input can be read only once")


def test_predicted_probabilities_are_read_back_as_posteriors(run: Run, weighted: Path) -> None:
    """The column of --as-labels has the probabilities; a method with scores has none to write."""
    words = (weighted, "--labels", "species", "--truth", "truth", *LIKELIHOOD)
    fitted(run, *words, "--method", "PLKNN", "--folds", "2")
    run.done("predict", "out/model.skops", weighted, "--as-labels")
    predictions = pl.read_csv("birds-predictions.csv")
    proba = predictions.select(f"probability:{name}" for name in NAMES).to_numpy()
    texts = predictions["labels"].to_list()
    y = CandidateSets.from_strings(texts, weighted=True, kind="posterior", classes=NAMES)
    np.testing.assert_allclose(y.weights, CandidateSets.from_weights(proba, NAMES, kind="posterior").weights, rtol=1e-4)
    numbers_only().with_columns(labels=predictions["labels"]).write_csv("again.csv")
    fitted(run, "again.csv", "--labels", "labels", "--drop", "truth", *POSTERIOR, *QUICK, out="again")
    fitted(run, *words, *QUICK, out="scores")
    check_error(run, "predict", "scores/model.skops", weighted, "--as-labels", message="needs probabilities")


def test_the_kind_is_no_silent_choice(run: Run, weighted: Path) -> None:
    """Without --kind a note says that the weights are read as likelihoods."""
    words = ("fit", weighted, "--labels", "species", "--drop", "truth", *QUICK)
    result = run.done(*words, "--weighted")
    assert "Note: the weights are read as likelihoods" in result.err
    assert "likelihoods" not in run(*words, *LIKELIHOOD).err


def test_svmlight_files_have_no_weights(run: Run) -> None:
    """A weight cannot be distinguished from a feature there."""
    Path("t.svm").write_text("3:0.7 1:0.5\n")
    check_error(run, "fit", "t.svm", "--online", *LIKELIHOOD, message="svmlight files have no weights")


# -- Checked labels of some rows: `--gold` of fit, compare, audit and inspect ------------------------------------------


TABLE = ("birds.csv", "--labels", "species", "--gold", "checked")
WAVE = [row * 7 % 11 / 2 for row in range(60)]


def write_checked(table: pl.DataFrame, is_checked: pl.Expr, name: str = "birds.csv") -> pl.DataFrame:
    """Write a table with the true label of some rows in a column `checked`."""
    table = table.with_columns(checked=pl.when(is_checked).then(pl.col("truth")))
    table.write_csv(name)
    return table


@pytest.fixture
def checked(run: Run) -> pl.DataFrame:
    """Write a table in which every third row is checked."""
    return write_checked(make_birds(), pl.int_range(60) % 3 == 0)


def read(**options: str) -> PreparedTable:
    return prepare(Path("birds.csv"), ReadOptions(labels=("species",), **options))  # type: ignore[arg-type]


def test_labels_in_the_label_column_give_the_same_fit(run: Run, checked: pl.DataFrame) -> None:
    """A fit with checked labels equals that of a table with these labels in place of the sets."""
    merged = checked.with_columns(species=pl.coalesce("checked", "species")).drop("checked")
    merged.write_csv("merged.csv")
    fits = [
        read_json(run, "fit", *words, "--drop", "truth", *QUICK, "--out", out)
        for words, out in ((TABLE, "first"), (("merged.csv", "--labels", "species"), "second"))
    ]
    assert fits[0]["gold"] == "checked"
    assert (fits[0]["checked"], fits[1]["checked"]) == (20, 0)
    rates = [[fold["covering_rate"] for fold in one["estimate"]["folds"]] for one in fits]
    assert rates[0] == rates[1]
    first, second = (pl.read_csv(f"{name}/training_labels.csv") for name in ("first", "second"))
    assert first["checked"].to_list() == [row % 3 == 0 for row in range(60)]
    assert first.drop("checked").equals(second)
    model = load("first/model.skops")
    assert (model.label_columns, "checked" in dict(model.columns)) == (["species"], False)
    assert "--gold checked" in Path("first/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["compare", "inspect"])
def test_other_commands_read_the_checked_labels(run: Run, checked: pl.DataFrame, command: str) -> None:
    """The commands count the checked rows in a note, and the column is not a feature."""
    result = run.done(command, *TABLE, *(QUICK if command == "compare" else ()))
    assert "20 rows have a checked label (checked)" in result.err


def test_labels_outside_of_their_set_are_used_and_counted(run: Run) -> None:
    """A checked label that is not in the set of its row is used; the note has the number and the first row."""
    table = make_birds()
    other = {"finch": "wren", "owl": "finch", "wren": "owl"}
    outside = pl.when(pl.int_range(60).is_in([4, 8])).then(pl.col("truth").replace(other))
    table.with_columns(checked=outside).write_csv("birds.csv")
    prepared = read(gold="checked")
    message = "2 checked labels are not among the labels of their row, first in row 4; the checked label is used."
    assert message in prepared.notes
    assert prepared.candidates[4] == {other[table["truth"][4]]}


def test_a_checked_label_may_be_a_new_class(run: Run) -> None:
    """The classes are those of the labels and of the checked labels, sorted; unlabeled rows stay unlabeled."""
    table = make_birds().with_columns(checked=pl.when(pl.int_range(60) == 7).then(pl.lit("eagle")))
    table.write_csv("birds.csv")
    plain, known = read(), read(gold="checked")
    assert known.candidates.classes.tolist() == ["eagle", "finch", "owl", "wren"]
    assert known.candidates.is_unlabeled.tolist() == plain.candidates.is_unlabeled.tolist()
    assert "'eagle' is a class of checked labels only." in known.notes


def test_the_held_out_accuracy_does_not_depend_on_the_label_of_the_row(run: Run) -> None:
    """With random labels as checked and true ones, the accuracy of held-out rows is that of chance."""
    rng = np.random.default_rng(0)
    n, names = 300, np.array(["finch", "owl"])
    truth = names[rng.integers(2, size=n)]
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "species": "finch|owl", "truth": truth})
    frame = frame.with_columns(species=pl.when(pl.int_range(n) < 2).then("truth").otherwise("species"))
    frame.write_csv("birds.csv")
    words = ("--labels", "species", "--gold", "truth", "--truth", "truth", "--method", "LOORidge", "--json")
    result = run.done("compare", "birds.csv", *words)
    assert 0.35 < json.loads(result.out)["results"][0]["accuracy"] < 0.65


def test_checked_rows_are_neither_suspected_nor_counted(run: Run) -> None:
    """Checked rows are not in the list of an audit, wrong rows that are not checked still are."""
    write_checked(make_noisy(), pl.int_range(150) % 2 == 0, "noisy.csv")
    words = ("audit", "noisy.csv", "--labels", "species", "--drop", "truth")
    result = run.done(*words, "--gold", "checked", "--out", "issues.csv")
    assert "of 74 labeled rows" in result.out
    assert "rows with a checked label are right" in result.err
    issues = pl.read_csv("issues.csv")
    assert (issues["row"] % 2 == 1).all()
    assert len(issues) == 74  # one of the 75 odd rows is unlabeled
    suspected = issues.filter("suspected")["row"].to_list()
    assert len(set(suspected) & set(range(1, 15, 2))) >= 5


@pytest.mark.parametrize(
    ("cell", "words", "message"),
    [
        ("finch|owl", (), "row 1: 'finch|owl' has several labels."),
        ("eagle", ("--classes", "finch,owl,wren"), "row 1: label 'eagle' is not one of the classes"),
        (None, (), "column 'checked' of checked labels is empty. Remove --gold."),
    ],
)
def test_defects_of_checked_labels_are_errors(run: Run, cell: str | None, words: tuple[str, ...], message: str) -> None:
    """A set, an unknown class if all are named, and an empty column are errors with the row and the remedy."""
    make_birds().with_columns(checked=pl.when(pl.int_range(60) == 1).then(pl.lit(cell))).write_csv("birds.csv")
    check_error(run, "fit", *TABLE, *words, *QUICK, message=message)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["finch|wren", "finch", "", "wren"], ()),
        (["finch:0.4|wren:0.4", "finch:1.0", "", "wren:0.5"], ("--weighted",)),
        (['["finch", "wren"]', '["finch"]', "[]", '["wren"]'], ()),
        (["7|10", "7", "", "10"], ()),
    ],
)
def test_a_set_of_all_labels_stays_a_set_if_a_checked_label_is_a_new_class(
    run: Run, labels: list[str], words: tuple[str, ...]
) -> None:
    """The sets are those with all classes named: explicit ones stay partial, and rows without a label unlabeled."""
    new = "8" if "7" in labels else "owl"
    table = {"x": WAVE[:60], "labels": 15 * labels, "checked": [new if row % 4 == 3 else None for row in range(60)]}
    pl.DataFrame(table).write_csv("birds.csv")
    classes = ",".join(["7", "10", "8"] if "7" in labels else ["finch", "wren", "owl"])
    read = [
        prepare(Path("birds.csv"), ReadOptions(("labels",), gold="checked", weighted=bool(words), classes=named))
        for named in (None, tuple(classes.split(",")))
    ]
    first, second = (dict(enumerate(one.candidates.to_sets())) for one in read)
    assert first == second
    assert read[0].candidates.is_unlabeled.tolist() == [row % 4 == 2 for row in range(60)]
    assert len(first[0]) == 2
    assert read[0].is_checked is not None
    assert read[0].is_checked.sum() == 15


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "--noise-rate", "auto", *QUICK), "all labeled rows have a checked label (--gold)"),
        (("audit",), "all labeled rows have a checked label (--gold)"),
        (("label", "--audit", "--no-browser"), "none remains to audit: remove --gold"),
    ],
)
def test_an_audit_needs_a_row_that_is_not_checked(run: Run, words: tuple[str, ...], message: str) -> None:
    """The error names the option, and comes before anything is predicted."""
    write_checked(make_birds(), pl.lit(value=True))
    result = check_error(run, words[0], *TABLE, "--drop", "truth", *words[1:], message=message)
    assert "Predicting" not in str(result)


def test_the_headline_names_its_basis(run: Run) -> None:
    """With some checked rows, errors that the features predict are not recognized; with checked rows only, they are."""
    for is_checked, sentence in (
        (pl.int_range(150) % 2 == 0, "Wrong labels that the features predict are not recognized"),
        (pl.lit(value=True), "All held-out rows have a checked label"),
    ):
        write_checked(make_noisy(), is_checked, "noisy.csv")
        words = ("fit", "noisy.csv", "--labels", "species", "--gold", "checked", "--drop", "truth")
        summary = read_json(run, *words, "--folds", "2", "--out", "model")
        assert sentence in summary["headline"]["meaning"]
        assert summary["estimated_accuracy"]["n_checked"] == (150 if "All" in sentence else 75)


# -- Labels that differ in case, spaces, underscores or hyphens: `--fold-case` -----------------------------------------


SPELLED = ["finch", "sea owl", "wren"]
LABEL = st.sampled_from([*SPELLED, "Finch", "SEA  owl", "Sea-Owl", "sea_Owl", "WREN"])


@pytest.fixture
def misspelled(run: Run) -> pl.DataFrame:
    """Write the birds, of which one class has two words, in one spelling and in three; return the latter."""
    clean = make_birds().with_columns(pl.col("species", "truth").str.replace("owl", "sea owl"))
    clean.write_csv("clean.csv")
    label, row = pl.col("species", "truth").str, pl.int_range(pl.len()) % 3
    upper, title = label.to_uppercase(), label.to_titlecase().str.replace(" ", "  ")
    birds = clean.with_columns(pl.when(row == 1).then(upper).when(row == 2).then(title).otherwise(label.to_lowercase()))
    birds.write_csv("birds.csv")
    return birds


@given(st.lists(st.lists(LABEL, min_size=1, max_size=3, unique=True), min_size=2, max_size=8))
def test_folded_labels_are_those_of_one_spelling(sets: list[list[str]]) -> None:
    """Sets are those of a column with one spelling; forms of weights are those of tests/candidates/test_cells.py."""
    one = [list(dict.fromkeys(map(fold_case, members))) for members in sets]
    assume(len({name for members in one for name in members}) > 1)
    assume(any(len(members) < 3 for members in one))
    texts = pl.Series("y", ["|".join(members) for members in sets])
    expected = read_label_columns(pl.DataFrame({"y": ["|".join(members) for members in one]}), ["y"], classes=SPELLED)
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


@pytest.mark.usefixtures("misspelled")
def test_fit_predict_and_compare_equal_those_of_one_spelling(run: Run) -> None:
    """Classes, estimates and predictions are those of a table with one spelling; without the option a note names it."""
    rows = ("--labels", "species", "--truth", "truth", *QUICK)
    expected = read_json(run, "fit", "clean.csv", *rows, "--out", "expected")
    summary = read_json(run, "fit", "birds.csv", *rows, "--fold-case", "--out", "out")
    assert sorted(map(fold_case, summary["classes"])) == SPELLED
    assert "--fold-case" in Path("out/report.html").read_text()
    folded = read_json(run, "predict", "out/model.skops", "birds.csv", "--truth", "truth")
    one = read_json(run, "predict", "expected/model.skops", "clean.csv", "--truth", "truth")
    for name in ("covering_rate", "accuracy"):
        assert summary["estimate"][name] == expected["estimate"][name]
        assert folded[name] == one[name]
    plain = run("inspect", "birds.csv", "--labels", "species")
    assert (
        "differ only in case, spaces, underscores or hyphens, and are read as different classes: add --fold-case"
        in plain.err
    )
    inspected = read_json(run, "inspect", "birds.csv", "--labels", "species", "--fold-case")
    assert [found["label"] for found in inspected["classes"]] == summary["classes"]


def test_labeling_begins_with_one_spelling(run: Run, misspelled: pl.DataFrame) -> None:
    """The classes of a new and of a resumed session have one spelling; the exported labels are the same."""
    words = ("birds.csv", "--labels", "species", "--hide", "truth", "--export", "out.csv")
    classes = read_json(run, "label", *words, "--fold-case")["classes"]
    assert sorted(map(fold_case, classes)) == SPELLED
    assert read_json(run, "label", *words)["classes"] == classes
    exported = pl.read_csv("out.csv")["species"].fill_null("").to_list()
    assert [set(map(fold_case, text.split("|"))) for text in exported] == [
        set(map(fold_case, text.split("|"))) for text in misspelled["species"].fill_null("")
    ]
