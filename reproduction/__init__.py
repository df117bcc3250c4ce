"""The papers' experiments: trials that are data, records that survive, and what the papers claimed, checked."""

from reproduction.catalogue import NAMES, find, listed
from reproduction.claims import Claim
from reproduction.experiment import Experiment
from reproduction.records import Record, Records
from reproduction.runner import left_of, run
from reproduction.store import Store
from reproduction.trial import Trial

__all__ = ["NAMES", "find", "left_of", "listed", "run", "Claim", "Experiment", "Record", "Records", "Store", "Trial"]
