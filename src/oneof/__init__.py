"""Scikit-learn-compatible classifiers for partial, complementary, crowd and missing labels.

Each row has a candidate set of which its true label is a member: one label, several, or all of them. Every estimator
accepts any mixture of these. Names are imported on first use, so that ``import oneof`` is fast; type checkers and
editors read the imports below.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from oneof import active as active
    from oneof import audit as audit
    from oneof import comparison as comparison
    from oneof import conformal as conformal
    from oneof import crowd as crowd
    from oneof import datasets as datasets
    from oneof import distributed as distributed
    from oneof import errors as errors
    from oneof import graphs as graphs
    from oneof import labeling as labeling
    from oneof import metrics as metrics
    from oneof import model_selection as model_selection
    from oneof import multilabel as multilabel
    from oneof import persistence as persistence
    from oneof import plots as plots
    from oneof import serving as serving
    from oneof import stream as stream
    from oneof import text as text
    from oneof.candidates import CandidateSets as CandidateSets
    from oneof.comparison import compare as compare
    from oneof.datasets import make_partial_labels as make_partial_labels
    from oneof.estimators.candidate_em import CandidateEM as CandidateEM
    from oneof.estimators.clpl import CLPL as CLPL
    from oneof.estimators.gaussian_em import GaussianEM as GaussianEM
    from oneof.estimators.graph_logistic import GraphLogisticRegression as GraphLogisticRegression
    from oneof.estimators.harmonic_field import HarmonicField as HarmonicField
    from oneof.estimators.ipal import IPAL as IPAL
    from oneof.estimators.local_global_consistency import LocalGlobalConsistency as LocalGlobalConsistency
    from oneof.estimators.loo_ridge import LOORidge as LOORidge
    from oneof.estimators.markov_walk import MarkovWalk as MarkovWalk
    from oneof.estimators.multinomial_em import MultinomialEM as MultinomialEM
    from oneof.estimators.pegasos import AvgPegasos as AvgPegasos
    from oneof.estimators.pegasos import MaxPegasos as MaxPegasos
    from oneof.estimators.perceptron import AvgPerceptron as AvgPerceptron
    from oneof.estimators.perceptron import MaxPerceptron as MaxPerceptron
    from oneof.estimators.plecoc import PLECOC as PLECOC
    from oneof.estimators.plem import PLEM as PLEM
    from oneof.estimators.plgp import PLGP as PLGP
    from oneof.estimators.plknn import PLKNN as PLKNN
    from oneof.estimators.plsvm import PLSVM as PLSVM
    from oneof.estimators.spectral_graph_transducer import SpectralGraphTransducer as SpectralGraphTransducer
    from oneof.estimators.transductive_svm import TransductiveSVM as TransductiveSVM
    from oneof.graphs import diffusion_kernel as diffusion_kernel
    from oneof.graphs import regularized_laplacian_kernel as regularized_laplacian_kernel

_LAZY_NAMES = {
    "AvgPegasos": "oneof.estimators.pegasos",
    "AvgPerceptron": "oneof.estimators.perceptron",
    "CLPL": "oneof.estimators.clpl",
    "CandidateEM": "oneof.estimators.candidate_em",
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
    "audit",
    "comparison",
    "conformal",
    "crowd",
    "datasets",
    "distributed",
    "errors",
    "graphs",
    "labeling",
    "metrics",
    "model_selection",
    "persistence",
    "plots",
    "serving",
    "stream",
    "text",
    "multilabel",
)

__all__ = [*_LAZY_NAMES, *_SUBMODULES]  # noqa: PLE0604 - computed from the table above, so that the two cannot differ


if not TYPE_CHECKING:  # otherwise every misspelled name would have the type Any

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
