"""Learning from a stream: equality with partial_fit, unbiased running losses, and bounded memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.io import Overrides, align_columns
from oneof.stream import CheckpointConfig, StreamOptions, fit_stream, open_source
from oneof.stream.encoder import StreamEncoder
from oneof.stream.validation import MAX_WINDOWS, ProgressiveValidation
from tests.stream.bits import assert_same_bits
from tests.stream.conftest import N_ROWS, NAMES, make_frame, make_numbers, write_svmlight

ESTIMATORS = [AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos]
SPECIES = StreamOptions(labels=("species",), batch_rows=100, hash_bits=8)


@pytest.mark.parametrize("estimator_class", ESTIMATORS)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("n_epochs", [1, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_weights_are_those_of_partial_fit(files, estimator_class, average, n_epochs, kind):
    """The weights equal, bit by bit, those of partial_fit on the encoded rows."""
    drop = () if kind == "sparse" else ("color", "remark")
    options = StreamOptions(
        ("species",), overrides=Overrides(drop=drop), batch_rows=100, hash_bits=8, n_epochs=n_epochs
    )
    estimator = estimator_class(average=average, fit_intercept=True)
    fit = fit_stream(files["t.csv"], estimator, options)
    frame = align_columns(make_frame(), fit.columns, files["t.csv"])
    y = CandidateSets.from_strings(make_frame()["species"].to_list())
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
    note, cells = "n" * 3200, [(i % 7 / 7, i % 5, "aab"[i % 3]) for i in range(n)]
    if path.suffix == ".parquet":
        frame = pl.DataFrame(cells, ["x", "z", "label"], orient="row").with_columns(note=pl.lit(note))
        return frame.write_parquet(path, row_group_size=500)
    if path.suffix == ".csv":
        lines = ["x,z,label,note", *(f"{x},{z},{label},{note}" for x, z, label in cells)]
    elif path.suffix == ".jsonl":
        lines = (f'{{"x": {x}, "z": {z}, "label": "{label}", "note": "{note}"}}' for x, z, label in cells)
    else:
        lines = (f"{label} 0:{x} 1:{z} # {note}" for x, z, label in cells)
    with path.open("w") as file:
        file.writelines(line + "\\n" for line in lines)
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
    "name",
    ["t.csv", *(pytest.param(name, marks=pytest.mark.slow) for name in ("t.parquet", "t.svm", "t.jsonl"))],
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
    ("given", "message"),
    [
        ({"checkpoints": "c.npz"}, "`checkpoints` must be an instance of CheckpointConfig; got 'c.npz'"),
        ({"options": "species"}, "`options` must be an instance of StreamOptions; got 'species'"),
        ({"options": {}}, "`options` must be an instance of StreamOptions; got {}"),
        ({"callback": "loudly"}, "`callback` must be a function, or None; got 'loudly'"),
    ],
)
def test_arguments_of_wrong_type_are_errors(files, given, message):
    with pytest.raises(InputTypeError, match=message):
        fit_stream(files["t.csv"], AvgPerceptron(), **{"options": SPECIES, **given})


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (CheckpointConfig, {"resume": "no"}),
        (CheckpointConfig, {"every_rows": 0.5}),
        (CheckpointConfig, {"every_rows": True}),
        (CheckpointConfig, {"every_seconds": "60"}),
        (StreamOptions, {"hash_bits": 31}),
        (StreamOptions, {"n_epochs": 0}),
        (StreamOptions, {"batch_rows": 1e4}),
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
