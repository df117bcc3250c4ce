"""Report of a fit: one self-contained HTML file for readers who are new to partial labels.

Reading order: `data` (the input), `statistics` and `annotators` (its numbers), `templating` (their format), `page` (the
HTML file).
"""

from oneof.report.data import AnnotatorSummary, DisputedRow, ReportData
from oneof.report.page import render_report, write_report

__all__ = ["AnnotatorSummary", "DisputedRow", "ReportData", "render_report", "write_report"]
