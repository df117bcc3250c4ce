"""Generative models by EM (Nigam et al. 2000), on candidate sets.

`em` is the algorithm, which knows of the rows what a `Family` tells it; `multinomial` and `gaussian` are the families,
`covariances` the forms of the second; `weighting` chooses the weight of unlabeled rows.
"""
