"""The first replicates of a plan are complete comparisons."""

import dataclasses

import pytest

from oneof.errors import InputError
from reproduction import Record, Records, Trial, iter_experiments
from reproduction.outputs import write_outputs
from reproduction.trial import (
    RANDOM_SETTINGS,
    complete_replicates,
    first_replicates,
    format_replicates,
    list_replicates,
    replicate_key,
)
from tests.reproduction.test_outputs import TOY

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
