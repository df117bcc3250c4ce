"""Learning from streams that are larger than memory, with a running estimate and checkpoints."""

from oneof.stream.batches import read_batches
from oneof.stream.checkpoint import CheckpointConfig
from oneof.stream.indexed import IndexedRows
from oneof.stream.learning import StreamResult, fit_stream
from oneof.stream.one_by_one import RiverClassifier
from oneof.stream.options import StreamOptions
from oneof.stream.source import Source, open_source
from oneof.stream.validation import Validation, Window

__all__ = [
    "CheckpointConfig",
    "IndexedRows",
    "RiverClassifier",
    "Source",
    "StreamResult",
    "StreamOptions",
    "Validation",
    "Window",
    "fit_stream",
    "open_source",
    "read_batches",
]
