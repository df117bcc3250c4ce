"""Findings about the classes of a table: missing labels, sets and errors that are read as a class, and spellings.

No class is in two findings: `class_findings` looks for missing labels, then for sets, then for suspicious classes.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from oneof.candidates import CandidateSets
from oneof.candidates.cells import LISTS, parse_number, separators_of
from oneof.candidates.labels import describe_spellings, fold_case, group_spellings, labels_with_weights
from oneof.candidates.separators import divides, joining_sign
from oneof.errors import LabelError
from oneof.io.findings import Finding, notes
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS
from oneof.typing import Mask

_NO_LABELS = frozenset((
    "-1", *MISSING, *MISSING_NUMBERS, "unsure", "not sure", "uncertain", "unclear", "don't know", "dont know",
    "do not know", "i don't know", "idk", "indet.", "undetermined", "unidentified", "unassigned", "unclassified",
    "no annotation", "not annotated", "no label", "no id", "noid", "n.b.", "n.d.",
    "skip", "skipped", "abstain", "refused", "refusal", "no answer", "ignore",
    "unbekannt", "unklar", "unsicher", "keine angabe", "wei\u00df nicht", "inconnu", "inconnue", "incertain",
    "je ne sais pas", "desconocido", "desconocida", "no s\u00e9", "sconosciuto", "sconosciuta", "non so",
    "desconhecido", "desconhecida", "n\u00e3o sei", "onbekend", "weet niet", "ok\u00e4nd", "ukjent", "ukendt",
    "tuntematon", "nieznany", "nieznane", "nezn\u00e1m\u00fd", "ismeretlen", "bilinmiyor",
    "\u043d\u0435\u0438\u0437\u0432\u0435\u0441\u0442\u043d\u043e", "\u043d\u0435\u0432\u0456\u0434\u043e\u043c\u043e",
    "\u672a\u77e5", "\u4e0d\u660e", "\u4e0d\u77e5\u9053",
))  # fmt: skip
"""Words for a missing or an unknown label, in lower case. Such a label is a class, with a note."""
_WORDS = re.compile(r"[^\W\d_]+|\d+")
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
"""Number of rare and of frequent classes whose names are compared: three seconds at most."""
_MANY_CLASSES = 20
"""Number of classes from which most of them should have several rows."""
_MIN_WORDS, _MIN_SENTENCES, _MIN_SHARE = 4, 3, 0.2
"""Number of words of a sentence; number of sentences in one row only, and their share of all classes, for a note."""


NO_WEIGHTS_OF_ANSWERS = (
    "Answers have no weights: write labels alone, or a line for each candidate with its confidence in a column of its "
    "own, which --weights names"
)


def check_no_weights(classes: Iterable[Any], source: Any, *, are_answers: bool = False) -> None:
    """Raise if classes are labels with a weight, such as "finch:0.7", although weights are not requested."""
    pairs = labels_with_weights(classes)
    if pairs:
        raise LabelError(
            f"the labels of {source} have weights, such as {min(pairs)!r}. "
            f"{NO_WEIGHTS_OF_ANSWERS if are_answers else 'Add --weighted'}; or name the classes (--classes) if the "
            "numbers belong to their names.",
            label=pairs[0],
        )


class ClassRows(NamedTuple):
    """Rows of a class: their number, and that if equal sets count once, the first one if it is known, and a flag.

    The flag is set for a class without weights in a table of weighted labels, in which such a text is a refusal or a
    comment.
    """

    n_rows: int
    n_distinct: int
    first: tuple[int, ...] = ()
    is_plain: bool = False


def label_findings(
    candidates: CandidateSets,
    separator: str,
    *,
    source: str = "",
    kind: str = "likelihood",
    named: Mask | None = None,
    unit: str = "row",
) -> list[Finding]:
    """Return the findings about the candidate sets of a table; `kind` is that of their weights.

    `source` names the table of the labels, if there may be another one, and `unit` its rows. `named`, (n, K), marks the
    classes that a row names, if other classes share a rest; without it, they are those that have a weight.
    """
    import numpy as np

    labeled, classes = ~candidates.is_unlabeled, candidates.classes.tolist()
    weighted, mask = candidates.is_weighted[labeled], (candidates.mask if named is None else named)[labeled]
    if not len(mask):
        return []
    counts, several = mask.sum(axis=0), mask.sum(axis=1) > 1
    _, once = np.unique(np.packbits(mask[several], axis=1), axis=0, return_index=True)
    distinct = mask[~several].sum(axis=0) + mask[several][once].sum(axis=0)
    first = [(row,) * (unit == "row") for row in np.flatnonzero(labeled)[mask.argmax(axis=0)].tolist()]
    is_plain = ~mask[weighted].any(axis=0) & (2 * weighted.sum() > len(mask))
    cells = (counts.tolist(), distinct.tolist(), first, is_plain.tolist())
    rows = {label: ClassRows(n, *others) for label, n, *others in zip(classes, *cells, strict=True) if n}
    found = class_findings(rows, separator, source=source, unit=unit)
    n_exact, n_labeled = int(candidates.is_exact.sum()), len(mask)
    if kind == "posterior" and 2 * n_exact > n_labeled:
        found.append(Finding("exact posteriors", count=n_exact, detail=f"{n_labeled:,}"))
    return found + _single_rows([label for label, one in rows.items() if one.n_rows == 1], len(classes))


def class_findings(
    classes: Mapping[Any, ClassRows | int], separator: str, *, source: str = "", unit: str = "row"
) -> list[Finding]:
    """Return the findings about the names of classes.

    Parameters
    ----------
    classes : mapping
        The rows of each class, or their number.
    separator : str
        The text between two labels.
    source, unit : str
        The table of the labels, and the name of its rows.
    """
    given = ((name, one) for name, one in classes.items() if isinstance(name, str))
    rows = {name: one if isinstance(one, ClassRows) else ClassRows(one, one) for name, one in given}
    missing = tuple(name for name in rows if name.strip(" <>[]()").lower() in _NO_LABELS)
    found = [Finding("missing class", source, len(missing), examples=missing)] * bool(missing)
    noted = set(missing)

    joined: dict[str, list[str]] = {}
    for name in rows:
        if advice := _advise_on_set(name, rows, separator):
            joined.setdefault(advice, []).append(name)
    for advice, members in joined.items():
        found.append(Finding("joined classes", "", len(members), rows[members[0]].first, tuple(members), advice))
        noted.update(members)
    for group in group_spellings(rows):
        noted.update(name for name in group if rows[name].n_rows < max(rows[other].n_rows for other in group))
    for name, reason in _suspicious({name: one for name, one in rows.items() if name not in noted}, unit):
        n, detail = rows[name].n_rows, f"{rows[name].n_rows:,} {unit}{'s' * (rows[name].n_rows != 1)}; {reason}"
        found.append(Finding("suspicious class", source, n, rows[name].first, (name,), detail))
    return [*found, *notes("spellings", describe_spellings(rows, "add --fold-case, or use one spelling"))]


def _advise_on_set(text: str, names: Collection[str], separator: str) -> str:
    """Return the remedy for a class that may be a set: brackets, or several other classes; empty for another one."""
    if _BRACKETS.get(text[:1]) == text[-1:]:
        is_list = divides(LISTS, text)
        lists = ", or add --separator '[]' to read the cells as lists" * is_list
        return "" if is_list and separator == LISTS else f"write sets of labels as 'a|b'{lists}"
    sign = None if parse_number(text) is not None else joining_sign(text, names)
    if sign is None or divides(separator, text):
        return ""
    between, both = f"write {separators_of(separator)[0]!r} between them", f"{separator.strip()} {sign.strip()}"
    if not divides(sign, text):
        remedy = between
    elif separator == LISTS:
        remedy = f"add --separator '{sign}'"
    else:
        add = f"--separator '{both}'" if divides(both, text) else between
        remedy = f"add --separator '{sign}', or {add} if {separator!r} separates other cells"
    return f"if it is a set of labels, {remedy}"


def _suspicious(classes: Mapping[str, ClassRows], unit: str) -> Iterator[tuple[str, str]]:
    """Yield the classes of rows or answers that may be errors, with a reason.

    A class is suspicious if it has no letters among names, if it excludes another class, if it is another class with a
    remark, such as "finch (probably)" or "Parus cf. major", or if it has few rows and nearly the name of a frequent
    class.
    """
    rows = {name: one.n_rows for name, one in classes.items()}
    words = {name: frozenset(_WORDS.findall(_CAMEL_CASE.sub(" ", name).casefold())) for name in rows}
    folded = {name: fold_case(name) for name in rows}
    common = sorted(rows, key=lambda name: -rows[name])[:_MAX_COMPARED]
    excluded = {name: match[1] for name in rows if (match := _EXCLUSION.fullmatch(name))}
    are_exclusions = 2 * len(excluded) > len(rows)
    odd = [name for name in rows if not any(map(str.isalpha, name))]
    has_odd = sum(map(rows.__getitem__, odd)) <= MAX_ODD_SHARE * sum(rows.values())

    def is_rare(name: str, other: str) -> bool:
        n = classes[name].n_distinct
        return 10 * n <= rows[other] and n <= max(MAX_RARE_ROWS, rows[other] / 50)

    for number, name in enumerate(sorted(rows, key=lambda name: rows[name])):
        if classes[name].is_plain:
            yield name, "without weights"
        elif len(rows) > 2 and name in excluded and (are_exclusions or fold_case(excluded[name]) in folded.values()):
            negation = name[: -len(excluded[name])]
            remedy = f"add --not {negation!r}" if unit == "answer" else "write the labels that remain"
            yield name, f"excludes a class: {remedy}"
        elif has_odd and name in odd:
            yield name, "without letters"
        elif number < _MAX_COMPARED:
            others = [other for other in common if folded[name] != folded[other]]
            few = [other for other in others if is_rare(name, other)]
            signs = set(_REMARK.findall(name))
            whole = [other for other in others if words[other] and words[other] <= words[name]]
            added = [other for other in whole if folded[other] in folded[name] or len(words[name] - words[other]) == 1]
            remarks = [other for other in whole if other in few or (other in added and not signs <= set(other))]
            near = get_close_matches(folded[name], [folded[other] for other in few], n=1, cutoff=_MIN_RATIO)
            other = next((other for other in few if [folded[other]] == near), name)
            if remarks and len(rows) > 2:
                yield name, f"{remarks[0]!r} with a remark"
            elif near and all(len(word) >= _MIN_LETTERS and word.isalpha() for word in words[name] ^ words[other]):
                yield name, f"nearly {other!r} with {rows[other]:,}"


def _single_rows(single: Sequence[Any], n_classes: int) -> list[Finding]:
    """Return a finding if classes of one row only are sentences, or are most of many classes.

    These are answers such as "I think it is a robin", names of rows, or other free text.
    """
    sentences = [label for label in single if isinstance(label, str) and len(label.split()) >= _MIN_WORDS]
    if len(sentences) < max(_MIN_SENTENCES, _MIN_SHARE * n_classes) and (
        n_classes < _MANY_CLASSES or 2 * len(single) <= n_classes
    ):
        return []
    example = (str((sentences or single)[0]),)
    return [Finding("single rows", count=len(single), examples=example, detail=f"{n_classes:,}")]
