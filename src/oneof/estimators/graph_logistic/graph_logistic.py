"""Logistic regression with weights that are smooth along a graph of all rows, for one view or several."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.errors import InputError
from oneof.estimators.base import DecisionFunctionMixin, SampleWeightMixin, TrainingRows
from oneof.estimators.graph_logistic._views import (
    EncodedView,
    ScaledTerm,
    ViewEncoder,
    ViewModel,
    labeled_instances,
    parse_views,
    prior_terms,
)
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.graphs import NeighborGraph
from oneof.kernels.svc import KERNELS, Kernel
from oneof.likelihoods import softmax
from oneof.messages import warn
from oneof.solvers.graph_logistic import LogisticPosterior
from oneof.solvers.graph_logistic.solve import FittedViews, fit_views
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_choice


@estimator
class GraphLogisticRegression(DecisionFunctionMixin, SampleWeightMixin):
    """Logistic regression with scores that vary little along the edges of a graph of all rows.

    The graph connects all rows, labeled or not, with their nearest neighbors; L is its Laplacian and A = X^T L X. The
    objective is the log likelihood of the candidate sets, sum_i v_i log sum_{k in S_i} p(k | x_i), minus
    1/2 sum_c w_c^T (lambda_0 A + Lambda) w_c. If the candidates of row i have weights e_ik, its term is v_i log sum_k
    e_ik p(k | x_i). The objective is maximized over the weights w_c of all classes but the last, which has weights of
    0. Unlabeled rows thus push the decision boundaries into regions of low density. New rows are
    classified by the weights alone. The precisions of the terms of the prior are estimated from the data.

    Parameters
    ----------
    prior : {"graph", "graph+ridge", "graph+ard"}, default="graph+ridge"
        Lambda: 0, a precision times I, or a precision for each weight (ARD).
    precision : {"evidence", "em"}, default="evidence"
        Estimation of the precisions: by the Laplace evidence, or by the paper's EM algorithm, with the precisions as
        missing data. EM converges to weights of 0 if there are few labels; see Notes.
    solver : {"newton", "block", "sequential"}, default="newton"
        Estimation of the weights given the precisions: by Newton's method, or by the paper's steps with Böhning's
        bound, of all weights together or one at a time. On exact labels all reach the same weights, "newton" many times
        faster. With candidate sets the likelihood may have several maxima, and each solver reaches one of them. With
        "newton", classes that occur in the same sets keep equal weights, except the last, which has weights of 0.
    features : {"raw", "kernel"}, default="raw"
        "kernel": the kernels of each row with the distinct labeled rows, k(x, x_1), k(x, x_2), ...
    views : list of column groups, optional
        Co-training. Each group, by indices, names, a slice or a boolean mask, is a view, such as one of several
        sensors. Each view has its own graph, weights and precisions; a further prior term couples the views on
        unlabeled rows. A row lacks a view if all columns of the view are NaN; NaN in some of them is an error.
    coregularization : {"auto", True, False}, default="auto"
        Whether the views are coupled on unlabeled rows. "auto": unless this lowers the likelihood of left-out labels.
    fit_intercept : bool, default=True
        Whether scores have an intercept. It is not penalized: the Laplacian annihilates constants, and no other term of
        the prior includes it.
    kernel : {"rbf", "linear", "poly"} or callable, default="rbf"
        Kernel of the kernel features, as for scikit-learn's SVC; "poly" is of degree 3 with coef0 = 0.
    gamma : float, "scale" or "auto", default="scale"
        Coefficient of the kernels "rbf" and "poly".
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Edge weights, or the affinity of the rows of fit; see `oneof.graphs.NeighborGraph`, also for the next two
        parameters. A callable is called with the distinct rows of a view; it may return
        ``NeighborGraph(...).graph(rows).affinity`` with other parameters. A matrix is the affinity of all rows, and
        each view has the edges between the rows that have it.
    n_neighbors : int, default=5
        Number of neighbors of each row; all other rows if there are fewer.
    symmetrize : {"union", "mutual", "sum"}, default="union"
        Symmetrization of the neighbor graph.
    alpha, beta : float or "auto", default="auto"
        Parameters of the Gamma hyper-prior of every precision, at least 0; both 0 is the scale-free limit. "auto": 1
        and 10 with "evidence", .01 and .1 with ARD, which has to switch weights off, and 0 with "em". The unit is the
        precision that corresponds to C = 1 in scikit-learn's `LogisticRegression`, on features of mean variance 1,
        times p / 100 if the number of features p is above 100; see Notes.
    class_weight : dict or "balanced", default=None
        Weights of the classes by label, which multiply those of the rows as in `GaussianEM`.
    max_iter : int, default=200
        Maximum number of iterations, each of one M-step and one update of the precisions.
    tol : float, default=1e-6
        Above 0: relative change of precisions and weights at which the iterations stop.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes - 1, n_features), or a list of them
        The weights; the last class has 0. With views, one array for each, in the order of its columns; with kernel
        features, the weights of those.
    intercept_ : ndarray of shape (n_classes - 1,), or a list of them
        The intercepts; with views, one array for each.
    precisions_ : dict of str to ndarray
        Precisions of "graph", "ridge" and "ard", with views of "graph 0", "graph 1", ... and "coregularization" (0 if
        the views are not coupled), for the original features; with ARD one for each weight.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views in predictions, which sum to 1. A weight is proportional to the mean log likelihood of
        left-out labels under the view, minus that under the class frequencies. All are equal if none is positive.
    objective_ : float
        Final value of the Laplace log evidence, or with "em" of the objective with the precisions integrated out.
    objective_path_ : ndarray of shape (n_values,)
        The objective after each iteration, without rejected steps.
    transduction_ : ndarray of shape (n_samples,)
        Labels of the rows of fit: the most probable member of each row's set.
    posterior_ : LogisticPosterior
        Laplace posterior of the weights, for active learning; computed on first access, and not part of a model that
        was saved, pickled or copied.
    n_iter_ : int
        Number of iterations.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` was reached before convergence, or EM ended at weights of 0.

    Notes
    -----
    As published, w_c = 0 is a maximum of the EM objective, and with few labels the only one: a larger precision gives
    smaller weights, and these give a larger precision. The evidence counts the number of weights that the labels
    determine, instead of all weights. With about 20 labels of several classes it has no maximum either, in the
    scale-free limit, and the weights converge to 0 or diverge. The hyper-prior prevents that, and has hardly any
    effect with many labels. Its mean is .1 in the unit of each term of the prior: the features have mean variance 1,
    and A is scaled to a mean diagonal of 1. Above 100 features the unit grows with their number, so that the prior
    variance of the scores does not grow further. The precisions of single weights and of the coregularization always
    have the unit 1.

    A graph with several components lowers the rank of A. Differences of level between the components are then not
    penalized, like the intercept, if the features can separate the components. Weights that neither the prior nor the
    labels determine, such as those of constant features, are 0. As the last class has weights of 0, three classes or
    more are not treated symmetrically: another order of the classes gives another prior, which matters
    if few rows have labels.

    Equal rows are one vertex with the sum of their weights, so that a row of weight 2 equals two rows in the graph too.
    With views, rows are predicted by the mean of the log-odds of their views, weighted by `view_weights_`. A row
    without any view has uniform probabilities.

    References
    ----------
    Krishnapuram, Williams, Xue, Hartemink, Carin & Figueiredo (2004), On semi-supervised classification, NIPS 17.
    MacKay (1992), The evidence framework applied to classification networks, Neural Computation.

    Examples
    --------
    >>> from oneof import GraphLogisticRegression
    >>> X = [[0.0, 0.3], [1.0, 0.1], [2.1, 0.2], [5.0, 0.0], [6.1, 0.3], [7.0, 0.2]]
    >>> model = GraphLogisticRegression(n_neighbors=2).fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[0.4, 0.2], [6.6, 0.2]]).tolist()
    ['a', 'b']

    Two views of two columns each; the last row lacks the first view.

    >>> rows = [[*row, *row] for row in X]
    >>> rows[-1][:2] = [float("nan"), float("nan")]
    >>> model = GraphLogisticRegression(views=[[0, 1], [2, 3]], n_neighbors=2).fit(rows, list("aaabbb"))
    >>> model.predict_proba(rows, view=0)[-1].tolist()
    [0.5, 0.5]
    >>> model.predict(rows)[-1]
    np.str_('b')
    """

    prior: Literal["graph", "graph+ridge", "graph+ard"] = "graph+ridge"
    precision: Literal["evidence", "em"] = "evidence"
    solver: Literal["newton", "block", "sequential"] = "newton"
    features: Literal["raw", "kernel"] = "raw"
    views: Any = None
    _: KW_ONLY
    coregularization: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    kernel: str | Callable[[Any, Any], Any] = "rbf"
    gamma: Positive | Literal["scale", "auto"] = "scale"
    affinity: Any = "gaussian"
    n_neighbors: int = 5
    symmetrize: Literal["union", "mutual", "sum"] = "union"
    alpha: NonNegative | Literal["auto"] = "auto"
    beta: NonNegative | Literal["auto"] = "auto"
    class_weight: Any = None
    max_iter: Count = 200
    tol: Positive = 1e-6

    def _fit(self, training: TrainingRows) -> None:
        # The units of the terms are such that one hyper-prior fits all of them; decision 0017 explains "auto".
        strength = 0.0 if self.precision == "em" else 0.01 if self.prior == "graph+ard" else 1.0
        names = getattr(self, "feature_names_in_", None)
        make_kernel = self._make_kernel if self.features == "kernel" else None
        encoder = ViewEncoder(training, names, self._neighbor_graph(), make_kernel, bool(self.fit_intercept))
        groups = [None] if self.views is None else parse_views(self.views, training.X.shape[1], names)
        views = [encoder.encode(index, columns) for index, columns in enumerate(groups)]
        terms = prior_terms(training, views, self.prior, numbered=self.views is not None)
        fitted = fit_views(
            labeled_instances(training, views),
            tuple(scaled.term for scaled in terms),
            len(views),
            coregularization="auto" if isinstance(self.coregularization, str) else bool(self.coregularization),
            precision=self.precision,
            solver=self.solver,
            alpha=strength if self.alpha == "auto" else float(self.alpha),
            beta=10.0 * strength if self.beta == "auto" else float(self.beta),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self._set_fitted_attributes(views, terms, fitted)
        self._warn_if_degenerate(fitted)
        self.transduction_ = training.most_probable(self._candidate_proba(training.X, training.candidates))

    def predict_proba(self, X: Any, view: int | None = None) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            With views, a row lacks a view if all columns of the view are NaN.
        view : int, optional
            Index of the view to predict with. By default, the log-odds of all views of a row are averaged with
            their weights.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; uniform for a row that lacks the view, or all views.

        Raises
        ------
        InputError
            If X is not valid, or `view` is not the index of a view.
        """
        rows = self._validate_rows(X)
        if view is None:
            return softmax(self._finite_scores(rows))
        return softmax(self._view_model.view_scores(rows, self._view_model.check_view(view))[0])

    def posterior_features(self, X: Any) -> list[tuple[Ints, FeatureMatrix]]:
        """Return, for each view, the rows that have it, and their instances in the features of `posterior_`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        list of (ndarray of row indices, ndarray or CSR array of shape (t, D))
            One for each view; D is the number of features of all views, including their constants.
        """
        rows = self._validate_rows(X)
        return [self._view_model.instances(rows, view) for view in range(len(self._view_model.features))]

    @property
    def posterior_(self) -> LogisticPosterior:
        """The Laplace posterior of the weights; computed on first access."""
        check_is_fitted(self)
        if self._fitted_views is None:
            raise InputError("A model that was saved, pickled or copied has no `posterior_`. Fit it again.")
        return self._fitted_views.posterior

    # -- private ----------------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._neighbor_graph()
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, tuple(KERNELS), " for kernel features, or a function of rows")
        if not isinstance(self.coregularization, bool | np.bool_):
            check_choice("coregularization", self.coregularization, ("auto",), ", True or False")

    def _neighbor_graph(self) -> NeighborGraph:
        return NeighborGraph(self.affinity, self.n_neighbors, symmetrize=self.symmetrize)

    def _make_kernel(self, rows: FeatureMatrix) -> Kernel:
        return Kernel.from_rows(self.kernel, rows, gamma=self.gamma, degree=3, coef0=0.0)

    def _set_fitted_attributes(self, views: list[EncodedView], terms: list[ScaledTerm], fitted: FittedViews) -> None:
        solution, starts = fitted.solution, np.cumsum([view.size for view in views])[:-1]
        features, weights = tuple(view.features for view in views), tuple(np.split(solution.weights, starts, axis=1))
        unscaled = [own.unscale(weight) for own, weight in zip(features, weights, strict=True)]
        self.coef_: Any
        self.intercept_: Any
        self.coef_, self.intercept_ = unscaled[0] if self.views is None else map(list, zip(*unscaled, strict=True))
        self.precisions_ = {
            scaled.term.name: scaled.unscale(solution.precisions.get(scaled.term.name, np.zeros(())))
            for scaled in terms
        }
        self._set_path(solution.objective_path, solution.n_iter, solution.converged or solution.degenerate, "")
        self._fitted_views: FittedViews | None = fitted
        self.view_weights_ = fitted.view_weights
        self._view_model = ViewModel(features, weights, self.view_weights_, getattr(self, "feature_names_in_", None))

    def _warn_if_degenerate(self, fitted: FittedViews) -> None:
        """Warn if the EM algorithm ended at weights of 0."""
        n_rows, n_weights = len(fitted.labeled.evidence), fitted.solution.weights.size
        if fitted.solution.degenerate:
            warn(
                f'precision="em" ended at weights of 0: {n_rows} labeled rows are too few for '
                f"{n_weights} weights, since a larger precision gives smaller weights, and these give a "
                'larger precision. Pass precision="evidence", which counts only weights that the labels determine.',
                ConvergenceWarning,
            )

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._view_model.scores(rows)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_fitted_views" in state:  # large, and contains the rows of fit
            state["_fitted_views"] = None
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.views is not None
        return tags
