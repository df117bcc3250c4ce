"""Cells of labels: one function, `parse`, reads every form of a cell as labels with weights.

Tables, batches of streams, text in Python, true and checked labels call it with one `LabelFormat`. It takes these
steps in this order:

1. None, NaN, empty text, and a cell that is a missing word, are unlabeled.
2. Text is in Unicode NFC and has no invisible characters (`clean`).
3. The list or the object in a code fence, or under the only key of an object, replaces the text around it.
4. Text in brackets is JSON, or a literal of another language, if it can be nothing else. Other text in brackets is a
   label.
5. Other text is split at the separators. A backslash escapes them, and itself.
6. A weight is the number after the last colon of a label, or in parentheses at its end. A text that is a known class,
   digits that begin with 0, such as "CL:0000236", and whole numbers above 100 if weights are probabilities, have none.
7. Labels are text: 3, 3.0 and "3" are one label, since a batch of a stream does not show the type of its column.
8. Missing words are left out. A cell without another label, or with -1 alone unless it is a class, is unlabeled.
9. A label is the class that it equals, or equals by `fold_case`. Any other label is new, or an error if the classes are
   given. A true or checked label is one label, which may be new, and the name of a class before it is anything else.
10. Weights are finite numbers of at least 0, and not all 0.

`read_cells` parses each distinct cell once, and collects the errors of the rows. Each cell is judged by itself, so that
a stream has the same errors in batches of any size.
"""

import ast
import contextlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from oneof.candidates.labels import (
    WEIGHT_IN_PARENTHESES,
    as_classes,
    clean,
    clean_inside,
    fold_case,
    is_collection,
    is_hashable,
    is_missing,
    label_to_text,
    unknown_label,
    visible,
)
from oneof.errors import InputError, LabelError
from oneof.messages import enumerate_items, shorten
from oneof.typing import Evidence, Ints, Labels, Mask

Pairs: TypeAlias = list[tuple[Any, Any]]
"""Labels with weights, which are all None in a candidate set. An empty list is the mark -1 of an unlabeled row."""

LISTS = "[]"
"""The separator of cells that are lists written as text."""
DEFAULT_SEPARATOR = "|"
WRAPPER_KEYS = ("label", "labels", "classes", "candidates", "choices")
"""Keys of an object of one key that holds the label of a row; a list of labels may be under any key."""

_MAX_SHOWN = 200
"""Maximum number of characters of a cell in an error."""
_MAX_LISTED = 10
"""Maximum number of cells that an error about several cells lists."""
_MAX_NAMED = 3
"""Maximum number of cells that a warning names."""
_RECORDS = re.compile(r"""\{\s*("|'[^']*'\s*:)|\[\s*[\[{(]""")
"""The beginning of JSON, or of a dict of Python, that has weights."""
_BROKEN = re.compile(r"""[\[{](?:\s*[\[{(])*\s*(?:"[^"]*"\s*(?:[,:\])}]|$)|'[^']*'\s*(?:[,:\])}]|$)|"[^"]*$|'[^']*$)""")
"""The beginning of a list or an object: a first member or key in quotation marks, which another one follows."""
_BRACKET = re.compile(r"[\[{]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)
_WEIGHT_AT_END = re.compile(f"{WEIGHT_IN_PARENTHESES.pattern}$", re.ASCII)
MAX_PLAUSIBLE_SUM = 2.0
"""Maximum sum of probabilities that a person or a language model chose; percentages have larger ones."""
_FIRST_SIGN = 0xFDD0
_SIGN = re.compile("[\ufdd0-\ufdef]")
"""The noncharacters of Unicode that stand for escaped characters."""
_LABEL_KEYS = frozenset({"label", "name", "class", "token"})
_WEIGHT_KEYS = frozenset({"probability", "prob", "score", "weight", "confidence"})


# -- format ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelFormat:
    """Form of the cells of a column of labels.

    Attributes
    ----------
    separator : str
        The text between two labels, or several signs and words with spaces between them; `LISTS` if cells are lists.
    classes : sequence, optional
        The classes. A cell with another label is an error, unless `is_single`.
    weighted : bool
        Whether a cell may have weights.
    rest : bool or str
        See `CandidateSets.from_weights`.
    folds_case : bool
        Whether labels that are equal by `fold_case` are one class.
    missing : collection of str
        Words for a missing label, in any case.
    is_single : bool
        Whether a cell has one label, which is a class if its whole text is the name of one, and may be a new one.
    may_be_empty : bool
        Whether an empty list is an unlabeled row rather than an error.
    names : frozenset of str
        The keys of labels that have weights elsewhere; a number at their end is not a weight.
    known : dict or None
        The classes, and the label of the rest, by their keys; None if the classes are not given.
    """

    separator: str = DEFAULT_SEPARATOR
    classes: Sequence[Any] | None = None
    weighted: bool = False
    rest: bool | str = False
    folds_case: bool = False
    missing: Collection[str] = ()
    is_single: bool = False
    may_be_empty: bool = False
    names: frozenset[str] = frozenset()
    known: dict[Any, Any] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_separator(self.separator)
        if isinstance(self.missing, str) or not (
            np.iterable(self.missing) and all(isinstance(w, str) for w in self.missing)
        ):
            raise InputError(f"`missing` must be a sequence of text, such as ['n/a']; got {self.missing!r}.")
        known: dict[Any, Any] = {}
        for name in [*(self.classes or ()), *([self.rest] if isinstance(self.rest, str) else [])]:
            if known.setdefault(self.key(name), name) != name and self.classes is not None:
                raise LabelError(f"the classes {known[self.key(name)]!r} and {name!r} are read as one label.")
        object.__setattr__(self, "known", None if self.classes is None else known)

    @cached_property
    def tokens(self) -> frozenset[Any]:
        """The missing words in lower case, and their keys."""
        words = [clean(word).lower() for word in self.missing]
        return frozenset([*words, *map(self.key, words)])

    @cached_property
    def rest_key(self) -> Any:
        """The key of the label of the rest, None if it has no label."""
        return self.key(self.rest) if isinstance(self.rest, str) else None

    def key(self, label: Any) -> Any:
        """Return the value by which labels are compared."""
        key = label_to_text(clean(label) if isinstance(label, str) else label)
        return fold_case(key) if self.folds_case and key else key

    def match(self, label: Any) -> Any:
        """Return the class that a label is, None for another label."""
        return None if self.known is None else self.known.get(self.key(label))

    def is_name(self, label: str) -> bool:
        """Return whether a text is a class, or a label that has a weight elsewhere."""
        return self.match(label) is not None or (bool(self.names) and self.key(label) in self.names)

    def is_missing_word(self, label: Any) -> bool:
        """Return whether a label is one of the missing words."""
        return bool(self.tokens) and (str(label).lower() in self.tokens or self.key(label) in self.tokens)

    @cached_property
    def labels(self) -> Labels:
        """The classes as an array."""
        return as_classes(self.classes)

    @cached_property
    def of_labels(self) -> "LabelFormat":
        """The format of labels whose weights are in another cell."""
        return replace(self, weighted=False, may_be_empty=True)

    @cached_property
    def separators(self) -> list[str]:
        """The texts between labels."""
        return list(map(clean_inside, separators_of(self.separator)))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Pattern of any of the separators, the longest one if several are at a place."""
        signs = sorted(self.separators, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, signs)), re.IGNORECASE if self.folds_case else 0)

    @cached_property
    def escaped(self) -> str:
        """The characters that a backslash makes a part of a label."""
        return "\\([{`" + ":" * self.weighted + escaped_characters(self.separator)

    @cached_property
    def escape(self) -> re.Pattern[str]:
        """Pattern of an escaped character."""
        return re.compile(rf"\\([{re.escape(self.escaped)}])")


def check_separator(separator: Any) -> None:
    """Raise unless labels can be joined by the separator."""
    if not isinstance(separator, str) or "\\" in separator or not (clean(separator) or separator in ("\n", "\t")):
        raise InputError(f"`separator` must be visible text without a backslash; got {separator!r}.")


def check_no_colon(separator: str) -> None:
    """Raise if labels with weights cannot be joined by the separator."""
    if ":" in separator:
        raise InputError(f"`separator` must not contain a colon if labels have weights; got {separator!r}.")


def separators_of(separator: str) -> list[str]:
    """Return the texts that separate labels: "|", ";" and " or " for "| ; or", otherwise the separator itself.

    Several separators have spaces between them, and at least one of them is a sign. The first one is written between
    labels. It is "|" for `LISTS`, in text that is not a list.
    """
    if separator == LISTS:
        return [DEFAULT_SEPARATOR]
    parts = separator.split()
    if len(parts) < 2 or all(map(str.isalnum, parts)):
        return [separator]
    return list(dict.fromkeys(f" {part} " if part.isalnum() else part for part in parts))


def split_labels(text: str, separator: str) -> list[str]:
    """Return the parts of a text between the separators, whose escapes are not read."""
    return LabelFormat(separator).pattern.split(text)


def escaped_characters(separator: str) -> str:
    """Return the character of each separator that is escaped in labels: "/" for " / ", otherwise the first one."""
    return "".join(part.strip() if len(part.strip()) == 1 else part[0] for part in separators_of(separator))


_LISTS = LabelFormat(LISTS)

# -- one cell ----------------------------------------------------------------------------------------------------------


def parse(cell: Any, form: LabelFormat) -> Pairs | None:
    """Return the labels of a cell with their weights, None or an empty list if it is unlabeled.

    Parameters
    ----------
    cell : str, number, list, mapping or None
    form : LabelFormat

    Returns
    -------
    list of (label, weight) or None
        The weights of a candidate set are None. An empty list is the mark -1 of an unlabeled row.

    Raises
    ------
    LabelError
        If the cell cannot be read, without its row.

    Examples
    --------
    >>> from oneof.candidates.cells import LabelFormat, parse
    >>> parse("finch|wren", LabelFormat())
    [('finch', None), ('wren', None)]
    >>> parse("finch:0.7|wren:0.3", LabelFormat(weighted=True))
    [('finch', 0.7), ('wren', 0.3)]
    """
    if form.is_single and isinstance(cell, str) and (name := form.match(clean(cell))) is not None:
        return [(name, None)]
    pairs = _read(cell, form)
    pairs = pairs and _judge(pairs, form)
    if form.is_single and len({form.key(label) for label, _ in pairs or ()}) > 1:
        reason = f"{cell!r} has several labels. Give the one that was checked, or leave the cell empty."
        raise LabelError(reason, label=cell)
    return pairs


def parse_with_weights(cell: Any, weights: Any, form: LabelFormat) -> Pairs | None:
    """Return the labels of a cell with the weights of another cell, in their order; see `parse`."""
    pairs = _read(cell, form.of_labels)
    numbers = _parse_numbers(weights, form)
    if numbers:
        labels = [label for label, _ in pairs or ()]
        if len(labels) != len(numbers):
            raise LabelError(
                f"the row has a different number of labels ({len(labels)}) and weights ({len(numbers)}). Give each "
                "label one weight, or leave both cells empty if it is unlabeled.",
                label=cell,
            )
        pairs = [(label, weight_of(label, number)) for label, number in zip(labels, numbers, strict=True)]
    return pairs and _judge(pairs, form)


def _read(cell: Any, form: LabelFormat) -> Pairs | None:
    """Return the labels of a cell as they are written."""
    if not isinstance(cell, str):
        return None if is_missing(cell) else _read_value(cell, form)
    text = clean(cell)
    if not text or form.is_missing_word(text) or (form.weighted and text == "null" and form.match(text) is None):
        return None
    if text[0] in "[{(" or text[-1] == ")" or "```" in text:
        if form.separator != LISTS and form.match(text) is not None:
            return [(text, None)]
        # Composed letters would change the escapes of JSON: "\n" before an accent is not an n with an accent.
        content = visible(cell).strip()
        value = read_literal(content, form)
        if value is not None:
            return _read_value(value, form, content)
    if form.separator == LISTS and not form.weighted:
        return [(text, None)]
    return _split(clean_inside(cell), form)


def read_literal(text: str, form: LabelFormat) -> Any:
    """Return the list or the object that a text is, None if it is a label or delimited labels.

    An object, and a list with a label in quotation marks or of lists, can be nothing else. A format of lists has any
    list, such as "[finch, wren]" and "[0, 10]".
    """
    content = strip_fence(text)
    try:
        value = parse_text(content)
    except ValueError:
        is_list = form.separator == LISTS and content[:1] == "[" and any(sign in content for sign in "\"',")
        if content != text or _BROKEN.match(content) or (is_list and not form.weighted):
            raise LabelError(
                f'{shorten(repr(text), _MAX_SHOWN)} is not valid JSON, such as ["finch", "wren"] or {{"finch": 0.7}}. '
                'Write it by json.dumps; or write ["[a, b]"], a list of one label, if the bracket begins a label.',
                label=text,
            ) from None
        return None
    is_list = isinstance(value, list) and (
        content != text or form.separator == LISTS or not value or _is_plain_list(value)
    )
    return value if is_list or isinstance(value, dict) else None


def _is_plain_list(value: list[Any]) -> bool:
    """Return whether a list cannot be a label: it has text in quotation marks, or only lists and objects."""
    if any(type(member) is str for member in value):
        return True
    return all(
        isinstance(member, list | tuple | dict) and not any(isinstance(part, Bare) for part in member)
        for member in value
    )


def _read_value(value: Any, form: LabelFormat, text: str | None = None) -> Pairs | None:
    """Return the labels of a value, or of a value that is written as text, also as the only one of a list."""
    if text is None and is_collection(value) and len(value) == 1 and isinstance(member := next(iter(value)), str):
        literal = read_literal(clean(member), form) if _BRACKET.search(member) and form.match(member) is None else None
        if literal is not None:
            return _read_value(literal, form, member)
    pairs = flatten(value)
    if not pairs:
        is_plain = form.may_be_empty and text in (None, "[]", "()")
        may_be_empty = is_plain or form.weighted or (text and form.separator == LISTS)
        if is_collection(value) and not len(value) and not may_be_empty:
            raise empty_set(f"the candidate set is empty ({text or str(value)!r})", text or value)
        return None
    shown = shorten(text or str(value), _MAX_SHOWN)
    if not form.weighted and any(weight is not None for _, weight in pairs):
        raise LabelError(
            f"the labels have weights, such as {shown}. Add --weighted (in Python, weighted=True), and --kind "
            "posterior if they are probabilities of the classes.",
            label=text or value,
            cause="weights",
        )
    return [(_name_of(label, shown), weight) for label, weight in pairs]


def _name_of(label: Any, shown: str) -> str:
    """Return a label of a list or of an object as clean text."""
    if isinstance(label, float | np.floating) and not float(label).is_integer():
        raise LabelError(f"labels must not be continuous; got {label}. Use whole numbers.", label=label)
    if not isinstance(label, str | int | float | np.number | np.bool_):
        raise LabelError(f"{shown} contains {label!r}, which is not a label. Remove it from the list.", label=label)
    name = clean(label) if isinstance(label, str) else str(label_to_text(label))
    if not name:
        raise LabelError(f"{shown} contains an empty label. Remove it from the list.", label=label)
    return name


def flatten(value: Any) -> Pairs:
    """Return the labels in a value, as they are, with their weights, None without one.

    An object of one key has its labels under it. Any other object is a record, such as {"label": "finch", "score":
    0.7}, or has labels as keys and weights as values; null is not a value. A list has labels, pairs of a label and a
    weight, and objects; if only some objects have a weight, the labels of the others are not listed.
    """
    if isinstance(value, Mapping):
        return _flatten_record({key: member for key, member in value.items() if member is not None})
    if not is_collection(value):
        return [] if isinstance(value, str) and not clean(value) else [(value, None)]
    pairs: Pairs = []
    for member in value:
        if isinstance(member, list | tuple | np.ndarray) and len(member) == 2 and not is_collection(member[0]):
            pairs.append((member[0], weight_of(member[0], member[1])))
        elif isinstance(member, Mapping):
            pairs += flatten(member)
        else:
            pairs.append((member, None))
    if all(isinstance(member, Mapping) for member in value) and any(weight is not None for _, weight in pairs):
        pairs = [pair for pair in pairs if pair[1] is not None]
    return pairs


def _flatten_record(record: dict[Any, Any]) -> Pairs:
    # Two keys that name the label, or two of its weight, make neither: the keys are then labels.
    label, weight = (
        next((record[key] for key in names if key in record), None) if len(names & record.keys()) == 1 else None
        for names in (_LABEL_KEYS, _WEIGHT_KEYS)
    )
    if weight is None and isinstance(log := record.get("logprob"), float | int):  # of a language model
        weight = math.exp(min(log, 1.0))
    if weight is not None and isinstance(label, str | int):
        return [(label, weight_of(label, weight))]
    if len(record) == 1:
        key, member = next(iter(record.items()))
        if is_collection(member) or key in WRAPPER_KEYS:
            return flatten(member)
    return [(key, weight_of(key, member)) for key, member in record.items()]


def as_pairs(row: Any) -> Pairs | None:
    """Return a mapping, or a list of pairs or of records, as (label, weight) pairs; None if it is unlabeled."""
    pairs = [] if is_missing(row) else flatten(row)
    if any(weight is None for _, weight in pairs):
        raise LabelError(
            "a row of weights must be a mapping from labels to weights, or a list of (label, weight) pairs or of "
            f'records such as {{"label": "finch", "probability": 0.7}}; got {row!r}. '
            "CandidateSets.from_strings(y, weighted=True) reads text.",
            label=row if isinstance(row, str) else None,
        )
    return pairs or None


def weight_of(label: Any, weight: Any) -> float:
    """Return the weight of a label as a number; any other value is an error."""
    number = read_weight(weight)
    if number is None:
        raise LabelError(
            f'the weight of {label!r} must be a number, or text such as "0.85" or "85%"; got {weight!r}. Write '
            '["finch", "wren"], or an object whose only key is "labels", for labels without weights, and a backslash '
            "before a colon within a label.",
            label=label,
        )
    if not (math.isfinite(number) and number >= 0):
        remedy = "If the weights are logarithms, write exp(weight)." if number < 0 else "Use None for an unlabeled row."
        reason = f"the weight of {label!r} must be a finite number of at least 0; got {number!r}. {remedy}"
        raise LabelError(reason, label=label)
    return number


def read_weight(weight: Any) -> float | None:
    """Return a number, or the text of a number or of a percentage, as a float; None for other values."""
    if isinstance(weight, str):
        text = weight.strip()
        number = parse_number(text.removesuffix("%").rstrip())
        return number / 100.0 if number is not None and text.endswith("%") else number
    try:
        return None if isinstance(weight, bytes) else float(weight)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return None


def parse_number(text: str) -> float | None:
    """Return a decimal number; None for other text, such as "nan" and "1_000"."""
    return float(text) if _NUMBER.fullmatch(text) else None


def literal_kind(text: str) -> Literal["list", "weights", "empty"] | None:
    """Return the only form of labels that a text can have; None if it may be a label or delimited labels.

    Examples
    --------
    >>> from oneof.candidates.cells import literal_kind
    >>> literal_kind('{"labels": ["finch", "wren"]}'), literal_kind('{"finch": 0.7}'), literal_kind("[0, 10]")
    ('list', 'weights', None)
    """
    if "[" not in text and "{" not in text and text[-1:] != ")":
        return None
    try:
        value = read_literal(visible(text).strip(), _LISTS)
    except LabelError:
        return "weights" if _RECORDS.match(strip_fence(text)) else None
    if isinstance(value, list) and not _is_plain_list(value):
        are_numbers = text[0] == "[" and set(map(type, value)) == {int}
        if not are_numbers or (len(value) == 2 and value[0] <= value[1]):  # it may be an interval
            return None
    try:
        pairs = flatten(value) if value is not None else None
    except LabelError:
        return "weights"
    if not pairs:
        return None if pairs is None else "empty"
    return "list" if all(weight is None for _, weight in pairs) else "weights"


# -- lists and mappings written as text --------------------------------------------------------------------------------
#
# JSON, or the notation of Python, NumPy, R, PostgreSQL and Java. One pass over the tokens builds the value, so that no
# text is executed and long text takes linear time.

_MAX_DEPTH = 50
"""Maximum number of brackets within each other."""
_ESCAPED = r"""\\(?:[\\'"abfnrtv0]|x[\da-f]{2}|u[\da-f]{4}|U00(?:0[\da-f]|10)[\da-f]{4})"""
_TOKEN = re.compile(
    rf"""\s*(?:(?P<text>'(?:[^'\\\n\r\0]|{_ESCAPED})*'|"(?:[^"\\\n\r\0]|{_ESCAPED})*")
    |(?P<open>(?:np\.\w+|c|list|tuple|set|frozenset|array)\s*\(|[\[({{])
    |(?:,\s*dtype=[^,()]*)?(?P<close>[\])}}])
    |(?P<sign>[,:])
    |(?P<bare>[^\s,:'"\\()\[\]{{}}](?:[^,:'"\\()\[\]{{}}]*[^\s,:'"\\()\[\]{{}}])?))""",
    re.VERBOSE | re.ASCII,
)
_NUMBER_OF_JSON = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_WORDS = {"None": None, "True": True, "False": False, "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_OBJECT = re.compile("(v:v(,v:v)*,?)?")
_LIST = re.compile("(v(,v)*,?)?")
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}
_FENCE = re.compile(r"(?<!`)`{3,}+\s*+\w*+\s*+(?=[\[{])")
"""The beginning of a code fence of Markdown around a list or an object, such as "```json"; found in linear time."""


class Bare(str):
    """Text without quotation marks, as in "[finch, wren]", which may also be a part of a name in brackets."""

    __slots__ = ()


def parse_text(text: str) -> Any:
    """Return the value of JSON, or of lists, tuples and dicts as Python, NumPy, R, PostgreSQL and Java write them.

    Objects are dicts, or lists of pairs if a key is repeated. Text without quotation marks is `Bare`.

    Raises
    ------
    ValueError
        For any other text.

    Examples
    --------
    >>> from oneof.candidates.cells import parse_text
    >>> parse_text('c("finch", "wren")'), parse_text("['finch' 'wren']"), parse_text("{'finch': 0.7}")
    (['finch', 'wren'], ['finch', 'wren'], {'finch': 0.7})
    """
    try:
        return json.loads(text, object_pairs_hook=as_record, strict=False)  # line ends in labels
    except (ValueError, RecursionError):
        return _parse_tokens(text)


def _parse_tokens(text: str) -> Any:
    """Return the value of a text by one pass over its tokens."""
    levels: list[tuple[str, list[Any], list[str]]] = [("[", [], [])]
    position, text = 0, text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("the text is not a literal")
        kind = str(match.lastgroup)
        token, has_gap, position = match[kind], match.start(kind) > position, match.end()
        opening, values, form = levels[-1]
        if kind in ("text", "bare", "open") and form[-1:] == ["v"] and not has_gap:
            raise ValueError("two values have nothing between them")
        if kind == "open":
            if len(levels) > _MAX_DEPTH:
                raise ValueError("the text has too many levels")
            levels.append((token, [], []))
            continue
        if kind == "close":
            if len(levels) == 1 or _CLOSED_BY[opening[-1]] != token:
                raise ValueError("the brackets do not match")
            levels.pop()
            own = [_build(opening, values, "".join(form))]
            _, values, form = levels[-1]
        else:
            own = [] if kind == "sign" else [ast.literal_eval(token)] if kind == "text" else _read_bare(token)
        values += own
        form += [token] if kind == "sign" else ["v"] * len(own)
    if len(levels) > 1 or levels[0][2] != ["v"] or type(levels[0][1][0]) is Bare:
        raise ValueError("the text is not one value")
    return levels[0][1][0]


def _build(opening: str, values: list[Any], form: str) -> Any:
    """Return the value in a pair of brackets; `form` has the values as "v", and the commas and colons between them."""
    has_words = any(isinstance(value, Bare) for value in values)
    if opening == "{" and _OBJECT.fullmatch(form):
        keys = values[::2]
        if not all(type(key) in (str, int, float) for key in keys):
            raise ValueError("an object must have keys in quotation marks")
        return as_record([(str(key), value) for key, value in zip(keys, values[1::2], strict=True)])
    # The values of an array of NumPy have spaces between them, and no commas.
    is_array = opening == "[" and not has_words and not any(isinstance(value, list | dict) for value in values)
    if not (_LIST.fullmatch(form) or (is_array and set(form) == {"v"})):
        raise ValueError("a comma is missing")
    if opening[-1] == "(" and has_words:
        raise ValueError('names have words in parentheses, as in "(Smith, J)"')
    if opening.startswith("np."):
        if form != "v":
            raise ValueError("a scalar of NumPy has one value")
        return values[0]
    is_call = len(opening) > 1
    return values[0] if is_call and len(values) == 1 and isinstance(values[0], list) else values


def _read_bare(token: str) -> list[Any]:
    """Return a word, a number, or the numbers of an array of NumPy."""
    parts = token.split()
    if not all(part in _WORDS or _NUMBER_OF_JSON.fullmatch(part) for part in parts):
        return [Bare(token)]
    return [_WORDS[part] if part in _WORDS else float(part) if set(part) & set(".eE") else int(part) for part in parts]


def strip_fence(text: str) -> str:
    """Return the list or the object in a code fence of Markdown, the usual form of a language model's answers.

    Text before and after the fence is left out, and the end of the fence may be absent. Text without a fence, and a
    list or an object whose labels contain one, are returned unchanged. Several fences are one text that is not valid.

    Examples
    --------
    >>> from oneof.candidates.cells import strip_fence
    >>> strip_fence('```json {"finch": 0.7} ```')
    '{"finch": 0.7}'
    """
    match = None if "```" not in text or text.lstrip()[:1] in ("[", "{") else _FENCE.search(text)
    if match is None:
        return text.strip()
    content = text[match.end() :]
    end = content.rfind("```")
    return (content if end < 0 else content[:end]).rstrip().rstrip("`").strip()


def escape_fences(text: str) -> str:
    """Return text in which a backslash precedes the backticks of every code fence."""
    return _FENCE.sub(lambda match: match[0].replace("`", "\\`"), text)


def as_record(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object as a dict, or as pairs if it repeats a key."""
    record = dict(pairs)
    return record if len(record) == len(pairs) else pairs


# -- delimited text ----------------------------------------------------------------------------------------------------


def _split(text: str, form: LabelFormat) -> Pairs:
    """Return the labels of delimited text, with the numbers after their last colons or in parentheses.

    Escaped characters are replaced by noncharacters of Unicode while the text is split.
    """
    signs = form.escape.sub(lambda match: chr(_FIRST_SIGN + form.escaped.index(match[1])), text)
    pieces = [_cut_number(part.strip(), form) for part in form.pattern.split(signs)]
    kept = [i for i, (label, number) in enumerate(pieces) if label or number]
    if not kept:
        raise empty_set(f"the candidate set is empty ({text!r})", text)
    pairs: Pairs = []
    for name, number in pieces[kept[0] : kept[-1] + 1]:
        label = _unescape(name, form)
        pairs.append((label, None if number is None else weight_of(label, number)))
    if not all(label for label, _ in pairs):
        raise LabelError(f"{text!r} contains an empty label. Remove the extra {form.separators[0]!r}.", label=text)
    return pairs


def _unescape(text: str, form: LabelFormat) -> str:
    """Return a label with its escaped characters."""
    return _SIGN.sub(lambda match: form.escaped[ord(match[0]) - _FIRST_SIGN], text).strip()


def _cut_number(part: str, form: LabelFormat) -> tuple[str, str | None]:
    """Return a label and the text of its weight, None if it has none."""
    label, colon, number = map(str.strip, part.rpartition(":"))
    may_be_name = number.isdigit() or read_weight(number) is None or not colon
    if not form.weighted or (may_be_name and form.is_name(_unescape(part, form))):
        return part, None
    if colon:  # digits that begin with 0, as in "CL:0000236", or exceed 100 %, are not a plausible weight
        is_code = number.isdigit() and ((number[0] == "0" and number != "0") or (form.rest and float(number) > 100))
        return (part, None) if is_code else (label, number)
    found = _WEIGHT_AT_END.search(part)
    return (part[: found.start()].strip(), found[1]) if found and found.start() else (part, None)


def _parse_numbers(cell: Any, form: LabelFormat) -> list[Any] | None:
    """Return the weights of a cell, None if it has none."""
    is_empty = is_missing(cell) or (isinstance(cell, str) and not cell.strip())
    members = list(cell) if is_collection(cell) else [] if is_empty else [cell]
    if len(members) == 1 and isinstance(text := members[0], str):
        members = form.pattern.split(text)
        with contextlib.suppress(ValueError):
            value = parse_text(text)
            members = value if isinstance(value, list) else members
        if any(read_weight(member) is None for member in members):
            raise LabelError(f"{text!r} must contain numbers separated by {form.separators[0]!r}.", label=text)
    return members or None


# -- labels of a cell --------------------------------------------------------------------------------------------------


def _judge(pairs: Pairs, form: LabelFormat) -> Pairs | None:
    """Return the pairs of a cell without missing words, with the names of its classes and valid weights."""
    kept = [(label_to_text(label), form.match(label), w) for label, w in pairs if not form.is_missing_word(label)]
    if [(label, name) for label, name, _ in kept] == [("-1", None)]:
        return []
    for label, name, _ in kept:
        if form.known is not None and name is None and not form.is_single:
            raise unknown_label(None, label, form.labels)
    pairs = [(label if name is None else name, weight) for label, name, weight in kept]
    if form.weighted and any(weight is not None for _, weight in pairs):
        pairs = [(label, 1.0 if weight is None else weight) for label, weight in pairs]
        _check_weights(pairs, form)
    return pairs or None


def _check_weights(pairs: Pairs, form: LabelFormat) -> None:
    keys = [form.key(label) for label, _ in pairs]
    total = math.fsum(min(weight, 1e300) for key, (_, weight) in zip(keys, pairs) if key != form.rest_key)
    if form.rest is True and total > MAX_PLAUSIBLE_SUM:
        raise no_rest(None, total)
    # A rest is the mass of the classes that the cell does not list.
    has_rest = form.rest is True or any(weight > 0 for _, weight in pairs)
    has_others = form.known is None or not set(keys) >= form.known.keys() - {form.rest_key}
    if total == 0.0 and not (has_rest and has_others):
        raise zero_weights(None)


def empty_set(reason: str, label: Any = None, row: int | None = None) -> LabelError:
    """Return the error for a set without labels."""
    return LabelError(
        f"{reason}. Give every row at least one candidate, or mark it as unlabeled (None, an empty cell).",
        label=label,
        row=row,
        cause="empty set",
    )


def zero_weights(row: int | None) -> LabelError:
    """Return the error for a row whose weights are all 0."""
    return LabelError(
        "all weights of the row are 0. Give it a weight above 0, or the same one for all classes if it is unlabeled.",
        row=row,
        cause="empty set",
    )


def no_rest(row: int | None, total: float) -> LabelError:
    """Return the error for a row with a sum of weights above `MAX_PLAUSIBLE_SUM`, which has no rest."""
    return LabelError(
        f"the weights of the row sum to {total:.6g}, but a rest requires probabilities, whose sum is about 1. Write "
        "percentages with a percent sign, or divide them by 100; or omit `rest` (--rest), so that only the ratios of "
        "the weights matter and other classes are ruled out.",
        row=row,
    )


# -- a column ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ParsedCells:
    """Cells of a column, of which equal ones are parsed once.

    Attributes
    ----------
    code : ndarray of shape (n,)
        The number of the distinct cell in each row.
    pairs : list of length D
        The labels of each distinct cell, None or empty if it is unlabeled or cannot be read.
    errors : dict of int to LabelError
        The errors of the rows that cannot be read, in the order of the rows.
    """

    code: Ints
    pairs: list[Pairs | None]
    errors: dict[int, LabelError]

    @property
    def is_set(self) -> Mask:
        """(n,): True for rows without weights."""
        is_set = [not pairs or pairs[0][1] is None for pairs in self.pairs]
        return np.array(is_set, dtype=bool)[self.code]

    def first_row(self, label: Any) -> int:
        """Return the first row with a label."""
        has_label = [any(name == label for name, _ in pairs or ()) for pairs in self.pairs]
        return int(np.argmax(np.array(has_label)[self.code]))

    def counted(self) -> Iterable[tuple[Pairs | None, int]]:
        """Return the labels of each distinct cell with the number of its rows."""
        return zip(self.pairs, np.bincount(self.code, minlength=len(self.pairs)).tolist(), strict=True)


def at_row(error: LabelError, row: int) -> LabelError:
    """Return a copy of the error of a cell with the row of the cell."""
    located = error.at()
    located.row = row
    return located.because(located.reason)


def read_cells(cells: Iterable[Any], form: LabelFormat, *, weights: Iterable[Any] | None = None) -> ParsedCells:
    """Parse the distinct cells of a column of labels, or of a column and that of its weights."""
    if form.weighted and weights is None:
        check_no_colon(form.separator)
    rows = list(cells) if weights is None else list(zip(cells, weights, strict=True))
    numbers: dict[Any, int] = {}
    code = np.fromiter((numbers.setdefault(_key_of(cell), len(numbers)) for cell in rows), np.int64, len(rows))
    _, first = np.unique(code, return_index=True)
    distinct = [rows[k] for k in first.tolist()]
    parsed, errors = _parse_all(distinct, form, has_weights=weights is not None)
    if form.weighted and weights is None and form.known is None:
        # "CHEBI:15377" is the label of "CHEBI:15377:0.7" rather than "CHEBI" with the weight 15377.
        names = frozenset(form.key(label) for pairs in parsed for label, _ in pairs or () if ":" in label)
        parsed, errors = _parse_all(distinct, replace(form, names=names)) if names else (parsed, errors)
    if form.known is None and any(label == "-1" for pairs in parsed for label, _ in pairs or ()):
        parsed = [[("-1", None)] if pairs == [] else pairs for pairs in parsed]  # -1 is a class of sets
    wrong = np.flatnonzero(np.isin(code, list(errors))).tolist() if errors else []
    return ParsedCells(code, parsed, {row: at_row(errors[int(code[row])], row) for row in wrong})


def _parse_all(
    cells: Iterable[Any], form: LabelFormat, *, has_weights: bool = False
) -> tuple[list[Pairs | None], dict[int, LabelError]]:
    """Return the labels of cells, None for one that cannot be read, and the errors by the numbers of the cells."""
    parsed: list[Pairs | None] = []
    errors: dict[int, LabelError] = {}
    for number, cell in enumerate(cells):
        try:
            parsed.append(parse_with_weights(cell[0], cell[1], form) if has_weights else parse(cell, form))
        except LabelError as error:
            parsed.append(None)
            if isinstance(cell, str) and error.cause != "unknown label":
                error.label = cell
            errors[number] = error
    return parsed, errors


def _key_of(cell: Any) -> Any:
    """Return a value by which equal cells are found."""
    if type(cell) is str:
        return cell
    key = type(cell), tuple(cell) if isinstance(cell, list) else cell
    return key if is_hashable(key) else (type(cell), repr(cell))


# -- errors of several cells -------------------------------------------------------------------------------------------


def describe_unreadable(errors: Mapping[int, LabelError]) -> str:
    """Return the number of cells that cannot be read, and the first of them, as the beginning of a sentence."""
    rows = sorted(errors)
    cells = [f"row {row} ({shorten(repr(errors[row].label))})" for row in rows]
    number = "1 cell" if len(rows) == 1 else f"{len(rows):,} cells"
    return f"{number} of labels cannot be read: {enumerate_items(cells, _MAX_NAMED, conjunction=False)}"


def raise_together(errors: Mapping[int, LabelError], remedy: str = "") -> None:
    """Raise the first error, with the number of all cells that cannot be read, and the rows of the first ten.

    Cells of equal text are listed once. Nothing is raised without errors.

    Parameters
    ----------
    errors : dict of int to LabelError
        The error of each cell by its row.
    remedy : str
        A last sentence.
    """
    if not errors:
        return
    rows = sorted(errors)
    error = errors[rows[0]]
    distinct: dict[str, int] = {}
    for row in rows:
        distinct.setdefault(repr(errors[row].label), row)
    listed = [f"row {row} ({shorten(shown)})" for shown, row in list(distinct.items())[1:_MAX_LISTED]]
    if len(rows) > 1 and error.cause != "weights":  # its remedy is an option for all cells
        more = f" In all, {len(rows):,} cells cannot be read{': also ' * bool(listed)}{', '.join(listed)}"
        error = error.because(f"{error.reason.rstrip()}{more}{', ...' * (len(distinct) > _MAX_LISTED)}.")
    error = error.because(f"{error.reason} {remedy}".rstrip())
    error.rows = tuple(rows)
    raise error


# -- text of labels ----------------------------------------------------------------------------------------------------


def write_cells(
    evidence: Evidence, classes: Labels, is_weighted: Mask, separator: str, *, write_full: bool = False
) -> list[str]:
    """Return the text of each row, which `parse` reads back; a set of all classes is empty unless `write_full`.

    Weights are written in the rows of `is_weighted`.
    """
    weighted, is_list = bool(is_weighted.any()), separator == LISTS
    if weighted:
        check_no_colon(separator)
    form = LabelFormat(separator, weighted=weighted)
    labels = map(str, classes.tolist())
    texts = [json.dumps(label, ensure_ascii=False) if is_list else escape_label(label, form) for label in labels]
    names = np.array(texts, dtype=object)
    between, sign = (", ", ": ") if is_list else (form.separators[0], ":")
    cells = []
    for row, mask, has_weights in zip(evidence, evidence > 0, is_weighted.tolist(), strict=True):
        parts = names[mask] if has_weights or write_full or not mask.all() else []
        if has_weights:
            parts = [f"{name}{sign}{weight!r}" for name, weight in zip(parts, row[mask].tolist(), strict=True)]
        text, brackets = between.join(parts), "{}" if has_weights else "[]"
        cells.append(f"{brackets[0]}{text}{brackets[1]}" if is_list and text else text)
    return cells


def escape_label(name: str, form: LabelFormat) -> str:
    """Return a label as text in which a backslash precedes every special character."""
    special = "\\" + escaped_characters(form.separator) + ":" * form.weighted
    text = re.sub(f"[{re.escape(special)}]", lambda match: "\\" + match[0], name)
    text = escape_fences("\\" + text if text[:1] in ("[", "{") else text)  # otherwise JSON
    if "(" in escaped_characters(form.separator):
        return text
    if name[-1:] == ")" and literal_kind(name) is not None:
        text = text.replace("(", "\\(", 1)
    elif form.weighted and _WEIGHT_AT_END.search(name):
        start, _, end = text.rpartition("(")
        text = f"{start}\\({end}"
    return text
