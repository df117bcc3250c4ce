"""Labels of every kind that a caller may pass, valid or not."""

import datetime
import decimal
import fractions
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st

from oneof import CandidateSets
from tests.fuzz.rows import ODD_OBJECTS

NAMES = ("ant", "bee", "cat", "dog")

FORMS = (
    *("integers", "text", "mask", "mask", "indicator", "sets", "lists", "candidates", "candidates", "weights"),
    *("-1 missing", "None missing", "NaN missing", "float indicator", "csr", "frame", "polars frame", "text sets"),
    *("object sets", "pandas lists", "polars lists", "pandas text", "bools", "column", "csc", "pandas NA"),
    *("+1 and -1", "numpy text", "bytes", "dates", "large integers", "unsigned", "float16", "-2", "categorical"),
)
NAMED_FORMS = (
    *("integers", "text", "None missing", "-1 missing", "pandas text", "numpy text", "bytes", "dates", "categorical"),
    *("bools", "pandas NA", "large integers", "NaN missing"),
)
"""Forms with one label for each row."""
MASK_FORMS = ("mask", "indicator", "float indicator", "csr", "csc", "frame", "polars frame")
SET_FORMS = ("sets", "lists", "candidates", "weights", "text sets", "object sets", "pandas lists", "polars lists")
BROKEN = (
    *("empty set", "short", "long", "one class", "all full", "continuous", "infinite", "mixed", "nested", "2 in mask"),
    *(
        "complex",
        "decimals",
        "fractions",
        "dicts",
        "objects",
        "no rows",
        "3-d",
        "nan in set",
        "none at all",
        "huge float",
    ),
    *("lists of zeros and ones", "ragged", "strings with bars", "wide", "generator", "scalar", "no columns"),
)


@st.composite
def supervision(draw: st.DrawFn, n: int, K: int, *, one_in: int = 6, forms: tuple[str, ...] = FORMS) -> Any:
    """Draw the labels of n rows over K classes; one in `one_in` is invalid, none if it is 0."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = random.random((n, K)) < draw(st.sampled_from([0.0, 0.3, 0.8]))
    truth = random.integers(0, K, n)
    mask[np.arange(n), truth] = True
    if draw(st.integers(0, 3)) == 0:
        mask[random.random(n) < 0.5] = True
    if one_in == 0 or draw(st.integers(0, one_in - 1)):
        return in_words(draw(st.sampled_from(forms)), mask, truth)
    how = draw(st.sampled_from((*BROKEN, "odd")))
    return draw(st.sampled_from(ODD_OBJECTS)) if how == "odd" else _broken(how, mask, truth, random)


def in_words(form: str, mask: Any, truth: Any) -> Any:
    """Return candidate sets or true labels in one of the supported forms."""
    sets = [np.flatnonzero(row).tolist() for row in mask]
    named = [[NAMES[k % 4] * (1 + k // 4) for k in s] for s in sets]
    full = mask.all(axis=1)
    text = [NAMES[k % 4] * (1 + k // 4) for k in truth]
    match form:
        case "integers":
            return truth
        case "text":
            return text
        case "mask":
            return mask
        case "indicator":
            return mask.astype(int)
        case "sets":
            return [set(s) for s in named]
        case "lists":
            return sets
        case "candidates":
            return CandidateSets(mask, [NAMES[k % 4] * (1 + k // 4) for k in range(mask.shape[1])])
        case "weights":
            distance = (np.arange(mask.shape[1]) - truth[:, None]) % max(mask.shape[1], 1)
            weights = np.where(full[:, None], 1.0, mask * 0.3**distance)
            return CandidateSets.from_weights(weights, [NAMES[k % 4] * (1 + k // 4) for k in range(mask.shape[1])])
        case "-1 missing":
            return np.where(full, -1, truth)
        case "None missing":
            return [None if f else t for f, t in zip(full, text, strict=True)]
        case "NaN missing":
            return np.where(full, np.nan, truth)
        case "float indicator":
            return mask.astype("f4")
        case "csr" | "csc":
            return (sp.csr_array if form == "csr" else sp.csc_matrix)(mask.astype(int))
        case "frame":
            return pd.DataFrame(mask.astype(int), columns=[f"k{k}" for k in range(mask.shape[1])])
        case "polars frame":
            return pl.DataFrame({f"k{k}": mask[:, k].astype(int) for k in range(mask.shape[1])})
        case "text sets":
            return CandidateSets.from_strings(["|".join(s) for s in named]) if named else []
        case "object sets":
            return np.array([*map(frozenset, named), None], dtype=object)[:-1]
        case "pandas lists":
            return pd.Series(named, dtype=object)
        case "polars lists":
            return pl.Series(named, dtype=pl.List(pl.String))
        case "pandas text":
            return pd.Series(text, index=np.arange(len(text))[::-1])
        case "bools":
            return truth % 2 == 0
        case "column":
            return truth[:, None]
        case "pandas NA":
            return pd.Series([pd.NA if f else int(t) for f, t in zip(full, truth, strict=True)], dtype="Int64")
        case "+1 and -1":
            return np.where(truth % 2, 1, -1)
        case "numpy text":
            return np.array(text, dtype=str)
        case "bytes":
            return np.array(text, dtype=bytes)
        case "dates":
            return np.array(["2020-01-01"], "M8[D]") + truth.astype("m8[D]")
        case "large integers":
            return truth + 2**62
        case "unsigned":
            return truth.astype("u8")
        case "float16":
            return truth.astype("f2")
        case "-2":
            return truth - 2
        case "categorical":
            return pd.Series(pd.Categorical(text))
    raise AssertionError(form)


def _broken(how: str, mask: Any, truth: Any, random: np.random.Generator) -> Any:
    n, K = mask.shape
    text = [NAMES[k % 4] for k in truth]
    some = int(random.integers(max(n, 1)))
    match how:
        case "empty set":
            return mask & (np.arange(n) != some)[:, None]
        case "short":
            return mask[:-1]
        case "long":
            return np.append(truth, [0, 1])
        case "one class":
            return ["a"] * n
        case "all full":
            return np.ones((n, K))
        case "continuous":
            return random.normal(size=n)
        case "infinite":
            return np.where(np.arange(n) == some, np.inf, truth)
        case "mixed":
            return [t if i % 2 else k for i, (t, k) in enumerate(zip(text, truth.tolist(), strict=True))]
        case "nested":
            return [[[t]] for t in text]
        case "2 in mask":
            return mask.astype(int) + 1
        case "complex":
            return truth + 1j
        case "decimals":
            return [decimal.Decimal(int(k)) for k in truth]
        case "fractions":
            return [fractions.Fraction(int(k), 2) for k in truth]
        case "dicts":
            return [{t: 1} for t in text]
        case "objects":
            return [object() for _ in text]
        case "no rows":
            return mask[:0]
        case "3-d":
            return mask[:, :, None]
        case "nan in set":
            return [[t, np.nan] for t in text]
        case "none at all":
            return [None] * n
        case "huge float":
            return truth * 1e300
        case "lists of zeros and ones":
            return mask.astype(int).tolist()
        case "ragged":
            return [text[:i] for i in range(n)]
        case "strings with bars":
            return [f"{t}|{NAMES[0]}" if i % 2 else t for i, t in enumerate(text)]
        case "wide":
            return np.column_stack([mask, mask])
        case "generator":
            return (t for t in text)
        case "scalar":
            return datetime.date(2020, 1, 1)
        case "no columns":
            return mask[:, :0]
    raise AssertionError(how)
