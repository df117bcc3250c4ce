"""Readers of the forms of supervision: each returns the mask, or the likelihoods, and the classes.

Reading order: `indicator` (0/1 matrices and tables), `collections` (sets, text, complements, hierarchies),
`annotations` (answers of several annotators), `pairs` (labels with weights of one row: mappings, lists, text and JSON),
`weights` (matrices, and the weights of all rows), `unreadable` (labels that cannot be read).
"""
