"""Lists and mappings written as text: JSON, or Python's notation, as in a table that pandas wrote.

Text of Python is translated to JSON token by token, so that no text is executed and long text takes linear time.
"""

import ast
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from oneof.errors import LabelError

LISTS = "[]"
"""The separator of cells that are lists written as text."""
WRAPPER_KEYS = ("label", "labels", "classes", "candidates")
"""Keys of an object of one key that holds the labels of a row, as in the structured output of a language model."""

_MAX_LENGTH = 1_000_000
"""Maximum number of characters of a list or a mapping."""
_MAX_SHOWN = 200
"""Maximum number of characters of an invalid list in an error."""
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>'(?:[^'\\\n]|\\(?:[\\'"abfnrtv0]|x[\da-f]{2}|u[\da-f]{4}|U[\da-f]{8}))*'
             |"(?:[^"\\\n]|\\(?:[\\'"abfnrtv0]|x[\da-f]{2}|u[\da-f]{4}|U[\da-f]{8}))*")
    |(?P<number>-?(?:(?:0|[1-9]\d*)\.?\d*|\.\d+)(?:e[-+]?\d+)?)
    |(?P<word>None|True|False|nan|-?inf)
    |(?P<scalar>np\.\w+\()
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<sign>[,:])""",
    re.VERBOSE | re.ASCII,
)
_WORDS = {
    "None": "null",
    "True": "true",
    "False": "false",
    "nan": "NaN",
    "inf": "Infinity",
    "-inf": "-Infinity",
}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*%?", re.ASCII)
_FENCE = re.compile(r"(?<!`)`{3,}+\s*+\w*+\s*+(?=[\[{])")
"""The beginning of a code fence of Markdown around a list or an object, such as "```json"; found in linear time."""
_SET_OR_TUPLE = re.compile(r"""[{(]\s*['"]""")
_WRAPPER = re.compile(rf"""\{{\s*["'](?:{"|".join(WRAPPER_KEYS)})["']\s*:""")
_RECORDS = re.compile(r"\s*(\{\s*(\"|'[^']*'\s*:)|\[\s*[\[{(])")
"""The beginning of JSON, or of a dict of Python, that has weights."""
_QUOTED_LIST = re.compile(r"\s*\[\s*[\"']")
_MEMBER = r"""(?:"[^"]*"|'[^']*')\s*"""
_BROKEN_JSON = re.compile(rf"\[?\s*(?:\{{\s*{_MEMBER}:|\[\s*{_MEMBER}[,\]])|\[\s*{_MEMBER}[,\]]")
"""The beginning of an object with a key, or of a list with a first member, even if the end is absent."""
_ONE_LABEL = "Correct it; or write a list of one label if the bracket begins a label."
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}


def parse_text(text: str, pairs_hook: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value of JSON, or of lists, tuples and dicts as Python and NumPy write them.

    Parameters
    ----------
    text : str
    pairs_hook : callable, optional
        The function of the pairs of an object, as in `json.loads`.

    Raises
    ------
    ValueError
        For any other text.
    """
    if len(text) > _MAX_LENGTH:
        raise ValueError("the text is too long")
    try:
        return json.loads(text, object_pairs_hook=pairs_hook)
    except (ValueError, RecursionError):
        translated = _to_json(text)
    try:
        return json.loads(translated, object_pairs_hook=pairs_hook)
    except RecursionError:
        raise ValueError("the text has too many levels") from None


def strip_fence(text: str) -> str:
    """Return the list or the object in a code fence of Markdown, the usual form of a language model's answers.

    Text before and after the fence is left out, and the end of the fence may be absent. Text without a fence, and a
    list or an object whose labels contain one, are returned unchanged. Several fences are one text that is not valid.

    Examples
    --------
    >>> from oneof.candidates.readers.literals import strip_fence
    >>> strip_fence('```json {"finch": 0.7} ```')
    '{"finch": 0.7}'
    """
    match = None if text.lstrip()[:1] in ("[", "{") else _FENCE.search(text)
    if match is None:
        return text
    content = text[match.end() :]
    end = content.rfind("```")
    return (content if end < 0 else content[:end]).rstrip().rstrip("`").rstrip()


def unwrap(text: str) -> str:
    """Return the list or the object in a code fence, or under the only key of an object; other text is unchanged.

    The key is one of `WRAPPER_KEYS`. Text under it becomes a list of one label. An object without labels, such as
    ``{}`` and ``{"label": ""}``, becomes empty text.

    Examples
    --------
    >>> from oneof.candidates.readers.literals import unwrap
    >>> unwrap('{"labels": ["finch", "wren"]}')
    '["finch", "wren"]'
    """
    content = strip_fence(text)
    if content.strip() == "{}":
        return ""
    if not _WRAPPER.match(content.lstrip()):
        return content
    try:
        record = parse_text(content, as_record)
    except ValueError:
        return content
    value = unwrap_object(record)
    if value is None:
        return "" if isinstance(record, dict) and [*record.values()] == [None] else content
    if isinstance(value, str):
        value = [value] if value.strip() else []
    return json.dumps(value, ensure_ascii=False) if value else ""


def wraps_number(text: str) -> bool | None:
    """Return whether the only key of an object has a number, rather than labels; None for other text."""
    content = strip_fence(text).lstrip()
    record = parse_object(content, unwraps=False) if _WRAPPER.match(content) else None
    values = [] if record is None else [value for value in record.values() if value is not None]
    return None if record is None or len(record) != 1 or not values else unwrap_object(record) is None


def unwrap_object(record: Any) -> Any:
    """Return the list, the object or the text that an object of one key holds, None for other objects."""
    members = [(key, value) for key, value in record.items() if value is not None] if isinstance(record, dict) else []
    if len(members) != 1 or members[0][0] not in WRAPPER_KEYS:
        return None
    value = members[0][1]
    is_number = isinstance(value, str) and _NUMBER.fullmatch(value.strip())
    return value if isinstance(value, list | dict | str) and not is_number else None


def as_record(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object as a dict, or as pairs if it repeats a key."""
    record = dict(pairs)
    return record if len(record) == len(pairs) else pairs


def is_record(text: str) -> bool:
    """Return whether a text begins as JSON or a dict of Python with weights."""
    return _RECORDS.match(unwrap(text)) is not None


def check_member_text(row: int, members: Sequence[Any] | None) -> None:
    """Raise if the only member of a list is the text of a list or an object that is not a set of labels.

    Text that only begins with brackets, such as "[(R)-carvone]", is a label.
    """
    if members is None or len(members) != 1 or not isinstance(members[0], str):
        return
    content = unwrap(members[0]).strip()
    is_records = _RECORDS.match(content)
    if not (is_records or _QUOTED_LIST.match(content)) or not (_BROKEN_JSON.match(content) or _is_literal(content)):
        return
    if is_records:
        raise no_list(row, members[0])
    read_list(row, members[0], remedy="Correct it; or rename the class so that it does not begin with a bracket.")


def _is_literal(text: str) -> bool:
    try:
        parse_text(text)
    except ValueError:
        return False
    return True


def no_list(row: int, text: str) -> LabelError:
    """Return the error of an object, or of a list of pairs, in place of a list of labels."""
    shown = f"{text[:_MAX_SHOWN]!r}{'...' * (len(text) > _MAX_SHOWN)}"
    keys = ", ".join(WRAPPER_KEYS[:-1])
    return LabelError(
        f'{shown} is not a list of labels. Write ["finch", "wren"], or an object whose only key is {keys} or '
        f"{WRAPPER_KEYS[-1]}; if it has weights, add --weighted (in Python, weighted=True).",
        row=row,
        label=text,
    )


def escape_fences(text: str) -> str:
    """Return text in which a backslash precedes the backticks of every code fence."""
    return _FENCE.sub(lambda match: match[0].replace("`", "\\`"), text)


def read_list(row: int, text: str, *, remedy: str = _ONE_LABEL) -> list[str] | None:
    """Return the labels of a list written as text, None if it is empty.

    Text without a bracket is one label, except that sets and tuples of Python, such as ``{'finch', 'wren'}``, are
    refused.
    """
    stripped = unwrap(text).strip()
    if not stripped:
        return None
    if not stripped.startswith("["):
        if _RECORDS.match(stripped) and parse_object(stripped) is not None:
            raise no_list(row, text)
        if _SET_OR_TUPLE.match(stripped):
            raise LabelError(
                f"{stripped[:_MAX_SHOWN]!r} seems to be a set or a tuple of Python. Write it as a list, such as "
                '["finch", "wren"].',
                row=row,
                label=text,
            )
        return [stripped]
    try:
        members = parse_text(stripped)
    except ValueError:
        shown = f"{stripped[:_MAX_SHOWN]!r}{'...' * (len(stripped) > _MAX_SHOWN)}"
        raise LabelError(
            f'{shown} is not a valid list, such as ["finch", "wren"]. {remedy}',
            row=row,
            label=text,
        ) from None
    return [_as_label(row, text, member) for member in members] or None


def is_plainly_list(text: str) -> bool:
    """Return whether a text can only be a list of labels.

    It has text in quotation marks, or whole numbers that are not an interval: two numbers that do not descend are.
    """
    text = unwrap(text)
    if not (text.startswith("[") and text.endswith("]")):
        return False
    try:
        members = parse_text(text)
    except ValueError:
        return False
    if members and all(type(member) is int for member in members):
        return len(members) != 2 or members[0] > members[1]
    return any(isinstance(member, str) for member in members) and all(type(m) in (str, int) for m in members)


def write_list(labels: list[Any]) -> str:
    """Return labels as a list of JSON, which `read_list` reads back without spaces around the labels."""
    return json.dumps([str(label) for label in labels], ensure_ascii=False)


def parse_object(text: str, *, unwraps: bool = True) -> dict[str, Any] | None:
    """Return the object that a text is, also in a code fence; None for other text."""
    try:
        record = parse_text(unwrap(text) if unwraps else text)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _as_label(row: int, text: str, member: Any) -> str:
    if isinstance(member, str) and member.strip():
        return member.strip()
    if isinstance(member, bool):
        return str(member).lower()
    if isinstance(member, int) or (isinstance(member, float) and member.is_integer()):
        return str(int(member))
    problem = "an empty label" if isinstance(member, str) else f"{member!r}, which is not a label"
    raise LabelError(f"{text[:_MAX_SHOWN]!r} contains {problem}. Remove it from the list.", row=row, label=text)


def _to_json(text: str) -> str:
    """Return the JSON of a literal of Python; values of an array of NumPy have spaces between them, and no commas."""
    pieces: list[str] = []
    closing: list[str] = []
    previous, position, has_comma, has_gap = "", 0, False, False
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("the text is neither JSON nor a literal of Python")
        position, kind, token = match.end(), str(match.lastgroup), match[0]
        if kind == "space":
            continue
        is_value = kind in ("text", "number", "word", "scalar", "open")
        if is_value and previous in ("text", "number", "word", "close"):
            has_gap = True
            if not text[match.start() - 1].isspace():
                raise ValueError("two values have nothing between them")
            pieces.append(",")
        if kind in {"scalar", "open"}:
            closing.append("" if kind == "scalar" else _CLOSED_BY[token])
            pieces.append("" if kind == "scalar" else "[" if token == "(" else token)
        elif kind == "close":
            pieces.append(_close(token, closing, previous, pieces))
        else:
            has_comma |= token == ","
            if token == ":" and previous == "number":  # the keys of objects are text
                pieces[-1] = f'"{pieces[-1]}"'
            pieces.append(_translate(kind, token))
        previous = "comma" if token == "," else kind
    if closing or (has_gap and has_comma):
        raise ValueError("a bracket is not closed, or a comma is missing")
    return "".join(pieces)


def _close(token: str, closing: list[str], previous: str, pieces: list[str]) -> str:
    """Return the JSON of a closing bracket; the comma of a tuple of one value is removed."""
    expected = closing.pop() if closing else None
    if token != (expected or ")"):
        raise ValueError("the brackets do not match")
    if previous == "comma":
        pieces.pop()
    return "" if expected == "" else "]" if token == ")" else token


def _translate(kind: str, token: str) -> str:
    if kind == "text":
        try:
            return json.dumps(ast.literal_eval(token))
        except SyntaxError:
            raise ValueError("the text has an invalid character") from None
    if kind == "number":
        return repr(float(token)) if set(token) & set(".e") else token
    return _WORDS.get(token, token)
