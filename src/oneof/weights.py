"""Sample weights."""

from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.reading import read_floats
from oneof.typing import Floats, Mask


def read_sample_weight(sample_weight: Any, n_rows: int, told: Mask | None = None) -> Floats:
    """Return one weight a row, ones where none are given; negative or infinite ones are errors that name the row.

    Of the rows `told`, (n_rows,), where these are given, one must have a weight above 0.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weight = read_floats(sample_weight, "sample_weight")
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}, expected ({n_rows},): give one weight for each row.")
    wrong = np.flatnonzero(~((weight >= 0) & np.isfinite(weight)))
    if len(wrong):
        raise InputError(f"row {wrong[0]}: sample_weight is {weight[wrong[0]]}; give finite weights of at least 0.")
    if told is not None and not weight[told].any():
        raise InputError("every labeled row has sample weight zero: give some row a weight above 0.")
    return weight
