"""Trials give the same records in any order, in any number of processes, and after any death."""

import errno
import os
import subprocess
import sys
import time
from importlib.metadata import version

import numpy as np
import pytest
from reproduction.store import _decode

from oneof.errors import DataError, InputError, InputTypeError, LostWorkersError
from reproduction import Record, Records, Store, Trial, left_of, run
from tests.reproduction.work import N_TRIALS, die, measure, outcome, plan


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Run all trials at one go in this process."""
    with Store(tmp_path_factory.mktemp("store") / "records.jsonl", "toy") as store:
        return outcome(run(plan(), measure, store))


def read(path):
    with Store(path, "toy") as store:
        return store.records


def test_a_trial_is_its_content():
    """Equal settings make equal trials, keys and seeds; any other setting makes others."""
    trial = Trial.of("toy", size=2, data="ecoli", lam=0.1)
    same = Trial.of("toy", lam=0.1, data="ecoli", size=2)
    assert (trial, hash(trial), trial.key) == (same, hash(same), same.key)
    assert trial.generator().random() == same.generator().random()
    others = [Trial.of("toy", size=2, data="ecoli", lam=0.2), Trial.of("toys", size=2, data="ecoli", lam=0.1)]
    assert len({trial.key, *(other.key for other in others)}) == 3
    assert all(trial.generator().random() != other.generator().random() for other in others)
    assert trial.generator("data", "size").random() == others[0].generator("size", "data").random()
    # The key of this trial, once and for all: stores of other machines and later versions hold it.
    assert Trial.of("toy", draw=0).key == "371381d977f5050e78c4b72aa8d679be"


def test_settings_are_plain_data():
    with pytest.raises(InputTypeError, match="'size' is int64"):
        Trial.of("toy", size=np.int64(2))


@pytest.mark.parametrize("jobs", [1, 2])
def test_order_and_jobs_do_not_matter(tmp_path, undisturbed, jobs):
    """Trials in another order and in other processes give the same records, in the order of the plan."""
    shuffled = [plan()[i] for i in np.random.default_rng(0).permutation(N_TRIALS)]
    with Store(tmp_path / "records.jsonl", "toy") as store:
        run(shuffled, measure, store, jobs=jobs)
        assert outcome(run(plan(), measure, store)) == undisturbed


def test_a_failing_trial_is_recorded(tmp_path, undisturbed):
    """Its error stands in its record, in one line; the others run; it runs again only if that is asked for."""
    failed = [error for _, _, error in undisturbed if error is not None]
    assert failed == [f"ValueError: draw {draw} was not to be" for draw in (7, 17, 27, 37)]
    path, ran = tmp_path / "records.jsonl", []

    def now_it_works(trial):
        ran.append(trial["draw"])
        return {"value": 1.0}

    with Store(path, "toy") as store:
        assert len(run(plan(20), measure, store).failed) == 2
        assert len(run(plan(20), now_it_works, store).failed) == 2
        assert ran == []
        assert len(run(plan(20), now_it_works, store, retry=True).failed) == 0
        assert ran == [7, 17]
    assert [record.error for record in read(path).values()] == [None] * 20


def kill_until_done(path, undisturbed, jobs, kills, seed):
    """Start the program and kill it, again and again; at the end the records are those of a quiet run."""
    random = np.random.default_rng(seed)
    command, held = [sys.executable, "-m", "tests.reproduction.work", str(path), str(jobs)], 0
    killed = 0
    while killed < kills:
        program = subprocess.Popen(command)
        # Not before the first new record, so that every life is cut short in the midst of its work.
        while program.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") <= held + 1):
            time.sleep(0.005)
        time.sleep(random.uniform(0.0, 0.15))
        program.kill()
        killed += program.wait() == -9
        whole = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        assert all(_decode(line) is not None for line in whole)
        held = len(whole) - 1
        if held == N_TRIALS:  # it was too quick: what is there is right, and the next life begins from nothing
            assert len(read(path)) == N_TRIALS
            path.unlink()
            held = 0
    assert subprocess.run(command, check=False).returncode == 0
    lines = path.read_bytes().splitlines()
    assert len(lines) == 1 + N_TRIALS
    records = read(path)
    assert outcome(records[trial.key] for trial in plan()) == undisturbed


def test_survives_kills(tmp_path, undisturbed):
    """Killed three times at random moments and resumed: the same records, none lost and none doubled."""
    kill_until_done(tmp_path / "records.jsonl", undisturbed, jobs=1, kills=3, seed=time.time_ns())


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_survives_many_kills(tmp_path, undisturbed, jobs):
    kill_until_done(tmp_path / "records.jsonl", undisturbed, jobs=jobs, kills=20, seed=time.time_ns())


def test_cut_at_every_byte(tmp_path, monkeypatch):
    """Of a store that was cut off anywhere, all whole records are there, and what follows can be written."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # hundreds of waits for the disk show nothing here
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(3), measure, store)
    content, trials = path.read_bytes(), plan(3)
    ends = [i + 1 for i, byte in enumerate(content) if byte == 10]
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        assert list(read(path)) == [trial.key for trial in trials[: max(sum(end <= cut for end in ends) - 1, 0)]]
        assert path.read_bytes() == content[: max([end for end in ends if end <= cut], default=ends[0])]


def test_damage_elsewhere_is_told(tmp_path):
    """A changed byte in the midst is no end that was torn off: the line is named."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(3), measure, store)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"0.", b"1.", 1) + lines[2])
    with pytest.raises(DataError, match="line 2 is damaged"):
        read(path)


@pytest.mark.parametrize("content", [b"notes of mine", b'{"a": 1}\n', b"first\nsecond\nthird", b"00000000 {}\n", b"\n"])
def test_a_foreign_file_is_left_alone(tmp_path, content):
    """A file of the store's name that someone else wrote is an error, and keeps every byte."""
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match="is no store that this version reads"):
        read(path)
    assert path.read_bytes() == content


def test_of_another_experiment_nothing_is_cut_off(tmp_path):
    """Nor is a torn end taken from the records of another experiment."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(2), measure, store)
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    with pytest.raises(DataError, match="holds records of 'toy'"), Store(path, "other"):
        pass
    assert path.read_bytes() == torn


def test_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    """Of a line that did not fit nothing stays, so that the store can be written on when there is room again."""
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


def test_where_files_cannot_be_locked(tmp_path, monkeypatch):
    """Other systems, and network folders without locks, are sentences; neither is said to be another run."""
    path = tmp_path / "records.jsonl"
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "fcntl", None)
        with pytest.raises(DataError, match="on Windows: within WSL"):
            read(path)

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(DataError, match=r"cannot be locked \(No locks available\)"):
        read(path)


def test_records_say_which_version_measured(tmp_path):
    """A record that an earlier version made is kept, and told from those of this one; old stores do not say."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        for trial, made_by in zip(plan(2), ("0.0.1", None), strict=True):
            store.append(Record(trial, {"value": 1.0}, version=made_by))
        run(plan(4), measure, store)
    with Store(path, "toy") as store:
        records = run(plan(4), measure, store)
    assert records.versions == {"0.0.1": 1, None: 1, version("oneof"): 2}


def test_a_dead_worker_ends_the_run_with_a_sentence(tmp_path):
    """What the others handed over is kept, and the run goes on from there."""
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store, pytest.raises(LostWorkersError, match="with fewer --jobs"):
        run(plan(6), die, store, jobs=2)
    with Store(path, "toy") as store:
        assert len(left_of(plan(6), store)) == 6 - len(store.records)
        assert len(run(plan(6), measure, store)) == 6


@pytest.mark.slow
def test_a_process_that_joblib_replaces_does_not_stop_the_run(tmp_path):
    """Where warnings are errors either: joblib gives its own in a thread, and without that thread nothing ends."""
    path = tmp_path / "records.jsonl"
    program = (
        "from tests.reproduction.work import Path, Store, plan, read_much, run\n"
        f"with Store(Path({str(path)!r}), 'toy') as store:\n"
        "    run(plan(6), read_much, store, jobs=2)\n"
    )
    command = [sys.executable, "-W", "error::UserWarning", "-c", program]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (0, "")
    records = read(path).values()
    assert len(records) == 6
    assert len({record.result["process"] for record in records}) > 2  # else nothing was replaced


def test_a_store_is_of_one_experiment_and_one_run(tmp_path):
    path = tmp_path / "records.jsonl"
    with Store(path, "toy") as store:
        run(plan(1), measure, store)
        with pytest.raises(DataError, match="in use by another run"), Store(path, "toy"):
            pass
        with pytest.raises(DataError, match="holds a result of this trial already"):
            store.append(store.records[plan(1)[0].key])
    with pytest.raises(DataError, match="holds records of 'toy'"), Store(path, "other"):
        pass


def test_bad_plans(tmp_path):
    with Store(tmp_path / "records.jsonl", "toy") as store:
        with pytest.raises(InputError, match="names some trial twice"):
            run([*plan(2), *plan(1)], measure, store)
        with pytest.raises(InputError, match="jobs=0"):
            run(plan(2), measure, store, jobs=0)


def test_progress(tmp_path):
    """It counts what was left, not what a former run had done."""
    told = []
    with Store(tmp_path / "records.jsonl", "toy") as store:
        run(plan(3), measure, store)
        run(plan(6), measure, store, progress=lambda done, total, _: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_records_are_paired(tmp_path):
    """Values of one setting come in the order of the plan, without the trials that failed."""
    with Store(tmp_path / "records.jsonl", "toy") as store:
        records = run(plan(10), measure, store)
    assert isinstance(records, Records)
    assert records.across("name") == ["é0", "é1", "é2"]
    values = records.values("value", name="é1")
    assert values.tolist() == [records[i].result["value"] for i in (1, 4)]
    assert records.values("curve").shape == (9, 20)
    with pytest.raises(InputError, match="no 'mean'"):
        records.values("mean")
