"""The methods of the semi-supervised benchmark, each with its features or its kernel matrix."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import FeatureMatrix, Ints

ENTROPY = "PLEM, entropy"
NEAREST = "1-NN"


def _nearest(data: str) -> tuple[Any, FeatureMatrix]:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1), _rows(data)


def _on_graph(name: str, **parameters: Any) -> Callable[[str], tuple[Any, Any]]:
    """Return a function that makes a method on the graph of few neighbors, which is computed once per data set."""

    def make(data: str) -> tuple[Any, Any]:
        import oneof

        return getattr(oneof, name)(affinity=_affinity(data, "few"), **parameters), _rows(data)

    return make


def _transducer(data: str) -> tuple[Any, Any]:
    from oneof.estimators.graph.spectral_graph_transducer import SpectralGraphTransducer

    return SpectralGraphTransducer(affinity=_affinity(data, "many")), _rows(data)


def _machine(data: str) -> tuple[Any, Any]:
    """Return an SVM with a nearly hard margin: RBF kernel of the median distance, linear for text."""
    from oneof.estimators.svm.transductive_svm import TransductiveSVM

    X = _rows(data)
    if sp.issparse(X):
        return TransductiveSVM(C=100.0), sp.csr_array(X / np.sqrt(X.multiply(X).sum() / X.shape[0]))
    return TransductiveSVM(C=100.0, kernel="precomputed"), _median_kernel(data)


def _logistic(data: str) -> tuple[Any, Any]:
    """Return the graph-prior classifier; for text, with too many features, on kernels with the labeled rows."""
    from oneof.estimators.graph_logistic.graph_logistic import GraphLogisticRegression

    kernel: dict[str, Any] = {"features": "kernel", "kernel": "linear"} if data == "text" else {}
    return GraphLogisticRegression(affinity=_affinity(data, "few"), **kernel), _rows(data)


def _mixture(data: str) -> tuple[Any, Any]:
    from oneof.estimators.generative.gaussian_em import GaussianEM
    from oneof.estimators.generative.multinomial_em import MultinomialEM

    return (MultinomialEM() if data == "text" else GaussianEM(covariance="diagonal")), _rows(data)


def _entropy(data: str) -> tuple[Any, Any]:
    from oneof.estimators.linear.plem import PLEM

    return PLEM(fit_intercept=True), _rows(data)


METHODS: dict[str, Callable[[str], tuple[Any, Any]]] = {
    NEAREST: _nearest,
    "HarmonicField": _on_graph("HarmonicField"),
    "HarmonicField, ridge": _on_graph("HarmonicField", ridge=0.03),
    "LocalGlobalConsistency": _on_graph("LocalGlobalConsistency"),
    "MarkovWalk": _on_graph("MarkovWalk"),
    "SpectralGraphTransducer": _transducer,
    "TransductiveSVM": _machine,
    "GraphLogisticRegression": _logistic,
    ENTROPY: _entropy,
    "Gaussian / multinomial EM": _mixture,
}


@cache
def load_set(data: str) -> Any:
    """Load a data set of the benchmark, once in each process."""
    from oneof.datasets import load

    return load(f"ssl_{data}")


@cache
def _rows(data: str) -> FeatureMatrix:
    X = load_set(data).X
    return X if sp.issparse(X) else np.asarray(X, dtype=np.float64)


@cache
def _affinity(data: str, neighbors: str) -> Any:
    from oneof.graphs import NeighborGraph

    rule = NeighborGraph() if neighbors == "few" else NeighborGraph("cosine", 100, symmetrize="sum")
    return rule.graph(_rows(data)).affinity


@cache
def _median_kernel(data: str) -> Any:
    from sklearn.metrics.pairwise import euclidean_distances

    distances = euclidean_distances(_rows(data))
    return np.exp(-0.5 * (distances / np.median(distances[np.triu_indices(len(distances), 1)])) ** 2)


def codes(data: str) -> Ints:
    """Return the index of the true class of each row."""
    return np.searchsorted(load_set(data).classes, load_set(data).y)
