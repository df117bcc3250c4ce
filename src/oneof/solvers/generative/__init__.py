"""Generative models on candidate sets, by EM (Nigam et al. 2000).

Reading order: `em` (the algorithm for any `Family`, and the weight of unlabeled rows), then the families `gaussian`
and `multinomial`.
"""
