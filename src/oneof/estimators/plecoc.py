"""Error-correcting output codes with a binary classifier (PL-ECOC)."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.svm import SVC
from sklearn.utils import gen_batches, get_tags
from sklearn.utils.extmath import row_norms
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import has_fit_parameter

from oneof.errors import InputError, reraise_as_input_error
from oneof.estimators.base import DecisionFunctionMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, PositiveFraction, estimator
from oneof.estimators.soft_labels import check_classifier, run_parallel, with_seeds
from oneof.kernels.pairwise import scale_gamma
from oneof.solvers.ecoc import code_targets, decode, draw_codings, fit_code_weights
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import check_n_jobs, check_random_state, check_squares

MAX_KERNEL_SIZE = 10**6
"""Maximum number of entries of a kernel matrix that are computed at once."""


@estimator
class PLECOC(DecisionFunctionMixin):
    """Error-correcting output codes: binary classifiers on random partitions of the classes, decoded by their losses.

    A coding M_.l assigns each class to the side -1 or +1. A classifier with margin h_l is trained on the rows whose
    candidates are all on one side. The prediction is argmin_k sum_l H_kl exp(-h_l(x) M_kl), where H_kl is the fraction
    of the rows with candidate k for which sign h_l = M_kl, scaled to sum to 1 for each class. Unlabeled rows are not
    used.

    A row with weights counts as one row for each of its level sets {k : w_k >= a}. The sample weight of a level set is
    the difference between the weight a and the next smaller one. So a coding uses the row with the sample weight
    |a - b|, on the side of the larger one, where a and b are the largest weights of the two sides. The `estimator` must
    then accept `sample_weight` in `fit`.

    Parameters
    ----------
    estimator : classifier, default=None
        Any binary classifier of scikit-learn, cloned for each coding; None is ``SVC()``, with its RBF kernel. The
        margin is its `decision_function`, or otherwise 2 p - 1 from its `predict_proba`.
    code_length : int, default=None
        Number of codings L; None is the paper's ceil(10 log2 n_classes). With few classes codings recur:
        each is trained once, and counted in the sum as often as it was drawn.
    min_fraction : float, default=0.1
        Minimum fraction of the rows that a coding must use, in (0, 1]. Codings that use fewer rows, or rows of one side
        only, are drawn again. The larger the sets, the fewer rows a coding uses. Rows of one side suffice only if a
        class is in every set.
    n_jobs : int, default=None
        Number of parallel jobs in fit and prediction: threads, unless joblib is configured otherwise. The result is the
        same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the codings, and of the parameters with this name in `estimator`.

    Attributes
    ----------
    code_book_ : ndarray of shape (n_classes, code_length)
        M, of -1 and +1; the first class is always +1, since a coding and its negative are equivalent.
    estimators_ : list of code_length classifiers
        Classifiers of the classes -1 and +1; equal codings share one. If all rows are on one side, a DummyClassifier
        that predicts this side. With ``estimator=None`` the median is subtracted from dense rows: the kernel does not
        change, but far from the origin its distances would be rounding errors.
    code_weights_ : ndarray of shape (n_classes, code_length)
        H; uniform for a class that is in no set, or for which no classifier predicts the code of any row. A margin of 0
        counts as the side -1.

    Notes
    -----
    Scores of two models are comparable only if their codings are equal. With the default classifier, one factor for all
    features does not change the predictions, but one factor for each feature does: standardize the features first.

    References
    ----------
    Zhang, Yu & Tang (2017), Disambiguation-free partial label learning, IEEE TKDE 29(10).

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import PLECOC
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1]]
    >>> model = PLECOC(random_state=0).fit(X, [["a"], ["a", "b"], ["a", "c"], ["c"], ["b", "c"]])
    >>> model.predict([[0.05], [4.9]]).tolist()
    ['a', 'c']
    """

    estimator: Any = None
    _: KW_ONLY
    code_length: Count | None = None
    min_fraction: PositiveFraction = 0.1
    n_jobs: int | None = None
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_n_jobs(self.n_jobs)
        self._binary_classifier()

    def _fit(self, training: TrainingRows) -> None:
        classifier, is_default = self._binary_classifier(), self.estimator is None
        rows, evidence = _as_int32_indices(training.select(training.labeled)), training.evidence[training.labeled]
        if evidence.dtype != bool and not has_fit_parameter(classifier, "sample_weight"):
            raise InputError(
                "`estimator` must accept sample_weight in fit, since some rows have weights; got "
                f"{self.estimator!r}. Use another classifier, such as SVC()."
            )
        check_squares(training.X, "X")
        self._origin = np.median(rows, axis=0).astype(np.float64) if is_default and not sp.issparse(rows) else None
        code_length = int(np.ceil(10 * np.log2(evidence.shape[1]))) if self.code_length is None else self.code_length
        rng = check_random_state(self.random_state)
        coding_rng = np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
        codes = draw_codings(evidence, int(code_length), self.min_fraction, coding_rng)
        distinct, index = np.unique(codes, axis=1, return_inverse=True)
        calls = (
            delayed(_fit_binary)(
                with_seeds(classifier, rng, replace=True),
                rows,
                code_targets(evidence, code[:, None])[:, 0],
                is_default,
                self._origin,
            )
            for code in distinct.T
        )
        estimators, margins = zip(*run_parallel(calls, self.n_jobs))
        self._accepts_sparse = sp.issparse(rows)
        self.estimators_ = [estimators[j] for j in index.ravel()]
        self.code_book_ = codes
        self.code_weights_ = fit_code_weights(np.column_stack(margins)[:, index.ravel()], evidence, codes)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        _, first, index = np.unique(self.code_book_, axis=1, return_index=True, return_inverse=True)
        # Classifiers trained on dense rows may not accept sparse ones.
        rows = _as_int32_indices(rows if self._accepts_sparse or not sp.issparse(rows) else rows.toarray())
        rows = rows if self._origin is None else rows - self._origin
        margins = run_parallel((delayed(_margin)(self.estimators_[j], rows) for j in first), self.n_jobs)
        return -decode(np.column_stack(margins)[:, index.ravel()], self.code_book_, self.code_weights_)

    def _binary_classifier(self) -> Any:
        """Return the classifier that is cloned for each coding."""
        if self.estimator is None:
            return SVC()
        return check_classifier(self.estimator, ("decision_function", "predict_proba"), "SVC()")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags


def _fit_binary(
    classifier: Any, rows: FeatureMatrix, targets: Ints | Floats, is_default: bool, origin: Floats | None
) -> tuple[Any, Floats]:
    """Fit a classifier to the rows with a target other than 0; return it with its margins of all rows.

    The target is -1 or +1, times the sample weight of the row if some rows have weights.
    """
    used = np.flatnonzero(targets)
    used_rows, targets = rows[used], targets[used]
    options = {}
    if targets.dtype.kind == "f":
        options["sample_weight"], targets = np.abs(targets), np.sign(targets).astype(np.int64)
    if is_default:
        classifier.set_params(gamma=scale_gamma(used_rows, options.get("sample_weight")))
    if origin is not None:
        rows, used_rows = rows - origin, used_rows - origin
    if targets.min() == targets.max():
        classifier = DummyClassifier(strategy="constant", constant=targets[0])
    # The margins are checked for overflow.
    with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore"):
        classifier.fit(used_rows, targets, **options)
        is_kernel = is_default and origin is not None and len(classifier.classes_) == 2
        return classifier, _training_margin(classifier, rows) if is_kernel else _margin(classifier, rows)


def _training_margin(classifier: SVC, rows: Floats) -> Floats:
    """Return the margins of dense rows by an SVC with an RBF kernel, up to rounding errors, but with exact signs.

    Products of matrices are much faster than `decision_function`, which is used for margins that are not larger than
    the rounding errors.
    """
    vectors, factors, constant = classifier.support_vectors_, classifier.dual_coef_[0], classifier.intercept_[0]
    gamma, margins = float(classifier.gamma), np.empty(len(rows))
    rows = np.asarray(rows, dtype=np.float64)
    squares, vector_squares = (gamma * row_norms(matrix, squared=True) for matrix in (rows, vectors))
    for part in gen_batches(len(rows), max(1, MAX_KERNEL_SIZE // len(vectors))):
        powers = rows[part] @ (2.0 * gamma * vectors.T)
        powers -= squares[part, None]
        powers -= vector_squares
        np.minimum(powers, 0.0, out=powers)
        margins[part] = np.exp(powers, out=powers) @ factors + constant
    rounding = 4.0 * np.finfo(np.float64).eps * sum(vectors.shape) * (1.0 + squares + vector_squares.max())
    unsure = ~(np.abs(margins) > rounding * (np.abs(factors).sum() + abs(constant)))  # also NaN
    if unsure.any():
        margins[unsure] = _margin(classifier, rows[unsure])
    return margins


def _margin(classifier: Any, rows: FeatureMatrix) -> Floats:
    """Return the margins of the rows, positive on the side +1."""
    with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if len(classifier.classes_) == 1:
            margin = np.full(rows.shape[0], float(classifier.classes_[0]))
        elif hasattr(classifier, "decision_function"):
            margin = np.asarray(classifier.decision_function(rows), dtype=np.float64)
        else:
            margin = 2.0 * np.asarray(classifier.predict_proba(rows), dtype=np.float64)[:, 1] - 1.0
    if not np.isfinite(margin).all():
        raise InputError("The margins overflow float64. Scale the features, for example with StandardScaler.")
    return margin.reshape(rows.shape[0])


def _as_int32_indices(rows: FeatureMatrix) -> FeatureMatrix:
    """Return sparse rows with 32-bit indices if these suffice, as libsvm requires."""
    if not sp.issparse(rows) or rows.indices.dtype == np.int32 or max(rows.shape[1], rows.nnz) > np.iinfo(np.int32).max:
        return rows
    return type(rows)((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)
