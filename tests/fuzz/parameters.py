"""Parameters of estimators: documented values in small sizes, and invalid ones."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from oneof import CLPL, PLEM, PLKNN
from tests.fuzz.outcome import of_the_caller

GP_KERNELS = (None, RBF(), 1.0 * RBF(0.1) + WhiteKernel(1e-3), DotProduct(), ConstantKernel(), RBF(1e-5), RBF(1e5))

INVALID = (
    *(None, "", "no such", -1, 0, -0.5, 2, 0.5, True, False, float("nan"), float("inf"), -float("inf"), 1e-300),
    *(1e300, 1 + 1j, [], {}, (), object(), np.array([1.0, 2.0]), np.float32(0.5), np.int8(1), np.array(0.5)),
    of_the_caller,
)
"""Values for any parameter; some are valid for some parameters."""

NUMBERS = (1e-300, 1e-12, 0.01, 0.5, 1.0, 3, 100.0, 1e12, 1e300)

SIZES = {
    "n_neighbors": (1, 2, 5, 100),
    "max_iter": (1, 2, 5, 20),
    "n_epochs": (1, 3),
    "code_length": (1, 4, 9),
    "n_mc_samples": (1, 30),
    "n_components": (None, 1, 2, 3),
    "n_eigenvectors": (1, 3, 80),
    "n_steps": (1, 2, 8, 40),
    "n_folds": (2, 3),
    "n_copies": (1, 3),
    "cv": (2, 3, 5),
    "degree": (1, 2, 3),
    "n_restarts_optimizer": (0, 1),
    "optimizer_max_samples": (None, 2, 5),
    "n_jobs": (None, 1),
}
"""Values of parameters that determine the work, which are small."""


def products(A: Any, B: Any) -> Any:
    """Return the Gram matrix of a kernel that a caller might define."""
    gram = A @ B.T
    return gram.toarray() if hasattr(gram, "toarray") else gram


KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed", products)
CHOICES: dict[str, tuple[Any, ...]] = {
    "affinity": ("gaussian", "cosine", "binary", "precomputed", lambda X: np.ones((X.shape[0], X.shape[0]))),
    "alpha": (0.1, 0.5, 0.99, 1.0, "auto"),
    "approximation": (None, "nystroem", "auto"),
    "beta": (0.1, 1.0, "auto"),
    "cost_ratio": ("balanced", "paper"),
    "coregularization": (True, False, "auto"),
    "covariance": ("full", "tied", "diagonal", "spherical"),
    "cv_weights": ((0.0, 1.0), (0.5,), (), (-1.0,), (float("nan"),)),
    "distractors": ("auto", "uniform", "cooccurring", "confusable"),
    "estimators": (None, [], [("PLEM", PLEM()), ("PLEM", CLPL())], [("CLPL", CLPL()), ("PLKNN", PLKNN())]),
    "estimator": (None, SVC(), DecisionTreeClassifier(max_depth=1), GaussianNB()),
    "features": ("raw", "kernel", "auto", "standard", "quantile", "spherical", "l2", "maxabs_l2"),
    "gamma": ("scale", "auto", *NUMBERS),
    "kernel": (*KERNELS, "laplacian", "auto", None),
    "solver": ("newton", "block", "sequential", "cccp", "pegasos", "cg", "cholesky"),
    "optimizer": (None, "fmin_l_bfgs_b"),
    "positive_fraction": (None, 0.5, 0.01, {"ant": 0.5}),
    "precision": ("evidence", "em"),
    "prediction": ("reconstruction", "votes"),
    "prior": ("graph", "graph+ridge", "graph+ard"),
    "round_params": (None, {}, {"max_iter": 1}, {"max_depth": 1}, {"no such": 1}),
    "random_state": (None, 0, 7, np.random.RandomState(0), np.random.default_rng(0), -3, "x"),
    "shrink": ("on_loss", "always"),
    "label_switching": ("multiple", "single"),
    "label_tol": (None, 0.0, 0.1, 1.0),
    "symmetrize": ("union", "mutual", "sum"),
    "temperature": (0.5, 1.0, "loo"),
    "unlabeled": ("ignore", "class_mass"),
    "unlabeled_weight": (0.0, 0.3, 1.0, "cv"),
    "views": (None, [[0], [1]], [[0, 1], [1]], [[0]], [[9]]),
    "weights": ("distance", "uniform"),
    "bandwidth": ("local", *NUMBERS),
}

QUICK: dict[str, dict[str, Any]] = {
    "CandidateEM": {"estimator": LogisticRegression(max_iter=20), "cv": 2, "max_iter": 2},
    "CandidateStacking": {"estimators": [("PLEM", PLEM()), ("CLPL", CLPL(max_iter=20))], "cv": 2},
    "PLGP": {"optimizer": None, "n_mc_samples": 20, "max_iter": 20},
    "PLECOC": {"code_length": 3},
    "LOORidge": {"max_iter": 3, "kernel": "rbf"},
    "TransductiveSVM": {"max_iter": 2},
}
_ITERATIVE = "GaussianEM", "GraphLogisticRegression", "IPAL", "MarkovWalk", "MultinomialEM", "PLSVM"
QUICK |= {name: {"max_iter": 20} for name in _ITERATIVE}
"""Settings that limit a case to milliseconds, unless they are drawn."""


@st.composite
def parameters(draw: st.DrawFn, estimator: Any) -> dict[str, Any]:
    """Draw up to two parameters, valid or not, in addition to those that keep a case short."""
    names = sorted(estimator.get_params(deep=False))
    drawn = dict(QUICK.get(type(estimator).__name__, {}))
    for name in draw(st.lists(st.sampled_from(names), max_size=3, unique=True)):
        drawn[name] = (
            draw(st.sampled_from(INVALID)) if draw(st.integers(0, 4)) == 0 else draw(_possible(estimator, name))
        )
    return drawn


def _possible(estimator: Any, name: str) -> st.SearchStrategy[Any]:
    if type(estimator).__name__ == "PLGP" and name == "kernel":
        return st.sampled_from(GP_KERNELS)
    if name in SIZES:
        return st.sampled_from(SIZES[name])
    return st.sampled_from(CHOICES.get(name, (*NUMBERS, True, False)))
