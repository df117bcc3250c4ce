"""Whether two learners stand at the same place."""

import numpy as np


def _state(fit):
    return fit.model[-1]._state


def assert_same_bits(one, other):
    """Assert that two learners stand at the same place, bit by bit."""
    for name in ("V", "U", "scale", "square", "total_scale", "n_summed", "n_rows", "n_mistakes", "n_updates"):
        a, b = getattr(_state(one), name), getattr(_state(other), name)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), name
