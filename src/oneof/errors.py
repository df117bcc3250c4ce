"""The exceptions of oneof.

Every error about input is one sentence that says what is wrong, where (row, column, name) and what to do.
They subclass the built-in types that scikit-learn's own checks expect, so ``except ValueError`` keeps working.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class OneofError(Exception):
    """The root of every exception that oneof raises on purpose."""


class InputError(OneofError, ValueError):
    """A value given by the user cannot be used."""


class LabelError(InputError):
    """A label, or a set of labels, cannot be read as a candidate set."""


class InputTypeError(OneofError, TypeError):
    """An object of the wrong kind was given."""


class DataError(InputError):
    """A data set or a table is absent, damaged or not of the expected form."""


class ConflictError(InputError):
    """An answer would overwrite another that its writer has not seen."""


class ModelFileError(InputError):
    """A model file is damaged, foreign, or holds types that oneof does not trust."""


class LostWorkersError(OneofError, RuntimeError):
    """Processes or machines that worked for this one went away; what they had handed over is kept."""


class MissingExtraError(OneofError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"This needs {module}, which is not installed: run `pip install 'oneof[{extra}]'`.")


@contextmanager
def as_input_errors() -> Iterator[None]:
    """Raise as our own what scikit-learn, NumPy or a table's library say of input that they are made to read.

    Their sentence is kept; the kind is a subclass of theirs, so that whoever caught it still does.
    """
    try:
        yield
    except (OneofError, AttributeError):  # scikit-learn's NotFittedError is an AttributeError, and says what it should
        raise
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except (ValueError, OverflowError) as error:
        raise InputError(str(error)) from error
