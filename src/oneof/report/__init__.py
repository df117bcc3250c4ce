"""Report of a fit: one self-contained HTML file for readers who are new to partial labels.

Reading order: `data` (the input), `statistics`, `annotators` and `suspects` (its numbers), `templating` (their format),
`page` (the HTML file). `render_audit` is the page of `oneof audit`.
"""

from oneof.report.data import AnnotatorSummary, DisputedRow, ReportData
from oneof.report.data import table_preview as table_preview
from oneof.report.page import render_audit, render_report, write_report

__all__ = ["AnnotatorSummary", "DisputedRow", "ReportData", "render_audit", "render_report", "write_report"]
