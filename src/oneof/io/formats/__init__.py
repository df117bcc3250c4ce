"""Formats of files: each reader returns the rows of one format, in blocks or whole.

Reading order: `source` (files of a table or a stream), `records` (records of text files), `cells` (numbers, dates and
other values in text), `dialect` and `delimited` (delimited text), `json_lines`, `svmlight` and `binary` (one format
each), `content` (spreadsheets and standard input).
"""
