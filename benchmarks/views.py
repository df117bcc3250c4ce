"""Co-training on the six views of 2,000 digits (mfeat): each view alone, all columns as one view, and all views.

On each of some draws a few rows of every class are labeled; judged are the others. Features are scaled to unit
variance over all rows, without labels. All methods have their defaults. "Some views missing" leaves each view out of
every row with probability 1/2, but for one view that each row keeps.

Run with `python benchmarks/views.py [n_draws]`; the sets are read from $ONEOF_DATA.
"""

import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import oneof
from oneof import GraphLogisticRegression

VIEWS = ("fourier", "factors", "karhunen", "pixel", "zernike", "morphological")
PER_CLASS = (2, 5, 10)


def read():
    """Return the scaled columns of each view, and the digits."""
    sets = [oneof.datasets.load(f"mfeat_{name}") for name in VIEWS]
    return [StandardScaler().fit_transform(one.X) for one in sets], np.searchsorted(sets[0].classes, sets[0].y)


def groups(parts):
    """Return the numbers of each part's columns where all stand side by side."""
    ends = np.cumsum([part.shape[1] for part in parts])
    return [np.arange(end - part.shape[1], end) for part, end in zip(parts, ends, strict=True)]


def thinned(X, columns, random):
    """Return X with views missing, at least one of which each row keeps."""
    out = X.copy()
    kept = random.integers(len(columns), size=len(X))
    for s, here in enumerate(columns):
        out[np.ix_((random.random(len(X)) < 0.5) & (kept != s), here)] = np.nan
    return out


def main():
    """Print mean accuracies, their standard deviations over the draws, and seconds a fit."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    parts, y = read()
    X, columns = np.hstack(parts), groups(parts)
    whole = {f"{name} alone": part for name, part in zip(VIEWS, parts, strict=True)} | {"all columns, one view": X}
    print(f"accuracy %, mean +- standard deviation of {draws} draws; seconds a fit")
    print(f"{'labeled rows a class':38s}" + "".join(f"{number:>22d}" for number in PER_CLASS))
    table = {}
    for number in PER_CLASS:
        for seed in range(draws):
            random = np.random.default_rng(seed)
            order = random.permutation(len(y))
            labeled = np.concatenate([order[y[order] == k][:number] for k in range(10)])
            known = np.full(len(y), -1)
            known[labeled] = y[labeled]
            sides = {
                f"{name}, logistic regression": (LogisticRegression(max_iter=2000), Z) for name, Z in whole.items()
            }
            sides |= {f"{name}, graph prior": (GraphLogisticRegression(), Z) for name, Z in whole.items()}
            sides["six views, co-training"] = (GraphLogisticRegression(views=columns), X)
            sides["six views, half missing"] = (GraphLogisticRegression(views=columns), thinned(X, columns, random))
            for name, (model, Z) in sides.items():
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if isinstance(model, LogisticRegression):
                        told = model.fit(Z[labeled], y[labeled]).predict(Z)
                    else:
                        told = model.fit(Z, known).transduction_
                seconds = time.perf_counter() - start
                table.setdefault(name, {}).setdefault(number, []).append(
                    (100 * (told == y)[known == -1].mean(), seconds)
                )
    for name, row in table.items():
        cells = [np.array(row[number]) for number in PER_CLASS]
        print(
            f"{name:38s}"
            + "".join(f"{c[:, 0].mean():9.1f} +-{c[:, 0].std():4.1f} {c[:, 1].mean():5.1f}s" for c in cells),
            flush=True,
        )


if __name__ == "__main__":
    main()
