"""Results of other rooms as the report reads them: a comparison, the result of a method, and disambiguated labels."""

from collections.abc import Sequence
from typing import Protocol

from oneof.typing import Floats, Labels


class MethodResultLike(Protocol):
    """Result of one method as read by the report; rates are in [0, 1], None or NaN if unknown."""

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def expected_accuracy(self) -> float | None:
        """Criterion of the comparison, over the held-out rows."""

    @property
    def covering_rate(self) -> float | None:
        """Mean over the held-out folds."""

    @property
    def covering_rate_std(self) -> float | None:
        """Standard deviation over the folds."""

    @property
    def approximated_accuracy(self) -> float | None:
        """Mean over the held-out folds."""

    @property
    def approximated_accuracy_std(self) -> float | None:
        """Standard deviation over the folds."""

    @property
    def fit_seconds(self) -> float | None:
        """Time of one fit."""

    @property
    def accuracy(self) -> float | None:
        """Mean over the held-out folds, if the true labels are known."""

    @property
    def accuracy_std(self) -> float | None:
        """Standard deviation over the folds."""

    @property
    def pooled_covering_rate(self) -> float | None:
        """Rate of the held-out rows of all folds together."""

    @property
    def pooled_accuracy(self) -> float | None:
        """Rate of these rows, if the true labels are known."""

    @property
    def error(self) -> str | None:
        """Error message, if the method failed."""

    @property
    def incomplete(self) -> str | None:
        """The reason if folds are missing."""


class ComparisonLike(Protocol):
    """Comparison of methods as read by the report."""

    @property
    def results(self) -> Sequence[MethodResultLike]:
        """One result per method, the best first."""

    @property
    def best_method(self) -> str:
        """Name of the best method."""


class DisambiguationLike(Protocol):
    """Result of `disambiguate` as read by the report."""

    @property
    def labels(self) -> Labels:
        """(n_samples,): the disambiguated label of each row."""

    @property
    def confidence(self) -> Floats:
        """(n_samples,): its probability among the row's candidates, in [0, 1]."""
