"""Fits of streams: weights of `partial_fit` bit by bit, columns of the first batch, encoder, and order of the rows."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher

import oneof
from oneof import CLPL, AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron
from oneof.errors import DataError, InputError, InputTypeError, LabelError
from oneof.io import Column, Overrides, TableOptions, TextOptions, align_columns
from oneof.stream import (
    CheckpointConfig,
    ProgressiveValidation,
    RiverClassifier,
    StreamOptions,
    fit_stream,
    open_source,
)
from oneof.stream.encoder import Moments, StreamEncoder
from oneof.stream.validation import MAX_WINDOWS, LabelAutocorrelation
from tests.stream.bits import assert_same_bits
from tests.stream.conftest import N_ROWS, NAMES, make_frame, make_numbers, make_weighted, write_svmlight

ESTIMATORS = [AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos]
SPECIES = StreamOptions(labels=("species",), batch_rows=100, hash_bits=8)


@pytest.mark.parametrize("estimator_class", ESTIMATORS)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_epochs", [1, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_weights_are_those_of_partial_fit(tmp_path, estimator_class, average, n_epochs, kind):
    """The weights equal, bit by bit, those of partial_fit on the encoded rows, and on the weights of their labels."""
    table, path = make_weighted() if kind == "weighted" else make_frame(), tmp_path / "t.csv"
    table.write_csv(path)
    overrides = Overrides(drop=() if kind == "sparse" else ("color", "remark"))
    options = replace(SPECIES, overrides=overrides, n_epochs=n_epochs, weighted=kind == "weighted")
    estimator = estimator_class(average=average, fit_intercept=True)
    fit = fit_stream(path, estimator, options)
    frame = align_columns(table, fit.columns, path)
    y = CandidateSets.from_strings(table["species"].to_list(), weighted=options.weighted)
    encoder, peer = StreamEncoder(fit.columns, 8), clone(estimator)
    for epoch in range(n_epochs):
        for first in range(0, N_ROWS, 100):
            encoder, rows = encoder.partial_fit_transform(frame[first : first + 100]) if epoch == 0 else (encoder, None)
            rows = encoder.transform(frame[first : first + 100]) if rows is None else rows
            assert sp.issparse(rows) == (kind == "sparse")
            peer.partial_fit(rows, y[first : first + 100], classes=y.classes)
    assert np.array_equal(fit.model[-1].coef_, peer.coef_)
    assert np.array_equal(fit.model[-1].intercept_, peer.intercept_)
    assert fit.model[-1].t_ == peer.t_ == N_ROWS * n_epochs
    assert fit.model.predict(frame).tolist() == peer.predict(encoder.transform(frame)).tolist()
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize("estimator_class", ESTIMATORS)
def test_rows_that_need_no_scaling_give_the_weights_of_fit(tmp_path, estimator_class):
    """An svmlight file is learned as `fit` learns the matrix, in several passes too."""
    frame = make_numbers(300)
    write_svmlight(frame, tmp_path / "t.svm")
    fit = fit_stream(tmp_path / "t.svm", estimator_class(), StreamOptions(batch_rows=70, hash_bits=3, n_epochs=2))
    X = sp.csr_matrix(np.hstack([frame.drop("label").to_numpy(), np.zeros((300, 4))]))
    y = CandidateSets.from_strings(frame["label"].to_list())
    peer = estimator_class(n_epochs=2).fit(X, y)
    assert np.array_equal(fit.model[-1].coef_, peer.coef_)
    assert fit.classes == y.classes.tolist()
    assert fit.model.predict(X).tolist() == peer.predict(X).tolist()


def test_every_format_gives_the_same_weights(files):
    """The format of a stream does not matter, nor whether it is one file or gzip."""
    fits = [fit_stream(path, AvgPegasos(average=True), SPECIES) for name, path in files.items() if name != "parts"]
    for fit in fits[1:]:
        assert_same_bits(fits[0], fit)
        assert fit.columns == fits[0].columns


def test_the_running_loss_is_that_of_predicting_first(files):
    """The losses, row by row and batch by batch with averaged weights, equal those of a literal loop."""
    estimator = MaxPegasos(average=True, fit_intercept=True)
    fit = fit_stream(files["t.parquet"], estimator, SPECIES)
    frame, encoder = align_columns(make_frame(), fit.columns, files["t.csv"]), StreamEncoder(fit.columns, 8)
    y = CandidateSets.from_strings(make_frame()["species"].to_list())
    last, averaged = clone(estimator).set_params(average=False), clone(estimator)
    by_row, by_batch, labeled = [], [], ~y.is_unlabeled
    for first in range(0, N_ROWS, 100):
        encoder, rows = encoder.partial_fit_transform(frame[first : first + 100])
        for i in range(100):
            k = 0 if not hasattr(last, "classes_") else NAMES.index(last.predict(rows[[i]])[0])
            by_row.append(not y.mask[first + i, k])
            last.partial_fit(rows[[i]], y[first + i : first + i + 1])
        if first:
            codes = [NAMES.index(name) for name in averaged.predict(rows)]
            by_batch += [not y.mask[first + i, k] for i, k in enumerate(codes)]
        averaged.partial_fit(rows, y[first : first + 100])
    total = fit.validation.total
    assert (total.rows, total.labeled, total.mistakes) == (N_ROWS, labeled.sum(), sum(by_row))
    assert (total.model_labeled, total.model_mistakes) == (labeled[100:].sum(), sum(by_batch))
    assert sum(window.mistakes for window in fit.validation.windows) == total.mistakes
    assert (fit.validation.exact, fit.validation.partial) == (int(y.is_exact.sum()), int((labeled & ~y.is_exact).sum()))


def test_the_number_of_windows_is_bounded():
    """The number of windows is bounded for a stream of any length, and the windows contain all rows."""
    validation = ProgressiveValidation()
    mask = np.array([[True, False], [True, True]])
    for _ in range(5 * MAX_WINDOWS + 3):
        validation = validation.update(mask, 1, None, 0.1)
        assert len(validation.windows) <= MAX_WINDOWS
        assert sum(window.rows for window in validation.windows) == validation.total.rows
    assert len({window.rows for window in validation.windows[:-1]}) == 1
    assert validation.to_dict()["loss"] == 1.0
    assert validation.to_dict()["model_loss"] is None


MEMORY = """
import pathlib, re, sys
import polars as pl
from oneof import AvgPerceptron
from oneof.stream import StreamOptions, fit_stream
from oneof.io import Overrides
def peak():  # getrusage would include the peak of the parent process
    return int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
def learn(path):
    labels = () if path.suffix == ".svm" else ("label",)
    drop = Overrides(drop=("note",)) if labels else Overrides()
    return fit_stream(path, AvgPerceptron(), StreamOptions(labels, overrides=drop, batch_rows=500, hash_bits=3))
def write(path, n):
    cells = [(i % 7 / 7, i % 5, "aab"[i % 3], "n" * 3200) for i in range(n)]
    frame = pl.DataFrame(cells, ["x", "z", "label", "note"], orient="row")
    if path.suffix == ".svm":
        path.write_text("".join(f"{label} 0:{x} 1:{z} # {note}\\n" for x, z, label, note in cells))
    else:
        {".csv": frame.write_csv, ".jsonl": frame.write_ndjson}.get(path.suffix, frame.write_parquet)(path)
path, n = pathlib.Path(sys.argv[1]), int(sys.argv[2])
if sys.argv[3] == "write":
    write(path, n), write(path.with_stem("few"), 2000)
else:
    for _ in range(3):  # the reserves of allocators grow in the first runs
        learn(path.with_stem("few"))
    before = peak()
    assert learn(path).validation.total.rows == n
    print(peak() - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
@pytest.mark.parametrize(
    "name", ["t.csv", *(pytest.param(name, marks=pytest.mark.slow) for name in ("t.parquet", "t.svm", "t.jsonl"))]
)
def test_memory_does_not_grow_with_the_rows(tmp_path, name):
    """A stream of 20 times the limit needs less than the limit in addition to the memory of its first 2,000 rows."""
    limit, n = 2**22, 26_250
    assert n * 3200 >= 20 * limit
    words = [sys.executable, "-c", MEMORY, str(tmp_path / name), str(n)]
    subprocess.run([*words, "write"], check=True)

    def grown():
        return 1024 * float(subprocess.run([*words, "learn"], capture_output=True, text=True, check=True).stdout)

    # Retained rows would count in each run; the reserves of allocators, one to three megabytes, do not.
    assert any(grown() < limit for _ in range(3))


STDIN = """
import json
from oneof import AvgPegasos
from oneof.io import TableOptions
from oneof.stream import StreamOptions, fit_stream
options = StreamOptions(("species",), batch_rows=100, hash_bits=8, table=TableOptions(format="csv"))
fit = fit_stream("-", AvgPegasos(average=True), options)
print(json.dumps([fit.classes, fit.model[-1].coef_.tolist()]))
"""


def test_standard_input_is_a_stream_like_any_other(files, monkeypatch):
    """A pipe gives the weights of the file; its classes are those of the first batch, and a new one is an error."""
    fit = fit_stream(files["t.csv"], AvgPegasos(average=True), SPECIES)
    content = files["t.csv"].read_bytes()
    done = subprocess.run([sys.executable, "-c", STDIN], input=content, capture_output=True, check=True)
    assert json.loads(done.stdout) == [fit.classes, fit.model[-1].coef_.tolist()]
    late = "x,label\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(150)) + "1,c\n"
    reading, writing = os.pipe()
    os.write(writing, late.encode())
    os.close(writing)
    with os.fdopen(reading) as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        with pytest.raises(LabelError) as caught:
            fit_stream(open_source("-", "csv"), AvgPegasos(), StreamOptions(("label",), batch_rows=100, hash_bits=8))
    message = "row 150: label 'c' is not one of the classes 'a', 'b'. Name all classes beforehand (--classes)."
    assert str(caught.value) == f"standard input, {message}"
    assert open_source("-", "csv").identity() == []


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (CheckpointConfig, {"resume": "no"}),
        (CheckpointConfig, {"every_rows": 0}),
        (CheckpointConfig, {"every_rows": 0.5}),
        (CheckpointConfig, {"every_rows": True}),
        (CheckpointConfig, {"every_seconds": "60"}),
        (StreamOptions, {"hash_bits": 31}),
        (StreamOptions, {"hash_bits": 0}),
        (StreamOptions, {"n_epochs": 0}),
        (StreamOptions, {"batch_rows": 1e4}),
        (StreamOptions, {"batch_rows": 0}),
    ],
)
def test_options_out_of_range_are_errors(kind, given):
    with pytest.raises(InputError, match=f"`{next(iter(given))}` must be .*; got"):
        kind(**({"path": "c.npz"} if kind is CheckpointConfig else {}), **given)


def test_numpy_integers_are_accepted(numbers, tmp_path):
    """Options of NumPy integer types can be written to a checkpoint, which is JSON."""
    options = StreamOptions(("label",), batch_rows=np.int64(100), hash_bits=np.int8(3), n_epochs=np.int16(1))
    saved = CheckpointConfig(tmp_path / "c.npz", every_rows=np.int64(100))
    assert fit_stream(numbers, AvgPerceptron(), options, checkpoints=saved).validation.total.rows == N_ROWS
    assert saved.path.exists()


STRICT = {"table": TableOptions(strict=True)}
LABEL = StreamOptions(labels=("label",), batch_rows=100, hash_bits=8)


def _write(folder, text, name="t.csv"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (["3", "10", "3.0|10", "", "-1"], None, ["3", "10"]),
        (["b", "a", "a|b", "", "b"], None, ["a", "b"]),
        (["b", "a", "a|b", "", "b"], ("b", "c", "a"), ["b", "c", "a"]),
        (["-1", "1", "1", "", "-1"], ("-1", "1"), ["-1", "1"]),
    ],
)
def test_classes(tmp_path, labels, classes, expected):
    """Classes are those listed, or those in the data, sorted by number or text; -1 is a class only if it is listed."""
    path = _write(tmp_path, "x,label\n" + "".join(f"{i}.5,{label}\n" for i, label in enumerate(labels)))
    fit = fit_stream(path, AvgPerceptron(), StreamOptions(("label",), classes=classes, batch_rows=2))
    assert fit.classes == expected
    assert fit.model.classes_.tolist() == expected
    assert fit.validation.total.labeled == sum(bool(label) and (label != "-1" or bool(classes)) for label in labels) - (
        "a|b" in labels and len(expected) == 2
    ) - ("3.0|10" in labels)


def test_suspicious_classes_have_a_note(tmp_path):
    """The notes are those of a table; classes that the user lists have no note."""
    path = _write(tmp_path, "x,label\n" + "".join(f"{i}.5,{('owl', 'OWL', '?')[i % 3]}\n" for i in range(9)))
    notes = fit_stream(path, AvgPerceptron(), LABEL).notes
    assert [note.split(": ")[0][-40:] for note in notes] == [
        f"in {path}, '?' is read as a class"[-40:],
        "spaces, underscores or hyphens, and are read as different classes"[-40:],
    ]
    named = StreamOptions(("label",), classes=("owl", "OWL", "?"))
    assert fit_stream(path, AvgPerceptron(), named).notes == []


ERRORS = {
    "new class": (
        "x,label\n1,a\n2,b\n3,c\n",
        {"classes": ("a", "b")},
        r"t.csv, row 2: label 'c' is not one of the clas",
    ),
    "one class": ("x,label\n1,a\n2,a\n", {}, "only one class occurs"),
    "one class named": ("x,label\n1,a\n2,a\n", {"classes": ("a",)}, "must be two or more"),
    "signs": ("x,label\n1,1\n2,-1\n", {}, "only -1 and 1"),
    "no label": ("x,label\n1,\n2,\n", {}, "every row is unlabeled"),
    "no label, classes named": ("x,label\n1,\n2,\n", {"classes": ("a", "b")}, "every row is unlabeled"),
    "no features": ("z,label\n1,a\n1,b\n", {}, r"no feature column remains: .* first 2 rows"),
    "no text": ("x,label\n1,a\n2,b\n", {"text_options": TextOptions(stem="english")}, "need a text column"),
    "no number": (
        "x,label\n1,a\n2,b\n3,a\n4,b\nfive,b\n",
        STRICT,
        "row 4: column 'x' must contain numbers; got 'five'",
    ),
    "overflow": (
        "x,label\n1,a\n2,b\n3,a\n2e300,b\n",
        {},
        r"t.csv, row 3: column 'x' contains 2e\+300: sums of such squares",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_invalid_streams_are_errors(tmp_path, name):
    text, options, message = ERRORS[name]
    path = _write(tmp_path, text)
    with pytest.raises((DataError, LabelError, InputError), match=message):
        fit_stream(path, AvgPerceptron(), StreamOptions(("label",), batch_rows=2, **options))


def test_invalid_arguments_are_errors(tmp_path, files):
    write_svmlight(make_numbers(9), tmp_path / "t.svm")
    with pytest.raises(InputTypeError, match="CLPL is not an online classifier"):
        fit_stream(files["t.csv"], oneof.CLPL(), SPECIES)
    with pytest.raises(InputError, match="Omit --labels"):
        fit_stream(tmp_path / "t.svm", AvgPerceptron(), LABEL)
    with pytest.raises(InputError, match="can be read only once"):
        fit_stream(open_source("-", "csv"), AvgPerceptron(), StreamOptions(("label",), n_epochs=2))
    for wrong, message in (
        ({"checkpoints": "c.npz"}, "`checkpoints` must be an instance of CheckpointConfig; got 'c.npz'"),
        ({"options": {}}, "`options` must be an instance of StreamOptions; got {}"),
        ({"callback": "loudly"}, "`callback` must be a function, or None; got 'loudly'"),
    ):
        with pytest.raises(InputTypeError, match=message):
            fit_stream(files["t.csv"], AvgPerceptron(), **{"options": SPECIES, **wrong})
    for name in ("labels", "classes"):
        with pytest.raises(InputTypeError, match=f"`{name}` must be a tuple of names; got 'topic'"):
            StreamOptions(**{name: "topic"})


def test_columns_that_change(tmp_path):
    """A later file may have additional columns and another order, but must have all columns of the first."""
    for number, text in enumerate(("x,z,label\n1,5,a\n2,4,b\n", "w,label,z,x\n9,a,3,3\n", "x,label\n1,a\n")):
        _write(tmp_path, text, f"{number}.csv")
    with pytest.raises(DataError, match=r"2.csv: missing 'z', which earlier rows have"):
        fit_stream(tmp_path, AvgPerceptron(), LABEL)
    (tmp_path / "2.csv").unlink()
    fit = fit_stream(tmp_path, AvgPerceptron(), LABEL)
    assert [column.name for column in fit.columns] == ["x", "z"]
    np.testing.assert_allclose(fit.model[0].moments_.mean, [2, 4])


def test_columns_excluded_by_the_first_batch_have_a_note(tmp_path):
    path = _write(tmp_path, "x,flat,none,label\n1,7,,a\n2,7,,b\n3,8,9,a\n")
    fit = fit_stream(path, AvgPerceptron(), StreamOptions(("label",), batch_rows=2))
    assert [column.name for column in fit.columns] == ["x"]
    [note] = fit.notes
    assert "column 'flat' is excluded: one value (add " in note
    assert "column 'none' is excluded: no values, according to the first 2 rows (--batch-rows)." in note


def test_a_column_named_as_text_may_begin_with_empty_cells(tmp_path):
    """A column declared as text may be empty in the first batch; otherwise a word is needed to infer its type."""
    path = _write(tmp_path, "note,label\n,a\n,b\nred fox,a\nblue whale,b\n" + "red,a\nblue,b\n" * 4)
    options = StreamOptions(("label",), overrides=Overrides(texts=("note",)), batch_rows=2, hash_bits=8)
    fit = fit_stream(path, AvgPerceptron(), options)
    assert fit.columns == [Column("note", "text")]
    assert fit.model.predict(pl.DataFrame({"note": ["red", "blue"]})).tolist() == ["a", "b"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_moments_are_those_of_all_rows(seed, n_blocks):
    """Updated by blocks with missing values and empty blocks, they equal the moments of all rows."""
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(1e3, 2.0, size=(rng.integers(0, 9), 3)) for _ in range(n_blocks)]
    for block in blocks:
        block[rng.random(block.shape) < 0.3] = np.nan
        block[:, 2] = np.nan
    moments = Moments()
    for block in blocks:
        moments = moments.update(block)
    full = np.concatenate(blocks)
    count = (~np.isnan(full)).sum(axis=0)
    mean = np.array([np.nanmean(full[:, j]) if count[j] else 0 for j in range(3)])
    sum_of_squares = np.nansum((full - mean) ** 2, axis=0)
    assert moments.count.tolist() == count.tolist()
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(moments.sum_of_squares, sum_of_squares, rtol=1e-9, atol=1e-9)
    scaled = moments.scale(full)
    assert np.isfinite(scaled).all()
    assert (np.abs(scaled) <= np.sqrt(max(len(full), 1)) + 1e-9).all()
    constant = np.full((10, 2), 0.1) * [1, 3]  # up to rounding
    assert not Moments().update(constant[:7]).update(constant[7:]).scale(constant).round(12).any()


def _frame(**columns):
    return pl.DataFrame(columns)


def test_features_of_a_row_do_not_depend_on_the_batch():
    """The hashed columns of a row depend on the row only."""
    columns = [("color", "category"), ("note", "text"), ("x", "number")]
    frame = _frame(color=["red", "", "blue", "red"], note=["a b", "b", "", "a b a"], x=[1.0, 2.0, 3.0, np.nan])
    encoder = StreamEncoder(columns, hash_bits=8).fit(frame)
    full = encoder.transform(frame).toarray()
    rows = np.vstack([encoder.transform(frame[i]).toarray() for i in range(4)])
    np.testing.assert_array_equal(full, rows)
    assert full.shape == (4, 1 + 1 + 2**8)
    assert full[:, 1].tolist() == [0, 0, 0, 1]  # the indicator of missing values
    assert full[3, 0] == 0
    twice = StreamEncoder([("color", "category"), ("copy", "category")], 18).fit(frame.with_columns(copy="color"))
    assert np.abs(twice.transform(frame.with_columns(copy="color"))[0]).sum() == 2  # values of two columns differ
    texts = StreamEncoder([("note", "text")], 8).fit(frame).transform(frame)
    np.testing.assert_allclose(np.asarray(texts.power(2).sum(axis=1)).ravel(), [1, 1, 0, 1])


def test_numbers_are_dense_and_standardized_by_all_rows_so_far():
    """A batch is standardized by the rows up to its end; a missing value without an indicator is at the mean."""
    encoder = StreamEncoder([("x", "number"), ("z", "number")])
    first, second = _frame(x=[1.0, 3.0], z=[np.nan, 1.0]), _frame(x=[np.nan, 5.0], z=[1.0, 2.0])
    encoded, rows = encoder.partial_fit_transform(first)
    assert not hasattr(encoder, "moments_")
    np.testing.assert_allclose(rows, [[-1, 0, 1], [1, 0, 0]])
    two, rows = encoded.partial_fit_transform(second)
    deviation = np.std([1, 3, 5])
    np.testing.assert_allclose(rows[:, 0], [0, 2 / deviation])
    assert encoded.moments_.count.tolist() == [2, 1]
    np.testing.assert_array_equal(two.transform(second), rows)


PROBA = {"two": [0.5, 0.5], "rare": [0.97, 0.03], "three": [0.6, 0.3, 0.1], "forty": [1 / 40] * 40}


def _mask(codes, n_classes, size=1, rng=None):
    """Return sets of the codes and random distractors; every fifth row is unlabeled."""
    keys = np.zeros((len(codes), n_classes)) if rng is None else rng.random((len(codes), n_classes))
    keys[np.arange(len(codes)), codes] = -1
    mask = np.zeros(keys.shape, dtype=bool)
    np.put_along_axis(mask, np.argsort(keys, axis=1)[:, :size], values=True, axis=1)
    mask[::5] = True
    return mask


def _chain(rng, n, proba, persistence):
    """Return codes that repeat with a probability, and are drawn at random otherwise."""
    codes = rng.choice(len(proba), n, p=proba)
    for i in np.flatnonzero(rng.random(n) < persistence):
        codes[i] = codes[i - 1] if i else codes[i]
    return codes


@pytest.mark.parametrize("name", PROBA)
@pytest.mark.parametrize("n", [60, 1000])
def test_random_order_has_no_warning(name, n):
    """There is no warning in 200 samples of each kind, nor if runs are slightly longer than by chance."""
    rng, proba = np.random.default_rng(0), PROBA[name]
    for _ in range(200):
        assert LabelAutocorrelation().update(_mask(rng.choice(len(proba), n, p=proba), len(proba))).note() is None
    assert LabelAutocorrelation().update(_mask(_chain(rng, 20 * n, proba, 0.15), len(proba))).note() is None


@pytest.mark.parametrize("name", PROBA)
def test_runs_have_a_warning(name):
    """The warning has the ratio to random order: 2 for a chain that repeats a label with probability 0.5."""
    rng, proba = np.random.default_rng(0), PROBA[name]
    note = LabelAutocorrelation().update(np.eye(len(proba), dtype=bool)[_chain(rng, 50_000, proba, 0.5)]).note()
    assert float(re.search(r"labels come in runs, (.*) times as long", note)[1]) == pytest.approx(2, abs=0.11)
    codes = np.sort(rng.choice(len(proba), 20_000, p=proba))
    assert (
        "labels come in runs, over 100 times as long" in LabelAutocorrelation().update(_mask(codes, len(proba))).note()
    )


@pytest.mark.parametrize(("n_classes", "size"), [(3, 2), (5, 3), (10, 4)])
def test_sets_in_runs_have_a_warning(n_classes, size):
    """Sorted rows have a warning, although distractors differ between rows; rows in random order do not."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 5000)
    assert "labels come in runs" in LabelAutocorrelation().update(_mask(np.sort(codes), n_classes, size, rng)).note()
    assert LabelAutocorrelation().update(_mask(codes, n_classes, size, rng)).note() is None


def test_the_mean_over_all_orders_is_that_of_the_sums():
    """The mean in random order is the agreement of all pairs of rows, for any division into batches."""
    rng = np.random.default_rng(0)
    mask = _mask(rng.integers(0, 4, 60), 4, 2, rng)
    labeled = mask[~mask.all(axis=1)]
    runs = LabelAutocorrelation()
    for part in np.array_split(mask, 7):
        runs = runs.update(part)
    weights = labeled / labeled.sum(axis=1, keepdims=True)
    pairs = weights @ weights.T
    assert runs.n_labeled == len(labeled)
    assert runs.agreement == pytest.approx(np.trace(pairs, 1))
    assert runs.self_agreement == pytest.approx(np.trace(pairs))
    assert sum(count**2 for count in runs.class_counts) - runs.self_agreement == pytest.approx(
        pairs.sum() - np.trace(pairs)
    )


def test_uninformative_labels_have_no_warning():
    """No warning is issued without rows, if almost all rows are of one class, or if all sets are equal."""
    assert ProgressiveValidation().autocorrelation.note() is None
    assert LabelAutocorrelation().update(_mask(np.sort(np.arange(900) // 890), 2)).note() is None
    assert LabelAutocorrelation().update(np.tile([True, True, False], (900, 1))).note() is None
    assert LabelAutocorrelation().update(np.ones((900, 3), dtype=bool)) == LabelAutocorrelation()


# -- Adapter for single rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [AvgPerceptron(), AvgPegasos(), AvgPerceptron(fit_intercept=True, average=True)])
def test_it_is_partial_fit_on_hashed_rows(learner):
    """Rows one by one give the weights of the same hashed rows at once; text is a category, None is missing."""
    rng = np.random.default_rng(0)
    names = [f"größe {j}" for j in range(20)]  # hashed to both signs, and some to the same column
    rows = [
        {"x": float(x), "color": "rb"[int(x > 0)], "gap": None, 4: 0.5} | dict.fromkeys(names, float(x) / 9)
        for x in rng.normal(size=50)
    ]
    sets = [["a"] if row["x"] > 0 else None if i % 5 == 0 else ["b", "c"] for i, row in enumerate(rows)]
    model, peer = RiverClassifier(learner, ["a", "b", "c"], hash_bits=6), clone(learner)
    assert (model.predict_one(rows[0]), model.predict_proba_one(rows[0])) == (None, {})
    for x, y in zip(rows, sets, strict=True):
        assert model.learn_one(x, y) is model
    hashed = FeatureHasher(2**6).transform([{str(k): v for k, v in x.items() if v is not None} for x in rows])
    peer.partial_fit(hashed, sets, classes=["a", "b", "c"])
    assert np.array_equal(model.fitted().coef_, peer.coef_)
    assert [model.predict_one(x) for x in rows] == peer.predict(hashed).tolist()
    shares = model.predict_proba_one(rows[0])
    assert sum(shares.values()) == pytest.approx(1)
    assert max(shares, key=shares.get) == model.predict_one(rows[0])


@pytest.mark.parametrize("learner", [AvgPerceptron, AvgPegasos])
def test_a_mapping_of_labels_to_weights_is_a_weighted_row(learner):
    """Rows with weights, one by one, give the weights of the same rows at once."""
    rng = np.random.default_rng(0)
    classes, values = ["a", "b", "c"], rng.normal(size=50)
    weights = rng.random((50, 3)) * (rng.random((50, 3)) < 0.7) + np.eye(3)[rng.integers(3, size=50)]
    model, peer = RiverClassifier(learner(), classes, hash_bits=6), learner()
    for x, row in zip(values, weights, strict=True):
        model.learn_one({"x": x}, {label: w for label, w in zip(classes, row, strict=True) if w > 0})
    hashed = FeatureHasher(2**6).transform([{"x": x} for x in values])
    peer.partial_fit(hashed, CandidateSets.from_weights(weights, classes))
    assert np.array_equal(model.fitted().coef_, peer.coef_)
    for y in ({"d": 1.0}, {"a": -1.0}, {"a": 0.0}):
        with pytest.raises(LabelError):
            model.learn_one({"x": 1.0}, y)
    model.learn_one({"x": 1.0}, {})  # unlabeled
    assert np.array_equal(model.fitted().coef_, peer.coef_)


def test_invalid_rows_classes_and_sizes_are_errors():
    """An invalid argument, value or label, or an overflowing step, is an error and leaves the weights unchanged."""
    for arguments, message in (
        ((CLPL(), ["a", "b"]), "CLPL is not an online classifier"),
        ((AvgPerceptron(), ["a"]), "at least two classes"),
        ((AvgPerceptron(), ["a", "a"]), "distinct"),
        *(((AvgPerceptron(), ["a", "b"], bits), "hash_bits") for bits in (0, 31, True, 4.0)),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            RiverClassifier(*arguments)
    model = RiverClassifier(AvgPegasos(lam=1e-3), ["a", "b"], hash_bits=4)
    with pytest.raises(NotFittedError, match="learn_one"):
        model.fitted()
    for x, y in (({"u": 1.0, "v": 2.0}, "a"), ({"u": -1.0}, "b"), ({"v": 0.5}, None)):
        model.learn_one(x, y)
    before = model.fitted()
    for x, y, message in (
        ([1.0], "b", "`x` must be a dict"),
        ({"u": [1.0]}, "b", "feature 'u' must be a number that fits float64, text or None; got list"),
        ({"u": np.inf}, "b", "infinity"),
        ({"u": 1e200}, "b", "[Ss]cale the features"),
        ({"u": 10**400}, "b", "got int"),
        ({"u": 1.0}, {"c"}, "'c'"),
    ):
        with pytest.raises((InputError, InputTypeError), match=message):
            model.learn_one(x, y)
    after = model.fitted()
    assert np.array_equal(after.coef_, before.coef_)
    assert (after.t_, after.progressive_loss_) == (before.t_, before.progressive_loss_)


@pytest.mark.parametrize("y", [{0: 0.7, 1: 0.3}, b"\x00\x01", [0, True], np.array(1), np.array([0, 1]), range(2)])
def test_the_cache_does_not_change_the_reading_of_labels(y):
    """Labels have the same mask, or the same error, before and after a similar set was cached."""

    def read(model):
        try:
            return model._evidence(y).tolist()
        except LabelError as error:
            return str(error)

    fresh = RiverClassifier(AvgPerceptron(), [0, 1])
    cached = RiverClassifier(AvgPerceptron(), [0, 1]).learn_one({"x": 1.0}, {0, 1}).learn_one({"x": 1.0}, {1})
    assert read(cached) == read(fresh)
