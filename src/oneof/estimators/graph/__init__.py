"""Semi-supervised classifiers that diffuse the labels over a graph of all rows.

Reading order: `_base` (the graph, its weights, prediction of new rows), then one of `harmonic_field`,
`local_global_consistency`, `poisson_learning`, `markov_walk` (with `oneof.solvers.diffusion`) and
`spectral_graph_transducer` (with `oneof.solvers.transducer`).
"""
