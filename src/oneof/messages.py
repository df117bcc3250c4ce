"""Messages: parts of their sentences, and warnings at the line of the user's code that called oneof.

`warnings.warn` counts the calls between a warning and the line that it names. Their number differs: `fit` is called by
the user, by a pipeline of scikit-learn, or by `oneof.compare`. Here the first frame outside of these packages counts.
`skip_file_prefixes` of `warnings.warn` does this too, but not in Python 3.11.
"""

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

_PACKAGES = frozenset({"oneof", "sklearn", "joblib", "threadpoolctl"})
_MODULES = frozenset({"contextlib", "functools", "threading", "concurrent", "multiprocessing", "runpy"})
"""Modules of Python between two frames of the packages above, or behind them, as in a thread or a worker process."""
MAX_NAMED = 3
"""Number of annotators or columns that a note names."""
_NAME_OR_NUMBER = re.compile(r"^\w+|\d+")
_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')


def enumerate_items(
    items: Sequence[str], limit: int | None = None, *, conjunction: bool = True, n_others: int = 0
) -> str:
    """Return items separated by commas, the last one after "and"; if they are too many, the number of the others.

    Parameters
    ----------
    items : sequence of str
    limit : int, optional
        Maximum number of items that are written; by default all are.
    conjunction : bool, default=True
        Whether "and" is before the last item if all are written.
    n_others : int, default=0
        Number of further items, which are only counted.

    Returns
    -------
    str

    Examples
    --------
    >>> from oneof.messages import enumerate_items
    >>> enumerate_items(["a", "b", "c"]), enumerate_items(["a", "b", "c", "d"], 2)
    ('a, b and c', 'a, b and 2 more')
    >>> enumerate_items(["a", "b", "c"], conjunction=False), enumerate_items(["a"], n_others=8)
    ('a, b, c', 'a and 8 more')
    """
    shown = items[:limit]
    n_others += len(items) - len(shown)
    if n_others > 0:
        return f"{', '.join(shown)} and {n_others:,} more"
    if not conjunction or len(shown) < 2:
        return ", ".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def shorten(text: str, width: int = 60) -> str:
    """Return a text of at most `width` characters; "..." stands for the end of a longer one."""
    return text if len(text) <= width else f"{text[: width - 3]}..."


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that names the line of the first caller outside of oneof, scikit-learn and joblib.

    If there is none, as in a worker process or in `python -c`, it names the line that calls this function.

    Parameters
    ----------
    message : str or Warning
        A `Warning` has its own category.
    category : type of Warning, default=UserWarning

    Examples
    --------
    >>> import warnings
    >>> from oneof.messages import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("`tol` is large.")
    >>> caught[0].category.__name__, str(caught[0].message)
    ('UserWarning', '`tol` is large.')
    """
    here = sys._getframe(1)
    frame: FrameType | None = here
    while frame is not None and _is_inside(frame):
        frame = frame.f_back
    place = here if frame is None else frame
    warnings.warn_explicit(
        message,
        type(message) if isinstance(message, Warning) else category,
        place.f_code.co_filename,
        place.f_lineno,
        module=place.f_globals.get("__name__") or "<unknown>",
        registry=place.f_globals.setdefault("__warningregistry__", {}),
    )


@contextmanager
def merged_warnings() -> Iterator[None]:
    """Issue the warnings of several fits after the block, and only one of those that differ in a name and numbers.

    The name of the estimator is the first word of a warning.
    """
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        kinds = {_NAME_OR_NUMBER.sub("", str(one.message)): one.message for one in reversed(caught)}
        for message in reversed(kinds.values()):
            warn(message)


def _is_inside(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file.startswith("<doctest"):  # it has the name of the module that it documents
        return False
    if file in ("<string>", "<frozen runpy>"):  # the code that starts a worker process
        return True
    name = frame.f_globals.get("__name__")
    if name == "__main__":  # a module of joblib or Python that is run as a program, as in a worker process
        name = getattr(frame.f_globals.get("__spec__"), "name", name)
    root = str(name).partition(".")[0]
    return root in _PACKAGES or root in _MODULES


def write_names(names: Iterable[str]) -> str:
    """Return names as the value of an option of the command line, in the form of a line of CSV."""
    quoted = ('"' + name.replace('"', '""') + '"' if _NEEDS_QUOTES.search(name) else name for name in names)
    return ",".join(quoted)
