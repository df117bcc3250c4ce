"""LOORidge by which family of maps: those that make all features alike, those that keep zeros, and all of them.

Rows with between a tenth and a half of their entries not 0, or near it: digits as pixels, numbers cut into five bins,
the commonest words of the newsgroups, and made tables of a short text beside two numbers. At most 1,500 rows, split
70/30 five times; every training row has one false candidate, in the made tables every other row. Run with
`python benchmarks/feature_maps.py`; sets of the field that are not at hand are left out.
"""

import numpy as np
import scipy.sparse as sp

import oneof
from oneof.errors import DataError
from oneof.kernels import mapped
from oneof.kernels.feature_maps import MAPS, SPARSE_MAPS

FAMILIES = {"alike": MAPS, "zeros kept": SPARSE_MAPS, "all": MAPS | SPARSE_MAPS}
DRAWS = 5
PIXELS = ("digits", "mnist", "mfeat_pixel", "dermatology", "msrcv2")
BINNED = ("segment", "vehicle", "glass")


def drawn(name, most=1500):
    """Return rows of a set of the field."""
    data = oneof.datasets.load(name)
    rows = np.random.default_rng(0).permutation(len(data.y))[:most]
    X = data.X.tocsr()[rows] if sp.issparse(data.X) else np.nan_to_num(np.asarray(data.X[rows], dtype=np.float64))
    return X, data.y[rows]


def in_bins(X):
    """Return each number as which fifth of the rows it is in, one column for each."""
    cuts = [np.digitize(x, np.unique(np.quantile(x, [0.2, 0.4, 0.6, 0.8]))) for x in X.T]
    return sp.csr_array(np.hstack([np.eye(codes.max() + 1)[codes] for codes in cuts]))


def short_texts(n_train, seed):
    """Return rows of TF-IDF of "class seen number" beside two numbers, fitted on the first, and their classes."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(4 * n_train) % 3)
    texts = [f"{('cat', 'dog', 'bird')[label]} seen {i}" for i, label in enumerate(y)]
    words = TfidfVectorizer(token_pattern=r"\w+").fit(texts[:n_train]).transform(texts)
    return sp.csr_array(sp.hstack([words, random.random((len(y), 2))])), y


def splits():
    """Yield (name, [(X to fit, sets, X to judge by, truth), ...])."""
    sets = []
    for name in (*PIXELS, *BINNED, "news20"):
        try:
            X, y = drawn(name)
        except DataError:
            continue
        if name in BINNED:
            sets.append((f"{name}, five bins", in_bins(X), y))
        elif name == "news20":
            for count in (60, 150):
                common = np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:count]
                some = np.flatnonzero(np.asarray(X[:, common].sum(axis=1)).ravel() > 0)
                sets.append((f"{name}, {count} commonest words", sp.csr_array(X[:, common])[some], y[some]))
        else:
            sets.append((name, X, y))
    for name, X, y in sets:
        parts = []
        for seed in range(DRAWS):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = np.split(order, [round(0.7 * len(y))])
            parts.append((X[train], oneof.make_partial_labels(y[train], random_state=seed), X[test], y[test]))
        yield name, parts
    for n in (6, 8, 12, 20):
        parts = []
        for seed in range(4 * DRAWS):
            X, y = short_texts(n, seed)
            parts.append((X[:n], oneof.make_partial_labels(y[:n], fraction=0.5, random_state=seed), X[n:], y[n:]))
        yield f"{n} short texts", parts


def share_in_use(X):
    """Return the share of entries that are not 0, of features in use."""
    used = np.asarray((X != 0).sum(axis=0)).ravel()
    return used.sum() / (X.shape[0] * max((used > 0).sum(), 1))


def main():
    """Print mean accuracies."""
    print(f"{'set':32s} not 0  " + "  ".join(f"{family:>10s}" for family in FAMILIES))
    for name, parts in splits():
        means = []
        for maps in FAMILIES.values():
            mapped.default_maps = lambda _, maps=maps: maps
            means.append(np.mean([(oneof.LOORidge().fit(X, y).predict(Z) == t).mean() for X, y, Z, t in parts]))
        print(
            f"{name:32s} {share_in_use(parts[0][0]):5.2f}  " + "  ".join(f"{mean:10.3f}" for mean in means), flush=True
        )


if __name__ == "__main__":
    main()
