"""Fuzzed calls on candidate sets, distractors, metrics and comparisons."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from oneof import CandidateSets, make_partial_labels, metrics, model_selection
from tests.fuzz.labels import FORMS, MASK_FORMS, NAMED_FORMS, NAMES, SET_FORMS
from tests.fuzz.strategies import (
    CORRUPTED,
    ROWS,
    SCALARS,
    SEEDS,
    Case,
    classes_of,
    either,
    exact,
    family,
    features,
    fitted,
    just,
    optional,
    several,
)
from tests.fuzz.strategies import sets as sets_

MAKERS = {"labels": NAMED_FORMS, "sets": FORMS, "indicator": MASK_FORMS, "complementary": SET_FORMS, "init": ("mask",)}
"""Constructors of candidate sets with the forms of labels that they accept."""


@family(3.0, "CandidateSets")
@st.composite
def set_makers(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from((*MAKERS, "annotations", "hierarchy", "strings", "take")))
    if kind in ("annotations", "hierarchy", "strings"):
        return draw({"annotations": annotations, "hierarchy": hierarchies, "strings": strings}[kind]())
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(sets_(n, K, MAKERS.get(kind, FORMS)))
    if kind == "init":
        return CandidateSets, (y, draw(either(st.just(NAMES[:K]), classes_of(y)))), {}
    if kind == "take":
        rows = st.sampled_from([slice(1, 3), [0, 1], np.arange(n) % 2 == 0, 0, -1, np.array([], dtype=int)])
        return _taken, (y, draw(either(rows))), {}
    return getattr(CandidateSets, f"from_{kind}"), (y,), draw(optional(classes=classes_of(y)))


@st.composite
def annotations(draw: st.DrawFn) -> Case:
    rows, n_asked = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    cells = st.lists(st.sampled_from([*NAMES[:2], None]), min_size=n_asked * rows, max_size=n_asked * rows)
    answers = np.array(draw(cells), dtype=object).reshape(rows, n_asked)
    y = draw(either(st.sampled_from([answers, answers.tolist()]), sets_(rows, 3)))
    named = draw(optional(min_votes=several(1, 2), top_k=several(1, 3), classes=either(st.just(NAMES))))
    return CandidateSets.from_annotations, (y,), named


@st.composite
def hierarchies(draw: st.DrawFn) -> Case:
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
        (draw(either(labels, sets_(3, 3))), tree),
        draw(optional(classes=either(labels))),
    )


@st.composite
def strings(draw: st.DrawFn) -> Case:
    lines = ("ant", "ant|bee", None, " cat ", "bee|cat", "a\\|b", "é|☃", "", "ant:0.7|bee:.3", '{"ant": 0.7, "bee": 1}')
    odd = st.sampled_from([*lines, "a||b", "|", "\\", 3, float("nan"), "ant:x", "{}", '{"ant": "x"}', '{"ant":'])
    y = draw(either(st.lists(either(st.sampled_from(lines), odd), min_size=1, max_size=6), sets_(3, 3)))
    separator = either(st.sampled_from(["|", ";", "::", " "]), st.one_of(SCALARS, st.sampled_from(["", "\\"])))
    named = draw(optional(separator=separator, classes=either(st.just(NAMES)), weighted=st.booleans()))
    return CandidateSets.from_strings, (y,), named


def _taken(y: Any, rows: Any) -> Any:
    """Convert candidate sets to every other form and back."""
    sets = CandidateSets.from_sets(y)
    again = CandidateSets.from_sets(sets.to_sets(), classes=sets.classes)
    assert again == sets
    assert CandidateSets.from_indicator(sets.to_indicator(sparse=True), classes=sets.classes) == sets
    assert CandidateSets.concatenate([sets[:1], sets[1:]]) == sets
    repr(sets)
    sets.to_strings()
    return sets[rows]


@family(
    2.0, "metrics.ambiguous_zero_one_loss metrics.covering_rate metrics.exact_accuracy metrics.approximated_accuracy"
)
@st.composite
def judgments(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(sets_(n, K))
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
    weights = either(st.sampled_from([np.ones(n), np.arange(n), [1e300] * n, np.zeros(n)]))
    named = draw(optional(classes=classes_of(y), sample_weight=weights))
    classes = named["classes"] if isinstance(named.get("classes"), list | tuple) else draw(classes_of(y))
    many = max(len(classes), 1) if isinstance(classes, list | tuple) else K
    if function is metrics.approximated_accuracy:
        shares = np.random.default_rng(draw(st.integers(0, 99))).dirichlet(np.ones(many), n)
        return function, (y, draw(either(st.sampled_from([shares, shares.tolist()]), features(n, many)))), named
    truth = (
        [classes[i % many] for i in range(n)] if isinstance(classes, list | tuple) and len(classes) else list(range(n))
    )
    labels = st.sampled_from([[NAMES[i % K] for i in range(n)], np.full(n, np.nan), np.arange(n, dtype=object)])
    return function, (y, draw(either(just(truth), st.one_of(labels, sets_(n, K))))), named


@family(1.0, "metrics.precision_recall_breakeven_point metrics.win_tie_loss metrics.paired_p_values")
@st.composite
def rankings(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(1, 3))
    if draw(st.booleans()):
        truths = st.sampled_from([np.ones((n, K)), np.eye(n, K), np.arange(n * K).reshape(n, K) % 2 == 0])
        return (
            metrics.precision_recall_breakeven_point,
            (draw(either(truths, features(n, K))), draw(features(n, K))),
            {},
        )
    if draw(st.booleans()):
        named = draw(optional(test_train_ratio=either(st.floats(0.0, 1.0), st.floats())))
        return metrics.paired_p_values, (draw(features(n, K + 1)), draw(features(n, K + 1))), named
    named = draw(optional(alpha=either(st.floats(0.01, 0.5), st.floats())))
    return metrics.win_tie_loss, (draw(features(n, K + 1)), draw(features(n, K + 1))), named


@family(2.0, "make_partial_labels")
@st.composite
def hidings(draw: st.DrawFn) -> Case:
    n, K = draw(ROWS), draw(st.integers(2, 4))
    y = draw(either(exact(n, K), sets_(n, K)))
    kind = draw(st.sampled_from(["uniform", "independent", "confusable", "cooccurring", "dictionary", "rules"]))
    named = draw(optional(fraction=either(st.floats(0, 1)), classes=classes_of(y), random_state=SEEDS))
    if kind in ("dictionary", "rules"):
        named |= draw(optional(n_distractors=several(0, 1)))
    elif kind == "independent":
        named |= draw(optional(rate=either(st.floats(0, 1))))
    elif kind != "cooccurring":
        named |= draw(
            st.sampled_from([optional(n_distractors=several(0, 1)), optional(set_size=several(1, 2))]).flatmap(
                lambda s: s
            )
        )
    classes = draw(classes_of(y))
    many = len(classes) if isinstance(classes, list | tuple) else K
    if kind == "confusable":
        named |= draw(optional(epsilon=either(st.floats(0, 1)), confusion=either(just(np.ones((many, many))))))
    if kind == "cooccurring" or draw(CORRUPTED):
        named |= draw(optional(groups=either(just(np.arange(n) // 3), features(n, 1))))
    named["distractors"] = draw(either(st.just(kind)))
    return make_partial_labels, (y,), named


@family(
    1.0,
    "model_selection.CandidateKFold model_selection.CandidateGroupKFold model_selection.Scorer "
    "model_selection.covering_rate_scorer model_selection.approximated_accuracy_scorer "
    "model_selection.exact_accuracy_scorer",
)
@st.composite
def scorings(draw: st.DrawFn) -> Case:
    n = draw(ROWS)
    if draw(st.booleans()):
        named = draw(optional(n_splits=several(2, 4), shuffle=either(st.booleans())))
        named.setdefault("n_splits", 2)
        if named.get("shuffle") is not False:
            named |= draw(optional(random_state=SEEDS))
        if draw(st.booleans()):
            groups = draw(either(st.lists(st.integers(0, 4), min_size=n, max_size=n), st.sampled_from([None, "ab", 3])))
            return _group_folds, (draw(features(n, 2)), draw(sets_(n, 3)), groups), named
        return _folds, (draw(features(n, 2)), draw(sets_(n, 3))), named
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
    model = draw(either(st.sampled_from([fitted("votes"), fitted("graph"), fitted("online")])))
    named = draw(optional(sample_weight=either(st.just(np.ones(n)))))
    y = draw(sets_(n, 3, ("integers", "-1 missing", "mask", "indicator", "lists", "csr")))
    return scorer, (model, draw(features(n, 2)), y), named


@family(1.0, "model_selection.compute_sample_weight")
@st.composite
def class_weights(draw: Any) -> Any:
    """Draw a call of compute_sample_weight."""
    y = draw(sets_(draw(st.integers(1, 9)), 3, ("integers", "-1 missing", "mask", "indicator", "lists", "csr")))
    weights = st.dictionaries(st.integers(-1, 4), st.sampled_from([0, 1, 2.5, -1, np.nan, np.inf, "heavy", None]))
    return model_selection.compute_sample_weight, (draw(either(st.sampled_from(["balanced", None]) | weights)), y), {}


@family(1.0, "model_selection.calibrate_posteriors")
@st.composite
def calibrations(draw: Any) -> Any:
    """Draw a call of calibrate_posteriors."""
    n = draw(st.integers(1, 9))
    numbers = st.sampled_from([1e-300, 1e-9, 0.1, 0.5, 1.0])
    y = CandidateSets.from_weights([[draw(numbers) for _ in range(3)] for _ in range(n)])
    labels = [draw(st.sampled_from([0, 1, 2, None, 7])) for _ in range(draw(st.sampled_from([n, n, 2])))]
    prior = draw(either(st.sampled_from([None, [0.2, 0.3, 0.5], [0.0, 0.5, 0.5], [1.0]])))
    return model_selection.calibrate_posteriors, (draw(either(st.just(y))), labels), {"prior": prior}


MINE = model_selection.Scorer("mine", lambda *_: 1.0)


def _folds(X: Any, y: Any, **named: Any) -> Any:
    return list(model_selection.CandidateKFold(**named).split(X, y))


def _group_folds(X: Any, y: Any, groups: Any, **named: Any) -> Any:
    return list(model_selection.CandidateGroupKFold(**named).split(X, y, groups))
