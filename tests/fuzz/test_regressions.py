"""Regression tests of failures detected by fuzzing, each in its smallest form."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from oneof import (
    PLECOC,
    PLEM,
    PLKNN,
    AvgPerceptron,
    CandidateEM,
    CandidateSets,
    GraphLogisticRegression,
    MarkovWalk,
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
UNSORTABLE = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([[np.nan, 0.0]], InputError),
        ([["a", "b"]], InputError),
        ([[1.0]], InputError),
        (object(), InputError | InputTypeError),
        (X + 1j, InputError),
    ],
)
def test_invalid_rows_raise_errors_of_oneof(rows, error):
    """Errors of scikit-learn's checks are raised as errors of oneof with the same sentence."""
    assert isinstance(outcome(PLEM().fit(X, MASK).predict, rows), error)


@pytest.mark.parametrize("seed", ["x", -3, np.random.default_rng(0)])
def test_seeds_of_another_kind(seed):
    """An invalid random state is an error of oneof in every module that uses one."""
    for call in (
        lambda: AvgPerceptron(random_state=seed).fit(X, MASK),
        lambda: list(model_selection.CandidateKFold(random_state=seed).split(X, MASK)),
        lambda: active.query(PLKNN(), X, strategy="random", random_state=seed),
    ):
        assert isinstance(outcome(call), InputError)


def test_folds_with_missing_rows():
    """Folds with row indices out of range are an error of oneof."""
    for row in (21, -21):
        error = outcome(learning_curve, PLKNN(n_neighbors=1), X, MASK, cv=[(range(19), [19, row])])
        assert str(error) == f"`cv` must contain row indices from 0 to 19; the test rows of fold 0 have {row}."


def test_sparse_probabilities_are_read():
    """A sparse matrix is accepted as an array."""
    dense = np.eye(3)
    assert metrics.approximated_accuracy([0, 1, 2], sp.csr_array(dense)) == 1.0
    assert isinstance(outcome(metrics.approximated_accuracy, [0, 1, 2], dense + 0j), InputError)
    assert isinstance(outcome(metrics.covering_rate, [0, 1], [0, 1], sample_weight=1j), InputError)


def test_invalid_labels():
    """Lists, and tuples that contain lists, are not labels."""
    lists = np.array([["a"], ["b"], None], dtype=object)[:-1]
    assert isinstance(outcome(metrics.covering_rate, ["a", "b"], lists), LabelError)
    assert isinstance(outcome(CandidateSets.from_labels, ["a"], classes=[("a", ["b"])]), LabelError)


def test_counts_may_be_of_any_integer_type():
    """Counts of small integer types do not overflow."""
    codes = [PLECOC(code_length=n, random_state=0).fit(X, MASK).code_book_ for n in (1, np.int8(1))]
    np.testing.assert_array_equal(*codes)
    graph = np.ones((len(X), len(X)))  # more edges than an int8 can count
    shares = [MarkovWalk(n_steps=n, affinity=graph).fit(X, MASK).label_distributions_ for n in (2, np.int8(2))]
    np.testing.assert_array_equal(*shares)


def test_classes_may_be_a_tuple():
    """The error is the same with candidate sets."""
    sets = CandidateSets.from_labels(["ant", "bee"])
    assert make_partial_labels(sets, classes=("ant", "bee", "cat"), random_state=0).shape == (2, 3)


def test_a_memoryview_is_accepted():
    """Rows of a memoryview can be selected."""
    rows = memoryview(np.ascontiguousarray(X))
    assert len(active.query(GraphLogisticRegression().fit(X, MASK), rows, batch_size=2).indices) == 2
    topic = (X[:, :1] > np.median(X[:, 0])).astype(int)
    assert multilabel.breakeven_score(PLKNN(), rows, topic, np.arange(20) % 2 == 0, transductive=False).mean >= 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: CandidateSets.from_hierarchy(["a"], "no dict"),
        lambda: CandidateSets.from_hierarchy([], {}),
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
        lambda: CandidateSets.from_strings(["a|b"], separator=[[]]),
        lambda: graphs.laplacian(sp.csr_array(1.0 - np.eye(4)), kind=np.array([1.0, 2.0])),
        lambda: LabelTable(pl.DataFrame({"a": [1]}), "a", show=np.zeros((2, 2))),
        lambda: active.simulate(PLKNN(), X, [0, 1] * 10, start=[0, 1], n_queries=1, X_test=2, y_test=[0]),
        lambda: compare(X, MASK, ["PLKNN"], cv=iter([])),
        lambda: comparison_methods.default_estimators(sparse=np.array([1.0, 2.0])),
        lambda: LabelingSession(X, estimator=-1, classes=["a", "b"]),
        lambda: graphs.diffusion_kernel(sp.csr_array(1.0 - np.eye(4)), kind=np.array([1.0, 2.0])),
        lambda: make_partial_labels([0, 1, 0, 1], distractors="cooccurring", groups=sp.csr_array(np.ones((4, 1)))),
        lambda: stream.StreamOptions(classes=3),
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
    ],
)
def test_arguments_behind_the_first_check(call):
    """Each call raises an error of oneof, although all other arguments are valid."""
    assert isinstance(outcome(call), InputError | InputTypeError)


def test_errors_of_inner_classifiers_are_errors_of_oneof():
    """Numbers that a decision tree cannot convert to float32, and probabilities that are not finite, have errors."""
    tree = PLECOC(DecisionTreeClassifier(max_depth=1), code_length=1).fit(X, MASK)
    assert isinstance(outcome(tree.predict, [[1e200, 0.0]]), InputError)
    model = CandidateEM(GaussianNB(), cv=2, max_iter=2, random_state=0)
    for last in (["a", "b"], ["a", "b", "c"]):  # partial, and unlabeled
        y = CandidateSets.from_sets([["a"], ["b"], ["a"], ["b"], last, last], classes=["a", "b", "c"])
        assert "must be finite" in str(outcome(model.fit, np.zeros((6, 2)), y))


def test_other_values_than_numbers_have_errors():
    """A number as `classes`, dates as truth, and a matrix with NaN are errors of oneof."""
    assert isinstance(outcome(CandidateSets.from_sets, [{0, 1}, {1}], classes=np.int8(1)), OneofError)
    dates = np.zeros((0, 1), dtype="datetime64[D]")
    assert isinstance(outcome(metrics.precision_recall_breakeven_point, dates, np.zeros((0, 1))), InputError)
    assert isinstance(outcome(graphs.PrecomputedKernel(np.full((3, 3), np.nan)), [[0]]), InputError)
    topics = pd.DataFrame({"a": pd.array([1, None] * 10, dtype="Int64")})
    assert isinstance(outcome(multilabel.breakeven_score, PLKNN(), X, topics, range(9), transductive=False), OneofError)
    assert "AvgPegasos" in comparison_methods.default_estimators(n_rows=np.int8(1))
