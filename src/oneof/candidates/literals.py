"""Lists and mappings written as text: JSON, or the notation of Python, NumPy, R and PostgreSQL.

Text of Python is translated to JSON token by token, so that no text is executed and long text takes linear time.
"""

import ast
import json
import re
from collections.abc import Callable
from typing import Any

_MAX_LENGTH = 1_000_000
"""Maximum number of characters of a list or a mapping."""
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
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}
_FENCE = re.compile(r"(?<!`)`{3,}+\s*+\w*+\s*+(?=[\[{])")
"""The beginning of a code fence of Markdown around a list or an object, such as "```json"; found in linear time."""
_ARRAY = re.compile(
    r"(?:c|list|tuple|set|frozenset|array)\s*\((.*?)(?:,\s*dtype=[^,()]*)?\)|(\[.*\]|\{.*\}|\(.*\))",
    re.DOTALL | re.ASCII,
)
"""A vector of R, a set, a tuple or an array of Python, an array of PostgreSQL, or a list of Java."""
_MEMBER = re.compile(
    r"""\s*(?:"([^"\\]*)"|'([^'\\]*)'|([^\s,:'"\\()\[\]{}](?:[^,:'"\\()\[\]{}]*[^\s,:'"\\()\[\]{}])?))\s*"""
)


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


def parse_array(text: str) -> list[str] | None:
    """Return the members of a set of Python, a vector of R, an array of PostgreSQL, or a list of Java.

    It is None for other text. Members without quotation marks are read in braces and brackets only: "(Smith, J)" is a
    name.

    Examples
    --------
    >>> from oneof.candidates.literals import parse_array
    >>> parse_array('c("finch", "wren")'), parse_array("{finch,wren}"), parse_array("(Smith, J)")
    (['finch', 'wren'], ['finch', 'wren'], None)
    """
    match = _ARRAY.fullmatch(text)
    if match is None:
        return None
    content = match[1] if match[1] is not None else match[2]
    has_braces = content[:1] in ("{", "[")
    if match[1] is None or content[:1] in ("{", "["):
        content = content[1:-1]
    content = content.strip().removesuffix(",")
    members: list[str] = []
    position = 0
    while position < len(content):
        member = _MEMBER.match(content, position)
        if member is None or (member[3] is not None and not has_braces):
            return None
        members.append(next(part for part in member.groups() if part is not None))
        position = member.end()
        if position < len(content):
            if content[position] != ",":
                return None
            position += 1
    return members


def strip_fence(text: str) -> str:
    """Return the list or the object in a code fence of Markdown, the usual form of a language model's answers.

    Text before and after the fence is left out, and the end of the fence may be absent. Text without a fence, and a
    list or an object whose labels contain one, are returned unchanged. Several fences are one text that is not valid.

    Examples
    --------
    >>> from oneof.candidates.literals import strip_fence
    >>> strip_fence('```json {"finch": 0.7} ```')
    '{"finch": 0.7}'
    """
    match = None if "```" not in text or text.lstrip()[:1] in ("[", "{") else _FENCE.search(text)
    if match is None:
        return text
    content = text[match.end() :]
    end = content.rfind("```")
    return (content if end < 0 else content[:end]).rstrip().rstrip("`").rstrip()


def escape_fences(text: str) -> str:
    """Return text in which a backslash precedes the backticks of every code fence."""
    return _FENCE.sub(lambda match: match[0].replace("`", "\\`"), text)


def as_record(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object as a dict, or as pairs if it repeats a key."""
    record = dict(pairs)
    return record if len(record) == len(pairs) else pairs


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
