"""Formats of files: each reader returns the rows of one format, in blocks or whole.

Reading order: `source` (files of a table or a stream), `records` (records of text files), `cells` and `dates` (numbers,
dates and other values in text), `dialect` and `delimited` (delimited text), `json_lines`, `svmlight` and `binary` (one
format each), `decoding` (a trial of binary files in another process), `excel` and `plain_file` (copies of spreadsheets
and of compressed files), `names` (names of columns).
"""
