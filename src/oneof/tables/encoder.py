"""Columns as the features of scikit-learn's estimators."""

from collections.abc import Sequence
from typing import Any

from oneof.tables.columns import Column
from oneof.tables.words import Words

MOST_WORDS = 20_000
"""Words of a text column that become features: the most frequent ones."""


def make_encoder(columns: Sequence[Column], words: Words | None = None) -> Any:
    """Return an unfitted transformer from the table that `conform` gives to an array.

    Numbers: missing ones become the median, with a feature that says so; then mean 0 and variance 1. Yes/no: 0 and 1,
    missing ones the more frequent. Categories: a feature for each value, missing being a value, and values that were
    not seen none of them. Text: TF-IDF of its words. It is built of scikit-learn's parts, and the tokenizer of
    `oneof.text` where words are stemmed, so that a model file can hold it; its output is sparse only where categories
    and words make it mostly zeros.

    Parameters
    ----------
    columns : sequence of Column
    words : Words, optional
        Stop words and stems of all text columns; by default there are neither.

    Returns
    -------
    sklearn.compose.ColumnTransformer
    """
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    # By place, since scikit-learn before 1.9 does not find columns of polars by name; `conform` keeps their order.
    numbers, switches, categories, texts = (
        [place for place, column in enumerate(columns) if column.kind == kind]
        for kind in ("number", "yes/no", "category", "text")
    )
    parts: list[tuple[str, Any, Any]] = []
    if numbers:
        # A column may be empty in one fold of cross-validation: it is then 0 rather than gone.
        imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
        parts.append(("numbers", make_pipeline(imputer, StandardScaler()), numbers))
    if switches:
        parts.append(("switches", SimpleImputer(strategy="most_frequent", keep_empty_features=True), switches))
    if categories:
        parts.append(("categories", OneHotEncoder(handle_unknown="ignore"), categories))
    for number, place in enumerate(texts):
        vectorizer = (words or Words()).vectorizer(sublinear_tf=True, max_features=MOST_WORDS)
        parts.append((f"text{number}", vectorizer, place))
    return ColumnTransformer(parts)
