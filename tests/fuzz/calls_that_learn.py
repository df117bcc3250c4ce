"""Calls of what fits estimators or reads text: queries, comparisons, streams, sessions."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from oneof import (
    PLKNN,
    AvgPerceptron,
    active,
    model_selection,
    stream,
    text,
    topics,
)
from oneof.compare import compare, learning_curve
from oneof.web import LabellingSession
from tests.fuzz.drawn import CLASSES, ROWS, SEEDS, Case, either, fitted, optional, several
from tests.fuzz.labels import NAMES, supervision
from tests.fuzz.rows import tables


@st.composite
def queries(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    X = draw(tables(n, 2))
    model = draw(either(st.sampled_from([fitted("graph"), fitted("votes"), fitted("online"), PLKNN()])))
    strategy = either(st.sampled_from(["information", "entropy", "margin", "random"]))
    which = draw(st.integers(0, 2))
    if which == 0:
        return active.query, (model, X), draw(optional(n=several(0, 4), strategy=strategy, random_state=SEEDS))
    if which == 1:
        asked = either(st.sampled_from([[[0], [1, 2]], [{0}], [[0, 1, 2]], [[7]], [[]]]))
        return active.query_subsets, (model, X), draw(optional(n=several(0, 4), subsets=asked))
    named = draw(optional(batch=several(1, 3), strategy=strategy, random_state=SEEDS, X_test=tables(n, 2)))
    starts = either(st.sampled_from([2, 1, [0, 1], np.array([0, 1]), range(2), [0, 0], [99], [-1], [], [True, False]]))
    named |= {"start": draw(starts), "n_queries": draw(several(0, 3))}
    if "X_test" in named:
        named["y_test"] = draw(either(st.just(np.arange(n) % 2), supervision(n, 2)))
    learner = draw(st.sampled_from([PLKNN(n_neighbors=2), LogisticRegression()]))
    y = draw(either(st.sampled_from([np.arange(n) % 2, [NAMES[i % 2] for i in range(n)]]), supervision(n, 2)))
    return _simulated, (learner, X, y), named


def _simulated(learner: Any, *given_: Any, **named: Any) -> Any:
    """Simulate; what scikit-learn's own estimators say of rows that they cannot take is theirs to say."""
    if isinstance(learner, PLKNN):
        return active.simulate(learner, *given_, **named)
    try:
        return active.simulate(learner, *given_, **named)
    except (ValueError, TypeError, RuntimeWarning) as error:
        trace = error.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        if "sklearn" not in trace.tb_frame.f_code.co_filename and "scipy" not in trace.tb_frame.f_code.co_filename:
            raise
        return None


@st.composite
def comparisons(draw: st.DrawFn) -> Case:
    n = draw(st.integers(0, 12))
    X, y = draw(tables(n, 2, odd=draw(st.booleans()))), draw(supervision(n, 3))
    named = draw(
        optional(
            cv=either(st.sampled_from([2, 3, model_selection.CandidateKFold(2), [([0, 1], [2])]])),
            truth=either(st.just(np.arange(n) % 3), supervision(n, 3)),
            random_state=SEEDS,
        )
    )
    if draw(st.booleans()):
        named |= draw(optional(shares=either(st.sampled_from([(0.5, 1.0), (1.0,), (0.0,), (), (float("nan"),)]))))
        return learning_curve, (PLKNN(n_neighbors=2), X, y), named
    methods = [{"a": PLKNN(), "b": AvgPerceptron()}, ["PLKNN"], "AvgPerceptron", "none", [], {}, {"a": 1}, {1: PLKNN()}]
    return compare, (X, y, draw(either(st.sampled_from(methods)))), named


@st.composite
def texts(draw: st.DrawFn) -> Case:
    lines = either(st.one_of(st.text(max_size=20), st.sampled_from(["the cats don't", "oil wheat", "\ud800", "\0"])))
    given_ = draw(either(st.lists(lines, min_size=1, max_size=5)))
    named = draw(
        optional(
            stop_words=either(st.sampled_from(["english", None, ["the"], (), ["don't"]])),
            stem=either(st.sampled_from(["english", "german", None, "klingon"])),
        )
    )
    if draw(st.booleans()):
        return _stems, (draw(lines),), named
    return _words, (given_,), named


def _words(given_: Any, **named: Any) -> Any:
    """Count the words; what scikit-learn's vectorizer says of texts is its own to say."""
    vectorizer = text.make_vectorizer(**named)
    try:
        return vectorizer.fit_transform(given_)
    except (ValueError, AttributeError, TypeError):
        return None


def _stems(line: Any, stem: Any = "english", stop_words: Any = None) -> Any:
    tokenizer = text.StemTokenizer(stem, stop_words)
    return tokenizer(line) if isinstance(line, str) else None


@st.composite
def documents(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS) + 2, draw(st.integers(1, 3))
    topics_ = np.random.default_rng(draw(st.integers(0, 99))).random((n, K)) < 0.5
    rows = either(st.sampled_from([range(n // 2), np.arange(n) % 2 == 0, [0, 1], [], [-1], [n], np.array([0.0])]))
    Y = draw(either(st.sampled_from([topics_, topics_.astype(int), topics_.tolist()]), tables(n, K)))
    named = {"transductive": draw(st.booleans())}
    return topics.score_topics, (PLKNN(n_neighbors=2), draw(tables(n, 2, odd=False)), Y, draw(rows)), named


@st.composite
def single_rows(draw: st.DrawFn) -> Case:
    value = either(st.one_of(st.floats(), st.integers(), st.text(max_size=5), st.booleans(), st.none()))
    row = st.dictionaries(either(st.text(max_size=4)).filter(lambda name: isinstance(name, str)), value, max_size=4)
    label = either(st.sampled_from(["ant", {"ant", "bee"}, None, "yak", [], ["bee"]]))
    lines = draw(st.lists(st.tuples(either(row), label), max_size=5))
    classes = draw(either(st.sampled_from([NAMES, NAMES[:2], NAMES[:1], [], ["a", "a"]])))
    learner = draw(either(st.sampled_from([AvgPerceptron(), AvgPerceptron(average=True, fit_intercept=True), PLKNN()])))
    return _one_by_one, (learner, classes, lines), draw(optional(hash_bits=several(1, 6)))


def _one_by_one(learner: Any, classes: Any, lines: Any, **named: Any) -> Any:
    model = stream.OneByOne(learner, classes, **named)
    found = []
    for row, label in lines:
        found.append(model.predict_proba_one(row))
        model.predict_one(row)
        model.learn_one(row, label)
    return [list(shares.values()) for shares in found], model.fitted().coef_


@st.composite
def sessions(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    X = draw(tables(n, 2, odd=draw(st.booleans())))
    named = draw(
        optional(
            y=supervision(n, 3),
            estimator=either(st.sampled_from([PLKNN(n_neighbors=2), AvgPerceptron()])),
            strategy=either(st.sampled_from(["auto", "entropy", "margin", "random", "information"])),
            overlap=several(1, 2),
            check_every=several(0, 2),
            batch=several(1, 2),
            min_votes=several(1, 2),
            top=several(1, 2),
            random_state=SEEDS,
        )
    )
    return (
        _labelled,
        (X, draw(st.lists(either(st.sampled_from(["ant", ["ant", "bee"], "yak", []])), max_size=4))),
        {
            "classes": draw(CLASSES),
            "estimator": PLKNN(n_neighbors=2),
            **named,
        },
    )


def _labelled(X: Any, answers: Any, **named: Any) -> Any:
    session = LabellingSession(X, **named)
    for labels in answers:
        question = session.ask("Ann")
        if question is None:
            break
        session.answer(question, labels)
    return session.candidates()
