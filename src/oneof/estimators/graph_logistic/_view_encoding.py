"""Encoding of the rows of `fit` for the solver: the features and the graph of each view, and the terms of the prior."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.estimators.deduplicate import merge_rows
from oneof.estimators.graph_logistic._views import ViewFeatures, rows_with_view, stack_views
from oneof.graphs import NeighborGraph, check_affinity
from oneof.kernels import Kernel
from oneof.likelihoods import constant_rows
from oneof.solvers.graph_logistic import PriorTerm
from oneof.solvers.graph_logistic.prior import block_matrix, disagreement_blocks, smoothness_matrix
from oneof.solvers.graph_logistic.solve import LabeledInstances
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints, Labels, Mask

_REFERENCE_N_FEATURES = 100
"""Number of features above which the unit of a precision grows in proportion to it.

The prior variance of the scores, p / lambda, is then bounded.
"""


@dataclass(frozen=True)
class EncodedView:
    """One view of the rows of `fit`.

    Attributes
    ----------
    features : ViewFeatures
    present : ndarray of shape (n,), bool
        Mask of the rows that have the view.
    smoothness : ndarray or csr_array of shape (p, p)
        A = X^T L X of the graph of the view.
    """

    features: ViewFeatures
    present: Mask
    smoothness: Any

    @property
    def size(self) -> int:
        """Number of features, including the constant."""
        return int(self.smoothness.shape[0])


def make_views(
    rows: FeatureMatrix,
    groups: list[Any],
    names: Labels | None,
    labeled: Mask,
    weight: Floats,
    builder: NeighborGraph,
    *,
    kernel: Callable[[FeatureMatrix], Kernel] | None,
    has_constant: bool,
) -> list[EncodedView]:
    """Encode each group of columns as a view; a group None is one view of all columns. See `make_view`."""
    all_rows = np.ones(rows.shape[0], dtype=bool)
    views = []
    for index, columns in enumerate(groups):
        present = all_rows if columns is None else rows_with_view(rows, columns, names)
        views.append(
            make_view(
                rows,
                columns,
                present,
                labeled,
                weight,
                builder,
                kernel=kernel,
                has_constant=has_constant,
                name=f"views[{index}]",
            )
        )
    return views


def make_view(
    rows: FeatureMatrix,
    columns: Ints | None,
    present: Mask,
    labeled: Mask,
    weight: Floats,
    builder: NeighborGraph,
    *,
    kernel: Callable[[FeatureMatrix], Kernel] | None,
    has_constant: bool,
    name: str,
) -> EncodedView:
    """Build the graph of the rows that have a view, and compute its features and its smoothness matrix.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    columns : ndarray of column indices or None
        Columns of the view; None for all.
    present, labeled : ndarray of shape (n,), bool
        Masks of the rows that have the view, and of the rows that are not unlabeled.
    weight : ndarray of shape (n,)
        A row of weight w is equivalent to w equal rows.
    builder : NeighborGraph
        Parameters of the graph to build.
    kernel : callable or None
        Function from rows to the kernel fitted to them, for kernel features.
    has_constant : bool
        Whether a constant feature 1 is appended.
    name : str
        Name of the view in errors.

    Returns
    -------
    EncodedView

    Raises
    ------
    InputError
        If no row has the view, or no labeled row has it and the features are kernels.
    """
    used = present & (weight > 0)
    if not used.any():
        raise InputError(f"`{name}`: no row has this view, since all its columns are NaN. Remove it from `views`.")
    view = rows if columns is None else rows[:, columns]
    distinct, total = merge_rows(view, weight * present)
    vertices = view[distinct]
    fitted = basis = None
    if kernel is not None:
        selected, _ = merge_rows(view, weight * (present & labeled))
        if not len(selected):
            raise InputError(
                f"`{name}`: no labeled row has this view, so that it has no kernel features. "
                'Pass features="raw", or label a row that has the view.'
            )
        basis = view[selected]
        fitted = kernel(basis)
    features = ViewFeatures.from_rows(
        vertices, total, columns=columns, kernel=fitted, basis=basis, has_constant=has_constant
    )
    if isinstance(builder.affinity, str) or callable(builder.affinity):
        smoothness = smoothness_matrix(features.transform(vertices), builder.graph(vertices).affinity, total)
        return EncodedView(features, present, smoothness)
    # A given affinity matrix is over all rows, including equal ones. A view has the edges between its rows.
    used_rows = np.flatnonzero(used)
    affinity = check_affinity(builder.affinity, rows.shape[0])[used_rows][:, used_rows]
    smoothness = smoothness_matrix(features.transform(view[used_rows]), affinity, weight[used_rows])
    return EncodedView(features, present, smoothness)


def labeled_instances(
    rows: FeatureMatrix, evidence: Evidence, weight: Floats, views: list[EncodedView]
) -> LabeledInstances:
    """Return the instances in the likelihood: those of labeled rows with a positive weight."""
    labeled = ~constant_rows(evidence) & (weight > 0)
    members = [np.flatnonzero(view.present & labeled) for view in views]
    blocks = [view.features.instances(rows[own]) for view, own in zip(views, members, strict=True)]
    row_of_instance = np.concatenate(members)
    indices = list(range(len(views)))
    instances = stack_views(blocks, indices, [view.size for view in views])
    view_of_instance = np.repeat(indices, [len(own) for own in members])
    return LabeledInstances(
        instances,
        evidence[row_of_instance],
        weight[row_of_instance],
        view_of_instance,
        row_of_instance,
        _spanning_instances(rows, weight, views),
    )


def _spanning_instances(rows: FeatureMatrix, weight: Floats, views: list[EncodedView]) -> FeatureMatrix | None:
    """Return the instances of all rows with a positive weight; None if they are as many as the weights, or kernels."""
    members = [np.flatnonzero(view.present & (weight > 0)) for view in views]
    sizes = [view.size for view in views]
    if all(len(own) >= size or view.features.kernel for own, size, view in zip(members, sizes, views, strict=True)):
        return None
    blocks = [view.features.instances(rows[own]) for view, own in zip(views, members, strict=True)]
    return stack_views(blocks, list(range(len(views))), sizes)


# -- the terms of the prior -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScaledTerm:
    """Term of the prior in its own unit, so that one hyper-prior fits all terms.

    Attributes
    ----------
    term : PriorTerm
    scale : float
        Precision for the original features that corresponds to 1 in this unit.
    weights : slice
        Indices of the weights of an ARD term, among all D.
    """

    term: PriorTerm
    scale: float
    weights: slice

    def unscale(self, precision: Floats) -> Floats:
        """Return the precisions for the original features; those of ARD for the features of the view only."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value = np.asarray(precision * np.float64(self.scale))
        value = np.where(np.isnan(value), precision, value)  # 0 and infinity stay in any unit
        return value[..., self.weights] if self.term.per_weight else value


def prior_terms(
    rows: FeatureMatrix,
    labeled: Mask,
    weight: Floats,
    views: list[EncodedView],
    *,
    prior: str,
    numbered: bool,
) -> list[ScaledTerm]:
    """Return the terms of the prior: graph and ridge or ARD of each view, and the coregularization of the views."""
    sizes = [view.size for view in views]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    terms = []
    for index, view in enumerate(views):
        suffix = f" {index}" if numbered else ""
        own = slice(int(starts[index]), int(starts[index + 1]) - view.features.has_constant)
        diagonal = view.smoothness.diagonal()
        mean = float(diagonal[diagonal > 0].mean()) if (diagonal > 0).any() else 1.0
        size_factor = max(own.stop - own.start, _REFERENCE_N_FEATURES) / _REFERENCE_N_FEATURES
        scaled = view.smoothness * (size_factor / mean)
        graph = PriorTerm(f"graph{suffix}", block_matrix({(index, index): scaled}, sizes))
        terms.append(ScaledTerm(graph, size_factor / mean, own))
        if prior != "graph":
            kind = prior.removeprefix("graph+")
            scale = 1.0 if kind == "ard" else size_factor
            entries = np.zeros(starts[-1])
            entries[own] = scale
            matrix = sp.csr_array(sp.diags_array(entries, format="csr"))
            term = PriorTerm(f"{kind}{suffix}", matrix, per_weight=kind == "ard")
            with np.errstate(over="ignore", under="ignore"):
                terms.append(ScaledTerm(term, float(scale * np.float64(view.features.total_scale) ** 2), own))
    blocks, pairs = _disagreement(rows, labeled, weight, views)
    if blocks:
        # Features have mean variance 1, and so does the diagonal if they are centered; sparse features are not.
        mean = 2.0 * pairs / len(views)
        coregularization = PriorTerm("coregularization", block_matrix(blocks, sizes) / mean, couples_views=True)
        terms.append(ScaledTerm(coregularization, 1.0 / mean, slice(None)))
    return terms


def _disagreement(
    rows: FeatureMatrix, labeled: Mask, weight: Floats, views: list[EncodedView]
) -> tuple[dict[tuple[int, int], Any], float]:
    """Return the upper blocks of the disagreement matrix C of unlabeled rows with two views, and their total weight."""
    blocks: dict[tuple[int, int], Any] = {}
    pairs = 0.0
    for a in range(len(views)):
        for b in range(a + 1, len(views)):
            both = np.flatnonzero(views[a].present & views[b].present & ~labeled & (weight > 0))
            if not len(both):
                continue
            left, right = views[a].features.instances(rows[both]), views[b].features.instances(rows[both])
            first, cross, second = disagreement_blocks(left, right, weight[both])
            blocks[a, a] = blocks[a, a] + first if (a, a) in blocks else first
            blocks[b, b] = blocks[b, b] + second if (b, b) in blocks else second
            blocks[a, b] = cross
            pairs += float(weight[both].sum())
    return blocks, pairs
