"""Every public function, with whatever it is given: finite numbers, or one of our errors."""

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from oneof import (
    PLKNN,
    AvgPerceptron,
    CandidateSets,
    GraphLogisticRegression,
    active,
    diffusion_kernel,
    graphs,
    make_partial,
    metrics,
    model_selection,
    regularized_laplacian_kernel,
    stream,
    text,
    topics,
)
from oneof.compare import compare, learning_curve
from oneof.datasets import make_two_sensors
from oneof.web import LabellingSession
from tests.estimators.panel import table
from tests.fuzz.labels import NAMES, supervision
from tests.fuzz.outcome import DOCUMENTED, outcome
from tests.fuzz.parameters import INVALID
from tests.fuzz.profile import cases
from tests.fuzz.rows import ODD_OBJECTS, tables

Case = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""A function, and what it is called with."""

ROWS = st.integers(0, 8)
SCALARS = st.sampled_from([*INVALID, *ODD_OBJECTS])


@st.composite
def either(draw: st.DrawFn, plain: Any, odd: Any = SCALARS, share: int = 8) -> Any:
    """Draw a plain value, and once in a while an odd one."""
    return draw(odd) if draw(st.integers(0, share)) == share else draw(plain)


@st.composite
def optional(draw: st.DrawFn, **drawn: Any) -> dict[str, Any]:
    """Draw some of the named arguments."""
    return {name: draw(values) for name, values in drawn.items() if draw(st.integers(0, 2)) == 2}


def just(value: Any) -> Any:
    """Draw a value that hypothesis need not hash, as `st.just` does."""
    return st.builds(lambda: value)


def several(lowest: int, highest: int) -> Any:
    return either(st.integers(lowest, highest))


CLASSES = either(
    st.sampled_from([NAMES, NAMES[:2], [0, 1, 2, 3], range(3), ["ant", "ant"], [None, 1], ["k0", "k1", "k2"]])
)
SEEDS = either(st.sampled_from([0, 1, None, np.random.default_rng(0), np.random.RandomState(0)]))


@st.composite
def set_makers(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    kind = draw(
        st.sampled_from(
            ("labels", "sets", "indicator", "annotations", "complementary", "hierarchy", "strings", "init", "take")
        )
    )
    y = draw(supervision(n, K))
    named = draw(optional(classes=CLASSES))
    if kind == "annotations":
        rows = draw(st.integers(1, 3))
        answers = np.array(draw(st.lists(st.sampled_from([*NAMES[:2], None]), min_size=3 * rows, max_size=3 * rows)))
        y = draw(either(st.sampled_from([answers.reshape(rows, 3), answers.reshape(rows, 3).tolist()]), just(y)))
        named |= draw(optional(min_votes=several(1, 4), top=several(1, 3)))
    if kind == "hierarchy":
        trees = (
            {"a": list(NAMES)},
            {"a": ["b"], "b": ["a"]},
            {},
            {"a": []},
            {"a": "ant", "b": ["a", "bee"]},
            {1: [0, 2]},
        )
        return CandidateSets.from_hierarchy, (y, draw(either(st.sampled_from(trees)))), named
    if kind == "strings":
        lines = st.sampled_from(
            ["ant", "ant|bee", "", None, " cat ", "a||b", "|", "a\\|b", "\\", 3, float("nan"), "é|☃"]
        )
        y = draw(either(st.lists(lines, max_size=6), just(y)))
        named |= draw(optional(separator=either(st.sampled_from(["|", ";", "", " ", "\\", "::"]))))
    if kind == "init":
        return CandidateSets, (y, draw(CLASSES)), {}
    if kind == "take":
        return _taken, (y, draw(either(st.sampled_from([slice(1, 3), [0, 1], np.array([True, False]), 0, -1])))), {}
    return getattr(CandidateSets, f"from_{kind}"), (y,), named


def _taken(y: Any, rows: Any) -> Any:
    """Go there and back through all that sets can be written as."""
    sets = CandidateSets.from_sets(y)
    again = CandidateSets.from_sets(sets.to_sets(), classes=sets.classes)
    assert again == sets
    assert CandidateSets.from_indicator(sets.to_indicator(sparse=True), classes=sets.classes) == sets
    repr(sets)
    sets.to_strings()
    return sets[rows]


@st.composite
def judgements(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(supervision(n, K))
    function = draw(
        st.sampled_from(
            (
                metrics.ambiguous_zero_one_loss,
                metrics.covering_rate,
                metrics.exact_accuracy,
                metrics.approximated_accuracy,
            )
        )
    )
    named = draw(
        optional(classes=CLASSES, sample_weight=either(st.sampled_from([np.ones(n), np.zeros(n), [1e300] * n])))
    )
    if function is metrics.approximated_accuracy:
        given_ = draw(tables(n, K, below_zero=False))
    else:
        labels = (np.arange(n) % K, [NAMES[i % K] for i in range(n)], np.full(n, np.nan), np.arange(n, dtype=object))
        given_ = draw(either(st.sampled_from(labels), supervision(n, K)))
    return function, (y, given_), named


@st.composite
def rankings(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(1, 3))
    if draw(st.booleans()):
        scores = draw(tables(n, K))
        truth = draw(either(st.sampled_from([np.ones((n, K)), np.eye(n, K), np.arange(n) % 2 == 0]), tables(n, K)))
        return metrics.precision_recall_break_even, (truth, draw(either(just(scores)))), {}
    return metrics.win_tie_loss, (draw(tables(n, K)), draw(tables(n, K))), draw(optional(alpha=either(st.floats())))


@st.composite
def hidings(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    if draw(st.integers(0, 9)) == 0:
        sensors = {
            "n_rows": (1, n, 2),
            "n_features": (K, 1),
            **draw(optional(n_rows=SCALARS, share=either(st.floats()))),
        }
        return _two_sensors, (), sensors | draw(optional(separation=SCALARS, random_state=SEEDS))
    named = draw(
        optional(
            share=either(st.floats(0, 1)),
            extra=several(0, 4),
            size=several(1, 4),
            kind=either(st.sampled_from(["uniform", "confusable", "cooccurring"])),
            epsilon=either(st.floats(0, 1)),
            confusion=either(st.just(np.ones((K, K))), tables(K, K)),
            groups=either(st.just(np.arange(n) // 2), supervision(n, K)),
            classes=CLASSES,
            random_state=SEEDS,
        )
    )
    return make_partial, (draw(supervision(n, K)),), named


def _two_sensors(**named: Any) -> Any:
    """Return the rows without the NaN of those that lack a sensor."""
    rows = make_two_sensors(**named)
    return np.nan_to_num(rows.X, nan=0.0, posinf=np.inf, neginf=-np.inf), rows.seen


@st.composite
def kernels(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    function = draw(
        st.sampled_from((diffusion_kernel, regularized_laplacian_kernel, graphs.check_affinity, _kernel_entries))
    )
    W = draw(tables(n, n if draw(st.integers(0, 9)) else n + 1, odd=draw(st.booleans()), below_zero=False))
    if draw(st.integers(0, 3)) and isinstance(W, np.ndarray) and W.dtype.kind == "f" and W.ndim == 2:
        with np.errstate(all="ignore"):
            W = np.abs(np.tril(W[:, :n], -1)) if W.shape[0] == W.shape[1] else W
            W = W + W.T if W.shape[0] == W.shape[1] else W
    named = (
        {}
        if function in (graphs.check_affinity, _kernel_entries)
        else draw(
            optional(beta=either(st.floats(0, 1e300)), kind=either(st.sampled_from(["plain", "symmetric", "walk"])))
        )
    )
    return function, (draw(either(just(W))),), named


def _kernel_entries(gram: Any) -> Any:
    kernel = graphs.PrecomputedKernel(gram)
    rows = np.arange(3)[:, None]
    repr(kernel)
    return kernel(rows), kernel.diag(rows)


@functools.cache
def _fitted(name: str) -> Any:
    X, mask = table(20, d=2)
    if name == "graph":
        return GraphLogisticRegression().fit(X, mask)
    return (PLKNN() if name == "votes" else AvgPerceptron()).fit(X, mask)


@st.composite
def scorings(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    scorer = draw(
        st.sampled_from(
            (
                model_selection.covering_rate_scorer,
                model_selection.approximated_accuracy_scorer,
                model_selection.exact_accuracy_scorer,
            )
        )
    )
    if draw(st.booleans()):
        named = draw(optional(n_splits=several(2, 4), shuffle=either(st.booleans()), random_state=SEEDS))
        return _folds, (draw(tables(n, 2)), draw(supervision(n, 3))), named
    model = _fitted(draw(st.sampled_from(["votes", "online"])))
    named = draw(optional(sample_weight=either(st.just(np.ones(n)))))
    return scorer, (model, draw(tables(n, 2)), draw(supervision(n, 3))), named


def _folds(X: Any, y: Any, **named: Any) -> Any:
    return list(model_selection.CandidateKFold(**named).split(X, y))


@st.composite
def queries(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    X = draw(tables(n, 2))
    model = draw(either(st.sampled_from([_fitted("graph"), _fitted("votes"), _fitted("online"), PLKNN()])))
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


FAMILIES = {
    "sets": (set_makers, 3.0),
    "judgements": (judgements, 2.0),
    "rankings": (rankings, 1.0),
    "hidings": (hidings, 2.0),
    "kernels": (kernels, 2.0),
    "scorings": (scorings, 1.0),
    "queries": (queries, 2.0),
    "comparisons": (comparisons, 1.0),
    "texts": (texts, 1.0),
    "documents": (documents, 1.0),
    "single rows": (single_rows, 1.0),
    "sessions": (sessions, 1.0),
}
MAY_BE_NAN = ("rankings", "documents")
"""The break-even point of a class without positives is documented to be NaN."""


def play(family: str, case: Case) -> None:
    """Call once, and hold what comes of it against the law."""
    function, given_, named = case
    result = outcome(function, *given_, may_be_nan=family in MAY_BE_NAN, **named)
    if isinstance(result, DOCUMENTED):
        return


@pytest.mark.parametrize("family", FAMILIES)
def test_functions(family):
    """Every public function ends in finite numbers or in one of our errors, and leaves its arguments alone."""
    drawn, share = FAMILIES[family]

    @cases(share)
    @given(drawn())
    def check(case):
        play(family, case)

    check()
