"""Learning from streams that are larger than memory, with a running estimate and checkpoints."""

from oneof.stream.batches import read_batches
from oneof.stream.checkpoint import Checkpoints
from oneof.stream.indexed import IndexedRows
from oneof.stream.learning import StreamFit, fit_stream
from oneof.stream.one_by_one import OneByOne
from oneof.stream.options import StreamOptions
from oneof.stream.source import Source, open_source
from oneof.stream.validation import Validation, Window

__all__ = [
    "Checkpoints",
    "IndexedRows",
    "OneByOne",
    "Source",
    "StreamFit",
    "StreamOptions",
    "Validation",
    "Window",
    "fit_stream",
    "open_source",
    "read_batches",
]
