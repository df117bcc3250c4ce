"""A plan's first draws: whole comparisons, whatever was measured beyond them."""

import dataclasses

import pytest
from reproduction.draws import CHANCE, draw_of, draws_of, first_draws, say_draws, whole_draws
from reproduction.outputs import write_outputs

from oneof.errors import InputError
from reproduction import Record, Records, Trial, listed
from tests.reproduction.test_outputs import TOY

PLAN = tuple(Trial.of("toy", repeat=r, fold=f, size=s) for r in (0, 1) for f in (0, 1, 2) for s in (2, 4))


def but_for_chance(trial):
    return tuple((name, value) for name, value in trial.settings if name not in CHANCE)


def test_first_draws_are_whole_and_in_order():
    """Every trial of the draws and no other, in the plan's order; more draws than there are is all of them."""
    assert draws_of(PLAN) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    for number in range(1, 8):
        assert first_draws(PLAN, number) == PLAN[: 2 * number]
    with pytest.raises(InputError, match="0 draws are not possible"):
        first_draws(PLAN, 0)


def test_whole_draws_end_at_the_first_gap():
    """A draw that lacks a trial ends them, whatever was measured after it."""
    keys = [trial.key for trial in PLAN]
    assert whole_draws(PLAN, set(keys)) == PLAN
    assert whole_draws(PLAN, set(keys) - {keys[5]}) == PLAN[:4]
    assert whole_draws(PLAN, set(keys[1:])) == ()


def test_every_plan_has_draws():
    """In all experiments, the first draw has every comparison: all other settings that the plan has."""
    for experiment in listed():
        plan = experiment.full
        assert len(draws_of(plan)) > 1
        assert {but_for_chance(t) for t in first_draws(plan, 1)} == {but_for_chance(t) for t in plan}
        assert len({len([t for t in plan if draw_of(t) == draw]) for draw in draws_of(plan)}) == 1


def test_the_page_says_how_many(tmp_path):
    """Where draws are missing, the page says so; where none is, it does not."""
    plan = tuple(Trial.of("toy", draw=draw) for draw in range(3))
    toy = dataclasses.replace(TOY, full=plan)
    for number, said in ((2, "Run for the first 2 of 3 draws."), (3, "")):
        assert say_draws(plan[:number], plan) == said
        records = Records(Record(trial, {"x": 1}) for trial in plan[:number])
        write_outputs(tmp_path, toy, records, quick=False, command=f"oneof reproduce toy --draws {number}")
        assert ("Run for the first" in (tmp_path / "index.html").read_text()) == bool(said)
