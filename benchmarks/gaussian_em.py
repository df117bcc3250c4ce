"""Gaussian EM on the benchmark of semi-supervised learning (Chapelle, Schölkopf & Zien 2006), for three weights.

Error in percent on the unlabeled rows, mean and standard deviation over the 12 official splits with 10 and with 100
labeled rows, of what fit decided of them (`transduction_`). Features as they come, all parameters at their defaults.
Text is left out: its 11,960 features are no Gaussian's. For tied covariances, whose EM takes a hundred sweeps and more,
"cv" takes a minute a fit, and is run only when it is asked for.

Run with `python benchmarks/gaussian_em.py [covariance] [weight ...]`; the sets are read from $ONEOF_DATA.
"""

import sys
import time

import numpy as np

import oneof
from oneof.solvers.generative.gaussian import COVARIANCE_TYPES

SETS = ("digit1", "usps", "g241c")
LABELED = (10, 100)


def errors(data, number, covariance, weight):
    """Return the errors on the splits, in percent, and the weights that were taken."""
    y = np.searchsorted(data.classes, data.y)
    found, taken = [], []
    for labeled in data.splits[number]:
        known = np.full(len(y), -1)
        known[labeled] = y[labeled]
        model = oneof.GaussianEM(weight if weight == "cv" else float(weight), covariance=covariance).fit(data.X, known)
        found.append(100 * (model.transduction_ != y)[known < 0].mean())
        taken.append(model.unlabeled_weight_)
    return found, taken


def main():
    """Print one line for each form and weight."""
    for covariance in sys.argv[1:2] or COVARIANCE_TYPES:
        for weight in sys.argv[2:] or (["0", "1"] if covariance == "tied" else ["0", "1", "cv"]):
            print(f"{covariance:9s} {weight:2s}", end="", flush=True)
            chosen, start = [], time.process_time()
            for name in SETS:
                data = oneof.datasets.load(f"ssl_{name}")
                for number in LABELED:
                    found, taken = errors(data, number, covariance, weight)
                    print(f"  {np.mean(found):5.2f} +- {np.std(found, ddof=1):5.2f}", end="", flush=True)
                    chosen.append(round(float(np.mean(taken)), 2))
            seconds = (time.process_time() - start) / (12 * len(SETS) * len(LABELED))
            print(f"  {seconds:5.1f} s a fit" + (f", mean weights {chosen}" if weight == "cv" else ""), flush=True)


if __name__ == "__main__":
    main()
