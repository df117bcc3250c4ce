"""Fitting and predicting over the blocks of dask arrays and DataFrames, on one machine or on many."""

from oneof.distributed.fitting import fit
from oneof.distributed.prediction import decision_function, disambiguate, predict, predict_proba

__all__ = ["fit", "predict", "predict_proba", "decision_function", "disambiguate"]
