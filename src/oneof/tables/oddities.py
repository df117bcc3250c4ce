"""Labels that look as if something else had been meant by them."""

from collections.abc import Callable

from oneof.candidates import CandidateSets

_PLACEHOLDERS = {"na", "n/a", "nan", "none", "null", "?", "-", "unknown", "missing"}
_SEPARATORS = (";", ",", "/", "|", "+", "&")


def odd_labels(candidates: CandidateSets, separator: str) -> list[str]:
    """Return a sentence for each kind of label that is read as a class, but is perhaps a set or no label at all."""
    labels = [label for label in candidates.classes.tolist() if isinstance(label, str)]
    notes = []

    def tell(looks_odd: Callable[[str], bool], what: str) -> bool:
        odd = [label for label in labels if looks_odd(label)]
        if odd:
            notes.append(f"{odd[0]!r}{f' and {len(odd) - 1} more' if len(odd) > 1 else ''} {what}.")
        return bool(odd)

    tell(lambda label: label == "-1", "is read as a class: leave the cells of rows without a label empty")
    tell(
        lambda label: label.lower() in _PLACEHOLDERS,
        "is read as a class: leave the cells of rows without a label empty",
    )
    written = tell(
        lambda label: label[0] in "[({" and label[-1] in "])}",
        "is read as one class: write sets of labels as 'a|b', or use a list column (Parquet, JSON lines)",
    )
    for other in _SEPARATORS if not written else ():
        parts = {label for label in labels if other not in label}

        def joins_known(label: str, other: str = other, parts: set[str] = parts) -> bool:
            return other in label and all(part.strip() in parts for part in label.split(other))

        if other != separator:
            tell(joins_known, f"is read as one class: if it is a set of labels, add --separator '{other}'")
    return notes
