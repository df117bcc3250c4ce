"""Accuracy on real partial labels, the choice of a method without true labels, and feature maps."""

import time

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import check_random_state

import oneof
from benchmarks.common import candidate_columns
from oneof.comparison import default_estimators
from oneof.datasets import load
from oneof.errors import DataError
from oneof.kernels import mapped
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS
from oneof.model_selection import CandidateKFold, covering_rate_scorer

SETS = ("lost", "birdsong", "msrcv2")
PUBLISHED = {
    "PLSVM": (0.516, 0.356, 0.252),
    "CLPL": (0.726, 0.618, 0.383),
    "IPAL": (0.559, 0.731, 0.521),
    "PLKNN": (0.432, 0.682, 0.435),
    "PLECOC": (0.642, 0.610, 0.288),
}
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


REAL_SETS = ("lost", "msrcv2", "birdsong")
SUPERVISED = ("digits", "wine", "breast_cancer", "glass", "ecoli", "segment", "vehicle", "dermatology", "satimage")
AMBIGUITY = {
    "uniform, 1 extra": {"distractors": "uniform", "n_distractors": 1},
    "uniform, 2 extra": {"distractors": "uniform", "n_distractors": 2},
    "confusable, 1 extra": {"distractors": "confusable", "n_distractors": 1, "epsilon": 0.7},
    "cooccurring, 2 extra": {"distractors": "cooccurring", "n_distractors": 2},
}
MAX_ROWS = 1000


def choosing_tasks():
    """Yield (name, X, candidates, truth)."""
    for name in (*REAL_SETS, *SUPERVISED):
        try:
            data = oneof.datasets.load(name)
        except DataError:
            continue
        rows = check_random_state(0).permutation(len(data.y))[:MAX_ROWS]
        X, y = np.nan_to_num(np.asarray(data.X[rows], dtype=float)), data.y[rows]
        if name in REAL_SETS:
            yield name, X, data.candidates[rows], y
        else:
            for kind, options in AMBIGUITY.items():
                if options["n_distractors"] < len(set(y.tolist())) - 1:
                    yield f"{name}, {kind}", X, oneof.make_partial_labels(y, random_state=0, **options), y


def within_one_error(results, key):
    """Return the best by `key` of the methods with a covering rate within one paired standard error of the best."""
    best = results[0]
    tied = []
    for result in results:
        gap = np.array([b.covering_rate - f.covering_rate for b, f in zip(best.folds, result.folds, strict=True)])
        if gap.mean() <= gap.std(ddof=1) / np.sqrt(len(gap)):
            tied.append(result)
    return max(tied, key=key)


RULES = {
    "covering rate (the rule of compare)": lambda results: results[0],
    "approximated accuracy": lambda results: max(results, key=lambda r: r.approximated_accuracy),
    "within 1 SE, then approximated": lambda results: within_one_error(results, lambda r: r.approximated_accuracy),
    "LOORidge, without a comparison": lambda results: next(r for r in results if r.method == "LOORidge"),
    "within 1 SE, then fastest": lambda results: within_one_error(results, lambda r: -r.fit_seconds),
}


def choosing():
    """Print the regret of rules that choose a method without true labels, on each task and on average.

    On each task every method of the panel is scored by `compare`; a rule's regret is the held-out accuracy of the best
    method minus that of the chosen one. The rules use covering rates and approximated accuracies only. Methods that
    fail on a task, and data sets that are not available, are skipped.
    """
    regrets = {rule: [] for rule in RULES}
    random_choice = []
    for name, X, y, truth in choosing_tasks():
        results = [result for result in oneof.compare(X, y, truth=truth).results if result.accuracy is not None]
        highest = max(result.accuracy for result in results)
        random_choice.append(highest - np.mean([result.accuracy for result in results]))
        line = []
        for rule, rule_of in RULES.items():
            regrets[rule].append(highest - rule_of(results).accuracy)
            line.append(f"{regrets[rule][-1]:.3f}")
        print(f"{name:36s} {'  '.join(line)}  at random {random_choice[-1]:.3f}", flush=True)
    print(f"\nmean regret over {len(random_choice)} tasks (worst)")
    for rule, values in regrets.items():
        print(f"  {rule:38s} {np.mean(values):.4f} ({np.max(values):.3f})")
    print(f"  {'a method at random':38s} {np.mean(random_choice):.4f} ({np.max(random_choice):.3f})")


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
