"""Default estimators of a comparison, and the selection of methods by name."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC

from oneof.comparison.folds import Task, has_class_weights
from oneof.errors import InputError, InputTypeError
from oneof.estimators import loo_ridge
from oneof.estimators.base import last_step
from oneof.validation import check_bool, check_choice, check_positive

SLOW_METHODS = ("PLGP", "CandidateEM")
"""Default estimators that take minutes while others take seconds; they are compared only if requested by name."""
ONLINE_METHODS = ("AvgPerceptron", "AvgPegasos", "MaxPerceptron", "MaxPegasos")
LINEAR_METHODS = ("MultinomialEM", "PLEM", "PLECOC", "LOORidge", "CLPL")
"""Kinds of methods whose time grows linearly on many rows, the fastest first; within a limit they come first."""
FEW_LABELS_METHODS = ("HarmonicField", "PoissonLearning", "MarkovWalk", "SpectralGraphTransducer")
"""Graph-based methods of "few_labels", without a scaler: another scale of single features changes the neighbors."""
CUBIC_METHODS = ("GraphLogisticRegression",)
"""Methods whose solver factorizes matrices of all pairs of features."""
MAX_FEATURES_CUBIC = 5_000
"""Maximum number of features for `CUBIC_METHODS` in "auto"; with more, a fit takes minutes and gigabytes."""
DEFAULT_METHOD = loo_ridge.FIRST_CHOICE.__name__
"""Method that `oneof fit` fits without a comparison."""
MAX_ROWS_KERNELS = 200_000
"""Maximum number of labeled rows for several kernels in LOORidge."""
UNIT_TOL = 1e-5
"""Difference of a row's squared length from 1 that single precision may cause."""
MAX_ROWS_KERNEL = 10_000
"""Maximum number of labeled rows for default estimators with an exact kernel, whose cost is quadratic in the rows."""


def default_estimators(
    *,
    sparse: bool = False,
    negative: bool = False,
    scaled: bool = False,
    n_rows: int | None = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Return the estimators that `compare` uses by default, each after a scaler, with settings that need no tuning.

    Parameters
    ----------
    sparse : bool, default=False
        Whether X is sparse. Sparse features are scaled by their largest absolute value, which keeps zeros, and are not
        standardized. `GaussianEM` and `CandidateEM`, which need dense rows, are then excluded.
    negative : bool, default=False
        Whether sparse X has values below 0. `MultinomialEM`, which needs non-negative values, is then excluded.
        Otherwise it gets sparse rows unchanged (counts or TF-IDF), and dense features scaled to [0, 1].
    scaled : bool, default=False
        Whether sparse X has its final scale, such as TF-IDF rows of length 1; it then has no scaler. `compare` and the
        command line pass True for rows of length 1. Dense X is not affected.
    n_rows : int, optional
        Number of labeled rows (1,000 if not given). With fewer rows, the online methods use more epochs and Pegasos
        more regularization.
    random_state : int, RandomState instance or None, default=0
        Seed of the order of rows in the online methods.

    Returns
    -------
    dict of str to Pipeline
        Not fitted.

    Raises
    ------
    InputError
        If `n_rows` is negative.

    Notes
    -----
    C = 1, lam = 1 of PLEM, 10 neighbors and the codes of PLECOC are the methods' defaults; lam = 1/n weights the losses
    of PLSVM and Pegasos as C = 1 does. For sparse or many rows PLECOC uses a linear SVM instead of its RBF kernel. For
    more than 200,000 rows LOORidge uses one kernel instead of several. GaussianEM uses one covariance for all classes,
    so its time does not grow with their number. CandidateEM is histogram gradient boosting with 3 folds, and 20 instead
    of 100 iterations in the rounds that update the labels. None of these settings was selected by accuracy.

    The settings of the online methods were selected by accuracy: about 60,000 steps, averaged weights and an intercept
    were the best of a few settings on 13 tasks with true labels, including lost, msrcv2 and birdsong. The constants
    within LOORidge were selected by the true labels of these three. On these sets the accuracies of the default
    estimators are therefore optimistic.

    Examples
    --------
    >>> from oneof.comparison import default_estimators
    >>> list(default_estimators())[:3]
    ['LOORidge', 'CLPL', 'PLEM']
    >>> "GaussianEM" in default_estimators(sparse=True)
    False
    """
    for name, flag in (("sparse", sparse), ("negative", negative), ("scaled", scaled)):
        check_bool(name, flag)
    check_positive("n_rows", n_rows, integer=True, allow_zero=True, or_none=True)
    usual: list[Any] = [] if sparse and scaled else [MaxAbsScaler() if sparse else StandardScaler()]
    of_counts: list[Any] = [] if sparse else [MinMaxScaler(clip=True)]
    excluded = (*["GaussianEM", "CandidateEM"] * sparse, *["MultinomialEM"] * (sparse and negative))
    methods = _methods(1000 if n_rows is None else max(int(n_rows), 1), sparse, random_state)
    return {
        name: make_pipeline(*map(clone, of_counts if name == "MultinomialEM" else usual), method)
        for name, method in ((type(method).__name__, method) for method in methods)
        if name not in excluded
    }


def _methods(n_rows: int, sparse: bool, random_state: Any) -> list[Any]:
    """Return the default estimators for a number of labeled rows, without their scalers."""
    import oneof

    has_many_rows = n_rows > MAX_ROWS_KERNEL
    online: dict[str, Any] = {"shuffle": True, "average": True, "fit_intercept": True, "random_state": random_state}
    online["n_epochs"] = int(np.clip(60_000 // n_rows, 3, 100))  # about 60,000 steps
    return [
        _ridge(n_rows, sparse, random_state),
        oneof.CLPL(fit_intercept=True),
        oneof.PLEM(fit_intercept=True),
        oneof.PLSVM(lam=1.0 / n_rows, fit_intercept=True),
        oneof.PLECOC(LinearSVC(dual="auto") if sparse or has_many_rows else None, random_state=random_state),
        oneof.PLKNN(),
        oneof.IPAL(),
        oneof.GraphLogisticRegression(),
        oneof.HarmonicField(),
        oneof.LocalGlobalConsistency(),
        oneof.PoissonLearning(),
        oneof.MarkovWalk(),
        oneof.SpectralGraphTransducer(),
        oneof.TransductiveSVM(),
        *(oneof.AvgPerceptron(**online), oneof.MaxPerceptron(**online)),
        *(oneof.AvgPegasos(lam=1.0 / n_rows, **online), oneof.MaxPegasos(lam=1.0 / n_rows, **online)),
        oneof.PLGP(
            approximation="nystroem" if has_many_rows else None, optimizer_max_samples=500, random_state=random_state
        ),
        oneof.GaussianEM(covariance="tied"),
        oneof.MultinomialEM(),
        oneof.CandidateEM(cv=3, round_params={"max_iter": 20}, random_state=random_state),
    ]


def _ridge(n_rows: int, sparse: bool, random_state: Any) -> Any:
    """Return LOORidge; its approximation is named, so that the folds, which have fewer rows, fit the same model.

    The same holds for the judge, which fits in blocks do not have.
    """
    options: dict[str, Any] = {}
    if n_rows > loo_ridge.MAX_EXACT_ROWS:
        options = {"approximation": "nystroem", "n_components": loo_ridge.default_n_components(n_rows)}
        if n_rows * options["n_components"] > loo_ridge.MAX_FEATURE_ENTRIES:
            options["judge"] = None
    if n_rows > MAX_ROWS_KERNELS:
        options |= {"kernel": "rbf", "features": "l2" if sparse else "standard"}
    return loo_ridge.LOORidge(**options, random_state=random_state)


def has_unit_rows(X: Any) -> bool:
    """Return whether all sparse rows that are not 0 have length 1, such as TF-IDF rows.

    If columns are divided by their largest value, rare words are as influential as frequent ones.
    """
    if not sp.issparse(X) or not X.nnz:
        return False
    rows = X.tocsr().astype(np.float64)
    squares = np.asarray(rows.multiply(rows).sum(axis=1))
    return bool(np.abs(squares[squares > 0] - 1.0).max(initial=0.0) <= UNIT_TOL)


def excluded_from_auto(n_features: int) -> tuple[str, ...]:
    """Return the methods that "auto" excludes because of the number of features."""
    return CUBIC_METHODS if n_features > MAX_FEATURES_CUBIC else ()


def auto_methods(estimators: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    """Return the estimators of "auto": all except those that must be requested by name."""
    excluded = {*SLOW_METHODS, *excluded_from_auto(n_features)}
    return {name: estimator for name, estimator in estimators.items() if name not in excluded}


def fastest_first(estimators: Mapping[str, Any]) -> list[str]:
    """Return the names of the methods by kind: the fast ones in order, then other ones, then the slow ones."""
    rank = {kind: k for k, kind in enumerate((*ONLINE_METHODS, *LINEAR_METHODS, "other", *SLOW_METHODS))}
    return sorted(estimators, key=lambda name: rank.get(type(last_step(estimators[name])).__name__, rank["other"]))


def resolve_methods(methods: Any, task: Task, random_state: Any) -> dict[str, Any]:
    """Return the estimators to compare, by name."""
    if isinstance(methods, str) and methods == "auto":
        auto = auto_methods(estimators_for(task, random_state), task.X.shape[1])
        selected = {name: m for name, m in auto.items() if task.class_weight is None or has_class_weights(m)}
    elif isinstance(methods, str) and methods == "few_labels":
        defaults = estimators_for(task, random_state)
        selected = {name: last_step(defaults[name]) for name in FEW_LABELS_METHODS}
        selected |= {name: defaults[name] for name in ("TransductiveSVM", "LOORidge")}
    elif isinstance(methods, Mapping):
        selected = {str(name): estimator for name, estimator in methods.items()}
    else:
        selected = _select(methods, task, random_state)
    if not selected:
        raise InputError("`methods` must name at least one method; got none.")
    for name, estimator in selected.items():
        if not _is_estimator(estimator):
            raise InputTypeError(
                '`methods` must be "auto", "few_labels", a list of names of default estimators and of estimators, or a '
                f"dict of estimators, which are objects with `fit` and `predict`; got {estimator!r} for {name!r}."
            )
    return selected


def estimators_for(task: Task, random_state: Any) -> dict[str, Any]:
    """Return the default estimators for the rows of a task; raise unless they have features."""
    X, n_rows = task.X, int((~task.candidates.is_unlabeled).sum())
    if len(X.shape) != 2:
        raise InputError(
            f"`X` must have shape (n_samples, n_features); got shape {tuple(X.shape)}. For texts, begin each method "
            "with `oneof.text.make_vectorizer` and pass a dict of pipelines."
        )
    is_negative = sp.issparse(X) and bool((X.tocsr().data < 0).any())  # `min` sums duplicate entries in place
    form = {"sparse": sp.issparse(X), "negative": is_negative, "scaled": has_unit_rows(X)}
    return default_estimators(**form, n_rows=n_rows, random_state=random_state)


def _is_estimator(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")


def _select(methods: Any, task: Task, random_state: Any) -> dict[str, Any]:
    """Return default estimators by name, and other estimators by the class name of their last step."""
    is_one = isinstance(methods, str) or _is_estimator(methods) or not isinstance(methods, Iterable)
    listed = [methods] if is_one else list(methods)
    defaults = estimators_for(task, random_state) if any(isinstance(method, str) for method in listed) else {}
    selected: dict[str, Any] = {}
    for method in listed:
        name = method if isinstance(method, str) else type(last_step(method)).__name__
        if method is name:
            names = (*(("auto", "few_labels") if is_one else ()), *defaults)
            check_choice("methods", name, names, " for these rows and labels, or a dict of estimators")
        estimator = defaults[name] if method is name else method
        if selected.get(name, estimator) is not estimator:
            raise InputError(
                f"`methods` must have one method of each name; got {name} twice. Name the estimators in a dict, such "
                f"as {{**default_estimators(), 'mine': {name}(...)}}, with `default_estimators` of oneof.comparison."
            )
        selected[name] = estimator
    return selected
