"""Sparse matrices and answers of annotators in NumPy archives."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oneof.candidates import CandidateSets
from oneof.cli.options import ReadOptions
from oneof.cli.tables.inputs import prepare
from oneof.crowd import Answers
from oneof.persistence import load as load_model
from tests.cli.conftest import QUICK, Run, check_error, read_json

CLASSES = np.array(["finch", "owl", "wren"])
N_ROWS, N_FEATURES = 60, 40


def make_sparse(seed: int = 0) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return sparse rows, whose first features depend on the class, with codes and a mask of candidates."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, N_ROWS)
    X = sp.random(N_ROWS, N_FEATURES, 0.1, format="lil", random_state=seed)
    X[np.arange(N_ROWS), y] = 2.0
    mask = np.eye(3, dtype=bool)[y]
    mask[::3, 0] = True
    mask[::10] = True
    return sp.csr_matrix(X), y, mask


def write_sparse(path: str, X: Any, **arrays: Any) -> None:
    np.savez(path, X_data=X.data, X_indices=X.indices, X_indptr=X.indptr, X_shape=np.array(X.shape), **arrays)


@pytest.fixture
def words(run: Run) -> Path:
    """Write the rows to words.npz in the working folder."""
    X, y, mask = make_sparse()
    write_sparse("words.npz", X, y=y, classes=CLASSES, candidates=np.packbits(mask, axis=1))
    return Path("words.npz")


def test_a_sparse_matrix_is_fitted_without_columns(run: Run, words: Path) -> None:
    """The model is that of the method fitted to the CSR matrix and the candidate sets; predict reads such a file."""
    result = run.done("fit", words, "--labels", "candidates", "--truth", "y", *QUICK)
    assert "sparse features: 40." in result.out
    assert "features  40 of a sparse matrix" in result.err
    X, _, mask = make_sparse()
    saved = load_model("words-oneof/model.skops")
    assert saved.columns == []
    new, codes, _ = make_sparse(1)
    write_sparse("new.npz", new, y=codes, classes=CLASSES)
    assert run("predict", "words-oneof/model.skops", "new.npz", "--truth", "y").code == 0
    predictions = pl.read_csv("new-predictions.csv")["label"].to_list()
    fitted = clone(saved.pipeline).fit(X, CandidateSets(mask, CLASSES))
    assert predictions == fitted.predict(new).tolist()
    assert np.mean(np.array(predictions) == CLASSES[codes]) > 0.8
    summary = json.loads(Path("words-oneof/summary.json").read_text())
    assert (summary["features"], summary["sparse_features"]) == ([], 40)
    assert "features that are not 0" in Path("words-oneof/report.html").read_text()


def test_commands_without_columns(run: Run, words: Path) -> None:
    """Inspect describes the matrix; options of columns, the labeling page and the server name the reason."""
    result = run("inspect", words)
    assert (result.code, "words.npz: 60 rows\n" in result.out) == (0, True)
    assert read_json(run, "inspect", words, "--labels", "candidates")["sparse_features"] == 40
    for option in (("--drop", "x0"), ("--stop-words", "english")):
        message = "which has no columns: remove --numeric"
        check_error(run, "fit", words, "--labels", "candidates", *option, message=message)
    check_error(run, "label", words, "--labels", "candidates", "--no-browser", message="no columns to show")
    assert run("fit", words, "--labels", "candidates", *QUICK, "--method", "PLEM").code == 0
    assert "40 of a sparse matrix" in run("inspect", "words-oneof/model.skops").out
    check_error(run, "serve", "words-oneof/model.skops", "--port", "0", message="the model has no columns")
    X, _, _ = make_sparse()
    write_sparse("narrow.npz", X[:, :7])
    Path("table.csv").write_text("a,b\n1,2\n")
    for name, message in (("narrow.npz", "fitted to 40 features; the matrix of narrow.npz has 7"),
                          ("table.csv", "without columns; table.csv has none")):  # fmt: skip
        check_error(run, "predict", "words-oneof/model.skops", name, message=message)


def test_an_infinite_number_of_a_matrix_is_named_by_its_row(run: Run) -> None:
    """Other faults of matrices are those of tests/datasets and tests/io."""
    X, _, _ = make_sparse()
    X.data[X.indptr[7]] = np.inf
    write_sparse("bad.npz", X)
    check_error(run, "inspect", "bad.npz", message="row 7: the array X_data must contain finite numbers")


@pytest.mark.long
def test_answers_of_an_archive(run: Run) -> None:
    """The answers of an archive are those of the same records; rows without an answer are unlabeled."""
    rng = np.random.default_rng(0)
    X, y, _ = make_sparse()
    codes = np.where(rng.random((50, 6)) < 0.8, y[:50, None], rng.integers(0, 3, (50, 6)))
    codes[rng.random(codes.shape) < 0.3] = -1
    names = np.array([11, 12, 13, 14, 15, 16])
    write_sparse("crowd.npz", X, y=y, classes=CLASSES, answers=codes, worker_id=names)
    prepared = prepare(Path("crowd.npz"), ReadOptions(truth="y", answers_file=Path("crowd.npz")))
    assert prepared.answers is not None
    table = np.full((N_ROWS, 6), None, dtype=object)
    table[:50] = np.where(codes >= 0, CLASSES[codes], None)
    expected = Answers.from_table(table, annotators=names.astype(str), classes=CLASSES)
    given = prepared.answers.answers
    one, other = given.to_codes(), expected.to_codes()
    np.testing.assert_array_equal(one.row, other.row)
    np.testing.assert_array_equal(given.annotators[one.annotator], expected.annotators[other.annotator])
    np.testing.assert_array_equal(one.sets[one.answer], other.sets[other.answer])
    assert prepared.candidates.is_unlabeled[50:].all()
    result = run.done("fit", "crowd.npz", "--answers", "crowd.npz", "--truth", "y", *QUICK)
    assert f"  labels    {given.n_answers} answers of 6 annotators in crowd.npz: " in result.err
    assert pl.read_csv("crowd-oneof/annotators.csv")["annotator"].to_list() == names.tolist()


def test_faults_of_answers(run: Run) -> None:
    X, _, _ = make_sparse()
    for arrays, message in (
        ({}, "the archive has no array 'answers'"),
        ({"answers": np.zeros((60, 2), dtype=int)}, "the archive has no array 'classes'"),
        ({"answers": np.zeros(60, dtype=int), "classes": CLASSES}, "have the shape (rows, annotators); got int64"),
        ({"answers": np.full((60, 2), 3), "classes": CLASSES}, "indices into the 3 classes"),
        (
            {"answers": np.zeros((61, 2), dtype=int), "classes": CLASSES},
            "row 60: the answers name rows such as '60', which crowd.npz does not",
        ),
        (
            {"answers": np.zeros((60, 2), dtype=int), "classes": CLASSES, "worker_id": np.array([1, 1])},
            "different names",
        ),
    ):
        write_sparse("crowd.npz", X, **arrays)
        check_error(run, "fit", "crowd.npz", "--answers", "crowd.npz", *QUICK, message=message)
