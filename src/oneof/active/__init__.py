"""Active learning: select the most informative rows to label, and simulate how fast a method improves with them.

Reading order:

1. `queries`: rows of a pool, by mutual information, entropy, margin or at random.
2. `subsets`: pairs of a row and a subset of the classes, for the question whether the label is in the subset.
3. `simulation`: alternating queries and fits, on rows with known labels.
"""

from oneof.active.queries import Query, query
from oneof.active.simulation import Simulation, simulate
from oneof.active.subsets import SubsetQuery, query_subsets

__all__ = ["Query", "Simulation", "SubsetQuery", "query", "query_subsets", "simulate"]
