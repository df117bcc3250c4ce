"""Fitting and predicting over the blocks of dask arrays and DataFrames, on one machine or on many.

The modules in reading order: `fitting` has the public `fit`, `blocks` reads the rows and `reduction` sums over them.
`online`, `loo_ridge` and `plgp` fit the estimators, and `prediction` has the lazy predictions.
"""

from oneof.distributed.fitting import fit
from oneof.distributed.prediction import decision_function, disambiguate, predict, predict_proba

__all__ = ["fit", "predict", "predict_proba", "decision_function", "disambiguate"]
