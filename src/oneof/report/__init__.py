"""Report of a fit: one self-contained HTML file for readers who are new to partial labels.

Reading order: `data` (the input), `headline` (its first number), `statistics`, `annotators` and `suspects` (its other
numbers), `templating` (their format), `page` (the HTML file). `render_audit` is the page of `oneof audit`.
"""

from oneof.report.data import AnnotatorSummary, DisputedRow, ReportData
from oneof.report.data import table_preview as table_preview
from oneof.report.headline import FirstLabelRate as FirstLabelRate
from oneof.report.headline import Headline as Headline
from oneof.report.headline import choose_headline as choose_headline
from oneof.report.page import render_audit, render_report, write_report

__all__ = ["AnnotatorSummary", "DisputedRow", "ReportData", "render_audit", "render_report", "write_report"]
