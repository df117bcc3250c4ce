"""Checks, seeds and jobs of wrapped classifiers, and their fits to soft labels by sample weights or copies of rows."""

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel
from sklearn.utils.validation import has_fit_parameter

from oneof.candidates import CandidateSets
from oneof.errors import InputError, InputTypeError, reraise_as_input_error
from oneof.parallel import single_threaded_blas, threads_for
from oneof.solvers.soft_label_em import label_pairs, repeat_pairs
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints
from oneof.validation import is_integer


def check_classifier(estimator: Any, methods: tuple[str, ...], example: str, remedy: str = "") -> Any:
    """Return the estimator of a wrapper; raise unless it is an object that has `fit` and one of the methods."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputTypeError(f"`estimator` must be a classifier object, such as {example}; got {estimator!r}.")
    if not any(hasattr(estimator, method) for method in methods):
        raise InputError(f"`estimator` must have {' or '.join(methods)}; got {estimator!r}.{remedy}")
    return estimator


def run_parallel(calls: Iterable[Any], n_jobs: int | None) -> list[Any]:
    """Run calls in parallel; each then uses a single BLAS thread, so that cores are not oversubscribed."""
    with single_threaded_blas() if effective_n_jobs(n_jobs) > 1 else nullcontext():
        return list(Parallel(n_jobs=n_jobs, prefer="threads")(calls))


def with_seeds(classifier: Any, rng: np.random.RandomState, *, replace: bool = False) -> Any:
    """Return a clone with a seed for the parameters called random_state, including nested ones.

    Those that are not None are kept, or replaced.
    """
    params = classifier.get_params(deep=True)
    names = [name for name in sorted(params) if name.split("__")[-1] == "random_state"]
    names = [name for name in names if replace or params[name] is None]
    seeded = clone(classifier)
    if names:  # a FrozenEstimator has no parameters to set
        seeded.set_params(**{name: rng.randint(np.iinfo(np.int32).max) for name in names})
    return seeded


def check_folds(cv: Any) -> None:
    """Raise if a number of folds is not an integer of at least 2; splitters are checked later."""
    if isinstance(cv, bool) or (is_integer(cv) and cv < 2):
        raise InputError(f"`cv` must be an integer of at least 2 or a splitter; got {cv!r}.")


def split_rows(
    cv: Any,
    rows: FeatureMatrix,
    candidates: CandidateSets,
    assign: Callable[[Evidence, int], Ints],
    rng: np.random.RandomState,
) -> list[tuple[Ints, Ints]]:
    """Return the training and test rows of a splitter, or of folds to which `assign` divides the labeled rows."""
    index = np.arange(len(candidates))
    if not is_integer(cv):
        with reraise_as_input_error():
            return [(index[train], index[test]) for train, test in check_cv(cv).split(rows, candidates)]
    order = rng.permutation(np.flatnonzero(~candidates.is_unlabeled))
    fold = np.full(len(candidates), -1)
    fold[order] = assign(candidates.evidence[order], min(int(cv), len(order)))
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(fold.max() + 1)]


def fit_and_predict(
    classifier: Any, rows: FeatureMatrix, distributions: Floats, train: Ints, test: Ints, n_copies: int
) -> Floats:
    """Fit a clone to the labels of the training rows, and return the probabilities of the test rows."""
    if not len(test):
        return distributions[test]
    # OpenMP has a limit for each thread: that of `fit` does not hold in the threads of joblib.
    with threads_for(math.prod(rows.shape)), reraise_as_input_error():
        model, columns = fit_soft(classifier, _safe_indexing(rows, train), distributions[train], n_copies)
        proba = predict_columns(model, columns, _safe_indexing(rows, test), distributions.shape[1])
    check_proba(proba, classifier)
    return proba


def check_proba(proba: Floats, classifier: Any, row_numbers: Ints | None = None) -> None:
    """Raise unless the probabilities are finite; the error has the number of the first row if numbers are given."""
    undefined = ~np.isfinite(proba).all(axis=1)
    if undefined.any():
        raise InputError(
            f"The probabilities of {type(classifier).__name__} must be finite; it returned NaN or infinity. Scale the "
            "features, for example with StandardScaler, or pass another estimator.",
            row=None if row_numbers is None else int(row_numbers[undefined.argmax()]),
        )


def fit_soft(classifier: Any, rows: FeatureMatrix, distributions: Floats, n_copies: int) -> tuple[Any, Ints]:
    """Fit a clone to soft labels, and return it with the columns of its classes.

    The labels are renumbered from 0 without gaps, as some classifiers require. Rows with one label each are fitted
    without weights.
    """
    pairs = label_pairs(distributions)
    weights = {}
    if len(pairs.row) > len(distributions):
        name = weight_parameter(classifier)
        if name is None:
            pairs = repeat_pairs(pairs, n_copies)
        else:
            weights[name] = pairs.weight
        rows = _safe_indexing(rows, pairs.row)
    columns, labels = np.unique(pairs.label, return_inverse=True)
    model = DummyClassifier(strategy="constant", constant=0) if len(columns) == 1 else clone(classifier)
    # Weights are passed by the names of pipeline steps, whether metadata routing is enabled or not.
    with reraise_as_input_error(), config_context(enable_metadata_routing=False):
        model.fit(rows, labels, **({} if len(columns) == 1 else weights))
    return model, columns


def remove_generators(classifier: Any) -> None:
    """Remove random generators of a fitted classifier: only a warm start uses them, and they cannot be saved."""
    for step in classifier.named_steps.values() if isinstance(classifier, Pipeline) else [classifier]:
        for name, value in list(vars(step).items()) if hasattr(step, "__dict__") else []:
            if isinstance(value, np.random.Generator):
                delattr(step, name)


def weight_parameter(classifier: Any) -> str | None:
    """Return the name of the argument of `fit` for sample weights; None if there is none."""
    if isinstance(classifier, Pipeline):
        name, step = classifier.steps[-1]
        inner = weight_parameter(step)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


def predict_columns(classifier: Any, columns: Ints, rows: FeatureMatrix, n_classes: int) -> Floats:
    """Return probabilities of all classes, 0 for classes that the classifier does not have."""
    proba = np.zeros((rows.shape[0], n_classes))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # callers check the probabilities
        proba[:, columns] = classifier.predict_proba(rows)
    return proba
