"""The stream in every format, as for the tests of streams."""

from tests.stream.conftest import files

__all__ = ["files"]
