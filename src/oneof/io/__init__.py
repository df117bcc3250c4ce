"""Reading of tables and streams. A table is a stream of one batch, so there is one reader for each format.

Reading order: `formats` (one reader for each format of files), `columns` (their names), `table` (the record of rows),
`features` (kinds and choice of columns), `batches` (the rows of all formats, and of a program), `vectors` (embeddings
as columns), `labels` (columns of labels), `findings` (notes about a table), `encoder` (the values as input of an
estimator), `answers` (files of answers of annotators).
"""

from oneof.io.batches import TableOptions, is_whole_table, read_table, table_from_rows
from oneof.io.columns import find_column, select_column
from oneof.io.encoder import TextOptions, check_texts, make_encoder, read_text_options
from oneof.io.features import (
    Column,
    Overrides,
    align_columns,
    choose_columns,
    choose_features,
    describe_cells,
    saved_columns,
)
from oneof.io.findings import Finding, Kind, TableFindings, UnreadableCells, describe, notes
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect, make_dialect
from oneof.io.formats.source import stem_of
from oneof.io.labels.class_findings import check_no_weights, class_findings, label_findings
from oneof.io.labels.label_columns import (
    are_class_columns,
    check_indicator,
    check_new_labels,
    describe_checked_labels,
    find_separator,
    new_label_note,
    read_checked_labels,
    read_labels,
    read_truth,
)
from oneof.io.table import Table

__all__ = [
    "CellFormat",
    "Column",
    "Dialect",
    "Finding",
    "Kind",
    "Overrides",
    "Table",
    "TableFindings",
    "TableOptions",
    "TextOptions",
    "UnreadableCells",
    "align_columns",
    "are_class_columns",
    "check_indicator",
    "check_new_labels",
    "check_no_weights",
    "check_texts",
    "class_findings",
    "choose_columns",
    "describe",
    "describe_cells",
    "describe_checked_labels",
    "find_column",
    "select_column",
    "find_separator",
    "is_whole_table",
    "label_findings",
    "make_dialect",
    "make_encoder",
    "new_label_note",
    "notes",
    "read_checked_labels",
    "choose_features",
    "read_labels",
    "read_table",
    "read_text_options",
    "read_truth",
    "saved_columns",
    "stem_of",
    "table_from_rows",
]
