"""Texts of which few have labels: the experiments of Joachims (1999) and Nigam et al. (2000), in Jebara's lecture."""

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import oneof
from oneof.typing import Floats, Ints, Mask
from reproduction.claims import Claim, Difference
from reproduction.data import vocabulary, without_stop_words
from reproduction.experiment import Experiment, Figures, Rows, Table
from reproduction.plot_style import (
    LINE_STYLES,
    curve,
    dots,
    label_axes,
    list_names,
    new_figure,
    published_dots,
    shared_legend,
)
from reproduction.records import Records, Result, mean_and_error, pair_records
from reproduction.trial import Trial

# -- Joachims (1999): ten topics of Reuters-21578 ----------------------------------------------------------------------

TRANSDUCTION = "text-transduction"
TOPICS = ("earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn")
FEW, COUNTS = 17, (17, 50, 150, 500)
BAYES, MACHINE, TRANSDUCTIVE, SHARED = "naive Bayes", "SVM", "transductive SVM", "transductive SVM, shares known"
METHODS = (BAYES, MACHINE, TRANSDUCTIVE, SHARED)
STYLES = dict(zip(METHODS, (LINE_STYLES[i] for i in (6, 1, 0, 5)), strict=True))
# Averages over the ten topics, 17 labeled documents.
AVERAGES = {BAYES: 35.9, MACHINE: 48.4, TRANSDUCTIVE: 60.8}


def plan_transduction(*, draws: int, counts: tuple[int, ...] = COUNTS, tests: int | None = None) -> tuple[Trial, ...]:
    """Return the trials; `tests` bounds the number of test documents."""
    return tuple(
        Trial.from_settings(TRANSDUCTION, labeled=n, method=method, tests=tests, draw=draw)
        for draw in range(draws)
        for n in counts
        for method in METHODS
    )


@cache
def reuters() -> tuple[Any, Mask, int]:
    """Return the counts of stems without stop words, the topics, and the number of training documents."""
    data = oneof.datasets.load("reuters21578")
    if data.Y is None or data.n_train is None:
        raise ValueError("reuters21578 has no topics or no split")
    topics = data.Y[:, [data.classes.tolist().index(name) for name in TOPICS]].astype(bool)
    return without_stop_words(data.X, vocabulary("reuters21578"), stems=True), topics, data.n_train


def draw_documents(topics: Mask, number: int, rng: np.random.Generator) -> Ints:
    """Return rows drawn uniformly among the draws in which every topic occurs."""
    while True:
        rows = rng.choice(len(topics), number, replace=False)
        if topics[rows].any(axis=0).all():
            return rows


def measure_transduction(trial: Trial) -> Result:
    """Return the precision/recall break-even point of each topic on the test documents."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.svm import SVC

    from oneof.multilabel import breakeven_score

    counts, topics, n_train = reuters()
    number, method = trial.number("labeled"), trial.text("method")
    labeled = draw_documents(topics[:n_train], number, trial.generator("draw", "labeled"))
    tests = np.arange(n_train, len(topics))
    if trial["tests"] is not None:
        tests = trial.generator("draw").permutation(tests)[: trial.number("tests")]
    taken = np.concatenate([labeled, tests])
    X, Y = counts[taken], topics[taken]
    estimator: Any = MultinomialNB()
    if method != BAYES:
        X = TfidfTransformer().fit_transform(X)
        C = X.shape[0] / sp.linalg.norm(X) ** 2
        estimator = SVC(kernel="linear", C=C) if method == MACHINE else oneof.TransductiveSVM(C=C)
    results = []
    for k, share in enumerate(topics[:n_train].mean(axis=0)):
        if method == SHARED:
            estimator.set_params(positive_fraction=float(share))
        transductive = method in (TRANSDUCTIVE, SHARED)
        results.append(breakeven_score(estimator, X, Y[:, [k]], np.arange(number), transductive=transductive).mean)
    return {"break-even": results}


def average(result: Result) -> Any:
    """Return the average over the topics in percent."""
    return 100 * np.mean(result["break-even"])


def tabulate_transduction(records: Records) -> Table:
    """Return the break-even point of each topic, and their average."""
    rows: Rows = []
    for number in records.unique_values("labeled"):
        for method in METHODS:
            part = records.where(labeled=number, method=method)
            values = 100 * part.values("break-even")
            topics = values.mean(axis=0).tolist() if len(values) else [float("nan")] * len(TOPICS)
            published = AVERAGES.get(method, float("nan")) if number == FEW else float("nan")
            rows.append([number, method, len(values), *topics, *mean_and_error(part.values(average)), published])
    return Table(("labels", "method", "draws", *TOPICS, "average %", "standard error", "published %"), rows)


def draw_transduction(records: Records) -> Figures:
    """Plot the break-even point of each topic, and their average against the number of labeled documents."""
    figure, axes = new_figure(2, 2, width=4.6, height=3.8)
    counts = records.unique_values("labeled")
    for i, (method, style) in enumerate(STYLES.items()):
        part = records.where(method=method)
        values = 100 * part.values("break-even", labeled=FEW)
        if len(values):
            results = np.column_stack([values.mean(axis=0), 2 * values.std(axis=0) / np.sqrt(len(values))])
            dots(axes[0], np.arange(len(TOPICS)) + 0.16 * (i - 1.5), results, style, method, horizontal=True)
        curve(axes[1], counts, part.curves(average, "labeled"), style, method)
        if method in AVERAGES:
            published_dots(axes[1], [FEW], [AVERAGES[method]], style, f"published, {method}")
    axes[0].set_xlim(0, 100)
    label_axes(axes[0], f"{FEW} labeled documents", "break-even point, %", "")
    list_names(axes[0], TOPICS)
    label_axes(axes[1], "average of the ten topics", "labeled documents", "break-even point, %", counts=counts)
    shared_legend(figure, axes, columns=3)
    return {"figure": figure}


def _averages(records: Records, number: int, *methods: str) -> list[Floats]:
    """Return the averages of several methods in the draws that all of them have."""
    return [p.values(average) for p in pair_records(*(records.where(labeled=number, method=m) for m in methods))]


def _check_above(records: Records, first: str, second: str) -> tuple[str, bool | None]:
    a, b = _averages(records, FEW, first, second)
    gain = Difference.from_pairs(a, b)
    if not gain.is_measured:
        return "not measured", None
    return f"{first} {a.mean():.1f} %, {second} {b.mean():.1f} %: {gain.points(1.0)} points", gain.above


def claims_transduction(records: Records) -> list[Claim]:
    """Check the statements of the lecture by the averages."""
    few, many = f"With {FEW} labeled documents", records.unique_values("labeled")[-1]
    gains = [Difference.from_pairs(*_averages(records, n, SHARED, MACHINE)) for n in (FEW, many)]
    return [
        Claim(f"{few} the transductive SVM is above the SVM.", "60.8 % for 48.4 %",
              *_check_above(records, TRANSDUCTIVE, MACHINE)),
        Claim(f"{few} the SVM is above naive Bayes.", "48.4 % for 35.9 %", *_check_above(records, MACHINE, BAYES)),
        Claim(f"{few}, and with the true fraction of each topic, the transductive SVM is above the SVM.",
              "not in the paper, which uses the fraction of the labeled documents",
              *_check_above(records, SHARED, MACHINE)),
        Claim(f"With the true fractions, it gains more on average with {FEW} labels than with {many}.",
              "the gain is largest for small training sets",
              f"{gains[0].points(1.0)} and {gains[1].points(1.0)} points",
              gains[0].mean > gains[1].mean if many > FEW and all(gain.is_measured for gain in gains) else None),
    ]  # fmt: skip


def transduction() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=TRANSDUCTION,
        title="Transductive text classification: ten topics of Reuters-21578",
        citation="Joachims (1999), Transductive inference for text classification using support vector machines, ICML; "
        "in Jebara's lecture on semi-supervised learning",
        question="How much do unlabeled test documents improve a classifier with few labeled documents?",
        protocol=[
            "Each of the ten most frequent topics against the rest: 17 (50, 150, 500) of the 9,603 training "
            "documents of the ModApte split are labeled, drawn uniformly among the draws in which every topic "
            "occurs; all 3,299 test documents are ranked, and the transductive SVM has them as unlabeled ones. "
            "Precision/recall break-even points; 10 draws, the same for all methods; bars and bands are two "
            "standard errors.",
            "English stop words are removed, words are stemmed; SVMs have TF-IDF and C = 1 / mean |x|^2, naive "
            "Bayes has counts. The transductive SVM uses the fraction of positives among the labeled documents, or, "
            "'shares known', that of all training documents, which 17 labels do not determine.",
            "Our sources do not describe how the published 17 documents were drawn, and how often.",
            "The quick run has 2 draws, 17 and 150 documents, and 800 test documents.",
        ],
        remarks=[
            "Every draw contains every topic, so that one of 17 is two or three times the fraction of a rare topic, "
            "and the transductive SVM makes the given fraction of test documents positive. The published draw is not "
            "in our sources.",
        ],
        datasets=("reuters21578",),
        full=plan_transduction(draws=10),
        quick=plan_transduction(draws=2, counts=(17, 150), tests=800),
        minutes=(5.0, 0.5),
        measure=measure_transduction,
        tabulate=tabulate_transduction,
        draw=draw_transduction,
        claims=claims_transduction,
    )


# -- Nigam et al. (2000): 20 Newsgroups --------------------------------------------------------------------------------

EM = "text-em"
EM_COUNTS = (20, 100, 300, 1000, 5000)
WEIGHTS = {"naive Bayes, labels alone": 0.0, "EM, unlabeled too": 1.0}
ALONE, TOGETHER = WEIGHTS
PUBLISHED = {ALONE: {20: 20.0, 300: 52.0}, TOGETHER: {20: 35.0, 300: 66.0}}
"""In percent."""
MAX_FEW = 300


def plan_em(*, draws: int, counts: tuple[int, ...] = EM_COUNTS) -> tuple[Trial, ...]:
    """Return the trials."""
    return tuple(
        Trial.from_settings(EM, labeled=n, weight=weight, draw=draw)
        for draw in range(draws)
        for n in counts
        for weight in WEIGHTS.values()
    )


@cache
def newsgroups() -> tuple[Any, Ints, int]:
    """Return the scaled word counts without stop words, the classes, and the number of training documents."""
    data = oneof.datasets.load("news20")
    X = without_stop_words(data.X, vocabulary("news20"), stems=False)
    length, n_train = X.sum(axis=1), int(data.n_train or 0)
    X = sp.csr_array(sp.diags_array(length[:n_train].mean() / np.maximum(length, 1)) @ X)
    return X, np.searchsorted(data.classes, data.y), n_train


def measure_em(trial: Trial) -> Result:
    """Return the accuracy on the later documents."""
    X, y, n_train = newsgroups()
    order = trial.generator("draw").permutation(n_train)
    # The first documents of each class in a random order: the labeled documents are nested.
    each = trial.number("labeled") // (int(y.max()) + 1)
    labeled = np.concatenate([order[y[order] == k][:each] for k in range(int(y.max()) + 1)])
    labels = np.full(n_train, -1)
    labels[labeled] = y[labeled]
    model = oneof.MultinomialEM(float(trial["weight"] or 0.0)).fit(X[:n_train], labels)
    return {"accuracy": float((model.predict(X[n_train:]) == y[n_train:]).mean())}


def tabulate_em(records: Records) -> Table:
    """Return the mean accuracies and the published ones."""
    rows: Rows = []
    for name, weight in WEIGHTS.items():
        for number in records.unique_values("labeled"):
            values = 100 * records.values("accuracy", labeled=number, weight=weight)
            rows.append([name, number, len(values), *mean_and_error(values), PUBLISHED[name].get(number, float("nan"))])
    return Table(("method", "labeled documents", "draws", "accuracy %", "standard error", "published %"), rows)


def draw_em(records: Records) -> Figures:
    """Plot both curves, and the published points as hollow markers."""
    figure, axes = new_figure(1, 1, width=6.0, height=3.8)
    counts = records.unique_values("labeled")
    for (name, weight), style in zip(WEIGHTS.items(), (LINE_STYLES[1], LINE_STYLES[0]), strict=True):
        values = 100 * records.where(weight=weight).curves("accuracy", "labeled")
        curve(axes[0], counts, values, style, name, band="deviation")
        points = PUBLISHED[name]
        published_dots(axes[0], list(points), list(points.values()), style, f"published, {name.split(',')[0]}")
    label_axes(axes[0], "20 Newsgroups, 7,532 later documents", "labeled documents", "accuracy, %", counts=counts)
    shared_legend(figure, axes, columns=2)
    return {"figure": figure}


def em_gain(records: Records, together: int, alone: int) -> tuple[Difference, list[Floats]]:
    """Compare EM and naive Bayes with numbers of labels, in the draws that both have."""
    cells = ((together, TOGETHER), (alone, ALONE))
    parts = pair_records(*(records.where(labeled=number, weight=WEIGHTS[method]) for number, method in cells))
    values = [part.values("accuracy") for part in parts]
    return Difference.from_pairs(*values), values


def claims_em(records: Records) -> list[Claim]:
    """Check the statements of the lecture and of its source paper."""
    counts = records.unique_values("labeled")
    gains = {n: em_gain(records, n, n)[0] for n in counts}
    details = "; ".join(f"{n} labels: {gain.points()} points" for n, gain in gains.items())
    few = [gain for n, gain in gains.items() if n <= MAX_FEW]
    raised = Claim.of_cases(
        f"With up to {MAX_FEW} labels, unlabeled documents raise the accuracy.",
        "EM with unlabeled documents generally improves accuracy on text: 20 to 35 % at 20 labels, 52 to 66 % at 300",
        ((gain.above, "") for gain in few), otherwise=details,
    )  # fmt: skip
    confirmed, words = None, "not measured"
    if {300, 1000} <= set(counts):
        gain, (together, alone) = em_gain(records, 300, 1000)
        confirmed = gain.above
        if gain.is_measured:
            accuracies = f"{100 * together.mean():.1f} % from 300 labels, {100 * alone.mean():.1f} % from 1,000 without"
            words = f"{accuracies}: {gain.points()} points"
    return [
        raised,
        Claim("On the mean, the gain shrinks from the numbers up to 300 to the largest.",
              "unlabeled documents help most when labels are few", details,
              min(gain.mean for gain in few) > gains[counts[-1]].mean if few and counts[-1] > MAX_FEW else None),
        Claim("300 labels with unlabeled documents do more than 1,000 without.",
              "the published curves need a third of the labels", words, confirmed),
    ]  # fmt: skip


def em() -> Experiment:
    """Return the experiment."""
    return Experiment(
        name=EM,
        title="EM with unlabeled documents: 20 Newsgroups",
        citation="Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents "
        "using EM, Machine Learning 39; in Jebara's lecture on semi-supervised learning",
        question="How many labeled documents do the unlabeled ones replace?",
        protocol=[
            "The split by date: some of the 11,314 training documents are labeled, the same number of each class "
            "drawn at random; the others are unlabeled. Accuracy on the 7,532 later documents; 10 draws, the same for "
            "both; bands are one standard deviation.",
            "English stop words are removed, and all documents are scaled to one length, as published; smoothing 1, "
            "unlabeled documents have the weight of labeled ones (lambda = 1). The published points are for 10,000 "
            "unlabeled documents and a vocabulary of 62,258 words; ours has 32,443.",
            "The quick run has two draws, and 20, 300 and 1,000 labels.",
        ],
        datasets=("news20",),
        full=plan_em(draws=10),
        quick=plan_em(draws=2, counts=(20, 300, 1000)),
        minutes=(2.0, 0.5),
        measure=measure_em,
        tabulate=tabulate_em,
        draw=draw_em,
        claims=claims_em,
    )
