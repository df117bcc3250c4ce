"""Lists and mappings written as text: JSON, or the notation of Python, NumPy, R, PostgreSQL and Java.

One pass over the tokens builds the value, so that no text is executed and long text takes linear time.
"""

import ast
import json
import re
from typing import Any

_MAX_LENGTH = 1_000_000
"""Maximum number of characters of a list or a mapping."""
_MAX_DEPTH = 50
"""Maximum number of brackets within each other."""
_ESCAPED = r"""\\(?:[\\'"abfnrtv0]|x[\da-f]{2}|u[\da-f]{4}|U[\da-f]{8})"""
_TOKEN = re.compile(
    rf"""\s*(?:(?P<text>'(?:[^'\\\n]|{_ESCAPED})*'|"(?:[^"\\\n]|{_ESCAPED})*")
    |(?P<open>(?:np\.\w+|c|list|tuple|set|frozenset|array)\s*\(|[\[({{])
    |(?:,\s*dtype=[^,()]*)?(?P<close>[\])}}])
    |(?P<sign>[,:])
    |(?P<bare>[^\s,:'"\\()\[\]{{}}](?:[^,:'"\\()\[\]{{}}]*[^\s,:'"\\()\[\]{{}}])?))""",
    re.VERBOSE | re.ASCII,
)
_NUMBER = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_WORDS = {"None": None, "True": True, "False": False, "nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}
_FENCE = re.compile(r"(?<!`)`{3,}+\s*+\w*+\s*+(?=[\[{])")
"""The beginning of a code fence of Markdown around a list or an object, such as "```json"; found in linear time."""


class Bare(str):
    """Text without quotation marks, as in "[finch, wren]", which may also be a part of a name in brackets."""

    __slots__ = ()


class _Level:
    """The members of an open bracket."""

    def __init__(self, opening: str) -> None:
        self.opening = opening
        self.keys: list[Any] = []
        self.members: list[Any] = []
        self.n_commas = 0

    def close(self) -> Any:
        """Return the value; the values of an array of NumPy have spaces between them, and no commas."""
        n, members = len(self.members), self.members
        has_words = any(isinstance(member, Bare) for member in members)
        is_array = self.opening == "[" and not has_words and not any(isinstance(m, list | dict) for m in members)
        if self.n_commas not in (n, n - 1) and not (self.n_commas == 0 and (n == 0 or is_array)):
            raise ValueError("a comma is missing")
        if self.keys or (self.opening == "{" and not n):
            if (
                self.opening != "{"
                or len(self.keys) != n
                or not all(type(key) in (str, int, float) for key in self.keys)
            ):
                raise ValueError("an object must have keys in quotation marks")
            return as_record([(str(key), member) for key, member in zip(self.keys, members, strict=True)])
        if self.opening[-1] == "(" and has_words:
            raise ValueError('names have words in parentheses, as in "(Smith, J)"')
        if self.opening.startswith("np."):
            if n != 1 or self.n_commas:
                raise ValueError("a scalar of NumPy has one value")
            return members[0]
        is_call = len(self.opening) > 1
        return members[0] if is_call and n == 1 and isinstance(members[0], list) else members


def parse_text(text: str) -> Any:
    """Return the value of JSON, or of lists, tuples and dicts as Python, NumPy, R, PostgreSQL and Java write them.

    Objects are dicts, or lists of pairs if a key is repeated. Text without quotation marks is `Bare`.

    Raises
    ------
    ValueError
        For any other text.

    Examples
    --------
    >>> from oneof.candidates.literals import parse_text
    >>> parse_text('c("finch", "wren")'), parse_text("['finch' 'wren']"), parse_text("{'finch': 0.7}")
    (['finch', 'wren'], ['finch', 'wren'], {'finch': 0.7})
    """
    if len(text) > _MAX_LENGTH:
        raise ValueError("the text is too long")
    try:
        return json.loads(text, object_pairs_hook=as_record, strict=False)  # line ends in labels
    except (ValueError, RecursionError):
        return _parse(text)


def _parse(text: str) -> Any:
    levels, position, is_separated = [_Level("[")], 0, True
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("the text is not a literal")
        kind, token, level = match.lastgroup, match[str(match.lastgroup)], levels[-1]
        has_gap = match.start(str(kind)) > position
        position = match.end()
        if kind == "sign":
            if is_separated:
                raise ValueError("a value is missing")
            if token == ":":
                level.keys.append(level.members.pop())
            level.n_commas += token == ","
            is_separated = True
            continue
        if kind == "close":
            if len(levels) == 1 or _CLOSED_BY[level.opening[-1]] != token:
                raise ValueError("the brackets do not match")
            levels.pop()
            levels[-1].members.append(level.close())
            is_separated = False
            continue
        if not is_separated and not (has_gap and level.n_commas == 0):
            raise ValueError("two values have nothing between them")
        is_separated = kind == "open"
        if kind == "open":
            if len(levels) > _MAX_DEPTH:
                raise ValueError("the text has too many levels")
            levels.append(_Level(token))
        else:
            level.members += _read_text(token) if kind == "text" else _read_bare(token)
    if len(levels) > 1 or len(levels[0].members) != 1 or levels[0].n_commas or type(levels[0].members[0]) is Bare:
        raise ValueError("the text is not one value")
    return levels[0].members[0]


def _read_text(token: str) -> list[Any]:
    try:
        return [ast.literal_eval(token)]
    except SyntaxError:
        raise ValueError("the text has an invalid character") from None


def _read_bare(token: str) -> list[Any]:
    """Return a word, a number, or the numbers of an array of NumPy."""
    parts = token.split()
    if parts and all(part in _WORDS or _NUMBER.fullmatch(part) for part in parts):
        return [_WORDS[part] if part in _WORDS else _number(part) for part in parts]
    return [Bare(token)]


def _number(text: str) -> int | float:
    return float(text) if set(text.lower()) & set(".e") else int(text)


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
