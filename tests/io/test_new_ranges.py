"""Notes on columns of numbers whose values are those of another unit."""

import numpy as np
import polars as pl
import pytest

from oneof.io import Column, make_encoder
from oneof.io.notes.new_ranges import find_new_ranges, sentences

COLUMNS = [Column("color", "category"), Column("length", "number"), Column("pitch", "number")]


def make_frame(seed: int, n_rows: int, factor: float = 1.0) -> pl.DataFrame:
    """Return lengths about 3, and pitches about 4 times the factor."""
    rng = np.random.default_rng(seed)
    pitch = factor * rng.lognormal(np.log(4), 0.3, n_rows)
    return pl.DataFrame({"color": ["red", "blue"] * (n_rows // 2), "length": rng.normal(3, 1, n_rows), "pitch": pitch})


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_another_unit_is_found_in_both_directions(factor: float) -> None:
    """Values in Hz instead of kHz, and in kHz instead of Hz, have a note with both centers."""
    encoder = make_encoder(COLUMNS).fit(make_frame(0, 200))
    [new] = find_new_ranges(make_frame(1, 40, factor), COLUMNS, encoder)
    assert new.column == "pitch"
    [note] = sentences([new])
    assert note.startswith(f"the values of the column 'pitch' (median {new.median:.4g}, mean of training ")


def test_new_rows_of_the_same_unit_have_no_note() -> None:
    """Other means and spreads, a constant column, and few rows are not another unit."""
    encoder = make_encoder(COLUMNS).fit(make_frame(0, 200))
    for frame in (
        make_frame(1, 40),
        make_frame(2, 40, 2.0),
        make_frame(3, 40).with_columns(pl.lit(5.0).alias("pitch")),
        make_frame(4, 8, 1000.0),
        make_frame(5, 40).with_columns(pl.lit(None, dtype=pl.Float64).alias("pitch")),
    ):
        assert find_new_ranges(frame, COLUMNS, encoder) == []
    assert sentences([]) == []
