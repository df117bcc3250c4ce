"""CSV and TSV files, and other delimited text.

Reading order: `dialect` (encoding, delimiter and other properties of the text), `header_lines` (lines above the
header), `records` (names of the columns, and checks of the lines), `table` (types of the columns of a whole file),
`reader` (the rows).
"""
