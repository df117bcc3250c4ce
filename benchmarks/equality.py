"""Record the results of every estimator, and compare two records number by number.

A refactoring must not change a result. Record before and after it, and compare::

    python -m benchmarks equality record before.npz
    python -m benchmarks equality record after.npz [ESTIMATOR ...]
    python -m benchmarks equality compare before.npz after.npz

A record has, for each estimator with each of its settings on each of five data sets, the predictions, the scores, the
disambiguated labels with their confidences, the objective with its trace and the number of iterations. The exit code
of ``compare`` is 1 if any number differs by more than 1e-12.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

import oneof
from benchmarks.common import markdown

TOLERANCE = 1e-12
CLASSES = np.array(["ant", "bee", "cat", "dog"])

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "AvgPegasos": [{}, {"n_epochs": 3, "shuffle": True, "average": True, "fit_intercept": True, "shrink": "always"}],
    "AvgPerceptron": [{}, {"eta0": 0.5, "n_epochs": 3, "shuffle": True, "average": True, "fit_intercept": True}],
    "CLPL": [{}, {"C": 0.1, "fit_intercept": True}],
    "GaussianEM": [
        {"n_components": 2},
        {"unlabeled_weight": "cv", "covariance": "tied"},
        {"covariance": "diagonal", "shrinkage": 0.2, "partial_weight": 0.5},
    ],
    "GraphLogisticRegression": [
        {},
        {"prior": "graph", "precision": "em", "solver": "block", "alpha": 0.5},
        {"prior": "graph+ard", "solver": "sequential", "max_iter": 20},
        {"features": "kernel", "symmetrize": "mutual"},
        {"views": [[0, 1, 2], [3, 4, 5, 6, 7]], "coregularization": True},
    ],
    "HarmonicField": [
        {},
        {"label_penalty": 2.0, "ridge": 0.1, "class_mass": False, "bandwidth": 2.0, "symmetrize": "sum"},
    ],
    "IPAL": [{}, {"class_mass": True, "prediction": "votes"}],
    "LOORidge": [
        {},
        {"distractors": "cooccurring", "features": "quantile", "kernel": "rbf", "max_iter": 5},
        {"distractors": "confusable", "features": "spherical", "unlabeled": "class_mass"},
        {"approximation": "nystroem", "n_components": 40, "features": "l2", "kernel": "rbf"},
    ],
    "LocalGlobalConsistency": [{}, {"alpha": 0.5, "symmetrize": "mutual", "algorithm": "approximate"}],
    "MarkovWalk": [{}, {"n_steps": 3, "radius": 2.0, "n_neighbors": 3}],
    "PoissonLearning": [{}, {"volume_constraint": True, "class_prior": "uniform"}],
    "MaxPegasos": [{}, {"n_epochs": 3, "shuffle": True, "average": True, "fit_intercept": True, "shrink": "always"}],
    "MaxPerceptron": [{}, {"eta0": 0.5, "n_epochs": 3, "shuffle": True, "average": True, "fit_intercept": True}],
    "MultinomialEM": [{"n_components": 2}, {"unlabeled_weight": "cv", "alpha": 0.5, "partial_weight": 0.5}],
    "PLECOC": [{}, {"code_length": 6, "min_fraction": 0.05}],
    "PLEM": [{}, {"lam": 0.1, "entropy_weight": 0.2, "fit_intercept": True}],
    "PLGP": [
        {},
        {"sharpness": 5.0, "anneal": False, "solver": "cholesky", "temperature": "loo", "n_mc_samples": 50},
        {"approximation": "nystroem", "n_components": 30, "optimizer": None, "optimizer_max_samples": 50},
    ],
    "PLKNN": [{}, {"weights": "uniform", "n_neighbors": 3}],
    "PLSVM": [{}, {"kernel": "rbf", "fit_intercept": True}, {"solver": "pegasos"}],
    "SpectralGraphTransducer": [{}, {"n_eigenvectors": 10, "C": 10.0, "n_neighbors": 6, "affinity": "gaussian"}],
    "TransductiveSVM": [
        {},
        {"C": 1.0, "C_unlabeled": 0.5, "kernel": "rbf"},
        {"label_switching": "single", "cost_ratio": "paper", "fit_intercept": False},
    ],
}


def data_sets() -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield the name, X, y and new rows of five small data sets: dense, CSR, float32, partial and unlabeled."""
    rng = np.random.default_rng(0)
    n, d, k = 120, 8, len(CLASSES)
    truth = rng.integers(k, size=n + 40)
    rates = rng.gamma(1.0, 2.0, size=(k, d))
    X = rng.poisson(rates[truth]).astype(float) + rng.random((n + 40, d)).round(2)
    counts = rng.poisson(0.4 * rates[truth]).astype(float)
    exact = np.eye(k, dtype=bool)[truth[:n]]
    partial = exact | (rng.random((n, k)) < 0.3)
    missing = exact.copy()
    missing[rng.random(n) < 0.6] = True
    mixed = partial.copy()
    mixed[rng.random(n) < 0.3] = True
    yield "dense", X[:n], exact, X[n:]
    yield "csr", sp.csr_array(counts[:n]), mixed, sp.csr_array(counts[n:])
    yield "float32", X[:n].astype(np.float32), mixed, X[n:].astype(np.float32)
    yield "partial", X[:n], partial, X[n:]
    yield "unlabeled", X[:n], missing, X[n:]


def as_sets(mask: np.ndarray) -> list[list[str]]:
    """Return the rows of a mask as lists of class names."""
    return [CLASSES[row].tolist() for row in mask]


def make_estimator(name: str, setting: dict[str, Any]) -> Any:
    """Return an estimator with a setting, and with a fixed random state if it has one."""
    estimator = getattr(oneof, name)(**setting)
    return estimator.set_params(random_state=0) if "random_state" in estimator.get_params() else estimator


def results(model: Any, X: Any, new: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the named results of a fitted model."""
    yield "predict", np.asarray(model.predict(new))
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            yield method, np.asarray(getattr(model, method)(new))
            yield f"{method} of fit", np.asarray(getattr(model, method)(X))
    labels, confidence = model.disambiguate()
    yield "labels", labels
    yield "confidence", confidence
    for name in ("objective_", "objective_path_", "n_iter_", "transduction_", "label_distributions_"):
        if hasattr(model, name):
            yield name, np.atleast_1d(np.asarray(getattr(model, name)))


def record(path: str, *names: str) -> None:
    """Fit every estimator with every setting on every data set, and write the results."""
    arrays: dict[str, np.ndarray] = {}
    warnings.simplefilter("ignore")
    for data, X, mask, new in data_sets():
        for name in names or SETTINGS:
            settings = SETTINGS[name]
            for number, setting in enumerate(settings):
                key = f"{data} | {name} {number}"
                try:
                    model = make_estimator(name, setting).fit(X, as_sets(mask))
                    arrays |= {f"{key} | {what}": value for what, value in results(model, X, new)}
                except oneof.errors.OneofError as error:
                    arrays[f"{key} | error"] = np.array([type(error).__name__])
                    print(f"{key}: {error}", flush=True)
    np.savez_compressed(
        path, **{key: value.astype(str) if value.dtype == object else value for key, value in arrays.items()}
    )
    print(f"{len(arrays)} results in {path}")


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference, relative to the largest magnitude if that is above 1; inf if not comparable."""
    if one.shape != other.shape or (one.dtype.kind in "US") != (other.dtype.kind in "US"):
        return np.inf
    if one.dtype.kind in "US":
        return 0.0 if (one == other).all() else np.inf
    if np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
        return 0.0
    return float(np.nanmax(np.abs(one.astype(float) - other)) / max(1.0, np.nanmax(np.abs(one))))


def compare(before: str, after: str) -> int:
    """Print a table of the largest difference of each estimator, and return the exit code."""
    old, new = np.load(before), np.load(after)
    estimator_of = {key: key.split(" | ")[1].split()[0] for key in (*old.files, *new.files)}
    recorded = {estimator_of[key] for key in new.files}
    missing = sorted(key for key in set(old.files) ^ set(new.files) if estimator_of[key] in recorded)
    table: dict[str, list[float]] = {}
    for key in sorted(set(old.files) & set(new.files)):
        largest = difference(old[key], new[key])
        table.setdefault(estimator_of[key], []).append(largest)
        if largest > TOLERANCE:
            print(f"differs: {key}")
    rows = [[f"`{name}`", len(values), values.count(0.0), f"{max(values):.1e}"] for name, values in table.items()]
    print(markdown(["estimator", "results", "equal to the last bit", "largest difference"], rows))
    for key in missing:
        print(f"only in one record: {key}")
    return int(bool(missing) or max(map(max, table.values())) > TOLERANCE)
