"""The report of a fit: one HTML file that needs nothing else, for readers who are new to partial labels."""

from oneof.report.data import ReportData
from oneof.report.page import render_report, write_report

__all__ = ["ReportData", "render_report", "write_report"]
