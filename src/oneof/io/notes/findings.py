"""Earlier place of `oneof.io.findings`."""

from oneof.io.findings import KINDS, MAX_CELLS, ColumnFinding, Kind, TableFindings, UnreadableCells

__all__ = ["KINDS", "MAX_CELLS", "ColumnFinding", "Kind", "TableFindings", "UnreadableCells"]
