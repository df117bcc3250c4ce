"""Regression tests of failures detected by fuzzing, each in its smallest form.

Numbers at the limits of float64 cause no NumPy warning, as `outcome` asserts for each call.
"""

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from oneof import (
    CLPL,
    PLECOC,
    PLEM,
    PLGP,
    PLKNN,
    PLSVM,
    AvgPerceptron,
    CandidateEM,
    CandidateSets,
    GraphLogisticRegression,
    HarmonicField,
    MarkovWalk,
    SpectralGraphTransducer,
    TransductiveSVM,
    active,
    crowd,
    datasets,
    distributed,
    graphs,
    make_partial_labels,
    metrics,
    model_selection,
    multilabel,
    persistence,
    plots,
    stream,
)
from oneof.comparison import LearningCurve, compare, learning_curve
from oneof.comparison import methods as comparison_methods
from oneof.errors import InputError, InputTypeError, LabelError, OneofError
from oneof.labeling import LabelingSession, LabelTable
from tests.estimators.panel import table
from tests.fuzz.outcome import outcome

X, MASK = table(20, d=2)
SIGNS = np.where(X > 0, 1.0, -1.0)
UNSORTABLE = np.array([1.0, 2.0])
SCALE = "cale the features"
ROW_0 = "row 0, column 0: X contains infinity"

BEHIND_THE_FIRST_CHECK = [
    lambda: CandidateSets.from_hierarchy(["a"], "no dict"),
    lambda: CandidateSets.from_hierarchy([], {}),
    lambda: CandidateSets.from_strings(["a"], weighted=None),
    lambda: CandidateSets.from_annotations(None),
    lambda: CandidateSets.from_indicator([[0, 1], [1]]),
    lambda: CandidateSets([[True], [True, False]], ["a", "b"]),
    lambda: CandidateSets.from_annotations([["a"]], min_votes={}),
    lambda: CandidateSets.from_annotations(sp.csr_matrix(np.eye(2))),
    lambda: CandidateSets.from_labels(["a", "b"])[np.array([True])],
    lambda: metrics.win_tie_loss([1, 2], [2, 1], alpha=None),
    lambda: make_partial_labels([0, 1], distractors=UNSORTABLE),
    lambda: make_partial_labels([0, 1], fraction="half"),
    lambda: model_selection.CandidateKFold(shuffle=UNSORTABLE),
    lambda: list(model_selection.CandidateKFold(2).split(X[:1], MASK)),
    lambda: compare(X, MASK, cv=np.inf),
    lambda: compare(X, MASK, 0.5),
    lambda: compare(X, MASK, {"a": PLKNN()}, n_jobs=0),
    lambda: compare(X[:0], MASK[:0, :0], {"a": PLKNN()}),
    lambda: learning_curve(PLKNN(), X, MASK, train_sizes=None),
    lambda: graphs.PrecomputedKernel(True)(X[:, :1]),
    lambda: active.query(len, X, strategy="entropy"),
    lambda: LabelingSession(X[:0], classes=["a", "b"]),
    lambda: LabelingSession(X, classes=["a", "b"], estimator=PLKNN(), strategy=UNSORTABLE),
    lambda: stream.RiverClassifier(AvgPerceptron(), object()),
    lambda: stream.RiverClassifier(AvgPerceptron(), ["a", "b"]).learn_one({"x": []}, "a"),
    lambda: model_selection.covering_rate_scorer(None, X, MASK),
    lambda: model_selection.exact_accuracy_scorer(PLKNN, X, MASK),
    lambda: graphs.NeighborGraph().graph(X[:0]),
    lambda: comparison_methods.default_estimators(n_rows="many"),
    lambda: datasets.load("iris", 3),
    lambda: datasets.load("iris", "~nobody at all/x"),
    lambda: datasets.list_datasets([]),
    lambda: datasets.load_mat(len),
    lambda: stream.open_source(b"x.csv"),
    lambda: persistence.save("\0", PLKNN().fit(X, MASK)),
    lambda: persistence.save("\ud800", PLKNN().fit(X, MASK)),
    lambda: LabelTable(pl.DataFrame({"a": [1]}), "a", hidden=len),
    lambda: multilabel.breakeven_score(PLKNN(), None, np.eye(4)[:, :1], [0, 1], transductive=True),
    lambda: multilabel.breakeven_score(PLKNN(), np.array(3.0), np.eye(4)[:, :1], [0, 1], transductive=True),
    lambda: stream.RiverClassifier(AvgPerceptron(), ["a", "b"]).learn_one({"x": 1}, "a").predict_one({"x": np.inf}),
    lambda: stream.open_source("-", []),
    lambda: stream.StreamOptions(labels=(3,)),
    lambda: CandidateSets.from_weights([{"a": 10**5000, "b": 1}]),
    lambda: CandidateSets.from_strings(["a|b"], separator=[[]]),
    lambda: CandidateSets.from_strings(["a|b"], separator=UNSORTABLE),
    lambda: graphs.laplacian(sp.csr_array(1.0 - np.eye(4)), kind=np.array([1.0, 2.0])),
    lambda: LabelTable(pl.DataFrame({"a": [1]}), "a", show=np.zeros((2, 2))),
    lambda: active.simulate(PLKNN(), X, [0, 1] * 10, start=[0, 1], n_queries=1, X_test=2, y_test=[0]),
    lambda: compare(X, MASK, ["PLKNN"], cv=iter([])),
    lambda: comparison_methods.default_estimators(sparse=np.array([1.0, 2.0])),
    lambda: LabelingSession(X, estimator=-1, classes=["a", "b"]),
    lambda: graphs.diffusion_kernel(sp.csr_array(1.0 - np.eye(4)), kind=np.array([1.0, 2.0])),
    lambda: make_partial_labels([0, 1, 0, 1], distractors="cooccurring", groups=sp.csr_array(np.ones((4, 1)))),
    lambda: stream.StreamOptions(classes=3),
    lambda: stream.StreamOptions(labels=("a",), weighted=True, rest=UNSORTABLE),
    lambda: stream.StreamOptions(separator=""),
    lambda: stream.StreamOptions(overrides="x"),
    lambda: stream.StreamOptions(text_options=None),
    lambda: stream.CheckpointConfig(3),
    lambda: stream.CheckpointConfig("x", every_rows="many"),
    lambda: persistence.save(3, PLKNN().fit(X, MASK)),
    lambda: persistence.load([]),
    lambda: LabelTable(3, "a"),
    lambda: LabelTable(pl.DataFrame({"a": [1]}), "a", column="b"),
    lambda: compare((row for row in X), MASK, ["PLKNN"], cv=2),
    lambda: LabelTable(pl.DataFrame({"a": [1]}), 3),
    lambda: LabelTable(pl.DataFrame({"a": [1]}), "a", "text", 3),
    lambda: plots.plot_set_sizes(["a", "b"]),
    lambda: plots.plot_learning_curve(3),
    lambda: plots.plot_learning_curve(LearningCurve((1, 2), (0.5,), (0.1,), None, None)),
    lambda: distributed.predict(None, X),
    lambda: crowd.Answers.from_table([[0, 1]])["x"],
    lambda: crowd.Answers.from_table([[0], [1]])[[[0], [1]]],
    lambda: crowd.Answers.from_table([[0, 1]], annotators=[[1, 2], [3]]),
    lambda: crowd.Answers.from_table([[["a", "b"], "a"]], classes=-1),
    lambda: crowd.Answers.from_table(sp.bsr_array(np.ones((4, 1)))),
    lambda: crowd.Answers.from_table([[0, 1]]).align([[1, 2], [3]]),
    lambda: crowd.apply_rules([len], None),
    lambda: crowd.apply_rules(3, ["a"]),
    lambda: crowd.CrowdClassifier(cv=[]).fit(X, MASK.argmax(axis=1)[:, None]),
    lambda: crowd.CrowdClassifier(cv=[("a", "b")]).fit(X, MASK.argmax(axis=1)[:, None]),
    lambda: crowd.AnnotatorModel().fit([[0, 1], [1, 1]]).next_questions(annotators=[[1, 2], [3]]),
    lambda: crowd.AnnotatorModel().fit([[0, 1], [1, 1]]).next_questions(annotators=[{}]),
]
"""Calls that raise an error of oneof, although all other arguments are valid."""


def fitted_session(rows):
    return LabelingSession(rows, classes=["a", "b"], estimator=PLKNN())


def far_rows(method):
    """Return held-out values with probabilities that are 0 in float64."""
    rows = X * np.geomspace(1, 1e6, len(X))[:, None]
    return model_selection.cross_val_predict(LogisticRegression(C=1e3), rows, [0, 1, 2, 0] * 5, method=method, cv=2)


def overflowing_sums():
    """Return rows with duplicate entries whose sum overflows."""
    return sp.csr_array((np.full(4, 1.7e308), [0, 0, 1, 1], np.r_[0, 4, np.zeros(len(X) - 1) + 4]), shape=X.shape)


def two_blocks():
    """Return blocks so far apart that a squared distance between their means overflows."""
    return da.concatenate([da.from_array(sign * np.full((2, 2), 1e160), chunks=2) for sign in (1, -1)])


def unlikely(*last):
    """Fit probabilities that are not finite, with last rows that are partial or unlabeled."""
    y = CandidateSets.from_sets([["a"], ["b"], ["a"], ["b"], last, last], classes=["a", "b", "c"])
    return CandidateEM(GaussianNB(), cv=2, max_iter=2, random_state=0).fit(np.zeros((6, 2)), y)


def missing_row(row):
    return learning_curve(PLKNN(n_neighbors=1), X, MASK, cv=[(range(19), [19, row])])


def topics(values):
    return multilabel.breakeven_score(PLKNN(), X, values, range(9), transductive=False)


BY_OUTCOME = {
    # Errors of scikit-learn's checks are raised as errors of oneof; numbers must be those of a decision tree, too.
    InputError: [
        lambda: PLEM().fit(X, MASK).predict([[np.nan, 0.0]]),
        lambda: PLEM().fit(X, MASK).predict([["a", "b"]]),
        lambda: PLEM().fit(X, MASK).predict([[1.0]]),
        lambda: PLEM().fit(X, MASK).predict(X + 1j),
        lambda: PLECOC(DecisionTreeClassifier(max_depth=1), code_length=1).fit(X, MASK).predict([[1e200, 0.0]]),
        lambda: PLEM().fit(X, str),
        lambda: metrics.approximated_accuracy([0, 1, 2], np.eye(3) + 0j),
        lambda: metrics.covering_rate([0, 1], [0, 1], sample_weight=1j),
        lambda: metrics.precision_recall_breakeven_point(np.zeros((0, 1), "M8[D]"), np.zeros((0, 1))),
        lambda: graphs.PrecomputedKernel(np.full((3, 3), np.nan))([[0]]),
        lambda: GraphLogisticRegression().fit(5e-324 * SIGNS, MASK),
        lambda: AvgPerceptron().fit(X.astype("f4"), MASK).partial_fit(np.full((1, 2), 1e250), MASK[:1]),
        lambda: PLSVM(kernel="poly").fit(sp.csr_array(1e200 * np.abs(X)), MASK),
    ],
    InputError | InputTypeError: [*BEHIND_THE_FIRST_CHECK, lambda: PLEM().fit(X, MASK).predict(object())],
    # Lists, and tuples that contain lists, are not labels.
    LabelError: [
        lambda: metrics.covering_rate(["a", "b"], np.array([["a"], ["b"], None], dtype=object)[:-1]),
        lambda: CandidateSets.from_labels(["a"], classes=[("a", ["b"])]),
    ],
    OneofError: [
        lambda: CandidateSets.from_sets([{0, 1}, {1}], classes=np.int8(1)),
        lambda: topics(pd.DataFrame({"a": pd.array([1, None] * 10, dtype="Int64")})),
    ],
    "`cv` must contain row indices from 0 to 19; the test rows of fold 0 have 21.": [lambda: missing_row(21)],
    "`cv` must contain row indices from 0 to 19; the test rows of fold 0 have -21.": [lambda: missing_row(-21)],
    "must be finite": [lambda: unlikely("a", "b"), lambda: unlikely("a", "b", "c")],
    SCALE: [
        lambda: distributed.fit(PLGP(approximation="nystroem", n_components=2), two_blocks(), [0, 1, 0, 1]),
        lambda: active.local_density(sp.csr_array(1e200 * X)),
    ],
    ROW_0: [
        lambda: PLECOC(random_state=0).fit(overflowing_sums(), MASK),
        lambda: PLEM().fit(overflowing_sums(), MASK),
        lambda: PLECOC(random_state=0).fit(X, MASK).predict(overflowing_sums()),
        lambda: PLEM().fit(X, MASK).predict(overflowing_sums()),
    ],
    # Sums by which scikit-learn finds NaN, squares of tolerances and of dual variables, and costs of few bits.
    PLKNN: [lambda: PLKNN().fit(sp.csr_array(1.7e308 * SIGNS), MASK)],
    LabelingSession: [lambda: fitted_session(1.7e308 * SIGNS)],
    HarmonicField: [
        lambda: HarmonicField(radius=1e300).fit(sp.csr_array(X), [0, 1] * 10),
        lambda: HarmonicField(radius=100.0).fit(sp.csr_array(X.astype("f4")), [0, 1] * 10),
        lambda: HarmonicField(radius=1e300).fit(sp.csr_array(X.astype("f4")), [0, 1] * 10),
    ],
    CLPL: [
        lambda: CLPL(tol=1e300).fit(X, MASK),
        lambda: CLPL(C=1e300, max_iter=2).fit(sp.csr_array((20, 4), dtype=bool), MASK),
    ],
    PLSVM: [
        lambda: PLSVM(solver="pegasos", tol=1e300).fit(X, MASK),
        lambda: PLSVM(max_iter=1).fit(
            sp.csr_array([[0.0, -1e-216], [6e61, -8e-217], [0.0, 0.0]]), [{0, 1, 2}, {1, 2, 3}, {1, 2, 3}]
        ),
    ],
    np.ndarray: [
        lambda: crowd.AnnotatorModel(strength=1e300).fit(np.arange(80).reshape(20, 4) % 3).accuracy_interval_,
        lambda: np.exp(far_rows("predict_log_proba")),
    ],
    TransductiveSVM: [lambda: TransductiveSVM(C=np.float32(0.5)).fit(X, MASK)],
    # Products of floats become infinite, which the methods expect, while their powers would raise.
    PLEM | PLGP | PLSVM | InputError: [
        lambda: PLEM(lam=1e-300, tol=1e-300, max_iter=20).fit(sp.csc_array(X), MASK),
        lambda: PLEM(lam=1e-300, tol=1e-300, max_iter=20).fit(sp.csc_array(1e150 * X), MASK),
        lambda: PLGP(RBF(length_scale=1e5)).fit(1e300 * X, MASK),
        lambda: PLSVM(max_iter=20).fit(1e300 * X, MASK),
    ],
}
"""Calls by the type of their result or error, or by a part of its sentence."""
CASES = [(call, expected) for expected, calls in BY_OUTCOME.items() for call in calls]


@pytest.mark.parametrize(("call", "expected"), CASES)
def test_calls_have_a_result_or_an_error_of_oneof(call, expected):
    result = outcome(call)
    assert expected in str(result) if isinstance(expected, str) else isinstance(result, expected)


@pytest.mark.parametrize("size", [1e200, 1e308, 1.7e308])
def test_overflowing_scores_are_an_error(size):
    """Rows, scores and their covariances that overflow float64 cause neither NumPy warnings nor NaN."""
    rows = np.full((2, 2), size) * [1, -1]
    for model in (AvgPerceptron(eta0=1e3), PLEM(lam=1e-6)) if size > 1e300 else ():
        model.fit(X, MASK)
        for ask in ("predict", "decision_function", "predict_proba"):
            if hasattr(model, ask):
                assert SCALE in str(outcome(getattr(model, ask), rows[:1]))
    for ask in (active.query, active.query_subsets):
        assert SCALE in str(outcome(ask, GraphLogisticRegression().fit(X, MASK), rows))


@pytest.mark.parametrize("seed", ["x", -3, np.random.default_rng(0)])
def test_seeds_of_another_kind(seed):
    """An invalid random state is an error of oneof in every module that uses one."""
    for call in (
        lambda: AvgPerceptron(random_state=seed).fit(X, MASK),
        lambda: list(model_selection.CandidateKFold(random_state=seed).split(X, MASK)),
        lambda: active.query(PLKNN(), X, strategy="random", random_state=seed),
    ):
        assert isinstance(outcome(call), InputError)


def test_values_of_other_types_are_read():
    """Probabilities may be sparse, classes a tuple with candidate sets, rows a memoryview, and counts an int8."""
    assert metrics.approximated_accuracy([0, 1, 2], sp.csr_array(np.eye(3))) == 1.0
    sets = CandidateSets.from_labels(["ant", "bee"])
    assert make_partial_labels(sets, classes=("ant", "bee", "cat"), random_state=0).shape == (2, 3)
    rows = memoryview(np.ascontiguousarray(X))
    assert len(active.query(GraphLogisticRegression().fit(X, MASK), rows, batch_size=2).indices) == 2
    topic = (X[:, :1] > np.median(X[:, 0])).astype(int)
    assert multilabel.breakeven_score(PLKNN(), rows, topic, np.arange(20) % 2 == 0, transductive=False).mean >= 0
    assert "AvgPegasos" in comparison_methods.default_estimators(n_rows=np.int8(1))
    codes = [PLECOC(code_length=n, random_state=0).fit(X, MASK).code_book_ for n in (1, np.int8(1))]
    np.testing.assert_array_equal(*codes)
    graph = np.ones((len(X), len(X)))  # more edges than an int8 can count
    shares = [MarkovWalk(n_steps=n, affinity=graph).fit(X, MASK).label_distributions_ for n in (2, np.int8(2))]
    np.testing.assert_array_equal(*shares)


def test_differences_of_any_size_are_tested():
    """The paired test does not depend on the scale of the scores."""
    ours, theirs = np.array([[3.0, 4.0, 3.5]]), np.array([[1.0, 2.1, 1.4]])
    for unit in (1e-300, 1.0, 1e200):
        assert outcome(metrics.win_tie_loss, ours * unit, theirs * unit) == (1, 0, 0)


def test_costs_whose_squares_overflow():
    """Quadratics on a sphere are rescaled so that they do not overflow."""
    rows, labels = np.random.default_rng(0).normal(size=(10, 2)), np.array([0, 1, 2, -1, 0] * 2)
    result = outcome(SpectralGraphTransducer(C=1e300).fit, rows, labels.tolist())
    np.testing.assert_array_equal(result.transduction_[labels >= 0], labels[labels >= 0])


@pytest.mark.parametrize("dtype", [">f4", ">f8"])
@pytest.mark.parametrize("model", [PLKNN(), HarmonicField(), AvgPerceptron(), GraphLogisticRegression()])
def test_big_endian_columns_are_ordinary_numbers(model, dtype):
    """Columns of pandas in the byte order of FITS files give the model and the predictions of native ones."""
    native = pd.DataFrame(X.astype(dtype[1:]))
    expected = clone(model).fit(native, MASK).predict(native)
    frame = pd.DataFrame(X.astype(dtype))
    np.testing.assert_array_equal(clone(model).fit(frame, MASK).predict(frame), expected)
    assert isinstance(outcome(fitted_session, frame), LabelingSession)


def test_infinite_precisions_stay_infinite():
    """A precision of infinity or 0 is the same in every unit of the features."""
    rows = np.array([[-1.5e-3, -9.0e-3, 0.5], [1e250, 2.0, 1.0]])
    model = GraphLogisticRegression(views=[[0], [1]], prior="graph+ard", max_iter=20, tol=1e-300)
    outcome(model.fit, rows, np.array([[0, 1], [1, 1]]))
