"""The warning about the order of rows: for labels in runs, and never for rows in random order."""

import re

import numpy as np
import pytest

from oneof import MaxPerceptron
from oneof.stream import CheckpointConfig, ProgressiveValidation, StreamOptions, fit_stream
from oneof.stream.validation import LabelAutocorrelation
from tests.stream.conftest import make_numbers

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


@pytest.mark.parametrize("in_runs", [True, False])
def test_a_resumed_run_has_the_same_warning(tmp_path, in_runs):
    """The warning does not depend on the batches, also if a batch ends within a run; only the first epoch counts."""
    frame = make_numbers()
    (frame.sort("label") if in_runs else frame).write_csv(tmp_path / "t.csv")
    options = StreamOptions(("label",), batch_rows=90, n_epochs=2)
    uninterrupted = fit_stream(tmp_path / "t.csv", MaxPerceptron(), options)
    saved = CheckpointConfig(tmp_path / "c.npz", resume=True)

    def stop(validation, _):
        if validation.total.rows == 270:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_stream(tmp_path / "t.csv", MaxPerceptron(), options, checkpoints=saved, callback=stop)
    resumed = fit_stream(tmp_path / "t.csv", MaxPerceptron(), options, checkpoints=saved)
    assert resumed.resumed_at == 270
    assert resumed.validation.autocorrelation == uninterrupted.validation.autocorrelation
    assert resumed.notes == uninterrupted.notes
    assert len(uninterrupted.notes) == in_runs
    assert uninterrupted.validation.autocorrelation.n_labeled == 700
