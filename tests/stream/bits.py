"""Assertion that two online learners have equal states."""

import numpy as np


def _state(fit):
    return fit.model[-1]._state


def assert_same_bits(fit, expected):
    """Assert that two fitted streams have identical learner states, bit by bit."""
    for name in ("V", "U", "scale", "square", "total_scale", "n_summed", "n_rows", "n_mistakes", "n_updates"):
        a, b = getattr(_state(fit), name), getattr(_state(expected), name)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), name
