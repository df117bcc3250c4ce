"""Tests of the times that commands print before long work, extrapolated from samples."""

import math

import pytest

from oneof.cli.tables.times import MIN_SAMPLE_ROWS, extrapolate_seconds


@pytest.mark.parametrize("exponent", [1.0, 1.7, 3.0])
def test_the_time_of_a_power_law_is_extrapolated_exactly(exponent):
    """If the time is a power of the number of rows, the estimate is the time of all rows."""
    seconds = extrapolate_seconds(lambda n: 1e-6 * n**exponent, 50_000, enough=1e9, patience=1e9)
    assert seconds == pytest.approx(1e-6 * 50_000**exponent)


def test_growth_is_at_least_linear_and_at_most_cubic():
    """A constant time is extrapolated linearly, and a time that grows faster than the cube as the cube."""
    n = 2 * MIN_SAMPLE_ROWS
    assert extrapolate_seconds(lambda _: 1.0, 8 * n, enough=1e9, patience=0.0) == pytest.approx(8)
    assert extrapolate_seconds(lambda size: size**5.0, 8 * n, enough=0.0, patience=0.0) == pytest.approx(n**5 * 8**3)


def test_samples_grow_until_the_estimate_is_low_or_a_sample_is_long():
    """The first run is repeated; sizes double up to half of the rows, or until a sample exceeds the patience."""

    def sizes(exponent, **options):
        calls = []
        extrapolate_seconds(lambda n: calls.append(n) or (n / 1000) ** exponent, 100_000, **options)
        return calls

    assert sizes(1, enough=1e9, patience=1e9) == [250, 250, 500, 1000, 2000]
    assert sizes(1, enough=0.0, patience=1e9)[-1] == 32_000
    assert sizes(2, enough=0.0, patience=3.0) == [250, 250, 500, 1000, 2000]


def test_landmarks_do_not_raise_the_estimate():
    """A time that is cubic up to 1,000 landmarks and then linear is recognized as linear if that decides."""

    def run(n):
        return min(n / 1000, 1) ** 3 * max(n / 1000, 1)

    assert extrapolate_seconds(run, 1_000_000, enough=3600, patience=60) == pytest.approx(1000)


def test_unknown_times_are_nan():
    """Few rows need no estimate, and failed samples give none; a single failed sample does not matter."""
    assert math.isnan(extrapolate_seconds(lambda _: pytest.fail("no run"), 999, enough=1, patience=1))
    assert math.isnan(extrapolate_seconds(lambda _: math.nan, 9999, enough=1, patience=1))
    seconds = extrapolate_seconds(lambda n: math.nan if n < 500 else n / 1000, 16_000, enough=100, patience=1)
    assert seconds == pytest.approx(16)
