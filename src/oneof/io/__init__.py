"""Reading of tables and streams. A table is a stream of one batch, so there is one reader for each format.

Reading order: `formats` (one reader for each format of files), `columns`, `kinds` and `features` (names, kinds and
choice of columns), `batch_spec` and `batches` (the rows of all formats), `table` (whole files and their options),
`vectors` (embeddings as columns), `frames` (rows that a program has as a DataFrame or a list), `labels` (columns of
labels), `findings` (notes about a table), `encoder` (the values as input of an estimator), `answers` (files of answers
of annotators).
"""

from oneof.io.columns import (
    align_columns,
    describe_cells,
    find_column,
    saved_columns,
    select_column,
)
from oneof.io.encoder import TextOptions, check_texts, make_encoder, read_text_options
from oneof.io.features import Overrides, choose_columns, choose_features
from oneof.io.findings import Finding, Kind, TableFindings, UnreadableCells, describe, notes
from oneof.io.formats.binary import read_answers_npz
from oneof.io.formats.cells import CellFormat
from oneof.io.formats.dialect import Dialect, make_dialect
from oneof.io.formats.source import stem_of
from oneof.io.frames import table_from_rows
from oneof.io.kinds import Column
from oneof.io.labels.class_findings import check_no_weights, class_findings, label_findings
from oneof.io.labels.known_labels import (
    check_new_labels,
    new_label_note,
    read_checked_labels,
    read_truth,
    use_checked_labels,
)
from oneof.io.labels.label_columns import (
    check_indicator,
    find_separator,
    join_label_columns,
    merge_ranked_columns,
    read_labels,
)
from oneof.io.table import Table, TableOptions, is_whole_table, read_table

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
    "check_indicator",
    "check_new_labels",
    "check_no_weights",
    "check_texts",
    "class_findings",
    "choose_columns",
    "describe",
    "describe_cells",
    "find_column",
    "select_column",
    "find_separator",
    "join_label_columns",
    "merge_ranked_columns",
    "is_whole_table",
    "label_findings",
    "make_dialect",
    "make_encoder",
    "new_label_note",
    "notes",
    "read_answers_npz",
    "read_checked_labels",
    "choose_features",
    "read_labels",
    "read_table",
    "read_text_options",
    "read_truth",
    "saved_columns",
    "stem_of",
    "table_from_rows",
    "use_checked_labels",
]
