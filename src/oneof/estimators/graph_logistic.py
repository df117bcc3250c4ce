"""Logistic regression whose weights are smooth along a graph of all rows, with one view of them or several."""

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier, DecisionFunctionMixin
from oneof.estimators.graph_encoding import View, encode_views, labeled_instances
from oneof.estimators.graph_parameters import check_choices, hyper_prior
from oneof.estimators.graph_terms import ScaledTerm, prior_terms
from oneof.estimators.view_model import ViewModel
from oneof.estimators.views import read_views
from oneof.graphs import NeighborGraph
from oneof.kernels import Kernel
from oneof.likelihoods import masked_softmax, softmax
from oneof.solvers.graph_logistic import LaplacePosterior
from oneof.solvers.graph_logistic.views import Learned, learn_views
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_sample_weight


class GraphLogisticRegression(DecisionFunctionMixin, CandidateClassifier):
    """Logistic regression whose weights vary the score little along the links of a graph of all rows.

    The rows, labeled and not, are linked to their nearest neighbors; L is the Laplacian of the links, A = X^T L X.
    The log likelihood of the candidate sets, sum_i v_i log sum_{k in S_i} p(k | x_i), is maximized less
    1/2 sum_c w_c^T (lambda_0 A + Lambda) w_c, over the weights w_c of all classes but the last, which has 0. Unlabeled
    rows thus push the boundaries into gaps, and new rows are classified by the weights alone. How much each part of the
    prior counts is found from the data.

    Parameters
    ----------
    prior : {"graph", "graph+ridge", "graph+ard"}, default="graph+ridge"
        Lambda: 0, a precision times I, or a precision for each weight (ARD).
    precision : {"evidence", "em"}, default="evidence"
        How precisions are found: by the Laplace evidence, or by the paper's EM algorithm, for which they are missing
        data, and which runs to weights of 0 where labels are few: see Notes.
    solver : {"newton", "block", "sequential"}, default="newton"
        How weights are found, given the precisions: by Newton's steps, or by the paper's steps with Böhning's bound, of
        all weights together or one after the other. All reach the same weights where labels are exact, "newton" many
        times faster; with candidate sets, of whose likelihood there may be several maxima, each reaches one. Classes
        that no set tells apart, but for the last, whose weights are 0, stay tied with "newton".
    features : {"raw", "kernel"}, default="raw"
        "kernel": of each row its kernels with the distinct labeled rows, k(x, x_1), k(x, x_2), ...
    views : list of column groups, optional
        Co-training. Each group, by numbers, names, a slice or a boolean mask, is a view, such as one of several
        sensors, with a graph, weights and precisions of its own, and a prior that all agree on unlabeled rows. A row
        lacks a view where all its columns are NaN; NaN in only a part of a view is an error.
    agreement : {"auto", True, False}, default="auto"
        Whether views are drawn together on unlabeled rows. "auto": if they then foretell left-out labels no worse.
    per_class : bool, default=False
        Whether each class but the last has precisions of its own.
    fit_intercept : bool, default=True
        Whether scores have a constant, which is free: the Laplacian annihilates constants, and no other part of the
        prior holds it.
    kernel, gamma, degree, coef0
        Of kernel features, as for scikit-learn's SVC.
    affinity : {"gaussian", "cosine", "binary"}, callable, array or sparse matrix, default="gaussian"
        Weights of the links, or what gives the affinity of the rows of fit: see `oneof.graphs.NeighborGraph`, also for the
        five parameters that follow. A callable gets the distinct rows of a view; a matrix is that of all rows, and each
        view takes its links among the rows that have it.
    n_neighbors : int, default=5
        Where there are fewer rows, all are linked.
    radius : float, optional
        Links within this distance, in place of the nearest neighbors.
    bandwidth : "local" or float, default="local"
        Of Gaussian weights.
    symmetrize : {"union", "mutual", "sum"}, default="union"
    algorithm : {"exact", "approximate"}, default="exact"
    alpha, beta : float or "auto", default="auto"
        Of the Gamma hyper-prior of every precision, at least 0; both 0 is the limit that knows no scale. "auto": 1 and
        10 by the evidence, .01 and .1 with ARD, which is to switch weights off, and 0 by EM. In units such that 1 is
        the precision that C = 1 stands for in scikit-learn's `LogisticRegression`, on features of mean variance 1, and
        p / 100 where these are more than 100: see Notes.
    max_iter : int, default=200
        Rounds, at most, of finding the weights and the precisions; a ConvergenceWarning says if they were not enough.
    tol : float, default=1e-6
        Above 0: relative change of precisions and weights at which rounds end.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes - 1, n_features), or a list of them
        The last class has 0. With views one for each, in the order of its columns; with kernel features those.
    intercept_ : ndarray of shape (n_classes - 1,), or a list of them
    precisions_ : dict of str to ndarray
        lambda of "graph", "ridge" and "ard", with views of "graph 0", "graph 1", ... and "agreement" (0 where it was
        given up), for features as they were given; with `per_class` the first axis is the class, with ARD the last one
        the weight.
    view_weights_ : ndarray of shape (n_views,)
        How much better each view foretells the labels of labeled rows than the frequencies of the classes do, if it
        has not seen the label in question: a mean log likelihood, as a share of the sum over the views. All are alike
        where none is better.
    objective_ : ndarray
        After each round the Laplace log evidence, or with "em" the objective with the precisions integrated out.
    transduction_ : ndarray of shape (n_samples,)
        The labels of the rows of fit: the most probable member of each one's set.
    posterior_ : LaplacePosterior
        Of the weights, for active learning; worked out when first asked for, and not part of a model that was saved,
        pickled or copied.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Warns
    -----
    ConvergenceWarning
        If the rounds ended by `max_iter`, or EM has run to weights of 0.

    Notes
    -----
    As published, w_c = 0 is a maximum of what EM climbs, and with few labels the only one: a larger precision makes
    smaller weights, and these a larger precision. The evidence counts how many weights the labels determine in place of
    all of them. With some 20 labels of several classes it has no maximum either, in the limit that knows no scale, and
    runs to weights of 0 or to infinite ones; the hyper-prior prevents that, and is hardly noticed where labels are
    many. Its mean is .1 in the unit of each part of the prior: where the features have mean variance 1, and A is scaled
    to a mean diagonal of 1. Beyond 100 features it grows with their number, so that the scores of hundreds are no more
    uncertain beforehand. The precision of a single weight, and of the agreement, has the unit 1 all the same.

    A graph in several parts leaves A with a lower rank: differences of level between the parts are then free, as the
    intercept is, if features can tell the parts apart. Weights that neither prior nor labels say anything of, as of
    constant features, are 0. As the last class has weights of 0, three classes or more are not treated alike: another
    order of them gives a slightly different prior.

    Equal rows are one vertex, with the sum of their weights, so that a row of weight 2 is the row twice in the graph
    too.

    With views, rows are predicted by the mean of the log-odds of the views that they have, in which a view counts by
    `view_weights_`; a row without any has equal shares.

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

    Two views of two columns each; of the last row only the second is known.

    >>> rows = [[*row, *row] for row in X]
    >>> rows[-1][:2] = [float("nan"), float("nan")]
    >>> model = GraphLogisticRegression(views=[[0, 1], [2, 3]], n_neighbors=2).fit(rows, list("aaabbb"))
    >>> model.predict_proba(rows, view=0)[-1].tolist()
    [0.5, 0.5]
    >>> model.predict(rows)[-1]
    np.str_('b')
    """

    def __init__(
        self,
        prior: Literal["graph", "graph+ridge", "graph+ard"] = "graph+ridge",
        precision: Literal["evidence", "em"] = "evidence",
        solver: Literal["newton", "block", "sequential"] = "newton",
        features: Literal["raw", "kernel"] = "raw",
        views: Any = None,
        *,
        agreement: bool | Literal["auto"] = "auto",
        per_class: bool = False,
        fit_intercept: bool = True,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        affinity: Any = "gaussian",
        n_neighbors: int = 5,
        radius: float | None = None,
        bandwidth: float | Literal["local"] = "local",
        symmetrize: Literal["union", "mutual", "sum"] = "union",
        algorithm: Literal["exact", "approximate"] = "exact",
        alpha: float | Literal["auto"] = "auto",
        beta: float | Literal["auto"] = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.prior = prior
        self.precision = precision
        self.solver = solver
        self.features = features
        self.views = views
        self.agreement = agreement
        self.per_class = per_class
        self.fit_intercept = fit_intercept
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.bandwidth = bandwidth
        self.symmetrize = symmetrize
        self.algorithm = algorithm
        self.alpha = alpha
        self.beta = beta
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Link all rows, and find weights and precisions.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            With views, a row lacks one where all its columns are NaN.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; a weight of 2 is the same as the row twice, as a labeled one and as a vertex of the graph.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used, a row has NaN in a part of a view, or a view is missing everywhere.
        """
        check_choices(self)
        alpha, beta = hyper_prior(self.alpha, self.beta, self.prior, self.precision)
        rule = NeighborGraph(
            self.affinity, self.n_neighbors, self.radius, self.bandwidth, self.symmetrize, self.algorithm
        )
        rows, candidates = self._validate_fit(X, y)
        told = ~candidates.is_unlabeled
        weight = check_sample_weight(sample_weight, rows.shape[0], told=told)
        names = getattr(self, "feature_names_in_", None)
        views = encode_views(
            rows,
            [None] if self.views is None else read_views(self.views, rows.shape[1], names),
            names,
            told,
            weight,
            rule,
            kernel=self._kernel_of if self.features == "kernel" else None,
            has_constant=bool(self.fit_intercept),
        )
        prior = prior_terms(
            rows,
            told,
            weight,
            views,
            prior=self.prior,
            per_class=bool(self.per_class),
            numbered=self.views is not None,
        )
        labeled = labeled_instances(rows, candidates.mask, weight, views)
        learned = learn_views(
            labeled,
            tuple(scaled.term for scaled in prior),
            len(views),
            agreement=self.agreement if isinstance(self.agreement, str) else bool(self.agreement),
            precision=self.precision,
            solver=self.solver,
            alpha=alpha,
            beta=beta,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )
        self._warn(learned)
        self._keep(views, prior, learned)
        self._decide(rows, candidates)
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any, view: int | None = None) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        view : int, optional
            What this view says alone. Without it, the views that a row has, by the mean of their log-odds.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; equal shares where a row lacks the view, or all of them.
        """
        rows = self._validate_rows(X)
        if view is None:
            return softmax(self._finite_scores(rows))
        return softmax(self._model.scores_of(rows, self._model.place(view))[0])

    def posterior_features(self, X: Any) -> list[tuple[Ints, FeatureMatrix]]:
        """Return, for each view, the rows that have it, and their instances in the features of `posterior_`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        list of (ndarray of row numbers, ndarray or CSR array of shape (t, D))
            One for each view; D is the number of features of all views, their constants included.
        """
        rows = self._validate_rows(X)
        return [self._model.instances(rows, place) for place in range(len(self._model.features))]

    @property
    def posterior_(self) -> LaplacePosterior:
        """The Laplace approximation of the weights' distribution; worked out when it is first asked for."""
        check_is_fitted(self)
        if self._learnt is None:
            raise InputError("a model that was saved, pickled or copied keeps no posterior: fit it again.")
        return self._learnt.posterior

    # -- how it is done ---------------------------------------------------------------------------------------------

    def _kernel_of(self, rows: FeatureMatrix) -> Kernel:
        return Kernel.of(self.kernel, rows, gamma=self.gamma, degree=self.degree, coef0=self.coef0)

    def _warn(self, learned: Learned) -> None:
        found = learned.solution
        if found.collapsed:
            warnings.warn(
                f'precision="em" has run to weights of 0: {len(learned.labeled.mask)} labeled rows do not hold '
                f"{found.weights.size} weights against it, where a larger precision makes smaller weights, and these a "
                'larger precision; pass precision="evidence", which counts only what the labels tell of.',
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not found.converged:
            warnings.warn(
                f"GraphLogisticRegression did not converge in {found.n_iter} steps: raise max_iter, or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _keep(self, views: list[View], prior: list[ScaledTerm], learned: Learned) -> None:
        found, cuts = learned.solution, np.cumsum([view.size for view in views])[:-1]
        features, weights = tuple(view.features for view in views), tuple(np.split(found.weights, cuts, axis=1))
        raw = [own.in_units_of_rows(part) for own, part in zip(features, weights, strict=True)]
        self.coef_: Any = [slopes for slopes, _ in raw] if self.views is not None else raw[0][0]
        self.intercept_: Any = [constants for _, constants in raw] if self.views is not None else raw[0][1]
        self.precisions_ = {
            own.term.name: own.precision_of_rows(found.precisions.get(own.term.name, np.zeros(()))) for own in prior
        }
        self.objective_ = found.objective
        self.n_iter_ = max(found.n_iter, 1)
        self._learnt: Learned | None = learned
        self.view_weights_ = learned.trust
        self._model = ViewModel(features, weights, self.view_weights_, getattr(self, "feature_names_in_", None))

    def _decide(self, rows: FeatureMatrix, candidates: CandidateSets) -> None:
        shares = masked_softmax(self._finite_scores(rows), candidates.mask)
        self.transduction_ = candidates.classes[np.where(candidates.mask, shares, -1.0).argmax(axis=1)]

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return self._model.scores(rows)

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = True) -> FeatureMatrix:
        return super()._validate_rows(X, reset=reset, finite="allow-nan" if finite and self.views is not None else finite)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_learnt" in state:  # large, and made of the rows of fit
            state["_learnt"] = None
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.views is not None
        return tags
