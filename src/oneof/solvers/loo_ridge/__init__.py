"""Kernel ridge regression that disambiguates its own labels by exact leave-one-out prediction.

Reading order: `solve` (the steps: the weights of several kernels, the iterations of self-training, the linear
classifier of the labels, the probabilities), `loo_operators` (leave-one-out predictions, of an inverse or of landmarks,
and the rows behind a label; rows in blocks; factors and products of arrays and of tensors), `distractors` (the sets,
and the distractor models).
"""
