"""Which rows to have labeled next, and how much faster a method learns from them."""

from oneof.active.queries import Query, query
from oneof.active.simulation import Simulation, simulate
from oneof.active.subsets import SubsetQuery, query_subsets

__all__ = ["Query", "Simulation", "SubsetQuery", "query", "query_subsets", "simulate"]
