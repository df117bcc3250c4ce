"""Reading of tables and streams. A table is a stream of one batch, so there is one reader for each format.

Reading order: `formats` (one reader for each format of files), `columns`, `kinds` and `features` (names, kinds and
choice of columns), `batches` (the rows of all formats), `table` (whole files), `vectors` (embeddings as columns),
`frames` (rows that a program has as a DataFrame or a list), `table_options` (options of both), `labels` (columns of
labels), `notes` (what the user should know about a table), `encoder` and `imputer` (the values as input of an
estimator), `row_encoder` and `encoder_blocks` (encoding of a few rows).
"""

from oneof.io.columns import (
    Column,
    align_columns,
    describe_cells,
    find_column,
    match_columns,
    saved_columns,
    select_column,
)
from oneof.io.encoder import TextOptions, check_texts, make_encoder, read_text_options
from oneof.io.features import Overrides, TableFeatures, choose_columns, choose_features
from oneof.io.formats.binary import read_answers_npz
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.csv.dialect import Dialect, make_dialect
from oneof.io.formats.source import stem_of
from oneof.io.frames import table_from_rows
from oneof.io.labels.known_labels import (
    CheckedLabels,
    check_new_labels,
    new_label_note,
    read_checked_labels,
    read_truth,
    use_checked_labels,
)
from oneof.io.labels.label_columns import find_separator, merge_ranked_columns, read_labels
from oneof.io.labels.label_notes import (
    cells_without_weights,
    certain_rows,
    check_no_weights,
    single_row_classes,
    suspicious_labels,
)
from oneof.io.labels.rare_classes import misspelled_classes
from oneof.io.notes.findings import ColumnFinding, Kind, TableFindings, UnreadableCells
from oneof.io.notes.unreadable_labels import describe_unreadable_labels
from oneof.io.table import Table, is_whole_table, read_table
from oneof.io.table_options import TableOptions

__all__ = [
    "CellFormat",
    "CheckedLabels",
    "Column",
    "ColumnFinding",
    "Dialect",
    "TableFeatures",
    "Kind",
    "Overrides",
    "Table",
    "TableFindings",
    "TableOptions",
    "TextOptions",
    "UnreadableCells",
    "align_columns",
    "cells_without_weights",
    "certain_rows",
    "check_new_labels",
    "check_no_weights",
    "check_texts",
    "choose_columns",
    "describe_cells",
    "describe_unreadable_labels",
    "find_column",
    "select_column",
    "find_separator",
    "merge_ranked_columns",
    "is_whole_table",
    "make_dialect",
    "make_encoder",
    "match_columns",
    "misspelled_classes",
    "new_label_note",
    "read_answers_npz",
    "read_checked_labels",
    "choose_features",
    "read_labels",
    "read_table",
    "read_text_options",
    "read_truth",
    "single_row_classes",
    "saved_columns",
    "stem_of",
    "suspicious_labels",
    "table_from_rows",
    "use_checked_labels",
]
