"""Encoding of the rows of `fit` for the solver: the features and the graph of each view, and the terms of the prior."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.estimators.deduplicate import merge_rows
from oneof.estimators.graph_logistic._views import ViewFeatures, place_columns, rows_with_view
from oneof.graphs import NeighborGraph, check_affinity
from oneof.kernels import Kernel
from oneof.likelihoods import constant_rows
from oneof.solvers.graph_logistic import PriorTerm
from oneof.solvers.graph_logistic.prior import densify_if_full, disagreement_matrix, smoothness_matrix
from oneof.solvers.graph_logistic.solve import LabeledInstances
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints, Labels, Mask

_REFERENCE_N_FEATURES = 100
"""Number of features above which the unit of a precision grows in proportion to it.

The prior variance of the scores, p / lambda, is then bounded.
"""


@dataclass(frozen=True)
class ViewEncoder:
    """Rows of `fit`, and the settings by which their views are encoded.

    Attributes
    ----------
    rows : ndarray or CSR matrix of shape (n, d)
    evidence : ndarray of shape (n, K)
    weight : ndarray of shape (n,)
        A row of weight w is equivalent to w equal rows.
    names : ndarray of shape (d,) or None
        The column names, for errors.
    builder : NeighborGraph
        Parameters of the graph to build.
    make_kernel : callable or None
        Function from rows to the kernel fitted to them, for kernel features.
    has_constant : bool
        Whether a constant feature 1 is appended.
    """

    rows: FeatureMatrix
    evidence: Evidence
    weight: Floats
    names: Labels | None
    builder: NeighborGraph
    make_kernel: Callable[[FeatureMatrix], Kernel] | None
    has_constant: bool

    @cached_property
    def labeled(self) -> Mask:
        """Mask of the rows that are not unlabeled."""
        return ~constant_rows(self.evidence)

    def encode(self, index: int, columns: Ints | None) -> "EncodedView":
        """Build the graph of the rows that have a view, and compute its features and its smoothness matrix.

        Raises
        ------
        InputError
            If no row has the view, or no labeled row has it and the features are kernels.
        """
        rows, weight = self.rows, self.weight
        present = rows_with_view(rows, columns, self.names)
        used = present & (weight > 0)
        if not used.any():
            raise InputError(
                f"`views[{index}]`: no row has this view, since all its columns are NaN. Remove it from `views`."
            )
        view = rows if columns is None else rows[:, columns]
        distinct, total = merge_rows(view, weight * present)
        vertices, kernel, basis = view[distinct], None, None
        if self.make_kernel is not None:
            selected, _ = merge_rows(view, weight * (present & self.labeled))
            if not len(selected):
                raise InputError(
                    f"`views[{index}]`: no labeled row has this view, so that it has no kernel features. "
                    'Pass features="raw", or label a row that has the view.'
                )
            basis = view[selected]
            kernel = self.make_kernel(basis)
        features = ViewFeatures.from_rows(
            vertices, total, columns=columns, kernel=kernel, basis=basis, has_constant=self.has_constant
        )
        given = self.builder.affinity
        if isinstance(given, str) or callable(given):
            affinity = self.builder.graph(vertices).affinity
        else:  # a matrix over all rows, including equal ones; a view has the edges between its rows
            affinity = check_affinity(given, rows.shape[0])[used][:, used]
            distinct, total = np.flatnonzero(used), weight[used]
        return EncodedView(features, present, smoothness_matrix(features.instances(rows[distinct]), affinity, total))


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


def labeled_instances(encoder: ViewEncoder, views: list[EncodedView]) -> LabeledInstances:
    """Return the instances in the likelihood: those of labeled rows with a positive weight.

    Their `span` are the instances of all rows with a positive weight; None if they are as many as the weights, or
    kernels.
    """
    used, sizes = encoder.weight > 0, [view.size for view in views]

    def stack(mask: Mask) -> tuple[FeatureMatrix, list[Ints]]:
        members = [np.flatnonzero(view.present & mask) for view in views]
        blocks = [
            place_columns(view.features.instances(encoder.rows[own]), index, sizes)
            for index, (view, own) in enumerate(zip(views, members, strict=True))
        ]
        return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.vstack(blocks), members

    instances, members = stack(encoder.labeled & used)
    row = np.concatenate(members)
    view_of_instance = np.repeat(np.arange(len(views)), [len(own) for own in members])
    is_narrow = all(view.features.kernel or (view.present & used).sum() >= view.size for view in views)
    span = None if is_narrow else stack(used)[0]
    return LabeledInstances(instances, encoder.evidence[row], encoder.weight[row], view_of_instance, span)


# -- the terms of the prior -----------------------------------------------------------------------------------------


class ScaledTerm(NamedTuple):
    """Term of the prior in its own unit, so that one hyper-prior fits all terms.

    Attributes
    ----------
    term : PriorTerm
    scale : float
        Precision for the original features that corresponds to 1 in this unit.
    """

    term: PriorTerm
    scale: float

    def unscale(self, precision: Floats) -> Floats:
        """Return the precisions for the original features; those of ARD for the features of the view only."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            value = np.asarray(precision * np.float64(self.scale))
        value = np.where(np.isnan(value), precision, value)  # 0 stays 0 in any unit
        return value[self.term.penalized] if self.term.per_weight else value


def prior_terms(encoder: ViewEncoder, views: list[EncodedView], prior: str, *, numbered: bool) -> list[ScaledTerm]:
    """Return the terms of the prior: graph and ridge or ARD of each view, and the coregularization of the views."""
    sizes = [view.size for view in views]
    terms = []
    for index, view in enumerate(views):
        suffix = f" {index}" if numbered else ""
        n_features = view.size - view.features.has_constant
        diagonal = view.smoothness.diagonal()
        mean = float(diagonal[diagonal > 0].mean()) if (diagonal > 0).any() else 1.0
        size_factor = max(n_features, _REFERENCE_N_FEATURES) / _REFERENCE_N_FEATURES
        scaled = view.smoothness * (size_factor / mean)
        if len(views) > 1:
            blocks = [sp.csr_array((size, size)) for size in sizes]
            blocks[index] = scaled
            scaled = densify_if_full(sp.csr_array(sp.block_diag(blocks)))
        terms.append(ScaledTerm(PriorTerm(f"graph{suffix}", scaled), size_factor / mean))
        if prior != "graph":
            kind = prior.removeprefix("graph+")
            scale = 1.0 if kind == "ard" else size_factor
            entries = np.zeros(sum(sizes))
            start = sum(sizes[:index])
            entries[start : start + n_features] = scale
            term = PriorTerm(f"{kind}{suffix}", sp.diags_array(entries, format="csr"), per_weight=kind == "ard")
            with np.errstate(over="ignore", under="ignore"):
                terms.append(ScaledTerm(term, float(scale * np.float64(view.features.total_scale) ** 2)))
    matrices, pairs = [], 0.0
    for a, b in combinations(range(len(views)), 2):
        both = np.flatnonzero(views[a].present & views[b].present & ~encoder.labeled & (encoder.weight > 0))
        if not len(both):
            continue
        left, right = (place_columns(views[v].features.instances(encoder.rows[both]), v, sizes) for v in (a, b))
        matrices.append(disagreement_matrix(left, right, encoder.weight[both]))
        pairs += float(encoder.weight[both].sum())
    if matrices:
        # Features have mean variance 1, and so does the diagonal if they are centered; sparse features are not.
        mean = 2.0 * pairs / len(views)
        coregularization = PriorTerm("coregularization", sum(matrices) / mean, couples_views=True)
        terms.append(ScaledTerm(coregularization, 1.0 / mean))
    return terms
