"""Formats of files: each reader returns the rows of one format, in blocks or whole.

Reading order: `source` (files of a stream), `dialect` (encoding, delimiter and other properties of delimited text),
`records` (records of text files), `cells` (numbers, dates and other values in text), `csv_reader`, `json_lines`,
`svmlight`, `binary` and `annotations` (one format each), `excel` and `plain_file` (copies of spreadsheets and of
compressed files).
"""
