"""Active learning: select the most informative rows to label, and simulate how fast a method improves with them.

Reading order:

1. `answer_models`: probabilities of answers of one label or two, and the density of rows.
2. `queries`: rows of a pool, by mutual information, entropy, margin or at random.
3. `subsets`: pairs of a row and a subset of the classes, for the question whether the label is in the subset.
4. `simulation`: alternating queries and fits, on rows with known labels.
"""

from oneof.active.answer_models import AnswerModel, local_density
from oneof.active.queries import Query, query
from oneof.active.simulation import Simulation, simulate
from oneof.active.subsets import SubsetQuery, query_subsets

__all__ = ["AnswerModel", "Query", "Simulation", "SubsetQuery", "local_density", "query", "query_subsets", "simulate"]
