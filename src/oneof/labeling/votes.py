"""Answers of several annotators, each perhaps a set, as the candidate sets of rows."""

from collections.abc import Mapping

import numpy as np

from oneof.candidates import CandidateSets
from oneof.labeling.log import Entry
from oneof.typing import Labels, Mask


def members(entry: Entry, n_classes: int) -> tuple[int, ...]:
    """Return the classes that an answer leaves possible; none for an answer that says nothing."""
    if entry.kind == "one of":
        return entry.labels if len(entry.labels) < n_classes else ()
    if entry.kind == "none of":
        return tuple(k for k in range(n_classes) if k not in entry.labels)
    return ()


def combine(
    answered: Mapping[int, Mapping[str, Entry]],
    start: Mask,
    classes: Labels,
    *,
    min_votes: int = 1,
    top: int | None = 1,
) -> CandidateSets:
    """Combine the standing answers by `CandidateSets.from_annotations`.

    An answer is a vote for each class that it leaves possible. With ``top=1`` the candidates of a row are those of the
    most votes. If some classes are left by all its annotators, these are they: the intersection of the answers. If
    not, they are the classes that most annotators hold possible.

    Parameters
    ----------
    answered : dict of row to dict of annotator to Entry
    start : ndarray of shape (n_samples, n_classes), bool
        The sets of rows that nobody has said anything of.
    classes : ndarray of shape (n_classes,)
    min_votes, top
        As for `CandidateSets.from_annotations`.

    Returns
    -------
    CandidateSets
    """
    mask = start.copy()
    rows: list[int] = []
    votes: list[list[int]] = []
    for row, answers in answered.items():
        given = [k for entry in answers.values() for k in members(entry, len(classes))]
        if given:
            rows.append(row)
            votes.append(given)
    most = max(map(len, votes), default=0)
    if rows and most >= min_votes:  # else there are fewer so far than a candidate needs, and more to come
        # A column for each vote, not for each annotator: an answer of several classes is several votes.
        table = np.full((len(rows), most), None, dtype=object)
        for line, given in zip(table, votes, strict=True):
            line[: len(given)] = given
        told = CandidateSets.from_annotations(table, classes=np.arange(len(classes)), min_votes=min_votes, top_k=top)
        says = ~told.is_unlabeled
        mask[np.array(rows)[says]] = told.mask[says]
    return CandidateSets(mask, classes)
