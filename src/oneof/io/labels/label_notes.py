"""Notes about the classes of a table: sets, missing labels and weights that are read as a class, and spellings."""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from oneof.candidates import CandidateSets
from oneof.candidates.cells import LISTS, LabelFormat, is_plain_array, read_cells, separators_of
from oneof.candidates.labels import labels_with_weights
from oneof.candidates.spellings import describe_spellings
from oneof.errors import LabelError
from oneof.io.formats.cells import MISSING, MISSING_NUMBERS, CellFormat
from oneof.messages import enumerate_items, shorten, write_names

_SEPARATORS = (";", ",", "/", "|", "+", "&", " and ", " or ", "\n")
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
_MAX_LISTED = 6
"""Maximum number of labels listed in a warning; the rest are counted."""
_SIGN = re.compile(r"(?<=[^\W_])[\W_]+(?=[^\W_])")
"""Any characters between two words."""
_EXCLUSION = re.compile(r"(?i:not\s+|[!~\u2260]\s*)(.+)")
_DOUBT = re.compile(r"(.+?)\s*\?+")
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


def suspicious_labels(
    classes: Iterable[Any], separator: str, *, source: str = "", candidates: CandidateSets | None = None
) -> list[str]:
    """Return a warning for each group of classes that may be a set, a missing label, or another class misspelled.

    `source` names the table of the labels, if there may be another one. With `candidates`, the labels of the rows, the
    first row of a class that may be a set is named.
    """
    labels = [label for label in classes if isinstance(label, str)]
    notes = [_read_as_class(["-1"], source)] if "-1" in labels else []
    if missing := [label for label in labels if label.strip().lower() in (*MISSING, *MISSING_NUMBERS, *_UNKNOWN)]:
        notes.append(_read_as_class(missing, source))
    lists = [label for label in labels if label[-1:] in tuple("])}") and (label[0] in "[({" or is_plain_array(label))]
    if lists and separator != LISTS:
        notes.append(
            _read_as_one_class(
                lists, "write sets of labels as 'a|b', or add --separator '[]' to read the cells as lists"
            )
        )
    noted: set[str] = set()
    for other in dict.fromkeys([*_SEPARATORS, *_signs_between(labels)]) if not lists else ():
        single = {label for label in labels if other not in label}
        joined = [label for label in labels if _is_joined(label, other, single) and label not in noted]
        noted.update(joined)
        if joined and other not in separators_of(separator):
            condition = "if they are sets" if len(joined) > 1 else "if it is a set"
            notes.append(_read_as_one_class(joined, f"{condition} of labels, {_advise(separator, other)}", candidates))
    return notes + _remarks(labels) + _misspelled(labels)


def _signs_between(labels: Sequence[str]) -> Iterator[str]:
    """Yield the signs and the words between two classes in the name of another class."""
    names = set(labels)
    for label in labels:
        words = label.split(" ")
        signs = [*_SIGN.findall(label), *(f" {word} " for word in words[1:-1])]
        yield from (sign for sign in signs if not sign.isspace() and _is_joined(label, sign, names))


def _advise(separator: str, other: str) -> str:
    """Return the remedy for sets that another text separates than the cells of the column."""
    written = separators_of(separator)
    if other == "\n":  # cannot be typed on a command line
        return f"write {written[0]!r} between the labels instead of line ends"
    both = " ".join([*written, other])
    if separators_of(both) == [*written, other]:
        either = f", or --separator '{both}' if other cells are separated by {separator!r}"
    else:
        either = f", or write {written[0]!r} between the labels if other cells are separated by it"
    return f"add --separator '{other}'{either}"


def _remarks(labels: Sequence[str]) -> list[str]:
    """Return warnings of labels that exclude another class, such as "not owl", or doubt it, such as "owl?"."""
    names = {label.strip().casefold() for label in labels}
    notes = []
    for pattern, advice in (
        (_EXCLUSION, "to exclude a class, write the labels that remain"),
        (_DOUBT, "if a label is in doubt, write all labels that are possible, or leave the cell empty"),
    ):
        found = [label for label in labels if (match := pattern.fullmatch(label)) and match[1].casefold() in names]
        if found and len(labels) > 2:  # "spam" and "not spam" may be the classes
            notes.append(_read_as_one_class(found, advice))
    return notes


def has_several_classes(text: str, names: Collection[str]) -> bool:
    """Return whether a text is several names of classes with a usual separator between them."""
    return any(_is_joined(text, separator, names) for separator in _SEPARATORS)


def _is_joined(text: str, separator: str, names: Collection[str]) -> bool:
    return separator in text and all(part.strip() in names for part in text.split(separator))


def cells_without_weights(cells: Iterable[str | None], separator: str, cell_format: CellFormat) -> list[str]:
    """Return a warning if most cells of weighted labels have weights, and others a class that is in no such cell."""
    form = LabelFormat(separator, weighted=True, folds_case=cell_format.folds_labels, missing=cell_format.missing)
    parsed = read_cells(cells, form)
    plain: Counter[str] = Counter()
    weighted: Counter[str] = Counter()
    n_weighted = n_labeled = 0
    for pairs, count in zip(parsed.pairs, parsed.counts(), strict=True):
        has_weights = any(weight is not None for _, weight in pairs or ())
        n_labeled += count * bool(pairs)
        n_weighted += count * has_weights
        if has_weights or (pairs and len(pairs) == 1):
            (weighted if has_weights else plain).update({form.key(label): count for label, _ in pairs or ()})
    names = [label for label in plain if label not in weighted]
    if not names or 2 * n_weighted <= n_labeled:
        return []
    n_plain = sum(plain[label] for label in names)
    cells_are = "1 cell has no weights and is" if n_plain == 1 else f"{n_plain:,} cells have no weights and are"
    return [
        f"{cells_are} read as a class that no other cell has: {_quote(names)}. If it is a refusal or a comment, add "
        f"--missing {shlex.quote(write_names(names[:_MAX_LISTED]))}: the row is then unlabeled."
    ]


def certain_rows(candidates: CandidateSets, kind: str) -> list[str]:
    """Return a warning if most rows have one class of a posterior above 0, as probabilities rounded to 0 and 1 give."""
    n_exact, n_labeled = int(candidates.is_exact.sum()), int((~candidates.is_unlabeled).sum())
    if kind != "posterior" or 2 * n_exact <= n_labeled:
        return []
    return [
        f"{n_exact:,} of {n_labeled:,} labeled rows are exact, because the weights of all other classes are 0. If "
        "these are rounded probabilities, some labels are wrong: write more digits, or add --noise-rate auto to fit."
    ]


def single_row_classes(candidates: CandidateSets) -> list[str]:
    """Return a warning if classes that are candidates of one row only are sentences, or are most of many classes.

    These are answers such as "I think it is a robin", names of rows, or other free text.
    """
    counts = candidates.mask[~candidates.is_unlabeled].sum(axis=0)
    n_single, n_classes = int((counts == 1).sum()), len(counts)
    texts = [label for label in candidates.classes[counts == 1].tolist() if isinstance(label, str)]
    sentences = [text for text in texts if len(text.split()) >= _MIN_WORDS]
    if len(sentences) >= max(_MIN_SENTENCES, _MIN_SHARE * n_classes):
        return [
            f"{len(sentences):,} of {n_classes:,} classes are texts of {_MIN_WORDS} words or more in one row only, "
            f"such as {shorten(sentences[0])!r}. If they are comments rather than labels, name the "
            "classes (--classes), and add --unreadable-labels unlabeled: these rows are then unlabeled."
        ]
    if n_classes < _MANY_CLASSES or 2 * n_single <= n_classes:
        return []
    example = candidates.classes[counts == 1].tolist()[0]
    return [
        f"{n_single:,} of {n_classes:,} classes, such as {example!r}, are in one row only and cannot be learned. Check "
        "that --labels names the column of labels, and that its labels are names without numbers, dates or comments."
    ]


def _quote(labels: Iterable[str]) -> str:
    return enumerate_items([*map(repr, labels)], _MAX_LISTED)


def _read_as_class(labels: Sequence[str], source: str) -> str:
    verb = "are read as classes" if len(labels) > 1 else "is read as a class"
    place = f"in {source}, " * bool(source)
    return f"{place}{_quote(labels)} {verb}: leave the cells of unlabeled rows empty, or add --missing with their text."


def _read_as_one_class(labels: Sequence[str], advice: str, candidates: CandidateSets | None = None) -> str:
    verb = "are each read as one class" if len(labels) > 1 else "is read as one class"
    place = ""
    if candidates is not None:
        column = candidates.classes.tolist().index(labels[0])
        rows = (candidates.mask[:, column] & ~candidates.is_unlabeled).nonzero()[0]
        place = f" ({'first in ' * (len(labels) > 1 or len(rows) > 1)}row {rows[0]})" if len(rows) else ""
    return f"{_quote(labels)}{place} {verb}: {advice}."


def _misspelled(labels: Sequence[str]) -> list[str]:
    return describe_spellings(labels, "add --fold-case, or use one spelling")
