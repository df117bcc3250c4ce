"""torch tensors as feature matrices: results stay tensors on the device of the input."""

from typing import Any

from array_api_compat import array_namespace, is_torch_array
from sklearn.utils.validation import check_is_fitted

from oneof.arrays import to_namespace_of
from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier
from oneof.typing import Array, FeatureMatrix


class TensorClassifier(CandidateClassifier):
    """Base class of the estimators that compute on the device of the rows if these are tensors."""

    def _fitted_rows(self) -> FeatureMatrix | None:
        """Return rows in the precision and on the device of the rows of `fit`; None before `fit`."""
        raise NotImplementedError

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
        """Check rows; NumPy rows are copied to the device if the estimator was fitted to tensors."""
        fitted = None if reset else self._fitted_rows()
        if is_torch_array(X):
            return read_tensor(self, X, reset=reset, fitted=fitted)
        rows = super()._validate_rows(X, reset=reset, finite=finite)
        return to_namespace_of(rows, fitted) if is_torch_array(fitted) else rows


def read_tensor(estimator: Any, X: Array, *, reset: bool, fitted: Any) -> Array:
    """Check a tensor of rows in the way that scikit-learn checks NumPy arrays.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` is set if `reset`, and checked otherwise.
    X : tensor of shape (n_samples, n_features)
    reset : bool
        Whether these are the rows of `fit`.
    fitted : array or None
        The rows of `fit`, whose precision and device other rows must have.

    Raises
    ------
    InputError
        If the tensor has another shape, type or device, or contains NaN or infinity.
    """
    if not reset:
        check_is_fitted(estimator)
    xp = array_namespace(X)
    if X.ndim != 2 or 0 in X.shape:
        raise InputError(f"`X` must be a tensor of shape (n_samples, n_features); got shape {tuple(X.shape)}.")
    if X.is_sparse or X.is_complex():
        raise InputError("`X` must be a dense tensor of real numbers; got a sparse or complex tensor.")
    if fitted is not None and not is_torch_array(fitted):
        raise InputError("`X` must be a NumPy array, as in `fit`; got a tensor. Pass X.cpu().numpy().")
    if fitted is not None and X.device != fitted.device:
        raise InputError(f"`X` must be on {fitted.device}, as in `fit`; got a tensor on {X.device}.")
    X = X.detach()
    if fitted is not None or X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64 if fitted is None else fitted.dtype)
    if not bool(xp.all(xp.isfinite(X))):
        raise InputError("`X` must be finite; got NaN or infinity.")
    if reset:
        estimator.n_features_in_ = X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)  # set by an earlier fit to a DataFrame
    elif X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    return X
