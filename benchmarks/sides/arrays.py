"""Arrays in a folder, as every side reads them: one .npy file each, three for a CSR matrix."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp


def write(folder, **arrays):
    """Keep arrays and CSR matrices under their names."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        if sp.issparse(array):
            for part in ("data", "indices", "indptr"):
                np.save(folder / f"{name}.{part}.npy", getattr(array, part))
            np.save(folder / f"{name}.shape.npy", array.shape)
        else:
            np.save(folder / f"{name}.npy", array)


def read(folder, name):
    """Return an array or a CSR matrix."""
    folder = Path(folder)
    if (folder / f"{name}.npy").exists():
        return np.load(folder / f"{name}.npy")
    data, indices, indptr, shape = (
        np.load(folder / f"{name}.{part}.npy") for part in ("data", "indices", "indptr", "shape")
    )
    return sp.csr_matrix((data, indices, indptr), shape=tuple(shape))


def formed(rows, form):
    """Return rows as "dense32", "dense64", "csr32" or "csr64"."""
    dtype = np.dtype(f"float{form[-2:]}")
    if form.startswith("csr"):
        found = sp.csr_matrix(rows, dtype=dtype)
        # liblinear and scikit-learn read 32-bit indices.
        found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
        found.sort_indices()
        return found
    return np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows, dtype=dtype)


def dictionaries(X):
    """Return each row's features that are not 0, by number, as Python's numbers."""
    return [dict(zip(np.flatnonzero(row).tolist(), row[row != 0].tolist())) for row in X]
