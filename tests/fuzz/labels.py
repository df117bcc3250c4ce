"""Labels of every kind that a caller may pass, valid or not."""

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st

from oneof import CandidateSets
from tests.fuzz.rows import ODD_OBJECTS

NAMES = ("ant", "bee", "cat", "dog")

NAMED_FORMS = (
    *("integers", "text", "None missing", "-1 missing", "pandas text", "numpy text", "bytes", "dates", "categorical"),
    *("bools", "pandas NA", "large integers", "NaN missing"),
)
"""Forms with one label for each row."""
MASK_FORMS = ("mask", "indicator", "float indicator", "csr", "csc", "frame", "polars frame")
SET_FORMS = ("sets", "lists", "candidates", "weights", "text sets", "object sets", "pandas lists", "polars lists")


class Labels:
    """Candidate sets and true labels, as masks, numbers and names."""

    def __init__(self, mask: Any, truth: Any) -> None:
        self.mask, self.truth = mask, truth
        self.n, self.K = mask.shape
        self.full = mask.all(axis=1)
        self.sets = [np.flatnonzero(row).tolist() for row in mask]
        self.classes = [NAMES[k % 4] * (1 + k // 4) for k in range(max(self.K, truth.max(initial=0) + 1))]
        self.named = [[self.classes[k] for k in s] for s in self.sets]
        self.text = [self.classes[k] for k in truth]

    def hidden(self, values: Any, missing: Any) -> Any:
        """Return labels of which those of the full sets are missing."""
        return [missing if f else value for f, value in zip(self.full, values, strict=True)]

    def weighted(self) -> Any:
        """Return weights that decrease with the distance of a class from the truth."""
        distance = (np.arange(self.K) - self.truth[:, None]) % max(self.K, 1)
        weights = np.where(self.full[:, None], 1.0, self.mask * 0.3**distance)
        return CandidateSets.from_weights(weights, self.classes[: self.K])


WORDS: dict[str, Callable[[Labels], Any]] = {
    "integers": lambda y: y.truth,
    "text": lambda y: y.text,
    "mask": lambda y: y.mask,
    "indicator": lambda y: y.mask.astype(int),
    "sets": lambda y: [set(s) for s in y.named],
    "lists": lambda y: y.sets,
    "candidates": lambda y: CandidateSets(y.mask, y.classes[: y.K]),
    "weights": Labels.weighted,
    "-1 missing": lambda y: np.where(y.full, -1, y.truth),
    "None missing": lambda y: y.hidden(y.text, None),
    "NaN missing": lambda y: np.where(y.full, np.nan, y.truth),
    "float indicator": lambda y: y.mask.astype("f4"),
    "csr": lambda y: sp.csr_array(y.mask.astype(int)),
    "csc": lambda y: sp.csc_matrix(y.mask.astype(int)),
    "frame": lambda y: pd.DataFrame(y.mask.astype(int), columns=[f"k{k}" for k in range(y.K)]),
    "polars frame": lambda y: pl.DataFrame({f"k{k}": y.mask[:, k].astype(int) for k in range(y.K)}),
    "text sets": lambda y: CandidateSets.from_strings(["|".join(s) for s in y.named]) if y.named else [],
    "object sets": lambda y: np.array([*map(frozenset, y.named), None], dtype=object)[:-1],
    "pandas lists": lambda y: pd.Series(y.named, dtype=object),
    "polars lists": lambda y: pl.Series(y.named, dtype=pl.List(pl.String)),
    "pandas text": lambda y: pd.Series(y.text, index=np.arange(y.n)[::-1]),
    "bools": lambda y: y.truth % 2 == 0,
    "column": lambda y: y.truth[:, None],
    "pandas NA": lambda y: pd.Series(y.hidden(y.truth.tolist(), pd.NA), dtype="Int64"),
    "+1 and -1": lambda y: np.where(y.truth % 2, 1, -1),
    "numpy text": lambda y: np.array(y.text, dtype=str),
    "bytes": lambda y: np.array(y.text, dtype=bytes),
    "dates": lambda y: np.array(["2020-01-01"], "M8[D]") + y.truth.astype("m8[D]"),
    "large integers": lambda y: y.truth + 2**62,
    "unsigned": lambda y: y.truth.astype("u8"),
    "float16": lambda y: y.truth.astype("f2"),
    "-2": lambda y: y.truth - 2,
    "categorical": lambda y: pd.Series(pd.Categorical(y.text)),
}
"""Supported forms of labels."""
FORMS = (*WORDS, "mask", "candidates")
"""The forms that are drawn; two are drawn twice as often."""
BROKEN: dict[str, Callable[[Labels, np.random.Generator], Any]] = {
    "empty set": lambda y, random: y.mask & (np.arange(y.n) != random.integers(max(y.n, 1)))[:, None],
    "short": lambda y, _: y.mask[:-1],
    "long": lambda y, _: np.append(y.truth, [0, 1]),
    "one class": lambda y, _: ["a"] * y.n,
    "all full": lambda y, _: np.ones((y.n, y.K)),
    "continuous": lambda y, random: random.normal(size=y.n),
    "infinite": lambda y, random: np.where(np.arange(y.n) == random.integers(max(y.n, 1)), np.inf, y.truth),
    "mixed": lambda y, _: [t if i % 2 else k for i, (t, k) in enumerate(zip(y.text, y.truth.tolist(), strict=True))],
    "nested": lambda y, _: [[[t]] for t in y.text],
    "2 in mask": lambda y, _: y.mask.astype(int) + 1,
    "complex": lambda y, _: y.truth + 1j,
    "decimals": lambda y, _: [decimal.Decimal(int(k)) for k in y.truth],
    "fractions": lambda y, _: [fractions.Fraction(int(k), 2) for k in y.truth],
    "dicts": lambda y, _: [{t: 1} for t in y.text],
    "objects": lambda y, _: [object() for _ in y.text],
    "no rows": lambda y, _: y.mask[:0],
    "3-d": lambda y, _: y.mask[:, :, None],
    "nan in set": lambda y, _: [[t, np.nan] for t in y.text],
    "none at all": lambda y, _: [None] * y.n,
    "huge float": lambda y, _: y.truth * 1e300,
    "lists of zeros and ones": lambda y, _: y.mask.astype(int).tolist(),
    "ragged": lambda y, _: [y.text[:i] for i in range(y.n)],
    "strings with bars": lambda y, _: [f"{t}|{NAMES[0]}" if i % 2 else t for i, t in enumerate(y.text)],
    "wide": lambda y, _: np.column_stack([y.mask, y.mask]),
    "generator": lambda y, _: iter(y.text),
    "scalar": lambda *_: datetime.date(2020, 1, 1),
    "no columns": lambda y, _: y.mask[:, :0],
    "odd": lambda _, random: ODD_OBJECTS[random.integers(len(ODD_OBJECTS))],
}
"""Labels that are not valid."""


def in_words(form: str, mask: Any, truth: Any) -> Any:
    """Return candidate sets or true labels in one of the supported forms."""
    return WORDS[form](Labels(mask, truth))


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
    return BROKEN[draw(st.sampled_from(list(BROKEN)))](Labels(mask, truth), random)
