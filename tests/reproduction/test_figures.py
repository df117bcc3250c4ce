"""Every experiment: its plan is data, its trials measure, and its claims say what records say, whatever is missing."""

import os
from pathlib import Path

import numpy as np
import pytest
from reproduction.outputs import write_outputs
from reproduction.papers import (
    benchmark,
    logistic_boundary,
    logistic_labels,
    logistic_sensors,
    online,
    online_streams,
    plgp,
    plgp_controlled,
    plgp_real,
    plsvm,
    plsvm_alone,
    plsvm_levels,
    text_em,
    text_transduction,
)

from reproduction import NAMES, Record, Records, Store, find, run
from reproduction.work import attempt

needs_data = pytest.mark.skipif(not Path(os.environ.get("ONEOF_DATA", "-")).is_dir(), reason="needs the field's data")


def invented(trial, random):
    """Return a result of the form that the trial's experiment measures, with numbers by lot."""
    name = trial.experiment
    if name.startswith("online"):
        methods = online_streams.ON_LABELS if trial["size"] == online_streams.EXACT else online_streams.PARTIAL
        lams = {m: online_streams.LAMS if "Pegasos" in m else (None,) for m in methods}
        at = len(online_streams.checkpoints(trial["rounds"]))
        return {online_streams.named(m, lam): random.random(at) for m in methods for lam in lams[m]}
    if name == plsvm_levels.NAME:
        counts = plsvm_levels.partial_counts(trial["largest"])
        methods = [m for m in plsvm_levels.LOOK if m != "SVM"]
        return {"SVM": random.random(), **{f"{m}, {n}": random.random() for m in methods for n in counts}}
    if name.startswith("plgp"):
        methods = [f"{m} {k}" for m in (plgp.OURS, plgp.ECOC) for k in plgp.KERNELS]
        return {m: random.random() for m in (*methods, *plgp.METHODS[2:])}
    if name == logistic_boundary.NAME:
        kinds = ("supervised", "semi-supervised")
        picture = {kind: random.normal(size=logistic_boundary.GRID**2) for kind in kinds}
        return {**{kind: random.random() for kind in kinds}, **({"picture": picture} if trial["draw"] == 0 else {})}
    if name == logistic_labels.NAME:
        return {method: random.random() for method in logistic_labels._names(trial["kind"])}
    if name == logistic_sensors.NAME:
        curve = len(logistic_sensors.RATES) + 1
        if trial["part"] == "views":
            names = [f"{s}, {k}" for s in logistic_sensors.SENSORS for k in logistic_sensors.KINDS]
            return {name: random.random(curve) for name in names}
        found = np.cumsum(random.random(trial["queries"]) < 0.5)
        return {"found": found, "mines": 200, "rows left": random.random(curve), "fresh rows": random.random(curve)}
    if name == text_transduction.NAME:
        return {"break-even": random.random(len(text_transduction.TOPICS))}
    return {"accuracy": random.random(), "error": random.random()}


def records_of(trials, seed=0, failing=0.0):
    """Return invented records, of which a share failed."""
    random = np.random.default_rng(seed)
    results = [invented(trial, random) for trial in trials]
    failed = random.random(len(trials)) < failing
    return Records(
        Record(trial, None, "ValueError: lost") if lost else Record(trial, result)
        for trial, result, lost in zip(trials, results, failed, strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_plans(name):
    """Trials are different, few enough to list, and those of the quick run fewer; claims and protocol are there."""
    experiment = find(name)
    assert experiment.name == name
    for trials in (experiment.full, experiment.quick):
        assert len(set(trials)) == len({trial.key for trial in trials}) == len(trials) > 0
        assert all(trial.experiment == name for trial in trials)
    assert len(experiment.quick) < len(experiment.full)
    assert experiment.minutes[1] <= 1.0
    assert experiment.minutes[0] <= (15.0 if name.startswith("online") else 120.0)
    assert experiment.protocol
    assert experiment.citation


# One of the online experiments, which are alike, and two of the six sets of PL-SVM, each of which has a figure.
PAGES = [name for name in NAMES if not name.startswith("online") or name == "online-ecoli"]
FEW = {plsvm_levels.NAME: plsvm_levels.plan(draws=1, sets=("letter", "usps"), exact=(100, 200), largest=200)}


@pytest.mark.parametrize("name", PAGES)
def test_the_whole_page(tmp_path, name):
    """From records of the quick run the page, the table and the figures are made, and each claim has its verdict."""
    experiment = find(name)
    records = records_of(FEW.get(name, experiment.quick))
    claims = write_outputs(tmp_path, experiment, records, quick=True, command="")
    assert claims
    assert all(claim.ours and claim.paper and claim.statement.endswith(".") for claim in claims)
    page = (tmp_path / "index.html").read_text()
    assert page.count('class="verdict ') == len(claims)
    held = page.count('class="verdict held"')
    assert f"{held} of {len(claims)} claims held" in page
    assert "nan" not in page.split("Measured here")[0]
    assert page.count("<svg") == len(list(tmp_path.glob("*.png"))) > 0


@pytest.mark.parametrize("name", NAMES)
def test_failures_leave_the_rest(name):
    """Where trials failed, the tables and the claims are made of the others; unknown is not 'held'."""
    experiment = find(name)
    some = Records(r for r in records_of(experiment.full, failing=0.4) if r.error is None)
    assert len(experiment.tabulate(some).rows) > 0
    for records in (some, some[:1]):
        for claim in experiment.claims(records):
            assert claim.held in (True, False, None)
            if claim.ours == "not measured":
                assert claim.held is None


def test_a_claim_follows_the_records():
    """The same claim holds where the records say so, and does not where they say the opposite."""
    trials = online_streams.plan("dermatology", draws=5)

    def made(average, largest):
        levels = dict.fromkeys(online_streams.AVERAGE, average) | dict.fromkeys(online_streams.LARGEST, largest)
        records = []
        for trial, record in zip(trials, records_of(trials), strict=True):
            noise = 0.01 * np.random.default_rng(trial["draw"]).random()
            result = {m: [levels.get(m.split(",")[0], 0.1) + noise] for m in record.result}
            records.append(Record(trial, result))
        return online.claims(Records(records))[0].held

    assert made(0.2, 0.3) is True
    assert made(0.3, 0.2) is False
    assert made(0.3, 0.3) is False


def test_published_errors_bound_from_above_and_those_of_1nn_from_both_sides():
    """Lower errors than published ones count for a method; 1-NN has no freedom, and every cell that is off is named."""
    i, data = 0, benchmark.SETS[0]
    for shift, nearest, transducer in ((0.0, True, True), (-2.0, False, True), (4.0, False, False)):
        results = []
        for trial in benchmark.plan(splits=2, sets=(data,)):
            peer = benchmark.PUBLISHED[benchmark.PEER.get(trial["method"], "SGT")]
            published = peer[i][benchmark.LABELED.index(trial["labeled"])]
            results.append(Record(trial, {"error": (published + shift) / 100}))
        found = benchmark.claims(Records(results))
        assert [claim.held for claim in found[:2]] == [nearest, transducer]
        assert found[1].ours.startswith(f"in {2 if transducer else 0} of 2 cells")


def test_draws_are_paired_whatever_failed():
    """Where different draws of two methods failed, those that both have are compared, each with its own."""
    trials = [t for t in text_em.plan(draws=6) if (t["draw"], t["weight"]) not in {(0, 1.0), (1, 0.0)}]
    # Draws differ by far more than methods do: pairs of different draws would show nothing.
    records = Records(Record(t, {"accuracy": 0.1 * t["draw"] + 0.01 * t["weight"]}) for t in trials)
    gain = text_em._gain(records, 20)
    assert gain.mean == pytest.approx(0.01)
    assert gain.error == pytest.approx(0.0, abs=1e-12)


def test_lambda_is_chosen_without_candidate_sets():
    """It is the one at which Pegasos with exact labels ends lowest, whatever the others do with it."""
    trials = online_streams.plan("ecoli", draws=2, rounds=100)
    records = []
    for record in records_of(trials):
        result = dict(record.result)
        if record.trial["size"] == online_streams.EXACT:
            for lam in online_streams.LAMS:
                result[online_streams.named(online_streams.REFERENCE, lam)] = [1.0, 0.1 if lam == 0.01 else 0.2]
        records.append(Record(record.trial, result))
    assert online.chosen_lam(Records(records)) == 0.01


@needs_data
def test_online_errors_are_those_of_the_estimators():
    """The error so far, by partial_fit and predict row by row, is that of the trial."""
    from reproduction.data import numbers

    from oneof import AvgPegasos, MaxPerceptron
    from oneof.datasets import make_partial_labels

    trial = next(t for t in online_streams.plan("ecoli", draws=1, rounds=400) if t["size"] == 4)
    found = online_streams.measure(trial)
    data = numbers("ecoli", "standard")
    sets = make_partial_labels(data.y, set_size=4, random_state=trial.generator("data", "draw", "size"))
    order = np.concatenate(online_streams._order(len(data.y), 400, trial.generator("data", "draw")))
    for name, model in (("Max Perceptron", MaxPerceptron()), ("Avg Pegasos, lambda 0.1", AvgPegasos(lam=0.1))):
        wrong = []
        for i in order:
            row, classes = data.X[[i]], np.arange(8)
            wrong.append((model.predict(row)[0] if wrong else 0) != data.y[i])
            model.partial_fit(row, sets[[i]], classes=classes)
        assert found[name][-1] == np.mean(wrong)


def test_sets_of_different_sizes_are_nested():
    """A set of s labels holds the true one and those of the smaller sets, and s in all."""
    exact = np.eye(6, dtype=bool)[np.arange(30) % 6]
    sets = plsvm.sets_of(exact, (1, 2, 5), np.random.default_rng(0))
    assert (sets[1] == exact).all()
    assert all((mask.sum(axis=1) == size).all() for size, mask in sets.items())
    assert not (sets[1] & ~sets[2]).any()
    assert not (sets[2] & ~sets[5]).any()


def test_published_wins_take_the_better_kernel():
    """As printed, a method has the kernel with the higher mean; the chosen one is another row."""
    trials = plgp_real.plan(repeats=1, sets=("lost",))
    results = [{"PLGP linear": 0.5, "PLGP rbf": 0.6, "PLGP, chosen kernel": 0.5} for _ in trials]
    records = Records(Record(trial, result) for trial, result in zip(trials, results, strict=True))
    assert plgp.accuracies(records, "PLGP").mean() == pytest.approx(0.6)
    assert plgp.accuracies(records, "PLGP, chosen kernel").mean() == pytest.approx(0.5)


@needs_data
def test_trials_measure(monkeypatch):
    """A small trial of each kind succeeds, with numbers of the form that tables and figures read."""
    monkeypatch.setattr(plsvm, "LAMS", (0.01, 1.0))
    monkeypatch.setattr(plsvm, "DEGREES", (1, 2))
    for name, values in (("GAMMAS", (0.5, 2.0)), ("COSTS", (1.0, 10.0)), ("COUNTS", (5, 10)), ("SEARCH_ROWS", 100)):
        monkeypatch.setattr(plgp, name, values)
    logistic = logistic_labels.plan(draws=1, counts=(20,), held=(20,))
    sensors = logistic_sensors.plan(draws=1, queries=5)
    trials = [
        *((online_streams.measure, trial) for trial in online_streams.plan("satimage", draws=1, rounds=100)),
        (plsvm_levels.measure, plsvm_levels.plan(draws=1, sets=("segment",), exact=(100,), largest=100, tests=50)[0]),
        (plsvm_alone.measure, plsvm_alone.plan(draws=1, sets=("segment",), counts=(100,), tests=50)[1]),
        (plgp_controlled.measure, plgp_controlled.plan(folds=1, sets=("glass",), shares=(0.45,), extras=(2,))[0]),
        *((logistic_boundary.measure, trial) for trial in logistic_boundary.plan(draws=1)),
        *((logistic_labels.measure, trial) for trial in (logistic[0], logistic[-1])),
        *((logistic_sensors.measure, trial) for trial in sensors[:2]),
        *((benchmark.measure, trial) for trial in benchmark.plan(splits=1, sets=("g241c",))[:10]),
    ]
    random = np.random.default_rng(0)
    for measure, trial in trials:
        record = attempt(measure, trial)
        assert record.error is None, f"{trial}: {record.error}"
        expected = invented(trial, random)
        if trial.experiment in (plsvm_alone.NAME, benchmark.NAME):
            assert set(expected) & set(record.result)
            continue
        assert set(expected) <= set(record.result), trial
        for name, value in expected.items():
            assert np.shape(record.result[name]) == np.shape(value) or isinstance(value, dict)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_quick_runs(tmp_path, name):
    """The quick run of every experiment ends, and no trial of it fails."""
    experiment = find(name)
    with Store(tmp_path / "records.jsonl", name) as store:
        records = run(experiment.quick, experiment.measure, store, jobs=-1)
    assert [record.error for record in records.failed] == []
    assert write_outputs(tmp_path, experiment, records, quick=True, command="")


@needs_data
@pytest.mark.slow
def test_texts_measure():
    """One trial of each text experiment gives numbers between 0 and 1."""
    assert 0 < text_em.measure(text_em.plan(draws=1, counts=(100,))[0])["accuracy"] < 1
    found = text_transduction.measure(text_transduction.plan(draws=1, counts=(50,), tests=300)[1])["break-even"]
    assert len(found) == len(text_transduction.TOPICS)
    assert all(0 <= value <= 1 for value in found)
