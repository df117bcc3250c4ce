"""Report of a fit: one self-contained HTML file for readers who are new to partial labels.

Reading order: `data` and `assessment` (the input), `statistics` and `annotators` (its numbers), `templating` (their
format), `page` (the HTML file). `render_audit` is the page of `oneof audit`.
"""

from oneof.report.assessment import Assessment, FirstLabelRate, Headline, choose_headline
from oneof.report.data import AnnotatorSummary, DisputedRow, ReportData, table_preview
from oneof.report.page import render_audit, render_report, write_report

__all__ = [
    "AnnotatorSummary",
    "Assessment",
    "DisputedRow",
    "FirstLabelRate",
    "Headline",
    "ReportData",
    "choose_headline",
    "render_audit",
    "render_report",
    "table_preview",
    "write_report",
]
