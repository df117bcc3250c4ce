"""Statements of a paper as assertions over records."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from oneof.typing import Floats
from reproduction.records import mean_and_error

Z_THRESHOLD = 2.0
"""Number of standard errors by which the mean of paired differences must differ from 0."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper with the verdict of the records.

    Parameters
    ----------
    statement : str
        An assertion that can be checked against records.
    paper : str
        The paper's statement, in short.
    measured : str
        The measured result.
    confirmed : bool or None
        None if the records that it needs are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction import Claim
    >>> Claim("A is below B.", "it is", "by a point", np.float64(1.0) > 0.0).confirmed
    True
    """

    statement: str
    paper: str
    measured: str
    confirmed: bool | None

    def __post_init__(self) -> None:
        # A NumPy bool is not `is True` and not JSON: a confirmed claim would be counted as one that is not.
        object.__setattr__(self, "confirmed", None if self.confirmed is None else bool(self.confirmed))

    @classmethod
    def of_cases(
        cls, statement: str, paper: str, cases: Iterable[tuple[bool | None, str]], *, otherwise: str = "not measured"
    ) -> "Claim":
        """Return a claim that is confirmed if it is in every case, and not measured without a case.

        Parameters
        ----------
        statement, paper : str
        cases : iterable of (verdict, text)
            The texts are joined; empty ones are omitted.
        otherwise : str
            The measured result if no case has a text.
        """
        verdicts, texts = [], []
        for verdict, text in cases:
            verdicts.append(verdict)
            texts += [text] if text else []
        confirmed = None if not verdicts or None in verdicts else all(verdicts)
        return cls(statement, paper, "; ".join(texts) or otherwise, confirmed)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "not measured" if self.confirmed is None else "confirmed" if self.confirmed else "not confirmed"


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences a - b and its standard error; NaN without pairs."""

    mean: float
    error: float

    @classmethod
    def from_pairs(cls, a: Floats, b: Floats) -> "Difference":
        """Compare paired draws; the result is NaN if the numbers of draws differ, because some trials failed."""
        if len(a) != len(b) or not len(a):
            return cls(float("nan"), float("nan"))
        return cls(*mean_and_error(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)))

    @property
    def is_measured(self) -> bool:
        """Whether there were at least two draws to compare: one has no standard error."""
        return bool(np.isfinite(self.mean) and np.isfinite(self.error))

    @property
    def below(self) -> bool | None:
        """Whether a is below b by more than `Z_THRESHOLD` standard errors; None if it was not measured."""
        return bool(self.mean < -Z_THRESHOLD * self.error) if self.is_measured else None

    @property
    def above(self) -> bool | None:
        """Whether a is above b by more than `Z_THRESHOLD` standard errors; None if it was not measured."""
        return bool(self.mean > Z_THRESHOLD * self.error) if self.is_measured else None

    def points(self, scale: float = 100.0) -> str:
        """Format the difference in percentage points."""
        if not np.isfinite(self.mean):
            return "not measured"
        error = f" ± {scale * self.error:.2f}" if np.isfinite(self.error) else ""
        return f"{scale * self.mean:+.2f}{error}".replace("-", "\N{MINUS SIGN}")
