"""Limits of the server of predictions, without its packages, for the defaults of the command line."""

from dataclasses import dataclass

from oneof.errors import InputError

DEFAULT_PORT = 8000
MAX_ROWS = 1_000
MAX_BODY_BYTES = 4 * 2**20
MAX_BODY_SECONDS = 30.0
"""Time in which the body of a request must arrive."""
MAX_REQUESTS = 100
"""Number of open requests from which further ones are refused with status 503."""
MAX_CONNECTIONS = 500
"""Number of open connections from which the web server refuses requests with status 503."""


@dataclass(frozen=True)
class Limits:
    """Limits of one request.

    Attributes
    ----------
    max_rows : int
    max_body_bytes : int

    Raises
    ------
    InputError
        If a limit is not an integer above 0.
    """

    max_rows: int = MAX_ROWS
    max_body_bytes: int = MAX_BODY_BYTES

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_body_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"`{name}` must be an integer above 0; got {value!r}.")
