"""Weights, and strategies for them, that several tests share."""

import numpy as np
from hypothesis import strategies as st

LABELS = ["ant", "bee", "cat", "dog"]
W = np.array([[0.5, 0.25, 0.0], [0.2, 0.2, 0.6], [0.0, 0.25, 0.25], [3.0, 3.0, 3.0]])
EXPECTED = np.array([[1, 0.5, 0], [1 / 3, 1 / 3, 1], [0, 1, 1], [1, 1, 1]])

positive = st.floats(1e-6, 1.0)
ranked_rows = st.lists(
    st.one_of(st.none(), st.dictionaries(st.sampled_from(LABELS), positive, min_size=1)), min_size=1, max_size=6
)
