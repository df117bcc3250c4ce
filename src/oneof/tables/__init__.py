"""Tables: reading files, finding the candidate sets in their columns, and turning the other columns into features."""

from oneof.tables.columns import Column, Kind, Overrides, choose_columns, conform
from oneof.tables.encoder import make_encoder
from oneof.tables.labels import read_labels, read_truth
from oneof.tables.oddities import odd_labels
from oneof.tables.reader import Table, find_column, read_table
from oneof.tables.words import Words, check_words, read_words

__all__ = [
    "Column",
    "Kind",
    "Overrides",
    "Table",
    "Words",
    "check_words",
    "choose_columns",
    "conform",
    "find_column",
    "make_encoder",
    "odd_labels",
    "read_labels",
    "read_table",
    "read_truth",
    "read_words",
]
