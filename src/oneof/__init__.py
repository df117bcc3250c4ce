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
    from oneof.estimators.candidate_stacking import CandidateStacking as CandidateStacking
    from oneof.estimators.gaussian_process.plgp import PLGP as PLGP
    from oneof.estimators.generative.gaussian_em import GaussianEM as GaussianEM
    from oneof.estimators.generative.multinomial_em import MultinomialEM as MultinomialEM
    from oneof.estimators.graph.harmonic_field import HarmonicField as HarmonicField
    from oneof.estimators.graph.local_global_consistency import LocalGlobalConsistency as LocalGlobalConsistency
    from oneof.estimators.graph.markov_walk import MarkovWalk as MarkovWalk
    from oneof.estimators.graph.poisson_learning import PoissonLearning as PoissonLearning
    from oneof.estimators.graph.spectral_graph_transducer import SpectralGraphTransducer as SpectralGraphTransducer
    from oneof.estimators.graph_logistic.graph_logistic import GraphLogisticRegression as GraphLogisticRegression
    from oneof.estimators.linear.clpl import CLPL as CLPL
    from oneof.estimators.linear.plem import PLEM as PLEM
    from oneof.estimators.loo_ridge import FIRST_CHOICE as FIRST_CHOICE
    from oneof.estimators.loo_ridge import LOORidge as LOORidge
    from oneof.estimators.neighbors.ipal import IPAL as IPAL
    from oneof.estimators.neighbors.plknn import PLKNN as PLKNN
    from oneof.estimators.online.pegasos import AvgPegasos as AvgPegasos
    from oneof.estimators.online.pegasos import MaxPegasos as MaxPegasos
    from oneof.estimators.online.perceptron import AvgPerceptron as AvgPerceptron
    from oneof.estimators.online.perceptron import MaxPerceptron as MaxPerceptron
    from oneof.estimators.svm.plsvm import PLSVM as PLSVM
    from oneof.estimators.svm.transductive_svm import TransductiveSVM as TransductiveSVM
    from oneof.estimators.wrappers.candidate_em import CandidateEM as CandidateEM
    from oneof.estimators.wrappers.plecoc import PLECOC as PLECOC
    from oneof.graphs import diffusion_kernel as diffusion_kernel
    from oneof.graphs import regularized_laplacian_kernel as regularized_laplacian_kernel

_LAZY_NAMES = {
    "AvgPegasos": "oneof.estimators.online.pegasos",
    "AvgPerceptron": "oneof.estimators.online.perceptron",
    "CLPL": "oneof.estimators.linear.clpl",
    "CandidateEM": "oneof.estimators.wrappers.candidate_em",
    "CandidateSets": "oneof.candidates",
    "CandidateStacking": "oneof.estimators.candidate_stacking",
    "GaussianEM": "oneof.estimators.generative.gaussian_em",
    "GraphLogisticRegression": "oneof.estimators.graph_logistic.graph_logistic",
    "HarmonicField": "oneof.estimators.graph.harmonic_field",
    "IPAL": "oneof.estimators.neighbors.ipal",
    "FIRST_CHOICE": "oneof.estimators.loo_ridge",
    "LOORidge": "oneof.estimators.loo_ridge",
    "LocalGlobalConsistency": "oneof.estimators.graph.local_global_consistency",
    "MarkovWalk": "oneof.estimators.graph.markov_walk",
    "MaxPegasos": "oneof.estimators.online.pegasos",
    "MaxPerceptron": "oneof.estimators.online.perceptron",
    "MultinomialEM": "oneof.estimators.generative.multinomial_em",
    "PLECOC": "oneof.estimators.wrappers.plecoc",
    "PLEM": "oneof.estimators.linear.plem",
    "PLGP": "oneof.estimators.gaussian_process.plgp",
    "PLKNN": "oneof.estimators.neighbors.plknn",
    "PLSVM": "oneof.estimators.svm.plsvm",
    "PoissonLearning": "oneof.estimators.graph.poisson_learning",
    "SpectralGraphTransducer": "oneof.estimators.graph.spectral_graph_transducer",
    "TransductiveSVM": "oneof.estimators.svm.transductive_svm",
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
