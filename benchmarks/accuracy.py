"""Accuracy on real partial labels, the choice of a method without true labels, and feature maps."""

import time

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import oneof
from benchmarks.choosing_tasks import TASKS, choosing_tasks
from benchmarks.common import candidate_columns
from oneof.comparison import default_estimators
from oneof.comparison.folds import check_task
from oneof.comparison.methods import resolve_methods
from oneof.datasets import load
from oneof.errors import DataError
from oneof.kernels import mapped
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS
from oneof.model_selection import CandidateKFold, covering_rate_scorer
from reproduction.papers.real_sets import PUBLISHED

SETS = ("lost", "birdsong", "msrcv2")
LAMS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]


def tune(estimator, grid):
    """Return a grid search that uses candidate sets only."""
    return GridSearchCV(estimator, grid, cv=CandidateKFold(3, random_state=0), scoring=covering_rate_scorer)


class TunedGaussianProcess(ClassifierMixin, BaseEstimator):
    """PLGP with a kernel that is chosen as in `tune` on at most 1,200 rows, then fitted to all rows."""

    def __init__(self, temperature=1.0):
        self.temperature = temperature

    def fit(self, X, y):
        """Choose the kernel and fit the model."""
        d = X.shape[1]
        linear, rbf = DotProduct(1e-3, "fixed"), RBF(np.sqrt(d), "fixed")
        kernels = {f"linear {s}": s / d * linear for s in (1, 10)}
        kernels |= {"rbf": 10 * rbf, "both": 10 * rbf + 10 / d * linear}
        subset = np.sort(np.random.default_rng(0).permutation(len(X))[:1200])
        model = oneof.PLGP(optimizer=None, temperature=self.temperature, random_state=0)
        search = tune(model, {"kernel": list(kernels.values())}).fit(X[subset], y[subset])
        self.best_params_ = {"kernel": list(kernels)[search.best_index_]}
        self.model_ = clone(search.best_estimator_).fit(X, y)
        return self

    def predict(self, X):
        """Predict columns of the indicator."""
        return self.model_.predict(X)


METHODS = {
    "PLSVM": oneof.PLSVM(lam=1.0),
    "PLSVM, published solver": oneof.PLSVM(lam=1.0, solver="pegasos", max_iter=1000, tol=0.0),
    "PLSVM, lam tuned": tune(oneof.PLSVM(), {"lam": LAMS}),
    "PLSVM, rbf, lam tuned": tune(oneof.PLSVM(kernel="rbf"), {"lam": LAMS}),
    "CLPL": oneof.CLPL(),
    "IPAL": oneof.IPAL(),
    "IPAL, class mass": oneof.IPAL(class_mass=True),
    "IPAL, class mass, [0, 1]": make_pipeline(MinMaxScaler(), oneof.IPAL(class_mass=True)),
    "PLKNN": oneof.PLKNN(),
    "PLKNN, [0, 1]": make_pipeline(MinMaxScaler(), oneof.PLKNN()),
    "PLECOC": oneof.PLECOC(random_state=0),
    "PLEM": oneof.PLEM(),
    "PLGP, kernel tuned": TunedGaussianProcess(),
    "PLGP, evidence": oneof.PLGP(optimizer_max_samples=500, random_state=0),
}
PANEL = (
    "LOORidge",
    "GraphLogisticRegression",
    "HarmonicField",
    "LocalGlobalConsistency",
    "MarkovWalk",
    "SpectralGraphTransducer",
    "TransductiveSVM",
    "AvgPerceptron",
    "MaxPerceptron",
    "AvgPegasos",
    "MaxPegasos",
    "GaussianEM",
    "MultinomialEM",
)
"""Methods with the settings and scalers of `oneof.comparison`."""


def make_method(label, n_rows):
    """Return the estimator of a line, with its preprocessing."""
    if label in PANEL:
        return default_estimators(n_rows=n_rows)[label]
    return make_pipeline(StandardScaler(), METHODS[label])


def split_accuracies(name, label):
    """Return the test accuracy of each split, and the chosen parameters."""
    data = load(name)
    values, chosen = [], []
    for train, test in ShuffleSplit(5, test_size=0.2, random_state=0).split(data.X):
        model = make_method(label, len(train)).fit(data.X[train], data.candidates[train].to_indicator())
        values.append(float((model.predict(data.X[test]) == candidate_columns(data)[test]).mean()))
        if hasattr(model[-1], "best_params_"):
            chosen.append(*model[-1].best_params_.values())
    return np.array(values), chosen


def real_sets(*methods: str):
    """Print the accuracies on Lost, BirdSong and MSRCv2 over five random 80/20 splits, and the published ones.

    Features are standardized and parameters fixed, at the methods' defaults except for lam = 1 of PLSVM, as published.
    Lines of `PANEL` are as in `oneof.comparison`, whose online settings were chosen while accuracies on these data sets
    were seen. "tuned" chooses by the covering rate of three-fold cross-validation on the candidate sets of the training
    part, never by a true label. "[0, 1]" scales the features to that range, as is common in published runs of the
    neighbor methods: these rows explain a gap, and were added after test accuracies had been seen. True labels of the
    test parts are used for the printed accuracies alone. The published figures come from other splits.
    """
    for label in methods or (*METHODS, *PANEL):
        line = []
        for i, name in enumerate(SETS):
            start = time.perf_counter()
            values, chosen = split_accuracies(name, label)
            published = PUBLISHED.get(label.split(",")[0])
            reference = f" (published {published[i]:.3f})" if published else ""
            line.append(
                f"{name} {values.mean():.3f} +- {values.std():.3f}{reference} in {time.perf_counter() - start:.0f} s"
            )
            line[-1] += f" {chosen}" if chosen else ""
        print(f"{label:24s} " + " | ".join(line), flush=True)


def lost():
    """Print the table of `compare` on Lost (Cour et al. 2011), and the published accuracies of PL-kNN and CLPL.

    Five random 80/20 splits, features standardized on the training part. Published: PL-kNN .43, CLPL .73. Added to the
    panel are CLPL without intercept, as it is published, and PLKNN on features scaled to [0, 1]. Both rows were added
    after the test accuracies of some 34 settings on these splits had been seen (C, intercept, neighbors, weights,
    scaling): they explain the gap to the published numbers, but are not clean estimates; nor are those of the panel,
    see `oneof.comparison.default_estimators`. The row "C by covering rate" chooses C without true labels.
    """
    data = oneof.datasets.load("lost")
    methods = {
        **default_estimators(n_rows=len(data.X)),
        "CLPL, no intercept": make_pipeline(StandardScaler(), oneof.CLPL()),
        "CLPL, C by covering rate": GridSearchCV(
            make_pipeline(StandardScaler(), oneof.CLPL()),
            {"clpl__C": [1e-4, 1e-3, 1e-2, 1e-1, 1.0]},
            cv=CandidateKFold(3, random_state=0),
            scoring=covering_rate_scorer,
        ),
        "PLKNN, min-max": make_pipeline(MinMaxScaler(), oneof.PLKNN()),
    }
    splits = ShuffleSplit(5, test_size=0.2, random_state=0)
    table = oneof.compare(data.X, data.candidates, methods, cv=splits, truth=data.y)
    print(table)
    for result in table.results:
        published = {"PLKNN": 0.43, "CLPL": 0.73}.get(result.method.split(",")[0])
        if published is not None:
            print(
                f"{result.method}: accuracy {result.accuracy:.3f} +- {result.accuracy_std:.3f}, "
                f"published {published:.2f}"
            )


SLOW_WIDE = ("CLPL", "PLEM", "PLSVM", "GraphLogisticRegression", "TransductiveSVM")
"""Methods that are left out if features times classes exceed `MAX_WIDTH`; they take minutes there."""
MAX_WIDTH = 5_000


def choosing_panel(X, candidates):
    """Return the default estimators of `compare` without those that are slow on wide rows."""
    estimators = resolve_methods("auto", check_task(X, candidates, None), 0)
    is_wide = X.shape[1] * candidates.shape[1] > MAX_WIDTH
    return {name: estimator for name, estimator in estimators.items() if not (is_wide and name in SLOW_WIDE)}


def highest(comparison, key):
    """Return the result with the highest value, the first one in the order of the methods among ties."""
    order = {name: i for i, name in enumerate(comparison.estimators)}
    complete = [result for result in comparison.results if result.accuracy is not None]
    return max(complete, key=lambda result: (round(key(result), 12), -order[result.method]))


def within_one_error(comparison, key):
    """Return the best by `key` of the methods with a covering rate within one paired standard error of the best."""
    best = highest(comparison, lambda r: r.covering_rate)
    tied = []
    for result in comparison.results:
        if result.accuracy is not None:
            gap = np.array([b.covering_rate - f.covering_rate for b, f in zip(best.folds, result.folds, strict=True)])
            if gap.mean() <= gap.std(ddof=1) / np.sqrt(len(gap)):
                tied.append(result)
    return max(tied, key=key)


RULES = {
    "expected accuracy (the rule of compare)": lambda c: c.results[0],
    "covering rate": lambda c: highest(c, lambda r: r.covering_rate),
    "approximated accuracy": lambda c: highest(c, lambda r: r.approximated_accuracy),
    "covering within 1 SE, approximated": lambda c: within_one_error(c, lambda r: r.approximated_accuracy),
    "LOORidge, without a comparison": lambda c: next(r for r in c.results if r.method == "LOORidge"),
}


def choosing(*names: str):
    """Print the regret of rules that choose a method without true labels, on each task and on average.

    On each task of `benchmarks.choosing_tasks` the methods are scored by `compare` with three folds. The regret of a
    rule is the held-out accuracy of the best method minus that of the chosen one. No rule uses a true label, but the
    rule of `compare` was chosen with the accuracies of the tasks of even position in sight. Methods that fail on a
    task, and data sets that are not available, are skipped. Names restrict the tasks.
    """
    columns = [*RULES, "a method at random"]
    position = {name: i for i, name in enumerate(TASKS)}
    regrets, halves = [], []
    print(f"{'task':30s} {'  '.join(f'({i})' for i in range(1, len(columns) + 1))}")
    for task in choosing_tasks(names):
        candidates = oneof.CandidateSets(task.mask, np.arange(task.mask.shape[1]))
        panel = choosing_panel(task.X, candidates)
        comparison = oneof.compare(task.X, candidates, panel, truth=task.truth, cv=3, refit=False)
        accuracies = [result.accuracy for result in comparison.results if result.accuracy is not None]
        chosen = [rule(comparison).accuracy for rule in RULES.values()]
        regrets.append(max(accuracies) - np.array([*chosen, np.mean(accuracies)]))
        halves.append(position[task.name] % 2)
        line = "  ".join(f"{regret:.3f}" for regret in regrets[-1])
        best = max((r for r in comparison.results if r.accuracy is not None), key=lambda r: r.accuracy)
        print(
            f"{task.name:30s} {line}  chosen {comparison.best_method}, best {best.method} ({best.accuracy:.3f})",
            flush=True,
        )
    regrets, halves = np.array(regrets), np.array(halves)
    print(f"\n{'mean regret (worst)':40s} {'development':>16s} {'check':>16s} {'all':>16s}")
    for i, rule in enumerate(columns):
        cells = []
        for rows in (halves == 0, halves == 1, halves >= 0):
            values = regrets[rows, i]
            cells.append(f"{values.mean():.4f} ({values.max():.3f})" if len(values) else "-")
        print(f"({i + 1}) {rule:36s} {'  '.join(f'{cell:>15s}' for cell in cells)}")
    print(f"{'tasks':40s} {(halves == 0).sum():15d}  {(halves == 1).sum():15d}  {len(halves):15d}")


FAMILIES = {"equally scaled": MAPS, "zeros preserved": SPARSE_MAPS, "all": MAPS | SPARSE_MAPS}
N_DRAWS = 5
PIXELS = ("digits", "mnist", "mfeat_pixel", "dermatology", "msrcv2")
BINNED = ("segment", "vehicle", "glass")


def load_subset(name, max_rows=1500):
    """Return a random subset of a published data set."""
    data = oneof.datasets.load(name)
    rows = np.random.default_rng(0).permutation(len(data.y))[:max_rows]
    X = data.X.tocsr()[rows] if sp.issparse(data.X) else np.nan_to_num(np.asarray(data.X[rows], dtype=np.float64))
    return X, data.y[rows]


def bin_features(X):
    """Return each number as the indicator of its fifth of the rows."""
    cuts = [np.digitize(x, np.unique(np.quantile(x, [0.2, 0.4, 0.6, 0.8]))) for x in X.T]
    return sp.csr_array(np.hstack([np.eye(codes.max() + 1)[codes] for codes in cuts]))


def short_texts(n_train, seed):
    """Return TF-IDF rows of "class seen number" with two random numbers, and their classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(4 * n_train) % 3)
    texts = [f"{('cat', 'dog', 'bird')[label]} seen {i}" for i, label in enumerate(y)]
    words = TfidfVectorizer(token_pattern=r"\w+").fit(texts[:n_train]).transform(texts)
    return sp.csr_array(sp.hstack([words, rng.random((len(y), 2))])), y


def feature_map_tasks():
    """Yield (name, [(training X, candidate sets, test X, true labels), ...])."""
    sets = []
    for name in (*PIXELS, *BINNED, "news20"):
        try:
            X, y = load_subset(name)
        except DataError:
            continue
        if name in BINNED:
            sets.append((f"{name}, five bins", bin_features(X), y))
        elif name == "news20":
            for count in (60, 150):
                common = np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:count]
                rows_in_use = np.flatnonzero(np.asarray(X[:, common].sum(axis=1)).ravel() > 0)
                sets.append(
                    (f"{name}, {count} most frequent words", sp.csr_array(X[:, common])[rows_in_use], y[rows_in_use])
                )
        else:
            sets.append((name, X, y))
    for name, X, y in sets:
        parts = []
        for seed in range(N_DRAWS):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [round(0.7 * len(y))])
            parts.append((X[train], oneof.make_partial_labels(y[train], random_state=seed), X[test], y[test]))
        yield name, parts
    for n in (6, 8, 12, 20):
        parts = []
        for seed in range(4 * N_DRAWS):
            X, y = short_texts(n, seed)
            parts.append((X[:n], oneof.make_partial_labels(y[:n], fraction=0.5, random_state=seed), X[n:], y[n:]))
        yield f"{n} short texts", parts


def nonzero_fraction(X):
    """Return the fraction of nonzero entries among the features that are not constant 0."""
    counts = np.asarray((X != 0).sum(axis=0)).ravel()
    return counts.sum() / (X.shape[0] * max((counts > 0).sum(), 1))


def feature_maps():
    """Print accuracies of LOORidge by family of feature maps: equally scaled features, zeros preserved, and all maps.

    The rows have between a tenth and a half of nonzero entries, or near it: digits as pixels, numbers in five bins, the
    most frequent words of the newsgroups, and synthetic tables of a short text with two numbers. At most 1,500 rows,
    split 70/30 five times; every training row has one distractor, in the synthetic tables every other row. Data sets
    that are not available are skipped.
    """
    print(f"{'set':32s} not 0  " + "  ".join(f"{family:>15s}" for family in FAMILIES))
    for name, parts in feature_map_tasks():
        means = []
        for maps in FAMILIES.values():
            mapped.default_maps = lambda _, maps=maps: maps
            means.append(np.mean([(oneof.LOORidge().fit(X, y).predict(Z) == t).mean() for X, y, Z, t in parts]))
        print(
            f"{name:32s} {nonzero_fraction(parts[0][0]):5.2f}  " + "  ".join(f"{mean:15.3f}" for mean in means),
            flush=True,
        )
