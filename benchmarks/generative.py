"""What a sweep of EM costs: on the word counts of 20 Newsgroups, against one fit of scikit-learn's MultinomialNB.

The 11,314 training documents x 32,443 words, CSR in float64; every tenth document is labeled. A sweep is an E-step and
an M-step over all documents and the objective, its time that of 11 sweeps less that of one, over ten. Processor time,
median of several runs, both measured in turn; the claim is a ratio of at most 3.

Run with `python benchmarks/generative.py [runs]`; the set is read from $ONEOF_DATA.
"""

import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.naive_bayes import MultinomialNB

import oneof


def seconds(function):
    """Return the processor time of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def main():
    """Print both times and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    data = oneof.datasets.load("news20")
    n_train = int(data.n_train)
    X = sp.csr_array(data.X[:n_train].astype(np.float64))
    y = np.searchsorted(data.classes, data.y[:n_train])
    known = np.where(np.arange(n_train) % 10 == 0, y, -1)
    fits, sweeps = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the sweeps are counted, not ended
        for _ in range(runs):
            fits.append(seconds(lambda: MultinomialNB().fit(X, y)))
            one, many = (
                seconds(lambda n=n: oneof.MultinomialEM(max_iter=n, tol=1e-300).fit(X, known)) for n in (1, 11)
            )
            sweeps.append((many - one) / 10)
    fit, sweep = np.median(fits), np.median(sweeps)
    print(f"MultinomialNB.fit {fit:.3f} s, a sweep of MultinomialEM {sweep:.3f} s: ratio {sweep / fit:.2f}")


if __name__ == "__main__":
    main()
