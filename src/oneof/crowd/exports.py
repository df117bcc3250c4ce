"""Exports of Label Studio and doccano as records of answers, with errors that name the file and the task."""

from collections.abc import Callable
from typing import Any, TypeVar

from oneof.caller import warn
from oneof.crowd.encoding import list_labels
from oneof.errors import DataError, InputError, LabelError
from oneof.io.formats.annotations import Annotation, describe_omitted, drop_empty

T = TypeVar("T")


class Export:
    """The annotations of an export that have labels.

    Annotators without labels are omitted, with a UserWarning.

    Parameters
    ----------
    annotations : list of Annotation
    path : path-like or list of path-like

    Raises
    ------
    DataError
        If no annotation has a label.
    """

    def __init__(self, annotations: list[Annotation], path: Any) -> None:
        self.source = ", ".join(map(str, path)) if isinstance(path, list | tuple) else str(path)
        self.annotations, omitted = drop_empty(annotations)
        if not self.annotations:
            raise DataError("the export has no answers.", source=self.source)
        if omitted:
            warn(describe_omitted(omitted))

    def read(self, from_records: Callable[..., T], **named: Any) -> T:
        """Return the answers; errors name the file, and the place of the answer in it."""
        rows, annotators, labels, _ = zip(*self.annotations, strict=True)
        try:
            return from_records(rows, annotators, list_labels(labels), **named)
        except LabelError as error:
            if error.row is None:
                raise error.at(self.source) from None
            place = self.annotations[error.row].location
            raise LabelError(error.reason, label=error.label, source=place) from None
        except InputError as error:
            raise error.at(self.source) from None
