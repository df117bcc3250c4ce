"""Learning from streams that are larger than memory, with progressive validation and checkpoints.

Reading order: `options`, `fit_stream` (classes and priors, the loop, the result), `encoder` (features), `validation`
(running losses), `checkpoint` (the state of a run in a file), `river` (one row at a time). The files are read by
`oneof.io`.
"""

from oneof.io.batches import read_batches
from oneof.io.formats.source import Source, open_source
from oneof.io.formats.svmlight import IndexedRows
from oneof.stream.checkpoint import CheckpointConfig
from oneof.stream.fit_stream import StreamResult, fit_stream
from oneof.stream.options import StreamOptions
from oneof.stream.river import RiverClassifier
from oneof.stream.validation import ProgressiveValidation, Window

__all__ = [
    "CheckpointConfig",
    "IndexedRows",
    "ProgressiveValidation",
    "RiverClassifier",
    "Source",
    "StreamOptions",
    "StreamResult",
    "Window",
    "fit_stream",
    "open_source",
    "read_batches",
]
