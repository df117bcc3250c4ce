"""Messy tables: a clean table whose values are known, and files of it with one or two faults each."""

import csv
import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date

from tests.io.sheets import N_ROWS, Sheet, make_clean

Fault = Callable[[Sheet], Sheet]


def _token(token: str, name: str = "span", first: int = 4) -> Fault:
    """Return the fault that every ninth cell of a column is a token of missing values."""
    rows = range(first, N_ROWS, 9)

    def fault(sheet: Sheet) -> Sheet:
        changed = sheet.with_cells(name, lambda i, cell: token if i in rows else cell)
        return changed.without_values(name, rows)

    return fault


def _unreadable(token: str, name: str, row: int) -> Fault:
    def fault(sheet: Sheet) -> Sheet:
        changed = sheet.with_cells(name, lambda i, cell: token if i == row else cell)
        changed = changed.without_values(name, range(row, row + 1))
        return replace(changed, unreadable=sheet.unreadable | {name: [*sheet.unreadable.get(name, []), row]})

    return fault


def _cells(name: str, change: Callable[[str], str], every: int = 1) -> Fault:
    return lambda sheet: sheet.with_cells(name, lambda i, cell: change(cell) if i % every == 0 and cell else cell)


def _dates(form: str, every: int = 1) -> Fault:
    return _cells("day", lambda cell: date.fromisoformat(cell).strftime(form) if cell[:2] == "20" else cell, every)


def _renamed(old: str, new: str) -> Fault:
    return lambda sheet: replace(sheet, names=[new if name == old else name for name in sheet.names])


def _decimal_comma(sheet: Sheet) -> Sheet:
    for name in ("span", "mass"):
        sheet = sheet.with_cells(name, lambda _, cell: cell.replace(".", ","))
    return replace(sheet, delimiter=";")


def _grouped(sheet: Sheet) -> Sheet:
    return sheet.with_cells("mass", lambda _, cell: f"{float(cell):,.2f}" if cell else "")


def _extra_column(name: str, cells: Callable[[int], str]) -> Fault:
    def fault(sheet: Sheet) -> Sheet:
        rows = [[*row[:5], cells(i), *row[5:]] for i, row in enumerate(sheet.rows)]
        return replace(sheet, names=[*sheet.names[:5], name, *sheet.names[5:]], rows=rows)

    return fault


def _trailing(*, header: bool) -> Fault:
    def fault(sheet: Sheet) -> Sheet:
        return replace(sheet, names=[*sheet.names, ""] if header else sheet.names, rows=[[*r, ""] for r in sheet.rows])

    return fault


def _empty_rows(sheet: Sheet) -> Sheet:
    return replace(sheet, end=(sheet.delimiter * (len(sheet.names) - 1) + sheet.line_end) * 3)


def _joined_by(separator: str) -> Fault:
    return _cells("city", lambda cell: cell.replace("|", separator))


FORMS: dict[str, Fault] = {
    "semicolons": lambda sheet: replace(sheet, delimiter=";"),
    "tabs": lambda sheet: replace(sheet, delimiter="\t"),
    "pipes": lambda sheet: replace(sheet, delimiter="|"),
    "decimal comma": _decimal_comma,
    "byte order mark": lambda sheet: replace(sheet, mark=b"\xef\xbb\xbf"),
    "Latin-1": lambda sheet: replace(sheet, encoding="latin-1"),
    "UTF-16": lambda sheet: replace(sheet, encoding="utf-16"),
    "UTF-16 without mark": lambda sheet: replace(sheet, encoding="utf-16-be"),
    "CR LF": lambda sheet: replace(sheet, line_end="\r\n"),
    "CR": lambda sheet: replace(sheet, line_end="\r"),
    "no last line end": lambda sheet: replace(sheet, final_line_end=False),
    "blank lines at the end": lambda sheet: replace(sheet, end=sheet.line_end * 3),
    "all quoted": lambda sheet: replace(sheet, quoting=csv.QUOTE_ALL),
    "single quotation marks": lambda sheet: replace(sheet, quoting=csv.QUOTE_ALL, quote="'"),
}
"""Faults of the form of the file."""

CELLS: dict[str, Fault] = {
    **{
        f"token {token}": _token(token)
        for token in ("-", "None", "n.a.", "#N/A", "?", ".", "NA", "null", "\u2013", "N/A")
    },
    "token in integers": _token("-", "count"),
    "token beside empty cells": _token("n/a", "mass", 1),
    "token in dates": _token("unknown", "day"),
    "token in durations": _token("--", "took"),
    "token in yes/no": _token("?", "wet"),
    "token in categories": _token("N/A", "color"),
    "word in numbers": _unreadable("broken", "span", 17),
    "words in two columns": lambda sheet: _unreadable("soon", "day", 5)(_unreadable("many", "count", 40)(sheet)),
    "infinite number": _unreadable("inf", "mass", 3),
    "impossible date": _unreadable("2021-02-30", "day", 8),
    "grouped digits": _grouped,
    "signs": _cells("count", lambda cell: f"+{cell}", 3),
    "minus of typesetters": _cells("span", lambda cell: cell.replace("-", "\u2212")),
    "exponents": _cells("span", lambda cell: f"{float(cell) * 1000:.3f}e-3", 2),
    "spaces around cells": lambda sheet: _cells("color", lambda cell: f" {cell} ", 2)(
        _cells("span", lambda cell: f" {cell} ", 4)(sheet)
    ),
    "German dates": _dates("%d.%m.%Y"),
    "American dates": _dates("%m/%d/%Y"),
    "British dates": _dates("%d/%m/%Y"),
    "dates with months in words": _dates("%d %b %Y"),
    "dates with times": _dates("%Y-%m-%d 00:00:00"),
    "dates of two formats": _dates("%d.%m.%Y", 3),
    "TRUE and FALSE": _cells("wet", lambda cell: "TRUE" if cell == "yes" else "FALSE"),
    "Ja and Nein": _cells("wet", lambda cell: "Ja" if cell == "yes" else "Nein"),
    "durations in words": _cells("took", lambda cell: "{}h {}min".format(*map(int, cell.split(":")))),
    "spaces around names": lambda sheet: _renamed("span", " span ")(_renamed("city", "city ")(sheet)),
    "repeated name": _extra_column("count", lambda i: str(i * i % 7)),
    "no name": _extra_column("", lambda i: str(i * i % 7)),
    "empty column": _extra_column("void", lambda _: ""),
    "delimiters at the end": _trailing(header=True),
    "delimiters at the end of rows": _trailing(header=False),
    "empty rows at the end": _empty_rows,
    "labels joined by ;": _joined_by(";"),
    "labels joined by ,": _joined_by(", "),
    "labels joined by /": _joined_by(" / "),
}
"""Faults of cells and names."""

PAIRS = (
    ("decimal comma", "token -"), ("decimal comma", "word in numbers"), ("decimal comma", "German dates"),
    ("decimal comma", "Latin-1"), ("decimal comma", "UTF-16"), ("semicolons", "labels joined by ,"),
    ("semicolons", "labels joined by ;"), ("semicolons", "empty rows at the end"), ("tabs", "token None"),
    ("tabs", "dates of two formats"), ("pipes", "labels joined by ;"), ("byte order mark", "all quoted"),
    ("byte order mark", "spaces around names"), ("Latin-1", "CR LF"), ("Latin-1", "token in categories"),
    ("UTF-16", "tabs"), ("UTF-16", "token #N/A"), ("UTF-16 without mark", "CR"), ("CR", "word in numbers"),
    ("CR LF", "delimiters at the end"), ("CR LF", "blank lines at the end"), ("all quoted", "token ."),
    ("all quoted", "grouped digits"), ("single quotation marks", "semicolons"), ("no last line end", "repeated name"),
    ("token -", "token in integers"), ("token in dates", "American dates"), ("no name", "words in two columns"),
    ("British dates", "word in numbers"), ("spaces around cells", "token ?"), ("empty rows at the end", "token NA"),
    ("delimiters at the end of rows", "Latin-1"), ("decimal comma", "delimiters at the end of rows"),
)  # fmt: skip


def _noted(name: str, text: str, fault: Fault) -> Fault:
    """Return a fault with a text that the note about a column must have."""

    def noted(sheet: Sheet) -> Sheet:
        changed = fault(sheet)
        return replace(changed, notes=changed.notes | {name: text})

    return noted


def _sentinel(token: str, name: str) -> Fault:
    """Return the fault that a token, which the user names, is in every ninth cell."""
    return lambda sheet: replace(_token(token, name)(sheet), missing=(*sheet.missing, token))


def _words(*words: str, name: str) -> Fault:
    """Return the fault that every fifth cell of a column is one of a few words."""
    rows = range(3, N_ROWS, 5)

    def fault(sheet: Sheet) -> Sheet:
        changed = sheet.with_cells(name, lambda i, cell: words[i % len(words)] if i in rows else cell)
        changed = changed.without_values(name, rows)
        return replace(changed, unreadable=sheet.unreadable | {name: [*rows]})

    return fault


def _with_dates(change: Callable[[date, bool], date], form: str, text: str) -> Fault:
    """Return the fault of other dates in a format, with the text of its note; the last date is marked."""

    def fault(sheet: Sheet) -> Sheet:
        j = sheet.column("day")
        days = [change(date.fromisoformat(row[j]), i == N_ROWS - 1) for i, row in enumerate(sheet.rows)]
        values: list[object] = [float((day - date(1970, 1, 1)).days) for day in days]
        changed = sheet.with_cells("day", lambda i, _: days[i].strftime(form))
        return replace(changed, expected=sheet.expected | {"day": ("date", values)})

    return _noted("day", text, fault)


def _first_days(day: date, is_last: bool) -> date:
    return day.replace(day=28 if is_last else 1 + day.day % 12)


def _minutes(cell: str) -> str:
    hours, minutes = map(int, cell.split(":"))
    return f"{60 * hours + minutes}m"


READINGS: dict[str, Fault] = {
    "sentinel in decimals": _sentinel("999", "span"),
    "sentinel in integers": _sentinel("-9", "count"),
    "sentinel among empty cells": _sentinel("99.0", "mass"),
    "one word in a fifth of the numbers": _words("refused", name="span"),
    "two words in a fifth of the numbers": _words("refused", "n/k", name="count"),
    "a word in a fifth of the dates": _words("ongoing", name="day"),
    "a word in a fifth of the durations": _words("did not finish", name="took"),
    "dates of which the last one shows the order": _with_dates(_first_days, "%d/%m/%Y", "'%d/%m/%Y'"),
    "dates with hyphens in either order": _with_dates(
        lambda day, _: _first_days(day, is_last=False), "%m-%d-%Y", "if the day is first, add --date-format %d-%m-%Y"
    ),
    "months": _with_dates(lambda day, _: day.replace(day=1), "%Y-%m", "'%Y-%m'"),
    "dates of eight digits": _with_dates(lambda day, _: day, "%Y%m%d", "dates '%Y%m%d'"),
    "minutes": _noted("took", "in hours (", _cells("took", _minutes)),
    "letters of yes and no": _noted("wet", "'n' is 0 and 'y' is 1", _cells("wet", lambda cell: cell[0])),
    "percent signs": _noted("span", "in '%'", _cells("span", lambda cell: f"{cell}%")),
    "currency after numbers": _noted("span", "in 'EUR'", _cells("span", lambda cell: f"{cell} EUR")),
    "currency before numbers": _noted("mass", "in '$'", _cells("mass", lambda cell: f"${cell}")),
    "unit of measurement": _noted("mass", "in 'kg'", _cells("mass", lambda cell: f"{cell} kg")),
    "spaces between digits": _cells("mass", lambda cell: f"{float(cell):,.2f}".replace(",", "\u00a0")),
    "apostrophes between digits": _cells("mass", lambda cell: f"{float(cell):,.2f}".replace(",", "'")),
}
"""Faults of cells that have several readings; some need an option or a note."""


def _comma_in_name(sheet: Sheet) -> Sheet:
    new = "span, m"
    expected = {new if name == "span" else name: value for name, value in sheet.expected.items()}
    unreadable = {new if name == "span" else name: rows for name, rows in sheet.unreadable.items()}
    return replace(_renamed("span", new)(sheet), expected=expected, unreadable=unreadable)


def _late_code(sheet: Sheet) -> Sheet:
    cells = ["007" if i == 50 else str(10 + i * i % 7) for i in range(N_ROWS)]
    changed = _extra_column("zone", cells.__getitem__)(sheet)
    return replace(changed, expected=sheet.expected | {"zone": ("category", list(cells))})


def _blank_lines(sheet: Sheet) -> Sheet:
    return replace(sheet, rows=[*sheet.rows[:9], [], *sheet.rows[9:40], [], [], *sheet.rows[40:]])


LINES: dict[str, Fault] = {
    "title lines": lambda sheet: replace(sheet, above=("Survey of the birds", "")),
    "blank lines between rows": _blank_lines,
    "comma in a name": _comma_in_name,
    "code at the end": _late_code,
    "dates with time zones": _dates("%Y-%m-%d 02:00:00+02:00"),
    "dates in UTC": _dates("%Y-%m-%dT00:00:00Z"),
}
"""Faults of lines and of single columns."""

FAULTS = FORMS | CELLS | LINES | READINGS

_LAST = ("comma in a name", "spaces around names", "empty rows at the end", "blank lines between rows")
_INCOMPATIBLE = ({"labels joined by ,", "labels joined by ;"},)
"""Pairs that are another table, or have no unique reading."""


def _order(name: str) -> tuple[int, int]:
    """Return the place of a fault in a pair: formats of cells, single cells, names, lines."""
    is_single = name.startswith(("token", "word", "infinite", "impossible"))
    return (_LAST.index(name) if name in _LAST else -1, is_single)


def changed_columns(name: str, clean: Sheet) -> set[str]:
    """Return the columns whose cells a fault changes."""
    sheet = FAULTS[name](clean)
    return {
        column
        for column in clean.names
        if column in sheet.names
        and all(len(row) >= len(clean.names) for row in sheet.rows)
        and [row[sheet.column(column)] for row in sheet.rows] != [row[clean.column(column)] for row in clean.rows]
    }


def random_pairs(n: int, seed: int) -> list[tuple[str, str]]:
    """Return pairs of faults; of two formats of the same cells, only one can apply."""
    clean = make_clean()
    columns = {name: changed_columns(name, clean) for name in FAULTS}
    pairs = [
        pair
        for pair in itertools.combinations(FORMS | CELLS | LINES, 2)
        if pair not in PAIRS
        and set(pair) not in _INCOMPATIBLE
        and (not columns[pair[0]] & columns[pair[1]] or _order(pair[0])[1] != _order(pair[1])[1])
    ]
    generator = random.Random(seed)
    same = [pair for pair in pairs if columns[pair[0]] & columns[pair[1]]]
    return list(dict.fromkeys([*generator.sample(same, n // 3), *generator.sample(pairs, n)]))[:n]


N_RANDOM_PAIRS = 60


def make_zoo() -> dict[str, Sheet]:
    """Return the clean table, each fault alone, the chosen pairs of faults, and random pairs."""
    clean = make_clean()
    sheets = {"clean": clean} | {name: fault(clean) for name, fault in FAULTS.items()}
    for pair in (*PAIRS, *random_pairs(N_RANDOM_PAIRS, seed=0)):
        sheet = clean
        for name in sorted(pair, key=_order):
            sheet = FAULTS[name](sheet)
        sheets[" and ".join(pair)] = sheet
    return sheets


def _bad_labels(sheet: Sheet) -> Sheet:
    return sheet.with_cells("city", {7: "Lyon||Oslo", 31: "|"}.get)


def _doubtful_labels(sheet: Sheet) -> Sheet:
    rows = (3, 30)
    return sheet.with_cells("city", lambda i, cell: "S\u00e3o Paulo;Z\u00fcrich" if i in rows else cell.split("|")[0])


REFUSED: dict[str, tuple[Fault, tuple[str, ...]]] = {
    "bad label cells": (_bad_labels, ("row 7", "row 31", "'city'")),
    "class with a semicolon": (_doubtful_labels, ("S\u00e3o Paulo;Z\u00fcrich", "'city'", "--separator")),
}
"""Faults that are errors, with the parts of the message besides the name of the file."""
