"""Data sets with ambiguous labels, and candidate sets generated from true labels.

Read `dataset` first (the form that every loader returns), then `loading` (the search by name and the list of data
sets), `npz` (the stored form), `cache`, `registry` and `openml` (downloads), `matlab` (the field's MATLAB files), and
`partial_labels` and `distractors` (generated candidate sets).
"""

from oneof.datasets.dataset import Dataset
from oneof.datasets.loading import dataset_info, list_datasets, load
from oneof.datasets.matlab import load_mat
from oneof.datasets.partial_labels import make_partial_labels
from oneof.datasets.registry import DatasetInfo

__all__ = ["load", "list_datasets", "dataset_info", "load_mat", "make_partial_labels", "Dataset", "DatasetInfo"]
