"""Reading arrays from a folder, and the evaluation of results, equal for every side and in NumPy alone."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp


def write_arrays(folder, **arrays):
    """Store arrays and CSR matrices under their names, as .npy files (four for a CSR matrix)."""
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


def as_form(rows, form):
    """Return rows as "dense32", "dense64", "csr32" or "csr64"."""
    dtype = np.dtype(f"float{form[-2:]}")
    if form.startswith("csr"):
        result = sp.csr_matrix(rows, dtype=dtype)
        # liblinear and scikit-learn read 32-bit indices.
        result.indices, result.indptr = result.indices.astype(np.int32), result.indptr.astype(np.int32)
        result.sort_indices()
        return result
    return np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows, dtype=dtype)


def dictionaries(X):
    """Return each row's features that are not 0, by number, as Python's numbers."""
    return [dict(zip(np.flatnonzero(row).tolist(), row[row != 0].tolist())) for row in X]


def accuracy(scores, y):
    """Return the share of rows whose largest score is that of their class; classes are 0 .. K - 1."""
    return float((np.asarray(scores).argmax(axis=1) == y).mean())


def crammer_singer(X, y, weights, lam):
    """Return lam / 2 ||W||^2 + mean_i max(0, 1 - s_iy + max_k!=y s_ik), the objective of PLSVM on exact labels."""
    scores = np.asarray(X @ weights.T, dtype=np.float64)
    own = scores[np.arange(len(y)), y]
    scores[np.arange(len(y)), y] = -np.inf
    return 0.5 * lam * float((weights**2).sum()) + float(np.maximum(0, 1 - own + scores.max(axis=1)).mean())


def squared_hinge(X, y, weights, C):
    """Return 1/2 ||W||^2 + C sum_ik max(0, 1 -+ s_ik)^2, the objective of CLPL on exact labels."""
    scores = np.asarray(X @ weights.T, dtype=np.float64)
    signs = np.where(np.arange(len(weights)) == y[:, None], 1.0, -1.0)
    return 0.5 * float((weights**2).sum()) + C * float((np.maximum(0, 1 - signs * scores) ** 2).sum())
