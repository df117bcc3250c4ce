"""Trials give the same records in any order, in any number of processes, and after a kill at any moment."""

import errno
import os
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from oneof.errors import DataError, InputError, InputTypeError, LostWorkersError
from reproduction import Record, Records, Store, Trial, get_experiment, pending, run
from reproduction.store import _decode
from tests.reproduction.toy import N_TRIALS, die, measure, outcome, plan


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Run all trials in this process without interruption."""
    with Store(tmp_path_factory.mktemp("store") / "records.jsonl", "toy") as store:
        return outcome(run(plan(), measure, store))


def read(path):
    with Store(path, "toy") as store:
        return store.records


def test_a_trial_is_its_content():
    """Equal settings give equal trials, keys and seeds; other settings give other ones."""
    trial = Trial.from_settings("toy", size=2, data="ecoli", lam=0.1)
    same = Trial.from_settings("toy", lam=0.1, data="ecoli", size=2)
    assert (trial, hash(trial), trial.key) == (same, hash(same), same.key)
    assert trial.generator().random() == same.generator().random()
    others = [
        Trial.from_settings("toy", size=2, data="ecoli", lam=0.2),
        Trial.from_settings("toys", size=2, data="ecoli", lam=0.1),
    ]
    assert len({trial.key, *(other.key for other in others)}) == 3
    assert all(trial.generator().random() != other.generator().random() for other in others)
    assert trial.generator("data", "size").random() == others[0].generator("size", "data").random()
    # The key of this trial must never change: stores of other machines and later versions contain it.
    assert Trial.from_settings("toy", draw=0).key == "371381d977f5050e78c4b72aa8d679be"


def test_settings_are_plain_data():
    with pytest.raises(InputTypeError, match="'size' must be text, a number, a bool or None; got int64"):
        Trial.from_settings("toy", size=np.int64(2))


@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 2])
def test_order_and_jobs_do_not_matter(tmp_path, uninterrupted, jobs):
    """Trials in another order and in other processes give the same records, in the order of the plan."""
    shuffled = [plan()[i] for i in np.random.default_rng(0).permutation(N_TRIALS)]
    with Store(tmp_path / "records.jsonl", "toy") as store:
        run(shuffled, measure, store, jobs=jobs)
        assert outcome(run(plan(), measure, store)) == uninterrupted


def test_a_failing_trial_is_recorded(tmp_path, uninterrupted):
    """Its record has the error in one line; the other trials run; it runs again only with `retry`."""
    failed = [error for _, _, error in uninterrupted if error is not None]
    assert failed == [f"ValueError: draw {draw} was not to be" for draw in (7, 17, 27, 37)]
    path, ran = tmp_path / "records.jsonl", []

    def succeed(trial):
        ran.append(trial["draw"])
        return {"value": 1.0}

    with Store(path, "toy") as store:
        assert len(run(plan(20), measure, store).failed) == 2
        assert len(run(plan(20), succeed, store).failed) == 2
        assert ran == []
        assert len(run(plan(20), succeed, store, retry=True).failed) == 0
        assert ran == [7, 17]
    assert [record.error for record in read(path).values()] == [None] * 20


def kill_until_done(path, uninterrupted, jobs, kills, seed):
    """Start and kill the program repeatedly; in the end the records are those of an uninterrupted run."""
    rng = np.random.default_rng(seed)
    command, n_held = [sys.executable, "-m", "tests.reproduction.toy", str(path), str(jobs)], 0
    killed = 0
    while killed < kills:
        program = subprocess.Popen(command)
        # Not before the first new record, so that every process is killed during its work.
        while program.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") <= n_held + 1):
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.15))
        program.kill()
        killed += program.wait() == -9
        complete = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        assert all(_decode(line) is not None for line in complete)
        n_held = len(complete) - 1
        if n_held == N_TRIALS:  # finished before the kill: the next process starts anew
            assert len(read(path)) == N_TRIALS
            path.unlink()
            n_held = 0
    assert subprocess.run(command, check=False).returncode == 0
    lines = path.read_bytes().splitlines()
    assert len(lines) == 1 + N_TRIALS
    records = read(path)
    assert outcome(records[trial.key] for trial in plan()) == uninterrupted


@pytest.mark.long
def test_survives_kills(tmp_path, uninterrupted):
    """A run that was killed three times at random moments has the same records, none lost and none doubled."""
    kill_until_done(tmp_path / "records.jsonl", uninterrupted, jobs=1, kills=3, seed=time.time_ns())


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_survives_many_kills(tmp_path, uninterrupted, jobs):
    kill_until_done(tmp_path / "records.jsonl", uninterrupted, jobs=jobs, kills=20, seed=time.time_ns())


def test_cut_at_every_byte(tmp_path, monkeypatch):
    """A store that was cut off anywhere keeps all complete records and can be appended to."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of waits for the disk would only slow the test down
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(3), measure, store)
    content, trials = path.read_bytes(), plan(3)
    ends = [i + 1 for i, byte in enumerate(content) if byte == 10]
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        assert list(read(path)) == [trial.key for trial in trials[: max(sum(end <= cut for end in ends) - 1, 0)]]
        assert path.read_bytes() == content[: max([end for end in ends if end <= cut], default=ends[0])]


def test_damage_before_the_end_is_an_error(tmp_path):
    """A changed byte before the last line is an error that names the line."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(3), measure, store)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"0.", b"1.", 1) + lines[2])
    with pytest.raises(DataError, match="line 2 is damaged"):
        read(path)


@pytest.mark.parametrize("content", [b"notes of mine", b'{"a": 1}\n', b"first\nsecond\nthird", b"00000000 {}\n", b"\n"])
def test_a_file_that_is_not_a_store_is_unchanged(tmp_path, content):
    """A file of the store's name that is not a store is an error, and keeps every byte."""
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is not a store that this version can read"):
        read(path)
    assert path.read_bytes() == content


def test_a_store_of_another_experiment_is_not_cut(tmp_path):
    """An incomplete last line of another experiment's store is not removed."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(2), measure, store)
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    with pytest.raises(DataError, match="has records of 'toy'"), Store(path, "other"):
        pass
    assert path.read_bytes() == torn


def test_a_full_disk_leaves_complete_lines(tmp_path, monkeypatch):
    """A line that did not fit is removed, so that the store can be appended to when there is space again."""
    path, write = tmp_path / "records.jsonl", os.write

    def full(file, line):
        write(file, line[: len(line) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with Store(path, "toy") as store:
        run(plan(2), measure, store)
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            run(plan(4), measure, store)
        monkeypatch.undo()
        run(plan(4), measure, store)
    assert path.read_bytes().count(b"\n") == 5
    assert list(read(path)) == [trial.key for trial in plan(4)]


def test_files_that_cannot_be_locked(tmp_path, monkeypatch):
    """Systems and network folders without locks give an error that does not mention another run."""
    path = tmp_path / "records.jsonl"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        with pytest.raises(DataError, match="On Windows, run them within WSL"):
            read(path)

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(DataError, match=r"cannot be locked \(No locks available\)"):
        read(path)


def test_records_have_the_version_that_measured(tmp_path):
    """Records keep the version that measured them; those of old stores have none."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        for trial, made_by in zip(plan(2), ("0.0.1", None), strict=True):
            store.append(Record(trial, {"value": 1.0}, version=made_by))
        run(plan(4), measure, store)
    with Store(path, "toy") as store:
        records = run(plan(4), measure, store)
    assert records.versions == {"0.0.1": 1, None: 1, version("oneof"): 2}


@pytest.mark.long
def test_a_dead_worker_ends_the_run(tmp_path):
    """The records of the other workers are kept, and the run continues from there."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store, pytest.raises(LostWorkersError, match="with fewer --jobs"):
        run(plan(6), die, store, jobs=2)
    with Store(path, "toy") as store:
        assert len(pending(plan(6), store)) == 6 - len(store.records)
        assert len(run(plan(6), measure, store)) == 6


@pytest.mark.slow
def test_a_process_that_joblib_replaces_does_not_stop_the_run(tmp_path):
    """The run ends even if warnings are errors: joblib warns in a thread that it needs to finish."""
    path = tmp_path / "records.jsonl"
    program = (
        "from tests.reproduction.toy import Path, Store, plan, read_much, run\n"
        f"with Store(Path({str(path)!r}), 'toy') as store:\n"
        "    run(plan(6), read_much, store, jobs=2)\n"
    )
    command = [sys.executable, "-W", "error::UserWarning", "-c", program]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    records = read(path).values()
    assert len(records) == 6
    assert len({record.result["process"] for record in records}) > 2  # otherwise no process was replaced


def test_a_store_is_of_one_experiment_and_one_run(tmp_path):
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(1), measure, store)
        with pytest.raises(DataError, match="in use by another run"), Store(path, "toy"):
            pass
        with pytest.raises(DataError, match="already has a result of this trial"):
            store.append(store.records[plan(1)[0].key])
    with pytest.raises(DataError, match="has records of 'toy'"), Store(path, "other"):
        pass


def test_bad_plans(tmp_path):
    with Store(tmp_path / "records.jsonl", "toy") as store:
        with pytest.raises(InputError, match="must be distinct"):
            run([*plan(2), *plan(1)], measure, store)
        with pytest.raises(InputError, match="`jobs` must be"):
            run(plan(2), measure, store, jobs=0)


def test_progress(tmp_path):
    """Progress counts the pending trials, not those of a former run."""
    calls = []
    with Store(tmp_path / "records.jsonl", "toy") as store:
        run(plan(3), measure, store)
        run(plan(6), measure, store, progress=lambda done, total, _: calls.append((done, total)))
    assert calls == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_records_are_paired(tmp_path):
    """Values of one setting are in the order of the plan, without the failed trials."""
    with Store(tmp_path / "records.jsonl", "toy") as store:
        records = run(plan(10), measure, store)
    assert isinstance(records, Records)
    assert records.unique_values("name") == ["é0", "é1", "é2"]
    values = records.values("value", name="é1")
    assert values.tolist() == [records[i].result["value"] for i in (1, 4)]
    assert records.values("curve").shape == (9, 20)
    with pytest.raises(InputError, match="no 'mean'"):
        records.values("mean")


@pytest.mark.parametrize("name", ["plgp-controlled", "plgp-real", "plsvm-alone"])
def test_published_records_belong_to_the_plan(tmp_path, name):
    """Today's trials recognize all records in docs/reproduction/records: none of them has to be measured again."""
    path = Path(__file__).parents[2] / "docs" / "reproduction" / "records" / name / "records.jsonl"
    trials = {trial.key for trial in get_experiment(name).full}
    with Store(Path(shutil.copy(path, tmp_path)), name) as store:
        assert store.records
        assert set(store.records) <= trials


def test_published_seeds():
    """The seeds of published draws have not changed: their random numbers are those of the first version."""
    trial = next(iter(get_experiment("text-em").full))
    assert trial.generator("draw", "labeled").integers(2**31) == 2075425310
    trial = next(iter(get_experiment("plgp-controlled").full))
    assert trial.generator("data", "share", "extra", "repeat").integers(2**31) == 679717784
