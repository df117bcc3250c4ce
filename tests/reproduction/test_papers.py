"""Every experiment has a plan, measures its trials, and derives its claims also from incomplete records."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from reproduction import NAMES, Record, Records, Store, get_experiment, run
from reproduction.docs_page import DOCS, MAX_WORDS, complete_records, escape_cell
from reproduction.outputs import write_csv, write_outputs
from reproduction.papers import benchmark, logistic, online, plgp, plsvm, text
from reproduction.sensors import make_two_sensors

needs_data = pytest.mark.skipif(not Path(os.environ.get("ONEOF_DATA", "-")).is_dir(), reason="needs the field's data")


def random_result(trial, rng):
    """Return a random result in the form that the trial's experiment measures."""
    name = trial.experiment
    if name.startswith("online"):
        methods = online.ON_LABELS if trial["size"] == online.EXACT else online.PARTIAL
        lams = {m: online.LAMS if "Pegasos" in m else (None,) for m in methods}
        at = len(online.checkpoints(trial["rounds"]))
        wrong = {online.result_key(m, lam): rng.integers(0, 9, at) for m in methods for lam in lams[m]}
        return {online.WRONG: wrong}
    if name == plsvm.LEVELS:
        counts = plsvm.partial_counts(trial["largest"])
        methods = [m for m in plsvm.STYLES if m != "SVM"]
        return {"SVM": rng.random(), **{f"{m}, {n}": rng.random() for m in methods for n in counts}}
    if name.startswith("plgp") and plgp.has_chosen_variance(trial):
        return {plgp.COVERING: rng.random(), plgp.EVIDENCE: rng.random()}
    if name.startswith("plgp"):
        methods = [f"{m} {k}" for m in (plgp.OURS, plgp.ECOC) for k in plgp.KERNELS]
        return {m: rng.random() for m in (*methods, *plgp.METHODS[2:6])}
    if name == logistic.BOUNDARY:
        kinds = ("supervised", "semi-supervised")
        picture = {kind: rng.normal(size=logistic.GRID**2) for kind in kinds}
        return {**{kind: rng.random() for kind in kinds}, **({"picture": picture} if trial["draw"] == 0 else {})}
    if name == logistic.LABELS:
        return {method: rng.random() for method in logistic._names(trial["kind"])}
    if name == logistic.SENSORS_NAME:
        curve = len(logistic.RATES) + 1
        if trial["part"] == "views":
            names = [f"{s}, {k}" for s in logistic.SENSORS for k in logistic.KINDS]
            return {name: rng.random(curve) for name in names}
        found = np.cumsum(rng.random(trial["queries"]) < 0.5)
        return {"found": found, "mines": 200, "rows left": rng.random(curve), "fresh rows": rng.random(curve)}
    if name == text.TRANSDUCTION:
        return {"break-even": rng.random(len(text.TOPICS))}
    return {"accuracy": rng.random(), "error": rng.random()}


def records_of(trials, seed=0, failing=0.0):
    """Return random records, of which a fraction failed."""
    rng = np.random.default_rng(seed)
    results = [random_result(trial, rng) for trial in trials]
    failed = rng.random(len(trials)) < failing
    return Records(
        Record(trial, None, "ValueError: lost") if lost else Record(trial, result)
        for trial, result, lost in zip(trials, results, failed, strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_plans(name):
    """The trials are distinct, the quick run has fewer, and the experiment has a protocol and a citation."""
    experiment = get_experiment(name)
    assert experiment.name == name
    for trials in (experiment.full, experiment.quick):
        assert len(set(trials)) == len({trial.key for trial in trials}) == len(trials) > 0
        assert all(trial.experiment == name for trial in trials)
    assert len(experiment.quick) < len(experiment.full)
    assert experiment.minutes[1] <= 1.0
    assert experiment.minutes[0] <= (15.0 if name.startswith("online") else 600.0)  # ten hours of two cores
    assert experiment.protocol
    assert experiment.citation


# One of the five similar online experiments, and two of the six data sets of PL-SVM, each of which has a figure.
PAGES = [name for name in NAMES if not name.startswith("online") or name == "online-ecoli"]
FEW = {plsvm.LEVELS: plsvm.plan_levels(draws=1, sets=("letter", "usps"), exact=(100, 200), largest=200)}


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_full_page(tmp_path, name):
    """Records of the quick run give the page, the table, the figures and a verdict for each claim."""
    experiment = get_experiment(name)
    records = records_of(FEW.get(name, experiment.quick))
    claims = write_outputs(tmp_path, experiment, records, quick=True, command="")
    assert claims
    assert all(claim.measured and claim.paper and claim.statement.endswith(".") for claim in claims)
    page = (tmp_path / "index.html").read_text()
    assert page.count('class="verdict ') == len(claims)
    n_confirmed = page.count('class="verdict confirmed"')
    assert f"{n_confirmed} of {len(claims)} claims confirmed" in page
    assert "nan" not in page.split("Measured here")[0]
    assert page.count("<svg") == len(list(tmp_path.glob("*.png"))) > 0


@pytest.mark.parametrize("name", NAMES)
def test_failed_trials_are_skipped(name):
    """If trials failed, tables and claims use the other ones; a claim that was not measured is not confirmed."""
    experiment = get_experiment(name)
    some = Records(r for r in records_of(experiment.full, failing=0.4) if r.error is None)
    assert len(experiment.tabulate(some).rows) > 0
    for records in (some, some[:1]):
        for claim in experiment.claims(records):
            assert claim.confirmed in (True, False, None)
            if claim.measured == "not measured":
                assert claim.confirmed is None


def test_a_claim_follows_the_records():
    """A claim is confirmed by records that support it, and not by records that contradict it."""
    trials = online.plan("dermatology", draws=5)

    def made(average, largest):
        levels = dict.fromkeys(online.AVERAGE, average) | dict.fromkeys(online.MAXIMUM, largest)
        records = []
        for trial, record in zip(trials, records_of(trials), strict=True):
            noise = 0.01 * np.random.default_rng(trial["draw"]).random()
            at, wrong = online.checkpoints(trial["rounds"]), record.result[online.WRONG]
            result = {m: at * (levels.get(m.split(",")[0], 0.1) + noise) for m in wrong}
            records.append(Record(trial, {online.WRONG: result}))
        return online.claims(Records(records))[0].confirmed

    assert made(0.2, 0.3) is True
    assert made(0.3, 0.2) is False
    assert made(0.3, 0.3) is False


def test_published_errors_are_upper_bounds_and_those_of_1nn_two_sided():
    """Errors below the published ones confirm a claim, except for 1-NN, which must agree from both sides."""
    i, data = 0, benchmark.SETS[0]
    for shift, nearest, transducer in ((0.0, True, True), (-2.0, False, True), (4.0, False, False)):
        results = []
        for trial in benchmark.plan(splits=2, sets=(data,)):
            peer = benchmark.PUBLISHED[benchmark.PEER.get(trial["method"], "SGT")]
            published = peer[i][benchmark.LABELED.index(trial["labeled"])]
            results.append(Record(trial, {"error": (published + shift) / 100}))
        claims = benchmark.claims(Records(results))
        assert [claim.confirmed for claim in claims[:2]] == [nearest, transducer]
        assert claims[1].measured.startswith(f"in {2 if transducer else 0} of 2 cells")


def test_draws_are_paired_if_trials_failed():
    """If different draws of two methods failed, the draws that both have are compared in pairs."""
    trials = [t for t in text.plan_em(draws=6) if (t["draw"], t["weight"]) not in {(0, 1.0), (1, 0.0)}]
    # Draws differ far more than methods do: unpaired draws would show no difference.
    records = Records(Record(t, {"accuracy": 0.1 * t["draw"] + 0.01 * t["weight"]}) for t in trials)
    gain = text.em_gain(records, 20, 20)[0]
    assert gain.mean == pytest.approx(0.01)
    assert gain.error == pytest.approx(0.0, abs=1e-12)


def test_lambda_is_chosen_without_candidate_sets():
    """Lambda is that with the lowest final error of Pegasos on exact labels, whatever the other learners' errors."""
    trials = online.plan("ecoli", draws=2, rounds=100)
    records = []
    for record in records_of(trials):
        wrong = dict(record.result[online.WRONG])
        if record.trial["size"] == online.EXACT:
            for lam in online.LAMS:
                counts = np.full(len(online.checkpoints(100)), 90)
                counts[-1] = 10 if lam == 0.01 else 20
                wrong[online.result_key(online.REFERENCE, lam)] = counts
        records.append(Record(record.trial, {online.WRONG: wrong}))
    assert online.chosen_lam(Records(records)) == 0.01


@needs_data
def test_online_errors_are_those_of_the_estimators():
    """The running error of partial_fit and predict, row by row, is that of the trial."""
    from oneof import AvgPegasos, MaxPerceptron
    from oneof.datasets import make_partial_labels
    from reproduction.data import load_arrays

    trial = next(t for t in online.plan("ecoli", draws=1, rounds=400) if t["size"] == 4)
    found = online.measure(trial)
    data = load_arrays("ecoli", "standard")
    sets = make_partial_labels(data.y, set_size=4, random_state=trial.generator("data", "draw", "size"))
    order = np.concatenate(online.draw_passes(len(data.y), 400, trial.generator("data", "draw")))
    for name, model in (("Max Perceptron", MaxPerceptron()), ("Avg Pegasos, lambda 0.1", AvgPegasos(lam=0.1))):
        wrong = []
        for i in order:
            row, classes = data.X[[i]], np.arange(8)
            wrong.append((model.predict(row)[0] if wrong else 0) != data.y[i])
            model.partial_fit(row, sets[[i]], classes=classes)
        assert found[online.WRONG][name][-1] == np.sum(wrong)


def test_sets_of_different_sizes_are_nested():
    """A set of size s contains the true label and the smaller sets."""
    exact = np.eye(6, dtype=bool)[np.arange(30) % 6]
    sets = plsvm.make_nested_sets(exact, (1, 2, 5), np.random.default_rng(0))
    assert (sets[1] == exact).all()
    assert all((mask.sum(axis=1) == size).all() for size, mask in sets.items())
    assert not (sets[1] & ~sets[2]).any()
    assert not (sets[2] & ~sets[5]).any()


def test_published_wins_take_the_better_kernel():
    """A method has the kernel with the higher mean, as printed; the chosen kernel is another row."""
    trials = plgp.plan_real(repeats=1, sets=("lost",))
    results = [{"PLGP linear": 0.5, "PLGP rbf": 0.6, "PLGP, chosen kernel": 0.5} for _ in trials]
    records = Records(Record(trial, result) for trial, result in zip(trials, results, strict=True))
    assert plgp.accuracies(records, "PLGP").mean() == pytest.approx(0.6)
    assert plgp.accuracies(records, "PLGP, chosen kernel").mean() == pytest.approx(0.5)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_quick_runs(tmp_path, name):
    """The quick run of every experiment ends, and none of its trials fails."""
    experiment = get_experiment(name)
    with Store(tmp_path / "records.jsonl", name) as store:
        records = run(experiment.quick, experiment.measure, store, jobs=-1)
    assert [record.error for record in records.failed] == []
    assert write_outputs(tmp_path, experiment, records, quick=True, command="")


# -- The published tables and claims -----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_published_tables_follow_from_the_stored_records(tmp_path, name):
    """Every published number and verdict is computed from the records in the repository."""
    experiment = get_experiment(name)
    records = complete_records(experiment, DOCS / "records" / name)
    table, claims = experiment.tabulate(records), experiment.claims(records)
    write_csv(tmp_path / "table.csv", table.columns, table.rows)
    rows = [(claim.verdict, claim.statement, claim.paper, claim.measured) for claim in claims]
    write_csv(tmp_path / "claims.csv", ("verdict", "claim", "paper", "measured"), rows)
    for part in ("table", "claims"):
        assert (tmp_path / f"{part}.csv").read_bytes() == (DOCS / f"{name}-{part}.csv").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_page_has_every_published_claim(name):
    """A section lists each claim of its file by its verdict, and the measured results of those not confirmed."""
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    section = page.partition(f"`python -m reproduction {name}` ")[2].partition("\n## ")[0]
    confirmed, _, others = section.partition("| not confirmed | measured |")
    with (DOCS / f"{name}-claims.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            statement = escape_cell(row["claim"])
            if row["verdict"] == "confirmed":
                assert statement.rstrip(".") in confirmed.partition("**Confirmed**")[2]
            else:
                is_short = len(row["measured"].split()) <= MAX_WORDS
                measured = escape_cell(row["measured"]) if is_short else f"[numbers]({name}-claims.csv)"
                assert f"| {statement} | {measured} |" in others


# -- Properties of the synthetic rows of two sensors -------------------------------------------------------------------


def test_sizes_are_as_requested_and_views_are_missing_completely_or_not_at_all():
    rows = make_two_sensors(random_state=0)
    first, second = (np.isfinite(rows.X[:, columns]) for columns in rows.views)
    assert [first.shape[1], second.shape[1]] == [420, 9]
    for present in (first, second):
        assert (present.all(axis=1) == present.any(axis=1)).all()
    first, second = first[:, 0], second[:, 0]
    assert [(first & ~second).sum(), (second & ~first).sum(), (first & second).sum()] == [123, 398, 316]
    assert (rows.y == "mine").sum() == round(0.25 * 837)


def test_a_seed_gives_the_same_rows_and_another_seed_others():
    first, again, other = (make_two_sensors(random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert (first.y != other.y).any()


def test_visible_mines_have_the_requested_distance_from_clutter():
    rows = make_two_sensors((0, 0, 20_000), (15, 9), separation=(4.0, 2.0), fraction=0.5, random_state=0)
    for sensor, (columns, distance) in enumerate(zip(rows.views, (4.0, 2.0), strict=True)):
        x, seen = rows.X[:, columns], rows.seen[:, sensor]
        clutter = x[~seen]
        moved = x[seen].mean(axis=0) - clutter.mean(axis=0)
        assert np.sqrt(moved @ np.linalg.solve(np.cov(clutter.T), moved)) == pytest.approx(distance, rel=0.05)


def test_the_sensors_see_mines_independently():
    rows = make_two_sensors((0, 0, 20_000), (2, 2), visible=(0.8, 0.5), fraction=0.5, random_state=0)
    assert not rows.seen[rows.y == "clutter"].any()
    first, second = rows.seen[rows.y == "mine"].T
    assert first.mean() == pytest.approx(0.8, abs=0.02)
    assert second[first].mean() == pytest.approx(0.5, abs=0.02)
    assert second[~first].mean() == pytest.approx(0.5, abs=0.03)
