"""The papers' experiments: trials that are data, records that survive, and what the papers claimed, checked."""

from oneof.experiments.catalogue import NAMES, find, listed
from oneof.experiments.claims import Claim
from oneof.experiments.experiment import Experiment
from oneof.experiments.records import Record, Records
from oneof.experiments.runner import left_of, run
from oneof.experiments.store import Store
from oneof.experiments.trial import Trial

__all__ = ["NAMES", "find", "left_of", "listed", "run", "Claim", "Experiment", "Record", "Records", "Store", "Trial"]
