"""Results of a session: the combined answers, the reliabilities of the annotators, and files."""

import os
from collections.abc import Mapping
from pathlib import Path

from oneof.candidates import CandidateSets
from oneof.crowd import Answers
from oneof.files import as_path
from oneof.io.answers import name_rows
from oneof.labeling.annotators.gold import set_labels
from oneof.labeling.answer_api import AnswerAPI
from oneof.labeling.answers import importing
from oneof.labeling.answers.degrees import CombinedAnswers, Reliability
from oneof.labeling.answers.state import allowed_classes
from oneof.labeling.content.label_changes import export_changes
from oneof.labeling.content.review import Review
from oneof.labeling.content.table import LabelTable
from oneof.messages import warn
from oneof.typing import Evidence, FeatureMatrix
from oneof.validation import check_instance


class ResultAPI(AnswerAPI):
    """Methods of a session that return the answers of all annotators, and write and read files.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    answers : AnswerStore
    review : Review or None
    """

    review: Review | None

    _rows: FeatureMatrix
    _table: LabelTable | None
    _combined: CombinedAnswers
    _combination: str
    _gold: dict[int, int]
    _start: Evidence

    def candidates(self, combination: str | None = None) -> CandidateSets:
        """Return the candidate sets of all rows: the combined answers, or the initial set of a row without answers.

        Gold rows have their known labels.

        Parameters
        ----------
        combination : {"votes", "model"}, optional
            By default that of the session.

        Returns
        -------
        CandidateSets
        """
        combined = self._combined.candidates(self._combination if combination is None else combination)
        return set_labels(combined, self._gold)

    def reliabilities(self) -> tuple[Reliability, ...]:
        """Return the estimated reliability of each annotator for each degree of certainty.

        Returns
        -------
        tuple of oneof.labeling.answers.degrees.Reliability
            Those of all annotators together, then those of each one. `oneof.labeling.answers.degrees` has the model.
        """
        return self._combined.current().reliabilities

    @property
    def table(self) -> LabelTable:
        """Rows as shown to annotators."""
        if self._table is None:
            self._table = LabelTable.from_rows(self._rows, "label")
        return self._table

    def export(self, path: str | os.PathLike[str], *, combination: str | None = None) -> Path:
        """Write the table with the candidate sets as its label column, in the form that `oneof fit` reads.

        Parameters
        ----------
        path : path-like
            .csv or .parquet.
        combination : {"votes", "model"}, optional
            By default that of the session. With "model", the labels of rows with answers have weights, which
            `oneof fit --weighted --kind likelihood` reads.

        Returns
        -------
        Path
        """
        if self.review is not None and combination is None:
            return self.export_changes(path)
        return self.table.export(as_path(path), self.candidates(combination))

    def export_changes(self, path: str | os.PathLike[str]) -> Path:
        """Write the table with the labels of changed rows; all other cells are those of the table.

        `export` does so in a review of label issues. Gold rows have their known labels.

        Parameters
        ----------
        path : path-like
            .csv or .parquet.

        Returns
        -------
        Path
        """
        labels = set_labels(self.answers.candidates(), self._gold)  # sets, as in the table, without degrees
        return export_changes(self.table, as_path(path), labels, self._start)

    def export_answers(self, path: str | os.PathLike[str], *, match: str | None = None) -> Path:
        """Write the current answers of all annotators, one per line, in the form that `import_annotations` reads.

        Parameters
        ----------
        path : path-like
            .csv, .jsonl or .parquet, with the columns item, worker, label and degree. The label of an answer is the
            set of the classes that it leaves possible, as text such as "finch|wren"; "don't know" is empty.
        match : str, optional
            The column of the session's table with the names of the items; by default they are row indices, from 0.

        Returns
        -------
        Path
        """
        answered = self.answers.current_answers()
        items = list(range(self._rows.shape[0])) if match is None else name_rows(self.table.frame, match, "the table")
        return importing.write_long(as_path(path), answered, items, self.classes, self.table.separator)

    def import_annotations(self, path: str | os.PathLike[str], *, match: str | None = None, **columns: str) -> int:
        """Import answers from a table of items, workers and labels, or an export of an annotation tool.

        Parameters
        ----------
        path : path-like
            A file of any form that `oneof fit --answers` reads.
        match : str, optional
            The column of the session's table with the item names of the file; exports need a field of this name. By
            default the items of a table are row indices, from 0. Items are in the column of this name of the file, or
            in the column "item".
        **columns
            Other column names of the file, and the separator of labels: see
            `oneof.labeling.answers.importing.read_file`.

        Returns
        -------
        int
            The number of new answers. If one of them cannot be read, none is written. Existing answers of an annotator
            are not replaced.

        Warns
        -----
        UserWarning
            If the file has other labels than an existing answer.
        """
        answers, degrees = importing.read_file(as_path(path), self.table.frame, self.classes, match=match, **columns)
        return self.import_answers(answers, degrees=degrees, match=match, source=str(path))

    def import_answers(
        self,
        answers: Answers,
        *,
        degrees: Mapping[tuple[int, str], str] | None = None,
        match: str | None = None,
        source: str = "the import",
    ) -> int:
        """Import answers that are read already, such as those of `oneof.crowd.Answers.from_table`.

        Parameters
        ----------
        answers : oneof.crowd.Answers
            About all rows of the session, in their order.
        degrees : dict of (int, str) to {"sure", "probably", "guess"}, optional
            Degrees of certainty, by row and annotator.
        match : str, optional
            The column of the table that names a row in a warning.
        source : str, default="the import"
            The name of the answers in errors and warnings.

        Returns
        -------
        int
            The number of new answers; see `import_annotations`, also for warnings.

        Raises
        ------
        InputTypeError
            If `answers` is not an `Answers`.
        InputError
            If the answers are about another number of rows.
        LabelError
            If a label is not a class.

        Examples
        --------
        >>> from oneof.crowd import Answers
        >>> from oneof.labeling import LabelingSession
        >>> session = LabelingSession([[0.0], [1.0], [2.0]], classes=["finch", "owl"], random_state=0)
        >>> session.import_answers(Answers.from_table([["owl", None], [None, "finch"], ["owl", "owl"]]))
        4
        """
        check_instance("answers", answers, Answers)
        entries = importing.read_crowd(answers, degrees or {}, self._rows.shape[0], self.classes, source)
        current, n_classes = self.answers.current_answers(), len(self.classes)
        kept = [
            entry
            for entry in entries
            if (old := current.get(entry.row, {}).get(entry.annotator)) is not None
            and (allowed_classes(old, n_classes), old.degree) != (allowed_classes(entry, n_classes), entry.degree)
        ]
        n_new = self.answers.import_entries(entries)
        if kept:
            row = kept[0].row
            name = row if match is None else self.table.frame[match][row]
            warn(
                f"{len(kept):,} of {len(entries):,} answers of {source} have other labels than those of the same "
                f"annotator in the session, which are kept (first: item {str(name)!r}, {kept[0].annotator}). Correct "
                "them on the page, or import all answers into a new session.",
            )
        self._wake()
        return n_new
