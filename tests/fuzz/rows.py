"""Feature tables of every kind that a caller may pass, valid or not."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st

ODD_OBJECTS = (
    None,
    0,
    1.5,
    "text",
    b"bytes",
    object(),
    {},
    {"a": [1, 2]},
    [],
    [[]],
    [[1, 2], [3]],
    [["a", "b"], ["c", "d"]],
    [[None, 1.0], [2.0, 3.0]],
    [1.0, 2.0],
    np.zeros((2, 2, 2)),
    np.array(3.0),
    np.empty((0, 0)),
    np.array([[1, object()]], dtype=object),
    np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
    (x for x in ()),
    range(3),
    iter([]),
    len,
    str,
    ...,
)
"""Objects that are not tables."""

# Contents of the table; the simplest come first, because hypothesis shrinks toward them.
VALUES = (
    *("normal", "normal", "whole", "counts", "copies", "collinear", "constant", "zeros", "sorted"),
    *("huge", "tiny", "columns of all scales", "rows of all scales", "outlier", "largest", "least", "alternating"),
    *("nan", "inf", "minus inf", "offset"),
)
DTYPES = ("f8", "f8", "f8", "f4", "f2", "i8", "i1", "u2", "?", "O", "U", "S", "g", "c16", "M8[D]", "m8[s]", ">f8", "O+")
FORMS = (
    *("C", "C", "C", "F", "strided", "backwards", "read-only", "lists", "tuples", "masked", "matrix", "memoryview"),
    *("pandas", "pandas nullable", "polars", "csr", "csr", "csc", "coo", "lil", "dia", "dok", "bsr", "csr matrix"),
    *("csr unsorted", "csr explicit zeros", "csr int64", "csr in parts", "csr float32", "csr bool", "csr object"),
)


@st.composite
def tables(draw: st.DrawFn, n: int, d: int, *, odd: bool = True, below_zero: bool = True) -> Any:
    """Draw a table of n rows and d columns; without `odd` a valid one of any scale."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(VALUES if odd else VALUES[:9]))
    X = _values(kind, n, d, random)
    if not below_zero and draw(st.integers(0, 9)):
        X = np.abs(X)
    dtype = draw(st.sampled_from(DTYPES)) if odd and draw(st.integers(0, 2)) == 0 else "f8"
    form = draw(st.sampled_from(FORMS))
    with np.errstate(all="ignore"):
        return in_form(_as_type(X, dtype), form, random)


def _values(kind: str, n: int, d: int, random: np.random.Generator) -> Any:
    X = random.normal(size=(n, d))
    if kind == "whole":
        return np.round(X * 3)
    if kind == "counts":
        return random.poisson(1.5, (n, d)).astype(float)
    if kind == "copies":
        return X[random.integers(0, max(1, n // 3), n)] if n else X
    if kind == "collinear":
        return X[:, :1] * random.normal(size=d) + random.choice([0.0, 1e-12]) * X
    if kind == "constant":
        return np.full((n, d), random.choice([1.0, -3.0, 1e10, 1e300]))
    if kind == "zeros":
        return np.zeros((n, d))
    if kind == "sorted":
        return np.sort(X, axis=0)
    if kind == "offset":
        return X + 10.0 ** random.integers(3, 18)
    if kind == "huge":
        return X * 10.0 ** random.integers(20, 300)
    if kind == "tiny":
        return X * 10.0 ** -random.integers(20, 300)
    if kind == "columns of all scales":
        return X * 10.0 ** random.integers(-300, 300, d)
    if kind == "rows of all scales":
        return X * 10.0 ** random.integers(-300, 300, (n, 1))
    if kind == "largest":
        return np.where(X > 0, np.finfo(float).max, np.finfo(float).min)
    if kind == "least":
        return np.where(X > 0, 5e-324, -5e-324)
    if kind == "alternating":
        return np.where(X > 0, 1e155, 1e-155)
    if X.size and kind in ("nan", "inf", "minus inf", "outlier"):
        X.flat[random.integers(X.size)] = {"nan": np.nan, "inf": np.inf, "minus inf": -np.inf, "outlier": 1e250}[kind]
    return X


def _as_type(X: Any, dtype: str) -> Any:
    if dtype == "O+":  # objects, one of which is not a number
        X = X.astype(object)
        if X.size:
            X.flat[0] = (None, "?", [], 1 + 2j)[X.size % 4]
        return X
    if dtype in ("M8[D]", "m8[s]"):
        return np.nan_to_num(X, posinf=0, neginf=0).clip(-1e4, 1e4).astype("i8").astype(dtype)
    if dtype in ("i8", "i1", "u2"):
        return np.nan_to_num(X, posinf=0, neginf=0).clip(-100, 100).astype(dtype)
    return X.astype(dtype)


def in_form(X: Any, form: str, random: np.random.Generator) -> Any:
    """Return an array in another container, layout or sparse format; unchanged if its type does not allow it."""
    if form == "F":
        return np.asfortranarray(X)
    if form == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if form == "backwards":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if form == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if form in ("lists", "tuples"):
        return X.tolist() if form == "lists" else tuple(map(tuple, X.tolist()))
    if form == "masked":
        return np.ma.MaskedArray(X, mask=random.random(X.shape) < 0.1)
    if form == "matrix":
        return X.view(np.matrix)
    if form == "memoryview" and X.dtype.kind in "fiu" and X.dtype.isnative and X.dtype.itemsize in (1, 2, 4, 8):
        return memoryview(np.ascontiguousarray(X)) if X.size else X
    if form.startswith("pandas"):
        frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])] if len(X) % 2 else None)
        return frame.convert_dtypes() if form == "pandas nullable" and X.dtype.kind in "fiub" else frame
    if form == "polars" and X.dtype.kind in "fiub" and X.dtype.itemsize <= 8 and X.dtype.isnative and X.shape[1]:
        return pl.DataFrame({f"c{j}": X[:, j].copy() for j in range(X.shape[1])})
    if (
        X.dtype.kind in "fiubc"
        and X.dtype.itemsize <= 16
        and form[:3] in ("csr", "csc", "coo", "lil", "dia", "dok", "bsr")
    ):
        return _sparse(X, form, random)
    return X


def _sparse(X: Any, form: str, random: np.random.Generator) -> Any:
    if X.dtype == np.float16:
        X = X.astype("f4")
    if not X.dtype.isnative:
        X = X.astype("f8")
    thin = np.where(random.random(X.shape) < 0.4, np.zeros((), X.dtype), X)
    if form in ("csc", "coo", "lil", "dia", "dok", "bsr") and thin.shape[1]:
        return getattr(sp, f"{form}_array")(thin)
    rows = sp.csr_matrix(thin) if form == "csr matrix" else sp.csr_array(thin)
    if form == "csr unsorted":
        for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            rows.indices[start:end] = rows.indices[start:end][::-1]
            rows.data[start:end] = rows.data[start:end][::-1]
        rows.has_sorted_indices = False
    elif form == "csr explicit zeros" and rows.nnz:
        rows.data[random.integers(rows.nnz)] = 0
    elif form == "csr int64":
        rows.indices, rows.indptr = rows.indices.astype("i8"), rows.indptr.astype("i8")
    elif form == "csr in parts":
        return sp.csr_array((np.repeat(rows.data, 2), np.repeat(rows.indices, 2), rows.indptr * 2), shape=rows.shape)
    elif form == "csr float32" and X.dtype.kind != "c":
        return rows.astype("f4")
    elif form == "csr bool":
        return rows.astype(bool)
    elif form == "csr object":
        return sp.csr_array(thin.astype(bool)).astype("i1")
    return rows
