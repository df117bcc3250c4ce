"""Where chance comes from."""

from typing import Any

from numpy.random import RandomState
from sklearn.utils import check_random_state as read

from oneof.errors import as_input_errors


def check_random_state(random_state: Any) -> RandomState:
    """Return what draws: an integer's own sequence, a RandomState as it stands, or NumPy's for None."""
    with as_input_errors():
        return read(random_state)
