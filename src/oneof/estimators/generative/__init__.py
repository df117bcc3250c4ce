"""Classifiers by the densities of the classes, fitted by EM.

Reading order: `_base` (row weights, components of the classes, scores), then `gaussian_em` or `multinomial_em` (the
density), and `oneof.solvers.generative` (the EM iterations).
"""
