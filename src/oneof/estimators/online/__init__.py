"""Online classifiers, which update a linear model after each row, and continue on a stream by `partial_fit`.

Reading order: `_base` (epochs over the rows, and the state of a stream), then `perceptron` or `pegasos` (the updates),
and `oneof.solvers.online` (the sequential loop).
"""
