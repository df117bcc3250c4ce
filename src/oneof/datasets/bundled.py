"""The data sets that come with scikit-learn, and so are always at hand."""

import numpy as np

from oneof.datasets.dataset import Dataset, from_codes
from oneof.datasets.npz import Extent

BUNDLED = {
    "breast_cancer": Extent(569, 30, 2),
    "digits": Extent(1797, 64, 10),
    "iris": Extent(150, 4, 3),
    "wine": Extent(178, 13, 3),
}


def load_bundled(name: str) -> Dataset:
    """Return one of the sets of `BUNDLED`; its classes carry scikit-learn's names (digits: the numbers 0 to 9)."""
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")()
    return from_codes(name, bunch.data, bunch.target.astype(np.int64), np.asarray(bunch.target_names))
