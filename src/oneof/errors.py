"""The exceptions of oneof.

Every error about input is one sentence that says what is wrong, where (row, column, name) and what to do.
They subclass the built-in types that scikit-learn's own checks expect, so ``except ValueError`` keeps working.
"""

from collections.abc import Iterator
from contextlib import contextmanager


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

    Examples
    --------
    >>> from oneof import PLKNN, errors
    >>> try:
    ...     PLKNN(n_neighbors=0).fit([[0.0], [1.0]], ["finch", "wren"])
    ... except errors.InputError as error:
    ...     print(error)
    n_neighbors=0 is not possible: give an integer above 0.
    """


class LabelError(InputError):
    """A label, or a set of labels, cannot be read as a candidate set.

    Examples
    --------
    >>> from oneof import CandidateSets, errors
    >>> try:
    ...     CandidateSets.from_sets([["finch"], []])
    ... except errors.LabelError as error:
    ...     print("row 1" in str(error))
    True
    """


class InputTypeError(OneofError, TypeError):
    """An object of the wrong kind was given.

    Examples
    --------
    >>> from oneof import compare, errors
    >>> try:
    ...     compare([[0.0], [1.0]], ["finch", "wren"], {"mine": "no estimator"}, cv=2)
    ... except errors.InputTypeError as error:
    ...     print(error)
    methods['mine'] is no estimator: give an object with fit and predict.
    """


class DataError(InputError):
    """A data set or a table is absent, damaged or not of the expected form.

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
    """An answer would overwrite another that its writer has not seen.

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
    """A model file is damaged, foreign, or holds types that oneof does not trust.

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
    """A file cannot be written: the disk is full, or the folder cannot be written to. What was there is unchanged.

    Examples
    --------
    >>> from oneof import errors
    >>> issubclass(errors.WriteError, OSError)
    True
    """


class LostWorkersError(OneofError, RuntimeError):
    """Processes or machines that worked for this one went away; what they had handed over is kept.

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
        What is not installed.
    extra : str
        The extra of the package that brings it.

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
    """Raise as our own what scikit-learn, NumPy or a table's library say of input that they are made to read.

    Their sentence is kept; the kind is a subclass of theirs, so that whoever caught it still does.

    Yields
    ------
    None

    Raises
    ------
    InputTypeError
        In place of a TypeError.
    InputError
        In place of a ValueError or an OverflowError.

    Examples
    --------
    >>> from oneof import errors
    >>> with errors.reraise_as_input_error():
    ...     float("one")
    Traceback (most recent call last):
    oneof.errors.InputError: could not convert string to float: 'one'; features are numbers: turn categories ...
    """
    try:
        yield
    except (OneofError, AttributeError):  # scikit-learn's NotFittedError is an AttributeError, and says what it should
        raise
    except TypeError as error:
        raise InputTypeError(str(error)) from error
    except (ValueError, OverflowError) as error:
        said = str(error)
        if said.startswith("could not convert string to float"):
            said += (
                "; features are numbers: turn categories and texts into such first, as "
                "sklearn.preprocessing.OneHotEncoder and oneof.text.make_vectorizer do."
            )
        raise InputError(said) from error
