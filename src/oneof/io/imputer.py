"""Imputation of missing numbers by the median of their column."""

from typing import TYPE_CHECKING, Any, Self

from sklearn.impute import SimpleImputer

if TYPE_CHECKING:
    import polars as pl


class MedianImputer(SimpleImputer):
    """Imputer of the median of each column of a polars table, with an indicator of each column with missing values.

    scikit-learn's SimpleImputer computes the medians of a masked copy of the table, for which it sorts indices. This
    takes 5 s and 1.3 GB for 10^6 rows of 50 numbers; polars takes 0.2 s and no copy. Here polars computes the medians.
    SimpleImputer is then fitted on three rows that have the same medians and the same columns with missing values. A
    column without values becomes 0.
    """

    def __init__(self) -> None:
        # A column may be empty in one fold of cross-validation: it is then 0 rather than removed.
        super().__init__(strategy="median", add_indicator=True, keep_empty_features=True)

    def fit(self, X: "pl.DataFrame", y: Any = None) -> Self:
        """Compute the medians.

        Parameters
        ----------
        X : polars.DataFrame
            Columns of float64, with NaN for missing values.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        import polars as pl

        medians = X.select(pl.all().fill_nan(None).median())
        is_complete = X.select(pl.all().is_not_nan().all()).row(0)
        rows = [
            pl.Series(column.name, [column[0], *[column[0] if complete else None] * 2], dtype=pl.Float64)
            for column, complete in zip(medians, is_complete, strict=True)
        ]
        # In the container of X, so that the names of the columns are those of `transform`.
        super().fit(pl.DataFrame(rows).fill_null(float("nan")), y)
        return self
