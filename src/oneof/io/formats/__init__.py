"""Formats of files: each reader returns the rows of one format, in blocks or whole.

Reading order: `source` (files of a stream), `records` (records of text files), `cells` (numbers, dates and other values
in text), `csv` (delimited text), `json_lines`, `svmlight`, `binary` and `annotations` (one format each), `decoding` (a
trial of binary files in another process), `excel` and `plain_file` (copies of spreadsheets and of compressed files).
"""
