"""Tasks for the choice of a method: real candidate sets, and generated ones of six origins, at most 2,000 rows each."""

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import oneof
from benchmarks.common import read_arrays
from oneof.datasets import load
from oneof.errors import DataError

N_ROWS = 900


class ChoosingTask(NamedTuple):
    """Rows, candidate sets and true labels, as columns of the sets."""

    name: str
    X: Any
    mask: np.ndarray
    truth: np.ndarray


Rows = tuple[Any, np.ndarray, np.ndarray]
"""X, truth and mask."""


def drop_rare_columns(X: Any) -> Any:
    """Return sparse rows without the columns that occur in fewer than two of them; dense rows are not changed."""
    return X[:, np.asarray((X != 0).sum(axis=0)).ravel() >= 2].tocsr() if sp.issparse(X) else X


def compact(X: Any, truth: np.ndarray, mask: np.ndarray, n: int, seed: int) -> Rows:
    """Draw rows, and drop the classes that are in no informative set and the label of no row."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(truth >= 0))[:n]
    X, truth, mask = drop_rare_columns(X[rows]), truth[rows], mask[rows]
    used = mask[~mask.all(axis=1)].any(axis=0) | (np.bincount(truth, minlength=mask.shape[1]) > 0)
    return X, (np.cumsum(used) - 1)[truth], mask[:, used]


def features(data: Any) -> Any:
    """Return sparse or dense features of a published data set, in float64."""
    return data.X.tocsr().astype(float) if sp.issparse(data.X) else np.nan_to_num(np.asarray(data.X, dtype=float))


def published_sets(name: str, n: int, seed: int = 0) -> Rows:
    """Return rows of the training part of a data set with published candidate sets."""
    data = load(name)
    truth = np.array([data.candidates.classes.tolist().index(label) if label is not None else -1 for label in data.y])
    end = len(truth) if data.n_train is None else data.n_train
    return compact(features(data)[:end], truth[:end], data.candidates.mask[:end], n, seed)


def coarse_tags(n: int, seed: int = 1) -> Rows:
    """Return the words of `ud_english_ewt` with the coarse tags that a dictionary has for each word."""
    stored = read_arrays("ud_english_ewt.npz")
    words, tags, end = stored["word_id"], stored["upos"], int(stored["n_train"])
    K = len(stored["upos_classes"])
    table = np.zeros((words.max() + 1, K), dtype=bool)
    table[words[:end], tags[:end]] = True
    return compact(features(load("ud_english_ewt"))[:end], tags[:end], table[words[:end]], n, seed)


def labeled_rows(name: str, n: int, seed: int) -> tuple[Any, np.ndarray]:
    """Return rows of a data set, and their classes as numbers."""
    data = load(name)
    known = np.flatnonzero([label is not None for label in data.y.tolist()])
    rows = np.random.default_rng(seed).permutation(known)[:n]
    _, truth = np.unique(data.y[rows].astype(str), return_inverse=True)
    return drop_rare_columns(features(data)[rows]), truth.ravel()


def decrease_classes(X: Any, truth: np.ndarray, seed: int, ratio: float) -> tuple[Any, np.ndarray]:
    """Return rows whose class sizes decrease geometrically by a factor `ratio`."""
    rng, K = np.random.default_rng(seed), truth.max() + 1
    kept = rng.random(len(truth)) < np.geomspace(1, 1 / ratio, K)[rng.permutation(K)][truth]
    return X[kept], truth[kept]


def generated(
    name: str, seed: int, kind: str, size: int, *, imbalance: float = 1.0, noise: float = 0.0, **options: Any
) -> Rows:
    """Return sets of `make_partial_labels`; in a fraction `noise` of them the true label is replaced by another."""
    X, truth = labeled_rows(name, N_ROWS if imbalance == 1.0 else 3 * N_ROWS, seed)
    if imbalance != 1.0:
        X, truth = decrease_classes(X, truth, seed, imbalance)
        X, (_, truth) = X[:N_ROWS], np.unique(truth[:N_ROWS], return_inverse=True)
    options |= {"distractors": kind, "n_distractors": size, "random_state": seed}
    mask = oneof.make_partial_labels(truth, **options).mask.copy()
    rng = np.random.default_rng(seed + 1)
    for i in np.flatnonzero(rng.random(len(truth)) < noise):
        outside = np.flatnonzero(~mask[i])
        if len(outside):
            mask[i, [truth[i], rng.choice(outside)]] = False, True
    return X, truth, mask


def unlabeled(rows: Rows, fraction: float) -> Rows:
    """Remove the labels of a fraction of the rows."""
    X, truth, mask = rows
    mask = mask.copy()
    mask[np.random.default_rng(0).random(len(truth)) < fraction] = True
    return X, truth, mask


def dictionary(name: str, seed: int, *, of_clusters: bool, rows_per_word: int = 10, imbalance: float = 1.0) -> Rows:
    """Return the classes that a word has; words are clusters of features, or drawn with sharply unequal shares."""
    X, truth = labeled_rows(name, 4 * N_ROWS, seed)
    if imbalance != 1.0:
        X, truth = decrease_classes(X, truth, seed, imbalance)
    rng, K = np.random.default_rng(seed), truth.max() + 1
    n_words = max(len(truth) // 4 // rows_per_word, K)
    if of_clusters:
        columns = rng.permutation(X.shape[1])[: max(2, X.shape[1] // 2)]
        clusters = MiniBatchKMeans(n_words, random_state=seed, n_init=1)
        words = clusters.fit_predict(StandardScaler().fit_transform(X)[:, columns])
    else:
        shares = np.eye(K)[rng.integers(K, size=n_words)]
        for share in shares:
            for k in rng.permutation(K)[: rng.integers(0, 4)]:
                share[k] += rng.choice([0.05, 0.1, 0.3])
        frequency = shares / (1.0 + rng.permutation(n_words))[:, None]
        totals = frequency.sum(axis=0)
        words = np.array(
            [rng.choice(n_words, p=frequency[:, k] / totals[k]) if totals[k] else n_words + k for k in truth]
        )
    table = np.zeros((n_words + K, K), dtype=bool)
    table[words, truth] = True
    return compact(X, truth, table[words], N_ROWS, seed)


def rules(name: str, seed: int, *, per_class: int = 2, depth: int = 2, precision: float = 0.8) -> Rows:
    """Return the votes of rules: leaves of small trees on a few features that have about the given precision."""
    X, truth = labeled_rows(name, N_ROWS, seed)
    rng, K = np.random.default_rng(seed), truth.max() + 1
    mask = np.zeros((len(truth), K), dtype=bool)
    for k in range(K):
        leaves = []
        for _ in range(30):
            columns = rng.permutation(X.shape[1])[: max(2, int(np.sqrt(X.shape[1]) / 2))]
            tree = DecisionTreeClassifier(max_depth=depth, min_samples_leaf=10, random_state=0)
            leaf = tree.fit(X[:, columns], truth == k).apply(X[:, columns])
            for hit in (leaf == value for value in np.unique(leaf)):
                if (truth[hit] == k).sum() > 0.15 * (truth == k).sum():
                    leaves.append((abs((truth[hit] == k).mean() - precision), len(leaves), hit))
        for _, _, hit in sorted(leaves, key=lambda leaf: leaf[:2])[:per_class]:
            mask[hit, k] = True
    mask[~mask.any(axis=1)] = True
    return X, truth, mask


def weak_lists(
    name: str,
    seed: int,
    n_weak: int,
    *,
    n: int = N_ROWS,
    classifier: Any = None,
    share: float = 1.0,
    text: bool = False,
) -> Rows:
    """Return lists of a classifier fitted to `n_weak` other rows: its first three classes, cut at a probability of .9.

    With `share` below 1 it is fitted to this fraction of the features.
    """
    X, truth = labeled_rows(name, n + n_weak, seed)
    rows = TfidfTransformer(sublinear_tf=True).fit_transform(X) if text else StandardScaler().fit_transform(X)
    if share < 1.0:
        columns = np.random.default_rng(seed).permutation(X.shape[1])[: max(2, int(share * X.shape[1]))]
        rows = rows[:, np.sort(columns)]
    weak = LogisticRegression(C=10.0, max_iter=300) if classifier is None else classifier
    weak.fit(rows[:n_weak], truth[:n_weak])
    proba = np.zeros((len(truth) - n_weak, truth.max() + 1))
    proba[:, weak.classes_] = weak.predict_proba(rows[n_weak:])
    order = np.argsort(-proba, axis=1)
    sorted_proba = np.take_along_axis(proba, order, axis=1)
    listed = np.cumsum(sorted_proba, axis=1) - sorted_proba < 0.9
    listed[:, 3:] = False
    mask = np.zeros(proba.shape, dtype=bool)
    np.put_along_axis(mask, order, listed, axis=1)
    X = X[n_weak:]
    if text:
        X = drop_rare_columns(TfidfTransformer(sublinear_tf=True).fit_transform(X))
    return X, truth[n_weak:], mask


def annotators(name: str, seed: int, *, skill: float = 0.65, preferred: bool = False) -> Rows:
    """Return the answers of three annotators with random asymmetric confusions, and preferred answers on request."""
    X, truth = labeled_rows(name, N_ROWS, seed)
    rng, K = np.random.default_rng(seed), truth.max() + 1
    mask = np.zeros((len(truth), K), dtype=bool)
    for _ in range(3):
        confusion = rng.dirichlet(np.full(K, 0.3), size=K) * (1 - skill) + skill * np.eye(K)
        if preferred:
            confusion = 0.8 * confusion + 0.2 * rng.dirichlet(np.full(K, 0.3))
        mask[np.arange(len(truth)), [rng.choice(K, p=confusion[k]) for k in truth]] = True
    return X, truth, mask


TASKS: dict[str, Callable[[], Rows]] = {
    "lost": lambda: published_sets("lost", 1122),
    "msrcv2": lambda: published_sets("msrcv2", 1200),
    "birdsong": lambda: published_sets("birdsong", 1200),
    "italian": lambda: published_sets("italian", 1200),
    "ud_english_ewt": lambda: published_sets("ud_english_ewt", 1200),
    "ud_english_ewt, coarse": lambda: coarse_tags(1200),
    "plf_trec": lambda: published_sets("plf_trec", 1200),
    "lf_trec": lambda: published_sets("lf_trec", 1200),
    "lf_chemprot": lambda: published_sets("lf_chemprot", 1200),
    "lf_youtube": lambda: published_sets("lf_youtube", 1200),
    "labelme_crowd": lambda: published_sets("labelme_crowd", 1000),
    "news20, weak": lambda: weak_lists("news20", 0, 500, n=2000, classifier=MultinomialNB(alpha=0.01), text=True),
    "news20, weak linear": lambda: weak_lists(
        "news20", 1, 500, n=1200, classifier=LogisticRegression(C=1000.0, max_iter=300), text=True
    ),
    "news20, uniform": lambda: generated("news20", 2, "uniform", 2),
    "reuters, weak": lambda: weak_lists("reuters21578", 0, 150, n=1200, text=True),
    "glass, uniform": lambda: generated("glass", 0, "uniform", 1),
    "segment, uniform": lambda: generated("segment", 1, "uniform", 3),
    "letter, uniform": lambda: generated("letter", 2, "uniform", 2),
    "vehicle, uniform": lambda: generated("vehicle", 3, "uniform", 1),
    "leaf, uniform": lambda: generated("leaf", 4, "uniform", 3),
    "satimage, noise": lambda: generated("satimage", 5, "uniform", 2, noise=0.15),
    "mfeat_zernike, noise": lambda: generated("mfeat_zernike", 6, "uniform", 1, noise=0.2),
    "ecoli, confusable": lambda: generated("ecoli", 7, "confusable", 1, epsilon=0.7),
    "segment, confusable": lambda: generated("segment", 8, "confusable", 1, epsilon=0.8),
    "mfeat_fourier, confusable": lambda: generated("mfeat_fourier", 9, "confusable", 2, epsilon=0.7),
    "pendigits, confusable": lambda: generated("pendigits", 10, "confusable", 1, epsilon=0.9),
    "dermatology, confusable, noise": lambda: generated("dermatology", 11, "confusable", 1, noise=0.1, epsilon=0.7),
    "vehicle, confusable": lambda: generated("vehicle", 12, "confusable", 1, epsilon=0.6),
    "usps, cooccurring": lambda: generated("usps", 13, "cooccurring", 2),
    "mfeat_factors, cooccurring": lambda: generated("mfeat_factors", 14, "cooccurring", 3),
    "satimage, cooccurring": lambda: generated("satimage", 15, "cooccurring", 2, imbalance=12),
    "letter, cooccurring": lambda: generated("letter", 16, "cooccurring", 2, imbalance=12),
    "segment, cooccurring, noise": lambda: generated("segment", 17, "cooccurring", 2, noise=0.1),
    "satimage, clusters": lambda: dictionary("satimage", 0, of_clusters=True, rows_per_word=6),
    "pendigits, clusters": lambda: dictionary("pendigits", 1, of_clusters=True, rows_per_word=6),
    "letter, clusters": lambda: dictionary("letter", 2, of_clusters=True),
    "usps, dictionary": lambda: dictionary("usps", 3, of_clusters=False),
    "letter, dictionary": lambda: dictionary("letter", 4, of_clusters=False, imbalance=12),
    "segment, dictionary": lambda: dictionary("segment", 5, of_clusters=False),
    "satimage, rules": lambda: rules("satimage", 0),
    "segment, rules": lambda: rules("segment", 1),
    "usps, rules": lambda: rules("usps", 2, per_class=3, depth=3),
    "mfeat_karhunen, rules": lambda: rules("mfeat_karhunen", 3, per_class=3, depth=3),
    "letter, weak": lambda: weak_lists("letter", 0, 200),
    "usps, weak": lambda: weak_lists("usps", 1, 60),
    "mfeat_factors, weak": lambda: weak_lists("mfeat_factors", 2, 60, share=0.3),
    "satimage, weak": lambda: weak_lists("satimage", 3, 30),
    "vehicle, weak": lambda: weak_lists("vehicle", 4, 60, n=700, share=0.6),
    "pendigits, annotators": lambda: annotators("pendigits", 0),
    "vehicle, annotators": lambda: annotators("vehicle", 1, preferred=True),
    "mfeat_zernike, annotators": lambda: annotators("mfeat_zernike", 2, skill=0.5),
    "usps, unlabeled": lambda: unlabeled(generated("usps", 31, "confusable", 1, epsilon=0.5), 0.5),
    "segment, unlabeled": lambda: unlabeled(generated("segment", 32, "uniform", 2), 0.6),
}
"""Tasks in a fixed order: the rule of `compare` was chosen on the tasks of even position, counted from 0."""


def choosing_tasks(names: Collection[str] = ()) -> Iterator[ChoosingTask]:
    """Yield the tasks whose data sets are available, or those with the given names."""
    for name, make in TASKS.items():
        if names and name not in names:
            continue
        try:
            X, truth, mask = make()
        except DataError:
            continue
        yield ChoosingTask(name, X, mask, truth)
