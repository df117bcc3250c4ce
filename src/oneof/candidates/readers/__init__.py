"""Readers of the forms of supervision: each returns the mask, or the likelihoods, and the classes.

Reading order: `indicator` (0/1 matrices and tables), `collections` (sets, complements, hierarchies), `annotations`
(answers of several annotators), `weights` (matrices, ranked lists, and the cells of a column).
"""
