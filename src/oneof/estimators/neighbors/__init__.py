"""Classifiers that label a row like its nearest neighbors.

Reading order: `plknn` (a vote of the neighbors), then `ipal` (label propagation along reconstruction weights, then the
vote). Both call `oneof.solvers.neighbors`.
"""
