"""When the order of the rows is told: labels in runs are, and rows in random order are not."""

import json
import re
from dataclasses import asdict

import numpy as np
import pytest

from oneof import MaxPerceptron
from oneof.stream import CheckpointConfig, StreamOptions, Validation, fit_stream
from oneof.stream.runs import Runs, from_facts
from tests.stream.conftest import make_numbers

SHARES = {"two": [0.5, 0.5], "rare": [0.97, 0.03], "three": [0.6, 0.3, 0.1], "forty": [1 / 40] * 40}


def _mask(codes, n_classes, size=1, rng=None):
    """Return the sets of the codes with others beside, drawn at random; every fifth row has no label."""
    keys = np.zeros((len(codes), n_classes)) if rng is None else rng.random((len(codes), n_classes))
    keys[np.arange(len(codes)), codes] = -1
    mask = np.zeros(keys.shape, dtype=bool)
    np.put_along_axis(mask, np.argsort(keys, axis=1)[:, :size], values=True, axis=1)
    mask[::5] = True
    return mask


def _chain(rng, n, shares, persistence):
    """Return codes that stay with this probability, and are drawn anew otherwise."""
    codes = rng.choice(len(shares), n, p=shares)
    for i in np.flatnonzero(rng.random(n) < persistence):
        codes[i] = codes[i - 1] if i else codes[i]
    return codes


@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("n", [60, 1000])
def test_random_order_is_not_told(name, n):
    """In 200 draws of each kind not once, nor where runs are a little longer than chance makes them."""
    rng, shares = np.random.default_rng(0), SHARES[name]
    for _ in range(200):
        assert Runs().after(_mask(rng.choice(len(shares), n, p=shares), len(shares))).note() is None
    assert Runs().after(_mask(_chain(rng, 20 * n, shares, 0.15), len(shares))).note() is None


@pytest.mark.parametrize("name", SHARES)
def test_runs_are_told(name):
    """With how much longer they are than in random order: a chain that stays half the time makes them twice as long."""
    rng, shares = np.random.default_rng(0), SHARES[name]
    note = Runs().after(np.eye(len(shares), dtype=bool)[_chain(rng, 50_000, shares, 0.5)]).note()
    assert float(re.search(r"labels come in runs, (.*) times as long", note)[1]) == pytest.approx(2, abs=0.11)
    codes = np.sort(rng.choice(len(shares), 20_000, p=shares))
    assert "labels come in runs, over 100 times as long" in Runs().after(_mask(codes, len(shares))).note()


@pytest.mark.parametrize(("n_classes", "size"), [(3, 2), (5, 3), (10, 4)])
def test_sets_in_runs_are_told(n_classes, size):
    """Sorted rows are, although false candidates differ from row to row; in random order they are not."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, 5000)
    assert "labels come in runs" in Runs().after(_mask(np.sort(codes), n_classes, size, rng)).note()
    assert Runs().after(_mask(codes, n_classes, size, rng)).note() is None


def test_the_mean_over_all_orders_is_that_of_the_sums():
    """What random order would give is the agreement of all pairs of rows, and batches make no difference."""
    rng = np.random.default_rng(0)
    mask = _mask(rng.integers(0, 4, 60), 4, 2, rng)
    told = mask[~mask.all(axis=1)]
    runs = Runs()
    for part in np.array_split(mask, 7):
        runs = from_facts(json.loads(json.dumps(asdict(runs.after(part)))))
    weights = told / told.sum(axis=1, keepdims=True)
    pairs = weights @ weights.T
    assert runs.told == len(told)
    assert runs.agreed == pytest.approx(np.trace(pairs, 1))
    assert runs.alone == pytest.approx(np.trace(pairs))
    assert sum(share**2 for share in runs.shares) - runs.alone == pytest.approx(pairs.sum() - np.trace(pairs))


def test_what_says_nothing_is_no_run():
    """No rows, one class of which few others are, and sets that are all the same."""
    assert Validation().runs.note() is None
    assert Runs().after(_mask(np.sort(np.arange(900) // 890), 2)).note() is None
    assert Runs().after(np.tile([True, True, False], (900, 1))).note() is None
    assert Runs().after(np.ones((900, 3), dtype=bool)) == Runs()


@pytest.mark.parametrize("in_runs", [True, False])
def test_a_run_that_was_stopped_notes_the_same(tmp_path, in_runs):
    """At any batch, also where a batch ends within a run; the epochs behind the first do not count."""
    frame = make_numbers()
    (frame.sort("label") if in_runs else frame).write_csv(tmp_path / "t.csv")
    options = StreamOptions(("label",), batch_rows=90, n_epochs=2)
    unbroken = fit_stream(tmp_path / "t.csv", MaxPerceptron(), options)
    kept = CheckpointConfig(tmp_path / "c.npz", resume=True)

    def stop(validation, _):
        if validation.total.rows == 270:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_stream(tmp_path / "t.csv", MaxPerceptron(), options, checkpoints=kept, watch=stop)
    resumed = fit_stream(tmp_path / "t.csv", MaxPerceptron(), options, checkpoints=kept)
    assert resumed.resumed_at == 270
    assert resumed.validation.runs == unbroken.validation.runs
    assert resumed.notes == unbroken.notes
    assert len(unbroken.notes) == in_runs
    assert unbroken.validation.runs.told == 700
