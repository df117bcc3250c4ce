"""The exceptions of oneof.

An error about input is one sentence: the cause, the place (row, column, file or name) and the remedy.
The exceptions subclass the built-in types that scikit-learn's own checks expect, so ``except ValueError`` keeps
working.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, Self

LabelFault = Literal["signs", "unknown label", "empty set"]
"""Causes of a `LabelError` that a caller may handle:

* "signs": the only labels are -1 and +1, so -1 is either a class or a missing label;
* "unknown label": a label is not among the classes;
* "empty set": a row has no candidate.
"""


class OneofError(Exception):
    """The root of every exception that oneof raises on purpose.

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
    """A value given by the user cannot be used.

    Parameters
    ----------
    reason : str
        The cause and the remedy, without the place.
    source : str, optional
        The file, or the columns of it, that the value comes from.
    row, column : int, optional
        The place of the value, counted from 0.

    Examples
    --------
    >>> from oneof import PLKNN, errors
    >>> try:
    ...     PLKNN(n_neighbors=0).fit([[0.0], [1.0]], ["finch", "wren"])
    ... except errors.InputError as error:
    ...     print(error)
    `n_neighbors` must be an integer above 0; got 0.
    """

    def __init__(
        self, reason: str = "", *, source: str | None = None, row: int | None = None, column: int | None = None
    ) -> None:
        self.reason = reason
        self.source = source
        self.row = row
        self.column = column
        super().__init__(self._message())

    def at(self, source: Any = None, *, first_row: int = 0) -> Self:
        """Return the same error with a source, unless it has one, for rows that start at row `first_row` of the source.

        Parameters
        ----------
        source : str or path-like, optional
        first_row : int, default=0

        Returns
        -------
        InputError
            Of the type of this error.
        """
        moved = copy.copy(self)
        moved.source = str(source) if self.source is None and source is not None else self.source
        moved.row = None if self.row is None else self.row + first_row
        moved.args = (moved._message(),)
        return moved

    def because(self, reason: str) -> Self:
        """Return the same error with another reason.

        Parameters
        ----------
        reason : str

        Returns
        -------
        InputError
            Of the type of this error.
        """
        changed = copy.copy(self)
        changed.reason = reason
        changed.args = (changed._message(),)
        return changed

    def _message(self) -> str:
        places = [self.source, None if self.row is None else f"row {self.row}"]
        places.append(None if self.column is None else f"column {self.column}")
        place = ", ".join(part for part in places if part is not None)
        return f"{place}: {self.reason}" if place else self.reason


class LabelError(InputError):
    """A label, or a set of labels, cannot be read as a candidate set.

    Parameters
    ----------
    reason : str
        The cause and the remedy, without the place.
    label : object, optional
        The label, or the cell, that cannot be read.
    cause : {"signs", "unknown label", "empty set"}, optional
        The kind of error, for callers that handle it.
    source, row, column : optional
        See `InputError`.

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
        cause: LabelFault | None = None,
        source: str | None = None,
        row: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(reason, source=source, row=row, column=column)
        self.label = label
        self.cause = cause


class InputTypeError(OneofError, TypeError):
    """An object of the wrong kind was given.

    Examples
    --------
    >>> from oneof import compare, errors
    >>> try:
    ...     compare([[0.0], [1.0]], ["finch", "wren"], {"mine": "no estimator"}, cv=2)
    ... except errors.InputTypeError as error:
    ...     print("methods['mine']" in str(error))
    True
    """


class DataError(InputError):
    """A data set or a table is missing, damaged or has an unexpected form.

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
    """An answer would overwrite another answer that its author has not seen.

    Parameters
    ----------
    reason, source, row, column : optional
        See `InputError`.

    Examples
    --------
    >>> from oneof import errors
    >>> from oneof.labeling import LabelingSession
    >>> session = LabelingSession([[0.0], [1.0]], classes=["finch", "wren"], random_state=0)
    >>> one, other = session.look(0, "Ann"), session.look(0, "Ann", window="another")
    >>> _ = session.answer(one, "finch")
    >>> try:
    ...     session.answer(other, "wren")
    ... except errors.ConflictError:
    ...     print("answered in another window since")
    answered in another window since
    """


class ModelFileError(InputError):
    """A model file is damaged, was not written by oneof, or contains untrusted types.

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
    """A file cannot be written, for example because the disk is full; an existing file is unchanged.

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
    """Worker processes or machines stopped unexpectedly; the results received before are retained.

    Examples
    --------
    >>> from oneof import errors
    >>> issubclass(errors.LostWorkersError, RuntimeError)
    True
    """


class MissingExtraError(OneofError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    module : str
        The missing module.
    extra : str
        The extra of oneof that installs it.

    Examples
    --------
    >>> from oneof.errors import MissingExtraError
    >>> print(MissingExtraError("matplotlib", "plots"))
    This needs matplotlib, which is not installed: run `pip install 'oneof[plots]'`.
    """

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"This needs {module}, which is not installed: run `pip install 'oneof[{extra}]'`.")


@contextmanager
def reraise_as_input_error() -> Iterator[None]:
    """Reraise input errors of scikit-learn, NumPy or a table library as errors of oneof.

    The message is unchanged. The new type is a subclass of the original one, so existing handlers still match.

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
        message = str(error)
        if message.startswith("could not convert string to float"):
            message += (
                "; features must be numbers. Encode categories and texts first, for example by "
                "sklearn.preprocessing.OneHotEncoder or oneof.text.make_vectorizer."
            )
        raise InputError(message) from error
