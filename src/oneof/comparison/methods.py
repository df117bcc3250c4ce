"""Default estimators of a comparison, and the selection of methods by name."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from oneof.comparison.class_weights import has_class_weights
from oneof.comparison.folds import Task
from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import last_step
from oneof.estimators.loo_ridge import FIRST_CHOICE
from oneof.validation import check_bool, check_positive

SLOW_METHODS = ("PLGP", "CandidateEM")
"""Default estimators that take minutes while others take seconds; they are compared only if requested by name."""
FAST_METHODS = (
    "AvgPerceptron",
    "AvgPegasos",
    "MaxPerceptron",
    "MaxPegasos",
    "MultinomialEM",
    "PLEM",
    "PLECOC",
    "LOORidge",
    "CLPL",
)
"""Kinds of methods whose time grows linearly on many rows, the fastest first; within a budget they come first."""
BOOSTING_ROUNDS_PARAMS = {"max_iter": 20}
"""Parameters of the gradient boosting of CandidateEM in the rounds of EM."""
CUBIC_METHODS = ("GraphLogisticRegression",)
"""Methods whose solver factorizes matrices of all pairs of features."""
MAX_FEATURES_CUBIC = 5_000
"""Maximum number of features for `CUBIC_METHODS` in "auto"; with more, a fit takes minutes and gigabytes."""
DEFAULT_METHOD = FIRST_CHOICE.__name__
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
    check_bool("sparse", sparse)
    check_bool("negative", negative)
    check_bool("scaled", scaled)
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

    if n_rows is not None:
        check_positive("n_rows", n_rows, integer=True, allow_zero=True)
    usual: list[Any] = [StandardScaler()]
    if sparse:
        usual = [] if scaled else [MaxAbsScaler()]
    scalers_of = {"MultinomialEM": [] if sparse else [MinMaxScaler(clip=True)]}
    excluded = (*["GaussianEM", "CandidateEM"] * sparse, *["MultinomialEM"] * (sparse and negative))
    pipelines = {}
    for method in _methods(1000 if n_rows is None else max(int(n_rows), 1), sparse, random_state):
        name = type(method).__name__
        if name not in excluded:
            pipelines[name] = make_pipeline(*map(clone, scalers_of.get(name, usual)), method)
    return pipelines


def _methods(n_rows: int, sparse: bool, random_state: Any) -> list[Any]:
    """Return the default estimators for a number of labeled rows, without their scalers."""
    from sklearn.svm import LinearSVC

    from oneof.estimators.gaussian_process.plgp import PLGP
    from oneof.estimators.generative.gaussian_em import GaussianEM
    from oneof.estimators.generative.multinomial_em import MultinomialEM
    from oneof.estimators.graph_logistic.graph_logistic import GraphLogisticRegression
    from oneof.estimators.linear.clpl import CLPL
    from oneof.estimators.linear.plem import PLEM
    from oneof.estimators.neighbors.ipal import IPAL
    from oneof.estimators.neighbors.plknn import PLKNN
    from oneof.estimators.svm.plsvm import PLSVM
    from oneof.estimators.svm.transductive_svm import TransductiveSVM
    from oneof.estimators.wrappers.candidate_em import CandidateEM
    from oneof.estimators.wrappers.plecoc import PLECOC

    has_many_rows = n_rows > MAX_ROWS_KERNEL
    return [
        _ridge(n_rows, sparse, random_state),
        CLPL(fit_intercept=True),
        PLEM(fit_intercept=True),
        PLSVM(lam=1.0 / n_rows, fit_intercept=True),
        PLECOC(LinearSVC(dual="auto") if sparse or has_many_rows else None, random_state=random_state),
        PLKNN(),
        IPAL(),
        GraphLogisticRegression(),
        *_graph_methods(),
        TransductiveSVM(),
        *_online_methods(n_rows, random_state),
        PLGP(approximation="nystroem" if has_many_rows else None, optimizer_max_samples=500, random_state=random_state),
        GaussianEM(covariance="tied"),
        MultinomialEM(),
        CandidateEM(cv=3, round_params=dict(BOOSTING_ROUNDS_PARAMS), random_state=random_state),
    ]


def _ridge(n_rows: int, sparse: bool, random_state: Any) -> Any:
    """Return LOORidge; its approximation is named, so that the folds, which have fewer rows, fit the same model.

    The same holds for the judge, which fits in blocks do not have.
    """
    from oneof.estimators.loo_ridge import MAX_EXACT_ROWS, MAX_FEATURE_ENTRIES, LOORidge, default_n_components

    options: dict[str, Any] = {}
    if n_rows > MAX_EXACT_ROWS:
        n_components = default_n_components(n_rows)
        options |= {"approximation": "nystroem", "n_components": n_components}
        if n_rows * n_components > MAX_FEATURE_ENTRIES:
            options["judge"] = None
    if n_rows > MAX_ROWS_KERNELS:
        options |= {"kernel": "rbf", "features": "l2" if sparse else "standard"}
    return LOORidge(**options, random_state=random_state)


def _graph_methods() -> list[Any]:
    from oneof.estimators.graph.harmonic_field import HarmonicField
    from oneof.estimators.graph.local_global_consistency import LocalGlobalConsistency
    from oneof.estimators.graph.markov_walk import MarkovWalk
    from oneof.estimators.graph.spectral_graph_transducer import SpectralGraphTransducer

    return [HarmonicField(), LocalGlobalConsistency(), MarkovWalk(), SpectralGraphTransducer()]


def _online_methods(n_rows: int, random_state: Any) -> list[Any]:
    """Return the online methods, with about 60,000 steps."""
    from oneof.estimators.online.pegasos import AvgPegasos, MaxPegasos
    from oneof.estimators.online.perceptron import AvgPerceptron, MaxPerceptron

    options = {
        "n_epochs": int(np.clip(60_000 // n_rows, 3, 100)),
        "shuffle": True,
        "average": True,
        "fit_intercept": True,
        "random_state": random_state,
    }
    pegasos = {"lam": 1.0 / n_rows, **options}
    return [AvgPerceptron(**options), MaxPerceptron(**options), AvgPegasos(**pegasos), MaxPegasos(**pegasos)]


def has_negative_values(X: Any) -> bool:
    """Return whether sparse rows have a value below 0; dense rows are not checked."""
    return bool(sp.issparse(X) and X.nnz and X.tocsr().data.min() < 0)


def has_unit_rows(X: Any) -> bool:
    """Return whether all sparse rows that are not 0 have length 1, such as TF-IDF rows.

    If columns are divided by their largest value, rare words are as influential as frequent ones.
    """
    if not sp.issparse(X) or not X.nnz:
        return False
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    values = np.clip(rows.data.astype(np.float64), -2.0, 2.0)  # larger values are in longer rows, and may overflow
    squares = np.bincount(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), weights=np.square(values))
    return bool(np.abs(squares[squares > 0] - 1.0).max(initial=0.0) <= UNIT_TOL)


def excluded_from_auto(n_features: int) -> tuple[str, ...]:
    """Return the methods that "auto" excludes because of the number of features."""
    check_positive("n_features", n_features, integer=True, allow_zero=True)
    return CUBIC_METHODS if n_features > MAX_FEATURES_CUBIC else ()


def auto_methods(estimators: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    """Return the estimators of "auto": all except those that must be requested by name."""
    if not isinstance(estimators, Mapping):
        raise InputTypeError(
            f"`estimators` must be a mapping of names to estimators; got {type(estimators).__name__}. "
            "Pass `default_estimators()`."
        )
    excluded = SLOW_METHODS + excluded_from_auto(n_features)
    return {name: estimators[name] for name in estimators if name not in excluded}


def fastest_first(estimators: Mapping[str, Any]) -> list[str]:
    """Return the names of the methods by kind: the fast ones in order, then other ones, then the slow ones."""

    def rank(name: str) -> int:
        kind = type(last_step(estimators[name])).__name__
        if kind in FAST_METHODS:
            return FAST_METHODS.index(kind)
        return len(FAST_METHODS) + (kind in SLOW_METHODS)

    return sorted(estimators, key=rank)


def resolve_methods(methods: Any, task: Task, random_state: Any) -> dict[str, Any]:
    """Return the estimators to compare, by name."""
    if isinstance(methods, Mapping):
        selected = {str(name): estimator for name, estimator in methods.items()}
        for name, estimator in selected.items():
            if not _is_estimator(estimator):
                raise InputTypeError(
                    f"`methods[{name!r}]` must be an estimator, an object with `fit` and `predict`; got {estimator!r}."
                )
    elif isinstance(methods, str) and methods == "auto":
        selected = auto_methods(_defaults_for(task, random_state), task.X.shape[1])
        if task.class_weight is not None:
            selected = {name: estimator for name, estimator in selected.items() if has_class_weights(estimator)}
    else:
        listed = [methods] if isinstance(methods, str) else _check_list(methods)
        needs_defaults = not listed or any(isinstance(method, str) for method in listed)
        selected = _select(listed, _defaults_for(task, random_state) if needs_defaults else {})
    if not selected:
        raise InputError("`methods` must name at least one method; got none.")
    return selected


def _defaults_for(task: Task, random_state: Any) -> dict[str, Any]:
    """Return the default estimators for the rows of a task."""
    _check_table(task.X)
    return default_estimators(
        sparse=sp.issparse(task.X),
        negative=has_negative_values(task.X),
        scaled=has_unit_rows(task.X),
        n_rows=int((~task.candidates.is_unlabeled).sum()),
        random_state=random_state,
    )


def _is_estimator(value: Any) -> bool:
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")


def _check_list(methods: Any) -> list[Any]:
    """Return the names and estimators as a list."""
    if _is_estimator(methods):
        raise InputTypeError(f"`methods` must be a list or a dict of estimators; got {methods!r}. Pass it in a list.")
    listed = list(methods) if isinstance(methods, Iterable) else [methods]
    if not all(isinstance(method, str) or _is_estimator(method) for method in listed):
        raise InputTypeError(
            '`methods` must be "auto", a list of names of default estimators and of estimators, or a '
            f"dict of estimators; got {methods!r}."
        )
    return listed


def _select(listed: list[Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return default estimators by name, and other estimators by the class name of their last step."""
    selected: dict[str, Any] = {}
    for method in listed:
        is_name = isinstance(method, str)
        name = method if is_name else type(last_step(method)).__name__
        if is_name and name not in defaults:
            raise InputError(
                f"`methods` must name default estimators for these rows and labels; got {name!r}. Choose from "
                f"{', '.join(defaults)}, or pass a dict of estimators."
            )
        if name in selected and not (is_name and selected[name] is defaults[name]):
            raise InputError(
                f"`methods` must have one method of each name; got {name} twice. Name the estimators in a dict, such "
                f"as {{**default_estimators(), 'mine': {name}(...)}}, with `default_estimators` of oneof.comparison."
            )
        selected[name] = defaults[name] if is_name else method
    return selected


def _check_table(X: Any) -> None:
    """Raise unless `X` has rows of features; the default estimators do not accept texts."""
    if len(X.shape) == 2:
        return
    if len(X.shape) == 1 and any(isinstance(row, str) for row in X):
        raise InputError(
            "`X` must have numeric features; got texts. Begin each method with `oneof.text.make_vectorizer` and pass "
            "a dict of pipelines."
        )
    raise InputError(f"`X` must have shape (n_samples, n_features); got shape {tuple(X.shape)}.")
