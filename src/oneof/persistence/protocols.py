"""A saved model as the functions on its tables and its prediction sets read it."""

from typing import Any, Protocol


class ModelLike(Protocol):
    """Attributes of `SavedModel` that describe its pipeline, its table and its calibration rows."""

    @property
    def pipeline(self) -> Any:
        """A fitted pipeline."""

    @property
    def classes(self) -> list[Any]:
        """The classes."""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The features, and their kinds."""

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def summary(self) -> dict[str, Any]:
        """Information about the training."""

    @property
    def calibration(self) -> dict[str, Any] | None:
        """Held-out rows that calibrate prediction sets; None without them."""
