"""Computations with nearest neighbors, for PLKNN and IPAL.

Reading order: `nearest_neighbors` (votes, reconstruction and propagation of labels), `nnls` (the nonnegative least
squares of the reconstruction).
"""
