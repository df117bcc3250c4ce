"""Facts of a table, or of the first rows of a stream: `oneof inspect`, and what an online fit prints before the fit."""

from dataclasses import replace
from pathlib import Path

from oneof.cli.options import OnlineOptions
from oneof.cli.tables.facts import Inspection, inspect_rows
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import InputError
from oneof.io import Table, check_indicator
from oneof.io.batches import file_sizes, iterate_batches, progress_fraction
from oneof.io.features import BatchSpec
from oneof.io.formats.source import Source, open_source


def inspect_stream(path: Path, read_options: ReadOptions, online_options: OnlineOptions) -> Inspection:
    """Return the facts of the first batch of a stream."""
    source = open_source(path, read_options.table.format)
    if not source.can_be_read_again:
        raise InputError("standard input is read once: inspect a file with its first rows instead.")
    table = read_first_rows(source, read_options, online_options.batch_rows, 2**online_options.hash_bits)
    return inspect_first_rows(source, table, read_options)


def read_first_rows(source: Source, read_options: ReadOptions, n_rows: int, n_columns: int) -> Table:
    """Return the first rows of a stream; those of an svmlight file have the given number of features."""
    import polars as pl

    names, overrides = read_options.text_columns, read_options.overrides
    spec = BatchSpec(
        () if source.format == "svmlight" else tuple(names),
        as_text={*overrides.texts, *overrides.categories} - names,
        labels_required=False,
        n_columns=n_columns,
        dialect=read_options.table.dialect,
        cell_format=read_options.table.cell_format,
    )
    table = next(iter(iterate_batches(source, n_rows, spec)), None)
    if table is None:
        raise InputError(f"{source.display_name} has no rows.")
    return table if table.rows is None else replace(table, frame=pl.DataFrame())


def inspect_first_rows(source: Source, table: Table, read_options: ReadOptions) -> Inspection:
    """Return the facts of the first rows of a stream, without those of labels that cannot be described."""
    if not read_options.weights.weighted and len(read_options.labels) > 1:
        check_indicator(table, read_options.labels)
    inspection = inspect_rows(table, read_options)
    is_complete = progress_fraction(file_sizes(source), table.after) == 1.0
    return replace(inspection, facts=replace(inspection.facts, table=source.name, is_complete=is_complete))
