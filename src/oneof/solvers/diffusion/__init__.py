"""Diffusion of labels over a graph: harmonic functions, local and global consistency, Poisson learning, Markov walks.

Reading order: `label_propagation` (the two methods that are linear systems), `linear_solve` (the systems, and rows with
several candidates), `poisson`, `markov_walk`. Class sizes are in `oneof.solvers.class_sizes`.
"""
