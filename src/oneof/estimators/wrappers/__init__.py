"""Methods around a classifier of scikit-learn, which is fitted to labels derived from candidate sets.

Reading order: `candidate_em` (EM around a probabilistic classifier) with `_soft_labels` (its fits to soft labels), or
`plecoc` (output codes with a binary classifier) with `oneof.solvers.ecoc`.
"""
