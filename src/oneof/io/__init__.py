"""Reading of tables and streams. A table is a stream of one batch, so there is one reader for each format.

Reading order: `source` (files, records of text), `csv`, `json_lines`, `svmlight` and `binary` (one format each),
`batches` (all formats), `plain_file` and `excel` (copies of compressed files and spreadsheets), `table` (whole files
and their labels), `features` (kinds of columns and their encoding), `row_encoder` (encoding of a few rows), `imputer`
(missing numbers).
"""

from oneof.io.binary import read_answers_npz
from oneof.io.features import (
    Column,
    Kind,
    Overrides,
    TextOptions,
    align_columns,
    check_texts,
    choose_columns,
    find_column,
    make_encoder,
    read_text_options,
)
from oneof.io.table import (
    Table,
    check_no_weights,
    is_whole_table,
    read_labels,
    read_table,
    read_truth,
    stem_of,
    suspicious_labels,
)

__all__ = [
    "Column",
    "Kind",
    "Overrides",
    "Table",
    "TextOptions",
    "align_columns",
    "check_no_weights",
    "check_texts",
    "choose_columns",
    "find_column",
    "is_whole_table",
    "make_encoder",
    "read_answers_npz",
    "read_labels",
    "read_table",
    "read_text_options",
    "read_truth",
    "stem_of",
    "suspicious_labels",
]
