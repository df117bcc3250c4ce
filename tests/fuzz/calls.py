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
    diffusion_kernel,
    distributed,
    graphs,
    make_partial_labels,
    metrics,
    model_selection,
    multilabel,
    persistence,
    plots,
    regularized_laplacian_kernel,
    stream,
    text,
)
from oneof.comparison import compare, default_estimators, learning_curve
from oneof.crowd import (
    AnnotatorModel,
    Answers,
    CrowdClassifier,
    apply_rules,
    krippendorff_alpha,
    krippendorff_interval,
    pairwise_agreement,
)
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
    SEEDS,
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

# -- candidate sets, distractors, metrics and comparisons ------------------------------------------------------------

MAKERS = {"labels": NAMED_FORMS, "sets": FORMS, "indicator": MASK_FORMS, "complementary": SET_FORMS, "init": ("mask",)}
"""Constructors of candidate sets with the forms of labels that they accept."""


@family(3.0, "CandidateSets")
def set_makers(draw: Draw) -> Case:
    kind = draw(st.sampled_from((*MAKERS, "annotations", "hierarchy", "strings", "take")))
    if kind in ("annotations", "hierarchy", "strings"):
        return draw({"annotations": annotations, "hierarchy": hierarchies, "strings": strings}[kind]())
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(sets(n, K, MAKERS.get(kind, FORMS)))
    if kind == "init":
        return CandidateSets, (y, draw(of(NAMES[:K], odd=classes_of(y)))), {}
    if kind == "take":
        rows = st.sampled_from([slice(1, 3), [0, 1], np.arange(n) % 2 == 0, 0, -1, np.array([], dtype=int)])
        return _taken, (y, draw(either(rows))), {}
    return getattr(CandidateSets, f"from_{kind}"), (y,), draw.some(classes=classes_of(y))


@composite
def annotations(draw: Draw) -> Case:
    rows, n_asked = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    cells = st.lists(st.sampled_from([*NAMES[:2], None]), min_size=n_asked * rows, max_size=n_asked * rows)
    answers = np.array(draw(cells), dtype=object).reshape(rows, n_asked)
    y = draw(of(answers, answers.tolist(), odd=sets(rows, 3)))
    named = draw.some(min_votes=several(1, 2), top_k=several(1, 3), classes=of(NAMES))
    return CandidateSets.from_annotations, (y,), named


@composite
def hierarchies(draw: Draw) -> Case:
    trees = (
        {"a": list(NAMES)},
        {"a": "ant", "b": ["a", "bee"]},
        {1: [0, 2], "c": list(NAMES)},
        {"a": ["b"], "b": ["a"]},
        {},
        {"a": []},
    )
    tree = draw(either(st.sampled_from(trees[:3]), st.one_of(st.sampled_from(trees), SCALARS)))
    labels_of_tree = (
        [*tree, *(leaf for leaves in tree.values() for leaf in leaves)] if isinstance(tree, dict) else NAMES
    )
    labels = st.lists(st.sampled_from([*(labels_of_tree or NAMES), None]), min_size=1, max_size=5)
    return (
        CandidateSets.from_hierarchy,
        (draw(either(labels, sets(3, 3))), tree),
        draw.some(classes=either(labels)),
    )


@composite
def strings(draw: Draw) -> Case:
    lines = ("ant", "ant|bee", None, " cat ", "bee|cat", "a\\|b", "é|☃", "", "ant:0.7|bee:.3", '{"ant": 0.7, "bee": 1}')
    odd = st.sampled_from([*lines, "a||b", "|", "\\", 3, float("nan"), "ant:x", "{}", '{"ant": "x"}', '{"ant":'])
    y = draw(either(st.lists(of(*lines, odd=odd), min_size=1, max_size=6), sets(3, 3)))
    separator = of("|", ";", "::", " ", odd=st.one_of(SCALARS, st.sampled_from(["", "\\"])))
    named = draw.some(separator=separator, classes=of(NAMES), weighted=st.booleans())
    return CandidateSets.from_strings, (y,), named


def _taken(y: Any, rows: Any) -> Any:
    """Convert candidate sets to every other form and back."""
    read = CandidateSets.from_sets(y)
    again = CandidateSets.from_sets(read.to_sets(), classes=read.classes)
    assert again == read
    assert CandidateSets.from_indicator(read.to_indicator(sparse=True), classes=read.classes) == read
    assert CandidateSets.concatenate([read[:1], read[1:]]) == read
    repr(read)
    read.to_strings()
    return read[rows]


@family(
    2.0, "metrics.ambiguous_zero_one_loss metrics.covering_rate metrics.exact_accuracy metrics.approximated_accuracy"
)
def judgments(draw: Draw) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(sets(n, K))
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
    weights = of(np.ones(n), np.arange(n), [1e300] * n, np.zeros(n))
    named = draw.some(classes=classes_of(y), sample_weight=weights)
    classes = named["classes"] if isinstance(named.get("classes"), list | tuple) else draw(classes_of(y))
    many = max(len(classes), 1) if isinstance(classes, list | tuple) else K
    if function is metrics.approximated_accuracy:
        shares = np.random.default_rng(draw(st.integers(0, 99))).dirichlet(np.ones(many), n)
        return function, (y, draw(of(shares, shares.tolist(), odd=features(n, many)))), named
    truth = (
        [classes[i % many] for i in range(n)] if isinstance(classes, list | tuple) and len(classes) else list(range(n))
    )
    labels = st.sampled_from([[NAMES[i % K] for i in range(n)], np.full(n, np.nan), np.arange(n, dtype=object)])
    return function, (y, draw(either(just(truth), st.one_of(labels, sets(n, K))))), named


@family(1.0, "metrics.precision_recall_breakeven_point metrics.win_tie_loss metrics.paired_p_values")
def rankings(draw: Draw) -> Case:
    n, K = draw(ROWS), draw(st.integers(1, 3))
    if draw(st.booleans()):
        truths = st.sampled_from([np.ones((n, K)), np.eye(n, K), np.arange(n * K).reshape(n, K) % 2 == 0])
        return (
            metrics.precision_recall_breakeven_point,
            (draw(either(truths, features(n, K))), draw(features(n, K))),
            {},
        )
    if draw(st.booleans()):
        named = draw.some(test_train_ratio=either(st.floats(0.0, 1.0), st.floats()))
        return metrics.paired_p_values, (draw(features(n, K + 1)), draw(features(n, K + 1))), named
    named = draw.some(alpha=either(st.floats(0.01, 0.5), st.floats()))
    return metrics.win_tie_loss, (draw(features(n, K + 1)), draw(features(n, K + 1))), named


@family(2.0, "make_partial_labels")
def hidings(draw: Draw) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(either(exact(n, K), sets(n, K)))
    kind = draw(st.sampled_from(["uniform", "independent", "confusable", "cooccurring", "dictionary", "rules"]))
    named = draw.some(fraction=either(st.floats(0, 1)), classes=classes_of(y), random_state=SEEDS)
    if kind in ("dictionary", "rules"):
        named |= draw.some(n_distractors=several(0, 1))
    elif kind == "independent":
        named |= draw.some(rate=either(st.floats(0, 1)))
    elif kind != "cooccurring":
        sizes = {"n_distractors": several(0, 1)}, {"set_size": several(1, 2)}
        named |= draw.some(**draw(st.sampled_from(sizes)))
    classes = draw(classes_of(y))
    many = len(classes) if isinstance(classes, list | tuple) else K
    if kind == "confusable":
        named |= draw.some(epsilon=either(st.floats(0, 1)), confusion=either(just(np.ones((many, many)))))
    if kind == "cooccurring" or draw(CORRUPTED):
        named |= draw.some(groups=either(just(np.arange(n) // 3), features(n, 1)))
    named["distractors"] = draw(of(kind))
    return make_partial_labels, (y,), named


@family(
    1.0,
    "model_selection.CandidateKFold model_selection.CandidateGroupKFold model_selection.Scorer "
    "model_selection.covering_rate_scorer model_selection.approximated_accuracy_scorer "
    "model_selection.exact_accuracy_scorer",
)
def scorings(draw: Draw) -> Case:
    n = draw(ROWS)
    if draw(st.booleans()):
        named = draw.some(n_splits=several(2, 4), shuffle=either(st.booleans()))
        named.setdefault("n_splits", 2)
        if named.get("shuffle") is not False:
            named |= draw.some(random_state=SEEDS)
        if draw(st.booleans()):
            groups = draw(either(st.lists(st.integers(0, 4), min_size=n, max_size=n), st.sampled_from([None, "ab", 3])))
            return _group_folds, (draw(features(n, 2)), draw(sets(n, 3)), groups), named
        return _folds, (draw(features(n, 2)), draw(sets(n, 3))), named
    scorer = draw(
        st.sampled_from(
            (
                model_selection.covering_rate_scorer,
                model_selection.approximated_accuracy_scorer,
                model_selection.exact_accuracy_scorer,
                MINE,
            )
        )
    )
    model = draw(of(fitted("votes"), fitted("graph"), fitted("online")))
    named = draw.some(sample_weight=of(np.ones(n)))
    y = draw(sets(n, 3, ("integers", "-1 missing", "mask", "indicator", "lists", "csr")))
    return scorer, (model, draw(features(n, 2)), y), named


@family(1.0, "model_selection.compute_sample_weight")
def class_weights(draw: Draw) -> Case:
    """Draw a call of compute_sample_weight."""
    y = draw(sets(draw(st.integers(1, 9)), 3, ("integers", "-1 missing", "mask", "indicator", "lists", "csr")))
    weights = st.dictionaries(st.integers(-1, 4), st.sampled_from([0, 1, 2.5, -1, np.nan, np.inf, "heavy", None]))
    return model_selection.compute_sample_weight, (draw(either(st.sampled_from(["balanced", None]) | weights)), y), {}


@family(1.0, "model_selection.calibrate_posteriors")
def calibrations(draw: Draw) -> Case:
    """Draw a call of calibrate_posteriors."""
    n = draw(st.integers(1, 9))
    numbers = st.sampled_from([1e-300, 1e-9, 0.1, 0.5, 1.0])
    y = CandidateSets.from_weights([[draw(numbers) for _ in range(3)] for _ in range(n)])
    labels = [draw(st.sampled_from([0, 1, 2, None, 7])) for _ in range(draw(st.sampled_from([n, n, 2])))]
    prior = draw(of(None, [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1.0]))
    return model_selection.calibrate_posteriors, (draw(of(y)), labels), {"prior": prior}


MINE = model_selection.Scorer("mine", lambda *_: 1.0)


def _folds(X: Any, y: Any, **named: Any) -> Any:
    return list(model_selection.CandidateKFold(**named).split(X, y))


def _group_folds(X: Any, y: Any, groups: Any, **named: Any) -> Any:
    return list(model_selection.CandidateGroupKFold(**named).split(X, y, groups))


# -- graphs, graph kernels and plots ---------------------------------------------------------------------------------


@composite
def affinities(draw: Draw, n: int) -> Any:
    """Draw symmetric nonnegative weights in any container; in a corrupted case possibly any table."""
    random = np.random.default_rng(draw(st.integers(0, 999)))
    W = np.tril(random.random((n, n)) * (random.random((n, n)) < 0.5), -1)
    W = (W + W.T) * draw(st.sampled_from((1.0, 1.0, 1.0, 1e-300, 1e300, 5e-324)))
    form = draw(st.sampled_from(("C", "F", "strided", "read-only", "lists", "csr", "csc", "coo", "csr int64")))
    return draw(either(just(in_form(W, form, np.random.default_rng(0)) if "c" not in form else _csr(W, form)), any_(n)))


def any_(n: int) -> Any:
    return st.one_of(features(n, n), features(n, n + 1), SCALARS)


def _csr(W: Any, form: str) -> Any:
    """Return all entries: `in_form` drops some, which makes the matrix asymmetric."""
    import scipy.sparse as sp

    return {"csc": sp.csc_array, "coo": sp.coo_matrix}.get(form, sp.csr_array)(W)


@family(
    2.0, "diffusion_kernel regularized_laplacian_kernel graphs.laplacian graphs.check_affinity graphs.PrecomputedKernel"
)
def kernels(draw: Draw) -> Case:
    functions = (diffusion_kernel, regularized_laplacian_kernel, graphs.laplacian, graphs.check_affinity, _entries)
    n, function = draw(ROWS), draw(st.sampled_from(functions))
    W = draw(affinities(n))
    if function is graphs.check_affinity:
        return function, (W, *draw(st.sampled_from([(), (n,)]))), {}
    kind = of("plain", "symmetric", "random_walk")
    if function is graphs.laplacian:
        return function, (W,), draw.some(kind=kind)
    if function is _entries:
        return function, (W,), {}
    return function, (W,), draw.some(beta=either(st.floats(0, 5), st.one_of(SCALARS, st.floats())), kind=kind)


def _entries(gram: Any) -> Any:
    kernel = graphs.PrecomputedKernel(gram)
    rows = np.arange(3)[:, None]
    repr(kernel)
    return kernel(rows), kernel.diag(rows)


@family(1.0, "graphs.NeighborGraph graphs.Graph")
def links(draw: Draw) -> Case:
    n, d = draw(ROWS), draw(st.integers(1, 3))
    affinity = st.one_of(st.sampled_from(["gaussian", "cosine", "binary"]), affinities(n))
    named = draw.some(
        affinity=either(affinity),
        n_neighbors=several(1, 5),
        radius=of(None, 0.1, 2.0),
        bandwidth=of("local", *NUMBERS),
        symmetrize=of("union", "mutual", "sum"),
    )
    return _linked, (_rows(n, d, draw), _rows(draw(st.integers(1, 3)), d, draw)), named


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
    n, K = draw(ROWS), draw(st.integers(2, 4))
    if draw(st.integers(0, 4)) == 0:
        rates = of(np.full(3, 0.5), [0.1, 0.2, 0.9], (1.0, 1.0, 1.0))
        curve = {"covering_rate": draw(rates), "covering_rate_std": draw(rates), "train_sizes": (1, 2, 3)}
        accuracy = draw(st.sampled_from([rates, st.none()]))
        curve |= {"accuracy": draw(accuracy), "accuracy_std": draw(accuracy)}
        return _drawn, (plots.plot_learning_curve, draw(either(just(SimpleNamespace(**curve))))), {}
    y = draw(sets(n, K, SET_FORMS))
    functions = [plots.plot_set_sizes, plots.plot_weights, plots.plot_class_frequencies, plots.plot_cooccurrence]
    function = draw(st.sampled_from(functions))
    if draw(st.integers(0, 3)) == 0:
        classes = draw(classes_of(y))
        labels = [classes[0]] * n if isinstance(classes, list | tuple) and len(classes) else classes
        return _drawn, (plots.plot_decisions, y, draw(either(just(labels), sets(n, K)))), {}
    return _drawn, (function, y), {}


def _drawn(function: Any, given_: Any, *labels: Any) -> Any:
    """Plot on axes that are discarded; sets of any form are converted first."""
    import matplotlib.figure

    if function is not plots.plot_learning_curve and not np.isscalar(given_):
        given_ = CandidateSets.from_sets(given_)
    function(given_, *labels, ax=matplotlib.figure.Figure().subplots())


# -- calls that fit estimators: queries, comparisons, documents, sessions --------------------------------------------


@family(1.5, "active.query active.query_subsets active.simulate active.local_density active.AnswerModel")
def queries(draw: Draw) -> Case:
    n = draw(ROWS)
    X = draw(features(n, 2))
    which = draw(st.integers(0, 4))
    if which == 3:
        return active.local_density, (X,), draw.some(n_neighbors=several(1, 3))
    if which == 4:
        rates, odd = st.sampled_from([0.0, 0.25, 0.5]), st.sampled_from([-1.0, 2.0, float("nan"), "x"])
        distractors = st.sampled_from([np.zeros((2, 2)), np.fliplr(np.eye(2)), np.eye(2), np.ones(2), None])
        return active.AnswerModel, (np.arange(2), draw(either(rates, odd)), draw(rates), draw(distractors)), {}
    if which == 0:
        model = draw(of(fitted("graph"), fitted("votes"), fitted("online"), odd=st.sampled_from([PLKNN(), len, 3])))
        # The strategies that these estimators support.
        able = {"GraphLogisticRegression": ["mutual_information", "entropy"], "PLKNN": ["entropy"]}
        strategies = [*able.get(type(model).__name__, []), "margin", "random"]
        named = {"strategy": draw(of(*strategies))} | draw.some(batch_size=several(1, 4), random_state=SEEDS)
        return active.query, (model, X), named
    if which == 1:
        model = draw(of(fitted("graph")))
        subsets = of([[0], [1, 2]], [{0}], odd=st.sampled_from([[[0, 1, 2]], [[7]], [[]], None, 3]))
        return active.query_subsets, (model, X), draw.some(batch_size=several(1, 4), subsets=subsets)
    odd_starts = st.sampled_from([[0, 0], [99], [-1], [], [True, False], None, "x"])
    named = draw.some(batch_size=several(1, 3), random_state=SEEDS)
    named["start"] = draw(of(2, 1, [0, 1], np.array([0, 1]), range(2), odd=odd_starts))
    named |= {"n_queries": draw(several(0, 3)), "strategy": draw(of("entropy", "random"))}
    if draw(st.integers(0, 2)) == 2:
        named |= {"X_test": draw(features(n, 2)), "y_test": draw(of(np.arange(n) % 2, odd=sets(n, 2)))}
    learner = draw(st.sampled_from([PLKNN(n_neighbors=2), LogisticRegression()]))
    y = draw(of(np.arange(n) % 2, (np.arange(n) % 2).tolist(), odd=sets(n, 2)))
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
def comparisons(draw: Draw) -> Case:
    n = draw(either(st.integers(8, 12), st.integers(0, 7)))
    y = draw(sets(n, 2, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    X = draw(features(n, 2))
    named = draw.some(
        cv=of(2, 3, model_selection.CandidateKFold(2), [([0, 1, 2, 3], [4, 5])]),
        truth=either(_a_truth(y, n), sets(n, 2)),
        groups=of(np.arange(n) % 3, [f"g{i // 2}" for i in range(n)]),
        class_weight=of("balanced", {0: 2.0}),
        keep_predictions=either(st.booleans()),
        random_state=SEEDS,
    )
    named.setdefault("cv", 2)
    if draw(st.booleans()):
        odd = st.sampled_from([(0.0,), (), (float("nan"),), None, "x"])
        named |= draw.some(train_sizes=of((0.5, 1.0), (1.0,), odd=odd))
        named.pop("keep_predictions", None)
        return learning_curve, (PLKNN(n_neighbors=2), X, y), named
    methods = of(
        {"a": PLKNN(), "b": AvgPerceptron()},
        ["PLKNN"],
        "AvgPerceptron",
        odd=st.sampled_from(["none", [], {}, {"a": 1}, {1: PLKNN()}, None, 3]),
    )
    return compare, (X, y, draw(methods)), named


@family(1.0, "model_selection.cross_val_predict")
def held_out(draw: Draw) -> Case:
    """Draw a call of cross_val_predict."""
    n = draw(either(st.integers(6, 12), st.integers(0, 5)))
    X, y = draw(features(n, 2)), draw(sets(n, 2, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    folds = st.sampled_from([2, 3, model_selection.CandidateKFold(2), [([0, 1, 2, 3], [4, 5])], [([0], [99])], []])
    named = draw.some(
        method=of("predict", "predict_proba", "decision_function", "predict_log_proba"),
        groups=of(np.arange(n) % 3),
        n_jobs=several(1, 1),
        random_state=SEEDS,
    )
    estimator = draw(of(PLKNN(n_neighbors=2), AvgPerceptron(), LogisticRegression()))
    return model_selection.cross_val_predict, (estimator, X, y), {**named, "cv": draw(either(folds))}


@family(1.0, "audit.find_label_issues")
def audits(draw: Draw) -> Case:
    """Draw a call of find_label_issues, whose result is corrected and listed."""
    n, K = draw(either(st.integers(6, 12), st.integers(0, 5))), draw(st.integers(2, 3))
    X, y = draw(features(n, 2)), draw(sets(n, K, ("integers", "mask", "indicator", "sets", "text", "candidates")))
    shares = np.random.default_rng(draw(st.integers(0, 99))).dirichlet(np.ones(K), n)
    named = draw.some(
        proba=of(shares, shares.tolist(), odd=features(n, K)),
        estimator=of(None, PLKNN(n_neighbors=2), AvgPerceptron(), LogisticRegression()),
        cv=of(2, 3, model_selection.CandidateKFold(2)),
        groups=of(np.arange(n) % 3),
        noise_rate=either(st.floats(0.0, 0.9), st.floats()),
        n_jobs=several(1, 1),
        random_state=SEEDS,
    )
    return audit.find_label_issues, (X, y), named


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


@composite
def _a_truth(draw: Draw, y: Any, n: int) -> Any:
    """Draw a column of labels that occur in the data."""
    classes = draw(classes_of(y))
    return [classes[0]] * n if isinstance(classes, list | tuple) and len(classes) else classes


@family(1.0, "comparison.default_estimators")
def choices(draw: Draw) -> Case:
    """Draw a call of a function that selects methods."""
    flag = of(True, False)
    named = draw.some(sparse=flag, negative=flag, n_rows=several(1, 10**6), random_state=SEEDS)
    return default_estimators, (), named


@family(1.0, "multilabel.breakeven_score")
def documents(draw: Draw) -> Case:
    n, K = draw(ROWS) + 4, draw(st.integers(1, 3))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    topic = np.repeat(np.arange(n)[:, None] % 2 == 0, K, axis=1) ^ (random.random(K) < 0.5)
    named = draw(of(range(n // 2), np.arange(n) < 3, [0, 1], odd=st.one_of(SCALARS, _odd_rows(n))))
    Y = draw(of(topic, topic.astype(int), topic.tolist(), odd=features(n, K)))
    X = draw(features(n, 2))
    return multilabel.breakeven_score, (PLKNN(n_neighbors=2), X, Y, named), {"transductive": draw(st.booleans())}


def _odd_rows(n: int) -> Any:
    return st.sampled_from([[], [-1], [n], np.array([0.0]), [True, False]])


@family(1.0, "labeling.LabelingSession")
def sessions(draw: Draw) -> Case:
    n = draw(ROWS)
    named = draw.some(
        y=sets(n, 3, NAMED_FORMS),
        estimator=of(PLKNN(n_neighbors=2), AvgPerceptron()),
        strategy=of("auto", "margin", "random"),
        annotations_per_item=several(1, 2),
        check_interval=several(0, 2),
        refit_every=several(1, 2),
        min_votes=several(1, 1),
        top_k=several(1, 2),
        random_state=SEEDS,
    )
    classes = draw(classes_of(named["y"])) if "y" in named else draw(of(NAMES, list(NAMES[:2])))
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
def prediction_sets(draw: Draw) -> Case:
    """Draw a fit and a prediction of sets, or the evaluation of sets."""
    n = draw(ROWS)
    if draw(st.integers(0, 3)) == 0:
        return conformal.evaluate_sets, (draw(sets(n, 2)), draw(sets(n, 2))), {}
    named = draw.some(
        coverage=of(0.1, 0.5, 0.9),
        method=of("lac", "aps"),
        cv=of(2, 0.5, "prefit", "leave_one_out", model_selection.CandidateKFold(2)),
        calibration=of("sampled", "conservative", "optimistic"),
        class_conditional=either(st.booleans()),
        randomized=either(st.booleans()),
        n_jobs=of(1),
        random_state=SEEDS,
    )
    named.setdefault("cv", 2)
    estimator = draw(
        of(PLKNN(n_neighbors=2), AvgPerceptron(), fitted("votes"), odd=st.sampled_from([None, PLKNN, 3, len]), share=6)
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
    cut, own = draw(either(st.integers(1, 6))), draw(st.sampled_from((None, None, "same", "other")))
    y = draw(sets(n, 3, ("integers", "mask", "indicator", "lists", "-1 missing")))
    sparse = draw(st.booleans())
    if draw(st.booleans()):
        learner = draw(of(*LEARNERS, odd=st.one_of(SCALARS, st.just(PLKNN()), st.just(PLGP()))))
        return _fitted, (learner, rows, y, cut, own, sparse), draw.some(classes=classes_of(y))
    method = draw(st.sampled_from(list(ABLE)))
    able = st.sampled_from(ABLE[method]).map(fitted)
    model = draw(either(able, st.one_of(SCALARS, st.just(fitted("online")), st.just(PLKNN()))))
    return _predicted, (method, model, rows, y, cut, sparse), {}


@composite
def numbers(draw: Draw, n: int, d: int) -> Any:
    """Draw a Dask array of rows, possibly with numbers that overflow float64."""
    scale = draw(st.sampled_from((1.0, 1.0, 1.0, 0.0, 1e-200, 1e200)))
    rows = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n, d)) * scale
    return rows.astype(draw(st.sampled_from(("f8", "f8", "f4")))) if scale < 1e9 else rows


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
    from sklearn.base import clone

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
    truth, correct = random.integers(0, K, (n, 1)), draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    chosen = np.where(random.random((n, J)) < correct, truth, random.integers(0, K, (n, J)))
    table = np.empty((n, J), dtype=object)
    set_share, missing = draw(st.sampled_from([0.0, 0.4, 1.0])), draw(st.sampled_from([0.0, 0.4, 0.9]))
    for i, j in np.ndindex(n, J):
        others = [name for name in names if random.random() < 0.4 or name == names[chosen[i, j]]]
        table[i, j] = others if random.random() < set_share else names[chosen[i, j]]
        if i != j % max(n, 1) and random.random() < missing:
            table[i, j] = None
    if draw(of(False, odd=st.just(True))) and table.size:
        table[random.integers(n), random.integers(J)] = draw(st.sampled_from(ODD_CELLS))
    return table


@composite
def answers(draw: Draw, n: int, K: int, forms: tuple[str, ...] = ANSWER_FORMS) -> Any:
    """Draw answers to n rows in one of the supported forms; in a corrupted case possibly of another one."""
    table = draw(cells(n, draw(st.integers(1, 5)), K))
    valid = just(_in_form(draw(st.sampled_from(forms)), table))
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
    if form in ("lists", "tuples"):
        return table.tolist() if form == "lists" else tuple(map(tuple, table.tolist()))
    if form in ("frame", "indexed frame"):
        index = range(100, 100 + n) if form == "indexed frame" else None
        return pd.DataFrame(table, columns=[f"a{j}" for j in range(J)], index=index)
    if form == "polars":
        return pl.DataFrame({f"a{j}": pl.Series(table[:, j].tolist(), dtype=pl.Object) for j in range(J)})
    records = {"row": row, "annotator": source, "answer": table.ravel()}
    if form == "records":
        return pd.DataFrame(records)
    if form == "shuffled records":
        return pd.DataFrame(records)[::-1].assign(time=1.0)
    if form == "polars records":
        return pl.DataFrame({**records, "answer": pl.Series(table.ravel().tolist(), dtype=pl.Object)})
    try:
        if form == "answers":
            return Answers.from_table(table)
        if form == "answers of records":
            return Answers.from_records(row, [f"a{j}" for j in source], table.ravel(), index=np.arange(n))
        if form == "rules":
            return Answers.from_table(table, select_rows=True)
    except OneofError:  # reported by another case
        pass
    return table


@composite
def gold(draw: Draw, n: int, K: int) -> Any:
    """Draw known labels of some rows."""
    known = [NAMES[k] if k < K else None for k in np.arange(n) % (K + 1)]
    numbers = np.where(np.arange(n) % 3 == 0, np.arange(n) % K, -1)
    mapping = {int(i): int(numbers[i]) for i in range(0, n, 3)}
    named = dict.fromkeys(range(min(n, 2)), NAMES[0])
    return draw(of(known, numbers, mapping, named, {}, odd=st.one_of(SCALARS, sets(n, K))))


@family(2.0, "crowd.Answers crowd.apply_rules")
def readings(draw: Draw) -> Case:
    """Draw a call that reads answers, or selects rows of them."""
    n, K = draw(ROWS), draw(st.integers(1, 3))
    table = draw(cells(n, draw(st.integers(1, 4)), K))
    J = table.shape[1]
    classes = of(NAMES, list(NAMES[:2]), range(3), [0, 1])
    named = draw.some(classes=classes, select_rows=either(st.booleans()))
    kind = draw(st.integers(0, 3))
    if kind == 0:
        names = of(list(NAMES[:J]), np.arange(J))
        return _read_table, (draw(answers(n, K, ANSWER_FORMS[:10])),), {**named, **draw.some(annotators=names)}
    if kind == 1:
        rows, sources = (part.ravel() for part in np.indices(table.shape))
        rows = draw(of(rows, rows.tolist(), [f"r{i}" for i in rows], rows * 0.5))
        sources = draw(of(sources, sources.tolist(), [NAMES[j] for j in sources]))
        index = of(np.arange(n), range(n + 2)[::-1], [f"r{i}" for i in range(n)])
        flat = draw(either(just(table.ravel()), sets(n, max(K, 2))))
        return _read_records, (rows, sources, flat), {**named, **draw.some(index=index)}
    if kind == 2:
        rows = st.sampled_from([slice(1, 3), slice(None, None, -1), [0, 1], np.arange(n) % 2 == 0, 0, -1, []])
        return _answers_of_rows, (draw(answers(n, K)), draw(either(rows, st.just([0, 0])))), {}
    return _voted, (draw(rules(table)), draw(_rows_of_rules(n))), draw.some(classes=classes)


@composite
def rules(draw: Draw, table: Any) -> Any:
    """Draw rules that vote as the columns of a table, or do not work."""
    calls = [_rule(column) for column in table.T]
    odd = st.sampled_from([[of_the_caller], [*calls, len], [3], [], {}, {"a": calls[0], "b": None}, calls[0], {len}])
    return draw(of(calls, tuple(calls), dict(enumerate(calls)), odd=st.one_of(odd, SCALARS)))


def _rule(column: Any) -> Any:
    votes = iter(column.tolist() * 3)
    return lambda _: next(votes, None)


@composite
def _rows_of_rules(draw: Draw, n: int) -> Any:
    texts = st.sampled_from([["a text"] * n, np.array(["text"] * n), pd.Series(["text"] * n)])
    return draw(st.one_of(either(texts), features(n, 2)))


def _read_table(table: Any, **named: Any) -> Any:
    return _content(Answers.from_table(table, **named))


def _read_records(*columns: Any, **named: Any) -> Any:
    return _content(Answers.from_records(*columns, **named))


def _voted(functions: Any, rows: Any, **named: Any) -> Any:
    return _content(apply_rules(functions, rows, **named))


def _answers_of_rows(given_: Any, rows: Any) -> Any:
    read = given_ if isinstance(given_, Answers) else Answers.from_table(given_)
    return _content(read[rows]), _content(read.align(read.rows))


def _content(read: Answers) -> Any:
    assert sum(len(read.of_row(i)) for i in range(len(read))) == read.n_answers
    assert len(read) == len(read.rows)
    assert "annotators about" in repr(read)
    return len(read.annotators), len(read.classes), read.n_answers


@family(1.0, "crowd.krippendorff_alpha crowd.krippendorff_interval crowd.pairwise_agreement")
def agreements(draw: Draw) -> Case:
    """Draw a call of Krippendorff's alpha, of its interval, or of the agreement of pairs."""
    n, K = draw(ROWS), draw(st.integers(1, 3))
    named = draw.some(
        distance=of("nominal", "masi"),
        classes=of(NAMES, range(4)),
    )
    function = draw(st.sampled_from([krippendorff_alpha, pairwise_agreement, krippendorff_interval]))
    if function is not krippendorff_interval:
        return function, (draw(answers(n, K)),), named
    named |= draw.some(coverage=of(0.5, 0.95, 1e-9, 1 - 1e-12), random_state=SEEDS)
    return krippendorff_interval, (draw(answers(n, K)),), {**named, "n_samples": draw(several(1, 20))}


@composite
def annotator_settings(draw: Draw, K: int) -> dict[str, Any]:
    """Draw parameters of an annotator model, valid or not."""
    priors = [*("auto", "uniform", "fitted"), np.full(K, 1 / K), [1e-300, *[1.0] * (K - 1)], [1e300] * K]
    return draw.some(
        model=of("confusion", "one_coin"),
        class_prior=of(*priors, odd=st.sampled_from([*INVALID, [0.0] * K, [[0.5] * K]])),
        strength=of(0, *NUMBERS),
        classes=of(NAMES, list(NAMES[:K]), range(K)),
        coverage=of(0.5, 0.9, 1e-12, 1 - 1e-15),
        max_iter=several(1, 30),
        tol=of(*NUMBERS),
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
    fitted = _attributes(model)
    questions = {name: value for name, value in asked.items() if name != "n_rows"}
    return fitted, model.disputed_rows(asked.get("n_rows", 10)), model.next_questions(**questions)


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
    numbers = (model.candidates_, model.candidates_.weights, model.posterior_, *accuracies)
    by_class = model.class_accuracies()
    assert by_class.accuracy.shape == by_class.differs.shape == (J, K)
    assert ((by_class.interval >= 0) & (by_class.interval <= 1) | unknown[:, None, None]).all()
    of_classes = np.nan_to_num(by_class.accuracy), np.nan_to_num(by_class.interval)
    numbers = (*numbers, *of_classes, by_class.n_answers, tuple(model.notes_))
    return *numbers, model.confusion_, model.class_prior_, model.n_answers_, model.copied_pairs_, model.are_rules_


@family(1.0, "crowd.CrowdClassifier")
def crowds(draw: Draw) -> Case:
    """Draw a fit of a classifier to answers."""
    n, K = draw(either(st.integers(6, 12), st.integers(0, 5))), draw(st.integers(2, 3))
    splits = [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]
    estimators = [None, LOORidge(kernel="rbf"), PLKNN(n_neighbors=2), GaussianEM(max_iter=20), LogisticRegression()]
    estimators.append(make_pipeline(StandardScaler(), LOORidge(max_iter=3)))
    odd_estimators = st.sampled_from([LinearSVC(), StandardScaler(), PLKNN, LogisticRegression(C=-1), "x", 3])
    named = draw.some(
        estimator=of(*estimators, odd=odd_estimators),
        cv=of(2, 3, model_selection.CandidateKFold(2), splits),
        annotator_model=either(just(AnnotatorModel(**draw(annotator_settings(K))))),
        max_iter=several(1, 3),
        tol=of(*NUMBERS),
        n_jobs=several(1, 1),
        random_state=SEEDS,
    )
    named.setdefault("cv", 2)
    known = draw(gold(n, K)) if draw(st.integers(0, 2)) == 0 else None
    return _crowds, (draw(features(n, 2)), draw(answers(n, K)), known, draw(features(3, 2))), named


def _crowds(*given_: Any, **named: Any) -> Any:
    """Fit a classifier and predict; errors of scikit-learn's own transformers are raised unchanged."""
    if not isinstance(named.get("estimator"), Pipeline):
        return _fit_and_predict(*given_, **named)
    try:
        return _fit_and_predict(*given_, **named)
    except (ValueError, TypeError, RuntimeWarning) as error:
        if not raised_by_scikit_learn(error):
            raise
        return None


def _fit_and_predict(X: Any, given_: Any, known: Any, new: Any, **named: Any) -> Any:
    model = CrowdClassifier(**named).fit(X, given_, known)
    n, K = model.label_distributions_.shape
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1, rtol=1e-9)
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())
    assert model.held_out_proba_.shape == (n, K)
    fitted = (model.label_distributions_, model.held_out_proba_, model.classifier_power_, model.answer_power_)
    proba = model.predict_proba(new)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-6)
    assert set(model.predict(new).tolist()) <= set(model.classes_.tolist())
    return _attributes(model.annotator_model_), fitted, model.label_changes_, proba, model.predict(new)


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
    savemat(
        where / "birds.mat",
        {"data": np.eye(3, 4), "partial_target": [[1, 1], [1, 0], [0, 1]], "target": np.eye(3)[:, :2]},
    )
    return where


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@family(1.0, "text.make_vectorizer text.StemTokenizer")
def texts(draw: Draw) -> Case:
    lines = either(st.one_of(st.text(max_size=20), st.sampled_from(["the cats don't", "oil wheat", "\ud800", "\0"])))
    lines_ = draw(either(st.lists(lines, min_size=1, max_size=5)))
    named = draw.some(
        stop_words=of("english", None, ["the"], (), ["don't"]),
        stem=of("english", "german", None, "klingon"),
    )
    if draw(st.booleans()):
        return _stems, (draw(lines),), named
    return _words, (lines_,), named


def _words(lines_: Any, **named: Any) -> Any:
    """Count the words; errors of scikit-learn's vectorizer are raised unchanged."""
    vectorizer = text.make_vectorizer(**named)
    try:
        return vectorizer.fit_transform(lines_)
    except (ValueError, AttributeError, TypeError):
        return None


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
    learners = st.sampled_from([AvgPerceptron(), AvgPerceptron(average=True, fit_intercept=True), MaxPegasos()])
    return _one_by_one, (draw(either(learners)), classes, lines), draw.some(hash_bits=several(1, 6))


def _one_by_one(learner: Any, classes: Any, lines: Any, **named: Any) -> Any:
    model = stream.RiverClassifier(learner, classes, **named)
    probabilities = []
    for row, label in lines:
        probabilities.append(model.predict_proba_one(row))
        model.predict_one(row)
        model.learn_one(row, label)
    return [list(row_proba.values()) for row_proba in probabilities], model.fitted().coef_


@family(1.0, "datasets.load datasets.list_datasets datasets.dataset_info datasets.load_mat")
def data_sets(draw: Draw) -> Case:
    homes = of(None, folder(), str(folder()), odd=st.sampled_from([folder() / "none", "\0", *_ODD]))
    home = draw(homes)
    match draw(st.integers(0, 3)):
        case 0:
            return _alone, (datasets.list_datasets, home), {}
        case 1:
            return _alone, (datasets.dataset_info, home), {}
        case 2:
            path = of(folder() / "birds.mat", odd=st.one_of(st.sampled_from(_ODD), st.just(folder())))
            return datasets.load_mat, (draw(path),), {}
        case _:
            available = ["iris", "wine"] + ["birds"] * isinstance(home, str | Path)
            odd = st.one_of(SCALARS, st.sampled_from(["../iris", "", "irises", "a/b", "\0", ".", "~", "é"]))
            return _alone, (_loaded, draw(of(*available, odd=odd)), home), {}


_ODD = (3, 1.5, b"x", object(), [], len, "", "~", "~nobody/x", True)


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
    named = draw.some(
        labels=of(("species",), ("a", "b"), ["species"], odd=st.sampled_from(["species", ("no",), (3,), ()])),
        separator=of("|", ";"),
        classes=of(None, ("finch", "wren"), ("0", "1", "finch", "wren")),
        overrides=of(Overrides(drop=("b",)), Overrides(categories=("span",)), Overrides()),
        text_options=of(TextOptions()),
        batch_rows=several(1, 30),
        hash_bits=several(1, 10),
        n_epochs=several(1, 2),
        weighted=either(st.booleans()),
        table=either(
            st.builds(
                TableOptions,
                st.sampled_from([Dialect(), Dialect("utf-8", ","), Dialect("utf-16", ";", ",")]),
                st.sampled_from([CellFormat(), CellFormat(missing=("finch", "0"), dates=("%d", "no%"))]),
                st.booleans(),
                st.sampled_from([None, *format_.values()]),
            )
        ),
    )
    if named.get("weighted") is True:
        forms = {
            "weights": of(None, "a", "b", "species"),
            "kind": of("likelihood", "posterior"),
            "prior": of(None, (0.5, 0.5), [0.1, 0.2, 0.3, 0.4], (0.0, 1.0)),
            "rest": of(False, True, "wren", "other"),
        }
        named |= draw.some(**forms)
    named.setdefault("labels", ("species",))
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
        model = draw(
            of(fitted("votes"), fitted("online"), odd=st.one_of(SCALARS, st.sampled_from([PLKNN(), CLPL(C=2.0)])))
        )
        return _saved, (model, draw(of("m.oneof", odd=st.sampled_from(["", ".", "no/m", "\0", 3, None])))), {}
    shows = of("table", "text", "image")
    named = draw.some(show=shows, column=of("a"), hidden=of(("a",)))
    if not (isinstance(show := named.get("show", "table"), str) and show == "table"):
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
