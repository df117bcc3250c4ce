"""Which kernels, behind which maps of the features, LOORidge fits; and those that are given."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.kernels import Kernel, check_gram, check_square
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS, suited_maps
from oneof.kernels.radial import RADIAL, MappedKernel
from oneof.typing import Array, FeatureMatrix, Floats
from oneof.validation import check_memory


@dataclass(frozen=True)
class GivenKernel:
    """A function k(X, Y) of the rows as they are."""

    kernel: Kernel

    def mapped(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the rows."""
        return X

    def gram(self, mapped: FeatureMatrix, others: FeatureMatrix | None = None) -> Floats:
        """Return what the function says."""
        if others is not None:
            return self.kernel.gram(mapped, others)
        gram = check_gram(self.kernel.gram(mapped, mapped), np.arange(mapped.shape[0]))
        return np.array(gram, order="C")  # it will be written to, and may be the function's own

    def kept(self, mapped: FeatureMatrix) -> FeatureMatrix:
        """Return the rows."""
        return mapped


@dataclass(frozen=True)
class PrecomputedGram:
    """Rows that are given by their kernel with the rows of fit, of which some were used."""

    used: Array
    """Their numbers."""

    def mapped(self, X: FeatureMatrix) -> FeatureMatrix:
        """Return the columns of the rows that were used."""
        return X[:, self.used]

    def gram(self, mapped: FeatureMatrix, others: FeatureMatrix | None = None) -> Floats:
        """Return the kernel as given."""
        if others is not None:
            return mapped
        return np.array(check_gram(mapped, self.used), dtype=np.float64, order="C")

    def kept(self, mapped: FeatureMatrix) -> FeatureMatrix:
        """Return nothing: other rows come with their kernel."""
        return mapped[:0]


def check_kernel(kernel: Any, features: Any) -> None:
    """Raise unless `kernel` and `features` are among those that `named_kernels` knows, and go together."""
    names = ("auto", *RADIAL)
    if not callable(kernel) and not (isinstance(kernel, str) and kernel in (*names, "precomputed")):
        raise InputError(f"`kernel` must be one of {', '.join(names)}, precomputed, or a function; got {kernel!r}.")
    known = ("auto", *MAPS, *SPARSE_MAPS)
    if not (isinstance(features, str) and features in known):
        raise InputError(f"`features` must be one of {', '.join(known)}; got {features!r}.")
    if features in SPARSE_MAPS and kernel == "laplacian":
        raise InputError(
            f'kernel="laplacian" does not go with features={features!r}: take "standard", "rank" or "angle".'
        )


def named_kernels(
    kernel: Any, features: str, rows: FeatureMatrix, used: Array
) -> Iterator[tuple[str, tuple[Any, FeatureMatrix]]]:
    """Give each kernel that is to be fitted, by a name, and with it the used rows in its form.

    CSR rows are made dense for the maps that do not keep zeros.
    """
    if isinstance(kernel, str) and kernel == "precomputed":
        check_square(rows.shape)
        given = PrecomputedGram(used)
        yield "precomputed", (given, given.mapped(rows[used]))
        return
    known = rows if len(used) == rows.shape[0] else rows[used]
    if callable(kernel):
        yield "function", (GivenKernel(Kernel.of(kernel, known, gamma="auto", degree=1, coef0=0.0)), known)
        return
    kinds = RADIAL if kernel == "auto" else (kernel,)
    if features != "auto":
        maps = {features: (MAPS | SPARSE_MAPS)[features]}
    else:
        maps = MAPS if kernel == "laplacian" else suited_maps(known)
    dense = _dense(known) if any(name in MAPS for name in maps) else None
    for map_name, feature_map in maps.items():
        taken = dense if map_name in MAPS else known
        fitted = feature_map.of(taken)
        mapped = fitted(taken)
        for kind in kinds if map_name in MAPS else ("rbf",):
            yield f"{map_name}-{kind}", (MappedKernel.of(fitted, kind, mapped), mapped)


def _dense(rows: FeatureMatrix) -> Floats:
    n, d = rows.shape
    check_memory(32.0 * n * d, f"{d} features of {n} rows, not sparse,", 'pass features="unit"')
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
