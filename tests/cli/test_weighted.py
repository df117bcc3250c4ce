"""Weighted labels on the command line: `--weighted`, `--weights`, `--kind` and `--rest`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from oneof import AvgPegasos, CandidateSets, persistence
from oneof.io import Column, align_columns
from oneof.stream.encoder import StreamEncoder
from tests.cli.conftest import QUICK, Run, make_birds

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
    result = run.done("fit", *words, "--out", out, "--json")
    return persistence.load(Path(out, "model.skops")).pipeline[-1], json.loads(result.out)


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


def test_an_online_fit_equals_partial_fit(run: Run, weighted: Path) -> None:
    """The weights of the classes reach the online learner, in any number of batches."""
    words = (weighted, "--labels", "species", "--drop", "truth", "--online", "--method", "AvgPegasos", *LIKELIHOOD)
    model, summary = fitted(run, *words, "--batch-rows", "20")
    y = CandidateSets.from_strings(to_texts(make_weights()), weighted=True)
    saved = persistence.load(Path("out/model.skops"))
    frame = align_columns(numbers_only(), [Column(*column) for column in saved.columns], weighted)
    encoder, peer = StreamEncoder([tuple(column) for column in saved.columns]), AvgPegasos(**model.get_params())
    for first in (0, 20, 40):
        encoder, rows = encoder.partial_fit_transform(frame[first : first + 20])
        peer.partial_fit(rows, y[first : first + 20])
    np.testing.assert_array_equal(model.coef_, peer.coef_)
    assert (summary["weighted"], summary["exact"]) == (int(y.is_weighted.sum()), int(y.is_exact.sum()))


def test_posteriors_of_a_stream_are_divided_by_their_mean(run: Run, weighted: Path) -> None:
    """The prior is the mean over all rows with weights, as in a table; a stream that is read once is an error."""
    words = ("--labels", "species", "--drop", "truth", "--online", *POSTERIOR)
    fitted(run, weighted, *words, "--batch-rows", "7")
    texts = to_texts(make_weights())
    posterior = make_weights()[["1" in text or "0." in text for text in texts]]
    prior = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
    saved = persistence.load(Path("out/model.skops"))
    np.testing.assert_allclose(saved.summary["weights"]["prior"], prior)
    facts = json.loads(run("predict", "out/model.skops", weighted, "--json").out)
    labels = pl.read_csv("birds-predictions.csv")["label"]
    y = CandidateSets.from_strings(texts, weighted=True, kind="posterior")
    covered = y.weights[np.arange(60), [NAMES.index(label) for label in labels]][~y.is_unlabeled]
    assert facts["covering_rate"] == pytest.approx(covered.mean())
    result = run("fit", "-", "--format", "csv", *words)
    assert (result.code, "standard input can be read only once" in result.err) == (2, True)


def test_predict_scores_weighted_labels(run: Run, weighted: Path) -> None:
    """The covering rate is the mean weight of the predictions over the informative rows."""
    fitted(run, weighted, "--labels", "species", "--truth", "truth", *LIKELIHOOD, *QUICK)
    facts = json.loads(run("predict", "out/model.skops", weighted, "--truth", "truth", "--json").out)
    predicted = [NAMES.index(label) for label in pl.read_csv("birds-predictions.csv")["label"]]
    y = CandidateSets.from_strings(to_texts(make_weights()), weighted=True)
    assert facts["covering_rate"] == pytest.approx(y.weights[np.arange(60), predicted][~y.is_unlabeled].mean())


def test_predicted_probabilities_are_read_back_as_posteriors(run: Run, weighted: Path) -> None:
    """The column of --as-labels has the probabilities; a method with scores has none to write."""
    words = (weighted, "--labels", "species", "--truth", "truth", *LIKELIHOOD)
    fitted(run, *words, "--method", "PLKNN", "--folds", "2")
    result = run.done("predict", "out/model.skops", weighted, "--as-labels")
    predictions = pl.read_csv("birds-predictions.csv")
    proba = predictions.select(f"probability:{name}" for name in NAMES).to_numpy()
    texts = predictions["labels"].to_list()
    y = CandidateSets.from_strings(texts, weighted=True, kind="posterior", classes=NAMES)
    np.testing.assert_allclose(y.weights, CandidateSets.from_weights(proba, NAMES, kind="posterior").weights, rtol=1e-4)
    numbers_only().with_columns(labels=predictions["labels"]).write_csv("again.csv")
    fitted(run, "again.csv", "--labels", "labels", "--drop", "truth", *POSTERIOR, *QUICK, out="again")
    fitted(run, *words, *QUICK, out="scores")
    result = run("predict", "scores/model.skops", weighted, "--as-labels", "--out", "none.csv")
    assert (result.code, Path("none.csv").exists()) == (2, False)
    assert "needs probabilities" in result.err


def test_the_kind_is_no_silent_choice(run: Run, weighted: Path) -> None:
    """Without --kind a note says that the weights are read as likelihoods."""
    words = ("fit", weighted, "--labels", "species", "--drop", "truth", *QUICK)
    result = run.done(*words, "--weighted")
    assert "Note: the weights are read as likelihoods" in result.err
    assert "likelihoods" not in run(*words, *LIKELIHOOD).err


@pytest.mark.parametrize("online", [(), ("--online",)])
@pytest.mark.parametrize(
    ("cells", "options", "message"),
    [
        (["finch:0.7|wren:0.3", "finch:0.6|wren:0.4", "owl:1"], (), "such as 'finch:0.6'. Add --weighted"),
        (["finch:0.7|wren:0.3", "", "finch:-0.7"], LIKELIHOOD, "row 2: the weight of 'finch' must be"),
        (["finch:0.7|wren:0.3", "owl:1"], (*LIKELIHOOD, "--classes", "finch,wren"), "row 1: label 'owl'"),
        (["finch|wren", "wren"], ("--kind", "posterior"), "--kind needs weighted labels"),
        (["finch|wren", "wren"], ("--rest", "auto"), "--rest needs weighted labels"),
        (["finch|wren", "wren"], ("--weighted", "--kind", "prior"), "got 'prior'"),
        (["finch|wren", "wren"], ("--weights", "none", "--kind", "likelihood"), "'none'"),
    ],
)  # fmt: skip
def test_bad_weights_are_errors(
    run: Run, cells: list[str], options: tuple[str, ...], message: str, online: tuple[str, ...]
) -> None:
    """The error names the row and its text, and nothing is written."""
    n = len(cells)
    frame = pl.DataFrame({"x": [float(i) + 0.5 for i in range(n)], "z": [float(i % 2) for i in range(n)]})
    frame.with_columns(species=pl.Series(cells)).write_csv("birds.csv")
    before = sorted(Path.cwd().rglob("*"))
    result = run("fit", "birds.csv", "--labels", "species", *options, *online)
    assert result.code == 2
    assert message in " ".join(result.err.split())
    assert sorted(Path.cwd().rglob("*")) == before


def test_svmlight_files_have_no_weights(run: Run) -> None:
    """A weight cannot be distinguished from a feature there."""
    Path("t.svm").write_text("3:0.7 1:0.5\n")
    result = run("fit", "t.svm", "--online", *LIKELIHOOD)
    assert (result.code, "svmlight files have no weights" in result.err) == (2, True)
