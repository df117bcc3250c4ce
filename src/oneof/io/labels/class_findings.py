"""Findings about the classes of a table: sets, missing labels and errors that are read as a class, and spellings.

No class is in two findings: `class_findings` looks for missing labels, then for sets, then for suspicious classes.
"""

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from oneof.candidates import CandidateSets
from oneof.candidates.cells import LISTS
from oneof.candidates.labels import fold_case, labels_with_weights
from oneof.candidates.spellings import describe_spellings, group_spellings
from oneof.errors import LabelError, OneofError
from oneof.io.findings import Finding, notes
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS
from oneof.messages import shorten

_UNKNOWN = (
    "unbekannt", "unklar", "unsicher", "keine angabe", "wei\u00df nicht", "inconnu", "inconnue", "incertain",
    "je ne sais pas",
    "desconocido", "desconocida", "no s\u00e9", "sconosciuto", "sconosciuta", "non so", "desconhecido", "desconhecida",
    "n\u00e3o sei", "onbekend", "weet niet", "ok\u00e4nd", "ukjent", "ukendt", "tuntematon", "nieznany", "nieznane",
    "nezn\u00e1m\u00fd", "ismeretlen", "bilinmiyor", "\u043d\u0435\u0438\u0437\u0432\u0435\u0441\u0442\u043d\u043e",
    "\u043d\u0435\u0432\u0456\u0434\u043e\u043c\u043e", "\u672a\u77e5", "\u4e0d\u660e", "\u4e0d\u77e5\u9053",
    "unsure", "not sure", "uncertain", "unclear", "don't know", "dont know", "do not know", "idk",
)  # fmt: skip
"""Words for an unknown label in several languages, in lower case. Such a label is a class, with a note."""
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_SIGN = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")
"""Any characters between two words."""
_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_REMARK = re.compile(r"[^\w\s.'\u2019-]|\.(?!\w)")
"""Signs that are not usual in names; "C33.1" is a name."""
_EXCLUSION = re.compile(r"(?i:not\s+|[!~\u2260]\s*)(.+)")
_BRACKETS = {"[": "]", "{": "}", "(": ")"}
MAX_RARE_ROWS = 3
"""Number of rows up to which a class is rare compared with a class of ten times its rows; above, of fifty times."""
MAX_ODD_SHARE = 0.2
"""Share of the rows up to which classes without letters are suspicious among classes with letters."""
_MIN_RATIO = 0.88
"""Ratio of `difflib` from which two names are nearly equal: one of nine letters differs."""
_MIN_LETTERS = 5
"""Number of letters of a word that may be misspelled; "type A" and "type B" are different classes."""
_MAX_COMPARED = 300
"""Number of rare and of frequent classes whose names are compared: less than a second."""
_MANY_CLASSES = 20
"""Number of classes from which most of them should have several rows."""
_MIN_WORDS, _MIN_SENTENCES, _MIN_SHARE = 4, 3, 0.2
"""Number of words of a sentence; number of sentences in one row only, and their share of all classes, for a note."""


def check_no_weights(classes: Iterable[Any], source: Any) -> None:
    """Raise if classes are labels with a weight, such as "finch:0.7", although weights are not requested."""
    pairs = labels_with_weights(classes)
    if pairs:
        raise LabelError(
            f"the labels of {source} have weights, such as {min(pairs)!r}. Add --weighted; or name the classes "
            "(--classes) if the numbers belong to their names.",
            label=pairs[0],
        )


def has_several_classes(text: str, names: Collection[str]) -> bool:
    """Return whether a text is several names of classes with a sign or a word between them."""
    return any(True for _ in _signs(text, names))


def label_findings(
    candidates: CandidateSets, separator: str, *, source: str = "", kind: str = "likelihood", unit: str = "row"
) -> list[Finding]:
    """Return the findings about the candidate sets of a table; `kind` is that of their weights.

    `source` names the table of the labels, if there may be another one, and `unit` its rows.
    """
    import numpy as np

    labeled, classes = ~candidates.is_unlabeled, candidates.classes.tolist()
    mask = candidates.mask[labeled]
    if not len(mask):
        return []
    counts = mask.sum(axis=0)
    first = np.flatnonzero(labeled)[mask.argmax(axis=0)]
    weighted = candidates.is_weighted[labeled]
    # In a table of weights, a text without any is a refusal or a comment.
    plain = ~mask[weighted].any(axis=0) if 2 * weighted.sum() > len(mask) else np.zeros(len(classes), dtype=bool)
    # The rows of a recording share a list: equal sets count once.
    several = mask.sum(axis=1) > 1
    _, once = np.unique(np.packbits(mask[several], axis=1), axis=0, return_index=True)
    distinct = mask[~several].sum(axis=0) + mask[several][once].sum(axis=0)
    return [
        *class_findings(
            dict(zip(classes, counts.tolist(), strict=True)),
            separator,
            source=source,
            unit=unit,
            first=dict(zip(classes, first.tolist(), strict=True)) if unit == "row" else {},
            distinct=dict(zip(classes, distinct.tolist(), strict=True)),
            plain={classes[k] for k in np.flatnonzero(plain)},
        ),
        *notes("labels", _rounded_weights(candidates, kind)),
        *notes("single rows", _single_rows(classes, counts)),
    ]


def class_findings(
    rows: Mapping[Any, int],
    separator: str,
    *,
    source: str = "",
    unit: str = "row",
    first: Mapping[str, int] | None = None,
    distinct: Mapping[str, int] | None = None,
    plain: Collection[str] = (),
) -> list[Finding]:
    """Return the findings about the names of classes.

    Parameters
    ----------
    rows : mapping
        The number of rows of each class.
    separator : str
        The text between two labels.
    source, unit : str
        The table of the labels, and the name of its rows.
    first, distinct : mapping of str to int, optional
        The first row of each class, and the number of its rows in which equal sets count once.
    plain : collection of str
        The classes without weights in a table of weighted labels.
    """
    texts = [label for label in rows if isinstance(label, str)]
    missing = [text for text in texts if text.strip().lower() in ("-1", *MISSING, *MISSING_NUMBERS, *_UNKNOWN)]
    numbers = [label for label in rows if not isinstance(label, str)]
    negative = [str(number) for number in numbers if number < -1]
    if len(negative) == 1 and len(numbers) > 2:  # such as -9999
        missing += negative
    found = [Finding("missing class", source, len(missing), examples=tuple(missing))] * bool(missing)
    noted = set(missing)
    for advice, joined in _joined_classes(texts, separator).items():
        place = () if not first else (first[joined[0]],)
        found.append(Finding("joined classes", "", len(joined), place, tuple(joined), advice))
        noted.update(joined)
    noted.update(
        text for group in group_spellings(texts) for text in group if rows[text] < max(rows[other] for other in group)
    )
    others = {text: rows[text] for text in texts if text not in noted}
    for text, reason in _suspicious(others, distinct or rows, plain):
        number = f"{rows[text]:,} {unit}{'s' * (rows[text] != 1)}"
        place = () if not first else (first[text],)
        found.append(Finding("suspicious class", source, rows[text], place, (text,), f"{number}; {reason}"))
    return [*found, *notes("spellings", describe_spellings(texts, "add --fold-case, or use one spelling"))]


def _joined_classes(texts: Sequence[str], separator: str) -> dict[str, list[str]]:
    """Return the classes that may be sets by their remedy."""
    names, found = set(texts), dict[str, list[str]]()
    for text in texts:
        if _BRACKETS.get(text[:1]) == text[-1:]:
            advice = "write sets of labels as 'a|b'"
            if _splits(text, LISTS):
                advice += ", or add --separator '[]' to read the cells as lists"
                if separator == LISTS:
                    continue
            found.setdefault(advice, []).append(text)
        elif not _is_number(text) and (sign := next(_signs(text, names), None)) and not _splits(text, separator):
            found.setdefault(_advise(text, sign, separator), []).append(text)
    return found


def _advise(text: str, sign: str, separator: str) -> str:
    """Return the remedy for a set that a sign separates in a column of another separator."""
    both, one = f"{separator} {sign}", "if it is a set of labels,"
    if not _splits(text, sign):
        return f"{one} write {separator[:1]!r} between them"
    if separator == LISTS:
        return f"{one} add --separator '{sign}'"
    if _splits(text, both):
        return f"{one} add --separator '{sign}', or --separator '{both}' if {separator!r} separates other cells"
    return f"{one} add --separator '{sign}', or write {separator!r} between them if it separates other cells"


def _signs(text: str, names: Collection[str]) -> Iterator[str]:
    """Yield the signs and the words between classes in a text that is several of them."""
    words = text.split(" ")
    signs = [sign.strip() or sign for sign in _SIGN.findall(text)]
    for sign in dict.fromkeys([*signs, *(f" {word} " for word in words[1:-1])]):
        parts = [part.strip() for part in text.split(sign)]
        if len(parts) > 1 and all(part in names and part != text for part in parts):
            yield sign


def _splits(text: str, separator: str) -> bool:
    """Return whether a separator is accepted, and does not leave a text as one class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return text not in CandidateSets.from_strings([text, "x", "y"], separator=separator).classes.tolist()
        except OneofError:
            return False


def _suspicious(
    rows: Mapping[str, int], distinct: Mapping[str, int], plain: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the classes that may be errors, with a reason.

    A class is suspicious if it has another form than most rows, if it is another class with a remark, such as
    "finch (probably)", or if it has few rows and nearly the name of a frequent class.
    """
    words = {name: frozenset(_WORDS.findall(_CAMEL_CASE.sub(" ", name).casefold())) for name in rows}
    folded = {name: fold_case(name) for name in rows}
    common = sorted(rows, key=lambda name: -rows[name])[:_MAX_COMPARED]
    excluded = {name: match[1] for name in rows if (match := _EXCLUSION.fullmatch(name))}
    odd, n_compared = _odd_forms(rows), 0

    def is_rare(name: str, other: str) -> bool:
        n = distinct[name]
        return 10 * n <= rows[other] and n <= max(MAX_RARE_ROWS, rows[other] / 50)

    for name in sorted(rows, key=lambda name: rows[name]):
        if name in plain:
            yield name, "without weights"
        elif (
            len(rows) > 2
            and name in excluded
            and (2 * len(excluded) > len(rows) or fold_case(excluded[name]) in folded.values())
        ):
            yield name, "excludes a class: write the labels that remain"
        elif name in odd and (not name.isupper() or is_rare(name, common[0])):
            yield name, odd[name]
        elif n_compared < _MAX_COMPARED:
            n_compared += 1
            few = [other for other in common if is_rare(name, other) and folded[name] != folded[other]]
            signs = set(_REMARK.findall(name))
            whole = (
                other
                for other in common
                if words[other] and words[other] <= words[name] and folded[name] != folded[other]
                if other in few or not signs <= set(other)
            )
            if len(rows) > 2 and (other := next(whole, None)):
                yield name, f"{other!r} with a remark"
            elif near := _find_near(name, few, words, folded):
                yield name, f"nearly {near!r} with {rows[near]:,}"


def _odd_forms(rows: Mapping[str, int]) -> dict[str, str]:
    """Return the classes of another form than most: without letters, in capital letters, or sentences.

    At most a fifth of the rows have classes of such a form. A sentence has more than twice the words of the median row.
    """
    if not rows:
        return {}
    n_words = {name: len(name.split()) for name in rows}
    typical = sorted(n for name, count in rows.items() for n in [n_words[name]] * count)[sum(rows.values()) // 2]
    forms = {
        "a sentence": [  # those of one row only have a note of their own
            name for name, n in n_words.items() if n >= max(_MIN_WORDS, 2 * typical + 1) and rows[name] > 1
        ],
        "without letters": [name for name in rows if not any(map(str.isalpha, name))],
        "in capital letters": [name for name in rows if name.isupper()],
    }
    limit = MAX_ODD_SHARE * sum(rows.values())
    return {name: form for form, names in forms.items() if sum(map(rows.__getitem__, names)) <= limit for name in names}


def _find_near(
    name: str, few: Sequence[str], words: Mapping[str, frozenset[str]], folded: Mapping[str, str]
) -> str | None:
    """Return a class of nearly the same name that differs in long words only."""
    by_text = {folded[other]: other for other in reversed(few)}
    for text in get_close_matches(folded[name], by_text, n=1, cutoff=_MIN_RATIO):
        if all(len(word) >= _MIN_LETTERS and word.isalpha() for word in words[name] ^ words[by_text[text]]):
            return by_text[text]
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rounded_weights(candidates: CandidateSets, kind: str) -> list[str]:
    """Return a warning if most rows have one class of a posterior above 0, as probabilities rounded to 0 and 1 give."""
    n_exact, n_labeled = int(candidates.is_exact.sum()), int((~candidates.is_unlabeled).sum())
    if kind != "posterior" or 2 * n_exact <= n_labeled:
        return []
    return [
        f"{n_exact:,} of {n_labeled:,} labeled rows are exact, because the weights of all other classes are 0. If "
        "these are rounded probabilities, some labels are wrong: write more digits, or add --noise-rate auto to fit."
    ]


def _single_rows(classes: Sequence[Any], counts: Any) -> list[str]:
    """Return a warning if classes that are candidates of one row only are sentences, or are most of many classes.

    These are answers such as "I think it is a robin", names of rows, or other free text.
    """
    single = [label for label, count in zip(classes, counts, strict=True) if count == 1]
    sentences = [label for label in single if isinstance(label, str) and len(label.split()) >= _MIN_WORDS]
    if len(sentences) >= max(_MIN_SENTENCES, _MIN_SHARE * len(classes)):
        return [
            f"{len(sentences):,} of {len(classes):,} classes are texts of {_MIN_WORDS} words or more in one row only, "
            f"such as {shorten(sentences[0])!r}. If they are comments rather than labels, name the "
            "classes (--classes), and add --unreadable-labels unlabeled: these rows are then unlabeled."
        ]
    if len(classes) < _MANY_CLASSES or 2 * len(single) <= len(classes):
        return []
    return [
        f"{len(single):,} of {len(classes):,} classes, such as {single[0]!r}, are in one row only and cannot be "
        "learned. Check that --labels names the column of labels, and that its labels are names without numbers, dates "
        "or comments."
    ]
