"""Label values: missing labels, text, types, and the classes that occur."""

import re
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import LabelError
from oneof.messages import enumerate_items, shorten, warn
from oneof.typing import Labels

WEIGHT_IN_PARENTHESES = re.compile(r"\(\s*(\d*\.\d+(?:[eE][-+]?\d+)?|[01]|\d+(?:\.\d*)?\s*%)\s*\)\s*", re.ASCII)
"""A weight at the end of a label, as in "finch (0.66)" and "finch (66 %)", but not the number of a name, "B (2)"."""
_LABEL_AND_WEIGHT = re.compile(
    rf"""\s*\{{\s*".*":.*\}}\s*|.+:\s*(\d*\.\d+([eE][-+]?\d+)?|[01])|.*\S\s*{WEIGHT_IN_PARENTHESES.pattern}""",
    re.DOTALL | re.ASCII,
)
_FRACTION = re.compile(r"[.%][^:(]*$")
"""A point or a percent sign in the weight at the end of a text."""

_SPACES = re.compile(r"(?:[^\S\t\r\n]|_|(?<=[^\W\d_])-(?=[^\W\d_]))+")
"""Spaces, underscores and hyphens between letters in a label; a tabulator or a line end may separate labels."""

_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufdd0-\ufdef\ufeff]")
"""Zero-width spaces, soft hyphens, marks of direction and noncharacters; joiners belong to several scripts."""
_WIDE_SPACES = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")

_WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9]\d{0,17}))(\.0+)?")

PLACEHOLDERS = frozenset({"na", "n/a", "n.a.", "none", "null", "-1", "-", "?"})
"""Texts that stand for a missing label, in lower case."""

USE_FROM_WEIGHTS = (
    "If the numbers are likelihoods or posteriors of the labels, pass "
    'CandidateSets.from_weights(y, kind="likelihood") or kind="posterior"; if each column has the answers of one '
    "annotator, pass CandidateSets.from_annotations(y)."
)
"""The remedy for labels with weights among the labels of sets."""
AMBIGUOUS_SIGNS = (
    "the labels are only -1 and 1, of which -1 may mark unlabeled rows. Name all classes: with --classes=-1,1 or "
    "CandidateSets.from_labels(y, classes=[-1, 1]), it is one of them; with others, such as --classes=0,1, it is not."
)

_READ_AS_UNLABELED = "-1 is read as unlabeled"
_MAX_NAMED = 8
"""Maximum number of classes that a warning or an error lists."""


# -- values ------------------------------------------------------------------------------------------------------------


def is_missing(value: Any) -> bool:
    """Return whether a value marks a missing label: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def is_hashable(value: Any) -> bool:
    """Return whether a value can be a label; a tuple that contains a list, for example, cannot."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def is_minus_one(value: Any) -> bool:
    """Return whether a value is the integer -1 (also as an integral float), which marks a missing label."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool) and value == -1


def is_weight_pair(value: Any) -> bool:
    """Return whether a value is a pair of a label, which is text or an integer, and a float."""
    return (
        isinstance(value, tuple | list)
        and len(value) == 2
        and isinstance(value[0], str | int | np.integer)
        and isinstance(value[1], float | np.floating)
    )


def is_collection(value: Any) -> bool:
    """Return whether a value is a set of labels rather than one label."""
    return isinstance(value, list | tuple | set | frozenset | np.ndarray) or (
        isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping)
    )


def has_collections(values: Sequence[Any]) -> bool:
    """Return whether some of the values are sets of labels; values of one type all are, or none."""
    return any(map(is_collection, dict(zip(map(type, values), values, strict=True)).values()))


def check_no_mapping(values: Any) -> None:
    """Raise if the values are a mapping, which has no order of rows; a Series of pandas has one."""
    if callable(getattr(values, "keys", None)) and callable(getattr(values, "values", None)):
        raise LabelError(
            f"labels and classes must be sequences; got a mapping ({type(values).__name__}). Pass list(y.values()) if "
            "its values are in the order of the rows, or pandas.DataFrame(y) if its keys are classes or annotators."
        )


def list_rows(values: Any) -> list[Any]:
    """Return a sequence, or a column of a table, as a list in which masked entries are None."""
    check_no_mapping(values)
    for name in ("to_pylist", "to_list"):  # Arrow; pandas and polars
        if hasattr(values, name):
            values = getattr(values, name)()
    if isinstance(values, np.ma.MaskedArray):
        values = values.tolist()
    try:
        rows = None if isinstance(values, str | bytes) else list(values)
    except TypeError:
        rows = None
    if rows is None:
        raise LabelError(f"labels must be a sequence with one entry for each row of X; got {shorten(repr(values))}.")
    if type(np.ma.masked) in set(map(type, rows)):
        rows = [None if value is np.ma.masked else value for value in rows]
    return rows


def label_vector(y: Any) -> np.ndarray[Any, Any]:
    """Return `y` as a 1-D NumPy array of numbers or objects; masked entries of NumPy become None."""
    if isinstance(y, np.ndarray | memoryview):
        y = np.asanyarray(y)
    elif hasattr(y, "to_numpy") and not hasattr(y, "to_pylist"):  # pandas, polars
        _check_vector(getattr(y, "shape", (0,)))  # a DataFrame is a sequence of columns
        dtype = getattr(y, "dtype", None)
        # Nullable integers with a missing value would become floats.
        is_plain = getattr(dtype, "kind", None) in ("i", "u", "f", "b") and not hasattr(dtype, "na_value")
        y = y.to_numpy() if is_plain else y
    if sp.issparse(y):
        raise LabelError("`y` must be one label or one set of labels per row of X; got a sparse matrix.")
    if not isinstance(y, np.ndarray) or (y.ndim == 1 and (isinstance(y, np.ma.MaskedArray) or y.dtype.kind == "O")):
        values = list_rows(y)
        y = np.asarray(values) if not hasattr(y, "dtype") and _are_plain_numbers(values) else object_vector(values)
    _check_vector(y.shape)
    return y


def _check_vector(shape: tuple[int, ...]) -> None:
    if len(shape) != 1:
        raise LabelError(f"y should be a 1d array of labels, got an array of shape {shape}.")


def _are_plain_numbers(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    are_numbers = all(issubclass(kind, (int, float, np.integer, np.floating, np.bool_)) for kind in kinds)
    return are_numbers and not (len(kinds) > 1 and kinds & {bool, np.bool_})


def object_vector(values: Iterable[Any]) -> np.ndarray[Any, Any]:
    """Return values as a 1-D array of objects."""
    # The trailing None prevents NumPy from turning sequences of equal length into a matrix.
    return np.array([*values, None], dtype=object)[:-1]


# -- classes -----------------------------------------------------------------------------------------------------------


def as_classes(classes: Any) -> Labels:
    """Return the classes in the given order as a 1-D array; repeated or missing ones are errors."""
    values = label_vector(classes)
    listed = values.tolist()
    for value in listed:
        if is_missing(value) or not is_hashable(value):
            raise LabelError(f"`classes` must be strings or numbers, none of them missing; got {value!r}.", label=value)
    if len(sort_labels(set(listed))) < len(listed):
        repeated = next(value for i, value in enumerate(listed) if value in listed[:i])
        raise LabelError(f"`classes` must be distinct; got {repeated!r} twice.", label=repeated)
    if not listed:
        raise LabelError("`classes` must name at least two classes; got none.")
    return pack_classes(listed) if values.dtype.kind == "O" else values.copy()


def pack_classes(listed: Sequence[Any]) -> Labels:
    """Return label values as an array of their natural dtype: strings, numbers, else objects."""
    # NumPy strings drop trailing NUL characters, which would merge two labels.
    if _are_plain_numbers(listed) or all(isinstance(value, str) and not value.endswith("\0") for value in listed):
        return np.asarray(listed)
    return object_vector(listed)


def sort_labels(labels: Iterable[Any]) -> list[Any]:
    """Return distinct labels sorted; a mixture of strings and numbers is an error."""
    listed = list(labels)
    text = [value for value in listed if isinstance(value, str)]
    others = [value for value in listed if not isinstance(value, str)]
    if text and others:
        is_mark = all(map(is_minus_one, others))
        raise LabelError(
            f"labels must have one type; got the string {text[0]!r} and the {type(others[0]).__name__} {others[0]!r}. "
            + ("Write None in its place if the row has no label." if is_mark else "Convert all of them, as by `str`."),
            label=others[0],
            cause=None if is_mark else "types",
        )
    for value in others:
        if isinstance(value, float | np.floating) and not float(value).is_integer():
            raise LabelError(f"Unknown label type: {value!r} is continuous. Labels must be categories.", label=value)
    try:
        return sorted(listed)
    except TypeError:
        kinds = sorted({type(value).__name__ for value in listed})
        raise LabelError(f"labels must have one sortable type; got {', '.join(kinds)}.") from None


def unknown_label(row: int | None, label: Any, classes: Labels) -> LabelError:
    """Return the error for a label that is not among the given classes."""
    names = format_classes([repr(value) for value in classes.tolist()])
    return LabelError(
        f"label {label!r} is not one of the classes {names}.", row=row, label=label, cause="unknown label"
    )


def format_classes(names: Sequence[str]) -> str:
    """Return the first class names, separated by commas, and the number of all if there are more."""
    return ", ".join(names[:_MAX_NAMED]) + (f", ... ({len(names)} in all)" if len(names) > _MAX_NAMED else "")


# -- text --------------------------------------------------------------------------------------------------------------


def clean(text: str) -> str:
    """Return text in Unicode NFC without invisible characters and spaces at its ends, in which spaces are plain.

    Examples
    --------
    >>> from oneof.candidates.labels import clean
    >>> clean("Cafe\u0301\u200b ") == "Caf\u00e9"
    True
    """
    return clean_inside(text).strip()


def clean_inside(text: str) -> str:
    """Return text as `clean` does, with the spaces at its ends."""
    return text if text.isascii() else unicodedata.normalize("NFC", visible(text))


def visible(text: str) -> str:
    """Return text without invisible characters, in which spaces are plain."""
    return text if text.isascii() else _WIDE_SPACES.sub(" ", _INVISIBLE.sub("", text))


def label_to_text(label: Any) -> str:
    """Return a label as text, so that 3, 3.0 and "3" are equal, and 0 and "-0"."""
    if isinstance(label, bool):
        return "true" if label else "false"
    text = str(label).strip()
    match = _WHOLE_NUMBER.fullmatch(text)
    return str(int(match[1])) if match else text


def parse_whole_number(text: str) -> int | None:
    """Return text such as "3" or "3.0" as an integer; None for other text, such as "0.7", "inf" and "03"."""
    match = _WHOLE_NUMBER.fullmatch(text)
    return int(match[1]) if match else None


def fold_case(text: str) -> str:
    """Return text without upper case and repeated spaces: "Sea Eagle", "sea_eagle" and "sea-eagle" are "sea eagle"."""
    return _SPACES.sub(" ", text.casefold()).strip(" ") or text.strip(" ")


def labels_with_weights(labels: Iterable[Any]) -> list[str]:
    """Return the labels with a weight, such as "finch:0.7" or "finch (0.7)", if they are weights; else none.

    They are if most labels have one, or if several labels with a fraction are another label without it.
    """
    texts = [label for label in labels if isinstance(label, str)]
    pairs = [text for text in texts if _LABEL_AND_WEIGHT.fullmatch(text)]
    fractions = [text for text in pairs if _FRACTION.search(text)]
    if fractions and 2 * len(pairs) > len(texts):
        return pairs
    known = set(texts)
    named = [text for text in fractions if {text.rpartition(":")[0].strip(), text.rpartition("(")[0].strip()} & known]
    return named if len(named) > 1 else []


def group_spellings(names: Iterable[str], key: Callable[[str], str] = fold_case) -> list[list[str]]:
    """Return the groups of names with one key: those that differ only in case, spaces, underscores or hyphens."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        spellings.setdefault(key(name), []).append(name)
    return [group for group in spellings.values() if len(group) > 1]


def most_frequent_spellings(counts: Mapping[Any, int]) -> dict[Any, Any]:
    """Return the most frequent of the labels that are equal by `fold_case`, the first one of several, by their key."""
    names: dict[Any, Any] = {}
    for label, count in counts.items():
        key = fold_case(label) if isinstance(label, str) else label
        names[key] = label if count > counts.get(names.get(key), 0) else names[key]
    return names


def describe_spellings(names: Iterable[Any], remedy: str, limit: int = 6) -> list[str]:
    """Return a sentence on the texts that differ only in spelling, with at most `limit` of them; empty without any."""
    groups = group_spellings(name for name in names if isinstance(name, str))
    listed = [enumerate_items([*map(repr, group)], limit) for group in groups[:limit]]
    listed += [f"and {len(groups) - limit} more"] * (len(groups) > limit)
    return [
        f"{'; '.join(listed)} differ only in case, spaces, underscores or hyphens, and are read as different classes: "
        f"{remedy}, if they are the same class."
    ] * bool(groups)


# -- warnings ----------------------------------------------------------------------------------------------------------


def warn_of_texts(known: Labels) -> None:
    """Warn if a class that the user has not named is the text of a missing label, or looks like another class."""
    texts = [label for label in known.tolist() if isinstance(label, str)]
    missing = [label for label in texts if label in ("", "nan") or label_to_text(label).lower() in PLACEHOLDERS]
    if missing:
        warn(
            f"the text {missing[0]!r} is read as a class. If the row has no label, write None in its place, or pass "
            f"missing=[{missing[0]!r}] to from_strings; otherwise name all classes, as in "
            "CandidateSets.from_labels(y, classes=...)."
        )
    for first, second, *_ in group_spellings(texts, clean)[:1]:
        warn(
            f"{first!a} and {second!a} are two classes that look alike: they differ in Unicode normalization, "
            "invisible characters or spaces at the ends. Clean the text, or pass CandidateSets.from_strings(y)."
        )


def warn_of_minus_one(labels: Sequence[int], n_marked: int, n_largest: int) -> None:
    """Warn if -1, which was read as a missing label, looks like a class.

    It does so beside numbers below -1, which are on one scale with it, and beside 0 and 1 alone if one of them is at
    least as frequent. Labels of 0 and 1 with more than half of the rows unlabeled, as is usual, never have a warning.

    Parameters
    ----------
    labels : sequence of int
        The other labels.
    n_marked, n_largest : int
        Number of rows of -1, and of the most frequent other label.
    """
    if n_marked and (min(labels) < -1 or (n_marked <= n_largest and {0, 1}.issuperset(labels))):
        names = list(map(str, sorted([-1, *labels])))
        names = names if len(names) <= _MAX_NAMED else [*names[:_MAX_NAMED], "..."]
        warn(
            f"{_READ_AS_UNLABELED}, but looks like a class. If -1 is a class, name all classes, as in "
            f"--classes={','.join(names)} or CandidateSets.from_labels(y, classes=[{', '.join(names)}]). Otherwise "
            "write None in its place, or add --missing with its text, such as --missing=-1."
        )


@contextmanager
def without_minus_one_warning() -> Iterator[None]:
    """Read labels without the warning that -1 may be a class, if their counts or classes are not the final ones."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_READ_AS_UNLABELED)
        yield
