"""Reading candidate sets: seconds for a million rows in each form. Run with `python benchmarks/candidates.py`."""

import time

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from oneof import CandidateSets


def main(n=1_000_000, n_classes=10, repeats=3):
    """Time each constructor on the same sets."""
    random = np.random.default_rng(0)
    mask = random.random((n, n_classes)) < 0.15
    mask[np.arange(n), random.integers(0, n_classes, n)] = True
    y = CandidateSets.from_indicator(mask, classes=[f"class {k}" for k in range(n_classes)])
    lists = [sorted(s) for s in y.to_sets()]
    labels = [s[0] for s in lists]
    text = y.to_strings()
    forms = {
        "0/1 matrix (int64)": (CandidateSets.from_indicator, mask.astype(np.int64)),
        "0/1 matrix (CSR)": (CandidateSets.from_indicator, sp.csr_array(mask.astype(np.int8))),
        "lists of strings": (CandidateSets.from_sets, lists),
        "polars list column": (CandidateSets.from_sets, pl.Series(lists)),
        "'a|b' strings": (CandidateSets.from_strings, text),
        "string labels (list)": (CandidateSets.from_labels, labels),
        "string labels (pandas)": (CandidateSets.from_labels, pd.Series(labels)),
        "integer labels": (CandidateSets.from_labels, random.integers(0, n_classes, n)),
    }
    print(f"{n:,} rows, {n_classes} classes, {mask.sum() / n:.2f} candidates a row; best of {repeats}")
    for name, (read, form) in forms.items():
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            read(form)
            seconds.append(time.perf_counter() - start)
        print(f"  {name:26s} {min(seconds):.3f} s")


if __name__ == "__main__":
    main()
