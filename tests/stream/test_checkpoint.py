"""A run that is killed and resumed ends, bit by bit, like an uninterrupted one; invalid checkpoints are errors."""

import io
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from oneof import AvgPegasos, MaxPegasos, persistence
from oneof.archives import read_arrays
from oneof.errors import DataError, WriteError
from oneof.io import Overrides
from oneof.stream import CheckpointConfig, StreamOptions, checkpoint, fit_stream
from tests.stream.bits import assert_same_bits
from tests.stream.conftest import make_frame, make_weighted

OPTIONS = StreamOptions(("species",), batch_rows=100, hash_bits=8, n_epochs=2)
ESTIMATOR = AvgPegasos(average=True, fit_intercept=True)


class _Stop(BaseException):
    """An exception that the code does not handle."""


def _stop_after(n_batches, error=KeyboardInterrupt):
    """Return a callback that raises after a number of batches."""
    batches = []

    def callback(*_):
        batches.append(1)
        if len(batches) == n_batches:
            raise error

    return callback


def _interrupt_and_resume(path, options, saved, n_batches):
    """Return an uninterrupted fit, and one that was interrupted after a number of batches and resumed."""
    unbroken = fit_stream(path, ESTIMATOR, options)
    with pytest.raises(KeyboardInterrupt):
        fit_stream(path, ESTIMATOR, options, checkpoints=CheckpointConfig(saved), callback=_stop_after(n_batches))
    fit = _resume(path, saved, options=options)
    assert_same_bits(fit, unbroken)
    assert (fit.resumed_at > 0, unbroken.resumed_at) == (True, None)
    return unbroken, fit


@pytest.mark.long
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.parquet", "t.arrow", "parts"])
@pytest.mark.parametrize("n_batches", [1, 5, 8, 13])
def test_an_interrupted_run_resumes_bit_by_bit(files, tmp_path, name, n_batches):
    """Ctrl-C after any batch, in any epoch, leaves a checkpoint; the resumed run equals an uninterrupted one."""
    unbroken, fit = _interrupt_and_resume(files[name], OPTIONS, tmp_path / "checkpoint.npz", n_batches)
    for part in ("count", "mean", "sum_of_squares"):
        assert np.array_equal(getattr(fit.model[0].moments_, part), getattr(unbroken.model[0].moments_, part))
    progress, expected = fit.validation, unbroken.validation
    assert (fit.notes, progress.autocorrelation) == (unbroken.notes, expected.autocorrelation)
    assert [(w.rows, w.mistakes, w.model_mistakes) for w in progress.windows] == [
        (w.rows, w.mistakes, w.model_mistakes) for w in expected.windows
    ]


@pytest.mark.filterwarnings("ignore:the probabilities of some rows have a sum above 1:UserWarning")
@pytest.mark.parametrize("kind", ["likelihood", "posterior"])
def test_a_run_on_weights_resumes_bit_by_bit(tmp_path, kind):
    """Weights, their prior and the statistics of the labels continue as in an uninterrupted run."""
    path, saved = tmp_path / "t.csv", tmp_path / "checkpoint.npz"
    make_weighted().write_csv(path)
    options = StreamOptions(("species",), batch_rows=100, hash_bits=8, n_epochs=2, weighted=True, kind=kind)
    unbroken, fit = _interrupt_and_resume(path, options, saved, 3)
    assert fit.prior == unbroken.prior
    assert (fit.prior is None) == (kind == "likelihood")
    assert fit.validation.autocorrelation == unbroken.validation.autocorrelation
    assert (fit.validation.weighted, fit.validation.exact) == (unbroken.validation.weighted, unbroken.validation.exact)
    assert fit.validation.weighted > 0
    with pytest.raises(DataError, match="was written with the option weighted True; got False"):
        _resume(path, saved)


def test_checkpoints_are_written_at_an_interval_of_rows(files, tmp_path):
    """A checkpoint is written at the first end of a batch after that number of rows, and not at the end of the run."""
    saved = tmp_path / "checkpoint.npz"
    for every, rows in ((250, 300), (100, 500), (500, 500)):
        checkpoints = CheckpointConfig(saved, every_rows=every, every_seconds=None)
        with pytest.raises(_Stop):
            fit_stream(files["t.csv"], ESTIMATOR, OPTIONS, checkpoints=checkpoints, callback=_stop_after(6, _Stop))
        assert json.loads(read_arrays(saved)["header"].tobytes())["run"]["total_rows"] == rows
        saved.unlink()
    fit_stream(files["t.csv"], ESTIMATOR, OPTIONS, checkpoints=CheckpointConfig(saved, every_seconds=None))
    fit_stream(files["t.csv"], ESTIMATOR, OPTIONS, checkpoints=CheckpointConfig(saved, every_seconds=1e9))
    assert not saved.exists()
    fit_stream(files["t.csv"], ESTIMATOR, OPTIONS, checkpoints=CheckpointConfig(saved, every_seconds=1e-9))
    assert saved.exists()


def test_a_checkpoint_that_cannot_be_written_leaves_no_folder(files, tmp_path, monkeypatch):
    """New parent folders of the checkpoint are removed; folders in use remain."""

    def fail(*_, **__):
        (tmp_path / "used" / "by others").mkdir(parents=True)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.np, "savez", fail)
    saved = CheckpointConfig(tmp_path / "used/new/newer/c.npz", every_rows=1)
    with pytest.raises(WriteError, match=r"c.npz cannot be written \(No space left"):
        fit_stream(files["t.csv"], ESTIMATOR, OPTIONS, checkpoints=saved)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["by others", "used"]


@pytest.fixture
def left(tmp_path):
    """Leave a checkpoint of a run on a small table; return the table and the checkpoint."""
    path, saved = tmp_path / "t.csv", tmp_path / "checkpoint.npz"
    make_frame(300).write_csv(path)
    with pytest.raises(KeyboardInterrupt):
        fit_stream(path, ESTIMATOR, OPTIONS, checkpoints=CheckpointConfig(saved), callback=_stop_after(2))
    return path, saved


def _resume(path, saved, estimator=ESTIMATOR, options=OPTIONS):
    return fit_stream(path, estimator, options, checkpoints=CheckpointConfig(saved, resume=True))


def test_other_streams_and_options_are_errors(left, tmp_path):
    """The error names the difference; nothing is learned, and the checkpoint is unchanged."""
    path, saved = left
    before = saved.read_bytes()
    with pytest.raises(DataError, match=r"of an unfinished run[.] Continue with --resume, or start again"):
        fit_stream(path, ESTIMATOR, OPTIONS, checkpoints=CheckpointConfig(saved))
    cases = [
        (path, MaxPegasos(average=True), OPTIONS, "with the method 'AvgPegasos'; got 'MaxPegasos'"),
        (path, AvgPegasos(lam=0.1, average=True, fit_intercept=True), OPTIONS, "parameter lam '0.0001'"),
        (path, ESTIMATOR, StreamOptions(("species",), batch_rows=99, hash_bits=8, n_epochs=2), "batch_rows 100"),
        (path, ESTIMATOR, StreamOptions(("species",), batch_rows=100, hash_bits=8), "option n_epochs 2"),
        (
            path,
            ESTIMATOR,
            StreamOptions(("species",), overrides=Overrides(drop=("mass",)), batch_rows=100, hash_bits=8, n_epochs=2),
            "option overrides",
        ),
    ]
    make_frame(300).write_csv(tmp_path / "u.csv")
    cases.append((tmp_path / "u.csv", ESTIMATOR, OPTIONS, "was written with the source"))
    for source, estimator, options, message in cases:
        with pytest.raises(DataError, match=message):
            _resume(source, saved, estimator, options)
    facts = path.stat()
    cell = path.read_bytes()
    path.write_bytes(cell.replace(b"red", b"dew", 1))  # as long as before, and as old
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(DataError, match=r"t.csv has changed since .* was written"):
        _resume(path, saved)
    path.write_bytes(cell + b"1,2,red,again,owl\n")
    with pytest.raises(DataError, match=r"t.csv has changed since"):
        _resume(path, saved)
    assert saved.read_bytes() == before


def test_damaged_checkpoints_are_errors(left):
    """A truncated checkpoint, or one with a changed byte of content, is never resumed."""
    path, saved = left
    full = saved.read_bytes()
    rng = random.Random(0)
    for cut in (0, 1, len(full) // 2, len(full) - 1):
        saved.write_bytes(full[:cut])
        with pytest.raises(DataError, match=r"is damaged, or is not a checkpoint of oneof. Start again with --restart"):
            _resume(path, saved)
    with np.load(io.BytesIO(full)) as stored:
        arrays = dict(stored)
    for name in [name for name, array in arrays.items() if array.dtype.kind == "f"]:
        np.savez(saved, **arrays | {name: np.zeros(7)})
        with pytest.raises(DataError):
            _resume(path, saved)
    reference = _resume_from(path, saved, full)
    n_errors = 0
    for _ in range(60):
        index = rng.randrange(len(full))
        saved.write_bytes(full[:index] + bytes([full[index] ^ 64]) + full[index + 1 :])
        try:
            fit = _resume(path, saved)
        except DataError:
            n_errors += 1
        else:  # a byte without influence, such as a date
            assert_same_bits(fit, reference)
    assert n_errors > 40
    np.savez(saved, header=np.frombuffer(b'{"format": "other"}', dtype=np.uint8))
    with pytest.raises(DataError, match="not a checkpoint of oneof"):
        _resume(path, saved)
    np.savez(saved, header=np.array([{"a": 1}], dtype=object))  # a pickle
    with pytest.raises(DataError, match="not a checkpoint of oneof"):
        _resume(path, saved)


def _resume_from(path, saved, content):
    saved.write_bytes(content)
    return _resume(path, saved)


@pytest.mark.slow
def test_standard_input_must_begin_as_before(tmp_path):
    """An equal pipe is skipped up to the checkpoint; a pipe that differs before it is an error."""
    code = """
import sys
from oneof import AvgPegasos
from oneof.errors import OneofError
from oneof.stream import CheckpointConfig, StreamOptions, fit_stream, open_source
def callback(validation, fraction):
    if sys.argv[2] == "stop" and validation.total.rows == 200: raise KeyboardInterrupt
try:
    fit = fit_stream(open_source("-", "csv"), AvgPegasos(), StreamOptions(("species",), batch_rows=100, hash_bits=4),
                     checkpoints=CheckpointConfig(sys.argv[1], resume=True), callback=callback)
    print(fit.model[-1].coef_.tobytes().hex(), fit.resumed_at)
except OneofError as error:
    print(error)
except KeyboardInterrupt:
    print("stopped")
"""
    text = make_frame(300).write_csv().encode()

    def pipe(content, what):
        words = [sys.executable, "-c", code, str(tmp_path / "kept.npz"), what]
        return subprocess.run(words, input=content, capture_output=True, check=True).stdout.decode().strip()

    full = pipe(text, "go on").split()[0]
    assert pipe(text, "stop") == "stopped"
    assert "does not begin with the" in pipe(text.replace(b"red", b"dew", 1), "go on")
    assert "does not begin with the" in pipe(text[:500], "go on")
    assert pipe(text, "go on") == f"{full} 200"


COMMAND = (sys.executable, "-m", "oneof.cli", "fit", "t.csv", "--labels", "species", "--online", "--hash-bits", "8")
EVERY = ("--batch-rows", "100", "--checkpoint-rows", "200", "--method", "AvgPegasos", "--epochs", "2")


def _bits(folder):
    learner = persistence.load(folder / "model.skops").pipeline[-1]
    return learner._state.V.tobytes(), learner._state.U.tobytes(), learner.coef_.tobytes()


def stop_repeatedly(folder, signals, seed):
    """Send signals at random times after a checkpoint; the last run has the same bits. Return the messages."""
    make_frame(3000 * min(len(signals), 4)).write_csv(folder / "t.csv")
    words = [*COMMAND, *EVERY, "--out", "out", "--resume"]
    unbroken = fit_stream(
        folder / "t.csv", ESTIMATOR, StreamOptions(("species",), batch_rows=100, hash_bits=8, n_epochs=2)
    )
    rng, messages, saved = random.Random(seed), [], folder / "out" / "checkpoint.npz"
    for sent in signals:
        before = saved.stat().st_mtime_ns if saved.exists() else 0
        child = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while child.poll() is None and (saved.stat().st_mtime_ns if saved.exists() else 0) == before:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.8 / len(signals)))
        child.send_signal(sent)
        messages.append(child.communicate()[1].decode())
        ended = -signal.SIGKILL if sent == signal.SIGKILL else 130
        assert child.returncode == ended, "it ended before it could be stopped"
    done = subprocess.run(words, cwd=folder, capture_output=True, check=True)
    assert b"resumed after" in done.stdout
    assert json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))["resumed_at"] > 0
    learner = unbroken.model[-1]
    assert _bits(folder / "out") == (learner._state.V.tobytes(), learner._state.U.tobytes(), learner.coef_.tobytes())
    assert sorted(file.name for file in (folder / "out").iterdir() if not file.name.startswith(".")) == [
        "curve.csv",
        "model.skops",
        "summary.json",
    ]
    return messages


@pytest.mark.slow
def test_a_stopped_run_resumes_bit_by_bit(tmp_path):
    """Interrupted by Ctrl-C, which prints how to continue, then killed, it ends with the weights of a full run."""
    messages, _ = stop_repeatedly(tmp_path, [signal.SIGINT, signal.SIGKILL], seed=time.time_ns() % 1000)
    assert "continue with: oneof fit t.csv --labels species --online" in messages
    assert "--out out --resume" in messages


@pytest.mark.slow
def test_a_run_killed_twenty_times_resumes_bit_by_bit(tmp_path):
    """A run that is killed at twenty random times, also while a checkpoint is written, ends with the same weights."""
    stop_repeatedly(tmp_path, [signal.SIGKILL] * 20, seed=1)
