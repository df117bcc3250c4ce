"""Shared functions of the experiments of Krishnapuram et al. (2004)."""

from typing import Any

import numpy as np

from oneof.typing import Ints

CITATION = (
    "Krishnapuram, Williams, Xue, Carin, Figueiredo & Hartemink (2004), On semi-supervised classification, NIPS 17"
)


def sparse_logistic() -> Any:
    """Return logistic regression with a sparseness prior, the paper's purely supervised classifier."""
    from sklearn.linear_model import LogisticRegression

    # For two classes; scikit-learn's default solver does not support this penalty.
    return LogisticRegression(l1_ratio=1.0, solver="liblinear", random_state=0)


def draw_labeled(y: Ints, number: int, rng: np.random.Generator) -> Ints:
    """Draw the labeled rows: one of every class, and the other ones at random."""
    rows = rng.permutation(len(y))
    first = np.unique(y[rows], return_index=True)[1]
    rest = np.delete(rows, first)
    return np.concatenate([rows[first], rest[: number - len(first)]])
