"""Label columns of tables and streams as candidate sets.

Reading order: `cells` (text, numbers and lists), `wrapped` (lists and objects within objects or text), `weights`
(columns of weights), `unreadable` (rows that cannot be read), `tables` (a whole table, whose labels have types),
`known_labels` (true and checked labels of a table), `batches` (the batches of a stream, whose labels are text).
"""

from oneof.candidates.columns.batches import LabelReader, resolve_classes
from oneof.candidates.columns.cells import fold_labels, name_type, number_to_text
from oneof.candidates.columns.known_labels import match_checked_labels, match_true_labels
from oneof.candidates.columns.tables import read_label_columns
from oneof.candidates.columns.wrapped import unwrap_cells
from oneof.candidates.labels import fold_case, label_to_text
from oneof.candidates.readers.separators import DEFAULT_SEPARATOR, detect_separator

__all__ = [
    "DEFAULT_SEPARATOR",
    "LabelReader",
    "detect_separator",
    "fold_case",
    "fold_labels",
    "label_to_text",
    "match_checked_labels",
    "match_true_labels",
    "name_type",
    "number_to_text",
    "read_label_columns",
    "resolve_classes",
    "unwrap_cells",
]
