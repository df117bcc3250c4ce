"""The spectral graph transducer: eigenvectors of a graph, a quadratic on a sphere, one problem for each class."""

from oneof.solvers.transducer.transduction import Transduction, transduce

__all__ = ["Transduction", "transduce"]
