"""From rows with one or several views to what the solver of graph-prior logistic regression takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.estimators.deduplicate import merge_rows
from oneof.estimators.view_features import ViewFeatures
from oneof.estimators.view_model import stack
from oneof.estimators.views import rows_with
from oneof.graphs import NeighborGraph, check_affinity
from oneof.kernels import Kernel
from oneof.solvers.graph_logistic.matrices import smoothness
from oneof.solvers.graph_logistic.views import Labeled
from oneof.typing import FeatureMatrix, Floats, Ints, Labels, Mask


@dataclass(frozen=True)
class View:
    """One view of the rows of fit.

    Attributes
    ----------
    features : ViewFeatures
    here : ndarray of shape (n,), bool
        The rows that have it.
    smoothness : ndarray or csr_array of shape (p, p)
        A = X^T L X of its graph.
    """

    features: ViewFeatures
    here: Mask
    smoothness: Any

    @property
    def size(self) -> int:
        """Number of features, the constant included."""
        return int(self.smoothness.shape[0])


def encode_views(
    rows: FeatureMatrix,
    groups: list[Any],
    names: Labels | None,
    told: Mask,
    weight: Floats,
    rule: NeighborGraph,
    *,
    kernel: Callable[[FeatureMatrix], Kernel] | None,
    has_constant: bool,
) -> list[View]:
    """Encode each group of columns as a view, of which None stands for one of all columns; see `read_view`."""
    every = np.ones(rows.shape[0], dtype=bool)
    found = []
    for place, columns in enumerate(groups):
        here = every if columns is None else rows_with(rows, columns, names)
        found.append(
            read_view(
                rows,
                columns,
                here,
                told,
                weight,
                rule,
                kernel=kernel,
                has_constant=has_constant,
                name=f"views[{place}]",
            )
        )
    return found


def read_view(
    rows: FeatureMatrix,
    columns: Ints | None,
    here: Mask,
    told: Mask,
    weight: Floats,
    rule: NeighborGraph,
    *,
    kernel: Callable[[FeatureMatrix], Kernel] | None,
    has_constant: bool,
    name: str,
) -> View:
    """Link the rows that have a view, and work out its features and how smooth they are.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    columns : ndarray of column numbers or None
        Of the view; None for all.
    here, told : ndarray of shape (n,), bool
        The rows that have the view, and those that are not full.
    weight : ndarray of shape (n,)
        A row of weight w stands for w equal rows.
    rule : NeighborGraph
    kernel : callable or None
        From rows to the kernel that is fitted to them, for kernel features.
    has_constant : bool
    name : str
        Of the view, for errors.

    Raises
    ------
    InputError
        If no row has the view, or none of those from which kernel features would be made.
    """
    used = here & (weight > 0)
    if not used.any():
        raise InputError(f"{name}: no row has it, since its columns are all NaN; leave it out of views.")
    part = rows if columns is None else rows[:, columns]
    distinct, total = merge_rows(part, weight * here)
    vertices = part[distinct]
    fitted = basis = None
    if kernel is not None:
        known, _ = merge_rows(part, weight * (here & told))
        if not len(known):
            raise InputError(
                f'{name}: no labeled row has it, so there are no rows to make kernel features of: use features="raw".'
            )
        basis = part[known]
        fitted = kernel(basis)
    features = ViewFeatures.of(vertices, total, columns=columns, kernel=fitted, basis=basis, has_constant=has_constant)
    if isinstance(rule.affinity, str) or callable(rule.affinity):
        return View(features, here, smoothness(features.of_part(vertices), rule.graph(vertices).affinity, total))
    # A given affinity is that of all rows, equal ones or not; a view has the links among the rows that have it.
    among = np.flatnonzero(used)
    affinity = check_affinity(rule.affinity, rows.shape[0])[among][:, among]
    return View(features, here, smoothness(features.of_part(part[among]), affinity, weight[among]))


def labeled_instances(rows: FeatureMatrix, mask: Mask, weight: Floats, views: list[View]) -> Labeled:
    """Gather what the likelihood is made of: rows that have a weight, and a set that is not full."""
    told = ~mask.all(axis=1) & (weight > 0)
    members = [np.flatnonzero(view.here & told) for view in views]
    parts = [view.features.instances(rows[known]) for view, known in zip(views, members, strict=True)]
    every = np.concatenate(members)
    places = list(range(len(views)))
    instances = stack(parts, places, [view.size for view in views])
    return Labeled(instances, mask[every], weight[every], np.repeat(places, [len(known) for known in members]), every)
