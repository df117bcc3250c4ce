"""Support vector machines, with a linear kernel or another.

Reading order: `_base` (the space of the kernel, coefficients, scores of new rows), then `plsvm` with
`oneof.solvers.plsvm`, or `transductive_svm` with `oneof.solvers.transductive`.
"""
