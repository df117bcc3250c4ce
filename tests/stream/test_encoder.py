"""Stream encoder: standardization, hashing and missing values."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.errors import InputError
from oneof.stream.encoder import Moments, StreamEncoder


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_moments_are_those_of_all_rows(seed, n_blocks):
    """Updated by blocks with missing values and empty blocks, they equal the moments of all rows."""
    rng = np.random.default_rng(seed)
    blocks = [rng.normal(1e3, 2.0, size=(rng.integers(0, 9), 3)) for _ in range(n_blocks)]
    for block in blocks:
        block[rng.random(block.shape) < 0.3] = np.nan
        block[:, 2] = np.nan
    moments = Moments.start(3)
    for block in blocks:
        moments = moments.update(block)
    full = np.concatenate(blocks)
    count = (~np.isnan(full)).sum(axis=0)
    mean = np.array([np.nanmean(full[:, j]) if count[j] else 0 for j in range(3)])
    sum_of_squares = np.nansum((full - mean) ** 2, axis=0)
    assert moments.count.tolist() == count.tolist()
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(moments.sum_of_squares, sum_of_squares, rtol=1e-9, atol=1e-9)
    scaled = moments.scale(full)
    assert np.isfinite(scaled).all()
    assert (np.abs(scaled) <= np.sqrt(max(len(full), 1)) + 1e-9).all()


def test_constants_become_zero():
    """A column that is constant up to rounding is not amplified."""
    block = np.full((10, 2), 0.1) * [1, 3]
    assert not Moments.start(2).update(block[:7]).update(block[7:]).scale(block).round(12).any()


def test_numbers_whose_sum_of_squares_overflow_are_errors():
    """The standard deviation would be infinite and all numbers 0; the error names row and column."""
    encoder = StreamEncoder([("x", "number"), ("big", "number")], 4)
    encoder, _ = encoder.partial_fit_transform(_frame(x=[1.0, 2.0], big=[1.0, 2.0]))
    with pytest.raises(InputError, match=r"row 1: column 'big' contains 1e\+200"):
        encoder.partial_fit_transform(_frame(x=[1.0, 2.0], big=[np.nan, 1e200]))
    for value in (1.7e308, -1.7e308):
        with pytest.raises(InputError, match="row 0: column 'big'"):
            encoder.partial_fit_transform(_frame(x=[1.0, 2.0], big=[value, value]))


def _frame(**columns):
    return pl.DataFrame(columns)


def test_features_of_a_row_do_not_depend_on_the_batch():
    """The hashed columns of a row depend on the row only."""
    columns = [("color", "category"), ("note", "text"), ("x", "number")]
    frame = _frame(color=["red", "", "blue", "red"], note=["a b", "b", "", "a b a"], x=[1.0, 2.0, 3.0, np.nan])
    encoder = StreamEncoder(columns, hash_bits=8).fit(frame)
    full = encoder.transform(frame).toarray()
    rows = np.vstack([encoder.transform(frame[i]).toarray() for i in range(4)])
    np.testing.assert_array_equal(full, rows)
    assert full.shape == (4, 1 + 1 + 2**8)
    assert full[:, 1].tolist() == [0, 0, 0, 1]  # the indicator of missing values
    assert full[3, 0] == 0
    texts = StreamEncoder([("note", "text")], 8).fit(frame).transform(frame)
    np.testing.assert_allclose(np.asarray(texts.power(2).sum(axis=1)).ravel(), [1, 1, 0, 1])


def test_categories_and_words_of_different_columns_differ():
    """Equal values in two columns are two features."""
    columns = [("a", "category"), ("b", "category"), ("c", "text"), ("d", "text")]
    frame = _frame(a=["x", "y"], b=["y", "x"], c=["x", "y"], d=["y", "x"])
    first, second = StreamEncoder(columns, 18).fit(frame).transform(frame).toarray()
    assert (first != second).any()
    assert np.abs(first).sum() == 4


def test_numbers_are_dense_and_standardized_by_all_rows_so_far():
    """A batch is standardized by the rows up to its end; a missing value without an indicator is at the mean."""
    encoder = StreamEncoder([("x", "number"), ("z", "number")])
    first, second = _frame(x=[1.0, 3.0], z=[np.nan, 1.0]), _frame(x=[np.nan, 5.0], z=[1.0, 2.0])
    encoded, rows = encoder.partial_fit_transform(first)
    assert not hasattr(encoder, "moments_")
    np.testing.assert_allclose(rows, [[-1, 0, 1], [1, 0, 0]])
    two, rows = encoded.partial_fit_transform(second)
    deviation = np.std([1, 3, 5])
    np.testing.assert_allclose(rows[:, 0], [0, 2 / deviation])
    assert encoded.moments_.count.tolist() == [2, 1]
    np.testing.assert_array_equal(two.transform(second), rows)


@pytest.mark.parametrize("bits", [1, 4])
def test_the_number_of_columns_is_fixed(bits):
    """The number of columns is the requested one for any number of words."""
    frame = _frame(note=[" ".join(f"w{i}" for i in range(99))])
    assert StreamEncoder([("note", "text")], bits).fit(frame).transform(frame).shape == (1, 2**bits)
