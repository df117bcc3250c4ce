"""Results of a comparison as a DataFrame, as lines of text, and as messages of the logger."""

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from oneof.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

    from oneof.comparison.results import MethodResult

LOGGER = logging.getLogger("oneof")


def to_frame(results: "Sequence[MethodResult]") -> "pd.DataFrame":
    """Return a DataFrame with a row for each method, as documented in `Comparison.to_frame`."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas") from None
    measures = [
        *["expected_accuracy"] * (len(results) > 1),
        *["covering_rate", "covering_rate_std", "approximated_accuracy", "approximated_accuracy_std"],
        *["accuracy", "accuracy_std"] * _has_truth(results),
        "fit_seconds",
    ]
    columns = {name: np.array([getattr(r, name) for r in results], dtype=float) for name in measures}  # None is NaN
    return pd.DataFrame(
        {
            "method": [r.method for r in results],
            **columns,
            "folds": [sum(fold.error is None for fold in r.folds) for r in results],
            "note": [r.error or r.incomplete or "" for r in results],
        }
    )


def format_lines(results: "Sequence[MethodResult]", best_method: str) -> list[str]:
    """Return the lines of a table of text: the names of its columns, and a line for each method."""
    has_truth, is_comparison = _has_truth(results), len(results) > 1
    rates = [*["exp. accuracy"] * is_comparison, "covering rate", "approx. accuracy", *["accuracy"] * has_truth]
    table = [["", "method", *rates, "fit time"]]
    for r in results:
        cells = [
            *["-" if r.expected_accuracy is None else f"{r.expected_accuracy:.3f}"] * is_comparison,
            _format_mean_std(r.covering_rate, r.covering_rate_std),
            _format_mean_std(r.approximated_accuracy, r.approximated_accuracy_std),
            *[_format_mean_std(r.accuracy, r.accuracy_std)] * has_truth,
            f"{r.fit_seconds:.3g} s" if not math.isnan(r.fit_seconds) else "",
        ]
        table.append(["*" if r.method == best_method else "", r.method, *cells])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row, result in zip(table, [None, *results], strict=True):
        start = f"{row[0]:1} {row[1]:{widths[1]}}"
        cells = [f"{cell:>{width}}" for cell, width in zip(row[2:], widths[2:], strict=True)]
        if result is not None and result.error is not None:
            cells = [f"failed: {result.error}"]
        elif result is not None and result.incomplete is not None:
            cells = [*cells, result.incomplete] if result.folds else [result.incomplete]
        lines.append("  ".join([start, *cells]))
    return lines


def log_method(result: "MethodResult", n_done: int, n_total: int) -> None:
    """Log the scores of a method with all its folds, and the number of finished folds of all methods."""
    scores = f"covering rate {_format_mean_std(result.covering_rate, result.covering_rate_std)}"
    seconds = sum(fold.seconds for fold in result.folds)
    LOGGER.info(
        "%s: %s, %d folds in %.3g s (%d of %d folds of all methods)",
        *(result.method, f"failed: {result.error}" if result.error is not None else scores),
        *(len(result.folds), seconds, n_done, n_total),
    )


def _has_truth(results: "Sequence[MethodResult]") -> bool:
    return any(r.accuracy is not None for r in results)


def _format_mean_std(mean: float | None, std: float | None) -> str:
    return "-" if mean is None or std is None or math.isnan(mean) else f"{mean:.3f} ± {std:.3f}"
