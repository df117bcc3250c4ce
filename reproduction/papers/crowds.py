"""Labels from annotators and rules, and classifiers fitted to them, on seven data sets with known true labels."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Mask
from reproduction.claims import Claim, Difference
from reproduction.data import data_path
from reproduction.experiment import Experiment, Table
from reproduction.plot_style import LINE_STYLES, label_axes, new_figure, shared_legend
from reproduction.records import Records, Result, mean_and_error, pair_records
from reproduction.trial import Trial

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "crowds"
ALONE = ("dog_crowd", "web_crowd")
"""Data sets without features: their labels are measured, and no classifier is."""
RULES = ("plf_trec", "lf_trec", "lf_youtube", "lf_chemprot")
SETS = (*ALONE, "labelme_crowd", *RULES)
VOTE, DAWID, MODEL = "majority vote", "Dawid & Skene", "AnnotatorModel"
RIDGE, LOGISTIC = "CrowdClassifier, LOORidge", "CrowdClassifier, logistic"
UNION, TRUTH = "sets of all votes, LOORidge", "true labels"
METHODS = (VOTE, DAWID, MODEL, UNION, RIDGE, LOGISTIC, TRUTH)
COMPARISONS = (
    ("labels", MODEL, VOTE, "AnnotatorModel has more correct labels than votes."),
    ("labels", DAWID, VOTE, "Dawid & Skene has more correct labels than votes."),
    ("test", RIDGE, UNION, "LOORidge is better by CrowdClassifier than by sets."),
    ("test", LOGISTIC, VOTE, "logistic regression is better by CrowdClassifier than by votes."),
)
SHARE = 0.8
"""Share of the training rows in a draw."""


class Votes(NamedTuple):
    """A data set with votes about its training rows."""

    X: Any
    y: Ints
    mask: Mask
    n_train: int
    first_test: int
    codes: Ints
    """(n_train, sources): the value that a source votes for, or -1."""
    members: Mask
    """(sources, values, K): the classes of each value."""


@cache
def load_votes(name: str) -> Votes:
    """Return a data set; texts have tf-idf weights, fitted to the training rows."""
    from sklearn.feature_extraction.text import TfidfTransformer

    from oneof.datasets import load

    with np.load(data_path(name), allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive if key not in ("text", "text_offsets")}
    y, K = arrays["y"].astype(np.int64), len(arrays["classes"])
    codes = arrays["votes" if "votes" in arrays else "answers"].astype(np.int64)
    n = int(arrays.get("n_train", len(codes)))
    codes = codes[:n]
    if "source_sets" in arrays:
        members = np.unpackbits(arrays["source_sets"], axis=2, count=K).astype(bool)
    else:
        members = np.broadcast_to(np.eye(K, dtype=bool), (codes.shape[1], K, K))
    mask = np.unpackbits(arrays["candidates"], axis=1, count=K).astype(bool)
    X: Any = None if name in ALONE else load(name).X
    if name in RULES:
        X = TfidfTransformer(sublinear_tf=True).fit(X[:n]).transform(X)
    elif X is not None:
        X = X.astype(np.float64)
    return Votes(X, y, mask, n, n + int(arrays.get("n_valid", 0)), codes, members)


def plan(*, draws: int, sets: tuple[str, ...] = SETS) -> tuple[Trial, ...]:
    """Return the trials."""
    return tuple(
        Trial.from_settings(NAME, data=name, method=method, draw=draw)
        for draw in range(draws)
        for name in sets
        for method in (METHODS[:3] if name in ALONE else METHODS)
    )


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=10, max_iter=1000)


def _answers(codes: Ints, members: Mask, **options: Any) -> Any:
    from oneof.crowd import Answers

    table = np.full(codes.shape, None, dtype=object)
    for i, j in zip(*np.nonzero(codes >= 0), strict=True):
        table[i, j] = np.flatnonzero(members[j, codes[i, j]]).tolist()
    table = table[:, (codes >= 0).any(axis=0)]
    return Answers.from_table(table, classes=range(members.shape[2]), **options)


def _shares(codes: Ints, members: Mask) -> Floats:
    """Return the sums of the votes of each row, each divided among its classes."""
    votes = members[np.arange(codes.shape[1]), codes] * (codes >= 0)[:, :, None]
    return np.asarray((votes / np.maximum(votes.sum(axis=2, keepdims=True), 1)).sum(axis=1))


def _with_abstentions(codes: Ints, members: Mask) -> Floats:
    """Return the labels by Dawid & Skene where "no vote" is an answer of a rule, with smoothing by 0.01."""
    from scipy.special import softmax

    shares, voted = _shares(codes, members), (codes >= 0).any(axis=1)
    result = np.full(shares.shape, 1 / shares.shape[1])
    posterior = shares[voted] / shares[voted].sum(axis=1, keepdims=True)
    answers = np.stack([codes[voted] == value for value in range(-1, codes.max() + 1)], axis=1).astype(float)
    for _ in range(500):
        counts = np.einsum("nvr,nk->vrk", answers, posterior, optimize=True) + 0.01
        rates = np.log(counts / counts.sum(axis=0))
        joint = np.einsum("nvr,vrk->nk", answers, rates, optimize=True) + np.log(posterior.mean(axis=0) + 1e-10)
        before, posterior = posterior, softmax(joint, axis=1)
        if np.abs(posterior - before).sum() <= 1e-5 * len(posterior):
            break
    result[voted] = posterior
    return result


def _posterior(method: str, codes: Ints, members: Mask, trial: Trial, *, rules: bool) -> Floats:
    """Return the probabilities of the labels by the votes alone."""
    from oneof.crowd import AnnotatorModel

    if method == VOTE:
        shares = _shares(codes, members)
        # Ties are broken at random.
        noise = trial.generator("data", "draw", "method").random(shares.shape)
        return np.eye(shares.shape[1])[(shares + 1e-6 * noise).argmax(axis=1)]
    if method == DAWID and rules:
        return _with_abstentions(codes, members)
    if method == DAWID:
        model = AnnotatorModel(strength=0.0, max_iter=2000)
        return np.asarray(model.fit(_answers(codes, members, select_rows=False)).posterior_)
    return np.asarray(AnnotatorModel().fit(_answers(codes, members)).posterior_)


def measure(trial: Trial) -> Result:
    """Return the fraction of correct labels of the rows with votes, and the accuracy on the test rows."""
    from oneof import CandidateSets, LOORidge
    from oneof.crowd import CrowdClassifier

    data, method, rules = load_votes(trial.text("data")), trial.text("method"), trial.text("data") in RULES
    rows = np.sort(trial.generator("data", "draw").permutation(data.n_train)[: int(SHARE * data.n_train)])
    codes, truth = data.codes[rows], data.y[rows]
    voted = np.asarray((codes >= 0).any(axis=1))
    scored = voted & (truth >= 0)
    X = None if data.X is None else data.X[rows]
    if method in METHODS[:3]:
        weights = _posterior(method, codes, data.members, trial, rules=rules)
        labels, model = weights.argmax(axis=1), None
        if X is not None:
            used, label = np.nonzero((weights > 0) & voted[:, None])
            model = _logistic().fit(X[used], label, sample_weight=weights[used, label])
    elif method == UNION:
        model = LOORidge().fit(X, CandidateSets(data.mask[rows], range(data.mask.shape[1])))
        labels = model.disambiguate().labels
    elif method == TRUTH:
        labels, model = truth, _logistic().fit(X, truth)
    else:
        base = LOORidge() if method == RIDGE else _logistic()
        answers = _answers(codes, data.members)
        model = CrowdClassifier(base, random_state=0).fit(X, answers)
        labels = model.transduction_
    result = {"labels": float(np.mean(np.asarray(labels)[scored] == truth[scored]))}
    if model is not None:
        test = slice(data.first_test, None)
        result["test"] = float((model.predict(data.X[test]) == data.y[test]).mean())
    return result


def _values(records: Records, what: str, name: str, method: str) -> Floats:
    return 100 * records.values(what, data=name, method=method)


def _measures(name: str) -> tuple[str, ...]:
    return ("labels",) if name in ALONE else ("labels", "test")


def tabulate(records: Records) -> Table:
    """Return the mean accuracies of labels and classifiers."""
    rows: list[list[str | float | int]] = []
    for name in (name for name in SETS if name in records.unique_values("data")):
        for method in METHODS[:3] if name in ALONE else METHODS:
            labels = _values(records, "labels", name, method)
            test = () if name in ALONE else mean_and_error(_values(records, "test", name, method))
            rows.append([name, method, len(labels), *mean_and_error(labels), *(test or (float("nan"), float("nan")))])
    columns = ("data", "method", "draws", "correct labels %", "standard error", "test accuracy %", "standard error")
    return Table(columns, rows)


def draw(records: Records) -> "Mapping[str, Figure]":
    """Plot the means, one line of markers for each data set."""
    figure, axes = new_figure(1, 2, width=5.0, height=3.8)
    titles = ("correct labels of the training rows", "accuracy on the test rows")
    for ax, what, title in zip(axes, ("labels", "test"), titles, strict=True):
        names = [s for s in SETS if what in _measures(s) and s in records.unique_values("data")]
        for method, style in zip(METHODS, LINE_STYLES, strict=True):
            if what == "labels" and method == TRUTH:
                continue
            cells = [(i, _values(records, what, name, method)) for i, name in enumerate(names)]
            points = [(float(values.mean()), i) for i, values in cells if len(values)]
            ax.plot(
                [x for x, _ in points], [i for _, i in points], style.marker, color=style.color, linestyle="none",
                label=method, alpha=0.8,
            )  # fmt: skip
        label_axes(ax, title, "%", "")
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
    shared_legend(figure, axes, columns=3)
    return {"figure": figure}


def _compare(records: Records, what: str, better: str, other: str, statement: str, reason: str) -> Claim:
    """Claim that a method is above another one on every data set that was measured."""
    gains = {}
    for name in (
        name for name in SETS if what in _measures(name) and not (name in ALONE and better not in METHODS[:3])
    ):
        pair = pair_records(*(records.where(data=name, method=method) for method in (better, other)))
        gain = Difference.from_pairs(*(part.values(what) for part in pair))
        if gain.is_measured:
            gains[name] = gain
    measured = "; ".join(f"{name}: {gain.points()} points" for name, gain in gains.items()) or "not measured"
    return Claim(statement, reason, measured, all(gain.is_above for gain in gains.values()) if gains else None)


def claims(records: Records) -> list[Claim]:
    """Check our expectations; no paper states them for these data sets."""
    return [
        _compare(records, what, better, other, f"On each set {statement}", "our expectation")
        for what, better, other, statement in COMPARISONS
    ]


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=NAME,
        title="Annotators and rules: seven data sets",
        citation="Our own comparison. Data: Rodrigues & Pereira (2018), Zhou et al. (2012), Yu et al. (2022) and "
        "WRENCH (Zhang et al. 2021)",
        question="Which labels and classifiers do the votes give?",
        protocol=[
            "A draw has 80 % of the training rows, the same for all methods; 3 draws. Draws share rows and all test "
            "rows, so the standard errors are too small for a conclusion about other data.",
            "Correct labels: of the rows with a vote and a known class. Test accuracy: on the test rows of the data "
            "set; validation rows are not used. dog and web have no features, and so no classifier.",
            "Votes, Dawid & Skene and AnnotatorModel give labels for logistic regression (C = 10), as for the true "
            "labels. For rules, Dawid & Skene takes an abstention as an answer, with counts smoothed by 0.01; for "
            "annotators it takes answers only, by maximum likelihood. Texts have tf-idf weights. No constant was "
            "chosen on these data in this run.",
            "The quick run has one draw of dog, labelme and lf_youtube.",
        ],
        remarks=[
            "Dawid & Skene, which estimates a rate for each pair of classes, is above votes for annotators and below "
            "them for all four sets of rules. On plf_trec, whose rules seldom vote together, the labels of "
            "AnnotatorModel are nearly those of votes.",
        ],
        datasets=SETS,
        full=plan(draws=3),
        quick=plan(draws=1, sets=("dog_crowd", "labelme_crowd", "lf_youtube")),
        minutes=(3.0, 0.5),
        measure=measure,
        tabulate=tabulate,
        draw=draw,
        claims=claims,
    )
