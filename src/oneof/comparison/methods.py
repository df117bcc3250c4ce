"""The methods that are compared: the panel of the project, or the user's."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from oneof.candidates import CandidateSets
from oneof.comparison.folds import Task
from oneof.errors import InputError, InputTypeError
from oneof.validation import check_bool, check_positive

SLOW = ("PLGP",)
"""Methods of the panel that take minutes where others take seconds, and are compared only when they are named."""
CUBIC = ("GraphLogisticRegression",)
"""Methods that solve with matrices of all pairs of features."""
MOST_FEATURES_OF_A_CUBE = 5_000
"""Most features with which those are compared without being named: beyond, a fit takes minutes and gigabytes."""
FIRST_CHOICE = "LOORidge"
"""What to take without a comparison, on data that suit it."""
MOST_ROWS_OF_FIRST_CHOICE = 6_000
"""Most labeled rows for that: beyond, its kernels are approximated."""
LEAST_SHARE_OF_FIRST_CHOICE = 0.5
"""Least share of rows with a label, or some, for that: it learns from these alone."""
MOST_ROWS_OF_A_KERNEL = 10_000
"""Most labeled rows for which the panel fits machines with a kernel, whose time grows with the square of them."""


def panel(
    *, sparse: bool = False, negative: bool = False, n_rows: int | None = None, random_state: Any = 0
) -> dict[str, Any]:
    """Return the estimators that `compare` knows, each behind a scaler, at settings that do without tuning.

    Parameters
    ----------
    sparse : bool, default=False
        Whether X will be sparse: the features are then scaled by their largest absolute value, which keeps zeros, and
        not standardized. `GaussianEM` is then left out, whose rows are dense.
    negative : bool, default=False
        Whether sparse X will have values below 0. `MultinomialEM` is then left out, which takes none. Elsewhere it has
        sparse rows as they come, as counts or TF-IDF, and dense features scaled to reach from 0 to 1.
    n_rows : int, optional
        How many labeled rows there will be (1,000 if not given): the fewer, the more often the online methods go over
        them and the more Pegasos regularizes.
    random_state : int, RandomState instance or None, default=0
        For the order of rows in the online methods.

    Returns
    -------
    dict of str to Pipeline
        Not fitted.

    Notes
    -----
    C = 1, lam = 1 of PLEM, 10 neighbors and the codes of PLECOC are the methods' defaults; lam = 1/n weighs the losses
    of PLSVM and Pegasos as C = 1 does. PLECOC takes a linear machine, not its RBF kernel, for sparse or many rows, and
    LOORidge one kernel, not several, for many; GaussianEM one covariance for all classes, whose time does
    not grow with their number. Nothing of this was chosen by an accuracy. How the online methods go over the rows was:
    some 60,000 steps, averaged weights and an intercept came out best of a few settings by the true labels of 13 tasks,
    lost, msrcv2 and birdsong among them; and so were the constants within LOORidge, by those of these three. On these
    sets their accuracies in the panel are therefore no clean estimates.

    Examples
    --------
    >>> from oneof.comparison import panel
    >>> list(panel())[:3]
    ['LOORidge', 'CLPL', 'PLEM']
    >>> "GaussianEM" in panel(sparse=True)
    False
    """
    check_bool("sparse", sparse)
    check_bool("negative", negative)
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler
    from sklearn.svm import LinearSVC

    from oneof.estimators.clpl import CLPL
    from oneof.estimators.gaussian_em import GaussianEM
    from oneof.estimators.graph_logistic import GraphLogisticRegression
    from oneof.estimators.harmonic_field import HarmonicField
    from oneof.estimators.ipal import IPAL
    from oneof.estimators.local_global_consistency import LocalGlobalConsistency
    from oneof.estimators.loo_ridge import LOORidge
    from oneof.estimators.markov_walk import MarkovWalk
    from oneof.estimators.multinomial_em import MultinomialEM
    from oneof.estimators.pegasos import AvgPegasos, MaxPegasos
    from oneof.estimators.perceptron import AvgPerceptron, MaxPerceptron
    from oneof.estimators.plecoc import PLECOC
    from oneof.estimators.plem import PLEM
    from oneof.estimators.plgp import PLGP
    from oneof.estimators.plknn import PLKNN
    from oneof.estimators.plsvm import PLSVM
    from oneof.estimators.spectral_graph_transducer import SpectralGraphTransducer
    from oneof.estimators.transductive_svm import TransductiveSVM

    if n_rows is not None:
        check_positive("n_rows", n_rows, integer=True, allow_zero=True)
    rows = 1000 if n_rows is None else max(n_rows, 1)
    online = {
        "n_epochs": int(np.clip(60_000 // rows, 3, 100)),
        "shuffle": True,
        "average": True,
        "fit_intercept": True,
        "random_state": random_state,
    }
    lam = 1.0 / rows
    one_kernel: dict[str, Any] = {"kernel": "rbf", "features": "l2" if sparse else "standard"}
    estimators = (
        LOORidge(**({} if rows <= MOST_ROWS_OF_A_KERNEL else one_kernel), random_state=random_state),
        CLPL(fit_intercept=True),
        PLEM(fit_intercept=True),
        PLSVM(lam=lam, fit_intercept=True),
        PLECOC(LinearSVC(dual="auto") if sparse or rows > MOST_ROWS_OF_A_KERNEL else None, random_state=random_state),
        PLKNN(),
        IPAL(),
        GraphLogisticRegression(),
        HarmonicField(),
        LocalGlobalConsistency(),
        MarkovWalk(),
        SpectralGraphTransducer(),
        TransductiveSVM(),
        AvgPerceptron(**online),
        MaxPerceptron(**online),
        AvgPegasos(lam=lam, **online),
        MaxPegasos(lam=lam, **online),
        PLGP(
            approximation=None if rows <= MOST_ROWS_OF_A_KERNEL else "nystroem",
            optimizer_max_samples=500,
            random_state=random_state,
        ),
    )
    scaler = MaxAbsScaler() if sparse else StandardScaler()
    pipelines = [make_pipeline(clone(scaler), estimator) for estimator in estimators]
    if not sparse:
        pipelines.append(make_pipeline(scaler, GaussianEM(covariance="tied")))
        pipelines.append(make_pipeline(MinMaxScaler(clip=True), MultinomialEM()))
    elif not negative:
        pipelines.append(make_pipeline(MultinomialEM()))
    return {type(pipeline[-1]).__name__: pipeline for pipeline in pipelines}


def first_choice(candidates: CandidateSets) -> str | None:
    """Return the method to take without a comparison.

    None where there are too many rows, most have no label, or none has several: without false candidates there is
    nothing that the first choice would be better at.

    Parameters
    ----------
    candidates : CandidateSets

    Returns
    -------
    str or None

    Raises
    ------
    InputTypeError
        If these are no `CandidateSets`.

    Examples
    --------
    >>> from oneof import CandidateSets
    >>> from oneof.comparison import first_choice
    >>> first_choice(CandidateSets.from_sets([["finch", "wren"], ["wren"], ["owl"]]))
    'LOORidge'
    >>> first_choice(CandidateSets.from_sets([["finch"], ["wren"], None, None, None])) is None
    True
    """
    if not isinstance(candidates, CandidateSets):
        raise InputTypeError(f"candidates is a {type(candidates).__name__}: give CandidateSets.from_sets(y).")
    n_labeled = int((~candidates.is_unlabeled).sum())
    suits = LEAST_SHARE_OF_FIRST_CHOICE * len(candidates) <= n_labeled <= MOST_ROWS_OF_FIRST_CHOICE
    return FIRST_CHOICE if suits and int(candidates.is_exact.sum()) < n_labeled else None


def holds_negative(X: Any) -> bool:
    """Return whether sparse rows have a value below 0.

    Parameters
    ----------
    X : array-like or sparse matrix
        Dense rows are not looked at.

    Returns
    -------
    bool

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from oneof.comparison import holds_negative
    >>> holds_negative(sp.csr_array([[0.0, -1.0]])), holds_negative(sp.csr_array([[0.0, 1.0]]))
    (True, False)
    """
    return bool(sp.issparse(X) and X.nnz and X.tocsr().data.min() < 0)


def left_out_of_auto(n_features: int) -> tuple[str, ...]:
    """Return the methods that "auto" leaves out because there are so many features.

    Parameters
    ----------
    n_features : int

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from oneof.comparison import left_out_of_auto
    >>> left_out_of_auto(100), left_out_of_auto(50_000)
    ((), ('GraphLogisticRegression',))
    """
    check_positive("n_features", n_features, integer=True, allow_zero=True)
    return CUBIC if n_features > MOST_FEATURES_OF_A_CUBE else ()


def without_slow(known: Mapping[str, Any], n_features: int) -> dict[str, Any]:
    """Return what "auto" stands for: all but the methods that must be asked for by name.

    Parameters
    ----------
    known : mapping of str to estimator
        A panel.
    n_features : int

    Returns
    -------
    dict of str to estimator

    Raises
    ------
    InputTypeError
        If `known` is no mapping.

    Examples
    --------
    >>> from oneof.comparison import panel, without_slow
    >>> set(panel()) - set(without_slow(panel(), n_features=20))
    {'PLGP'}
    """
    if not isinstance(known, Mapping):
        raise InputTypeError(f"known is a {type(known).__name__}: give a panel, as panel() makes it.")
    left_out = SLOW + left_out_of_auto(n_features)
    return {name: known[name] for name in known if name not in left_out}


def choose(methods: Any, task: Task, random_state: Any) -> dict[str, Any]:
    """Return the estimators to compare, by name."""
    if isinstance(methods, Mapping):
        chosen = {str(name): estimator for name, estimator in methods.items()}
        for name, estimator in chosen.items():
            if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
                raise InputTypeError(f"methods[{name!r}] is no estimator: give an object with fit and predict.")
    else:
        _check_table(task.X)
        chosen = panel(
            sparse=sp.issparse(task.X),
            negative=holds_negative(task.X),
            n_rows=int((~task.candidates.is_unlabeled).sum()),
            random_state=random_state,
        )
        if isinstance(methods, str) and methods == "auto":
            chosen = without_slow(chosen, task.X.shape[1])
        else:
            names = [methods] if isinstance(methods, str) else _listed(methods)
            unknown = [name for name in names if name not in chosen]
            if unknown:
                raise InputError(
                    f"{unknown[0]!r} is not in the panel: choose from {', '.join(chosen)}, or pass a dict."
                )
            chosen = {name: chosen[name] for name in names}
    if not chosen:
        raise InputError("methods is empty: name at least one method.")
    return chosen


def _listed(methods: Any) -> list[str]:
    if not isinstance(methods, Iterable) or not all(isinstance(name, str) for name in methods):
        raise InputTypeError(f'methods is {methods!r}: give "auto", names of the panel, or a dict of estimators.')
    return list(methods)


def _check_table(X: Any) -> None:
    """Raise unless rows have features, as the panel takes them: texts, say, are no table."""
    if len(X.shape) == 2:
        return
    if len(X.shape) == 1 and any(isinstance(row, str) for row in X):
        raise InputError(
            "X holds texts: begin each method with `oneof.text.make_vectorizer` and pass a dict of pipelines."
        )
    raise InputError(f"X has shape {tuple(X.shape)}, expected (n_samples, n_features): give a row of features each.")
