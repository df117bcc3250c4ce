"""From rows with one or several views to what the solver of graph-prior logistic regression takes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.estimators.distinct import merge_rows
from oneof.estimators.graph_prior import blocks, disagreement, smoothness
from oneof.estimators.view_features import ViewFeatures
from oneof.estimators.view_model import stack
from oneof.graphs import GraphRule, check_affinity
from oneof.kernels import Kernel
from oneof.solvers.graph_logistic import Term
from oneof.typing import Floats, Ints, Mask, Rows


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

    @property
    def roughness(self) -> float:
        """The mean of A's diagonal, without the constant; 1 where A is 0."""
        size = self.size - self.features.has_constant
        return float(self.smoothness.diagonal().sum()) / max(size, 1) or 1.0

    def penalised(self) -> Floats:
        """Return 1 for each feature, but 0 for the constant."""
        out = np.ones(self.size)
        if self.features.has_constant:
            out[-1] = 0.0
        return out


def read_view(
    rows: Rows,
    columns: Ints | None,
    here: Mask,
    told: Mask,
    weight: Floats,
    rule: GraphRule,
    *,
    kernel: Callable[[Rows], Kernel] | None,
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
    rule : GraphRule
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
                f'{name}: no labelled row has it, so there are no rows to make kernel features of: use features="raw".'
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


def labelled_instances(
    rows: Rows, mask: Mask, told: Mask, weight: Floats, views: list[View]
) -> tuple[Rows, Mask, Floats]:
    """Return an instance of each labelled row for each view that it has, with its set and its weight."""
    members = [np.flatnonzero(view.here & told & (weight > 0)) for view in views]
    parts = [view.features.instances(rows[known]) for view, known in zip(views, members, strict=True)]
    every = np.concatenate(members)
    return stack(parts, list(range(len(views))), [view.size for view in views]), mask[every], weight[every]


def prior_terms(
    rows: Rows, told: Mask, weight: Floats, views: list[View], *, prior: str, per_class: bool, numbered: bool
) -> list[Term]:
    """Return the terms of the prior: of each view its graph, and ridge or ARD; and the agreement of the views."""
    sizes = [view.size for view in views]
    terms = []
    for place, view in enumerate(views):
        suffix = f" {place}" if numbered else ""
        smooth = blocks({(place, place): view.smoothness / view.roughness}, sizes)
        terms.append(Term(f"graph{suffix}", smooth, per_class=per_class))
        if prior != "graph":
            weights = [view.penalised() if j == place else np.zeros(size) for j, size in enumerate(sizes)]
            diagonal = sp.csr_array(sp.diags_array(np.concatenate(weights), format="csr"))
            extra = prior.removeprefix("graph+")
            terms.append(Term(f"{extra}{suffix}", diagonal, per_weight=extra == "ard", per_class=per_class))
    if len(views) > 1:
        parts = _agreements(rows, told, weight, views)
        if parts:
            terms.append(Term("agreement", blocks(parts, sizes)))
    return terms


def _agreements(rows: Rows, told: Mask, weight: Floats, views: list[View]) -> dict[tuple[int, int], Any]:
    parts: dict[tuple[int, int], Any] = {}
    for a in range(len(views)):
        for b in range(a + 1, len(views)):
            both = np.flatnonzero(views[a].here & views[b].here & ~told & (weight > 0))
            if not len(both):
                continue
            left, right = views[a].features.instances(rows[both]), views[b].features.instances(rows[both])
            own, across, other = disagreement(left, right, weight[both])
            parts[a, a] = parts[a, a] + own if (a, a) in parts else own
            parts[b, b] = parts[b, b] + other if (b, b) in parts else other
            parts[a, b] = across
    return parts


def precisions_of_rows(precisions: dict[str, Floats], views: list[View]) -> dict[str, Floats]:
    """Return precisions for weights of the features as they were given; those of ARD for the view's features alone."""
    starts = np.concatenate([[0], np.cumsum([view.size for view in views])])
    out = {}
    for name, found in precisions.items():
        kind, _, number = name.partition(" ")
        place = int(number or 0)
        view, value = views[place], found
        with np.errstate(over="ignore", under="ignore"):
            if kind == "graph":
                value = found / view.roughness
            elif kind in ("ridge", "ard"):
                value = found * np.float64(view.features.unit) ** 2
            if kind == "ard":
                value = value[..., starts[place] : starts[place + 1] - view.features.has_constant]
        out[name] = np.asarray(value)
    return out
