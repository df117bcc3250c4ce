"""Exceptions of oneof.

The message of an input error has the cause, the location (row, column, file or name) and the remedy.
The exceptions subclass the built-in types that scikit-learn's own checks expect, so ``except ValueError`` keeps
working.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

_MAX_VALUE = 80
"""Maximum number of characters of a message that quotes a text which is not a number."""
LabelErrorCause = Literal["signs", "unknown label", "empty set", "types", "weights"]
"""Causes of a `LabelError` that a caller may handle:

* "signs": the only labels are -1 and +1, so -1 is either a class or a missing label;
* "unknown label": a label is not among the classes;
* "empty set": a row has no candidate;
* "types": the labels are strings and numbers;
* "weights": the labels have weights, which are not requested.
"""


class OneofError(Exception):
    """Base class of all exceptions that oneof raises deliberately.

    Examples
    --------
    >>> from oneof import CandidateSets, errors
    >>> try:
    ...     CandidateSets.from_sets([["finch"], []])
    ... except errors.OneofError as error:
    ...     print(type(error).__name__)
    LabelError
    """


class InputError(OneofError, ValueError):
    """Invalid value given by the user.

    Parameters
    ----------
    reason : str
        The cause and the remedy, without the location.
    source : str, optional
        The file, or its columns, from which the value was read.
    row, column : int, optional
        Position of the value, counted from 0.

    Examples
    --------
    >>> from oneof import PLKNN, errors
    >>> try:
    ...     PLKNN(n_neighbors=0).fit([[0.0], [1.0]], ["finch", "wren"])
    ... except errors.InputError as error:
    ...     print(error)
    `n_neighbors` must be an integer above 0; got 0.
    """

    rows: tuple[int, ...] = ()
    """All rows with such a value, if several are known, as in a `LabelError`."""

    def __init__(
        self, reason: str = "", *, source: str | None = None, row: int | None = None, column: int | None = None
    ) -> None:
        self.reason = reason
        self.source = source
        self.row = row
        self.column = column
        super().__init__(self._message())

    def at(self, source: Any = None, *, first_row: int = 0) -> Self:
        """Return a copy of the error with a source, unless it has one, and with its rows counted from `first_row`.

        Parameters
        ----------
        source : str or path-like, optional
            The file, or its columns, from which the value was read.
        first_row : int, default=0
            Row of the source at which the rows of this error start.

        Returns
        -------
        InputError
            Of the type of this error.
        """
        relocated = self.because(self.reason)
        relocated.source = str(source) if self.source is None and source is not None else self.source
        relocated.row = None if self.row is None else self.row + first_row
        relocated.rows = tuple(row + first_row for row in self.rows)
        relocated.args = (relocated._message(),)
        return relocated

    def because(self, reason: str) -> Self:
        """Return a copy of the error with another reason.

        Parameters
        ----------
        reason : str
            The cause and the remedy, without the location.

        Returns
        -------
        InputError
            Of the type of this error.
        """
        # A copy with its own attributes: tblib, which Dask installs, lets copies of exceptions share them.
        changed = type(self).__new__(type(self))
        changed.__dict__.update(self.__dict__)
        changed.reason = reason
        changed.args = (changed._message(),)
        return changed

    def _message(self) -> str:
        numbered = [f"{name} {n}" for name, n in (("row", self.row), ("column", self.column)) if n is not None]
        location = ", ".join(filter(None, [self.source, *numbered]))
        return f"{location}: {self.reason}" if location else self.reason


class LabelError(InputError):
    """Label, or set of labels, that cannot be read as a candidate set.

    Parameters
    ----------
    reason : str
        The cause and the remedy, without the location.
    label : object, optional
        The label or cell that cannot be read.
    cause : {"signs", "unknown label", "empty set", "types", "weights"}, optional
        The kind of error, for callers that handle it.
    source, row, column : optional
        See `InputError`.

    Attributes
    ----------
    rows : tuple of int
        All rows with a cell that cannot be read, of which `row` is the first; empty if the error is not about cells, or
        if the reader stopped at the first one.

    Examples
    --------
    >>> from oneof import CandidateSets, errors
    >>> try:
    ...     CandidateSets.from_sets([["finch"], []])
    ... except errors.LabelError as error:
    ...     print(error.row, error.cause)
    1 empty set
    """

    def __init__(
        self,
        reason: str = "",
        *,
        label: Any = None,
        cause: LabelErrorCause | None = None,
        source: str | None = None,
        row: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(reason, source=source, row=row, column=column)
        self.label = label
        self.cause = cause


class InputTypeError(OneofError, TypeError):
    """Argument of the wrong type.

    Examples
    --------
    >>> from oneof import compare, errors
    >>> try:
    ...     compare([[0.0], [1.0]] * 2, ["finch", "wren"] * 2, {"mine": "no estimator"}, cv=2)
    ... except errors.InputTypeError as error:
    ...     print("`methods`" in str(error))
    True
    """


class DataError(InputError):
    """Data set or table that is missing, damaged or of an unexpected form.

    Parameters
    ----------
    reason, source, row, column : optional
        See `InputError`.

    Examples
    --------
    >>> from oneof import datasets, errors
    >>> try:
    ...     datasets.load("irises")
    ... except errors.DataError as error:
    ...     print("'iris'" in str(error))
    True
    """


class ConflictError(InputError):
    """Answer that would overwrite another answer that its author has not seen.

    Parameters
    ----------
    reason, source, row, column : optional
        See `InputError`.

    Examples
    --------
    >>> from oneof import errors
    >>> from oneof.labeling import LabelingSession
    >>> session = LabelingSession([[0.0], [1.0]], classes=["finch", "wren"], random_state=0)
    >>> one, other = session.question_for(0, "Ann"), session.question_for(0, "Ann", window="another")
    >>> _ = session.answer(one, "finch")
    >>> try:
    ...     session.answer(other, "wren")
    ... except errors.ConflictError:
    ...     print("already answered in another window")
    already answered in another window
    """


class ModelFileError(InputError):
    """Model file that is missing, is damaged, was not written by oneof, or contains untrusted types.

    Parameters
    ----------
    reason, source, row, column : optional
        See `InputError`.

    Examples
    --------
    >>> from oneof import errors, persistence
    >>> try:
    ...     persistence.load("nowhere/model.skops")
    ... except errors.ModelFileError:
    ...     print("no such file")
    no such file
    """


class WriteError(InputError, OSError):
    """Failure to write a file, for example because the disk is full; an existing file is unchanged.

    Parameters
    ----------
    reason, source, row, column : optional
        See `InputError`.

    Examples
    --------
    >>> from oneof import errors
    >>> issubclass(errors.WriteError, OSError)
    True
    """


class LostWorkersError(OneofError, RuntimeError):
    """Unexpected stop of worker processes or machines; the results received before are retained.

    Examples
    --------
    >>> from oneof import errors
    >>> issubclass(errors.LostWorkersError, RuntimeError)
    True
    """


class MissingExtraError(OneofError, ImportError):
    """Optional dependency that is not installed.

    Parameters
    ----------
    module : str
        The missing module.
    extra : str, optional
        The extra of oneof that installs it; None if no extra does.
    what : str, default="This"
        The subject of the message, such as "A spreadsheet".

    Examples
    --------
    >>> from oneof.errors import MissingExtraError
    >>> print(MissingExtraError("matplotlib", "plots"))
    This needs matplotlib, which is not installed: run `pip install 'oneof[plots]'`.
    >>> print(MissingExtraError("pandas"))
    This needs pandas, which is not installed: run `pip install pandas`.
    """

    def __init__(self, module: str, extra: str | None = None, what: str = "This") -> None:
        package = module if extra is None else f"'oneof[{extra}]'"
        super().__init__(f"{what} needs {module}, which is not installed: run `pip install {package}`.")


@contextmanager
def reraise_as_input_error() -> Iterator[None]:
    """Reraise input errors of scikit-learn, NumPy or a table library as errors of oneof.

    The message is unchanged, except for a hint if text cannot be converted to numbers. The new type is a subclass of
    the original one, so existing handlers still match.

    Yields
    ------
    None

    Raises
    ------
    InputTypeError
        Instead of a TypeError.
    InputError
        Instead of a ValueError or an OverflowError.

    Examples
    --------
    >>> from oneof import errors
    >>> with errors.reraise_as_input_error():
    ...     float("one")
    Traceback (most recent call last):
    oneof.errors.InputError: could not convert string to float: 'one'; features must be numbers. Encode categories ...
    """
    try:
        yield
    except (OneofError, AttributeError):  # scikit-learn's NotFittedError is an AttributeError with its own message
        raise
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except (ValueError, OverflowError) as error:
        # scikit-learn prints the whole array
        message = re.sub(r":\narray=.*?\.\n(?=Reshape)", ". ", str(error), flags=re.DOTALL)
        if "got scalar array instead" in message:
            message = "`X` must be a 2-D array, one row for each sample; got None or a single value."
        if message.startswith("setting an array element with a sequence"):
            message += (
                " Features must be numbers; stack a column of lists, such as embeddings, by numpy.stack(frame['name'])."
            )
        if message.startswith("could not convert string to float"):
            if len(message) > _MAX_VALUE:  # a text
                message = message[:_MAX_VALUE] + "...'"
            message += (
                "; features must be numbers. Encode categories and texts first, for example by "
                "sklearn.preprocessing.OneHotEncoder or oneof.text.make_vectorizer."
            )
        raise InputError(message) from error
