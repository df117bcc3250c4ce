"""Learn classifiers when all you know of a label is that it is one of these.

Every supervision is a candidate set: one label, several, or all of them; every estimator takes any mixture of them.
Names are imported on first use, so that ``import oneof`` stays light.
"""

import importlib
import sys
from typing import Any

_LAZY_NAMES = {
    "AvgPegasos": "oneof.estimators.pegasos",
    "AvgPerceptron": "oneof.estimators.perceptron",
    "CLPL": "oneof.estimators.clpl",
    "CandidateSets": "oneof.candidates",
    "GaussianEM": "oneof.estimators.gaussian_em",
    "GraphLogisticRegression": "oneof.estimators.graph_logistic",
    "HarmonicField": "oneof.estimators.harmonic_field",
    "IPAL": "oneof.estimators.ipal",
    "LOORidge": "oneof.estimators.loo_ridge",
    "LocalGlobalConsistency": "oneof.estimators.local_global_consistency",
    "MarkovWalk": "oneof.estimators.markov_walk",
    "MaxPegasos": "oneof.estimators.pegasos",
    "MaxPerceptron": "oneof.estimators.perceptron",
    "MultinomialEM": "oneof.estimators.multinomial_em",
    "PLECOC": "oneof.estimators.plecoc",
    "PLEM": "oneof.estimators.plem",
    "PLGP": "oneof.estimators.plgp",
    "PLKNN": "oneof.estimators.plknn",
    "PLSVM": "oneof.estimators.plsvm",
    "SpectralGraphTransducer": "oneof.estimators.spectral_graph_transducer",
    "TransductiveSVM": "oneof.estimators.transductive_svm",
    "compare": "oneof.comparison",
    "diffusion_kernel": "oneof.graphs",
    "make_partial_labels": "oneof.datasets",
    "regularized_laplacian_kernel": "oneof.graphs",
}
_SUBMODULES = (
    "active",
    "datasets",
    "distributed",
    "errors",
    "graphs",
    "labeling",
    "metrics",
    "model_selection",
    "persistence",
    "plots",
    "stream",
    "text",
    "multilabel",
)

__all__ = [*_LAZY_NAMES, *_SUBMODULES]  # noqa: PLE0604 - computed from the table above, so that the two cannot differ


def __getattr__(name: str) -> Any:
    if name in _LAZY_NAMES:
        value = getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    elif name in _SUBMODULES:
        value = importlib.import_module(f"oneof.{name}")
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("oneof")
    else:
        # With name and obj Python itself asks "Did you mean ...?"
        raise AttributeError(f"module 'oneof' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
