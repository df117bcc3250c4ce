"""Data sets in one form, and ambiguity made around true labels."""

from oneof.datasets.dataset import Dataset
from oneof.datasets.listing import DatasetInfo, describe, names
from oneof.datasets.loading import load
from oneof.datasets.matlab import load_mat
from oneof.datasets.partial import make_partial_labels
from oneof.datasets.sensors import TwoSensors, make_two_sensors

__all__ = [
    "load",
    "names",
    "describe",
    "load_mat",
    "make_partial_labels",
    "make_two_sensors",
    "Dataset",
    "DatasetInfo",
    "TwoSensors",
]
