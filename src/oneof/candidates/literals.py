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
            own = [] if kind == "sign" else _read_quoted(token) if kind == "text" else _read_bare(token)
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


def _read_quoted(token: str) -> list[Any]:
    try:
        return [ast.literal_eval(token)]
    except SyntaxError:
        raise ValueError("the text has an invalid character") from None


def _read_bare(token: str) -> list[Any]:
    """Return a word, a number, or the numbers of an array of NumPy."""
    parts = token.split()
    if not all(part in _WORDS or _NUMBER.fullmatch(part) for part in parts):
        return [Bare(token)]
    return [_WORDS[part] if part in _WORDS else float(part) if set(part) & set(".eE") else int(part) for part in parts]


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
