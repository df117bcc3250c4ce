"""Type aliases of the arrays that are passed between modules."""

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
"""(n_samples, n_classes): True where the class is a candidate of the row."""

Evidence: TypeAlias = NDArray[Any]
"""(n_samples, n_classes): a mask if no row has weights, otherwise float64 weights, the largest of each row 1."""

Labels: TypeAlias = NDArray[Any]
"""(n,): values of one sortable type."""

FeatureMatrix: TypeAlias = Any
"""(n_samples, n_features): a dense array or a CSR matrix."""

Array: TypeAlias = Any
"""An array of any namespace that array_api_compat supports: NumPy, torch, ..."""

Precision: TypeAlias = Literal["float32", "float64"]
"""The name of a data type."""
