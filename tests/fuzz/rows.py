"""Feature tables of every kind that a caller may pass, valid or not."""

import functools
from collections.abc import Callable
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
    made: dict[str, Callable[[], Any]] = {
        "whole": lambda: np.round(X * 3),
        "counts": lambda: random.poisson(1.5, (n, d)).astype(float),
        "copies": lambda: X[random.integers(0, max(1, n // 3), n)] if n else X,
        "collinear": lambda: X[:, :1] * random.normal(size=d) + random.choice([0.0, 1e-12]) * X,
        "constant": lambda: np.full((n, d), random.choice([1.0, -3.0, 1e10, 1e300])),
        "zeros": lambda: np.zeros((n, d)),
        "sorted": lambda: np.sort(X, axis=0),
        "offset": lambda: X + 10.0 ** random.integers(3, 18),
        "huge": lambda: X * 10.0 ** random.integers(20, 300),
        "tiny": lambda: X * 10.0 ** -random.integers(20, 300),
        "columns of all scales": lambda: X * 10.0 ** random.integers(-300, 300, d),
        "rows of all scales": lambda: X * 10.0 ** random.integers(-300, 300, (n, 1)),
        "largest": lambda: np.where(X > 0, np.finfo(float).max, np.finfo(float).min),
        "least": lambda: np.where(X > 0, 5e-324, -5e-324),
        "alternating": lambda: np.where(X > 0, 1e155, 1e-155),
    }
    one = {"nan": np.nan, "inf": np.inf, "minus inf": -np.inf, "outlier": 1e250}
    if X.size and kind in one:
        X.flat[random.integers(X.size)] = one[kind]
    return made.get(kind, lambda: X)()


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
    small = X.dtype.itemsize <= 8 and X.dtype.isnative
    numeric = X.dtype.kind in "fiub"
    names = [f"c{j}" for j in range(X.shape[1])]
    frame = functools.partial(pd.DataFrame, X, columns=names if len(X) % 2 else None)
    made: dict[str, Callable[[], Any]] = {
        "F": lambda: np.asfortranarray(X),
        "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "backwards": lambda: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "read-only": lambda: _read_only(X.copy()),
        "lists": X.tolist,
        "tuples": lambda: tuple(map(tuple, X.tolist())),
        "masked": lambda: np.ma.MaskedArray(X, mask=random.random(X.shape) < 0.1),
        "matrix": lambda: X.view(np.matrix),
        "memoryview": lambda: memoryview(np.ascontiguousarray(X)) if X.size and small and X.dtype.kind in "fiu" else X,
        "pandas": frame,
        "pandas nullable": lambda: frame().convert_dtypes() if numeric else frame(),
        "polars": lambda: pl.DataFrame(dict(zip(names, X.T.copy()))) if numeric and small and names else X,
    }
    if form[:3] in ("csr", "csc", "coo", "lil", "dia", "dok", "bsr"):
        return _sparse(X, form, random) if X.dtype.kind in "fiubc" and X.dtype.itemsize <= 16 else X
    return made.get(form, lambda: X)()


def _read_only(X: Any) -> Any:
    X.flags.writeable = False
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
