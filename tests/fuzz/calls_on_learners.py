"""Fuzzed calls that fit estimators: queries, comparisons, documents, sessions."""

import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from oneof import PLKNN, AvgPerceptron, active, audit, conformal, model_selection, multilabel
from oneof.comparison import (
    compare,
    default_estimators,
    learning_curve,
)
from oneof.labeling import LabelingSession
from tests.fuzz.labels import NAMED_FORMS, NAMES
from tests.fuzz.strategies import (
    ROWS,
    SCALARS,
    SEEDS,
    Case,
    classes_of,
    either,
    family,
    features,
    fitted,
    just,
    optional,
    sets,
    several,
)


@family(1.5, "active.query active.query_subsets active.simulate active.local_density active.AnswerModel")
@st.composite
def queries(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    X = draw(features(n, 2))
    which = draw(st.integers(0, 4))
    if which == 3:
        return active.local_density, (X,), draw(optional(n_neighbors=several(1, 3)))
    if which == 4:
        rates, odd = st.sampled_from([0.0, 0.25, 0.5]), st.sampled_from([-1.0, 2.0, float("nan"), "x"])
        distractors = st.sampled_from([np.zeros((2, 2)), np.fliplr(np.eye(2)), np.eye(2), np.ones(2), None])
        return active.AnswerModel, (np.arange(2), draw(either(rates, odd)), draw(rates), draw(distractors)), {}
    if which == 0:
        model = draw(
            either(
                st.sampled_from([fitted("graph"), fitted("votes"), fitted("online")]),
                st.sampled_from([PLKNN(), len, 3]),
            )
        )
        # The strategies that these estimators support.
        able = {"GraphLogisticRegression": ["mutual_information", "entropy"], "PLKNN": ["entropy"]}
        strategies = [*able.get(type(model).__name__, []), "margin", "random"]
        named = {"strategy": draw(either(st.sampled_from(strategies)))} | draw(
            optional(batch_size=several(1, 4), random_state=SEEDS)
        )
        return active.query, (model, X), named
    if which == 1:
        model = draw(either(st.just(fitted("graph"))))
        subsets = either(st.sampled_from([[[0], [1, 2]], [{0}]]), st.sampled_from([[[0, 1, 2]], [[7]], [[]], None, 3]))
        return active.query_subsets, (model, X), draw(optional(batch_size=several(1, 4), subsets=subsets))
    odd_starts = st.sampled_from([[0, 0], [99], [-1], [], [True, False], None, "x"])
    named = draw(optional(batch_size=several(1, 3), random_state=SEEDS))
    named["start"] = draw(either(st.sampled_from([2, 1, [0, 1], np.array([0, 1]), range(2)]), odd_starts))
    named |= {"n_queries": draw(several(0, 3)), "strategy": draw(either(st.sampled_from(["entropy", "random"])))}
    if draw(st.integers(0, 2)) == 2:
        named |= {"X_test": draw(features(n, 2)), "y_test": draw(either(st.just(np.arange(n) % 2), sets(n, 2)))}
    learner = draw(st.sampled_from([PLKNN(n_neighbors=2), LogisticRegression()]))
    y = draw(either(st.sampled_from([np.arange(n) % 2, (np.arange(n) % 2).tolist()]), sets(n, 2)))
    return _simulated, (learner, X, y), named


def _simulated(learner: Any, *given_: Any, **named: Any) -> Any:
    """Simulate queries; errors of scikit-learn's own estimators are raised unchanged."""
    if isinstance(learner, PLKNN):
        return active.simulate(learner, *given_, **named)
    try:
        return active.simulate(learner, *given_, **named)
    except (ValueError, TypeError, RuntimeWarning) as error:
        if not raised_by_scikit_learn(error):
            raise
        return None


def raised_by_scikit_learn(error: BaseException) -> bool:
    """Return whether scikit-learn or SciPy raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = "" if trace is None else trace.tb_frame.f_code.co_filename
    return "sklearn" in file or "scipy" in file


@family(0.7, "compare comparison.learning_curve")
@st.composite
def comparisons(draw: st.DrawFn) -> Case:
    n = draw(either(st.integers(8, 12), st.integers(0, 7)))
    y = draw(sets(n, 2, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    X = draw(features(n, 2))
    named = draw(
        optional(
            cv=either(st.sampled_from([2, 3, model_selection.CandidateKFold(2), [([0, 1, 2, 3], [4, 5])]])),
            truth=either(_a_truth(y, n), sets(n, 2)),
            groups=either(st.sampled_from([np.arange(n) % 3, [f"g{i // 2}" for i in range(n)]])),
            class_weight=either(st.sampled_from(["balanced", {0: 2.0}])),
            keep_predictions=either(st.booleans()),
            random_state=SEEDS,
        )
    )
    named.setdefault("cv", 2)
    if draw(st.booleans()):
        odd = st.sampled_from([(0.0,), (), (float("nan"),), None, "x"])
        named |= draw(optional(train_sizes=either(st.sampled_from([(0.5, 1.0), (1.0,)]), odd)))
        named.pop("keep_predictions", None)
        return learning_curve, (PLKNN(n_neighbors=2), X, y), named
    methods = either(
        st.sampled_from([{"a": PLKNN(), "b": AvgPerceptron()}, ["PLKNN"], "AvgPerceptron"]),
        st.sampled_from(["none", [], {}, {"a": 1}, {1: PLKNN()}, None, 3]),
    )
    return compare, (X, y, draw(methods)), named


@family(1.0, "model_selection.cross_val_predict")
@st.composite
def held_out(draw: st.DrawFn) -> Case:
    """Draw a call of cross_val_predict."""
    n = draw(either(st.integers(6, 12), st.integers(0, 5)))
    X, y = draw(features(n, 2)), draw(sets(n, 2, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    folds = st.sampled_from([2, 3, model_selection.CandidateKFold(2), [([0, 1, 2, 3], [4, 5])], [([0], [99])], []])
    named = draw(
        optional(
            method=either(st.sampled_from(["predict", "predict_proba", "decision_function", "predict_log_proba"])),
            groups=either(st.just(np.arange(n) % 3)),
            n_jobs=several(1, 1),
            random_state=SEEDS,
        )
    )
    estimator = draw(either(st.sampled_from([PLKNN(n_neighbors=2), AvgPerceptron(), LogisticRegression()])))
    return model_selection.cross_val_predict, (estimator, X, y), {**named, "cv": draw(either(folds))}


@family(1.0, "audit.find_label_issues")
@st.composite
def audits(draw: st.DrawFn) -> Case:
    """Draw a call of find_label_issues, whose result is corrected and listed."""
    n, K = draw(either(st.integers(6, 12), st.integers(0, 5))), draw(st.integers(2, 3))
    X, y = draw(features(n, 2)), draw(sets(n, K, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    shares = np.random.default_rng(draw(st.integers(0, 99))).dirichlet(np.ones(K), n)
    named = draw(
        optional(
            proba=either(st.sampled_from([shares, shares.tolist()]), features(n, K)),
            estimator=either(st.sampled_from([None, PLKNN(n_neighbors=2), AvgPerceptron(), LogisticRegression()])),
            cv=either(st.sampled_from([2, 3, model_selection.CandidateKFold(2)])),
            groups=either(st.just(np.arange(n) % 3)),
            noise_rate=either(st.floats(0.0, 0.9), st.floats()),
            n_jobs=several(1, 1),
            random_state=SEEDS,
        )
    )
    return audit.find_label_issues, (X, y), named


@family(0.3)
@st.composite
def listed_issues(draw: st.DrawFn) -> Case:
    """Draw a call of a method of the issues of small data."""
    return _listed, (draw(either(st.integers(0, 9))), draw(st.integers(0, 9))), {}


def _listed(n: Any, seed: int) -> Any:
    """List some issues, and fit the corrected weights."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 2)), [{0}, {1}, {2}, {0, 1}, {1, 2}, {0}, {1}, {0, 1, 2}]
    issues = audit.find_label_issues(X, y, PLKNN(n_neighbors=2), cv=2)
    repr(issues)
    listed = [(i.row, i.candidates, i.proposed, i.runner_up) for i in issues.top(n)]  # the probability may be NaN
    return listed, PLKNN(n_neighbors=2).fit(X, issues.corrected()).predict(X)


@st.composite
def _a_truth(draw: st.DrawFn, y: Any, n: int) -> Any:
    """Draw a column of labels that occur in the data."""
    classes = draw(classes_of(y))
    return [classes[0]] * n if isinstance(classes, list | tuple) and len(classes) else classes


@family(1.0, "comparison.default_estimators")
@st.composite
def choices(draw: st.DrawFn) -> Case:
    """Draw a call of a function that selects methods."""
    flag = either(st.booleans())
    named = optional(sparse=flag, negative=flag, n_rows=several(1, 10**6), random_state=SEEDS)
    return default_estimators, (), draw(named)


@family(1.0, "multilabel.breakeven_score")
@st.composite
def documents(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS) + 4, draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    topic = np.repeat(np.arange(n)[:, None] % 2 == 0, K, axis=1) ^ (random.random(K) < 0.5)
    named = draw(
        either(st.sampled_from([range(n // 2), np.arange(n) < 3, [0, 1]]), odd=st.one_of(SCALARS, _odd_rows(n)))
    )
    Y = draw(either(st.sampled_from([topic, topic.astype(int), topic.tolist()]), features(n, K)))
    X = draw(features(n, 2))
    return multilabel.breakeven_score, (PLKNN(n_neighbors=2), X, Y, named), {"transductive": draw(st.booleans())}


def _odd_rows(n: int) -> Any:
    return st.sampled_from([[], [-1], [n], np.array([0.0]), [True, False]])


@family(1.0, "labeling.LabelingSession")
@st.composite
def sessions(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    named = draw(
        optional(
            y=sets(n, 3, NAMED_FORMS),
            estimator=either(st.sampled_from([PLKNN(n_neighbors=2), AvgPerceptron()])),
            strategy=either(st.sampled_from(["auto", "margin", "random"])),
            annotations_per_item=several(1, 2),
            check_interval=several(0, 2),
            refit_every=several(1, 2),
            min_votes=several(1, 1),
            top_k=several(1, 2),
            random_state=SEEDS,
        )
    )
    classes = draw(classes_of(named["y"])) if "y" in named else draw(either(st.sampled_from([NAMES, list(NAMES[:2])])))
    label = classes[0] if isinstance(classes, list | tuple) and len(classes) else "ant"
    answer = either(st.sampled_from([0, 1]).map(lambda i: label if i else [label]), just("yak"))
    named = {"classes": classes, "estimator": PLKNN(n_neighbors=2), **named}
    return _labeled, (draw(features(n, 2)), draw(st.lists(answer, max_size=4))), named


def _labeled(X: Any, answers: Any, **named: Any) -> Any:
    session = LabelingSession(X, **named)
    for labels in answers:
        question = session.ask("Ann")
        if question is None:
            break
        session.answer(question, labels)
    return session.candidates()


@family(1.0, "conformal.ConformalClassifier conformal.evaluate_sets")
@st.composite
def prediction_sets(draw: st.DrawFn) -> Case:
    """Draw a fit and a prediction of sets, or the evaluation of sets."""
    n = draw(ROWS)
    if draw(st.integers(0, 3)) == 0:
        return conformal.evaluate_sets, (draw(sets(n, 2)), draw(sets(n, 2))), {}
    named = draw(
        optional(
            coverage=either(st.sampled_from([0.1, 0.5, 0.9])),
            method=either(st.sampled_from(["lac", "aps"])),
            cv=either(st.sampled_from([2, 0.5, "prefit", "leave_one_out", model_selection.CandidateKFold(2)])),
            calibration=either(st.sampled_from(["sampled", "conservative", "optimistic"])),
            class_conditional=either(st.booleans()),
            randomized=either(st.booleans()),
            n_jobs=either(st.just(1)),
            random_state=SEEDS,
        )
    )
    named.setdefault("cv", 2)
    estimator = draw(
        either(
            st.sampled_from([PLKNN(n_neighbors=2), AvgPerceptron(), fitted("votes")]),
            st.sampled_from([None, PLKNN, 3, len]),
            share=6,
        )
    )
    y = draw(sets(n, 2, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    return _predict_sets, (estimator, draw(features(n, 2)), y), named


def _predict_sets(estimator: Any, X: Any, y: Any, **named: Any) -> Any:
    """Fit and predict sets; warnings about few rows are expected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*(too few|every prediction set|Most prediction sets)", UserWarning)
        result = conformal.ConformalClassifier(estimator, **named).fit(X, y).predict_set(X)
    assert (result.sizes > 0).all()
    return result.mask
