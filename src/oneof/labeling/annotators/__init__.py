"""Several annotators of a session: who answers which row, and how far their answers agree.

Reading order: `assignment` (the number of answers that a row needs), `gold` (rows with known labels), `progress` (the
work of each annotator), `pairs` (agreement of each pair of annotators, and the classes that they confuse), `api` (the
methods of the session).
"""
