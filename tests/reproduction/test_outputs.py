"""The outputs of an experiment: equal files for equal records, complete and escaped."""

import csv
import dataclasses
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from oneof.errors import InputError
from reproduction import Claim, Record, Records, Trial, get_experiment, iter_experiments
from reproduction.claims import Difference
from reproduction.experiment import Table
from reproduction.outputs import format_minutes, format_verdicts, format_versions, write_outputs
from reproduction.trial import (
    RANDOM_SETTINGS,
    complete_replicates,
    first_replicates,
    format_replicates,
    list_replicates,
    replicate_key,
)

CLAIMS = [
    Claim("<b>A</b> is below B.", "it is", "lower by a point", confirmed=True),
    Claim("C rises.", "it does", "it falls", confirmed=False),
    Claim("D is best.", "it is", "not measured", confirmed=None),
]


def draw(records):
    from reproduction.plot_style import LINE_STYLES, curve, label_axes, new_figure, shared_legend

    figure, axes = new_figure(2, 2)
    curve(axes[0], [1, 2, 3], np.arange(6.0).reshape(2, 3), LINE_STYLES[0], "one")
    label_axes(axes[0], "panel", "x", "y")
    shared_legend(figure, axes)
    return {"figure": figure}


TOY = dataclasses.replace(
    get_experiment("online-ecoli"),
    name="toy",
    title="A toy & its page",
    tabulate=lambda _: Table(("method", "error"), [["a<b", 12.3456], ["c", float("nan")], ["d", 0.01234567]]),
    claims=lambda _: CLAIMS,
    draw=draw,
    remarks=("It was the claim.",),
)
RECORDS = Records(
    [
        Record(Trial.from_settings("toy", draw=0), {"x": 1}),
        Record(Trial.from_settings("toy", draw=1), None, "ValueError: <no>"),
    ]
)


def test_files(tmp_path):
    """Table, claims, figures and page are written, and are equal for equal records."""
    for name in "ab":
        (tmp_path / name).mkdir()
        write_outputs(tmp_path / name, TOY, RECORDS, quick=True, command="python -m reproduction toy --quick")
    a, b = ({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in "ab")
    assert sorted(a) == ["claims.csv", "figure.png", "figure.svg", "index.html", "table.csv"]
    assert a == b
    assert list(csv.reader((tmp_path / "a/table.csv").read_text().splitlines())) == [
        ["method", "error"], ["a<b", "12.35"], ["c", ""], ["d", "0.01235"],
    ]  # fmt: skip
    assert [row[0] for row in csv.reader((tmp_path / "a/claims.csv").read_text().splitlines())] == [
        "verdict", "confirmed", "not confirmed", "not measured",
    ]  # fmt: skip


def test_the_page_is_complete_and_escaped(tmp_path):
    """Every verdict, failure and remark is on the page, as escaped text; the page loads nothing."""
    write_outputs(tmp_path, TOY, RECORDS, quick=True, command="python -m reproduction toy --quick")
    page = (tmp_path / "index.html").read_text()
    assert "1 of 3 claims confirmed, 1 not measured" in page
    assert re.findall(r'class="verdict ([\w-]+)">', page) == ["confirmed", "not-confirmed", "not-measured"]
    for text in (
        "&lt;b&gt;A&lt;/b&gt; is below B.",
        "ValueError: &lt;no&gt;",
        "It was the claim.",
        "a&lt;b",
        "quick run",
    ):
        assert text in page
    assert "1 of 2 trials ended with an error" in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page)


def test_versions_of_older_records_are_stated(tmp_path):
    """The page states the versions if another one measured some records, and only then."""
    now = version("oneof")
    made = [
        Record(Trial.from_settings("toy", draw=draw), {"x": 1}, version=v)
        for draw, v in enumerate((now, "0.0.1", None))
    ]
    write_outputs(tmp_path, TOY, Records(made), quick=False, command="python -m reproduction toy")
    page = (tmp_path / "index.html").read_text()
    assert f"1 by 0.0.1, 1 by {now}, 1 by a version that was not recorded" in page
    assert format_versions(Records(made[:1]), now) == ""


def test_all_trials_failed(tmp_path):
    """If every trial failed, the page says so."""
    write_outputs(tmp_path, TOY, RECORDS.failed, quick=False, command="python -m reproduction toy")
    page = (tmp_path / "index.html").read_text()
    assert "No claim could be checked" in page
    assert "1 of 1 trials ended with an error" in page


def test_a_difference_is_clear_beyond_two_standard_errors():
    """A mean of paired differences counts beyond two standard errors; unequal numbers of draws give no difference."""
    base = np.array([1.0, 2.0, 3.0, 4.0])
    shifted = base + np.array([0.4, 0.6, 0.5, 0.5])
    assert Difference.from_pairs(base, shifted).below
    assert Difference.from_pairs(shifted, base).above
    noisy = Difference.from_pairs(base, base + np.array([3.0, -3.0, 2.0, -1.0]))
    assert not noisy.below
    assert not noisy.above
    assert not Difference.from_pairs(base, base[:3]).is_measured
    assert Difference.from_pairs(base, base[:3]).points() == "not measured"
    single = Difference.from_pairs(base[:1], shifted[:1])  # one draw has no standard error
    assert not single.is_measured
    assert (single.below, single.above) == (None, None)
    assert single.points() != "not measured"


@pytest.mark.parametrize(
    ("verdicts", "confirmed"), [((True, True), True), ((True, False), False), ((False, None), None), ((), None)]
)
def test_a_claim_of_cases_needs_every_case(verdicts, confirmed):
    """It is confirmed if every case is, and not measured if one is not, or if there is none."""
    claim = Claim.of_cases("A is below B.", "it is", ((verdict, f"case {verdict}") for verdict in verdicts))
    assert claim.confirmed is confirmed
    assert claim.measured == ("; ".join(f"case {verdict}" for verdict in verdicts) or "not measured")


def test_verdicts_and_minutes():
    """The counts are those of the verdicts, also if a comparison of NumPy numbers gave the verdict."""
    compared = [Claim("A.", "it is", "so", confirmed=np.float64(2.0) > one) for one in (1.0, 3.0)]
    assert [claim.verdict for claim in compared] == ["confirmed", "not confirmed"]
    assert format_verdicts(compared) == "1 of 2 claims confirmed"
    assert format_verdicts(CLAIMS[:2]) == "1 of 2 claims confirmed"
    assert [format_minutes(m) for m in (0.1, 1.0, 14.2, 150.0)] == ["6 s", "1 min", "14 min", "2.5 h"]


def test_no_figure_is_left_open(tmp_path):
    """Figures are not registered in pyplot, where they would accumulate."""
    import matplotlib.pyplot as plt

    write_outputs(Path(tmp_path), TOY, RECORDS, quick=True, command="")
    assert plt.get_fignums() == []


# -- The first replicates of a plan are complete comparisons -----------------------------------------------------------


PLAN = tuple(Trial.from_settings("toy", repeat=r, fold=f, size=s) for r in (0, 1) for f in (0, 1, 2) for s in (2, 4))


def fixed_settings(trial):
    return tuple((name, value) for name, value in trial.settings if name not in RANDOM_SETTINGS)


def test_first_replicates_are_complete_and_in_order():
    """They contain every trial of the draws and no other, in the plan's order; a larger number gives all trials."""
    assert list_replicates(PLAN) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    for number in range(1, 8):
        assert first_replicates(PLAN, number) == PLAN[: 2 * number]
    with pytest.raises(InputError, match="must be at least 1; got 0"):
        first_replicates(PLAN, 0)


def test_complete_replicates_end_at_the_first_gap():
    """The first draw with a missing trial ends them, even if later draws are complete."""
    keys = [trial.key for trial in PLAN]
    assert complete_replicates(PLAN, set(keys)) == PLAN
    assert complete_replicates(PLAN, set(keys) - {keys[5]}) == PLAN[:4]
    assert complete_replicates(PLAN, set(keys[1:])) == ()


def test_every_plan_has_replicates():
    """In all experiments, the first draw has all values of the settings that are not random."""
    for experiment in iter_experiments():
        plan = experiment.full
        assert len(list_replicates(plan)) > 1
        assert {fixed_settings(t) for t in first_replicates(plan, 1)} == {fixed_settings(t) for t in plan}
        assert len({len([t for t in plan if replicate_key(t) == draw]) for draw in list_replicates(plan)}) == 1


def test_the_page_states_the_number_of_draws(tmp_path):
    """The page states the number of draws if some are missing, and only then."""
    plan = tuple(Trial.from_settings("toy", draw=draw) for draw in range(3))
    toy = dataclasses.replace(TOY, full=plan)
    for number, message in ((2, "Run for the first 2 of 3 draws."), (3, "")):
        assert format_replicates(plan[:number], plan) == message
        records = Records(Record(trial, {"x": 1}) for trial in plan[:number])
        write_outputs(tmp_path, toy, records, quick=False, command=f"python -m reproduction toy --draws {number}")
        assert ("Run for the first" in (tmp_path / "index.html").read_text()) == bool(message)
