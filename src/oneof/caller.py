"""Warnings at the line of the user's code that called oneof.

`warnings.warn` counts the calls between a warning and the line that it names. Their number differs: `fit` is called by
the user, by a pipeline of scikit-learn, or by `oneof.compare`. Here the first frame outside of these packages counts.
`skip_file_prefixes` of `warnings.warn` does this too, but not in Python 3.11.
"""

import sys
import warnings
from types import FrameType

_PACKAGES = frozenset({"oneof", "sklearn", "joblib", "threadpoolctl"})
_MODULES = frozenset({"contextlib", "functools", "threading", "concurrent", "multiprocessing", "runpy"})
"""Modules of Python between two frames of the packages above, or behind them, as in a thread or a worker process."""


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
    >>> from oneof.caller import warn
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
