"""What a paper says, as an assertion over records."""

from dataclasses import dataclass

import numpy as np

from oneof.typing import Floats
from reproduction.records import mean_and_error

CLEAR = 2.0
"""Standard errors by which a mean of paired differences has to differ from 0 to count as a difference."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and whether our records bear it out.

    Parameters
    ----------
    statement : str
        As an assertion that records can be held against.
    paper : str
        What the paper states, in short.
    ours : str
        What was measured.
    held : bool or None
        None where the records that it takes are not there.

    Examples
    --------
    >>> import numpy as np
    >>> from reproduction import Claim
    >>> Claim("A is below B.", "it is", "by a point", np.float64(1.0) > 0.0).held
    True
    """

    statement: str
    paper: str
    ours: str
    held: bool | None

    def __post_init__(self) -> None:
        # NumPy's truths are not `is True`, and no JSON: a claim that held would be counted as one that did not.
        object.__setattr__(self, "held", None if self.held is None else bool(self.held))

    @property
    def verdict(self) -> str:
        """The word for it."""
        return "not judged" if self.held is None else "held" if self.held else "not held"


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences a - b, and its standard error; by definition NaN where there is nothing."""

    mean: float
    error: float

    @classmethod
    def of(cls, a: Floats, b: Floats) -> "Difference":
        """Compare paired draws; of two different numbers of draws (some failed) nothing is known."""
        if len(a) != len(b) or not len(a):
            return cls(float("nan"), float("nan"))
        return cls(*mean_and_error(np.asarray(a, dtype=float) - np.asarray(b, dtype=float)))

    @property
    def known(self) -> bool:
        """Whether there were draws to compare."""
        return bool(np.isfinite(self.mean))

    @property
    def is_below(self) -> bool:
        """Whether a is below b by more than chance; of one draw, whether it is below."""
        return bool(self.mean < -CLEAR * np.nan_to_num(self.error))

    @property
    def is_above(self) -> bool:
        """Whether a is above b by more than chance."""
        return bool(self.mean > CLEAR * np.nan_to_num(self.error))

    def points(self, scale: float = 100.0) -> str:
        """Write it in points of a percentage."""
        if not self.known:
            return "not measured"
        error = f" ± {scale * self.error:.2f}" if np.isfinite(self.error) else ""
        return f"{scale * self.mean:+.2f}{error}".replace("-", "\N{MINUS SIGN}")


def verdict_of(*judged: bool | None) -> bool | None:
    """Return whether all parts of a claim hold; None where one of them is not known."""
    return None if any(part is None for part in judged) else all(judged)
