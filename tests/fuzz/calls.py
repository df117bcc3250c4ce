"""Fuzzed calls of the public functions: their names, and strategies for their arguments."""

import functools
import os
import tempfile
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import strategies as st
from scipy.io import savemat
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from oneof import (
    CLPL,
    PLGP,
    PLKNN,
    PLSVM,
    AvgPerceptron,
    CandidateSets,
    GaussianEM,
    LOORidge,
    MaxPegasos,
    active,
    audit,
    conformal,
    datasets,
    distributed,
    graphs,
    metrics,
    model_selection,
    multilabel,
    persistence,
    plots,
    stream,
    text,
)
from oneof.comparison import compare, learning_curve
from oneof.crowd import AnnotatorModel, Answers, CrowdClassifier, apply_rules, krippendorff_interval
from oneof.errors import OneofError
from oneof.io import CellFormat, Dialect, Overrides, TableOptions, TextOptions
from oneof.labeling import LabelingSession, LabelTable
from tests.fuzz.labels import FORMS, MASK_FORMS, NAMED_FORMS, NAMES, SET_FORMS
from tests.fuzz.outcome import of_the_caller
from tests.fuzz.parameters import INVALID, NUMBERS
from tests.fuzz.rows import ODD_OBJECTS, in_form
from tests.fuzz.strategies import (
    CORRUPTED,
    FAMILIES,
    ROWS,
    SCALARS,
    Case,
    Draw,
    classes_of,
    composite,
    either,
    exact,
    family,
    features,
    fitted,
    just,
    of,
    sets,
    several,
)

__all__ = ["FAMILIES"]

USUAL_FORMS = ("integers", "mask", "indicator", "sets", "text", "candidates")
NUMBERED_FORMS = ("integers", "-1 missing", "mask", "indicator", "lists", "csr")
LISTED = (list, tuple)


def names_in(classes: Any) -> Any:
    """Return classes as a list of one or more; other objects unchanged, as a caller may pass them by mistake."""
    return list(classes) if isinstance(classes, LISTED) and classes else classes


def shares(draw: Draw, n: int, K: int) -> Any:
    """Return random probabilities of K classes."""
    return np.random.default_rng(draw(st.integers(0, 99))).dirichlet(np.ones(K), n)


def raised_by_scikit_learn(error: BaseException) -> bool:
    """Return whether scikit-learn or SciPy raised an error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = "" if trace is None else trace.tb_frame.f_code.co_filename
    return "sklearn" in file or "scipy" in file


def of_scikit_learn(call: Any, *given_: Any, **named: Any) -> Any:
    """Call a function; return None for an error that scikit-learn's own estimators raise, which is not changed."""
    try:
        return call(*given_, **named)
    except (ValueError, TypeError, AttributeError, RuntimeWarning) as error:
        if not raised_by_scikit_learn(error):
            raise
        return None


# -- candidate sets, distractors, metrics and comparisons ------------------------------------------------------------

MAKERS = {"labels": NAMED_FORMS, "sets": FORMS, "indicator": MASK_FORMS, "complementary": SET_FORMS, "init": ("mask",)}
"""Constructors of candidate sets with the forms of labels that they accept."""


@family(3.0, "CandidateSets")
def set_makers(draw: Draw) -> Case:
    kind = draw.pick(*MAKERS, "annotations", "hierarchy", "strings", "take")
    if kind in ("hierarchy", "strings"):
        return draw({"hierarchy": hierarchies, "strings": strings}[kind]())
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(answers(n, K, ("lists", "objects")) if kind == "annotations" else sets(n, K, MAKERS.get(kind, FORMS)))
    if kind == "init":
        return CandidateSets, (y, draw(of(NAMES[:K], odd=classes_of(y)))), {}
    if kind == "take":
        return _taken, (y, draw(of(slice(1, 3), [0, 1], np.arange(n) % 2 == 0, 0, -1, np.array([], dtype=int)))), {}
    function = getattr(CandidateSets, f"from_{kind}")
    return function, (y,), draw.options(function, classes=of(NAMES) if kind == "annotations" else classes_of(y))


@composite
def hierarchies(draw: Draw) -> Case:
    valid = {"a": list(NAMES)}, {"a": "ant", "b": ["a", "bee"]}, {1: [0, 2], "c": list(NAMES)}
    tree = draw(of(*valid, odd=st.one_of(st.sampled_from([{"a": ["b"], "b": ["a"]}, {}, {"a": []}]), SCALARS)))
    nodes = [*tree, *(leaf for leaves in tree.values() for leaf in leaves)] if isinstance(tree, dict) else []
    labels = st.lists(st.sampled_from([*(nodes or NAMES), None]), min_size=1, max_size=5)
    y = draw(either(labels, sets(3, 3)))
    return CandidateSets.from_hierarchy, (y, tree), draw.some(classes=either(labels))


@composite
def strings(draw: Draw) -> Case:
    lines = ("ant", "ant|bee", None, " cat ", "bee|cat", "a\\|b", "é|☃", "", "ant:0.7|bee:.3", '{"ant": 0.7, "bee": 1}')
    odd = st.sampled_from([*lines, "a||b", "|", "\\", 3, float("nan"), "ant:x", "{}", '{"ant": "x"}', '{"ant":'])
    y = draw(either(st.lists(of(*lines, odd=odd), min_size=1, max_size=6), sets(3, 3)))
    separator = of("|", ";", "::", " ", odd=st.one_of(SCALARS, st.sampled_from(["", "\\"])))
    return (
        CandidateSets.from_strings,
        (y,),
        draw.options(CandidateSets.from_strings, separator=separator, classes=of(NAMES)),
    )


def _taken(y: Any, rows: Any) -> Any:
    """Convert candidate sets to every other form and back."""
    read = CandidateSets.from_sets(y)
    assert CandidateSets.from_sets(read.to_sets(), classes=read.classes) == read
    assert CandidateSets.from_indicator(read.to_indicator(sparse=True), classes=read.classes) == read
    assert CandidateSets.concatenate([read[:1], read[1:]]) == read
    repr(read)
    read.to_strings()
    return read[rows]


@family(
    2.0, "metrics.ambiguous_zero_one_loss metrics.covering_rate metrics.exact_accuracy metrics.approximated_accuracy"
)
def judgments(draw: Draw) -> Case:
    n, K, function = draw(ROWS), draw(st.integers(2, 4)), draw.pick(*draw.calls)
    y = draw(sets(n, K))
    classes = draw(classes_of(y))
    weights = of(np.ones(n), np.arange(n), [1e300] * n, np.zeros(n))
    named = draw.options(function, classes=just(classes), sample_weight=weights)
    known = names_in(classes)
    many = len(known) if isinstance(known, list) else K
    if function is metrics.approximated_accuracy:
        proba = shares(draw, n, many)
        return function, (y, draw(of(proba, proba.tolist(), odd=features(n, many)))), named
    truth = [known[i % many] for i in range(n)] if isinstance(known, list) and known else known
    odd = st.sampled_from([[NAMES[i % K] for i in range(n)], np.full(n, np.nan), np.arange(n, dtype=object)])
    return function, (y, draw(either(just(truth), st.one_of(odd, sets(n, K))))), named


@family(1.0, "metrics.precision_recall_breakeven_point metrics.win_tie_loss metrics.paired_p_values")
def rankings(draw: Draw) -> Case:
    n, K, function = draw(ROWS), draw(st.integers(1, 3)), draw.pick(*draw.calls)
    if function is metrics.precision_recall_breakeven_point:
        truth = of(np.ones((n, K)), np.eye(n, K), np.arange(n * K).reshape(n, K) % 2 == 0, odd=features(n, K))
        return function, (draw(truth), draw(features(n, K))), {}
    named = draw.options(function, test_train_ratio=either(st.floats(0.0, 1.0), st.floats()))
    return function, (draw(features(n, K + 1)), draw(features(n, K + 1))), named


@family(2.0, "make_partial_labels")
def hidings(draw: Draw) -> Case:
    n, K, [function] = draw(ROWS), draw(st.integers(2, 4)), draw.calls
    y = draw(either(exact(n, K), sets(n, K)))
    kind = draw.pick("uniform", "independent", "confusable", "cooccurring", "dictionary", "rules")
    classes = draw(classes_of(y))
    many = len(classes) if isinstance(classes, LISTED) else K
    sizes = draw.pick({"n_distractors": several(0, 1)}, {"set_size": several(1, 2)})
    of_kind = {
        "uniform": sizes,
        "confusable": {**sizes, "epsilon": either(st.floats(0, 1)), "confusion": either(just(np.ones((many, many))))},
        "independent": {"rate": either(st.floats(0, 1))},
        "cooccurring": {"groups": either(just(np.arange(n) // 3), features(n, 1))},
    }.get(kind, {"n_distractors": several(0, 1)})
    unused = dict.fromkeys(
        ("n_distractors", "set_size", "epsilon", "rate", "confusion", "groups", "strength", "temperature")
    )
    own = {"fraction": either(st.floats(0, 1)), "classes": just(classes), "noise_rate": either(st.floats(0, 1))}
    if draw.pick(False, False, True):
        own |= {"weights": of("graded"), "noise_rate": None}
    if draw(CORRUPTED):
        unused["groups"] = either(just(np.arange(n) // 3), features(n, 1))
    return function, (y,), draw.options(function, **unused | own | of_kind) | {"distractors": draw(of(kind))}


@family(1.0, "model_selection.CandidateKFold model_selection.CandidateGroupKFold")
def splits(draw: Draw) -> Case:
    n, splitter = draw(ROWS), draw.pick(*draw.calls)
    named = {"n_splits": draw(several(2, 4))} | draw.options(splitter, n_splits=None)
    if named.get("shuffle") is False:
        named.pop("random_state", None)
    groups = either(st.lists(st.integers(0, 4), min_size=n, max_size=n), st.sampled_from([None, "ab", 3]))
    given_ = draw(features(n, 2)), draw(sets(n, 3)), draw(groups)
    return _folds, (splitter, given_[: 2 + (splitter is model_selection.CandidateGroupKFold)]), named


def _folds(splitter: Any, given_: Any, **named: Any) -> Any:
    return list(splitter(**named).split(*given_))


MINE = model_selection.Scorer("mine", lambda *_: 1.0)


@family(
    1.0,
    "model_selection.covering_rate_scorer model_selection.approximated_accuracy_scorer "
    "model_selection.exact_accuracy_scorer model_selection.Scorer",
)
def scorings(draw: Draw) -> Case:
    n = draw(ROWS)
    model = draw(of(fitted("votes"), fitted("graph"), fitted("online")))
    y = draw(sets(n, 3, NUMBERED_FORMS))
    return draw.pick(*draw.calls[:3], MINE), (model, draw(features(n, 2)), y), draw.some(sample_weight=of(np.ones(n)))


@family(1.0, "model_selection.compute_sample_weight")
def class_weights(draw: Draw) -> Case:
    weights = st.dictionaries(st.integers(-1, 4), st.sampled_from([0, 1, 2.5, -1, np.nan, np.inf, "heavy", None]))
    y = sets(draw(st.integers(1, 9)), 3, NUMBERED_FORMS)
    return draw.calls[0], (draw(either(st.sampled_from(["balanced", None]) | weights)), draw(y)), {}


@family(1.0, "model_selection.calibrate_posteriors")
def calibrations(draw: Draw) -> Case:
    n = draw(st.integers(1, 9))
    numbers = st.sampled_from([1e-300, 1e-9, 0.1, 0.5, 1.0])
    y = CandidateSets.from_weights([[draw(numbers) for _ in range(3)] for _ in range(n)])
    labels = [draw.pick(0, 1, 2, None, 7) for _ in range(draw.pick(n, n, 2))]
    prior = draw(of(None, [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1.0]))
    return draw.calls[0], (draw(of(y)), labels), {"prior": prior}


# -- graphs, graph kernels and plots ---------------------------------------------------------------------------------


@composite
def affinities(draw: Draw, n: int) -> Any:
    """Draw symmetric nonnegative weights in any container; in a corrupted case possibly any table."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    W = np.tril(random.random((n, n)) * (random.random((n, n)) < 0.5), -1)
    W = (W + W.T) * draw.pick(1.0, 1.0, 1.0, 1e-300, 1e300, 5e-324)
    form = draw.pick("C", "F", "strided", "read-only", "lists", "csr", "csc", "coo")
    # `in_form` drops some entries of sparse matrices, which makes them asymmetric.
    sparse = {"csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_matrix}
    valid = sparse[form](W) if form in sparse else in_form(W, form, np.random.default_rng(0))
    return draw(either(just(valid), st.one_of(features(n, n), features(n, n + 1), SCALARS)))


@family(
    2.0, "diffusion_kernel regularized_laplacian_kernel graphs.laplacian graphs.check_affinity graphs.PrecomputedKernel"
)
def kernels(draw: Draw) -> Case:
    n, function = draw(ROWS), draw.pick(*draw.calls)
    W = draw(affinities(n))
    if function is graphs.PrecomputedKernel:
        return _entries, (W,), {}
    if function is graphs.check_affinity:
        return function, (W, *draw.pick((), (n,))), {}
    beta = {} if function is graphs.laplacian else {"beta": either(st.floats(0, 5), st.one_of(SCALARS, st.floats()))}
    return function, (W,), draw.options(function, **beta)


def _entries(gram: Any) -> Any:
    kernel = graphs.PrecomputedKernel(gram)
    rows = np.arange(3)[:, None]
    repr(kernel)
    return kernel(rows), kernel.diag(rows)


@family(1.0, "graphs.NeighborGraph graphs.Graph")
def links(draw: Draw) -> Case:
    n, d = draw(ROWS), draw(st.integers(1, 3))
    affinity = st.one_of(st.sampled_from(["gaussian", "cosine", "binary"]), affinities(n))
    own = {"affinity": either(affinity), "bandwidth": of("local", *NUMBERS), "algorithm": None}
    return _linked, (_rows(n, d, draw), _rows(draw(st.integers(1, 3)), d, draw)), draw.options(draw.calls[0], **own)


def _rows(n: int, d: int, draw: Draw) -> Any:
    """Draw validated rows, including rows that overflow float64."""
    random = np.random.default_rng(draw(st.integers(0, 99)))
    return random.normal(size=(n, d)) * draw(of(1.0, 0.0, 1e-200, 1e9, odd=st.just(1e300)))


def _linked(X: Any, Z: Any, **named: Any) -> Any:
    graph = graphs.NeighborGraph(**named).graph(X)
    assert isinstance(graph, graphs.Graph)
    repr(graph)
    return graph.affinity, graph.transform(Z)


@family(
    0.3,
    "plots.plot_set_sizes plots.plot_weights plots.plot_class_frequencies plots.plot_cooccurrence "
    "plots.plot_decisions plots.plot_learning_curve",
)
def pictures(draw: Draw) -> Case:
    n, K, function = draw(ROWS), draw(st.integers(2, 4)), draw.pick(*draw.calls)
    if function is plots.plot_learning_curve:
        rates = of(np.full(3, 0.5), [0.1, 0.2, 0.9], (1.0, 1.0, 1.0))
        curve = {"covering_rate": draw(rates), "covering_rate_std": draw(rates), "train_sizes": (1, 2, 3)}
        accuracy = draw.pick(rates, st.none())
        curve |= {"accuracy": draw(accuracy), "accuracy_std": draw(accuracy)}
        return _drawn, (function, draw(either(just(SimpleNamespace(**curve))))), {}
    y = draw(sets(n, K, SET_FORMS))
    labels = (draw(either(a_truth(y, n), sets(n, K))),) if function is plots.plot_decisions else ()
    return _drawn, (function, y, *labels), {}


def _drawn(function: Any, given_: Any, *labels: Any) -> Any:
    """Plot on axes that are discarded; sets of any form are converted first."""
    import matplotlib.figure

    if function is not plots.plot_learning_curve and not np.isscalar(given_):
        given_ = CandidateSets.from_sets(given_)
    function(given_, *labels, ax=matplotlib.figure.Figure().subplots())


# -- calls that fit estimators: queries, comparisons, documents, sessions --------------------------------------------


@composite
def a_truth(draw: Draw, y: Any, n: int) -> Any:
    """Draw a column of labels that occur in the data."""
    known = names_in(draw(classes_of(y)))
    return known[:1] * n if isinstance(known, list) else known


@composite
def folds(draw: Draw, n: int) -> Any:
    """Draw the values of an argument `cv`."""
    return draw(
        of(
            2,
            3,
            model_selection.CandidateKFold(2),
            [([0, 1, 2, 3], [4, 5])],
            odd=st.one_of(SCALARS, st.sampled_from([[([0], [99])], [], [([0], [n])]])),
        )
    )


def groups(n: int) -> Any:
    """Return the values of an argument `groups`."""
    return of(np.arange(n) % 3, [f"g{i // 2}" for i in range(n)])


@family(1.5, "active.query active.query_subsets active.simulate active.local_density active.AnswerModel")
def queries(draw: Draw) -> Case:
    n, function = draw(ROWS), draw.pick(*draw.calls)
    if function is active.AnswerModel:
        rates = either(st.sampled_from([0.0, 0.25, 0.5]), st.sampled_from([-1.0, 2.0, float("nan"), "x"]))
        distractors = draw.pick(np.zeros((2, 2)), np.fliplr(np.eye(2)), np.eye(2), np.ones(2), None)
        return function, (np.arange(2), draw(rates), draw(rates), distractors), {}
    X = draw(features(n, 2))
    if function is active.local_density:
        return function, (X,), draw.options(function)
    if function is active.query:
        model = draw(of(fitted("graph"), fitted("votes"), fitted("online"), odd=st.sampled_from([PLKNN(), len, 3])))
        able = {"GraphLogisticRegression": ["mutual_information", "entropy"], "PLKNN": ["entropy"]}
        strategies = [*able.get(type(model).__name__, []), "margin", "random"]
        return function, (model, X), draw.options(function) | {"strategy": draw(of(*strategies))}
    if function is active.query_subsets:
        subsets = of([[0], [1, 2]], [{0}], odd=st.sampled_from([[[0, 1, 2]], [[7]], [[]], None, 3]))
        return function, (draw(of(fitted("graph"))), X), draw.options(function, subsets=subsets)
    odd_starts = st.sampled_from([[0, 0], [99], [-1], [], [True, False], None, "x"])
    named = draw.options(function) | {"start": draw(of(2, 1, [0, 1], np.array([0, 1]), range(2), odd=odd_starts))}
    named |= {"n_queries": draw(several(0, 3)), "strategy": draw(of("entropy", "random"))}
    if draw(st.integers(0, 2)) == 2:
        named |= {"X_test": draw(features(n, 2)), "y_test": draw(of(np.arange(n) % 2, odd=sets(n, 2)))}
    y = draw(of(np.arange(n) % 2, (np.arange(n) % 2).tolist(), odd=sets(n, 2)))
    if draw(st.booleans()):
        return function, (PLKNN(n_neighbors=2), X, y), named
    return of_scikit_learn, (function, LogisticRegression(), X, y), named


@family(0.7, "compare comparison.learning_curve")
def comparisons(draw: Draw) -> Case:
    n, function = draw(either(st.integers(8, 12), st.integers(0, 7))), draw.pick(*draw.calls)
    y = draw(sets(n, 2, USUAL_FORMS))
    X = draw(features(n, 2))
    own = {
        "truth": either(a_truth(y, n), sets(n, 2)),
        "groups": groups(n),
        "class_weight": of("balanced", {0: 2.0}),
        **dict.fromkeys(("budget", "time_limit", "cv", "max_rows")),
    }
    named = {"cv": draw(folds(n))}
    if function is learning_curve:
        odd = st.sampled_from([(0.0,), (), (float("nan"),), None, "x"])
        return (
            function,
            (PLKNN(n_neighbors=2), X, y),
            named | draw.options(function, **own, train_sizes=of((0.5, 1.0), (1.0,), odd=odd)),
        )
    odd_methods = st.sampled_from(["none", [], {}, {"a": 1}, {1: PLKNN()}, None, 3])
    methods = of({"a": PLKNN(), "b": AvgPerceptron()}, ["PLKNN"], "AvgPerceptron", odd=odd_methods)
    return compare, (X, y, draw(methods)), named | draw.options(function, **own)


@family(1.0, "model_selection.cross_val_predict")
def held_out(draw: Draw) -> Case:
    n, [function] = draw(either(st.integers(6, 12), st.integers(0, 5))), draw.calls
    X, y = draw(features(n, 2)), draw(sets(n, 2, USUAL_FORMS))
    estimator = draw(of(PLKNN(n_neighbors=2), AvgPerceptron(), LogisticRegression()))
    return _held_out, (estimator, X, y), draw.options(function, groups=groups(n)) | {"cv": draw(folds(n))}


def _held_out(*given: Any, **named: Any) -> Any:
    """Return the held-out predictions, with probabilities instead of their logarithms, which may be infinite."""
    values = model_selection.cross_val_predict(*given, **named)
    return np.exp(values) if named.get("method") == "predict_log_proba" else values


@family(1.0, "audit.find_label_issues")
def audits(draw: Draw) -> Case:
    n, K, [function] = draw(either(st.integers(6, 12), st.integers(0, 5))), draw(st.integers(2, 3)), draw.calls
    X, y, proba = draw(features(n, 2)), draw(sets(n, K, USUAL_FORMS)), shares(draw, n, K)
    named = draw.options(
        function,
        proba=of(proba, proba.tolist(), odd=features(n, K)),
        estimator=of(None, PLKNN(n_neighbors=2), AvgPerceptron(), LogisticRegression()),
        cv=folds(n),
        groups=groups(n),
        noise_rate=either(st.floats(0.0, 0.9), st.floats()),
    )
    return function, (X, y), named


@family(0.3)
def listed_issues(draw: Draw) -> Case:
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


@family(1.0, "comparison.default_estimators")
def choices(draw: Draw) -> Case:
    return draw.calls[0], (), draw.options(draw.calls[0], n_rows=several(1, 10**6))


@family(1.0, "multilabel.breakeven_score")
def documents(draw: Draw) -> Case:
    n, K = draw(ROWS) + 4, draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    topic = np.repeat(np.arange(n)[:, None] % 2 == 0, K, axis=1) ^ (random.random(K) < 0.5)
    odd_rows = st.sampled_from([[], [-1], [n], np.array([0.0]), [True, False]])
    labeled = draw(of(range(n // 2), np.arange(n) < 3, [0, 1], odd=st.one_of(SCALARS, odd_rows)))
    Y = draw(of(topic, topic.astype(int), topic.tolist(), odd=features(n, K)))
    X = draw(features(n, 2))
    return multilabel.breakeven_score, (PLKNN(n_neighbors=2), X, Y, labeled), {"transductive": draw(st.booleans())}


@family(1.0, "labeling.LabelingSession")
def sessions(draw: Draw) -> Case:
    n = draw(ROWS)
    own = {"y": sets(n, 3, NAMED_FORMS), "estimator": of(PLKNN(n_neighbors=2), AvgPerceptron())}
    own |= {"strategy": of("auto", "margin", "random"), "combination": of("votes", "model"), "background": None}
    named = {"estimator": PLKNN(n_neighbors=2)} | draw.options(LabelingSession, **own)
    classes = draw(classes_of(named["y"])) if "y" in named else draw(of(NAMES, list(NAMES[:2])))
    label = classes[0] if isinstance(classes, LISTED) and len(classes) else "ant"
    answer = either(st.sampled_from([0, 1]).map(lambda i: label if i else [label]), just("yak"))
    return _labeled, (draw(features(n, 2)), draw(st.lists(answer, max_size=4))), named | {"classes": classes}


def _labeled(X: Any, given_: Any, **named: Any) -> Any:
    session = LabelingSession(X, **named)
    for labels in given_:
        question = session.ask("Ann")
        if question is None:
            break
        session.answer(question, labels)
    return session.candidates()


@family(1.0, "conformal.ConformalClassifier conformal.evaluate_sets")
def prediction_sets(draw: Draw) -> Case:
    """Draw a fit and a prediction of sets, or the evaluation of sets."""
    n = draw(ROWS)
    if draw(st.integers(0, 3)) == 0:
        return conformal.evaluate_sets, (draw(sets(n, 2)), draw(sets(n, 2))), {}
    cv = of(2, 0.5, "prefit", "leave_one_out", model_selection.CandidateKFold(2))
    named = {"cv": 2} | draw.options(conformal.ConformalClassifier, cv=cv)
    odd = st.sampled_from([None, PLKNN, 3, len])
    estimator = draw(of(PLKNN(n_neighbors=2), AvgPerceptron(), fitted("votes"), odd=odd, share=6))
    return _predict_sets, (estimator, draw(features(n, 2)), draw(sets(n, 2, USUAL_FORMS))), named


def _predict_sets(estimator: Any, X: Any, y: Any, **named: Any) -> Any:
    """Fit and predict sets; warnings about few rows are expected."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*(too few|every prediction set|Most prediction sets)", UserWarning)
        result = conformal.ConformalClassifier(estimator, **named).fit(X, y).predict_set(X)
    assert (result.sizes > 0).all()
    return result.mask


# -- blocks of rows, which run in this process -----------------------------------------------------------------------

LEARNERS = (
    CLPL(max_iter=5),
    PLSVM(max_iter=5),
    AvgPerceptron(n_epochs=2, shuffle=True, random_state=0),
    MaxPegasos(average=True),
    PLGP(approximation="nystroem", n_components=2, optimizer=None, n_mc_samples=20, max_iter=5),
)
ABLE = {
    distributed.predict: ("convex", "votes", "online", "graph"),
    distributed.predict_proba: ("votes", "graph"),
    distributed.decision_function: ("convex", "online"),
    distributed.disambiguate: ("convex", "votes"),
}
"""Methods of each model."""


@family(
    0.4,
    "distributed.fit distributed.predict distributed.predict_proba distributed.decision_function "
    "distributed.disambiguate",
)
def blocks(draw: Draw) -> Case:
    n = draw(ROWS)
    rows = draw(either(numbers(n, 2), st.one_of(features(n, 2), numbers(n, 3), numbers(n + 1, 2))))
    cut, own = draw(either(st.integers(1, 6))), draw.pick(None, None, "same", "other")
    y = draw(sets(n, 3, ("integers", "mask", "indicator", "lists", "-1 missing")))
    sparse = draw(st.booleans())
    if draw(st.booleans()):
        learner = draw(of(*LEARNERS, odd=st.one_of(SCALARS, st.just(PLKNN()), st.just(PLGP()))))
        return _fitted, (learner, rows, y, cut, own, sparse), draw.some(classes=classes_of(y))
    method = draw.pick(*ABLE)
    able = st.sampled_from(ABLE[method]).map(fitted)
    model = draw(either(able, st.one_of(SCALARS, st.just(fitted("online")), st.just(PLKNN()))))
    return _predicted, (method, model, rows, y, cut, sparse), {}


@composite
def numbers(draw: Draw, n: int, d: int) -> Any:
    """Draw rows, possibly with numbers that overflow float64."""
    scale = draw.pick(1.0, 1.0, 1.0, 0.0, 1e-200, 1e200)
    rows = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, d)) * scale
    return rows.astype(draw.pick("f8", "f8", "f4")) if scale < 1e9 else rows


def _in_blocks(values: Any, cut: Any, *, sparse: bool = False) -> Any:
    """Return an array in blocks; other objects unchanged, as a caller may pass them by mistake."""
    import dask.array as da

    if type(values) is not np.ndarray or values.dtype.kind not in "fiub" or not values.ndim:
        return values
    if not isinstance(cut, int) or isinstance(cut, bool) or cut < 1:
        return values
    array = da.from_array(values, chunks=(cut, *values.shape[1:]))
    return array.map_blocks(sp.csr_array) if sparse and values.ndim == 2 else array


def _synchronous(call: Any) -> Any:
    import dask

    with dask.config.set(scheduler="synchronous"):
        return call()


def _fitted(learner: Any, X: Any, y: Any, cut: Any, own: Any, sparse: bool, **named: Any) -> Any:
    model = clone(learner) if hasattr(learner, "get_params") else learner
    sets_ = y if own is None else _in_blocks(y, cut if own == "same" else 2)
    fit = _synchronous(lambda: distributed.fit(model, _in_blocks(X, cut, sparse=sparse), sets_, **named))
    return getattr(fit, "coef_", None)


def _predicted(function: Any, model: Any, X: Any, y: Any, cut: Any, sparse: bool) -> Any:
    labels = (y,) if function is distributed.disambiguate else ()
    result = _synchronous(lambda: function(model, _in_blocks(X, cut, sparse=sparse), *labels))
    parts = result if isinstance(result, tuple) else (result,)
    return [_synchronous(part.compute) for part in parts]


# -- the answers of annotators: forms of answers, rules, agreement, annotator models and classifiers -----------------

ANSWER_FORMS = (
    *("lists", "tuples", "objects", "integers", "floats", "text", "frame", "indexed frame", "polars", "categorical"),
    *("records", "polars records", "shuffled records", "answers", "answers of records", "rules"),
)
"""Forms of answers to n rows, of which the last six have names of rows."""
ODD_CELLS = (*ODD_OBJECTS, float("nan"), float("inf"), [], ["ant", None], [["ant"]], {"ant": 0.5}, 1 + 1j, 1e300, "yak")


@composite
def cells(draw: Draw, n: int, J: int, K: int) -> Any:
    """Draw a table of answers as an array of objects: labels, sets and missing answers."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = list(NAMES[:K]) if draw(st.booleans()) else list(range(K))
    truth, correct = random.integers(0, K, (n, 1)), draw.pick(0.0, 0.3, 0.8, 1.0)
    chosen = np.where(random.random((n, J)) < correct, truth, random.integers(0, K, (n, J)))
    table = np.empty((n, J), dtype=object)
    set_share, missing = draw.pick(0.0, 0.4, 1.0), draw.pick(0.0, 0.4, 0.9)
    for i, j in np.ndindex(n, J):
        others = [name for name in names if random.random() < 0.4 or name == names[chosen[i, j]]]
        table[i, j] = others if random.random() < set_share else names[chosen[i, j]]
        if i != j % max(n, 1) and random.random() < missing:
            table[i, j] = None
    if draw(of(False, odd=st.just(True))) and table.size:
        table[random.integers(n), random.integers(J)] = draw.pick(*ODD_CELLS)
    return table


@composite
def answers(draw: Draw, n: int, K: int, forms: tuple[str, ...] = ANSWER_FORMS) -> Any:
    """Draw answers to n rows in one of the supported forms; in a corrupted case possibly of another one."""
    table = draw(cells(n, draw(st.integers(1, 5)), K))
    valid = just(_in_form(draw.pick(*forms), table))
    return draw(either(valid, st.one_of(SCALARS, sets(n, K), features(n, K), just(table.ravel()))))


def _in_form(form: str, table: Any) -> Any:
    """Return a table of objects in another form; itself if the form does not allow its cells."""
    n, J = table.shape
    row, source = (part.ravel() for part in np.indices(table.shape))
    if form in ("integers", "floats", "text", "categorical"):
        labels = [cell[0] if isinstance(cell, list) and cell else cell for cell in table.ravel().tolist()]
        if form == "text":
            return np.array([str(label) for label in labels], dtype=str).reshape(n, J)
        if form == "categorical" and all(isinstance(label, str | None) for label in labels):
            return pd.DataFrame({f"a{j}": pd.Categorical(labels[j::J]) for j in range(J)})
        if all(label is None or type(label) is int for label in labels):
            known = np.array([-1 if label is None else label for label in labels]).reshape(n, J)
            return known if form == "integers" else np.where(known < 0, np.nan, known)
    records = {"row": row, "annotator": source, "answer": table.ravel()}
    made = {
        "lists": table.tolist,
        "tuples": lambda: tuple(map(tuple, table.tolist())),
        "frame": lambda: pd.DataFrame(table, columns=[f"a{j}" for j in range(J)]),
        "indexed frame": lambda: pd.DataFrame(table, index=range(100, 100 + n)),
        "polars": lambda: pl.DataFrame({f"a{j}": pl.Series(table[:, j].tolist(), dtype=pl.Object) for j in range(J)}),
        "records": lambda: pd.DataFrame(records),
        "shuffled records": lambda: pd.DataFrame(records)[::-1].assign(time=1.0),
        "polars records": lambda: pl.DataFrame(
            {**records, "answer": pl.Series(table.ravel().tolist(), dtype=pl.Object)}
        ),
        "answers": lambda: Answers.from_table(table),
        "answers of records": lambda: Answers.from_records(
            row, [f"a{j}" for j in source], table.ravel(), index=np.arange(n)
        ),
        "rules": lambda: Answers.from_table(table, select_rows=True),
    }
    try:
        return made.get(form, lambda: table)()
    except OneofError:  # reported by another case
        return table


@composite
def gold(draw: Draw, n: int, K: int) -> Any:
    """Draw known labels of some rows."""
    known = [NAMES[k] if k < K else None for k in np.arange(n) % (K + 1)]
    codes = np.where(np.arange(n) % 3 == 0, np.arange(n) % K, -1)
    mapping = {int(i): int(codes[i]) for i in range(0, n, 3)}
    named = dict.fromkeys(range(min(n, 2)), NAMES[0])
    return draw(of(known, codes, mapping, named, {}, odd=st.one_of(SCALARS, sets(n, K))))


@family(2.0, "crowd.Answers crowd.apply_rules")
def readings(draw: Draw) -> Case:
    """Draw a call that reads answers, or selects rows of them."""
    n, K, J = draw(ROWS), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    table = draw(cells(n, J, K))
    kind = draw.pick("table", "records", "rows", "rules")
    if kind == "rows":
        rows = of(slice(1, 3), slice(None, None, -1), [0, 1], np.arange(n) % 2 == 0, 0, -1, [], odd=st.just([0, 0]))
        return _answers_of_rows, (draw(answers(n, K)), draw(rows)), {}
    own: dict[str, Any] = {"classes": of(NAMES, list(NAMES[:2]), range(3), [0, 1])}
    if kind == "table":
        own |= {"annotators": of(list(NAMES[:J]), np.arange(J))}
        return (
            _read,
            (Answers.from_table, draw(answers(n, K, ANSWER_FORMS[:10]))),
            draw.options(Answers.from_table, **own),
        )
    if kind == "rules":
        texts = st.sampled_from([["a text"] * n, np.array(["text"] * n), pd.Series(["text"] * n)])
        rows = draw(st.one_of(either(texts), features(n, 2)))
        return _read, (apply_rules, draw(rules(table)), rows), draw.some(**own)
    rows, sources = (part.ravel() for part in np.indices(table.shape))
    rows = draw(of(rows, rows.tolist(), [f"r{i}" for i in rows], rows * 0.5))
    sources = draw(of(sources, sources.tolist(), [NAMES[j] for j in sources]))
    flat = draw(either(just(table.ravel()), sets(n, max(K, 2))))
    own |= {"index": of(np.arange(n), range(n + 2)[::-1], [f"r{i}" for i in range(n)])}
    return _read, (Answers.from_records, rows, sources, flat), draw.options(Answers.from_records, **own)


@composite
def rules(draw: Draw, table: Any) -> Any:
    """Draw rules that vote as the columns of a table, or do not work."""
    calls = [_rule(column) for column in table.T]
    odd = st.sampled_from([[of_the_caller], [*calls, len], [3], [], {}, {"a": calls[0], "b": None}, calls[0], {len}])
    return draw(of(calls, tuple(calls), dict(enumerate(calls)), odd=st.one_of(odd, SCALARS)))


def _rule(column: Any) -> Any:
    votes = iter(column.tolist() * 3)
    return lambda _: next(votes, None)


def _read(function: Any, *given_: Any, **named: Any) -> Any:
    """Read answers, and return their numbers."""
    read = function(*given_, **named)
    assert sum(len(read.of_row(i)) for i in range(len(read))) == read.n_answers
    assert len(read) == len(read.rows)
    assert "annotators about" in repr(read)
    return len(read.annotators), len(read.classes), read.n_answers


def _answers_of_rows(given_: Any, rows: Any) -> Any:
    read = given_ if isinstance(given_, Answers) else Answers.from_table(given_)
    return _read(lambda: read[rows]), _read(lambda: read.align(read.rows))


@family(1.0, "crowd.krippendorff_alpha crowd.krippendorff_interval crowd.pairwise_agreement")
def agreements(draw: Draw) -> Case:
    n, K, function = draw(ROWS), draw(st.integers(1, 3)), draw.pick(*draw.calls)
    own: dict[str, Any] = {"classes": of(NAMES, range(4)), "coverage": of(0.5, 0.95, 1e-9, 1 - 1e-12)}
    if function is not krippendorff_interval:
        del own["coverage"]
    named = draw.options(function, **own)
    more = {"n_samples": draw(several(1, 20))} if function is krippendorff_interval else {}
    return function, (draw(answers(n, K)),), named | more


@composite
def annotator_settings(draw: Draw, K: int) -> dict[str, Any]:
    """Draw parameters of an annotator model, valid or not."""
    priors = [*("auto", "uniform", "fitted"), np.full(K, 1 / K), [1e-300, *[1.0] * (K - 1)], [1e300] * K]
    return draw.options(
        AnnotatorModel,
        class_prior=of(*priors, odd=st.sampled_from([*INVALID, [0.0] * K, [[0.5] * K]])),
        strength=of(0, *NUMBERS),
        classes=of(NAMES, list(NAMES[:K]), range(K)),
        coverage=of(0.5, 0.9, 1e-12, 1 - 1e-15),
        max_iter=several(1, 30),
    )


@family(2.0, "crowd.AnnotatorModel")
def annotators(draw: Draw) -> Case:
    """Draw a fit of an annotator model, with questions to it."""
    n, K = draw(ROWS), draw(st.integers(2, 4))
    named = draw(annotator_settings(K))
    who = of([0], [0, 1], ["a0"], "a0")
    asked = draw.some(n_rows=several(1, 5), n_questions=several(1, 5), annotators=who)
    known = draw(gold(n, K)) if draw(st.booleans()) else None
    return _annotators, (draw(answers(n, K)), known, asked), named


def _annotators(given_: Any, known: Any, asked: dict[str, Any], **named: Any) -> Any:
    model = AnnotatorModel(**named).fit(given_, known)
    questions = {name: value for name, value in asked.items() if name != "n_rows"}
    return _attributes(model), model.disputed_rows(asked.get("n_rows", 10)), model.next_questions(**questions)


def _attributes(model: AnnotatorModel) -> Any:
    """Return the numbers of a fitted model, after checks of their shapes and ranges."""
    n, J, K = len(model.rows_), len(model.annotators_), len(model.classes_)
    assert model.posterior_.shape == model.candidates_.shape == (n, K)
    np.testing.assert_allclose(model.posterior_.sum(axis=1), 1, rtol=1e-9)
    assert model.confusion_.shape == (J, K, K)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1, rtol=1e-9)
    low, high = model.accuracy_interval_.T
    unknown = np.isnan(model.accuracy_)  # if the answers do not identify it
    assert ((low >= 0) & (low <= high) & (high <= 1) | unknown).all()
    assert ((model.accuracy_ >= 0) & (model.accuracy_ <= 1) | unknown).all()
    accuracies = (np.where(unknown, 0.0, values) for values in (model.accuracy_, low, high))
    by_class = model.class_accuracies()
    assert by_class.accuracy.shape == by_class.differs.shape == (J, K)
    assert ((by_class.interval >= 0) & (by_class.interval <= 1) | unknown[:, None, None]).all()
    of_classes = np.nan_to_num(by_class.accuracy), np.nan_to_num(by_class.interval), by_class.n_answers
    known = model.candidates_, model.candidates_.weights, model.posterior_, tuple(model.notes_), model.confusion_
    return *known, *accuracies, *of_classes, model.class_prior_, model.n_answers_, model.copied_pairs_, model.are_rules_


@family(1.0, "crowd.CrowdClassifier")
def crowds(draw: Draw) -> Case:
    """Draw a fit of a classifier to answers."""
    n, K = draw(either(st.integers(6, 12), st.integers(0, 5))), draw(st.integers(2, 3))
    halves = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]
    estimators = [None, LOORidge(kernel="rbf"), PLKNN(n_neighbors=2), GaussianEM(max_iter=20), LogisticRegression()]
    estimators.append(make_pipeline(StandardScaler(), LOORidge(max_iter=3)))
    odd_estimators = st.sampled_from([LinearSVC(), StandardScaler(), PLKNN, LogisticRegression(C=-1), "x", 3])
    named = {"cv": 2} | draw.options(
        CrowdClassifier,
        estimator=of(*estimators, odd=odd_estimators),
        cv=of(2, 3, model_selection.CandidateKFold(2), halves),
        annotator_model=either(just(AnnotatorModel(**draw(annotator_settings(K))))),
    )
    known = draw(gold(n, K)) if draw(st.integers(0, 2)) == 0 else None
    given_ = draw(features(n, 2)), draw(answers(n, K)), known, draw(features(3, 2))
    if isinstance(named.get("estimator"), Pipeline):
        return of_scikit_learn, (_crowds, *given_), named
    return _crowds, given_, named


def _crowds(X: Any, given_: Any, known: Any, new: Any, **named: Any) -> Any:
    model = CrowdClassifier(**named).fit(X, given_, known)
    n, K = model.label_distributions_.shape
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, rtol=1e-9)
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())
    assert model.held_out_proba_.shape == (n, K)
    fit = (model.label_distributions_, model.held_out_proba_, model.classifier_power_, model.answer_power_)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert set(model.predict(new).tolist()) <= set(model.classes_.tolist())
    return _attributes(model.annotator_model_), fit, model.label_changes_, proba, model.predict(new)


# -- texts, single rows, data sets, streams and models; damaged files are in tests/fuzz_files ------------------------


@functools.cache
def folder() -> Path:
    """Return a folder with a stream, a folder of streams and a data set; it is removed at exit."""
    _KEPT.append(tempfile.TemporaryDirectory(prefix="oneof-fuzz-"))
    where = Path(_KEPT[0].name)
    lines = [f"{i % 5},{('wren', 'finch', 'wren|finch', '')[i % 4]},{i % 2},{1 - i % 2}" for i in range(20)]
    (where / "birds.csv").write_text("\n".join(["span,species,a,b", *lines]))
    (where / "birds.svmlight").write_text("\n".join(f"{i % 2 + 1} 1:{i % 5} 3:1" for i in range(20)))
    np.savez(where / "birds.npz", X=np.eye(4), y=np.array([0, 1, 0, 1]), classes=np.array(["finch", "wren"]))
    matrices = {"data": np.eye(3, 4), "partial_target": [[1, 1], [1, 0], [0, 1]], "target": np.eye(3)[:, :2]}
    savemat(where / "birds.mat", matrices)
    return where


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@family(1.0, "text.make_vectorizer text.StemTokenizer")
def texts(draw: Draw) -> Case:
    line = either(st.one_of(st.text(max_size=20), st.sampled_from(["the cats don't", "oil wheat", "\ud800", "\0"])))
    named = draw.some(
        stop_words=of("english", None, ["the"], (), ["don't"]),
        stem=of("english", "german", None, "klingon"),
    )
    if draw(st.booleans()):
        return _stems, (draw(line),), named
    return _words, (draw(either(st.lists(line, min_size=1, max_size=5))),), named


def _words(lines_: Any, **named: Any) -> Any:
    return of_scikit_learn(text.make_vectorizer(**named).fit_transform, lines_)


def _stems(line: Any, stem: Any = "english", stop_words: Any = None) -> Any:
    tokenizer = text.StemTokenizer(stem, stop_words)
    return tokenizer(line) if isinstance(line, str) else None


@family(1.0, "stream.RiverClassifier")
def single_rows(draw: Draw) -> Case:
    value = either(st.one_of(st.floats(-1e9, 1e9), st.integers(-9, 9), st.text(max_size=5), st.booleans(), st.none()))
    row = st.dictionaries(st.text(max_size=4), value, max_size=4)
    classes = draw(of(NAMES, NAMES[:2], odd=st.sampled_from([NAMES[:1], [], ["a", "a"], None, 3])))
    label = of("ant", {"ant", "bee"}, None, ["bee"], odd=st.sampled_from(["yak", [], 3, [[]]]))
    odd_row = st.one_of(SCALARS, st.dictionaries(st.text(max_size=2), st.floats(), max_size=2))
    lines = draw(st.lists(st.tuples(either(row, odd_row, share=7), label), min_size=1, max_size=5))
    learner = draw(of(AvgPerceptron(), AvgPerceptron(average=True, fit_intercept=True), MaxPegasos()))
    return _one_by_one, (learner, classes, lines), draw.options(stream.RiverClassifier)


def _one_by_one(learner: Any, classes: Any, lines: Any, **named: Any) -> Any:
    model = stream.RiverClassifier(learner, classes, **named)
    probabilities = []
    for row, label in lines:
        probabilities.append(list(model.predict_proba_one(row).values()))
        model.predict_one(row)
        model.learn_one(row, label)
    return probabilities, model.fitted().coef_


_ODD = (3, 1.5, b"x", object(), [], len, "", "~", "~nobody/x", True)


@family(1.0, "datasets.load datasets.list_datasets datasets.dataset_info datasets.load_mat")
def data_sets(draw: Draw) -> Case:
    home = draw(of(None, folder(), str(folder()), odd=st.sampled_from([folder() / "none", "\0", *_ODD])))
    function = draw.pick(*draw.calls)
    if function is datasets.load_mat:
        return function, (draw(of(folder() / "birds.mat", odd=st.sampled_from([*_ODD, folder()]))),), {}
    if function is not datasets.load:
        return _alone, (function, home), {}
    available = ["iris", "wine"] + ["birds"] * isinstance(home, str | Path)
    odd = st.one_of(SCALARS, st.sampled_from(["../iris", "", "irises", "a/b", "\0", ".", "~", "é"]))
    return _alone, (_loaded, draw(of(*available, odd=odd)), home), {}


def _alone(function: Any, *args: Any) -> Any:
    """Call with only these data sets visible."""
    with mock.patch.dict(os.environ, ONEOF_DATA=str(folder()), XDG_CACHE_HOME=str(folder())):
        return function(*args)


def _loaded(name: Any, home: Any) -> Any:
    data = datasets.load(name, home)
    return data.X, data.candidates


@family(
    1.0,
    "stream.fit_stream stream.open_source stream.read_batches stream.StreamOptions stream.Source "
    "stream.CheckpointConfig",
)
def streams(draw: Draw) -> Case:
    source = draw(of(folder() / "birds.csv", odd=st.sampled_from([*_ODD, folder(), folder() / "birds.svmlight", "-"])))
    format_ = draw.some(format=of("csv", odd=st.sampled_from(["svmlight", "xls", *_ODD])))
    which = draw(st.integers(0, 4))
    if which == 0:
        return _batches, (source,), format_ | draw.some(n_rows=several(1, 30))
    if which == 1:
        return _opened, (source,), format_
    tables = st.builds(
        TableOptions,
        st.sampled_from([Dialect(), Dialect("utf-8", ","), Dialect("utf-16", ";", ",")]),
        st.sampled_from([CellFormat(), CellFormat(missing=("finch", "0"), dates=("%d", "no%"))]),
        st.booleans(),
        st.sampled_from([None, *format_.values()]),
    )
    weighted = {"kind": of("likelihood", "posterior"), "rest": of(False, True, "wren", "other")}
    weighted |= {"weights": of(None, "a", "b", "species")}
    weighted |= {"prior": of(None, (0.5, 0.5), [0.1, 0.2, 0.3, 0.4], (0.0, 1.0))}
    is_weighted = draw(either(st.booleans()))
    named = {"labels": ("species",), "weighted": is_weighted} | draw.options(
        stream.StreamOptions,
        labels=of(("species",), ("a", "b"), ["species"], odd=st.sampled_from(["species", ("no",), (3,), ()])),
        separator=of("|", ";"),
        classes=of(None, ("finch", "wren"), ("0", "1", "finch", "wren")),
        overrides=of(Overrides(drop=("b",)), Overrides(categories=("span",)), Overrides()),
        text_options=of(TextOptions()),
        batch_rows=several(1, 30),
        table=either(tables),
        **(weighted if is_weighted is True else dict.fromkeys(weighted)) | {"weighted": None},
    )
    estimator = draw(of(AvgPerceptron(), MaxPegasos(average=True), odd=st.one_of(SCALARS, st.just(CLPL()))))
    interval = draw.some(every_rows=several(1, 30), every_seconds=of(None, 60.0))
    return _streamed, (source, estimator, named, interval if draw(st.integers(0, 2)) == 0 else None), {}


def _batches(source: Any, **named: Any) -> Any:
    return [batch.height for batch in stream.read_batches(source, **named)]


def _opened(source: Any, **named: Any) -> Any:
    opened = stream.open_source(source, **named)
    assert isinstance(opened, stream.Source)
    return len(opened.identity())


def _streamed(source: Any, estimator: Any, named: Any, interval: Any) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints = None if interval is None else stream.CheckpointConfig(Path(scratch, "kept"), **interval)
        result = stream.fit_stream(source, estimator, stream.StreamOptions(**named), checkpoints=checkpoints)
    return result.model.steps[-1][1].coef_


@family(0.4, "persistence.save persistence.load labeling.LabelTable")
def models(draw: Draw) -> Case:
    """Draw a model to save and load, or a table to label."""
    if draw(st.booleans()):
        odd = st.one_of(SCALARS, st.sampled_from([PLKNN(), CLPL(C=2.0)]))
        names = of("m.oneof", odd=st.sampled_from(["", ".", "no/m", "\0", 3, None]))
        return _saved, (draw(of(fitted("votes"), fitted("online"), odd=odd)), draw(names)), {}
    named = draw.options(
        LabelTable, show=of("table", "text", "image"), column=of("a"), hidden=of(("a",)), pinned=of(("b",))
    )
    if repr(named.get("show")) != "'table'":
        named.setdefault("column", "a")
    frame = draw(of(pl.DataFrame({"a": ["x", None], "b": [1.0, 2.0]})))
    return _table, (frame, draw(of("b", "c"))), named


def _saved(model: Any, name: Any) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, name) if isinstance(name, str) else name
        persistence.save(path, model)
        return getattr(persistence.load(path), "coef_", None)


def _table(frame: Any, label: Any, **named: Any) -> Any:
    table = LabelTable(frame, label, **named)
    table.item(0)
    return table.fingerprint()
