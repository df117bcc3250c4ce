"""How far PLGP's probabilities can be believed, and what annealing brings.

Run with `python benchmarks/plgp_quality.py [calibration] [annealing]`; both if none is named.

"calibration": expected calibration error (15 bins of equal width of the largest probability) on held-out fifths of
lost, birdsong and msrcv2, by true labels, beside accuracy and the mean of the largest probability. PLGP's kernels are
those of `accuracy.py`, chosen without true labels, with its probabilities as published and at their leave-one-out
temperature; PLSVM and PLECOC are calibrated on the labels that they decided for, over five folds.

"annealing": lost, five random 80/20 splits, a linear and an RBF kernel of growing signal variance, with and without
stages of sharpness: Psi, covering rate and accuracy of the largest latent mean on held-out rows.
"""

import sys
import time
import warnings

import numpy as np
from accuracy import TunedGaussianProcess
from plgp import by_means
from scipy.special import softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, DotProduct
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler

import oneof
from oneof.datasets import load
from oneof.solvers.laplace.predictive import apply_temperature

# Sizes: smaller ones try out the script.
CALIBRATION_SETS, CALIBRATION_SPLITS, BINS = ("lost", "birdsong", "msrcv2"), 3, 15
VARIANCES, ANNEALING_SPLITS = (1.0, 10.0, 100.0, 1000.0), 5


def expected_calibration_error(proba, right):
    """Return the mean of |accuracy - mean probability| over bins of the largest probability, weighted by their rows."""
    top = proba.max(axis=1)
    place = np.minimum((top * BINS).astype(int), BINS - 1)
    gaps = np.bincount(place, right, BINS) - np.bincount(place, top, BINS)
    return np.abs(gaps).sum() / len(top)


def process(train, candidates, test):
    """Return PLGP's probabilities as published, and at the temperature of its leave-one-out probabilities."""
    model = TunedGaussianProcess(temperature="loo").fit(train, candidates.to_indicator()).model_
    proba = model.predict_proba(test)
    return {"PLGP": apply_temperature(proba, 1.0 / model.temperature_), 'PLGP, temperature="loo"': proba}


def softmax_of_codes(train, candidates, test):
    """Return the softmax of PLECOC's scores."""
    model = oneof.PLECOC(random_state=0).fit(train, candidates.to_indicator())
    return {"PLECOC, softmax": softmax(model.decision_function(test), axis=1)}


def calibrated(name, method):
    """Return a function that calibrates a method on the labels that it decided for.

    Folds are passed as they are, since scikit-learn refuses to stratify where a class has fewer rows than folds.
    """

    def probabilities_of(train, candidates, test):
        labels = method.fit(train, candidates.to_indicator()).disambiguate().labels
        folds = list(KFold(5, shuffle=True, random_state=0).split(train))
        model = CalibratedClassifierCV(clone(method), cv=folds).fit(train, labels)
        proba = np.zeros((len(test), candidates.shape[1]))  # of classes that no row was given, too
        proba[:, model.classes_] = model.predict_proba(test)
        return {f"{name}, calibrated": proba}

    return probabilities_of


CALIBRATED = (
    process,
    softmax_of_codes,
    calibrated("PLECOC", oneof.PLECOC(random_state=0)),
    calibrated("PLSVM", oneof.PLSVM()),
)


def calibration():
    """Print one line for each set and method."""
    for name in CALIBRATION_SETS:
        data = load(name)
        splits = list(ShuffleSplit(CALIBRATION_SPLITS, test_size=0.2, random_state=0).split(data.X))
        for method in CALIBRATED:
            found = {}
            start = time.perf_counter()
            for train, test in splits:
                scaler = StandardScaler().fit(data.X[train].astype(np.float64))
                X, X_test = (scaler.transform(data.X[part].astype(np.float64)) for part in (train, test))
                for label, proba in method(X, data.candidates[train], X_test).items():
                    right = data.candidates.classes[proba.argmax(axis=1)] == data.y[test]
                    facts = expected_calibration_error(proba, right), right.mean(), proba.max(axis=1).mean()
                    found.setdefault(label, []).append(facts)
            for label, facts in found.items():
                error, accuracy, confidence = np.array(facts).T
                print(
                    f"{name:9s} {label:24s} ECE {error.mean():.3f} [{error.min():.3f}, {error.max():.3f}], accuracy "
                    f"{accuracy.mean():.3f} +- {accuracy.std():.3f}, mean largest probability {confidence.mean():.3f}, "
                    f"{time.perf_counter() - start:.0f} s",
                    flush=True,
                )


def annealing():
    """Print one line for each kernel and signal variance."""
    data = load("lost")
    d = data.X.shape[1]
    kernels = {"linear": lambda s: (s / d) * DotProduct(1e-5), "rbf": lambda s: s * RBF(np.sqrt(d))}
    for name, kernel_of in kernels.items():
        for variance in VARIANCES:
            parts, ends = [], []
            for anneal in (True, False):
                found, failed = anneal_splits(data, kernel_of(variance), anneal)
                psi, covering, accuracy, steps = found.T
                ends.append(psi)
                parts.append(
                    f"{'stages' if anneal else 'none':6s} Psi {psi.mean():9.2f}, covering {covering.mean():.3f} +- "
                    f"{covering.std():.3f}, accuracy {accuracy.mean():.3f} +- {accuracy.std():.3f}, "
                    f"{steps.mean():3.0f} steps" + (f", {failed} not converged" if failed else "")
                )
            better = int((ends[0] > ends[1]).sum())
            print(f"{name:6s} s {variance:<4g} " + " | ".join(parts) + f" | Psi higher by stages {better}/{len(psi)}")
            sys.stdout.flush()


def anneal_splits(data, kernel, anneal):
    """Return Psi, covering rate, accuracy and steps of each split, and how many did not converge."""
    found, failed = [], 0
    for train, test in ShuffleSplit(ANNEALING_SPLITS, test_size=0.2, random_state=0).split(data.X):
        scaler = StandardScaler().fit(data.X[train].astype(np.float64))
        X, X_test = (scaler.transform(data.X[part].astype(np.float64)) for part in (train, test))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = oneof.PLGP(kernel, optimizer=None, anneal=anneal, random_state=0).fit(X, data.candidates[train])
        failed += any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        predicted = by_means(model, X_test)
        covering = oneof.metrics.covering_rate(data.candidates[test], predicted)
        found.append((model.objective_, covering, (predicted == data.y[test]).mean(), model.n_iter_))
    return np.array(found), failed


SECTIONS = {"calibration": calibration, "annealing": annealing}


if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
