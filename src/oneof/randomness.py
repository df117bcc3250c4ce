"""Where chance comes from."""

from typing import Any

from numpy.random import RandomState
from sklearn.utils import check_random_state as read

from oneof.errors import InputError


def check_random_state(random_state: Any) -> RandomState:
    """Return what draws: an integer's own sequence, a RandomState as it stands, or NumPy's for None."""
    try:
        return read(random_state)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"random_state={random_state!r} is not possible: give None, an integer from 0 to 2**32 - 1 or a "
            "numpy.random.RandomState; of a Generator, its integers(2**32)."
        ) from None
