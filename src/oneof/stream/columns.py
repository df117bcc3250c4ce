"""Which columns of a stream are features: its first batch decides."""

from oneof.stream.batches import Batch
from oneof.stream.options import StreamOptions
from oneof.tables import Column, Table, check_words, choose_columns, conform


def first_columns(batch: Batch, options: StreamOptions) -> tuple[list[Column], list[str]]:
    """Return the features, and a sentence for each column left out that the user did not name.

    Columns are judged as those of a table are (`oneof.tables.choose_columns`), by the rows of the first batch alone.
    """
    table = Table(batch.content, batch.path)
    among = f", judged by the first {len(batch):,} rows (--batch-rows)"
    columns, notes = choose_columns(table, exclude=set(options.labels), overrides=options.overrides, among=among)
    named = {column.name for column in columns} | set(options.labels) | set(options.overrides.drop)
    for name in batch.content.columns:
        if name not in named and not any(note.startswith(f"column {name!r} ") for note in notes):
            notes.append(
                f"column {name!r} is left out: it holds one value in the first {len(batch):,} rows "
                "(--numeric, --categorical or --text keeps it)."
            )
    # A column that was said to be text may find its words in later rows.
    guessed = [column for column in columns if column.name not in options.overrides.texts]
    if not options.overrides.texts or any(column.kind == "text" for column in guessed):
        check_words(conform(batch.content, columns, batch.path), guessed, options.words, batch.path)
    return columns, notes
